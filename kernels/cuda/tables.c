/* tables.c - the GPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl moves_cuda[];

const struct impl *const cuda_kernels[] = {
    moves_cuda,
    NULL,
};
