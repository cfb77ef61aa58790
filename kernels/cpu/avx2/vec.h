/* vec.h - the vocabulary of ../vec.h in 256-bit vectors: AVX2, FMA, F16C.
 * FP8 through fp16 on the way in and by integers on the way out, bit for bit as numerics.h. */
#ifndef VEC_H
#define VEC_H
#include "../../numerics.h"
#include "../ahead.h"

#include <immintrin.h>

enum { lanes_fp64 = 4, lanes_fp32 = 8 };
typedef __m256d vec_fp64;
typedef __m256 vec_fp32;
typedef uint64_t uvec_fp64 __attribute__((vector_size(32)));
typedef uint32_t uvec_fp32 __attribute__((vector_size(32)));

static inline vec_fp64 splat_fp64(double v) { return _mm256_set1_pd(v); }
static inline vec_fp32 splat_fp32(float v) { return _mm256_set1_ps(v); }
static inline uvec_fp64 bits_fp64(vec_fp64 v) { return (uvec_fp64)v; }
static inline uvec_fp32 bits_fp32(vec_fp32 v) { return (uvec_fp32)v; }
static inline vec_fp64 from_bits_fp64(uvec_fp64 bits) { return (vec_fp64)bits; }
static inline vec_fp32 from_bits_fp32(uvec_fp32 bits) { return (vec_fp32)bits; }

static inline vec_fp64 madd_fp64(vec_fp64 a, vec_fp64 b, vec_fp64 c) {
    return _mm256_fmadd_pd(a, b, c);
}
static inline vec_fp32 madd_fp32(vec_fp32 a, vec_fp32 b, vec_fp32 c) {
    return _mm256_fmadd_ps(a, b, c);
}
static inline vec_fp64 larger_fp64(vec_fp64 a, vec_fp64 b) { return _mm256_max_pd(a, b); }
static inline vec_fp32 larger_fp32(vec_fp32 a, vec_fp32 b) { return _mm256_max_ps(a, b); }
static inline vec_fp64 smaller_fp64(vec_fp64 a, vec_fp64 b) { return _mm256_min_pd(a, b); }
static inline vec_fp32 smaller_fp32(vec_fp32 a, vec_fp32 b) { return _mm256_min_ps(a, b); }
static inline vec_fp64 where_positive_fp64(vec_fp64 gate, vec_fp64 v) {
    return _mm256_and_pd(v, _mm256_cmp_pd(gate, _mm256_setzero_pd(), _CMP_GT_OQ));
}
static inline vec_fp32 where_positive_fp32(vec_fp32 gate, vec_fp32 v) {
    return _mm256_and_ps(v, _mm256_cmp_ps(gate, _mm256_setzero_ps(), _CMP_GT_OQ));
}
static inline vec_fp64 root_fp64(vec_fp64 v) { return _mm256_sqrt_pd(v); }
static inline vec_fp32 root_fp32(vec_fp32 v) { return _mm256_sqrt_ps(v); }

static inline double sum_lanes_fp64(vec_fp64 v) { return (v[0] + v[1]) + (v[2] + v[3]); }
static inline float sum_lanes_fp32(vec_fp32 v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}
static inline double max_lanes_fp64(vec_fp64 v) {
    double largest = v[0];
    for (int i = 1; i < lanes_fp64; i++) largest = v[i] > largest ? v[i] : largest;
    return largest;
}
static inline float max_lanes_fp32(vec_fp32 v) {
    float largest = v[0];
    for (int i = 1; i < lanes_fp32; i++) largest = v[i] > largest ? v[i] : largest;
    return largest;
}

/* ---- formats: 8 patterns <-> 8 floats ---- */

static inline __m256 from_bf16(__m128i h) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

/* The low 16 bits of each of 8 lanes, none above 0xffff; then their low 8, none above 0xff. */
static inline __m128i pack_16(__m256i v) {
    return _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}
