/* fakecudart.cpp - the part of the CUDA runtime that the program calls, on host memory: emulated devices, memory whose
 * bounds are checked, streams that run at once, graphs that replay. Misuse that the real one reports is reported here.
 *
 * ROOFLINE_EMULATE_FAULT makes it fail as hardware does, once a process:
 *   alloc:N   the N-th cudaMalloc is out of memory      launch:N  the N-th launch returns an error
 *   sticky:N  the N-th launch poisons the context: each later call fails until the process ends
 *   hang:N    the N-th launch never ends                nodriver, nodevice  nothing to run on */
#include "runtime.h"

#include <cuda.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

/* Runs at once, or is recorded while it captures. */
using recorded_calls = std::vector<std::function<void()>>;
struct CUstream_st {
    bool capturing, invalid;
    recorded_calls recorded;
};
struct CUevent_st {
    bool recorded;
    std::chrono::steady_clock::time_point at;
};
struct CUgraph_st {
    recorded_calls calls;
};
struct CUgraphExec_st {
    recorded_calls calls;
};

namespace {

/* ---- faults ---- */

enum class fault_kind { none, alloc, launch, sticky, hang, nodriver, nodevice };
struct fault {
    fault_kind kind;
    long left; /* calls until it happens */
};

fault fault_of_environment() {
    static const struct {
        const char *name;
        fault_kind kind;
        bool counted;
    } known[] = {
        {"alloc", fault_kind::alloc, true},        {"launch", fault_kind::launch, true},
        {"sticky", fault_kind::sticky, true},      {"hang", fault_kind::hang, true},
        {"nodriver", fault_kind::nodriver, false}, {"nodevice", fault_kind::nodevice, false}};
    const char *given = getenv("ROOFLINE_EMULATE_FAULT");
    if (!given || !*given) return {fault_kind::none, 0};
    for (auto &k : known) {
        const size_t n = strlen(k.name);
        if (strncmp(given, k.name, n) != 0) continue;
        char *end = const_cast<char *>(given + n);
        const long left = *end == ':' ? strtol(end + 1, &end, 10) : 0;
        if (!*end && k.counted == (left > 0)) return {k.kind, left};
    }
    fprintf(stderr,
            "roofline: ROOFLINE_EMULATE_FAULT='%s': it is alloc:N, launch:N, sticky:N, hang:N, "
            "nodriver or nodevice\n",
            given);
    exit(2);
}

fault pending = fault_of_environment();
bool poisoned;
cudaError_t last = cudaSuccess;

cudaError_t report(cudaError_t e) {
    if (e != cudaSuccess) last = e;
    return e;
}

/* Whether the fault of this kind happens at this call. */
bool strikes(fault_kind kind) { return pending.kind == kind && --pending.left == 0; }

cudaError_t usable() {
    if (pending.kind == fault_kind::nodriver) return report(cudaErrorInsufficientDriver);
    if (pending.kind == fault_kind::nodevice) return report(cudaErrorNoDevice);
    return poisoned ? report(cudaErrorIllegalAddress) : cudaSuccess;
}
#define USABLE()                          \
    do {                                  \
        const cudaError_t e_ = usable();  \
        if (e_ != cudaSuccess) return e_; \
    } while (0)

/* ---- streams ---- */

std::set<cudaStream_t> &streams() {
    static auto *s = new std::set<cudaStream_t>;
    return *s;
}

CUstream_st *capturing() {
    for (auto *s : streams())
        if (s->capturing) return s;
    return nullptr;
}

/* What waits or allocates may not be called while a stream captures, and spoils the capture. */
cudaError_t not_captured() {
    CUstream_st *s = capturing();
    if (!s) return cudaSuccess;
    s->invalid = true;
    return report(cudaErrorStreamCaptureUnsupported);
}
#define NOT_CAPTURED()                         \
    do {                                       \
        const cudaError_t e_ = not_captured(); \
        if (e_ != cudaSuccess) return e_;      \
    } while (0)

cudaError_t on_stream(cudaStream_t stream, const std::function<void()> &call) {
    CUstream_st *captures = capturing();
    if (!stream && captures) { /* the legacy stream would wait for the one that captures */
        captures->invalid = true;
        return report(cudaErrorStreamCaptureImplicit);
    }
    if (stream && !streams().count(stream)) return report(cudaErrorInvalidResourceHandle);
    if (captures && stream == captures)
        captures->recorded.push_back(call);
    else
        call();
    return cudaSuccess;
}

/* ---- memory ---- */

std::map<uintptr_t, size_t> &allocations() {
    static auto *m = new std::map<uintptr_t, size_t>;
    return *m;
}
constexpr size_t MEMORY = 4ull << 30;

size_t allocated() {
    size_t sum = 0;
    for (auto &[at, bytes] : allocations()) sum += bytes;
    return sum;
}

struct leak_report { /* workers end with _exit() and do not come here */
    ~leak_report() {
        if (allocations().empty() || poisoned) return; /* such a context frees nothing */
        fflush(nullptr);
        fprintf(stderr, "roofline: emulated CUDA: %zu allocations of %zu bytes were never freed\n",
                allocations().size(), allocated());
        _exit(1);
    }
} leaks;

enum class where { host, device, outside };
where place_of(const void *p, size_t bytes) {
    const auto at = reinterpret_cast<uintptr_t>(p);
    auto after = allocations().upper_bound(at);
    if (after == allocations().begin()) return where::host;
    const auto &[base, size] = *--after;
    if (at >= base + size) return where::host;
    return at + bytes <= base + size ? where::device : where::outside;
}

bool is_legal_copy(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    const where t = place_of(to, bytes), f = place_of(from, bytes);
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return t == where::device && f == where::host;
    case cudaMemcpyDeviceToHost:
        return t == where::host && f == where::device;
    case cudaMemcpyDeviceToDevice:
        return t == where::device && f == where::device;
    default:
        return t != where::outside && f != where::outside;
    }
}

