/* matmul_tcgen05.cuh - C_i = alpha A_i B_i + beta C_i on Blackwell's data-centre chips (sm_100a): tcgen05 fed by the tensor memory
 * accelerator. Not run on hardware.
 *
 * Blocks stay on their multiprocessors and make tile after tile of C: 128 x BN each, or two blocks as a pair 256 x BN, of which
 * each loads its own rows of A and half of the columns of B. One warp of six has a thread that starts copies, one a thread that
 * multiplies: one instruction is 128 x BN (256 x BN) and 32 bytes of k. Sums are in tensor memory, twice, so that four warps take
 * one tile out while the next is multiplied; a warp's lanes have a row each, which they put into swizzled rows of 128 bytes of
 * shared memory for bulk stores. k-tiles of 128 bytes a row go round a ring of stages as in matmul_wgmma.cuh: `full` is counted
 * by the pair's even block for both, `empty` comes from a commit, to both. Where tiles are few, they have 64 columns, or k is split
 * among several.
 * nvfp4: scales come with their k-tile and are copied to tensor memory before it is multiplied.
 *
 * Floor: 2 m n k flops at 8192 a clock and multiprocessor (fp8 16384, nvfp4 32768, tf32 4096): 2250 TFLOP/s in bf16 on 148 of them
 * at 1.857 GHz. Expected of that for 8192 x 8192 x 8192 in bf16, 0.65, 1460 TFLOP/s:
 *   0.988  rounds: 1024 tiles of 256 x 256 on 74 pairs are 13.8, which take as long as 14
 *   0.99   the last tile's way out, which nothing hides: some 1500 of 14 x 65 000 clocks, and the first loads
 *   0.67   power and the L2 together: 512 clocks a k-tile ask for 32 KiB, 64 bytes a clock and multiprocessor. What was published
 *          drew 40 to 44 of them: 1414 TFLOP/s by cuBLAS at 8192, 1540 by the best of others; 1326 by one of this form at 4096
 * fp8 has the same bytes a clock and twice the flops, nvfp4 four times and its scales (6 KiB more a k-tile), with one accumulator
 * of 256 columns, whose way out is not hidden.
 *
 * Source: PTX ISA 9.0, 9.7.9.27 (bulk copies), 9.7.13.15 (mbarrier), 9.7.16 (tcgen05). */
#ifndef MATMUL_TCGEN05_CUH
#define MATMUL_TCGEN05_CUH
#include "ptx_tcgen05.cuh"
#include "tma_product.cuh"

