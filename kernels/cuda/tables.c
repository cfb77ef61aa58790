/* tables.c - the GPU's rows, from the plain to the fast: of those that accept a problem the last is the best. */
#include "../catalogue.h"

extern const struct impl casts_cuda[], elementwise_cuda[], embedding_cuda[], fma_cuda[],
    fma_tcgen05_cuda[], fma_wgmma_cuda[], losses_cuda[], matvec_cuda[], moves_cuda[],
    optimizers_cuda[], reduce_cuda[], rows_cuda[], transpose_cuda[];
extern const struct impl matmul_cuda[], matmul_simt_cuda[], matmul_mma_bf16_cuda[],
    matmul_mma_fp16_cuda[], matmul_mma_fp64_cuda[], matmul_mma_fp8_cuda[], matmul_mma_nvfp4_cuda[],
    matmul_mma_tf32_cuda[];
extern const struct impl matmul_wgmma_bf16_cuda[], matmul_wgmma_fp16_cuda[],
    matmul_wgmma_fp8_cuda[], matmul_wgmma_tf32_cuda[];
extern const struct impl matmul_tcgen05_bf16_cuda[], matmul_tcgen05_fp16_cuda[],
    matmul_tcgen05_fp8_cuda[], matmul_tcgen05_nvfp4_cuda[], matmul_tcgen05_tf32_cuda[];

const struct impl *const cuda_kernels[] = {
    casts_cuda,
    elementwise_cuda,
    embedding_cuda,
    fma_cuda,
    fma_wgmma_cuda, /* after what is slower */
    fma_tcgen05_cuda,
    losses_cuda,
    matvec_cuda,
    moves_cuda,
    optimizers_cuda,
    reduce_cuda,
    rows_cuda,
    transpose_cuda,
    /* products */
    matmul_cuda,
    matmul_simt_cuda,
    matmul_mma_bf16_cuda,
    matmul_mma_fp16_cuda,
    matmul_mma_fp64_cuda,
    matmul_mma_fp8_cuda,   /* after bf16, which does fp8 as well */
    matmul_mma_nvfp4_cuda, /* after bf16, as fp8 */
    matmul_mma_tf32_cuda,
    matmul_wgmma_bf16_cuda,
    matmul_wgmma_fp16_cuda,
    matmul_wgmma_fp8_cuda,
    matmul_wgmma_tf32_cuda,
    matmul_tcgen05_bf16_cuda,
    matmul_tcgen05_fp16_cuda,
    matmul_tcgen05_fp8_cuda,
    matmul_tcgen05_nvfp4_cuda, /* after bf16, which does nvfp4 as well */
    matmul_tcgen05_tf32_cuda,
    NULL,
};
