/* pack.c - panels of every dtype, decoded to bf16. Runs are loaded 32 elements, of fp16 16, at a
 * time; k + 1 is joined to k by interleaving two runs, lanes and k are exchanged by transposes of
 * 16 x 16 pairs in registers. */
#include "pack.h"

#include "../avx512/lanes.h"
#include "tiles.h"

static inline __mmask32 first_32(int n) { return n >= 32 ? 0xffffffffu : (1u << (unsigned)n) - 1; }

/* ---- 32 elements as bf16, those from n on as 0 ---- */

static inline __m512i bf16_32(const struct panel_source *x, int64_t i, int n) {
    return _mm512_maskz_loadu_epi16(first_32(n), (const uint16_t *)x->tensor + i);
}

/* Fields moved to bf16's places and the exponent's bias changed. Subnormals, below 2^fraction and
 * normal in bf16, and what is no number, from `special` on, are looked up by the last five bits. */
static inline __m512i fp8_32(const uint8_t *source, int n, int fraction, int bias, int special,
                             __m512i table) {
    const __m512i bytes = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(first_32(n), source));
    const __m512i sign = _mm512_and_si512(bytes, _mm512_set1_epi16(0x80));
    const __m512i magnitude = _mm512_xor_si512(bytes, sign);
    const __m512i shifted = _mm512_sll_epi16(magnitude, _mm_cvtsi32_si128(7 - fraction));
    const __m512i v = _mm512_add_epi16(shifted, _mm512_set1_epi16((short)((127 - bias) << 7)));
    const __mmask32 small =
        _mm512_cmplt_epi16_mask(magnitude, _mm512_set1_epi16((short)(1 << fraction)));
    const __mmask32 odd = _mm512_cmpge_epi16_mask(magnitude, _mm512_set1_epi16((short)special));
    return _mm512_or_si512(_mm512_mask_permutexvar_epi16(v, small | odd, magnitude, table),
                           _mm512_slli_epi16(sign, 8));
}

static inline __m512i fp8_e4m3_32(const struct panel_source *x, int64_t i, int n) {
    /* 0 ... 7 times 2^-9; NaN at 0x7f */
    const __m512i table =
        _mm512_setr_epi64(0x3bc03b803b000000, 0x3c603c403c203c00, 0, 0, 0, 0, 0, 0x7fc0ll << 48);
    return fp8_32((const uint8_t *)x->tensor + i, n, 3, 7, 0x7f, table);
}

static inline __m512i fp8_e5m2_32(const struct panel_source *x, int64_t i, int n) {
    /* 0 ... 3 times 2^-16; infinity at 0x7c, NaN beyond */
    const __m512i table =
        _mm512_setr_epi64(0x3840380037800000, 0, 0, 0, 0, 0, 0, 0x7fc07fc07fc07f80);
    return fp8_32((const uint8_t *)x->tensor + i, n, 2, 15, 0x7c, table);
}

/* One or two whole blocks: shapes whose rows are not made of whole blocks do not exist. A code's
 * value times its block's scale is exact; the tensor scale is left to the end. */
static inline __m512i nvfp4_32(const struct panel_source *x, int64_t i, int n) {
    const __m512i table = _mm512_broadcast_i64x4(
        _mm256_setr_epi64x(0x3fc03f803f000000, 0x40c0408040404000, (int64_t)0xbfc0bf80bf008000,
                           (int64_t)0xc0c0c080c040c000));
    const uint8_t *scale = nvfp4_scales_const(x->tensor, x->elements) + i / NVFP4_BLOCK;
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(
        first_16(n / 2), (const uint8_t *)x->tensor + i / 2)); /* a pair of codes in 32 bits */
    const __m512i codes = _mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 12));
    const __m512i value = _mm512_permutexvar_epi16(codes, table);
    const f32s low =
        f32_mul(bf16_decode(_mm512_castsi512_si256(value)), f32_all(e4m3_to_float(scale[0])));
    const f32s high = f32_mul(bf16_decode(_mm512_extracti64x4_epi64(value, 1)),
                              f32_all(n > NVFP4_BLOCK ? e4m3_to_float(scale[1]) : 0));
    const __m256i upper0 = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(low), 16));
    const __m256i upper1 = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(high), 16));
    return _mm512_inserti64x4(_mm512_castsi256_si512(upper0), upper1, 1);
}

/* 16 elements as their upper halves, in the lower half of a pair, and the rests. */
static inline __m512i fp16_16(const struct panel_source *x, int64_t i, int n) {
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    const f32s v = fp16_load_part((const uint16_t *)x->tensor + i, n);
    const __m512i high = _mm512_and_si512(_mm512_castps_si512(v), upper);
    const __m512i low = _mm512_castps_si512(_mm512_sub_ps(v, _mm512_castsi512_ps(high)));
    return _mm512_or_si512(_mm512_srli_epi32(high, 16), low);
}

