/* unit_stats.c - order statistics on figures worked out by hand. */
#include "../harness/stats.h"
#include "test.h"

#include <math.h>

/* 1-based ranks of the 95 % interval of a median, as tables of the sign test print them. */
static void ranks(void) {
    static const struct {
        size_t n, low, high;
    } known[] = {{1, 1, 1},    {5, 1, 5},    {6, 1, 6},    {8, 1, 8},   {9, 2, 8},
                 {11, 2, 10},  {12, 3, 10},  {15, 4, 12},  {20, 6, 15}, {25, 8, 18},
                 {30, 10, 21}, {50, 18, 33}, {100, 40, 61}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t low, high;
        median_interval_ranks(known[i].n, &low, &high);
        CHECK(low + 1 == known[i].low, "n = %zu: low rank %zu, want %zu", known[i].n, low + 1,
              known[i].low);
        CHECK(high + 1 == known[i].high, "n = %zu: high rank %zu, want %zu", known[i].n, high + 1,
              known[i].high);
    }
}

/* Coverage by the binomial distribution itself, and no narrower pair of ranks would do. */
static void coverage(void) {
    for (size_t n = 6; n <= 300; n++) {
        size_t low, high;
        double outside = 0, next = 0, term = ldexp(1, -(int)n);
        median_interval_ranks(n, &low, &high);
        for (size_t i = 0; i <= low + 1; i++) {
            if (i <= low) outside += 2 * term;
            next += 2 * term;
            term *= (double)(n - i) / (double)(i + 1);
        }
        CHECK(outside <= 0.05 + 1e-12, "n = %zu: misses with %g", n, outside);
        CHECK(next > 0.05 || low + 2 > high, "n = %zu: could be narrower: %g", n, next);
        CHECK(low + high == n - 1, "n = %zu: not symmetric", n);
    }
}

/* The normal approximation takes over without a jump. */
static void large(void) {
    size_t low, high, low_after, high_after;
    median_interval_ranks(1000, &low, &high);
    median_interval_ranks(1002, &low_after, &high_after);
    CHECK(low_after + 2 >= low && low_after <= low + 3, "%zu then %zu", low, low_after);
    median_interval_ranks(4000, &low, &high);
    CHECK(low + 1 >= 1936 && low + 1 <= 1940, "n = 4000: low rank %zu, want about 2000 - 62",
          low + 1);
}

static void quantiles(void) {
    double x[] = {9, 1, 7, 3, 5};
    const struct stats s = stats_of(x, 5);
    CHECK(s.median == 5 && s.p25 == 3 && s.p75 == 7 && s.min == 1, "%g %g %g %g", s.median, s.p25,
          s.p75, s.min);
    CHECK(s.ci_low == 1 && s.ci_high == 9, "%g %g", s.ci_low, s.ci_high);
    double even[] = {4, 1, 3, 2};
    const struct stats e = stats_of(even, 4);
    CHECK(e.median == 2.5 && e.p25 == 1.75 && e.p75 == 3.25, "%g %g %g", e.median, e.p25, e.p75);
    double one[] = {42};
    const struct stats o = stats_of(one, 1);
    CHECK(o.median == 42 && o.ci_low == 42 && o.ci_high == 42, "%g", o.median);
    const double sorted[] = {0, 10};
    CHECK(quantile(sorted, 2, 0) == 0 && quantile(sorted, 2, 1) == 10 &&
              quantile(sorted, 2, 0.3) == 3,
          "ends");
}

int main(void) {
    ranks();
    coverage();
    large();
    quantiles();
    return test_result();
}
