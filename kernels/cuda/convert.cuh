/* convert.cuh - elements to the accumulator's type and back, two at a time: the conversion instructions of 16- and 8-bit
 * formats take pairs. fp8 has none below sm_89, and e2m1 none below sm_100: there integer code gives the same bits, by
 * the arithmetic of numerics.h (which explains it). */
#ifndef CONVERT_CUH
#define CONVERT_CUH
#include "cuda_kernel.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define FP8_INSTRUCTIONS 1
#else
#define FP8_INSTRUCTIONS 0
#endif

DEV __half2 half2_of_bits(uint32_t bits) {
    __half2_raw raw;
    raw.x = static_cast<unsigned short>(bits);
    raw.y = static_cast<unsigned short>(bits >> 16);
    return __half2(raw);
}
DEV uint32_t bits_of(__half2 h) {
    const __half2_raw raw(h);
    return raw.x | static_cast<uint32_t>(raw.y) << 16;
}

/* Pattern of f in a format of EXP exponent and MAN fraction bits, rounded to nearest even; clamped to `largest`. */
template <int EXP, int MAN> DEV uint32_t small_of_float(float f, uint32_t largest, uint32_t nan) {
    constexpr uint32_t bias = (1u << (EXP - 1)) - 1, drop = 23 - MAN;
    constexpr uint32_t smallest_normal = (127 - bias + 1) << 23, anchor = (127 - bias + 1 + drop)
                                                                          << 23;
    const uint32_t bits = __float_as_uint(f), magnitude = bits & 0x7fffffffu,
                   sign = bits >> (31 - EXP - MAN) & 1u << (EXP + MAN);
    const uint32_t subnormal =
        __float_as_uint(__fadd_rn(__uint_as_float(magnitude), __uint_as_float(anchor))) - anchor;
    const uint32_t normal =
        ((magnitude + ((1u << (drop - 1)) - 1) + (magnitude >> drop & 1)) >> drop) -
        ((127 - bias) << MAN);
    const uint32_t pattern = magnitude < smallest_normal ? subnormal : normal;
    return sign | (magnitude > 0x7f800000u ? nan : pattern < largest ? pattern : largest);
}

/* ---- fp8 ---- */

/* x holds two patterns in its low 16 bits; both formats are exact in fp16. */
DEV __half2 half2_of_e4m3(uint32_t x) {
#if FP8_INSTRUCTIONS
    return __half2(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(x), __NV_E4M3));
#else
    /* as the fp16 of the same fields, 2^8 too small; the largest pattern, a NaN, sets bit 14 when one is added */
    const uint32_t spread = __byte_perm(x, 0, 0x1404), magnitude = (spread & 0x7f007f00u) >> 1;
    const uint32_t is_nan = (magnitude + 0x00800080u) & 0x40004000u,
                   nan = is_nan | (is_nan - (is_nan >> 5));
    const __half2 small = half2_of_bits(magnitude | (spread & 0x80008000u));
    return half2_of_bits(bits_of(__hmul2(small, half2_of_bits(0x5c005c00u))) | nan); /* 2^8 */
#endif
}
DEV __half2 half2_of_e5m2(uint32_t x) { /* the upper half of an fp16 */
    return half2_of_bits(__byte_perm(x, 0, 0x1404));
}
DEV uint32_t e4m3_of_floats(float low, float high) {
#if FP8_INSTRUCTIONS
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
#else
    return small_of_float<4, 3>(low, 0x7e, 0x7f) | small_of_float<4, 3>(high, 0x7e, 0x7f) << 8;
#endif
}
DEV uint32_t e5m2_of_floats(float low, float high) {
#if FP8_INSTRUCTIONS
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E5M2);
#else
    return small_of_float<5, 2>(low, 0x7b, 0x7f) | small_of_float<5, 2>(high, 0x7b, 0x7f) << 8;
#endif
}

/* ---- pairs: x[0], x[1] to y[0], y[1] ---- */

