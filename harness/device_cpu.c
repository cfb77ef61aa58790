/* device_cpu.c - the host as a device: pinned threads, huge pages touched by who uses them, two clock reads a sample.
 *
 * The first OpenMP region must not run before the worker process has been forked: a pool does not survive a fork. */
#include "device.h"
#include "os.h"
#include "specs.h"

#include "../kernels/cpu/isa.h"
#include "../kernels/cpu/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOUCH = 4096,      /* smallest page */
    ROUND_TRIPS = 100, /* of a ping-pong */
    NEAR_NS = 150,   /* a round trip within one last-level cache takes 50-100 ns, across 200-500 */
    CACHE_LINE = 128 /* two lines, for adjacent-line prefetch */
};

struct cpu_state {
    struct cpu_facts facts;
    int instances[MAX_LEVELS][MAX_CPUS];
    int threads;
    double energy_j, energy_at_s; /* last reading of the energy counter */
    double *mark_s;               /* moments kept for between() */
    int marks;
};

static struct cpu_state *state_of(struct device *d) { return d->state; }

/* ---- threads ---- */

static int cpu_set_threads(struct device *d, int threads) {
    struct cpu_state *s = state_of(d);
    int misplaced = 0;
    if (threads < 1 || threads > s->facts.usable_count) {
        fprintf(stderr,
                "roofline: %d threads asked for, %d can be had (affinity mask and cgroup quota)\n",
                threads, s->facts.usable_count);
        return -1;
    }
#pragma omp parallel num_threads(threads) reduction(+ : misplaced)
    {
        const int cpu = s->facts.usable[omp_get_thread_num()];
        if (os_pin_thread(cpu) == 0 && os_current_cpu() != cpu) misplaced++;
        if (omp_get_num_threads() != threads) misplaced++;
    }
    if (misplaced) {
        fprintf(stderr, "roofline: %d of %d threads are not on the CPU they were pinned to\n",
                misplaced, threads);
        return -1;
    }
    s->threads = threads;
    return 0;
}

/* ---- memory ---- */

static void *cpu_alloc(struct device *d, size_t bytes) {
    const int64_t available = os_available_memory();
    const int threads = state_of(d)->threads;
    if (available >= 0 &&
        (bytes > (size_t)available || available - (int64_t)bytes < available / 16))
        return NULL;
    char *p = os_map(bytes);
    if (!p) return NULL;
#pragma omp parallel num_threads(threads)
    {
        const struct range r = my_slice((int64_t)bytes, TOUCH);
        for (int64_t i = r.begin; i < r.end; i += TOUCH) p[i] = 0;
    }
    return p;
}

static void cpu_release(struct device *d, void *p, size_t bytes) {
    (void)d;
    os_unmap(p, bytes);
}

static int cpu_move(struct device *d, void *dst, const void *src, size_t bytes) {
    (void)d;
    memcpy(dst, src, bytes);
    return 0;
}

/* ---- time ---- */

/* What the system and the hypervisor have taken from this process so far; grows when it is disturbed. */
static int64_t disturbances(const struct device *d) {
    /* /proc/stat is slow to read on large machines, and only a hypervisor steals */
    return os_involuntary_switches() + (d->host_moves_threads ? os_stolen_ticks() : 0);
}

static int cpu_time(struct device *d, kernel_fn *run, const struct args *a, int sets, int64_t first,
                    int64_t reps, double *seconds, bool *disturbed) {
    int set = (int)(first % sets), error = 0;
    const int64_t before = disturbances(d);
    const double start = os_now_s();
    for (int64_t r = 0; r < reps && !error; r++) {
        error = run(&a[set]);
        if (++set == sets) set = 0;
    }
    *seconds = os_now_s() - start;
    *disturbed = disturbances(d) != before;
    return error;
}

static int cpu_time_copies(struct device *d, kernel_fn *run, const struct args *a, int copies,
                           int64_t reps, double *seconds, bool *disturbed) {
    int errors = 0;
    double start = INFINITY, end = 0;
    const int64_t before = disturbances(d);
#pragma omp parallel num_threads(copies) reduction(+ : errors) reduction(min : start) reduction(max : end)
    {
        const struct args *mine = &a[omp_get_thread_num()];
#pragma omp barrier /* all are there: they start together */
        start = os_now_s();
        for (int64_t r = 0; r < reps; r++) errors += run(mine) != 0;
        end = os_now_s();
    }
    *seconds = end - start;
    *disturbed = disturbances(d) != before;
    return errors;
}

