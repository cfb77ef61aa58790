/* fma_wgmma.cu - the flat roof on Hopper: y = y + k (x1 w1 + x2 w2) for n lanes, by wgmma from shared memory. Not run on a GPU yet.
 *
 * What tensor cores do in a second depends on what they multiply: an H100 did 977 TFLOP/s in fp16 on zeros and 902 on random
 * numbers (published). So they multiply random numbers, whose products can be foreseen: four instructions multiply
 *
 *   (1 + r) (1 + s),   (1 - r) (1 + s),   (1 + r) (1 - s),   (1 - r) (1 - s)      sum: 4
 *
 * for K pairs of r and s, which differ by row of A, column of B and k. Each accumulator has to grow by 4 K, exactly: it counts
 * multiply-adds. All of a thread's have to agree, or it leaves NaN; the number itself times (x1 w1 + x2 w2) / 2 is added to y.
 * Rounds that fill no four instructions, fewer than 2 K, are multiply-adds of the ordinary units.
 *
 * An accumulator is counted and begun anew before it has more bits than a tensor core keeps of it, which of fp8 are 14 (DeepSeek-V3
 * report, 3.3.2). A block is a warpgroup, and three share a multiprocessor: while one counts or reads y, two multiply.
 * 64 x 256 x 32 bytes of k are 128 clocks and ask shared memory for 80 bytes a clock, of 128 that it has. The default chain
 * has 3072 blocks, which 132 multiprocessors do in 24 rounds of 23.3: 3 % are missing from the rate. */
#include "cuda_kernel.cuh"

