/* bulk.cuh - streams by bulk copies of the tensor memory accelerator (sm_90 and later): one instruction of one thread moves
 * kibibytes between global and shared memory, and holds no register while they are under way. A block a multiprocessor goes
 * round its chunks with a ring of stages in shared memory, whose size is how many bytes are in flight: at least the bandwidth of a
 * multiprocessor times the latency, 12 KiB on an H200 and 23 KiB on a B200, and as much again since latency grows with load. Published of a
 * B200, GB/s: 4200 to 4800 with 16 KiB by cp.async, 6690 with 48, 7260 by bulk copies. Not run on a GPU yet. */
#ifndef BULK_CUH
#define BULK_CUH
#include "cuda_kernel.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAS_BULK_COPIES 1
#else
#define HAS_BULK_COPIES 0
#endif

enum {
    BULK_STAGES = 8,
    BULK_STORES = 4,  /* of a copy, whose stages are read while the others are filled */
    BULK_LEAST = 128, /* bytes of a stage, and what it is a multiple of */
};

static inline const char *refuses_bulk(const struct args *a) {
    return a->gpu->cc >= 90 ? nullptr : "bulk copies begin with sm_90";
}

/* A stage when `ring` bytes are wanted on each multiprocessor: less where it could not have them, or some would have none. */
static inline int bulk_stage(const struct gpu_facts *gpu, int64_t bytes, int64_t ring) {
    const int64_t room = gpu->smem_block_bytes - 1024, fair = ceil_div(bytes, gpu->sms);
    int64_t stage = (ring < room ? ring : room) / BULK_STAGES;
    if (fair < stage) stage = fair;
    return static_cast<int>(stage < BULK_LEAST ? int64_t{BULK_LEAST}
                                               : stage / BULK_LEAST * BULK_LEAST);
}

/* Blocks of `threads` for `visits` of chunks of so many bytes. */
static inline launch_config bulk_grid(const struct gpu_facts *gpu, int64_t visits, int stages,
                                      int stage, unsigned threads, cudaStream_t stream) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(visits < 1 ? 1 : visits < gpu->sms ? visits : gpu->sms));
    c.block = dim3(threads);
    c.smem = static_cast<size_t>(stages) * static_cast<size_t>(stage);
    c.stream = stream;
    return c;
}

/* The ring of rows, not of probes: 128 KiB. */
enum { BULK_RING = 128 << 10 };

/* to = from, both multiples of 16, `passes` times; to = a pattern that repeats every 8 bytes. Any number of bytes. */
cudaError_t bulk_copy(void *to, const void *from, int64_t bytes, int64_t passes, int64_t ring,
                      const struct gpu_facts *gpu, cudaStream_t stream);
cudaError_t bulk_fill(void *to, uint64_t pattern, int64_t bytes, int64_t ring,
                      const struct gpu_facts *gpu, cudaStream_t stream);

/* ---- on the GPU ---- */

/* A block's chunks of `stage` bytes, the last one shorter; from the first to the last and from the first again. */
struct bulk_walk {
    int64_t at, chunks, left, bytes;
    int stage;
    DEV bulk_walk(int64_t all_bytes, int stage_bytes, int64_t passes)
        : chunks((all_bytes + stage_bytes - 1) / stage_bytes), bytes(all_bytes),
          stage(stage_bytes) {
        const int64_t visits = chunks * passes, blocks = gridDim.x;
        at = chunks ? blockIdx.x % chunks : 0;
        left = blockIdx.x < visits ? (visits - blockIdx.x - 1) / blocks + 1 : 0;
    }
    DEV int64_t first() const { return at * stage; }
    DEV uint32_t size() const {
        return static_cast<uint32_t>(bytes - first() < stage ? bytes - first() : stage);
    }
    DEV void next() {
        at += gridDim.x;
        while (at >= chunks) at -= chunks; /* the grid is no larger than the visits: a few times */
        left--;
    }
};

DEV void bulk_init(uint64_t *full) {
    for (int s = 0; s < BULK_STAGES; s++) gpu::mbar_init(&full[s], 1);
    gpu::mbar_fence_init();
}
DEV void bulk_fetch(char *ring, uint64_t *full, int stage, const char *x, bulk_walk &chunk) {
    gpu::mbar_arrive_expect_tx(&full[stage], chunk.size());
    gpu::bulk_load(ring + stage * chunk.stage, x + chunk.first(), chunk.size(), &full[stage]);
    chunk.next();
}

/* use(16 bytes) for all of x, a multiple of 16 bytes, by all threads of the grid. */
template <class USE>
DEV void bulk_read(char *ring, uint64_t *full, const char *x, int64_t bytes, int stage_bytes,
                   int64_t passes, const USE &use) {
    bulk_walk ahead(bytes, stage_bytes, passes), chunk = ahead;
    if (threadIdx.x == 0) {
        bulk_init(full);
        for (int s = 0; s < BULK_STAGES && ahead.left > 0; s++) bulk_fetch(ring, full, s, x, ahead);
    }
    __syncthreads(); /* the mbarriers are there */
    int stage = 0;
    uint32_t parity = 0;
#pragma unroll 1
    for (; chunk.left > 0; chunk.next()) {
        gpu::mbar_wait(&full[stage], parity);
        const uint4 *v = reinterpret_cast<const uint4 *>(ring + stage * stage_bytes);
        const unsigned vectors = chunk.size() / 16;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) use(v[i]);
        __syncthreads(); /* all have read the stage */
        if (threadIdx.x == 0 && ahead.left > 0) bulk_fetch(ring, full, stage, x, ahead);
        if (++stage < BULK_STAGES) continue;
        stage = 0;
        parity ^= 1;
    }
}
#endif
