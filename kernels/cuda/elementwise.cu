/* elementwise.cu - z[i] = f(x[i], y[i], alpha): one pass over vectors. The accumulator's precision inside, one rounding
 * on the way out. "simple" is one element a thread, to be read; "vector" has 64 bytes an operand in flight a thread
 * (stream.cuh), a block a tile or as many blocks as are wished for. Those of STREAM are streamed past the caches where they
 * exceed them; for the others a second instance of each kernel would cost more than it gives. */
#include "convert.cuh"
#include "stream.cuh"

/* Formats of 16 bits and fewer take the approximate instructions. Errors relative to the result, against a unit roundoff
 * of 2^-11 (fp16) or more: sqrt_approx and rsqrtf 2^-22; __fdividef 2^-22 for a divisor under 2^126; __expf 2 + 1.16 |x| ulp
 * of fp32, hence 2^-20 where fp16 is finite and 2^-17 where bf16 is. In fp32 expf has 1 ulp, __frsqrt_rn half a one.
 * Sources: CUDA C++ Programming Guide, "Mathematical Functions"; PTX ISA, sqrt.approx. */
template <typename T> constexpr bool is_narrow = sizeof(T) < sizeof(float);
template <typename T>
constexpr bool small_range = is_narrow<T> && !std::is_same<T, __nv_bfloat16>::value;

/* ---- formulas; T is the stored type, A the accumulator's ---- */

struct scale_of {
    enum { INPUTS = 1, STREAM = 1 };
    template <typename T, typename A> DEV static A of(A x, A, A alpha) { return alpha * x; }
};
struct add_of {
    enum { INPUTS = 2, STREAM = 1 };
    template <typename T, typename A> DEV static A of(A x, A y, A) { return x + y; }
};
struct triad_of {
    enum { INPUTS = 2, STREAM = 1 };
    template <typename T, typename A> DEV static A of(A x, A y, A alpha) {
        return fma(alpha, y, x);
    }
};
struct axpy_of { /* y is the result as well */
    enum { INPUTS = 2, STREAM = 1 };
    template <typename T, typename A> DEV static A of(A x, A y, A alpha) {
        return fma(alpha, x, y);
    }
};
struct square_of {
    enum { INPUTS = 1, STREAM = 0 };
    template <typename T, typename A> DEV static A of(A x, A, A) { return x * x; }
};
struct mul_of {
    enum { INPUTS = 2, STREAM = 0 };
    template <typename T, typename A> DEV static A of(A x, A y, A) { return x * y; }
};
struct div_of {
    enum { INPUTS = 2, STREAM = 0 };
    template <typename T> DEV static float of(float x, float y, float) {
        return small_range<T> ? __fdividef(x, y) : x / y;
    }
    template <typename T> DEV static double of(double x, double y, double) { return x / y; }
};
struct relu_of {
    enum { INPUTS = 1, STREAM = 0 };
    template <typename T, typename A> DEV static A of(A x, A, A) { return x > 0 ? x : 0; }
};
struct relu_backward_of { /* of y, and dy as it is stored */
    enum { INPUTS = 2, STREAM = 0 };
    template <typename T, typename A> DEV static A of(A y, A dy, A) { return y > 0 ? dy : 0; }
};
struct mse_backward_of {
    enum { INPUTS = 2, STREAM = 0 };
    template <typename T, typename A> DEV static A of(A x, A y, A alpha) { return alpha * (x - y); }
};
struct sqrt_of {
    enum { INPUTS = 1, STREAM = 0 };
    template <typename T> DEV static float of(float x, float, float) {
        return is_narrow<T> ? gpu::sqrt_approx(x) : sqrtf(x);
    }
    template <typename T> DEV static double of(double x, double, double) { return sqrt(x); }
};

struct rsqrt_of {
    enum { INPUTS = 1, STREAM = 0 };
    template <typename T> DEV static float of(float x, float, float) {
        return is_narrow<T> ? rsqrtf(x) : __frsqrt_rn(x);
    }
    template <typename T> DEV static double of(double x, double, double) { return 1 / sqrt(x); }
};
struct exp_of {
    enum { INPUTS = 1, STREAM = 0 };
    template <typename T> DEV static float of(float x, float, float) {
        return is_narrow<T> ? __expf(x) : expf(x);
    }
    template <typename T> DEV static double of(double x, double, double) { return exp(x); }
};
/* x/2 (1 + tanh u) = x / (1 + e^-2u): no cancellation, one exponential. Below -30 the result is -0 in every dtype; the
 * clamp keeps -infinity from becoming NaN. Each step errs by a unit or two of what it yields and no step amplifies it: 8 units
 * of |x| at most in fp32, where 18 are allowed. */
