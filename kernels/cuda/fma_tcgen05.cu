/* fma_tcgen05.cu - the flat roof on Blackwell's data-centre chips (sm_100a): y = y + k (x1 w1 + x2 w2) for n lanes, by tcgen05. Not
 * run on hardware.
 *
 * Rows of A in shared memory are x1 x2 x1 x2 ..., columns of B w1 w2 w1 w2 ...: one instruction, of 128 x N and 32 bytes of k, adds so
 * many pairs of them as these have to each of its sums, which are in tensor memory (matmul_tcgen05.cuh). What k leaves over is
 * one more, with elements of A beyond it zero. Of nvfp4 x and w are scales and all codes 1 or -1. Lanes of y are all treated alike,
 * so that where in a tile one lies is of no importance.
 *
 * Floor: 4 n k flops at 8192 a clock and multiprocessor (tf32 4096, fp8 16384, nvfp4 32768); every instruction N / 2 clocks.
 * Expected: 0.99 of it, as published for such instructions (8155 of 8192, 32 720 of 32 768). Two blocks share a multiprocessor:
 * while sums of one leave, the other's are multiplied. 128 x 256 ask shared memory for 96 bytes a clock of its 128; nvfp4, whose
 * scales take 12 columns of a block's 256, has 128 x 192 and asks for 107. The default chain has 1536 tiles (nvfp4 2048), which
 * the blocks share evenly, parts of tiles included. A tile's way out is 32 768 additions in the L2 (24 576), and it has 131 072
 * clocks of multiplies in bf16; in nvfp4, by the longer chain of `peaks`, 98 304. */
#include "cuda_kernel.cuh"
#include "nvfp4.cuh"
#include "ptx_tcgen05.cuh"

