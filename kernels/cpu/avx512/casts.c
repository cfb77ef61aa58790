/* casts.c - ../casts.c in 512-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#define NOT_FP32
#define BODY "casts.inc"
#include "../each_dtype.inc"
#include "../casts_nvfp4.inc"

extern const struct impl casts_avx512[];
const struct impl casts_avx512[] = {
#define NAME       "avx512"
#define REFUSES(t) refuses_without_avx512
#include "../casts_rows.inc"
    {.run = NULL},
};
