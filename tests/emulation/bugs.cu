/* bugs.cu - kernels with one deliberate mistake each: bugs N [desc] makes the N-th, and a layer of the emulation has
 * to report it (bugs.sh says which). 0 is without one. */
#include "../../kernels/cuda/launch.cuh"
#include "../../kernels/cuda/ptx_tcgen05.cuh"

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
    case 43: /* a race between blocks, on one address */
        if (t == 0) g[0] = static_cast<float>(blockIdx.x);
        break;
    case 44: /* the last block reads what others have written: no fence */
    case 45: /* the same, none before the ticket */
    case 46: /* the same, none after it */
    case 47: /* the same, none of the thread that draws the ticket */
    case 48: /* the same, with both: right */
        if (t == 32) g[1 + blockIdx.x] = 1;
        if (bug == 47) __threadfence();
        __syncthreads();
        if (t == 0) {
            if (bug == 46 || bug == 48) __threadfence();
            last[0] = atomicInc(reinterpret_cast<unsigned *>(g), gridDim.x - 1) == gridDim.x - 1;
            if (bug == 45 || bug == 48) __threadfence();
        }
        __syncthreads();
        if (bug == 47) __threadfence();
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

/* Tensor memory of sm_100a; 23 is without a mistake. */
__global__ void tensor_bug_kernel(float *g, int bug) {
    SMEM_ALIGNED(1024, float, operand, [256 * 32]); /* 128 rows of 128 bytes each of A and B */
    SMEM(uint64_t, bar, [1]);
    SMEM(uint32_t, memory, [1]);
    const int t = threadIdx.x;
    for (int i = t; i < 256 * 32; i += THREADS) operand[i] = 1;
    gpu::fence_proxy_async(); /* tensor cores read through the asynchronous proxy */
    if (t == 0) {
        gpu::mbar_init(bar, 1);
        if (bug != 37) gpu::mbar_fence_init(); /* 37: an mbarrier that is not fenced */
    }
    if (t < 32) {
        gpu::tmem_alloc<1>(memory, bug == 24 ? 48 : 128); /* 24: no power of two */
        gpu::tmem_relinquish<1>();
        if (bug == 25) gpu::tmem_alloc<1>(memory, 32); /* after it gave that up */
    }
    __syncthreads();
    if (bug != 26) gpu::tcgen05_fence_after(); /* 26: no fence after a barrier */
    const uint32_t d = *memory, mine = d + (static_cast<uint32_t>(t / 32 * 32) << 16);
    if (t == 0) {
        const uint64_t a = gpu::tcgen05_desc(operand), b = gpu::tcgen05_desc(operand + 128 * 32);
        /* 27: columns that are not its own; 28: no such shape; 29: another version of descriptors */
        gpu::tcgen05_mma<gpu::tcgen05_kind::tf32, 1>(
            bug == 27 ? d - 32 : d, bug == 29 ? a ^ uint64_t(1) << 46 : a, b,
            gpu::tcgen05_shape(2, bug == 28 ? 64 : 128, 128), 0);
        if (bug == 30) gpu::tcgen05_commit<2>(bar); /* alone */
        gpu::tcgen05_commit<1>(bar);
    }
    if (bug != 31) gpu::mbar_wait(bar, 0); /* 31: reads what is not there yet */
    gpu::tcgen05_fence_after();
    uint32_t r[32];
    gpu::tcgen05_ld_x32(r, bug == 32 ? d : mine); /* 32: another warp's lanes */
    if (bug != 33) gpu::tcgen05_wait_ld();        /* 33: registers that are not there yet */
    g[t] = __uint_as_float(r[t % 32]);
    if (bug == 33) gpu::tcgen05_wait_ld();
    if (bug != 34) gpu::tcgen05_fence_before(); /* 34: no fence before a barrier */
    __syncthreads();
    gpu::tcgen05_fence_after();
    if (t < 32 && bug != 35)
        gpu::tmem_dealloc<1>(d, bug == 36 ? 64 : 128); /* 35: never; 36: half */
}

/* A warpgroup's multiply on sm_90a; 50 is without a mistake. */
__global__ void wgmma_bug_kernel(float *g, int bug) {
    SMEM_ALIGNED(1024, float, operand, [128 * 32]); /* 64 rows of 128 bytes each of A and B */
    const int t = threadIdx.x, warp = t / 32;
    for (int i = t; i < 128 * 32; i += 2 * THREADS) operand[i] = 1;
    gpu::fence_proxy_async();       /* as above */
    if (bug != 51) __syncthreads(); /* 51: the rows of other warps */
    const uint64_t a = gpu::wgmma_desc(operand), b = gpu::wgmma_desc(operand + 64 * 32);
    float d[32] = {};
    if (bug != 52) gpu::wgmma_fence(); /* 52: no fence after registers were written */
    if (bug != 53 || warp != 2)        /* 53: one warp less */
        gpu::wgmma_m64<gpu::wgmma_type::tf32, 64>(d, bug == 54 && warp == 1 ? a + 2 : a, b,
                                                  0); /* 54: another operand in one warp */
    gpu::wgmma_commit();
    if (bug == 55) g[t] = d[0];          /* 55: sums that are not there yet */
    if (bug != 56) gpu::wgmma_wait<0>(); /* 56: no wait */
    gpu::wgmma_hold(d);
    if (bug != 55) g[t] = d[t % 32];
}

int main(int argc, char **argv) {
    const int bug = argc > 1 ? atoi(argv[1]) : 0;
    const bool tensor = bug >= 23 && bug < 40, wgmma = bug >= 50;
    const int device = bug == 22 ? 0 : tensor ? 3 : 2;    /* sm_80, sm_100, sm_90 */
    const size_t threads = wgmma ? 2 * THREADS : THREADS; /* of g too: past its end is a bug */
    float *g = nullptr, got[2 * THREADS];
    launch_config c;
    c.block = dim3(static_cast<unsigned>(threads));
    if (bug >= 40 && !wgmma) c.grid = dim3(6); /* races between blocks */
    c.smem = DYNAMIC * sizeof(float);
    if (cudaSetDevice(device) != cudaSuccess ||
        cudaMalloc(reinterpret_cast<void **>(&g), threads * sizeof *g) != cudaSuccess ||
        cudaMemset(g, 0, threads * sizeof *g) != cudaSuccess ||
        (tensor  ? gpu_launch(c, tensor_bug_kernel, g, bug)
         : wgmma ? gpu_launch(c, wgmma_bug_kernel, g, bug)
                 : gpu_launch(c, bug_kernel, g, bug, 1)) != cudaSuccess ||
        cudaMemcpy(got, g, threads * sizeof *g, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 2;
    cudaFree(g);
    for (size_t i = 0; i < threads; i++)
        if ((tensor || wgmma) && got[i] != 8) { /* 8 of k, ones */
            fprintf(stderr, "bug %d: a wrong sum: %g\n", bug, static_cast<double>(got[i]));
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
