/* chart_layout.c - each mark takes the nearest free place on a spiral around its point. */
#include "chart_layout.h"

#include <math.h>
#include <stdbool.h>

double chart_decade_below(double x) { return pow(10, floor(log10(x) + 1e-9)); }
double chart_decade_above(double x) { return pow(10, ceil(log10(x) - 1e-9)); }

double chart_x_pixels(const struct chart_axes *a, double x) {
    return a->width * log(x / a->x_min) / log(a->x_max / a->x_min);
}

double chart_y_pixels(const struct chart_axes *a, double y) {
    return a->height * log(y / a->y_min) / log(a->y_max / a->y_min);
}

double chart_x_at(const struct chart_axes *a, double pixels) {
    return a->x_min * pow(a->x_max / a->x_min, pixels / a->width);
}

double chart_y_at(const struct chart_axes *a, double pixels) {
    return a->y_min * pow(a->y_max / a->y_min, pixels / a->height);
}

static bool is_free(const struct chart_axes *a, const struct chart_mark *mark, size_t placed,
                    double x, double y, double size) {
    if (x < size / 2 || y < size / 2 || x > a->width - size / 2 || y > a->height - size / 2)
        return false;
    for (size_t i = 0; i < placed; i++)
        if (hypot(chart_x_pixels(a, mark[i].mark_x) - x, chart_y_pixels(a, mark[i].mark_y) - y) <
            size)
            return false;
    return true;
}

void chart_place_marks(const struct chart_axes *a, struct chart_mark *mark, size_t count,
                       double size) {
    const double turn = 2.399963; /* golden angle: the spiral's points spread evenly */
    enum { TRIES = 4000 };
    for (size_t i = 0; i < count; i++) {
        const double x = chart_x_pixels(a, mark[i].x), y = chart_y_pixels(a, mark[i].y);
        mark[i].mark_x = mark[i].x;
        mark[i].mark_y = mark[i].y;
        for (int try = 0; try < TRIES; try++) {
            const double radius = size / 6 * sqrt(try), angle = try * turn;
            const double at_x = x + radius * cos(angle), at_y = y + radius * sin(angle);
            if (!is_free(a, mark, i, at_x, at_y, size)) continue;
            mark[i].mark_x = chart_x_at(a, at_x);
            mark[i].mark_y = chart_y_at(a, at_y);
            break;
        }
    }
}
