/* matmul_wgmma.cuh - C_i = alpha A_i B_i + beta C_i on Hopper (sm_90a): wgmma fed by the tensor memory accelerator. Not run
 * on a GPU yet.
 *
 * Blocks stay on their multiprocessors and make tile after tile of C, 128 x 256 at their best. One warpgroup of three, with 40 registers
 * a thread, has one thread that starts copies; the two others, with 232, multiply 64 rows each. k-tiles of 128 bytes a row go
 * round a ring of stages in shared memory. A stage has two mbarriers: `full`, whose phase ends when the bytes are there, and
 * `empty`, when all warps that read them are done. Two blocks, one above the other, form a cluster: they need the same columns
 * of B, each loads half of them for both. Loads of the next tile go on while sums of the last one leave: 16 rows x 128 bytes at
 * a time through a warp's own two buffers, by stmatrix and a bulk store. Where tiles are few, they have 64 rows, one warpgroup
 * that multiplies, and two blocks share a multiprocessor; or k is split among several.
 *
 * Floor: 2 m n k flops at 4096 a clock and multiprocessor (fp8 8192, tf32 2048): 989 TFLOP/s in bf16 on 132 of them at
 * 1.83 GHz. Expected of that for 8192 x 8192 x 8192 in bf16, 0.83, 820 TFLOP/s:
 *   0.91   power: what wgmma alone reached on random data, 902 TFLOP/s (an H100, published; zeros: 977)
 *   0.97   rounds: 1024 units of two tiles on 66 clusters are 15.5, which take as long as 16
 *   0.995  the sums' way out, while which nothing is multiplied: at least 300 instructions of each of the 2 warps that share
 *          a scheduler, 600 clocks; the 128 k-tiles before took 1024 clocks each
 *   0.95   the ring: those 1024 clocks ask the L2 for 32 KiB, 32 bytes a clock and multiprocessor of the 32 to 36 there are
 * Published kernels of this design reach 760 to 810. fp8 `fast` has as many bytes a k-tile in as many clocks and twice the
 * flops: the same fractions. fp8 `promoted` has tiles of 128 x 128, which ask for 48 bytes a clock: 0.7 in place of 0.95, and
 * for 64 additions a thread every 256 clocks, which the other warpgroup's multiplies hide.
 *
 * Source: PTX ISA 9.0, 9.7.9.27 (bulk copies), 9.7.13.15 (mbarrier), 9.7.15 (wgmma). */
#ifndef MATMUL_WGMMA_CUH
#define MATMUL_WGMMA_CUH
#include "tma_product.cuh"

/* ---- geometry ---- */

static constexpr int WGMMA_ROW = TMA_ROW;
static constexpr int STAGING = 16 * WGMMA_ROW; /* one of two buffers of a warp */
static constexpr int WGMMA_SMEM = (224 << 10) + 128;

/* Of 128 rows: two warpgroups that multiply, a block on a multiprocessor. Of 64: one, and two blocks. */
template <int BM_, int BN_> struct wgmma_tile {
    static constexpr int BM = BM_, BN = BN_, GROUPS = BM / 64, WARPS = 4 * GROUPS;
    static constexpr int THREADS = 128 + 32 * WARPS, BLOCKS = 2 / GROUPS;
    static constexpr int A_BYTES = BM * WGMMA_ROW, STAGE = A_BYTES + BN * WGMMA_ROW;
    static constexpr int STAGES_BYTES = (96 << 10) * GROUPS, STAGES = STAGES_BYTES / STAGE;
    static constexpr int STAGING_BYTES = WARPS * 2 * STAGING;
    static constexpr int SMEM = STAGES_BYTES + STAGING_BYTES + 128;
    static_assert(2 * STAGES * 8 <= 128, "the mbarriers fit behind the staging buffers");
    static_assert(SMEM <= WGMMA_SMEM, "what refuses_wgmma() asks for");
    static_assert(BLOCKS * (SMEM + 1024) <= 228 << 10, "so many blocks fit");
};

/* A place in the ring, and how often it was passed, modulo 2: the parity of the phase to wait for. */
template <int STAGES> struct wgmma_ring {
    int stage = 0;
    uint32_t parity = 0;
    DEV void next() {
        if (++stage < STAGES) return;
        stage = 0;
        parity ^= 1;
    }
};

