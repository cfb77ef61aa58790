/* bulk.cu - copy and fill by bulk copies (bulk.cuh): one thread a block. Not run on a GPU yet. */
#include "bulk.cuh"

namespace bulk_kernels { /* other files may have the same names */

enum { THREADS = 32, FILL_THREADS = 128 };

DEV void copy_chunks(char *ring, uint64_t *full, const char *x, char *y, int64_t bytes,
                     int stage_bytes, int64_t passes) {
    constexpr int AHEAD = BULK_STAGES - BULK_STORES;
    bulk_walk ahead(bytes, stage_bytes, passes), chunk = ahead;
    int stage = 0, filling = AHEAD;
    uint32_t parity = 0;
    bulk_init(full);
    for (int s = 0; s < AHEAD && ahead.left > 0; s++) bulk_fetch(ring, full, s, x, ahead);
#pragma unroll 1
    for (; chunk.left > 0; chunk.next()) {
        if (ahead.left > 0) {
            gpu::bulk_wait_read<BULK_STORES - 1>(); /* of this stage, which was the oldest store */
            bulk_fetch(ring, full, filling, x, ahead);
            filling = (filling + 1) % BULK_STAGES;
        }
        gpu::mbar_wait(&full[stage], parity);
        gpu::bulk_store(y + chunk.first(), ring + stage * stage_bytes, chunk.size());
        gpu::bulk_commit();
        if (++stage < BULK_STAGES) continue;
        stage = 0;
        parity ^= 1;
    }
    gpu::bulk_wait_read<0>(); /* shared memory stays until it is read */
}

__global__ void __launch_bounds__(THREADS)
    bulk_copy_kernel(const char *x, char *y, int64_t bytes, int stage_bytes, int64_t passes) {
#if HAS_BULK_COPIES
    DYN_SMEM(128, char, ring);
    SMEM(uint64_t, full, [BULK_STAGES]);
    const int64_t whole = bytes / 16 * 16;
    if (threadIdx.x == 0) copy_chunks(ring, full, x, y, whole, stage_bytes, passes);
    const int64_t last = whole + threadIdx.x; /* fewer than 16 */
    if (blockIdx.x == 0 && last < bytes) y[last] = x[last];
#endif
}

__global__ void __launch_bounds__(FILL_THREADS)
    bulk_fill_kernel(char *y, uint64_t pattern, int64_t bytes, int stage_bytes) {
#if HAS_BULK_COPIES
    DYN_SMEM(128, uint64_t, stage);
    for (int i = threadIdx.x; i < stage_bytes / 8; i += FILL_THREADS) stage[i] = pattern;
    gpu::fence_proxy_async(); /* stores read through the asynchronous proxy */
    __syncthreads();          /* all of the stage is written */
    const int64_t whole = bytes / 16 * 16;
    if (threadIdx.x == 0) {
        for (bulk_walk chunk(whole, stage_bytes, 1); chunk.left > 0; chunk.next()) {
            gpu::bulk_store(y + chunk.first(), stage, chunk.size());
            gpu::bulk_commit();
        }
        gpu::bulk_wait_read<0>(); /* shared memory stays until it is read */
    }
    const int64_t last = whole + threadIdx.x; /* fewer than 16 */
    if (blockIdx.x == 0 && last < bytes) y[last] = static_cast<char>(pattern >> 8 * (last % 8));
#endif
}

} // namespace bulk_kernels

using namespace bulk_kernels;

cudaError_t bulk_copy(void *to, const void *from, int64_t bytes, int64_t passes, int64_t ring,
                      const struct gpu_facts *gpu, cudaStream_t stream) {
    const int stage = bulk_stage(gpu, bytes, ring);
    return gpu_launch(
        bulk_grid(gpu, ceil_div(bytes, stage) * passes, BULK_STAGES, stage, THREADS, stream),
        bulk_copy_kernel, static_cast<const char *>(from), static_cast<char *>(to), bytes, stage,
        passes);
}

cudaError_t bulk_fill(void *to, uint64_t pattern, int64_t bytes, int64_t ring,
                      const struct gpu_facts *gpu, cudaStream_t stream) {
    const int stage = bulk_stage(gpu, bytes, ring);
    return gpu_launch(bulk_grid(gpu, ceil_div(bytes, stage), 1, stage, FILL_THREADS, stream),
                      bulk_fill_kernel, static_cast<char *>(to), pattern, bytes, stage);
}
