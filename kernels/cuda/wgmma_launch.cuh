/* wgmma_launch.cuh - the host's half of products by wgmma (matmul_wgmma.cuh): which form of it, launchers, the rows' functions. */
#ifndef WGMMA_LAUNCH_CUH
#define WGMMA_LAUNCH_CUH
#include "matmul_wgmma.cuh"

/* size: bytes of an element. 64 rows take half as long as 128. */
static inline tma_form wgmma_best_form(const struct args *a, int size, bool promoted) {
    static constexpr double L2 = 34; /* published kernels of Hopper */
    static const tma_tile tiles[] = {{128, 256}, {128, 128}, {64, 128}};
    const auto costs = [promoted](tma_tile tile, int cluster) {
        const bool fits = !promoted || tile.bn < 256; /* two sums a register would not */
        return tma_costs{fits ? 4.0 * tile.bn * tile.bm / 128 : INFINITY,
                         WGMMA_ROW * (tile.bm + static_cast<double>(tile.bn) / cluster), 0, L2};
    };
    return tma_best_form(a, a->s.k * size, tiles, costs);
}

template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
static cudaError_t launch_wgmma(const struct args *a, const mma_problem &p, const tma_form &form) {
    using P = typename OPERAND::product;
    const tma_problem q = tma_problem_of<OPERAND>(p, form);
    CUtensorMap map_a, map_b, map_c = {};
    cudaError_t e = map_operand<OPERAND>(&map_a, A_K_MAJOR, p.A, p.m, p, TILE::BM);
    if (e == cudaSuccess)
        e = map_operand<OPERAND>(&map_b, B_K_MAJOR, p.B, p.n, p, TILE::BN / q.cluster);
    if (e == cudaSuccess) e = map_product<P>(&map_c, q, 16);
    if (e != cudaSuccess) return e;
    return launch_product<P>(a, matmul_wgmma<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>, TILE::THREADS,
                             TILE::SMEM, OPERAND::PROMOTED ? 1 : TILE::BLOCKS, q, map_a, map_b,
                             map_c);
}

template <class OPERAND> struct wgmma_kernels {
    static constexpr int SIZE = OPERAND::SIZE;
    static constexpr bool ONLY_K_MAJOR = SIZE != 2;
    static tma_form form(const struct args *a) {
        return wgmma_best_form(a, SIZE, OPERAND::PROMOTED);
    }
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch(const struct args *a, const mma_problem &p) {
        const tma_form x = form(a);
        if (x.bm == 64)
            return launch_wgmma<OPERAND, wgmma_tile<64, 128>, A_K_MAJOR, B_K_MAJOR>(a, p, x);
        if constexpr (!OPERAND::PROMOTED)
            if (x.bn == 256)
                return launch_wgmma<OPERAND, wgmma_tile<128, 256>, A_K_MAJOR, B_K_MAJOR>(a, p, x);
        return launch_wgmma<OPERAND, wgmma_tile<128, 128>, A_K_MAJOR, B_K_MAJOR>(a, p, x);
    }
};

/* ---- rows ---- */

template <enum dtype T, class OPERAND> using wgmma_rows = tma_rows<T, wgmma_kernels<OPERAND>>;

static inline const char *refuses_wgmma(const struct args *a) {
    return a->gpu->cc != 90 ? "wgmma is an instruction of Hopper (sm_90a) alone"
                            : refuses_tma(a, WGMMA_SMEM);
}
#endif
