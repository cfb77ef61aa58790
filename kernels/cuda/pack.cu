/* pack.cu - operands of products converted, padded or turned into scratch (pack.cuh). A thread makes 16 bytes. */
#include "pack.cuh"
#include "matmul.cuh"
#include "nvfp4.cuh"

enum { THREADS = 256 };

/* ---- rows ---- */

/* What a row is made from: element i as stored in the result, and a whole vector of them from i on. */
template <typename T> struct unchanged {
    using type = T;
    const T *x;
    DEV T at(int64_t i) const { return x[i]; }
    DEV vec<T> all(int64_t i) const { return vec_load(x + i); }
};
template <typename T> struct fp8_as_bf16 {
    using type = __nv_bfloat16;
    const T *x;
    DEV type at(int64_t i) const { return narrowed<type>(widen(x[i])); }
    DEV vec<type> all(int64_t i) const {
        struct alignas(8) {
            T at[8];
        } from = {};
        *reinterpret_cast<uint2 *>(&from) = *reinterpret_cast<const uint2 *>(x + i);
        vec<type> v;
#pragma unroll
        for (int e = 0; e < 8; e++) narrow(v.at[e], widen(from.at[e]));
        return v;
    }
};
struct nvfp4_as_bf16 {
    using type = __nv_bfloat16;
    nvfp4_tensor x;
    DEV type at(int64_t i) const { return narrowed<type>(nvfp4_element(x, i)); }
    DEV vec<type> all(int64_t i) const { /* half a block */
        const unsigned codes = *reinterpret_cast<const unsigned *>(x.codes + i / 2);
        const float scale = widen(x.scales[i / NVFP4_BLOCK]);
        vec<type> v;
#pragma unroll
        for (int e = 0; e < 8; e++) narrow(v.at[e], e2m1_widen(codes >> 4 * e) * scale);
        return v;
    }
};

/* `vectors` of a padded row. Rows that need no padding are one long row: then nobody divides. */
template <class FROM>
__global__ void __launch_bounds__(THREADS)
    pack_rows_kernel(uint4 *to, const FROM from, int64_t rows, int64_t width, int64_t vectors) {
    using T = typename FROM::type;
    constexpr int N = vec<T>::N;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= rows * vectors) return;
    const int64_t row = rows == 1 ? 0 : i / vectors, col = (i - row * vectors) * N;
    const int64_t first = row * width + col;

    vec<T> v;
    if (rows == 1 && col + N <= width)
        v = from.all(first);
    else
#pragma unroll
        for (int e = 0; e < N; e++) v.at[e] = col + e < width ? from.at(first + e) : T();
    to[i] = *reinterpret_cast<const uint4 *>(&v);
}

template <class FROM>
static cudaError_t launch_rows(void *to, const FROM &from, int64_t rows, int64_t width,
                               cudaStream_t stream) {
    const int64_t n = vec<typename FROM::type>::N;
    if (width % n == 0) {
        width *= rows;
        rows = 1;
    }
    const int64_t vectors = ceil_div(width, n);
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(rows * vectors, THREADS)));
    c.stream = stream;
    return gpu_launch(c, pack_rows_kernel<FROM>, static_cast<uint4 *>(to), from, rows, width,
                      vectors);
}

cudaError_t pack_rows(void *to, const void *from, int64_t rows, int64_t width, int size,
                      cudaStream_t stream) {
    switch (size) {
    case 1:
        return launch_rows(to, unchanged<uint8_t>{static_cast<const uint8_t *>(from)}, rows, width,
                           stream);
    case 2:
        return launch_rows(to, unchanged<uint16_t>{static_cast<const uint16_t *>(from)}, rows,
                           width, stream);
    case 4:
        return launch_rows(to, unchanged<uint32_t>{static_cast<const uint32_t *>(from)}, rows,
                           width, stream);
    default:
        return launch_rows(to, unchanged<uint64_t>{static_cast<const uint64_t *>(from)}, rows,
                           width, stream);
    }
}

