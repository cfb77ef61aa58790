/* moves.cu - copy: y = x; fill: y = a; mean_loss_backward: dx = a (s - t), a fill; triu: Y = X on and above the diagonal, 0 below. Bytes are bytes: a kernel serves every
 * dtype of a size. "simple" is one element a thread, "vector" is stream.cuh's, "bulk" bulk.cuh's. */
#include "../numerics.h"
#include "bulk.cuh"
#include "stream.cuh"

/* An unsigned integer as wide as an element; of nvfp4, whose tensors are whole words, a word. */
template <enum dtype D> struct bits_of_dtype { using type = uint32_t; };
template <> struct bits_of_dtype<DT_fp64> { using type = uint64_t; };
template <> struct bits_of_dtype<DT_fp16> { using type = uint16_t; };
template <> struct bits_of_dtype<DT_bf16> { using type = uint16_t; };
template <> struct bits_of_dtype<DT_fp8_e4m3> { using type = uint8_t; };
template <> struct bits_of_dtype<DT_fp8_e5m2> { using type = uint8_t; };

static launch_config simple_grid(const struct args *a, int64_t elements) {
    launch_config c;
    c.block = dim3(STREAM_THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(elements, STREAM_THREADS)));
    c.stream = stream_of(a);
    return c;
}
DEV int64_t thread_of_grid() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/* ---- copy ---- */

template <typename T> __global__ void simple_copy(const T *x, T *y, int64_t n) {
    const int64_t i = thread_of_grid();
    if (i < n) y[i] = x[i];
}

template <int BYTES, bool STREAMING>
DEV void copy_tile(const unsigned char *x, unsigned char *y, int bytes) {
    constexpr int UNROLL = STREAM_BYTES / BYTES;
    const int vectors = bytes / BYTES, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<unsigned char, BYTES> v[UNROLL];
    if (thread < vectors) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            load<STREAMING>(v[u], x + vector_or_own(u, vectors) * BYTES);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (thread + u * threads < vectors)
                store<STREAMING>(y + (thread + u * threads) * BYTES, v[u]);
    }
    const int tail = vectors * BYTES + thread;
    if (tail < bytes) y[tail] = x[tail];
}

template <bool STREAMING>
__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    copy_kernel(const unsigned char *x, unsigned char *y, int64_t bytes) {
    const int64_t tile = static_cast<int64_t>(blockDim.x) * STREAM_BYTES;
#pragma unroll 1
    for (int64_t first = blockIdx.x * tile; first < bytes; first += gridDim.x * tile) {
        const int count = static_cast<int>(bytes - first < tile ? bytes - first : tile);
        if (gpu::has_access32())
            copy_tile<32, STREAMING>(x + first, y + first, count);
        else
            copy_tile<16, STREAMING>(x + first, y + first, count);
    }
}

template <enum dtype D> static int copy_simple(const struct args *a) {
    using T = typename bits_of_dtype<D>::type;
    const int64_t n = static_cast<int64_t>(storage_bytes(D, a->s.n) / sizeof(T));
    return gpu_launch(simple_grid(a, n), simple_copy<T>, operand<const T>(a, 0), operand<T>(a, 1),
                      n);
}
template <enum dtype D> static int copy_vector(const struct args *a) {
    const int64_t bytes = static_cast<int64_t>(storage_bytes(D, a->s.n));
    return gpu_launch(stream_grid(a, bytes, true),
                      streams_past_l2(a, 2 * bytes) ? copy_kernel<true> : copy_kernel<false>,
                      operand<const unsigned char>(a, 0), operand<unsigned char>(a, 1), bytes);
}
template <enum dtype D> static int copy_bulk(const struct args *a) {
    return bulk_copy(a->buf[1], a->buf[0], static_cast<int64_t>(storage_bytes(D, a->s.n)), 1,
                     BULK_RING, a->gpu, stream_of(a));
}

/* ---- fill ---- */

template <typename T> __global__ void simple_fill(T *y, int64_t n, T pattern) {
    const int64_t i = thread_of_grid();
    if (i < n) y[i] = pattern;
}

template <int BYTES, bool STREAMING>
DEV void fill_tile(unsigned char *y, int bytes, uint64_t pattern) {
    const int vectors = bytes / BYTES, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<uint64_t, BYTES> v;
#pragma unroll
    for (int i = 0; i < v.N; i++) v.at[i] = pattern;
#pragma unroll
    for (int u = 0; u < STREAM_BYTES / BYTES; u++)
        if (thread + u * threads < vectors)
            store<STREAMING>(reinterpret_cast<uint64_t *>(y + (thread + u * threads) * BYTES), v);
    const int tail = vectors * BYTES + thread;
    if (tail < bytes) y[tail] = static_cast<unsigned char>(pattern >> 8 * (tail % 8));
}

