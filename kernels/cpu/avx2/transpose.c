/* transpose.c - Y[n,m] = X[m,n]' in AVX2: tiles turned in registers, whole cache lines of Y
 * written at once. */
#include "../isa.h"
#include "lanes.h"

enum { LINE = 64 };
static inline void line_store(void *y, const void *x) {
    const __m256i *from = x;
    __m256i *to = y;
    _mm256_storeu_si256(to, _mm256_load_si256(from));
    _mm256_storeu_si256(to + 1, _mm256_load_si256(from + 1));
}
static inline void line_stream(void *y, const void *x) {
    const __m256i *from = x;
    __m256i *to = y;
    _mm256_stream_si256(to, _mm256_load_si256(from));
    _mm256_stream_si256(to + 1, _mm256_load_si256(from + 1));
}

#include "../lanes/transpose_each.inc"

#define ROW(dtype, size) \
    { OP_transpose, "avx2", DT_##dtype, transpose_##size, refuses_without_avx2, NULL }
extern const struct impl transpose_avx2[];
const struct impl transpose_avx2[] = {
    ROW(fp64, 8),     ROW(fp32, 4),     ROW(fp16, 2),  ROW(bf16, 2),
    ROW(fp8_e4m3, 1), ROW(fp8_e5m2, 1), {.run = NULL},
};
