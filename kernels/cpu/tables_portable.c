/* tables_portable.c - the rows of CPUs that have no tables of their own. */
#include "../catalogue.h"

extern const struct impl moves_cpu[], casts_cpu[], elementwise_cpu[], reduce_cpu[], rows_cpu[], fma_cpu[];

const struct impl *const cpu_kernels[] = {
    moves_cpu, casts_cpu, elementwise_cpu, reduce_cpu, rows_cpu, fma_cpu,
    NULL,
};
