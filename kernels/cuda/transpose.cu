/* transpose.cu - Y[n,m] = X[m,n]'. Bytes are bytes: a kernel for every size of element.
 *
 * A block has a tile of 16 KiB in shared memory: rows of X of 128 bytes or more, which become rows of Y of as many, by
 * accesses of 16 bytes on both sides. Elements of 1 and 2 bytes are read from it as words, V rows of them, and exchanged
 * in registers. Rows that do not start at a multiple of 16 bytes are accessed by elements, consecutive over a warp. */
#include "cuda_kernel.cuh"

enum { THREADS = 256, VECTORS = 4 /* of 16 bytes a thread */, BAND = 8 };

template <typename T> struct tile_of { /* T[ROWS][COLS] */
    static constexpr int SIZE = sizeof(T), V = 16 / SIZE,
                         ROWS = SIZE == 8   ? 32
                                : SIZE == 1 ? 128
                                            : 64,
                         COLS = 16384 / SIZE / ROWS, ELEMENTS = ROWS * COLS;
    static constexpr int CHUNKS = COLS / V; /* of 16 bytes in a row */
    static constexpr int GROUPS = ROWS / V; /* of V rows, a vector of Y each */
    static constexpr int WORD = SIZE < 4 ? 4 : SIZE, WORD_COLS = WORD / SIZE;
    static_assert(ROWS * CHUNKS == THREADS * VECTORS, "a thread loads VECTORS vectors");
    static_assert(CHUNKS % 8 == 0 && GROUPS % 8 == 0, "eight lanes take 128 bytes on both sides");

    /* Where (row, col) lies. Chunks are exchanged within their row, by the group of V rows: 16-byte stores along a row and
     * reads of 8 groups x 4 words down the columns, which is what a warp does, each reach all 32 banks. */
    DEV static int at(int row, int col) {
        return row * COLS + ((col / V) ^ (row / V % 8)) * V + col % V;
    }
};

/* V words, of V rows of X each, to a vector of Y for each column in a word. */
DEV void exchange(const uint64_t (&w)[2], vec<uint64_t> *out) {
    out[0].at[0] = w[0];
    out[0].at[1] = w[1];
}
DEV void exchange(const uint32_t (&w)[4], vec<uint32_t> *out) {
#pragma unroll
    for (int i = 0; i < 4; i++) out[0].at[i] = w[i];
}
DEV void exchange(const uint32_t (&w)[8], vec<uint16_t> *out) {
    uint32_t *first = reinterpret_cast<uint32_t *>(out), *second = first + 4;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        first[i] = __byte_perm(w[2 * i], w[2 * i + 1], 0x5410);
        second[i] = __byte_perm(w[2 * i], w[2 * i + 1], 0x7632);
    }
}
DEV void exchange(const uint32_t (&w)[16], vec<uint8_t> *out) {
    uint32_t *word = reinterpret_cast<uint32_t *>(out);
#pragma unroll
    for (int i = 0; i < 4; i++) { /* a 4 x 4 transposition of bytes */
        const uint32_t *x = w + 4 * i;
        const uint32_t low01 = __byte_perm(x[0], x[1], 0x5140),
                       low23 = __byte_perm(x[2], x[3], 0x5140),
                       high01 = __byte_perm(x[0], x[1], 0x7362),
                       high23 = __byte_perm(x[2], x[3], 0x7362);
        word[i] = __byte_perm(low01, low23, 0x5410);
        word[4 + i] = __byte_perm(low01, low23, 0x7632);
        word[8 + i] = __byte_perm(high01, high23, 0x5410);
        word[12 + i] = __byte_perm(high01, high23, 0x7632);
    }
}

/* The k-th unit of a block's work: V rows of WORD_COLS columns, as vectors of Y; and where it begins. A warp takes eight
 * groups of rows by four words of columns. */
struct place_in_tile {
    int row, col;
};
template <typename T> DEV place_in_tile columns_of(const T *Xs, int k, vec<T> *out) {
    using tile = tile_of<T>;
    using word = typename std::conditional<tile::WORD == 8, uint64_t, uint32_t>::type;
    constexpr int QUADS = tile::COLS / tile::WORD_COLS / 4;
    const int row = (k % 8 + k / 32 / QUADS * 8) * tile::V,
              col = (k / 8 % 4 + k / 32 % QUADS * 4) * tile::WORD_COLS;
    word w[tile::V];
#pragma unroll
    for (int r = 0; r < tile::V; r++)
        w[r] = *reinterpret_cast<const word *>(Xs + tile::at(row + r, col));
    exchange(w, out);
    return {row, col};
}

/* Blocks go down BAND tiles before they go right: those that run at once write BAND x 128 bytes or more of a row of Y, and
 * read along X. */
