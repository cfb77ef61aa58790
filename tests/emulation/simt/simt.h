// simt.h - run CUDA C++ kernels as ordinary C++ on the CPU (one fiber per CUDA thread).
// Included instead of nothing by a plain g++/clang++ build; never seen by nvcc.
#pragma once
#ifdef __CUDACC__
#error "simt.h is for the host-emulation build only"
#endif
// Predefine what crt/host_defines.h honours, so that a stray `__shared__` is a compile error.
#define __global__ __attribute__((noinline))
#define __shared__ SIMT_ERROR_use_SMEM_macros_instead_of___shared__
#include <cuda_runtime_api.h>
#include <vector_types.h>
#undef __launch_bounds__
#undef __cluster_dims__
#define __launch_bounds__(...)
#define __cluster_dims__(...)

#include <vector_functions.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_fp4.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define SIMT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMT_TSAN 1
#endif
#endif
#define SIMT_NOTSAN __attribute__((no_sanitize("thread")))

namespace simt {

enum class Order { ascending, descending, random };
enum class Async { eager, lazy, random };  // when asynchronous copies/MMAs take effect
struct Options {
    Order order = Order::ascending;
    Async async = Async::lazy;
    uint64_t seed = 1;
    bool poison = true;  // fill fresh shared memory with 0xFF (NaN / -1)
    size_t stack = 0;    // 0: default
    size_t dyn_align =
        0;  // force the alignment of dynamic shared memory (0: what DYN_SMEM asks for and no more)
};
Options& options();
struct Stats {
    uint64_t threads, switches, collectives, barriers, blocks;
};
extern Stats stats;

struct Block;
struct Warp;
struct Fiber;
struct Gang;
struct PendingCopy {
    void* dst;
    uint32_t n;
    alignas(16) unsigned char data[16];
};
struct Thread {
    uint3 tid;
    uint3 bid;
    dim3 bdim, gdim;  // threadIdx, blockIdx, blockDim, gridDim
    uint32_t lane, linear;
    Warp* warp;
    Block* block;
    Fiber* fiber;
    uint8_t state;    // 0 fresh, 1 ready, 2 blocked, 3 done
    const char* why;  // what it waits for (for the deadlock report)
    void* tsan;
    uint64_t slot[2];                                // scratch for barrier reductions
    std::vector<std::vector<PendingCopy>>* cpasync;  // [committed groups..., open group]
    struct Wgmma* wg;
};
extern Thread* cur;  // the running CUDA thread

[[noreturn]] void fail(const char* fmt, ...) __attribute__((format(printf, 1, 2)));

// ---- blocking primitives (runtime) ------------------------------------------------
using WarpFn = void (*)(void* const* in, uint32_t mask, const void* env);
void warp_collective(uint32_t mask, const char* op, void* io, WarpFn fn, const void* env);
void wg_collective(const char* op, void* io, WarpFn fn, const void* env);  // 128 threads, in[128]
int barrier(int id, int nthreads /*0: whole block*/, bool wait,
            int red /*0 none,1 count,2 and,3 or*/, int pred);
void cluster_barrier(bool arrive, bool wait);
void grid_barrier();
void yield(const char* why);

// ---- shared memory ----------------------------------------------------------------
// One window per block, 256 KiB aligned: smem_u32() of a generic pointer is its offset in it.
constexpr uint32_t WINDOW = 1u << 18;
int shared_key(const char* name, size_t size, size_t align);
void* shared_static(int key);
void* shared_dynamic(size_t align);
inline uint32_t smem_u32(const void* p) {
    return uint32_t(reinterpret_cast<uintptr_t>(p) & (WINDOW - 1));
}
void* smem_ptr(uint32_t off);            // in the current block's window
void* map_rank(void* p, unsigned rank);  // DSMEM: same offset in another CTA of the cluster
bool is_shared(const void* p);
void note_read(const void* p, size_t n);  // tells ASan/TSan of a read made on this thread's behalf
unsigned cluster_rank();
unsigned cluster_size();
unsigned cluster_id_x();

// ---- asynchronous engines ---------------------------------------------------------
void cp_async(void* smem, const void* gmem, int bytes, int src_bytes);
void cp_async_commit();
void cp_async_wait(int keep);
void mbar_init(uint64_t* b, uint32_t count);
void mbar_inval(uint64_t* b);
void mbar_arrive(uint64_t* b, uint32_t n, uint32_t expect_tx);
void mbar_expect_tx(uint64_t* b, uint32_t bytes);
bool mbar_test(uint64_t* b, uint32_t parity);
void mbar_wait(uint64_t* b, uint32_t parity);
struct TensorMap {  // what the emulation keeps inside a 128-byte CUtensorMap
    uint64_t magic;
    char* base;
    uint64_t stride[4];
    uint32_t dim[5];
    uint16_t box[5];
    uint8_t rank, elem, swizzle;  // stride of dims 1..4 in bytes; swizzle 0,32,64,128
};
constexpr uint64_t MAGIC = 0x6d62617272696572ull;
void tma_load(void* smem, const void* map, uint64_t* bar, const int* c, int rank,
              uint16_t cta_mask);
void tma_store(const void* map, const void* smem, const int* c, int rank);
void bulk_commit();
void bulk_wait(int keep);
// wgmma: element type codes for the engine
enum class El { bf16, f16, tf32, e4m3, e5m2 };
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(int keep);
void wgmma_ptrs(El a, El b, int N, float* d, float* const* dp, uint64_t da, uint64_t db,
                int scale_d, bool trans_a, bool trans_b);  // dp: one pointer per accumulator
void wgmma(El a, El b, int N, float* d, uint64_t da, uint64_t db, int scale_d, bool trans_a,
           bool trans_b);

// ---- launch -----------------------------------------------------------------------
struct Launch {
    dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
    size_t smem = 0;
    bool cooperative = false;
    const char* name = "kernel";
};
void run(const Launch& l, void (*invoke)(const void*), const void* args);

// Stream capture: while it is not null, launches are appended to it in place of being run.
using Recording = std::vector<std::function<void()>>;
extern Recording* recording;

template <class... P, class... A>
void launch(const Launch& l, void (*kern)(P...), A&&... a) {
    struct Pack {
        void (*k)(P...);
        std::tuple<std::decay_t<P>...> t;
    } pack{kern, {std::forward<A>(a)...}};
    auto call = [l, pack] {
        run(
            l,
            [](const void* p) {
                auto* q = static_cast<const Pack*>(p);
                std::apply(q->k, q->t);
            },
            &pack);
    };
    if (recording)
        recording->push_back(call);
    else
        call();
}

// ---- warp primitives --------------------------------------------------------------
template <class T>
struct ShflIO {
    T v;
    int src;
    T out;
};
template <class T>
SIMT_NOTSAN T shfl_impl(uint32_t mask, T v, int src, const char* op) {
    ShflIO<T> io{v, src, v};
    warp_collective(
        mask, op, &io,
        [](void* const* in, uint32_t m, const void*) {
            for (int l = 0; l < 32; l++)
                if (m >> l & 1) {
                    auto* x = static_cast<ShflIO<T>*>(in[l]);
                    if (!(m >> x->src & 1))
                        fail("shuffle: lane %d reads lane %d, which does not take part (mask %08x)",
                             l, x->src, m);
                    x->out = static_cast<ShflIO<T>*>(in[x->src])->v;
                }
        },
        nullptr);
    return io.out;
}
struct VoteIO {
    uint64_t v;
    uint64_t out;
};
}  // namespace simt

