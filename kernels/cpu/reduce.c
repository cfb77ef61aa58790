/* reduce.c - dot, sum, mean, max, amax, mse of vectors, in plain C. */
#include "vec.h"
#include "parallel.h"
#include "table_rows.h"

#include "reduce_all.inc"

extern const struct impl reduce_cpu[];
const struct impl reduce_cpu[] = {
#define NAME       "portable"
#define REFUSES(t) NULL
#include "reduce_rows.inc"
#include "reduce_stream_rows.inc"
    {.run = NULL},
};
