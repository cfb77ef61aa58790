/* fma.c - ../fma.c in 256-bit vectors: fused multiply-adds. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"

enum { CHAINS = 12 }; /* and four multipliers: all 16 registers */
#define EVERY_CHAIN _Pragma("GCC unroll 12")

#define WIDE_ONLY
#define BODY "fma.inc"
#include "../each_dtype.inc"

extern const struct impl fma_avx2[];
const struct impl fma_avx2[] = {
    {OP_fma, "avx2", DT_fp64, fma_fp64, refuses_without_avx2, NULL},
    {OP_fma, "avx2", DT_fp32, fma_fp32, refuses_without_avx2, NULL},
    {.run = NULL},
};
