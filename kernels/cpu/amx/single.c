/* single.c - y[lanes] = alpha M x + beta y, a product with one row or one column. M is decoded to
 * fp32 as it streams by: 8 rows at a time, as many streams as DRAM needs to deliver all it can to a
 * core. Where k is contiguous a row gives a dot product; where it is not, 8 rows are added to sums
 * that stay in level 1. Threads share the lanes, so no sums are added up between them. */
#include "single.h"

#include "../avx512/lanes.h"
#include "../parallel.h"

#define UNROLL _Pragma("GCC unroll 8")
enum {
    ROWS = 8,
    SUMS = 4096,
    AHEAD =
        1024 /* bytes of a row that are fetched early; where k is not contiguous, ROWS rows are */
};

struct panel {
    const void *tensor;
    int64_t elements; /* of the whole tensor */
};

struct single {
    const struct panel *M;
    int64_t first, step; /* of this product's M: its first index, between rows as they are stored */
    bool along_k;        /* k is contiguous */
    int64_t k;
    float alpha, beta;
    const float *x; /* [k] */
    float *sums;    /* [SUMS] */
    uint16_t *y;
};

typedef void decode_fn(const struct panel *x, int64_t first, int64_t k, float *out);
typedef void lanes_fn(const struct single *s, struct range lanes);

static int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }

/* Waking a team takes about 2 us, in which one core reads 256 KiB out of level 2. */
static int threads_of(const struct args *a) {
    const double elements = (double)a->s.b * (double)a->s.k * (double)(a->s.m * a->s.n);
    return elements < 128 * 1024 ? 1 : a->threads;
}

/* A thread's x and sums. */
static int64_t own_floats(const struct args *a) { return lines(a->s.k) + SUMS; }

size_t single_scratch(const struct args *a) {
    return sizeof(float) * (size_t)own_floats(a) * (size_t)threads_of(a);
}

static void work(const struct args *a, decode_fn *decode, lanes_fn *part, int thread, int threads) {
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k, lanes = m * n;
    const bool row = m == 1; /* x is A, M is B */
    const struct panel A = {a->buf[0], a->s.b * m * k}, B = {a->buf[1], a->s.b * k * n};
    const bool along_k = row ? a->layout == LAYOUT_NT : a->layout != LAYOUT_TN;
    const bool alone = a->s.b >= threads; /* a thread has whole products */
    const struct range all = {0, a->s.b}, whole = {0, lanes};
    const struct range batches = alone ? slice(a->s.b, 1, thread, threads) : all;
    const struct range mine = alone ? whole : slice(lanes, 64, thread, threads);
    float *x = (float *)a->scratch + own_floats(a) * thread;
    struct single s = {
        .M = row ? &B : &A,
        .step = along_k ? k : lanes,
        .along_k = along_k,
        .k = k,
        .alpha = (float)a->alpha,
        .beta = (float)a->beta,
        .x = x,
        .sums = x + lines(k),
    };
    for (int64_t i = batches.begin; i < batches.end; i++) {
        s.first = i * k * lanes;
        s.y = (uint16_t *)a->buf[2] + i * lanes;
        decode(row ? &A : &B, i * k, k, x);
        part(&s, mine);
    }
}

static int single(const struct args *a, decode_fn *decode, lanes_fn *part) {
    const int threads = threads_of(a);
    if (threads == 1) {
        work(a, decode, part, 0, 1);
        return 0;
    }
#pragma omp parallel num_threads(threads)
    work(a, decode, part, omp_get_thread_num(), omp_get_num_threads());
    return 0;
}

/* Whole blocks: rows are made of them. */
static inline f32s nvfp4_load(const struct panel *x, int64_t i) {
    float decoded[NVFP4_BLOCK];
    nvfp4_decode(x->tensor, x->elements, i / NVFP4_BLOCK, decoded);
    return fp32_load(decoded);
}

#define Y_DECODE           _mm512_cvtph_ps
#define Y_ROUND            fp16_round
#define FN(f)              f##_fp16
#define BITS               16
#define LOAD(x, i)         fp16_load((const uint16_t *)(x)->tensor + (i))
#define LOAD_PART(x, i, n) fp16_load_part((const uint16_t *)(x)->tensor + (i), n)
#include "single.inc"
#undef Y_DECODE
#undef Y_ROUND

#define Y_DECODE           bf16_decode
#define Y_ROUND            bf16_round
#define FN(f)              f##_bf16
#define BITS               16
#define LOAD(x, i)         bf16_load((const uint16_t *)(x)->tensor + (i))
#define LOAD_PART(x, i, n) bf16_load_part((const uint16_t *)(x)->tensor + (i), n)
#include "single.inc"

#define FN(f)              f##_fp8_e4m3
#define BITS               8
#define LOAD(x, i)         fp8_e4m3_load((const uint8_t *)(x)->tensor + (i))
#define LOAD_PART(x, i, n) fp8_e4m3_load_part((const uint8_t *)(x)->tensor + (i), n)
#include "single.inc"

#define FN(f)              f##_fp8_e5m2
#define BITS               8
#define LOAD(x, i)         fp8_e5m2_load((const uint8_t *)(x)->tensor + (i))
#define LOAD_PART(x, i, n) fp8_e5m2_load_part((const uint8_t *)(x)->tensor + (i), n)
#include "single.inc"

#define FN(f)              f##_nvfp4
#define BITS               4
#define LOAD(x, i)         nvfp4_load(x, i)
#define LOAD_PART(x, i, n) nvfp4_load(x, i)
#include "single.inc"
