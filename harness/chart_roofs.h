/* chart_roofs.h - the lines of a roofline chart, its axes and its legend. */
#ifndef CHART_ROOFS_H
#define CHART_ROOFS_H
#include "chart_layout.h"
#include "chart_points.h"

enum { CHART_MAX_LINES = 24 };

struct chart_line {
    double rate; /* GB/s or GFLOP/s */
    char label[320];
    unsigned colour;
    bool memory, measured, best;
};

/* Each appends to `count` lines and returns the new count; a rate that is unknown is left out. */
size_t chart_add_line(struct chart_line *line, size_t count, struct chart_line x);
size_t chart_memory_lines(const struct chart_run *run, struct chart_line *line, size_t count);
size_t chart_compute_lines(const struct chart_run *run, enum dtype dtype, struct chart_line *line,
                           size_t count);
size_t chart_published_lines(const struct chart_run *run, const char *dtype,
                             struct chart_line *line, size_t count);

/* Bandwidths, then measured rates, then published ones; the highest first: the order of the legend. */
void chart_sort_lines(struct chart_line *line, size_t count);

/* Ceilings with the run's threads, for memory, this dtype or its accumulator's, that prove nothing. */
size_t chart_unproven_roofs(const struct chart_run *run, enum dtype dtype);

/* Whole decades that hold every point and the kinks; with_legend: and a free place for the legend. */
struct chart_axes chart_roofline_axes(const struct chart_out *out, const struct chart_point *point,
                                      size_t points, const struct chart_line *line, size_t lines,
                                      bool with_legend);

/* Width and height of the area that plots/roofline.gp and its like give the chart; the rest stays 0. */
struct chart_axes chart_area(const struct chart_out *out);

/* Data <name>_roofs: both ends of each line and its place in the legend. 0, or -1 after one line on stderr. */
int chart_write_lines(struct chart_out *out, const char *name, const struct chart_axes *a,
                      const struct chart_line *line, size_t count);
#endif
