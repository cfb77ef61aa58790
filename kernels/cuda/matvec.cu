/* matvec.cu - y[m] = A x; A is stored as [m,n] (layout n) or as [n,m] (layout t). A is read once, in 16-byte chunks.
 *   simple          n: a warp a row, t: a thread a column; an element an access
 *   warp_rows       n: a warp takes ROWS rows at once, so that x is read and widened once for all of them; where rows are
 *                   few, several warps share them, then blocks share their columns
 *   column_strips   t: a lane owns a chunk of columns, warps and blocks own rows of A
 * Sums of blocks that share an output are added by the last one to arrive, in their order: the same bits every time.
 * nvfp4 is decoded in registers: chunk sums are multiplied by the block scale, results by the tensor scales. */
#include "pieces.cuh"

#include "../numerics.h"

namespace matvec_kernels { /* a name of its own: the emulation finds kernels by their symbols */

enum {
    WARP = 32,
    WARPS = 8, /* of a block */
    THREADS = WARPS * WARP,
    /* of a multiprocessor: 16 warps x 32 lanes x 128 bytes are 64 KiB in flight, for which they get the registers */
    BLOCKS = 2,
    WAVES =
        4, /* of blocks at least where there is work for them, so that the last one costs little */
    ROWS = 4, /* of A that a warp reads together */
    MOST_SPLITS = 256,
};

/* ---- chunks of A and x ---- */

template <enum dtype D> struct types {
    using T = typename element<D>::type;
    using A = typename element<D>::acc;
    using P = typename element<D>::product;
};
template <> struct types<DT_nvfp4> {
    using T = unsigned char;
    using A = float;
    using P = __nv_bfloat16;
};

/* Eight E2M1 codes times 2^-14, exactly: exponent and fraction of a code are put where those of an fp16 begin, and of the
 * difference of the biases only a power of two is left. Codes i and i + 4 are in the halves of a register. */
DEV void widen_e2m1x8(unsigned codes, float *x) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned at_sign = codes << (12 - 4 * i),
                       at_value = i < 3 ? codes << (9 - 4 * i) : codes >> 3;
        const unsigned bits = (at_sign & 0x80008000u) | (at_value & 0x0e000e00u);
        const float2 pair = __half22float2(*reinterpret_cast<const __half2 *>(&bits));
        x[i] = pair.x;
        x[i + 4] = pair.y;
    }
}
DEV float widen_scale(unsigned char s) { /* with the 2^14 that widen_e2m1x8() leaves */
    return widen_e4m3x2(s).x * 16384;
}

/* W elements of a tensor of `elements`, from element i on: BYTES of storage. */
template <enum dtype D, int BYTES> struct chunk {
    static constexpr int W = BYTES / static_cast<int>(sizeof(typename types<D>::T));
    using T = typename types<D>::T;
    using A = typename types<D>::A;
    piece<D, W> v;

    DEV void load(const T *t, int64_t, int64_t i) { v = ::load_once<D, W>(t + i); }
    DEV void load_again(const T *t, int64_t, int64_t i) { v = load_shared_by_all<D, W>(t + i); }
    DEV void values(A (&x)[W]) const { widen_piece<D, W>(v, x); }
    DEV A dot(const A (&x)[W], A sum) const {
        A a[W];
        values(a);
#pragma unroll
        for (int e = 0; e < W; e++) sum += a[e] * x[e];
        return sum;
    }
};

template <int BYTES> struct chunk<DT_nvfp4, BYTES> {
    static constexpr int W = 2 * BYTES, BLOCKS = W / NVFP4_BLOCK;
    using codes_type = typename word<BYTES>::type;
    using scales_type = typename word<BLOCKS>::type;
    codes_type codes;
    scales_type scales;

    DEV static const scales_type *scales_at(const unsigned char *t, int64_t elements, int64_t i) {
        return reinterpret_cast<const scales_type *>(t + elements / 2 + i / NVFP4_BLOCK);
    }
    DEV void load(const unsigned char *t, int64_t elements, int64_t i) {
        codes = __ldcs(reinterpret_cast<const codes_type *>(t + i / 2));
        scales = __ldg(scales_at(t, elements, i)); /* bytes that other lanes and iterations use */
    }
    DEV void load_again(const unsigned char *t, int64_t elements, int64_t i) {
        codes = __ldg(reinterpret_cast<const codes_type *>(t + i / 2));
        scales = __ldg(scales_at(t, elements, i));
    }
    DEV unsigned part(int i) const { return reinterpret_cast<const unsigned *>(&codes)[i]; }
    DEV float scale(int b) const {
        return widen_scale(static_cast<unsigned char>(scales >> 8 * b));
    }
    DEV void values(float (&x)[W]) const {
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) {
            widen_e2m1x8(part(2 * b), x + 16 * b);
            widen_e2m1x8(part(2 * b + 1), x + 16 * b + 8);
            const float s = scale(b);
#pragma unroll
            for (int e = 0; e < NVFP4_BLOCK; e++) x[16 * b + e] *= s;
        }
    }
    DEV float dot(const float (&x)[W], float sum) const {
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) {
            float a[NVFP4_BLOCK], block = 0;
            widen_e2m1x8(part(2 * b), a);
            widen_e2m1x8(part(2 * b + 1), a + 8);
#pragma unroll
            for (int e = 0; e < NVFP4_BLOCK; e++) block += a[e] * x[16 * b + e];
            sum += block * scale(b);
        }
        return sum;
    }
};