DEV void put_floats(float *y, float2 f) {
    y[0] = f.x;
    y[1] = f.y;
}
template <typename T, typename A> DEV void widen_pair(const T *x, A *y) {
    y[0] = widen(x[0]);
    y[1] = widen(x[1]);
}
DEV void widen_pair(const __half *x, float *y) {
    put_floats(y, __half22float2(__halves2half2(x[0], x[1])));
}
DEV void widen_pair(const __nv_bfloat16 *x, float *y) {
    put_floats(y, __bfloat1622float2(__halves2bfloat162(x[0], x[1])));
}
DEV void widen_pair(const __nv_fp8_e4m3 *x, float *y) {
    put_floats(y, __half22float2(half2_of_e4m3(x[0].__x | static_cast<uint32_t>(x[1].__x) << 8)));
}
DEV void widen_pair(const __nv_fp8_e5m2 *x, float *y) {
    put_floats(y, __half22float2(half2_of_e5m2(x[0].__x | static_cast<uint32_t>(x[1].__x) << 8)));
}

template <typename T, typename A> DEV void narrow_pair(T *y, const A *x) {
    y[0] = static_cast<T>(x[0]);
    y[1] = static_cast<T>(x[1]);
}
DEV void narrow_pair(__half *y, const float *x) {
    const __half2 h = __floats2half2_rn(x[0], x[1]);
    y[0] = __low2half(h);
    y[1] = __high2half(h);
}
DEV void narrow_pair(__nv_bfloat16 *y, const float *x) {
    const __nv_bfloat162 h = __floats2bfloat162_rn(x[0], x[1]);
    y[0] = __low2bfloat16(h);
    y[1] = __high2bfloat16(h);
}
DEV void narrow_pair(__nv_fp8_e4m3 *y, const float *x) {
    const uint32_t bits = e4m3_of_floats(x[0], x[1]);
    y[0].__x = static_cast<unsigned char>(bits);
    y[1].__x = static_cast<unsigned char>(bits >> 8);
}
DEV void narrow_pair(__nv_fp8_e5m2 *y, const float *x) {
    const uint32_t bits = e5m2_of_floats(x[0], x[1]);
    y[0].__x = static_cast<unsigned char>(bits);
    y[1].__x = static_cast<unsigned char>(bits >> 8);
}

/* ---- nvfp4: codes, block scales, tensor scale (layout: numerics.h) ---- */

enum { FP4_BLOCK = 16 };

struct fp4_view {
    const unsigned char *codes, *scales;
    float tensor_scale;
};
DEV fp4_view fp4_of(const void *tensor, int64_t elements) {
    const unsigned char *codes = static_cast<const unsigned char *>(tensor);
    const int64_t scales = elements / FP4_BLOCK, padded = (scales + 3) / 4 * 4;
    return {codes, codes + elements / 2,
            *reinterpret_cast<const float *>(codes + elements / 2 + padded)};
}

DEV float fp4_scale(uint32_t e4m3) { return __low2float(half2_of_e4m3(e4m3 & 0xff)); }

/* The four codes of x's low 16 bits as fp16. Magnitudes 0, .5, 1, 1.5, 2, 3, 4, 6 have zeros in the lower byte of an
 * fp16: the upper one is looked up by a byte permutation, four at once. */
DEV void half2_of_fp4(uint32_t x, __half2 &first, __half2 &second) {
    const uint32_t magnitudes = __byte_perm(0x3e3c3800u, 0x46444240u, x & 0x7777u);
    const uint32_t signs = __byte_perm(x << 4, x, 0x5140u) & 0x80808080u;
    const uint32_t upper = magnitudes | signs;
    first = half2_of_bits(__byte_perm(upper, 0, 0x1404));
    second = half2_of_bits(__byte_perm(upper, 0, 0x3424));
}

/* Code of f: rounded to nearest even, clamped; NaN gives 7. */
DEV uint32_t fp4_of_float(float f) { return f != f ? 7u : small_of_float<2, 1>(f, 7, 7); }
/* Four codes from the lowest nibble up. */
DEV uint32_t fp4_of_floats(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
    const uint32_t low = __nv_cvt_float2_to_fp4x2(make_float2(a, b), __NV_E2M1, cudaRoundNearest),
                   high = __nv_cvt_float2_to_fp4x2(make_float2(c, d), __NV_E2M1, cudaRoundNearest);
    return (low & 0xff) | (high & 0xff) << 8;
#else
    return fp4_of_float(a) | fp4_of_float(b) << 4 | fp4_of_float(c) << 8 | fp4_of_float(d) << 12;
#endif
}
#endif