// ---- builtin variables ------------------------------------------------------------
#define threadIdx (::simt::cur->tid)
#define blockIdx (::simt::cur->bid)
#define blockDim (::simt::cur->bdim)
#define gridDim (::simt::cur->gdim)
constexpr int warpSize = 32;

inline void __syncthreads() {
    ::simt::barrier(0, 0, true, 0, 0);
}
inline int __syncthreads_count(int p) {
    return ::simt::barrier(0, 0, true, 1, p != 0);
}
inline int __syncthreads_and(int p) {
    return ::simt::barrier(0, 0, true, 2, p != 0);
}
inline int __syncthreads_or(int p) {
    return ::simt::barrier(0, 0, true, 3, p != 0);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    ::simt::warp_collective(mask, "syncwarp", nullptr, nullptr, nullptr);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {
    ::simt::yield("nanosleep");
}

template <class T>
T __shfl_sync(unsigned m, T v, int src, int w = 32) {
    int l = ::simt::cur->lane, base = l & ~(w - 1);
    return ::simt::shfl_impl(m, v, base + (src & (w - 1)), "shfl");
}
template <class T>
T __shfl_down_sync(unsigned m, T v, unsigned d, int w = 32) {
    int l = ::simt::cur->lane, s = l + int(d);
    return ::simt::shfl_impl(m, v, (l & (w - 1)) + int(d) < w ? s : l, "shfl_down");
}
template <class T>
T __shfl_up_sync(unsigned m, T v, unsigned d, int w = 32) {
    int l = ::simt::cur->lane;
    return ::simt::shfl_impl(m, v, (l & (w - 1)) >= int(d) ? l - int(d) : l, "shfl_up");
}
template <class T>
T __shfl_xor_sync(unsigned m, T v, int x, int w = 32) {
    int l = ::simt::cur->lane, s = l ^ x;
    return ::simt::shfl_impl(m, v, (s & ~(w - 1)) <= (l & ~(w - 1)) ? s : l, "shfl_xor");
}
#define SIMT_VOTE(name, T, expr)                                                   \
    inline T name(unsigned m, T v) {                                               \
        ::simt::VoteIO io{(uint64_t)v, 0};                                         \
        ::simt::warp_collective(                                                   \
            m, #name, &io,                                                         \
            [](void* const* in, uint32_t mk, const void*) {                        \
                uint32_t bal = 0;                                                  \
                uint64_t sum = 0, mx = 0, mn = ~0ull, an = ~0ull, orr = 0, xo = 0; \
                for (int l = 0; l < 32; l++)                                       \
                    if (mk >> l & 1) {                                             \
                        uint64_t q = ((::simt::VoteIO*)in[l])->v;                  \
                        if (q) bal |= 1u << l;                                     \
                        sum += q;                                                  \
                        an &= q;                                                   \
                        orr |= q;                                                  \
                        xo ^= q;                                                   \
                        mx = std::max<uint64_t>(mx, (T)q);                         \
                        mn = std::min<uint64_t>(mn, (T)q);                         \
                    }                                                              \
                (void)bal;                                                         \
                (void)sum;                                                         \
                (void)mx;                                                          \
                (void)mn;                                                          \
                (void)an;                                                          \
                (void)orr;                                                         \
                (void)xo;                                                          \
                uint64_t r = (uint64_t)(expr);                                     \
                for (int l = 0; l < 32; l++)                                       \
                    if (mk >> l & 1) ((::simt::VoteIO*)in[l])->out = r;            \
            },                                                                     \
            nullptr);                                                              \
        return (T)io.out;                                                          \
    }
SIMT_VOTE(simt_ballot_, unsigned, bal)
SIMT_VOTE(simt_all_, unsigned, bal == mk)
SIMT_VOTE(simt_any_, unsigned, bal != 0)
SIMT_VOTE(__reduce_add_sync, unsigned, sum)
SIMT_VOTE(__reduce_max_sync, unsigned, mx)
SIMT_VOTE(__reduce_min_sync, unsigned, mn)
SIMT_VOTE(__reduce_and_sync, unsigned, an)
SIMT_VOTE(__reduce_or_sync, unsigned, orr)
SIMT_VOTE(__reduce_xor_sync, unsigned, xo)
inline unsigned __ballot_sync(unsigned m, int p) {
    return simt_ballot_(m, p != 0);
}
inline int __all_sync(unsigned m, int p) {
    return simt_all_(m, p != 0);
}
inline int __any_sync(unsigned m, int p) {
    return simt_any_(m, p != 0);
}

// ---- atomics (the emulation runs every block on one OS thread) ---------------------
template <class T>
inline T atomicAdd(T* p, T v) {
    T o = *p;
    *p = o + v;
    return o;
}
inline unsigned atomicInc(unsigned* p, unsigned v) {
    unsigned o = *p;
    *p = o >= v ? 0 : o + 1;
    return o;
}
template <class T>
inline T atomicMax(T* p, T v) {
    T o = *p;
    *p = o > v ? o : v;
    return o;
}
template <class T>
inline T atomicMin(T* p, T v) {
    T o = *p;
    *p = o < v ? o : v;
    return o;
}
template <class T>
inline T atomicExch(T* p, T v) {
    T o = *p;
    *p = v;
    return o;
}
template <class T>
inline T atomicCAS(T* p, T c, T v) {
    T o = *p;
    if (o == c) *p = v;
    return o;
}

// ---- memory and math intrinsics -----------------------------------------------------
template <class T>
inline void simt_check_aligned(const T* p) {
    if (reinterpret_cast<uintptr_t>(p) % alignof(T))
        ::simt::fail("misaligned %zu-byte access at %p", sizeof(T), (const void*)p);
}
template <class T>
inline T __ldg(const T* p) {
    simt_check_aligned(p);
    return *p;
}
template <class T>
inline T __ldcg(const T* p) {
    simt_check_aligned(p);
    return *p;
}
template <class T>
inline T __ldcs(const T* p) {
    simt_check_aligned(p);
    return *p;
}
template <class T>
inline T __ldca(const T* p) {
    simt_check_aligned(p);
    return *p;
}
template <class T>
inline void __stcs(T* p, T v) {
    simt_check_aligned(p);
    *p = v;
}
template <class T>
inline void __stcg(T* p, T v) {
    simt_check_aligned(p);
    *p = v;
}
template <class T>
inline void __stwt(T* p, T v) {
    simt_check_aligned(p);
    *p = v;
}
using std::max;
using std::min;
inline float __int_as_float(int i) {
    float f;
    memcpy(&f, &i, 4);
    return f;
}
inline int __float_as_int(float f) {
    int i;
    memcpy(&i, &f, 4);
    return i;
}
inline float __uint_as_float(unsigned i) {
    float f;
    memcpy(&f, &i, 4);
    return f;
}
inline unsigned __float_as_uint(float f) {
    unsigned i;
    memcpy(&i, &f, 4);
    return i;
}
inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __clz(int x) {
    return x ? __builtin_clz(x) : 32;
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    uint64_t v = (uint64_t)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = s >> (4 * i) & 15, y = v >> (8 * (c & 7)) & 255;
        if (c & 8) y = y & 128 ? 255 : 0;
        r |= y << (8 * i);
    }
    return r;
}
inline float __expf(float x) {
    return expf(x);
}
inline float __logf(float x) {
    return logf(x);
}
inline float __sinf(float x) {
    return sinf(x);
}
inline float __cosf(float x) {
    return cosf(x);
}
inline float __fdividef(float a, float b) {
    return a / b;
}
inline float rsqrtf(float x) {
    return float(1.0 / std::sqrt((double)x));
}
inline float __frsqrt_rn(float x) {
    return rsqrtf(x);
}
inline float __frcp_rn(float x) {
    return 1.0f / x;
}
inline float __fsqrt_rn(float x) {
    return sqrtf(x);
}
inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
inline float __saturatef(float x) {
    return x < 0 ? 0 : x > 1 ? 1 : x == x ? x : 0;
}
// the h* FMAs are device-only in NVIDIA's headers
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    return __double2bfloat16(std::fma((double)__bfloat162float(a), (double)__bfloat162float(b),
                                      (double)__bfloat162float(c)));
}
inline __half __hfma(__half a, __half b, __half c) {
    return __double2half(
        std::fma((double)__half2float(a), (double)__half2float(b), (double)__half2float(c)));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
    return __nv_bfloat162(__hfma(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c)),
                          __hfma(__high2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c)));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma(__low2half(a), __low2half(b), __low2half(c)),
                   __hfma(__high2half(a), __high2half(b), __high2half(c)));
}
