/* selftest.cu - every wrapper of kernels/cuda/ptx.cuh, one instruction at a time on known operands: what lies where
 * in fragments, swizzles and descriptors, what waits for what. An ordinary CUDA program: on a GPU it says whether the
 * hardware does what the emulation does; compiled as C++ it runs there, from PTX too. Prints ok, FAIL or skip a wrapper;
 * exit 1 after a FAIL, 77 without a device. selftest [cc]: on the first device, or the first of that compute capability
 * (90). */
#include "../../kernels/cuda/launch.cuh"
#include "../../kernels/cuda/ptx_tcgen05.cuh"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmath>
#include <vector>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAS_SM90 1
#else
#define HAS_SM90 0
#endif
/* ptxas advises against multicast on sm_120, which our builds take for an error. */
#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
#define HAS_MULTICAST 1
#else
#define HAS_MULTICAST 0
#endif
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM120_ALL)
#define HAS_SM120A 1
#else
#define HAS_SM120A 0
#endif
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_SM90A 1
#else
#define HAS_SM90A 0
#endif

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
#define HAS_SM100A 1
#else
#define HAS_SM100A 0
#endif

/* ---- mma.sync: one warp, C[M,8] = A[M,K] B[K,8] + C; A by rows, B by columns ---- */

struct bf16_k16 {
    using type = __nv_bfloat16;
    static constexpr int K = 16;
    static DEV void run(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k16_bf16(d, a, b);
    }
};
struct f16_k16 {
    using type = __half;
    static constexpr int K = 16;
    static DEV void run(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k16_f16(d, a, b);
    }
};
struct tf32_k8 {
    using type = float;
    static constexpr int K = 8;
    static DEV void run(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k8_tf32(d, a, b);
    }
};
struct e4m3_k32 {
    using type = __nv_fp8_e4m3;
    static constexpr int K = 32;
    static DEV void run(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k32_e4m3(d, a, b);
    }
};
struct e5m2_k32 {
    using type = __nv_fp8_e5m2;
    static constexpr int K = 32;
    static DEV void run(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k32_e5m2(d, a, b);
    }
};

template <class T> DEV uint32_t word_at(const T *p) {
    return *reinterpret_cast<const uint32_t *>(p);
}

template <class OP>
__global__ void mma_kernel(const typename OP::type *A, const typename OP::type *B, float *C) {
    constexpr int K = OP::K, EACH = 4 / static_cast<int>(sizeof(typename OP::type));
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    uint32_t a[4], b[2];
    float d[4];
    for (int j = 0; j < 4; j++)
        a[j] = word_at(A + (g + 8 * (j % 2)) * K + EACH * (t + 4 * (j / 2)));
    for (int j = 0; j < 2; j++) b[j] = word_at(B + g * K + EACH * (t + 4 * j));
    for (int j = 0; j < 4; j++) d[j] = C[(g + 8 * (j / 2)) * 8 + 2 * t + j % 2];
    OP::run(d, a, b);
    for (int j = 0; j < 4; j++) C[(g + 8 * (j / 2)) * 8 + 2 * t + j % 2] = d[j];
}

__global__ void mma_f64_kernel(const double *A, const double *B, double *C) { /* A [8,4], B [8,4] */
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    double d[2] = {C[g * 8 + 2 * t], C[g * 8 + 2 * t + 1]};
    gpu::mma_m8n8k4_f64(d, A[g * 4 + t], B[g * 4 + t]);
    C[g * 8 + 2 * t] = d[0];
    C[g * 8 + 2 * t + 1] = d[1];
}

/* The tall one of sm_90, C[16,8]: a and b as above, an element a register. */
__global__ void mma_tall_f64_kernel(const double *A, const double *B, double *C) {
    constexpr int K = 16;
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    double a[K / 2], b[K / 4], d[4];
    for (int j = 0; j < K / 2; j++) a[j] = A[(g + 8 * (j % 2)) * K + t + 4 * (j / 2)];
    for (int j = 0; j < K / 4; j++) b[j] = B[g * K + t + 4 * j];
    for (int j = 0; j < 4; j++) d[j] = C[(g + 8 * (j / 2)) * 8 + 2 * t + j % 2];
    gpu::mma_m16n8k16_f64(d, a, b);
    for (int j = 0; j < 4; j++) C[(g + 8 * (j / 2)) * 8 + 2 * t + j % 2] = d[j];
}

/* ---- nvfp4: C[16,8] += A[16,64] B[8,64] of two codes a byte, a scale every 16 of k; the threads that give none give NaN ---- */

__global__ void mma_nvfp4_kernel(const unsigned char *A, const uint32_t *a_scales,
                                 const unsigned char *B, const uint32_t *b_scales, float *C) {
#if HAS_SM120A
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const uint32_t nan = 0x7f7f7f7fu;
    uint32_t a[4], b[2];
    float d[4];
    for (int j = 0; j < 4; j++) a[j] = word_at(A + (g + 8 * (j % 2)) * 32 + 4 * (t + 4 * (j / 2)));
    for (int j = 0; j < 2; j++) b[j] = word_at(B + g * 32 + 4 * (t + 4 * j));
    for (int j = 0; j < 4; j++) d[j] = C[(g + 8 * (j / 2)) * 8 + 2 * t + j % 2];
    gpu::mma_m16n8k64_nvfp4(d, a, b, t < 2 ? a_scales[g + 8 * t] : nan, t == 0 ? b_scales[g] : nan);
    for (int j = 0; j < 4; j++) C[(g + 8 * (j / 2)) * 8 + 2 * t + j % 2] = d[j];
#endif
}

/* ---- ldmatrix: 32 rows of eight 16-bit elements, out[lane][register][half] ---- */

template <bool TRANS> __global__ void ldmatrix_kernel(const uint16_t *in, uint32_t *out) {
    SMEM_ALIGNED(16, uint16_t, s, [32][8]);
    const int lane = threadIdx.x;
    uint32_t r[4];
    for (int i = 0; i < 8; i++) s[lane][i] = in[lane * 8 + i];
    __syncwarp();                  /* rows are written */
    const void *row = s[lane ^ 5]; /* not in order: the address decides, not the lane */
    if (TRANS)
        gpu::ldmatrix_x4_trans(r, row);
    else
        gpu::ldmatrix_x4(r, row);
    for (int j = 0; j < 4; j++) out[lane * 4 + j] = r[j];
}

/* ---- cp.async: out[0] while the second group may be under way, out[1] after it, cut off by lane ---- */

__global__ void cp_async_kernel(const unsigned char *in, unsigned char *out) {
    SMEM_ALIGNED(16, unsigned char, s, [2][32][16]);
    const int lane = threadIdx.x;
    gpu::cp_async16(s[0][lane], in + lane * 16);
    gpu::cp_async_commit();
    gpu::cp_async16(s[1][lane], in + 512 + lane * 16, lane % 17);
    gpu::cp_async_commit();
    gpu::cp_async_wait<1>();
    for (int i = 0; i < 16; i++) out[lane * 16 + i] = s[0][lane][i];
    gpu::cp_async_wait<0>();
    for (int i = 0; i < 16; i++) out[512 + lane * 16 + i] = s[1][lane][i];
}

/* ---- bar.sync: two warps of three meet ---- */

__global__ void bar_sync_kernel(int *out) {
    SMEM(int, s, [32]);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0) s[lane] = 3 * lane;
    if (warp < 2) gpu::bar_sync(1, 64); /* what warp 0 wrote */
    if (warp == 1) out[lane] = s[31 - lane];
}

/* ---- 32-byte accesses: each thread's words in the opposite order ---- */

