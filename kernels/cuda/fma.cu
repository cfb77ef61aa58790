/* fma.cu - the flat roof: y = y + k (x1 w1 + x2 w2) for n lanes, k rounds of two multiply-adds each, all in registers.
 *   fma_chain   CHAINS accumulators a thread: 16 warps of 16 chains hide a latency of 4 to 8 cycles many times over
 *   mma_sync    TILES accumulator tiles a warp. The rows of A are x1 x2 x1 x2 ..., the columns of B w1 w2 w1 w2 ...: one
 *               instruction of depth K adds K/2 rounds to each of its accumulators. What k leaves over is one more, with
 *               elements of A beyond it zero.
 * Lanes of y are all treated alike, so that where in a tile one lies is of no importance. */
#include "cuda_kernel.cuh"

namespace fma_kernels { /* other files may have the same names */

enum {
    WARP = 32,
    THREADS = 256,
    TILES = 8, /* with 16 warps a multiprocessor, several times what a latency of 33 cycles needs */
    UNROLL = 4, /* rounds or instructions between two looks at the counter */
};

/* ---- multiply-add instructions ---- */

template <class T, int CHAINS>
__global__ void __launch_bounds__(THREADS)
    fma_chain_kernel(const T *__restrict__ x, const T *__restrict__ w, T *__restrict__ y, int64_t n,
                     int64_t k) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (THREADS * CHAINS) + threadIdx.x;
    const T x0 = x[0], x1 = x[1], w0 = w[0], w1 = w[1];
    T chain[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        chain[c] = first + c * THREADS < n ? y[first + c * THREADS] : T(0);

#pragma unroll UNROLL
    for (int64_t round = 0; round < k; round++) {
#pragma unroll
        for (int c = 0; c < CHAINS; c++) chain[c] = fma(x0, w0, chain[c]);
#pragma unroll
        for (int c = 0; c < CHAINS; c++) chain[c] = fma(x1, w1, chain[c]);
    }

#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        if (first + c * THREADS < n) y[first + c * THREADS] = chain[c];
}

template <class T, int CHAINS> int fma_chain(const struct args *a) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.n, THREADS * CHAINS)));
    c.block = dim3(THREADS);
    c.stream = stream_of(a);
    return gpu_launch(c, fma_chain_kernel<T, CHAINS>, operand<const T>(a, 0),
                      operand<const T>(a, 1), operand<T>(a, 2), a->s.n, a->s.k);
}

/* ---- tensor instructions ---- */

#ifdef __CUDA_ARCH__
constexpr int ARCH = __CUDA_ARCH__;
#else
constexpr int ARCH = 0; /* the emulation has every instruction */
#endif

/* A tile is an instruction: its depth K, accumulators a lane, and fragments of A and B, which fill() sets so that of the K/2
 * pairs (x1, x2) along A's rows the first `rounds` are there and the others zero. NATIVE: the GPU does it as it stands. */

template <enum dtype D> DEV uint32_t bits_of(const typename element<D>::type *v, int i) {
    if constexpr (sizeof(*v) == 1) return reinterpret_cast<const unsigned char *>(v)[i];
    if constexpr (sizeof(*v) == 2) return reinterpret_cast<const unsigned short *>(v)[i];
    return reinterpret_cast<const uint32_t *>(v)[i % 2];
}

/* m16n8: 32-bit registers of PER elements that follow each other along K. Lane l's begin at PER (l % 4), those of the second
 * half of A and of B at K/2 more. Source: PTX ISA, matrix fragments of mma.m16n8k8, k16 and k32. */
