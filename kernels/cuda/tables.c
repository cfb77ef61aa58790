/* tables.c - the GPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl matmul_cuda[], matmul_mma_bf16_cuda[], matmul_mma_fp16_cuda[],
    matmul_mma_fp64_cuda[], matmul_mma_fp8_cuda[], matmul_mma_tf32_cuda[], matmul_simt_cuda[];
extern const struct impl moves_cuda[];

const struct impl *const cuda_kernels[] = {
    /* products: of those that accept a problem, the last is the best */
    matmul_cuda,
    matmul_simt_cuda,
    matmul_mma_bf16_cuda,
    matmul_mma_fp16_cuda,
    matmul_mma_fp64_cuda,
    matmul_mma_fp8_cuda, /* after bf16, which does fp8 as well */
    matmul_mma_tf32_cuda,
    moves_cuda,
    NULL,
};
const struct impl *const vendor_cuda_kernels[] = {NULL};
