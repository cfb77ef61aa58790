/* vec.h - the vocabulary of ../vec.h in 512-bit vectors: AVX-512 F, BW, DQ, VL with F16C.
 * bf16 is rounded by integers, not by vcvtneps2bf16, which flushes subnormals; FP8 through fp16 on the way in and by
 * integers on the way out, bit for bit as numerics.h. */
#ifndef VEC_H
#define VEC_H
#include "../../numerics.h"
#include "../ahead.h"

#include <immintrin.h>

enum { lanes_fp64 = 8, lanes_fp32 = 16 };
typedef __m512d vec_fp64;
typedef __m512 vec_fp32;
typedef uint64_t uvec_fp64 __attribute__((vector_size(64)));
typedef uint32_t uvec_fp32 __attribute__((vector_size(64)));

static inline vec_fp64 splat_fp64(double v) { return _mm512_set1_pd(v); }
static inline vec_fp32 splat_fp32(float v) { return _mm512_set1_ps(v); }
static inline uvec_fp64 bits_fp64(vec_fp64 v) { return (uvec_fp64)v; }
static inline uvec_fp32 bits_fp32(vec_fp32 v) { return (uvec_fp32)v; }
static inline vec_fp64 from_bits_fp64(uvec_fp64 bits) { return (vec_fp64)bits; }
static inline vec_fp32 from_bits_fp32(uvec_fp32 bits) { return (vec_fp32)bits; }

static inline vec_fp64 madd_fp64(vec_fp64 a, vec_fp64 b, vec_fp64 c) {
    return _mm512_fmadd_pd(a, b, c);
}
static inline vec_fp32 madd_fp32(vec_fp32 a, vec_fp32 b, vec_fp32 c) {
    return _mm512_fmadd_ps(a, b, c);
}
static inline vec_fp64 larger_fp64(vec_fp64 a, vec_fp64 b) { return _mm512_max_pd(a, b); }
static inline vec_fp32 larger_fp32(vec_fp32 a, vec_fp32 b) { return _mm512_max_ps(a, b); }
static inline vec_fp64 smaller_fp64(vec_fp64 a, vec_fp64 b) { return _mm512_min_pd(a, b); }
static inline vec_fp32 smaller_fp32(vec_fp32 a, vec_fp32 b) { return _mm512_min_ps(a, b); }
static inline vec_fp64 where_positive_fp64(vec_fp64 gate, vec_fp64 v) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(gate, _mm512_setzero_pd(), _CMP_GT_OQ), v);
}
static inline vec_fp32 where_positive_fp32(vec_fp32 gate, vec_fp32 v) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_GT_OQ), v);
}
static inline vec_fp64 root_fp64(vec_fp64 v) { return _mm512_sqrt_pd(v); }
static inline vec_fp32 root_fp32(vec_fp32 v) { return _mm512_sqrt_ps(v); }
static inline double sum_lanes_fp64(vec_fp64 v) { return _mm512_reduce_add_pd(v); }
static inline float sum_lanes_fp32(vec_fp32 v) { return _mm512_reduce_add_ps(v); }
static inline double max_lanes_fp64(vec_fp64 v) { return _mm512_reduce_max_pd(v); }
static inline float max_lanes_fp32(vec_fp32 v) { return _mm512_reduce_max_ps(v); }

/* ---- formats: 16 patterns <-> 16 floats ---- */

static inline __m512 from_bf16(__m256i h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

static inline __m256i to_bf16(__m512 v) {
    const __m512i bits = _mm512_castps_si512(v), high = _mm512_srli_epi32(bits, 16);
    const __m512i half =
        _mm512_add_epi32(_mm512_and_si512(high, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40)));
}

static inline __m512 from_e5m2(__m128i v) {
    return _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(v), 8));
}

/* An E4M3 pattern in the place of an fp16's is the value times 2^-8; carried up from 0x7f, it is an fp16 NaN. */
static inline __m512 from_e4m3(__m128i v) {
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(v), 7);
    const __m256i one_up = _mm256_add_epi16(wide, _mm256_set1_epi16(0x80));
    const __m256i half = _mm256_or_si256(
        _mm256_and_si256(wide, _mm256_set1_epi16((short)0xbf80)),
        _mm256_and_si256(_mm256_xor_si256(wide, one_up), _mm256_set1_epi16(0x4000)));
    return _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0f));
}

