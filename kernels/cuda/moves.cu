/* moves.cu - y[n] = x[n]. Bytes are bytes: one kernel for every dtype. One-shot grid, four 16-byte loads in flight. */
#include "cuda_kernel.cuh"

enum { THREADS = 256, UNROLL = 4 };

__global__ void __launch_bounds__(THREADS)
    copy_kernel(const uint4 *__restrict__ x, uint4 *__restrict__ y, int64_t vectors, int tail) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (THREADS * UNROLL) + threadIdx.x;
    uint4 v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
        if (first + u * THREADS < vectors) v[u] = __ldcs(x + first + u * THREADS);
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
        if (first + u * THREADS < vectors) __stcs(y + first + u * THREADS, v[u]);
    if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < tail)
        reinterpret_cast<unsigned char *>(y + vectors)[threadIdx.x] =
            reinterpret_cast<const unsigned char *>(x + vectors)[threadIdx.x];
}

template <enum dtype D> static int copy(const struct args *a) {
    const int64_t bytes = static_cast<int64_t>(storage_bytes(D, a->s.n)), vectors = bytes / 16;
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(vectors ? vectors : 1, THREADS * UNROLL)));
    c.stream = stream_of(a);
    return gpu_launch(c, copy_kernel, operand<const uint4>(a, 0), operand<uint4>(a, 1), vectors,
                      static_cast<int>(bytes % 16));
}

extern "C" const struct impl moves_cuda[];
const struct impl moves_cuda[] = {
    {OP_copy, "vector", DT_fp64, copy<DT_fp64>, nullptr, nullptr},
    {OP_copy, "vector", DT_fp32, copy<DT_fp32>, nullptr, nullptr},
    {OP_copy, "vector", DT_fp16, copy<DT_fp16>, nullptr, nullptr},
    {OP_copy, "vector", DT_bf16, copy<DT_bf16>, nullptr, nullptr},
    {OP_copy, "vector", DT_fp8_e4m3, copy<DT_fp8_e4m3>, nullptr, nullptr},
    {OP_copy, "vector", DT_fp8_e5m2, copy<DT_fp8_e5m2>, nullptr, nullptr},
    {OP_copy, "vector", DT_nvfp4, copy<DT_nvfp4>, nullptr, nullptr},
    {},
};
