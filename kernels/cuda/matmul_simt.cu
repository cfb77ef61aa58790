/* matmul_simt.cu - C_i = alpha A_i B_i + beta C_i in fp32 and fp64 by fused multiply-adds of plain cores.
 *
 * A block of 256 threads makes 128 x 128 of C (fp64: 64 x 64), a thread 8 x 8 (4 x 4) as four quadrants whose sides
 * are 16 bytes. Per step of k a thread so loads 2 + 2 vectors from shared memory for 64 multiply-adds; the 8 x 4 lanes
 * of a warp read 128 and 64 consecutive bytes of a row. The next tiles of A and B travel from memory in registers
 * while the present ones are multiplied; two buffers, so that one barrier a step is enough. Any shape and layout. */
#include "matmul.cuh"

static constexpr int THREADS = 256, BK = 8;

template <typename T> struct simt_tile {
    static constexpr int Q = vec<T>::N;    /* elements in 16 bytes */
    static constexpr int EDGE = 32 * Q;    /* of C, made by a block */
    static constexpr int WIDTH = EDGE + Q; /* of a row in shared memory: see put() */
};

/* One operand's way from memory to shared memory: a vector a thread and k-tile. K-major: contiguous along k. What can
 * be had from kernel parameters is not kept: registers are short. */
template <typename T, bool ALIGNED> struct simt_operand {
    static constexpr int Q = simt_tile<T>::Q, WIDTH = simt_tile<T>::WIDTH;
    const T *from;
    int left; /* of k, from this thread's on; nothing where its rows are outside */
    int to;   /* where its vector goes in the tile */

    /* Where the thread's vector starts in the tile. */
    static DEV int row(bool k_major) {
        return k_major ? threadIdx.x / (BK / Q) : threadIdx.x % 32 * Q;
    }
    static DEV int k(bool k_major) {
        return k_major ? threadIdx.x % (BK / Q) * Q : threadIdx.x / 32;
    }

    /* The tile's rows (of B: columns) start at `first` of `extent`; `ld` elements lie between rows in memory. */
    DEV void start(const T *matrix, bool k_major, int64_t extent, int64_t first, int depth) {
        const int64_t ld = k_major ? depth : extent, i = first + row(k_major);
        from = matrix + (k_major ? i * ld + k(k_major) : k(k_major) * ld + i);
        left = i < extent ? depth - k(k_major) : 0;
        to = k(k_major) * WIDTH + row(k_major);
    }
    DEV vec<T> load(bool k_major, int64_t step, int64_t extent, int64_t first) { /* zeros outside */
        vec<T> v = {};
        if (ALIGNED) { /* a vector is inside or outside as a whole */
            if (left > 0) v = vec_load(from);
        } else {
            const int64_t width = k_major ? left : extent - first - row(k_major);
#pragma unroll
            for (int e = 0; e < Q; e++)
                if (left > 0 && e < width) v.at[e] = from[e];
        }
        from += step;
        left -= BK;
        return v;
    }
    /* Tiles lie as [k][row]. K-major vectors are turned: lanes of an access write BK / Q different k, Q rows of
     * shared memory apart, each for consecutive rows. Q (32 Q + Q) elements apart is 16 banks of fp32, 8 of fp64:
     * the 16 (4) rows beside each other fill the gap, and every bank is met once. */
    DEV void put(T *tile, const vec<T> &v, bool k_major) const {
        if (k_major)
#pragma unroll
            for (int e = 0; e < Q; e++) tile[to + e * WIDTH] = v.at[e];
        else
            vec_store(tile + to, v);
    }
};

