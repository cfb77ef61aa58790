/* losses.cu - cross-entropy of each row of x[m,n] with the label of that row, and its gradient. The maximum and the sum of
 * exponentials come from one pass: a thread that meets a larger element rescales its sum. Rows start where they start: whole
 * 16-byte pieces are accessed as such, what lies before and behind them an element a thread.
 *   simple         a block a row, an element an access, a pass for each sum
 *   block_online   a block a row; the gradient reads the row twice
 *   block_shared   the gradient, with the row kept in shared memory: read once
 *   warp_online    a warp a row, without a barrier: short rows, whose second reading finds them in the nearest cache
 * The gradient may be written where x is: a thread writes what it alone has read. */
#include "pieces.cuh"
#include "teams.cuh"

namespace loss_kernels { /* a name of its own: the emulation finds kernels by their symbols */

enum {
    ROW_WARPS = 8, /* rows of a block of warp_online */
    SHORT_ROW_BYTES = 4096,
    SIMPLE_BLOCK = 256,
    BLOCK = 512,   /* most threads a row: two rows to a multiprocessor, of which one may join */
    IN_FLIGHT = 4, /* pieces a thread: 64 KiB in 1024 threads, twice HBM's latency */
    REDUCTION_BYTES = 512, /* static shared memory of block_team, rounded up */
};

template <enum dtype D> using stored = typename element<D>::type;
template <enum dtype D> using wide = typename element<D>::acc;

/* For 16 bits, ex2 of a rounded argument will do: its error of |x| 2^-24 is far below half a unit of a gradient, and in a
 * sum it comes with the weight e^x, where |x| e^x is at most 1/e. */
template <enum dtype D> DEV wide<D> exponential(wide<D> x) {
    if constexpr (D == DT_fp64)
        return exp(x);
    else if constexpr (D == DT_fp32)
        return expf(x);
    else
        return __expf(x);
}
DEV double logarithm(double x) { return log(x); }
DEV float logarithm(float x) { return logf(x); }

/* The least number rather than -infinity, whose difference with itself is NaN: rows may have masked elements. */
template <class A> DEV A least() {
    return static_cast<A>(sizeof(A) == 8 ? -0x1.fffffffffffffp+1023 : -0x1.fffffep+127);
}

/* sum of e^(x - most) over what a thread has seen */
template <enum dtype D> struct online {
    using A = wide<D>;
    A most = least<A>(), sum = 0;
    template <int N> DEV void add(const A (&x)[N]) {
        A top = most;
#pragma unroll
        for (int i = 0; i < N; i++) top = larger(x[i], top);
        sum *= exponential<D>(most - top);
        most = top;
#pragma unroll
        for (int i = 0; i < N; i++) sum += exponential<D>(x[i] - most);
    }
    template <class TEAM> DEV void join() { /* every member gets the row's */
        const A top = TEAM::max(most);
        sum = TEAM::sum(sum * exponential<D>(most - top));
        most = top;
    }
};

/* A row: `head` elements, `pieces` of 16 bytes, the rest. */
template <enum dtype D> struct row_parts {
    static constexpr int W = PIECE<D>;
    int64_t n, pieces;
    int head;
    DEV row_parts(const stored<D> *x, int64_t length) : n(length) {
        const int past = static_cast<int>(reinterpret_cast<uintptr_t>(x) % 16 / sizeof(stored<D>));
        const int before = past ? W - past : 0;
        head = before < n ? before : static_cast<int>(n);
        pieces = (n - head) / W;
    }
    DEV int64_t tail() const { return head + pieces * W; } /* where the rest begins */
};

/* ---- one row by a team: loss to *loss, or the gradient to dx ---- */

template <enum dtype D, bool GRADIENT, bool KEEP, class TEAM>
DEV void row_loss(const stored<D> *x, int64_t label, int rank, int size, int64_t n, wide<D> alpha,
                  wide<D> *loss, stored<D> *dx, stored<D> *kept) {
    using A = wide<D>;
    constexpr int W = PIECE<D>;
    const row_parts<D> row(x, n);
    const int64_t lone[2] = {rank < row.head ? rank : -1,
                             row.tail() + rank < n ? row.tail() + rank : -1};
    online<D> all;
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (lone[i] >= 0) {
            const A one[1] = {widen(x[lone[i]])};
            all.add(one);
        }
    const stored<D> *body = x + row.head;
    for (int64_t first = rank; first < row.pieces;
         first += static_cast<int64_t>(size) * IN_FLIGHT) {
        piece<D, W> raw[IN_FLIGHT];
        A v[IN_FLIGHT * W];
#pragma unroll
        for (int u = 0; u < IN_FLIGHT;
             u++) { /* past the end the first again, so that all are issued together */
            const int64_t p = first + static_cast<int64_t>(u) * size;
            raw[u] =
                *reinterpret_cast<const piece<D, W> *>(body + (p < row.pieces ? p : first) * W);
        }
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            const int64_t p = first + static_cast<int64_t>(u) * size;
            if (KEEP && p < row.pieces) *reinterpret_cast<piece<D, W> *>(kept + p * W) = raw[u];
            A wide_piece[W];
            widen_piece<D, W>(raw[u], wide_piece);
#pragma unroll
            for (int e = 0; e < W; e++)
                v[u * W + e] = p < row.pieces ? wide_piece[e] : static_cast<A>(-INFINITY);
        }
        all.add(v);
    }
    all.template join<TEAM>();

