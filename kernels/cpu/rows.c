/* rows.c - softmax, rmsnorm, layernorm, cross-entropy: threads share out the rows; sums in fp32, of fp64 in fp64. Plain C. */
#include "vec.h"
#include "parallel.h"
#include "table_rows.h"

#include "rows_all.inc"

extern const struct impl rows_cpu[];
const struct impl rows_cpu[] = {
#define NAME       "portable"
#define REFUSES(t) NULL
#include "rows_rows.inc"
    {.run = NULL},
};