template <bool STREAMING>
__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    fill_kernel(unsigned char *y, int64_t bytes, uint64_t pattern) {
    const int64_t tile = static_cast<int64_t>(blockDim.x) * STREAM_BYTES;
#pragma unroll 1
    for (int64_t first = blockIdx.x * tile; first < bytes; first += gridDim.x * tile) {
        const int count = static_cast<int>(bytes - first < tile ? bytes - first : tile);
        if (gpu::has_access32())
            fill_tile<32, STREAMING>(y + first, count, pattern);
        else
            fill_tile<16, STREAMING>(y + first, count, pattern);
    }
}

/* alpha as the dtype stores it, rounded through the accumulator's precision. */
template <enum dtype D> static typename bits_of_dtype<D>::type pattern_of(const struct args *a) {
    typename bits_of_dtype<D>::type pattern;
    value_put(D, &pattern, 1, 0, value_round(dtypes[D].acc, static_cast<long double>(a->alpha)));
    return pattern;
}
template <enum dtype D> static int fill_simple(const struct args *a) {
    using T = typename bits_of_dtype<D>::type;
    return gpu_launch(simple_grid(a, a->s.n), simple_fill<T>, operand<T>(a, 0), a->s.n,
                      pattern_of<D>(a));
}
/* The same over and over. */
template <enum dtype D> static uint64_t pattern_of_word(const struct args *a) {
    uint64_t pattern = pattern_of<D>(a);
    for (unsigned bits = dtypes[D].bits; bits < 64; bits *= 2) pattern |= pattern << bits;
    return pattern;
}
template <enum dtype D> static int fill_vector(const struct args *a) {
    const int64_t bytes = static_cast<int64_t>(storage_bytes(D, a->s.n));
    return gpu_launch(stream_grid(a, bytes, true),
                      streams_past_l2(a, bytes) ? fill_kernel<true> : fill_kernel<false>,
                      operand<unsigned char>(a, 0), bytes, pattern_of_word<D>(a));
}
template <enum dtype D> static int fill_bulk(const struct args *a) {
    return bulk_fill(a->buf[0], pattern_of_word<D>(a),
                     static_cast<int64_t>(storage_bytes(D, a->s.n)), BULK_RING, a->gpu,
                     stream_of(a));
}

/* ---- gradient of (s - t)^2, where s is the mean of x: a fill whose value the GPU knows ---- */

template <enum dtype D> using acc_type = typename element<D>::acc;

template <enum dtype D>
DEV typename element<D>::type mean_gradient(const acc_type<D> *mean, const acc_type<D> *target,
                                            acc_type<D> alpha) {
    return narrowed<typename element<D>::type>(alpha * (*mean - *target));
}

template <enum dtype D>
__global__ void simple_mean_loss(const acc_type<D> *mean, const acc_type<D> *target,
                                 typename element<D>::type *dx, int64_t n, acc_type<D> alpha) {
    const int64_t i = thread_of_grid();
    if (i < n) dx[i] = mean_gradient<D>(mean, target, alpha);
}

template <enum dtype D>
__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    mean_loss_kernel(const acc_type<D> *mean, const acc_type<D> *target, unsigned char *dx,
                     int64_t bytes, acc_type<D> alpha) {
    using bits_type = typename bits_of_dtype<D>::type;
    const auto value = mean_gradient<D>(mean, target, alpha);
    uint64_t pattern = *reinterpret_cast<const bits_type *>(&value);
#pragma unroll
    for (unsigned bits = 8 * sizeof(bits_type); bits < 64; bits *= 2) pattern |= pattern << bits;
    const int64_t tile = static_cast<int64_t>(blockDim.x) * STREAM_BYTES, first = blockIdx.x * tile;
    const int count = static_cast<int>(bytes - first < tile ? bytes - first : tile);
    if (gpu::has_access32())
        fill_tile<32, false>(dx + first, count, pattern);
    else
        fill_tile<16, false>(dx + first, count, pattern);
}

template <enum dtype D> static int mean_loss_backward_simple(const struct args *a) {
    using A = acc_type<D>;
    return gpu_launch(simple_grid(a, a->s.n), simple_mean_loss<D>, operand<const A>(a, 0),
                      operand<const A>(a, 1), operand<typename element<D>::type>(a, 2), a->s.n,
                      a->alpha);
}
template <enum dtype D> static int mean_loss_backward_vector(const struct args *a) {
    using A = acc_type<D>;
    const int64_t bytes = a->s.n * static_cast<int64_t>(sizeof(typename element<D>::type));
    return gpu_launch(stream_grid(a, bytes, false), mean_loss_kernel<D>, operand<const A>(a, 0),
                      operand<const A>(a, 1), operand<unsigned char>(a, 2), bytes, a->alpha);
}

/* ---- triu ---- */

template <typename T> __global__ void simple_triu(const T *x, T *y, int64_t n, int64_t elements) {
    const int64_t i = thread_of_grid(), row = i / n, col = i % n;
    if (i < elements) y[i] = col >= row ? x[i] : 0;
}