/* ---- pairs of 32 lanes ---- */

static inline void interleave(__m512i even, __m512i odd, __m512i pairs[2]) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i low =
        _mm512_or_si512(lane, _mm512_slli_epi32(_mm512_add_epi32(lane, _mm512_set1_epi32(32)), 16));
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(0x100010));
    pairs[0] = _mm512_permutex2var_epi16(even, low, odd);
    pairs[1] = _mm512_permutex2var_epi16(even, high, odd);
}

#define INTERLEAVED(load, x, i, next, n, pairs) \
    interleave(load(x, i, n), (next) < 0 ? _mm512_setzero_si512() : load(x, next, n), pairs)

/* Halves of both runs, joined by the load, take one shuffle instead of two. */
static inline void bf16_pairs(const struct panel_source *x, int64_t i, int64_t next, int n,
                              __m512i pairs[2]) {
    const uint16_t *even = (const uint16_t *)x->tensor + i, *odd = even + (next - i);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i order =
        _mm512_or_si512(lane, _mm512_slli_epi32(_mm512_add_epi32(lane, _mm512_set1_epi32(16)), 16));
    if (next < 0 || n < PANEL) {
        interleave(bf16_32(x, i, n), next < 0 ? _mm512_setzero_si512() : bf16_32(x, next, n),
                   pairs);
        return;
    }
    for (int half = 0; half < 2; half++) {
        const __m256i *low = (const __m256i *)(even + half * TILE_LANES);
        const __m256i *high = (const __m256i *)(odd + half * TILE_LANES);
        const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(low)),
                                                _mm256_loadu_si256(high), 1);
        pairs[half] = _mm512_permutexvar_epi16(order, both);
    }
}

static inline void fp16_pairs(const struct panel_source *x, int64_t i, int n, __m512i pairs[2]) {
    pairs[0] = fp16_16(x, i, n < 16 ? n : 16);
    if (n > 16) pairs[1] = fp16_16(x, i + 16, n - 16);
}

/* 16 x 16 pairs, in place. */
static inline void transpose_tile(char *tile) {
    f32s r[TILE_LANES];
    for (int i = 0; i < TILE_LANES; i++) r[i] = _mm512_load_ps(tile + i * TILE_LINE);
    f32_transpose(r);
    for (int i = 0; i < TILE_LANES; i++) _mm512_store_ps(tile + i * TILE_LINE, r[i]);
}

/* ---- the dtypes ---- */

static inline void store_pairs(char *tile_row, __m512i pairs) {
    _mm512_store_si512(tile_row, pairs);
}

/* Upper halves for both of A, then lower ones. */
static inline void store_doubled(char *tile_row, __m512i pairs) {
    const __m512i upper = _mm512_slli_epi32(pairs, 16), lower = _mm512_srli_epi32(pairs, 16);
    _mm512_store_si512(tile_row, _mm512_mask_mov_epi16(upper, 0x55555555, pairs));
    _mm512_store_si512(tile_row + A_STEP, _mm512_mask_mov_epi16(lower, 0xaaaaaaaa, pairs));
}

#define K_PAIR  2
#define B_STEP  A_STEP
#define STORE_B store_pairs

#define FN(f)                             f##_bf16
#define BITS                              16
#define ALONG_K(x, i, n)                  bf16_32(x, i, n)
#define ALONG_LANES(x, i, next, n, pairs) bf16_pairs(x, i, next, n, pairs)
#include "pack.inc"

#define FN(f)                             f##_fp8_e4m3
#define BITS                              8
#define ALONG_K(x, i, n)                  fp8_e4m3_32(x, i, n)
#define ALONG_LANES(x, i, next, n, pairs) INTERLEAVED(fp8_e4m3_32, x, i, next, n, pairs)
#include "pack.inc"

#define FN(f)                             f##_fp8_e5m2
#define BITS                              8
#define ALONG_K(x, i, n)                  fp8_e5m2_32(x, i, n)
#define ALONG_LANES(x, i, next, n, pairs) INTERLEAVED(fp8_e5m2_32, x, i, next, n, pairs)
#include "pack.inc"

#define FN(f)                             f##_nvfp4
#define BITS                              4
#define ALONG_K(x, i, n)                  nvfp4_32(x, i, n)
#define ALONG_LANES(x, i, next, n, pairs) INTERLEAVED(nvfp4_32, x, i, next, n, pairs)
#include "pack.inc"
#undef K_PAIR
#undef B_STEP
#undef STORE_B

#define K_PAIR                            1
#define B_STEP                            (2 * A_STEP)
#define STORE_B                           store_doubled
#define FN(f)                             f##_fp16
#define BITS                              16
#define ALONG_K(x, i, n)                  fp16_16(x, i, n)
#define ALONG_LANES(x, i, next, n, pairs) fp16_pairs(x, i, n, pairs)
#include "pack.inc"
