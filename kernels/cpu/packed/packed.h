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

/* Packs `count` lanes from lane0 on and p0 <= p < p0 + steps as dst[step][width], lanes beyond
 * count as 0. */
typedef void pack_fn(const struct panel_source *x, int64_t lane0, int count, int width, int64_t p0,
                     int64_t steps, void *dst);

/* C[rows,cols] = alpha A' B + beta C of a packed panel of A [steps][tile_rows] and of B
 * [steps][tile_cols]; C is in the accumulator's dtype and not read when beta is 0. */
typedef void tile_fn(int64_t steps, const void *A, const void *B, void *C, int64_t ldc, int rows,
                     int cols, double alpha, double beta);

/* C = alpha sums + beta C, rounded once to the product's dtype. sums is [rows][ld]. */
typedef void finish_fn(const float *sums, int64_t ld, void *C, int64_t ldc, int rows, int cols,
                       double alpha, double beta);

struct packed {
    int tile_rows, tile_cols;
    int k_per_step;    /* elements of k in a packed lane: 2 for pairs of bf16 */
    size_t lane_bytes; /* of a packed lane */
    size_t c_bytes;    /* of an element of C as stored */
    pack_fn *pack;
    tile_fn *tile;
    finish_fn *finish; /* NULL: C is stored in the accumulator's dtype */
};

/* matmul and bmm: all of a->s.b products, on a->threads threads. */
int packed_product(const struct packed *g, const struct args *a);
size_t packed_scratch(const struct packed *g, const struct args *a);
#endif