/* small_of_float() of numerics.h, clamped to `largest`, sign put at bit exp_bits + man_bits; NaN not seen to */
static inline __m512i to_small(__m512 v, int exp_bits, int man_bits, int largest) {
    const int bias = (1 << (exp_bits - 1)) - 1, drop = 23 - man_bits;
    const __m512i bits = _mm512_castps_si512(v),
                  magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __m512i anchor = _mm512_set1_epi32((127 - bias + 1 + drop) << 23);
    const __m512 anchored =
        _mm512_add_ps(_mm512_castsi512_ps(magnitude), _mm512_castsi512_ps(anchor));
    const __m512i last =
        _mm512_and_si512(_mm512_srli_epi32(magnitude, (unsigned)drop), _mm512_set1_epi32(1));
    const __m512i rebased = _mm512_sub_epi32(
        magnitude, _mm512_set1_epi32(((127 - bias) << 23) - ((1 << (drop - 1)) - 1)));
    const __m512i normal = _mm512_srai_epi32(_mm512_add_epi32(rebased, last), (unsigned)drop);
    const __mmask16 tiny =
        _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32((127 - bias + 1) << 23));
    const __m512i number =
        _mm512_mask_sub_epi32(normal, tiny, _mm512_castps_si512(anchored), anchor);
    const __m512i clamped = _mm512_min_epi32(number, _mm512_set1_epi32(largest));
    const __m512i sign =
        _mm512_srli_epi32(_mm512_xor_si512(bits, magnitude), (unsigned)(31 - exp_bits - man_bits));
    return _mm512_or_si512(clamped, sign);
}

static inline __m128i to_e4m3(__m512 v) {
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i number = to_small(v, 4, 3, 0x7e);
    return _mm512_cvtepi32_epi8(_mm512_mask_or_epi32(number, nan, number, _mm512_set1_epi32(0x7f)));
}

static inline __m128i to_e5m2(__m512 v) {
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i number = to_small(v, 5, 2, 0x7b),
                  payload = _mm512_srli_epi32(_mm512_castps_si512(v), 21);
    const __m512i quiet =
        _mm512_or_si512(_mm512_and_si512(payload, _mm512_set1_epi32(3)), _mm512_set1_epi32(0x7e));
    const __m512i sign = _mm512_and_si512(number, _mm512_set1_epi32(0x80));
    return _mm512_cvtepi32_epi8(_mm512_mask_or_epi32(number, nan, sign, quiet));
}

/* ---- memory ---- */

static inline __m256i load_256(const void *p) { return _mm256_loadu_si256(p); }
static inline __m128i load_128(const void *p) { return _mm_loadu_si128(p); }

static inline vec_fp64 load_fp64(const double *x, int64_t i) { return _mm512_loadu_pd(x + i); }
static inline vec_fp32 load_fp32(const float *x, int64_t i) { return _mm512_loadu_ps(x + i); }
static inline vec_fp32 load_fp16(const uint16_t *x, int64_t i) {
    return _mm512_cvtph_ps(load_256(x + i));
}
static inline vec_fp32 load_bf16(const uint16_t *x, int64_t i) {
    return from_bf16(load_256(x + i));
}
static inline vec_fp32 load_fp8_e4m3(const uint8_t *x, int64_t i) {
    return from_e4m3(load_128(x + i));
}
static inline vec_fp32 load_fp8_e5m2(const uint8_t *x, int64_t i) {
    return from_e5m2(load_128(x + i));
}

/* Without optimisation GCC's intrinsic is a macro that converts a sign. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
static inline __m256i to_fp16(__m512 v) {
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#pragma GCC diagnostic pop
static inline void store_fp64(double *y, int64_t i, vec_fp64 v) { _mm512_storeu_pd(y + i, v); }
static inline void store_fp32(float *y, int64_t i, vec_fp32 v) { _mm512_storeu_ps(y + i, v); }
static inline void store_fp16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm256_storeu_si256((void *)(y + i), to_fp16(v));
}
static inline void store_bf16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm256_storeu_si256((void *)(y + i), to_bf16(v));
}
static inline void store_fp8_e4m3(uint8_t *y, int64_t i, vec_fp32 v) {
    _mm_storeu_si128((void *)(y + i), to_e4m3(v));
}
static inline void store_fp8_e5m2(uint8_t *y, int64_t i, vec_fp32 v) {
    _mm_storeu_si128((void *)(y + i), to_e5m2(v));
}

/* non-temporal; y + i is a multiple of the vector as stored */
static inline void stream_fp64(double *y, int64_t i, vec_fp64 v) { _mm512_stream_pd(y + i, v); }
static inline void stream_fp32(float *y, int64_t i, vec_fp32 v) { _mm512_stream_ps(y + i, v); }
static inline void stream_fp16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm256_stream_si256((void *)(y + i), to_fp16(v));
}
static inline void stream_bf16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm256_stream_si256((void *)(y + i), to_bf16(v));
}
static inline void stream_fp8_e4m3(uint8_t *y, int64_t i, vec_fp32 v) {
    _mm_stream_si128((void *)(y + i), to_e4m3(v));
}
static inline void stream_fp8_e5m2(uint8_t *y, int64_t i, vec_fp32 v) {
    _mm_stream_si128((void *)(y + i), to_e5m2(v));
}