struct gelu_of {
    enum { INPUTS = 1, STREAM = 0 };
    template <typename A> DEV static A minus_2u(A x) {
        const A linear = static_cast<A>(-1.5957691216057307117597842397375L), /* -2 sqrt(2/pi) */
            cubic = static_cast<A>(-1.5957691216057307117597842397375L * 0.044715L);
        return x * fma(x * x, cubic, linear);
    }
    template <typename T> DEV static float of(float x, float, float) {
        x = x < -30 ? -30 : x;
        if (is_narrow<T>) return __fdividef(x, 1 + __expf(minus_2u(x)));
        return x / (1 + expf(minus_2u(x)));
    }
    template <typename T> DEV static double of(double x, double, double) {
        x = x < -30 ? -30 : x;
        return x / (1 + exp(minus_2u(x)));
    }
};

/* ---- kernels ---- */

template <typename T> using acc_of = decltype(widen(T()));

template <class F, typename T>
__global__ void simple_map(const T *x, const T *y, T *z, int64_t n, acc_of<T> alpha) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const acc_of<T> second = F::INPUTS == 2 ? widen(y[i]) : 0;
    narrow(z[i], F::template of<T>(widen(x[i]), second, alpha));
}

template <class F, typename T, int BYTES>
DEV vec<T, BYTES> map_vector(F, const vec<T, BYTES> &x, const vec<T, BYTES> &y, acc_of<T> alpha) {
    using A = acc_of<T>;
    vec<T, BYTES> z;
#pragma unroll
    for (int i = 0; i < vec<T, BYTES>::N; i += 2) {
        A a[2], b[2] = {0, 0}, c[2];
        widen_pair(x.at + i, a);
        if (F::INPUTS == 2) widen_pair(y.at + i, b);
        c[0] = F::template of<T>(a[0], b[0], alpha);
        c[1] = F::template of<T>(a[1], b[1], alpha);
        narrow_pair(z.at + i, c);
    }
    return z;
}
/* On patterns: a sign bit clears its element. */
template <typename T, int BYTES>
DEV vec<T, BYTES> map_vector(relu_of, const vec<T, BYTES> &x, const vec<T, BYTES> &, acc_of<T>) {
    constexpr int BITS = 8 * sizeof(T);
    vec<T, BYTES> z;
    if constexpr (BITS == 64) {
#pragma unroll
        for (int i = 0; i < vec<T, BYTES>::N; i++) z.at[i] = x.at[i] > 0 ? x.at[i] : 0;
    } else {
        const uint32_t ones = BITS == 8 ? 0x01010101u : BITS == 16 ? 0x00010001u : 1u;
        const uint32_t all = BITS == 32 ? ~0u : (1u << BITS % 32) - 1;
        const uint32_t *in = reinterpret_cast<const uint32_t *>(&x);
        uint32_t *out = reinterpret_cast<uint32_t *>(&z);
#pragma unroll
        for (int i = 0; i < BYTES / 4; i++) out[i] = in[i] & ~((in[i] >> (BITS - 1) & ones) * all);
    }
    return z;
}

template <typename T, int BYTES>
DEV vec<T, BYTES> map_vector(relu_backward_of, const vec<T, BYTES> &y, const vec<T, BYTES> &dy,
                             acc_of<T>) {
    vec<T, BYTES> dx;
#pragma unroll
    for (int i = 0; i < vec<T, BYTES>::N; i += 2) {
        acc_of<T> gate[2];
        widen_pair(y.at + i, gate);
        dx.at[i] = gate[0] > 0 ? dy.at[i] : narrowed<T>(acc_of<T>(0));
        dx.at[i + 1] = gate[1] > 0 ? dy.at[i + 1] : narrowed<T>(acc_of<T>(0));
    }
    return dx;
}

/* Bytes of an operand a thread: of 8-bit elements, which take most arithmetic, half as many do. */
template <typename T> constexpr int thread_bytes = sizeof(T) == 1 ? STREAM_BYTES / 2 : STREAM_BYTES;

