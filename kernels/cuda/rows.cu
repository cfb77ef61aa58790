/* rows.cu - softmax, rmsnorm and layernorm of each row of x[m,n]. A row is read once, kept on the chip until its sums are
 * known, and written once; who shares a row and where it is kept depends on its length (KiB: of what is kept):
 *   simple             a block a row, an element an access, every pass over memory; any row
 *   multi_pass         the same in 16-byte pieces: rows that nothing below can hold
 *   cluster_shared     up to 8 blocks a row (sm_90+), kept as it is stored in shared memory: 1800 KiB, two blocks a
 *                      multiprocessor up to 900
 *   block_shared       a block a row, kept as it is stored in shared memory: 226 KiB, 162 on sm_80, 98 on sm_86, 89 and 120
 *   cluster_registers  up to 8 blocks a row (sm_90+), kept widened in registers: 512 KiB
 *   block_registers    a block a row, kept widened in registers: 64 KiB
 *   warp_registers     a warp a row: no barrier at all; 4 KiB
 * Rows are aligned when their bytes are a multiple of 16; those that are not go an element an access, of which a warp and
 * the registers of blocks keep half as many or fewer, and are not kept in shared memory. Sums and maxima are kept in the
 * accumulator's type.
 *
 * Floor: one read and one write of x, 2 m n elements over the memory's bandwidth. What is kept by registers leaves room for 1024
 * threads a multiprocessor, which have 64 KiB (16-bit elements) to 128 KiB (fp32) of loads in flight where 22 KiB hide the
 * latency (README.md), and two rows at a time, of which one loads while the other computes: 0.88 to 0.92 of the bandwidth is
 * expected, as of published kernels of this form (QuACK, an H100: 0.90 with clusters of 4). A row of 226 KiB has no second one
 * beside it: its loads, its arithmetic and its stores take turns, 0.6 to 0.7. Not run on a GPU yet. */
#include "pieces.cuh"
#include "teams.cuh"

#include <math.h>

