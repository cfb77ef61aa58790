/* rows.c - ../rows.c in 256-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#include "../rows_all.inc"

extern const struct impl rows_avx2[];
const struct impl rows_avx2[] = {
#define NAME       "avx2"
#define REFUSES(t) refuses_without_avx2
#include "../rows_rows.inc"
    {.run = NULL},
};
