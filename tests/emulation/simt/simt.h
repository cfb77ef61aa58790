/* simt.h - CUDA C++ for a plain C++ compiler: keywords, built-in variables, warp functions, atomics and intrinsics,
 * on the runtime of runtime.h. nvcc never sees it. */
#ifndef SIMT_H
#define SIMT_H
#ifdef __CUDACC__
#error "simt.h is for the emulation; nvcc has all of this built in"
#endif
/* crt/host_defines.h honours what is defined before it. Shared memory is declared with SMEM(): a stray __shared__ is
 * an error. Kernels stay functions of their own, found by their address. */
#define __global__ __attribute__((noinline))
#define __shared__ SIMT_ERROR_use_SMEM_macros_instead_of___shared__
#include "runtime.h"
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
#include <type_traits>
#include <utility>

// ---- built-in variables -----------------------------------------------------------
#define threadIdx (::simt::cur->tid)
#define blockIdx  (::simt::cur->bid)
#define blockDim  (::simt::cur->bdim)
#define gridDim   (::simt::cur->gdim)
constexpr int warpSize = 32;

// ---- barriers and fences ------------------------------------------------------------
inline void __syncthreads() { ::simt::barrier(0, 0, true, ::simt::reduction::none, false); }
inline int __syncthreads_count(int p) {
    return ::simt::barrier(0, 0, true, ::simt::reduction::count, p != 0);
}
inline int __syncthreads_and(int p) {
    return ::simt::barrier(0, 0, true, ::simt::reduction::all, p != 0);
}
inline int __syncthreads_or(int p) {
    return ::simt::barrier(0, 0, true, ::simt::reduction::any, p != 0);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    ::simt::warp_collective(mask, "__syncwarp()", nullptr, nullptr, nullptr);
}
inline void __threadfence() { ::simt::thread_fence(); }
inline void __threadfence_block() { ::simt::thread_fence(); }
inline void __threadfence_system() { ::simt::thread_fence(); }
inline void __nanosleep(unsigned) { ::simt::yield(); }
[[noreturn]] inline void __trap() { ::simt::fail("trap"); }

// ---- warp functions -----------------------------------------------------------------
namespace simt {
template <class T> struct shuffle_io {
    T value;
    int from;
    T result;
};
/* value of lane `from`, which has to take part. */
template <class T> SIMT_NOTSAN T shuffle(uint32_t mask, T value, int from, const char *op) {
    shuffle_io<T> io{value, from, value};
    warp_collective(
        mask, op, &io,
        [](void *const *in, uint32_t lanes, const void *) {
            for (int l = 0; l < 32; l++) {
                if (!(lanes >> l & 1)) continue;
                auto *x = static_cast<shuffle_io<T> *>(in[l]);
                if (!(lanes >> x->from & 1))
                    fail("a shuffle: lane %d reads lane %d, which is not among %08x", l, x->from,
                         lanes);
                x->result = static_cast<shuffle_io<T> *>(in[x->from])->value;
            }
        },
        nullptr);
    return io.result;
}

template <class T> struct reduce_io { T value, result; };
/* All lanes get step(... step(first, lane 0) ..., lane 31) of those in mask. */
template <class T, T (*STEP)(T sum, T value, int lane)>
SIMT_NOTSAN T reduce(uint32_t mask, T first, T value, const char *op) {
    reduce_io<T> io{value, first};
    warp_collective(
        mask, op, &io,
        [](void *const *in, uint32_t lanes, const void *context) {
            T sum = *static_cast<const T *>(context);
            for (int l = 0; l < 32; l++)
                if (lanes >> l & 1) sum = STEP(sum, static_cast<reduce_io<T> *>(in[l])->value, l);
            for (int l = 0; l < 32; l++)
                if (lanes >> l & 1) static_cast<reduce_io<T> *>(in[l])->result = sum;
        },
        &first);
    return io.result;
}
template <class T> T step_add(T a, T b, int) { return static_cast<T>(a + b); }
template <class T> T step_min(T a, T b, int) { return b < a ? b : a; }
template <class T> T step_max(T a, T b, int) { return a < b ? b : a; }
template <class T> T step_and(T a, T b, int) { return a & b; }
template <class T> T step_or(T a, T b, int) { return a | b; }
template <class T> T step_xor(T a, T b, int) { return a ^ b; }
inline unsigned step_ballot(unsigned a, unsigned b, int lane) {
    return a | static_cast<unsigned>(b != 0) << lane;
}
} // namespace simt

