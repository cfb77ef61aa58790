/* casts.c - ../casts.c in 256-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#define NOT_FP32
#define BODY "casts.inc"
#include "../each_dtype.inc"
#include "../casts_nvfp4.inc"

extern const struct impl casts_avx2[];
const struct impl casts_avx2[] = {
#define NAME       "avx2"
#define REFUSES(t) refuses_without_avx2
#include "../casts_rows.inc"
    {.run = NULL},
};