namespace row_kernels { /* a name of its own: the emulation finds kernels by their symbols */

enum {
    ROW_WARPS = 8, /* most rows of a block of warp_registers */
    /* what a thread keeps in registers, widened: half of what lets 1024 threads be resident */
    KEPT_BYTES = 128,
    KEPT_SHORT = 8,  /* elements of rows that are short, where most threads would only skip */
    KEPT_ALONE = 16, /* elements of rows that are not aligned */
    BLOCK = 512,     /* most threads where registers keep a row, or a cluster does */
    MOST_BLOCKS = cluster_team::MOST_BLOCKS,
    SIMPLE_BLOCK = 256,
    LONG_BLOCK = 1024,     /* one row at a time fills a multiprocessor */
    REDUCTION_BYTES = 512, /* static shared memory of block_team, rounded up */
    EXCHANGE_BYTES = 4608, /* of cluster_team */
    RESERVED_BYTES = 1024, /* of a multiprocessor's shared memory, with each block */
};

template <enum dtype D> using stored = typename element<D>::type;
template <enum dtype D> using wide = typename element<D>::acc;
template <enum dtype D> constexpr int KEPT = KEPT_BYTES / static_cast<int>(sizeof(wide<D>));

/* ---- where a row is kept ----
 * Member `rank` of a team of `size` owns pieces rank, rank + size, ... of W elements. each() visits its elements,
 * write() turns its pieces into results. Where a row KEEPS what each() leaves in an element, write() finds it again. */

template <enum dtype D, int W, int PIECES> struct row_in_registers {
    static constexpr bool KEEPS = true;
    wide<D> at[PIECES][W] = {}; /* pieces past the end are never looked at */
    int n, first, step;

    DEV row_in_registers(const stored<D> *x, int64_t length, int rank, int size)
        : n(static_cast<int>(length)), first(rank * W), step(size * W) {
        piece<D, W> raw[PIECES]; /* all loads are issued before the first is waited for */
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            if (first + p * step < n) raw[p] = load_once<D, W>(x + first + p * step);
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            if (first + p * step < n) widen_piece<D, W>(raw[p], at[p]);
    }
    template <class F> DEV void each(F f) {
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            if (first + p * step < n) {
#pragma unroll
                for (int e = 0; e < W; e++) f(at[p][e]);
            }
    }
    template <class F> DEV void write(stored<D> *y, F f) {
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            if (first + p * step < n) {
                f(at[p], first + p * step);
                store_once<D, W>(y + first + p * step, narrow_piece<D, W>(at[p]));
            }
    }
};

/* In memory or in shared memory, as stored: each visit widens again. */
template <enum dtype D, int W> struct row_as_stored {
    static constexpr bool KEEPS = false;
    static constexpr int IN_FLIGHT = W < 16 ? 4 : 1; /* pieces: 16 elements are much code */
    const stored<D> *x;
    int64_t n, first, step;

    DEV row_as_stored(const stored<D> *row, int64_t length, int rank, int size)
        : x(row), n(length), first(static_cast<int64_t>(rank) * W),
          step(static_cast<int64_t>(size) * W) {}
    DEV void get(int64_t col, wide<D> (&v)[W]) const {
        widen_piece<D, W>(*reinterpret_cast<const piece<D, W> *>(x + col), v);
    }
    template <class F> DEV void each(F f) {
#pragma unroll IN_FLIGHT
        for (int64_t col = first; col < n; col += step) {
            wide<D> v[W];
            get(col, v);
#pragma unroll
            for (int e = 0; e < W; e++) f(v[e]);
        }
    }
    template <class F> DEV void write(stored<D> *y, F f) {
#pragma unroll IN_FLIGHT
        for (int64_t col = first; col < n; col += step) {
            wide<D> v[W];
            get(col, v);
            f(v, col);
            store_once<D, W>(y + col, narrow_piece<D, W>(v));
        }
    }
};

/* ---- what is computed ---- */

/* Within a few units in the last place where that shows in the result (fp64, fp32), else ex2 of a rounded argument,
 * whose error, |x| 2^-24, is far below half a unit of a result of 16 bits or less. */
template <enum dtype D> DEV wide<D> exponential(wide<D> x) {
    if constexpr (D == DT_fp64)
        return exp(x);
    else if constexpr (D == DT_fp32)
        return expf(x);
    else
        return __expf(x);
}

DEV double root(double x) { return sqrt(x); }
DEV float root(float x) { return sqrtf(x); }

/* Operands 1 and up: the row's weights, and its offsets for layernorm. */
template <enum dtype D> struct weights { const stored<D> *w, *b; };

/* p, y: where the row that `row` has a part of meets that part; n: of the whole row. */
template <enum op_id OP, enum dtype D, int W, class TEAM, class ROW>
DEV void finish_row(ROW &row, TEAM team, const weights<D> &p, stored<D> *y, int64_t n) {
    using A = wide<D>;
    A sum = 0;
    if constexpr (OP == OP_softmax) {
        A most = static_cast<A>(-INFINITY);
        row.each([&](A x) { most = larger(most, x); });
        most = team.max(most);
        row.each([&](A &x) {
            x = exponential<D>(x - most);
            sum += x;
        });
        const A factor = 1 / team.sum(sum);
        row.write(y, [&](A(&v)[W], int64_t) {
#pragma unroll
            for (int e = 0; e < W; e++)
                v[e] = (ROW::KEEPS ? v[e] : exponential<D>(v[e] - most)) * factor;
        });
    } else if constexpr (OP == OP_rmsnorm) {
        row.each([&](A x) { sum += x * x; });
        const A factor = 1 / root(team.sum(sum) / static_cast<A>(n) + static_cast<A>(1e-5));
        row.write(y, [&](A(&v)[W], int64_t col) {
            A w[W];
            widen_piece<D, W>(load_shared_by_all<D, W>(p.w + col), w);
#pragma unroll
            for (int e = 0; e < W; e++) v[e] = v[e] * factor * w[e];
        });
    } else {
        A squares = 0; /* about the mean: x^2 less mean^2 would cancel */
        row.each([&](A x) { sum += x; });
        const A mean = team.sum(sum) / static_cast<A>(n);
        row.each([&](A x) { squares += (x - mean) * (x - mean); });
        const A factor = 1 / root(team.sum(squares) / static_cast<A>(n) + static_cast<A>(1e-5));
        row.write(y, [&](A(&v)[W], int64_t col) {
            A w[W], b[W];
            widen_piece<D, W>(load_shared_by_all<D, W>(p.w + col), w);
            widen_piece<D, W>(load_shared_by_all<D, W>(p.b + col), b);
#pragma unroll
            for (int e = 0; e < W; e++) v[e] = (v[e] - mean) * factor * w[e] + b[e];
        });
    }
}

/* ---- kernels ---- */

/* A block's part of its row: all of it, or of a cluster whole pieces, as many as each of the others has, fewer at the end. */
template <enum dtype D, int W, class TEAM> struct part_of_row {
    int64_t row, begin, count;

    DEV explicit part_of_row(int64_t n) {
        const int64_t each = ceil_part(n, TEAM::blocks());
        row = static_cast<int64_t>(blockIdx.x / TEAM::blocks());
        begin = each * TEAM::block();
        if (begin > n) begin = n;
        count = each < n - begin ? each : n - begin;
    }
    DEV static int64_t ceil_part(int64_t n, unsigned blocks) {
        return blocks == 1 ? n : (n / W + blocks - 1) / blocks * W;
    }
    template <enum op_id OP> DEV weights<D> its(weights<D> p) const {
        if constexpr (OP != OP_softmax) p.w += begin;
        if constexpr (OP == OP_layernorm) p.b += begin;
        return p;
    }
};

template <enum op_id OP, enum dtype D, int W, int THREADS>
__global__ void __launch_bounds__(THREADS, 1)
    rows_in_memory(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                   int64_t n) {
    const int64_t start = static_cast<int64_t>(blockIdx.x) * n;
    row_as_stored<D, W> row(x + start, n, block_team::rank(), block_team::size());
    finish_row<OP, D, W>(row, block_team(), p, y + start, n);
}

/* A thread reads back only the pieces that it copied itself, which its own wait covers: no barrier. */
template <enum op_id OP, enum dtype D, class TEAM, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    rows_in_shared(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                   int64_t n) {
    constexpr int W = PIECE<D>;
    DYN_SMEM(16, stored<D>, kept);
    TEAM team;
    const part_of_row<D, W, TEAM> part(n);
    const int64_t start = part.row * n + part.begin;
    for (int64_t col = static_cast<int64_t>(threadIdx.x) * W; col < part.count;
         col += static_cast<int64_t>(blockDim.x) * W)
        gpu::cp_async16(kept + col, x + start + col);
    gpu::cp_async_commit();
    gpu::cp_async_wait<0>();
    row_as_stored<D, W> row(kept, part.count, TEAM::rank(), TEAM::size());
    finish_row<OP, D, W>(row, team, part.template its<OP>(p), y + start, n);
}

/* Two blocks of 512 threads leave 64 registers, which is too few for two words an element, for the unpacking of lone bytes
 * and, in one block a row, of lone halves. On sm_120, where ptxas has less use of them, one block a multiprocessor has bytes
 * enough in flight for GDDR. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
template <enum dtype D, int W, class TEAM> constexpr int RESIDENT = 1;
#else
template <enum dtype D, int W, class TEAM>
constexpr int RESIDENT = sizeof(wide<D>) == 8 || (W == 1 && sizeof(stored<D>) == 1) ||
                                 (W == 1 && sizeof(stored<D>) == 2 &&
                                  std::is_same<TEAM, block_team>::value)
                             ? 1
                             : 2;
#endif

template <enum op_id OP, enum dtype D, int W, int PIECES, class TEAM>
__global__ void __launch_bounds__(BLOCK, RESIDENT<D, W, TEAM>)
    rows_of_blocks(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                   int64_t n) {
    TEAM team;
    const part_of_row<D, W, TEAM> part(n);
    const int64_t start = part.row * n + part.begin;
    row_in_registers<D, W, PIECES> row(x + start, part.count, TEAM::rank(), TEAM::size());
    finish_row<OP, D, W>(row, team, part.template its<OP>(p), y + start, n);
}

template <enum op_id OP, enum dtype D, int W, int PIECES>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 1)
    rows_of_warps(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                  int64_t m, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (i >= m) return; /* the whole warp */
    row_in_registers<D, W, PIECES> row(x + i * n, n, warp_team::rank(), WARP);
    finish_row<OP, D, W>(row, warp_team(), p, y + i * n, n);
}

