/* packed.h - products by packing: what an instruction set has to bring for a dtype, and the
 * loops around it. */
#ifndef PACKED_H
#define PACKED_H
#include "../../catalogue.h"

/* A or B of one product. Lanes are the rows of A or the columns of B; p runs along k. One of the
 * steps is 1. */
struct panel_source {
    const void *tensor;
    int64_t elements; /* of the whole tensor */
    int64_t first;    /* index of lane 0, p = 0 */
    int64_t lane_step, p_step;
};

/* Packs `count` lanes from lane0 on and p0 <= p < p0 + kc as panels dst[panel][step][width], as
 * many as it takes; the last one's lanes beyond count as 0. */
typedef void pack_fn(const struct panel_source *x, int64_t lane0, int count, int width, int64_t p0,
                     int64_t kc, void *dst);

/* Lanes over `steps` steps of k: packed, or where they lie in the matrix; adjacent, or each of them
 * contiguous along k. */
struct panel {
    const void *at;
    int64_t step; /* lanes from a step of k to the next */
    int64_t lane; /* bytes from a lane to the next: in a matrix, half a lane of bf16 more or less */
};

enum { FETCH_LINES = 4 }; /* cache lines of a piece that tiles fetch */

/* What later tiles will read, fetched while this one computes: `count` pieces of FETCH_LINES
 * `stride` bytes apart; after each `run` of them on by `jump` bytes. */
struct panel_ahead {
    const char *at;
    int64_t stride, count, run, jump;
};

/* The same for the rows of A of the next tile, each contiguous along k: at the tile's own pace. */
struct rows_ahead {
    const char *at; /* NULL: none */
    int64_t stride; /* bytes from a row to the next */
};

/* C[rows,cols] = alpha A' B + beta C of a panel of A and one of B; C is in the accumulator's
 * dtype, or, where a tile can, the product's, and not read when beta is 0. Panels are packed, and
 * padded to the tile, unless cols is whole vectors and rows one of `heights`. */
struct tile_job {
    int64_t steps;
    struct panel A, B; /* lanes of B are adjacent */
    void *C;
    size_t c_bytes; /* of an element of C */
    int64_t ldc;
    int rows, cols;
    double alpha, beta;
    struct panel_ahead ahead;
    struct rows_ahead rows_ahead;
    void *packed_b; /* where a whole tile leaves the lanes of B that it reads, packed; or NULL */
    bool hints;     /* also fetch what this one reads from level 2 into level 1 */
    bool half_step; /* one step more, of which a matrix has half: the first of a pair */
};
typedef void tile_fn(const struct tile_job *t);

/* C = alpha sums + beta C, rounded once to the product's dtype. sums is [rows][ld]. */
typedef void finish_fn(const float *sums, int64_t ld, void *C, int64_t ldc, int rows, int cols,
                       double alpha, double beta);

struct packed {
    enum dtype dtype;
    const struct impl *const
        *matvec; /* tables of rows for products of one row or column, or NULL */
    int tile_rows, tile_cols;
    int lanes;        /* of a vector: half of tile_cols */
    unsigned heights; /* bit h: tiles of h rows read A in place, others have it packed and padded */
    int k_per_step;   /* elements of k in a packed lane: 1, or 2 for pairs of bf16 */
    size_t lane_bytes;    /* of a packed lane */
    size_t c_bytes;       /* of an element of C as stored */
    size_t element_bytes; /* of A and B as stored; 0: no whole bytes */
    pack_fn *pack;
    tile_fn *tile;
    bool narrows;      /* the tile can store C in the product's dtype */
    finish_fn *finish; /* NULL: C is stored in the accumulator's dtype */
};

/* matmul and bmm: all of a->s.b products, on a->threads threads. */
int packed_product(const struct packed *g, const struct args *a);
size_t packed_scratch(const struct packed *g, const struct args *a);
#endif