template <class WORD, bool STREAMING> __global__ void access32_kernel(const WORD *in, WORD *out) {
    constexpr int N = 32 / static_cast<int>(sizeof(WORD));
    if (!gpu::has_access32()) return;
    WORD r[N], turned[N];
    gpu::load32<STREAMING>(r, in + threadIdx.x * N);
    for (int i = 0; i < N; i++) turned[N - 1 - i] = r[i];
    gpu::store32<STREAMING>(out + threadIdx.x * N, turned);
}

/* ---- sqrt.approx ---- */

__global__ void sqrt_approx_kernel(const float *in, float *out) {
    out[threadIdx.x] = gpu::sqrt_approx(in[threadIdx.x]);
}

/* ---- clocks ---- */

__global__ void clock_test_kernel(int *out) {
    const uint64_t ns = gpu::clock_ns(), cycles = gpu::clock_cycles();
    while (gpu::clock_ns() == ns) continue;
    out[0] = gpu::clock_ns() > ns;
    out[1] = gpu::clock_cycles() > cycles;
}

/* ---- mbarriers: 32 arrivals a phase, two phases ---- */

__global__ void mbarrier_kernel(int *out) {
#if HAS_SM90
    SMEM(uint64_t, bar, [1]);
    SMEM(int, s, [2][32]);
    const int lane = threadIdx.x;
    if (lane == 0) {
        gpu::mbar_init(bar, 32);
        gpu::mbar_fence_init();
    }
    __syncwarp(); /* the barrier is there */
    for (int phase = 0; phase < 2; phase++) {
        s[phase][lane] = lane + 100 * phase;
        gpu::mbar_arrive(bar);
        gpu::mbar_wait(bar, static_cast<uint32_t>(phase));
        out[phase * 32 + lane] = s[phase][31 - lane];
    }
#endif
}

/* ---- TMA: a box of 8 rows of 64 bf16 at column 32, row 20 of a [24,96] matrix, swizzled by 128 bytes ---- */

__global__ void tma_kernel(const __grid_constant__ CUtensorMap map, uint16_t *out) {
#if HAS_SM90
    SMEM_ALIGNED(1024, uint16_t, tile, [8 * 64]);
    SMEM(uint64_t, bar, [1]);
    if (threadIdx.x == 0) {
        gpu::mbar_init(bar, 1);
        gpu::mbar_fence_init();
    }
    __syncwarp(); /* the barrier is there */
    if (threadIdx.x == 0) {
        gpu::mbar_arrive_expect_tx(bar, sizeof tile);
        gpu::tma_load_2d(tile, &map, bar, 32, 20);
    }
    gpu::mbar_wait(bar, 0);
    for (int i = threadIdx.x; i < 8 * 64; i += 32) out[i] = tile[i];
#endif
}

/* ---- clusters of two: each block loads half of the box for both, and arrives on both blocks' second barrier ---- */

__global__ void cluster_kernel(const __grid_constant__ CUtensorMap map, uint16_t *out, int *ranks) {
#if HAS_MULTICAST
    SMEM_ALIGNED(1024, uint16_t, tile, [16 * 64]);
    SMEM(uint64_t, bar, [2]);
    const uint32_t rank = gpu::cluster_rank();
    if (threadIdx.x == 0) {
        gpu::mbar_init(&bar[0], 1);
        gpu::mbar_init(&bar[1], 2);
        gpu::mbar_fence_init();
        gpu::mbar_arrive_expect_tx(&bar[0], sizeof tile);
    }
    gpu::cluster_sync(); /* both blocks' barriers are there */
    if (threadIdx.x == 0)
        gpu::tma_load_2d_multicast(tile + rank * 8 * 64, &map, &bar[0], 32,
                                   static_cast<int>(8 * rank), 3);
    gpu::mbar_wait(&bar[0], 0);
    for (int i = threadIdx.x; i < 16 * 64; i += 32) out[blockIdx.x * 16 * 64 + i] = tile[i];
    if (threadIdx.x < 2) gpu::mbar_arrive_cluster(&bar[1], threadIdx.x);
    gpu::mbar_wait(&bar[1], 0); /* one arrival of each block */
    if (threadIdx.x == 0) ranks[blockIdx.x] = static_cast<int>(rank);
    gpu::cluster_sync(); /* no block ends while the other may still reach for it */
#endif
}

/* ---- another block's shared memory: each writes into the next one's, once that runs ---- */

__global__ void peer_kernel(int *out, int *sizes) {
#if HAS_SM90
    SMEM(int, box, [32]);
    const uint32_t rank = gpu::cluster_rank(), blocks = gpu::cluster_size();
    const int lane = threadIdx.x;
    gpu::cluster_arrive(); /* this block runs */
    gpu::cluster_wait();   /* so does every other */
    *gpu::cluster_peer(&box[lane], (rank + 1) % blocks) = static_cast<int>(100 * rank) + lane;
    gpu::cluster_sync(); /* all have written */
    out[blockIdx.x * 32 + lane] = box[lane];
    if (lane == 0) sizes[blockIdx.x] = static_cast<int>(blocks);
#endif
}

/* ---- stmatrix: 32 rows of eight 16-bit elements, from in[lane][register][half] ---- */

__global__ void stmatrix_kernel(const uint32_t *in, uint16_t *out) {
#if HAS_SM90
    SMEM_ALIGNED(16, uint16_t, s, [32][8]);
    const int lane = threadIdx.x;
    uint32_t r[4];
    for (int j = 0; j < 4; j++) r[j] = in[lane * 4 + j];
    gpu::stmatrix_x4(s[lane ^ 5], r);
    __syncwarp(); /* all rows are written */
    for (int i = 0; i < 8; i++) out[lane * 8 + i] = s[lane][i];
#endif
}

/* ---- TMA of three dimensions: a box of 8 rows of 64 bf16 of one of several matrices is loaded, and stored elsewhere in two
 * parts, of which the second waits for the first; both go beyond the matrix' end ---- */

__global__ void tma_3d_kernel(const __grid_constant__ CUtensorMap from,
                              const __grid_constant__ CUtensorMap to, uint16_t *out) {
#if HAS_SM90
    SMEM_ALIGNED(1024, uint16_t, tile, [8 * 64]);
    SMEM(uint64_t, bar, [1]);
    const int lane = threadIdx.x;
    if (lane == 0) {
        gpu::mbar_init(bar, 1);
        gpu::mbar_fence_init();
        gpu::mbar_arrive_expect_tx(bar, sizeof tile);
        gpu::tma_load_3d(tile, &from, bar, 32, 20, 1);
    }
    __syncwarp(); /* the barrier is there */
    gpu::mbar_wait(bar, 0);
    for (int i = lane; i < 8 * 64; i += 32) out[i] = tile[i];
    __syncwarp(); /* all have read */
    if (lane == 0) {
        gpu::tma_store_3d(&to, tile, 64, 3, 2);
        gpu::bulk_commit();
        gpu::bulk_wait_read<0>();
    }
    __syncwarp(); /* the tile may be overwritten */
    for (int i = lane; i < 8 * 64; i += 32) tile[i] = static_cast<uint16_t>(7000 + i);
    gpu::fence_proxy_async(); /* the store reads through the asynchronous proxy */
    __syncwarp();             /* all of it is written */
    if (lane == 0) {
        gpu::tma_store_3d(&to, tile, 0, 20, 1);
        gpu::bulk_commit();
        gpu::bulk_wait_read<0>();
    }
#endif
}

/* ---- bulk copies of one dimension: two loads into each half, which is stored where the other came from, and overwritten once
 * it is read ---- */