static inline __m128i pack_8(__m256i v) {
    const __m128i words = pack_16(v);
    return _mm_packus_epi16(words, words);
}

static inline __m256i is_nan(__m256 v) {
    return _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}

static inline __m128i to_bf16(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v), high = _mm256_srli_epi32(bits, 16);
    const __m256i half =
        _mm256_add_epi32(_mm256_and_si256(high, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    return pack_16(_mm256_blendv_epi8(rounded, quiet, is_nan(v)));
}

static inline __m256 from_e5m2(__m128i v) {
    return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(v), 8));
}

/* An E4M3 pattern in the place of an fp16's is the value times 2^-8; carried up from 0x7f, it is an fp16 NaN. */
static inline __m256 from_e4m3(__m128i v) {
    const __m128i wide = _mm_slli_epi16(_mm_cvtepi8_epi16(v), 7),
                  one_up = _mm_add_epi16(wide, _mm_set1_epi16(0x80));
    const __m128i half =
        _mm_or_si128(_mm_and_si128(wide, _mm_set1_epi16((short)0xbf80)),
                     _mm_and_si128(_mm_xor_si128(wide, one_up), _mm_set1_epi16(0x4000)));
    return _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0f));
}

/* small_of_float() of numerics.h, clamped to `largest`, sign put at bit exp_bits + man_bits; NaN not seen to */
static inline __m256i to_small(__m256 v, int exp_bits, int man_bits, int largest) {
    const int bias = (1 << (exp_bits - 1)) - 1, drop = 23 - man_bits;
    const __m256i bits = _mm256_castps_si256(v),
                  magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    const __m256i anchor = _mm256_set1_epi32((127 - bias + 1 + drop) << 23);
    const __m256 anchored =
        _mm256_add_ps(_mm256_castsi256_ps(magnitude), _mm256_castsi256_ps(anchor));
    const __m256i last = _mm256_and_si256(_mm256_srli_epi32(magnitude, drop), _mm256_set1_epi32(1));
    const __m256i rebased = _mm256_sub_epi32(
        magnitude, _mm256_set1_epi32(((127 - bias) << 23) - ((1 << (drop - 1)) - 1)));
    const __m256i normal = _mm256_srai_epi32(_mm256_add_epi32(rebased, last), drop);
    const __m256i tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32((127 - bias + 1) << 23), magnitude);
    const __m256i subnormal = _mm256_sub_epi32(_mm256_castps_si256(anchored), anchor);
    const __m256i clamped =
        _mm256_min_epi32(_mm256_blendv_epi8(normal, subnormal, tiny), _mm256_set1_epi32(largest));
    const __m256i sign =
        _mm256_srli_epi32(_mm256_xor_si256(bits, magnitude), 31 - exp_bits - man_bits);
    return _mm256_or_si256(clamped, sign);
}

static inline __m128i to_e4m3(__m256 v) {
    const __m256i nan = _mm256_and_si256(is_nan(v), _mm256_set1_epi32(0x7f));
    return pack_8(_mm256_or_si256(to_small(v, 4, 3, 0x7e), nan));
}

static inline __m128i to_e5m2(__m256 v) {
    const __m256i number = to_small(v, 5, 2, 0x7b),
                  payload = _mm256_srli_epi32(_mm256_castps_si256(v), 21);
    const __m256i quiet =
        _mm256_or_si256(_mm256_and_si256(payload, _mm256_set1_epi32(3)), _mm256_set1_epi32(0x7e));
    const __m256i sign = _mm256_and_si256(number, _mm256_set1_epi32(0x80));
    return pack_8(_mm256_blendv_epi8(number, _mm256_or_si256(sign, quiet), is_nan(v)));
}

/* ---- memory ---- */

static inline __m128i load_128(const void *p) { return _mm_loadu_si128(p); }
static inline __m128i load_64(const void *p) { return _mm_loadl_epi64(p); }

