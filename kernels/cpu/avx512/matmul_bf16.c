/* matmul_bf16.c - packed products of bf16 by vdpbf16ps: a lane is a pair of elements along k, an
 * accumulator fp32. The instruction takes subnormal inputs and partial sums as zero: an error
 * below the smallest normal number. */
#include "../isa.h"
#include "../packed/packed.h"
#include "lanes.h"

#include <string.h>

#define UNROLL _Pragma("GCC unroll 12")
enum { TILE_ROWS = 12, HEIGHT_1 = 2, HEIGHT_2 = 4, HEIGHT_3 = 8 };

static inline __m512bh pairs_load(const void *p) { return (__m512bh)_mm512_loadu_si512(p); }
/* In the matrix, a pair may lie at any even address. */
static inline __m512bh pairs_all(const void *p) {
    int pair;
    memcpy(&pair, p, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

static inline __m512bh half_of_pair(const void *p) {
    uint16_t first;
    memcpy(&first, p, sizeof first);
    return (__m512bh)_mm512_set1_epi32(first);
}

/* Two runs of B, p and p + 1, become pairs: the first and the second half of them. */
static inline void interleave(__m512i even, __m512i odd, __m512i *first, __m512i *second) {
    static const uint16_t low[2 * F32_LANES] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i to_first = _mm512_loadu_si512(low),
                  to_second = _mm512_add_epi16(to_first, _mm512_set1_epi16(F32_LANES));
    *first = _mm512_permutex2var_epi16(even, to_first, odd);
    *second = _mm512_permutex2var_epi16(even, to_second, odd);
}
static inline void pairs_of_matrix(const char *p, int64_t step, __m512bh *first, __m512bh *second) {
    __m512i v, w;
    interleave(_mm512_loadu_si512(p), _mm512_loadu_si512(p + step / 2), &v, &w);
    *first = (__m512bh)v;
    *second = (__m512bh)w;
}
static inline void halves_of_matrix(const char *p, __m512bh *first, __m512bh *second) {
    *first = (__m512bh)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    *second =
        (__m512bh)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p + 1));
}

/* Subnormal results count as zero as well: an eighth of the instructions of `bf16_store`. */
static inline void bf16_store_normal(uint16_t *x, f32s v) {
    _mm256_storeu_si256((__m256i *)x, (__m256i)_mm512_cvtneps_pbh(v));
}
static inline void bf16_store_normal_part(uint16_t *x, f32s v, int n) {
    _mm256_mask_storeu_epi16(x, first_16(n), (__m256i)_mm512_cvtneps_pbh(v));
}

#define FN(f)             f##_pairs
#define LANE              uint32_t
#define ACC               float
#define VEC               f32s
#define BVEC              __m512bh
#define LANES             F32_LANES
#define MULTIPLY(a, b, c) _mm512_dpbf16_ps(c, a, b)
#define BROADCAST(p)      pairs_all(p)
#define HALF_OF_LANE(p)   half_of_pair(p)
#define LOAD_LANES(p)     pairs_load(p)
#define STORE_LANES(p, v) _mm512_storeu_si512(p, (__m512i)(v))
#define LANES_OF_MATRIX   pairs_of_matrix
#define HALVES_OF_MATRIX  halves_of_matrix
#define V_ZERO            f32_zero
#define V_ALL             f32_all
#define V_MUL             f32_mul
#define V_ADD             f32_add
#define V_FMA             f32_fma
#define V_LOAD            fp32_load
#define V_STORE           fp32_store
#define V_LOAD_PART       fp32_load_part
#define V_STORE_PART      fp32_store_part
#define NARROW            uint16_t
#define NARROW_LOAD_PART  bf16_load_part
#define NARROW_STORE_PART bf16_store_normal_part
#include "../packed/tile.inc"

#define FN(f)        f##_bf16
#define C_LOAD       bf16_load
#define C_LOAD_PART  bf16_load_part
#define C_STORE      bf16_store_normal
#define C_STORE_PART bf16_store_normal_part
#include "../packed/finish.inc"

/* The source is contiguous along the lanes: two runs of it, p and p + 1, become pairs. */
static void pack_along(const struct panel_source *x, int64_t first, int count, int width,
                       int64_t kc, uint32_t *restrict dst) {
    enum { RUN = 2 * F32_LANES };
    const uint16_t *even = (const uint16_t *)x->tensor + first;
    const int64_t steps = (kc + 1) / 2;
    for (int64_t p = 0; p < kc; p += 2, even += 2 * x->p_step, dst += width) {
        const uint16_t *odd = even + (p + 1 < kc ? x->p_step : 0);
        const __mmask32 odd_there = p + 1 < kc ? 0xffffffffu : 0;
        uint32_t *to = dst;
        for (int lane0 = 0; lane0 < count; lane0 += width, to += steps * width)
            for (int lane = 0; lane < width; lane += RUN) {
                const int n = count - lane0 - lane, stored = width - lane;
                const __mmask32 some = n >= RUN ? 0xffffffffu : n > 0 ? (1u << n) - 1 : 0;
                const __m512i r0 = _mm512_maskz_loadu_epi16(some, even + lane0 + lane),
                              r1 = _mm512_maskz_loadu_epi16(some & odd_there, odd + lane0 + lane);
                __m512i first_half, second_half;
                interleave(r0, r1, &first_half, &second_half);
                if (stored >= RUN) {
                    _mm512_storeu_si512(to + lane, first_half);
                    _mm512_storeu_si512(to + lane + F32_LANES, second_half);
                } else {
                    _mm512_mask_storeu_epi32(to + lane, first_16(stored), first_half);
                    if (stored > F32_LANES)
                        _mm512_mask_storeu_epi32(to + lane + F32_LANES,
                                                 first_16(stored - F32_LANES), second_half);
                }
            }
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
    const int64_t first = x->first + lane0 * x->lane_step + p0 * x->p_step;
    if (x->p_step != 1) {
        pack_along(x, first, count, width, kc, dst);
        return;
    }
    for (int lane = 0; lane < count; lane += width)
        pack_across(x, first + lane * x->lane_step, count - lane, width, kc,
                    (uint32_t *)dst + lane * ((kc + 1) / 2));
}

extern const struct impl matvec_avx2[], matvec_avx512[];
static const struct impl *const matvec_tables[] = {matvec_avx512, matvec_avx2, NULL};

static const struct packed packed_bf16 = {
    .dtype = DT_bf16,
    .matvec = matvec_tables,
    .tile_rows = TILE_ROWS,
    .tile_cols = 2 * F32_LANES,
    .lanes = F32_LANES,
    .k_per_step = 2,
    .heights = 1u << TILE_ROWS | 1u << HEIGHT_3 | 1u << HEIGHT_2,
    .lane_bytes = sizeof(uint32_t),
    .element_bytes = sizeof(uint16_t),
    .c_bytes = sizeof(uint16_t),
    .pack = pack,
    .tile = tile_pairs,
    .narrows = true,
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