/* The `count` elements of a block's tile. All loads of the tile come before its stores, which may go to y. */
template <class F, typename T, int BYTES, bool STREAMING>
DEV void map_tile(const T *x, const T *y, T *z, int count, acc_of<T> alpha) {
    constexpr int N = vec<T, BYTES>::N, UNROLL = thread_bytes<T> / BYTES;
    const int vectors = count / N, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<T, BYTES> xs[UNROLL], ys[UNROLL];
    if (thread < vectors) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int v = vector_or_own(u, vectors);
            load<STREAMING>(xs[u], x + v * N);
            if (F::INPUTS == 2) load<STREAMING>(ys[u], y + v * N);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int v = thread + u * threads;
            if (v < vectors) store<STREAMING>(z + v * N, map_vector(F(), xs[u], ys[u], alpha));
        }
    }
    const int i = vectors * N + thread;
    if (i < count) {
        const acc_of<T> second = F::INPUTS == 2 ? widen(y[i]) : 0;
        narrow(z[i], F::template of<T>(widen(x[i]), second, alpha));
    }
}

template <class F, typename T, bool STREAMING>
__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    map(const T *x, const T *y, T *z, int64_t n, acc_of<T> alpha) {
    const int64_t tile = static_cast<int64_t>(blockDim.x) * (thread_bytes<T> / sizeof(T));
#pragma unroll 1
    for (int64_t first = blockIdx.x * tile; first < n; first += gridDim.x * tile) {
        const T *second = F::INPUTS == 2 ? y + first : nullptr;
        const int count = static_cast<int>(n - first < tile ? n - first : tile);
        if (gpu::has_access32())
            map_tile<F, T, 32, STREAMING>(x + first, second, z + first, count, alpha);
        else
            map_tile<F, T, 16, STREAMING>(x + first, second, z + first, count, alpha);
    }
}

/* ---- launches ---- */

/* z is the last operand; axpy has two, the second is y as well. */
template <class F> static int result_index() {
    return std::is_same<F, axpy_of>::value ? 1 : static_cast<int>(F::INPUTS);
}

template <class F, enum dtype D> static int simple(const struct args *a) {
    using T = typename element<D>::type;
    launch_config c;
    c.block = dim3(STREAM_THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.n, STREAM_THREADS)));
    c.stream = stream_of(a);
    return gpu_launch(c, simple_map<F, T>, operand<const T>(a, 0), operand<const T>(a, 1),
                      operand<T>(a, result_index<F>()), a->s.n, a->alpha);
}

template <class F, enum dtype D> static int vector(const struct args *a) {
    using T = typename element<D>::type;
    const int64_t bytes = a->s.n * static_cast<int64_t>(sizeof(T));
    const bool past_l2 = F::STREAM && streams_past_l2(a, (result_index<F>() + 1) * bytes);
    const auto kernel = past_l2 ? map<F, T, F::STREAM != 0> : map<F, T, false>;
    return gpu_launch(stream_grid(a, bytes, true, thread_bytes<T>), kernel, operand<const T>(a, 0),
                      operand<const T>(a, 1), operand<T>(a, result_index<F>()), a->s.n, a->alpha);
}

#define ROW(op, name, t) \
    { OP_##op, #name, DT_##t, name<op##_of, DT_##t>, nullptr, nullptr }
#define TRAINED_ROWS(op, name) \
    ROW(op, name, fp64), ROW(op, name, fp32), ROW(op, name, fp16), ROW(op, name, bf16)
#define ROWS(op, name) TRAINED_ROWS(op, name), ROW(op, name, fp8_e4m3), ROW(op, name, fp8_e5m2)
#define OP_ROWS(op)    ROWS(op, simple), ROWS(op, vector)

extern "C" const struct impl elementwise_cuda[];
const struct impl elementwise_cuda[] = {
    OP_ROWS(scale),
    OP_ROWS(add),
    OP_ROWS(triad),
    OP_ROWS(axpy),
    OP_ROWS(relu),
    OP_ROWS(gelu),
    OP_ROWS(exp),
    OP_ROWS(sqrt),
    OP_ROWS(rsqrt),
    OP_ROWS(square),
    OP_ROWS(mul),
    OP_ROWS(div),
    OP_ROWS(relu_backward),
    TRAINED_ROWS(mse_backward, simple),
    TRAINED_ROWS(mse_backward, vector),
    {},
};
