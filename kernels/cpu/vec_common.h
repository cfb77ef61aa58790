/* vec_common.h - what every width of vec.h has in common: short names, partial vectors, nvfp4 views, exp.
 * Bodies are included by way of each_dtype.inc, which sets T ACC FN AFN; the names below follow. */
#ifndef VEC_COMMON_H
#define VEC_COMMON_H

#define V          AFN(vec)
#define LANES      AFN(lanes)
#define SPLAT      AFN(splat)
#define MADD       AFN(madd)
#define LARGER     AFN(larger)
#define SMALLER    AFN(smaller)
#define ROOT       AFN(root)
#define EXP        AFN(exp_of)
#define GATED      AFN(gated_of)
#define SUM_LANES  AFN(sum_lanes)
#define MAX_LANES  AFN(max_lanes)
#define IN         FN(in)
#define VIEW       FN(view)
#define LOAD       FN(load)
#define LOAD_PART  FN(load_part)
#define LOOK_AHEAD FN(look_ahead)
#define PAIR       ((int64_t)(PAIR_BYTES / sizeof(T))) /* elements of two cache lines */
#define STORE_PART FN(store_part)
#ifdef STREAMING
#define STORE     FN(stream)
#define TO_FLOAT  AFN(stream_float)
#define RAW_STORE raw_stream
#else
#define STORE     FN(store)
#define TO_FLOAT  AFN(to_float)
#define RAW_STORE raw_store
#endif

/* Non-temporal stores write past the caches; bodies that stream end with a fence. */
#ifdef STREAMING
#define END_OF_STORES _mm_sfence()
#else
#define END_OF_STORES (void)0
#endif

/* An input operand: a pointer, but for nvfp4. */
typedef const double *in_fp64;
typedef const float *in_fp32;
typedef const uint16_t *in_fp16, *in_bf16;
typedef const uint8_t *in_fp8_e4m3, *in_fp8_e5m2;
typedef struct {
    const uint8_t *codes, *scales;
    float tensor_scale;
} in_nvfp4;

static inline in_nvfp4 view_nvfp4(const void *tensor, int64_t elements) {
    return (in_nvfp4){tensor, nvfp4_scales_const(tensor, elements),
                      nvfp4_tensor_scale(tensor, elements)};
}
static inline vec_fp32 load_nvfp4(in_nvfp4 x, int64_t i) {
    return decode_nvfp4(x.codes, x.scales, x.tensor_scale, i);
}
#ifdef AHEAD_H
static inline void look_ahead_nvfp4(in_nvfp4 x, int64_t i, int64_t bytes) {
    look_ahead(x.codes + i / 2, bytes);
}
#endif
/* nvfp4 tensors are whole blocks, and slices are cut between vectors: no part is ever left. */
static inline vec_fp32 load_part_nvfp4(in_nvfp4 x, int64_t i, int64_t count, float rest) {
    (void)count, (void)rest;
    return load_nvfp4(x, i);
}

/* max(x, 0) of patterns: those of numbers > 0 run up to infinity's, or to the largest number's; NaN gives 0. */
static inline raw positive_fp16(raw v) { return positive_16(v, 0x7c00); }
static inline raw positive_bf16(raw v) { return positive_16(v, 0x7f80); }
static inline raw positive_fp8_e4m3(raw v) { return positive_8(v, 0x7e); }
static inline raw positive_fp8_e5m2(raw v) { return positive_8(v, 0x7c); }

/* the same of v's elements, where `gate` has such a number */
static inline raw keep_where_positive_fp16(raw gate, raw v) {
    return where_positive_16(gate, v, 0x7c00);
}
static inline raw keep_where_positive_bf16(raw gate, raw v) {
    return where_positive_16(gate, v, 0x7f80);
}
static inline raw keep_where_positive_fp8_e4m3(raw gate, raw v) {
    return where_positive_8(gate, v, 0x7e);
}
static inline raw keep_where_positive_fp8_e5m2(raw gate, raw v) {
    return where_positive_8(gate, v, 0x7c);
}

/* the bits of |v| */
#define MAGNITUDE AFN(magnitude)
static inline vec_fp64 magnitude_fp64(vec_fp64 v) {
    return from_bits_fp64(bits_fp64(v) & 0x7fffffffffffffffu);
}
static inline vec_fp32 magnitude_fp32(vec_fp32 v) {
    return from_bits_fp32(bits_fp32(v) & 0x7fffffffu);
}

#define BODY "vec_parts.inc"
#include "each_dtype.inc"

#include "vec_exp.h"
#endif
