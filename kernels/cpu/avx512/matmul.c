/* matmul.c - packed products in AVX-512: a tile of 12 rows by 2 vectors, 24 of the 32 registers. */
#include "../isa.h"
#include "../packed/packed.h"
#include "lanes.h"

#define UNROLL _Pragma("GCC unroll 12")
enum { TILE_ROWS = 12, HEIGHT_1 = 2, HEIGHT_2 = 4, HEIGHT_3 = 8 };
extern const struct impl matvec_avx2[], matvec_avx512[];
static const struct impl *const matvec_tables[] = {matvec_avx512, matvec_avx2, NULL};
#include "../packed/kernels.inc"

#define ROW(op, dtype)                                                                 \
    {                                                                                  \
        OP_##op, "packed_avx512", DT_##dtype, product_##dtype, refuses_without_avx512, \
            scratch_##dtype                                                            \
    }
extern const struct impl matmul_avx512[];
const struct impl matmul_avx512[] = {
    ROW(matmul, fp64),     ROW(matmul, fp32),     ROW(matmul, fp16),  ROW(matmul, bf16),
    ROW(matmul, fp8_e4m3), ROW(matmul, fp8_e5m2), ROW(matmul, nvfp4), ROW(bmm, fp64),
    ROW(bmm, fp32),        ROW(bmm, fp16),        ROW(bmm, bf16),     ROW(bmm, fp8_e4m3),
    ROW(bmm, fp8_e5m2),    ROW(bmm, nvfp4),       {.run = NULL},
};
