/* device_cuda.c - an NVIDIA GPU through the CUDA runtime, in plain C; only kernels need nvcc. CUDA 12 and 13.
 *
 * A sample is `reps` calls between two events. Calls shorter than a launch takes are put into a CUDA graph, recorded
 * once a trial, so that the gaps between them are the hardware's. Cold calls rotate through sets of operands. */
#define _POSIX_C_SOURCE 200809L
#include "counters.h"
#include "devices.h"
#include "nvml.h"
#include "os.h"
#include "runinfo.h"
#include "specs.h"

#include "../kernels/cuda/clock.h"
#include "../kernels/cuda/outdone.h"

#include <cuda_runtime_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GRAPH_LEAST = 8, GRAPH_CALLS = 256, GRAPH_MOST = 4096 };
static const double short_call_s = 50e-6, clock_s = 200e-6, ahead_s = 30e-6;

/* Recorded calls: run on a[0], a[1] ... a[sets - 1], a[0] ... `calls` times, a multiple of sets. */
struct graph {
    kernel_fn *run;
    const struct args *a;
    int sets, calls;
    cudaGraphExec_t exec;
};

struct cuda_state {
    struct gpu_info info;
    bool is_open;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    uint64_t *clock;   /* device memory of cuda_clock_start() */
    struct nvml *nvml; /* NULL: not open, or there is none */
    double energy_j;   /* at the last reading; NaN: not counted */
    struct timespec energy_at;
    struct counters *counters; /* NULL: not opened yet */
    void *flush;               /* twice the L2, for the counters' pass */
    struct graph graph;
    kernel_fn *last_run; /* what took last_call_s the last time */
    const struct args *last_args;
    double last_call_s;
    cudaEvent_t *mark; /* moments kept for between() */
    int marks;
};

static struct cuda_state *state_of(struct device *d) { return d->state; }

/* Says what failed; 0 or the error. */
static int check(cudaError_t e, const char *call) {
    if (e != cudaSuccess)
        fprintf(stderr, "roofline: %s: %s (%s)\n", call, cudaGetErrorString(e),
                cudaGetErrorName(e));
    return (int)e;
}
#define CHECK(call)                              \
    do {                                         \
        const int error_ = check((call), #call); \
        if (error_) return error_;               \
    } while (0)

/* ---- which ---- */

static int attribute(enum cudaDeviceAttr what, int index) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, what, index) == cudaSuccess ? value : 0;
}

static void format_uuid(const cudaUUID_t *u, bool mig, char text[DEVICE_TEXT]) {
    const unsigned char *b = (const unsigned char *)u->bytes;
    snprintf(text, DEVICE_TEXT,
             "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             mig ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}

static int describe(int index, struct gpu_info *g) {
    struct cudaDeviceProp p;
    const cudaError_t e = cudaGetDeviceProperties(&p, index);
    if (e != cudaSuccess) return (int)e;
    *g = (struct gpu_info){.index = index, .memory_bytes = (int64_t)p.totalGlobalMem};
    snprintf(g->name, sizeof g->name, "%.*s", (int)sizeof g->name - 1, p.name);
    g->mig = strstr(p.name, " MIG ") != NULL; /* "NVIDIA A100-SXM4-40GB MIG 3g.20gb" */
    g->emulated = strncmp(p.name, "emu:", 4) == 0;
    format_uuid(&p.uuid, g->mig, g->uuid);
    if (cudaDeviceGetPCIBusId(g->pci_bus_id, sizeof g->pci_bus_id, index) != cudaSuccess)
        g->pci_bus_id[0] = '\0';
    g->facts = (struct gpu_facts){
        .cc = 10 * p.major + p.minor,
        .sms = p.multiProcessorCount,
        .smem_block_bytes = (int)p.sharedMemPerBlockOptin,
        .l2_bytes = p.l2CacheSize,
    };
    const int clock_khz = attribute(cudaDevAttrClockRate, index),
              memory_khz = attribute(cudaDevAttrMemoryClockRate, index);
    g->boost_ghz = clock_khz > 0 ? clock_khz * 1e-6 : NAN;
    g->memory_ghz = memory_khz > 0 ? memory_khz * 1e-6 : NAN;
    g->bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
    g->ecc = attribute(cudaDevAttrEccEnabled, index) != 0;
    cudaDriverGetVersion(&g->driver_version);
    cudaRuntimeGetVersion(&g->runtime_version);
    return 0;
}

void device_cuda_list(struct gpus *out) {
    int count = 0;
    memset(out, 0, sizeof *out);
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count == 0) {
        const char *text = e == cudaErrorInsufficientDriver
                               ? "no NVIDIA driver, or one older than this program's CUDA"
                           : e == cudaErrorNoDevice || e == cudaSuccess ? "the driver shows no GPU"
                                                                        : cudaGetErrorString(e);
        snprintf(out->why_none, sizeof out->why_none, "%s", text);
        cudaGetLastError();
        return;
    }
    for (int i = 0; i < count && out->count < MAX_GPUS; i++)
        if (describe(i, &out->gpu[out->count]) == 0) out->count++;
    if (out->count == 0)
        snprintf(out->why_none, sizeof out->why_none, "the driver does not describe its GPUs");
}

/* ---- open and close ---- */

static void drop_graph(struct cuda_state *s) {
    if (s->graph.exec) cudaGraphExecDestroy(s->graph.exec);
    s->graph = (struct graph){0};
}

static int open_it(struct device *d) {
    struct cuda_state *s = state_of(d);
    CHECK(cudaSetDevice(s->info.index));
    CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&s->begin));
    CHECK(cudaEventCreate(&s->end));
    CHECK(cudaMalloc((void **)&s->clock, 3 * sizeof *s->clock));
    d->stream = s->stream;
    s->is_open = true;
    if (s->info.pci_bus_id[0] && !s->info.emulated) {
        char why[160]; /* without it temperature and power stay empty */
        s->nvml = nvml_open(s->info.pci_bus_id, why, sizeof why);
    }
    return 0;
}

