// fakecudart.cpp - the part of the CUDA runtime API that host code uses, on host memory, for the
// emulation build.
#include "simt.h"
#include <cuda.h>
#include <chrono>
#include <cstdlib>
#include <map>
static std::map<char*, size_t>& blocks() {
    static auto* m = new std::map<char*, size_t>;
    return *m;
}
static double now_ms() {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
static cudaError_t last = cudaSuccess;
static cudaError_t ret(cudaError_t e) {
    if (e != cudaSuccess) last = e;
    return e;
}
struct CUevent_st {
    double t;
};
extern "C" {
cudaError_t cudaMalloc(void** p, size_t n) {
    *p = aligned_alloc(256, (n + 255) / 256 * 256);
    if (!*p) return ret(cudaErrorMemoryAllocation);
    memset(*p, 0xff, n);
    blocks()[(char*)*p] = n;
    return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
    if (!p) return cudaSuccess;
    if (!blocks().erase((char*)p)) return ret(cudaErrorInvalidValue);
    free(p);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, size_t n) {
    return cudaMalloc(p, n);
}
cudaError_t cudaFreeHost(void* p) {
    return cudaFree(p);
}
cudaError_t cudaMemcpy(void* d, const void* s, size_t n, cudaMemcpyKind) {
    memcpy(d, s, n);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* d, const void* s, size_t n, cudaMemcpyKind, cudaStream_t) {
    memcpy(d, s, n);
    return cudaSuccess;
}
cudaError_t cudaMemset(void* d, int v, size_t n) {
    memset(d, v, n);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* d, int v, size_t n, cudaStream_t) {
    memset(d, v, n);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    return cudaSuccess;
}
cudaError_t cudaGetLastError() {
    auto e = last;
    last = cudaSuccess;
    return e;
}
cudaError_t cudaPeekAtLastError() {
    return last;
}
const char* cudaGetErrorString(cudaError_t e) {
    return e == cudaSuccess ? "no error" : "emulated CUDA error";
}
const char* cudaGetErrorName(cudaError_t e) {
    return e == cudaSuccess ? "cudaSuccess" : "cudaErrorEmulated";
}
// Emulated devices: one a generation that kernels tell apart. Small, so that "beyond the L2" stays quick.
static const int sms_of[] = {80, 89, 90, 100, 120};
static const int devices = sizeof sms_of / sizeof *sms_of;
static int current;
cudaError_t cudaGetDeviceCount(int* n) {
    *n = devices;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* d) {
    *d = current;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
    if (d < 0 || d >= devices) return ret(cudaErrorInvalidDevice);
    current = d;
    return cudaSuccess;
}
static int smem_optin(int cc) {
    return (cc == 80 ? 163 : cc == 89 || cc == 120 ? 99 : 227) << 10;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int d) {
    memset((void*)p, 0, sizeof *p);
    if (d < 0 || d >= devices) return ret(cudaErrorInvalidDevice);
    snprintf(p->name, sizeof p->name, "emu:sm_%d", sms_of[d]);
    memset(p->uuid.bytes, 0x11 * (d + 1), sizeof p->uuid.bytes);
    p->major = sms_of[d] / 10;
    p->minor = sms_of[d] % 10;
    p->multiProcessorCount = 4;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = smem_optin(sms_of[d]);
    p->sharedMemPerMultiprocessor = p->sharedMemPerBlockOptin + 1024;
    p->totalGlobalMem = 1ull << 32;
    p->l2CacheSize = 1 << 20;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int d) {
    if (d < 0 || d >= devices) return ret(cudaErrorInvalidDevice);
    *v = a == cudaDevAttrMultiProcessorCount            ? 4
         : a == cudaDevAttrMaxSharedMemoryPerBlockOptin ? smem_optin(sms_of[d])
         : a == cudaDevAttrComputeCapabilityMajor       ? sms_of[d] / 10
         : a == cudaDevAttrComputeCapabilityMinor       ? sms_of[d] % 10
         : a == cudaDevAttrClockRate                    ? 1000000
                                                        : 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int d) {
    snprintf(text, (size_t)size, "0000:%02X:00.0", d + 1);
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* v) {
    *v = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
    *v = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* f, size_t* t) {
    *f = *t = 1ull << 32;
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* s) {
    *s = (cudaStream_t)1;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
    *s = (cudaStream_t)1;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    if (simt::recording) return ret(cudaErrorStreamCaptureImplicit);
    simt::recording = new simt::Recording;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* g) {
    if (!simt::recording) return ret(cudaErrorIllegalState);
    *g = (cudaGraph_t)simt::recording;
    simt::recording = nullptr;
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = simt::recording ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long) {
    *e = (cudaGraphExec_t) new simt::Recording(*(simt::Recording*)g);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
    delete (simt::Recording*)g;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
    delete (simt::Recording*)e;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t) {
    for (auto& call : *(simt::Recording*)e) call();
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) {
    *e = new CUevent_st{0};
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
    delete e;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t) {
    e->t = now_ms();
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
    *ms = float(b->t - a->t);
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void*, int, size_t) {
    *n = 2;
    return cudaSuccess;
}
// the driver's tensor-map encoder, with the argument checks that the real one makes
CUresult cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType t, cuuint32_t rank,
                                void* base, const cuuint64_t* dim, const cuuint64_t* stride,
                                const cuuint32_t* box, const cuuint32_t* estride,
                                CUtensorMapInterleave il, CUtensorMapSwizzle sw,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    static const int size[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    if ((uintptr_t)out % 64 || (uintptr_t)base % 16 || rank < 1 || rank > 5 || (int)t >= 13 ||
        il != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return CUDA_ERROR_INVALID_VALUE;
    int e = size[t], span = sw == CU_TENSOR_MAP_SWIZZLE_128B  ? 128
                            : sw == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                            : sw == CU_TENSOR_MAP_SWIZZLE_32B ? 32
                                                              : 0;
    simt::TensorMap m{};
    m.magic = simt::MAGIC;
    m.base = (char*)base;
    m.rank = (uint8_t)rank;
    m.elem = (uint8_t)e;
    m.swizzle = (uint8_t)span;
    for (unsigned i = 0; i < rank; i++) {
        if (!dim[i] || dim[i] > 1ull << 32 || !box[i] || box[i] > 256 || estride[i] != 1)
            return CUDA_ERROR_INVALID_VALUE;
        m.dim[i] = (uint32_t)dim[i];
        m.box[i] = (uint16_t)box[i];
        if (i) {
            if (stride[i - 1] % 16 || stride[i - 1] >= 1ull << 40) return CUDA_ERROR_INVALID_VALUE;
            m.stride[i - 1] = stride[i - 1];
        }
    }
    if (box[0] * e % 16 || (span && (int)(box[0] * e) > span)) return CUDA_ERROR_INVALID_VALUE;
    memset((void*)out, 0, sizeof *out);
    memcpy((void*)out, &m, sizeof m);
    return CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* s, void** p, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* q) {
    if (q) *q = cudaDriverEntryPointSuccess;
    if (!strcmp(s, "cuTensorMapEncodeTiled")) {
        *p = (void*)cuTensorMapEncodeTiled;
        return cudaSuccess;
    }
    *p = nullptr;
    return ret(cudaErrorInvalidValue);
}
}
