/* elementwise.c - z[i] = f(x[i], y[i]): one pass over contiguous vectors, in plain C. */
#include "vec.h"
#include "parallel.h"

#define BODY "elementwise.inc"
#include "each_dtype.inc"

extern const struct impl elementwise_cpu[];
const struct impl elementwise_cpu[] = {
#define NAME    "portable"
#define REFUSES NULL
#include "elementwise_rows.inc"
    {.run = NULL},
};
