/* teams.cuh - who shares a row: a warp, which needs no barrier, a block, or the blocks of a cluster (sm_90+). Sums and maxima
 * over a team, of which every member gets the same bits. */
#ifndef TEAMS_CUH
#define TEAMS_CUH
#include "cuda_kernel.cuh"

#include <math.h>

enum { WARP = 32 };

template <class A> DEV A larger(A x, A y) { return x > y ? x : y; }

template <class A> DEV A warp_sum(A v) {
#pragma unroll
    for (int d = WARP / 2; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}
template <class A> DEV A warp_max(A v) {
#pragma unroll
    for (int d = WARP / 2; d > 0; d /= 2) v = larger(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

struct warp_team {
    DEV static int rank() { return static_cast<int>(threadIdx.x) % WARP; }
    template <class A> DEV static A sum(A v) { return warp_sum(v); }
    template <class A> DEV static A max(A v) { return warp_max(v); }
};

struct block_team {
    DEV static unsigned blocks() { return 1; }
    DEV static unsigned block() { return 0; }
    DEV static int rank() { return static_cast<int>(threadIdx.x); }
    DEV static int size() { return static_cast<int>(blockDim.x); }
    template <class A> DEV static A gather(A v, A none) { /* of warp i to lane i of each warp */
        SMEM(A, part, [WARP]);
        if (rank() % WARP == 0) part[rank() / WARP] = v;
        __syncthreads(); /* all parts are there */
        const A mine = rank() % WARP < size() / WARP ? part[rank() % WARP] : none;
        __syncthreads(); /* all have read: the next reduction may write */
        return mine;
    }
    template <class A> DEV static A sum(A v) { return warp_sum(gather(warp_sum(v), A(0))); }
    template <class A> DEV static A max(A v) {
        return warp_max(gather(warp_max(v), static_cast<A>(-INFINITY)));
    }
};

/* The blocks of a cluster, where rank and size stay those of the block. A warp writes its part into the shared memory of every
 * block; behind one barrier each has all of them and joins them in the same order. Each reduction of a kernel has an array of
 * its own: nobody writes what another may still read, and after its last barrier a block depends on no other. */
struct cluster_team {
    enum { MOST_BLOCKS = 8, REDUCTIONS = 2 }; /* 8: what every GPU with clusters takes */
    int reduction = 0;

    DEV cluster_team() { gpu::cluster_arrive(); } /* this block runs */
    DEV static unsigned blocks() { return gpu::cluster_size(); }
    DEV static unsigned block() { return gpu::cluster_rank(); }
    DEV static int rank() { return static_cast<int>(threadIdx.x); }
    DEV static int size() { return static_cast<int>(blockDim.x); }
    DEV static int parts() { return static_cast<int>(blocks()) * (size() / WARP); }
    template <class A> DEV const A *exchange(A v) { /* v of each warp of each block: [parts()] */
        SMEM(A, part, [REDUCTIONS][MOST_BLOCKS * WARP]);
        const int lane = rank() % WARP;
        const unsigned at = block() * blockDim.x / WARP + threadIdx.x / WARP;
        A *mine = part[reduction];
        if (reduction++ == 0)
            gpu::cluster_wait(); /* every block runs: there is memory to write to */
        if (lane < static_cast<int>(blocks()))
            *gpu::cluster_peer(mine + at, static_cast<uint32_t>(lane)) = v;
        gpu::cluster_sync(); /* all parts are there */
        return mine;
    }
    template <class A> DEV A sum(A v) {
        const A *part = exchange(warp_sum(v));
        v = 0;
        for (int i = rank() % WARP; i < parts(); i += WARP) v += part[i];
        return warp_sum(v);
    }
    template <class A> DEV A max(A v) {
        const A *part = exchange(warp_max(v));
        v = static_cast<A>(-INFINITY);
        for (int i = rank() % WARP; i < parts(); i += WARP) v = larger(v, part[i]);
        return warp_max(v);
    }
};
#endif
