/* matmul_mma.cuh - C_i = alpha A_i B_i + beta C_i by mma.sync, fp32 accumulators: the kernel and its launcher.
 *
 * A block makes BM x BN of C, each warp WM x WN of it. k-tiles of 64 bytes a row (two instructions deep) come through
 * STAGES buffers by cp.async; fragments of the next instruction are loaded while the present one runs; one barrier a
 * k-tile. At the end sums go through shared memory, so that rows of C are written 16 bytes a lane, 128 and more in a row.
 * Tiles: 128 x 256 by 8 warps of 64 x 64 reads 24 bytes of each operand's L2 a clock and multiprocessor at the A100's
 * full rate, half of what the L2 has; 64 x 64 by 4 warps is for problems that would leave multiprocessors idle. */
#ifndef MATMUL_MMA_CUH
#define MATMUL_MMA_CUH
#include "mma_tile.cuh"
#include "nvfp4.cuh"
#include "pack.cuh"

template <int BM_, int BN_, int WM_, int WN_, int STAGES_, int BLOCKS_> struct block_tile {
    static constexpr int BM = BM_, BN = BN_, WM = WM_, WN = WN_, STAGES = STAGES_;
    static constexpr int BLOCKS = BLOCKS_; /* on a multiprocessor; limits registers */
    static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
};
/* 96 KiB of shared memory: also for GPUs that give a block 99. */
using large_tile = block_tile<128, 256, 64, 64, 4, 1>;
using small_tile = block_tile<64, 64, 32, 32, 4, 4>;

struct mma_problem {
    matrix A, B;
    void *C;
    int64_t batch, m, n;
    int k;
    float alpha, beta;
    const float *a_scale, *b_scale; /* of nvfp4 tensors; or NULL */
    unsigned tiles_m, tiles_n;
};

/* OPERAND: type, product, SIZE and mma() of an operand's format. */
template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(TILE::THREADS, TILE::BLOCKS) matmul_mma(const mma_problem p) {
    constexpr int SIZE = OPERAND::SIZE, K_BYTES = 64, STEPS = K_BYTES / 32, THREADS = TILE::THREADS;
    constexpr int MT = TILE::WM / 16, NT = TILE::WN / 8, STAGES = TILE::STAGES;
    using P = typename OPERAND::product;
    using copies_a = copies<A_K_MAJOR, TILE::BM, SIZE, K_BYTES, THREADS>;
    using copies_b = copies<B_K_MAJOR, TILE::BN, SIZE, K_BYTES, THREADS>;
    constexpr int STAGE = copies_a::T::BYTES + copies_b::T::BYTES;
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
    from_a.start(A, p.m, row0, p.k);
    from_b.start(B, p.n, col0, p.k);
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < k_tiles) {
            from_a.issue(shared + s * STAGE, A.pitch);
            from_b.issue(shared + s * STAGE + copies_a::T::BYTES, B.pitch);
        }
        gpu::cp_async_commit();
    }

    float sum[MT][NT][4] = {};
    uint32_t a[2][MT][4], b[2][NT][2];
    gpu::cp_async_wait<STAGES - 2>(); /* this thread's part of the first k-tile is here */
    __syncthreads();                  /* everybody's is */
    load_a<A_K_MAJOR, MT, typename copies_a::T, SIZE>(a[0], shared, wm, 0);
    load_b<B_K_MAJOR, NT, typename copies_b::T, SIZE>(b[0], shared + copies_a::T::BYTES, wn, 0);

    int reading = 0, writing = STAGES - 1;
    for (int kt = 0; kt < k_tiles; kt++) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            const int now = step % 2, next = 1 - now;
            if (step == STEPS - 1) {
                gpu::cp_async_wait<STAGES - 2>();
                /* The next k-tile is here for everybody. And all have read the present one, whose buffer is the
                 * next to be written. */
                __syncthreads();
                reading = reading + 1 == STAGES ? 0 : reading + 1;
            }
            /* after the last k-tile: whatever is there, for nobody */
            const char *tile_a = shared + reading * STAGE, *tile_b = tile_a + copies_a::T::BYTES;
            load_a<A_K_MAJOR, MT, typename copies_a::T, SIZE>(a[next], tile_a, wm,
                                                              (step + 1) % STEPS);
            load_b<B_K_MAJOR, NT, typename copies_b::T, SIZE>(b[next], tile_b, wn,
                                                              (step + 1) % STEPS);
            if (step == 0) {
                if (kt + STAGES - 1 < k_tiles) {
                    from_a.issue(shared + writing * STAGE, A.pitch);
                    from_b.issue(shared + writing * STAGE + copies_a::T::BYTES, B.pitch);
                }
                gpu::cp_async_commit(); /* also an empty group: waits count groups */
                writing = writing + 1 == STAGES ? 0 : writing + 1;
            }