    if constexpr (!GRADIENT) {
        if (rank == 0) *loss = logarithm(all.sum) + (all.most - widen(x[label]));
    } else {
        const A factor = alpha / all.sum;
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (lone[i] >= 0) {
                const A y = exponential<D>(widen(x[lone[i]]) - all.most) * factor;
                narrow(dx[lone[i]], lone[i] == label ? y - alpha : y);
            }
        const stored<D> *from = KEEP ? kept : body;
#pragma unroll IN_FLIGHT
        for (int64_t p = rank; p < row.pieces; p += size) {
            A v[W];
            widen_piece<D, W>(*reinterpret_cast<const piece<D, W> *>(from + p * W), v);
            const int64_t at = label - row.head - p * W;
#pragma unroll
            for (int e = 0; e < W; e++) {
                v[e] = exponential<D>(v[e] - all.most) * factor;
                if (e == at) v[e] -= alpha;
            }
            *reinterpret_cast<piece<D, W> *>(dx + row.head + p * W) = narrow_piece<D, W>(v);
        }
    }
}

/* ---- kernels; out: a loss a row, or dx ---- */

template <enum dtype D, bool GRADIENT>
__global__ void __launch_bounds__(SIMPLE_BLOCK, 1)
    simple_loss(const stored<D> *x, const int32_t *labels, void *out, int64_t n, wide<D> alpha) {
    using A = wide<D>;
    const int64_t i = blockIdx.x;
    const int64_t label = labels[i];
    x += i * n;
    A most = least<A>(), sum = 0;
    for (int64_t j = threadIdx.x; j < n; j += SIMPLE_BLOCK) most = larger(widen(x[j]), most);
    most = block_team::max(most);
    for (int64_t j = threadIdx.x; j < n; j += SIMPLE_BLOCK)
        sum += exponential<D>(widen(x[j]) - most);
    sum = block_team::sum(sum);
    if constexpr (GRADIENT) {
        stored<D> *dx = static_cast<stored<D> *>(out) + i * n;
        for (int64_t j = threadIdx.x; j < n; j += SIMPLE_BLOCK) {
            const A y = exponential<D>(widen(x[j]) - most) * (alpha / sum);
            narrow(dx[j], j == label ? y - alpha : y);
        }
    } else {
        if (threadIdx.x == 0) static_cast<A *>(out)[i] = logarithm(sum) + (most - widen(x[label]));
    }
}

template <enum dtype D>
constexpr int ROWS_PER_SM = sizeof(wide<D>) == 8 ? 1 : 2; /* exp() of fp64 takes registers */

template <enum dtype D, bool GRADIENT, bool KEEP>
__global__ void __launch_bounds__(BLOCK, ROWS_PER_SM<D>)
    block_loss(const stored<D> *x, const int32_t *labels, void *out, int64_t n, wide<D> alpha) {
    DYN_SMEM(16, stored<D>, kept);
    const int64_t i = blockIdx.x;
    row_loss<D, GRADIENT, KEEP, block_team>(
        x + i * n, labels[i], block_team::rank(), block_team::size(), n, alpha,
        static_cast<wide<D> *>(out) + i, static_cast<stored<D> *>(out) + i * n, kept);
}

