/* optimizers.cu - one step of an optimizer in one pass: each element of parameters, gradient and state is read and written
 * once, computed with in the accumulator's precision, rounded once. "simple" is one element a thread, in two dtypes, to be
 * read. "vector" has 6 to 8 accesses in flight a thread, of 16 bytes of state and as many elements of parameters and
 * gradient (half as many and twice as wide from sm_100 on). The numbers of the step come from memory, so that kernels before
 * may compute them.
 *
 * The state and the gradient are not looked at before the next step, which is far away: they are streamed past the caches.
 * The parameters are wanted at once, by the next forward pass.
 *
 * Floor, adamw in fp32: 28 bytes an element over the memory's bandwidth; 0.88 to 0.93 of the data sheet's is expected, what is lost
 * being the memory's turns between reads and writes, as in a copy (0.90 on an H200, by cudaMemcpy). Nothing else limits. In
 * flight: 1024 threads of 64 registers (ptxas, sm_90a) x 4 operands x 32 bytes are 128 KiB a multiprocessor, in bf16 96, where 21 KiB
 * hide 600 ns on an H200, 15 on an H100, 30 on a B200 (README.md). Instructions: some 45 an element, 0.76 elements a clock and
 * multiprocessor of an H200 (4.8 TB/s / 28 / 132 / 1.7 GHz): 34 of 128 lanes. Not run on a GPU yet. */
#include "convert.cuh"
#include "stream.cuh"