static int cpu_mark(struct device *d, int slot) {
    struct cpu_state *s = state_of(d);
    if (slot >= s->marks) {
        const int marks = 2 * slot + 16;
        double *more = realloc(s->mark_s, (size_t)marks * sizeof *more);
        if (!more) return -1;
        s->mark_s = more;
        s->marks = marks;
    }
    s->mark_s[slot] = os_now_s();
    return 0;
}

static int cpu_between(struct device *d, int from, int to, double *seconds) {
    const struct cpu_state *s = state_of(d);
    *seconds = s->mark_s[to] - s->mark_s[from];
    return 0;
}

static void *cpu_host_alloc(struct device *d, size_t bytes) {
    (void)d;
    return os_map(bytes);
}

static int64_t cpu_memory_in_use(struct device *d) {
    (void)d;
    return os_resident_memory();
}

/* ---- placement ---- */

/* Independent additions, as many as a core can start a cycle: seconds. */
static double additions_s(void) {
    const double start = os_now_s();
#if defined(__x86_64__)
    uint64_t a = 1, b = 2, c = 3, e = 4, y = 5;
    for (int i = 0; i < 600; i++)
        __asm__ volatile(".rept 16\n\tadd %4, %0\n\tadd %4, %1\n\tadd %4, %2\n\tadd %4, %3\n\t.endr"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(e)
                         : "r"(y)
                         : "cc");
#elif defined(__aarch64__)
    uint64_t a = 1, b = 2, c = 3, e = 4, y = 5;
    for (int i = 0; i < 600; i++)
        __asm__ volatile(".rept 16\n\tadd %0, %0, %4\n\tadd %1, %1, %4\n\tadd %2, %2, %4\n\tadd "
                         "%3, %3, %4\n\t.endr"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(e)
                         : "r"(y));
#else
    return 0;
#endif
    return os_now_s() - start;
}

/* Whether threads wait for each other's arithmetic: all at once they take well over the time that one takes alone. A
 * hypervisor may put two virtual CPUs on the two hardware threads of one core for seconds: every rate is then halved. */
static bool share_cores(const struct device *d, int threads) {
    double alone = INFINITY, together = INFINITY;
    if (!d->host_moves_threads)
        return false; /* threads stay on the cores that they are pinned to */
    for (int attempt = 0; attempt < 3; attempt++) {
        double slowest = 0;
        alone = fmin(alone, additions_s());
#pragma omp parallel num_threads(threads) reduction(max : slowest)
        {
#pragma omp barrier /* all are there: they add at the same time */
            slowest = additions_s();
        }
        together = fmin(together, slowest);
    }
    return together > 1.5 * alone;
}

/* Round trip of a line between thread 0 and the last one; the fastest of a few series, so that a lost time slice does
 * not count. A hypervisor may move virtual CPUs between caches at any time: bandwidth of two threads follows. */
static struct placement cpu_placement(struct device *d) {
    const int threads = state_of(d)->threads;
    if (threads < 2) return (struct placement){NAN, ""};
    static struct {
        _Alignas(CACHE_LINE) atomic_int ball;
        char pad[CACHE_LINE];
    } court;
    double best = INFINITY;
    for (int series = 0; series < 5; series++) {
        double seconds = INFINITY;
        atomic_store(&court.ball, 0);
#pragma omp parallel num_threads(threads)
        {
            const int me = omp_get_thread_num();
            if (me == 0) {
                double start = 0;
                for (int i = 0; i <= ROUND_TRIPS; i++) {
                    if (i == 1)
                        start = os_now_s(); /* the first trip waits for the team to arrive */
                    atomic_store_explicit(&court.ball, 2 * i + 1, memory_order_release);
                    while (atomic_load_explicit(&court.ball, memory_order_acquire) != 2 * i + 2)
                        continue;
                }
                seconds = os_now_s() - start;
            } else if (me == threads - 1) {
                for (int i = 0; i <= ROUND_TRIPS; i++) {
                    while (atomic_load_explicit(&court.ball, memory_order_acquire) != 2 * i + 1)
                        continue;
                    atomic_store_explicit(&court.ball, 2 * i + 2, memory_order_release);
                }
            }
        }
        best = fmin(best, seconds / ROUND_TRIPS);
    }
    const char *label = best * 1e9 < NEAR_NS ? "near" : "far";
    if (share_cores(d, threads))
        label = "shared";
    else
        d->own_cores_seen = true;
    return (struct placement){best * 1e9, label};
}

/* ---- clock and sensors ---- */

/* Cycles a second from a chain of dependent register additions, one cycle each on every x86-64 and AArch64 core.
 * (Additions of immediates are not used: some cores resolve them at rename.) */