/* ---- the producer: one thread ---- */

/* EXTENT rows of a k-tile from `first` on; K-major in one box, else in boxes of 64. `mask`: the blocks that get it. */
template <bool K_MAJOR, int BK>
DEV void load_rows(char *to, const CUtensorMap *map, uint64_t *full, int first, int rows, int kt,
                   int batch, int mask) {
    const int boxes = K_MAJOR ? 1 : rows / 64;
#pragma unroll 1
    for (int i = 0; i < boxes; i++) {
        const int c0 = K_MAJOR ? kt * BK : first + 64 * i, c1 = K_MAJOR ? first : kt * BK;
        char *box = to + i * 64 * WGMMA_ROW;
        if (mask)
            gpu::tma_load_3d_multicast(box, map, full, c0, c1, batch, static_cast<uint16_t>(mask));
        else
            gpu::tma_load_3d(box, map, full, c0, c1, batch);
    }
}

template <class TILE, int BK, bool A_K_MAJOR, bool B_K_MAJOR>
DEV void produce(char *shared, uint64_t *full, uint64_t *empty, const CUtensorMap *map_a,
                 const CUtensorMap *map_b, const tma_problem &p) {
    const int rank = static_cast<int>(gpu::cluster_rank()), part = TILE::BN / p.cluster;
    const int clusters = gridDim.x / p.cluster, all = p.cluster == 1 ? 0 : 3;
    wgmma_ring<TILE::STAGES> at;
    for (int64_t unit = blockIdx.x / p.cluster; unit < p.units; unit += clusters) {
        const tma_place t = place_of<TILE::BM, TILE::BN>(p, unit, p.cluster, rank);
#pragma unroll 1
        for (int kt = t.k_first; kt < t.k_end; kt++) {
            gpu::mbar_wait(&empty[at.stage], at.parity ^ 1); /* at once in the first round */
            gpu::mbar_arrive_expect_tx(&full[at.stage], TILE::STAGE); /* both halves of B */
            char *a = shared + at.stage * TILE::STAGE, *b = a + TILE::A_BYTES;
            load_rows<A_K_MAJOR, BK>(a, map_a, &full[at.stage], t.row, TILE::BM, kt, t.batch, 0);
            load_rows<B_K_MAJOR, BK>(b + rank * part * WGMMA_ROW, map_b, &full[at.stage],
                                     t.col + rank * part, part, kt, t.batch, all);
            at.next();
        }
    }
}

/* ---- consumers: a warpgroup multiplies 64 rows ---- */

/* The warp has read a stage: both blocks' producers write there. */
DEV void release(uint64_t *empty, int cluster) {
    const int lane = threadIdx.x % 32;
    if (lane < cluster) gpu::mbar_arrive_cluster(empty, static_cast<uint32_t>(lane));
}

/* sum (+)= a k-tile, of which this warpgroup's rows of A begin at `a`. */
template <class OPERAND, int BN, bool A_K_MAJOR, bool B_K_MAJOR>
DEV void multiply(float (&sum)[BN / 2], const char *a, const char *b, bool first) {
    constexpr int A_STEP = A_K_MAJOR ? 32 : 16 * WGMMA_ROW, /* bytes of one instruction's k */
        B_STEP = B_K_MAJOR ? 32 : 16 * WGMMA_ROW;
    constexpr uint32_t BOX = 64 * WGMMA_ROW;
    const uint64_t da = A_K_MAJOR ? gpu::wgmma_desc(a) : gpu::wgmma_desc(a, BOX),
                   db = B_K_MAJOR ? gpu::wgmma_desc(b) : gpu::wgmma_desc(b, BOX);
    gpu::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; step++)
        gpu::wgmma_m64<OPERAND::TYPE, BN, !A_K_MAJOR, !B_K_MAJOR>(
            sum, da + static_cast<uint64_t>(step * A_STEP / 16),
            db + static_cast<uint64_t>(step * B_STEP / 16), !first || step > 0);
    gpu::wgmma_commit();
}