/* One element: loaded now, widened when its value is asked for, less its tensor's scale. */
template <enum dtype D> struct lone {
    piece<D, 1> v;

    DEV void load(const typename types<D>::T *t, int64_t, int64_t i) {
        v = load_shared_by_all<D, 1>(t + i);
    }
    DEV typename types<D>::A value() const {
        typename types<D>::A x[1];
        widen_piece<D, 1>(v, x);
        return x[0];
    }
};
template <> struct lone<DT_nvfp4> {
    unsigned char codes, scale;
    bool odd;

    DEV void load(const unsigned char *t, int64_t elements, int64_t i) {
        codes = __ldg(t + i / 2);
        scale = __ldg(t + elements / 2 + i / NVFP4_BLOCK);
        odd = i % 2 != 0;
    }
    DEV float value() const {
        float x[8];
        widen_e2m1x8(odd ? codes >> 4 : codes & 15u, x);
        return x[0] * widen_scale(scale);
    }
};

template <enum dtype D>
DEV typename types<D>::A element_at(const typename types<D>::T *t, int64_t elements, int64_t i) {
    lone<D> x;
    x.load(t, elements, i);
    return x.value();
}

DEV float tensor_scale(const unsigned char *t, int64_t elements) { /* layout: numerics.h */
    return *reinterpret_cast<const float *>(t + elements / 2 +
                                            (elements / NVFP4_BLOCK + 3) / 4 * 4);
}

/* What a sum of products of elements is multiplied by and stored as. */
template <enum dtype D>
DEV void store_result(typename types<D>::P *y, typename types<D>::A sum,
                      const typename types<D>::T *A, int64_t elements,
                      const typename types<D>::T *x, int64_t n) {
    if constexpr (D == DT_nvfp4) sum *= tensor_scale(A, elements) * tensor_scale(x, n);
    narrow(*y, sum);
}

