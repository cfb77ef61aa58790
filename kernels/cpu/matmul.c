/* matmul.c - C[m,n] = alpha A[m,k] B[k,n] + beta C in plain C, for one matrix or a batch; any
 * layout. A few rows of C at a time, the inner loop along a row of B: contiguous, and open to
 * the compiler's vectoriser. */
#include "../numerics.h"
#include "parallel.h"

enum { ROWS = 8 }; /* of C that share one pass over B */

#define BODY "matmul.inc"
#include "each_product.inc"

extern const struct impl matmul_cpu[];
const struct impl matmul_cpu[] = {
    ROWS_OF_EACH_PRODUCT(matmul, "portable", matmul, NULL, matmul_scratch),
    ROWS_OF_EACH_PRODUCT(bmm, "portable", matmul, NULL, matmul_scratch),
    {.run = NULL},
};