namespace tcgen05 {

/* ---- geometry ---- */

static constexpr int ROW = TMA_ROW, BM = 128, STEPS = 4; /* instructions a k-tile */
static constexpr int THREADS = 192, OUT_WARPS = 4, PRODUCER = 4, MULTIPLIER = 5;
static constexpr int STAGES_BYTES = 192 << 10, STAGING_BYTES = 32 << 10;
static constexpr int STAGING = 32 * ROW; /* one of two buffers of a warp */
static constexpr int SMEM_BYTES = STAGES_BYTES + STAGING_BYTES + 256;
static constexpr int SCALES = 512; /* bytes of scales: 128 rows, 64 of k */

template <int BN_, int CTAS_, bool SCALED> struct tile_form {
    static constexpr int BN = BN_, CTAS = CTAS_;
    static constexpr int A_BYTES = BM * ROW, B_ROWS = BN / CTAS, B_BYTES = B_ROWS * ROW;
    static constexpr int SCALES_A = SCALED ? STEPS * SCALES : 0, /* of this block's rows */
        SCALES_B = SCALED ? BN / 128 * STEPS * SCALES : 0; /* of all columns, in both blocks */
    static constexpr int STAGE = A_BYTES + B_BYTES + SCALES_A + SCALES_B;
    static constexpr int STAGES = STAGES_BYTES / ((STAGE + 1023) / 1024 * 1024);
    static constexpr int PITCH = (STAGE + 1023) / 1024 * 1024; /* of stages: swizzles are aligned */
    /* tensor memory: sums, then scales of a k-tile */
    static constexpr int BUFFERS = SCALED && BN == 256 ? 1 : 2;
    static constexpr int AT_A = BUFFERS * BN, AT_B = AT_A + 4 * STEPS;
    static constexpr int COLUMNS = SCALED ? 512 : AT_A;
    static_assert((2 * STAGES + 2 * BUFFERS) * 8 + 4 <= 256,
                  "mbarriers fit behind the staging buffers");
    static_assert(BN == 128 || BN == 256 || (BN == 64 && !SCALED), "scales come by 128 columns");
};

struct problem : tma_problem {
    int scales_m, scales_n; /* groups of 128 rows of scales, a matrix */
};
struct maps {
    CUtensorMap a, b, c, scales_a, scales_b;
};

/* A place in a ring, and how often it was passed, modulo 2: the parity of the phase to wait for. */
template <int N> struct ring {
    int at = 0;
    uint32_t parity = 0;
    DEV void next() {
        if (++at < N) return;
        at = 0;
        parity ^= 1;
    }
};

/* mbarriers, behind the staging buffers. In a pair `full` and `free` are used in the even block alone. */
template <class TILE> struct barriers {
    uint64_t full[TILE::STAGES], empty[TILE::STAGES];   /* a stage: it is there; it was read */
    uint64_t ready[TILE::BUFFERS], free[TILE::BUFFERS]; /* sums: they are complete; they are out */
    uint32_t memory;                                    /* the address of tensor memory */
};

/* ---- the producer: one thread ---- */

template <int CTAS>
DEV void load_box(char *to, const CUtensorMap *map, uint64_t *full, int c0, int c1, int c2) {
    if constexpr (CTAS == 2)
        gpu::tma_load_3d_pair(to, map, full, c0, c1, c2);
    else
        gpu::tma_load_3d(to, map, full, c0, c1, c2);
}

/* `rows` of a k-tile from `first` on; K-major in one box, else in boxes of 64. */
template <int CTAS, bool K_MAJOR, int BK>
DEV void load_rows(char *to, const CUtensorMap *map, uint64_t *full, int first, int rows, int kt,
                   int batch) {
    const int boxes = K_MAJOR ? 1 : rows / 64;
#pragma unroll 1
    for (int i = 0; i < boxes; i++)
        load_box<CTAS>(to + i * 64 * ROW, map, full, K_MAJOR ? kt * BK : first + 64 * i,
                       K_MAJOR ? first : kt * BK, batch);
}

template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
DEV void produce(char *shared, barriers<TILE> &bar, const maps &map, const problem &p) {
    constexpr int CTAS = TILE::CTAS, BK = ROW / OPERAND::SIZE;
    const int rank = CTAS == 2 ? static_cast<int>(gpu::cluster_rank()) : 0;
    const int clusters = gridDim.x / CTAS;
    ring<TILE::STAGES> stage;
    for (int64_t unit = blockIdx.x / CTAS; unit < p.units; unit += clusters) {
        const tma_place t = place_of<BM, TILE::BN>(p, unit, CTAS, rank);
#pragma unroll 1
        for (int kt = t.k_first; kt < t.k_end; kt++) {
            uint64_t *full = &bar.full[stage.at];
            gpu::mbar_wait(&bar.empty[stage.at], stage.parity ^ 1); /* at once in the first round */
            if (rank == 0) gpu::mbar_arrive_expect_tx(full, CTAS * TILE::STAGE); /* both blocks' */
            char *a = shared + stage.at * TILE::PITCH, *b = a + TILE::A_BYTES;
            load_rows<CTAS, A_K_MAJOR, BK>(a, &map.a, full, t.row, BM, kt, t.batch);
            load_rows<CTAS, B_K_MAJOR, BK>(b, &map.b, full, t.col + rank * TILE::B_ROWS,
                                           TILE::B_ROWS, kt, t.batch);
            if constexpr (OPERAND::SCALED) {
                char *scales = b + TILE::B_BYTES;
                load_box<CTAS>(scales, &map.scales_a, full, 0, kt * STEPS,
                               t.batch * p.scales_m + t.row / 128);
                for (int i = 0; i < TILE::BN / 128; i++)
                    load_box<CTAS>(scales + TILE::SCALES_A + i * STEPS * SCALES, &map.scales_b,
                                   full, 0, kt * STEPS, t.batch * p.scales_n + t.col / 128 + i);
            }
            stage.next();
        }
    }
    for (int i = 0; i < TILE::STAGES; i++) { /* the last arrivals come before the block ends */
        uint64_t *empty = &bar.empty[stage.at];
        gpu::mbar_wait(empty, stage.parity ^ 1); /* redundant: they come before `ready` here */
        stage.next();
    }
}

/* ---- the multiplier: one thread, of a pair the even block's ---- */

/* What has read a stage or made sums is told to both blocks once it is done. */
template <int CTAS> DEV void commit(uint64_t *bar) {
    if constexpr (CTAS == 2)
        gpu::tcgen05_commit_multicast<2>(bar, 3);
    else
        gpu::tcgen05_commit<1>(bar);
}

template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
DEV void multiply_tiles(const char *shared, barriers<TILE> &bar, const problem &p) {
    constexpr int CTAS = TILE::CTAS;
    constexpr int A_STEP = A_K_MAJOR ? 32 : 16 * ROW, /* bytes of one instruction's k */
        B_STEP = B_K_MAJOR ? 32 : 16 * ROW;
    constexpr uint32_t BOX = 64 * ROW;
    const uint32_t memory = bar.memory;
    const int clusters = gridDim.x / CTAS;
    ring<TILE::STAGES> stage;
    ring<TILE::BUFFERS> buffer;
    for (int64_t unit = blockIdx.x / CTAS; unit < p.units; unit += clusters) {
        const tma_place t = place_of<BM, TILE::BN>(p, unit, CTAS, 0);
        const uint32_t sums = memory + static_cast<uint32_t>(buffer.at * TILE::BN);
        gpu::mbar_wait(&bar.free[buffer.at], buffer.parity ^ 1); /* at once for the first tiles */
#pragma unroll 1
        for (int kt = t.k_first; kt < t.k_end; kt++) {
            const char *a = shared + stage.at * TILE::PITCH, *b = a + TILE::A_BYTES;
            const uint64_t da = A_K_MAJOR ? gpu::tcgen05_desc(a) : gpu::tcgen05_desc(a, BOX),
                           db = B_K_MAJOR ? gpu::tcgen05_desc(b) : gpu::tcgen05_desc(b, BOX);
            gpu::mbar_wait(&bar.full[stage.at], stage.parity);
            gpu::tcgen05_fence_after(); /* after the wait for `free`, too */
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                const uint64_t a_k = da + static_cast<uint64_t>(step * A_STEP / 16),
                               b_k = db + static_cast<uint64_t>(step * B_STEP / 16);
                const int adds = kt > t.k_first || step > 0;
                if constexpr (OPERAND::SCALED) {
                    const char *scales = b + TILE::B_BYTES + step * SCALES;
                    const uint32_t at_a = memory + TILE::AT_A + 4 * step,
                                   at_b = memory + TILE::AT_B + TILE::BN / 32 * step;
                    gpu::tcgen05_cp_scales<CTAS>(at_a, gpu::tcgen05_scales_desc(scales));
#pragma unroll
                    for (int i = 0; i < TILE::BN / 128; i++)
                        gpu::tcgen05_cp_scales<CTAS>(
                            at_b + 4 * i,
                            gpu::tcgen05_scales_desc(scales + TILE::SCALES_A + i * STEPS * SCALES));
                    gpu::tcgen05_mma_nvfp4<CTAS>(sums, a_k, b_k,
                                                 gpu::tcgen05_shape_nvfp4(BM * CTAS, TILE::BN),
                                                 adds, at_a, at_b);
                } else {
                    gpu::tcgen05_mma<OPERAND::KIND, CTAS>(
                        sums, a_k, b_k,
                        gpu::tcgen05_shape(OPERAND::FORMAT, BM * CTAS, TILE::BN, !A_K_MAJOR,
                                           !B_K_MAJOR),
                        adds);
                }
            }
            commit<CTAS>(&bar.empty[stage.at]);
            stage.next();
        }
        commit<CTAS>(&bar.ready[buffer.at]);
        buffer.next();
    }
}