#pragma unroll
            for (int i = 0; i < MT; i++)
#pragma unroll
                for (int j = 0; j < NT; j++) OPERAND::mma(sum[i][j], a[now][i], b[now][j]);
        }
    }

    /* 16 rows at a time through shared memory. Rows are 8 words apart modulo 32: lane / 4 and lane % 4 of a write of
     * 8 bytes meet all banks. */
    constexpr int WIDTH = TILE::WN + 8, RUNS = TILE::WN / 8, V = vec<P>::N;
    static_assert(THREADS / 32 * 16 * WIDTH * 4 <= STAGES * STAGE,
                  "the sums of 16 rows a warp fit");
    float *mine = reinterpret_cast<float *>(shared) + warp * 16 * WIDTH;
    float alpha = p.alpha;
    if (p.a_scale) alpha *= *p.a_scale * *p.b_scale;
    const bool aligned = p.n % V == 0;
    P *C = static_cast<P *>(p.C) + batch * p.m * p.n;
    gpu::cp_async_wait<0>();
    __syncthreads(); /* all have read their last fragments before sums overwrite them */
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
                    update_vec(c, run + v, alpha, p.beta);
                else
#pragma unroll
                    for (int e = 0; e < V; e++)
                        if (first + v + e < p.n) update(c[e], run[v + e], alpha, p.beta);
            }
        }
        __syncwarp(); /* and read before the next 16 overwrite them */
    }
}

/* ---- formats ---- */

struct operand_bf16 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 2;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k16_bf16(d, a, b);
    }
};
struct operand_fp16 {
    using product = __half;
    static constexpr int SIZE = 2;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k16_f16(d, a, b);
    }
};
struct operand_tf32 {
    using product = float;
    static constexpr int SIZE = 4;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k8_tf32(d, a, b);
    }
};

/* ---- operands ---- */

/* How an operand, 0 A or 1 B, reaches the kernel. */
struct packing {
    int64_t rows, width; /* as stored, of one matrix */
    int size;            /* of an element that the kernel reads */
    bool k_major;
    bool direct;  /* from where it is; else packed */
    bool convert; /* to bf16 */
    bool turn;    /* so that it is K-major */
};

/* t as stored; `only_k_major`: the kernel has no other path. */
static inline packing packing_of(const struct args *a, int i, enum dtype t, int size,
                                 bool only_k_major) {
    packing x = {};
    const int64_t extent = i == 0 ? a->s.m : a->s.n;
    x.k_major = i == 0 ? a_is_k_major(a) : b_is_k_major(a);
    x.rows = x.k_major ? extent : a->s.k;
    x.width = x.k_major ? a->s.k : extent;
    x.size = size;
    x.convert = dtypes[t].bits != 8 * size;
    x.turn = only_k_major && !x.k_major;
    x.direct = !x.convert && !x.turn && x.width * size % 16 == 0;
    return x;
}
static inline size_t packing_bytes(const packing &x, int64_t batch) { /* 256-byte aligned */
    const int64_t rows = x.turn ? x.width : x.rows, width = x.turn ? x.rows : x.width;
    return x.direct ? 0
                    : static_cast<size_t>(
                          ceil_div(batch * rows * packed_pitch(width, x.size), 256) * 256);
}
/* The matrix to read; launches what makes it in `scratch`, which it moves on. */
static inline cudaError_t pack(matrix *to, const packing &x, const struct args *a, int i,
                               enum dtype t, char **scratch) {
    const int64_t rows = x.turn ? x.width : x.rows, width = x.turn ? x.rows : x.width;
    to->pitch = packed_pitch(width, x.size);
    to->stride = rows * to->pitch;
    to->data = x.direct ? operand<const char>(a, i) : *scratch;
    if (x.direct) return cudaSuccess;
    char *room = *scratch;
    *scratch += packing_bytes(x, a->s.b);
    if (x.turn) return pack_transposed(room, a->buf[i], a->s.b, x.rows, x.width, stream_of(a));
    if (x.convert) return pack_to_bf16(room, a->buf[i], t, a->s.b * x.rows, x.width, stream_of(a));
    return pack_rows(room, a->buf[i], a->s.b * x.rows, x.width, x.size, stream_of(a));
}

