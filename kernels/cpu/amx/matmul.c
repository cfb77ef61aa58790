/* matmul.c - C[m,n] = alpha A[m,k] B[k,n] + beta C by AMX: 32 x 32 sums in four tiles, to which
 * two tiles of A and two of B add 32 steps of k in 64 cycles.
 *
 * At 16 times the rate of FMAs all else is the bottleneck. Such a step loads 4 KiB, two thirds of
 * what level 1 can deliver, so a panel of A [32,kc] stays there while panels of B stream by from
 * level 2, by loads that leave level 1 alone. Sums over several blocks of k stay in level 2, in
 * fp32 and for a block [mc,nc] of C, while all of k goes by; C is touched once. An operand that
 * several blocks of C need is packed as a whole first, others block by block. Beside the tiles a
 * core fetches what is needed next and stores sums that are done. Threads have rectangles of C. */
#include "../isa.h"
#include "../packed/caches.h"
#include "../parallel.h"
#include "../avx512/lanes.h"
#include "pack.h"
#include "single.h"
#include "tiles.h"

enum { LINE = 64, SUMS = PANEL * PANEL };

static int64_t round_up(int64_t x, int64_t granule) {
    return (x + granule - 1) / granule * granule;
}
static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

/* x in equal parts of at most `limit`, rounded up to the granule: no sliver is left for the end. */
static int64_t even_block(int64_t x, int64_t limit, int64_t granule) {
    limit = limit < granule ? granule : limit / granule * granule;
    const int64_t parts = (x + limit - 1) / limit;
    return round_up((x + parts - 1) / parts, granule);
}

/* ---- C ---- */

/* C from sums: alpha, with the operands' own scales, is factor 2^exponent. */
struct finish {
    float factor, exponent, beta;
    int64_t ldc;
    void (*store)(const struct finish *f, const float *sums, uint16_t *C, int rows, int cols);
};

