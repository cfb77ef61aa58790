/* chart_bars.c - a chart of ratios, on a logarithmic axis: twice as fast and half as fast are equally long. */
#include "chart_bars.h"

#include <math.h>
#include <string.h>

int chart_add_bar(struct chart_bar *bar, int count, struct chart_bar x) {
    if (count == CHART_MAX_BARS || !isfinite(x.ratio) || x.ratio <= 0) return count;
    bar[count] = x;
    return count + 1;
}

struct chart_bar chart_bar_of(const struct row *a, const struct row *b) {
    char shape[64];
    struct chart_bar bar = {.ratio = a->time_s / b->time_s,
                            .low = a->ci_low_s / b->ci_high_s,
                            .high = a->ci_high_s / b->ci_low_s};
    chart_shape_text(a, shape, sizeof shape);
    snprintf(bar.label, sizeof bar.label, "%s  %s", a->op, shape);
    return bar;
}

int chart_draw_bars(struct chart_out *out, const char *name, const char *title,
                    const char *subtitle, const char *axis, const struct chart_bar *bar,
                    int count) {
    struct chart_vars v;
    double reach = 1.25; /* both ends of the axis are as far from 1 */
    if (count == 0) return 0;
    FILE *f = chart_data(out, name, "label,value,ratio,low,high,bar");
    if (!f) return -1;
    for (int i = 0; i < count; i++) {
        const double r = bar[i].ratio;
        chart_csv_text(f, bar[i].label), chart_csv_text(f, bar[i].value);
        chart_csv_number(f, r);
        chart_csv_number(f, isfinite(bar[i].low) ? bar[i].low : r);
        chart_csv_number(f, isfinite(bar[i].high) ? bar[i].high : r);
        chart_csv_end(f, i);
        reach = fmax(reach, fmax(r, 1 / r) * 1.1);
    }
    if (chart_data_close(out, f, name) || chart_vars_open(&v)) return -1;
    chart_set_text(&v, "title_text", "%s", title);
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    chart_set_text(&v, "axis_text", "%s", axis);
    chart_set_data(&v, out, "ratio_data", name);
    chart_set_number(&v, "bars", count);
    chart_set_number(&v, "reach", reach);
    chart_set_number(&v, "canvas_y", chart_height(out, 190 + 28 * count));
    chart_draw(out, &v, "ratio", name);
    return 0;
}