static inline vec_fp64 load_fp64(const double *x, int64_t i) { return _mm256_loadu_pd(x + i); }
static inline vec_fp32 load_fp32(const float *x, int64_t i) { return _mm256_loadu_ps(x + i); }
static inline vec_fp32 load_fp16(const uint16_t *x, int64_t i) {
    return _mm256_cvtph_ps(load_128(x + i));
}
static inline vec_fp32 load_bf16(const uint16_t *x, int64_t i) {
    return from_bf16(load_128(x + i));
}
static inline vec_fp32 load_fp8_e4m3(const uint8_t *x, int64_t i) {
    return from_e4m3(load_64(x + i));
}
static inline vec_fp32 load_fp8_e5m2(const uint8_t *x, int64_t i) {
    return from_e5m2(load_64(x + i));
}

static inline __m128i to_fp16(__m256 v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline void store_fp64(double *y, int64_t i, vec_fp64 v) { _mm256_storeu_pd(y + i, v); }
static inline void store_fp32(float *y, int64_t i, vec_fp32 v) { _mm256_storeu_ps(y + i, v); }
static inline void store_fp16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm_storeu_si128((void *)(y + i), to_fp16(v));
}
static inline void store_bf16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm_storeu_si128((void *)(y + i), to_bf16(v));
}
static inline void store_fp8_e4m3(uint8_t *y, int64_t i, vec_fp32 v) {
    _mm_storel_epi64((void *)(y + i), to_e4m3(v));
}
static inline void store_fp8_e5m2(uint8_t *y, int64_t i, vec_fp32 v) {
    _mm_storel_epi64((void *)(y + i), to_e5m2(v));
}

/* non-temporal; y + i is a multiple of the vector as stored */
static inline void stream_64(uint8_t *y, __m128i v) {
    _mm_stream_si64((void *)y, _mm_cvtsi128_si64(v));
}
static inline void stream_fp64(double *y, int64_t i, vec_fp64 v) { _mm256_stream_pd(y + i, v); }
static inline void stream_fp32(float *y, int64_t i, vec_fp32 v) { _mm256_stream_ps(y + i, v); }
static inline void stream_fp16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm_stream_si128((void *)(y + i), to_fp16(v));
}
static inline void stream_bf16(uint16_t *y, int64_t i, vec_fp32 v) {
    _mm_stream_si128((void *)(y + i), to_bf16(v));
}
static inline void stream_fp8_e4m3(uint8_t *y, int64_t i, vec_fp32 v) {
    stream_64(y + i, to_e4m3(v));
}
static inline void stream_fp8_e5m2(uint8_t *y, int64_t i, vec_fp32 v) {
    stream_64(y + i, to_e5m2(v));
}

static inline vec_fp64 from_float_fp64(const float *x, int64_t i) {
    return _mm256_cvtps_pd(_mm_loadu_ps(x + i));
}
static inline vec_fp32 from_float_fp32(const float *x, int64_t i) { return _mm256_loadu_ps(x + i); }
static inline void to_float_fp64(float *y, int64_t i, vec_fp64 v) {
    _mm_storeu_ps(y + i, _mm256_cvtpd_ps(v));
}
static inline void to_float_fp32(float *y, int64_t i, vec_fp32 v) { _mm256_storeu_ps(y + i, v); }
static inline void stream_float_fp64(float *y, int64_t i, vec_fp64 v) {
    _mm_stream_ps(y + i, _mm256_cvtpd_ps(v));
}
static inline void stream_float_fp32(float *y, int64_t i, vec_fp32 v) {
    _mm256_stream_ps(y + i, v);
}

/* ---- nvfp4: two vectors are a block ---- */

/* The lanes' low 4 bits, a sign and a place among 8 values (vpermps looks at 3 bits only) */
static inline __m256 from_e2m1(__m256i code) {
    const __m256 values = _mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6);
    const __m256i sign =
        _mm256_and_si256(_mm256_slli_epi32(code, 28), _mm256_set1_epi32((int)0x80000000u));
    return _mm256_or_ps(_mm256_permutevar8x32_ps(values, code), _mm256_castsi256_ps(sign));
}

