/* packed.c - C[m,n] = alpha A[m,k] B[k,n] + beta C: five loops around a register tile.
 *
 * Blocks of kc along k; of A [mc,kc] in half of level 2, a thread's own; of B [kc,nc]. One panel
 * of B [kc,tile_cols] is walked by all panels of A [tile_rows,kc] of the block. Layouts and
 * narrow dtypes exist in packing alone. Where C is narrower than the accumulator, sums over
 * several blocks of k are kept in fp32, so that C is rounded once.
 *
 * What keeps the tile waiting is what lies around it, so each operand is packed only where that
 * pays (`plan`): B once for all threads, or a panel at a time by the one thread that uses it, or
 * not at all; A block by block, or not at all where a row of it is used by few panels. While a
 * tile computes it fetches C, and a share of the next panel of B.
 * Source of the loops: Van Zee, van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS
 * Functionality", TOMS 41(3), 2015. */
#include "packed.h"

#include "../parallel.h"
#include "caches.h"

#include <math.h>

enum {
    LINE = 64,
    GROUP = 4,                    /* panels packed at a time: longer runs are read faster */
    FETCHED = FETCH_LINES * LINE, /* what tiles fetch in one piece */
    K_GRANULE = 16, /* blocks of k start at scale blocks of nvfp4 and at fetches of bf16 */
};

static int64_t round_up(int64_t x, int64_t granule) {
    return (x + granule - 1) / granule * granule;
}
static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

/* x in equal parts of at most `limit`, rounded up to the granule: no sliver is left for the end. */
static int64_t even_block(int64_t x, int64_t limit, int64_t granule) {
    if (x == 0) return granule;
    limit = limit < granule ? granule : limit / granule * granule;
    const int64_t parts = (x + limit - 1) / limit;
    return round_up((x + parts - 1) / parts, granule);
}

static bool whole_steps(const struct packed *g, int64_t k) {
    return (k & (g->k_per_step - 1)) == 0;
}
static int64_t steps_of(const struct packed *g, int64_t k) {
    return g->k_per_step == 2 ? (k + 1) / 2 : k; /* a division would cost small products much */
}

/* Rows of the grid that the threads form over C: the one with the smallest largest share of tiles,
 * then with the least to pack and to wait for. A thread packs all rows of A that it uses; columns
 * of B as well if they are its own. Those that others pack come from their caches, which takes
 * twice as long as packing. */
static int grid_rows(const struct packed *g, int64_t m, int64_t n, int threads) {
    const int64_t tiles_m = round_up(m, g->tile_rows) / g->tile_rows,
                  tiles_n = round_up(n, g->tile_cols) / g->tile_cols;
    int best = 1;
    int64_t least = INT64_MAX, least_edges = INT64_MAX;
    for (int rows = 1; rows <= threads; rows++) {
        if (threads % rows != 0) continue;
        const int cols = threads / rows;
        const int64_t share = ((tiles_m + rows - 1) / rows) * ((tiles_n + cols - 1) / cols);
        const int64_t edges = m / rows + (rows == 1 ? n / cols : n / threads + 2 * n / cols);
        if (share < least || (share == least && edges <= least_edges)) {
            least = share;
            least_edges = edges;
            best = rows;
        }
    }
    return best;
}

/* ---- the plan: who works on what, from where ---- */

enum place {
    IN_PLACE, /* tiles read the matrix; ragged panels are packed by the thread that uses them */
    OWN,      /* packed by the thread that uses it: A by blocks, B by panels */
    SHARED,   /* B packed once for the team */
};

struct plan {
    int threads, grid_m, grid_n;
    int64_t mc, nc, kc;
    enum place a, b;
    int64_t own_cols; /* of the shared block of B: a thread's own part, where none uses another's */
    int64_t shared_cols; /* of the block, with room for every thread's own part */
    bool fetch_a;        /* it lies beyond level 2 */
    bool hints;          /* into level 1 */
    bool row_by_row;     /* a panel of A meets all of B before the next one */
    bool plain;          /* by one thread, nothing packed, one block: `multiply_plain` */
    /* Workspace, in bytes: the shared block of B, fp32 sums [m,shared_cols], then each thread's own:
     * a block of A, a group of panels of B, a tile. */
    size_t sums, own, own_b, own_tile, own_bytes, bytes;
};