/* i / n for i >= 0, n > 0; the hardware has no division, and one of 64 bits takes four times as long. */
DEV int64_t divide(int64_t i, int64_t n) {
    return ((i | n) >> 32) == 0
               ? static_cast<int64_t>(static_cast<uint32_t>(i) / static_cast<uint32_t>(n))
               : i / n;
}

/* The matrix as one vector, so that accesses are aligned whatever n is; a vector of elements may span rows. What lies
 * below the diagonal is not loaded, but for what shares a vector with what doesn't. */
template <typename T, int BYTES>
DEV void triu_tile(const T *x, T *y, int64_t n, int64_t first, int count) {
    constexpr int N = vec<T, BYTES>::N, UNROLL = STREAM_BYTES / BYTES;
    const int vectors = count / N, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<T, BYTES> v[UNROLL];
    int64_t row[UNROLL], col[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const int i = (thread + u * threads) * N;
        row[u] = divide(first + i, n);
        col[u] = first + i - row[u] * n;
#pragma unroll
        for (int e = 0; e < N; e++) v[u].at[e] = 0;
        if (thread + u * threads < vectors && (col[u] + N > row[u] || col[u] + N > n))
            load<false>(v[u], x + first + i);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const int i = (thread + u * threads) * N;
        if (thread + u * threads >= vectors) continue;
        if (col[u] + N > n) {
#pragma unroll
            for (int e = 0; e < N; e++) {
                if (col[u] < row[u]) v[u].at[e] = 0;
                if (++col[u] == n) {
                    col[u] = 0;
                    row[u]++;
                }
            }
        } else if (col[u] < row[u]) {
            const int below = static_cast<int>(row[u] - col[u] < N ? row[u] - col[u] : N);
#pragma unroll
            for (int e = 0; e < N; e++)
                if (e < below) v[u].at[e] = 0;
        }
        store<false>(y + first + i, v[u]);
    }
    const int tail = vectors * N + thread;
    if (tail < count) {
        const int64_t i = first + tail, last_row = divide(i, n);
        y[i] = i - last_row * n >= last_row ? x[i] : 0;
    }
}

template <typename T>
__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    triu_kernel(const T *x, T *y, int64_t n, int64_t elements) {
    const int64_t tile = static_cast<int64_t>(blockDim.x) * (STREAM_BYTES / sizeof(T)),
                  first = blockIdx.x * tile;
    const int count = static_cast<int>(elements - first < tile ? elements - first : tile);
    if (gpu::has_access32())
        triu_tile<T, 32>(x, y, n, first, count);
    else
        triu_tile<T, 16>(x, y, n, first, count);
}

template <enum dtype D> static int triu_simple(const struct args *a) {
    using T = typename bits_of_dtype<D>::type;
    const int64_t elements = a->s.m * a->s.n;
    return gpu_launch(simple_grid(a, elements), simple_triu<T>, operand<const T>(a, 0),
                      operand<T>(a, 1), a->s.n, elements);
}
template <enum dtype D> static int triu_vector(const struct args *a) {
    using T = typename bits_of_dtype<D>::type;
    const int64_t elements = a->s.m * a->s.n;
    return gpu_launch(stream_grid(a, elements * static_cast<int64_t>(sizeof(T)), false),
                      triu_kernel<T>, operand<const T>(a, 0), operand<T>(a, 1), a->s.n, elements);
}

#define REFUSING_ROW(op, name, t, refuses) \
    { OP_##op, #name, DT_##t, op##_##name<DT_##t>, refuses, nullptr }
#define ROW(op, name, t) REFUSING_ROW(op, name, t, nullptr)
#define BULK_ROW(op, t)  REFUSING_ROW(op, bulk, t, refuses_bulk)
#define BULK_ROWS(op)                                                               \
    BULK_ROW(op, fp64), BULK_ROW(op, fp32), BULK_ROW(op, fp16), BULK_ROW(op, bf16), \
        BULK_ROW(op, fp8_e4m3), BULK_ROW(op, fp8_e5m2)
#define TRAINED_ROWS(op, name) \
    ROW(op, name, fp64), ROW(op, name, fp32), ROW(op, name, fp16), ROW(op, name, bf16)
#define ROWS(op, name)           TRAINED_ROWS(op, name), ROW(op, name, fp8_e4m3), ROW(op, name, fp8_e5m2)
#define ROWS_AND_NVFP4(op, name) ROWS(op, name), ROW(op, name, nvfp4)

extern "C" const struct impl moves_cuda[];
const struct impl moves_cuda[] = {
    ROWS_AND_NVFP4(copy, simple),
    BULK_ROWS(copy),
    BULK_ROW(copy, nvfp4),
    ROWS_AND_NVFP4(copy, vector),
    ROWS(fill, simple),
    BULK_ROWS(fill),
    ROWS(fill, vector),
    TRAINED_ROWS(mean_loss_backward, simple),
    TRAINED_ROWS(mean_loss_backward, vector),
    ROWS(triu, simple),
    ROWS(triu, vector),
    {},
};
