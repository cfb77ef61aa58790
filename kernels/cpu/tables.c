/* tables.c - the CPU's rows, from the plain to the fast. */
#include "../catalogue.h"

extern const struct impl moves_cpu[], casts_cpu[], elementwise_cpu[], reduce_cpu[], rows_cpu[], fma_cpu[];
extern const struct impl moves_avx2[], casts_avx2[], elementwise_avx2[], reduce_avx2[], rows_avx2[], fma_avx2[];
extern const struct impl moves_avx512[], casts_avx512[], elementwise_avx512[], reduce_avx512[], rows_avx512[],
    fma_avx512[], fma_avx512_bf16[];
extern const struct impl streaming_avx2[], streaming_avx512[];

const struct impl *const cpu_kernels[] = {
    moves_cpu, casts_cpu, elementwise_cpu, reduce_cpu, rows_cpu, fma_cpu,
    moves_avx2, casts_avx2, elementwise_avx2, reduce_avx2, rows_avx2, fma_avx2,
    moves_avx512, casts_avx512, elementwise_avx512, reduce_avx512, rows_avx512, fma_avx512, fma_avx512_bf16,
    streaming_avx2, streaming_avx512,
    NULL,
};