static size_t in_lines(int64_t bytes) { return (size_t)round_up(bytes, LINE); }

/* Tiles can read lanes where they lie: adjacent lanes, or lanes that are each contiguous along k,
 * over whole steps. */
static bool readable(const struct packed *g, bool adjacent) {
    return g->element_bytes * (size_t)g->k_per_step == g->lane_bytes &&
           (g->k_per_step == 1 || !adjacent);
}

/* Waking a thread costs about a microsecond: not for less work than some of them. */
static int team_for(struct shape s, int threads) {
    const double worth_a_thread = 1e6, flops = 2.0 * (double)s.m * (double)s.n * (double)s.k;
    const double most = flops / worth_a_thread;
    return most < 2 ? 1 : most < threads ? (int)most : threads;
}

/* Of blocks with mc kc lanes of A in half of level 2, those with kc = 2 mc move the least: C
 * passes by k / kc times, read and written, and B m / mc times. Those with kc = 8 mc are faster by
 * 1 to 3 %: a tile waits for C, B is fetched meanwhile. */
static struct plan plan_of(const struct packed *g, struct shape s, enum layout layout,
                           int threads) {
    const struct caches c = caches();
    const int64_t lane = (int64_t)g->lane_bytes, level2 = (int64_t)c.level2;
    struct plan p = {
        .threads = threads, .grid_m = grid_rows(g, s.m, s.n, threads), .hints = c.hints};
    p.grid_n = threads / p.grid_m;
    const int64_t panels = (s.n + g->tile_cols - 1) / g->tile_cols;
    const bool few_panels = panels <= 4;
    p.kc = even_block(s.k, 2 * (int64_t)sqrt((double)level2 / (double)lane) * g->k_per_step,
                      K_GRANULE);
    const int64_t k_bytes = steps_of(g, p.kc) * lane, rows = (s.m + p.grid_m - 1) / p.grid_m;
    p.mc = even_block(rows, level2 / 2 / k_bytes, g->tile_rows);

    const bool b_lanes_adjacent = layout != LAYOUT_NT, a_lanes_adjacent = layout == LAYOUT_TN;
    const bool b_small = s.k * s.n * lane <= level2 / 2;
    p.b = b_lanes_adjacent && b_small && readable(g, true) ? IN_PLACE
          : p.grid_m == 1 && rows <= p.mc                  ? OWN
                                                           : SHARED;
    /* Rows of A 4 KiB apart share the sets of a level-1 cache. */
    p.fetch_a = s.m * s.k * lane > level2 / 2;
    const bool rows_near = s.k <= p.kc && s.k * lane < 4096;
    const bool a_in_place =
        a_lanes_adjacent ? s.m * s.k * lane <= level2 / 8 : few_panels || rows_near;
    p.a = a_in_place && readable(g, a_lanes_adjacent) ? IN_PLACE : OWN;
    p.row_by_row = few_panels && p.a == IN_PLACE && p.b != OWN;
    p.nc = p.b == SHARED ? even_block(s.n, (int64_t)c.last / 4 / k_bytes, g->tile_cols)
                         : round_up(s.n, g->tile_cols);

    const int64_t last_rows = s.m % g->tile_rows;
    p.plain = threads == 1 && p.a == IN_PLACE && p.b == IN_PLACE && !p.fetch_a && s.k <= p.kc &&
              s.n % g->lanes == 0 && (last_rows == 0 || (g->heights >> last_rows & 1));

    const bool several_blocks = g->finish && p.kc < s.k;
    if (p.b == SHARED && p.grid_m == 1)
        p.own_cols = (p.nc / g->tile_cols + threads - 1) / threads * g->tile_cols;
    p.shared_cols = p.own_cols > 0 ? p.own_cols * threads : p.nc;
    p.sums = p.b == SHARED ? in_lines(p.shared_cols * k_bytes) : 0;
    p.own = p.sums + (several_blocks ? in_lines(s.m * p.shared_cols * (int64_t)sizeof(float)) : 0);
    p.own_b = in_lines((p.a == OWN ? p.mc : g->tile_rows) * k_bytes);
    p.own_tile = p.own_b + in_lines(p.b == SHARED ? 0 : GROUP * g->tile_cols * k_bytes);
    p.own_bytes = p.own_tile + in_lines((int64_t)sizeof(float) * g->tile_rows * g->tile_cols);
    p.bytes = p.own + p.own_bytes * (size_t)threads;
    return p;
}

