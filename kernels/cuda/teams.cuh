/* teams.cuh - who shares a row: a warp, which needs no barrier, or a block. Sums and maxima over a team. */
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

/* Every member gets the result. */
struct warp_team {
    DEV static int rank() { return static_cast<int>(threadIdx.x) % WARP; }
    template <class A> DEV static A sum(A v) { return warp_sum(v); }
    template <class A> DEV static A max(A v) { return warp_max(v); }
};

struct block_team {
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
#endif