template <class A> DEV A warp_sum(A v) {
#pragma unroll
    for (int d = WARP / 2; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

/* ---- plain ---- */

template <enum dtype D>
__global__ void __launch_bounds__(THREADS)
    simple_rows(const typename types<D>::T *__restrict__ A,
                const typename types<D>::T *__restrict__ x, typename types<D>::P *__restrict__ y,
                int64_t m, int64_t n) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    if (row >= m) return; /* the whole warp */

    typename types<D>::A sum = 0;
    for (int64_t j = lane; j < n; j += WARP)
        sum += element_at<D>(A, m * n, row * n + j) * element_at<D>(x, n, j);
    sum = warp_sum(sum);
    if (lane == 0) store_result<D>(y + row, sum, A, m * n, x, n);
}

template <enum dtype D>
__global__ void __launch_bounds__(THREADS)
    simple_columns(const typename types<D>::T *__restrict__ A,
                   const typename types<D>::T *__restrict__ x, typename types<D>::P *__restrict__ y,
                   int64_t m, int64_t n) {
    const int64_t col = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (col >= m) return;

    typename types<D>::A sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += element_at<D>(A, m * n, j * m + col) * element_at<D>(x, n, j);
    store_result<D>(y + col, sum, A, m * n, x, n);
}

/* ---- outputs that several blocks share ---- */

/* partial[split][m] and a counter a tile of outputs. Counters are 0 between calls: atomicInc wraps. */
template <class A> struct shared_sums {
    A *partial;
    unsigned *arrived;
};

/* Whether this block is the last of gridDim.y on its tile; if so it sees what the others have stored. Thread 0's fences hold
 * for all threads of its block, through the barriers around them: causality order, PTX ISA 9.0, 8.9.5. */
DEV bool is_last_block(unsigned *arrived) {
    SMEM(bool, last, );
    __syncthreads(); /* all threads have stored their partial sums */
    if (threadIdx.x == 0) {
        __threadfence(); /* which come before the count */
        last = atomicInc(&arrived[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
        __threadfence(); /* reads below come after it */
    }
    __syncthreads(); /* `last` is set */
    return last;
}

template <class A> DEV A sum_of_splits(const A *partial, int64_t m, int64_t i) {
    A sum = 0;
#pragma unroll 8
    for (unsigned s = 0; s < gridDim.y; s++) sum += __ldcg(partial + s * m + i);
    return sum;
}

/* ---- layout n ---- */

/* Adds the products of U steps of columns to ROWS sums. All loads are issued before the first is waited for. */
template <enum dtype D, int BYTES, int U>
DEV void multiply_chunks(const typename types<D>::T *A, int64_t elements,
                         const int64_t (&row)[ROWS], const typename types<D>::T *x, int64_t n,
                         int64_t col, int64_t step, typename types<D>::A (&sum)[ROWS]) {
    using C = chunk<D, BYTES>;
    C a[U][ROWS], b[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        b[u].load_again(x, n, col + u * step);
#pragma unroll
        for (int r = 0; r < ROWS; r++) a[u][r].load(A, elements, row[r] + col + u * step);
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
        typename types<D>::A xs[C::W];
        b[u].values(xs);
#pragma unroll
        for (int r = 0; r < ROWS; r++) sum[r] = a[u][r].dot(xs, sum[r]);
    }
}

/* Of the block's warps, `width` share ROWS rows. Blocks (tile, 0 ... gridDim.y - 1) share the columns. */
template <enum dtype D, int BYTES>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    warp_rows_kernel(const typename types<D>::T *__restrict__ A,
                     const typename types<D>::T *__restrict__ x,
                     typename types<D>::P *__restrict__ y, int64_t m, int64_t n, int width,
                     shared_sums<typename types<D>::A> shared) {
    using acc = typename types<D>::A;
    constexpr int W = chunk<D, BYTES>::W, U = BYTES < 8 ? 4 : D == DT_nvfp4 ? 1 : 2;
    const int warp = static_cast<int>(threadIdx.x) / WARP,
              lane = static_cast<int>(threadIdx.x) % WARP;
    const int groups = WARPS / width;
    const int64_t tile = static_cast<int64_t>(blockIdx.x) * groups * ROWS, chunks = n / W;
    const int64_t begin = chunks * blockIdx.y / gridDim.y,
                  end = chunks * (blockIdx.y + 1) / gridDim.y;

    int64_t row[ROWS]; /* where it begins; past the last one, again the last one, for nothing */
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int64_t i = tile + warp / width * ROWS + r;
        row[r] = (i < m ? i : m - 1) * n;
    }
    acc sum[ROWS] = {};
    const int64_t step = static_cast<int64_t>(width) * WARP;
    int64_t c = begin + warp % width * WARP + lane;
    for (; c + (U - 1) * step < end; c += U * step)
        multiply_chunks<D, BYTES, U>(A, m * n, row, x, n, c * W, step * W, sum);
    if constexpr (U > 1)
        for (; c < end; c += step) multiply_chunks<D, BYTES, 1>(A, m * n, row, x, n, c * W, 0, sum);

    SMEM(acc, part, [WARPS][ROWS]);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        sum[r] = warp_sum(sum[r]);
        if (lane == 0) part[warp][r] = sum[r];
    }
    __syncthreads(); /* all parts are there */

    const int i = static_cast<int>(threadIdx.x);
    const bool owner = i < groups * ROWS && tile + i < m;
    if (owner) {
        acc total = 0;
        for (int w = 0; w < width; w++) total += part[i / ROWS * width + w][i % ROWS];
        if (gridDim.y == 1)
            store_result<D>(y + tile + i, total, A, m * n, x, n);
        else
            shared.partial[blockIdx.y * m + tile + i] = total;
    }
    if (gridDim.y > 1 && is_last_block(shared.arrived) && owner)
        store_result<D>(y + tile + i, sum_of_splits(shared.partial, m, tile + i), A, m * n, x, n);
}

/* ---- layout t ---- */

/* A block sums WARP chunks of columns over its strip of rows, warp w rows w, w + WARPS, ... of it. */
template <enum dtype D, int BYTES>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    column_strips_kernel(const typename types<D>::T *__restrict__ A,
                         const typename types<D>::T *__restrict__ x,
                         typename types<D>::P *__restrict__ y, int64_t m, int64_t n,
                         shared_sums<typename types<D>::A> shared) {
    using acc = typename types<D>::A;
    using C = chunk<D, BYTES>;
    constexpr int W = C::W, U = D == DT_nvfp4 || D == DT_fp64 ? 4 : 8;
    const int warp = static_cast<int>(threadIdx.x) / WARP,
              lane = static_cast<int>(threadIdx.x) % WARP;
    const int64_t tile = static_cast<int64_t>(blockIdx.x) * WARP * W, col = tile + lane * W;
    const int64_t begin = n * blockIdx.y / gridDim.y, end = n * (blockIdx.y + 1) / gridDim.y;

    acc sum[W] = {};
    if (col < m) {
        for (int64_t j = begin + warp; j < end; j += U * WARPS) {
            C a[U];
            lone<D> b[U];
#pragma unroll
            for (int u = 0; u < U; u++)
                if (j + u * WARPS < end) {
                    a[u].load(A, m * n, (j + u * WARPS) * m + col);
                    b[u].load(x, n, j + u * WARPS);
                }
#pragma unroll
            for (int u = 0; u < U; u++)
                if (j + u * WARPS < end) {
                    acc v[W];
                    a[u].values(v);
                    const acc xj = b[u].value();
#pragma unroll
                    for (int e = 0; e < W; e++) sum[e] += v[e] * xj;
                }
        }
    }

    SMEM(acc, part, [WARPS][W][WARP]); /* lanes side by side: no bank conflicts */
#pragma unroll
    for (int e = 0; e < W; e++) part[warp][e][lane] = sum[e];
    __syncthreads(); /* all parts are there */

    for (int i = static_cast<int>(threadIdx.x); i < W * WARP; i += THREADS) {
        const int64_t out = tile + i % WARP * W + i / WARP;
        if (out >= m) continue;
        acc total = 0;
        for (int w = 0; w < WARPS; w++) total += part[w][i / WARP][i % WARP];
        if (gridDim.y == 1)
            store_result<D>(y + out, total, A, m * n, x, n);
        else
            shared.partial[blockIdx.y * m + out] = total;
    }
    if (gridDim.y > 1 && is_last_block(shared.arrived))
        for (int64_t out = tile + threadIdx.x; out < tile + W * WARP && out < m; out += THREADS)
            store_result<D>(y + out, sum_of_splits(shared.partial, m, out), A, m * n, x, n);
}

/* ---- launchers ---- */

/* How the work is dealt out; chunk is what one access moves. */
struct plan {
    int chunk_elements, width;
    int64_t tiles, splits;
};

static int64_t clamp(int64_t x, int64_t least, int64_t most) {
    return x < least ? least : x > most ? most : x;
}

/* Elements in 16 bytes where that divides a row of `extent`; else one element, or the one block of an nvfp4 row. */
template <enum dtype D> static int chunk_of(int64_t extent) {
    const int wide = 16 * 8 / dtypes[D].bits, narrow = D == DT_nvfp4 ? NVFP4_BLOCK : 1;
    return extent % wide == 0 ? wide : narrow;
}

static int64_t blocks_wanted(const struct args *a) {
    return static_cast<int64_t>(a->gpu->sms) * BLOCKS * WAVES;
}

template <enum dtype D> static struct plan plan_rows(const struct args *a) {
    struct plan p = {chunk_of<D>(a->s.n), 1, 0, 1};
    const int64_t groups = ceil_div(a->s.m, ROWS), chunks = a->s.n / p.chunk_elements;
    /* two chunks a lane at least, of rows and of splits: they are read at once */
    while (p.width < WARPS && chunks >= 2 * 2 * p.width * WARP) p.width *= 2;
    p.tiles = ceil_div(groups, WARPS / p.width);
    p.splits = clamp(blocks_wanted(a) / p.tiles, 1, clamp(chunks / (2 * THREADS), 1, MOST_SPLITS));
    return p;
}

template <enum dtype D> static struct plan plan_columns(const struct args *a) {
    struct plan p = {chunk_of<D>(a->s.m), 1, 0, 1};
    p.tiles = ceil_div(a->s.m, static_cast<int64_t>(WARP) * p.chunk_elements);
    /* eight rows of each warp at least */
    p.splits = clamp(blocks_wanted(a) / p.tiles, 1, clamp(a->s.n / (8 * WARPS), 1, MOST_SPLITS));
    return p;
}

template <enum dtype D> static struct plan plan_of(const struct args *a) {
    return a->layout == LAYOUT_T ? plan_columns<D>(a) : plan_rows<D>(a);
}

static size_t counters_bytes(const struct plan *p) {
    return static_cast<size_t>(ceil_div(p->tiles, 64) * 256);
}

template <enum dtype D> static size_t split_bytes(const struct args *a) {
    const struct plan p = plan_of<D>(a);
    if (p.splits == 1) return 0;
    return counters_bytes(&p) +
           static_cast<size_t>(p.splits * a->s.m) * sizeof(typename types<D>::A);
}

template <enum dtype D>
static shared_sums<typename types<D>::A> shared_of(const struct args *a, const struct plan *p) {
    char *scratch = static_cast<char *>(a->scratch);
    if (p->splits == 1) return {nullptr, nullptr};
    return {reinterpret_cast<typename types<D>::A *>(scratch + counters_bytes(p)),
            reinterpret_cast<unsigned *>(scratch)};
}

static launch_config config_of(const struct args *a, int64_t tiles, int64_t splits) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(splits));
    c.block = dim3(THREADS);
    c.stream = stream_of(a);
    return c;
}

