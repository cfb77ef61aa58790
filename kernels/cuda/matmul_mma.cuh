/* matmul_mma.cuh - C_i = alpha A_i B_i + beta C_i by mma.sync, fp32 accumulators: the kernel and its launcher.
 *
 * A block makes BM x BN of C, each warp WM x WN of it. k-tiles of 64 bytes a row (two instructions deep) come through
 * STAGES buffers by cp.async; fragments of the next instruction are loaded while the present one runs; one barrier a
 * k-tile. At the end sums go through shared memory, so that rows of C are written 16 bytes a lane, 128 and more in a row.
 * Tiles: at an A100's full rate (1024 bf16 multiply-adds a clock) 128 x 256 reads 24 bytes a clock and multiprocessor
 * from the L2, 128 x 128 32, 64 x 64 64, of about 36 that it has; the smaller ones are for problems of so few tiles
 * that the large one would leave multiprocessors idle. */
#ifndef MATMUL_MMA_CUH
#define MATMUL_MMA_CUH
#include "mma_problem.cuh"

template <int BM_, int BN_, int WM_, int WN_, int STAGES_, int BLOCKS_> struct block_tile {
    static constexpr int BM = BM_, BN = BN_, WM = WM_, WN = WN_, STAGES = STAGES_;
    static constexpr int BLOCKS = BLOCKS_; /* on a multiprocessor; limits registers */
    static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
};
/* 96, 48 and 32 KiB of shared memory a block: GPUs of 100 KiB hold one, two and three. */
static_assert(MMA_SMEM == 4 * (128 + 256) * 64, "what refuses_mma() asks for");
using large_tile = block_tile<128, 256, 64, 64, 4, 1>;
using medium_tile = block_tile<128, 128, 64, 64, 3, 2>;
using small_tile = block_tile<64, 64, 32, 32, 4, 4>;

/* Of formats with block scales, whose SIZE is that of two codes. */
template <class OPERAND> static constexpr bool is_scaled = false;

/* Copies of an operand. */
template <class OPERAND, bool K_MAJOR, int EXTENT, int THREADS>
using copies_of =
    typename std::conditional<is_scaled<OPERAND>, scaled_copies<EXTENT, THREADS>,
                              copies<K_MAJOR, EXTENT, OPERAND::SIZE, 64, THREADS>>::type;

template <class OPERAND, class TILE>
static constexpr int mma_stage = (TILE::BM + TILE::BN) *
                                 (64 + (is_scaled<OPERAND> ? int{SCALE_BYTES} : 0));

