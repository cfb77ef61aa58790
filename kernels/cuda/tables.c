/* tables.c - the GPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl matmul_cuda[], matmul_simt_cuda[];
extern const struct impl moves_cuda[];

const struct impl *const cuda_kernels[] = {
    matmul_cuda, matmul_simt_cuda, /* in this order: the last that accepts a problem is the best */
    moves_cuda,
    NULL,
};
const struct impl *const vendor_cuda_kernels[] = {NULL};