/* ALIGNED: rows of A, B and C begin at multiples of 16 bytes. */
template <typename T, bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 2)
    matmul_simt(const T *__restrict__ A, const T *__restrict__ B, T *__restrict__ C,
                const product p, bool a_k_major, bool b_k_major, unsigned tiles_m,
                unsigned tiles_n) {
    constexpr int Q = simt_tile<T>::Q, EDGE = simt_tile<T>::EDGE, WIDTH = simt_tile<T>::WIDTH;
    SMEM_ALIGNED(16, T, As, [2][BK][WIDTH]);
    SMEM_ALIGNED(16, T, Bs, [2][BK][WIDTH]);
    const int64_t batch = batch_index();
    if (batch >= p.batch) return; /* the whole block */
    const tile at = tile_of(blockIdx.x, tiles_m, tiles_n);
    const int64_t row0 = int64_t(at.row) * EDGE, col0 = int64_t(at.col) * EDGE;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int tx = lane % 8 + warp % 2 * 8, ty = lane / 8 + warp / 2 * 4;
    const int k_tiles = static_cast<int>((p.k + BK - 1) / BK);

    simt_operand<T, ALIGNED> a, b;
    a.start(A + batch * p.a_batch, a_k_major, p.m, row0, static_cast<int>(p.k));
    b.start(B + batch * p.b_batch, b_k_major, p.n, col0, static_cast<int>(p.k));
    a.put(As[0][0], a.load(a_k_major, BK * p.a_k, p.m, row0), a_k_major);
    b.put(Bs[0][0], b.load(b_k_major, BK * p.b_k, p.n, col0), b_k_major);
    __syncthreads(); /* the first tiles are written before they are read */

    T sum[2 * Q][2 * Q] = {};
    for (int kt = 0; kt < k_tiles; kt++) {
        const int now = kt & 1;
        vec<T> a_next, b_next;
        if (kt + 1 < k_tiles) {
            a_next = a.load(a_k_major, BK * p.a_k, p.m, row0);
            b_next = b.load(b_k_major, BK * p.b_k, p.n, col0);
        }
        vec<T> x[2][2], y[2][2]; /* [buffer][half] */
#pragma unroll
        for (int h = 0; h < 2; h++) {
            x[0][h] = vec_load(&As[now][0][h * EDGE / 2 + ty * Q]);
            y[0][h] = vec_load(&Bs[now][0][h * EDGE / 2 + tx * Q]);
        }
#pragma unroll
        for (int q = 0; q < BK; q++) {
            if (q + 1 < BK)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    x[(q + 1) % 2][h] = vec_load(&As[now][q + 1][h * EDGE / 2 + ty * Q]);
                    y[(q + 1) % 2][h] = vec_load(&Bs[now][q + 1][h * EDGE / 2 + tx * Q]);
                }
#pragma unroll
            for (int i = 0; i < 2 * Q; i++)
#pragma unroll
                for (int j = 0; j < 2 * Q; j++)
                    sum[i][j] =
                        fma(x[q % 2][i / Q].at[i % Q], y[q % 2][j / Q].at[j % Q], sum[i][j]);
        }
        if (kt + 1 < k_tiles) {
            a.put(As[1 - now][0], a_next, a_k_major);
            b.put(Bs[1 - now][0], b_next, b_k_major);
        }
        __syncthreads(); /* the next tiles are written, and the present ones read by all before they are overwritten */
    }

    const T alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
#pragma unroll
    for (int i = 0; i < 2 * Q; i++) {
        const int64_t row = row0 + i / Q * (EDGE / 2) + ty * Q + i % Q;
        if (row >= p.m) continue;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int64_t col = col0 + h * (EDGE / 2) + tx * Q;
            T *c = C + (batch * p.m + row) * p.n + col;
            if (ALIGNED && col < p.n)
                update_vec(c, sum[i] + h * Q, alpha, beta);
            else
#pragma unroll
                for (int e = 0; e < Q; e++)
                    if (col + e < p.n) update(c[e], sum[i][h * Q + e], alpha, beta);
        }
    }
}

template <typename T> static int simt_product(const struct args *a) {
    const product p = product_of(a);
    const int64_t tiles_m = ceil_div(p.m, simt_tile<T>::EDGE),
                  tiles_n = ceil_div(p.n, simt_tile<T>::EDGE);
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = product_grid(tiles_m * tiles_n, p.batch);
    c.stream = stream_of(a);
    const int Q = simt_tile<T>::Q;
    const bool aligned = (a_is_k_major(a) ? p.k : p.m) % Q == 0 &&
                         (b_is_k_major(a) ? p.k : p.n) % Q == 0 && p.n % Q == 0;
    return gpu_launch(c, aligned ? matmul_simt<T, true> : matmul_simt<T, false>,
                      operand<const T>(a, 0), operand<const T>(a, 1), operand<T>(a, 2), p,
                      a_is_k_major(a), b_is_k_major(a), static_cast<unsigned>(tiles_m),
                      static_cast<unsigned>(tiles_n));
}

static const char *refuses(const struct args *a) {
    return a->s.k > 1 << 30 ? "an inner extent beyond 2^30" : nullptr;
}

extern "C" const struct impl matmul_simt_cuda[];
const struct impl matmul_simt_cuda[] = {
    {OP_matmul, "simt", DT_fp64, simt_product<double>, refuses, nullptr},
    {OP_matmul, "simt", DT_fp32, simt_product<float>, refuses, nullptr},
    {OP_bmm, "simt", DT_fp64, simt_product<double>, refuses, nullptr},
    {OP_bmm, "simt", DT_fp32, simt_product<float>, refuses, nullptr},
    {},
};
