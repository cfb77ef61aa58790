/* chart_layout.h - where numbered markers of a log-log chart go, so that none covers another. */
#ifndef CHART_LAYOUT_H
#define CHART_LAYOUT_H
#include <stddef.h>

/* A log-log chart: whole decades on both axes, an area of so many pixels. */
struct chart_axes {
    double x_min, x_max, y_min, y_max;
    double width, height;
};

double chart_decade_below(double x);
double chart_decade_above(double x);

/* Pixels from the lower left corner, and back. */
double chart_x_pixels(const struct chart_axes *a, double x);
double chart_y_pixels(const struct chart_axes *a, double y);
double chart_x_at(const struct chart_axes *a, double pixels);
double chart_y_at(const struct chart_axes *a, double pixels);

/* Sets (mark_x, mark_y) of `count` points to places within the axes, near (x, y), at least `size` pixels from every
 * other mark, if there is room. */
struct chart_mark {
    double x, y, mark_x, mark_y;
};
void chart_place_marks(const struct chart_axes *a, struct chart_mark *mark, size_t count,
                       double size);
#endif