/* ---- launchers ---- */

/* Operands: x, for the norms w, for layernorm b, and y. */
template <enum op_id OP, enum dtype D> static weights<D> weights_of(const struct args *a) {
    return {OP == OP_softmax ? nullptr : operand<const stored<D>>(a, 1),
            OP == OP_layernorm ? operand<const stored<D>>(a, 2) : nullptr};
}
template <enum op_id OP, enum dtype D> static stored<D> *result_of(const struct args *a) {
    return operand<stored<D>>(a, OP == OP_softmax ? 1 : OP == OP_rmsnorm ? 2 : 3);
}

/* `blocks` a row, which are a cluster: of `least` to `most` threads and `smem` bytes each. */
template <enum op_id OP, enum dtype D, class K>
static int launch_rows(const struct args *a, K kernel, int64_t least, int64_t most, int64_t smem,
                       int64_t blocks = 1) {
    const int threads = form_of(a, {static_cast<int>(least), 0},
                                {{static_cast<int>(least), static_cast<int>(most)}, {0, 0}})
                            .threads;
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(a->s.m * blocks));
    c.cluster = dim3(static_cast<unsigned>(blocks));
    c.block = dim3(static_cast<unsigned>(threads));
    c.smem = static_cast<size_t>(smem);
    c.stream = stream_of(a);
    return gpu_launch(c, kernel, operand<const stored<D>>(a, 0), weights_of<OP, D>(a),
                      result_of<OP, D>(a), a->s.n);
}

