/* ptx.cuh - every inline-PTX wrapper of the CUDA kernels, one instruction each; and what replaces CUDA keywords that
 * a plain C++ compiler lacks. All pointers to shared memory are generic ones.
 *
 * Two bodies, one interface: under nvcc the PTX below; under g++ or clang++ (tests/emulation, found by its include path)
 * the same names run on the CPU, a fiber a CUDA thread. Kernels contain no asm, no __shared__ and no <<< >>>.
 * Source: PTX ISA 9.0. */
#ifndef PTX_CUH
#define PTX_CUH
#include <stddef.h>
#include <stdint.h>
#ifdef __CUDACC__
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#define DEV __device__ __forceinline__
/* In place of __shared__: SMEM(float, As, [16][64]). */
#define SMEM(T, name, dims) __shared__ T name dims
#define SMEM_ALIGNED(alignment, T, name, dims) \
    __shared__ __align__(alignment)            \
    T name dims
/* T *name = the dynamic shared memory of the launch. The alignment is part of the symbol: one symbol for all would give
 * every kernel the strictest of them. */
#define DYN_SMEM(alignment, T, name)            \
    extern __shared__ __align__(alignment)      \
    unsigned char dynamic_shared_##alignment[]; \
    T *name = reinterpret_cast<T *>(dynamic_shared_##alignment)

namespace gpu {

DEV uint32_t smem_u32(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// ---- cp.async (sm_80+) ----------------------------------------------------------------
DEV void cp_async16(void *smem, const void *gmem,
                    int src_bytes = 16) { // src_bytes < 16: zero fill
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smem_u32(smem)), "l"(gmem),
                 "r"(src_bytes)
                 : "memory");
}
DEV void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int KEEP> DEV void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(KEEP) : "memory");
}
// ---- ldmatrix (sm_75+) ------------------------------------------------------------------
DEV void ldmatrix_x4(uint32_t (&r)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem_u32(row))
                 : "memory");
}
DEV void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem_u32(row))
                 : "memory");
}
// ---- stmatrix (sm_90+): lane 8 i + r names row r of matrix i, as for ldmatrix ----------------
DEV void stmatrix_x4(void *row, const uint32_t (&r)[4]) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(smem_u32(row)),
        "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
        : "memory");
}
// ---- mma.sync -----------------------------------------------------------------------------
#define GPU_MMA_16x8(ptx, NB)                                     \
    asm volatile(ptx                                              \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
DEV void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    GPU_MMA_16x8(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};",
        2);
}
DEV void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    GPU_MMA_16x8(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};",
        2);
}
DEV void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    GPU_MMA_16x8(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};",
        2);
}
DEV void mma_m16n8k32_e4m3(float (&d)[4], const uint32_t (&a)[4],
                           const uint32_t (&b)[2]) { // sm_89+
#if __CUDA_ARCH__ >= 890
    GPU_MMA_16x8(
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};",
        2);
#else
    __trap();
#endif
}
DEV void mma_m16n8k32_e5m2(float (&d)[4], const uint32_t (&a)[4],
                           const uint32_t (&b)[2]) { // sm_89+
#if __CUDA_ARCH__ >= 890
    GPU_MMA_16x8(
        "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};",
        2);
#else
    __trap();
#endif
}
DEV void mma_m8n8k4_f64(double (&d)[2], double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a), "d"(b));
}
DEV void mma_m16n8k16_f64(double (&d)[4], const double (&a)[8],
                          const double (&b)[4]) { // sm_90+; taken apart on sm_100 and later
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                   "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
    __trap();
#endif
}
// Codes lie as bytes do in m16n8k32, two a byte, the lower four bits first. Thread t of four has the scales of row g + 8 t of A, t
// below 2, and thread 0 those of column g of B: byte i of the 16 elements of k from 16 i on.
DEV void mma_m16n8k64_nvfp4(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                            uint32_t a_scales, uint32_t b_scales) { // sm_120a
#if defined(__CUDA_ARCH_FEAT_SM120_ALL)
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32."
                 "e2m1.e2m1.f32.ue4m3 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, "
                 "%10, {0,0}, %11, {0,0};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
                   "r"(b_scales));