static int cuda_open(struct device *d) { return open_it(d) ? -1 : 0; }

static void cuda_close(struct device *d) {
    struct cuda_state *s = state_of(d);
    if (s->is_open) {
        drop_graph(s);
        counters_close(s->counters);
        nvml_close(s->nvml);
        cudaFree(s->flush);
        cudaFree(s->clock);
        for (int i = 0; i < s->marks; i++) cudaEventDestroy(s->mark[i]);
        free(s->mark);
        cudaEventDestroy(s->begin);
        cudaEventDestroy(s->end);
        cudaStreamDestroy(s->stream);
    }
    free(s);
    d->state = NULL;
}

static int cuda_set_threads(struct device *d, int threads) {
    (void)d;
    return threads == 1 ? 0 : -1;
}

/* ---- memory ---- */

static void *cuda_alloc(struct device *d, size_t bytes) {
    void *p = NULL;
    (void)d;
    if (cudaMalloc(&p, bytes) == cudaSuccess) return p;
    cudaGetLastError(); /* out of memory is an answer, not a fault */
    return NULL;
}

static void cuda_release(struct device *d, void *p, size_t bytes) {
    (void)bytes;
    drop_graph(state_of(d)); /* it may use p */
    cudaFree(p);
}

static int move(struct device *d, void *dst, const void *src, size_t bytes,
                enum cudaMemcpyKind kind) {
    struct cuda_state *s = state_of(d);
    CHECK(cudaMemcpyAsync(dst, src, bytes, kind, s->stream));
    CHECK(cudaStreamSynchronize(s->stream));
    return 0;
}

static int cuda_clear(struct device *d, void *p, size_t bytes) {
    struct cuda_state *s = state_of(d);
    CHECK(cudaMemsetAsync(p, 0, bytes, s->stream));
    return 0;
}

static int cuda_upload(struct device *d, void *dst, const void *src, size_t bytes) {
    return move(d, dst, src, bytes, cudaMemcpyHostToDevice);
}

static int cuda_download(struct device *d, void *dst, const void *src, size_t bytes) {
    return move(d, dst, src, bytes, cudaMemcpyDeviceToHost);
}

/* ---- time ---- */

/* Records `calls` calls; 0, the kernel's code, or an error of the runtime. */
static int record(struct cuda_state *s, kernel_fn *run, const struct args *a, int sets, int calls) {
    cudaGraph_t graph = NULL;
    int error = 0;
    drop_graph(s);
    CHECK(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls && !error; i++) error = run(&a[i % sets]);
    const cudaError_t ended = cudaStreamEndCapture(s->stream, &graph);
    if (!error) error = check(ended, "cudaStreamEndCapture");
    if (!error)
        error = check(cudaGraphInstantiate(&s->graph.exec, graph, 0), "cudaGraphInstantiate");
    if (graph) cudaGraphDestroy(graph);
    if (error) {
        s->graph.exec = NULL;
        return error;
    }
    s->graph = (struct graph){run, a, sets, calls, s->graph.exec};
    return 0;
}

/* Calls a graph of these should have, at most half of a sample's; 0: launch them one by one. A sample of 2 ms has 40 calls of
 * 50 us, which is what a call can take that launches three kernels with descriptors of its operands, however short they are. */
