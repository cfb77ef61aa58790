/* wgmma_launch.cuh - the host's half of products by wgmma (matmul_wgmma.cuh): which form of it, descriptors, the rows'
 * functions. */
#ifndef WGMMA_LAUNCH_CUH
#define WGMMA_LAUNCH_CUH
#include "matmul_wgmma.cuh"

/* ---- forms: which tile, cluster and splits ---- */

/* Clocks of the whole problem on all multiprocessors; the last round counts whole. A k-tile takes what its multiplies take, or what
 * it asks of the L2, whichever is more. The L2 gives 34 bytes a clock and multiprocessor where all ask, 64 at the most where few do.
 * Filling and draining a pipeline is FILL clocks. Parts are written and read; their kernel's launch is LAUNCH, as is that of
 * each pre-pass over an operand. Estimates, all of them. */
static constexpr double L2 = 34, L2_ONE = 64, LAUNCH = 4000, FILL = 1500;
static inline double l2_clocks(const struct args *a, double bytes, int64_t units) {
    const double sms = a->gpu->sms, active = fmin(static_cast<double>(units), sms);
    return bytes / fmin(L2_ONE, L2 * sms / active);
}

struct wgmma_form {
    int bm, bn, cluster, splits, k_each;
    double clocks;
};
static inline wgmma_form wgmma_form_of(const struct args *a, int bm, int bn, int cluster,
                                       int64_t k_tiles, int64_t splits) {
    const int64_t k_each = ceil_div(k_tiles, splits), sms = a->gpu->sms,
                  at_once = sms < cluster ? 1 : sms / cluster;
    splits = ceil_div(k_tiles, k_each); /* none is empty */
    const int64_t units = a->s.b * ceil_div(a->s.m, bm * cluster) * ceil_div(a->s.n, bn) * splits;
    const double bytes = WGMMA_ROW * (bm + static_cast<double>(bn) / cluster);
    const double k_tile = fmax(4.0 * bn * bm / 128, l2_clocks(a, bytes, units * cluster));
    const double parts = 8.0 * static_cast<double>(splits * a->s.b * a->s.m * a->s.n);
    return {bm,
            bn,
            cluster,
            static_cast<int>(splits),
            static_cast<int>(k_each),
            FILL + static_cast<double>(ceil_div(units, at_once) * k_each) * k_tile +
                (splits > 1 ? parts / (L2 * static_cast<double>(sms)) + LAUNCH : 0)};
}
/* The quickest; of those that are equally quick the plainest. size: bytes of an element. */
static inline wgmma_form wgmma_best_form(const struct args *a, int size, bool promoted) {
    static const struct { int bm, bn; } tiles[] = {{128, 256}, {128, 128}, {64, 128}};
    const int64_t k_tiles = ceil_div(a->s.k * size, WGMMA_ROW);
    wgmma_form best = {};
    for (int64_t splits = 1; splits <= 16 && (splits == 1 || k_tiles / splits >= 4); splits *= 2)
        for (const auto &tile : tiles)
            for (const int cluster : {2, 1}) {
                if (promoted && tile.bn == 256) continue; /* two sums a register would not fit */
                const wgmma_form x = wgmma_form_of(a, tile.bm, tile.bn, cluster, k_tiles, splits);
                if (!best.bn || x.clocks < best.clocks) best = x;
            }
    return best;
}
static inline size_t parts_bytes(const struct args *a, const wgmma_form &form) {
    return form.splits == 1
               ? 0
               : static_cast<size_t>(form.splits * a->s.b * a->s.m * a->s.n) * sizeof(float);
}

/* ---- launchers ---- */

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
static inline cudaError_t map_operand(CUtensorMap *map, CUtensorMapDataType type, int size,
                                      bool k_major, const matrix &x, int64_t extent,
                                      const mma_problem &p, int box) {
    const int64_t k = p.k;
    tensor t = {};
    t.base = x.data;
    t.type = type;
    t.cols = static_cast<uint64_t>(k_major ? k : extent);
    t.rows = static_cast<uint64_t>(k_major ? extent : k);
    t.row_bytes = static_cast<uint64_t>(x.pitch);
    t.matrices = static_cast<uint64_t>(p.batch);
    t.matrix_bytes = static_cast<uint64_t>(x.stride);
    return gpu_tensor_map(map, t, 3, static_cast<uint32_t>(WGMMA_ROW / size),
                          static_cast<uint32_t>(k_major ? box : 64), CU_TENSOR_MAP_SWIZZLE_128B);
}

