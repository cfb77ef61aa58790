/* os_linux.c - /proc, /sys, cgroups v1 and v2, CPUID. */
#define _GNU_SOURCE
#include "os.h"

#include "cgroup.h"

#include <dirent.h>
#include <glob.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { HUGE_PAGE = 2 << 20, PATH_BYTES = 160, TEXT_BYTES = 4096 /* of sysfs */ };

static const char CGROUP_PROC[] = "/proc/self/cgroup", CGROUP_MOUNTS[] = "/sys/fs/cgroup";

/* First line of a file without its newline; false when it can't be read. */
static bool read_line(const char *path, char text[TEXT_BYTES]) {
    FILE *f = fopen(path, "r");
    if (!f) return false;
    const bool ok = fgets(text, TEXT_BYTES, f) != NULL;
    fclose(f);
    if (ok) text[strcspn(text, "\n")] = '\0';
    return ok;
}

/* ---- identity ---- */

static void find_model(struct cpu_facts *facts) {
    char line[TEXT_BYTES];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *value = strchr(line, ':');
        if (!value) continue;
        value += strspn(value, ": \t");
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "Model", 5) == 0) {
            snprintf(facts->model, sizeof facts->model, "%s", value);
            break;
        }
    }
    if (f) fclose(f);
}

static void ask_cpuid(struct cpu_facts *facts) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d)) return;
    memcpy(facts->vendor, &b, 4);
    memcpy(facts->vendor + 4, &d, 4);
    memcpy(facts->vendor + 8, &c, 4);
    if (!__get_cpuid(1, &a, &b, &c, &d)) return;
    const int family = (int)(a >> 8 & 15), model = (int)(a >> 4 & 15);
    facts->family = family == 15 ? family + (int)(a >> 20 & 255) : family;
    facts->model_number = family == 15 || family == 6 ? model + (int)(a >> 16 & 15) * 16 : model;
    facts->virtual_machine = c >> 31 & 1;
#else
    (void)facts;
#endif
}

/* ---- caches ---- */

/* Takes the next range off a list such as "0-3,8"; false at its end. */
static bool next_range(const char **list, int *low, int *high) {
    char *end;
    const long from = strtol(*list, &end, 10);
    if (end == *list) return false;
    const long to = *end == '-' ? strtol(end + 1, &end, 10) : from;
    *list = *end == ',' ? end + 1 : end;
    *low = (int)from;
    *high = (int)to;
    return true;
}

/* Members of a list: how many; the smallest into *first, -1 for none. */
static int count_list(const char *list, int *first) {
    int count = 0, low, high;
    *first = -1;
    while (next_range(&list, &low, &high)) {
        if (*first < 0 || low < *first) *first = low;
        count += high - low + 1;
    }
    return count;
}

static bool read_cache(int cpu, int index, const char *what, char text[TEXT_BYTES]) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, what);
    return read_line(path, text);
}

/* The smallest CPU that shares this CPU's data cache of a level; -1 when it has none. */
static int cache_home(int cpu, int level) {
    char text[TEXT_BYTES];
    int first = -1;
    for (int i = 0; read_cache(cpu, i, "type", text); i++) {
        if (strcmp(text, "Instruction") == 0) continue;
        if (!read_cache(cpu, i, "level", text) || atoi(text) != level) continue;
        if (!read_cache(cpu, i, "shared_cpu_list", text) || !count_list(text, &first)) first = cpu;
        break;
    }
    return first;
}

/* Sizes of the first usable CPU's caches: cores of other kinds count with these. */
static void find_caches(struct cpu_facts *facts) {
    char text[TEXT_BYTES], *unit;
    const int cpu = facts->usable[0];
    int first;
    for (int i = 0; facts->caches < 3 && read_cache(cpu, i, "type", text); i++) {
        struct cpu_cache *cache = &facts->cache[facts->caches];
        if (strcmp(text, "Instruction") == 0) continue;
        if (!read_cache(cpu, i, "level", text)) continue;
        cache->level = atoi(text);
        if (!read_cache(cpu, i, "size", text)) continue;
        cache->bytes = strtoll(text, &unit, 10);
        cache->bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
        cache->shared_by =
            read_cache(cpu, i, "shared_cpu_list", text) ? count_list(text, &first) : 1;
        if (cache->level < 1 || cache->level > 3 || cache->bytes <= 0) continue;
        for (int k = 0; k < facts->usable_count; k++)
            cache->home[k] = cache_home(facts->usable[k], cache->level);
        facts->caches++;
    }
    if (facts->caches) return;
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    for (int level = 1; level <= 3; level++) {
        const long bytes = sysconf(names[level - 1]);
        if (bytes <= 0) continue;
        struct cpu_cache *cache = &facts->cache[facts->caches++];
        cache->level = level;
        cache->bytes = bytes;
        cache->shared_by = level == 3 ? facts->logical_cpus : 1;
        for (int k = 0; k < facts->usable_count; k++)
            cache->home[k] = level == 3 ? 0 : facts->usable[k];
    }
}

