/* clock.h - reading the clock of a multiprocessor from a kernel. */
#ifndef CUDA_CLOCK_H
#define CUDA_CLOCK_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launches one thread that computes for `seconds`; then out[0], device memory of 3 words, holds cycles and out[1]
 * nanoseconds of the same interval. 0 or a cudaError_t. */
int cuda_clock_start(uint64_t out[3], double seconds, void *stream);

#ifdef __cplusplus
}
#endif
#endif