/* ---- the way out: four warps, a row a lane ---- */

/* 32 N columns of this warp's lanes. */
template <int N> DEV void load_sums(uint32_t (&r)[32 * N], uint32_t address) {
#pragma unroll
    for (int i = 0; i < N; i++)
        gpu::tcgen05_ld_x32(r + 32 * i, address + 32 * static_cast<uint32_t>(i));
    gpu::tcgen05_wait_ld();
    gpu::tcgen05_hold(r);
}

/* The buffer may be overwritten, as far as this warp is concerned. */
template <int CTAS> DEV void release(uint64_t *free) {
    gpu::tcgen05_fence_before();
    __syncwarp(); /* redundant: the wait for loads is the whole warp's */
    if (threadIdx.x % 32) return;
    if constexpr (CTAS == 2)
        gpu::mbar_arrive_cluster(free, 0);
    else
        gpu::mbar_arrive(free);
}

/* alpha times 128 bytes of a row of C in the warp's buffer, swizzled. */
template <class P, int N> DEV void stage_row(char *buffer, const uint32_t (&sum)[N], float alpha) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int chunk = 0; chunk < 8; chunk++) {
        vec<P> v;
#pragma unroll
        for (int e = 0; e < vec<P>::N; e++)
            narrow(v.at[e], alpha * __uint_as_float(sum[chunk * vec<P>::N + e]));
        vec_store(reinterpret_cast<P *>(buffer + lane * ROW + (chunk ^ lane % 8) * 16), v);
    }
}