namespace fma_tcgen05_kernels { /* other files may have the same names */

enum {
    WARP = 32,
    THREADS = 128,
    UNROLL = 4, /* instructions between two looks at the counter */
    M = 128,
    COLUMNS = 256,         /* of tensor memory: half of it */
    ROW = 128,             /* bytes of an operand's row: four instructions' */
    SCALES = 512,          /* bytes of scales of 128 rows and an instruction */
    SMEM_BYTES = 80 << 10, /* more than operands need: a third block would wait for tensor memory */
};

/* A format: what x and w are stored in; N columns; ROUNDS, pairs of an instruction; what byte or element `k` of an operand's row
 * is, of which in every 32 bytes the first `rounds` pairs are there; and the instruction. */
template <enum dtype D> struct form {
    using T = typename element<D>::type;
    static constexpr int N = 256, SIZE = sizeof(T), ROUNDS = 16 / SIZE;
    static constexpr bool SCALED = false;
    static constexpr auto KIND = D == DT_tf32                   ? gpu::tcgen05_kind::tf32
                                 : D == DT_fp16 || D == DT_bf16 ? gpu::tcgen05_kind::f16
                                                                : gpu::tcgen05_kind::f8f6f4;
    static constexpr uint32_t FORMAT = D == DT_tf32                       ? 2
                                       : D == DT_bf16 || D == DT_fp8_e5m2 ? 1
                                                                          : 0,
                              SHAPE = gpu::tcgen05_shape(FORMAT, M, N);

    using stored = T;
    DEV static stored at(const T *v, int k, int rounds) {
        return k % (2 * ROUNDS) / 2 < rounds ? v[k % 2] : T();
    }
    DEV static void multiply(uint32_t sums, uint64_t a, uint64_t b, bool adds) {
        gpu::tcgen05_mma<KIND, 1>(sums, a, b, SHAPE, adds);
    }
};

/* Scales of 16 codes each are x1 x2 x1 x2 (w1 w2 w1 w2), codes have their signs: pairs of the first 32 codes of an instruction's 64,
 * then of the others. */
template <> struct form<DT_nvfp4> {
    using T = __nv_fp8_e4m3;
    static constexpr int N = 192, ROUNDS = 32, AT_A = N, AT_B = N + 4;
    static constexpr bool SCALED = true;
    static_assert(AT_B + 8 <= COLUMNS, "scales of 128 rows take four columns");

    using stored = unsigned char; /* two codes */
    DEV static stored at(const T *v, int k, int rounds) {
        const int code = 2 * k % (2 * ROUNDS), which = code / NVFP4_BLOCK,
                  pair = which / 2 * NVFP4_BLOCK + code % NVFP4_BLOCK;
        const int one = v[which % 2].__x & 0x80 ? 10 : 2; /* of e2m1: -1, 1 */
        return static_cast<stored>((pair < rounds ? one : 0) | (pair + 1 < rounds ? one << 4 : 0));
    }
    DEV static uint32_t scales(const T *v) {
        const uint32_t two = (v[0].__x & 0x7fu) | (v[1].__x & 0x7fu) << 8;
        return two | two << 16;
    }
    DEV static void multiply(uint32_t sums, uint64_t a, uint64_t b, bool adds) {
        gpu::tcgen05_mma_nvfp4<1>(sums, a, b, gpu::tcgen05_shape_nvfp4(M, N), adds, sums + AT_A,
                                  sums + AT_B);
    }
};

/* Rows of an operand. They are read as swizzled ones, with chunks of 16 bytes exchanged within a row: those of B are all alike, so
 * that it is of no importance which of them A's meet. */
template <class FORM> DEV void fill(char *to, const typename FORM::T *v, int rows, int rounds) {
    using T = typename FORM::stored;
    constexpr int EACH = ROW / static_cast<int>(sizeof(T));
    for (int i = threadIdx.x; i < rows * EACH; i += THREADS)
        reinterpret_cast<T *>(to)[i] = FORM::at(v, i % EACH, rounds);
}

/* The blocks share the instructions of all tiles of y evenly; where a tile falls to two, both add to it. */
template <enum dtype D>
__global__ void __launch_bounds__(THREADS)
    tcgen05_chain_kernel(const typename form<D>::T *__restrict__ x,
                         const typename form<D>::T *__restrict__ w, float *__restrict__ y,
                         int64_t n, int64_t k) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
    using FORM = form<D>;
    constexpr int N = FORM::N, ROUNDS = FORM::ROUNDS;
    static_assert((2 * M + N) * ROW + 2 * SCALES <= SMEM_BYTES, "operands fit");
    DYN_SMEM(1024, char, shared); /* [M][ROW] A, A of the rest, [N][ROW] B; scales of A, of B */
    SMEM(uint64_t, done, [1]);
    SMEM(uint32_t, memory, [1]);
    const int t = threadIdx.x;
    char *rest = shared + M * ROW, *b = rest + M * ROW, *scales = b + N * ROW;
    fill<FORM>(shared, x, M, ROUNDS);
    fill<FORM>(rest, x, M, static_cast<int>(k % ROUNDS));
    fill<FORM>(b, w, N, ROUNDS);
    if constexpr (FORM::SCALED) {
        reinterpret_cast<uint32_t *>(scales)[t] = FORM::scales(x);
        reinterpret_cast<uint32_t *>(scales + SCALES)[t] = FORM::scales(w);
    }
    gpu::fence_proxy_async(); /* tensor cores read through the asynchronous proxy */
    if (t == 0) {
        gpu::mbar_init(done, 1);
        gpu::mbar_fence_init();
    }
    if (t < WARP) {
        gpu::tmem_alloc<1>(memory, COLUMNS);
        gpu::tmem_relinquish<1>();
    }
    __syncthreads(); /* operands, the mbarrier and tensor memory are there */
    gpu::tcgen05_fence_after();
    const uint32_t sums = *memory;
    const uint64_t da = gpu::tcgen05_desc(shared), dr = gpu::tcgen05_desc(rest),
                   db = gpu::tcgen05_desc(b);
    if constexpr (FORM::SCALED) {
        if (t < WARP && gpu::elect_one()) { /* the thread that multiplies: before it does */
            gpu::tcgen05_cp_scales<1>(sums + FORM::AT_A, gpu::tcgen05_scales_desc(scales));
            for (uint32_t i = 0; i < 2; i++) /* B's 128 columns, and what is left of N */
                gpu::tcgen05_cp_scales<1>(sums + FORM::AT_B + 4 * i,
                                          gpu::tcgen05_scales_desc(scales + SCALES));
        }
    }

