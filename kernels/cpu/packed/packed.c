/* packed.c - C[m,n] = alpha A[m,k] B[k,n] + beta C: five loops around a register tile.
 *
 * A block of B [kc,nc] is packed once and shared by all threads (last-level cache), a block of A
 * [mc,kc] is a thread's own (level 2); of the packed panels one of B [kc,tile_cols] is walked by
 * many of A [kc,tile_rows]. Layouts and narrow dtypes exist in packing alone. Where C is
 * narrower than the accumulator, sums over several blocks of k are kept in fp32, so that C is
 * rounded once.
 * Source: Van Zee, van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS
 * Functionality", TOMS 41(3), 2015. */
#include "packed.h"

#include "../parallel.h"
#include "caches.h"

enum {
    LINE = 64,
    K_GRANULE = 16, /* blocks of k start at scale blocks of nvfp4 and at pairs of bf16 */
};

struct blocks {
    int64_t mc, nc, kc;
};

/* Where a team of threads works; offsets in bytes. */
struct workspace {
    size_t sums, own; /* after the shared block of B: fp32 sums [m,nc], then each thread's own */
    size_t own_tile;  /* within a thread's own: after its block of A */
    size_t own_bytes, bytes;
};

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

static int64_t steps_of(const struct packed *g, int64_t k) {
    return (k + g->k_per_step - 1) / g->k_per_step;
}

/* Rows and columns of the grid that the threads form over C: the one with the smallest largest
 * share, then the one with more rows, as threads of one grid row pack the same rows of A. */
static int grid_rows(const struct packed *g, int64_t m, int64_t n, int threads) {
    const int64_t tiles_m = round_up(m, g->tile_rows) / g->tile_rows,
                  tiles_n = round_up(n, g->tile_cols) / g->tile_cols;
    int best = 1;
    int64_t least = INT64_MAX;
    for (int rows = 1; rows <= threads; rows++) {
        if (threads % rows != 0) continue;
        const int cols = threads / rows;
        const int64_t share = ((tiles_m + rows - 1) / rows) * ((tiles_n + cols - 1) / cols);
        if (share <= least) {
            least = share;
            best = rows;
        }
    }
    return best;
}

/* A panel of B takes a level-1 cache: it is read from level 2 then, at a fraction of what that
 * can deliver, and C is updated more rarely. Half of level 2 for A, a quarter of the last level
 * for B leave room for what streams by. */
static struct blocks blocks_of(const struct packed *g, struct shape s, int threads) {
    const struct caches c = caches();
    const int64_t step_bytes = (int64_t)g->lane_bytes * g->tile_cols;
    const int64_t kc = even_block(s.k, (int64_t)c.level1 / step_bytes * g->k_per_step, K_GRANULE);
    const int64_t k_bytes = steps_of(g, kc) * (int64_t)g->lane_bytes;
    const int64_t rows =
        (s.m + grid_rows(g, s.m, s.n, threads) - 1) / grid_rows(g, s.m, s.n, threads);
    return (struct blocks){
        .kc = kc,
        .mc = even_block(rows, (int64_t)c.level2 / 2 / k_bytes, g->tile_rows),
        .nc = even_block(s.n, (int64_t)c.last / 4 / k_bytes, g->tile_cols),
    };
}

static struct workspace workspace_of(const struct packed *g, struct shape s, struct blocks b,
                                     int threads) {
    const int64_t lane = steps_of(g, b.kc) * (int64_t)g->lane_bytes;
    const bool several_blocks = g->finish && s.k > b.kc;
    struct workspace w;
    w.sums = (size_t)round_up(b.nc * lane, LINE);
    w.own =
        w.sums + (several_blocks ? (size_t)round_up(s.m * b.nc * (int64_t)sizeof(float), LINE) : 0);
    w.own_tile = (size_t)round_up(b.mc * lane, LINE);
    w.own_bytes =
        w.own_tile + (size_t)round_up((int64_t)sizeof(float) * g->tile_rows * g->tile_cols, LINE);
    w.bytes = w.own + w.own_bytes * (size_t)threads;
    return w;
}

/* One product of a batch. */
struct product {
    const struct packed *g;
    const struct args *a;
    struct panel_source A, B;
    char *C;
    struct blocks blocks;
    struct workspace w;
    char *scratch;
};

static struct product product_of(const struct packed *g, const struct args *a, int64_t batch,
                                 struct blocks blocks, struct workspace w, char *scratch) {
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k;
    const bool a_transposed = a->layout == LAYOUT_TN, b_transposed = a->layout == LAYOUT_NT;
    return (struct product){
        .g = g,
        .a = a,
        .A = {a->buf[0], a->s.b * m * k, batch * m * k, a_transposed ? 1 : k, a_transposed ? m : 1},
        .B = {a->buf[1], a->s.b * k * n, batch * k * n, b_transposed ? k : 1, b_transposed ? 1 : n},
        .C = (char *)a->buf[2] + (size_t)(batch * m * n) * g->c_bytes,
        .blocks = blocks,
        .w = w,
        .scratch = scratch,
    };
}

static void pack_panels(const struct packed *g, const struct panel_source *x, struct range lanes,
                        int64_t end, int width, int64_t p0, int64_t kc, char *dst) {
    const size_t panel_bytes = (size_t)(steps_of(g, kc) * width) * g->lane_bytes;
    for (int64_t lane = lanes.begin; lane < lanes.end; lane += width, dst += panel_bytes)
        g->pack(x, lane, (int)smaller(width, end - lane), width, p0, kc, dst);
}

