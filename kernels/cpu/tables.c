/* tables.c - the CPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl moves_cpu[], casts_cpu[], elementwise_cpu[], reduce_cpu[], rows_cpu[], fma_cpu[];

const struct impl *const cpu_kernels[] = {
    moves_cpu, casts_cpu, elementwise_cpu, reduce_cpu, rows_cpu, fma_cpu,
    NULL,
};
