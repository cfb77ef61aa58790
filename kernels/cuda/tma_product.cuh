/* tma_product.cuh - what products by wgmma and by tcgen05 share, whose operands the tensor memory accelerator brings: where tiles are,
 * sums in parts; on the host which form a problem takes, descriptors, launches, the rows' functions. */
#ifndef TMA_PRODUCT_CUH
#define TMA_PRODUCT_CUH
#include "mma_problem.cuh"

/* ---- geometry ---- */

/* Rows of a k-tile, or of 64 elements along M or N where the operand is stored so, have 128 bytes. */
static constexpr int TMA_ROW = 128;

struct tma_problem {
    void *C;
    float *parts;               /* [splits][batch][m][n] sums, where there is more than one split */
    int64_t batch, m, n, units; /* units: of a cluster's tiles, of all matrices and splits */
    unsigned units_m, tiles_n;
    int k_tiles, splits, k_each; /* k-tiles; of a split */
    int cluster;                 /* 1 or 2 blocks, one above the other */
    bool bulk;                   /* C is stored by the tensor memory accelerator; beta is 0 then */
    float alpha, beta;
    const float *a_scale, *b_scale; /* of nvfp4 tensors; or NULL */
};

/* Where this block's tile of a unit is, and its k-tiles. */
struct tma_place {
    int row, col, split, k_first, k_end, batch;
};
template <int BM, int BN>
DEV tma_place place_of(const tma_problem &p, int64_t unit, int cluster, int rank) {
    const unsigned each = p.units_m * p.tiles_n;
    const tile t = tile_of(static_cast<unsigned>(unit % each), p.units_m, p.tiles_n);
    const int64_t matrix = unit / each;
    const int split = static_cast<int>(matrix % p.splits), first = split * p.k_each;
    return {(static_cast<int>(t.row) * cluster + rank) * BM,
            static_cast<int>(t.col) * BN,
            split,
            first,
            min(first + p.k_each, p.k_tiles),
            static_cast<int>(matrix / p.splits)};
}

DEV float alpha_of(const tma_problem &p) {
    return p.a_scale ? p.alpha * *p.a_scale * *p.b_scale : p.alpha;
}

/* C from parts of its sums, added in order. */
static constexpr int PARTS_THREADS = 256;
template <class P>
__global__ void __launch_bounds__(PARTS_THREADS) matmul_parts(const tma_problem p) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * PARTS_THREADS + threadIdx.x,
                  all = p.batch * p.m * p.n;
    if (i >= all) return;
    float sum = p.parts[i];
#pragma unroll 4
    for (int split = 1; split < p.splits; split++) sum += p.parts[split * all + i];
    update(static_cast<P *>(p.C)[i], sum, alpha_of(p), p.beta);
}

/* ---- forms: which tile, cluster and splits ---- */

/* Clocks of the whole problem on all multiprocessors; the last round counts whole. A k-tile takes what its multiplies take, or what
 * it asks of the L2, whichever is more. The L2 gives `l2` bytes a clock and multiprocessor where all ask, 64 at the most where few
 * do. Filling and draining a pipeline is FILL clocks. Parts are written and read; their kernel's launch is LAUNCH, as is that of
 * each pre-pass over an operand. Estimates, all of them. */
