/* probes.cu - bandwidth of the L2 and of shared memory, latency of every level, the cost of a launch, arithmetic as a load.
 * What is read in a loop is read from other places each time, or the compiler would read it once. */
#include "probes.h"

#include "bulk.cuh"

namespace probe_kernels { /* a name of its own: the emulation finds kernels by their symbols */

enum {
    WARP = 32,
    READ_THREADS = 256,
    READ_LOADS = PROBE_TILE_BYTES / 16 / READ_THREADS, /* in flight a thread: 8 */
    READ_BLOCKS = 4,                                   /* a multiprocessor: 128 KiB in flight */
    SHARED_THREADS = 1024,
    SHARED_PIECES = PROBE_SHARED_BYTES / 16,
    SHARED_LOADS = SHARED_PIECES / SHARED_THREADS,
    BUSY_THREADS = 256,
    BUSY_CHAINS = 8,
};

DEV uint32_t sum_of(uint4 v) { return v.x + v.y + v.z + v.w; }

/* Blocks go round the tiles, each one from its own. */
__global__ void __launch_bounds__(READ_THREADS, READ_BLOCKS)
    read_kernel(const uint4 *__restrict__ x, int64_t tiles, int64_t visits, uint32_t *sum) {
    const int64_t step = gridDim.x % tiles;
    int64_t tile = blockIdx.x % tiles;
    uint32_t total = 0;
    for (int64_t visit = blockIdx.x; visit < visits; visit += gridDim.x) {
        const uint4 *p = x + tile * (READ_THREADS * READ_LOADS) + threadIdx.x;
        uint4 v[READ_LOADS];
#pragma unroll
        for (int i = 0; i < READ_LOADS; i++) v[i] = __ldcg(p + i * READ_THREADS);
#pragma unroll
        for (int i = 0; i < READ_LOADS; i++) total += sum_of(v[i]);
        tile += step;
        if (tile >= tiles) tile -= tiles;
    }
    total = __reduce_add_sync(0xffffffffu, total);
    if (threadIdx.x % WARP == 0) atomicAdd(sum, total);
}

__global__ void __launch_bounds__(READ_THREADS)
    bulk_read_kernel(const char *__restrict__ x, int64_t bytes, int stage_bytes, int64_t passes,
                     uint32_t *sum) {
#if HAS_BULK_COPIES
    DYN_SMEM(128, char, ring);
    SMEM(uint64_t, full, [BULK_STAGES]);
    uint32_t total = 0;
    bulk_read(ring, full, x, bytes, stage_bytes, passes,
              [&](const uint4 &v) { total += sum_of(v); });
    total = __reduce_add_sync(0xffffffffu, total);
    if (threadIdx.x % WARP == 0) atomicAdd(sum, total);
#endif
}

/* 16 bytes a lane, side by side: no bank conflict. The loads of a round cover the memory once, from a place that moves. */
__global__ void __launch_bounds__(SHARED_THREADS)
    shared_kernel(int64_t rounds, uint32_t *sum, uint64_t *cycles) {
    DYN_SMEM(16, uint4, data);
    SMEM(uint32_t, block_sum, [1]);
    for (unsigned i = threadIdx.x; i < SHARED_PIECES; i += SHARED_THREADS)
        data[i] = make_uint4(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
    if (threadIdx.x == 0) block_sum[0] = 0;
    __syncthreads(); /* data and block_sum are set; nobody is still writing when the clock starts */

    const uint64_t begin = gpu::clock_cycles();
    uint32_t total = 0;
    unsigned at = threadIdx.x;
#pragma unroll 4
    for (int64_t round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < SHARED_LOADS; i++)
            total += sum_of(data[(at + i * SHARED_THREADS) % SHARED_PIECES]);
        at += WARP;
    }
    total = __reduce_add_sync(0xffffffffu, total);
    if (threadIdx.x % WARP == 0) atomicAdd(&block_sum[0], total);
    __syncthreads(); /* all have read and added */
    if (threadIdx.x == 0) {
        cycles[blockIdx.x] = gpu::clock_cycles() - begin;
        sum[blockIdx.x] = block_sum[0];
    }
}

__global__ void link_kernel(char *ring, const uint32_t *order, int64_t nodes, int64_t stride) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= nodes) return;
    const int64_t next = i + 1 < nodes ? i + 1 : 0;
    *reinterpret_cast<uint64_t *>(ring + order[i] * stride) =
        reinterpret_cast<uint64_t>(ring + order[next] * stride);
}

template <bool L1> DEV uint64_t follow(uint64_t p, int64_t steps) {
#pragma unroll 8
    for (int64_t i = 0; i < steps; i++) {
        const auto *at = reinterpret_cast<const unsigned long long *>(p);
        p = L1 ? __ldca(at) : __ldcg(at);
    }
    return p;
}