/* ---- devices: one a generation that kernels tell apart; small, so that "beyond the L2" stays quick ---- */

constexpr int ccs[] = {80, 89, 90, 100, 120}, DEVICES = sizeof ccs / sizeof *ccs;
constexpr int L2_BYTES_PER_SM = 64 << 10;
int current;
const int &sms = simt::schedule.sms;

size_t smem_block_bytes(int cc) {
    return static_cast<size_t>(cc == 80 ? 163 : cc == 89 || cc == 120 ? 99 : 227) << 10;
}
int threads_of_sm(int cc) { return cc == 89 || cc == 120 ? 1536 : 2048; }

void choose(int d) {
    current = d;
    simt::device = {ccs[d], smem_block_bytes(ccs[d])};
}

int blocks_an_sm(int threads, size_t smem) {
    const size_t with_reserve = smem + 1024; /* each block's own kilobyte */
    const int by_threads = threads_of_sm(ccs[current]) / (threads < 32 ? 32 : threads),
              by_smem = static_cast<int>((smem_block_bytes(ccs[current]) + 1024) / with_reserve);
    const int n = by_threads < by_smem ? by_threads : by_smem;
    return n < 32 ? n : 32;
}

/* Dynamic shared memory that kernels were allowed beyond 48 KiB. */
std::map<const void *, size_t> &smem_allowed() {
    static auto *m = new std::map<const void *, size_t>;
    return *m;
}

} // namespace

cudaError_t simt::clusters_at_once(int *n, const launch_shape &l, const void *kernel) {
    USABLE();
    const cudaError_t refused = check_shape(l);
    if (refused != cudaSuccess) return report(refused);
    const auto allowed = smem_allowed().find(kernel);
    if (l.smem > (allowed == smem_allowed().end() ? size_t(48) << 10 : allowed->second))
        return report(cudaErrorInvalidValue);
    *n = sms * blocks_an_sm(static_cast<int>(l.block.x * l.block.y * l.block.z), l.smem) /
         static_cast<int>(l.cluster.x * l.cluster.y * l.cluster.z);
    return cudaSuccess;
}

cudaError_t simt::submit(const launch_shape &l, const std::function<void()> &call) {
    USABLE();
    const cudaError_t refused = check_shape(l);
    if (refused != cudaSuccess) return report(refused);
    if (l.cooperative && static_cast<uint64_t>(l.grid.x) * l.grid.y * l.grid.z >
                             static_cast<uint64_t>(sms) *
                                 static_cast<uint64_t>(blocks_an_sm(
                                     static_cast<int>(l.block.x * l.block.y * l.block.z), l.smem)))
        return report(cudaErrorCooperativeLaunchTooLarge);
    if (strikes(fault_kind::launch)) return report(cudaErrorLaunchOutOfResources);
    if (strikes(fault_kind::sticky)) { /* found out by the next call, as on hardware */
        poisoned = true;
        return cudaSuccess;
    }
    if (strikes(fault_kind::hang))
        for (;;) pause();
    return on_stream(l.stream, call);
}

