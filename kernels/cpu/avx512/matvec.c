/* matvec.c - y[m] = A x in AVX-512; A is stored as [m,n] (layout n) or as [n,m] (layout t). */
#include "../isa.h"
#include "lanes.h"

#define UNROLL _Pragma("GCC unroll 8")
#include "../lanes/matvec_each.inc"

#define ROW(dtype)                                                               \
    {                                                                            \
        OP_matvec, "avx512", DT_##dtype, matvec_##dtype, refuses_without_avx512, \
            matvec_scratch_##dtype                                               \
    }
extern const struct impl matvec_avx512[];
const struct impl matvec_avx512[] = {
    ROW(fp64), ROW(fp32), ROW(fp16), ROW(bf16), ROW(fp8_e4m3), ROW(fp8_e5m2), {.run = NULL},
};