__global__ void bulk_kernel(const unsigned char *in, unsigned char *out) {
#if HAS_SM90
    SMEM_ALIGNED(16, unsigned char, s, [2][512]);
    SMEM(uint64_t, bar, [2]);
    const int lane = threadIdx.x;
    if (lane == 0) {
        gpu::mbar_init(&bar[0], 1);
        gpu::mbar_init(&bar[1], 1);
        gpu::mbar_fence_init();
        for (int half = 0; half < 2; half++) {
            gpu::mbar_arrive_expect_tx(&bar[half], 496);
            gpu::bulk_load(s[half] + 16, in + 512 * half + 32, 480, &bar[half]);
            gpu::bulk_load(s[half], in + 512 * half, 16, &bar[half]);
        }
    }
    __syncwarp(); /* the barriers are there */
    for (int half = 0; half < 2; half++) {
        gpu::mbar_wait(&bar[half], 0);
        out[1024 + 32 * half + lane] = s[half][15 * lane];
        if (lane == 0) {
            gpu::bulk_store(out + 512 * (1 - half), s[half], 496);
            gpu::bulk_commit();
            gpu::bulk_wait_read<0>();
        }
        __syncwarp(); /* the half may be overwritten */
        for (int i = lane; i < 512; i += 32) s[half][i] = 7;
    }
#endif
}

/* ---- the same for both blocks of a cluster ---- */

__global__ void tma_3d_multicast_kernel(const __grid_constant__ CUtensorMap map, uint16_t *out) {
#if HAS_MULTICAST
    SMEM_ALIGNED(1024, uint16_t, tile, [8 * 64]);
    SMEM(uint64_t, bar, [1]);
    if (threadIdx.x == 0) {
        gpu::mbar_init(bar, 1);
        gpu::mbar_fence_init();
        gpu::mbar_arrive_expect_tx(bar, sizeof tile);
    }
    gpu::cluster_sync(); /* both blocks' barriers are there */
    if (threadIdx.x == 0 && gpu::cluster_rank() == 1)
        gpu::tma_load_3d_multicast(tile, &map, bar, 32, 20, 1, 3);
    gpu::mbar_wait(bar, 0);
    for (int i = threadIdx.x; i < 8 * 64; i += 32) out[blockIdx.x * 8 * 64 + i] = tile[i];
    gpu::cluster_sync(); /* no block ends before it has its tile */
#endif
}

/* ---- wgmma: D[64,N] (+)= A[64,K] B[N,K] of 128 bytes of k, swizzled by 128 bytes; K-major, or TRANS ---- */

/* rows x 128 bytes, the form of a K-major operand; or, with TRANS, [64 of k][rows] in boxes of 64 rows. */
template <class T, int TRANS> DEV void stage_operand(T *to, const T *from, int rows) {
    constexpr int K = 128 / static_cast<int>(sizeof(T)), CHUNK = 16 / static_cast<int>(sizeof(T));
    for (int i = threadIdx.x; i < rows * K; i += 128) {
        const int row = i / K, k = i % K, y = TRANS ? row / 64 * 64 + k : row,
                  x = TRANS ? row % 64 : k;
        to[y * K + (x / CHUNK ^ y % 8) * CHUNK + x % CHUNK] = from[i];
    }
}

template <class T, gpu::wgmma_type TYPE, int N, int TRANS>
__global__ void __launch_bounds__(128)
    wgmma_kernel(const T *A, const T *B, float *D, int accumulate) {
#if HAS_SM90A
    constexpr int K = 128 / static_cast<int>(sizeof(T));
    DYN_SMEM(1024, T, As);
    T *Bs = As + 64 * K;
    stage_operand<T, TRANS>(As, A, 64);
    stage_operand<T, TRANS>(Bs, B, N);
    gpu::fence_proxy_async(); /* tensor cores read through the asynchronous proxy */
    __syncthreads();          /* all of the tiles is written */
    float d[N / 2];
    for (int i = 0; i < N / 2; i++) d[i] = 1;
    gpu::wgmma_hold(d); /* before the fence */
    const uint64_t a = TRANS ? gpu::wgmma_desc(As, 64 * 128) : gpu::wgmma_desc(As),
                   b = TRANS ? gpu::wgmma_desc(Bs, 64 * 128) : gpu::wgmma_desc(Bs);
    const int step = TRANS ? 16 * 128 / 16 : 32 / 16; /* in a descriptor's units of 16 bytes */
    gpu::wgmma_fence();
    for (int k = 0; k < 4; k++)
        gpu::wgmma_m64<TYPE, N, TRANS, TRANS>(d, a + static_cast<uint64_t>(step * k),
                                              b + static_cast<uint64_t>(step * k),
                                              k > 0 || accumulate);
    gpu::wgmma_commit();
    gpu::wgmma_wait<0>();
    gpu::wgmma_hold(d);
    const int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4, col = t % 4 * 2;
    for (int j = 0; j < N / 2; j++)
        D[(row + 8 * (j / 2 % 2)) * N + 8 * (j / 4) + col + j % 2] = d[j];
#endif
}

/* ---- setmaxnreg: registers of one warpgroup for two others; 384 threads start with 168 each ---- */

__global__ void __launch_bounds__(384, 1) setmaxnreg_kernel(int *out) {
#if HAS_SM90A
    if (threadIdx.x < 128)
        gpu::setmaxnreg_dec<40>();
    else
        gpu::setmaxnreg_inc<232>();
    out[threadIdx.x] = static_cast<int>(threadIdx.x);
#endif
}

/* ---- elect.sync: one lane of each of two warps ---- */

__global__ void elect_kernel(int *out) {
#if HAS_SM90
    if (gpu::elect_one()) atomicAdd(&out[threadIdx.x / 32], 1);
#endif
}

/* ---- tcgen05: D[128,N] = A[128,K] B[N,K] of 128 bytes of k, once or twice, as wgmma's; four warps read it ---- */

/* Row t of tensor memory, N columns from d on. */
template <int N> DEV void read_tensor_memory(float *D, uint32_t d) {
    const uint32_t t = threadIdx.x, lanes = t / 32 * 32 << 16;
    for (int c = 0; c < N; c += 64) { /* two loads before one wait */
        uint32_t r[64];
        gpu::tcgen05_ld_x32(r, d + lanes + static_cast<uint32_t>(c));
        if (N > 32) gpu::tcgen05_ld_x32(r + 32, d + lanes + static_cast<uint32_t>(c) + 32);
        gpu::tcgen05_wait_ld();
        gpu::tcgen05_hold(r);
        for (int i = 0; i < (N > 32 ? 64 : 32); i++) D[t * N + c + i] = __uint_as_float(r[i]);
    }
    gpu::tcgen05_fence_before();
}

