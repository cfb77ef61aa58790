/* matmul.c - packed products in AVX2: a tile of 6 rows by 2 vectors, 12 of the 16 registers. */
#include "../isa.h"
#include "../packed/packed.h"
#include "lanes.h"

#define UNROLL _Pragma("GCC unroll 6")
enum { TILE_ROWS = 6, HEIGHT_1 = 1, HEIGHT_2 = 2, HEIGHT_3 = 4 };
extern const struct impl matvec_avx2[];
static const struct impl *const matvec_tables[] = {matvec_avx2, NULL};
#include "../packed/kernels.inc"

#define ROW(op, dtype) \
    { OP_##op, "packed_avx2", DT_##dtype, product_##dtype, refuses_without_avx2, scratch_##dtype }
extern const struct impl matmul_avx2[];
const struct impl matmul_avx2[] = {
    ROW(matmul, fp64),     ROW(matmul, fp32),     ROW(matmul, fp16),  ROW(matmul, bf16),
    ROW(matmul, fp8_e4m3), ROW(matmul, fp8_e5m2), ROW(matmul, nvfp4), ROW(bmm, fp64),
    ROW(bmm, fp32),        ROW(bmm, fp16),        ROW(bmm, bf16),     ROW(bmm, fp8_e4m3),
    ROW(bmm, fp8_e5m2),    ROW(bmm, nvfp4),       {.run = NULL},
};