static bool aligned(const struct args *a, size_t element_bytes) {
    return a->s.n * static_cast<int64_t>(element_bytes) % 16 == 0;
}

/* Threads that a row of n in pieces of w keeps busy with `pieces` each, in whole warps. */
static int64_t threads_for(int64_t n, int64_t w, int64_t pieces, int64_t most) {
    const int64_t threads = ceil_div(ceil_div(n, w * pieces), WARP) * WARP;
    return threads < most ? threads : most;
}

/* Elements of a row that each of so many blocks has. */
static int64_t part_of(const struct args *a, int64_t w, int64_t blocks) {
    return ceil_div(a->s.n / w, blocks) * w;
}

/* Blocks of a cluster: as few as keep at most `kept` elements each; more where rows are too few for the multiprocessors. */
static int64_t cluster_for(const struct args *a, int64_t w, int64_t kept) {
    int64_t blocks = 2;
    while (blocks < MOST_BLOCKS && (part_of(a, w, blocks) > kept || a->s.m * blocks < a->gpu->sms))
        blocks *= 2;
    return blocks;
}

template <enum op_id OP, enum dtype D> static int simple(const struct args *a) {
    return launch_rows<OP, D>(a, rows_in_memory<OP, D, 1, SIMPLE_BLOCK>, SIMPLE_BLOCK, SIMPLE_BLOCK,
                              0);
}