static int graph_calls(const struct cuda_state *s, kernel_fn *run, const struct args *a, int sets,
                       int64_t reps) {
    const bool known = run == s->last_run && a == s->last_args;
    const int64_t most = reps / 2 < GRAPH_CALLS ? reps / 2 : GRAPH_CALLS;
    const int64_t calls = most < sets ? sets : most / sets * sets;
    return known && s->last_call_s < short_call_s && reps >= 2 * calls && calls >= GRAPH_LEAST &&
                   calls <= GRAPH_MOST
               ? (int)calls
               : 0;
}

static int cuda_time(struct device *d, kernel_fn *run, const struct args *a, int sets,
                     int64_t first, int64_t reps, double *seconds, bool *disturbed) {
    struct cuda_state *s = state_of(d);
    struct graph *g = &s->graph;
    const int calls = graph_calls(s, run, a, sets, reps);
    int64_t done = 0;
    float ms;
    *disturbed = false;
    if (calls && !(g->exec && g->run == run && g->a == a && g->sets == sets && g->calls == calls)) {
        const int error = record(s, run, a, sets, calls);
        if (error) return error;
        CHECK(cudaGraphLaunch(g->exec, s->stream)); /* the first launch uploads it */
    }
    /* The stream is idle: the GPU would reach `begin` at once and wait for the first call until the host has launched it. */
    if (!s->info.emulated) CHECK((cudaError_t)cuda_clock_start(s->clock, ahead_s, s->stream));
    CHECK(cudaEventRecord(s->begin, s->stream));
    if (calls) {
        for (; done < reps; done += calls) CHECK(cudaGraphLaunch(g->exec, s->stream));
    } else {
        int set = (int)(first % sets);
        for (; done < reps; done++) {
            const int error = run(&a[set]);
            if (error) return error;
            if (++set == sets) set = 0;
        }
    }
    CHECK(cudaEventRecord(s->end, s->stream));
    CHECK(cudaEventSynchronize(s->end));
    CHECK(cudaEventElapsedTime(&ms, s->begin, s->end));
    s->last_run = run;
    s->last_args = a;
    s->last_call_s = 1e-3 * (double)ms / (double)done;
    *seconds = s->last_call_s * (double)reps;
    return 0;
}

static int cuda_mark(struct device *d, int slot) {
    struct cuda_state *s = state_of(d);
    if (slot >= s->marks) {
        const int marks = 2 * slot + 16;
        cudaEvent_t *more = realloc(s->mark, (size_t)marks * sizeof *more);
        if (!more) return -1;
        s->mark = more;
        for (; s->marks < marks; s->marks++) CHECK(cudaEventCreate(&s->mark[s->marks]));
    }
    CHECK(cudaEventRecord(s->mark[slot], s->stream));
    return 0;
}

static int cuda_between(struct device *d, int from, int to, double *seconds) {
    struct cuda_state *s = state_of(d);
    float ms;
    CHECK(cudaEventSynchronize(s->mark[to]));
    CHECK(cudaEventElapsedTime(&ms, s->mark[from], s->mark[to]));
    *seconds = 1e-3 * (double)ms;
    return 0;
}

static void *cuda_host_alloc(struct device *d, size_t bytes) {
    void *p = NULL;
    (void)d;
    if (cudaMallocHost(&p, bytes) == cudaSuccess) return p;
    cudaGetLastError();
    return NULL;
}

static void cuda_host_release(struct device *d, void *p, size_t bytes) {
    (void)d;
    (void)bytes;
    cudaFreeHost(p);
}

static int cuda_upload_later(struct device *d, void *dst, const void *src, size_t bytes) {
    CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, state_of(d)->stream));
    return 0;
}

static int64_t cuda_memory_in_use(struct device *d) {
    size_t left, total;
    (void)d;
    return cudaMemGetInfo(&left, &total) == cudaSuccess ? (int64_t)(total - left) : -1;
}

static int cuda_time_copies(struct device *d, kernel_fn *run, const struct args *a, int copies,
                            int64_t reps, double *seconds, bool *disturbed) {
    (void)copies;
    return cuda_time(d, run, a, 1, 0, reps, seconds, disturbed);
}

static struct placement cuda_placement(struct device *d) {
    (void)d;
    return (struct placement){NAN, ""};
}

/* ---- what can be read ---- */

