/* casts.c - between fp32 and every other dtype, and from bf16 to fp8, rounding to nearest even, in plain C. */
#include "vec.h"
#include "parallel.h"
#include "table_rows.h"

#define NOT_FP32
#define BODY "casts.inc"
#include "each_dtype.inc"
#include "casts_nvfp4.inc"

extern const struct impl casts_cpu[];
const struct impl casts_cpu[] = {
#define NAME       "portable"
#define REFUSES(t) NULL
#include "casts_rows.inc"
    {.run = NULL},
};
