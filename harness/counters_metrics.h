/* counters_metrics.h - which metrics make up which field of struct counted; between counters_metrics.c and counters.c. */
#ifndef COUNTERS_METRICS_H
#define COUNTERS_METRICS_H
#include "counters.h"

/* A field is the sum of weight * metric over its terms. */
struct counters_term {
    const char *metric;
    size_t field; /* offset in struct counted */
    double weight;
};

/* Terms of a chip; how many, 0 for an unknown chip. */
int counters_terms(const char *chip, struct counters_term terms[COUNTERS_MAX_METRICS]);

/* Sums value[i] of terms[i], NaN for what was not counted. A field with an unknown term, or without terms, is NaN;
 * passes is 0. */
void counters_sum(const struct counters_term terms[], const double value[], int count,
                  struct counted *out);
#endif
