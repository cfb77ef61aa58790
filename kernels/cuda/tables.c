/* tables.c - the GPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl fma_cuda[];
extern const struct impl matvec_cuda[];
extern const struct impl moves_cuda[];
extern const struct impl rows_cuda[];

const struct impl *const cuda_kernels[] = {
    fma_cuda,
    matvec_cuda,
    moves_cuda,
    rows_cuda,
    NULL,
};
const struct impl *const vendor_cuda_kernels[] = {NULL};
