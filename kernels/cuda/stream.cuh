/* stream.cuh - what single passes over memory share: accesses of 1 to 32 bytes with a cache hint, and grids.
 *
 * A thread moves STREAM_BYTES of the widest operand: four accesses of 16 bytes, or two of 32, all in flight before the
 * first is used. The 1024 threads or more of a multiprocessor have 64 KiB of them, twice what the latency of HBM takes to
 * hide (README.md). The width is the GPU's matter and does not change which block has which bytes, so that grids are the same. */
#ifndef STREAM_CUH
#define STREAM_CUH
#include "cuda_kernel.cuh"

/* Threads of a block where nothing is wished for, and the most that may be; of the most two blocks are resident, which leaves
 * a thread 64 registers, as do four of 256. */
enum {
    STREAM_THREADS = 256,
    STREAM_BYTES = 64,
    STREAM_BLOCKS_PER_SM = 4,
    STREAM_MOST_THREADS = 512,
    STREAM_MOST_RESIDENT = 2,
};

/* BYTES at p, a multiple of BYTES. STREAMING: touched once, to be evicted first. */
template <bool STREAMING, typename T> DEV void access_load(T *v, const T *p) {
    *v = STREAMING ? __ldcs(p) : *p;
}
template <bool STREAMING, typename T> DEV void access_store(T *p, const T *v) {
    if (STREAMING)
        __stcs(p, *v);
    else
        *p = *v;
}
template <int BYTES> struct access_unit;
template <> struct access_unit<1> { using type = unsigned char; };
template <> struct access_unit<2> { using type = unsigned short; };
template <> struct access_unit<4> { using type = unsigned; };
template <> struct access_unit<8> { using type = uint2; };
template <> struct access_unit<16> { using type = uint4; };

template <bool STREAMING, typename T, int BYTES> DEV void load(vec<T, BYTES> &v, const T *p) {
    if constexpr (BYTES == 32) {
        if constexpr (sizeof(T) == 8)
            gpu::load32<STREAMING>(reinterpret_cast<uint64_t(&)[4]>(v), p);
        else
            gpu::load32<STREAMING>(reinterpret_cast<uint32_t(&)[8]>(v), p);
    } else {
        using unit = typename access_unit<BYTES>::type;
        access_load<STREAMING>(reinterpret_cast<unit *>(&v), reinterpret_cast<const unit *>(p));
    }
}
template <bool STREAMING, typename T, int BYTES> DEV void store(T *p, const vec<T, BYTES> &v) {
    if constexpr (BYTES == 32) {
        if constexpr (sizeof(T) == 8)
            gpu::store32<STREAMING>(p, reinterpret_cast<const uint64_t(&)[4]>(v));
        else
            gpu::store32<STREAMING>(p, reinterpret_cast<const uint32_t(&)[8]>(v));
    } else {
        using unit = typename access_unit<BYTES>::type;
        access_store<STREAMING>(reinterpret_cast<unit *>(p), reinterpret_cast<const unit *>(&v));
    }
}

/* Tiles of blockDim.x * thread_bytes over `bytes` of the widest operand: a block for each, or, of a kernel that walks over
 * them, as many as are wished for. Small problems get smaller blocks, to reach all multiprocessors. */
static inline launch_config stream_grid(const struct args *a, int64_t bytes, bool walks,
                                        int thread_bytes = STREAM_BYTES) {
    enum { LEAST = 64 };
    launch_form own = {STREAM_THREADS, 0};
    while (own.threads > LEAST && ceil_div(bytes, own.threads * thread_bytes) < 2 * a->gpu->sms)
        own.threads /= 2;
    const launch_form f = form_of(a, own, {{LEAST, STREAM_MOST_THREADS}, {0, walks ? 32 : 0}});
    const int64_t tiles = ceil_div(bytes, f.threads * thread_bytes);
    launch_config c;
    c.block = dim3(static_cast<unsigned>(f.threads));
    c.grid = dim3(f.blocks_per_sm ? persistent_blocks(a, tiles, f.blocks_per_sm)
                                  : static_cast<unsigned>(tiles));
    c.stream = stream_of(a);
    return c;
}

/* Of a thread's UNROLL vectors of a tile, thread + u * threads, the u-th, or its first where that is past the end: with a
 * branch around each load the compiler might not issue them together. */
DEV int vector_or_own(int u, int vectors) {
    const int v = static_cast<int>(threadIdx.x + u * blockDim.x);
    return v < vectors ? v : static_cast<int>(threadIdx.x);
}

/* Whether a problem leaves the second-level cache anyhow, so that keeping it there is of no use. */
static inline bool streams_past_l2(const struct args *a, int64_t bytes) {
    return bytes > a->gpu->l2_bytes;
}
#endif