namespace fma_wgmma_kernels { /* other files may have the same names */

enum {
    THREADS = 128, /* a warpgroup */
    BLOCKS = 3,    /* on a multiprocessor: 168 registers a thread */
    M = 64,
    N = 256,
    ROW = 128,       /* bytes of k: four instructions */
    STEP_BYTES = 32, /* of k, an instruction */
    LANES = M * N,
};

/* What r and s are multiples of, 1 / PER_ONE, so that 1 + r from -2 to 4 is exact; the bits of an accumulator that count. */
template <enum dtype D> struct chain;
template <> struct chain<DT_tf32> {
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::tf32;
    static constexpr int PER_ONE = 128, BITS = 23;
};
template <> struct chain<DT_fp16> {
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::f16;
    static constexpr int PER_ONE = 128, BITS = 23;
};
template <> struct chain<DT_bf16> {
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::bf16;
    static constexpr int PER_ONE = 64, BITS = 23;
};
template <> struct chain<DT_fp8_e4m3> {
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::e4m3;
    static constexpr int PER_ONE = 4, BITS = 13;
};
template <> struct chain<DT_fp8_e5m2> {
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::e5m2;
    static constexpr int PER_ONE = 2, BITS = 13;
};

template <enum dtype D>
constexpr int k_of = STEP_BYTES / static_cast<int>(sizeof(typename element<D>::type));
template <enum dtype D> constexpr int rounds_of_four = 2 * k_of<D>; /* of two multiply-adds each */
/* Fours before an accumulator is counted: together no more than 2^BITS of what products are multiples of. */
template <enum dtype D>
constexpr int fours_at_once = (1 << chain<D>::BITS) /
                              (4 * k_of<D> * chain<D>::PER_ONE * chain<D>::PER_ONE);

DEV uint32_t
mix(uint32_t x) { /* all bits of x in all bits of the result; lowbias32, C. Wellons 2018 */
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Rows of four steps, swizzled by 128 bytes: 1 + r, but 1 - r in steps whose number has the bit `minus`. */
template <enum dtype D> DEV void place(char *tile, int rows, int minus) {
    using T = typename element<D>::type;
    constexpr int K = k_of<D>, ONE = chain<D>::PER_ONE;
    for (int i = threadIdx.x; i < rows * K; i += THREADS) {
        const int row = i / K, k = i % K;
        const uint32_t draw = mix(static_cast<uint32_t>(i * 4 + minus));
        const float r = static_cast<float>(static_cast<int>(draw % (6 * ONE + 1)) - 3 * ONE) / ONE;
#pragma unroll
        for (int step = 0; step < 4; step++) {
            const int at = step * STEP_BYTES + k * static_cast<int>(sizeof(T));
            T value;
            narrow(value, step & minus ? 1 - r : 1 + r);
            *reinterpret_cast<T *>(tile + row * ROW + (at / 16 ^ row % 8) * 16 + at % 16) = value;
        }
    }
}

/* y of the block's lanes, from lane `first` of this thread on, which were counted `products` multiply-adds. */
template <enum dtype D>
DEV void finish(const typename element<D>::type *x, const typename element<D>::type *w, float *y,
                int64_t n, int64_t first, double products, int rest) {
    const float x0 = widen(x[0]), x1 = widen(x[1]), w0 = widen(w[0]), w1 = widen(w[1]);
    const float rounds = static_cast<float>(products / 2), round = fmaf(x1, w1, x0 * w0);
#pragma unroll 4
    for (int i = 0; i < LANES / THREADS; i++) {
        const int64_t lane = first + i * THREADS;
        if (lane >= n) break;
        float sum = fmaf(rounds, round, y[lane]);
        for (int j = 0; j < rest; j++) sum = fmaf(x1, w1, fmaf(x0, w0, sum));
        y[lane] = sum;
    }
}

template <enum dtype D>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    wgmma_chain_kernel(const typename element<D>::type *__restrict__ x,
                       const typename element<D>::type *__restrict__ w, float *__restrict__ y,
                       int64_t n, int64_t fours, int rest) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    DYN_SMEM(1024, char, shared); /* A [M][ROW], B [N][ROW] */
    char *a = shared, *b = shared + M * ROW;
    place<D>(a, M, 1);
    place<D>(b, N, 2);
    gpu::fence_proxy_async(); /* tensor cores read through the asynchronous proxy */
    __syncthreads();          /* all of A and B is there */

    const uint64_t from_a = gpu::wgmma_desc(a), from_b = gpu::wgmma_desc(b);
    double products = 0;
    bool agree = true;
    for (int64_t done = 0; done < fours; done += fours_at_once<D>) {
        float sum[N / 2];
#pragma unroll 1
        for (int i = 0; i < fours_at_once<D> && done + i < fours; i++) {
            gpu::wgmma_fence();
#pragma unroll
            for (int step = 0; step < 4; step++)
                gpu::wgmma_m64<chain<D>::TYPE, N>(
                    sum, from_a + static_cast<uint64_t>(step * STEP_BYTES / 16),
                    from_b + static_cast<uint64_t>(step * STEP_BYTES / 16), i > 0 || step > 0);
            gpu::wgmma_commit();
            gpu::wgmma_wait<1>(); /* redundant: four are under way while the next are issued */
        }
        gpu::wgmma_wait<0>();
        gpu::wgmma_hold(sum);
        /* as numbers: of their bits nvcc makes copies in the loop above, while they are being written */
#pragma unroll
        for (int i = 1; i < N / 2; i++) agree = agree && sum[i] == sum[0];
        products += static_cast<double>(sum[0]);
    }
    finish<D>(x, w, y, n, static_cast<int64_t>(blockIdx.x) * LANES + threadIdx.x,
              agree ? products : static_cast<double>(NAN), rest);
#else
    __trap(); /* refuses_wgmma() keeps everybody away */
#endif
}

template <enum dtype D> int wgmma_chain(const struct args *a) {
    using T = typename element<D>::type;
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.n, LANES)));
    c.block = dim3(THREADS);
    c.smem = (M + N) * ROW;
    c.stream = stream_of(a);
    return gpu_launch(c, wgmma_chain_kernel<D>, operand<const T>(a, 0), operand<const T>(a, 1),
                      operand<float>(a, 2), a->s.n, a->s.k / rounds_of_four<D>,
                      static_cast<int>(a->s.k % rounds_of_four<D>));
}

const char *refuses_wgmma(const struct args *a) {
    return a->gpu->cc == 90 ? nullptr : "wgmma is an instruction of Hopper (sm_90a) alone";
}

} // namespace fma_wgmma_kernels

using namespace fma_wgmma_kernels;

extern "C" const struct impl fma_wgmma_cuda[];
const struct impl fma_wgmma_cuda[] = {
    {OP_fma, "wgmma", DT_tf32, wgmma_chain<DT_tf32>, refuses_wgmma, nullptr},
    {OP_fma, "wgmma", DT_fp16, wgmma_chain<DT_fp16>, refuses_wgmma, nullptr},
    {OP_fma, "wgmma", DT_bf16, wgmma_chain<DT_bf16>, refuses_wgmma, nullptr},
    {OP_fma, "wgmma", DT_fp8_e4m3, wgmma_chain<DT_fp8_e4m3>, refuses_wgmma, nullptr},
    {OP_fma, "wgmma", DT_fp8_e5m2, wgmma_chain<DT_fp8_e5m2>, refuses_wgmma, nullptr},
    {},
};
