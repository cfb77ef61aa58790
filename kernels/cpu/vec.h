/* vec.h - the vector vocabulary with vectors of one lane: the portable kernels.
 *
 * The kernels' bodies (.inc) are written once in these words and compiled for every instruction set: here, in
 * avx2/vec.h and in avx512/vec.h. Names end in the accumulator's dtype (arithmetic) or in the stored dtype (memory).
 * The operators + - * / work on vec_*, and + - & | << >> on uvec_*, at any width. */
#ifndef VEC_H
#define VEC_H
#include "../numerics.h"

enum { lanes_fp64 = 1, lanes_fp32 = 1 };
typedef double vec_fp64;
typedef float vec_fp32;
typedef uint64_t uvec_fp64; /* the bits of a vec */
typedef uint32_t uvec_fp32;

static inline vec_fp64 splat_fp64(double v) { return v; }
static inline vec_fp32 splat_fp32(float v) { return v; }
static inline uvec_fp64 usplat_fp64(uint64_t v) { return v; }
static inline uvec_fp32 usplat_fp32(uint32_t v) { return v; }

static inline uvec_fp64 bits_fp64(vec_fp64 v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
static inline uvec_fp32 bits_fp32(vec_fp32 v) { return bits_of_float(v); }
static inline vec_fp64 from_bits_fp64(uvec_fp64 bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline vec_fp32 from_bits_fp32(uvec_fp32 bits) { return float_of_bits(bits); }

/* a b + c, rounded once where the hardware can */
static inline vec_fp64 madd_fp64(vec_fp64 a, vec_fp64 b, vec_fp64 c) { return a * b + c; }
static inline vec_fp32 madd_fp32(vec_fp32 a, vec_fp32 b, vec_fp32 c) { return a * b + c; }

/* a > b ? a : b: if either is NaN, and for zeros of either sign, b. smaller: a < b ? a : b */
static inline vec_fp64 larger_fp64(vec_fp64 a, vec_fp64 b) { return a > b ? a : b; }
static inline vec_fp32 larger_fp32(vec_fp32 a, vec_fp32 b) { return a > b ? a : b; }
static inline vec_fp64 smaller_fp64(vec_fp64 a, vec_fp64 b) { return a < b ? a : b; }
static inline vec_fp32 smaller_fp32(vec_fp32 a, vec_fp32 b) { return a < b ? a : b; }

/* v where gate > 0, else 0 */
static inline vec_fp64 where_positive_fp64(vec_fp64 gate, vec_fp64 v) { return gate > 0 ? v : 0; }
static inline vec_fp32 where_positive_fp32(vec_fp32 gate, vec_fp32 v) { return gate > 0 ? v : 0; }

static inline vec_fp64 root_fp64(vec_fp64 v) { return sqrt(v); }
static inline vec_fp32 root_fp32(vec_fp32 v) { return sqrtf(v); }

static inline double sum_lanes_fp64(vec_fp64 v) { return v; }
static inline float sum_lanes_fp32(vec_fp32 v) { return v; }
static inline double max_lanes_fp64(vec_fp64 v) { return v; }
static inline float max_lanes_fp32(vec_fp32 v) { return v; }

/* ---- memory: lanes from element i on ---- */

static inline vec_fp64 load_fp64(const double *x, int64_t i) { return x[i]; }
static inline vec_fp32 load_fp32(const float *x, int64_t i) { return x[i]; }
static inline vec_fp32 load_fp16(const uint16_t *x, int64_t i) { return fp16_to_float(x[i]); }
static inline vec_fp32 load_bf16(const uint16_t *x, int64_t i) { return bf16_to_float(x[i]); }
static inline vec_fp32 load_fp8_e4m3(const uint8_t *x, int64_t i) { return e4m3_to_float(x[i]); }
static inline vec_fp32 load_fp8_e5m2(const uint8_t *x, int64_t i) { return e5m2_to_float(x[i]); }

static inline void store_fp64(double *y, int64_t i, vec_fp64 v) { y[i] = v; }
static inline void store_fp32(float *y, int64_t i, vec_fp32 v) { y[i] = v; }
static inline void store_fp16(uint16_t *y, int64_t i, vec_fp32 v) { y[i] = fp16_of_float(v); }
static inline void store_bf16(uint16_t *y, int64_t i, vec_fp32 v) { y[i] = bf16_of_float(v); }
static inline void store_fp8_e4m3(uint8_t *y, int64_t i, vec_fp32 v) { y[i] = e4m3_of_float(v); }
static inline void store_fp8_e5m2(uint8_t *y, int64_t i, vec_fp32 v) { y[i] = e5m2_of_float(v); }

/* fp32 in memory, whatever the accumulator */
static inline vec_fp64 from_float_fp64(const float *x, int64_t i) { return x[i]; }
static inline vec_fp32 from_float_fp32(const float *x, int64_t i) { return x[i]; }
static inline void to_float_fp64(float *y, int64_t i, vec_fp64 v) { y[i] = (float)v; }
static inline void to_float_fp32(float *y, int64_t i, vec_fp32 v) { y[i] = v; }

static inline vec_fp32 decode_nvfp4(const uint8_t *codes, const uint8_t *scales, float tensor_scale,
                                    int64_t i) {
    const uint8_t code = (uint8_t)(codes[i / 2] >> i % 2 * 4 & 15);
    return e2m1_to_float(code) * e4m3_to_float(scales[i / NVFP4_BLOCK]) * tensor_scale;
}
static inline void quantize_nvfp4(const float *x, float tensor_scale, uint8_t *codes,
                                  uint8_t *scale) {
    nvfp4_quantize_block(x, tensor_scale, codes, scale);
}

/* ---- bytes ---- */

enum { RAW_BYTES = 16 };
typedef struct {
    char byte[RAW_BYTES];
} raw;
static inline raw raw_load(const char *p) {
    raw v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void raw_store(char *p, raw v) { memcpy(p, &v, sizeof v); }

/* unsigned patterns up to `limit`, 0 for those above */
static inline raw positive_16(raw v, uint16_t limit) {
    uint16_t pattern[RAW_BYTES / 2];
    memcpy(pattern, &v, sizeof v);
    for (int i = 0; i < RAW_BYTES / 2; i++) pattern[i] = pattern[i] <= limit ? pattern[i] : 0;
    memcpy(&v, pattern, sizeof v);
    return v;
}
static inline raw positive_8(raw v, uint8_t limit) {
    uint8_t pattern[RAW_BYTES];
    memcpy(pattern, &v, sizeof v);
    for (int i = 0; i < RAW_BYTES; i++) pattern[i] = pattern[i] <= limit ? pattern[i] : 0;
    memcpy(&v, pattern, sizeof v);
    return v;
}

/* patterns of v where those of gate are from 1 up to `limit`, else 0 */
static inline raw where_positive_16(raw gate, raw v, uint16_t limit) {
    uint16_t pattern[RAW_BYTES / 2], kept[RAW_BYTES / 2];
    memcpy(pattern, &gate, sizeof gate);
    memcpy(kept, &v, sizeof v);
    for (int i = 0; i < RAW_BYTES / 2; i++)
        kept[i] = (uint16_t)(pattern[i] - 1) < limit ? kept[i] : 0;
    memcpy(&v, kept, sizeof v);
    return v;
}
static inline raw where_positive_8(raw gate, raw v, uint8_t limit) {
    uint8_t pattern[RAW_BYTES], kept[RAW_BYTES];
    memcpy(pattern, &gate, sizeof gate);
    memcpy(kept, &v, sizeof v);
    for (int i = 0; i < RAW_BYTES; i++) kept[i] = (uint8_t)(pattern[i] - 1) < limit ? kept[i] : 0;
    memcpy(&v, kept, sizeof v);
    return v;
}

/* The iterations of the next loop do not depend on each other. */
#ifdef __clang__
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define UNROLL
#define UNROLL_ALL

#include "vec_common.h"
#endif
