/* tables.c - the CPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl moves_cpu[], casts_cpu[], elementwise_cpu[], reduce_cpu[], rows_cpu[],
    fma_cpu[];
extern const struct impl transpose_cpu[], matvec_cpu[], matmul_cpu[];
extern const struct impl transpose_avx2[], transpose_avx512[], matvec_avx2[], matvec_avx512[];
extern const struct impl matmul_avx2[], matmul_avx512[], matmul_avx512_bf16[];

const struct impl *const cpu_kernels[] = {
    /* any CPU */
    moves_cpu,
    casts_cpu,
    elementwise_cpu,
    reduce_cpu,
    rows_cpu,
    fma_cpu,
    transpose_cpu,
    matvec_cpu,
    matmul_cpu,
    /* AVX2 */
    transpose_avx2,
    matvec_avx2,
    matmul_avx2,
    /* AVX-512 */
    transpose_avx512,
    matvec_avx512,
    matmul_avx512,
    matmul_avx512_bf16,
    NULL,
};
