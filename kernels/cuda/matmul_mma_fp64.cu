/* matmul_mma_fp64.cu - products in fp64 on tensor cores by mma.sync m8n8k4; on sm_90 m16n8k16, 8 times the work an instruction.
 *
 * A block makes 64 x 64 of C, each of 4 warps 32 x 32, in k-tiles of 16 through 4 stages of cp.async; on sm_90 of 32 through 3. The
 * tile is small since fp64 computes slowly: 16 bytes a clock and multiprocessor feed an A100's 64 multiply-adds. Lanes read pairs:
 * two k of an operand that is contiguous along k, so lane t of four has k = 2t and 2t + 1 of 8, each in a place of its own along k of
 * an instruction, the same in both operands; else two rows or columns, one for each of two fragments. */
#include "mma_problem.cuh"

enum { BM = 64, BN = 64, WARP = 32, THREADS = 128, TILES = WARP / 8 };

/* Of m8n8k4 and m16n8k16: a k-tile's bytes; fragments along k that a lane has at a time, K; and in how many parts, of fewer rows, A's
 * are loaded and multiplied: of both halves there would not be registers for two buffers. */
template <bool WIDE> struct fp64_form {
    static constexpr int K_BYTES = WIDE ? 256 : 128, BK = K_BYTES / 8, STAGES = WIDE ? 3 : 4,
                         K = WIDE ? 4 : 2, PARTS = WIDE ? 2 : 1, ROWS = TILES / PARTS,
                         STEPS = BK / (4 * K) * PARTS, SMEM = STAGES * (BM + BN) * K_BYTES;
    static_assert(SMEM <= MMA_SMEM, "what refuses_mma() asks for");
};

/* x[i][e]: element (row lane / 4, k = 8 (e / 2) + 2 (lane mod 4) + e mod 2) of fragment i; columns of B are rows here. */
template <bool K_MAJOR, class T, int N, int K>
DEV void load_pairs(double (&x)[N][K], const char *tile, int first, int step) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int p = 0; p < K; p += 2) {
        const int eight = step * K / 2 + p / 2; /* of k */
        if constexpr (K_MAJOR) {
#pragma unroll
            for (int i = 0; i < N; i++) {
                const double2 v = *reinterpret_cast<const double2 *>(
                    tile + T::offset(first + 8 * i + g, 4 * eight + t));
                x[i][p] = v.x;
                x[i][p + 1] = v.y;
            }
        } else {
#pragma unroll
            for (int i = 0; i < N; i += 2)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const double2 v = *reinterpret_cast<const double2 *>(
                        tile + T::offset(8 * eight + 2 * t + e, first / 2 + 4 * i + g));
                    x[i][p + e] = v.x;
                    x[i + 1][p + e] = v.y;
                }
        }
    }
}

/* Fragments i and i + 1 of A, which are 16 rows, times one of B. */
DEV void multiply_pair(double (&top)[2], double (&bottom)[2], const double (&x)[2],
                       const double (&y)[2], const double (&b)[2]) {
#pragma unroll
    for (int e = 0; e < 2; e++) {
        gpu::mma_m8n8k4_f64(top, x[e], b[e]);
        gpu::mma_m8n8k4_f64(bottom, y[e], b[e]);
    }
}
DEV void multiply_pair(double (&top)[2], double (&bottom)[2], const double (&x)[4],
                       const double (&y)[4], const double (&b)[4]) {
    double d[4] = {top[0], top[1], bottom[0], bottom[1]};
    const double a[8] = {x[0], y[0], x[1], y[1], x[2], y[2], x[3], y[3]};
    gpu::mma_m16n8k16_f64(d, a, b);
    top[0] = d[0], top[1] = d[1], bottom[0] = d[2], bottom[1] = d[3];
}

/* WIDE: by m16n8k16, which is in the hardware of sm_90 only. */
template <bool WIDE, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(THREADS, 2) matmul_mma_fp64(const mma_problem p) {
    using form = fp64_form<WIDE>;
    constexpr int BK = form::BK, K = form::K, PARTS = form::PARTS, ROWS = form::ROWS;
    using copies_a = copies<A_K_MAJOR, BM, 8, form::K_BYTES, THREADS>;
    using copies_b = copies<B_K_MAJOR, BN, 8, form::K_BYTES, THREADS>;
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
    double a[2][ROWS][K], b[2][TILES][K];
    k_loop<form::STAGES, form::STEPS>(
        shared, from_a, A.pitch, from_b, B.pitch, (p.k + BK - 1) / BK,
        [&](int buffer, const char *tile_a, const char *tile_b, int step) {
            const int k = step / PARTS, part = step % PARTS;
            load_pairs<A_K_MAJOR, typename copies_a::T>(a[buffer], tile_a, wm + part * 8 * ROWS, k);
            if (part == 0) load_pairs<B_K_MAJOR, typename copies_b::T>(b[k % 2], tile_b, wn, k);
        },
        [&](int buffer, int step) {
            const int k = step / PARTS, first = step % PARTS * ROWS;
#pragma unroll
            for (int i = 0; i < ROWS; i += 2)
#pragma unroll
                for (int j = 0; j < TILES; j++)
                    multiply_pair(sum[first + i][j], sum[first + i + 1][j], a[buffer][i],
                                  a[buffer][i + 1], b[k % 2][j]);
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
        c.stream = stream_of(a);
        const bool wide = a->gpu->cc == 90;
        c.smem = wide ? fp64_form<true>::SMEM : fp64_form<false>::SMEM;
        return wide ? gpu_launch(c, matmul_mma_fp64<true, A_K_MAJOR, B_K_MAJOR>, p)
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