/* 32 columns of a lane's own row, from registers: with beta, where rows of C are not aligned, and parts of sums. */
template <class P>
DEV void update_row(P *row, const uint32_t (&sum)[32], int col, float alpha, float beta,
                    const problem &p) {
    constexpr int N = vec<P>::N;
    if (p.n % N == 0) {
#pragma unroll
        for (int i = 0; i < 32; i += N) {
            float s[N];
#pragma unroll
            for (int e = 0; e < N; e++) s[e] = __uint_as_float(sum[i + e]);
            if (col + i < p.n) update_vec(row + col + i, s, alpha, beta);
        }
    } else {
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (col + i < p.n) update(row[col + i], __uint_as_float(sum[i]), alpha, beta);
    }
}

template <class P, class TILE>
DEV void rows_out(P *C, uint32_t sums, const tma_place &t, int row, float alpha, float beta,
                  uint64_t *free, const problem &p) {
    P *to = C + static_cast<int64_t>(row) * p.n;
#pragma unroll 1
    for (int col = 0; col < TILE::BN; col += 32) {
        uint32_t sum[32];
        load_sums<1>(sum, sums + static_cast<uint32_t>(col));
        if (col == TILE::BN - 32) release<TILE::CTAS>(free);
        if (row < p.m) update_row(to, sum, t.col + col, alpha, beta, p);
    }
}