/* The plan of the thread's last product: a small one takes no longer than its plan. */
static const struct plan *plan_for(const struct packed *g, struct shape s, enum layout layout,
                                   int threads) {
    static _Thread_local struct {
        const struct packed *g;
        struct shape s;
        enum layout layout;
        struct plan plan;
    } last;
    const bool same = last.g == g && last.layout == layout && last.plan.threads == threads &&
                      last.s.m == s.m && last.s.n == s.n && last.s.k == s.k;
    if (!same) {
        last.plan = plan_of(g, s, layout, threads);
        last.g = g;
        last.s = s;
        last.layout = layout;
    }
    return &last.plan;
}

/* One product of a batch. */
struct product {
    const struct packed *g;
    const struct args *a;
    const struct plan *plan;
    struct panel_source A, B;
    char *C, *scratch;
};

static struct product product_of(const struct packed *g, const struct args *a, int64_t batch,
                                 const struct plan *plan, char *scratch) {
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k;
    const bool a_transposed = a->layout == LAYOUT_TN, b_transposed = a->layout == LAYOUT_NT;
    return (struct product){
        .g = g,
        .a = a,
        .plan = plan,
        .A = {a->buf[0], a->s.b * m * k, batch * m * k, a_transposed ? 1 : k, a_transposed ? m : 1},
        .B = {a->buf[1], a->s.b * k * n, batch * k * n, b_transposed ? k : 1, b_transposed ? 1 : n},
        .C = (char *)a->buf[2] + (size_t)(batch * m * n) * g->c_bytes,
        .scratch = scratch,
    };
}

/* ---- panels ---- */

static const char *address(const struct packed *g, const struct panel_source *x, int64_t lane,
                           int64_t p) {
    const int64_t index = x->first + lane * x->lane_step + p * x->p_step;
    return (const char *)x->tensor + index * (int64_t)g->element_bytes;
}

static struct panel panel_in_place(const struct packed *g, const struct panel_source *x,
                                   int64_t lane, int64_t p) {
    const int64_t lane_step = x->lane_step * (int64_t)g->element_bytes;
    return x->p_step == 1 ? (struct panel){address(g, x, lane, p), 1, lane_step}
                          : (struct panel){address(g, x, lane, p), x->p_step, lane_step};
}

static void pack_panels(const struct packed *g, const struct panel_source *x, struct range lanes,
                        int64_t end, int width, int64_t p0, int64_t kc, char *dst) {
    const int64_t lane_bytes = steps_of(g, kc) * (int64_t)g->lane_bytes;
    for (int64_t lane = lanes.begin; lane < lanes.end; lane += GROUP * width)
        g->pack(x, lane, (int)smaller(smaller(GROUP * width, lanes.end - lane), end - lane), width,
                p0, kc, dst + (lane - lanes.begin) * lane_bytes);
}

