/* emulated_tcgen05.h - the interface of kernels/cuda/ptx_tcgen05.cuh on a CPU. */
#ifndef EMULATED_TCGEN05_H
#define EMULATED_TCGEN05_H
#include "emulated_ptx.h"

namespace gpu {
DEV bool elect_one() {
    simt::warp_collective(
        ~0u, "elect.sync", nullptr, [](void *const *, uint32_t, const void *) {}, nullptr);
    return simt::cur->lane == 0;
}
// ---- tensor memory ----
template <int CTAS> DEV void tmem_alloc(uint32_t *to, int columns) {
    simt::tmem_alloc(CTAS, to, columns);
}
template <int CTAS> DEV void tmem_relinquish() { simt::tmem_relinquish(CTAS); }
template <int CTAS> DEV void tmem_dealloc(uint32_t address, int columns) {
    simt::tmem_dealloc(CTAS, address, columns);
}
// ---- order between threads ----
DEV void tcgen05_fence_before() { simt::tcgen05_fence_before(); }
DEV void tcgen05_fence_after() { simt::tcgen05_fence_after(); }
// ---- multiplies and copies ----
template <tcgen05_kind KIND, int CTAS>
DEV void tcgen05_mma(uint32_t d, uint64_t da, uint64_t db, uint32_t shape, int accumulate) {
    constexpr auto kind = KIND == tcgen05_kind::f16    ? simt::tcgen05_kind::f16
                          : KIND == tcgen05_kind::tf32 ? simt::tcgen05_kind::tf32
                                                       : simt::tcgen05_kind::f8f6f4;
    simt::tcgen05_mma({kind, CTAS, d, da, db, shape, accumulate != 0, 0, 0});
}
template <int CTAS>
DEV void tcgen05_mma_nvfp4(uint32_t d, uint64_t da, uint64_t db, uint32_t shape, int accumulate,
                           uint32_t scales_a, uint32_t scales_b) {
    simt::tcgen05_mma({simt::tcgen05_kind::mxf4nvf4, CTAS, d, da, db, shape, accumulate != 0,
                       scales_a, scales_b});
}
template <int CTAS> DEV void tcgen05_cp_scales(uint32_t to, uint64_t desc) {
    simt::tcgen05_cp_scales(CTAS, to, desc);
}
template <int CTAS> DEV void tcgen05_commit(uint64_t *bar) {
    simt::tcgen05_commit(CTAS, bar, uint16_t(1u << simt::cluster_rank()));
}
template <int CTAS> DEV void tcgen05_commit_multicast(uint64_t *bar, uint16_t mask) {
    simt::tcgen05_commit(CTAS, bar, mask);
}
// ---- registers from tensor memory ----
DEV void tcgen05_ld_x32(uint32_t *r, uint32_t address) {
    uint32_t *at[32];
    for (int i = 0; i < 32; i++) at[i] = &r[i];
    simt::tcgen05_ld(at, 32, address);
}
DEV void tcgen05_wait_ld() { simt::tcgen05_wait_ld(); }
template <int N> DEV void tcgen05_hold(uint32_t (&)[N]) {}
// ---- TMA of a pair of blocks ----
DEV void tma_load_3d_pair(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1,
                          int c2) {
    int c[3] = {c0, c1, c2};
    simt::tma_load(smem, map,
                   static_cast<uint64_t *>(simt::map_rank(bar, simt::cluster_rank() & ~1u)), c, 3,
                   0, true);
}
} // namespace gpu
#endif
