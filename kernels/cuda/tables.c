/* tables.c - the GPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl casts_cuda[], elementwise_cuda[], moves_cuda[], reduce_cuda[],
    transpose_cuda[];

const struct impl *const cuda_kernels[] = {
    casts_cuda, elementwise_cuda, moves_cuda, reduce_cuda, transpose_cuda, NULL,
};
const struct impl *const vendor_cuda_kernels[] = {NULL};