/* The tile's sums over its k-tiles, left in registers. */
template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
DEV void sum_of_tile(float (&sum)[TILE::BN / 2], const char *shared, uint64_t *full,
                     uint64_t *empty, wgmma_ring<TILE::STAGES> &at, int k_tiles, int cluster) {
    constexpr int BN = TILE::BN;
    const int group = threadIdx.x / 128 - 1;
    uint64_t *last = nullptr;
#pragma unroll 1
    for (int kt = 0; kt < k_tiles; kt++) {
        const char *a = shared + at.stage * TILE::STAGE, *b = a + TILE::A_BYTES;
        a += group * 64 * WGMMA_ROW;
        gpu::mbar_wait(&full[at.stage], at.parity);
        if constexpr (OPERAND::PROMOTED) { /* 128 of k in the tensor cores' short sums */
            float part[BN / 2];
            multiply<OPERAND, BN, A_K_MAJOR, B_K_MAJOR>(part, a, b, true);
            gpu::wgmma_wait<0>();
            gpu::wgmma_hold(part);
            release(&empty[at.stage], cluster);
#pragma unroll
            for (int i = 0; i < BN / 2; i++) sum[i] = kt ? sum[i] + part[i] : part[i];
        } else { /* the next k-tile is multiplied while this one ends */
            multiply<OPERAND, BN, A_K_MAJOR, B_K_MAJOR>(sum, a, b, kt == 0);
            gpu::wgmma_wait<1>();
            if (kt) release(last, cluster);
            last = &empty[at.stage];
        }
        at.next();
    }
    if constexpr (!OPERAND::PROMOTED) {
        gpu::wgmma_wait<0>();
        gpu::wgmma_hold(sum);
        release(last, cluster);
    }
}

/* alpha times 16 rows x 128 bytes of C, from column 8 j of the tile on, in one of the warp's buffers, swizzled. */
template <class P, int N>
DEV void stage_rows(char *buffer, const float (&sum)[N], int j, float alpha) {
    const int lane = threadIdx.x % 32;
    if constexpr (sizeof(P) == 2) {
#pragma unroll
        for (int i = 0; i < 8; i += 2) { /* rows 0-7, 8-15 of 8 columns; of the next 8 */
            uint32_t r[4];
#pragma unroll
            for (int h = 0; h < 4; h++) {
                vec<P, 4> v;
#pragma unroll
                for (int e = 0; e < 2; e++) narrow(v.at[e], alpha * sum[4 * (j + i) + 2 * h + e]);
                r[h] = *reinterpret_cast<const uint32_t *>(&v);
            }
            const int row = lane % 16, chunk = i + lane / 16;
            gpu::stmatrix_x4(buffer + row * WGMMA_ROW + (chunk ^ row % 8) * 16, r);
        }
    } else { /* pairs of lanes fill a chunk */
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float *s = &sum[4 * (j + i) + 2 * h];
                const int row = lane / 4 + 8 * h, chunk = 2 * i + lane % 4 / 2;
                *reinterpret_cast<float2 *>(buffer + row * WGMMA_ROW + (chunk ^ row % 8) * 16 +
                                            lane % 2 * 8) = make_float2(alpha * s[0], alpha * s[1]);
            }
    }
}

/* 16 rows of a warp, a lane its own pairs: with beta, where rows of C are not aligned, and parts of sums. */
template <class P, int N>
DEV void update_rows(P *C, const float (&sum)[N], int64_t row, int64_t col, float alpha, float beta,
                     const tma_problem &p) {
    const int lane = threadIdx.x % 32;
    const bool pairs = p.n % 2 == 0;
#pragma unroll
    for (int i = 0; i < N / 2; i++) { /* rows 0-7 of 8 columns, then 8-15 */
        const int64_t r = row + lane / 4 + 8 * (i % 2), c = col + 8 * (i / 2) + lane % 4 * 2;
        if (r >= p.m || c >= p.n) continue;
        P *to = C + r * p.n + c;
        const float *s = &sum[2 * i];
        if (pairs) {
            using pair = vec<P, 2 * sizeof(P)>;
            pair v = {};
            if (beta != 0) v = *reinterpret_cast<const pair *>(to);
            update(v.at[0], s[0], alpha, beta);
            update(v.at[1], s[1], alpha, beta);
            *reinterpret_cast<pair *>(to) = v;
        } else {
            update(to[0], s[0], alpha, beta);
            if (c + 1 < p.n) update(to[1], s[1], alpha, beta);
        }
    }
}