/* ---- launchers ---- */

template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
static cudaError_t launch_mma(mma_problem p, cudaStream_t stream) {
    const int64_t tiles_m = ceil_div(p.m, TILE::BM), tiles_n = ceil_div(p.n, TILE::BN);
    p.tiles_m = static_cast<unsigned>(tiles_m);
    p.tiles_n = static_cast<unsigned>(tiles_n);
    launch_config c;
    c.block = dim3(TILE::THREADS);
    c.grid = product_grid(tiles_m * tiles_n, p.batch);
    c.smem = TILE::STAGES * (TILE::BM + TILE::BN) * 64;
    c.stream = stream;
    return gpu_launch(c, matmul_mma<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>, p);
}

/* The large tile computes an element in about half the time of the small one, if there is work for all
 * multiprocessors: what the last, partly filled round costs decides. */
static inline bool large_is_faster(const struct args *a, const mma_problem &p) {
    const int64_t large = p.batch * ceil_div(p.m, large_tile::BM) * ceil_div(p.n, large_tile::BN);
    const int64_t small = p.batch * ceil_div(p.m, small_tile::BM) * ceil_div(p.n, small_tile::BN);
    const int64_t sms = a->gpu->sms;
    const int64_t large_cost = ceil_div(large, sms) * (large_tile::BM * large_tile::BN),
                  small_cost = ceil_div(small, sms) * (small_tile::BM * small_tile::BN);
    return large_cost < 2 * small_cost;
}

/* `t` is stored; OPERAND is multiplied. */
template <class OPERAND, bool A_K_MAJOR, bool B_K_MAJOR>
static int run_mma(const struct args *a, enum dtype t, const packing &x, const packing &y) {
    mma_problem p = {};
    char *scratch = static_cast<char *>(a->scratch);
    cudaError_t e = pack(&p.A, x, a, 0, t, &scratch);
    if (e == cudaSuccess) e = pack(&p.B, y, a, 1, t, &scratch);
    if (e != cudaSuccess) return e;
    p.C = a->buf[2];
    p.batch = a->s.b, p.m = a->s.m, p.n = a->s.n;
    p.k = static_cast<int>(a->s.k);
    p.alpha = static_cast<float>(a->alpha), p.beta = static_cast<float>(a->beta);
    if (t == DT_nvfp4) {
        const int64_t at_a = a->s.b * a->s.m * a->s.k, at_b = a->s.b * a->s.k * a->s.n;
        p.a_scale = nvfp4_tensor_at(a->buf[0], at_a).tensor_scale;
        p.b_scale = nvfp4_tensor_at(a->buf[1], at_b).tensor_scale;
    }
    return large_is_faster(a, p)
               ? launch_mma<OPERAND, large_tile, A_K_MAJOR, B_K_MAJOR>(p, stream_of(a))
               : launch_mma<OPERAND, small_tile, A_K_MAJOR, B_K_MAJOR>(p, stream_of(a));
}

/* Row functions of dtype T through OPERAND, all layouts. */
template <enum dtype T, class OPERAND> struct mma_rows {
    static packing of(const struct args *a, int i) {
        return packing_of(a, i, T, OPERAND::SIZE, false);
    }
    static int run(const struct args *a) {
        const packing x = of(a, 0), y = of(a, 1);
        return !x.k_major  ? run_mma<OPERAND, false, false>(a, T, x, y)
               : y.k_major ? run_mma<OPERAND, true, true>(a, T, x, y)
                           : run_mma<OPERAND, true, false>(a, T, x, y);
    }
    static size_t scratch_bytes(const struct args *a) {
        return packing_bytes(of(a, 0), a->s.b) + packing_bytes(of(a, 1), a->s.b);
    }
};

static inline const char *refuses_mma(const struct args *a) {
    return a->s.k > 1 << 30 ? "an inner extent beyond 2^30" : nullptr;
}
#endif
