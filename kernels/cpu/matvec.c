/* matvec.c - y[m] = A x in plain C; A is stored as [m,n] (layout n) or as [n,m] (layout t). */
#include "../numerics.h"
#include "parallel.h"

enum {
    COLUMNS = 128
}; /* of a stored row that one pass sums: at least a cache line in every dtype */

#define BODY "matvec.inc"
#include "each_product.inc"

#define ROW(dtype) \
    { OP_matvec, "portable", DT_##dtype, matvec_##dtype, NULL, NULL }
extern const struct impl matvec_cpu[];
const struct impl matvec_cpu[] = {
    ROW(fp64),     ROW(fp32),     ROW(fp16),  ROW(bf16),
    ROW(fp8_e4m3), ROW(fp8_e5m2), ROW(nvfp4), {.run = NULL},
};