template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
DEV void consume(char *shared, uint64_t *full, uint64_t *empty, const CUtensorMap *map_c,
                 const tma_problem &p) {
    using P = typename OPERAND::product;
    constexpr int BN = TILE::BN, PIECE = WGMMA_ROW / static_cast<int>(sizeof(P));
    const int rank = static_cast<int>(gpu::cluster_rank()), clusters = gridDim.x / p.cluster;
    const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
    char *staging = shared + TILE::STAGES_BYTES + warp * 2 * STAGING;
    const float alpha = alpha_of(p);

    wgmma_ring<TILE::STAGES> at;
    for (int64_t unit = blockIdx.x / p.cluster; unit < p.units; unit += clusters) {
        const tma_place t = place_of<TILE::BM, TILE::BN>(p, unit, p.cluster, rank);
        float sum[BN / 2];
        sum_of_tile<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>(sum, shared, full, empty, at,
                                                         t.k_end - t.k_first, p.cluster);
        const int row = t.row + 16 * warp;
        if (p.splits > 1) {
            float *part = p.parts + (t.split * p.batch + t.batch) * p.m * p.n;
            update_rows(part, sum, row, t.col, 1.0f, 0.0f, p);
            continue;
        }
        if (!p.bulk) {
            P *C = static_cast<P *>(p.C) + t.batch * p.m * p.n;
            update_rows(C, sum, row, t.col, alpha, p.beta, p);
            continue;
        }
#pragma unroll
        for (int i = 0; i < BN / PIECE; i++) {
            char *buffer = staging + i % 2 * STAGING;
            if (lane == 0) gpu::bulk_wait_read<1>(); /* of two stores ago, from this buffer */
            __syncwarp();                            /* then all may write there */
            stage_rows<P>(buffer, sum, PIECE / 8 * i, alpha);
            gpu::fence_proxy_async(); /* the store reads through the asynchronous proxy */
            __syncwarp();             /* what all have written */
            if (lane == 0) {
                gpu::tma_store_3d(map_c, buffer, t.col + PIECE * i, row, t.batch);
                gpu::bulk_commit();
            }
        }
    }
    if (lane == 0) gpu::bulk_wait_read<0>(); /* shared memory stays until it is read */
}

/* ---- the kernel ---- */

/* OPERAND: product, SIZE, TYPE of wgmma, MAP of tensors, PROMOTED. */
template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(TILE::THREADS, OPERAND::PROMOTED ? 1 : TILE::BLOCKS)
    matmul_wgmma(const __grid_constant__ CUtensorMap map_a,
                 const __grid_constant__ CUtensorMap map_b,
                 const __grid_constant__ CUtensorMap map_c, const tma_problem p) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    DYN_SMEM(1024, char, shared); /* [STAGES][A, then B], [warps][2] staging buffers, mbarriers */
    uint64_t *full =
        reinterpret_cast<uint64_t *>(shared + TILE::STAGES_BYTES + TILE::STAGING_BYTES);
    uint64_t *empty = full + TILE::STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < TILE::STAGES; i++) {
            gpu::mbar_init(&full[i], 1);
            gpu::mbar_init(&empty[i], static_cast<uint32_t>(TILE::WARPS * p.cluster));
        }
        gpu::mbar_fence_init();
    }
    gpu::cluster_sync(); /* both blocks' mbarriers are there */
    if (threadIdx.x < 128) {
        if constexpr (TILE::GROUPS == 2) gpu::setmaxnreg_dec<40>();
        if (threadIdx.x == 0)
            produce<TILE, WGMMA_ROW / OPERAND::SIZE, A_K_MAJOR, B_K_MAJOR>(shared, full, empty,
                                                                           &map_a, &map_b, p);
        __syncwarp(); /* redundant: for the instruction below, which wants whole warps */
    } else {
        if constexpr (TILE::GROUPS == 2) gpu::setmaxnreg_inc<232>();
        consume<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>(shared, full, empty, &map_c, p);
        __syncwarp(); /* redundant: as above */
    }
    gpu::cluster_sync(); /* no block ends while the other may still arrive on its mbarriers */
#else
    __trap(); /* refuses_wgmma() keeps everybody away */
#endif
}
#endif
