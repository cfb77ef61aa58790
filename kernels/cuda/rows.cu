/* rows.cu - softmax, rmsnorm and layernorm of each row of x[m,n]. A row is read once, kept on the chip until its sums are
 * known, and written once; who shares a row and where it is kept depends on its length:
 *   simple            a block a row, an element an access, every pass over memory; any row
 *   multi_pass        the same in 16-byte pieces: rows that no multiprocessor can hold
 *   block_shared      a block a row, kept as it is stored in shared memory
 *   block_registers   a block a row, kept widened in registers
 *   warp_registers    a warp a row: no barrier at all; unaligned rows as well
 * Rows are aligned when their bytes are a multiple of 16. Sums and maxima are kept in the accumulator's type. */
#include "pieces.cuh"
#include "teams.cuh"

#include <math.h>

namespace row_kernels { /* a name of its own: the emulation finds kernels by their symbols */

enum {
    ROW_WARPS = 8, /* rows of a block of warp_registers */
    /* what a thread keeps in registers, widened: half of what lets 1024 threads be resident */
    KEPT_BYTES = 128,
    KEPT_SHORT = 8,  /* elements of rows that are short, where most threads would only skip */
    KEPT_ALONE = 16, /* elements of rows that are not aligned */
    BLOCK = 512,     /* most threads of block_registers: fp32 rows of up to 16384 elements */
    SIMPLE_BLOCK = 256,
    LONG_BLOCK = 1024,     /* one row at a time fills a multiprocessor */
    REDUCTION_BYTES = 512, /* static shared memory of block_team, rounded up */
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

template <enum op_id OP, enum dtype D, int W, class TEAM, class ROW>
DEV void finish_row(ROW &row, const weights<D> &p, stored<D> *y, int64_t n) {
    using A = wide<D>;
    A sum = 0;
    if constexpr (OP == OP_softmax) {
        A most = static_cast<A>(-INFINITY);
        row.each([&](A x) { most = larger(most, x); });
        most = TEAM::max(most);
        row.each([&](A &x) {
            x = exponential<D>(x - most);
            sum += x;
        });
        const A factor = 1 / TEAM::sum(sum);
        row.write(y, [&](A(&v)[W], int64_t) {
#pragma unroll
            for (int e = 0; e < W; e++)
                v[e] = (ROW::KEEPS ? v[e] : exponential<D>(v[e] - most)) * factor;
        });
    } else if constexpr (OP == OP_rmsnorm) {
        row.each([&](A x) { sum += x * x; });
        const A factor = 1 / root(TEAM::sum(sum) / static_cast<A>(n) + static_cast<A>(1e-5));
        row.write(y, [&](A(&v)[W], int64_t col) {
            A w[W];
            widen_piece<D, W>(load_shared_by_all<D, W>(p.w + col), w);
#pragma unroll
            for (int e = 0; e < W; e++) v[e] = v[e] * factor * w[e];
        });
    } else {
        A squares = 0; /* about the mean: x^2 less mean^2 would cancel */
        row.each([&](A x) { sum += x; });
        const A mean = TEAM::sum(sum) / static_cast<A>(n);
        row.each([&](A x) { squares += (x - mean) * (x - mean); });
        const A factor = 1 / root(TEAM::sum(squares) / static_cast<A>(n) + static_cast<A>(1e-5));
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

template <enum op_id OP, enum dtype D, int W, int THREADS>
__global__ void __launch_bounds__(THREADS, 1)
    rows_in_memory(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                   int64_t n) {
    const int64_t start = static_cast<int64_t>(blockIdx.x) * n;
    row_as_stored<D, W> row(x + start, n, block_team::rank(), block_team::size());
    finish_row<OP, D, W, block_team>(row, p, y + start, n);
}

/* A thread reads back only the pieces that it copied itself, which its own wait covers: no barrier. */
template <enum op_id OP, enum dtype D>
__global__ void __launch_bounds__(LONG_BLOCK, 1)
    rows_in_shared(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                   int64_t n) {
    constexpr int W = PIECE<D>;
    DYN_SMEM(16, stored<D>, kept);
    const int64_t start = static_cast<int64_t>(blockIdx.x) * n;
    for (int64_t col = static_cast<int64_t>(threadIdx.x) * W; col < n;
         col += static_cast<int64_t>(blockDim.x) * W)
        gpu::cp_async16(kept + col, x + start + col);
    gpu::cp_async_commit();
    gpu::cp_async_wait<0>();
    row_as_stored<D, W> row(kept, n, block_team::rank(), block_team::size());
    finish_row<OP, D, W, block_team>(row, p, y + start, n);
}

template <enum op_id OP, enum dtype D, int W, int PIECES>
__global__ void __launch_bounds__(BLOCK, 1)
    rows_of_blocks(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                   int64_t n) {
    const int64_t start = static_cast<int64_t>(blockIdx.x) * n;
    row_in_registers<D, W, PIECES> row(x + start, n, block_team::rank(), block_team::size());
    finish_row<OP, D, W, block_team>(row, p, y + start, n);
}

template <enum op_id OP, enum dtype D, int W, int PIECES>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 1)
    rows_of_warps(const stored<D> *__restrict__ x, weights<D> p, stored<D> *__restrict__ y,
                  int64_t m, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * ROW_WARPS + threadIdx.x / WARP;
    if (i >= m) return; /* the whole warp */
    row_in_registers<D, W, PIECES> row(x + i * n, n, warp_team::rank(), WARP);
    finish_row<OP, D, W, warp_team>(row, p, y + i * n, n);
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

/* One block a row: `threads` of them, `smem` bytes each. */
template <enum op_id OP, enum dtype D, class K>
static int launch_rows(const struct args *a, K kernel, int64_t threads, int64_t smem) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(a->s.m));
    c.block = dim3(static_cast<unsigned>(threads));
    c.smem = static_cast<size_t>(smem);
    c.stream = stream_of(a);
    return gpu_launch(c, kernel, operand<const stored<D>>(a, 0), weights_of<OP, D>(a),
                      result_of<OP, D>(a), a->s.n);
}

/* Threads that a row of n in pieces of w keeps busy with `pieces` each, in whole warps. */
static int64_t threads_for(int64_t n, int64_t w, int64_t pieces, int64_t most) {
    const int64_t threads = ceil_div(ceil_div(n, w * pieces), WARP) * WARP;
    return threads < most ? threads : most;
}

template <enum op_id OP, enum dtype D> static int simple(const struct args *a) {
    return launch_rows<OP, D>(a, rows_in_memory<OP, D, 1, SIMPLE_BLOCK>, SIMPLE_BLOCK, 0);
}

template <enum op_id OP, enum dtype D> static int multi_pass(const struct args *a) {
    return launch_rows<OP, D>(a, rows_in_memory<OP, D, PIECE<D>, LONG_BLOCK>,
                              threads_for(a->s.n, PIECE<D>, 4, LONG_BLOCK), 0);
}

template <enum op_id OP, enum dtype D> static int block_shared(const struct args *a) {
    return launch_rows<OP, D>(a, rows_in_shared<OP, D>,
                              threads_for(a->s.n, PIECE<D>, 4, LONG_BLOCK),
                              a->s.n * static_cast<int64_t>(sizeof(stored<D>)));
}

template <enum op_id OP, enum dtype D> static int block_registers(const struct args *a) {
    constexpr int PIECES = KEPT<D> / PIECE<D>;
    return launch_rows<OP, D>(a, rows_of_blocks<OP, D, PIECE<D>, PIECES>,
                              threads_for(a->s.n, PIECE<D>, PIECES, BLOCK), 0);
}

static bool aligned(const struct args *a, size_t element_bytes) {
    return a->s.n * static_cast<int64_t>(element_bytes) % 16 == 0;
}

template <enum op_id OP, enum dtype D> static int warp_registers(const struct args *a) {
    constexpr int W = PIECE<D>, SHORT = W < KEPT_SHORT ? KEPT_SHORT / W : 1;
    const auto kernel = !aligned(a, sizeof(stored<D>)) ? rows_of_warps<OP, D, 1, KEPT_ALONE>
                        : a->s.n <= WARP * W * SHORT   ? rows_of_warps<OP, D, W, SHORT>
                                                       : rows_of_warps<OP, D, W, KEPT<D> / W>;
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.m, ROW_WARPS)));
    c.block = dim3(ROW_WARPS * WARP);
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

