/* fill.h - what operands hold. Reproducible: element i of an operand depends on nothing but fill, dtype, domain, i. */
#ifndef FILL_H
#define FILL_H
#include "../kernels/catalogue.h"

enum fill {
    FILL_normal,  /* N(0, 1): what timing runs on unless told otherwise */
    FILL_uniform, /* [-1, 1) */
    FILL_integers, /* -2 -1 1 2: every sum is exact in the accumulator, so results must match to the last bit */
    FILL_constant, /* 0.5 */
    FILL_zeros,
    FILL_COUNT
};
extern const char *const fill_names[FILL_COUNT];

/* Blocks of 16 encoded elements, drawn once; a tensor is made of randomly chosen ones. */
struct fill_pool {
    enum dtype dtype;
    void *blocks;
    uint8_t *scales; /* nvfp4: an E4M3 scale a block */
    float tensor_scale;
};

/* The pool of this kind, made on first use and kept; NULL: no memory. Not for concurrent callers.
 * DOMAIN_POSITIVE maps x to |x| + 1/4 (integers: |x|); DOMAIN_UNIT to within +-1. */
const struct fill_pool *fill_pool_get(enum fill fill, enum dtype t, enum domain domain);

/* Fills `elements` of host memory; `seed` tells operands apart. Threads touch what they will use. */
void fill_tensor(const struct fill_pool *p, void *tensor, int64_t elements, uint64_t seed,
                 int threads);

/* What a HYPER operand holds with every fill. Powers of two, so that steps without roots are exact on the exact fill, and large,
 * so that each shows in a result; but the decay is so small that repeated steps on one gradient do not come to rest, where
 * state would decay into subnormals, which some CPUs are slow with. */
extern const double hyper_defaults[HYPER_COUNT];
void fill_hyper(enum dtype t, void *vector); /* t: how it is stored */

/* Fills an INDEX operand with numbers from 0 to below `n`. As many as words in a text fall to each: by Zipf's law, the v-th as
 * often as 1/v (uniform: as often as others; constant: n/2; zeros: 0). */
void fill_indices(enum fill fill, int32_t *index, int64_t elements, int64_t n, uint64_t seed,
                  int threads);
bool indices_are_intact(enum fill fill, const int32_t *index, int64_t elements, int64_t n,
                        uint64_t seed);

/* Whether the tensor still holds what fill_tensor() put there: its first and last 4096 blocks of 16 elements and every
 * 61st between; tensors up to 128 Ki elements whole. */
bool fill_is_intact(const struct fill_pool *p, const void *tensor, int64_t elements, uint64_t seed);
#endif