/* A block of C by one thread: the rows and columns it has at hand and p0 <= p < p0 + kc. */
struct block {
    struct range rows, cols;
    int64_t p0, kc;
    bool pack_shared; /* the shared block of B is packed on the way, by the only thread */
    char *B;          /* shared block, or the thread's part of it, from its column j_packed on */
    float *sums;      /* the same columns of the sums */
    int64_t j_packed;
    char *own_a, *own_b;     /* packed block or ragged panel of A; packed panel of B */
    int64_t held_j, held_p0; /* first column and p of B that own_b has */
    float *own_tile;
};

static bool a_in_place(const struct product *p, const struct block *b, int64_t i) {
    const int64_t height = smaller(p->g->tile_rows, b->rows.end - i);
    return p->plan->a == IN_PLACE && (p->g->heights >> height & 1);
}

/* Packs the panel, and the rest of its group, where it has to be and where the block meets it for
 * the first time. */
static struct panel panel_of_a(const struct product *p, const struct block *b, int64_t i,
                               bool first) {
    const struct packed *g = p->g;
    if (a_in_place(p, b, i)) return panel_in_place(g, &p->A, i, b->p0);
    const int64_t before = p->plan->a == IN_PLACE ? 0 : i - b->rows.begin, left = b->rows.end - i;
    char *at = b->own_a + before * steps_of(g, b->kc) * (int64_t)g->lane_bytes;
    /* Rows contiguous along k: a panel at a time, whose rows the tile before has fetched. */
    const int64_t group = p->A.p_step == 1 ? 1 : GROUP;
    if (first && before / g->tile_rows % group == 0)
        g->pack(&p->A, i, (int)smaller(group * g->tile_rows, left), g->tile_rows, b->p0, b->kc, at);
    return (struct panel){at, g->tile_rows, (int64_t)g->lane_bytes};
}

/* Whether the first tile of every whole panel reads B in the matrix and packs it: its stores take none of the FMAs'
 * ports, where a pass of its own took a tenth of the time of 64 rows. */
static bool tiles_pack(const struct product *p, const struct block *b) {
    const struct packed *g = p->g;
    return (p->plan->b == OWN || (p->plan->b == SHARED && b->pack_shared)) && p->B.lane_step == 1 &&
           readable(g, false) && b->rows.end - b->rows.begin >= g->tile_rows;
}

/* *first: the panel for the first tile of it, which leaves it packed at *packed, or NULL. */
static struct panel panel_of_b(const struct product *p, struct block *b, int64_t j,
                               struct panel *first, void **packed) {
    const struct packed *g = p->g;
    const int64_t left = b->cols.end - j, lane_bytes = steps_of(g, b->kc) * (int64_t)g->lane_bytes;
    const bool by_tiles = tiles_pack(p, b), whole = left >= g->tile_cols;
    *packed = NULL;
    if (p->plan->b == IN_PLACE && (whole || left % g->lanes == 0))
        return *first = panel_in_place(g, &p->B, j, b->p0);
    const bool alone = p->plan->b == IN_PLACE || by_tiles;
    const int64_t in_group = alone ? 0 : (j - b->cols.begin) / g->tile_cols % GROUP * g->tile_cols;
    char *at = p->plan->b == SHARED ? b->B + (j - b->j_packed) * lane_bytes
                                    : b->own_b + in_group * lane_bytes;
    const struct panel panel = {at, g->tile_cols, (int64_t)g->lane_bytes};
    if (by_tiles && whole) {
        *first = panel_in_place(g, &p->B, j, b->p0);
        *packed = at;
        return panel;
    }
    const bool held = b->held_j == j - in_group && b->held_p0 == b->p0;
    if (in_group == 0 && (p->plan->b == SHARED ? b->pack_shared : !held)) {
        g->pack(&p->B, j, (int)smaller((alone ? 1 : GROUP) * g->tile_cols, left), g->tile_cols,
                b->p0, b->kc, at);
        b->held_j = j;
        b->held_p0 = b->p0;
    }
    return *first = panel;
}

/* The share that one of `tiles` tiles takes in fetching a panel of B to come: the next one where
 * it is packed; one of the next group where it lies in the matrix, of which longer runs are
 * fetched faster. */
