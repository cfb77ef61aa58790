/* lanes.h - vectors of fp32 and fp64 in AVX-512: loads that decode, stores that round,
 * transposes of square tiles. The same names as avx2/lanes.h, so that kernels are written once.
 * A _part touches the first n elements only; the lanes beyond are 0. Conversions give the bits
 * of numerics.h (NaN payloads aside). */
#ifndef LANES_H
#define LANES_H
#include "../../numerics.h"

#include <immintrin.h>

typedef __m512 f32s;
typedef __m512d f64s;
enum { F32_LANES = 16, F64_LANES = 8 };

static inline __mmask16 first_16(int n) { return (__mmask16)((1u << n) - 1); }
static inline __mmask8 first_8(int n) { return (__mmask8)((1u << n) - 1); }

static inline f32s f32_zero(void) { return _mm512_setzero_ps(); }
static inline f32s f32_all(float x) { return _mm512_set1_ps(x); }
static inline f32s f32_mul(f32s a, f32s b) { return _mm512_mul_ps(a, b); }
static inline f32s f32_add(f32s a, f32s b) { return _mm512_add_ps(a, b); }
static inline f32s f32_fma(f32s a, f32s b, f32s c) { return _mm512_fmadd_ps(a, b, c); }
static inline float f32_sum(f32s v) { return _mm512_reduce_add_ps(v); }
static inline f32s fp32_load(const float *x) { return _mm512_loadu_ps(x); }
static inline void fp32_store(float *x, f32s v) { _mm512_storeu_ps(x, v); }
static inline f32s fp32_load_part(const float *x, int n) {
    return _mm512_maskz_loadu_ps(first_16(n), x);
}
static inline void fp32_store_part(float *x, f32s v, int n) {
    _mm512_mask_storeu_ps(x, first_16(n), v);
}

static inline f64s f64_zero(void) { return _mm512_setzero_pd(); }
static inline f64s f64_all(double x) { return _mm512_set1_pd(x); }
static inline f64s f64_mul(f64s a, f64s b) { return _mm512_mul_pd(a, b); }
static inline f64s f64_add(f64s a, f64s b) { return _mm512_add_pd(a, b); }
static inline f64s f64_fma(f64s a, f64s b, f64s c) { return _mm512_fmadd_pd(a, b, c); }
static inline double f64_sum(f64s v) { return _mm512_reduce_add_pd(v); }
static inline f64s fp64_load(const double *x) { return _mm512_loadu_pd(x); }
static inline void fp64_store(double *x, f64s v) { _mm512_storeu_pd(x, v); }
static inline f64s fp64_load_part(const double *x, int n) {
    return _mm512_maskz_loadu_pd(first_8(n), x);
}
static inline void fp64_store_part(double *x, f64s v, int n) {
    _mm512_mask_storeu_pd(x, first_8(n), v);
}

/* ---- narrow formats ---- */

static inline f32s fp16_load(const uint16_t *x) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)x));
}
static inline f32s fp16_load_part(const uint16_t *x, int n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_16(n), x));
}
#pragma GCC diagnostic push /* without optimisation the intrinsic is a macro that converts a sign */
#pragma GCC diagnostic ignored "-Wsign-conversion"
static inline __m256i fp16_round(f32s v) {
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#pragma GCC diagnostic pop
static inline void fp16_store(uint16_t *x, f32s v) {
    _mm256_storeu_si256((__m256i *)x, fp16_round(v));
}
static inline void fp16_store_part(uint16_t *x, f32s v, int n) {
    _mm256_mask_storeu_epi16(x, first_16(n), fp16_round(v));
}

static inline f32s bf16_decode(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
static inline f32s bf16_load(const uint16_t *x) {
    return bf16_decode(_mm256_loadu_si256((const __m256i *)x));
}
static inline f32s bf16_load_part(const uint16_t *x, int n) {
    return bf16_decode(_mm256_maskz_loadu_epi16(first_16(n), x));
}
/* vcvtneps2bf16 would flush subnormals. */
static inline __m256i bf16_round(f32s v) {
    const __m512i bits = _mm512_castps_si512(v), one = _mm512_set1_epi32(1);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    up = _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
}
static inline void bf16_store(uint16_t *x, f32s v) {
    _mm256_storeu_si256((__m256i *)x, bf16_round(v));
}
static inline void bf16_store_part(uint16_t *x, f32s v, int n) {
    _mm256_mask_storeu_epi16(x, first_16(n), bf16_round(v));
}

/* Sign and fields moved to where fp16 has them, whose exponent bias is larger by 8. */
static inline f32s e4m3_decode(__m128i x) {
    const __m256i fields = _mm256_slli_epi16(_mm256_cvtepi8_epi16(x), 7);
    const __m512 value =
        _mm512_cvtph_ps(_mm256_and_si256(fields, _mm256_set1_epi16((short)0xbfff)));
    const __m128i sign = _mm_set1_epi8((char)0x80), nan = _mm_set1_epi8((char)0xff);
    const __mmask16 number = _mm_cmpneq_epi8_mask(_mm_or_si128(x, sign), nan);
    return _mm512_mask_mul_ps(_mm512_set1_ps(NAN), number, value, _mm512_set1_ps(0x1p8f));
}
static inline f32s fp8_e4m3_load(const uint8_t *x) {
    return e4m3_decode(_mm_loadu_si128((const __m128i *)x));
}
static inline f32s fp8_e4m3_load_part(const uint8_t *x, int n) {
    return e4m3_decode(_mm_maskz_loadu_epi8(first_16(n), x));
}

/* The upper half of an fp16. */
static inline f32s e5m2_decode(__m128i x) {
    return _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(x), 8));
}
static inline f32s fp8_e5m2_load(const uint8_t *x) {
    return e5m2_decode(_mm_loadu_si128((const __m128i *)x));
}
static inline f32s fp8_e5m2_load_part(const uint8_t *x, int n) {
    return e5m2_decode(_mm_maskz_loadu_epi8(first_16(n), x));
}

