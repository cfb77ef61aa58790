/* tables_portable.c - the rows of CPUs that have no tables of their own. */
#include "../catalogue.h"

extern const struct impl moves_cpu[], casts_cpu[], elementwise_cpu[], reduce_cpu[], rows_cpu[],
    fma_cpu[];
extern const struct impl transpose_cpu[], matvec_cpu[], matmul_cpu[], embedding_cpu[],
    optimizers_cpu[];

const struct impl *const cpu_kernels[] = {
    moves_cpu,     casts_cpu,  elementwise_cpu, reduce_cpu,    rows_cpu,       fma_cpu,
    transpose_cpu, matvec_cpu, matmul_cpu,      embedding_cpu, optimizers_cpu, NULL,
};
