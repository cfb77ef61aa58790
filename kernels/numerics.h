/* numerics.h - the number formats in software: exact conversions, round to nearest, ties to even.
 *
 * Inline conversions between a storage pattern and float serve the portable kernels and the tails of the fast ones.
 * value_round(), value_get() and value_put() serve oracles and tests: one rounding from long double, no detour.
 * fp16 and bf16 overflow to infinity; E4M3 (no infinity) and E5M2 saturate at their largest finite value, as the OCP
 * OFP8 specification's saturating mode and the hardware's cvt.satfinite do; NaN stays NaN. E2M1 saturates, NaN becomes 6.
 *
 * An nvfp4 tensor of E elements, E a multiple of 16, in memory:
 *   E/2 bytes of codes (element 2i in the low nibble of byte i), E/16 bytes of E4M3 scales, zero padding to a
 *   multiple of 4, one fp32 tensor scale.  value(i) = e2m1(code i) * e4m3(scale i/16) * tensor scale */
#ifndef NUMERICS_H
#define NUMERICS_H

#include "catalogue.h"

#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t bits_of_float(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float float_of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* ---- bf16: the upper half of an fp32 ---- */

static inline float bf16_to_float(uint16_t h) { return float_of_bits((uint32_t)h << 16); }

static inline uint16_t bf16_of_float(float f) {
    const uint32_t bits = bits_of_float(f);
    const uint32_t quiet_nan = bits >> 16 | 0x40,
                   rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

/* ---- small formats, by one rule: EXP exponent bits, MAN fraction bits ----
 * Every case is computed and the right one picked at the end, so that compilers can vectorise the loops around.
 * A subnormal or normal pattern is re-based to fp32 by an exact multiplication with a power of two; the way back
 * adds half a unit in the last place (less one, plus the last bit kept) and lets carries run into the exponent. */

static inline float small_to_float(uint32_t magnitude, int exp_bits, int man_bits) {
    const int bias = (1 << (exp_bits - 1)) - 1;
    const float rebase = float_of_bits((uint32_t)(127 + 127 - bias) << 23);
    return float_of_bits(magnitude << (23 - man_bits)) * rebase;
}

/* Pattern of |f| rounded to nearest even, no clamp: values past the largest give patterns past the largest. */
static inline uint32_t small_of_float(uint32_t magnitude_bits, int exp_bits, int man_bits) {
    const int bias = (1 << (exp_bits - 1)) - 1;
    const int drop = 23 - man_bits;
    const uint32_t smallest_normal = (uint32_t)(127 - bias + 1) << 23;
    /* adding 2^k puts the last subnormal bit at the last place of the sum, and the FPU rounds */
    const float anchor = float_of_bits((uint32_t)(127 - bias + 1 + drop) << 23);
    const uint32_t subnormal =
        bits_of_float(float_of_bits(magnitude_bits) + anchor) - bits_of_float(anchor);
    const uint32_t rounded =
        magnitude_bits + ((1u << (drop - 1)) - 1) + (magnitude_bits >> drop & 1);
    const uint32_t normal = (rounded >> drop) - ((uint32_t)(127 - bias) << man_bits);
    return magnitude_bits < smallest_normal ? subnormal : normal;
}

static inline float fp16_to_float(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fffu;
    const uint32_t finite = bits_of_float(small_to_float(magnitude, 5, 10));
    const uint32_t special = 0x7f800000u | (magnitude & 0x3ff) << 13;
    return float_of_bits(sign | (magnitude >= 0x7c00 ? special : finite));
}

static inline uint16_t fp16_of_float(float f) {
    const uint32_t bits = bits_of_float(f), magnitude = bits & 0x7fffffffu,
                   sign = bits >> 16 & 0x8000;
    const uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff),
                   pattern = small_of_float(magnitude, 5, 10);
    const uint32_t number = pattern > 0x7c00 ? 0x7c00 : pattern;
    return (uint16_t)(sign | (magnitude > 0x7f800000u ? nan : number));
}

static inline float e4m3_to_float(uint8_t v) {
    const uint32_t sign = (uint32_t)(v & 0x80) << 24, magnitude = v & 0x7fu;
    const uint32_t finite = bits_of_float(small_to_float(magnitude, 4, 3));
    return float_of_bits(sign | (magnitude == 0x7f ? 0x7fc00000u : finite));
}

static inline uint8_t e4m3_of_float(float f) {
    const uint32_t bits = bits_of_float(f), magnitude = bits & 0x7fffffffu,
                   sign = bits >> 24 & 0x80;
    const uint32_t pattern = small_of_float(magnitude, 4, 3),
                   number = pattern > 0x7e ? 0x7e : pattern;
    return (uint8_t)(sign | (magnitude > 0x7f800000u ? 0x7f : number));
}

