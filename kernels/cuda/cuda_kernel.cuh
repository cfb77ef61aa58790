/* cuda_kernel.cuh - what every .cu here shares: operands, element types and their conversions, 16-byte vectors, grids. */
#ifndef CUDA_KERNEL_CUH
#define CUDA_KERNEL_CUH
#include "../catalogue.h"
#include "launch.cuh"

/* ---- operands ---- */

template <typename T> static inline T *operand(const struct args *a, int i) {
    return static_cast<T *>(a->buf[i]);
}
static inline cudaStream_t stream_of(const struct args *a) {
    return static_cast<cudaStream_t>(a->stream);
}
static inline int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

/* Blocks of a persistent grid: enough to fill every multiprocessor `each` times, no more than there is work for. */
static inline unsigned persistent_blocks(const struct args *a, int64_t work, int each) {
    const int64_t most = static_cast<int64_t>(a->gpu->sms) * each;
    return static_cast<unsigned>(work < 1 ? 1 : work < most ? work : most);
}

/* The form of a launch: its own, or what is wished for within its limits; the caller is told. */
struct form_limits {
    int threads[2], blocks_per_sm[2]; /* least and most */
};
static inline launch_form form_of(const struct args *a, launch_form own, const form_limits &l) {
    const auto within = [](int x, const int(&limit)[2]) {
        return x < limit[0] ? limit[0] : x < limit[1] ? x : limit[1];
    };
    if (a->launch.threads)
        own = {within(a->launch.threads, l.threads),
               within(a->launch.blocks_per_sm, l.blocks_per_sm)};
    if (a->launched) *a->launched = own;
    return own;
}

/* ---- element types ---- */

/* element<D>::type is what a dtype is stored in; ::acc what sums of it are kept in; ::product what products of it are
 * stored in (dtypes.def). nvfp4 has no element that stands alone: nvfp4.cuh. */
template <enum dtype D> struct element;
template <> struct element<DT_fp64> {
    using type = double;
    using acc = double;
    using product = double;
};
template <> struct element<DT_fp32> {
    using type = float;
    using acc = float;
    using product = float;
};
template <> struct element<DT_tf32> {
    using type = float;
    using acc = float;
    using product = float;
};
template <> struct element<DT_fp16> {
    using type = __half;
    using acc = float;
    using product = __half;
};
template <> struct element<DT_bf16> {
    using type = __nv_bfloat16;
    using acc = float;
    using product = __nv_bfloat16;
};
template <> struct element<DT_fp8_e4m3> {
    using type = __nv_fp8_e4m3;
    using acc = float;
    using product = __nv_bfloat16;
};
template <> struct element<DT_fp8_e5m2> {
    using type = __nv_fp8_e5m2;
    using acc = float;
    using product = __nv_bfloat16;
};

/* Exact widening to the accumulator's type. */
DEV double widen(double x) { return x; }
DEV float widen(float x) { return x; }
DEV float widen(__half x) { return __half2float(x); }
DEV float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
DEV float widen(__nv_fp8_e4m3 x) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.__x, __NV_E4M3)));
}
DEV float widen(__nv_fp8_e5m2 x) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.__x, __NV_E5M2)));
}

/* One rounding to nearest even; fp8 saturates at its largest finite value. */
DEV void narrow(double &y, double x) { y = x; }
DEV void narrow(float &y, float x) { y = x; }
DEV void narrow(__half &y, float x) { y = __float2half_rn(x); }
DEV void narrow(__nv_bfloat16 &y, float x) { y = __float2bfloat16_rn(x); }
DEV void narrow(__nv_fp8_e4m3 &y, float x) {
    y.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}
DEV void narrow(__nv_fp8_e5m2 &y, float x) {
    y.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}
template <typename T, typename A> DEV T narrowed(A x) {
    T y;
    narrow(y, x);
    return y;
}

/* ---- vectors ---- */

/* BYTES of consecutive elements, moved by one load or store (16; 32 on sm_100 and later). */
template <typename T, int BYTES = 16> struct alignas(BYTES) vec {
    static constexpr int N = BYTES / static_cast<int>(sizeof(T));
    T at[N];
};
template <typename T> DEV vec<T> vec_load(const T *p) { /* p 16-byte aligned */
    vec<T> v;
    *reinterpret_cast<uint4 *>(&v) = *reinterpret_cast<const uint4 *>(p);
    return v;
}
template <typename T> DEV void vec_store(T *p, const vec<T> &v) {
    *reinterpret_cast<uint4 *>(p) = *reinterpret_cast<const uint4 *>(&v);
}
#endif
