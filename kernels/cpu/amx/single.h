/* single.h - products with one row or one column, in AVX-512: a matrix is read once and no tile of
 * it would be used again, so nothing is packed. */
#ifndef AMX_SINGLE_H
#define AMX_SINGLE_H
#include "../../catalogue.h"

static inline bool is_single(struct shape s) { return s.m == 1 || s.n == 1; }

int single_fp16(const struct args *a);
int single_bf16(const struct args *a);
int single_fp8_e4m3(const struct args *a);
int single_fp8_e5m2(const struct args *a);
int single_nvfp4(const struct args *a);
size_t single_scratch(const struct args *a);
#endif
