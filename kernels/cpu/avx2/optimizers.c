/* optimizers.c - ../optimizers.c in 256-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../optimizers.h"
#include "../table_rows.h"

#define TRAINED_ONLY
#define BODY "optimizers.inc"
#include "../each_dtype.inc"

extern const struct impl optimizers_avx2[];
const struct impl optimizers_avx2[] = {
#define NAME       "avx2"
#define REFUSES(t) refuses_without_avx2
#include "../optimizers_rows.inc"
    {.run = NULL},
};
