/* bugs.cu - kernels with one deliberate mistake each: bugs N [desc] makes the N-th, and a layer of the emulation has
 * to report it (bugs.sh says which). 0 is without one. */
#include "../../kernels/cuda/launch.cuh"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 64, DYNAMIC = 32 };

__global__ void bug_kernel(float *g, int bug, int one) {
    SMEM(float, s, [THREADS]);
    SMEM_ALIGNED(16, float, s2, [THREADS]);
    SMEM(uint64_t, bar, [1]);
    SMEM(bool, last, [1]);
    DYN_SMEM(16, float, d);
    const int t = threadIdx.x;
    s[t] = 0;
    s2[t] = 0;
    if (t < DYNAMIC) d[t] = 0;
    __syncthreads();
    switch (bug) {
    case 1: /* static shared memory, one past the end */
        s[t + one] = 1;
        break;
    case 2: /* dynamic shared memory, twice what was asked for */
        d[t] = 1;
        break;
    case 3: /* global memory, one past the end */
        g[t + one] = 1;
        break;
    case 4: /* a misaligned vector */
        g[t] = __ldg(reinterpret_cast<const float4 *>(g + t / 16 * 4 + one)).x;
        break;
    case 5: /* from a lane outside of the mask */
        if (t < 16) g[t] = __shfl_sync(0xffffu, g[t], 20);
        break;
    case 6: /* a mask without the caller */
        if (t >= 32 + 16) __syncwarp(0x0000ffffu);
        break;
    case 7: /* half of the warp elsewhere */
        if (t % 32 < 16)
            g[t] = __shfl_xor_sync(~0u, g[t], 1);
        else
            __syncthreads();
        break;
    case 8: /* two different collectives meet */
        g[t] = t % 2 ? __shfl_xor_sync(~0u, g[t], 1) : static_cast<float>(__any_sync(~0u, t));
        break;
    case 9: /* a barrier that half of the block never reaches */
        if (t < 32) gpu::bar_sync(1, 64);
        break;
    case 10: /* a misaligned target of cp.async */
        gpu::cp_async16(s2 + one, g);
        break;
    case 11: /* cp.async reads past the end */
        gpu::cp_async16(s2 + t % 16 * 4, g + THREADS * one);
        gpu::cp_async_commit();
        gpu::cp_async_wait<0>();
        break;
    case 12: /* copies that nobody waits for */
        gpu::cp_async16(s2 + t % 16 * 4, g);
        gpu::cp_async_commit();
        break;
    case 13: /* bytes that never come */
        if (t == 0) gpu::mbar_init(bar, 1);
        __syncthreads();
        if (t == 0) gpu::mbar_arrive_expect_tx(bar, 100);
        gpu::mbar_wait(bar, 0);
        break;
    case 14: /* an mbarrier that was never initialised */
        gpu::mbar_wait(bar, 0);
        break;
    case 15: /* an mbarrier that was written over */
        if (t == 0) gpu::mbar_init(bar, 1);
        __syncthreads();
        if (t == 0) {
            *bar = 0;
            gpu::mbar_arrive(bar);
        }
        break;
    case 16: { /* ldmatrix of what is not shared */
        uint32_t r[4];
        gpu::ldmatrix_x4(r, g);
        g[t] = static_cast<float>(r[0]);
        break;
    }
    case 17: { /* ldmatrix past the end of shared memory */
        uint32_t r[4];
        gpu::ldmatrix_x4(r, s2 + t % 32 * 4);
        g[t] = static_cast<float>(r[0]);
        break;
    }
    case 18: /* a shift by the width */
        g[t] = static_cast<float>(1 << (31 + one));
        break;
    case 19: /* a race in shared memory */
        s[t] = static_cast<float>(t);
        g[t] = s[THREADS - 1 - t];
        break;
    case 20: /* a race in global memory */
        if (t % 32 == 0) g[0] = static_cast<float>(t);
        break;
    case 21: { /* past the end of a thread's own array */
        float mine[4];
        for (int i = 0; i < 4; i++) mine[i] = g[i];
        g[t] = mine[t % 4 + one];
        break;
    }
    case 22: /* a device without the instruction */
        gpu::cluster_sync();
        break;
    case 23: /* a race between blocks, on one address */
        if (t == 0) g[0] = static_cast<float>(blockIdx.x);
        break;
    case 24: /* the last block reads what others have written: no fence */
    case 25: /* the same, none before the ticket */
    case 26: /* the same, none after it */
    case 27: /* the same, none of the thread that draws the ticket */
    case 28: /* the same, with both: right */
        if (t == 32) g[1 + blockIdx.x] = 1;
        if (bug == 27) __threadfence();
        __syncthreads();
        if (t == 0) {
            if (bug == 26 || bug == 28) __threadfence();
            last[0] = atomicInc(reinterpret_cast<unsigned *>(g), gridDim.x - 1) == gridDim.x - 1;
            if (bug == 25 || bug == 28) __threadfence();
        }
        __syncthreads();
        if (bug == 27) __threadfence();
        if (last[0] && t >= 32) {
            float sum = 0;
            for (unsigned i = t % 32; i < gridDim.x; i += 32) sum += g[1 + i];
            g[t] = sum;
        }
        break;
    default:
        g[t] = s[t];
    }
}

int main(int argc, char **argv) {
    const int bug = argc > 1 ? atoi(argv[1]) : 0, device = bug == 22 ? 0 : 2; /* sm_80, sm_90 */
    float *g = nullptr;
    launch_config c;
    c.block = dim3(THREADS);
    if (bug >= 23) c.grid = dim3(6);
    c.smem = DYNAMIC * sizeof(float);
    if (cudaSetDevice(device) != cudaSuccess ||
        cudaMalloc(reinterpret_cast<void **>(&g), THREADS * sizeof *g) != cudaSuccess ||
        cudaMemset(g, 0, THREADS * sizeof *g) != cudaSuccess ||
        gpu_launch(c, bug_kernel, g, bug, 1) != cudaSuccess)
        return 2;
    cudaFree(g);
    return EXIT_SUCCESS;
}