template <bool L1>
__global__ void chase_kernel(uint64_t start, int64_t warm, int64_t steps, uint64_t *out) {
    uint64_t p = follow<L1>(start, warm);
    out[2] = p; /* waits for the last of them, as below */
    const uint64_t ns = gpu::clock_ns(), cycles = gpu::clock_cycles();
    p = follow<L1>(p, steps);
    out[2] = p; /* is issued when p has arrived, and the clocks are read after it */
    out[0] = gpu::clock_cycles() - cycles;
    out[1] = gpu::clock_ns() - ns;
}

__global__ void empty_kernel(uint32_t *count) { *count += 1; }

/* y = y x + x with x = 1/2 ends at 1, from anywhere near. */
__global__ void __launch_bounds__(BUSY_THREADS)
    busy_kernel(int64_t rounds, float x, uint64_t *out) {
    float y[BUSY_CHAINS];
#pragma unroll
    for (int c = 0; c < BUSY_CHAINS; c++) y[c] = static_cast<float>(threadIdx.x + c) / BUSY_THREADS;

    const uint64_t ns = gpu::clock_ns(), cycles = gpu::clock_cycles();
#pragma unroll 8
    for (int64_t round = 0; round < rounds; round++) {
#pragma unroll
        for (int c = 0; c < BUSY_CHAINS; c++) y[c] = fmaf(y[c], x, x);
    }
    bool right = true;
#pragma unroll
    for (int c = 0; c < BUSY_CHAINS; c++) right = right && y[c] == 1;
    const bool all_right =
        __syncthreads_and(right) != 0; /* all are done when the clocks are read */
    if (threadIdx.x == 0) {
        out[3 * blockIdx.x] = gpu::clock_cycles() - cycles;
        out[3 * blockIdx.x + 1] = gpu::clock_ns() - ns;
        out[3 * blockIdx.x + 2] = all_right;
    }
}

launch_config config_of(int64_t blocks, unsigned threads, void *stream) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(blocks));
    c.block = dim3(threads);
    c.stream = static_cast<cudaStream_t>(stream);
    return c;
}

} // namespace probe_kernels

using namespace probe_kernels;

extern "C" int probe_read(const void *x, int64_t bytes, int64_t passes, uint32_t *sum,
                          const struct gpu_facts *gpu, void *stream) {
    const int64_t tiles = bytes / PROBE_TILE_BYTES;
    return gpu_launch(config_of(static_cast<int64_t>(gpu->sms) * READ_BLOCKS, READ_THREADS, stream),
                      read_kernel, static_cast<const uint4 *>(x), tiles, tiles * passes, sum);
}

extern "C" int probe_bulk_read(const void *x, int64_t bytes, int64_t passes, int64_t in_flight,
                               uint32_t *sum, const struct gpu_facts *gpu, void *stream) {
    const int stage = bulk_stage(gpu, bytes, in_flight);
    return gpu_launch(bulk_grid(gpu, ceil_div(bytes, stage) * passes, BULK_STAGES, stage,
                                READ_THREADS, static_cast<cudaStream_t>(stream)),
                      bulk_read_kernel, static_cast<const char *>(x), bytes, stage, passes, sum);
}

extern "C" int probe_bulk_copy(const void *x, void *y, int64_t bytes, int64_t passes,
                               int64_t in_flight, const struct gpu_facts *gpu, void *stream) {
    return bulk_copy(y, x, bytes, passes, in_flight, gpu, static_cast<cudaStream_t>(stream));
}

extern "C" int probe_shared(int64_t rounds, uint32_t *sum, uint64_t *cycles,
                            const struct gpu_facts *gpu, void *stream) {
    launch_config c = config_of(gpu->sms, SHARED_THREADS, stream);
    c.smem = PROBE_SHARED_BYTES;
    return gpu_launch(c, shared_kernel, rounds, sum, cycles);
}

extern "C" int probe_link(void *ring, const uint32_t *order, int64_t nodes, int64_t stride,
                          void *stream) {
    return gpu_launch(config_of(ceil_div(nodes, 256), 256, stream), link_kernel,
                      static_cast<char *>(ring), order, nodes, stride);
}

extern "C" int probe_chase(const void *start, int64_t warm, int64_t steps, bool through_l1,
                           uint64_t out[3], void *stream) {
    return gpu_launch(config_of(1, 1, stream),
                      through_l1 ? chase_kernel<true> : chase_kernel<false>,
                      reinterpret_cast<uint64_t>(start), warm, steps, out);
}

extern "C" int probe_empty(uint32_t *count, void *stream) {
    return gpu_launch(config_of(1, 1, stream), empty_kernel, count);
}

extern "C" int probe_busy(int64_t rounds, uint64_t *out, const struct gpu_facts *gpu,
                          void *stream) {
    return gpu_launch(
        config_of(static_cast<int64_t>(gpu->sms) * PROBE_BUSY_BLOCKS, BUSY_THREADS, stream),
        busy_kernel, rounds, 0.5f, out);
}