/* OPERAND: product, SIZE and mma() of an operand's format. */
template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(TILE::THREADS, TILE::BLOCKS) matmul_mma(const mma_problem p) {
    constexpr int SIZE = OPERAND::SIZE, K_BYTES = 64, STEPS = K_BYTES / 32, THREADS = TILE::THREADS;
    constexpr int MT = TILE::WM / 16, NT = TILE::WN / 8, STAGES = TILE::STAGES;
    using P = typename OPERAND::product;
    constexpr bool SCALED = is_scaled<OPERAND>;
    using copies_a = copies_of<OPERAND, A_K_MAJOR, TILE::BM, THREADS>;
    using copies_b = copies_of<OPERAND, B_K_MAJOR, TILE::BN, THREADS>;
    constexpr int STAGE = mma_stage<OPERAND, TILE>;
    static_assert(STAGE == copies_a::T::BYTES + copies_b::T::BYTES, "what the launcher asks for");
    DYN_SMEM(128, char, shared); /* [STAGES][A, then B] */

    const int64_t batch = batch_index();
    if (batch >= p.batch) return; /* the whole block */
    const tile at = tile_of(blockIdx.x, p.tiles_m, p.tiles_n);
    const int64_t row0 = int64_t(at.row) * TILE::BM, col0 = int64_t(at.col) * TILE::BN;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int wm = warp / TILE::WARPS_N * TILE::WM, wn = warp % TILE::WARPS_N * TILE::WN;
    const int k_tiles = (p.k + K_BYTES / SIZE - 1) / (K_BYTES / SIZE);

    copies_a from_a;
    copies_b from_b;
    matrix A = p.A, B = p.B;
    A.data += batch * A.stride;
    B.data += batch * B.stride;
    A.scales += batch * A.scale_stride;
    B.scales += batch * B.scale_stride;
    from_a.start(A, p.m, row0, p.k);
    from_b.start(B, p.n, col0, p.k);

    float sum[MT][NT][4] = {};
    uint32_t a[2][MT][4], b[2][NT][2], a_scales[2][MT], b_scales[2][NT];
    k_loop<STAGES, STEPS>(
        shared, from_a, A.pitch, from_b, B.pitch, k_tiles,
        [&](int buffer, const char *tile_a, const char *tile_b, int step) {
            load_a<A_K_MAJOR, MT, typename copies_a::T, SIZE>(a[buffer], tile_a, wm, step);
            load_b<B_K_MAJOR, NT, typename copies_b::T, SIZE>(b[buffer], tile_b, wn, step);
            if constexpr (SCALED) {
                load_a_scales<MT, typename copies_a::T>(a_scales[buffer], tile_a, wm, step);
                load_b_scales<NT, typename copies_b::T>(b_scales[buffer], tile_b, wn, step);
            }
        },
        [&](int buffer, int) {
#pragma unroll
            for (int i = 0; i < MT; i++)
#pragma unroll
                for (int j = 0; j < NT; j++)
                    if constexpr (SCALED)
                        OPERAND::mma(sum[i][j], a[buffer][i], b[buffer][j], a_scales[buffer][i],
                                     b_scales[buffer][j]);
                    else
                        OPERAND::mma(sum[i][j], a[buffer][i], b[buffer][j]);
        });

    /* 16 rows at a time through shared memory. Rows are 8 words apart modulo 32: lane / 4 and lane % 4 of a write of
     * 8 bytes meet all banks. */
    constexpr int WIDTH = TILE::WN + 8, RUNS = TILE::WN / 8, V = vec<P>::N;
    static_assert(THREADS / 32 * 16 * WIDTH * 4 <= STAGES * STAGE,
                  "the sums of 16 rows a warp fit");
    float *mine = reinterpret_cast<float *>(shared) + warp * 16 * WIDTH;
    float alpha = static_cast<float>(p.alpha);
    const float beta = static_cast<float>(p.beta);
    if (p.a_scale) alpha *= *p.a_scale * *p.b_scale;
    const bool aligned = p.n % V == 0;
    P *C = static_cast<P *>(p.C) + batch * p.m * p.n;
#pragma unroll
    for (int i = 0; i < MT; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float *row = mine + (lane / 4 + 8 * h) * WIDTH;
            if constexpr (B_K_MAJOR || SIZE == 2) {
#pragma unroll
                for (int j = 0; j < NT; j++)
                    *reinterpret_cast<float2 *>(row + 8 * j + lane % 4 * 2) =
                        make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            } else { /* load_b() has dealt 4 consecutive columns to 4 tiles */
#pragma unroll
                for (int j = 0; j < NT; j += 4)
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        *reinterpret_cast<float4 *>(row + 8 * j + lane % 4 * 8 + e * 4) =
                            make_float4(sum[i][j][2 * h + e], sum[i][j + 1][2 * h + e],
                                        sum[i][j + 2][2 * h + e], sum[i][j + 3][2 * h + e]);
            }
        }
        __syncwarp(); /* the warp's 16 rows are written before they are read */
#pragma unroll 1
        for (int x = lane; x < 16 * RUNS; x += 32) {
            const int64_t r = row0 + wm + fragment_row<A_K_MAJOR, SIZE>(i, x / RUNS);
            const int64_t first = col0 + wn + x % RUNS * 8;
            const float *from = mine + x / RUNS * WIDTH + x % RUNS * 8;
            float run[8];
            *reinterpret_cast<float4 *>(run) = *reinterpret_cast<const float4 *>(from);
            *reinterpret_cast<float4 *>(run + 4) = *reinterpret_cast<const float4 *>(from + 4);
            if (r >= p.m) continue;
#pragma unroll
            for (int v = 0; v < 8; v += V) {
                P *c = C + r * p.n + first + v;
                if (aligned && first + v < p.n) /* then all of the vector is inside */
                    update_vec(c, run + v, alpha, beta);
                else
#pragma unroll
                    for (int e = 0; e < V; e++)
                        if (first + v + e < p.n) update(c[e], run[v + e], alpha, beta);
            }
        }
        __syncwarp(); /* and read before the next 16 overwrite them */
    }
}

/* ---- launchers ---- */

template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
static cudaError_t launch_mma(const struct args *a, mma_problem p) {
    const int64_t tiles_m = ceil_div(p.m, TILE::BM), tiles_n = ceil_div(p.n, TILE::BN);
    p.tiles_m = static_cast<unsigned>(tiles_m);
    p.tiles_n = static_cast<unsigned>(tiles_n);
    launch_config c;
    c.block = dim3(TILE::THREADS);
    c.grid = product_grid(tiles_m * tiles_n, p.batch);
    c.smem = TILE::STAGES * mma_stage<OPERAND, TILE>;
    c.stream = stream_of(a);
    return gpu_launch(c, matmul_mma<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>, p);
}

/* Time of the whole problem in units of an element of C on a busy multiprocessor: the last, partly filled round of
 * blocks counts whole. `rate` is the tile's, relative to the large one. */
template <class TILE> static double cost(const struct args *a, double rate) {
    const int64_t tiles = a->s.b * ceil_div(a->s.m, TILE::BM) * ceil_div(a->s.n, TILE::BN);
    return static_cast<double>(ceil_div(tiles, a->gpu->sms)) * TILE::BM * TILE::BN / rate;
}

template <class OPERAND, bool K_MAJOR_ONLY = false> struct mma_kernels {
    static constexpr int SIZE = OPERAND::SIZE;
    static constexpr bool ONLY_K_MAJOR = K_MAJOR_ONLY;
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch(const struct args *a, const mma_problem &p) {
        /* Rates are estimates from what a clock asks of the L2, above. */
        const double large = cost<large_tile>(a, 1), medium = cost<medium_tile>(a, 0.9),
                     small = cost<small_tile>(a, 0.5);
        return large <= medium && large <= small
                   ? launch_mma<OPERAND, large_tile, A_K_MAJOR, B_K_MAJOR>(a, p)
               : medium <= small ? launch_mma<OPERAND, medium_tile, A_K_MAJOR, B_K_MAJOR>(a, p)
                                 : launch_mma<OPERAND, small_tile, A_K_MAJOR, B_K_MAJOR>(a, p);
    }
};
#endif
