/* os_posix.c - what POSIX alone can tell: no pinning, no topology, no sensors. */
#define _POSIX_C_SOURCE 200809L
#include "os.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void os_cpu_facts(struct cpu_facts *facts) {
    *facts = (struct cpu_facts){
        .model = "unknown CPU", .family = -1, .model_number = -1, .quota_cpus = NAN};
    facts->logical_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (facts->logical_cpus < 1) facts->logical_cpus = 1;
    facts->usable_count = facts->logical_cpus < MAX_CPUS ? facts->logical_cpus : MAX_CPUS;
    facts->usable_cores = facts->usable_count;
    for (int i = 0; i < facts->usable_count; i++) facts->usable[i] = i;
    facts->memory_bytes = -1;
}

double os_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t os_available_memory(void) { return -1; }
int64_t os_resident_memory(void) { return -1; }

void os_sleep_s(double seconds) {
    const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

int os_pin_thread(int cpu) {
    (void)cpu;
    return -1;
}

int os_pin_other(int thread, int cpu) {
    (void)thread, (void)cpu;
    return -1;
}

int os_threads(int threads[], int max) {
    (void)threads, (void)max;
    return 0;
}

int os_current_cpu(void) { return -1; }

int64_t os_involuntary_switches(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

int64_t os_stolen_ticks(void) { return 0; }

double os_temperature_c(void) { return NAN; }

double os_energy_j(void) { return NAN; }

void *os_map(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 2 << 20, bytes)) return NULL;
    return memset(p, 0, bytes); /* as fresh pages are */
}

void os_unmap(void *p, size_t bytes) {
    (void)bytes;
    free(p);
}
