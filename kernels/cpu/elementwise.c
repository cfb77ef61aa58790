/* elementwise.c - y[n] from x[n], one pass over contiguous vectors, in plain C. */
#include "../numerics.h"
#include "parallel.h"

#define BODY "elementwise.inc"
#include "each_dtype.inc"

extern const struct impl elementwise_cpu[];
const struct impl elementwise_cpu[] = {
    ROWS_OF_EACH_DTYPE(copy, "portable", copy, NULL, NULL),
    {.run = NULL},
};
