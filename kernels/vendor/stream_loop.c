/* stream_loop.c - z = x + a y as the STREAM benchmark has it: one plain loop, whose threads and instructions are the
 * compiler's. Its flags are those that STREAM is run with, -O3 and this machine's instruction set; only this file has them.
 * J. D. McCalpin, https://www.cs.virginia.edu/stream/ */
#include "stream_loop.h"

#if defined(__AVX512F__)
const enum stream_needs stream_loop_needs = STREAM_needs_avx512;
#elif defined(__AVX__)
const enum stream_needs stream_loop_needs = STREAM_needs_avx2;
#else
const enum stream_needs stream_loop_needs = STREAM_needs_nothing;
#endif

int stream_triad_fp32(const struct args *a) {
    const float *restrict x = a->buf[0], *restrict y = a->buf[1], alpha = (float)a->alpha;
    float *restrict z = a->buf[2];
    const int64_t n = a->s.n;
#pragma omp parallel for num_threads(a->threads)
    for (int64_t i = 0; i < n; i++) z[i] = x[i] + alpha * y[i];
    return 0;
}

int stream_triad_fp64(const struct args *a) {
    const double *restrict x = a->buf[0], *restrict y = a->buf[1], alpha = a->alpha;
    double *restrict z = a->buf[2];
    const int64_t n = a->s.n;
#pragma omp parallel for num_threads(a->threads)
    for (int64_t i = 0; i < n; i++) z[i] = x[i] + alpha * y[i];
    return 0;
}
