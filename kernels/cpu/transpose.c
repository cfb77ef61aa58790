/* transpose.c - Y[n,m] = X[m,n]' in plain C, by square blocks that fit in the first-level cache. */
#include "../numerics.h"
#include "parallel.h"

enum { EDGE = 64 };

#define BODY "transpose.inc"
#include "each_dtype.inc"

extern const struct impl transpose_cpu[];
const struct impl transpose_cpu[] = {
    ROWS_OF_EACH_DTYPE(transpose, "portable", transpose, NULL, NULL),
    {.run = NULL},
};
