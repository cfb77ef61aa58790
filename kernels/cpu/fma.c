/* fma.c - the flat roof without instruction sets: k rounds of multiplications and additions on 16-byte vectors, which
 * every 64-bit CPU has (compilers take others apart). Where there is no fused operation, a multiply-add is two. */
#include "../catalogue.h"
#include "parallel.h"

#include <string.h>

enum { lanes_fp64 = 2, lanes_fp32 = 4 };
typedef double vec_fp64 __attribute__((vector_size(16)));
typedef float vec_fp32 __attribute__((vector_size(16)));

/* No instruction, but the compiler has to take v for changed. Without it, it would multiply once for all chains and
 * rounds, and only add: x w is always the same. */
#if defined(__x86_64__)
#define NEW_VALUE(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define NEW_VALUE(v) __asm__("" : "+w"(v))
#else
#define NEW_VALUE(v) __asm__("" : "+m"(v))
#endif

enum { CHAINS = 8 }; /* of 16 registers; a product is not in a chain */
#define EVERY_CHAIN _Pragma("GCC unroll 8")

#define V             AFN(vec)
#define LANES         AFN(lanes)
#define MADD(a, b, c) ((a) * (b) + (c))
#define LOAD(x, i)    LOAD_PART(x, i, LANES, 0)
#define LOAD_PART     FN(load_part)
#define STORE_PART    FN(store_part)
#define SPLAT         FN(splat)

#define WIDE_ONLY
#define BODY "fma_vec.inc"
#include "each_dtype.inc"
#define WIDE_ONLY
#define BODY "fma.inc"
#include "each_dtype.inc"

extern const struct impl fma_cpu[];
const struct impl fma_cpu[] = {
    {OP_fma, "portable", DT_fp64, fma_fp64, NULL, NULL},
    {OP_fma, "portable", DT_fp32, fma_fp32, NULL, NULL},
    {.run = NULL},
};