static struct panel_ahead ahead_of(const struct product *p, const struct block *b, int64_t j,
                                   int64_t tile, int64_t tiles) {
    const struct packed *g = p->g;
    const int64_t width = g->tile_cols, bytes = (int64_t)g->element_bytes, done = j - b->cols.begin;
    if (p->plan->b == IN_PLACE || b->cols.end - j < 2 * width) return (struct panel_ahead){0};
    if (p->plan->b == SHARED && !b->pack_shared) {
        const int64_t lane = steps_of(g, b->kc) * (int64_t)g->lane_bytes,
                      fetches = lane * width / FETCHED, from = fetches * tile / tiles;
        return (struct panel_ahead){b->B + (j + width - b->j_packed) * lane + from * FETCHED,
                                    FETCHED, fetches * (tile + 1) / tiles - from, INT64_MAX, 0};
    }
    const int64_t in_group = done / width % GROUP, first = j + (GROUP - in_group) * width;
    const int64_t panels = smaller(GROUP, (b->cols.end - first) / width);
    if (bytes == 0 || panels <= 0) return (struct panel_ahead){0};
    /* The group as runs of lines: its rows, or where B is stored along k its columns. */
    const bool by_rows = p->B.lane_step == 1;
    const int64_t runs = by_rows ? b->kc : panels * width,
                  run = (by_rows ? panels * width : b->kc) * bytes / FETCHED,
                  step = (by_rows ? p->B.p_step : p->B.lane_step) * bytes;
    const int64_t part = in_group * tiles + tile, parts = GROUP * tiles, from = runs * part / parts,
                  to = runs * (part + 1) / parts;
    if (run == 0) return (struct panel_ahead){0};
    return (struct panel_ahead){by_rows ? address(g, &p->B, first, b->p0 + from)
                                        : address(g, &p->B, first + from, b->p0),
                                FETCHED, (to - from) * run, run, step - run * FETCHED};
}

/* ---- the loops ---- */

/* Rows i.. and columns j.. of C, one tile, gain the block's terms. */
static void one_tile(const struct product *p, struct block *b, int64_t i, int64_t j, struct panel B,
                     void *packed_b, struct panel_ahead ahead) {
    const struct packed *g = p->g;
    const int64_t n = p->a->s.n, next = i + g->tile_rows;
    const bool first = b->p0 == 0, last = b->p0 + b->kc >= p->a->s.k,
               first_use = j == b->cols.begin;
    char *C = p->C + (size_t)(i * n + j) * g->c_bytes;
    const bool half_step = (packed_b || a_in_place(p, b, i)) && !whole_steps(g, b->kc);
    struct tile_job t = {
        .steps = steps_of(g, b->kc) - half_step,
        .half_step = half_step,
        .A = panel_of_a(p, b, i, first_use),
        .B = B,
        .C = C,
        .c_bytes = g->c_bytes,
        .ldc = n,
        .rows = (int)smaller(g->tile_rows, b->rows.end - i),
        .cols = (int)smaller(g->tile_cols, b->cols.end - j),
        .alpha = p->a->alpha,
        .beta = first ? p->a->beta : 1,
        .ahead = ahead,
        .packed_b = packed_b,
        .hints = p->plan->hints,
    };
    if (p->plan->fetch_a && first_use && g->element_bytes > 0 && p->A.p_step == 1 &&
        next + g->tile_rows <= b->rows.end)
        t.rows_ahead = (struct rows_ahead){address(g, &p->A, next, b->p0),
                                           p->A.lane_step * (int64_t)g->element_bytes};
    if (!g->finish || (g->narrows && first && last)) {
        g->tile(&t);
        return;
    }
    float *sums = b->own_tile;
    t.ldc = g->tile_cols;
    if (!first || !last) {
        t.ldc = p->plan->shared_cols;
        sums = b->sums + i * t.ldc + (j - b->j_packed);
    }
    t.C = sums;
    t.c_bytes = sizeof(float);
    t.alpha = 1;
    t.beta = first ? 0 : 1;
    g->tile(&t);
    if (last) g->finish(sums, t.ldc, C, n, t.rows, t.cols, p->a->alpha, p->a->beta);
}

