/* elementwise.c - z[i] = f(x[i], y[i]): one pass over contiguous vectors, in plain C. */
#include "vec.h"
#include "parallel.h"
#include "table_rows.h"

#define BODY "elementwise.inc"
#include "each_dtype.inc"

extern const struct impl elementwise_cpu[];
const struct impl elementwise_cpu[] = {
#define NAME       "portable"
#define REFUSES(t) NULL
#include "elementwise_rows.inc"
#include "elementwise_stream_rows.inc"
    {.run = NULL},
};