static constexpr double L2_ONE = 64, LAUNCH = 4000, FILL = 1500;
struct tma_tile {
    int bm, bn;
};
struct tma_costs {
    double multiplies, bytes; /* clocks of a block's k-tile; what it asks of the L2 */
    double out;               /* clocks of a tile's way out that nothing hides */
    double l2;
};
struct tma_form {
    int bm, bn, cluster, splits, k_each;
    double clocks;
};
static inline tma_form tma_form_of(const struct args *a, tma_tile tile, int cluster,
                                   const tma_costs &costs, int64_t k_tiles, int64_t splits) {
    const int64_t k_each = ceil_div(k_tiles, splits), sms = a->gpu->sms,
                  at_once = sms < cluster ? 1 : sms / cluster;
    splits = ceil_div(k_tiles, k_each); /* none is empty */
    const int64_t units =
        a->s.b * ceil_div(a->s.m, tile.bm * cluster) * ceil_div(a->s.n, tile.bn) * splits;
    const double all = static_cast<double>(sms),
                 active = fmin(static_cast<double>(units * cluster), all),
                 l2_clocks = costs.bytes / fmin(L2_ONE, costs.l2 * all / active),
                 k_tile = fmax(costs.multiplies, l2_clocks),
                 parts = 8.0 * static_cast<double>(splits * a->s.b * a->s.m * a->s.n);
    return {tile.bm,
            tile.bn,
            cluster,
            static_cast<int>(splits),
            static_cast<int>(k_each),
            FILL +
                static_cast<double>(ceil_div(units, at_once)) *
                    (static_cast<double>(k_each) * k_tile + costs.out) +
                (splits > 1 ? parts / (costs.l2 * all) + LAUNCH : 0)};
}
/* The quickest of the tiles in clusters and alone, split and not; of those that are equally quick the plainest. row_bytes: of k in a
 * row of an operand; costs(tile, cluster): multiplies without end where there is no such form. */
template <size_t TILES, class COSTS>
static tma_form tma_best_form(const struct args *a, int64_t row_bytes,
                              const tma_tile (&tiles)[TILES], const COSTS &costs) {
    const int64_t k_tiles = ceil_div(row_bytes, TMA_ROW);
    tma_form best = {};
    for (int64_t splits = 1; splits <= 16 && (splits == 1 || k_tiles / splits >= 4); splits *= 2)
        for (const tma_tile &tile : tiles)
            for (const int cluster : {2, 1}) {
                const tma_form x =
                    tma_form_of(a, tile, cluster, costs(tile, cluster), k_tiles, splits);
                if (!best.bn || x.clocks < best.clocks) best = x;
            }
    return best;
}
static inline size_t parts_bytes(const struct args *a, const tma_form &form) {
    return form.splits == 1
               ? 0
               : static_cast<size_t>(form.splits * a->s.b * a->s.m * a->s.n) * sizeof(float);
}

/* ---- what launchers need ---- */

template <class OPERAND>
static tma_problem tma_problem_of(const mma_problem &p, const tma_form &form) {
    tma_problem q = {};
    q.C = p.C;
    q.parts = reinterpret_cast<float *>(p.scratch);
    q.batch = p.batch, q.m = p.m, q.n = p.n;
    q.units_m = static_cast<unsigned>(ceil_div(p.m, form.bm * form.cluster));
    q.tiles_n = static_cast<unsigned>(ceil_div(p.n, form.bn));
    q.units = p.batch * form.splits * q.units_m * q.tiles_n;
    q.k_tiles = static_cast<int>(ceil_div(static_cast<int64_t>(p.k) * OPERAND::SIZE, TMA_ROW));
    q.splits = form.splits, q.k_each = form.k_each;
    q.cluster = form.cluster;
    q.bulk = p.beta == 0 && p.n * sizeof(typename OPERAND::product) % 16 == 0 && q.splits == 1;
    q.alpha = static_cast<float>(p.alpha), q.beta = static_cast<float>(p.beta);
    q.a_scale = p.a_scale, q.b_scale = p.b_scale;
    return q;
}

template <class P> struct map_type;
template <> struct map_type<__nv_bfloat16> {
    static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
};
template <> struct map_type<__half> {
    static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
};
template <> struct map_type<float> {
    static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
};

