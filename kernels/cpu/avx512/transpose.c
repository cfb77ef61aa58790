/* transpose.c - Y[n,m] = X[m,n]' in AVX-512: tiles turned in registers, whole cache lines of Y
 * written at once. */
#include "../isa.h"
#include "lanes.h"

enum { LINE = 64 };
static inline void line_store(void *y, const void *x) {
    _mm512_storeu_si512(y, _mm512_load_si512(x));
}
static inline void line_stream(void *y, const void *x) {
    _mm512_stream_si512(y, _mm512_load_si512(x));
}

#include "../lanes/transpose_each.inc"

#define ROW(dtype, size) \
    { OP_transpose, "avx512", DT_##dtype, transpose_##size, refuses_without_avx512, NULL }
extern const struct impl transpose_avx512[];
const struct impl transpose_avx512[] = {
    ROW(fp64, 8),     ROW(fp32, 4),     ROW(fp16, 2),  ROW(bf16, 2),
    ROW(fp8_e4m3, 1), ROW(fp8_e5m2, 1), {.run = NULL},
};
