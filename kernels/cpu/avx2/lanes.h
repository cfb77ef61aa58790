/* lanes.h - vectors of fp32 and fp64 in AVX2, FMA, F16C: loads that decode, stores that round,
 * transposes of tiles. The same names as avx512/lanes.h, so that kernels are written once. A
 * _part touches the first n elements only; the lanes beyond are 0. Conversions give the bits of
 * numerics.h (NaN payloads aside). */
#ifndef LANES_H
#define LANES_H
#include "../../numerics.h"

#include <immintrin.h>

typedef __m256 f32s;
typedef __m256d f64s;
enum { F32_LANES = 8, F64_LANES = 4 };

static inline f32s f32_zero(void) { return _mm256_setzero_ps(); }
static inline f32s f32_all(float x) { return _mm256_set1_ps(x); }
static inline f32s f32_mul(f32s a, f32s b) { return _mm256_mul_ps(a, b); }
static inline f32s f32_add(f32s a, f32s b) { return _mm256_add_ps(a, b); }
static inline f32s f32_fma(f32s a, f32s b, f32s c) { return _mm256_fmadd_ps(a, b, c); }
static inline float f32_sum(f32s v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline f32s fp32_load(const float *x) { return _mm256_loadu_ps(x); }
static inline void fp32_store(float *x, f32s v) { _mm256_storeu_ps(x, v); }

/* A sliding window over this gives the mask of the first n lanes. */
static inline __m256i first_lanes(int n) {
    static const int32_t window[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(window + 8 - n));
}
static inline f32s fp32_load_part(const float *x, int n) {
    return _mm256_maskload_ps(x, first_lanes(n));
}
/* In pieces: vmaskmovps stores are microcode on AMD. */
static inline void fp32_store_part(float *x, f32s v, int n) {
    __m128 rest = _mm256_castps256_ps128(v);
    if (n >= 8) {
        _mm256_storeu_ps(x, v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(x, rest);
        rest = _mm256_extractf128_ps(v, 1);
        x += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)x, rest);
        rest = _mm_movehl_ps(rest, rest);
        x += 2;
    }
    if (n & 1) _mm_store_ss(x, rest);
}

static inline f64s f64_zero(void) { return _mm256_setzero_pd(); }
static inline f64s f64_all(double x) { return _mm256_set1_pd(x); }
static inline f64s f64_mul(f64s a, f64s b) { return _mm256_mul_pd(a, b); }
static inline f64s f64_add(f64s a, f64s b) { return _mm256_add_pd(a, b); }
static inline f64s f64_fma(f64s a, f64s b, f64s c) { return _mm256_fmadd_pd(a, b, c); }
static inline double f64_sum(f64s v) {
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}
static inline f64s fp64_load(const double *x) { return _mm256_loadu_pd(x); }
static inline void fp64_store(double *x, f64s v) { _mm256_storeu_pd(x, v); }
static inline f64s fp64_load_part(const double *x, int n) {
    return _mm256_maskload_pd(x, first_lanes(2 * n));
}
static inline void fp64_store_part(double *x, f64s v, int n) {
    __m128d rest = _mm256_castpd256_pd128(v);
    if (n >= 4) {
        _mm256_storeu_pd(x, v);
        return;
    }
    if (n & 2) {
        _mm_storeu_pd(x, rest);
        rest = _mm256_extractf128_pd(v, 1);
        x += 2;
    }
    if (n & 1) _mm_store_sd(x, rest);
}

/* ---- narrow formats ---- */

/* n elements of `size` bytes, then zeros. */
static inline __m128i load_bytes(const void *x, int n, size_t size) {
    char bytes[16] = {0};
    memcpy(bytes, x, (size_t)n * size);
    return _mm_loadu_si128((const __m128i *)bytes);
}
static inline void store_words(uint16_t *x, __m128i v, int n) {
    memcpy(x, &v, (size_t)n * sizeof *x);
}

