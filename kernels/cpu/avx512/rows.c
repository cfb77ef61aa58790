/* rows.c - ../rows.c in 512-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#include "../rows_all.inc"

extern const struct impl rows_avx512[];
const struct impl rows_avx512[] = {
#define NAME       "avx512"
#define REFUSES(t) refuses_without_avx512
#include "../rows_rows.inc"
    {.run = NULL},
};
