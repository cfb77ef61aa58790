/* fma_bf16.c - the flat roof of bf16: vdpbf16ps adds both products of a pair to an fp32 lane. At a latency of 6, twelve
 * chains would fill two a cycle; 16 leave room. The instruction takes subnormals for zeros. */
#include "../isa.h"
#include "../parallel.h"

#include <immintrin.h>
#include <string.h>

enum { LANES = 16, CHAINS = 16 };
#define EVERY_CHAIN _Pragma("GCC unroll 16")

/* Both elements in every lane. */
static __m512bh pair_in_lanes(const void *two) {
    int32_t pair;
    memcpy(&pair, two, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

static void fma_slice(const struct args *a, struct range r) {
    const __m512bh x = pair_in_lanes(a->buf[0]), w = pair_in_lanes(a->buf[1]);
    float *y = a->buf[2];
    int64_t i = r.begin;
    for (; i + CHAINS * LANES <= r.end; i += CHAINS * LANES) {
        __m512 chain[CHAINS];
        EVERY_CHAIN for (int c = 0; c < CHAINS; c++) chain[c] = _mm512_loadu_ps(y + i + c * LANES);
        for (int64_t p = 0; p < a->s.k; p++) {
            EVERY_CHAIN for (int c = 0; c < CHAINS; c++) chain[c] =
                _mm512_dpbf16_ps(chain[c], x, w);
        }
        EVERY_CHAIN for (int c = 0; c < CHAINS; c++) _mm512_storeu_ps(y + i + c * LANES, chain[c]);
    }
    for (; i < r.end; i += LANES) {
        const unsigned count = (unsigned)(r.end - i < LANES ? r.end - i : LANES);
        const __mmask16 lanes = (__mmask16)((1u << count) - 1);
        __m512 y0 = _mm512_maskz_loadu_ps(lanes, y + i);
        for (int64_t p = 0; p < a->s.k; p++) y0 = _mm512_dpbf16_ps(y0, x, w);
        _mm512_mask_storeu_ps(y + i, lanes, y0);
    }
}

static int fma_bf16(const struct args *a) {
    in_slices(a, a->s.n, CHAINS * LANES, 4 * (double)a->s.n * (double)a->s.k, fma_slice);
    return 0;
}

extern const struct impl fma_avx512_bf16[];
const struct impl fma_avx512_bf16[] = {
    {OP_fma, "avx512_bf16", DT_bf16, fma_bf16, refuses_without_avx512_bf16, NULL},
    {.run = NULL},
};