/* Block `block` of a tensor: 16 codes looked up in a table of values, times their scales. */
static inline void nvfp4_decode(const void *tensor, int64_t elements, int64_t block,
                                float out[NVFP4_BLOCK]) {
    const __m512 table =
        _mm512_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6);
    const __m128i pairs =
        _mm_loadl_epi64((const __m128i *)((const char *)tensor + block * (NVFP4_BLOCK / 2)));
    const __m128i codes =
        _mm_unpacklo_epi8(pairs, _mm_srli_epi16(pairs, 4)); /* upper bits: ignored by the look-up */
    const float scale = e4m3_to_float(nvfp4_scales_const(tensor, elements)[block]);
    const __m512 value = _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(codes), table);
    _mm512_storeu_ps(out, _mm512_mul_ps(_mm512_mul_ps(value, _mm512_set1_ps(scale)),
                                        _mm512_set1_ps(nvfp4_tensor_scale(tensor, elements))));
}

/* ---- transposes in registers: r[i][j] becomes r[j][i] ---- */

static inline void f32_transpose(f32s r[F32_LANES]) {
    f32s t[F32_LANES];
    for (int i = 0; i < 16; i += 2) { /* pairs of rows, in each 128-bit quarter */
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) { /* four rows: r[i + c] holds columns c, c+4, c+8, c+12 */
        const __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
        const __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    for (int c = 0; c < 4; c++) { /* 4 x 4 transpose of quarters */
        const f32s low02 = _mm512_shuffle_f32x4(r[c], r[c + 4], 0x88);
        const f32s low13 = _mm512_shuffle_f32x4(r[c], r[c + 4], 0xdd);
        const f32s high02 = _mm512_shuffle_f32x4(r[c + 8], r[c + 12], 0x88);
        const f32s high13 = _mm512_shuffle_f32x4(r[c + 8], r[c + 12], 0xdd);
        t[c] = _mm512_shuffle_f32x4(low02, high02, 0x88);
        t[c + 8] = _mm512_shuffle_f32x4(low02, high02, 0xdd);
        t[c + 4] = _mm512_shuffle_f32x4(low13, high13, 0x88);
        t[c + 12] = _mm512_shuffle_f32x4(low13, high13, 0xdd);
    }
    for (int i = 0; i < 16; i++) r[i] = t[i];
}

static inline void f64_transpose(f64s r[F64_LANES]) {
    f64s t[F64_LANES];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);     /* columns 0 2 4 6 */
        t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]); /* columns 1 3 5 7 */
    }
    for (int c = 0; c < 2; c++) {
        const f64s low02 = _mm512_shuffle_f64x2(t[c], t[c + 2], 0x88);
        const f64s low13 = _mm512_shuffle_f64x2(t[c], t[c + 2], 0xdd);
        const f64s high02 = _mm512_shuffle_f64x2(t[c + 4], t[c + 6], 0x88);
        const f64s high13 = _mm512_shuffle_f64x2(t[c + 4], t[c + 6], 0xdd);
        r[c] = _mm512_shuffle_f64x2(low02, high02, 0x88);
        r[c + 4] = _mm512_shuffle_f64x2(low02, high02, 0xdd);
        r[c + 2] = _mm512_shuffle_f64x2(low13, high13, 0x88);
        r[c + 6] = _mm512_shuffle_f64x2(low13, high13, 0xdd);
    }
}
#endif
