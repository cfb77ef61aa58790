/* philox.h - random numbers by counter: number i of a stream depends on the seed, the stream and i alone, so every
 * device, thread count and resumed run draws the same. Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random
 * Numbers: As Easy as 1, 2, 3", SC 2011. */
#ifndef PHILOX_H
#define PHILOX_H
#include <stdint.h>

/* Ten rounds. */
void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* 64 random bits, number i of this stream. */
uint64_t philox_bits(uint64_t seed, uint64_t stream, uint64_t i);

/* N(0, 1) by Box and Muller, in double. limit > 0: drawn again until it is within +-limit. */
double philox_normal(uint64_t seed, uint64_t stream, uint64_t i, double limit);
#endif
