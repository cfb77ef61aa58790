/* matmul.cuh - C_i = alpha A_i B_i + beta C_i, i < batch: what its kernels share. One code for matmul and bmm. */
#ifndef MATMUL_CUH
#define MATMUL_CUH
#include "cuda_kernel.cuh"

/* An element of A_i is A[i a_batch + row a_row + p a_k], of B_i B[i b_batch + p b_k + col b_col]; C is contiguous. */
struct product {
    int64_t batch, m, n, k;
    int64_t a_row, a_k, a_batch;
    int64_t b_k, b_col, b_batch;
    double alpha, beta;
};

static inline bool a_is_k_major(const struct args *a) { return a->layout != LAYOUT_TN; }
static inline bool b_is_k_major(const struct args *a) { return a->layout == LAYOUT_NT; }

static inline product product_of(const struct args *a) {
    const shape &s = a->s;
    product p = {};
    p.batch = s.b, p.m = s.m, p.n = s.n, p.k = s.k;
    p.a_row = a_is_k_major(a) ? s.k : 1, p.a_k = a_is_k_major(a) ? 1 : s.m, p.a_batch = s.m * s.k;
    p.b_k = b_is_k_major(a) ? 1 : s.n, p.b_col = b_is_k_major(a) ? s.k : 1, p.b_batch = s.k * s.n;
    p.alpha = a->alpha, p.beta = a->beta;
    return p;
}

/* x: tiles of one C; the batch takes z, and y as well where it exceeds z's limit. */
static inline dim3 product_grid(int64_t tiles, int64_t batch) {
    const int64_t y = ceil_div(batch, 65535);
    return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(y),
                static_cast<unsigned>(ceil_div(batch, y)));
}
/* Which matrix a block works on; past the last one where y and z do not divide the batch. */
DEV int64_t batch_index() { return static_cast<int64_t>(blockIdx.y) * gridDim.z + blockIdx.z; }

/* Tiles in the order of blocks: down a column of 8 tiles, then the next column. Blocks that run at the same time so
 * cover a patch of C that is about square, and the rows of A and columns of B behind it are few enough for the L2. */
struct tile {
    unsigned row, col;
};
DEV tile tile_of(unsigned index, unsigned tiles_m, unsigned tiles_n) {
    const unsigned GROUP = 8, group = index / (GROUP * tiles_n), within = index % (GROUP * tiles_n);
    const unsigned first = group * GROUP, rows = min(GROUP, tiles_m - first);
    return {first + within % rows, within / rows};
}

/* c = alpha sum + beta c, rounded once; c is not read with beta 0. */
template <typename P, typename ACC> DEV void update(P &c, ACC sum, ACC alpha, ACC beta) {
    ACC y = alpha * sum;
    if (beta != 0) y += beta * widen(c);
    narrow(c, y);
}
/* The same for 16 bytes of consecutive elements, c 16-byte aligned. */
template <typename P, typename ACC> DEV void update_vec(P *c, const ACC *sum, ACC alpha, ACC beta) {
    vec<P> v;
    if (beta != 0) v = vec_load(c);
#pragma unroll
    for (int e = 0; e < vec<P>::N; e++) update(v.at[e], sum[e], alpha, beta);
    vec_store(c, v);
}
#endif