template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
static cudaError_t launch_wgmma(const struct args *a, const mma_problem &p,
                                const wgmma_form &form) {
    const int cluster = form.cluster;
    using P = typename OPERAND::product;
    const auto kernel = matmul_wgmma<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>;
    wgmma_problem q = {};
    q.C = p.C;
    q.parts = reinterpret_cast<float *>(p.scratch);
    q.batch = p.batch, q.m = p.m, q.n = p.n;
    q.units_m = static_cast<unsigned>(ceil_div(p.m, TILE::BM * cluster));
    q.tiles_n = static_cast<unsigned>(ceil_div(p.n, TILE::BN));
    q.units = p.batch * form.splits * q.units_m * q.tiles_n;
    q.k_tiles = static_cast<int>(ceil_div(static_cast<int64_t>(p.k) * OPERAND::SIZE, WGMMA_ROW));
    q.splits = form.splits, q.k_each = form.k_each;
    q.cluster = cluster;
    q.alpha = static_cast<float>(p.alpha), q.beta = static_cast<float>(p.beta);
    q.a_scale = p.a_scale, q.b_scale = p.b_scale;
    const int64_t row_bytes = p.n * static_cast<int64_t>(sizeof(P));
    q.bulk = q.beta == 0 && row_bytes % 16 == 0 && q.splits == 1;

    CUtensorMap map_a, map_b, map_c = {};
    cudaError_t e =
        map_operand(&map_a, OPERAND::MAP, OPERAND::SIZE, A_K_MAJOR, p.A, p.m, p, TILE::BM);
    if (e == cudaSuccess)
        e = map_operand(&map_b, OPERAND::MAP, OPERAND::SIZE, B_K_MAJOR, p.B, p.n, p,
                        TILE::BN / cluster);
    if (e == cudaSuccess && q.bulk) {
        tensor c = {p.C,
                    map_type<P>::value,
                    static_cast<uint64_t>(p.n),
                    static_cast<uint64_t>(p.m),
                    static_cast<uint64_t>(row_bytes),
                    static_cast<uint64_t>(p.batch),
                    static_cast<uint64_t>(p.m * row_bytes)};
        e = gpu_tensor_map(&map_c, c, 3, WGMMA_ROW / static_cast<uint32_t>(sizeof(P)), 16,
                           CU_TENSOR_MAP_SWIZZLE_128B);
    }
    if (e != cudaSuccess) return e;

    launch_config c;
    c.block = dim3(TILE::THREADS);
    c.cluster = dim3(static_cast<unsigned>(cluster));
    c.grid = c.cluster;
    c.smem = TILE::SMEM;
    c.stream = stream_of(a);
    int at_once = a->gpu->sms * (OPERAND::PROMOTED ? 1 : TILE::BLOCKS);
    if (cluster > 1) { /* clusters may not reach all of them */
        e = gpu_clusters_at_once(&at_once, c, kernel);
        if (e != cudaSuccess) return e;
        if (at_once < 1) return cudaErrorInvalidClusterSize;
    }
    c.grid = dim3(static_cast<unsigned>(q.units < at_once ? q.units : at_once) * c.cluster.x);
    e = gpu_launch(c, kernel, map_a, map_b, map_c, q);
    if (e != cudaSuccess || q.splits == 1) return e;

    launch_config add;
    add.block = dim3(PARTS_THREADS);
    add.grid = dim3(static_cast<unsigned>(ceil_div(q.batch * q.m * q.n, PARTS_THREADS)));
    add.stream = c.stream;
    return gpu_launch(add, matmul_wgmma_parts<P>, q);
}

template <class OPERAND> struct wgmma_kernels {
    static constexpr int SIZE = OPERAND::SIZE;
    static constexpr bool ONLY_K_MAJOR = SIZE != 2;
    static wgmma_form form(const struct args *a) {
        return wgmma_best_form(a, SIZE, OPERAND::PROMOTED);
    }
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch(const struct args *a, const mma_problem &p) {
        const wgmma_form x = form(a);
        if (x.bm == 64)
            return launch_wgmma<OPERAND, wgmma_tile<64, 128>, A_K_MAJOR, B_K_MAJOR>(a, p, x);
        if constexpr (!OPERAND::PROMOTED)
            if (x.bn == 256)
                return launch_wgmma<OPERAND, wgmma_tile<128, 256>, A_K_MAJOR, B_K_MAJOR>(a, p, x);
        return launch_wgmma<OPERAND, wgmma_tile<128, 128>, A_K_MAJOR, B_K_MAJOR>(a, p, x);
    }
};

/* ---- rows ---- */

template <enum dtype T, class OPERAND> struct wgmma_rows : mma_rows<T, wgmma_kernels<OPERAND>> {
    static size_t scratch_bytes(const struct args *a) {
        return mma_rows<T, wgmma_kernels<OPERAND>>::scratch_bytes(a) +
               parts_bytes(a, wgmma_kernels<OPERAND>::form(a));
    }
};

static inline const char *refuses_wgmma(const struct args *a) {
    return a->gpu->cc != 90 ? "wgmma is an instruction of Hopper (sm_90a) alone"
           : a->gpu->smem_block_bytes < WGMMA_SMEM ? "less than 225 KiB of shared memory a block"
           : a->s.m > 1 << 30 || a->s.n > 1 << 30 || a->s.k > 1 << 30 || a->s.b > 1 << 30
               ? "an extent beyond 2^30"
               : nullptr;
}
#endif