template <enum dtype D, bool GRADIENT>
__global__ void __launch_bounds__(ROW_WARPS *WARP)
    warp_loss(const stored<D> *x, const int32_t *labels, void *out, int64_t m, int64_t n,
              wide<D> alpha) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * ROW_WARPS + threadIdx.x / WARP;
    if (i >= m) return; /* the whole warp */
    row_loss<D, GRADIENT, false, warp_team>(
        x + i * n, labels[i], warp_team::rank(), WARP, n, alpha, static_cast<wide<D> *>(out) + i,
        static_cast<stored<D> *>(out) + i * n, static_cast<stored<D> *>(nullptr));
}

/* ---- launches ---- */

template <enum dtype D, class K>
static int launch(const struct args *a, K kernel, int64_t threads, int64_t smem) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(a->s.m));
    c.block = dim3(static_cast<unsigned>(threads));
    c.smem = static_cast<size_t>(smem);
    c.stream = stream_of(a);
    return gpu_launch(c, kernel, operand<const stored<D>>(a, 0), operand<const int32_t>(a, 1),
                      operand<void>(a, 2), a->s.n, a->alpha);
}

/* Threads that a row keeps busy with IN_FLIGHT pieces each, in whole warps. */
template <enum dtype D> static int64_t threads_for(const struct args *a) {
    const int64_t threads = ceil_div(ceil_div(a->s.n, PIECE<D> * IN_FLIGHT), WARP) * WARP;
    return threads < BLOCK ? threads : static_cast<int64_t>(BLOCK);
}

template <bool GRADIENT, enum dtype D> static int simple(const struct args *a) {
    return launch<D>(a, simple_loss<D, GRADIENT>, SIMPLE_BLOCK, 0);
}
template <bool GRADIENT, enum dtype D> static int block_online(const struct args *a) {
    return launch<D>(a, block_loss<D, GRADIENT, false>, threads_for<D>(a), 0);
}
template <bool GRADIENT, enum dtype D> static int block_shared(const struct args *a) {
    return launch<D>(a, block_loss<D, GRADIENT, true>, threads_for<D>(a),
                     a->s.n * static_cast<int64_t>(sizeof(stored<D>)));
}
template <bool GRADIENT, enum dtype D> static int warp_online(const struct args *a) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.m, ROW_WARPS)));
    c.block = dim3(ROW_WARPS * WARP);
    c.stream = stream_of(a);
    return gpu_launch(c, warp_loss<D, GRADIENT>, operand<const stored<D>>(a, 0),
                      operand<const int32_t>(a, 1), operand<void>(a, 2), a->s.m, a->s.n, a->alpha);
}

/* ---- refusals ---- */

static const char *refuses_many(const struct args *a) {
    return a->s.m > INT32_MAX ? "more rows than a grid has blocks" : nullptr;
}
template <enum dtype D> static const char *refuses_shared(const struct args *a) {
    const int64_t bytes = a->s.n * static_cast<int64_t>(sizeof(stored<D>)) + REDUCTION_BYTES;
    return bytes > a->gpu->smem_block_bytes ? "a row does not fit in shared memory"
                                            : refuses_many(a);
}
template <enum dtype D> static const char *refuses_warp(const struct args *a) {
    return a->s.n * static_cast<int64_t>(sizeof(stored<D>)) > SHORT_ROW_BYTES
               ? "a warp takes rows of up to 4 KiB"
               : refuses_many(a);
}

} // namespace loss_kernels

using namespace loss_kernels;

#define ROW(op, gradient, name, t, refuses) \
    { OP_##op, #name, DT_##t, name<gradient, DT_##t>, refuses, nullptr }
#define ROWS(t)                                                                     \
    ROW(cross_entropy, false, simple, t, refuses_many),                             \
        ROW(cross_entropy, false, block_online, t, refuses_many),                   \
        ROW(cross_entropy, false, warp_online, t, refuses_warp<DT_##t>),            \
        ROW(cross_entropy_backward, true, simple, t, refuses_many),                 \
        ROW(cross_entropy_backward, true, block_online, t, refuses_many),           \
        ROW(cross_entropy_backward, true, block_shared, t, refuses_shared<DT_##t>), \
        ROW(cross_entropy_backward, true, warp_online, t, refuses_warp<DT_##t>)

extern "C" const struct impl losses_cuda[];
const struct impl losses_cuda[] = {ROWS(fp64), ROWS(fp32), ROWS(fp16), ROWS(bf16), {}};