template <enum dtype D> struct tile {
    static constexpr bool FP8 = D == DT_fp8_e4m3 || D == DT_fp8_e5m2;
    static constexpr bool NATIVE = !FP8 || ARCH == 0 || ARCH == 890 || ARCH >= 1200;
    using T = typename element<D>::type;
    static constexpr int PER = 4 / static_cast<int>(sizeof(typename element<D>::type)), K = 8 * PER;
    using acc = float;
    static constexpr int ACCS = 4;
    struct fragments {
        uint32_t a[4], b[2];
    };

    DEV static uint32_t filled(const typename element<D>::type *v, int lane, int half, int rounds) {
        const int k = half * (K / 2) + lane % 4 * PER; /* of the register's first element */
        uint32_t bits = 0;
#pragma unroll
        for (int e = 0; e < PER; e++)
            if ((k + e) / 2 < rounds) bits |= bits_of<D>(v, (k + e) % 2) << (32 / PER * e % 32);
        return bits;
    }
    DEV static void fill(fragments &f, const typename element<D>::type *x,
                         const typename element<D>::type *w, int lane, int rounds) {
#pragma unroll
        for (int r = 0; r < 4; r++) f.a[r] = filled(x, lane, r / 2, rounds);
#pragma unroll
        for (int r = 0; r < 2; r++) f.b[r] = filled(w, lane, r, K / 2);
    }
    DEV static void multiply(acc (&d)[ACCS], const fragments &f) {
        if constexpr (D == DT_tf32) gpu::mma_m16n8k8_tf32(d, f.a, f.b);
        if constexpr (D == DT_fp16) gpu::mma_m16n8k16_f16(d, f.a, f.b);
        if constexpr (D == DT_bf16) gpu::mma_m16n8k16_bf16(d, f.a, f.b);
        if constexpr (D == DT_fp8_e4m3) gpu::mma_m16n8k32_e4m3(d, f.a, f.b);
        if constexpr (D == DT_fp8_e5m2) gpu::mma_m16n8k32_e5m2(d, f.a, f.b);
    }
};

/* nvfp4, whose two numbers are kept as a scale each: codes are 1 or -1, x1 and w1 the scales of the first and third 16 of k, x2 and w2
 * of the others. */
struct nvfp4_tile {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM120_ALL)
    static constexpr bool NATIVE = true;
#else
    static constexpr bool NATIVE = false;
#endif
    static constexpr bool FP8 = true; /* as there: who knows how long its sums are */
    using T = __nv_fp8_e4m3;
    using acc = float;
    static constexpr int K = 64, ACCS = 4, BLOCK = 16;
    struct fragments {
        uint32_t a[4], b[2], a_scales, b_scales;
    };

    DEV static uint32_t codes(const T *v, int lane, int half, int rounds) {
        const int k = half * (K / 2) + lane % 4 * 8; /* of the register's first code */
        const uint32_t one = v[k / BLOCK % 2].__x & 0x80 ? 10 : 2;
        uint32_t bits = 0;
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (k / (2 * BLOCK) * BLOCK + (k + e) % BLOCK < rounds) bits |= one << 4 * e;
        return bits;
    }
    DEV static uint32_t scales(const T *v) { /* without their signs, which codes have */
        const uint32_t two = (v[0].__x & 0x7fu) | (v[1].__x & 0x7fu) << 8;
        return two | two << 16;
    }
    DEV static void fill(fragments &f, const T *x, const T *w, int lane, int rounds) {
#pragma unroll
        for (int r = 0; r < 4; r++) f.a[r] = codes(x, lane, r / 2, rounds);
#pragma unroll
        for (int r = 0; r < 2; r++) f.b[r] = codes(w, lane, r, K / 2);
        f.a_scales = scales(x);
        f.b_scales = scales(w);
    }
    DEV static void multiply(acc (&d)[ACCS], const fragments &f) {
        gpu::mma_m16n8k64_nvfp4(d, f.a, f.b, f.a_scales, f.b_scales);
    }
};

template <> struct tile<DT_fp64> {
    static constexpr bool FP8 = false, NATIVE = true;
    using T = double;
    using acc = double;
    static constexpr int K = 4, ACCS = 2;
    struct fragments {
        double a, b;
    };
    DEV static void fill(fragments &f, const double *x, const double *w, int lane, int rounds) {
        f.a = lane % 4 / 2 < rounds ? x[lane % 2] : 0;
        f.b = w[lane % 2];
    }
    DEV static void multiply(acc (&d)[ACCS], const fragments &f) {
        gpu::mma_m8n8k4_f64(d, f.a, f.b);
    }
};