#else
    __trap();
#endif
}
// ---- mbarrier / TMA / cluster (sm_90) ---------------------------------------------------------
DEV void mbar_init(uint64_t *bar, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_u32(bar)), "r"(count)
                 : "memory");
}
DEV void mbar_fence_init() { // make inits visible to the async proxy and the cluster
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
DEV void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEV void mbar_arrive_expect_tx(uint64_t *bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_u32(bar)),
                 "r"(bytes)
                 : "memory");
}
DEV void mbar_arrive(uint64_t *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem_u32(bar)) : "memory");
}
DEV void mbar_arrive_cluster(uint64_t *bar,
                             uint32_t cta) { // arrive on the same barrier of another CTA
    asm volatile(
        "{ .reg .b32 ra; mapa.shared::cluster.u32 ra, %0, %1; "
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [ra]; }" ::"r"(smem_u32(bar)),
        "r"(cta)
        : "memory");
}
DEV void mbar_wait(uint64_t *bar, uint32_t parity) {
    asm volatile(
        "{ .reg .pred p; WAIT_%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra "
        "DONE_%=; bra WAIT_%=; DONE_%=: }" ::"r"(smem_u32(bar)),
        "r"(parity)
        : "memory");
}
DEV void tma_load_2d(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%3,%4}], [%2];" ::"r"(smem_u32(smem)),
        "l"(map), "r"(smem_u32(bar)), "r"(c0), "r"(c1)
        : "memory");
}
DEV void tma_load_2d_multicast(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1,
                               uint16_t mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
                 "multicast::cluster [%0], [%1, {%3,%4}], [%2], %5;" ::"r"(smem_u32(smem)),
                 "l"(map), "r"(smem_u32(bar)), "r"(c0), "r"(c1), "h"(mask)
                 : "memory");
}
DEV void tma_load_3d(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1, int c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%3,%4,%5}], [%2];" ::"r"(smem_u32(smem)),
        "l"(map), "r"(smem_u32(bar)), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}
DEV void tma_load_3d_multicast(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1,
                               int c2, uint16_t mask) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
                 "multicast::cluster [%0], [%1, {%3,%4,%5}], [%2], %6;" ::"r"(smem_u32(smem)),
                 "l"(map), "r"(smem_u32(bar)), "r"(c0), "r"(c1), "r"(c2), "h"(mask)
                 : "memory");
}
DEV void tma_store_3d(const CUtensorMap *map, const void *smem, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2,%3,%4}], "
                 "[%1];" ::"l"(map),
                 "r"(smem_u32(smem)), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}
