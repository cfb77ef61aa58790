/* stats.h - medians and their intervals, without any assumption on the distribution. */
#ifndef STATS_H
#define STATS_H
#include <stddef.h>

struct stats {
    double min, p25, median, p75;
    double ci_low, ci_high; /* of the median, at least 95 % sure; the range where n < 6 */
};

/* Sorts x; n > 0. */
struct stats stats_of(double *x, size_t n);

/* Ranks (0-based, low <= high) of the order statistics that enclose the median with a probability of at least 0.95:
 * the binomial(n, 1/2) argument, e.g. David and Nagaraja, Order Statistics, 3rd ed., 7.1. Below n = 6 no pair of ranks
 * does; then the extremes are returned. */
void median_interval_ranks(size_t n, size_t *low, size_t *high);

/* Linear interpolation between order statistics (Hyndman and Fan's type 7); sorted, n > 0, 0 <= q <= 1. */
double quantile(const double *sorted, size_t n, double q);
#endif