/* A panel of B stays in level 1 or 2, panels of A pass by. */
static void panel_by_panel(const struct product *p, struct block *b) {
    const int height = p->g->tile_rows;
    const int64_t tiles = (b->rows.end - b->rows.begin + height - 1) / height;
    for (int64_t j = b->cols.begin; j < b->cols.end; j += p->g->tile_cols) {
        struct panel first;
        void *packed;
        const struct panel B = panel_of_b(p, b, j, &first, &packed);
        for (int64_t tile = 0; tile < tiles; tile++)
            one_tile(p, b, b->rows.begin + tile * height, j, tile == 0 ? first : B,
                     tile == 0 ? packed : NULL, ahead_of(p, b, j, tile, tiles));
    }
}

/* B is a few panels: a panel of A is read once from afar. */
static void row_by_row(const struct product *p, struct block *b) {
    for (int64_t i = b->rows.begin; i < b->rows.end; i += p->g->tile_rows) {
        for (int64_t j = b->cols.begin; j < b->cols.end; j += p->g->tile_cols) {
            struct panel first;
            void *packed;
            panel_of_b(p, b, j, &first, &packed);
            one_tile(p, b, i, j, first, packed, (struct panel_ahead){0});
        }
        b->pack_shared = false;
    }
}

/* What one of `tiles` tiles fetches of the next product of a batch, which follows in memory. */
static struct panel_ahead next_of_batch(const char *A, int64_t a_bytes, const char *B,
                                        int64_t b_bytes, int64_t tile, int64_t tiles) {
    const int64_t of_a = a_bytes / FETCHED, pieces = of_a + b_bytes / FETCHED,
                  from = pieces * tile / tiles, to = pieces * (tile + 1) / tiles;
    const char *at =
        from < of_a ? A + a_bytes + from * FETCHED : B + b_bytes + (from - of_a) * FETCHED;
    return (struct panel_ahead){at, FETCHED, (from < of_a ? smaller(to, of_a) : to) - from,
                                INT64_MAX, 0};
}

/* The same without what only larger products need, which takes longer than the smallest ones. */
static inline __attribute__((always_inline)) void
multiply_here(const struct packed *g, const struct args *a, const struct plan *plan, const char *A,
              const char *B, char *C, const bool fetch_next) {
    const bool a_transposed = a->layout == LAYOUT_TN, by_rows = plan->row_by_row;
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k, rows = g->tile_rows, cols = g->tile_cols,
                  bytes = (int64_t)g->element_bytes, a_lane = a_transposed ? 1 : k;
    const int64_t tiles = fetch_next ? (m + rows - 1) / rows * ((n + cols - 1) / cols) : 0;
    struct tile_job t = {
        .steps = k,
        .A = {.step = a_transposed ? m : 1, .lane = a_lane * bytes},
        .B = {.step = n, .lane = bytes},
        .c_bytes = g->c_bytes,
        .ldc = n,
        .alpha = a->alpha,
        .beta = a->beta,
        .hints = plan->hints,
    };
    for (int64_t i = 0, j = 0, tile = 0; i < m && j < n; tile++) {
        t.A.at = A + i * a_lane * bytes;
        t.B.at = B + j * bytes;
        t.C = C + (i * n + j) * bytes;
        t.rows = (int)smaller(rows, m - i);
        t.cols = (int)smaller(cols, n - j);
        if (fetch_next) t.ahead = next_of_batch(A, m * k * bytes, B, k * n * bytes, tile, tiles);
        g->tile(&t);
        if (by_rows) {
            j += cols;
            if (j >= n) j = 0, i += rows;
        } else {
            i += rows;
            if (i >= m) i = 0, j += cols;
        }
    }
}