static inline f32s fp16_load(const uint16_t *x) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
}
static inline f32s fp16_load_part(const uint16_t *x, int n) {
    return _mm256_cvtph_ps(load_bytes(x, n, sizeof *x));
}
static inline __m128i fp16_round(f32s v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline void fp16_store(uint16_t *x, f32s v) {
    _mm_storeu_si128((__m128i *)x, fp16_round(v));
}
static inline void fp16_store_part(uint16_t *x, f32s v, int n) { store_words(x, fp16_round(v), n); }

static inline f32s bf16_decode(__m128i x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
static inline f32s bf16_load(const uint16_t *x) {
    return bf16_decode(_mm_loadu_si128((const __m128i *)x));
}
static inline f32s bf16_load_part(const uint16_t *x, int n) {
    return bf16_decode(load_bytes(x, n, sizeof *x));
}
static inline __m128i bf16_round(f32s v) {
    const __m256i bits = _mm256_castps_si256(v), one = _mm256_set1_epi32(1);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i half = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}
static inline void bf16_store(uint16_t *x, f32s v) {
    _mm_storeu_si128((__m128i *)x, bf16_round(v));
}
static inline void bf16_store_part(uint16_t *x, f32s v, int n) { store_words(x, bf16_round(v), n); }

/* Sign and fields moved to where fp16 has them, whose exponent bias is larger by 8; NaN by way
 * of all bits set. */
static inline f32s e4m3_decode(__m128i x) {
    const __m128i nan =
        _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8((char)0x80)), _mm_set1_epi8((char)0xff));
    const __m128i fields = _mm_slli_epi16(_mm_cvtepi8_epi16(x), 7);
    const __m128i half =
        _mm_or_si128(_mm_and_si128(fields, _mm_set1_epi16((short)0xbfff)), _mm_cvtepi8_epi16(nan));
    return _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(0x1p8f));
}
static inline f32s fp8_e4m3_load(const uint8_t *x) {
    return e4m3_decode(_mm_loadl_epi64((const __m128i *)x));
}
static inline f32s fp8_e4m3_load_part(const uint8_t *x, int n) {
    return e4m3_decode(load_bytes(x, n, sizeof *x));
}

/* The upper half of an fp16. */
static inline f32s e5m2_decode(__m128i x) {
    return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(x), 8));
}
static inline f32s fp8_e5m2_load(const uint8_t *x) {
    return e5m2_decode(_mm_loadl_epi64((const __m128i *)x));
}
static inline f32s fp8_e5m2_load_part(const uint8_t *x, int n) {
    return e5m2_decode(load_bytes(x, n, sizeof *x));
}

/* Block `block` of a tensor: magnitudes looked up in a table of values, signs moved up, times
 * their scales. */
static inline void nvfp4_decode(const void *tensor, int64_t elements, int64_t block,
                                float out[NVFP4_BLOCK]) {
    const __m256 table = _mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6);
    const __m128i pairs =
        _mm_loadl_epi64((const __m128i *)((const char *)tensor + block * (NVFP4_BLOCK / 2)));
    const __m128i codes =
        _mm_unpacklo_epi8(pairs, _mm_srli_epi16(pairs, 4)); /* upper bits: masked below */
    const float scale = e4m3_to_float(nvfp4_scales_const(tensor, elements)[block]);
    const float tensor_scale = nvfp4_tensor_scale(tensor, elements);
    for (int half = 0; half < 2; half++) {
        const __m256i wide = _mm256_cvtepu8_epi32(half ? _mm_srli_si128(codes, 8) : codes);
        const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(wide, _mm256_set1_epi32(8)), 28);
        const __m256 magnitude = _mm256_permutevar8x32_ps(table, wide);
        const __m256 value = _mm256_or_ps(magnitude, _mm256_castsi256_ps(sign));
        _mm256_storeu_ps(out + 8 * half, _mm256_mul_ps(_mm256_mul_ps(value, _mm256_set1_ps(scale)),
                                                       _mm256_set1_ps(tensor_scale)));
    }
}

/* ---- transposes in registers: r[i][j] becomes r[j][i] ---- */

static inline void f32_transpose(f32s r[F32_LANES]) {
    f32s t[F32_LANES];
    for (int i = 0; i < 8; i += 4) { /* t[i + c] holds columns c and c+4 of four rows */
        const f32s a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
        const f32s c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]),
                   d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm256_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    for (int c = 0; c < 4; c++) {
        r[c] = _mm256_permute2f128_ps(t[c], t[c + 4], 0x20);
        r[c + 4] = _mm256_permute2f128_ps(t[c], t[c + 4], 0x31);
    }
}

static inline void f64_transpose(f64s r[F64_LANES]) {
    const f64s a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
    const f64s c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(a, c, 0x20);
    r[1] = _mm256_permute2f128_pd(b, d, 0x20);
    r[2] = _mm256_permute2f128_pd(a, c, 0x31);
    r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
#endif
