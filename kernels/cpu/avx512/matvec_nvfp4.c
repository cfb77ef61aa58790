/* matvec_nvfp4.c - y[m] = A x of nvfp4 in AVX-512. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../matvec_nvfp4.inc"

extern const struct impl matvec_nvfp4_avx512[];
const struct impl matvec_nvfp4_avx512[] = {
    {OP_matvec, "avx512", DT_nvfp4, matvec_nvfp4, refuses_without_avx512, matvec_scratch_nvfp4},
    {.run = NULL},
};