template <enum dtype D> static const char *refuses_block(const struct args *a) {
    return a->s.n > static_cast<int64_t>(KEPT<D>) * BLOCK
               ? "a row does not fit in a block's registers"
               : refuses_unaligned<D>(a);
}

template <enum dtype D> static const char *refuses_warp(const struct args *a) {
    const int kept = aligned(a, sizeof(stored<D>)) ? KEPT<D> : KEPT_ALONE;
    return a->s.n > kept * WARP ? "a row does not fit in a warp's registers" : refuses_many(a);
}

} // namespace row_kernels

using namespace row_kernels;

#define ROWS(op, t)                                                                               \
    {OP_##op, "simple", DT_##t, simple<OP_##op, DT_##t>, refuses_many, nullptr},                  \
        {OP_##op, "multi_pass", DT_##t, multi_pass<OP_##op, DT_##t>, refuses_unaligned<DT_##t>,   \
         nullptr},                                                                                \
        {OP_##op, "block_shared", DT_##t, block_shared<OP_##op, DT_##t>, refuses_shared<DT_##t>,  \
         nullptr},                                                                                \
        {OP_##op,                                                                                 \
         "block_registers",                                                                       \
         DT_##t,                                                                                  \
         block_registers<OP_##op, DT_##t>,                                                        \
         refuses_block<DT_##t>,                                                                   \
         nullptr},                                                                                \
    {                                                                                             \
        OP_##op, "warp_registers", DT_##t, warp_registers<OP_##op, DT_##t>, refuses_warp<DT_##t>, \
            nullptr                                                                               \
    }
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