    const int64_t each = (k + ROUNDS - 1) / ROUNDS, full = k / ROUNDS; /* instructions of a tile */
    const int64_t all = (n + M * N - 1) / (M * N) * each;
    const int64_t first = all * blockIdx.x / gridDim.x, end = all * (blockIdx.x + 1) / gridDim.x;
    uint32_t parity = 0;
    for (int64_t i = first; i < end;) {
        const int64_t tile = i / each, stop = min(end, (tile + 1) * each);
        if (t < WARP && gpu::elect_one()) {
#pragma unroll UNROLL
            for (int64_t j = i; j < stop; j++) {
                const auto step = static_cast<uint64_t>(j % 4 * 2); /* 32 bytes of the row */
                FORM::multiply(sums, (j - tile * each < full ? da : dr) + step, db + step, j > i);
            }
            gpu::tcgen05_commit<1>(done);
        }
        gpu::mbar_wait(done, parity);
        parity ^= 1;
        gpu::tcgen05_fence_after();
        const uint32_t mine = sums + (static_cast<uint32_t>(t / WARP * WARP) << 16);
#pragma unroll 1
        for (int col = 0; col < N; col += 32) {
            uint32_t sum[32];
            gpu::tcgen05_ld_x32(sum, mine + static_cast<uint32_t>(col));
            gpu::tcgen05_wait_ld();
            gpu::tcgen05_hold(sum);
#pragma unroll
            for (int e = 0; e < 32; e++) {
                const int64_t lane = tile * (M * N) + (col + e) * M + t;
                if (lane < n) atomicAdd(&y[lane], __uint_as_float(sum[e]));
            }
        }
        gpu::tcgen05_fence_before();
        __syncthreads(); /* all have read before the next tile is begun */
        gpu::tcgen05_fence_after();
        i = stop;
    }
    if (t < WARP) gpu::tmem_dealloc<1>(sums, COLUMNS);
#endif
}

template <enum dtype D> int tcgen05_chain(const struct args *a) {
    using T = typename form<D>::T;
    launch_config c;
    const int64_t tiles = ceil_div(a->s.n, M * form<D>::N);
    c.grid = dim3(persistent_blocks(a, tiles * ceil_div(a->s.k, 64), 2));
    c.block = dim3(THREADS);
    c.smem = SMEM_BYTES;
    c.stream = stream_of(a);
    return gpu_launch(c, tcgen05_chain_kernel<D>, operand<const T>(a, 0), operand<const T>(a, 1),
                      operand<float>(a, 2), a->s.n, a->s.k);
}

const char *refuses_tcgen05(const struct args *a) {
    return a->gpu->cc == 100 ? nullptr : "tcgen05 is an instruction of sm_100a alone";
}

} // namespace fma_tcgen05_kernels

using namespace fma_tcgen05_kernels;

extern "C" const struct impl fma_tcgen05_cuda[];
const struct impl fma_tcgen05_cuda[] = {
    {OP_fma, "tcgen05", DT_tf32, tcgen05_chain<DT_tf32>, refuses_tcgen05, nullptr},
    {OP_fma, "tcgen05", DT_fp16, tcgen05_chain<DT_fp16>, refuses_tcgen05, nullptr},
    {OP_fma, "tcgen05", DT_bf16, tcgen05_chain<DT_bf16>, refuses_tcgen05, nullptr},
    {OP_fma, "tcgen05", DT_fp8_e4m3, tcgen05_chain<DT_fp8_e4m3>, refuses_tcgen05, nullptr},
    {OP_fma, "tcgen05", DT_fp8_e5m2, tcgen05_chain<DT_fp8_e5m2>, refuses_tcgen05, nullptr},
    {OP_fma, "tcgen05", DT_nvfp4, tcgen05_chain<DT_nvfp4>, refuses_tcgen05, nullptr},
    {},
};
