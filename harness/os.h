/* os.h - what the harness asks the operating system; the build picks os_linux.c or os_posix.c. */
#ifndef OS_H
#define OS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_CPUS = 4096 };

struct cpu_cache {
    int level; /* 1 = L1d, 2, 3 */
    int64_t bytes;
    int shared_by; /* logical CPUs that share the first usable CPU's instance */
    /* Of each usable CPU: the smallest CPU that shares its instance, which names the instance; -1: it has none. */
    int home[MAX_CPUS];
};

struct cpu_facts {
    char model[96];           /* "AMD EPYC"; "unknown CPU" */
    char vendor[16];          /* CPUID's: "AuthenticAMD"; "" where there is none */
    int family, model_number; /* -1 unknown */
    struct cpu_cache cache[3];
    int caches;
    int logical_cpus;     /* of the machine */
    int usable[MAX_CPUS]; /* CPUs of the affinity mask; of each core the first, then the siblings */
    int usable_count;     /* at most what the cgroups' quota grants */
    int usable_cores;     /* physical cores behind them */
    double quota_cpus;    /* NaN: none */
    int64_t memory_bytes;
    bool virtual_machine;
};

void os_cpu_facts(struct cpu_facts *facts);
double os_now_s(void); /* monotonic */
void os_sleep_s(double seconds);
int64_t os_available_memory(
    void); /* bytes that can be had without swapping, cgroup limit included; -1 unknown */
int64_t os_resident_memory(void); /* bytes of this process in memory; -1 unknown */
int os_pin_thread(int cpu);       /* 0, -1: not possible here */

/* Threads of this process, at most max; 0 where they can't be listed. */
int os_threads(int threads[], int max);
int os_pin_other(int thread, int cpu); /* of os_threads(); 0, -1: not possible here */

int os_current_cpu(void);              /* -1 unknown */
int64_t os_involuntary_switches(void); /* of this process so far */
int64_t os_stolen_ticks(void);         /* of all CPUs, by the hypervisor, since boot */
double os_temperature_c(void);         /* hottest CPU sensor; NaN unknown */
double os_energy_j(void);              /* CPU packages' energy counter (RAPL); NaN unreadable */

/* Cleared memory, page-aligned; from 2 MiB on at a multiple of that, in huge pages where the system grants them.
 * NULL: none. */
void *os_map(size_t bytes);
void os_unmap(void *p, size_t bytes); /* p may be NULL */
#endif