template <class OPERAND, class TILE>
DEV void take_out(char *staging, barriers<TILE> &bar, const CUtensorMap *map_c, const problem &p) {
    using P = typename OPERAND::product;
    constexpr int CTAS = TILE::CTAS, PIECE = ROW / static_cast<int>(sizeof(P));
    const int rank = CTAS == 2 ? static_cast<int>(gpu::cluster_rank()) : 0;
    const int clusters = gridDim.x / CTAS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t memory = bar.memory + (static_cast<uint32_t>(32 * warp) << 16);
    const float alpha = alpha_of(p);
    staging += warp * 2 * STAGING;

    ring<TILE::BUFFERS> buffer;
    int stores = 0;
    for (int64_t unit = blockIdx.x / CTAS; unit < p.units; unit += clusters) {
        const tma_place t = place_of<BM, TILE::BN>(p, unit, CTAS, rank);
        const uint32_t sums = memory + static_cast<uint32_t>(buffer.at * TILE::BN);
        uint64_t *free = &bar.free[buffer.at];
        const int row = t.row + 32 * warp;
        gpu::mbar_wait(&bar.ready[buffer.at], buffer.parity);
        gpu::tcgen05_fence_after();
        buffer.next();
        if (p.splits > 1) {
            float *part = p.parts + (t.split * p.batch + t.batch) * p.m * p.n;
            rows_out<float, TILE>(part, sums, t, row + lane, 1.0f, 0.0f, free, p);
            continue;
        }
        if (!p.bulk) {
            P *C = static_cast<P *>(p.C) + t.batch * p.m * p.n;
            rows_out<P, TILE>(C, sums, t, row + lane, alpha, p.beta, free, p);
            continue;
        }
#pragma unroll 1
        for (int i = 0; i < TILE::BN / PIECE; i++) {
            char *room = staging + stores++ % 2 * STAGING;
            uint32_t sum[PIECE];
            load_sums<PIECE / 32>(sum, sums + static_cast<uint32_t>(PIECE * i));
            if (i == TILE::BN / PIECE - 1) release<CTAS>(free);
            if (lane == 0) gpu::bulk_wait_read<1>(); /* of two stores ago, from this buffer */
            __syncwarp();                            /* then all may write there */
            stage_row<P>(room, sum, alpha);
            gpu::fence_proxy_async(); /* the store reads through the asynchronous proxy */
            __syncwarp();             /* what all have written */
            if (lane == 0) {
                gpu::tma_store_3d(map_c, room, t.col + PIECE * i, row, t.batch);
                gpu::bulk_commit();
            }
        }
    }
    if (lane == 0) gpu::bulk_wait_read<0>(); /* shared memory stays until it is read */
}

} // namespace tcgen05

/* ---- the kernel ---- */

/* OPERAND: product, SIZE in bytes of what the maps count (nvfp4: two elements), KIND and FORMAT of tcgen05.mma, MAP of tensors,
 * SCALED. */
template <class OPERAND, class TILE, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(tcgen05::THREADS, 1)
    matmul_tcgen05(const __grid_constant__ tcgen05::maps map, const tcgen05::problem p) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
    using namespace tcgen05;
    constexpr int CTAS = TILE::CTAS;
    DYN_SMEM(1024, char, shared); /* [STAGES][A, B, scales], [warps][2] buffers, mbarriers */
    auto &bar = *reinterpret_cast<barriers<TILE> *>(shared + STAGES_BYTES + STAGING_BYTES);
    const int warp = threadIdx.x / 32;
    const bool is_even = CTAS == 1 || gpu::cluster_rank() == 0;
    if (threadIdx.x == 0) {
        for (int i = 0; i < TILE::STAGES; i++) {
            gpu::mbar_init(&bar.full[i], 1);
            gpu::mbar_init(&bar.empty[i], 1);
        }
        for (int i = 0; i < TILE::BUFFERS; i++) {
            gpu::mbar_init(&bar.ready[i], 1);
            gpu::mbar_init(&bar.free[i], OUT_WARPS * CTAS);
        }
        gpu::mbar_fence_init();
    }
    if (warp == MULTIPLIER) {
        gpu::tmem_alloc<CTAS>(&bar.memory, TILE::COLUMNS);
        gpu::tmem_relinquish<CTAS>();
    }
    gpu::cluster_sync(); /* both blocks' mbarriers and tensor memory are there */
    if (warp == PRODUCER) {
        if (gpu::elect_one()) produce<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>(shared, bar, map, p);
        __syncwarp(); /* redundant: for the barrier below, which wants whole warps */
    } else if (warp == MULTIPLIER) {
        if (is_even && gpu::elect_one())
            multiply_tiles<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>(shared, bar, p);
        __syncwarp(); /* redundant: as above */
    } else {
        take_out<OPERAND, TILE>(shared + STAGES_BYTES, bar, &map.c, p);
        __syncwarp(); /* redundant: as above */
    }
    gpu::cluster_sync(); /* all sums are out, and no block ends while the other needs it */
    gpu::tcgen05_fence_after();
    if (warp == MULTIPLIER) gpu::tmem_dealloc<CTAS>(bar.memory, TILE::COLUMNS);
#else
    __trap(); /* refuses_tcgen05() keeps everybody away */
#endif
}
#endif