static double measured_clock_ghz(struct cuda_state *s) {
    uint64_t words[3] = {0};
    if (!s->is_open || cuda_clock_start(s->clock, clock_s, s->stream) != 0 ||
        cudaMemcpyAsync(words, s->clock, sizeof words, cudaMemcpyDeviceToHost, s->stream) !=
            cudaSuccess ||
        cudaStreamSynchronize(s->stream) != cudaSuccess || words[1] == 0)
        return NAN;
    return (double)words[0] / (double)words[1];
}

/* The mean since the last reading; the driver's own, of up to a second, where energy is not counted. */
static double mean_power_w(struct cuda_state *s, const struct nvml_state *n) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)(now.tv_sec - s->energy_at.tv_sec) +
                           1e-9 * (double)(now.tv_nsec - s->energy_at.tv_nsec),
                 joules = n->energy_j - s->energy_j;
    s->energy_j = n->energy_j;
    s->energy_at = now;
    const double shortest = 0.05; /* the counter moves in steps of 20 to 100 ms */
    return joules > 0 && seconds > shortest ? joules / seconds : n->power_w;
}

static struct conditions cuda_conditions(struct device *d) {
    struct cuda_state *s = state_of(d);
    struct conditions c = {measured_clock_ghz(s), NAN, NAN, ""};
    struct nvml_state n;
    if (!s->nvml || nvml_read(s->nvml, &n) != 0) return c;
    c.temperature_c = n.temperature_c;
    c.power_w = mean_power_w(s, &n);
    if (n.throttle_known) nvml_throttle_text(n.throttle, c.throttle, sizeof c.throttle);
    return c;
}

/* ---- counters ---- */

struct counted_run {
    struct device *device;
    kernel_fn *run;
    const struct args *a;
    bool cold;
};

static int settle(struct cuda_state *s) { return (int)cudaStreamSynchronize(s->stream); }

static int before_count(void *context) {
    const struct counted_run *r = context;
    struct cuda_state *s = state_of(r->device);
    if (!r->cold) return settle(s);
    const size_t bytes = 2 * (size_t)s->info.facts.l2_bytes;
    if (!s->flush) CHECK(cudaMalloc(&s->flush, bytes));
    CHECK(cudaMemsetAsync(s->flush, 0, bytes, s->stream));
    return settle(s);
}

static int do_count(void *context) {
    const struct counted_run *r = context;
    const int error = r->run(r->a);
    return error ? error : settle(state_of(r->device));
}

/* NaN counts as nothing, unless all are. */
static double total(const double x[], int n) {
    double sum = NAN;
    for (int i = 0; i < n; i++)
        if (!isnan(x[i])) sum = (isnan(sum) ? 0 : sum) + x[i];
    return sum;
}

static int cuda_count(struct device *d, kernel_fn *run, const struct args *a, bool cold,
                      struct counted_call *out, char *why, size_t size) {
    struct cuda_state *s = state_of(d);
    struct counted_run r = {d, run, a, cold};
    struct counted c;
    if (!s->counters && !(s->counters = counters_open(why, size))) return -1;
    if (counters_measure(s->counters, before_count, do_count, &r, &c, why, size)) return -1;
    out->bytes = c.dram_read_bytes + c.dram_written_bytes;
    out->flops = total((double[]){c.simt_flops_fp64, c.simt_flops_fp32, c.simt_flops_fp16}, 3);
    out->tensor_ops =
        total((double[]){c.tensor_ops_fp64, c.tensor_ops_tf32, c.tensor_ops_fp16, c.tensor_ops_bf16,
                         c.tensor_ops_int8, c.tensor_ops_fp8, c.tensor_ops_fp4},
              7);
    return 0;
}

static double cuda_flops_per_cycle(struct device *d, enum dtype t, int threads) {
    (void)threads;
    return d->gpu->sms * spec_flops_per_cycle_sm(d->gpu->cc, t);
}

static void print_text(FILE *f, const char *name, const char *text) {
    fprintf(f, "    \"%s\": ", name);
    json_text(f, text);
    fputs(",\n", f);
}

static void print_number(FILE *f, const char *name, double x) {
    if (isnan(x))
        fprintf(f, "    \"%s\": null,\n", name);
    else
        fprintf(f, "    \"%s\": %.10g,\n", name, x);
}

/* By the driver's management library, which is closed again before a worker is forked. */
static void print_limits(FILE *f, const struct gpu_info *g) {
    char why[160];
    struct nvml_state state;
    struct nvml *n = nvml_open(g->pci_bus_id, why, sizeof why);
    if (!n) return;
    if (*nvml_driver_version(n)) print_text(f, "gpu_driver", nvml_driver_version(n));
    if (nvml_read(n, &state) == 0) {
        print_number(f, "gpu_power_limit_w", state.power_limit_w);
        print_number(f, "gpu_max_clock_ghz", state.max_sm_clock_ghz);
    }
    nvml_close(n);
}

