/* matmul.cu - C_i = alpha A_i B_i + beta C_i in every dtype, on plain cores: one thread an element of C, and with tiles
 * in shared memory. Any shape; sums in fp32, or fp64. Strides are run-time values: one kernel a dtype for all layouts. */
#include "matmul.cuh"
#include "nvfp4.cuh"

/* ---- a matrix by elements ---- */

/* at(i): element i as the accumulator's type. scale(): what every element has to be multiplied with. */
template <enum dtype D> struct elements {
    using acc = typename element<D>::acc;
    using product = typename element<D>::product;
    const typename element<D>::type *x;
    DEV acc at(int64_t i) const { return widen(x[i]); }
    DEV acc scale() const { return 1; }
};
template <> struct elements<DT_nvfp4> {
    using acc = float;
    using product = __nv_bfloat16;
    nvfp4_tensor x;
    DEV float at(int64_t i) const { return nvfp4_element(x, i); }
    DEV float scale() const { return *x.tensor_scale; }
};

template <enum dtype D> static elements<D> elements_of(const struct args *a, int i, int64_t) {
    return {operand<const typename element<D>::type>(a, i)};
}
template <>
elements<DT_nvfp4> elements_of<DT_nvfp4>(const struct args *a, int i, int64_t elements) {
    return {nvfp4_tensor_at(a->buf[i], elements)};
}

/* ---- one thread an element ---- */

enum { THREADS = 256 };

template <enum dtype D>
__global__ void __launch_bounds__(THREADS)
    matmul_naive(const elements<D> A, const elements<D> B, typename elements<D>::product *C,
                 const product p) {
    using acc = typename elements<D>::acc;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    const int64_t batch = batch_index(), row = i / p.n, col = i % p.n;
    if (batch >= p.batch || row >= p.m) return;

    const int64_t a = batch * p.a_batch + row * p.a_row, b = batch * p.b_batch + col * p.b_col;
    acc sum = 0;
    for (int64_t q = 0; q < p.k; q++) sum += A.at(a + q * p.a_k) * B.at(b + q * p.b_k);

    update(C[batch * p.m * p.n + i], sum, static_cast<acc>(p.alpha) * A.scale() * B.scale(),
           static_cast<acc>(p.beta));
}

/* ---- tiles in shared memory ---- */

enum { TILE = 32, ROWS_APART = THREADS / TILE };

/* A block makes TILE x TILE of C, a thread TILE / ROWS_APART elements of one column of it. Tiles of A and B are read
 * along the direction in which they are contiguous, and padded so that either direction meets all banks. */
template <enum dtype D>
__global__ void __launch_bounds__(THREADS)
    matmul_tiled(const elements<D> A, const elements<D> B, typename elements<D>::product *C,
                 const product p) {
    using acc = typename elements<D>::acc;
    SMEM(acc, As, [TILE][TILE + 1]); /* [row][k] */
    SMEM(acc, Bs, [TILE][TILE + 1]); /* [k][col] */
    const int64_t batch = batch_index(), tiles_n = (p.n + TILE - 1) / TILE;
    const int64_t row0 = blockIdx.x / tiles_n * TILE, col0 = blockIdx.x % tiles_n * TILE;
    const int tx = threadIdx.x % TILE, ty = threadIdx.x / TILE;
    if (batch >= p.batch) return; /* the whole block */
    const int64_t a = batch * p.a_batch, b = batch * p.b_batch;

    acc sum[TILE / ROWS_APART] = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += TILE) {
        for (int y = ty; y < TILE; y += ROWS_APART) {
            const int i = p.a_k == 1 ? y : tx, ka = p.a_k == 1 ? tx : y;
            const int j = p.b_k == 1 ? y : tx, kb = p.b_k == 1 ? tx : y;
            As[i][ka] = row0 + i < p.m && k0 + ka < p.k
                            ? A.at(a + (row0 + i) * p.a_row + (k0 + ka) * p.a_k)
                            : acc(0);
            Bs[kb][j] = col0 + j < p.n && k0 + kb < p.k
                            ? B.at(b + (col0 + j) * p.b_col + (k0 + kb) * p.b_k)
                            : acc(0);
        }
        __syncthreads(); /* the tiles are written before they are read */

        for (int q = 0; q < TILE; q++)
#pragma unroll
            for (int r = 0; r < TILE / ROWS_APART; r++)
                sum[r] += As[ty + r * ROWS_APART][q] * Bs[q][tx];
        __syncthreads(); /* they are read before the next ones overwrite them */
    }

    const acc alpha = static_cast<acc>(p.alpha) * A.scale() * B.scale();
#pragma unroll
    for (int r = 0; r < TILE / ROWS_APART; r++) {
        const int64_t row = row0 + ty + r * ROWS_APART, col = col0 + tx;
        if (row < p.m && col < p.n)
            update(C[(batch * p.m + row) * p.n + col], sum[r], alpha, static_cast<acc>(p.beta));
    }
}

/* ---- launchers ---- */

template <enum dtype D, typename KERNEL>
static int launch(const struct args *a, KERNEL kernel, int64_t blocks) {
    const product p = product_of(a);
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = product_grid(blocks, p.batch);
    c.stream = stream_of(a);
    return gpu_launch(c, kernel, elements_of<D>(a, 0, p.batch * p.m * p.k),
                      elements_of<D>(a, 1, p.batch * p.k * p.n),
                      operand<typename elements<D>::product>(a, 2), p);
}
template <enum dtype D> static int naive(const struct args *a) {
    return launch<D>(a, matmul_naive<D>, ceil_div(a->s.m * a->s.n, THREADS));
}
template <enum dtype D> static int tiled(const struct args *a) {
    return launch<D>(a, matmul_tiled<D>, ceil_div(a->s.m, TILE) * ceil_div(a->s.n, TILE));
}

/* The operands of tf32 are fp32 of which only the upper bits are used: sums of them are fp32's. */
#define ROWS(op, idea, run)                                            \
    {op, idea, DT_fp64, run<DT_fp64>, nullptr, nullptr},               \
        {op, idea, DT_fp32, run<DT_fp32>, nullptr, nullptr},           \
        {op, idea, DT_tf32, run<DT_fp32>, nullptr, nullptr},           \
        {op, idea, DT_fp16, run<DT_fp16>, nullptr, nullptr},           \
        {op, idea, DT_bf16, run<DT_bf16>, nullptr, nullptr},           \
        {op, idea, DT_fp8_e4m3, run<DT_fp8_e4m3>, nullptr, nullptr},   \
        {op, idea, DT_fp8_e5m2, run<DT_fp8_e5m2>, nullptr, nullptr}, { \
        op, idea, DT_nvfp4, run<DT_nvfp4>, nullptr, nullptr            \
    }

extern "C" const struct impl matmul_cuda[];
const struct impl matmul_cuda[] = {
    ROWS(OP_matmul, "naive", naive),
    ROWS(OP_bmm, "naive", naive),
    ROWS(OP_matmul, "tiled", tiled),
    ROWS(OP_bmm, "tiled", tiled),
    {},
};
