/* spec.h - runs beside data sheets: published peaks as a subject of their own, and a run judged by them. */
#ifndef COMPARE_SPEC_H
#define COMPARE_SPEC_H
#include <stdbool.h>
#include <stdio.h>

/* "spec:h100-sxm" */
bool spec_is_name(const char *name);

/* Bandwidth and rate of every dtype, published or the best that a run measured, of each name, beside the first's. Returns
 * an exit status; what can't be read has been said. */
int spec_compare(FILE *f, char **name, int names, bool csv);

/* What a run reached of the peaks of `spec` (NULL: its own device's): healthy, low, impossible, by the acceptance bands, with
 * likely reasons. STATUS_NO when something is low or impossible, STATUS_ERROR when nothing can be said. */
int spec_check(FILE *f, const char *run, const char *spec, bool csv);
#endif