template <enum op_id OP, enum dtype D> static int multi_pass(const struct args *a) {
    return launch_rows<OP, D>(a, rows_in_memory<OP, D, PIECE<D>, LONG_BLOCK>,
                              threads_for(a->s.n, PIECE<D>, 4, LONG_BLOCK), LONG_BLOCK, 0);
}

/* Elements that one of `blocks` of a multiprocessor keeps beside what its team needs. */
template <enum dtype D> static int64_t kept_in_shared(const struct args *a, int64_t blocks) {
    return ((a->gpu->smem_block_bytes + RESERVED_BYTES) / blocks - RESERVED_BYTES -
            EXCHANGE_BYTES) /
           16 * PIECE<D>;
}

template <enum op_id OP, enum dtype D> static int cluster_shared(const struct args *a) {
    const int64_t blocks = cluster_for(a, PIECE<D>, kept_in_shared<D>(a, 2)),
                  each = part_of(a, PIECE<D>, blocks);
    return launch_rows<OP, D>(a, rows_in_shared<OP, D, cluster_team, BLOCK, 2>,
                              threads_for(each, PIECE<D>, 4, BLOCK), BLOCK,
                              each * static_cast<int64_t>(sizeof(stored<D>)), blocks);
}

template <enum op_id OP, enum dtype D> static int block_shared(const struct args *a) {
    return launch_rows<OP, D>(a, rows_in_shared<OP, D, block_team, LONG_BLOCK, 1>,
                              threads_for(a->s.n, PIECE<D>, 4, LONG_BLOCK), LONG_BLOCK,
                              a->s.n * static_cast<int64_t>(sizeof(stored<D>)));
}

template <enum op_id OP, enum dtype D, int W, int PIECES, class TEAM>
static int in_registers(const struct args *a, int64_t blocks) {
    return launch_rows<OP, D>(a, rows_of_blocks<OP, D, W, PIECES, TEAM>,
                              threads_for(part_of(a, W, blocks), W, PIECES, BLOCK), BLOCK, 0,
                              blocks);
}

template <enum op_id OP, enum dtype D> static int cluster_registers(const struct args *a) {
    constexpr int W = PIECE<D>;
    return aligned(a, sizeof(stored<D>)) ? in_registers<OP, D, W, KEPT<D> / W, cluster_team>(
                                               a, cluster_for(a, W, KEPT<D> * BLOCK))
                                         : in_registers<OP, D, 1, KEPT_ALONE, cluster_team>(
                                               a, cluster_for(a, 1, KEPT_ALONE * BLOCK));
}

template <enum op_id OP, enum dtype D> static int block_registers(const struct args *a) {
    constexpr int W = PIECE<D>;
    return aligned(a, sizeof(stored<D>)) ? in_registers<OP, D, W, KEPT<D> / W, block_team>(a, 1)
                                         : in_registers<OP, D, 1, KEPT_ALONE, block_team>(a, 1);
}

template <enum op_id OP, enum dtype D> static int warp_registers(const struct args *a) {
    constexpr int W = PIECE<D>, SHORT = W < KEPT_SHORT ? KEPT_SHORT / W : 1;
    const auto kernel = !aligned(a, sizeof(stored<D>)) ? rows_of_warps<OP, D, 1, KEPT_ALONE>
                        : a->s.n <= WARP * W * SHORT   ? rows_of_warps<OP, D, W, SHORT>
                                                       : rows_of_warps<OP, D, W, KEPT<D> / W>;
    const int threads =
        form_of(a, {ROW_WARPS * WARP, 0}, {{2 * WARP, ROW_WARPS * WARP}, {0, 0}}).threads;
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.m, threads / WARP)));
    c.block = dim3(static_cast<unsigned>(threads));
    c.stream = stream_of(a);
    return gpu_launch(c, kernel, operand<const stored<D>>(a, 0), weights_of<OP, D>(a),
                      result_of<OP, D>(a), a->s.m, a->s.n);
}

