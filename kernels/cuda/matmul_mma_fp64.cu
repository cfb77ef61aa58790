/* matmul_mma_fp64.cu - products in fp64 on tensor cores by mma.sync m8n8k4; on sm_90 m16n8k8.
 *
 * A block makes 64 x 64 of C, each of 4 warps 32 x 32, in k-tiles of 16 through 4 stages of cp.async. The tile is small since
 * fp64 computes slowly: 16 bytes a clock and multiprocessor feed an A100's 64 multiply-adds. Lanes read pairs: two k of
 * an operand that is contiguous along k, so lane t of four has k = 2t and 2t + 1 of 8, for one instruction each, in
 * both operands; else two rows or columns, one for each of two fragments. */
#include "mma_problem.cuh"

enum { BM = 64, BN = 64, WARP = 32, THREADS = 128, STAGES = 4, K_BYTES = 128, BK = K_BYTES / 8 };
enum { TILES = WARP / 8, STEPS = BK / 8 };

/* x[i][e]: element (row lane / 4, k = 2 (lane mod 4) + e) of fragment i; columns of B are rows here. */
template <bool K_MAJOR, class T>
DEV void load_pairs(double (&x)[TILES][2], const char *tile, int first, int step) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    if constexpr (K_MAJOR) {
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            const double2 v = *reinterpret_cast<const double2 *>(
                tile + T::offset(first + 8 * i + g, 4 * step + t));
            x[i][0] = v.x;
            x[i][1] = v.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < TILES; i += 2)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const double2 v = *reinterpret_cast<const double2 *>(
                    tile + T::offset(8 * step + 2 * t + e, first / 2 + 4 * i + g));
                x[i][e] = v.x;
                x[i + 1][e] = v.y;
            }
    }
}

/* WIDE: by m16n8k8, four times the work an instruction, which is in the hardware of sm_90 only. */
template <bool WIDE, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(THREADS, 2) matmul_mma_fp64(const mma_problem p) {
    using copies_a = copies<A_K_MAJOR, BM, 8, K_BYTES, THREADS>;
    using copies_b = copies<B_K_MAJOR, BN, 8, K_BYTES, THREADS>;
    DYN_SMEM(128, char, shared); /* [STAGES][A, then B] */

    const int64_t batch = batch_index();
    if (batch >= p.batch) return; /* the whole block */
    const tile at = tile_of(blockIdx.x, p.tiles_m, p.tiles_n);
    const int64_t row0 = int64_t(at.row) * BM, col0 = int64_t(at.col) * BN;
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    const int wm = warp / 2 * WARP, wn = warp % 2 * WARP;

    copies_a from_a;
    copies_b from_b;
    matrix A = p.A, B = p.B;
    A.data += batch * A.stride;
    B.data += batch * B.stride;
    from_a.start(A, p.m, row0, p.k);
    from_b.start(B, p.n, col0, p.k);

    double sum[TILES][TILES][2] = {};
    double a[2][TILES][2], b[2][TILES][2];
    k_loop<STAGES, STEPS>(
        shared, from_a, A.pitch, from_b, B.pitch, (p.k + BK - 1) / BK,
        [&](int buffer, const char *tile_a, const char *tile_b, int step) {
            load_pairs<A_K_MAJOR, typename copies_a::T>(a[buffer], tile_a, wm, step);
            load_pairs<B_K_MAJOR, typename copies_b::T>(b[buffer], tile_b, wn, step);
        },
        [&](int buffer) {
            const double(&x)[TILES][2] = a[buffer], (&y)[TILES][2] = b[buffer];
#pragma unroll
            for (int i = 0; i < TILES; i += 2)
#pragma unroll
                for (int j = 0; j < TILES; j++) {
                    if constexpr (WIDE) {
                        const double both[4] = {x[i][0], x[i + 1][0], x[i][1], x[i + 1][1]};
                        gpu::mma_m16n8k8_f64(sum[i][j], sum[i + 1][j], both, y[j]);
                    } else {
#pragma unroll
                        for (int e = 0; e < 4; e++)
                            gpu::mma_m8n8k4_f64(sum[i + e % 2][j], x[i + e % 2][e / 2],
                                                y[j][e / 2]);
                    }
                }
        });

    /* A lane has two consecutive columns: of one fragment, or one of each of two that share their columns. */
    double *C = static_cast<double *>(p.C) + batch * p.m * p.n;
    const bool aligned = p.n % 2 == 0;
#pragma unroll
    for (int i = 0; i < TILES; i++) {
        const int64_t row = row0 + wm + (A_K_MAJOR ? 8 * i + g : 16 * (i / 2) + 2 * g + i % 2);
        if (row >= p.m) continue;
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            const int first = j / 2 * 2, e = j % 2;
            const int64_t col = col0 + wn + (B_K_MAJOR ? 8 * j + 2 * t : 8 * first + 4 * t + 2 * e);
            const double two[2] = {B_K_MAJOR ? sum[i][j][0] : sum[i][first][e],
                                   B_K_MAJOR ? sum[i][j][1] : sum[i][first + 1][e]};
            double *c = C + row * p.n + col;
            if (aligned && col < p.n) {
                update_vec(c, two, p.alpha, p.beta);
            } else {
                if (col < p.n) update(c[0], two[0], p.alpha, p.beta);
                if (col + 1 < p.n) update(c[1], two[1], p.alpha, p.beta);
            }
        }
    }
}

struct mma_fp64_kernels {
    static constexpr int SIZE = 8;
    static constexpr bool ONLY_K_MAJOR = false;
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch(const struct args *a, mma_problem p) {
        const int64_t tiles_m = ceil_div(p.m, BM), tiles_n = ceil_div(p.n, BN);
        p.tiles_m = static_cast<unsigned>(tiles_m);
        p.tiles_n = static_cast<unsigned>(tiles_n);
        launch_config c;
        c.block = dim3(THREADS);
        c.grid = product_grid(tiles_m * tiles_n, p.batch);
        c.smem = STAGES * (BM + BN) * K_BYTES;
        c.stream = stream_of(a);
        return a->gpu->cc == 90 ? gpu_launch(c, matmul_mma_fp64<true, A_K_MAJOR, B_K_MAJOR>, p)
                                : gpu_launch(c, matmul_mma_fp64<false, A_K_MAJOR, B_K_MAJOR>, p);
    }
};
using rows = mma_rows<DT_fp64, mma_fp64_kernels>;

extern "C" const struct impl matmul_mma_fp64_cuda[];
const struct impl matmul_mma_fp64_cuda[] = {
    {OP_matmul, "mma_sync", DT_fp64, rows::run, refuses_mma, rows::scratch_bytes},
    {OP_bmm, "mma_sync", DT_fp64, rows::run, refuses_mma, rows::scratch_bytes},
    {},
};