static void multiply_plain(const struct packed *g, const struct args *a, const struct plan *plan) {
    multiply_here(g, a, plan, a->buf[0], a->buf[1], a->buf[2], false);
}

static __attribute__((noinline)) void multiply_plain_batches(const struct packed *g,
                                                             const struct args *a,
                                                             const struct plan *plan,
                                                             struct range batches) {
    enum { WORTH_FETCHING = 64 << 10 }; /* A and B; smaller ones are as fast without */
    const int64_t bytes = (int64_t)g->element_bytes, a_bytes = a->s.m * a->s.k * bytes,
                  b_bytes = a->s.k * a->s.n * bytes, c_bytes = a->s.m * a->s.n * bytes;
    const char *A = a->buf[0], *B = a->buf[1];
    char *C = a->buf[2];
    for (int64_t i = batches.begin; i < batches.end; i++) {
        const bool fetch_next = i + 1 < batches.end && a_bytes + b_bytes >= WORTH_FETCHING;
        multiply_here(g, a, plan, A + i * a_bytes, B + i * b_bytes, C + i * c_bytes, fetch_next);
    }
}

/* What one thread of the team does; all of them call it. A team of one meets no barrier. */
static void multiply(const struct product *p, int thread) {
    const struct packed *g = p->g;
    const struct plan *plan = p->plan;
    const int64_t m = p->a->s.m, n = p->a->s.n, k = p->a->s.k;
    const struct range rows = slice(m, g->tile_rows, thread / plan->grid_n, plan->grid_m);
    const bool share = plan->b == SHARED, team = plan->threads > 1,
               wait = team && share && plan->own_cols == 0;
    char *own = p->scratch + plan->own + plan->own_bytes * (size_t)thread;
    struct block b = {
        .held_j = -1,
        .B = p->scratch,
        .sums = (float *)(void *)(p->scratch + plan->sums),
        .own_a = own,
        .own_b = own + plan->own_b,
        .own_tile = (float *)(void *)(own + plan->own_tile),
    };

    /* Threads that wait for no one may be blocks apart: their parts lie where they always lie. */
    const int64_t own_bytes = plan->own_cols * steps_of(g, plan->kc) * (int64_t)g->lane_bytes;
    b.B += thread * own_bytes;
    b.sums += thread * plan->own_cols;
    for (int64_t jc = 0; jc < n; jc += plan->nc) {
        const int64_t nc = smaller(plan->nc, n - jc);
        const struct range mine = slice(nc, g->tile_cols, thread, plan->threads);
        const struct range part = slice(nc, g->tile_cols, thread % plan->grid_n, plan->grid_n);
        b.j_packed = jc + (plan->own_cols > 0 ? mine.begin : 0);
        b.cols = (struct range){jc + part.begin, jc + part.end};
        b.p0 = 0;
        do { /* k = 0: C = beta C */
            b.kc = smaller(plan->kc, k - b.p0);
            const int64_t lane = steps_of(g, b.kc) * (int64_t)g->lane_bytes;
            b.pack_shared = share && !wait;
            if (wait)
                pack_panels(g, &p->B, (struct range){jc + mine.begin, jc + mine.end}, jc + nc,
                            g->tile_cols, b.p0, b.kc, b.B + (jc + mine.begin - b.j_packed) * lane);
            if (wait) {
#pragma omp barrier /* the block of B is whole before anyone multiplies by it */
            }
            for (int64_t ic = rows.begin; ic < rows.end; ic += plan->mc) {
                b.rows = (struct range){ic, smaller(ic + plan->mc, rows.end)};
                if (plan->row_by_row)
                    row_by_row(p, &b);
                else
                    panel_by_panel(p, &b);
                b.pack_shared = false;
            }
            if (wait) {
#pragma omp barrier /* no one multiplies by the block of B when it is overwritten */
            }
            b.p0 += b.kc;
        } while (b.p0 < k);
    }
}

