/* clock.cu - the clock of a multiprocessor while it computes: cycles and nanoseconds of the same interval. */
#include "clock.h"
#include "cuda_kernel.cuh"

enum { CHAINS = 64 };

/* out[0] cycles, out[1] ns, out[2] keeps the arithmetic alive. */
__global__ void clock_kernel(uint64_t *out, uint64_t least_ns, float x) {
    float y = x;
    const uint64_t ns = gpu::clock_ns(), cycles = gpu::clock_cycles();
    uint64_t now;
    do {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) y = fmaf(y, x, x);
        now = gpu::clock_ns();
    } while (now - ns < least_ns);
    out[0] = gpu::clock_cycles() - cycles;
    out[1] = now - ns;
    out[2] = static_cast<uint64_t>(y);
}

extern "C" int cuda_clock_start(uint64_t out[3], double seconds, void *stream) {
    launch_config c;
    c.stream = static_cast<cudaStream_t>(stream);
    return gpu_launch(c, clock_kernel, out, static_cast<uint64_t>(seconds * 1e9), 0.5f);
}