static void cuda_print_facts(const struct device *d, FILE *f) {
    const struct gpu_info *g = device_cuda_info(d);
    char text[16];
    print_text(f, "gpu_uuid", g->uuid);
    print_text(f, "gpu_pci_bus_id", g->pci_bus_id);
    snprintf(text, sizeof text, "%d.%d", g->facts.cc / 10, g->facts.cc % 10);
    print_text(f, "gpu_compute_capability", text);
    print_number(f, "gpu_multiprocessors", g->facts.sms);
    print_number(f, "gpu_boost_ghz", g->boost_ghz);
    print_number(f, "gpu_memory_ghz", g->memory_ghz);
    print_number(f, "gpu_memory_bus_bits", g->bus_bits);
    print_number(f, "cuda_driver", g->driver_version);
    print_number(f, "cuda_runtime", g->runtime_version);
    fprintf(f, "    \"gpu_ecc\": %s,\n    \"gpu_mig\": %s,\n    \"emulated\": %s,\n",
            g->ecc ? "true" : "false", g->mig ? "true" : "false", g->emulated ? "true" : "false");
    print_limits(f, g);
}

static bool cuda_alive(struct device *d) {
    cudaGetLastError(); /* a bad launch is forgotten; a poisoned context fails again below */
    return cudaStreamSynchronize(state_of(d)->stream) == cudaSuccess;
}

static const char *cuda_error_text(int error) { return cudaGetErrorName((cudaError_t)error); }

const struct gpu_info *device_cuda_info(const struct device *d) {
    const struct cuda_state *s = d->state;
    return &s->info;
}

/* No library knows an emulated GPU; a fake of one is named by its variable. */
static const struct vendor_set *vendors_of(const struct gpu_info *gpu) {
    static const struct impl *const no_rows[] = {NULL};
    static const struct vendor_set none = {.kernels = no_rows};
    return gpu->emulated && !getenv("ROOFLINE_CUBLAS") ? &none : &cuda_vendors;
}

void device_cuda_init(struct device *d, const struct gpu_info *gpu) {
    struct cuda_state *s = calloc(1, sizeof *s);
    if (!s) {
        perror("roofline");
        abort();
    }
    struct cpu_facts facts;
    os_cpu_facts(&facts);
    s->info = *gpu;
    s->energy_j = NAN;
    *d = (struct device){
        .max_threads = 1,
        .host_threads = facts.usable_count,
        .cores = 1,
        .emulated = gpu->emulated,
        .kernels = cuda_kernels,
        .outdone = cuda_outdone,
        .vendors = vendors_of(gpu),
        .gpu = &s->info.facts,
        .spec_gbyte_s = NAN,
        .state = s,
        .open = cuda_open,
        .close = cuda_close,
        .set_threads = cuda_set_threads,
        .alloc = cuda_alloc,
        .release = cuda_release,
        .clear = cuda_clear,
        .upload = cuda_upload,
        .download = cuda_download,
        .time = cuda_time,
        .time_copies = cuda_time_copies,
        .mark = cuda_mark,
        .between = cuda_between,
        .host_alloc = cuda_host_alloc,
        .host_release = cuda_host_release,
        .upload_later = cuda_upload_later,
        .memory_in_use = cuda_memory_in_use,
        .placement = cuda_placement,
        .conditions = cuda_conditions,
        .flops_per_cycle = cuda_flops_per_cycle,
        .count = cuda_count,
        .print_facts = cuda_print_facts,
        .alive = cuda_alive,
        .error_text = cuda_error_text,
        .levels = 2,
    };
    if (gpu->emulated) {
        snprintf(d->name, sizeof d->name, "%.15s", gpu->name);
        snprintf(d->slug, sizeof d->slug, "emulated-%.40s", gpu->name + 4);
    } else {
        snprintf(d->name, sizeof d->name, "cuda:%d", gpu->index);
        device_make_slug(d->slug, sizeof d->slug, gpu->name);
    }
    snprintf(d->model, sizeof d->model, "%s", gpu->name);
    d->level[0] = (struct level){.name = "L2", .bytes = gpu->facts.l2_bytes, .shared_by = 1};
    d->level[1] = (struct level){.name = "DRAM", .bytes = gpu->memory_bytes, .shared_by = 1};
    const struct gpu_spec *spec = spec_gpu(gpu->name);
    for (int t = 0; t < DTYPE_COUNT; t++) d->spec_gflop_s[t] = spec ? spec->gflop_s[t] : NAN;
    if (spec) d->spec_gbyte_s = spec->gbyte_s;
}