cudaError_t pack_to_bf16(void *to, const void *from, enum dtype t, int64_t rows, int64_t width,
                         cudaStream_t stream) {
    if (t == DT_nvfp4)
        return launch_rows(to, nvfp4_as_bf16{nvfp4_tensor_at(from, rows * width)}, rows, width,
                           stream);
    if (t == DT_fp8_e4m3)
        return launch_rows(to, fp8_as_bf16<__nv_fp8_e4m3>{static_cast<const __nv_fp8_e4m3 *>(from)},
                           rows, width, stream);
    return launch_rows(to, fp8_as_bf16<__nv_fp8_e5m2>{static_cast<const __nv_fp8_e5m2 *>(from)},
                       rows, width, stream);
}

/* ---- turned ---- */

enum { TILE = 64 };

/* A block turns TILE x TILE bytes: reads rows, writes words of four bytes that lay below each other. */
__global__ void __launch_bounds__(THREADS)
    pack_transposed_kernel(uint32_t *to, const uint8_t *from, int64_t batch, int64_t rows,
                           int64_t width, int64_t words, int64_t tiles_across) {
    SMEM(uint8_t, tile, [TILE][TILE + 2]); /* 4 rows are 66 words: 16 words of a column, 16 banks */
    const int64_t row0 = blockIdx.x / tiles_across * TILE, col0 = blockIdx.x % tiles_across * TILE;
    const int64_t i = batch_index();
    if (i >= batch) return; /* the whole block */
    const int t = threadIdx.x;

    for (int y = t / TILE; y < TILE; y += THREADS / TILE) {
        const int64_t row = row0 + y, col = col0 + t % TILE;
        tile[y][t % TILE] = row < rows && col < width ? from[(i * rows + row) * width + col] : 0;
    }
    __syncthreads(); /* the tile is written before it is read */

    const int word = t % (TILE / 4);
    for (int x = t / (TILE / 4); x < TILE; x += THREADS / (TILE / 4)) {
        const int64_t row = col0 + x, col = row0 / 4 + word; /* of the result, in words */
        uint32_t four = 0;
        for (int e = 0; e < 4; e++) four |= uint32_t(tile[4 * word + e][x]) << 8 * e;
        if (row < width && col < words) to[(i * width + row) * words + col] = four;
    }
}

/* The same of words. */
enum { WORDS = 32 };
__global__ void __launch_bounds__(THREADS)
    pack_transposed_words_kernel(uint32_t *to, const uint32_t *from, int64_t batch, int64_t rows,
                                 int64_t width, int64_t pitch, int64_t tiles_across) {
    SMEM(uint32_t, tile, [WORDS][WORDS + 1]); /* a column meets all banks */
    const int64_t row0 = blockIdx.x / tiles_across * WORDS,
                  col0 = blockIdx.x % tiles_across * WORDS;
    const int64_t i = batch_index();
    if (i >= batch) return; /* the whole block */
    const int tx = threadIdx.x % WORDS, ty = threadIdx.x / WORDS;

    for (int y = ty; y < WORDS; y += THREADS / WORDS) {
        const int64_t row = row0 + y, col = col0 + tx;
        tile[y][tx] = row < rows && col < width ? from[(i * rows + row) * width + col] : 0;
    }
    __syncthreads(); /* the tile is written before it is read */

    for (int x = ty; x < WORDS; x += THREADS / WORDS) {
        const int64_t row = col0 + x, col = row0 + tx; /* of the result */
        if (row < width && col < pitch) to[(i * width + row) * pitch + col] = tile[tx][x];
    }
}

cudaError_t pack_transposed(void *to, const void *from, int64_t batch, int64_t rows, int64_t width,
                            int size, cudaStream_t stream) {
    const int tile = size == 1 ? int{TILE} : int{WORDS};
    const int64_t across = ceil_div(width, tile), pitch = packed_pitch(rows, size) / 4;
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = product_grid(ceil_div(rows, tile) * across, batch);
    c.stream = stream;
    return size == 1
               ? gpu_launch(c, pack_transposed_kernel, static_cast<uint32_t *>(to),
                            static_cast<const uint8_t *>(from), batch, rows, width, pitch, across)
               : gpu_launch(c, pack_transposed_words_kernel, static_cast<uint32_t *>(to),
                            static_cast<const uint32_t *>(from), batch, rows, width, pitch, across);
}
