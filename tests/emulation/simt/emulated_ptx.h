/* emulated_ptx.h - the interface of kernels/cuda/ptx.cuh on a CPU: each wrapper does on the simt runtime what the
 * instruction does, one fiber a CUDA thread. */
#ifndef EMULATED_PTX_H
#define EMULATED_PTX_H
#include "simt.h"
#include <cuda.h>
#include <time.h>

#define DEV inline
#define SMEM_ALIGNED(al, T, name, dims)                                                    \
    using simt_t_##name = T dims;                                                          \
    static const int simt_k_##name = ::simt::shared_key(#name, sizeof(simt_t_##name), al); \
    simt_t_##name &name = *static_cast<simt_t_##name *>(::simt::shared_static(simt_k_##name))
#define SMEM(T, name, dims)   SMEM_ALIGNED(alignof(T), T, name, dims)
#define DYN_SMEM(al, T, name) T *name = static_cast<T *>(::simt::shared_dynamic(al))

namespace gpu {
using simt::smem_u32;

// ---- cp.async (sm_80+) ----------------------------------------------------------------
DEV void cp_async16(void *smem, const void *gmem,
                    int src_bytes = 16) { // src_bytes < 16: zero fill
    simt::cp_async(smem, gmem, 16, src_bytes);
}
DEV void cp_async_commit() { simt::cp_async_commit(); }
template <int KEEP> DEV void cp_async_wait() { simt::cp_async_wait(KEEP); }
// ---- ldmatrix (sm_75+) ------------------------------------------------------------------
struct LdmIO {
    const char *row;
    uint32_t r[4];
};
template <int X, bool TRANS> inline void ldm_emu(uint32_t *r, const void *row) {
    LdmIO io{static_cast<const char *>(row), {}};
    if (simt::cur->lane < 8u * X) simt::note_read(row, 16);
    simt::warp_collective(
        ~0u, "ldmatrix", &io,
        [](void *const *in, uint32_t, const void *) {
            for (int j = 0; j < X; j++)
                for (int l = 0; l < 32; l++) {
                    uint16_t h[2];
                    for (int e = 0; e < 2; e++) {
                        int row = TRANS ? 2 * (l % 4) + e : l / 4,
                            col = TRANS ? l / 4 : 2 * (l % 4) + e;
                        const char *p = static_cast<LdmIO *>(in[8 * j + row])->row;
                        if (reinterpret_cast<uintptr_t>(p) % 16)
                            simt::fail("ldmatrix: row address misaligned");
                        if (!simt::is_shared(p))
                            simt::fail("ldmatrix: row address is not shared memory");
                        memcpy(&h[e], p + 2 * col, 2);
                    }
                    static_cast<LdmIO *>(in[l])->r[j] = h[0] | uint32_t(h[1]) << 16;
                }
        },
        nullptr);
    for (int j = 0; j < X; j++) r[j] = io.r[j];
}
DEV void ldmatrix_x4(uint32_t (&r)[4], const void *row) { ldm_emu<4, false>(r, row); }
DEV void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row) { ldm_emu<4, true>(r, row); }
// ---- stmatrix (sm_90+) --------------------------------------------------------------------
struct StmIO {
    char *row;
    const uint32_t *r;
};
template <int X, bool TRANS> inline void stm_emu(void *row, const uint32_t *r) {
    simt::need_cc(90, "stmatrix");
    StmIO io{static_cast<char *>(row), r};
    if (simt::cur->lane < 8u * X) {
        simt::note_write(row, 16);
        simt::note_ordinary_write(row, 16); /* strict: the lane that names the row has to fence */
    }
    simt::warp_collective(
        ~0u, "stmatrix", &io,
        [](void *const *in, uint32_t, const void *) {
            for (int j = 0; j < X; j++)
                for (int l = 0; l < 32; l++)
                    for (int e = 0; e < 2; e++) {
                        int row = TRANS ? 2 * (l % 4) + e : l / 4,
                            col = TRANS ? l / 4 : 2 * (l % 4) + e;
                        char *p = static_cast<StmIO *>(in[8 * j + row])->row;
                        if (reinterpret_cast<uintptr_t>(p) % 16)
                            simt::fail("stmatrix: row address misaligned");
                        if (!simt::is_shared(p))
                            simt::fail("stmatrix: row address is not shared memory");
                        const auto h = uint16_t(static_cast<StmIO *>(in[l])->r[j] >> 16 * e);
                        memcpy(p + 2 * col, &h, 2);
                    }
        },
        nullptr);
}
DEV void stmatrix_x4(void *row, const uint32_t (&r)[4]) { stm_emu<4, false>(row, r); }
// ---- mma.sync -----------------------------------------------------------------------------
inline float bf_f(uint32_t w, int i) { return __uint_as_float(i ? w & 0xffff0000u : w << 16); }
inline float hf_f(uint32_t w, int i) {
    __half_raw h;
    h.x = uint16_t(w >> 16 * i);
    return __half2float(__half(h));
}
template <__nv_fp8_interpretation_t F> inline float f8_f(uint32_t w, int i) {
    static const auto *tab = [] {
        auto *t = new float[256];
        for (int i = 0; i < 256; i++)
            t[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)i, F)));
        return t;
    }();
    return tab[w >> 8 * i & 255];
}
inline float tf_f(uint32_t w, int) { return __uint_as_float(w & 0xffffe000u); }
struct MmaIO {
    const uint32_t *a, *b;
    float *d;
    const float *c;
};
// m16n8, EPR elements per 32-bit register, K = 4*EPR*RB where RB = registers of B per thread
template <int EPR, int RB, float (*CVT)(uint32_t, int)>
inline void mma16x8_emu(float *d, const uint32_t *a, const uint32_t *b, const float *c,
                        const char *op) {
    MmaIO io{a, b, d, c};
    simt::warp_collective(
        ~0u, op, &io,
        [](void *const *in, uint32_t, const void *) {
            constexpr int K = 4 * EPR * RB;
            float A[16][K], B[K][8], D[16][8] = {};
            for (int l = 0; l < 32; l++) {
                auto *x = static_cast<MmaIO *>(in[l]);
                int g = l / 4, t = l % 4;
                for (int rb = 0; rb < RB; rb++)
                    for (int e = 0; e < EPR; e++) {
                        int k = rb * 4 * EPR + t * EPR + e;
                        A[g][k] = CVT(x->a[2 * rb], e);
                        A[g + 8][k] = CVT(x->a[2 * rb + 1], e);
                        B[k][g] = CVT(x->b[rb], e);
                    }
            }
            for (int m = 0; m < 16; m++)
                for (int k = 0; k < K; k++) {
                    float av = A[m][k];
                    for (int n = 0; n < 8; n++) D[m][n] += av * B[k][n];
                }
            for (int l = 0; l < 32; l++) {
                auto *x = static_cast<MmaIO *>(in[l]);
                int g = l / 4, t = l % 4;
                for (int i = 0; i < 4; i++) x->d[i] = x->c[i] + D[g + (i / 2) * 8][2 * t + i % 2];
            }
        },
        nullptr);
}
DEV void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma16x8_emu<2, 2, bf_f>(d, a, b, d, "mma.m16n8k16.bf16");
}
DEV void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma16x8_emu<2, 2, hf_f>(d, a, b, d, "mma.m16n8k16.f16");
}
DEV void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma16x8_emu<1, 2, tf_f>(d, a, b, d, "mma.m16n8k8.tf32");
}
DEV void mma_m16n8k32_e4m3(float (&d)[4], const uint32_t (&a)[4],
                           const uint32_t (&b)[2]) { // sm_89+
    simt::need_cc(89, "mma.m16n8k32.e4m3");
    mma16x8_emu<4, 2, f8_f<__NV_E4M3>>(d, a, b, d, "mma.m16n8k32.e4m3");
}
DEV void mma_m16n8k32_e5m2(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    simt::need_cc(89, "mma.m16n8k32.e5m2");
    mma16x8_emu<4, 2, f8_f<__NV_E5M2>>(d, a, b, d, "mma.m16n8k32.e5m2");
}
DEV void mma_m8n8k4_f64(double (&d)[2], double a, double b) {
    struct IO {
        double a, b, *d;
    } io{a, b, d};
    simt::warp_collective(
        ~0u, "mma.m8n8k4.f64", &io,
        [](void *const *in, uint32_t, const void *) {
            double A[8][4], B[4][8];
            for (int l = 0; l < 32; l++) {
                A[l / 4][l % 4] = ((IO *)in[l])->a;
                B[l % 4][l / 4] = ((IO *)in[l])->b;
            }
            for (int l = 0; l < 32; l++)
                for (int i = 0; i < 2; i++) {
                    double &o = ((IO *)in[l])->d[i];
                    for (int k = 0; k < 4; k++) o = fma(A[l / 4][k], B[k][2 * (l % 4) + i], o);
                }
        },
        nullptr);
}
// A: a[i] is row g + 8 (i % 2), column t + 4 (i / 2); B: b[i] is row t + 4 i, column g; D as in fp32.
DEV void mma_m16n8k16_f64(double (&d)[4], const double (&a)[8], const double (&b)[4]) { // sm_90+
    struct IO {
        const double *a, *b;
        double *d;
    } io{a, b, d};
    simt::warp_collective(
        ~0u, "mma.m16n8k16.f64", &io,
        [](void *const *in, uint32_t, const void *) {
            double A[16][16], B[16][8];
            for (int l = 0; l < 32; l++) {
                const int g = l / 4, t = l % 4;
                for (int i = 0; i < 8; i++)
                    A[g + 8 * (i % 2)][t + 4 * (i / 2)] = ((IO *)in[l])->a[i];
                for (int i = 0; i < 4; i++) B[t + 4 * i][g] = ((IO *)in[l])->b[i];
            }
            for (int l = 0; l < 32; l++)
                for (int i = 0; i < 4; i++) {
                    double &o = ((IO *)in[l])->d[i];
                    for (int k = 0; k < 16; k++)
                        o = fma(A[l / 4 + 8 * (i / 2)][k], B[k][2 * (l % 4) + i % 2], o);
                }
        },
        nullptr);
}
// Codes lie as bytes do in m16n8k32, two a byte, the lower four bits first. Thread t of four has the scales of row g + 8 t of A, t
// below 2, and thread 0 those of column g of B: byte i of the 16 elements of k from 16 i on.
inline float e2m1_f(uint32_t word, int i) {
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const uint32_t code = word >> 4 * i & 15;
    return code & 8 ? -values[code & 7] : values[code & 7];
}
DEV void mma_m16n8k64_nvfp4(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                            uint32_t a_scales, uint32_t b_scales) { // sm_120a
    simt::need_cc(120, "mma.m16n8k64 of nvfp4", true);
    struct IO {
        const uint32_t *a, *b;
        float *d;
        uint32_t a_scales, b_scales;
    } io{a, b, d, a_scales, b_scales};
    simt::warp_collective(
        ~0u, "mma.m16n8k64.nvfp4", &io,
        [](void *const *in, uint32_t, const void *) {
            const auto of = [in](int lane) { return static_cast<IO *>(in[lane]); };
            double A[16][64], B[64][8];
            for (int k = 0; k < 64; k++) {
                const int t = k % 32 / 8, r = k / 32, e = k % 8;
                for (int row = 0; row < 16; row++)
                    A[row][k] =
                        e2m1_f(of(row % 8 * 4 + t)->a[2 * r + row / 8], e) *
                        f8_f<__NV_E4M3>(of(row % 8 * 4 + row / 8)->a_scales & 0x7f7f7f7f, k / 16);
                for (int col = 0; col < 8; col++)
                    B[k][col] = e2m1_f(of(col * 4 + t)->b[r], e) *
                                f8_f<__NV_E4M3>(of(col * 4)->b_scales & 0x7f7f7f7f, k / 16);
            }
            for (int l = 0; l < 32; l++)
                for (int i = 0; i < 4; i++) {
                    double sum = 0;
                    for (int k = 0; k < 64; k++)
                        sum += A[l / 4 + 8 * (i / 2)][k] * B[k][2 * (l % 4) + i % 2];
                    of(l)->d[i] += static_cast<float>(sum);
                }
        },
        nullptr);
}
// ---- mbarrier / TMA / cluster (sm_90) ---------------------------------------------------------
DEV void mbar_init(uint64_t *bar, uint32_t count) { simt::mbar_init(bar, count); }
DEV void mbar_fence_init() { simt::mbar_fence_init(); }
DEV void fence_proxy_async() { simt::proxy_fence(); }
DEV void mbar_arrive_expect_tx(uint64_t *bar, uint32_t bytes) { simt::mbar_arrive(bar, 1, bytes); }
DEV void mbar_arrive(uint64_t *bar) { simt::mbar_arrive(bar, 1, 0); }
DEV void mbar_arrive_cluster(uint64_t *bar,
                             uint32_t cta) { // arrive on the same barrier of another CTA
    simt::mbar_arrive(static_cast<uint64_t *>(simt::map_rank(bar, cta)), 1, 0);
}
DEV void mbar_wait(uint64_t *bar, uint32_t parity) { simt::mbar_wait(bar, parity); }
DEV void tma_load_2d(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1) {
    int c[2] = {c0, c1};
    simt::tma_load(smem, map, bar, c, 2, 0);
}
DEV void tma_load_2d_multicast(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1,
                               uint16_t mask) {
    int c[2] = {c0, c1};
    simt::tma_load(smem, map, bar, c, 2, mask);
}
DEV void tma_load_3d(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1, int c2) {
    int c[3] = {c0, c1, c2};
    simt::tma_load(smem, map, bar, c, 3, 0);
}
DEV void tma_load_3d_multicast(void *smem, const CUtensorMap *map, uint64_t *bar, int c0, int c1,
                               int c2, uint16_t mask) {
    int c[3] = {c0, c1, c2};
    simt::tma_load(smem, map, bar, c, 3, mask);
}
DEV void tma_store_3d(const CUtensorMap *map, const void *smem, int c0, int c1, int c2) {
    int c[3] = {c0, c1, c2};
    simt::tma_store(map, smem, c, 3);
}
DEV void bulk_load(void *smem, const void *gmem, uint32_t bytes, uint64_t *bar) {
    simt::bulk_load(smem, gmem, bytes, bar);
}
DEV void bulk_store(void *gmem, const void *smem, uint32_t bytes) {
    simt::bulk_store(gmem, smem, bytes);
}
DEV void bulk_commit() { simt::bulk_commit(); }
template <int KEEP> DEV void bulk_wait_read() { simt::bulk_wait(KEEP); }
DEV uint32_t cluster_rank() { return simt::cluster_rank(); }
DEV uint32_t cluster_size() { return simt::cluster_size(); }
template <class T> DEV T *cluster_peer(T *smem, uint32_t cta) {
    return static_cast<T *>(simt::map_rank(smem, cta));
}
DEV void cluster_sync() { simt::cluster_barrier(true, true); }
DEV void cluster_arrive() { simt::cluster_barrier(true, false); }
DEV void cluster_wait() { simt::cluster_barrier(false, true); }
template <int R> DEV void setmaxnreg_inc() { simt::setmaxnreg(R, true); }
template <int R> DEV void setmaxnreg_dec() { simt::setmaxnreg(R, false); }
// ---- wgmma (sm_90a) ---------------------------------------------------------------------------
// Operands in shared memory, swizzled by 128 bytes: rows of 128 bytes, groups of 8 rows 1024 bytes
// apart (the stride offset). K-major: a row is 128 bytes of k, and there is no leading offset.
// MN-major, of 2-byte elements: a row is 64 elements of M or N at one k, `leading_bytes` is from
// those to the next 64.
DEV uint64_t wgmma_desc(const void *smem, uint32_t leading_bytes = 16) {
    return uint64_t((smem_u32(smem) & 0x3FFFF) >> 4) | uint64_t(leading_bytes >> 4) << 16 |
           uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
DEV void wgmma_fence() { simt::wgmma_fence(); }
DEV void wgmma_commit() { simt::wgmma_commit(); }
template <int KEEP> DEV void wgmma_wait() { simt::wgmma_wait(KEEP); }
enum class wgmma_type { bf16, f16, tf32, e4m3, e5m2 };
template <wgmma_type T, int N, int TRANS_A = 0, int TRANS_B = 0>
DEV void wgmma_m64(float (&d)[N / 2], uint64_t da, uint64_t db, int scale_d) {
    constexpr auto t = T == wgmma_type::bf16   ? simt::element::bf16
                       : T == wgmma_type::f16  ? simt::element::f16
                       : T == wgmma_type::tf32 ? simt::element::tf32
                       : T == wgmma_type::e4m3 ? simt::element::e4m3
                                               : simt::element::e5m2;
    float *at[N / 2];
    for (int i = 0; i < N / 2; i++) at[i] = &d[i];
    simt::wgmma(t, t, N, at, da, db, scale_d != 0, TRANS_A, TRANS_B);
}
template <int N> DEV void wgmma_hold(float (&)[N]) {}
// ---- named barrier ------------------------------------------------------------------------------
DEV void bar_sync(int id, int threads) {
    simt::barrier(id, threads, true, simt::reduction::none, false);
}

// ---- 32-byte accesses (sm_100+) ------------------------------------------------------------------
inline bool has_access32() {
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    return major >= 10;
}
template <bool STREAMING> DEV void load32(uint32_t (&r)[8], const void *p) {
    if (reinterpret_cast<uintptr_t>(p) % 32) simt::fail("misaligned 32-byte load at %p", p);
    memcpy(r, p, 32);
}
template <bool STREAMING> DEV void load32(uint64_t (&r)[4], const void *p) {
    if (reinterpret_cast<uintptr_t>(p) % 32) simt::fail("misaligned 32-byte load at %p", p);
    memcpy(r, p, 32);
}
template <bool STREAMING> DEV void store32(void *p, const uint32_t (&r)[8]) {
    if (reinterpret_cast<uintptr_t>(p) % 32) simt::fail("misaligned 32-byte store at %p", p);
    memcpy(p, r, 32);
}
template <bool STREAMING> DEV void store32(void *p, const uint64_t (&r)[4]) {
    if (reinterpret_cast<uintptr_t>(p) % 32) simt::fail("misaligned 32-byte store at %p", p);
    memcpy(p, r, 32);
}

inline float sqrt_approx(float x) { return sqrtf(x); }

// ---- clocks: time of the host; a multiprocessor of 1 GHz -----------------------------------------
inline uint64_t clock_ns() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}
inline uint64_t clock_cycles() { return clock_ns(); }
} // namespace gpu
#endif
