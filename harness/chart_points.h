/* chart_points.h - which rows of a run are points of a roofline. */
#ifndef CHART_POINTS_H
#define CHART_POINTS_H
#include "chart.h"

enum { CHART_MAX_POINTS = 96 };

struct chart_point {
    const struct row *r;
    double share; /* of its roof; NaN: unknown */
};

/* The fastest row of each op at its largest shape; of an op whose intensity grows with its shape up to four, an octave
 * apart. Those with FLOPs come first, then those without, each in the order of the file. Returns how many. */
size_t chart_pick_points(const struct chart_run *run, const char *dtype,
                         struct chart_point point[CHART_MAX_POINTS], size_t *with_flops);

double chart_point_rate(const struct row *r); /* GFLOP/s, or GB/s of an op without FLOPs */
/* "matmul.packed.fp32 2048^3 nn: 202 GFLOP/s, 86 % of its roof"; no commas, which gnuplot's reader cuts at. */
const char *chart_hover_text(const struct chart_point *p, char *text, size_t size);
bool chart_is_above_roof(const struct chart_point *p);

/* The chart <name> of these points (the first with_flops have FLOPs) under the ceilings of t. 0, or -1 after one line on
 * stderr. No points with FLOPs: no chart. */
int chart_roofline_draw(struct chart_out *out, const struct chart_run *run, enum dtype t,
                        const char *name, const char *title, const struct chart_point *point,
                        size_t points, size_t with_flops);
#endif