static inline __m512i both_halves(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* vcvtne2ps2bf16 would flush subnormals. */
static inline __m512i bf16_of_both(f32s low, f32s high) {
    enum { SUBNORMAL = 0x20 };
    if (_mm512_fpclass_ps_mask(low, SUBNORMAL) | _mm512_fpclass_ps_mask(high, SUBNORMAL))
        return both_halves(bf16_round(low), bf16_round(high));
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

static inline __m512i fp16_of_both(f32s low, f32s high) {
    return both_halves(fp16_round(low), fp16_round(high));
}

#define FN(f)         f##_bf16
#define DECODE(x)     bf16_decode(x)
#define ROUND(lo, hi) bf16_of_both(lo, hi)
#include "store.inc"

#define FN(f)         f##_fp16
#define DECODE(x)     _mm512_cvtph_ps(x)
#define ROUND(lo, hi) fp16_of_both(lo, hi)
#include "store.inc"

/* ---- the register tile ---- */

/* `runs` of bytes that are `stride` apart, fetched a few lines in every step. */
struct ahead {
    const char *line, *end; /* of the first run */
    int64_t run_bytes, stride, runs;
    int lines_a_step;
};

static struct ahead ahead_of(const char *first, int64_t run_bytes, int64_t stride, int64_t runs,
                             int64_t steps) {
    const int64_t lines = runs * ((run_bytes + LINE - 1) / LINE);
    return (struct ahead){.line = first,
                          .end = first + run_bytes,
                          .run_bytes = run_bytes,
                          .stride = stride,
                          .runs = runs,
                          .lines_a_step = (int)((lines + steps - 1) / steps)};
}

/* What goes on beside the tiles, which leave most of a core idle: a few lines of what is needed
 * next are fetched to level 2, the sums that come next to level 1, those before are stored. */
struct beside {
    struct ahead a, b;
    const float *next_sums; /* NULL: none are read */
    struct stores {
        const float *sums;
        uint16_t *C;
        int rows, cols; /* that are left */
    } stores;
    int rows_a_step;
    struct packing { /* of the panel of B that is needed next, a step of it in a step */
        panels_fn *pack;
        const struct panel_source *x;
        int64_t lane, lanes, p, end, k_step, step_bytes;
        char *dst;
    } packing;
    bool packs_b; /* along the first panel of A */
};

/* Rows of 64 bytes `stride` apart: packed, or where they lie. */
struct a_panel {
    const char *at;
    int64_t stride, step; /* bytes between rows, between steps of k */
    const char *last;     /* the last step, packed, where k ends within it; or NULL */
};

static inline void fetch(struct ahead *a) {
    if (a->runs == 0) return;
    for (int i = 0; i < a->lines_a_step && a->runs > 0; i++, a->line += LINE) {
        if (a->line >= a->end) {
            a->line = a->end += a->stride;
            a->line -= a->run_bytes;
            a->runs--;
        }
        _mm_prefetch(a->line, _MM_HINT_T1);
    }
}

static inline void pack_step(struct packing *k) {
    if (k->p >= k->end) return;
    k->pack(k->x, k->lane, k->lanes, k->p, smaller(k->k_step, k->end - k->p), k->dst);
    k->p += k->k_step;
    k->dst += k->step_bytes;
}

static inline void some_stores(const struct finish *f, struct stores *s, int rows) {
    if (s->rows == 0) return;
    const int now = s->rows < rows ? s->rows : rows;
    f->store(f, s->sums, s->C, now, s->cols);
    s->rows -= now;
    s->sums += now * PANEL;
    s->C += now * f->ldc;
}

/* sums[32][32] gain `steps` of A times B; `rows` and `cols` of tiles, and B's copies, are constants
 * where this is inlined. */
static inline __attribute__((always_inline)) void
multiply_tiles(const int rows, const int cols, const int copies, int64_t steps, struct a_panel a,
               const char *B, float *sums, bool fresh, const struct finish *f, struct beside *w) {
    enum { LD = PANEL * sizeof(float) };
    float *below = sums + TILE_LANES * PANEL;
    const float *next_sums = w->next_sums;
    const char *A = a.at;
    tiles_fence(); /* what was packed and summed up is in memory */
    if (fresh) {
        _tile_zero(0);
        if (cols > 1) _tile_zero(1);
        if (rows > 1) _tile_zero(2);
        if (rows > 1 && cols > 1) _tile_zero(3);
    } else {
        _tile_loadd(0, sums, LD);
        if (cols > 1) _tile_loadd(1, sums + TILE_LANES, LD);
        if (rows > 1) _tile_loadd(2, below, LD);
        if (rows > 1 && cols > 1) _tile_loadd(3, below + TILE_LANES, LD);
    }
    for (int64_t s = 0; s < steps; s++, A += a.step) {
        if (a.last && s + 1 == steps) {
            A = a.last;
            a.stride = TILE_LINE;
        }
        _tile_loadd(4, A, a.stride);
        if (rows > 1) _tile_loadd(5, A + TILE_LANES * a.stride, a.stride);
        for (int copy = 0; copy < copies; copy++, B += A_STEP) {
            _tile_stream_loadd(6, B, TILE_LINE);
            _tile_dpbf16ps(0, 4, 6);
            if (rows > 1) _tile_dpbf16ps(2, 5, 6);
            if (cols > 1) {
                _tile_stream_loadd(7, B + TILE_BYTES, TILE_LINE);
                _tile_dpbf16ps(1, 4, 7);
                if (rows > 1) _tile_dpbf16ps(3, 5, 7);
            }
        }
        fetch(&w->a);
        fetch(&w->b);
        if (next_sums)
            for (int i = 0; i < w->rows_a_step; i++, next_sums += PANEL) {
                _mm_prefetch((const char *)next_sums, _MM_HINT_T0);
                _mm_prefetch((const char *)(next_sums + TILE_LANES), _MM_HINT_T0);
            }
        pack_step(&w->packing);
        some_stores(f, &w->stores, w->rows_a_step);
    }
    tiles_fence(); /* all sums before were read: these may take their place */
    _tile_stored(0, sums, LD);
    if (cols > 1) _tile_stored(1, sums + TILE_LANES, LD);
    if (rows > 1) _tile_stored(2, below, LD);
    if (rows > 1 && cols > 1) _tile_stored(3, below + TILE_LANES, LD);
    tiles_fence(); /* sums are read after they were stored */
}

typedef void tiles_fn(int64_t steps, struct a_panel a, const char *B, float *sums, bool fresh,
                      const struct finish *f, struct beside *w);

#define TILES(name, rows, cols, copies)                                                       \
    static void name(int64_t steps, struct a_panel a, const char *B, float *sums, bool fresh, \
                     const struct finish *f, struct beside *w) {                              \
        multiply_tiles(rows, cols, copies, steps, a, B, sums, fresh, f, w);                   \
    }
TILES(tiles_1x1, 1, 1, 1)
TILES(tiles_1x2, 1, 2, 1)
TILES(tiles_2x1, 2, 1, 1)
TILES(tiles_2x2, 2, 2, 1)
TILES(doubled_1x1, 1, 1, 2)
TILES(doubled_1x2, 1, 2, 2)
TILES(doubled_2x1, 2, 1, 2)
TILES(doubled_2x2, 2, 2, 2)

/* By copies of B, tiles of rows and of columns, each less one. */
static tiles_fn *const tiles[2][2][2] = {{{tiles_1x1, tiles_1x2}, {tiles_2x1, tiles_2x2}},
                                         {{doubled_1x1, doubled_1x2}, {doubled_2x1, doubled_2x2}}};

/* ---- blocks ---- */

struct blocks {
    int64_t mc, nc, kc;
    bool a_whole, b_whole; /* packed as a whole before: blocks of it are used several times */
    bool b_near;           /* in level 2 */
};

/* Offsets in bytes: what a team has in common, then what each thread has to itself. */
struct workspace {
    size_t B, own;                        /* after A, packed as wholes */
    size_t own_b, sums, own_bytes, bytes; /* own: blocks of A and of B, sums */
};

static int64_t panels_of(int64_t lanes) { return (lanes + PANEL - 1) / PANEL; }

/* Rows of A may be loaded as tiles from where they lie. */
static bool stays(const struct panel_format *f, const struct args *a) {
    return f == &panels_bf16 && a->layout != LAYOUT_TN;
}

/* Level 1 has two thirds for a panel of A; level 2 three eighths for sums and three sixteenths for
 * each of two blocks of B, the one in use and the one that is fetched. An operand that few rows or
 * columns use waits for DRAM: blocks of a small depth have long runs where k is not contiguous. */
static struct blocks blocks_of(const struct panel_format *f, const struct args *a) {
    enum { FEW = 128, SHALLOW = 4 };
    const struct shape s = a->s;
    const struct caches c = caches();
    const int64_t step = f->k_step, line = (int64_t)TILE_LINE * f->b_copies;
    const bool shallow =
        (s.m <= FEW && a->layout != LAYOUT_NT) || (s.n <= FEW && a->layout == LAYOUT_TN);
    int64_t most = (shallow ? SHALLOW : (int64_t)c.level1 * 2 / 3 / A_STEP) * step;
    if (stays(f, a) && s.n <= 2 * PANEL) /* rows to their ends: B is in level 2 as a whole */
        most = (int64_t)c.level2 * 3 / 8 / (2 * PANEL * TILE_LINE) * step;
    struct blocks b;
    b.kc = s.k <= most + most / 4 ? round_up(s.k, step) : even_block(s.k, most, step);
    const int64_t of_b = (int64_t)c.level2 * 3 / (b.kc < s.k ? 16 : 8);
    b.nc = even_block(s.n, of_b / (b.kc / step * line), PANEL);
    const int64_t of_sums = (int64_t)c.level2 * 3 / 8 / (b.nc * (int64_t)sizeof(float));
    b.mc = even_block(s.m, of_sums, PANEL);
    b.a_whole = s.n > b.nc;
    b.b_whole = s.m > b.mc;
    b.b_near = s.k * s.n * f->bits / 8 <= (int64_t)c.level2 / 2;
    return b;
}

static struct workspace workspace_of(const struct panel_format *f, const struct args *a,
                                     struct blocks b, int threads) {
    const struct shape s = a->s;
    const int64_t line = b.kc / f->k_step * TILE_LINE, k_blocks = (s.k + b.kc - 1) / b.kc;
    const int64_t a_lanes = b.a_whole                ? 0
                            : a->layout == LAYOUT_TN ? b.mc
                                                     : PANEL,
                  b_lanes = b.b_whole ? 0 : b.nc;
    struct workspace w;
    w.B = b.a_whole ? (size_t)(k_blocks * line * panels_of(s.m) * PANEL) : 0;
    w.own =
        w.B + (b.b_whole ? (size_t)(k_blocks * line * f->b_copies * panels_of(s.n) * PANEL) : 0);
    w.own_b = (size_t)(line * a_lanes);
    w.sums = w.own_b + (size_t)(line * f->b_copies * b_lanes);
    w.own_bytes = w.sums + sizeof(float) * (size_t)(s.k > b.kc ? b.mc * b.nc : SUMS);
    w.bytes = w.own + w.own_bytes * (size_t)threads;
    return w;
}

/* One product of a batch. */
struct product {
    const struct panel_format *f;
    struct shape s;
    struct panel_source A, B;
    uint16_t *C;
    struct finish finish;
    struct blocks blocks;
    struct workspace w;
    char *scratch;
    bool direct; /* tiles of A are loaded from where they lie */
};

/* Where rows of A can stay their panel fits into level 1, 64 sets of lines, when they do not fall
 * into the same sets. Those that do, or that cross lines, are worth packing for more than a few
 * panels of B. */
static bool direct_a(const struct product *p, const struct args *a) {
    const int64_t row = 2 * p->s.k, apart = row & -row;
    if (!stays(p->f, a)) return false;
    if (p->s.n <= 2 * PANEL) return true;
    return row % LINE == 0 && smaller(apart, 64 * LINE) <= 2 * p->blocks.kc;
}

static int64_t steps_of(const struct product *p, int64_t kc) {
    return (kc + p->f->k_step - 1) / p->f->k_step;
}

/* Blocks of k one after the other, of each all panels. Where k is contiguous a panel's rows are
 * read to their ends first. */
static void pack_whole(const struct product *p, const struct panel_source *x, panels_fn *pack,
                       int64_t lanes, int64_t step_bytes, struct range mine, char *dst) {
    const int64_t kc = p->blocks.kc, chunk = x->p_step == 1 ? PANEL : mine.end - mine.begin;
    for (int64_t lane = mine.begin; lane < mine.end; lane += chunk)
        for (int64_t q = 0; q < p->s.k; q += kc) {
            const int64_t depth = smaller(kc, p->s.k - q), panel = steps_of(p, depth) * step_bytes;
            char *block = dst + q / kc * steps_of(p, kc) * step_bytes * panels_of(lanes);
            pack(x, lane, smaller(chunk, mine.end - lane), q, depth, block + lane / PANEL * panel);
        }
}

/* Where a block of a whole begins. */
static char *whole_at(const struct product *p, char *whole, int64_t lanes, int64_t step_bytes,
                      int64_t lane, int64_t q) {
    const int64_t kc = p->blocks.kc, depth = smaller(kc, p->s.k - q);
    return whole + q / kc * steps_of(p, kc) * step_bytes * panels_of(lanes) +
           lane / PANEL * steps_of(p, depth) * step_bytes;
}

/* Panels of A times a block of B, p0 <= p < p0 + kc. Stores of the last sums are left to do. */
static void multiply_panels(const struct product *p, struct range rows, struct range cols,
                            int64_t p0, int64_t kc, struct a_panel a, char *B, float *sums,
                            struct beside *w) {
    const int64_t steps = steps_of(p, kc), n = p->s.n, b_step = A_STEP * p->f->b_copies;
    const bool first = p0 == 0, last = p0 + kc >= p->s.k, several = !first || !last;
    w->rows_a_step = (int)((PANEL + steps - 1) / steps);
    for (int64_t i = rows.begin; i < rows.end; i += PANEL) {
        const int height = (int)smaller(PANEL, rows.end - i);
        char *b = B;
        for (int64_t j = cols.begin; j < cols.end; j += PANEL, b += steps * b_step) {
            const int width = (int)smaller(PANEL, cols.end - j);
            const int64_t to_pack = w->packs_b ? smaller(PANEL, cols.end - j - PANEL) : 0;
            if (to_pack > 0)
                w->packing =
                    (struct packing){p->f->pack_b, &p->B,        j + PANEL, to_pack,           p0,
                                     p0 + kc,      p->f->k_step, b_step,    b + steps * b_step};
            w->next_sums = first ? NULL : sums + SUMS;
            tiles[p->f->b_copies - 1][height > TILE_LANES][width > TILE_LANES](
                steps, a, b, sums, first, &p->finish, w);
            if (last) w->stores = (struct stores){sums, p->C + i * n + j, height, width};
            if (several) sums += SUMS;
        }
        w->packs_b = false;
        a.at += a.stride == TILE_LINE ? steps * A_STEP : PANEL * a.stride;
    }
}

/* Where a block of an operand lies, to be fetched. */
static struct ahead block_ahead(const struct product *p, const struct panel_source *x, int64_t lane,
                                int64_t lanes, int64_t q, int64_t steps) {
    const int64_t depth = smaller(p->blocks.kc, p->s.k - q), bits = p->f->bits;
    const bool along_k = x->p_step == 1;
    const char *first =
        (const char *)x->tensor + (x->first + lane * x->lane_step + q * x->p_step) * bits / 8;
    return ahead_of(first, (along_k ? depth : lanes) * bits / 8,
                    (along_k ? x->lane_step : x->p_step) * bits / 8, along_k ? lanes : depth,
                    steps);
}

/* The block of B, packed now where it is not whole; of one that level 2 can have, the first panel,
 * while the others are packed beside the first panel of A. */
static char *block_of_b(const struct product *p, struct range cols, int64_t q, bool again,
                        char *own_b, struct beside *w, int64_t all_steps) {
    const int64_t kc = smaller(p->blocks.kc, p->s.k - q), b_step = A_STEP * p->f->b_copies;
    const int64_t next = q + kc, width = cols.end - cols.begin;
    if (p->blocks.b_whole) {
        char *whole = p->scratch + p->w.B;
        if (next < p->s.k) {
            const int64_t steps = steps_of(p, smaller(kc, p->s.k - next));
            w->b = ahead_of(whole_at(p, whole, p->s.n, b_step, cols.begin, next),
                            panels_of(width) * b_step * steps, 0, 1, all_steps);
        }
        return whole_at(p, whole, p->s.n, b_step, cols.begin, q);
    }
    if (again) return own_b;
    w->packs_b = p->blocks.b_near;
    p->f->pack_b(&p->B, cols.begin, w->packs_b ? smaller(PANEL, width) : width, q, kc, own_b);
    if (next < p->s.k && !w->packs_b)
        w->b = block_ahead(p, &p->B, cols.begin, width, next, all_steps);
    return own_b;
}

/* Where the rows can stay only the end of k within a step is packed. */
static struct a_panel panel_of_a(const struct product *p, struct range rows, int64_t q, int64_t kc,
                                 char *own) {
    const int64_t whole = kc / p->f->k_step * p->f->k_step;
    struct a_panel a = {.at = own, .stride = TILE_LINE, .step = A_STEP};
    if (!p->direct || rows.end - rows.begin != PANEL) {
        p->f->pack_a(&p->A, rows.begin, rows.end - rows.begin, q, kc, own);
        return a;
    }
    a.at = (const char *)p->A.tensor + 2 * (p->A.first + rows.begin * p->s.k + q);
    a.stride = 2 * p->s.k;
    a.step = TILE_LINE;
    if (whole < kc) {
        p->f->pack_a(&p->A, rows.begin, PANEL, q + whole, kc - whole, own);
        a.last = own;
    }
    return a;
}

/* A block of C gains its terms q <= p < q + kc. `again`: of the block of B before. */
static void multiply_depth(const struct product *p, struct range rows, struct range cols, int64_t q,
                           bool again, char *own) {
    const int64_t kc = smaller(p->blocks.kc, p->s.k - q), steps = steps_of(p, kc);
    const int64_t next = q + kc < p->s.k ? q + kc : 0, width = panels_of(cols.end - cols.begin);
    const int64_t all_steps = steps * width * panels_of(rows.end - rows.begin);
    float *sums = (float *)(void *)(own + p->w.sums);
    struct beside w = {0};
    char *B = block_of_b(p, cols, q, again, own + p->w.own_b, &w, all_steps);
    if (p->blocks.a_whole) {
        const struct a_panel a = {.at = whole_at(p, p->scratch, p->s.m, A_STEP, rows.begin, q),
                                  .stride = TILE_LINE,
                                  .step = A_STEP};
        w.a = ahead_of(a.at + steps * A_STEP, all_steps / width * A_STEP, 0, 1, all_steps);
        multiply_panels(p, rows, cols, q, kc, a, B, sums, &w);
        some_stores(&p->finish, &w.stores, PANEL);
        return;
    }
    /* A panel that is used at once is in level 1; runs over several panels are packed together. */
    const int64_t chunk = p->A.p_step == 1 ? PANEL : rows.end - rows.begin;
    for (int64_t i = rows.begin; i < rows.end; i += chunk) {
        const struct range part = {i, smaller(i + chunk, rows.end)};
        const bool more = part.end < rows.end;
        const struct a_panel a = panel_of_a(p, part, q, kc, own);
        if (more || next)
            w.a = block_ahead(p, &p->A, more ? part.end : rows.begin,
                              smaller(chunk, rows.end - (more ? part.end : rows.begin)),
                              more ? q : next, steps * width * panels_of(part.end - i));
        multiply_panels(p, part, cols, q, kc, a, B, sums, &w);
        if (kc < p->s.k) sums += width * panels_of(part.end - i) * SUMS;
    }
    some_stores(&p->finish, &w.stores, PANEL);
}

/* A thread's rectangle of C. */
static void multiply(const struct product *p, struct range rows, struct range cols, char *own) {
    const int64_t k = p->s.k, mc = p->blocks.mc, nc = p->blocks.nc, kc = p->blocks.kc;
    for (int64_t j = cols.begin; j < cols.end; j += nc)
        for (int64_t i = rows.begin; i < rows.end; i += mc)
            for (int64_t q = 0; q < k; q += kc)
                multiply_depth(p, (struct range){i, smaller(i + mc, rows.end)},
                               (struct range){j, smaller(j + nc, cols.end)}, q,
                               i > rows.begin && k <= kc, own);
}

/* ---- products ---- */

/* Waking a team takes about 2 us, in which one core does this much. */
static const double flops_worth_a_team = 8e6;

static int threads_of(const struct args *a) {
    const double flops = 2.0 * (double)a->s.b * (double)a->s.m * (double)a->s.n * (double)a->s.k;
    return flops < flops_worth_a_team ? 1 : a->threads;
}

/* With a product for every thread, each works alone; otherwise all work on one after the other. */
static int team_size(const struct args *a) {
    const int threads = threads_of(a);
    return a->s.b >= threads ? 1 : threads;
}

/* Rows of the grid that threads form over C: the smallest largest share, then the least to read. */
static int grid_rows(struct shape s, int threads) {
    const int64_t tiles_m = panels_of(s.m), tiles_n = panels_of(s.n);
    int64_t least = INT64_MAX, least_read = INT64_MAX;
    int best = 1;
    for (int rows = 1; rows <= threads; rows++) {
        if (threads % rows != 0) continue;
        const int cols = threads / rows;
        const int64_t m = (tiles_m + rows - 1) / rows, n = (tiles_n + cols - 1) / cols;
        if (m * n > least || (m * n == least && m + n >= least_read)) continue;
        least = m * n;
        least_read = m + n;
        best = rows;
    }
    return best;
}

/* What one thread of a team does; all of them call it. A team of one meets no barrier. */
static void multiply_with(const struct product *p, int thread, int threads) {
    const int grid_m = grid_rows(p->s, threads), grid_n = threads / grid_m;
    const struct range rows = slice(p->s.m, PANEL, thread / grid_n, grid_m),
                       cols = slice(p->s.n, PANEL, thread % grid_n, grid_n);
    const bool wholes = p->blocks.a_whole || p->blocks.b_whole;
    if (p->blocks.a_whole)
        pack_whole(p, &p->A, p->f->pack_a, p->s.m, A_STEP, slice(p->s.m, PANEL, thread, threads),
                   p->scratch);
    if (p->blocks.b_whole)
        pack_whole(p, &p->B, p->f->pack_b, p->s.n, (int64_t)A_STEP * p->f->b_copies,
                   slice(p->s.n, PANEL, thread, threads), p->scratch + p->w.B);
    if (wholes && threads > 1) {
#pragma omp barrier /* operands are packed before anyone multiplies them */
    }
    multiply(p, rows, cols, p->scratch + p->w.own + p->w.own_bytes * (size_t)thread);
    if (wholes && threads > 1) {
#pragma omp barrier /* no one multiplies them when the next ones are packed */
    }
}

static double tensor_scales(const struct args *a, const struct product *p) {
    if (p->f != &panels_nvfp4) return 1;
    return (double)nvfp4_tensor_scale(a->buf[0], p->A.elements) *
           (double)nvfp4_tensor_scale(a->buf[1], p->B.elements);
}

/* alpha may leave fp32's range where it is folded with the scales of tensors. */
static struct product product_of(const struct args *a, const struct panel_format *f, int team) {
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k;
    const bool a_transposed = a->layout == LAYOUT_TN, b_transposed = a->layout == LAYOUT_NT;
    struct product p = {
        .f = f,
        .s = a->s,
        .A = {a->buf[0], a->s.b * m * k, 0, a_transposed ? 1 : k, a_transposed ? m : 1},
        .B = {a->buf[1], a->s.b * k * n, 0, b_transposed ? k : 1, b_transposed ? 1 : n},
        .finish = {.beta = (float)a->beta, .ldc = n},
    };
    int exponent = 0; /* what frexp leaves for infinity and NaN is not said */
    const double alpha = a->alpha * tensor_scales(a, &p), fraction = frexp(alpha, &exponent);
    const bool extreme = exponent < -100 || exponent > 100;
    p.finish.factor = (float)(extreme ? fraction : alpha);
    p.finish.exponent = (float)(extreme ? exponent : 0);
    p.finish.store = f == &panels_fp16 ? store_fp16 : store_bf16;
    p.blocks = blocks_of(f, a);
    p.w = workspace_of(f, a, p.blocks, team);
    p.direct = direct_a(&p, a);
    return p;
}

static void multiply_batches(const struct args *a, const struct panel_format *f, int team,
                             int thread, int threads) {
    const struct range batches =
        team == 1 ? slice(a->s.b, 1, thread, threads) : (struct range){0, a->s.b};
    struct product p = product_of(a, f, team);
    p.scratch = (char *)a->scratch + (team == 1 ? p.w.bytes * (size_t)thread : 0);
    tiles_open();
    for (int64_t i = batches.begin; i < batches.end; i++) {
        p.A.first = i * a->s.m * a->s.k;
        p.B.first = i * a->s.k * a->s.n;
        p.C = (uint16_t *)a->buf[2] + i * a->s.m * a->s.n;
        multiply_with(&p, team == 1 ? 0 : thread, team == 1 ? 1 : threads);
    }
    tiles_close();
}

static int product(const struct args *a, const struct panel_format *f) {
    const int threads = threads_of(a), team = team_size(a);
    if (threads == 1) {
        multiply_batches(a, f, team, 0, 1);
        return 0;
    }
#pragma omp parallel num_threads(threads)
    multiply_batches(a, f, team, omp_get_thread_num(), omp_get_num_threads());
    return 0;
}

static size_t scratch(const struct args *a, const struct panel_format *f) {
    const int team = team_size(a);
    return workspace_of(f, a, blocks_of(f, a), team).bytes * (size_t)(threads_of(a) / team);
}

#define PRODUCT(dtype)                                                            \
    static int product_##dtype(const struct args *a) {                            \
        return is_single(a->s) ? single_##dtype(a) : product(a, &panels_##dtype); \
    }                                                                             \
    static size_t scratch_##dtype(const struct args *a) {                         \
        return is_single(a->s) ? single_scratch(a) : scratch(a, &panels_##dtype); \
    }
PRODUCT(fp16)
PRODUCT(bf16)
PRODUCT(fp8_e4m3)
PRODUCT(fp8_e5m2)
PRODUCT(nvfp4)

static const char *refuses(const struct args *a) {
    const char *why = refuses_without_amx_bf16(a);
    if (why) return why;
    return a->s.m == 0 || a->s.n == 0 || a->s.k == 0 ? "nothing to multiply" : NULL;
}

#define ROW(op, dtype) \
    { OP_##op, "packed_amx", DT_##dtype, product_##dtype, refuses, scratch_##dtype }
extern const struct impl matmul_amx[];
const struct impl matmul_amx[] = {
    ROW(matmul, fp16),  ROW(matmul, bf16), ROW(matmul, fp8_e4m3), ROW(matmul, fp8_e5m2),
    ROW(matmul, nvfp4), ROW(bmm, fp16),    ROW(bmm, bf16),        ROW(bmm, fp8_e4m3),
    ROW(bmm, fp8_e5m2), ROW(bmm, nvfp4),   {.run = NULL},
};