/* The map of an operand with `extent` rows or columns besides k; boxes of `box` of them, or of 64 by 64. */
template <class OPERAND>
static cudaError_t map_operand(CUtensorMap *map, bool k_major, const matrix &x, int64_t extent,
                               const mma_problem &p, int box) {
    const int64_t k = p.k;
    tensor t = {};
    t.base = x.data;
    t.type = OPERAND::MAP;
    t.cols = static_cast<uint64_t>(k_major ? k : extent);
    t.rows = static_cast<uint64_t>(k_major ? extent : k);
    t.row_bytes = static_cast<uint64_t>(x.pitch);
    t.matrices = static_cast<uint64_t>(p.batch);
    t.matrix_bytes = static_cast<uint64_t>(x.stride);
    return gpu_tensor_map(map, t, 3, static_cast<uint32_t>(TMA_ROW / OPERAND::SIZE),
                          static_cast<uint32_t>(k_major ? box : 64), CU_TENSOR_MAP_SWIZZLE_128B);
}
/* The map of C; boxes of `rows` of 128 bytes. Only where it is stored so. */
template <class P>
static cudaError_t map_product(CUtensorMap *map, const tma_problem &p, uint32_t rows) {
    if (!p.bulk) return cudaSuccess;
    const uint64_t m = static_cast<uint64_t>(p.m),
                   row_bytes = static_cast<uint64_t>(p.n) * sizeof(P);
    const tensor t = {p.C,
                      map_type<P>::value,
                      static_cast<uint64_t>(p.n),
                      m,
                      row_bytes,
                      static_cast<uint64_t>(p.batch),
                      m * row_bytes};
    return gpu_tensor_map(map, t, 3, TMA_ROW / static_cast<uint32_t>(sizeof(P)), rows,
                          CU_TENSOR_MAP_SWIZZLE_128B);
}

/* kernel(arguments..., p) on as many clusters as run at a time, `blocks` a multiprocessor, or on as many as there are units; then
 * its sums' parts are added. */
template <class P, class KERNEL, class PROBLEM, class... ARGUMENTS>
static cudaError_t launch_product(const struct args *a, KERNEL kernel, int threads, int smem,
                                  int blocks, const PROBLEM &p, const ARGUMENTS &...arguments) {
    launch_config c;
    c.block = dim3(static_cast<unsigned>(threads));
    c.cluster = dim3(static_cast<unsigned>(p.cluster));
    c.grid = c.cluster;
    c.smem = static_cast<size_t>(smem);
    c.stream = stream_of(a);
    int at_once = a->gpu->sms * blocks;
    if (p.cluster > 1) { /* clusters may not reach all of them */
        const cudaError_t e = gpu_clusters_at_once(&at_once, c, kernel);
        if (e != cudaSuccess) return e;
        if (at_once < 1) return cudaErrorInvalidClusterSize;
    }
    c.grid = dim3(static_cast<unsigned>(p.units < at_once ? p.units : at_once) * c.cluster.x);
    const cudaError_t e = gpu_launch(c, kernel, arguments..., p);
    if (e != cudaSuccess || p.splits == 1) return e;

    launch_config add;
    add.block = dim3(PARTS_THREADS);
    add.grid = dim3(static_cast<unsigned>(ceil_div(p.batch * p.m * p.n, PARTS_THREADS)));
    add.stream = c.stream;
    return gpu_launch(add, matmul_parts<P>, p);
}

/* ---- rows ---- */

/* KERNELS: mma_rows' and form(a). */
template <enum dtype T, class KERNELS> struct tma_rows : mma_rows<T, KERNELS> {
    static size_t scratch_bytes(const struct args *a) {
        return mma_rows<T, KERNELS>::scratch_bytes(a) + parts_bytes(a, KERNELS::form(a));
    }
};

/* NULL where the block's shared memory and extents are within limits. */
static inline const char *refuses_tma(const struct args *a, int smem) {
    return a->gpu->smem_block_bytes < smem ? "less than 225 KiB of shared memory a block"
           : a->s.m > 1 << 30 || a->s.n > 1 << 30 || a->s.k > 1 << 30 || a->s.b > 1 << 30
               ? "an extent beyond 2^30"
               : nullptr;
}
#endif
