/* matmul_bf16.c - packed products of bf16 by vdpbf16ps: a lane is a pair of elements along k, an
 * accumulator fp32. The instruction takes subnormal inputs and partial sums as zero: an error
 * below the smallest normal number. */
#include "../isa.h"
#include "../packed/packed.h"
#include "lanes.h"

#define UNROLL _Pragma("GCC unroll 12")
enum { TILE_ROWS = 12, HEIGHT_1 = 2, HEIGHT_2 = 4, HEIGHT_3 = 8 };

static inline __m512bh pairs_load(const uint32_t *p) { return (__m512bh)_mm512_loadu_si512(p); }
static inline __m512bh pairs_all(const uint32_t *p) { return (__m512bh)_mm512_set1_epi32((int)*p); }

#define FN(f)             f##_pairs
#define LANE              uint32_t
#define ACC               float
#define VEC               f32s
#define BVEC              __m512bh
#define LANES             F32_LANES
#define MULTIPLY(a, b, c) _mm512_dpbf16_ps(c, a, b)
#define BROADCAST(p)      pairs_all(p)
#define LOAD_LANES(p)     pairs_load(p)
#define V_ZERO            f32_zero
#define V_ALL             f32_all
#define V_MUL             f32_mul
#define V_FMA             f32_fma
#define V_LOAD            fp32_load
#define V_STORE           fp32_store
#define V_LOAD_PART       fp32_load_part
#define V_STORE_PART      fp32_store_part
#include "../packed/tile.inc"

#define FN(f)        f##_bf16
#define C_LOAD       bf16_load
#define C_LOAD_PART  bf16_load_part
#define C_STORE      bf16_store
#define C_STORE_PART bf16_store_part
#include "../packed/finish.inc"

/* The source is contiguous along the lanes: two runs of it, p and p + 1, become pairs. */
static void pack_along(const struct panel_source *x, int64_t first, int count, int width,
                       int64_t kc, uint32_t *restrict dst) {
    const uint16_t *even = (const uint16_t *)x->tensor + first;
    for (int64_t p = 0; p < kc; p += 2, even += 2 * x->p_step, dst += width)
        for (int lane = 0; lane < width; lane += F32_LANES) {
            const int n = count - lane < 0           ? 0
                          : count - lane < F32_LANES ? count - lane
                                                     : F32_LANES;
            const __mmask16 some = first_16(n), odd = p + 1 < kc ? some : 0;
            const uint16_t *second = odd ? even + x->p_step : even;
            const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, even + lane));
            const __m512i high =
                _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(odd, second + lane));
            const __mmask16 stored = first_16(width - lane < F32_LANES ? width - lane : F32_LANES);
            _mm512_mask_storeu_epi32(dst + lane, stored,
                                     _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        }
}

/* The source is contiguous along k: pairs lie there as they are needed, 16 x 16 of them are
 * transposed. */
static void pack_across(const struct panel_source *x, int64_t first, int count, int width,
                        int64_t kc, uint32_t *restrict dst) {
    enum { RUN = 2 * F32_LANES };
    const uint16_t *source = (const uint16_t *)x->tensor + first;
    for (int64_t p = 0; p < kc; p += RUN) {
        const int run = kc - p < RUN ? (int)(kc - p) : RUN;
        const __mmask32 some = run == RUN ? 0xffffffffu : (1u << run) - 1;
        for (int lane = 0; lane < width; lane += F32_LANES) {
            const int stored = width - lane < F32_LANES ? width - lane : F32_LANES;
            f32s r[F32_LANES];
            for (int i = 0; i < F32_LANES; i++)
                r[i] = lane + i < count ? _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(
                                              some, source + (lane + i) * x->lane_step + p))
                                        : f32_zero();
            f32_transpose(r);
            for (int q = 0; q < (run + 1) / 2; q++)
                _mm512_mask_storeu_ps(dst + (p / 2 + q) * width + lane, first_16(stored), r[q]);
        }
    }
}

static void pack(const struct panel_source *x, int64_t lane0, int count, int width, int64_t p0,
                 int64_t kc, void *dst) {
    for (int lane = 0; lane < count; lane += width) {
        const int64_t first = x->first + (lane0 + lane) * x->lane_step + p0 * x->p_step;
        uint32_t *panel = (uint32_t *)dst + lane * ((kc + 1) / 2);
        if (x->p_step == 1)
            pack_across(x, first, count - lane, width, kc, panel);
        else
            pack_along(x, first, count - lane, width, kc, panel);
    }
}

static const struct packed packed_bf16 = {
    .tile_rows = TILE_ROWS,
    .tile_cols = 2 * F32_LANES,
    .lanes = F32_LANES,
    .k_per_step = 2,
    .lane_bytes = sizeof(uint32_t),
    .c_bytes = sizeof(uint16_t),
    .pack = pack,
    .tile = tile_pairs,
    .finish = finish_bf16,
};

static int product(const struct args *a) { return packed_product(&packed_bf16, a); }
static size_t scratch(const struct args *a) { return packed_scratch(&packed_bf16, a); }

extern const struct impl matmul_avx512_bf16[];
const struct impl matmul_avx512_bf16[] = {
    {OP_matmul, "packed_avx512_bf16", DT_bf16, product, refuses_without_avx512_bf16, scratch},
    {OP_bmm, "packed_avx512_bf16", DT_bf16, product, refuses_without_avx512_bf16, scratch},
    {.run = NULL},
};
