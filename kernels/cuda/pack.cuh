/* pack.cuh - a pre-pass over an operand of a product: converts it, pads its rows to 16 bytes, or turns it, into scratch.
 * For what the copies of the tensor-core kernels cannot read: they move 16 aligned bytes. */
#ifndef PACK_CUH
#define PACK_CUH
#include "cuda_kernel.cuh"

/* Bytes between rows of `width` elements of `size` bytes once they are padded. */
static inline int64_t packed_pitch(int64_t width, int64_t size) {
    return ceil_div(width * size, 16) * 16;
}

/* to = from[rows, width], elements of `size` (1, 2, 4, 8) bytes, rows padded with zeros. */
cudaError_t pack_rows(void *to, const void *from, int64_t rows, int64_t width, int size,
                      cudaStream_t stream);

/* The same from fp8 or nvfp4 to bf16: exactly, nvfp4 without its tensor's scale (nvfp4.cuh). */
cudaError_t pack_to_bf16(void *to, const void *from, enum dtype t, int64_t rows, int64_t width,
                         cudaStream_t stream);

/* to[i] = from[i]' of batch matrices [rows, width], elements of `size` (1, 4) bytes; the new rows are padded with zeros. */
cudaError_t pack_transposed(void *to, const void *from, int64_t batch, int64_t rows, int64_t width,
                            int size, cudaStream_t stream);
#endif
