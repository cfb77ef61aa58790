/* tcgen05_launch.cuh - the host's half of products by tcgen05 (matmul_tcgen05.cuh): which form of it, launchers, the rows'
 * functions. */
#ifndef TCGEN05_LAUNCH_CUH
#define TCGEN05_LAUNCH_CUH
#include "matmul_tcgen05.cuh"

/* An instruction takes half as many clocks as it has columns, or what shared memory needs for its operands, at 128 bytes a clock: below
 * 128 columns that is more. Tiles of 64 rows would take as long as those of 128. One accumulator: its way out is not hidden.
 * half_boxes: B's can be of fewer than 64 columns. */
static inline tma_form tcgen05_best_form(const struct args *a, int64_t row_bytes, bool is_scaled,
                                         bool half_boxes) {
    static constexpr double L2 = 44; /* published kernels of a B200 */
    static const tma_tile tiles[] = {{tcgen05::BM, 256}, {tcgen05::BM, 128}, {tcgen05::BM, 64}};
    const auto costs = [=](tma_tile tile, int cluster) {
        const double rows = tile.bm + static_cast<double>(tile.bn) / cluster; /* of operands */
        const bool exists = tile.bn > 64 || (!is_scaled && (cluster == 1 || half_boxes));
        return tma_costs{exists ? fmax(2.0 * tile.bn, rows) : INFINITY,
                         tcgen05::ROW * rows + (is_scaled ? 16 * (tile.bm + tile.bn) : 0),
                         is_scaled && tile.bn == 256 ? 4.0 * tile.bn : 0, L2};
    };
    return tma_best_form(a, row_bytes, tiles, costs);
}

/* Scales in the order of pack_scales(): words, one 512 bytes a line, lines of 64 of k. */
static inline cudaError_t tcgen05_map_scales(CUtensorMap *map, const void *scales, int64_t groups,
                                             int64_t k_tiles) {
    const uint64_t lines = static_cast<uint64_t>(k_tiles * tcgen05::STEPS);
    const tensor t = {
        scales,          CU_TENSOR_MAP_DATA_TYPE_UINT32, tcgen05::SCALES / 4,    lines,
        tcgen05::SCALES, static_cast<uint64_t>(groups),  lines * tcgen05::SCALES};
    return gpu_tensor_map(map, t, 3, tcgen05::SCALES / 4, tcgen05::STEPS,
                          CU_TENSOR_MAP_SWIZZLE_NONE);
}

struct tcgen05_scales { /* of nvfp4, in the order of tensor memory */
    const void *a, *b;
};

template <class OPERAND, int BN, int CTAS, bool A_K_MAJOR, bool B_K_MAJOR>
static cudaError_t launch_tcgen05(const struct args *a, const mma_problem &p, const tma_form &form,
                                  const tcgen05_scales &scales) {
    using TILE = tcgen05::tile_form<BN, CTAS, OPERAND::SCALED>;
    using P = typename OPERAND::product;
    const tcgen05::problem q = {tma_problem_of<OPERAND>(p, form),
                                static_cast<int>(ceil_div(p.m, 128)),
                                static_cast<int>(ceil_div(p.n, 128))};
    tcgen05::maps map = {};
    cudaError_t e = map_operand<OPERAND>(&map.a, A_K_MAJOR, p.A, p.m, p, tcgen05::BM);
    if (e == cudaSuccess) e = map_operand<OPERAND>(&map.b, B_K_MAJOR, p.B, p.n, p, TILE::B_ROWS);
    if (e == cudaSuccess) e = map_product<P>(&map.c, q, 32);
    if constexpr (OPERAND::SCALED) {
        if (e == cudaSuccess)
            e = tcgen05_map_scales(&map.scales_a, scales.a, p.batch * q.scales_m, q.k_tiles);
        if (e == cudaSuccess)
            e = tcgen05_map_scales(&map.scales_b, scales.b, p.batch * q.scales_n, q.k_tiles);
    }
    if (e != cudaSuccess) return e;
    return launch_product<P>(a, matmul_tcgen05<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>,
                             tcgen05::THREADS, tcgen05::SMEM_BYTES, 1, q, map);
}

template <class OPERAND> struct tcgen05_kernels {
    static constexpr int SIZE = OPERAND::SIZE;
    static constexpr bool ONLY_K_MAJOR = SIZE != 2;
    static tma_form form(const struct args *a) {
        return tcgen05_best_form(a, a->s.k * SIZE, OPERAND::SCALED,
                                 ONLY_K_MAJOR || b_is_k_major(a));
    }
    template <int BN, bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch_wide(const struct args *a, const mma_problem &p, const tma_form &f,
                                   const tcgen05_scales &s) {
        if constexpr (BN > 64 || B_K_MAJOR)
            if (f.cluster == 2)
                return launch_tcgen05<OPERAND, BN, 2, A_K_MAJOR, B_K_MAJOR>(a, p, f, s);
        return launch_tcgen05<OPERAND, BN, 1, A_K_MAJOR, B_K_MAJOR>(a, p, f, s);
    }
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch_form(const struct args *a, const mma_problem &p, const tma_form &f,
                                   const tcgen05_scales &s) {
        if constexpr (!OPERAND::SCALED)
            if (f.bn == 64) return launch_wide<64, A_K_MAJOR, B_K_MAJOR>(a, p, f, s);
        return f.bn == 256 ? launch_wide<256, A_K_MAJOR, B_K_MAJOR>(a, p, f, s)
                           : launch_wide<128, A_K_MAJOR, B_K_MAJOR>(a, p, f, s);
    }
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch(const struct args *a, const mma_problem &p) {
        return launch_form<A_K_MAJOR, B_K_MAJOR>(a, p, form(a), {});
    }
};

/* ---- rows ---- */

template <enum dtype T, class OPERAND> using tcgen05_rows = tma_rows<T, tcgen05_kernels<OPERAND>>;

static inline const char *refuses_tcgen05(const struct args *a) {
    return a->gpu->cc != 100 ? "tcgen05 is an instruction of sm_100a alone"
                             : refuses_tma(a, tcgen05::SMEM_BYTES);
}
#endif