extern "C" {

/* ---- errors ---- */

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
#define E(code, text) \
    { code, #code, text }
    E(cudaSuccess, "no error"),
    E(cudaErrorInvalidValue, "invalid argument"),
    E(cudaErrorMemoryAllocation, "out of memory"),
    E(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    E(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    E(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    E(cudaErrorInvalidDevice, "invalid device ordinal"),
    E(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    E(cudaErrorIllegalState, "operation not permitted in this state"),
    E(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    E(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    E(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    E(cudaErrorNotSupported, "operation not supported"),
    E(cudaErrorInvalidClusterSize, "invalid cluster size"),
    E(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    E(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    E(cudaErrorStreamCaptureImplicit,
      "operation would make the legacy stream depend on a capturing "
      "blocking stream"),
#undef E
};
const char *cudaGetErrorName(cudaError_t e) {
    for (auto &known : errors)
        if (known.code == e) return known.name;
    return "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t e) {
    for (auto &known : errors)
        if (known.code == e) return known.text;
    return "unrecognized error code";
}
cudaError_t cudaPeekAtLastError() { return poisoned ? cudaErrorIllegalAddress : last; }
cudaError_t cudaGetLastError() {
    const cudaError_t e = cudaPeekAtLastError();
    last = cudaSuccess;
    return e;
}

/* ---- devices ---- */

cudaError_t cudaGetDeviceCount(int *n) {
    USABLE();
    *n = DEVICES;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *d) {
    USABLE();
    *d = current;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
    USABLE();
    if (d < 0 || d >= DEVICES) return report(cudaErrorInvalidDevice);
    choose(d);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int d) {
    USABLE();
    if (d < 0 || d >= DEVICES) return report(cudaErrorInvalidDevice);
    const int cc = ccs[d];
    memset(static_cast<void *>(p), 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "emu:sm_%d", cc);
    memset(p->uuid.bytes, 0x11 * (d + 1), sizeof p->uuid.bytes);
    p->major = cc / 10;
    p->minor = cc % 10;
    p->multiProcessorCount = sms;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsPerMultiProcessor = threads_of_sm(cc);
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = smem_block_bytes(cc);
    p->sharedMemPerMultiprocessor = smem_block_bytes(cc) + 1024;
    p->totalGlobalMem = MEMORY;
    p->l2CacheSize = sms * L2_BYTES_PER_SM;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int d) {
    USABLE();
    if (d < 0 || d >= DEVICES) return report(cudaErrorInvalidDevice);
    const int cc = ccs[d];
    switch (a) {
    case cudaDevAttrMultiProcessorCount:
        *v = sms;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *v = static_cast<int>(smem_block_bytes(cc));
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *v = threads_of_sm(cc);
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *v = cc / 10;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *v = cc % 10;
        break;
    case cudaDevAttrClockRate:
        *v = 1000000; /* kHz: clock_cycles() counts nanoseconds */
        break;
    case cudaDevAttrCooperativeLaunch:
        *v = 1;
        break;
    default:
        *v = 0;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int d) {
    USABLE();
    snprintf(text, static_cast<size_t>(size), "0000:%02X:00.0", d + 1);
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *v) {
    *v = pending.kind == fault_kind::nodriver ? 0 : CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *v) {
    *v = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    USABLE();
    NOT_CAPTURED();
    return cudaSuccess;
}

/* ---- memory ---- */

cudaError_t cudaMalloc(void **p, size_t bytes) {
    USABLE();
    NOT_CAPTURED();
    *p = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (strikes(fault_kind::alloc) || bytes > MEMORY - allocated() ||
        !(*p = aligned_alloc(256, (bytes + 255) / 256 * 256)))
        return report(cudaErrorMemoryAllocation);
    memset(*p, 0xff, bytes);
    allocations()[reinterpret_cast<uintptr_t>(*p)] = bytes;
    return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
    USABLE();
    NOT_CAPTURED();
    if (!p) return cudaSuccess;
    if (!allocations().erase(reinterpret_cast<uintptr_t>(p))) return report(cudaErrorInvalidValue);
    free(p);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void **p, size_t bytes) {
    USABLE();
    *p = malloc(bytes);
    return *p ? cudaSuccess : report(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void *p) {
    USABLE();
    free(p);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    USABLE();
    *left = MEMORY - allocated();
    *total = MEMORY;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    USABLE();
    if (!is_legal_copy(to, from, bytes, kind)) return report(cudaErrorInvalidValue);
    return on_stream(stream, [=] { memmove(to, from, bytes); });
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    USABLE();
    NOT_CAPTURED();
    return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    USABLE();
    if (place_of(to, bytes) != where::device) return report(cudaErrorInvalidValue);
    return on_stream(stream, [=] { memset(to, value, bytes); });
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
    USABLE();
    NOT_CAPTURED();
    return cudaMemsetAsync(to, value, bytes, nullptr);
}

/* ---- streams and graphs ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) {
    USABLE();
    *s = new CUstream_st{};
    streams().insert(*s);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithFlags(s, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    USABLE();
    if (!streams().erase(s)) return report(cudaErrorInvalidResourceHandle);
    delete s;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    USABLE();
    if (s && !streams().count(s)) return report(cudaErrorInvalidResourceHandle);
    NOT_CAPTURED();
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus *status) {
    USABLE();
    if (!streams().count(s)) return report(cudaErrorInvalidResourceHandle);
    *status = s->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
    USABLE();
    if (!streams().count(s)) return report(cudaErrorStreamCaptureUnsupported);
    if (capturing()) return report(cudaErrorIllegalState);
    s->capturing = true;
    s->invalid = false;
    s->recorded.clear();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g) {
    USABLE();
    *g = nullptr;
    if (!streams().count(s) || !s->capturing) return report(cudaErrorIllegalState);
    s->capturing = false;
    if (s->invalid) return report(cudaErrorStreamCaptureInvalidated);
    *g = new CUgraph_st{std::move(s->recorded)};
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long) {
    USABLE();
    NOT_CAPTURED();
    *e = new CUgraphExec_st{g->calls};
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
    delete g;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
    delete e;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
    USABLE();
    if (capturing()) return report(cudaErrorStreamCaptureUnsupported);
    if (s && !streams().count(s)) return report(cudaErrorInvalidResourceHandle);
    for (auto &call : e->calls) call();
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t cudaEventCreate(cudaEvent_t *e) {
    USABLE();
    *e = new CUevent_st{};
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
    delete e;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    USABLE();
    e->recorded = false; /* what a capture records has no time */
    return on_stream(s, [e, in_graph = capturing() && s == capturing()] {
        e->recorded = !in_graph;
        e->at = std::chrono::steady_clock::now();
    });
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
    USABLE();
    NOT_CAPTURED();
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) {
    USABLE();
    if (!a->recorded || !b->recorded) return report(cudaErrorInvalidResourceHandle);
    *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
    return cudaSuccess;
}

/* ---- functions ---- */

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    USABLE();
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || static_cast<size_t>(value) > simt::device.smem_block_bytes)
        return report(cudaErrorInvalidValue);
    smem_allowed()[kernel] = static_cast<size_t>(value);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int threads,
                                                          size_t smem) {
    USABLE();
    if (threads < 1 || threads > 1024) return report(cudaErrorInvalidValue);
    *n = blocks_an_sm(threads, smem);
    return cudaSuccess;
}

/* The driver's encoder of tensor maps, with the rules that it checks (CUDA Driver API, cuTensorMapEncodeTiled). */
CUresult cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank,
                                void *base, const cuuint64_t *dim, const cuuint64_t *stride,
                                const cuuint32_t *box, const cuuint32_t *element_stride,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
    static const uint8_t sizes[] = {1, 2, 4, 4, 8, 8, 2,
                                    4, 8, 2, 4, 4, 4}; /* CUtensorMapDataType */
    static const uint8_t spans[] = {0, 32, 64, 128};   /* CUtensorMapSwizzle */
    if (reinterpret_cast<uintptr_t>(out) % 64 || reinterpret_cast<uintptr_t>(base) % 16 ||
        rank < 1 || rank > 5 || static_cast<size_t>(type) >= sizeof sizes ||
        static_cast<size_t>(swizzle) >= sizeof spans ||
        interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
        return CUDA_ERROR_INVALID_VALUE;
    simt::tensor_map m = {};
    m.magic = simt::MAGIC;
    m.base = static_cast<char *>(base);
    m.rank = static_cast<uint8_t>(rank);
    m.element_bytes = sizes[type];
    m.swizzle = spans[swizzle];
    for (unsigned i = 0; i < rank; i++) {
        if (!dim[i] || dim[i] > 1ull << 32 || !box[i] || box[i] > 256 || element_stride[i] != 1)
            return CUDA_ERROR_INVALID_VALUE;
        m.dim[i] = dim[i];
        m.box[i] = static_cast<uint16_t>(box[i]);
        if (i == 0) continue;
        if (stride[i - 1] % 16 || stride[i - 1] >= 1ull << 40) return CUDA_ERROR_INVALID_VALUE;
        m.stride[i - 1] = stride[i - 1];
    }
    const unsigned inner = box[0] * m.element_bytes;
    if (inner % 16 || (m.swizzle && inner > m.swizzle)) return CUDA_ERROR_INVALID_VALUE;
    static_assert(sizeof m <= sizeof *out, "it lives in a CUtensorMap");
    memset(static_cast<void *>(out), 0, sizeof *out);
    memcpy(static_cast<void *>(out), &m, sizeof m);
    return CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **p, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *found) {
    USABLE();
    const bool is_known = strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
    *p = is_known ? reinterpret_cast<void *>(cuTensorMapEncodeTiled) : nullptr;
    if (found) *found = is_known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
}