template <enum dtype D> static int simple(const struct args *a) {
    const bool t = a->layout == LAYOUT_T;
    return gpu_launch(config_of(a, ceil_div(a->s.m, t ? THREADS : WARPS), 1),
                      t ? simple_columns<D> : simple_rows<D>,
                      operand<const typename types<D>::T>(a, 0),
                      operand<const typename types<D>::T>(a, 1),
                      operand<typename types<D>::P>(a, 2), a->s.m, a->s.n);
}

/* Bytes of the narrow chunk: an element, or the codes of an nvfp4 block. */
template <enum dtype D>
constexpr int NARROW = D == DT_nvfp4 ? NVFP4_BLOCK / 2
                                     : static_cast<int>(sizeof(typename types<D>::T));

template <enum dtype D> static int warp_rows(const struct args *a) {
    const struct plan p = plan_rows<D>(a);
    const bool wide = p.chunk_elements == chunk<D, 16>::W;
    return gpu_launch(
        config_of(a, p.tiles, p.splits),
        wide ? warp_rows_kernel<D, 16> : warp_rows_kernel<D, NARROW<D>>,
        operand<const typename types<D>::T>(a, 0), operand<const typename types<D>::T>(a, 1),
        operand<typename types<D>::P>(a, 2), a->s.m, a->s.n, p.width, shared_of<D>(a, &p));
}