/* ---- what this process may use ---- */

/* Whether no other CPU of the mask that shares its core comes before it. */
static bool is_first_sibling(int cpu, const cpu_set_t *mask, size_t size) {
    char path[PATH_BYTES], text[TEXT_BYTES];
    const char *list = text;
    int low, high;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!read_line(path, text)) return true;
    while (next_range(&list, &low, &high))
        for (int other = low; other <= high && other < cpu; other++)
            if (CPU_ISSET_S((size_t)other, size, mask)) return false;
    return true;
}

static void find_usable(struct cpu_facts *facts) {
    cpu_set_t *mask = CPU_ALLOC(MAX_CPUS);
    const size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
    if (mask && sched_getaffinity(0, size, mask) == 0) {
        for (int pass = 0; pass < 2; pass++) {
            for (int cpu = 0; cpu < MAX_CPUS; cpu++)
                if (CPU_ISSET_S((size_t)cpu, size, mask) &&
                    is_first_sibling(cpu, mask, size) == (pass == 0))
                    facts->usable[facts->usable_count++] = cpu;
            if (pass == 0) facts->usable_cores = facts->usable_count;
        }
    }
    if (mask) CPU_FREE(mask);
    if (facts->usable_count == 0) facts->usable[facts->usable_count++] = 0;
    facts->quota_cpus = cgroup_cpus(CGROUP_PROC, CGROUP_MOUNTS);
    if (facts->quota_cpus < facts->usable_count)
        facts->usable_count = facts->quota_cpus < 1 ? 1 : (int)facts->quota_cpus;
    if (facts->usable_cores == 0 || facts->usable_cores > facts->usable_count)
        facts->usable_cores = facts->usable_count;
}

void os_cpu_facts(struct cpu_facts *facts) {
    *facts = (struct cpu_facts){.model = "unknown CPU", .family = -1, .model_number = -1};
    facts->logical_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    facts->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    find_model(facts);
    ask_cpuid(facts);
    find_usable(facts);
    find_caches(facts);
}

/* ---- time, threads, sensors ---- */

double os_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void os_sleep_s(double seconds) {
    const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

int os_pin_other(int thread, int cpu) {
    cpu_set_t *mask = CPU_ALLOC(MAX_CPUS);
    if (!mask) return -1;
    CPU_ZERO_S(CPU_ALLOC_SIZE(MAX_CPUS), mask);
    CPU_SET_S((size_t)cpu, CPU_ALLOC_SIZE(MAX_CPUS), mask);
    const int status = sched_setaffinity(thread, CPU_ALLOC_SIZE(MAX_CPUS), mask);
    CPU_FREE(mask);
    return status;
}

int os_pin_thread(int cpu) { return os_pin_other(0, cpu); }

int os_threads(int threads[], int max) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks && count < max && (entry = readdir(tasks));)
        if (entry->d_name[0] != '.') threads[count++] = atoi(entry->d_name);
    if (tasks) closedir(tasks);
    return count;
}

int os_current_cpu(void) { return sched_getcpu(); }

int64_t os_involuntary_switches(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

int64_t os_stolen_ticks(void) {
    char text[TEXT_BYTES];
    long long ticks;
    if (!read_line("/proc/stat", text)) return 0;
    /* cpu user nice system idle iowait irq softirq steal */
    return sscanf(text, "cpu %*s %*s %*s %*s %*s %*s %*s %lld", &ticks) == 1 ? ticks : 0;
}

/* Paths that fit a pattern; none when there is none. globfree() afterwards. */
static glob_t find_paths(const char *pattern) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) found = (glob_t){0};
    return found;
}