/* Block (i0, j0) of C gains its terms p0 <= p < p0 + kc. A and B: packed; j_block: first column
 * of B's block. */
static void multiply_block(const struct product *p, struct range rows, struct range cols,
                           int64_t j_block, int64_t p0, int64_t kc, const char *A, const char *B,
                           char *own_tile) {
    const struct packed *g = p->g;
    const int64_t n = p->a->s.n, steps = steps_of(g, kc);
    const size_t a_panel = (size_t)(steps * g->tile_rows) * g->lane_bytes;
    const size_t b_lane = (size_t)steps * g->lane_bytes;
    const bool first = p0 == 0, last = p0 + kc >= p->a->s.k;
    for (int64_t j = cols.begin; j < cols.end; j += g->tile_cols) {
        const int width = (int)smaller(g->tile_cols, cols.end - j);
        const char *a_at = A, *b_at = B + (size_t)(j - j_block) * b_lane;
        for (int64_t i = rows.begin; i < rows.end; i += g->tile_rows, a_at += a_panel) {
            const int height = (int)smaller(g->tile_rows, rows.end - i);
            char *C = p->C + (size_t)(i * n + j) * g->c_bytes;
            if (!g->finish) {
                g->tile(steps, a_at, b_at, C, n, height, width, p->a->alpha,
                        first ? p->a->beta : 1);
                continue;
            }
            float *sums = (float *)(void *)own_tile;
            int64_t ld = g->tile_cols;
            if (!first || !last) {
                ld = p->blocks.nc;
                sums = (float *)(void *)(p->scratch + p->w.sums) + i * ld + (j - j_block);
            }
            g->tile(steps, a_at, b_at, sums, ld, height, width, 1, first ? 0 : 1);
            if (last) g->finish(sums, ld, C, n, height, width, p->a->alpha, p->a->beta);
        }
    }
}

/* What one thread of the team does; all of them call it. A team of one meets no barrier. */
static void multiply(const struct product *p, int thread, int threads) {
    const struct packed *g = p->g;
    const int64_t m = p->a->s.m, n = p->a->s.n, k = p->a->s.k;
    const int grid_m = grid_rows(g, m, n, threads), grid_n = threads / grid_m;
    const struct range my_rows = slice(m, g->tile_rows, thread / grid_n, grid_m);
    char *B = p->scratch, *A = p->scratch + p->w.own + p->w.own_bytes * (size_t)thread;

    for (int64_t jc = 0; jc < n; jc += p->blocks.nc) {
        const int64_t nc = smaller(p->blocks.nc, n - jc);
        const struct range mine = slice(nc, g->tile_cols, thread, threads);
        const struct range part = slice(nc, g->tile_cols, thread % grid_n, grid_n);
        const struct range my_cols = {jc + part.begin, jc + part.end};
        for (int64_t pc = 0; pc < k; pc += p->blocks.kc) {
            const int64_t kc = smaller(p->blocks.kc, k - pc);
            const size_t lane = (size_t)steps_of(g, kc) * g->lane_bytes;
            pack_panels(g, &p->B, (struct range){jc + mine.begin, jc + mine.end}, jc + nc,
                        g->tile_cols, pc, kc, B + (size_t)mine.begin * lane);
            if (threads > 1) {
#pragma omp barrier /* the block of B is whole before anyone multiplies by it */
            }
            for (int64_t ic = my_rows.begin; ic < my_rows.end; ic += p->blocks.mc) {
                const struct range rows = {ic, smaller(ic + p->blocks.mc, my_rows.end)};
                pack_panels(g, &p->A, rows, rows.end, g->tile_rows, pc, kc, A);
                multiply_block(p, rows, my_cols, jc, pc, kc, A, B, A + p->w.own_tile);
            }
            if (threads > 1) {
#pragma omp barrier /* no one multiplies by the block of B when it is overwritten */
            }
        }
    }
}

/* With a product for every thread, each works alone; otherwise all work on one after the other. */
static int team_size(const struct args *a) { return a->s.b >= a->threads ? 1 : a->threads; }

size_t packed_scratch(const struct packed *g, const struct args *a) {
    const int team = team_size(a);
    const struct workspace w = workspace_of(g, a->s, blocks_of(g, a->s, team), team);
    return w.bytes * (size_t)(a->threads / team);
}

int packed_product(const struct packed *g, const struct args *a) {
    const int team = team_size(a);
    const struct blocks blocks = blocks_of(g, a->s, team);
    const struct workspace w = workspace_of(g, a->s, blocks, team);
    if (a->threads == 1) {
        for (int64_t i = 0; i < a->s.b; i++) {
            const struct product p = product_of(g, a, i, blocks, w, a->scratch);
            multiply(&p, 0, 1);
        }
        return 0;
    }
#pragma omp parallel num_threads(a->threads)
    {
        const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        const struct range batches =
            team == 1 ? slice(a->s.b, 1, thread, threads) : (struct range){0, a->s.b};
        char *scratch = (char *)a->scratch + (team == 1 ? w.bytes * (size_t)thread : 0);
        for (int64_t i = batches.begin; i < batches.end; i++) {
            const struct product p = product_of(g, a, i, blocks, w, scratch);
            multiply(&p, team == 1 ? 0 : thread, team == 1 ? 1 : threads);
        }
    }
    return 0;
}