// One dimension: multiples of 16 bytes at multiples of 16.
DEV void bulk_load(void *smem, const void *gmem, uint32_t bytes, uint64_t *bar) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(smem_u32(smem)),
        "l"(gmem), "r"(bytes), "r"(smem_u32(bar))
        : "memory");
}
DEV void bulk_store(void *gmem, const void *smem, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(gmem),
                 "r"(smem_u32(smem)), "r"(bytes)
                 : "memory");
}
DEV void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int KEEP> DEV void bulk_wait_read() { // sources of older stores may be overwritten
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(KEEP) : "memory");
}
#if __CUDA_ARCH__ >= 900
#define GPU_CLUSTER(...) asm volatile(__VA_ARGS__)
#else
#define GPU_CLUSTER(...) __trap()
#endif
DEV uint32_t cluster_rank() {
    uint32_t r = 0;
    GPU_CLUSTER("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
DEV uint32_t cluster_size() { // CTAs
    uint32_t n = 0;
    GPU_CLUSTER("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    return n;
}
template <class T> DEV T *cluster_peer(T *smem, uint32_t cta) { // the same variable of another CTA
    uint64_t p = 0;
    GPU_CLUSTER("mapa.u64 %0, %1, %2;" : "=l"(p) : "l"(smem), "r"(cta));
    return reinterpret_cast<T *>(p);
}
DEV void cluster_sync() {
    GPU_CLUSTER(
        "barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
            : "memory");
}
DEV void cluster_arrive() { // the first half of it, which does not wait
    GPU_CLUSTER("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
DEV void cluster_wait() { // the second half
    GPU_CLUSTER("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
template <int R> DEV void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(R));
}
template <int R> DEV void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(R));
}
// ---- wgmma (sm_90a) ---------------------------------------------------------------------------
// Operands in shared memory, swizzled by 128 bytes: rows of 128 bytes, groups of 8 rows 1024 bytes
// apart (the stride offset). K-major: a row is 128 bytes of k, and there is no leading offset.
// MN-major, of 2-byte elements: a row is 64 elements of M or N at one k, `leading_bytes` is from
// those to the next 64.
DEV uint64_t wgmma_desc(const void *smem, uint32_t leading_bytes = 16) {
    return uint64_t((smem_u32(smem) & 0x3FFFF) >> 4) | uint64_t(leading_bytes >> 4) << 16 |
           uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int KEEP> DEV void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(KEEP) : "memory");
}
// D[64,N] (+)= A B of 32 bytes of k, all threads of a warpgroup; scale_d 0: overwrites. TRANS: the
// operand is MN-major, which 2-byte elements may be. D[m][n] is in thread 32 (m / 16) + 4 (m % 8) +
// n % 8 / 2, register 4 (n / 8) + 2 (m / 8 % 2) + n % 2.
enum class wgmma_type { bf16, f16, tf32, e4m3, e5m2 };
#define GPU_R32                                                                  \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20," \
    "%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define GPU_R64                                                                     \
    GPU_R32                                                                         \
    ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50," \
    "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define GPU_R128                                                                    \
    GPU_R64                                                                         \
    ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82," \
    "%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,"     \
    "%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,"   \
    "%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define GPU_D4(i)  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GPU_D16(i) GPU_D4(i), GPU_D4(i + 4), GPU_D4(i + 8), GPU_D4(i + 12)
#define GPU_D32    GPU_D16(0), GPU_D16(16)
#define GPU_D64    GPU_D32, GPU_D16(32), GPU_D16(48)
#define GPU_D128   GPU_D64, GPU_D16(64), GPU_D16(80), GPU_D16(96), GPU_D16(112)
/* n accumulators; a, b, p: the operands after them; what is behind those, as text and as operands. */
#define GPU_WGMMA(shape, n, a, b, p, transposed, ...)                                             \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " p ", 0;\n"                                     \
                 "wgmma.mma_async.sync.aligned." shape " {" GPU_R##n "}, " a ", " b               \
                                                                     ", p, 1, 1" transposed "; }" \
                 : GPU_D##n                                                                       \
                 : "l"(da), "l"(db), "r"(scale_d)__VA_ARGS__)
#define GPU_WGMMA_OF(N, n, a, b, p, ta, tb)                                                   \
    if constexpr (T == wgmma_type::bf16)                                                      \
        GPU_WGMMA("m64n" #N "k16.f32.bf16.bf16", n, a, b, p, ", " ta ", " tb, , "n"(TRANS_A), \
                  "n"(TRANS_B));                                                              \
    else if constexpr (T == wgmma_type::f16)                                                  \
        GPU_WGMMA("m64n" #N "k16.f32.f16.f16", n, a, b, p, ", " ta ", " tb, , "n"(TRANS_A),   \
                  "n"(TRANS_B));                                                              \
    else if constexpr (T == wgmma_type::tf32)                                                 \
        GPU_WGMMA("m64n" #N "k8.f32.tf32.tf32", n, a, b, p, "", );                            \
    else if constexpr (T == wgmma_type::e4m3)                                                 \
        GPU_WGMMA("m64n" #N "k32.f32.e4m3.e4m3", n, a, b, p, "", );                           \
    else                                                                                      \
        GPU_WGMMA("m64n" #N "k32.f32.e5m2.e5m2", n, a, b, p, "", )
template <wgmma_type T, int N, int TRANS_A = 0, int TRANS_B = 0>
DEV void wgmma_m64(float (&d)[N / 2], uint64_t da, uint64_t db, int scale_d) {
    static_assert(T == wgmma_type::bf16 || T == wgmma_type::f16 || (!TRANS_A && !TRANS_B),
                  "others are K-major");
    static_assert(N == 64 || N == 128 || N == 256, "what is written out");
    if constexpr (N == 64) {
        GPU_WGMMA_OF(64, 32, "%32", "%33", "%34", "%35", "%36");
    } else if constexpr (N == 128) {
        GPU_WGMMA_OF(128, 64, "%64", "%65", "%66", "%67", "%68");
    } else {
        GPU_WGMMA_OF(256, 128, "%128", "%129", "%130", "%131", "%132");
    }
}
// The compiler does not know that a wait brings the accumulators: nothing of them moves across this.
template <int N> DEV void wgmma_hold(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}
// ---- named barrier ------------------------------------------------------------------------------
DEV void bar_sync(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- 32-byte accesses (sm_100+, PTX ISA 8.8) ------------------------------------------------------
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1209
DEV constexpr bool has_access32() { return true; }
#define GPU_ACCESS32(...) asm volatile(__VA_ARGS__)
#else
DEV constexpr bool has_access32() { return false; }
#define GPU_ACCESS32(...) __trap()
#endif
/* p is a multiple of 32; STREAMING: evict first */
template <bool STREAMING> DEV void load32(uint32_t (&r)[8], const void *p) {
#define GPU_LOAD32(ptx)                                                                    \
    GPU_ACCESS32(ptx " {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"                                   \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), \
                   "=r"(r[6]), "=r"(r[7])                                                  \
                 : "l"(p))
    if constexpr (STREAMING)
        GPU_LOAD32("ld.global.cs.v8.b32");
    else
        GPU_LOAD32("ld.global.v8.b32");
}
/* for elements of 64 bits, which would have to be put together otherwise */
template <bool STREAMING> DEV void load32(uint64_t (&r)[4], const void *p) {
#define GPU_LOAD32_B64(ptx)                                       \
    GPU_ACCESS32(ptx " {%0,%1,%2,%3}, [%4];"                      \
                 : "=l"(r[0]), "=l"(r[1]), "=l"(r[2]), "=l"(r[3]) \
                 : "l"(p))
    if constexpr (STREAMING)
        GPU_LOAD32_B64("ld.global.cs.v4.b64");
    else
        GPU_LOAD32_B64("ld.global.v4.b64");
}
template <bool STREAMING> DEV void store32(void *p, const uint32_t (&r)[8]) {
#define GPU_STORE32(ptx)                                                                    \
    GPU_ACCESS32(ptx " [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" ::"r"(r[0]), "r"(r[1]), "r"(r[2]), \
                 "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]), "l"(p)              \
                 : "memory")
    if constexpr (STREAMING)
        GPU_STORE32("st.global.cs.v8.b32");
    else
        GPU_STORE32("st.global.v8.b32");
}
template <bool STREAMING> DEV void store32(void *p, const uint64_t (&r)[4]) {
#define GPU_STORE32_B64(ptx)                                                                      \
    GPU_ACCESS32(ptx " [%4], {%0,%1,%2,%3};" ::"l"(r[0]), "l"(r[1]), "l"(r[2]), "l"(r[3]), "l"(p) \
                 : "memory")
    if constexpr (STREAMING)
        GPU_STORE32_B64("st.global.cs.v4.b64");
    else
        GPU_STORE32_B64("st.global.v4.b64");
}

// ---- square root to 2^-23 of the result -------------------------------------------------------------
DEV float sqrt_approx(float x) {
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// ---- clocks ---------------------------------------------------------------------------------------
DEV uint64_t clock_cycles() { /* of this multiprocessor */
    uint64_t t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}
DEV uint64_t clock_ns() { /* of the whole GPU; steps of 32 ns to 1 us by model */
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}
} // namespace gpu
#else
#include "emulated_ptx.h"
#endif
#endif