static bool read_beside(const char *path, const char *name, char text[TEXT_BYTES]) {
    char beside[PATH_BYTES];
    const int folder = (int)(strrchr(path, '/') - path);
    return snprintf(beside, sizeof beside, "%.*s/%s", folder, path, name) < PATH_BYTES &&
           read_line(beside, text);
}

/* The hottest of the files that fit a pattern, in millidegrees; NaN: none can be read. */
static double hottest_of(const char *pattern) {
    double hottest = NAN;
    char text[TEXT_BYTES];
    glob_t found = find_paths(pattern);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (read_line(found.gl_pathv[i], text)) hottest = fmax(hottest, atof(text) / 1000);
    globfree(&found);
    return hottest;
}

double os_temperature_c(void) {
    static const char *const drivers[] = {"coretemp", "k10temp", "zenpower"};
    double hottest = NAN;
    char pattern[PATH_BYTES], text[TEXT_BYTES];
    glob_t zones = find_paths("/sys/class/thermal/thermal_zone*/type");
    for (size_t i = 0; i < zones.gl_pathc; i++)
        if (read_line(zones.gl_pathv[i], text) &&
            (strstr(text, "cpu") || strstr(text, "x86_pkg")) &&
            read_beside(zones.gl_pathv[i], "temp", text))
            hottest = fmax(hottest, atof(text) / 1000);
    globfree(&zones);
    glob_t chips = find_paths("/sys/class/hwmon/hwmon*/name");
    for (size_t i = 0; i < chips.gl_pathc; i++) {
        const char *path = chips.gl_pathv[i];
        if (!read_line(path, text)) continue;
        for (size_t k = 0; k < sizeof drivers / sizeof *drivers; k++) {
            if (strcmp(text, drivers[k]) != 0) continue;
            snprintf(pattern, sizeof pattern, "%.*s/temp*_input", (int)(strrchr(path, '/') - path),
                     path);
            hottest = fmax(hottest, hottest_of(pattern));
        }
    }
    globfree(&chips);
    return hottest;
}

/* Packages only: "psys" holds them once more, and what lies below a package is part of it. */
double os_energy_j(void) {
    double sum = NAN;
    char text[TEXT_BYTES];
    glob_t zones = find_paths("/sys/class/powercap/intel-rapl:*/name");
    for (size_t i = 0; i < zones.gl_pathc; i++) {
        const char *path = zones.gl_pathv[i];
        if (!read_line(path, text) || strncmp(text, "package", 7) != 0) continue;
        if (!read_beside(path, "energy_uj", text)) {
            sum = NAN; /* a part of the packages is no answer */
            break;
        }
        sum = (isnan(sum) ? 0 : sum) + atof(text) * 1e-6;
    }
    globfree(&zones);
    return sum;
}

/* ---- memory ---- */

static int64_t meminfo_bytes(const char *key) {
    char line[TEXT_BYTES];
    int64_t kib = -1;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && kib < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) kib = strtoll(line + strlen(key) + 1, NULL, 10);
    if (f) fclose(f);
    return kib < 0 ? -1 : kib * 1024;
}

int64_t os_resident_memory(void) {
    char text[TEXT_BYTES];
    long long pages;
    if (!read_line("/proc/self/statm", text) || sscanf(text, "%*s %lld", &pages) != 1) return -1;
    return pages * sysconf(_SC_PAGESIZE);
}

int64_t os_available_memory(void) {
    const int64_t available = meminfo_bytes("MemAvailable");
    const double left = cgroup_memory_left(CGROUP_PROC, CGROUP_MOUNTS);
    if (isnan(left) || (available >= 0 && (double)available < left)) return available;
    return (int64_t)left;
}

static size_t whole_pages(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

void *os_map(size_t bytes) {
    /* A huge page that is used in part costs more to clear than it saves. */
    const size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : 0, used = whole_pages(bytes);
    if (used < bytes || used + alignment < used) return NULL;
    char *base =
        mmap(NULL, used + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    if (!alignment) return base;
    const size_t lead = (alignment - (uintptr_t)base % alignment) % alignment;
    if (lead) munmap(base, lead);
    if (alignment > lead) munmap(base + lead + used, alignment - lead);
    madvise(base + lead, used, MADV_HUGEPAGE);
    return base + lead;
}

void os_unmap(void *p, size_t bytes) {
    if (p) munmap(p, whole_pages(bytes));
}
