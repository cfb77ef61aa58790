/* cgroup.h - what control groups (v1, v2, or both mounted) grant this process: the least of its own group's limits and of
 * every group's above it. `proc` is /proc/self/cgroup, `mounts` the folder /sys/fs/cgroup. */
#ifndef CGROUP_H
#define CGROUP_H

/* CPUs' worth of time; NaN: no limit. */
double cgroup_cpus(const char *proc, const char *mounts);

/* Bytes that may still be used, file cache that can be dropped included; NaN: no limit. */
double cgroup_memory_left(const char *proc, const char *mounts);
#endif
