/* chart_comparison.h - charts of two runs or more. */
#ifndef CHART_COMPARISON_H
#define CHART_COMPARISON_H
#include "chart.h"

/* label_<i>, colour_<i> and dash_<i> of each run, and their count in `runs`. */
void chart_set_runs(struct chart_vars *v, const struct chart_runs *runs);

/* Threads of a run's roofs: the bench rows', or where there are none the most of its peaks. */
int64_t chart_threads(const struct chart_run *run);

/* The same problem in two runs: the fastest row of each, whatever its implementation and thread count. */
struct chart_pair {
    const struct row *a, *b;
};

/* Problems that both runs have (ok, all threads, normal fill), by op, dtype and shape; the caller frees. NULL with
 * *count 0 when there are none, NULL with *count 1 without memory. */
struct chart_pair *chart_pairs(const struct chart_run *a, const struct chart_run *b, size_t *count);

int chart_overlays(struct chart_out *out, const struct chart_runs *runs);
#endif
