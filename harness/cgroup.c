/* cgroup.c - limits of the groups from /proc/self/cgroup up to the mount's root.
 *
 * In a container the path may be the host's, which is not below the mount: then only the root is found, and it holds the
 * container's own group. Files: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/. */
#define _POSIX_C_SOURCE 200809L
#include "cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 8192, MAX_MOUNTS = 4 };

/* A controller: where version 1 mounts it below the folder of mounts, and the limit of a group's folder. */
struct controller {
    const char *name, *mount[MAX_MOUNTS];
    double (*v1)(const char *folder), (*v2)(const char *folder); /* INFINITY: none */
};

/* ---- one group ---- */

/* The first line of folder/file begins with `count` (one or two) numbers. */
static bool read_numbers(const char *folder, const char *file, int count, double number[]) {
    char path[PATH_BYTES], text[128];
    if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) return false;
    FILE *f = fopen(path, "r");
    if (!f) return false;
    const bool read = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    if (!read) return false;
    long long value[2];
    if (sscanf(text, "%lld %lld", &value[0], &value[1]) < count) return false;
    for (int i = 0; i < count; i++) number[i] = (double)value[i];
    return true;
}

/* The value of a key in folder/memory.stat; 0 when it is not there. */
static double memory_stat(const char *folder, const char *key) {
    char path[PATH_BYTES], text[128];
    const size_t length = strlen(key);
    double bytes = 0;
    if (snprintf(path, sizeof path, "%s/memory.stat", folder) >= (int)sizeof path) return 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(text, sizeof text, f))
        if (strncmp(text, key, length) == 0 && text[length] == ' ')
            bytes = (double)strtoll(text + length, NULL, 10);
    if (f) fclose(f);
    return bytes;
}

static double cpus(double quota, double period) {
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

static double cpus_v2(const char *folder) {
    double number[2];
    return read_numbers(folder, "cpu.max", 2, number) ? cpus(number[0], number[1]) : INFINITY;
}

static double cpus_v1(const char *folder) {
    double quota, period;
    return read_numbers(folder, "cpu.cfs_quota_us", 1, &quota) &&
                   read_numbers(folder, "cpu.cfs_period_us", 1, &period)
               ? cpus(quota, period)
               : INFINITY;
}

/* Pages of files that nobody used of late are given back before a limit refuses anything. */
static double memory(const char *folder, const char *limit_file, const char *used_file,
                     const char *cache_key) {
    double limit, used;
    if (!read_numbers(folder, limit_file, 1, &limit) || limit < 0 || limit >= 0x1p62)
        return INFINITY;
    if (!read_numbers(folder, used_file, 1, &used)) return limit;
    return fmax(0, limit - used + fmin(used, memory_stat(folder, cache_key)));
}

static double memory_v2(const char *folder) {
    return memory(folder, "memory.max", "memory.current", "inactive_file");
}

static double memory_v1(const char *folder) {
    return memory(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
}

/* ---- all groups of this process ---- */

/* The group at `path` below mounts/mount, and each above it up to there. */
static double least_upwards(const char *mounts, const char *mount, const char *path,
                            double (*limit)(const char *folder)) {
    char folder[PATH_BYTES];
    const bool outside = strncmp(path, "/..", 3) == 0; /* of the cgroup namespace */
    const int length =
        snprintf(folder, sizeof folder, "%s/%s%s", mounts, mount, outside ? "" : path);
    if (length < 0 || length >= (int)sizeof folder) return INFINITY;
    const size_t root = strlen(mounts) + 1 + strlen(mount);
    double least = INFINITY;
    for (size_t end = (size_t)length;;) {
        folder[end] = '\0';
        least = fmin(least, limit(folder));
        if (end <= root) return least;
        while (end > root && folder[end] != '/') end--;
    }
}

static bool lists(const char *controllers, const char *name) {
    const size_t length = strlen(name);
    for (const char *c = controllers; c; c = strchr(c, ',')) {
        c += *c == ',';
        if (strncmp(c, name, length) == 0 && (c[length] == ',' || c[length] == '\0')) return true;
    }
    return false;
}

static double least_v2(const struct controller *c, const char *mounts, const char *path) {
    /* beside version 1 it is mounted at unified/ */
    return fmin(least_upwards(mounts, "", path, c->v2),
                least_upwards(mounts, "unified", path, c->v2));
}

static double least_v1(const struct controller *c, const char *mounts, const char *path) {
    double least = INFINITY;
    for (int i = 0; i < MAX_MOUNTS && c->mount[i]; i++)
        least = fmin(least, least_upwards(mounts, c->mount[i], path, c->v1));
    return least;
}

static double least(const struct controller *c, const char *proc, const char *mounts) {
    double result = INFINITY;
    char *line = NULL;
    size_t size = 0;
    FILE *f = fopen(proc, "r");
    if (!f) return NAN;
    while (getline(&line, &size, f) > 0) { /* id:controller,controller:/path; 0::/path */
        char *controllers = strchr(line, ':'), *path;
        if (!controllers || !(path = strchr(++controllers, ':'))) continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (path[0] != '/') continue;
        if (controllers[0] == '\0')
            result = fmin(result, least_v2(c, mounts, path));
        else if (lists(controllers, c->name))
            result = fmin(result, least_v1(c, mounts, path));
    }
    free(line);
    fclose(f);
    return isinf(result) ? NAN : result;
}

double cgroup_cpus(const char *proc, const char *mounts) {
    static const struct controller cpu = {
        "cpu", {"cpu", "cpu,cpuacct", "cpuacct,cpu"}, cpus_v1, cpus_v2};
    return least(&cpu, proc, mounts);
}

double cgroup_memory_left(const char *proc, const char *mounts) {
    static const struct controller controller = {"memory", {"memory"}, memory_v1, memory_v2};
    return least(&controller, proc, mounts);
}
