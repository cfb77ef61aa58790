/* optimizers.c - ../optimizers.c in 512-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../optimizers.h"
#include "../table_rows.h"

#define TRAINED_ONLY
#define BODY "optimizers.inc"
#include "../each_dtype.inc"

extern const struct impl optimizers_avx512[];
const struct impl optimizers_avx512[] = {
#define NAME       "avx512"
#define REFUSES(t) refuses_without_avx512
#include "../optimizers_rows.inc"
    {.run = NULL},
};
