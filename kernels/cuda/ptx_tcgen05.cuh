/* ptx_tcgen05.cuh - the tensor cores of sm_100a: the wrappers of tcgen05 and of tensor memory, and the descriptors that its
 * multiplies take. As ptx.cuh: PTX under nvcc, the emulation elsewhere.
 *
 * Tensor memory has 128 lanes of 512 columns of 32 bits; an address is lane << 16 | column. CTAS: 1, or 2 for a pair of blocks
 * (ranks 2 i and 2 i + 1 of a cluster) that multiply together; one value in a kernel.
 * Source: PTX ISA 9.0, 9.7.16 (tcgen05). */
#ifndef PTX_TCGEN05_CUH
#define PTX_TCGEN05_CUH
#include "ptx.cuh"

namespace gpu {
enum class tcgen05_kind { f16, tf32, f8f6f4 }; // fp16 and bf16; tf32; fp8

/* ---- descriptors ---- */

// An operand in shared memory, swizzled by 128 bytes, as wgmma_desc() has it: groups of 8 rows of 128 bytes are 1024 bytes apart
// (the stride offset). MN-major: `leading_bytes` from 64 elements of M or N to the next 64. Bit 46: the version of sm_100;
// 61-63: the swizzle, 2 for 128 bytes.
DEV uint64_t tcgen05_desc(const void *smem, uint32_t leading_bytes = 16) {
    return uint64_t((smem_u32(smem) & 0x3FFFF) >> 4) | uint64_t(leading_bytes >> 4) << 16 |
           uint64_t(1024 >> 4) << 32 | uint64_t(1) << 46 | uint64_t(2) << 61;
}
// 32 rows of 16 bytes one after the other, not swizzled: what tcgen05_cp_scales() copies. Groups of 8 are 128 bytes apart.
DEV uint64_t tcgen05_scales_desc(const void *smem) {
    return uint64_t((smem_u32(smem) & 0x3FFFF) >> 4) | uint64_t(16 >> 4) << 16 |
           uint64_t(128 >> 4) << 32 | uint64_t(1) << 46;
}

// What a multiply does: fp32 accumulators (bit 4), the formats of A (7-9) and B (10-12), operands that are MN-major (15, 16),
// N / 8 (17-22), M / 16 (24-28). Of f16: fp16 0, bf16 1; of tf32: 2; of f8f6f4: E4M3 0, E5M2 1.
constexpr uint32_t tcgen05_shape(uint32_t format, int m, int n, bool a_mn_major = false,
                                 bool b_mn_major = false) {
    return 1u << 4 | format << 7 | format << 10 | uint32_t(a_mn_major) << 15 |
           uint32_t(b_mn_major) << 16 | uint32_t(n / 8) << 17 | uint32_t(m / 16) << 24;
}
// The same of nvfp4: formats E2M1 (1); scales are E4M3 (bit 23 is 0), four of them in the word of a row (ids 4-5 and 29-30 are 0).
constexpr uint32_t tcgen05_shape_nvfp4(int m, int n) {
    return 1u << 7 | 1u << 10 | uint32_t(n / 8) << 17 | uint32_t(m / 16) << 24;
}
} // namespace gpu

#ifdef __CUDACC__
namespace gpu {
// ---- one lane of a whole warp, the same each time. Of a lane chosen otherwise ptxas does not know that it is alone, and puts a
// loop over lanes around each instruction of tcgen05 and TMA --------------------------------------------------
DEV bool elect_one() {
    uint32_t is_elected;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }"
                 : "=r"(is_elected));
    return is_elected;
}
// ---- tensor memory: whole warps allocate and free; a power of two of columns, 32 or more --------------------
template <int CTAS>
DEV void tmem_alloc(uint32_t *to, int columns) { // its address into shared memory
    static_assert(CTAS == 1 || CTAS == 2, "a block or a pair of them");
    if constexpr (CTAS == 1)
        asm volatile(
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(smem_u32(to)),
            "r"(columns)
            : "memory");
    else
        asm volatile(
            "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(smem_u32(to)),
            "r"(columns)
            : "memory");
}
template <int CTAS> DEV void tmem_relinquish() { // the block allocates no more
    if constexpr (CTAS == 1)
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    else
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}
template <int CTAS> DEV void tmem_dealloc(uint32_t address, int columns) {
    if constexpr (CTAS == 1)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address),
                     "r"(columns)
                     : "memory");
    else
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address),
                     "r"(columns)
                     : "memory");
}
// ---- order between threads: before what tells others, and after what was told ---------------------------
DEV void tcgen05_fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
DEV void tcgen05_fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
// ---- multiplies: one thread; D[M,N] (+)= A B of 32 bytes of k; row m is in lane m % 128, column n in column d + n.
// accumulate 0: overwrites. CTAS 2: M is 256; rows of A and D from 128 on, and the second half of B's columns, are the odd
// block's, at the same addresses ----
#define GPU_TCGEN05_MMA(what, ...)                                        \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"                \
                 "tcgen05.mma." what ", p; }" ::"r"(d),                   \
                 "l"(da), "l"(db), "r"(shape), "r"(accumulate)__VA_ARGS__ \
                 : "memory")
