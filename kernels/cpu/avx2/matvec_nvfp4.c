/* matvec_nvfp4.c - y[m] = A x of nvfp4 in AVX2. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../matvec_nvfp4.inc"

extern const struct impl matvec_nvfp4_avx2[];
const struct impl matvec_nvfp4_avx2[] = {
    {OP_matvec, "avx2", DT_nvfp4, matvec_nvfp4, refuses_without_avx2, matvec_scratch_nvfp4},
    {.run = NULL},
};