/* ---- refusals ---- */

static const char *refuses_many(const struct args *a) {
    return a->s.m > INT32_MAX ? "more rows than a grid has blocks" : nullptr;
}

template <enum dtype D> static const char *refuses_unaligned(const struct args *a) {
    return aligned(a, sizeof(stored<D>)) ? refuses_many(a)
                                         : "rows must start at multiples of 16 bytes";
}

template <enum dtype D> static const char *refuses_shared(const struct args *a) {
    const int64_t bytes = a->s.n * static_cast<int64_t>(sizeof(stored<D>)) + REDUCTION_BYTES;
    return bytes > a->gpu->smem_block_bytes ? "a row does not fit in shared memory"
                                            : refuses_unaligned<D>(a);
}

template <enum dtype D> static const char *refuses_cluster(const struct args *a) {
    return a->gpu->cc < 90                    ? "needs a GPU with clusters (sm_90)"
           : a->s.m > INT32_MAX / MOST_BLOCKS ? "more rows than a grid has clusters"
                                              : nullptr;
}

template <enum dtype D> static const char *refuses_cluster_shared(const struct args *a) {
    const char *reason = refuses_unaligned<D>(a);
    if (!reason) reason = refuses_cluster<D>(a);
    if (!reason && part_of(a, PIECE<D>, MOST_BLOCKS) > kept_in_shared<D>(a, 1))
        reason = "a row does not fit in a cluster's shared memory";
    return reason;
}

/* Elements that threads of registers keep, or 16 where rows are not aligned. */
template <enum dtype D> static int64_t kept_by_thread(const struct args *a) {
    return aligned(a, sizeof(stored<D>)) ? KEPT<D> : KEPT_ALONE;
}

template <enum dtype D> static const char *refuses_cluster_registers(const struct args *a) {
    return a->s.n > kept_by_thread<D>(a) * BLOCK * MOST_BLOCKS
               ? "a row does not fit in a cluster's registers"
               : refuses_cluster<D>(a);
}

template <enum dtype D> static const char *refuses_block(const struct args *a) {
    return a->s.n > kept_by_thread<D>(a) * BLOCK ? "a row does not fit in a block's registers"
                                                 : refuses_many(a);
}

template <enum dtype D> static const char *refuses_warp(const struct args *a) {
    return a->s.n > kept_by_thread<D>(a) * WARP ? "a row does not fit in a warp's registers"
                                                : refuses_many(a);
}

} // namespace row_kernels

using namespace row_kernels;

#define ROW(op, name, t, refuses) \
    { OP_##op, #name, DT_##t, name<OP_##op, DT_##t>, refuses, nullptr }
#define ROWS(op, t)                                                                      \
    ROW(op, simple, t, refuses_many), ROW(op, multi_pass, t, refuses_unaligned<DT_##t>), \
        ROW(op, cluster_shared, t, refuses_cluster_shared<DT_##t>),                      \
        ROW(op, block_shared, t, refuses_shared<DT_##t>),                                \
        ROW(op, cluster_registers, t, refuses_cluster_registers<DT_##t>),                \
        ROW(op, block_registers, t, refuses_block<DT_##t>),                              \
        ROW(op, warp_registers, t, refuses_warp<DT_##t>)
#define EVERY_ROW(op)                                                                   \
    ROWS(op, fp64), ROWS(op, fp32), ROWS(op, fp16), ROWS(op, bf16), ROWS(op, fp8_e4m3), \
        ROWS(op, fp8_e5m2)

extern "C" const struct impl rows_cuda[];
const struct impl rows_cuda[] = {
    EVERY_ROW(softmax),
    EVERY_ROW(rmsnorm),
    EVERY_ROW(layernorm),
    {},
};
