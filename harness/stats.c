/* stats.c - order statistics. */
#include "stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(const double *sorted, size_t n, double q) {
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

/* The interval from the (r+1)-th smallest to the (r+1)-th largest misses the median with probability
 * 2 P(binomial(n, 1/2) <= r): the largest r is taken that keeps this within 5 %. */
void median_interval_ranks(size_t n, size_t *low, size_t *high) {
    double term = exp2(-(double)n),
           tail = term; /* P(X = 0); underflows past n = 1074, where the sum is by logs */
    size_t r = 0;
    if (n > 1000) {
        const double half = 0.98 * sqrt((double)n);    /* normal approximation: 1.96 sqrt(n) / 2 */
        r = (size_t)floor((double)n / 2 - half - 0.5); /* continuity */
    } else {
        for (size_t i = 1; 2 * i < n; i++) {
            term *= (double)(n - i + 1) / (double)i;
            tail += term;
            if (2 * tail > 0.05) break;
            r = i;
        }
    }
    *low = r;
    *high = n - 1 - r;
}

struct stats stats_of(double *x, size_t n) {
    assert(n > 0);
    size_t low, high;
    qsort(x, n, sizeof *x, ascending);
    median_interval_ranks(n, &low, &high);
    return (struct stats){.min = x[0],
                          .p25 = quantile(x, n, .25),
                          .median = quantile(x, n, .5),
                          .p75 = quantile(x, n, .75),
                          .ci_low = x[low],
                          .ci_high = x[high]};
}