namespace optimizers { /* other files may have the same names */

enum optimizer { SGD, MOMENTUM, ADAGRAD, RMSPROP, ADAM, ADAMW };

template <optimizer KIND>
constexpr bool has_mean = KIND == MOMENTUM || KIND == ADAM || KIND == ADAMW;
template <optimizer KIND> constexpr bool has_squares = KIND >= ADAGRAD;

template <typename T> using acc_of = decltype(widen(T()));

/* What a step reads and writes; NULL for what it has not. The master copy and the state are in the accumulator's type. */
template <typename T> struct tensors {
    T *p;
    acc_of<T> *master;
    const T *grad;
    acc_of<T> *m, *s;
    const acc_of<T> *hyper; /* [HYPER_COUNT] */
};

/* ---- formulas ---- */

/* The numbers of the step as the formulas use them. */
template <typename A> struct steering {
    A lr, lr_c1, keep1, take1, keep2, take2, c2, eps, decay, shrink, scale;

    DEV explicit steering(const A *h)
        : lr(h[HYPER_LR]), lr_c1(h[HYPER_LR] * h[HYPER_CORRECT1]), keep1(h[HYPER_BETA1]),
          take1(1 - h[HYPER_BETA1]), keep2(h[HYPER_BETA2]), take2(1 - h[HYPER_BETA2]),
          c2(h[HYPER_CORRECT2]), eps(h[HYPER_EPS]), decay(h[HYPER_DECAY]),
          shrink(1 - h[HYPER_LR] * h[HYPER_DECAY]), scale(h[HYPER_GRAD_SCALE]) {}
    /* infinity or NaN less itself is NaN */
    DEV bool skips() const { return scale == 0 || !(scale - scale == 0); }
};

DEV double root(double x) { return sqrt(x); }
DEV float root(float x) { return sqrtf(x); }

/* numerator / (root of square), eps added inside or outside. Where only a p of 16 bits comes of it the approximate
 * instructions do: they err by 2^-21 of the quotient at most, p's own rounding by up to 2^-11 of p. The divisor is under 2^126,
 * beyond which __fdividef gives 0, as long as the square is finite. */
template <bool APPROXIMATE>
DEV float quotient(float numerator, float square, float inside, float outside) {
    if (APPROXIMATE) return __fdividef(numerator, gpu::sqrt_approx(square + inside) + outside);
    return numerator / (root(square + inside) + outside);
}
template <bool>
DEV double quotient(double numerator, double square, double inside, double outside) {
    return numerator / (root(square + inside) + outside);
}

/* The new p; m and s become the new state. */
template <optimizer KIND, bool APPROXIMATE, typename A>
DEV A step(const steering<A> &h, A p, A grad, A &m, A &s) {
    A g = h.scale * grad;
    if (KIND == ADAMW)
        p = h.shrink * p;
    else
        g = fma(h.decay, p, g);
    if (has_mean<KIND>) m = fma(h.keep1, m, h.take1 * g);
    if (KIND == ADAGRAD)
        s = fma(g, g, s);
    else if (has_squares<KIND>)
        s = fma(h.keep2, s, h.take2 * (g * g));
    if (KIND == SGD) return fma(-h.lr, g, p);
    if (KIND == MOMENTUM) return fma(-h.lr, m, p);
    if (KIND == ADAGRAD) return p - quotient<APPROXIMATE>(h.lr * g, s, h.eps, A(0));
    if (KIND == RMSPROP) return p - quotient<APPROXIMATE>(h.lr * g, s, A(0), h.eps);
    return p - quotient<APPROXIMATE>(h.lr_c1 * m, h.c2 * s, A(0), h.eps);
}

/* ---- kernels ---- */

template <optimizer KIND, typename T, bool MASTER>
DEV void step_element(const tensors<T> &x, const steering<acc_of<T>> &h, int64_t i) {
    using A = acc_of<T>;
    constexpr bool APPROXIMATE = sizeof(T) < sizeof(A) && !MASTER;
    A m = has_mean<KIND> ? x.m[i] : 0, s = has_squares<KIND> ? x.s[i] : 0;
    const A p =
        step<KIND, APPROXIMATE>(h, MASTER ? x.master[i] : widen(x.p[i]), widen(x.grad[i]), m, s);
    narrow(x.p[i], p);
    if (MASTER) x.master[i] = p;
    if (has_mean<KIND>) x.m[i] = m;
    if (has_squares<KIND>) x.s[i] = s;
}

template <optimizer KIND, typename T, bool MASTER>
__global__ void simple_step(tensors<T> x, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const steering<acc_of<T>> h(x.hyper);
    if (i < n && !h.skips()) step_element<KIND, T, MASTER>(x, h, i);
}

/* Bytes of the accumulator's type a thread; those of T are half as many where it is half as wide. */
template <optimizer KIND> constexpr int thread_bytes = KIND == SGD ? 64 : 32;

/* W consecutive elements of all that a step reads. */
template <typename T, int W> struct piece {
    using A = acc_of<T>;
    vec<T, W *static_cast<int>(sizeof(T))> p, grad;
    vec<A, W *static_cast<int>(sizeof(A))> master, m, s;
};

template <optimizer KIND, bool MASTER, typename T, int W>
DEV void load_piece(piece<T, W> &v, const tensors<T> &x, int64_t i) {
    load<true>(v.grad, x.grad + i);
    if (MASTER)
        load<true>(v.master, x.master + i);
    else
        load<false>(v.p, x.p + i);
    if (has_mean<KIND>) load<true>(v.m, x.m + i);
    if (has_squares<KIND>) load<true>(v.s, x.s + i);
}

template <optimizer KIND, bool MASTER, typename T, int W>
DEV void step_piece(piece<T, W> &v, const steering<acc_of<T>> &h) {
    using A = acc_of<T>;
    constexpr bool APPROXIMATE = sizeof(T) < sizeof(A) && !MASTER;
#pragma unroll
    for (int e = 0; e < W; e += 2) {
        A p[2], g[2], unused = 0;
        widen_pair(v.grad.at + e, g);
        if (MASTER) {
            p[0] = v.master.at[e];
            p[1] = v.master.at[e + 1];
        } else {
            widen_pair(v.p.at + e, p);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            A &m = has_mean<KIND> ? v.m.at[e + i] : unused,
              &s = has_squares<KIND> ? v.s.at[e + i] : unused;
            p[i] = step<KIND, APPROXIMATE>(h, p[i], g[i], m, s);
            if (MASTER) v.master.at[e + i] = p[i];
        }
        narrow_pair(v.p.at + e, p);
    }
}

template <optimizer KIND, bool MASTER, typename T, int W>
DEV void store_piece(const piece<T, W> &v, const tensors<T> &x, int64_t i) {
    store<false>(x.p + i, v.p);
    if (MASTER) store<true>(x.master + i, v.master);
    if (has_mean<KIND>) store<true>(x.m + i, v.m);
    if (has_squares<KIND>) store<true>(x.s + i, v.s);
}

/* `count` elements from `first` on, by a block. The numbers and all elements are under way before the first is used: a
 * step that is skipped reads in vain, the others do not wait twice. */
template <optimizer KIND, bool MASTER, int BYTES, typename T>
DEV void step_tile(const tensors<T> &x, int64_t first, int count) {
    using A = acc_of<T>;
    constexpr int W = BYTES / static_cast<int>(sizeof(A)), UNROLL = thread_bytes<KIND> / BYTES;
    const int vectors = count / W, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<A, HYPER_COUNT *static_cast<int>(sizeof(A))> numbers;
    piece<T, W> v[UNROLL];
#pragma unroll
    for (int i = 0; i < HYPER_COUNT; i++) numbers.at[i] = __ldg(x.hyper + i);
    if (thread < vectors) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            load_piece<KIND, MASTER>(v[u], x, first + vector_or_own(u, vectors) * W);
    }
    const steering<A> h(numbers.at);
    if (h.skips()) return;
    if (thread < vectors) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int at = thread + u * threads;
            if (at >= vectors) break;
            step_piece<KIND, MASTER>(v[u], h);
            store_piece<KIND, MASTER>(v[u], x, first + at * W);
        }
    }
    const int i = vectors * W + thread;
    if (i < count) step_element<KIND, T, MASTER>(x, h, first + i);
}