static double clock_ghz(void) {
    enum { ADDS = 64, LOOPS = 1500 };
    double best = INFINITY;
    for (int attempt = 0; attempt < 5; attempt++) {
        const double start = os_now_s();
#if defined(__x86_64__)
        uint64_t x = 1, y = 3;
        for (int i = 0; i < LOOPS; i++)
            __asm__ volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(y) : "cc");
#elif defined(__aarch64__)
        uint64_t x = 1, y = 3;
        for (int i = 0; i < LOOPS; i++)
            __asm__ volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(y));
#else
        return NAN;
#endif
        best = fmin(best, os_now_s() - start);
    }
    return ADDS * LOOPS / best * 1e-9;
}

static struct conditions cpu_conditions(struct device *d) {
    struct cpu_state *s = state_of(d);
    const double energy = os_energy_j(), now = os_now_s();
    struct conditions c = {clock_ghz(), os_temperature_c(), NAN, ""};
    if (now > s->energy_at_s && energy >= s->energy_j)
        c.power_w = (energy - s->energy_j) / (now - s->energy_at_s);
    s->energy_j = energy;
    s->energy_at_s = now;
    return c;
}

/* ---- the device ---- */

/* A cycle, of two 512-bit vdpbf16ps: a core that is said to do more has AMX. */
static const double most_by_vectors = 128;

/* By CPUID's model; what the CPU does not report in its instruction sets does not count. */
static double cpu_flops_per_cycle(struct device *d, enum dtype t, int threads) {
    const struct cpu_facts *facts = &state_of(d)->facts;
    const int cores = threads < d->cores ? threads : d->cores;
    const char *name, *source;
    double flops;
    if (t == DT_bf16 && isa_level() < ISA_avx512_bf16) return NAN;
    if (!spec_cpu(facts->vendor, facts->family, facts->model_number, t, &flops, &name, &source))
        return NAN;
    if (t == DT_bf16 && flops > most_by_vectors && isa_level() < ISA_amx_bf16) return NAN;
    return cores * flops;
}

static int cpu_open(struct device *d) { return cpu_set_threads(d, 1); }

static void cpu_close(struct device *d) {
    if (d->state) free(state_of(d)->mark_s);
    free(d->state);
    d->state = NULL;
}

void device_cpu_init(struct device *d) {
    struct cpu_state *s = calloc(1, sizeof *s);
    if (!s) {
        perror("roofline");
        abort();
    }
    os_cpu_facts(&s->facts);
    s->threads = 1;
    s->energy_j = os_energy_j();
    s->energy_at_s = os_now_s();
    *d = (struct device){
        .name = "cpu",
        .max_threads = s->facts.usable_count,
        .host_moves_threads = s->facts.virtual_machine,
        .host_visible = true,
        .kernels = cpu_kernels,
        .outdone = isa_outdone,
        .vendors = &cpu_vendors,
        .spec_gbyte_s = NAN,
        .state = s,
        .open = cpu_open,
        .close = cpu_close,
        .set_threads = cpu_set_threads,
        .alloc = cpu_alloc,
        .release = cpu_release,
        .upload = cpu_move,
        .download = cpu_move,
        .time = cpu_time,
        .time_copies = cpu_time_copies,
        .mark = cpu_mark,
        .between = cpu_between,
        .host_alloc = cpu_host_alloc,
        .host_release = cpu_release,
        .upload_later = cpu_move,
        .memory_in_use = cpu_memory_in_use,
        .placement = cpu_placement,
        .conditions = cpu_conditions,
        .flops_per_cycle = cpu_flops_per_cycle,
        .cores = s->facts.usable_cores,
        .wait_left_s = 10,
    };
    snprintf(d->model, sizeof d->model, "%s", s->facts.model);
    device_make_slug(d->slug, sizeof d->slug, s->facts.model);
    for (int t = 0; t < DTYPE_COUNT; t++) d->spec_gflop_s[t] = NAN;
    for (int i = 0; i < s->facts.caches && d->levels < MAX_LEVELS - 1; i++) {
        struct level *level = &d->level[d->levels++];
        snprintf(level->name, sizeof level->name, "L%d", s->facts.cache[i].level);
        level->bytes = s->facts.cache[i].bytes;
        level->shared_by = s->facts.cache[i].shared_by;
        device_count_instances(s->facts.cache[i].home, d->max_threads, s->instances[i]);
        level->instances = s->instances[i];
    }
    d->level[d->levels++] = (struct level){
        .name = "DRAM", .bytes = s->facts.memory_bytes, .shared_by = s->facts.logical_cpus};
}