static inline vec_fp32 decode_nvfp4(const uint8_t *codes, const uint8_t *scales, float tensor_scale,
                                    int64_t i) {
    int32_t four;
    memcpy(&four, codes + i / 2, sizeof four);
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256 code = from_e2m1(_mm256_srlv_epi32(_mm256_set1_epi32(four), shifts));
    const __m256 exact =
        _mm256_mul_ps(code, _mm256_set1_ps(e4m3_to_float(scales[i / NVFP4_BLOCK])));
    return _mm256_mul_ps(exact, _mm256_set1_ps(tensor_scale));
}

static inline uint32_t eight_codes(__m256 v, float step) {
    const __m256 q = _mm256_div_ps(v, _mm256_set1_ps(step));
    const __m256i code = _mm256_blendv_epi8(to_small(q, 2, 1, 7), _mm256_set1_epi32(7), is_nan(q));
    const __m128i bytes = pack_8(code);
    const __m128i pairs = _mm_maddubs_epi16(bytes, _mm_set1_epi16(0x1001)); /* low + 16 high */
    return (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(pairs, pairs));
}

/* nvfp4_quantize_block(), operation for operation */
static inline void quantize_nvfp4(const float *x, float tensor_scale, uint8_t *codes,
                                  uint8_t *scale) {
    const __m256 v = _mm256_loadu_ps(x), w = _mm256_loadu_ps(x + 8),
                 no_sign = _mm256_set1_ps(-0.0f);
    const __m256 zero = _mm256_setzero_ps(); /* NaN counts as 0 */
    const __m256 numbers = _mm256_max_ps(_mm256_max_ps(_mm256_andnot_ps(no_sign, v), zero),
                                         _mm256_max_ps(_mm256_andnot_ps(no_sign, w), zero));
    *scale = e4m3_of_float(max_lanes_fp32(numbers) / 6.0f / tensor_scale);
    const float step = e4m3_to_float(*scale) * tensor_scale;
    uint32_t packed[2] = {0, 0};
    if (step > 0) {
        packed[0] = eight_codes(v, step);
        packed[1] = eight_codes(w, step);
    }
    memcpy(codes, packed, sizeof packed);
}

/* ---- bytes ---- */

enum { RAW_BYTES = 32 };
typedef __m256i raw;
static inline raw raw_load(const char *p) { return _mm256_loadu_si256((const void *)p); }
static inline void raw_store(char *p, raw v) { _mm256_storeu_si256((void *)p, v); }
static inline void raw_stream(char *p, raw v) { _mm256_stream_si256((void *)p, v); }

static inline raw positive_16(raw v, uint16_t limit) {
    const __m256i top = _mm256_set1_epi16((short)limit);
    return _mm256_and_si256(v, _mm256_cmpeq_epi16(_mm256_max_epu16(v, top), top));
}
static inline raw positive_8(raw v, uint8_t limit) {
    const __m256i top = _mm256_set1_epi8((char)limit);
    return _mm256_and_si256(v, _mm256_cmpeq_epi8(_mm256_max_epu8(v, top), top));
}

/* less one, 0 is the largest pattern of all */
static inline raw where_positive_16(raw gate, raw v, uint16_t limit) {
    const __m256i top = _mm256_set1_epi16((short)(limit - 1)),
                  less = _mm256_sub_epi16(gate, _mm256_set1_epi16(1));
    return _mm256_and_si256(v, _mm256_cmpeq_epi16(_mm256_max_epu16(less, top), top));
}
static inline raw where_positive_8(raw gate, raw v, uint8_t limit) {
    const __m256i top = _mm256_set1_epi8((char)(limit - 1)),
                  less = _mm256_sub_epi8(gate, _mm256_set1_epi8(1));
    return _mm256_and_si256(v, _mm256_cmpeq_epi8(_mm256_max_epu8(less, top), top));
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

#include "../vec_common.h"
#endif