/* 64 registers a thread; numbers and elements of 64 bits take twice as many. */
template <optimizer KIND, typename T, bool MASTER>
__global__ void __launch_bounds__(STREAM_MOST_THREADS, sizeof(T) == 8 ? 1 : STREAM_MOST_RESIDENT)
    vector_step(tensors<T> x, int64_t n) {
    const int64_t tile = static_cast<int64_t>(blockDim.x) *
                         (thread_bytes<KIND> / static_cast<int>(sizeof(acc_of<T>)));
#pragma unroll 1
    for (int64_t first = blockIdx.x * tile; first < n; first += gridDim.x * tile) {
        const int count = static_cast<int>(n - first < tile ? n - first : tile);
        if (gpu::has_access32())
            step_tile<KIND, MASTER, 32>(x, first, count);
        else
            step_tile<KIND, MASTER, 16>(x, first, count);
    }
}

/* ---- launches ---- */

/* Operands: p [, master], gradient [, m] [, s], numbers. */
template <optimizer KIND, typename T, bool MASTER>
static tensors<T> tensors_of(const struct args *a) {
    using A = acc_of<T>;
    int next = 0;
    tensors<T> x = {};
    x.p = operand<T>(a, next++);
    if (MASTER) x.master = operand<A>(a, next++);
    x.grad = operand<const T>(a, next++);
    if (has_mean<KIND>) x.m = operand<A>(a, next++);
    if (has_squares<KIND>) x.s = operand<A>(a, next++);
    x.hyper = operand<const A>(a, next);
    return x;
}

template <optimizer KIND, enum dtype D, bool MASTER> int simple(const struct args *a) {
    using T = typename element<D>::type;
    launch_config c;
    c.block = dim3(STREAM_THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.n, STREAM_THREADS)));
    c.stream = stream_of(a);
    return gpu_launch(c, simple_step<KIND, T, MASTER>, tensors_of<KIND, T, MASTER>(a), a->s.n);
}

template <optimizer KIND, enum dtype D, bool MASTER> int vector(const struct args *a) {
    using T = typename element<D>::type;
    const int64_t bytes = a->s.n * static_cast<int64_t>(sizeof(acc_of<T>));
    return gpu_launch(stream_grid(a, bytes, true, thread_bytes<KIND>), vector_step<KIND, T, MASTER>,
                      tensors_of<KIND, T, MASTER>(a), a->s.n);
}

} // namespace optimizers

using namespace optimizers;

#define ROW(op, name, t, kind, master) \
    { OP_##op, #name, DT_##t, name<kind, DT_##t, master>, nullptr, nullptr }
#define SIMPLE(op, kind)                                                    \
    ROW(op, simple, fp32, kind, false), ROW(op, simple, bf16, kind, false), \
        ROW(op##_master, simple, bf16, kind, true)
#define VECTOR(op, kind)                                                        \
    ROW(op, vector, fp64, kind, false), ROW(op, vector, fp32, kind, false),     \
        ROW(op, vector, fp16, kind, false), ROW(op, vector, bf16, kind, false), \
        ROW(op##_master, vector, fp16, kind, true), ROW(op##_master, vector, bf16, kind, true)

extern "C" const struct impl optimizers_cuda[];
const struct impl optimizers_cuda[] = {
    SIMPLE(sgd, SGD),
    SIMPLE(momentum, MOMENTUM),
    SIMPLE(adagrad, ADAGRAD),
    SIMPLE(rmsprop, RMSPROP),
    SIMPLE(adam, ADAM),
    SIMPLE(adamw, ADAMW),
    VECTOR(sgd, SGD),
    VECTOR(momentum, MOMENTUM),
    VECTOR(adagrad, ADAGRAD),
    VECTOR(rmsprop, RMSPROP),
    VECTOR(adam, ADAM),
    VECTOR(adamw, ADAMW),
    {},
};
