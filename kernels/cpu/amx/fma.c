/* fma.c - the flat roof of bf16 and fp16 by AMX: tdpbf16ps adds 16 pairs of products, so 16 rounds,
 * to each of 256 lanes in 16 cycles, with a latency of 52, which four chains cover. All tiles stay
 * in registers. An fp16 is the sum of two bf16 (pack.h), whose four products are all added: two
 * instructions for 8 rounds. */
#include "../isa.h"
#include "../parallel.h"
#include "../../numerics.h"
#include "tiles.h"

enum { LANES = TILE_LANES * TILE_LANES, CHAINS = 4, PAIRS = 16, ROW = 2 * PAIRS };

/* Tiles [16][32]. A[row] = x's pairs, B[pair][2 columns] = w's; of A's last there are fewer. */
struct factors {
    uint16_t A[TILE_LANES * ROW], A_last[TILE_LANES * ROW], B[PAIRS * ROW], B_second[PAIRS * ROW];
    int64_t rounds; /* whole ones, of an instruction or two */
    bool doubled, rest;
};

/* x and w are `turn` pairs, which the 16 of a tile repeat. */
static struct factors factors_of(const uint16_t *x, const uint16_t *w, const uint16_t *second,
                                 int turn, int64_t k) {
    const int64_t a_round = PAIRS / turn, rest = k % a_round * turn;
    struct factors f = {.rounds = k / a_round, .doubled = second != NULL, .rest = rest > 0};
    for (int i = 0; i < TILE_LANES; i++)
        for (int e = 0; e < ROW; e++) {
            const int in_row = i * ROW + e, in_pair = i % turn * 2 + e % 2;
            f.A[in_row] = x[e % (2 * turn)];
            f.A_last[in_row] = e < 2 * rest ? f.A[in_row] : 0;
            f.B[in_row] = w[in_pair];
            if (second) f.B_second[in_row] = second[in_pair];
        }
    return f;
}

static inline void four_chains(bool doubled) {
    _tile_dpbf16ps(0, 5, 6);
    _tile_dpbf16ps(1, 5, 6);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 6);
    if (!doubled) return;
    _tile_dpbf16ps(0, 5, 7);
    _tile_dpbf16ps(1, 5, 7);
    _tile_dpbf16ps(2, 5, 7);
    _tile_dpbf16ps(3, 5, 7);
}

/* y[4 x 256] */
static void add_rounds(const struct factors *f, float *y) {
    tiles_fence(); /* y and the factors are in memory */
    _tile_loadd(6, f->B, TILE_LINE);
    _tile_loadd(7, f->B_second, TILE_LINE);
    _tile_loadd(5, f->A, TILE_LINE);
    _tile_loadd(0, y, TILE_LINE);
    _tile_loadd(1, y + LANES, TILE_LINE);
    _tile_loadd(2, y + 2 * LANES, TILE_LINE);
    _tile_loadd(3, y + 3 * LANES, TILE_LINE);
    if (f->doubled)
        for (int64_t r = 0; r < f->rounds; r++) four_chains(true);
    else
        for (int64_t r = 0; r < f->rounds; r++) four_chains(false);
    _tile_loadd(5, f->A_last, TILE_LINE);
    if (f->rest) four_chains(f->doubled);
    _tile_stored(0, y, TILE_LINE);
    _tile_stored(1, y + LANES, TILE_LINE);
    _tile_stored(2, y + 2 * LANES, TILE_LINE);
    _tile_stored(3, y + 3 * LANES, TILE_LINE);
    tiles_fence(); /* y is read after it was stored */
}

static void fma_slice(const struct args *a, struct range r, const struct factors *f) {
    float *y = a->buf[2];
    int64_t i = r.begin;
    tiles_open();
    for (; i + CHAINS * LANES <= r.end; i += CHAINS * LANES) add_rounds(f, y + i);
    if (i < r.end) {
        const size_t bytes = (size_t)(r.end - i) * sizeof *y;
        float rest[CHAINS * LANES] = {0};
        memcpy(rest, y + i, bytes);
        add_rounds(f, rest);
        memcpy(y + i, rest, bytes);
    }
    tiles_close();
}

static void slice_bf16(const struct args *a, struct range r) {
    const struct factors f = factors_of(a->buf[0], a->buf[1], NULL, 1, a->s.k);
    fma_slice(a, r, &f);
}

/* Upper and lower parts of two elements, one after the other. */
static void split(const uint16_t *x, uint16_t upper[2], uint16_t lower[2]) {
    for (int i = 0; i < 2; i++) {
        const float value = fp16_to_float(x[i]);
        upper[i] = (uint16_t)(bits_of_float(value) >> 16);
        lower[i] = bf16_of_float(value - bf16_to_float(upper[i]));
    }
}

static void slice_fp16(const struct args *a, struct range r) {
    uint16_t x[2], x_rest[2], w[2], w_rest[2];
    split(a->buf[0], x, x_rest);
    split(a->buf[1], w, w_rest);
    const uint16_t pairs[4] = {x[0], x_rest[0], x[1], x_rest[1]};
    const uint16_t first[4] = {w[0], w[0], w[1], w[1]};
    const uint16_t second[4] = {w_rest[0], w_rest[0], w_rest[1], w_rest[1]};
    const struct factors f = factors_of(pairs, first, second, 2, a->s.k);
    fma_slice(a, r, &f);
}

static double work(const struct args *a) { return 4 * (double)a->s.n * (double)a->s.k; }

static int fma_bf16(const struct args *a) {
    in_slices(a, a->s.n, CHAINS * LANES, work(a) / 16, slice_bf16);
    return 0;
}

static int fma_fp16(const struct args *a) {
    in_slices(a, a->s.n, CHAINS * LANES, work(a) / 4, slice_fp16);
    return 0;
}

extern const struct impl fma_amx[];
const struct impl fma_amx[] = {
    {OP_fma, "amx", DT_fp16, fma_fp16, refuses_without_amx_bf16, NULL},
    {OP_fma, "amx", DT_bf16, fma_bf16, refuses_without_amx_bf16, NULL},
    {.run = NULL},
};