static inline float e5m2_to_float(uint8_t v) { return fp16_to_float((uint16_t)(v << 8)); }

static inline uint8_t e5m2_of_float(float f) {
    const uint32_t bits = bits_of_float(f), magnitude = bits & 0x7fffffffu,
                   sign = bits >> 24 & 0x80;
    const uint32_t nan = 0x7e | (magnitude >> 21 & 0x3), pattern = small_of_float(magnitude, 5, 2);
    const uint32_t number = pattern > 0x7b ? 0x7b : pattern;
    return (uint8_t)(sign | (magnitude > 0x7f800000u ? nan : number));
}

static inline float e2m1_to_float(uint8_t code) {
    static const float value[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    return value[code & 15];
}

static inline uint8_t e2m1_of_float(float f) {
    const uint32_t bits = bits_of_float(f), magnitude = bits & 0x7fffffffu, sign = bits >> 28 & 8;
    if (magnitude > 0x7f800000u) return 7;
    const uint32_t pattern = small_of_float(magnitude, 2, 1);
    return (uint8_t)(sign | (pattern > 7 ? 7 : pattern));
}

/* ---- nvfp4 tensors ---- */

enum { NVFP4_BLOCK = 16 };

static inline uint8_t *nvfp4_scales(void *tensor, int64_t elements) {
    return (uint8_t *)tensor + elements / 2;
}
static inline const uint8_t *nvfp4_scales_const(const void *tensor, int64_t elements) {
    return (const uint8_t *)tensor + elements / 2;
}
static inline size_t nvfp4_tensor_scale_offset(int64_t elements) {
    return (size_t)(elements / 2 + (elements / NVFP4_BLOCK + 3) / 4 * 4);
}
static inline float nvfp4_tensor_scale(const void *tensor, int64_t elements) {
    float scale;
    memcpy(&scale, (const char *)tensor + nvfp4_tensor_scale_offset(elements), sizeof scale);
    return scale;
}
static inline void nvfp4_set_tensor_scale(void *tensor, int64_t elements, float scale) {
    memcpy((char *)tensor + nvfp4_tensor_scale_offset(elements), &scale, sizeof scale);
}

/* Value of element i; the product code * block scale is exact in fp32, so there is one rounding. */
static inline float nvfp4_get(const void *tensor, int64_t elements, int64_t i) {
    const uint8_t pair = ((const uint8_t *)tensor)[i / 2];
    const float code = e2m1_to_float((uint8_t)(i % 2 ? pair >> 4 : pair & 15));
    return code * e4m3_to_float(nvfp4_scales_const(tensor, elements)[i / NVFP4_BLOCK]) *
           nvfp4_tensor_scale(tensor, elements);
}

/* Quantises 16 values: scale = e4m3((max |x| / 6) / tensor_scale), code = e2m1(x / (scale * tensor_scale)), each
 * operation in fp32; max passes over NaN; a zero scale gives zero codes. Every implementation must give the same bits.
 * Source: NVIDIA, "Pretraining Large Language Models with NVFP4" (arXiv 2509.25149), appendix on quantisation. */
static inline void nvfp4_quantize_block(const float x[NVFP4_BLOCK], float tensor_scale,
                                        uint8_t codes[NVFP4_BLOCK / 2], uint8_t *scale) {
    float amax = 0;
    for (int i = 0; i < NVFP4_BLOCK; i++) amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    *scale = e4m3_of_float(amax / 6.0f / tensor_scale);
    const float step = e4m3_to_float(*scale) * tensor_scale;
    for (int i = 0; i < NVFP4_BLOCK; i += 2) {
        const uint8_t low = step > 0 ? e2m1_of_float(x[i] / step) : 0;
        const uint8_t high = step > 0 ? e2m1_of_float(x[i + 1] / step) : 0;
        codes[i / 2] = (uint8_t)(low | high << 4);
    }
}

/* ---- any dtype, for oracles and tests ---- */

/* x rounded once to what t can store (nvfp4: to an E2M1 code's value). */
long double value_round(enum dtype t, long double x);

/* Element i of a tensor of `elements` stored in t. value_put() on nvfp4 aborts: a block is quantised as a whole. */
long double value_get(enum dtype t, const void *tensor, int64_t elements, int64_t i);
void value_put(enum dtype t, void *tensor, int64_t elements, int64_t i, long double x);

/* Unit roundoff of t, 2^-(fraction bits + 1), and its smallest positive subnormal. */
double dtype_roundoff(enum dtype t);
double dtype_smallest(enum dtype t);

#ifdef __cplusplus
}
#endif
#endif
