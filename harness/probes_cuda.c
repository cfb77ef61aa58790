/* probes_cuda.c - loops around the kernels of probes.cu and around copies. Medians of several runs; each probe checks what
 * it computed or moved before a number is given. Sizes follow the device's own L2. */
#include "probes.h"
#include "os.h"
#include "stats.h"
#include "table.h"

#include "../kernels/cuda/clock.h"
#include "../kernels/cuda/probes.h"

#include <cuda_runtime_api.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 9 };

struct probing {
    struct device *d;
    const struct gpu_facts *gpu;
    struct probe_sink *sink;
    bool emulated; /* every step costs time: as little as shows that it works */
    int runs;
    cudaStream_t stream, copies;
    cudaEvent_t begin, end;
};

static int check(cudaError_t e, const char *call) {
    if (e != cudaSuccess)
        fprintf(stderr, "roofline: %s: %s (%s)\n", call, cudaGetErrorString(e),
                cudaGetErrorName(e));
    return (int)e;
}
/* Leaves by `done` with the error. */
#define TRY(call)                                                        \
    do {                                                                 \
        if ((error = check((cudaError_t)(call), #call)) != 0) goto done; \
    } while (0)

static void put(struct probing *p, const char *name, const char *setting, double value,
                const char *unit, const char *note) {
    const struct probe fact = {name, setting, value, unit, "ok", note};
    p->sink->put(p->sink, &fact);
}

static void put_none(struct probing *p, const char *name, const char *setting, const char *unit,
                     const char *status, const char *note) {
    const struct probe fact = {name, setting, NAN, unit, status, note};
    p->sink->put(p->sink, &fact);
}

static double median(double *x, int n) { return stats_of(x, (size_t)n).median; }

/* Seconds between the two events, both of which have been recorded. */
static int elapsed(struct probing *p, double *seconds) {
    float ms = 0;
    int error = 0;
    TRY(cudaEventSynchronize(p->end));
    TRY(cudaEventElapsedTime(&ms, p->begin, p->end));
    *seconds = 1e-3 * (double)ms;
done:
    return error;
}

/* ---- bandwidth ---- */

/* The sum of 32-bit words, modulo 2^32, as the kernel forms it. */
static uint32_t sum_words(const uint32_t *x, size_t n) {
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

/* Three eighths of the L2: enough that no L1 serves it, few enough that all of it stays. */
static int probe_l2_bandwidth(struct probing *p) {
    const int64_t tiles = 3 * p->gpu->l2_bytes / 8 / PROBE_TILE_BYTES,
                  bytes = tiles * PROBE_TILE_BYTES;
    uint32_t *host = NULL, *device = NULL, *sum = NULL, got = 0;
    double time[RUNS];
    char setting[64], size[32];
    int error = 0;
    if (tiles < 1) {
        put_none(p, "bandwidth L2 read", "", "GB/s", "refused", "no L2 size, or a tiny one");
        return 0;
    }
    const int64_t volume = p->emulated ? 2 * bytes : (int64_t)4 << 30, passes = volume / bytes + 1;
    format_bytes((double)bytes, size, sizeof size);
    snprintf(setting, sizeof setting, "%s, 3/8 of L2", size);
    host = malloc((size_t)bytes);
    if (!host) {
        put_none(p, "bandwidth L2 read", setting, "GB/s", "failed", "no memory on the host");
        return 0;
    }
    for (int64_t i = 0; i < bytes / 4; i++) host[i] = (uint32_t)i * 2654435761u;
    TRY(cudaMalloc((void **)&device, (size_t)bytes));
    TRY(cudaMalloc((void **)&sum, sizeof *sum));
    TRY(cudaMemcpy(device, host, (size_t)bytes, cudaMemcpyHostToDevice));
    TRY(cudaMemset(sum, 0, sizeof *sum));
    TRY(cudaDeviceSynchronize()); /* the probe's stream does not wait for the default one */
    for (int run = -1; run < p->runs; run++) { /* the first one brings the buffer in */
        double seconds;
        TRY(cudaEventRecord(p->begin, p->stream));
        TRY(probe_read(device, bytes, passes, sum, p->gpu, p->stream));
        TRY(cudaEventRecord(p->end, p->stream));
        if ((error = elapsed(p, &seconds)) != 0) goto done;
        if (run >= 0) time[run] = seconds;
    }
    TRY(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
    const uint32_t want = sum_words(host, (size_t)bytes / 4) * (uint32_t)(passes * (p->runs + 1));
    if (got == want)
        put(p, "bandwidth L2 read", setting,
            1e-9 * (double)bytes * (double)passes / median(time, p->runs), "GB/s", "");
    else
        put_none(p, "bandwidth L2 read", setting, "GB/s", "wrong", "the sum of what was read");
done:
    cudaFree(device);
    cudaFree(sum);
    free(host);
    return error;
}

/* By bulk copies: reads the first `bytes` of x `passes` times, or copies them to y (NULL: reads). *seconds: of each run. */
static int run_bulk(struct probing *p, const void *x, void *y, int64_t bytes, int64_t passes,
                    int64_t in_flight, uint32_t *sum, double *seconds) {
    int error = 0;
    for (int run = -1; run < p->runs; run++) { /* the first one brings the buffer in */
        double s;
        TRY(cudaEventRecord(p->begin, p->stream));
        if (y)
            TRY(probe_bulk_copy(x, y, bytes, passes, in_flight, p->gpu, p->stream));
        else
            TRY(probe_bulk_read(x, bytes, passes, in_flight, sum, p->gpu, p->stream));
        TRY(cudaEventRecord(p->end, p->stream));
        if ((error = elapsed(p, &s)) != 0) goto done;
        if (run >= 0) seconds[run] = s;
    }
done:
    return error;
}

/* One line: whether what was read or copied is right, and how fast with so many bytes in flight. */
static int probe_bulk_with(struct probing *p, const char *level, const uint32_t *host,
                           const uint32_t *x, uint32_t *y, int64_t bytes, int64_t in_flight,
                           uint32_t *sum, uint32_t *back) {
    const int64_t volume = p->emulated ? bytes : (int64_t)4 << 30,
                  passes = (volume - 1) / bytes + 1;
    double time[RUNS];
    char name[64], setting[80], size[32];
    uint32_t got = 0;
    int error = 0;
    bool right;
    snprintf(name, sizeof name, "bandwidth %s %s, bulk", level, y ? "copy" : "read");
    format_bytes((double)bytes, size, sizeof size);
    snprintf(setting, sizeof setting, "%s, %d KiB in flight", size, (int)(in_flight >> 10));
    TRY(cudaMemsetAsync(sum, 0, sizeof *sum, p->stream));
    if (y) TRY(cudaMemsetAsync(y, 0, (size_t)bytes, p->stream));
    if ((error = run_bulk(p, x, y, bytes, passes, in_flight, sum, time)) != 0) goto done;
    if (y) {
        TRY(cudaMemcpy(back, y, (size_t)bytes, cudaMemcpyDeviceToHost));
        right = memcmp(host, back, (size_t)bytes) == 0;
    } else {
        TRY(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
        right = got == sum_words(host, (size_t)bytes / 4) * (uint32_t)(passes * (p->runs + 1));
    }
    if (right)
        put(p, name, setting,
            1e-9 * (double)bytes * (y ? 2 : 1) * (double)passes / median(time, p->runs), "GB/s",
            "");
    else
        put_none(p, name, setting, "GB/s", "wrong",
                 y ? "what was copied" : "the sum of what was read");
done:
    return error;
}

/* Reads and copies by bulk copies in the L2, of which a copy's two buffers take three eighths, and past it. */
static int probe_bulk_bandwidth(struct probing *p) {
    static const int64_t rings[] = {16, 32, 64, 128,
                                    192}; /* KiB in flight on each multiprocessor */
    enum { RINGS = sizeof rings / sizeof *rings };
    const int64_t l2 = p->gpu->l2_bytes, near = 3 * l2 / 16 / 4096 * 4096,
                  far = 4 * l2 / 4096 * 4096;
    uint32_t *host = NULL, *back = NULL, *x = NULL, *y = NULL, *sum = NULL;
    int error = 0;
    if (p->gpu->cc < 90 || near < 4096) {
        put_none(p, "bandwidth read, bulk", "", "GB/s", "refused",
                 p->gpu->cc < 90 ? "bulk copies begin with sm_90" : "the device names no L2 size");
        return 0;
    }
    host = malloc((size_t)far);
    back = malloc((size_t)far);
    if (!host || !back) {
        put_none(p, "bandwidth read, bulk", "", "GB/s", "failed", "no memory on the host");
        goto done;
    }
    for (int64_t i = 0; i < far / 4; i++) host[i] = (uint32_t)i * 2654435761u;
    TRY(cudaMalloc((void **)&x, (size_t)far));
    TRY(cudaMalloc((void **)&y, (size_t)far));
    TRY(cudaMalloc((void **)&sum, sizeof *sum));
    TRY(cudaMemcpy(x, host, (size_t)far, cudaMemcpyHostToDevice));
    TRY(cudaDeviceSynchronize()); /* the probe's stream does not wait for the default one */
    for (int copies = 0; copies < 2; copies++) {
        for (int dram = 0; dram < 2; dram++) {
            for (int i = 0; i < RINGS; i++) {
                if (p->emulated && i % 3 != 0) continue;
                if (rings[i] << 10 > p->gpu->smem_block_bytes - 1024) continue;
                error = probe_bulk_with(p, dram ? "DRAM" : "L2", host, x, copies ? y : NULL,
                                        dram ? far : near, rings[i] << 10, sum, back);
                if (error) goto done;
            }
        }
    }
done:
    cudaFree(x);
    cudaFree(y);
    cudaFree(sum);
    free(host);
    free(back);
    return error;
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int probe_shared_bandwidth(struct probing *p) {
    const int64_t rounds = p->emulated ? 8 : 1 << 14;
    const size_t blocks = (size_t)p->gpu->sms;
    uint32_t *sum = NULL, *sums = calloc(blocks, sizeof *sums);
    uint64_t *cycles = NULL, *took = calloc(blocks, sizeof *took);
    double *each = calloc(blocks, sizeof *each), time[RUNS];
    char setting[64];
    int error = 0;
    bool right = true;
    snprintf(setting, sizeof setting, "%d KiB a multiprocessor", PROBE_SHARED_BYTES >> 10);
    if (!sums || !took || !each) {
        put_none(p, "bandwidth shared read", setting, "GB/s", "failed", "no memory on the host");
        goto done;
    }
    TRY(cudaMalloc((void **)&sum, blocks * sizeof *sum));
    TRY(cudaMalloc((void **)&cycles, blocks * sizeof *cycles));
    for (int run = -1; run < p->runs; run++) {
        double seconds;
        TRY(cudaEventRecord(p->begin, p->stream));
        TRY(probe_shared(rounds, sum, cycles, p->gpu, p->stream));
        TRY(cudaEventRecord(p->end, p->stream));
        if ((error = elapsed(p, &seconds)) != 0) goto done;
        if (run >= 0) time[run] = seconds;
    }
    TRY(cudaMemcpy(sums, sum, blocks * sizeof *sum, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(took, cycles, blocks * sizeof *cycles, cudaMemcpyDeviceToHost));
    const uint32_t words = PROBE_SHARED_BYTES / 4, once = words / 2 * (words - 1); /* 0 + 1 + ... */
    for (size_t i = 0; i < blocks; i++) {
        right = right && sums[i] == once * (uint32_t)rounds;
        each[i] = (double)took[i];
    }
    if (!right) {
        put_none(p, "bandwidth shared read", setting, "GB/s", "wrong", "a sum of what was read");
        goto done;
    }
    qsort(each, blocks, sizeof *each, compare_doubles);
    const double bytes = (double)PROBE_SHARED_BYTES * (double)rounds;
    put(p, "bandwidth shared read", setting, bytes / quantile(each, blocks, 0.5), "B/clk/SM", "");
    put(p, "bandwidth shared read", setting, 1e-9 * bytes * (double)blocks / median(time, p->runs),
        "GB/s", "of all multiprocessors");
done:
    cudaFree(sum);
    cudaFree(cycles);
    free(sums);
    free(took);
    free(each);
    return error;
}

/* ---- latency ---- */

/* A ring of nodes, `stride` bytes apart, in random order; `steps` of it, no whole turns, are timed after `warm`. Bytes of `sweep` are read
 * before, so that what the ring's making left in the L2 is gone. */
struct ring {
    const char *name;
    int64_t nodes, stride, warm, steps, sweep;
    bool through_l1;
};

static uint64_t next_random(uint64_t *state) { /* xorshift64, Marsaglia 2003 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* NULL, or why the ring's latency would not be this level's. */
static const char *refuses_ring(const struct probing *p, const struct ring *r) {
    const int64_t bytes = r->nodes * r->stride, l2 = p->gpu->l2_bytes;
    if (l2 <= 0) return "the device names no L2 size";
    /* the L1 is what shared memory leaves of the same array, and the probe takes none */
    if (r->through_l1)
        return 2 * bytes <= p->gpu->smem_block_bytes ? NULL : "the ring does not fit in the L1";
    if (r->sweep == 0) return 2 * bytes <= l2 ? NULL : "the ring does not fit in half of the L2";
    return bytes >= 4 * l2 ? NULL : "the ring is smaller than 4 x the L2";
}

static int probe_latency(struct probing *p, const struct ring *r) {
    const int64_t bytes = r->nodes * r->stride;
    uint32_t *order = NULL, *device_order = NULL, *sum = NULL;
    uint64_t *out = NULL, state = 0x9e3779b97f4a7c15u;
    char *ring = NULL, *sweep = NULL, setting[64], size[32];
    double cycles[RUNS], ns[RUNS];
    int error = 0;
    bool right = true;
    format_bytes((double)bytes, size, sizeof size);
    snprintf(setting, sizeof setting, "%s, step %lld B", size, (long long)r->stride);
    const char *refusal = refuses_ring(p, r);
    if (refusal) {
        put_none(p, r->name, setting, "cycles", "refused", refusal);
        return 0;
    }
    if (cudaMalloc((void **)&ring, (size_t)bytes) != cudaSuccess ||
        (r->sweep && cudaMalloc((void **)&sweep, (size_t)r->sweep) != cudaSuccess)) {
        cudaGetLastError(); /* out of memory is an answer, not a fault */
        put_none(p, r->name, setting, "cycles", "refused", "the ring does not fit in memory");
        goto done;
    }
    order = malloc((size_t)r->nodes * sizeof *order);
    if (!order) {
        put_none(p, r->name, setting, "cycles", "failed", "no memory on the host");
        goto done;
    }
    for (int64_t i = 0; i < r->nodes; i++) order[i] = (uint32_t)i;
    for (int64_t i = r->nodes - 1; i > 0; i--) { /* Fisher and Yates's shuffle */
        const int64_t j = (int64_t)(next_random(&state) % (uint64_t)(i + 1));
        const uint32_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    TRY(cudaMalloc((void **)&device_order, (size_t)r->nodes * sizeof *order));
    TRY(cudaMalloc((void **)&out, 3 * sizeof *out));
    TRY(cudaMalloc((void **)&sum, sizeof *sum));
    TRY(cudaMemcpyAsync(device_order, order, (size_t)r->nodes * sizeof *order,
                        cudaMemcpyHostToDevice, p->stream));
    TRY(probe_link(ring, device_order, r->nodes, r->stride, p->stream));
    if (sweep) {
        TRY(cudaMemsetAsync(sweep, 0, (size_t)r->sweep, p->stream));
        TRY(cudaMemsetAsync(sum, 0, sizeof *sum, p->stream));
        TRY(probe_read(sweep, r->sweep, 1, sum, p->gpu, p->stream)); /* clean lines stay */
    }
    for (int run = 0; run < p->runs; run++) {
        /* each run goes on where the last one ended: beyond the L2, no node is met twice */
        const int64_t first = run * (r->warm + r->steps) % r->nodes,
                      last = (first + r->warm + r->steps) % r->nodes;
        uint64_t got[3];
        TRY(probe_chase(ring + order[first] * r->stride, r->warm, r->steps, r->through_l1, out,
                        p->stream));
        TRY(cudaMemcpyAsync(got, out, sizeof got, cudaMemcpyDeviceToHost, p->stream));
        TRY(cudaStreamSynchronize(p->stream));
        right = right && got[2] == (uint64_t)(uintptr_t)(ring + order[last] * r->stride);
        cycles[run] = (double)got[0] / (double)r->steps;
        ns[run] = (double)got[1] / (double)r->steps;
    }
    if (right) {
        put(p, r->name, setting, median(cycles, p->runs), "cycles", "");
        put(p, r->name, setting, median(ns, p->runs), "ns", "");
    } else {
        put_none(p, r->name, setting, "cycles", "wrong", "the chase ended at another node");
    }
done:
    cudaFree(ring);
    cudaFree(sweep);
    cudaFree(device_order);
    cudaFree(out);
    cudaFree(sum);
    free(order);
    return error;
}

static int probe_l1_latency(struct probing *p) {
    enum { NODES = 128, STRIDE = 128 }; /* 16 KiB, a node a line */
    const struct ring r = {.name = "latency L1",
                           .nodes = NODES,
                           .stride = STRIDE,
                           .warm = NODES,
                           .steps = 32 * NODES - 1,
                           .through_l1 = true};
    return probe_latency(p, &r);
}

static int probe_l2_latency(struct probing *p) {
    enum { STRIDE = 128 };
    const int64_t nodes = p->gpu->l2_bytes / 4 / STRIDE;
    const struct ring r = {.name = "latency L2",
                           .nodes = nodes,
                           .stride = STRIDE,
                           .warm = nodes,
                           .steps = nodes - nodes / 4};
    return probe_latency(p, &r);
}

static int probe_dram_latency(struct probing *p) {
    /* the runs together meet less than half of the nodes */
    enum { STEPS = 2048, NODES = 2 * STEPS * RUNS + STEPS, LINE = 128 };
    const int64_t l2 = p->gpu->l2_bytes;
    const struct ring r = {.name = "latency DRAM",
                           .nodes = NODES,
                           .stride = (8 * l2 / NODES / LINE + 1) * LINE,
                           .steps = STEPS,
                           .sweep = 2 * l2 / PROBE_TILE_BYTES * PROBE_TILE_BYTES};
    return probe_latency(p, &r);
}

/* ---- clocks ---- */

static int probe_idle_clock(struct probing *p) {
    uint64_t *out = NULL, got[3];
    double ghz[RUNS];
    int error = 0;
    TRY(cudaMalloc((void **)&out, sizeof got));
    for (int run = 0; run < p->runs; run++) {
        os_sleep_s(p->emulated ? 0 : 0.2);
        TRY(cuda_clock_start(out, 100e-6, p->stream));
        TRY(cudaMemcpyAsync(got, out, sizeof got, cudaMemcpyDeviceToHost, p->stream));
        TRY(cudaStreamSynchronize(p->stream));
        ghz[run] = got[1] ? (double)got[0] / (double)got[1] : NAN;
    }
    const double value = median(ghz, p->runs);
    if (isfinite(value) && value > 0)
        put(p, "clock idle", "after 0.2 s of rest", value, "GHz", "");
    else
        put_none(p, "clock idle", "after 0.2 s of rest", "GHz", "wrong", "no time has passed");
done:
    cudaFree(out);
    return error;
}

/* Every block's work; *seconds per call. *ghz: of the first block. */
static int busy(struct probing *p, int64_t rounds, uint64_t *out, double *seconds, double *ghz,
                bool *right) {
    const size_t words = 3 * (size_t)p->gpu->sms * PROBE_BUSY_BLOCKS;
    uint64_t *got = malloc(words * sizeof *got);
    int error = got ? 0 : (int)cudaErrorMemoryAllocation;
    if (error) return check((cudaError_t)error, "malloc");
    TRY(cudaEventRecord(p->begin, p->stream));
    TRY(probe_busy(rounds, out, p->gpu, p->stream));
    TRY(cudaEventRecord(p->end, p->stream));
    if ((error = elapsed(p, seconds)) != 0) goto done;
    TRY(cudaMemcpy(got, out, words * sizeof *got, cudaMemcpyDeviceToHost));
    *right = true;
    for (size_t i = 2; i < words; i += 3) *right = *right && got[i] == 1;
    *ghz = got[1] ? (double)got[0] / (double)got[1] : NAN;
done:
    free(got);
    return error;
}

/* Rounds that take about `seconds`. */
static int busy_rounds(struct probing *p, uint64_t *out, double seconds, int64_t *rounds,
                       bool *right) {
    double took = 0, ghz;
    int error = 0;
    *rounds = 64;
    if (p->emulated) {
        *right = true;
        return 0;
    }
    for (int64_t n = 1 << 14; took < 1e-3 && n < (int64_t)1 << 40 && !error; n *= 4) {
        error = busy(p, n, out, &took, &ghz, right);
        if (took > 0) *rounds = (int64_t)fmax((double)n * seconds / took, 64);
    }
    return error;
}

static int probe_load_clock(struct probing *p) {
    const double call_s = 10e-3, load_s = p->emulated ? 0 : 1;
    uint64_t *out = NULL;
    double ghz[RUNS], seconds = 0, value = 0;
    int64_t rounds;
    int error = 0;
    bool right = true, all = true;
    TRY(cudaMalloc((void **)&out, 3 * sizeof *out * (size_t)p->gpu->sms * PROBE_BUSY_BLOCKS));
    if ((error = busy_rounds(p, out, call_s, &rounds, &right)) != 0) goto done;
    for (const double start = os_now_s(); os_now_s() - start < load_s && right;)
        if ((error = busy(p, rounds, out, &seconds, &value, &right)) != 0) goto done;
    for (int run = 0; run < p->runs; run++) {
        if ((error = busy(p, rounds, out, &seconds, &ghz[run], &right)) != 0) goto done;
        all = all && right;
    }
    value = median(ghz, p->runs);
    if (all && isfinite(value))
        put(p, "clock under load", "1 s of fp32 multiply-adds", value, "GHz", "");
    else
        put_none(p, "clock under load", "1 s of fp32 multiply-adds", "GHz", "wrong",
                 "a result of the load");
done:
    cudaFree(out);
    return error;
}

/* ---- launches ---- */

static int probe_launch(struct probing *p) {
    const int calls = p->emulated ? 32 : 1000, trips = calls / 10;
    uint32_t *count = NULL, got = 0;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    double stream_us[RUNS], graph_us[RUNS], trip_us[RUNS], seconds;
    char setting[64];
    int error = 0;
    bool capturing = false;
    snprintf(setting, sizeof setting, "%d kernels", calls);
    TRY(cudaMalloc((void **)&count, sizeof *count));
    TRY(cudaMemset(count, 0, sizeof *count));
    TRY(cudaDeviceSynchronize());
    TRY(cudaStreamBeginCapture(p->stream, cudaStreamCaptureModeThreadLocal));
    capturing = true;
    for (int i = 0; i < calls; i++) TRY(probe_empty(count, p->stream));
    capturing = false;
    TRY(cudaStreamEndCapture(p->stream, &graph));
    TRY(cudaGraphInstantiate(&exec, graph, 0));
    for (int run = -1; run < p->runs; run++) {
        TRY(cudaEventRecord(p->begin, p->stream));
        for (int i = 0; i < calls; i++) TRY(probe_empty(count, p->stream));
        TRY(cudaEventRecord(p->end, p->stream));
        if ((error = elapsed(p, &seconds)) != 0) goto done;
        if (run >= 0) stream_us[run] = 1e6 * seconds / calls;

        TRY(cudaEventRecord(p->begin, p->stream));
        TRY(cudaGraphLaunch(exec, p->stream));
        TRY(cudaEventRecord(p->end, p->stream));
        if ((error = elapsed(p, &seconds)) != 0) goto done;
        if (run >= 0) graph_us[run] = 1e6 * seconds / calls;

        const double start = os_now_s();
        for (int i = 0; i < trips; i++) {
            TRY(probe_empty(count, p->stream));
            TRY(cudaStreamSynchronize(p->stream));
        }
        if (run >= 0) trip_us[run] = 1e6 * (os_now_s() - start) / (double)trips;
    }
    TRY(cudaMemcpy(&got, count, sizeof got, cudaMemcpyDeviceToHost));
    if (got == (uint32_t)((p->runs + 1) * (2 * calls + trips))) {
        put(p, "launch in a stream", setting, median(stream_us, p->runs), "us", "back to back");
        put(p, "launch in a graph", setting, median(graph_us, p->runs), "us", "back to back");
        put(p, "launch and wait", "1 kernel", median(trip_us, p->runs), "us", "the host's clock");
    } else {
        put_none(p, "launch", setting, "us", "wrong", "not every kernel has run once");
    }
done:
    if (capturing) cudaStreamEndCapture(p->stream, &graph);
    if (exec) cudaGraphExecDestroy(exec);
    if (graph) cudaGraphDestroy(graph);
    cudaFree(count);
    return error;
}

/* ---- copies ---- */

static int copy_once(struct probing *p, void *to, const void *from, size_t bytes,
                     enum cudaMemcpyKind kind, double *seconds) {
    int error = 0;
    const double start = os_now_s();
    TRY(cudaMemcpyAsync(to, from, bytes, kind, p->stream));
    TRY(cudaStreamSynchronize(p->stream));
    *seconds = os_now_s() - start;
done:
    return error;
}

/* There and back again: the second copy's result is compared with the first one's source. */
static int probe_copies_of(struct probing *p, const char *memory, uint64_t *there, uint64_t *back,
                           void *device, size_t bytes) {
    const struct {
        const char *name;
        size_t bytes;
        double scale;
        const char *unit;
    } size[] = {{"bandwidth", bytes, 1e-9 * (double)bytes, "GB/s"}, {"latency", 8, 0, "us"}};
    for (int s = 0; s < 2; s++) {
        double up[RUNS], down[RUNS];
        char name[2][64], text[32], setting[64];
        int error = 0;
        bool right = true;
        snprintf(name[0], sizeof name[0], "%s host to device", size[s].name);
        snprintf(name[1], sizeof name[1], "%s device to host", size[s].name);
        format_bytes((double)size[s].bytes, text, sizeof text);
        snprintf(setting, sizeof setting, "%s %s", text, memory);
        for (int run = -1; run < p->runs && !error; run++) {
            double t[2];
            for (size_t i = 0; i < size[s].bytes / 8; i++) {
                there[i] = (i + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)(run + 1);
                back[i] = 0;
            }
            error = copy_once(p, device, there, size[s].bytes, cudaMemcpyHostToDevice, &t[0]);
            if (!error)
                error = copy_once(p, back, device, size[s].bytes, cudaMemcpyDeviceToHost, &t[1]);
            if (error) break;
            right = right && memcmp(there, back, size[s].bytes) == 0;
            if (run < 0) continue; /* the first use of memory */
            up[run] = t[0];
            down[run] = t[1];
        }
        if (error) return error;
        for (int way = 0; way < 2; way++) {
            const double seconds = median(way ? down : up, p->runs);
            if (right)
                put(p, name[way], setting,
                    size[s].scale > 0 ? size[s].scale / seconds : 1e6 * seconds, size[s].unit,
                    "the host's clock");
            else
                put_none(p, name[way], setting, size[s].unit, "wrong", "other bytes came back");
        }
    }
    return 0;
}

static size_t copy_bytes(const struct probing *p) {
    return p->emulated ? (size_t)p->gpu->l2_bytes : (size_t)256 << 20;
}

static int probe_copies(struct probing *p) {
    const size_t bytes = copy_bytes(p);
    uint64_t *pinned[2] = {NULL, NULL}, *pageable[2] = {malloc(bytes), malloc(bytes)};
    void *device = NULL;
    int error = 0;
    if (!pageable[0] || !pageable[1]) {
        put_none(p, "bandwidth host to device", "", "GB/s", "failed", "no memory on the host");
        goto done;
    }
    TRY(cudaMalloc(&device, bytes));
    TRY(cudaMallocHost((void **)&pinned[0], bytes));
    TRY(cudaMallocHost((void **)&pinned[1], bytes));
    error = probe_copies_of(p, "pinned", pinned[0], pinned[1], device, bytes);
    if (!error) error = probe_copies_of(p, "pageable", pageable[0], pageable[1], device, bytes);
done:
    cudaFreeHost(pinned[0]);
    cudaFreeHost(pinned[1]);
    cudaFree(device);
    free(pageable[0]);
    free(pageable[1]);
    return error;
}

/* A copy to the device and arithmetic that takes as long, apart and together. */
static int probe_overlap(struct probing *p) {
    const size_t bytes = copy_bytes(p);
    uint64_t *host = NULL, *back = NULL, *out = NULL;
    void *device = NULL;
    double copy_s[RUNS], busy_s[RUNS], both_s[RUNS], ghz;
    char setting[64], text[32];
    int64_t rounds;
    int error = 0;
    bool right = true, all = true;
    format_bytes((double)bytes, text, sizeof text);
    snprintf(setting, sizeof setting, "%s pinned, fp32", text);
    TRY(cudaMallocHost((void **)&host, bytes));
    TRY(cudaMallocHost((void **)&back, bytes));
    TRY(cudaMalloc(&device, bytes));
    TRY(cudaMalloc((void **)&out, 3 * sizeof *out * (size_t)p->gpu->sms * PROBE_BUSY_BLOCKS));
    for (size_t i = 0; i < bytes / 8; i++) host[i] = (i + 1) * 0x9e3779b97f4a7c15u;
    memset(back, 0, bytes);
    for (int run = 0; run < 2; run++) { /* the second one is the time */
        error = copy_once(p, device, host, bytes, cudaMemcpyHostToDevice, &copy_s[0]);
        if (error) goto done;
    }
    if ((error = busy_rounds(p, out, copy_s[0], &rounds, &right)) != 0) goto done;
    for (int run = 0; run < p->runs; run++) {
        error = copy_once(p, device, host, bytes, cudaMemcpyHostToDevice, &copy_s[run]);
        if (error) goto done;
        if ((error = busy(p, rounds, out, &busy_s[run], &ghz, &right)) != 0) goto done;
        all = all && right;

        TRY(cudaMemsetAsync(device, 0, bytes, p->stream));
        TRY(cudaStreamSynchronize(p->stream));
        const double start = os_now_s();
        TRY(probe_busy(rounds, out, p->gpu, p->stream));
        TRY(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, p->copies));
        TRY(cudaStreamSynchronize(p->copies));
        TRY(cudaStreamSynchronize(p->stream));
        both_s[run] = os_now_s() - start;
    }
    TRY(cudaMemcpy(back, device, bytes, cudaMemcpyDeviceToHost));
    if (all && memcmp(host, back, bytes) == 0) {
        const double copy = median(copy_s, p->runs), work = median(busy_s, p->runs);
        put(p, "copy beside compute", setting, median(both_s, p->runs) / fmax(copy, work), "x",
            "both, over the longer one alone; 1: hidden, 2: one after the other");
    } else {
        put_none(p, "copy beside compute", setting, "x", "wrong", "a result of either");
    }
done:
    cudaFreeHost(host);
    cudaFreeHost(back);
    cudaFree(device);
    cudaFree(out);
    return error;
}

/* ---- all ---- */

int probes_measure(struct device *d, struct probe_sink *sink) {
    static const struct {
        const char *name;
        int (*measure)(struct probing *p);
    } probes[] = {
        {"clock idle", probe_idle_clock}, /* before anything has warmed it up */
        {"latency L1", probe_l1_latency},
        {"latency L2", probe_l2_latency},
        {"latency DRAM", probe_dram_latency},
        {"bandwidth shared read", probe_shared_bandwidth},
        {"bandwidth L2 read", probe_l2_bandwidth},
        {"bandwidth bulk", probe_bulk_bandwidth},
        {"launch", probe_launch},
        {"copies", probe_copies},
        {"copy beside compute", probe_overlap},
        {"clock under load", probe_load_clock},
    };
    struct probing p = {.d = d,
                        .gpu = d->gpu,
                        .sink = sink,
                        .emulated = d->emulated,
                        .runs = d->emulated ? 3 : RUNS,
                        .stream = d->stream};
    int error = 0;
    TRY(cudaStreamCreateWithFlags(&p.copies, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&p.begin));
    TRY(cudaEventCreate(&p.end));
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        const int failed = probes[i].measure(&p);
        if (!failed) continue;
        put_none(&p, probes[i].name, "", "", "failed", cudaGetErrorName((cudaError_t)failed));
        if (!d->alive(d)) {
            error = -1;
            break;
        }
    }
done:
    if (p.begin) cudaEventDestroy(p.begin);
    if (p.end) cudaEventDestroy(p.end);
    if (p.copies) cudaStreamDestroy(p.copies);
    return error ? -1 : 0;
}
