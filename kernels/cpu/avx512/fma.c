/* fma.c - ../fma.c in 512-bit vectors: fused multiply-adds. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"

enum { CHAINS = 16 }; /* of 32 registers */
#define EVERY_CHAIN _Pragma("GCC unroll 16")

#define WIDE_ONLY
#define BODY "fma.inc"
#include "../each_dtype.inc"

extern const struct impl fma_avx512[];
const struct impl fma_avx512[] = {
    {OP_fma, "avx512", DT_fp64, fma_fp64, refuses_without_avx512, NULL},
    {OP_fma, "avx512", DT_fp32, fma_fp32, refuses_without_avx512, NULL},
    {.run = NULL},
};