template <class T, gpu::tcgen05_kind KIND, uint32_t FORMAT, int N, int TRANS_A, int TRANS_B>
__global__ void __launch_bounds__(128)
    tcgen05_kernel(const T *A, const T *B, float *D, int accumulate) {
#if HAS_SM100A
    constexpr int K = 128 / static_cast<int>(sizeof(T));
    DYN_SMEM(1024, T, As);
    SMEM(uint64_t, bar, [1]);
    SMEM(uint32_t, memory, [1]);
    T *Bs = As + 128 * K;
    stage_operand<T, TRANS_A>(As, A, 128);
    stage_operand<T, TRANS_B>(Bs, B, N);
    gpu::fence_proxy_async(); /* tensor cores read through the asynchronous proxy */
    if (threadIdx.x == 0) {
        gpu::mbar_init(bar, 1);
        gpu::mbar_fence_init();
    }
    if (threadIdx.x < 32) {
        gpu::tmem_alloc<1>(memory, N);
        gpu::tmem_relinquish<1>();
    }
    __syncthreads(); /* operands, the barrier and the address are there */
    gpu::tcgen05_fence_after();
    const uint32_t d = *memory;
    if (threadIdx.x == 0) {
        const uint64_t a = TRANS_A ? gpu::tcgen05_desc(As, 64 * 128) : gpu::tcgen05_desc(As),
                       b = TRANS_B ? gpu::tcgen05_desc(Bs, 64 * 128) : gpu::tcgen05_desc(Bs);
        /* in a descriptor's units of 16 bytes */
        const uint64_t step_a = TRANS_A ? 128 : 2, step_b = TRANS_B ? 128 : 2;
        for (uint64_t k = 0; k < (accumulate ? 8 : 4); k++)
            gpu::tcgen05_mma<KIND, 1>(d, a + step_a * (k % 4), b + step_b * (k % 4),
                                      gpu::tcgen05_shape(FORMAT, 128, N, TRANS_A, TRANS_B), k > 0);
        gpu::tcgen05_commit<1>(bar);
    }
    gpu::mbar_wait(bar, 0);
    gpu::tcgen05_fence_after();
    read_tensor_memory<N>(D, d);
    __syncthreads(); /* all have read */
    gpu::tcgen05_fence_after();
    if (threadIdx.x < 32) gpu::tmem_dealloc<1>(d, N);
#endif
}

/* ---- a pair of blocks: D[256,N], each block half of A's rows and of B's ---- */

template <class T, gpu::tcgen05_kind KIND, uint32_t FORMAT, int N>
__global__ void __launch_bounds__(128) tcgen05_pair_kernel(const T *A, const T *B, float *D) {
#if HAS_SM100A
    constexpr int K = 128 / static_cast<int>(sizeof(T));
    DYN_SMEM(1024, T, As);
    SMEM(uint64_t, bar, [2]);
    SMEM(uint32_t, memory, [1]);
    const uint32_t rank = gpu::cluster_rank();
    T *Bs = As + 128 * K;
    stage_operand<T, 0>(As, A + rank * 128 * K, 128);
    stage_operand<T, 0>(Bs, B + rank * (N / 2) * K, N / 2);
    gpu::fence_proxy_async(); /* tensor cores read through the asynchronous proxy */
    if (threadIdx.x == 0) {
        gpu::mbar_init(&bar[0], 1);
        gpu::mbar_init(&bar[1], 1);
        gpu::mbar_fence_init();
    }
    if (threadIdx.x < 32) {
        gpu::tmem_alloc<2>(memory, N);
        gpu::tmem_relinquish<2>();
    }
    gpu::cluster_sync(); /* both blocks' operands, barriers and memory are there */
    gpu::tcgen05_fence_after();
    const uint32_t d = *memory;
    if (threadIdx.x == 0 && rank == 0) {
        const uint64_t a = gpu::tcgen05_desc(As), b = gpu::tcgen05_desc(Bs);
        for (uint64_t k = 0; k < 4; k++)
            gpu::tcgen05_mma<KIND, 2>(d, a + 2 * k, b + 2 * k, gpu::tcgen05_shape(FORMAT, 256, N),
                                      k > 0);
        gpu::tcgen05_commit_multicast<2>(&bar[0], 3);
        gpu::tcgen05_commit<2>(&bar[1]);
    }
    gpu::mbar_wait(&bar[0], 0);
    if (rank == 0) gpu::mbar_wait(&bar[1], 0);
    gpu::tcgen05_fence_after();
    read_tensor_memory<N>(D + rank * 128 * N, d);
    gpu::cluster_sync(); /* all have read, and no block is gone before its pair is done */
    gpu::tcgen05_fence_after();
    if (threadIdx.x < 32) gpu::tmem_dealloc<2>(d, N);
#endif
}

/* ---- TMA of a pair: each block loads 8 rows of 64 bf16 at column 32, row 8 x rank, counted by the even block's barrier ---- */

__global__ void tma_pair_kernel(const __grid_constant__ CUtensorMap map, uint16_t *out) {
#if HAS_SM100A
    SMEM_ALIGNED(1024, uint16_t, tile, [8 * 64]);
    SMEM(uint64_t, bar, [1]);
    const int rank = static_cast<int>(gpu::cluster_rank());
    if (threadIdx.x == 0) {
        gpu::mbar_init(bar, 1);
        gpu::mbar_fence_init();
    }
    gpu::cluster_sync(); /* the even block's barrier is there */
    if (threadIdx.x == 0) {
        if (rank == 0) gpu::mbar_arrive_expect_tx(bar, 2 * sizeof tile);
        gpu::tma_load_3d_pair(tile, &map, bar, 32, 8 * rank, 1);
    }
    if (rank == 0) gpu::mbar_wait(bar, 0);
    gpu::cluster_sync(); /* both tiles are there */
    for (int i = threadIdx.x; i < 8 * 64; i += 32) out[blockIdx.x * 8 * 64 + i] = tile[i];
#endif
}

/* ---- nvfp4: 256 of k in rows of 128 bytes, a scale for 16 of them: scales[row][16]; CTAS blocks ---- */

/* rows x 16 scales as tcgen05.cp wants them: of 64 of k and 128 rows 512 bytes; `tiles` of those rows. */
DEV void stage_scales(unsigned char *to, const unsigned char *from, int rows) {
    for (int i = threadIdx.x; i < rows * 16; i += 128) {
        const int row = i / 16, which = i % 16;
        to[(which / 4 * ((rows + 127) / 128) + row / 128) * 512 + row % 32 * 16 +
           row % 128 / 32 * 4 + which % 4] = from[i];
    }
}

template <int CTAS, int N>
__global__ void __launch_bounds__(128)
    tcgen05_nvfp4_kernel(const unsigned char *A, const unsigned char *B,
                         const unsigned char *scales_a, const unsigned char *scales_b, float *D) {
#if HAS_SM100A
    constexpr int TILES = N / 128;
    DYN_SMEM(1024, unsigned char, As); /* [128][128] of A, [N / CTAS][128] of B, scales of both */
    SMEM(uint64_t, bar, [1]);
    SMEM(uint32_t, memory, [1]);
    const uint32_t rank = CTAS == 2 ? gpu::cluster_rank() : 0;
    unsigned char *Bs = As + 128 * 128, *Sa = Bs + N / CTAS * 128, *Sb = Sa + 4 * 512;
    stage_operand<unsigned char, 0>(As, A + rank * 128 * 128, 128);
    stage_operand<unsigned char, 0>(Bs, B + rank * (N / CTAS) * 128, N / CTAS);
    stage_scales(Sa, scales_a + rank * 128 * 16, 128);
    stage_scales(Sb, scales_b, N);
    gpu::fence_proxy_async(); /* tensor cores read through the asynchronous proxy */
    if (threadIdx.x == 0) {
        gpu::mbar_init(bar, 1);
        gpu::mbar_fence_init();
    }
    if (threadIdx.x < 32) {
        gpu::tmem_alloc<CTAS>(memory, 512);
        gpu::tmem_relinquish<CTAS>();
    }
    if (CTAS == 2)
        gpu::cluster_sync(); /* as above */
    else
        __syncthreads(); /* as above */
    gpu::tcgen05_fence_after();
    const uint32_t d = *memory, at_a = d + 256, at_b = at_a + 4;
    if (threadIdx.x == 0 && rank == 0) {
        const uint64_t a = gpu::tcgen05_desc(As), b = gpu::tcgen05_desc(Bs);
        for (int k = 0; k < 4; k++) {
            gpu::tcgen05_cp_scales<CTAS>(at_a, gpu::tcgen05_scales_desc(Sa + k * 512));
            for (int i = 0; i < TILES; i++)
                gpu::tcgen05_cp_scales<CTAS>(at_b + 4 * i,
                                             gpu::tcgen05_scales_desc(Sb + (k * TILES + i) * 512));
            gpu::tcgen05_mma_nvfp4<CTAS>(
                d, a + static_cast<uint64_t>(2 * k), b + static_cast<uint64_t>(2 * k),
                gpu::tcgen05_shape_nvfp4(128 * CTAS, N), k > 0, at_a, at_b);
        }
        gpu::tcgen05_commit_multicast<CTAS>(bar, CTAS == 2 ? 3 : 1);
    }
    gpu::mbar_wait(bar, 0);
    gpu::tcgen05_fence_after();
    read_tensor_memory<N>(D + rank * 128 * N, d);
    if (CTAS == 2)
        gpu::cluster_sync(); /* all have read */
    else
        __syncthreads(); /* all have read */
    gpu::tcgen05_fence_after();
    if (threadIdx.x < 32) gpu::tmem_dealloc<CTAS>(d, 512);
#endif
}