/* m16n8k16 of fp64, on Hopper, which has an instruction of 8 times the work. */
struct large_fp64_tile {
    static constexpr bool FP8 = false, NATIVE = ARCH == 0 || ARCH / 100 == 9;
    using T = double;
    using acc = double;
    static constexpr int K = 16, ACCS = 4;
    struct fragments {
        double a[8], b[4];
    };
    DEV static void fill(fragments &f, const double *x, const double *w, int lane, int rounds) {
#pragma unroll
        for (int r = 0; r < 8; r++) f.a[r] = (r / 2 * 4 + lane % 4) / 2 < rounds ? x[lane % 2] : 0;
#pragma unroll
        for (int r = 0; r < 4; r++) f.b[r] = w[lane % 2];
    }
    DEV static void multiply(acc (&d)[ACCS], const fragments &f) {
        gpu::mma_m16n8k16_f64(d, f.a, f.b);
    }
};

/* `times` instructions on each of the accumulator tiles. */
template <class TILE>
DEV void multiply_tiles(typename TILE::acc (&y)[TILES][TILE::ACCS],
                        const typename TILE::fragments &f, int64_t times) {
#pragma unroll UNROLL
    for (int64_t i = 0; i < times; i++) {
#pragma unroll
        for (int t = 0; t < TILES; t++) TILE::multiply(y[t], f);
    }
}

/* The same for fp8, whose tensor cores are reported to keep 13 bits of fraction (DeepSeek-V3 for Hopper, SageAttention2 for
 * Ada): each product is formed from zero and added in fp32, by an instruction that has 16 cycles and more to itself. All
 * products are the same: that the compiler does not form one for all, other multiples of a `zero` that it cannot know are
 * added to B. */
template <class TILE>
DEV void multiply_fp8_tiles(float (&y)[TILES][4], const typename TILE::fragments &f, int64_t times,
                            uint32_t zero) {
    typename TILE::fragments g[TILES];
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        g[t] = f;
        g[t].b[0] += zero * (static_cast<uint32_t>(t) << 16);
    }
#pragma unroll 1
    for (int64_t i = 0; i < times; i++) {
        float product[TILES][4] = {};
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            g[t].b[0] += zero;
            TILE::multiply(product[t], g[t]);
        }
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 4; e++) y[t][e] += product[t][e];
    }
}

template <class TILE>
DEV void multiply_all(const typename TILE::T *x, const typename TILE::T *w, typename TILE::acc *y,
                      int64_t n, int64_t k, uint32_t zero) {
    constexpr int ACCS = TILE::ACCS, ROUNDS = TILE::K / 2;
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (THREADS * TILES * ACCS) + threadIdx.x;
    typename TILE::acc sum[TILES][ACCS];
#pragma unroll
    for (int i = 0; i < TILES * ACCS; i++)
        sum[i / ACCS][i % ACCS] = first + i * THREADS < n ? y[first + i * THREADS] : 0;

    typename TILE::fragments f;
    TILE::fill(f, x, w, lane, ROUNDS);
    if constexpr (TILE::FP8)
        multiply_fp8_tiles<TILE>(sum, f, k / ROUNDS, zero);
    else
        multiply_tiles<TILE>(sum, f, k / ROUNDS);
    if constexpr (TILE::
                      FP8) { /* 8, 4, 2, 1 rounds: such multiples have no more bits than a round */
        for (int rounds = ROUNDS / 2; rounds > 0; rounds /= 2) {
            if (!(k & rounds)) continue;
            typename TILE::acc product[ACCS] = {};
            TILE::fill(f, x, w, lane, rounds);
            TILE::multiply(product, f); /* the same for every tile */
#pragma unroll
            for (int i = 0; i < TILES * ACCS; i++) sum[i / ACCS][i % ACCS] += product[i % ACCS];
        }
    } else if (k % ROUNDS) {
        TILE::fill(f, x, w, lane, static_cast<int>(k % ROUNDS));
#pragma unroll
        for (int t = 0; t < TILES; t++) TILE::multiply(sum[t], f);
    }

#pragma unroll
    for (int i = 0; i < TILES * ACCS; i++)
        if (first + i * THREADS < n) y[first + i * THREADS] = sum[i / ACCS][i % ACCS];
}