template <class T> T __shfl_sync(unsigned m, T v, int src, int w = 32) {
    const int lane = static_cast<int>(::simt::cur->lane), base = lane & ~(w - 1);
    return ::simt::shuffle(m, v, base + (src & (w - 1)), "__shfl_sync()");
}
template <class T> T __shfl_down_sync(unsigned m, T v, unsigned d, int w = 32) {
    const int lane = static_cast<int>(::simt::cur->lane), from = lane + static_cast<int>(d);
    return ::simt::shuffle(m, v, (lane & (w - 1)) + static_cast<int>(d) < w ? from : lane,
                           "__shfl_down_sync()");
}
template <class T> T __shfl_up_sync(unsigned m, T v, unsigned d, int w = 32) {
    const int lane = static_cast<int>(::simt::cur->lane), from = lane - static_cast<int>(d);
    return ::simt::shuffle(m, v, (lane & (w - 1)) >= static_cast<int>(d) ? from : lane,
                           "__shfl_up_sync()");
}
template <class T> T __shfl_xor_sync(unsigned m, T v, int x, int w = 32) {
    const int lane = static_cast<int>(::simt::cur->lane), from = lane ^ x;
    return ::simt::shuffle(m, v, (from & ~(w - 1)) <= (lane & ~(w - 1)) ? from : lane,
                           "__shfl_xor_sync()");
}
inline unsigned __ballot_sync(unsigned m, int p) {
    return ::simt::reduce<unsigned, ::simt::step_ballot>(m, 0u, p != 0, "__ballot_sync()");
}
inline int __all_sync(unsigned m, int p) {
    return ::simt::reduce<int, ::simt::step_and<int>>(m, 1, p != 0, "__all_sync()");
}
inline int __any_sync(unsigned m, int p) {
    return ::simt::reduce<int, ::simt::step_or<int>>(m, 0, p != 0, "__any_sync()");
}
template <class T> T __reduce_add_sync(unsigned m, T v) {
    return ::simt::reduce<T, ::simt::step_add<T>>(m, T(0), v, "__reduce_add_sync()");
}
template <class T> T __reduce_min_sync(unsigned m, T v) {
    return ::simt::reduce<T, ::simt::step_min<T>>(m, v, v, "__reduce_min_sync()");
}
template <class T> T __reduce_max_sync(unsigned m, T v) {
    return ::simt::reduce<T, ::simt::step_max<T>>(m, v, v, "__reduce_max_sync()");
}
inline unsigned __reduce_and_sync(unsigned m, unsigned v) {
    return ::simt::reduce<unsigned, ::simt::step_and<unsigned>>(m, ~0u, v, "__reduce_and_sync()");
}
inline unsigned __reduce_or_sync(unsigned m, unsigned v) {
    return ::simt::reduce<unsigned, ::simt::step_or<unsigned>>(m, 0u, v, "__reduce_or_sync()");
}
inline unsigned __reduce_xor_sync(unsigned m, unsigned v) {
    return ::simt::reduce<unsigned, ::simt::step_xor<unsigned>>(m, 0u, v, "__reduce_xor_sync()");
}

// ---- atomics: relaxed ones, so that the thread sanitizer sees that they order nothing ----
template <class T> inline void simt_check_aligned(const T *p) {
    if (reinterpret_cast<uintptr_t>(p) % alignof(T))
        ::simt::fail("a misaligned access of %zu bytes at %p", sizeof(T),
                     static_cast<const void *>(p));
}
/* *p = next(*p); the old value. */
template <class T, class F> inline T simt_atomic(T *p, F next) {
    using word = std::conditional_t<sizeof(T) == 8, uint64_t,
                                    std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
    static_assert(sizeof(T) == sizeof(word), "atomics of 2, 4 and 8 bytes");
    simt_check_aligned(reinterpret_cast<const word *>(p));
    word old = __atomic_load_n(reinterpret_cast<word *>(p), __ATOMIC_RELAXED), wanted;
    T o;
    do {
        memcpy(static_cast<void *>(&o), &old, sizeof o);
        const T n = next(o);
        memcpy(&wanted, static_cast<const void *>(&n), sizeof n);
    } while (!__atomic_compare_exchange_n(reinterpret_cast<word *>(p), &old, wanted, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    ::simt::atomic_done(p);
#endif
#endif
    return o;
}
template <class T> using simt_same = std::enable_if_t<true, T>; /* not deduced: T is the target's */
template <class T> inline T atomicAdd(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T o) { return static_cast<T>(o + v); });
}
template <class T> inline T atomicSub(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T o) { return static_cast<T>(o - v); });
}
template <class T> inline T atomicMax(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T o) { return o > v ? o : v; });
}
template <class T> inline T atomicMin(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T o) { return o < v ? o : v; });
}
template <class T> inline T atomicAnd(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T o) { return o & v; });
}
template <class T> inline T atomicOr(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T o) { return o | v; });
}
template <class T> inline T atomicXor(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T o) { return o ^ v; });
}
template <class T> inline T atomicExch(T *p, simt_same<T> v) {
    return simt_atomic(p, [v](T) { return v; });
}
template <class T> inline T atomicCAS(T *p, simt_same<T> expected, simt_same<T> v) {
    return simt_atomic(p, [expected, v](T o) { return o == expected ? v : o; });
}
inline unsigned atomicInc(unsigned *p, unsigned most) {
    return simt_atomic(p, [most](unsigned o) { return o >= most ? 0 : o + 1; });
}
inline unsigned atomicDec(unsigned *p, unsigned most) {
    return simt_atomic(p, [most](unsigned o) { return o == 0 || o > most ? most : o - 1; });
}

// ---- memory and math intrinsics -----------------------------------------------------
template <class T> inline T __ldg(const T *p) {
    simt_check_aligned(p);
    return *p;
}
template <class T> inline T __ldcg(const T *p) {
    simt_check_aligned(p);
    return *p;
}
template <class T> inline T __ldcs(const T *p) {
    simt_check_aligned(p);
    return *p;
}
template <class T> inline T __ldca(const T *p) {
    simt_check_aligned(p);
    return *p;
}
template <class T> inline void __stcs(T *p, T v) {
    simt_check_aligned(p);
    *p = v;
}
template <class T> inline void __stcg(T *p, T v) {
    simt_check_aligned(p);
    *p = v;
}
template <class T> inline void __stwt(T *p, T v) {
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
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
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
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return float(1.0 / std::sqrt((double)x)); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x == x ? x : 0; }
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
#endif