/* ---- the host's part ---- */

static int failures;

static void must(cudaError_t e, const char *what) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "selftest: %s: %s\n", what, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
}

static void report(const char *name, bool ok) {
    printf("%-24s %s\n", name, ok ? "ok" : "FAIL");
    fflush(stdout);
    failures += !ok;
}

/* n elements on the device, freed at the end of their scope. */
template <class T> struct buffer {
    T *p;
    size_t n;
    explicit buffer(const std::vector<T> &from) : p(nullptr), n(from.size()) {
        must(cudaMalloc(reinterpret_cast<void **>(&p), n * sizeof(T)), "cudaMalloc");
        must(cudaMemcpy(p, from.data(), n * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    ~buffer() { cudaFree(p); }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    std::vector<T> read() const {
        std::vector<T> to(n);
        must(cudaDeviceSynchronize(), "the kernel");
        must(cudaMemcpy(to.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return to;
    }
};

static launch_config threads(unsigned n) {
    launch_config c;
    c.block = dim3(n);
    return c;
}

/* -2 to 2, exact in every format; sums of products stay exact. */
static float small_integer() {
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u; /* Numerical Recipes, section 7.1 */
    return static_cast<float>(static_cast<int>((state >> 16) % 5) - 2);
}
template <class T> static std::vector<T> small_integers(size_t n) {
    std::vector<T> v;
    for (size_t i = 0; i < n; i++) v.push_back(T(small_integer()));
    return v;
}

/* C[m,n] += sum over k of A[m,k] B[n,k] */
template <class T, class C>
static void multiply(const std::vector<T> &A, const std::vector<T> &B, std::vector<C> &c, int M,
                     int N, int K) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            for (int k = 0; k < K; k++)
                c[static_cast<size_t>(m * N + n)] +=
                    static_cast<C>(static_cast<float>(A[static_cast<size_t>(m * K + k)])) *
                    static_cast<C>(static_cast<float>(B[static_cast<size_t>(n * K + k)]));
}

template <class OP> static void test_mma(const char *name) {
    using type = typename OP::type;
    const auto A = small_integers<type>(16 * OP::K), B = small_integers<type>(8 * OP::K);
    auto C = small_integers<float>(16 * 8);
    const buffer<type> a(A), b(B);
    const buffer<float> c(C);
    must(gpu_launch(threads(32), mma_kernel<OP>, a.p, b.p, c.p), name);
    multiply(A, B, C, 16, 8, OP::K);
    report(name, c.read() == C);
}

static void test_mma_f64() {
    const auto A = small_integers<double>(8 * 4), B = small_integers<double>(8 * 4);
    auto C = small_integers<double>(8 * 8);
    const buffer<double> a(A), b(B), c(C);
    must(gpu_launch(threads(32), mma_f64_kernel, a.p, b.p, c.p), "mma_m8n8k4_f64");
    multiply(A, B, C, 8, 8, 4);
    report("mma_m8n8k4_f64", c.read() == C);
}

static void test_mma_tall_f64() {
    const auto A = small_integers<double>(16 * 16), B = small_integers<double>(8 * 16);
    auto C = small_integers<double>(16 * 8);
    const buffer<double> a(A), b(B), c(C);
    must(gpu_launch(threads(32), mma_tall_f64_kernel, a.p, b.p, c.p), "mma_m16n8k16_f64");
    multiply(A, B, C, 16, 8, 16);
    report("mma_m16n8k16_f64", c.read() == C);
}

static void test_mma_nvfp4() {
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    std::vector<unsigned char> A(16 * 32), B(8 * 32);
    std::vector<uint32_t> a_scales(16), b_scales(8);
    auto C = small_integers<float>(16 * 8);
    uint32_t state = 1;
    const auto draw = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
    const auto exponents = [&draw] { /* 1/2 to 6, of two bits: all sums are exact */
                                     uint32_t word = 0;
                                     for (int i = 0; i < 4; i++)
                                         word |= (0x30u + 4 * (draw() % 8)) << 8 * i;
                                     return word;
    };
    for (auto &x : A) x = static_cast<unsigned char>(draw());
    for (auto &x : B) x = static_cast<unsigned char>(draw());
    for (auto &x : a_scales) x = exponents();
    for (auto &x : b_scales) x = exponents();
    const buffer<unsigned char> a(A), b(B);
    const buffer<uint32_t> sa(a_scales), sb(b_scales);
    const buffer<float> c(C);
    must(gpu_launch(threads(32), mma_nvfp4_kernel, a.p, sa.p, b.p, sb.p, c.p),
         "mma_m16n8k64_nvfp4");
    const auto value = [](const std::vector<unsigned char> &x, const std::vector<uint32_t> &scales,
                          int row, int k) {
        const uint32_t code = x[static_cast<size_t>(row * 32 + k / 2)] >> 4 * (k % 2) & 15,
                       scale = scales[static_cast<size_t>(row)] >> 8 * (k / 16) & 255;
        const float v = values[code & 7] * ldexpf(1 + static_cast<float>(scale & 7) / 8,
                                                  static_cast<int>(scale >> 3) - 7);
        return code & 8 ? -v : v;
    };
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++)
            for (int k = 0; k < 64; k++)
                C[static_cast<size_t>(m * 8 + n)] +=
                    value(A, a_scales, m, k) * value(B, b_scales, n, k);
    report("mma_m16n8k64_nvfp4", c.read() == C);
}

template <bool TRANS> static void test_ldmatrix(const char *name) {
    std::vector<uint16_t> in;
    for (int i = 0; i < 256; i++) in.push_back(static_cast<uint16_t>(1000 + i));
    const buffer<uint16_t> from(in);
    const buffer<uint32_t> to(std::vector<uint32_t>(128, 0));
    must(gpu_launch(threads(32), ldmatrix_kernel<TRANS>, from.p, to.p), name);
    const auto got = to.read();
    bool ok = true;
    for (int lane = 0; lane < 32; lane++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 2; e++) {
                const int row = TRANS ? 2 * (lane % 4) + e : lane / 4,
                          col = TRANS ? lane / 4 : 2 * (lane % 4) + e,
                          source = (8 * j + row) ^ 5; /* the row that lane 8 j + row named */
                ok = ok && (got[static_cast<size_t>(lane * 4 + j)] >> (16 * e) & 0xffff) ==
                               in[static_cast<size_t>(source * 8 + col)];
            }
    report(name, ok);
}

static void test_cp_async() {
    std::vector<unsigned char> in, want;
    for (int i = 0; i < 1024; i++) in.push_back(static_cast<unsigned char>(i % 251 + 1));
    want = in;
    for (int lane = 0; lane < 32; lane++)
        for (int i = lane % 17; i < 16; i++) want[static_cast<size_t>(512 + lane * 16 + i)] = 0;
    const buffer<unsigned char> from(in), to(std::vector<unsigned char>(1024, 7));
    must(gpu_launch(threads(32), cp_async_kernel, from.p, to.p), "cp_async");
    report("cp_async", to.read() == want);
}

static void test_bar_sync() {
    const buffer<int> out(std::vector<int>(32, -1));
    must(gpu_launch(threads(96), bar_sync_kernel, out.p), "bar_sync");
    std::vector<int> want;
    for (int i = 0; i < 32; i++) want.push_back(3 * (31 - i));
    report("bar_sync", out.read() == want);
}

template <class WORD, bool STREAMING> static void test_access32(const char *name) {
    constexpr size_t N = 32 / sizeof(WORD);
    std::vector<WORD> in, want(32 * N);
    for (size_t i = 0; i < 32 * N; i++)
        in.push_back(static_cast<WORD>(0x0123456789abcdefull * (2 * i + 1)));
    for (size_t i = 0; i < 32 * N; i++) want[i / N * N + N - 1 - i % N] = in[i];
    const buffer<WORD> from(in), to(std::vector<WORD>(32 * N, 0));
    must(gpu_launch(threads(32), access32_kernel<WORD, STREAMING>, from.p, to.p), name);
    report(name, to.read() == want);
}

static void
test_sqrt_approx() { /* all exponents, and some fractions; twice the bound for the host's own rounding */
    std::vector<float> in;
    for (int i = 0; i < 252; i++)
        in.push_back(ldexpf(1 + static_cast<float>(i * 37 % 256) / 256, i - 126));
    in.insert(in.end(), {0.0f, 1.0f, INFINITY, -1.0f});
    const buffer<float> from(in), to(std::vector<float>(in.size(), -1.0f));
    must(gpu_launch(threads(256), sqrt_approx_kernel, from.p, to.p), "sqrt_approx");
    const auto got = to.read();
    bool ok = got[252] == 0 && got[254] == INFINITY && std::isnan(got[255]);
    for (size_t i = 0; i < 254; i++) {
        const double want = sqrt(static_cast<double>(in[i]));
        ok = ok && std::fabs(got[i] - want) <= 0x1p-22 * want;
    }
    report("sqrt_approx", ok);
}

static void test_clocks() {
    const buffer<int> out(std::vector<int>(2, -1));
    must(gpu_launch(threads(1), clock_test_kernel, out.p), "clocks");
    report("clocks", out.read() == std::vector<int>({1, 1}));
}

static void test_mbarrier() {
    const buffer<int> out(std::vector<int>(64, -1));
    must(gpu_launch(threads(32), mbarrier_kernel, out.p), "mbarrier");
    std::vector<int> want;
    for (int i = 0; i < 64; i++) want.push_back(31 - i % 32 + i / 32 * 100);
    report("mbarrier", out.read() == want);
}

constexpr int ROWS = 24, COLS = 96; /* of the matrix that TMA loads from */

/* Element (row, col) of a tile that starts at `first` of the matrix; zero below its end. */
static bool tile_is_right(const uint16_t *tile, int rows, int first) {
    bool ok = true;
    for (int row = 0; row < rows; row++)
        for (int col = 0; col < 64; col++) {
            const int from = first + row, at = row * 64 + (col ^ (row % 8) * 8);
            const int want = from < ROWS ? from * COLS + 32 + col + 1 : 0;
            ok = ok && tile[at] == want;
        }
    return ok;
}

static void test_tma(int cc) {
    std::vector<uint16_t> in;
    for (int i = 0; i < ROWS * COLS; i++) in.push_back(static_cast<uint16_t>(i + 1));
    const buffer<uint16_t> matrix(in), one(std::vector<uint16_t>(8 * 64, 0xffff)),
        two(std::vector<uint16_t>(2 * 16 * 64, 0xffff));
    const buffer<int> ranks(std::vector<int>(2, -1));
    alignas(128) CUtensorMap map;
    const tensor described = {
        matrix.p, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, COLS, ROWS, COLS * sizeof(uint16_t), 1, 0};
    must(gpu_tensor_map(&map, described, 2, 64, 8, CU_TENSOR_MAP_SWIZZLE_128B), "tensor map");
    must(gpu_launch(threads(32), tma_kernel, map, one.p), "tma_load_2d");
    report("tma_load_2d", tile_is_right(one.read().data(), 8, 20));
    if (cc >= 120) {
        puts("multicast                skip: sm_90 to sm_110");
        return;
    }

    launch_config c = threads(32);
    c.grid = dim3(2);
    c.cluster = dim3(2);
    must(gpu_launch(c, cluster_kernel, map, two.p, ranks.p), "tma_load_2d_multicast");
    const auto tiles = two.read();
    report("tma_load_2d_multicast",
           tile_is_right(tiles.data(), 16, 0) && tile_is_right(tiles.data() + 16 * 64, 16, 0));
    report("cluster_rank", ranks.read() == std::vector<int>({0, 1}));
}

static void test_cluster_peer() {
    constexpr int BLOCKS = 4;
    const buffer<int> to(std::vector<int>(BLOCKS * 32, -1)), sizes(std::vector<int>(BLOCKS, -1));
    launch_config c = threads(32);
    c.grid = dim3(BLOCKS);
    c.cluster = dim3(BLOCKS);
    must(gpu_launch(c, peer_kernel, to.p, sizes.p), "cluster_peer");
    std::vector<int> want;
    for (int i = 0; i < BLOCKS * 32; i++)
        want.push_back(100 * ((i / 32 + BLOCKS - 1) % BLOCKS) + i % 32);
    report("cluster_peer, the barrier in halves", to.read() == want);
    report("cluster_size", sizes.read() == std::vector<int>(BLOCKS, BLOCKS));
}

static void test_stmatrix() {
    std::vector<uint32_t> in;
    for (uint32_t i = 0; i < 128; i++) in.push_back((2 * i + 1) << 16 | 2 * i);
    const buffer<uint32_t> from(in);
    const buffer<uint16_t> to(std::vector<uint16_t>(256, 0xffff));
    must(gpu_launch(threads(32), stmatrix_kernel, from.p, to.p), "stmatrix_x4");
    const auto got = to.read();
    bool ok = true;
    for (int row = 0; row < 32; row++)
        for (int col = 0; col < 8; col++) { /* lane row names where row ^ 5 goes, and back */
            const int matrix = (row ^ 5) / 8, lane = (row ^ 5) % 8 * 4 + col / 2;
            ok = ok && got[static_cast<size_t>(row * 8 + col)] == 2 * (lane * 4 + matrix) + col % 2;
        }
    report("stmatrix_x4", ok);
}

static void test_tma_3d(int cc) {
    constexpr int EACH = ROWS * COLS;
    std::vector<uint16_t> in, want(3 * EACH, 0);
    for (int i = 0; i < 3 * EACH; i++) in.push_back(static_cast<uint16_t>(i + 1));
    const buffer<uint16_t> matrices(in), one(std::vector<uint16_t>(8 * 64, 0xffff)),
        two(std::vector<uint16_t>(2 * 8 * 64, 0xffff)), stored(want);
    tensor described = {matrices.p, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, COLS, ROWS, COLS * 2, 3,
                        EACH * 2};
    alignas(128) CUtensorMap from, to;
    must(gpu_tensor_map(&from, described, 3, 64, 8, CU_TENSOR_MAP_SWIZZLE_128B), "tensor map");
    described.base = stored.p;
    must(gpu_tensor_map(&to, described, 3, 64, 8, CU_TENSOR_MAP_SWIZZLE_128B), "tensor map");
    must(gpu_launch(threads(32), tma_3d_kernel, from, to, one.p), "tma_load_3d");
    const auto is_right =
        [&](const uint16_t *tile) { /* rows 20 to 23 of matrix 1, then zeros */
                                    bool ok = true;
                                    for (int i = 0; i < 8 * 64; i++) {
                                        const int row = i / 64, at = row * 64 + (i % 64 ^ row * 8);
                                        ok = ok &&
                                             tile[at] ==
                                                 (row < 4
                                                      ? in[static_cast<size_t>(
                                                            EACH + (20 + row) * COLS + 32 + i % 64)]
                                                      : 0);
                                    }
                                    return ok;
        };
    const auto loaded = one.read();
    report("tma_load_3d", is_right(loaded.data()));
    for (int i = 0; i < 8 * 64; i++) {
        const int row = i / 64, at = row * 64 + (i % 64 ^ row * 8);
        if (i % 64 < COLS - 64)
            want[static_cast<size_t>(2 * EACH + (3 + row) * COLS + 64 + i % 64)] =
                loaded[static_cast<size_t>(at)];
        if (row < 4)
            want[static_cast<size_t>(EACH + (20 + row) * COLS + i % 64)] =
                static_cast<uint16_t>(7000 + at);
    }
    report("tma_store_3d", stored.read() == want);
    if (cc >= 120) return;
    launch_config c = threads(32);
    c.grid = dim3(2);
    c.cluster = dim3(2);
    must(gpu_launch(c, tma_3d_multicast_kernel, from, two.p), "tma_load_3d_multicast");
    const auto tiles = two.read();
    report("tma_load_3d_multicast", is_right(tiles.data()) && is_right(tiles.data() + 8 * 64));
}

static void test_bulk() {
    std::vector<unsigned char> in, want(1024 + 64, 9);
    for (int i = 0; i < 1024; i++) in.push_back(static_cast<unsigned char>(i % 251 + i / 512));
    for (int half = 0; half < 2; half++) {
        const auto loaded =
            [&](int i) { /* byte i of the half */
                         return in[static_cast<size_t>(512 * half + (i < 16 ? i : i + 16))];
            };
        for (int i = 0; i < 496; i++) want[static_cast<size_t>(512 * (1 - half) + i)] = loaded(i);
        for (int lane = 0; lane < 32; lane++)
            want[static_cast<size_t>(1024 + 32 * half + lane)] = loaded(15 * lane);
    }
    const buffer<unsigned char> from(in), to(std::vector<unsigned char>(1024 + 64, 9));
    must(gpu_launch(threads(32), bulk_kernel, from.p, to.p), "bulk_load, bulk_store");
    report("bulk_load, bulk_store", to.read() == want);
}

template <class T, gpu::wgmma_type TYPE, int N, int TRANS = 0>
static void test_wgmma(const char *name, int accumulate = 1) {
    constexpr int K = 128 / static_cast<int>(sizeof(T));
    const auto A = small_integers<T>(64 * K), B = small_integers<T>(N * K);
    std::vector<float> want(64 * N, accumulate ? 1.0f : 0.0f);
    const buffer<T> a(A), b(B);
    const buffer<float> d(std::vector<float>(64 * N, -1.0f));
    launch_config c = threads(128);
    c.smem = (64 + N) * 128;
    must(gpu_launch(c, wgmma_kernel<T, TYPE, N, TRANS>, a.p, b.p, d.p, accumulate), name);
    multiply(A, B, want, 64, N, K);
    report(name, d.read() == want);
}
static void test_wgmmas() {
    using gpu::wgmma_type;
    test_wgmma<__nv_bfloat16, wgmma_type::bf16, 64>("wgmma bf16, overwriting", 0);
    test_wgmma<__nv_bfloat16, wgmma_type::bf16, 64>("wgmma bf16, n64");
    test_wgmma<__nv_bfloat16, wgmma_type::bf16, 128>("wgmma bf16, n128");
    test_wgmma<__nv_bfloat16, wgmma_type::bf16, 256>("wgmma bf16, n256");
    test_wgmma<__nv_bfloat16, wgmma_type::bf16, 256, 1>("wgmma bf16, MN-major");
    test_wgmma<__half, wgmma_type::f16, 256>("wgmma f16, n256");
    test_wgmma<__half, wgmma_type::f16, 128, 1>("wgmma f16, MN-major");
    test_wgmma<float, wgmma_type::tf32, 128>("wgmma tf32, n128");
    test_wgmma<float, wgmma_type::tf32, 256>("wgmma tf32, n256");
    test_wgmma<__nv_fp8_e4m3, wgmma_type::e4m3, 128>("wgmma e4m3, n128");
    test_wgmma<__nv_fp8_e4m3, wgmma_type::e4m3, 256>("wgmma e4m3, n256");
    test_wgmma<__nv_fp8_e5m2, wgmma_type::e5m2, 128>("wgmma e5m2, n128");
    test_wgmma<__nv_fp8_e5m2, wgmma_type::e5m2, 256>("wgmma e5m2, n256");
}

static void test_elect() {
    const buffer<int> out(std::vector<int>(2, 0));
    must(gpu_launch(threads(64), elect_kernel, out.p), "elect_one");
    report("elect_one", out.read() == std::vector<int>({1, 1}));
}

template <class T, gpu::tcgen05_kind KIND, uint32_t FORMAT, int N, int TRANS_A = 0,
          int TRANS_B = TRANS_A>
static void test_tcgen05(const char *name, int accumulate = 1) {
    constexpr int K = 128 / static_cast<int>(sizeof(T));
    const auto A = small_integers<T>(128 * K), B = small_integers<T>(N * K);
    std::vector<float> want(128 * N, 0.0f);
    const buffer<T> a(A), b(B);
    const buffer<float> d(std::vector<float>(128 * N, -1.0f));
    launch_config c = threads(128);
    c.smem = (128 + N) * 128;
    must(gpu_launch(c, tcgen05_kernel<T, KIND, FORMAT, N, TRANS_A, TRANS_B>, a.p, b.p, d.p,
                    accumulate),
         name);
    for (int i = 0; i <= accumulate; i++) multiply(A, B, want, 128, N, K);
    report(name, d.read() == want);
}
template <class T, gpu::tcgen05_kind KIND, uint32_t FORMAT, int N>
static void test_tcgen05_pair(const char *name) {
    constexpr int K = 128 / static_cast<int>(sizeof(T));
    const auto A = small_integers<T>(256 * K), B = small_integers<T>(N * K);
    std::vector<float> want(256 * N, 0.0f);
    const buffer<T> a(A), b(B);
    const buffer<float> d(std::vector<float>(256 * N, -1.0f));
    launch_config c = threads(128);
    c.smem = (128 + N / 2) * 128;
    c.grid = c.cluster = dim3(2);
    must(gpu_launch(c, tcgen05_pair_kernel<T, KIND, FORMAT, N>, a.p, b.p, d.p), name);
    multiply(A, B, want, 256, N, K);
    report(name, d.read() == want);
}

static void test_tma_pair() {
    constexpr int EACH = ROWS * COLS;
    std::vector<uint16_t> in;
    for (int i = 0; i < 2 * EACH; i++) in.push_back(static_cast<uint16_t>(i - EACH + 1));
    const buffer<uint16_t> matrices(in), out(std::vector<uint16_t>(2 * 8 * 64, 0xffff));
    const tensor described = {matrices.p, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, COLS, ROWS, COLS * 2, 2,
                              EACH * 2};
    alignas(128) CUtensorMap map;
    must(gpu_tensor_map(&map, described, 3, 64, 8, CU_TENSOR_MAP_SWIZZLE_128B), "tensor map");
    launch_config c = threads(32);
    c.grid = c.cluster = dim3(2);
    must(gpu_launch(c, tma_pair_kernel, map, out.p), "tma_load_3d_pair");
    const auto tiles = out.read();
    report("tma_load_3d_pair",
           tile_is_right(tiles.data(), 8, 0) && tile_is_right(tiles.data() + 8 * 64, 8, 8));
}

template <int CTAS, int N> static void test_tcgen05_nvfp4(const char *name) {
    constexpr int M = 128 * CTAS;
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6}, steps[] = {0.5f, 1, 2, 1.5f};
    static const unsigned char step_codes[] = {0x30, 0x38, 0x40, 0x3c};
    /* codes and scales, and as numbers */
    const auto fill = [&](std::vector<unsigned char> &codes, std::vector<unsigned char> &scales,
                          std::vector<float> &x, int rows) {
        for (int i = 0; i < rows * 256; i++) {
            const int code = static_cast<int>(small_integer()) + 2 +
                             5 * (static_cast<int>(small_integer()) + 2); /* 0 to 24 */
            if (i % 16 == 0) scales.push_back(step_codes[code % 4]);
            if (i % 2 == 0)
                codes.push_back(static_cast<unsigned char>(code % 16));
            else
                codes.back() = static_cast<unsigned char>(codes.back() | code % 16 << 4);
            const float value = values[code % 8];
            x.push_back(code & 8 ? -value : value);
        }
        for (size_t i = 0; i < x.size(); i++)
            for (size_t s = 0; s < 4; s++)
                if (scales[i / 16] == step_codes[s]) {
                    x[i] *= steps[s];
                    break;
                }
    };
    std::vector<unsigned char> A, B, SA, SB;
    std::vector<float> xa, xb, want(M * N, 0.0f);
    fill(A, SA, xa, M);
    fill(B, SB, xb, N);
    const buffer<unsigned char> a(A), b(B), sa(SA), sb(SB);
    const buffer<float> d(std::vector<float>(M * N, -1.0f));
    launch_config c = threads(128);
    c.smem = 128 * 128 + N / CTAS * 128 + 4 * 512 * (1 + N / 128);
    c.grid = c.cluster = dim3(CTAS);
    must(gpu_launch(c, tcgen05_nvfp4_kernel<CTAS, N>, a.p, b.p, sa.p, sb.p, d.p), name);
    multiply(xa, xb, want, M, N, 256);
    report(name, d.read() == want);
}

static void test_tcgen05s() {
    using kind = gpu::tcgen05_kind;
    test_tcgen05<__nv_bfloat16, kind::f16, 1, 32>("tcgen05 bf16, overwriting", 0);
    test_tcgen05<__nv_bfloat16, kind::f16, 1, 128>("tcgen05 bf16, n128");
    test_tcgen05<__nv_bfloat16, kind::f16, 1, 256, 1>("tcgen05 bf16, MN-major");
    test_tcgen05<__nv_bfloat16, kind::f16, 1, 64, 0, 1>("tcgen05 bf16, B MN-major");
    test_tcgen05<__half, kind::f16, 0, 256>("tcgen05 f16, n256");
    test_tcgen05<__half, kind::f16, 0, 64, 1>("tcgen05 f16, MN-major");
    test_tcgen05<float, kind::tf32, 2, 128>("tcgen05 tf32, n128");
    test_tcgen05<__nv_fp8_e4m3, kind::f8f6f4, 0, 256>("tcgen05 e4m3, n256");
    test_tcgen05<__nv_fp8_e5m2, kind::f8f6f4, 1, 128>("tcgen05 e5m2, n128");
    test_tcgen05_nvfp4<1, 128>("tcgen05 nvfp4, n128");
    test_tcgen05_nvfp4<1, 256>("tcgen05 nvfp4, n256");
    test_tma_pair();
    test_tcgen05_pair<__nv_bfloat16, kind::f16, 1, 256>("tcgen05 bf16, a pair");
    test_tcgen05_pair<float, kind::tf32, 2, 64>("tcgen05 tf32, a pair");
    test_tcgen05_pair<__nv_fp8_e4m3, kind::f8f6f4, 0, 128>("tcgen05 e4m3, a pair");
    test_tcgen05_nvfp4<2, 256>("tcgen05 nvfp4, a pair");
}

static void test_setmaxnreg() {
    const buffer<int> out(std::vector<int>(384, -1));
    must(gpu_launch(threads(384), setmaxnreg_kernel, out.p), "setmaxnreg");
    const auto got = out.read();
    report("setmaxnreg", got[0] == 0 && got[383] == 383);
}

int main(int argc, char **argv) {
    const int wanted = argc > 1 ? atoi(argv[1]) : 0;
    int devices = 0, cc = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "selftest: no device\n");
        return 77;
    }
    for (int d = 0; d < devices && cc == 0; d++) {
        int major = 0, minor = 0;
        must(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d), "attribute");
        must(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, d), "attribute");
        if (wanted && wanted != 10 * major + minor) continue;
        must(cudaSetDevice(d), "cudaSetDevice");
        cc = 10 * major + minor;
    }
    if (cc == 0) {
        fprintf(stderr, "selftest: no device of compute capability %d\n", wanted);
        return 77;
    }
    test_mma<bf16_k16>("mma_m16n8k16_bf16");
    test_mma<f16_k16>("mma_m16n8k16_f16");
    test_mma<tf32_k8>("mma_m16n8k8_tf32");
    test_mma_f64();
    test_ldmatrix<false>("ldmatrix_x4");
    test_ldmatrix<true>("ldmatrix_x4_trans");
    test_cp_async();
    test_bar_sync();
    test_clocks();
    test_sqrt_approx();
    if (cc >= 89) {
        test_mma<e4m3_k32>("mma_m16n8k32_e4m3");
        test_mma<e5m2_k32>("mma_m16n8k32_e5m2");
    } else {
        puts("fp8 mma                  skip: sm_89");
    }
    if (cc >= 90) {
        test_mma_tall_f64();
        test_mbarrier();
        test_tma(cc);
        test_cluster_peer();
        test_tma_3d(cc);
        test_bulk();
        test_stmatrix();
        test_elect();
    } else {
        puts("tall fp64 mma            skip: sm_90");
        puts("mbarrier, TMA, stmatrix  skip: sm_90");
    }
    if (cc == 90) {
        test_wgmmas();
        test_setmaxnreg();
    } else {
        puts("wgmma, setmaxnreg        skip: sm_90a");
    }
    if (cc == 120)
        test_mma_nvfp4();
    else
        puts("mma_m16n8k64_nvfp4       skip: sm_120a");
    if (cc == 100) {
        test_tcgen05s();
    } else {
        puts("tcgen05                  skip: sm_100a");
    }
    if (cc >= 100) {
        test_access32<uint32_t, false>("load32, store32 of words");
        test_access32<uint32_t, true>("the same, streaming");
        test_access32<uint64_t, false>("load32, store32 of longs");
        test_access32<uint64_t, true>("the same, streaming");
    } else {
        puts("load32, store32          skip: sm_100");
    }
    printf("%d failed\n", failures);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
