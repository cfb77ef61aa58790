/* probes.h - kernels that each measure one fact of a GPU. Launches are asynchronous; 0 or a cudaError_t. All pointers are to
 * device memory; every kernel leaves what proves that it did its work. */
#ifndef CUDA_PROBES_H
#define CUDA_PROBES_H
#include "../catalogue.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PROBE_TILE_BYTES = 32 << 10, /* of probe_read(): its buffer is a multiple */
    PROBE_SHARED_BYTES = 64 << 10,
    PROBE_LINK_BYTES = 8,
};

/* Reads all of x `passes` times, past the L1. *sum grows by the sum of its 32-bit words each time. */
int probe_read(const void *x, int64_t bytes, int64_t passes, uint32_t *sum,
               const struct gpu_facts *gpu, void *stream);

/* By bulk copies (sm_90 and later), with `in_flight` bytes a multiprocessor: reads all of x, as probe_read(); copies x to y. bytes is
 * a multiple of 16. */
int probe_bulk_read(const void *x, int64_t bytes, int64_t passes, int64_t in_flight, uint32_t *sum,
                    const struct gpu_facts *gpu, void *stream);
int probe_bulk_copy(const void *x, void *y, int64_t bytes, int64_t passes, int64_t in_flight,
                    const struct gpu_facts *gpu, void *stream);

/* A block a multiprocessor reads its PROBE_SHARED_BYTES of shared memory `rounds` times: word i holds i. sum[block] is
 * the sum of what was read, cycles[block] what it took. */
int probe_shared(int64_t rounds, uint32_t *sum, uint64_t *cycles, const struct gpu_facts *gpu,
                 void *stream);

/* Makes a ring: the node at ring + order[i] * stride points to that of order[i + 1], the last to the first. */
int probe_link(void *ring, const uint32_t *order, int64_t nodes, int64_t stride, void *stream);

/* One thread follows `warm` pointers, then `steps` with a clock. out: cycles, ns, where it arrived. */
int probe_chase(const void *start, int64_t warm, int64_t steps, bool through_l1, uint64_t out[3],
                void *stream);

/* As small as a kernel can be that can be seen to have run: *count grows by one. */
int probe_empty(uint32_t *count, void *stream);

/* Multiply-adds on every multiprocessor, at least 64 rounds. Block b leaves cycles, ns and 1 (the right result) in
 * out[3 b] and on. */
enum { PROBE_BUSY_BLOCKS = 4 }; /* a multiprocessor */
int probe_busy(int64_t rounds, uint64_t *out, const struct gpu_facts *gpu, void *stream);

#ifdef __cplusplus
}
#endif
#endif