/* Where it would be taken apart it is refused, and not compiled. Two blocks a multiprocessor: 16 warps. */
template <class TILE>
__global__ void __launch_bounds__(THREADS, 2)
    mma_sync_kernel(const typename TILE::T *__restrict__ x, const typename TILE::T *__restrict__ w,
                    typename TILE::acc *__restrict__ y, int64_t n, int64_t k, uint32_t zero) {
    if constexpr (TILE::NATIVE) multiply_all<TILE>(x, w, y, n, k, zero);
}

template <class TILE> int mma_sync(const struct args *a) {
    using T = typename TILE::T;
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.n, THREADS * TILES * TILE::ACCS)));
    c.block = dim3(THREADS);
    c.stream = stream_of(a);
    return gpu_launch(c, mma_sync_kernel<TILE>, operand<const T>(a, 0), operand<const T>(a, 1),
                      operand<typename TILE::acc>(a, 2), a->s.n, a->s.k, 0u);
}

/* ---- refusals ---- */

const char *refuses_fp64(const struct args *a) {
    const int cc = a->gpu->cc;
    return cc == 80 || cc / 10 == 9 || cc / 10 == 10
               ? nullptr
               : "this GPU has no tensor cores for fp64: the instruction is taken apart";
}

const char *refuses_large_fp64(const struct args *a) {
    return a->gpu->cc / 10 == 9 ? nullptr
                                : "only sm_90 has fp64 tensor instructions of 16x8x16; elsewhere "
                                  "they are taken apart";
}

/* Before sm_89 there is none. */
const char *refuses_fp8(const struct args *a) {
    const int cc = a->gpu->cc;
    if (cc < 89) return "fp8 tensor cores begin with sm_89";
    return cc == 89 || cc == 120
               ? nullptr
               : "mma.sync fp8 is emulated by converts on sm_90 and sm_100: not the tensor cores' "
                 "own rate";
}

const char *refuses_nvfp4(const struct args *a) {
    return a->gpu->cc == 120 ? nullptr : "nvfp4 mma.sync is an instruction of sm_120 only";
}

} // namespace fma_kernels

using namespace fma_kernels;

extern "C" const struct impl fma_cuda[];
const struct impl fma_cuda[] = {
    {OP_fma, "fma_chain", DT_fp64, fma_chain<double, 8>, nullptr, nullptr},
    {OP_fma, "fma_chain", DT_fp32, fma_chain<float, 16>, nullptr, nullptr},
    {OP_fma, "mma_sync", DT_fp64, mma_sync<tile<DT_fp64>>, refuses_fp64, nullptr},
    {OP_fma, "mma_sync_16x8x16", DT_fp64, mma_sync<large_fp64_tile>, refuses_large_fp64, nullptr},
    {OP_fma, "mma_sync", DT_tf32, mma_sync<tile<DT_tf32>>, nullptr, nullptr},
    {OP_fma, "mma_sync", DT_fp16, mma_sync<tile<DT_fp16>>, nullptr, nullptr},
    {OP_fma, "mma_sync", DT_bf16, mma_sync<tile<DT_bf16>>, nullptr, nullptr},
    {OP_fma, "mma_sync", DT_fp8_e4m3, mma_sync<tile<DT_fp8_e4m3>>, refuses_fp8, nullptr},
    {OP_fma, "mma_sync", DT_fp8_e5m2, mma_sync<tile<DT_fp8_e5m2>>, refuses_fp8, nullptr},
    {OP_fma, "mma_sync", DT_nvfp4, mma_sync<nvfp4_tile>, refuses_nvfp4, nullptr},
    {},
};
