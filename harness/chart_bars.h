/* chart_bars.h - a chart of ratios: bars to the right of 1 and to the left of it. */
#ifndef CHART_BARS_H
#define CHART_BARS_H
#include "chart.h"

enum { CHART_MAX_BARS = 48 };

struct chart_bar {
    char label[320], value[360];
    double ratio, low, high; /* low and high: of the intervals of both medians; NaN: unknown */
};

/* Appends while there is room; what has no finite, positive ratio is left out. Returns the new count. */
int chart_add_bar(struct chart_bar *bar, int count, struct chart_bar x);

/* Draws <name> from plots/ratio.gp. No bars: no chart. 0, or -1 after one line on stderr. */
int chart_draw_bars(struct chart_out *out, const char *name, const char *title,
                    const char *subtitle, const char *axis, const struct chart_bar *bar, int count);

/* a's time over b's, with the bounds of their intervals, and the label "op shape" of a. */
struct chart_bar chart_bar_of(const struct row *a, const struct row *b);
#endif