/* ---- one row or one column ---- */

/* The row of matvec that does it, with its arguments; NULL: none. A row of C is B transposed
 * times a row of A, a column A times a column of B; nothing is packed. */
static const struct impl *matvec_of(const struct packed *g, const struct args *a, struct args *v) {
    const bool row = a->s.m == 1;
    if (!g->matvec || a->s.b != 1 || (!row && a->s.n != 1)) return NULL;
    if (a->alpha != 1 || a->beta != 0) return NULL;
    const bool transposed = row ? a->layout != LAYOUT_NT : a->layout == LAYOUT_TN;
    *v = (struct args){
        .s = {1, row ? a->s.n : a->s.m, a->s.k, 1},
        .layout = transposed ? LAYOUT_T : LAYOUT_N,
        .alpha = 1,
        .threads = a->threads,
        .buf = {a->buf[row ? 1 : 0], a->buf[row ? 0 : 1], a->buf[2]},
        .scratch = a->scratch,
    };
    for (const struct impl *const *table = g->matvec; *table; table++)
        for (const struct impl *impl = *table; impl->run; impl++)
            if (impl->dtype == g->dtype && !(impl->refuses && impl->refuses(v))) return impl;
    return NULL;
}

/* ---- all of a batch ---- */

/* With a product for every thread, each works alone; otherwise all work on one after the other. */
static int team_size(const struct args *a) {
    return a->s.b >= a->threads ? 1 : team_for(a->s, a->threads);
}
static int teams(const struct args *a, int team) {
    return team > 1 ? 1 : (int)smaller(a->threads, a->s.b);
}

/* Enough for one team of all and, should the system give fewer threads, for one thread. */
size_t packed_scratch(const struct packed *g, const struct args *a) {
    const int team = team_size(a);
    struct args v;
    const struct impl *matvec = matvec_of(g, a, &v);
    if (matvec) return matvec->scratch_bytes ? matvec->scratch_bytes(&v) : 0;
    const size_t alone = plan_of(g, a->s, a->layout, 1).bytes,
                 together = plan_of(g, a->s, a->layout, team).bytes;
    return (alone > together ? alone : together) * (size_t)teams(a, team);
}

static void multiply_batches(const struct packed *g, const struct args *a, const struct plan *plan,
                             struct range batches, int thread, char *scratch) {
    if (plan->plain) {
        multiply_plain_batches(g, a, plan, batches);
        return;
    }
    for (int64_t i = batches.begin; i < batches.end; i++) {
        const struct product p = product_of(g, a, i, plan, scratch);
        multiply(&p, thread);
    }
}

int packed_product(const struct packed *g, const struct args *a) {
    const int team = team_size(a), workers = teams(a, team);
    struct args v;
    const struct impl *matvec = matvec_of(g, a, &v);
    if (matvec) return matvec->run(&v);
    if (a->s.b == 0 || a->s.m == 0 || a->s.n == 0) return 0;
    const struct range all = {0, a->s.b};
    const struct plan *last = plan_for(g, a->s, a->layout, team);
    if (last->plain && a->s.b == 1) {
        multiply_plain(g, a, last);
        return 0;
    }
    const struct plan plan = *last; /* for all threads */
    if (team == 1 && workers == 1) {
        multiply_batches(g, a, &plan, all, 0, a->scratch);
        return 0;
    }
#pragma omp parallel num_threads(team *workers)
    {
        const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        if (team == 1) {
            char *scratch = (char *)a->scratch + plan.bytes * (size_t)thread;
            multiply_batches(g, a, &plan, slice(a->s.b, 1, thread, threads), 0, scratch);
        } else if (threads == team) {
            multiply_batches(g, a, &plan, all, thread, a->scratch);
        } else if (thread == 0) {
            const struct plan alone = plan_of(g, a->s, a->layout, 1);
            multiply_batches(g, a, &alone, all, 0, a->scratch);
        }
    }
    return 0;
}