template <enum dtype D> static int column_strips(const struct args *a) {
    const struct plan p = plan_columns<D>(a);
    const bool wide = p.chunk_elements == chunk<D, 16>::W;
    return gpu_launch(config_of(a, p.tiles, p.splits),
                      wide ? column_strips_kernel<D, 16> : column_strips_kernel<D, NARROW<D>>,
                      operand<const typename types<D>::T>(a, 0),
                      operand<const typename types<D>::T>(a, 1),
                      operand<typename types<D>::P>(a, 2), a->s.m, a->s.n, shared_of<D>(a, &p));
}

static const char *refuses_t(const struct args *a) {
    return a->layout == LAYOUT_T ? "A is stored transposed: column_strips does it" : nullptr;
}
static const char *refuses_n(const struct args *a) {
    return a->layout == LAYOUT_N ? "A is not stored transposed: warp_rows does it" : nullptr;
}

} // namespace matvec_kernels

using namespace matvec_kernels;

#define ROW(t)                                                                                    \
    {OP_matvec, "simple", DT_##t, simple<DT_##t>, nullptr, nullptr},                              \
        {OP_matvec, "warp_rows", DT_##t, warp_rows<DT_##t>, refuses_t, split_bytes<DT_##t>}, {    \
        OP_matvec, "column_strips", DT_##t, column_strips<DT_##t>, refuses_n, split_bytes<DT_##t> \
    }
extern "C" const struct impl matvec_cuda[];
const struct impl matvec_cuda[] = {
    ROW(fp64), ROW(fp32), ROW(fp16), ROW(bf16), ROW(fp8_e4m3), ROW(fp8_e5m2), ROW(nvfp4), {},
};