static inline vec_fp64 from_float_fp64(const float *x, int64_t i) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(x + i));
}
static inline vec_fp32 from_float_fp32(const float *x, int64_t i) { return _mm512_loadu_ps(x + i); }
static inline void to_float_fp64(float *y, int64_t i, vec_fp64 v) {
    _mm256_storeu_ps(y + i, _mm512_cvtpd_ps(v));
}
static inline void to_float_fp32(float *y, int64_t i, vec_fp32 v) { _mm512_storeu_ps(y + i, v); }
static inline void stream_float_fp64(float *y, int64_t i, vec_fp64 v) {
    _mm256_stream_ps(y + i, _mm512_cvtpd_ps(v));
}
static inline void stream_float_fp32(float *y, int64_t i, vec_fp32 v) {
    _mm512_stream_ps(y + i, v);
}

/* ---- nvfp4: a vector is a block ---- */

static inline vec_fp32 decode_nvfp4(const uint8_t *codes, const uint8_t *scales, float tensor_scale,
                                    int64_t i) {
    const __m512 values =
        _mm512_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6);
    const __m128i pairs = _mm_loadl_epi64((const void *)(codes + i / 2));
    const __m128i each =
        _mm_unpacklo_epi8(pairs, _mm_srli_epi16(pairs, 4)); /* vpermps looks at 4 bits only */
    const __m512 code = _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(each), values);
    const __m512 exact =
        _mm512_mul_ps(code, _mm512_set1_ps(e4m3_to_float(scales[i / NVFP4_BLOCK])));
    return _mm512_mul_ps(exact, _mm512_set1_ps(tensor_scale));
}

/* nvfp4_quantize_block(), operation for operation */
static inline void quantize_nvfp4(const float *x, float tensor_scale, uint8_t *codes,
                                  uint8_t *scale) {
    const __m512 v = _mm512_loadu_ps(x);
    const __m512 numbers =
        _mm512_max_ps(_mm512_abs_ps(v), _mm512_setzero_ps()); /* NaN counts as 0 */
    *scale = e4m3_of_float(_mm512_reduce_max_ps(numbers) / 6.0f / tensor_scale);
    const float step = e4m3_to_float(*scale) * tensor_scale;
    if (!(step > 0)) {
        memset(codes, 0, NVFP4_BLOCK / 2);
        return;
    }
    const __m512 q = _mm512_div_ps(v, _mm512_set1_ps(step));
    const __mmask16 nan = _mm512_cmp_ps_mask(q, q, _CMP_UNORD_Q);
    const __m512i code = _mm512_mask_set1_epi32(to_small(q, 2, 1, 7), nan, 7);
    /* two 4-bit codes of neighbouring lanes to a byte */
    const __m512i pair = _mm512_or_si512(code, _mm512_srli_epi64(code, 28));
    _mm_storel_epi64((void *)codes, _mm512_cvtepi64_epi8(pair));
}

/* ---- bytes ---- */

enum { RAW_BYTES = 64 };
typedef __m512i raw;
static inline raw raw_load(const char *p) { return _mm512_loadu_si512((const void *)p); }
static inline void raw_store(char *p, raw v) { _mm512_storeu_si512((void *)p, v); }
static inline void raw_stream(char *p, raw v) { _mm512_stream_si512((void *)p, v); }

static inline raw positive_16(raw v, uint16_t limit) {
    return _mm512_maskz_mov_epi16(_mm512_cmple_epu16_mask(v, _mm512_set1_epi16((short)limit)), v);
}
static inline raw positive_8(raw v, uint8_t limit) {
    return _mm512_maskz_mov_epi8(_mm512_cmple_epu8_mask(v, _mm512_set1_epi8((char)limit)), v);
}

/* less one, 0 is the largest pattern of all */
static inline raw where_positive_16(raw gate, raw v, uint16_t limit) {
    const __m512i less = _mm512_sub_epi16(gate, _mm512_set1_epi16(1));
    return _mm512_maskz_mov_epi16(_mm512_cmplt_epu16_mask(less, _mm512_set1_epi16((short)limit)),
                                  v);
}
static inline raw where_positive_8(raw gate, raw v, uint8_t limit) {
    const __m512i less = _mm512_sub_epi8(gate, _mm512_set1_epi8(1));
    return _mm512_maskz_mov_epi8(_mm512_cmplt_epu8_mask(less, _mm512_set1_epi8((char)limit)), v);
}

#define NEW_VALUE(v) (void)0 /* for fma.inc: fused operations cannot be shared */
#define INDEPENDENT
#ifdef __clang__
#define UNROLL     _Pragma("unroll 4")
#define UNROLL_ALL _Pragma("unroll")
#else
#define UNROLL     _Pragma("GCC unroll 4")
#define UNROLL_ALL _Pragma("GCC unroll 16")
#endif

#include "exp.h"

#include "../vec_common.h"
#endif
