/* matvec.c - y[m] = A x in AVX-512, for narrow dtypes, whose decoding it speeds up; loads of 64
 * bytes get a tenth less out of DRAM than those of 32 (AMD Zen 4), so wide dtypes are left to
 * avx2. */
#include "../isa.h"
#include "lanes.h"

#define NARROW_ONLY
#define UNROLL _Pragma("GCC unroll 8")
#include "../lanes/matvec_each.inc"

#define ROW(dtype)                                                               \
    {                                                                            \
        OP_matvec, "avx512", DT_##dtype, matvec_##dtype, refuses_without_avx512, \
            matvec_scratch_##dtype                                               \
    }
extern const struct impl matvec_avx512[];
const struct impl matvec_avx512[] = {
    ROW(fp16), ROW(bf16), ROW(fp8_e4m3), ROW(fp8_e5m2), {.run = NULL},
};