template <tcgen05_kind KIND, int CTAS>
DEV void tcgen05_mma(uint32_t d, uint64_t da, uint64_t db, uint32_t shape, int accumulate) {
    if constexpr (CTAS == 1) {
        if constexpr (KIND == tcgen05_kind::f16)
            GPU_TCGEN05_MMA("cta_group::1.kind::f16 [%0], %1, %2, %3", );
        else if constexpr (KIND == tcgen05_kind::tf32)
            GPU_TCGEN05_MMA("cta_group::1.kind::tf32 [%0], %1, %2, %3", );
        else
            GPU_TCGEN05_MMA("cta_group::1.kind::f8f6f4 [%0], %1, %2, %3", );
    } else {
        if constexpr (KIND == tcgen05_kind::f16)
            GPU_TCGEN05_MMA("cta_group::2.kind::f16 [%0], %1, %2, %3", );
        else if constexpr (KIND == tcgen05_kind::tf32)
            GPU_TCGEN05_MMA("cta_group::2.kind::tf32 [%0], %1, %2, %3", );
        else
            GPU_TCGEN05_MMA("cta_group::2.kind::f8f6f4 [%0], %1, %2, %3", );
    }
}
// nvfp4, 64 of k: a scale for every 16. Those of row m of A are the four bytes of column scales_a + m % 128 / 32, lane m % 32, and
// the same in the other three quarters of the lanes; of B likewise.
template <int CTAS>
DEV void tcgen05_mma_nvfp4(uint32_t d, uint64_t da, uint64_t db, uint32_t shape, int accumulate,
                           uint32_t scales_a, uint32_t scales_b) {
    if constexpr (CTAS == 1)
        GPU_TCGEN05_MMA("cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, "
                        "[%5], [%6]",
                        , "r"(scales_a), "r"(scales_b));
    else
        GPU_TCGEN05_MMA("cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, "
                        "[%5], [%6]",
                        , "r"(scales_a), "r"(scales_b));
}
// 512 bytes of shared memory to four columns, each quarter of the lanes the same; before later multiplies of the thread.
// CTAS 2: in both blocks, each from its own shared memory.
template <int CTAS> DEV void tcgen05_cp_scales(uint32_t to, uint64_t desc) {
    if constexpr (CTAS == 1)
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(desc)
                     : "memory");
    else
        asm volatile("tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(desc)
                     : "memory");
}
// An arrival on *bar once all multiplies and copies that the thread has begun are over; on the barriers at the same place of
// the blocks in `mask`.
template <int CTAS> DEV void tcgen05_commit(uint64_t *bar) {
    if constexpr (CTAS == 1)
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                smem_u32(bar))
            : "memory");
    else
        asm volatile(
            "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                smem_u32(bar))
            : "memory");
}
template <int CTAS> DEV void tcgen05_commit_multicast(uint64_t *bar, uint16_t mask) {
    if constexpr (CTAS == 1)
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::"
                     "cluster.b64 [%0], %1;" ::"r"(smem_u32(bar)),
                     "h"(mask)
                     : "memory");
    else
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::"
                     "cluster.b64 [%0], %1;" ::"r"(smem_u32(bar)),
                     "h"(mask)
                     : "memory");
}
// ---- registers from tensor memory: 32 columns of a warp's own lanes, 32 (warp % 4) and on; lane i its lane's -----
#define GPU_OUT4(i)  "=r"(r[i]), "=r"(r[i + 1]), "=r"(r[i + 2]), "=r"(r[i + 3])
#define GPU_OUT16(i) GPU_OUT4(i), GPU_OUT4(i + 4), GPU_OUT4(i + 8), GPU_OUT4(i + 12)
DEV void tcgen05_ld_x32(uint32_t *r, uint32_t address) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {" GPU_R32 "}, [%32];"
                 : GPU_OUT16(0), GPU_OUT16(16)
                 : "r"(address)
                 : "memory");
}
DEV void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
// The compiler does not know that the wait brings the registers: nothing of them moves across this.
template <int N> DEV void tcgen05_hold(uint32_t (&r)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+r"(r[i])::"memory");
}
// ---- TMA into this block's shared memory, counted by an mbarrier of the pair's even block, at the same place as *bar ----
DEV void tma_load_3d_pair(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1,
                          int c2) {
    asm volatile("{ .reg .b32 even, ra; mov.u32 even, %%cluster_ctarank; and.b32 even, even, 14; "
                 "mapa.shared::cluster.u32 ra, %2, even; "
                 "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
                 "cta_group::2 [%0], [%1, {%3,%4,%5}], [ra]; }" ::"r"(smem_u32(smem)),
                 "l"(map), "r"(smem_u32(bar)), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}
} // namespace gpu
#else
#include "emulated_tcgen05.h"
#endif
#endif