DEV void place(unsigned block, unsigned tile_rows, unsigned tile_cols, unsigned &row,
               unsigned &col) {
    const unsigned band = block / (BAND * tile_cols), within = block % (BAND * tile_cols);
    const unsigned left = tile_rows - band * BAND, height = left < BAND ? left : unsigned{BAND};
    row = band * BAND + within % height;
    col = within / height;
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 5) /* 80 KiB in flight a multiprocessor */
    transpose_kernel(const T *X, T *Y, int64_t m, int64_t n, unsigned tile_rows,
                     unsigned tile_cols) {
    using tile = tile_of<T>;
    constexpr int V = tile::V;
    SMEM_ALIGNED(16, T, Xs, [tile::ELEMENTS]);
    unsigned tile_row, tile_col;
    place(blockIdx.x, tile_rows, tile_cols, tile_row, tile_col);
    const int64_t row0 = static_cast<int64_t>(tile_row) * tile::ROWS,
                  col0 = static_cast<int64_t>(tile_col) * tile::COLS;
    const int rows = static_cast<int>(m - row0 < tile::ROWS ? m - row0 : tile::ROWS),
              cols = static_cast<int>(n - col0 < tile::COLS ? n - col0 : tile::COLS);
    const int thread = static_cast<int>(threadIdx.x);
    const bool aligned_X = n % V == 0, aligned_Y = m % V == 0; /* then vectors are whole, too */
    X += row0 * n + col0;
    Y += col0 * m + row0;

    if (aligned_X) {
        vec<T> v[VECTORS];
#pragma unroll
        for (int u = 0; u < VECTORS; u++) {
            const int k = thread + u * THREADS, row = k / tile::CHUNKS, col = k % tile::CHUNKS * V;
            v[u] = vec_load(X + (row < rows && col < cols ? row * n + col : 0));
        }
#pragma unroll
        for (int u = 0; u < VECTORS; u++) {
            const int k = thread + u * THREADS, row = k / tile::CHUNKS, col = k % tile::CHUNKS * V;
            vec_store(Xs + tile::at(row, col), v[u]); /* what lies outside X is not used */
        }
    } else {
        constexpr int UNROLL = 4;
#pragma unroll 1
        for (int first = thread; first < tile::ELEMENTS; first += UNROLL * THREADS) {
            T x[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                const int k = first + u * THREADS, row = k / tile::COLS, col = k % tile::COLS;
                x[u] = X[row < rows && col < cols ? row * n + col : 0];
            }
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                const int k = first + u * THREADS, row = k / tile::COLS, col = k % tile::COLS;
                Xs[tile::at(row, col)] = x[u];
            }
        }
    }
    __syncthreads(); /* the tile is complete before its columns are read */

    constexpr int UNITS = VECTORS / tile::WORD_COLS;
    if (aligned_Y) {
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            vec<T> out[tile::WORD_COLS];
            const place_in_tile at = columns_of(Xs, thread + u * THREADS, out);
#pragma unroll
            for (int c = 0; c < tile::WORD_COLS; c++)
                if (at.row < rows && at.col + c < cols)
                    vec_store(Y + (at.col + c) * m + at.row, out[c]);
        }
        return;
    }
    vec<T> out[UNITS][tile::WORD_COLS];
    place_in_tile at[UNITS];
#pragma unroll
    for (int u = 0; u < UNITS; u++) at[u] = columns_of(Xs, thread + u * THREADS, out[u]);
    __syncthreads(); /* all of X's tile is read before Y's takes its place, T[COLS][ROWS] */
#pragma unroll
    for (int u = 0; u < UNITS; u++)
#pragma unroll
        for (int c = 0; c < tile::WORD_COLS; c++)
            vec_store(Xs + (at[u].col + c) * tile::ROWS + at[u].row, out[u][c]);
    __syncthreads(); /* Y's tile is complete before it is written out */
#pragma unroll 4
    for (int k = thread; k < tile::ELEMENTS; k += THREADS) {
        const int row = k / tile::ROWS, column = k % tile::ROWS; /* of Y */
        if (row < cols && column < rows) Y[row * m + column] = Xs[k];
    }
}

template <typename T> __global__ void simple_transpose(const T *X, T *Y, int64_t m, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < m * n) Y[i % n * m + i / n] = X[i];
}

/* ---- launches ---- */

template <typename T> static int simple(const struct args *a) {
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(a->s.m * a->s.n, THREADS)));
    c.stream = stream_of(a);
    return gpu_launch(c, simple_transpose<T>, operand<const T>(a, 0), operand<T>(a, 1), a->s.m,
                      a->s.n);
}
template <typename T> static int tiled(const struct args *a) {
    const unsigned tile_rows = static_cast<unsigned>(ceil_div(a->s.m, tile_of<T>::ROWS)),
                   tile_cols = static_cast<unsigned>(ceil_div(a->s.n, tile_of<T>::COLS));
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = dim3(tile_rows * tile_cols);
    c.stream = stream_of(a);
    return gpu_launch(c, transpose_kernel<T>, operand<const T>(a, 0), operand<T>(a, 1), a->s.m,
                      a->s.n, tile_rows, tile_cols);
}

#define ROW(name, t, type) \
    { OP_transpose, #name, DT_##t, name<type>, nullptr, nullptr }
#define ROWS(name)                                                                   \
    ROW(name, fp64, uint64_t), ROW(name, fp32, uint32_t), ROW(name, fp16, uint16_t), \
        ROW(name, bf16, uint16_t), ROW(name, fp8_e4m3, uint8_t), ROW(name, fp8_e5m2, uint8_t)

extern "C" const struct impl transpose_cuda[];
const struct impl transpose_cuda[] = {
    ROWS(simple),
    ROWS(tiled),
    {},
};
