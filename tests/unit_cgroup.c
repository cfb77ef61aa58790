/* unit_cgroup.c - limits of control groups, from trees of files in a temporary folder. */
#define _GNU_SOURCE
#include "../harness/cgroup.h"
#include "test.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512, FILES = 8 };

struct file {
    const char *path, *text;
};

struct tree {
    const char *what, *proc; /* text of /proc/self/cgroup; NULL: there is none */
    struct file file[FILES];
    double cpus, memory;
};

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)kind, (void)where;
    return remove(path);
}

/* root/path with its folders. */
static void write_file(const char *root, const char *path, const char *text) {
    char full[PATH_BYTES];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *c = full + strlen(root) + 1; (c = strchr(c, '/')) != NULL; *c++ = '/') {
        *c = '\0';
        if (mkdir(full, 0755) != 0 && errno != EEXIST) break;
    }
    FILE *f = fopen(full, "w");
    const bool ok = f && fputs(text, f) >= 0 && fclose(f) == 0;
    if (!ok) {
        perror(full);
        exit(1);
    }
}

static bool same(double x, double want) { return (isnan(x) && isnan(want)) || x == want; }

static void check(const struct tree *t) {
    char root[] = "/tmp/roofline-unit-cgroup-XXXXXX", proc[PATH_BYTES], mounts[PATH_BYTES];
    if (!mkdtemp(root)) {
        perror(root);
        exit(1);
    }
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(mounts, sizeof mounts, "%s/sys", root);
    if (t->proc) write_file(root, "proc", t->proc);
    for (int i = 0; i < FILES && t->file[i].path; i++)
        write_file(root, t->file[i].path, t->file[i].text);
    const double cpus = cgroup_cpus(proc, mounts), memory = cgroup_memory_left(proc, mounts);
    CHECK(same(cpus, t->cpus), "%s: %g CPUs, want %g", t->what, cpus, t->cpus);
    CHECK(same(memory, t->memory), "%s: %.0f bytes, want %.0f", t->what, memory, t->memory);
    nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static const struct tree trees[] = {
    {"no groups", NULL, {{"sys/cpu.max", "100000 100000\n"}}, NAN, NAN},
    {"no limits", "0::/a\n", {{"sys/a/cpu.stat", "usage_usec 1\n"}}, NAN, NAN},
    {"v2, own group",
     "0::/a/b\n",
     {{"sys/a/b/cpu.max", "150000 100000\n"},
      {"sys/a/b/memory.max", "1000\n"},
      {"sys/a/b/memory.current", "400\n"}},
     1.5,
     600},
    {"v2, the parent is stricter",
     "0::/a/b\n",
     {{"sys/a/b/cpu.max", "400000 100000\n"},
      {"sys/a/cpu.max", "200000 100000\n"},
      {"sys/cpu.max", "300000 100000\n"},
      {"sys/a/b/memory.max", "5000\n"},
      {"sys/a/b/memory.current", "0\n"},
      {"sys/a/memory.max", "4000\n"},
      {"sys/a/memory.current", "1000\n"}},
     2,
     3000},
    {"v2, the grandparent alone", "0::/a/b/c\n", {{"sys/a/cpu.max", "50000 100000\n"}}, 0.5, NAN},
    {"v2, another group's limits",
     "0::/a\n",
     {{"sys/b/cpu.max", "100000 100000\n"}, {"sys/a/b/cpu.max", "100000 100000\n"}},
     NAN,
     NAN},
    {"v2, max",
     "0::/a\n",
     {{"sys/a/cpu.max", "max 100000\n"},
      {"sys/a/memory.max", "max\n"},
      {"sys/a/memory.current", "400\n"}},
     NAN,
     NAN},
    {"v2, a container's root", "0::/\n", {{"sys/cpu.max", "200000 100000\n"}}, 2, NAN},
    {"v2, a path of the host",
     "0::/system.slice/docker-1.scope\n",
     {{"sys/cpu.max", "200000 100000\n"}},
     2,
     NAN},
    {"v2, outside of the namespace",
     "0::/../a\n",
     {{"sys/cpu.max", "200000 100000\n"}, {"a/cpu.max", "100000 100000\n"}},
     2,
     NAN},
    {"v2, file cache counts as free",
     "0::/a\n",
     {{"sys/a/memory.max", "1000\n"},
      {"sys/a/memory.current", "900\n"},
      {"sys/a/memory.stat", "anon 300\ninactive_file_x 7\ninactive_file 500\nfile 600\n"}},
     NAN,
     600},
    {"v2, more used than allowed",
     "0::/a\n",
     {{"sys/a/memory.max", "1000\n"}, {"sys/a/memory.current", "1200\n"}},
     NAN,
     0},
    {"v1, nested",
     "11:cpu,cpuacct:/a/b\n4:memory:/m/n\n1:name=systemd:/x\n",
     {{"sys/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"},
      {"sys/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"},
      {"sys/cpu,cpuacct/a/cpu.cfs_quota_us", "75000\n"},
      {"sys/cpu,cpuacct/a/cpu.cfs_period_us", "25000\n"},
      {"sys/memory/m/n/memory.limit_in_bytes", "9223372036854771712\n"},
      {"sys/memory/m/n/memory.usage_in_bytes", "10\n"},
      {"sys/memory/m/memory.limit_in_bytes", "8000\n"},
      {"sys/memory/m/memory.usage_in_bytes", "3000\n"}},
     3,
     5000},
    {"v1, mounted by the controller's name",
     "3:cpuacct:/z\n2:cpu:/a\n",
     {{"sys/cpu/a/cpu.cfs_quota_us", "200000\n"},
      {"sys/cpu/a/cpu.cfs_period_us", "100000\n"},
      {"sys/cpu/z/cpu.cfs_quota_us", "100000\n"},
      {"sys/cpu/z/cpu.cfs_period_us", "100000\n"}},
     2,
     NAN},
    {"v1, controllers with similar names",
     "3:cpuset:/a\n2:cpuacct:/a\n",
     {{"sys/cpu/a/cpu.cfs_quota_us", "200000\n"}, {"sys/cpu/a/cpu.cfs_period_us", "100000\n"}},
     NAN,
     NAN},
    {"v1 beside v2",
     "4:memory:/m\n2:cpu:/a\n0::/u\n",
     {{"sys/cpu/a/cpu.cfs_quota_us", "400000\n"},
      {"sys/cpu/a/cpu.cfs_period_us", "100000\n"},
      {"sys/unified/u/cpu.max", "300000 100000\n"},
      {"sys/memory/m/memory.limit_in_bytes", "8000\n"},
      {"sys/memory/m/memory.usage_in_bytes", "1000\n"},
      {"sys/unified/u/memory.max", "9000\n"},
      {"sys/unified/u/memory.current", "8500\n"}},
     3,
     500},
    {"malformed",
     "\n:\n::\n0:\n0::\n0::a\n5:cpu\n0::/a\n",
     {{"sys/a/cpu.max", "100000\n"},
      {"sys/a/memory.max", "lots\n"},
      {"sys/cpu.max", "100000 0\n"},
      {"sys/memory.max", ""},
      {"sys/memory.current", "1\n"}},
     NAN,
     NAN},
    {"malformed, v1",
     "5:cpu,memory:/a\n",
     {{"sys/cpu/a/cpu.cfs_quota_us", "x\n"},
      {"sys/cpu/a/cpu.cfs_period_us", "100000\n"},
      {"sys/cpu/cpu.cfs_quota_us", "100000\n"},
      {"sys/memory/a/memory.limit_in_bytes", "-1\n"}},
     NAN,
     NAN},
};

int main(void) {
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) check(&trees[i]);
    return test_result();
}
