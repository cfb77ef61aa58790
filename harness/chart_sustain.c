/* chart_sustain.c - what a kernel that runs for long does to rate, clock, power and temperature. From sustain.csv of the
 * run's folder. */
#include "chart.h"

#include "sustain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_SERIES = 8, PANELS = 4 };

/* Whether the series differ in nothing but what their operands hold. */
static bool fills_alone(const struct sustain_series s[], int count) {
    for (int k = 1; k < count; k++) {
        struct row same = s[k].key;
        row_set_text(same.fill, s[0].key.fill);
        if (!row_same_key(&same, &s[0].key)) return false;
    }
    return count > 1;
}

static void name_problem(const struct row *r, char text[static 128]) {
    char shape[64];
    chart_shape_text(r, shape, sizeof shape);
    snprintf(text, 128, "%.24s.%.20s %.16s %.40s", r->op, r->impl, r->dtype, shape);
}

/* threads: whether the series differ in them; else the subtitle has them. */
static void name_series(const struct row *r, bool threads, char text[static 192]) {
    char problem[128], count[32] = "";
    name_problem(r, problem);
    if (threads)
        snprintf(count, sizeof count, ", %" PRId64 " thread%s", r->threads,
                 r->threads == 1 ? "" : "s");
    snprintf(text, 192, "%.100s; %.16s%s%s", problem, r->fill,
             strcmp(r->cache, "cold") == 0 ? ", cold" : "", count);
}

static bool threads_differ(const struct sustain_series s[], int count) {
    for (int k = 1; k < count; k++)
        if (s[k].key.threads != s[0].key.threads) return true;
    return false;
}

/* Names a line of the key has room for: gnuplot reserves 10 pixels a letter, and 75 for the line beside it. */
static int key_columns(const struct chart_out *out, size_t longest) {
    const double width = out->compact ? 700 : 1480, columns = width / (10 * (double)longest + 75);
    return columns < 1 ? 1 : (int)columns;
}

struct panel {
    const char *name, *axis;
    double low, high;
    bool any;
};

static void widen(struct panel *p, double x) {
    if (isnan(x)) return;
    p->low = p->any ? fmin(p->low, x) : x;
    p->high = p->any ? fmax(p->high, x) : x;
    p->any = true;
}

/* A span of a few percent at least: noise should not fill the picture. */
static void set_range(struct chart_vars *v, const struct panel *p) {
    const double least = 0.06 * p->high, span = fmax(p->high - p->low, least);
    const double middle = (p->low + p->high) / 2;
    char variable[32];
    snprintf(variable, sizeof variable, "%s_low", p->name);
    chart_set_number(v, variable, p->any ? fmax(0, middle - 0.62 * span) : NAN);
    snprintf(variable, sizeof variable, "%s_high", p->name);
    chart_set_number(v, variable, p->any ? middle + 0.62 * span : NAN);
}

/* "rate", "rate and clock", "rate, clock, power" */
static void name_panels(const struct panel panel[PANELS], char text[static 128]) {
    static const char *const words[PANELS] = {"rate", "clock", "power", "temperature"};
    int left = -1;
    size_t used = 0;
    for (int p = 0; p < PANELS; p++) left += panel[p].any;
    for (int p = 0; p < PANELS; p++) {
        if (!panel[p].any) continue;
        used += (size_t)snprintf(text + used, 128 - used, "%s%s", words[p],
                                 left > 1    ? ", "
                                 : left == 1 ? " and "
                                             : "");
        left--;
    }
}

/* The first `count` series of `all`. */
static int draw(struct chart_out *out, const struct chart_run *run, const struct sustain_series s[],
                int count, size_t all) {
    bool by_flops = true;
    for (int i = 0; i < count; i++) by_flops = by_flops && sustain_by_flops(&s[i]);
    const bool tera = (by_flops ? s[0].point[0].gflop_s : s[0].point[0].gbyte_s) >= 10000;
    const double scale = tera ? 1e-3 : 1; /* of rates to the axis */
    const char *unit = by_flops ? tera ? "TFLOP/s" : "GFLOP/s" : tera ? "TB/s" : "GB/s";
    struct panel panel[PANELS] = {{.name = "rate", .axis = unit},
                                  {.name = "clock", .axis = "clock GHz"},
                                  {.name = "power", .axis = "power W"},
                                  {.name = "heat", .axis = "temperature C"}};
    struct chart_vars v;
    const bool threads = threads_differ(s, count), fills = fills_alone(s, count);
    char text[192], variable[32], run_text[256];
    double last = 0;
    int panels = 0;
    size_t longest = 0;
    FILE *f = chart_data(out, "sustained", "name,at_s,rate,clock_ghz,power_w,temperature_c,series");
    if (!f) return -1;
    for (int k = 0; k < count; k++) {
        name_series(&s[k].key, threads, text);
        for (size_t i = 0; i < s[k].count; i++) {
            const struct sustain_point *at = &s[k].point[i];
            const double x[PANELS] = {by_flops ? at->gflop_s : at->gbyte_s, at->clock_ghz,
                                      at->power_w, at->temperature_c};
            chart_csv_text(f, text);
            chart_csv_number(f, at->at_s);
            for (int p = 0; p < PANELS; p++) {
                chart_csv_number(f, x[p]);
                widen(&panel[p], x[p] * (p ? 1 : scale));
            }
            chart_csv_end(f, k);
            last = fmax(last, at->at_s);
        }
    }
    if (chart_data_close(out, f, "sustained") || chart_vars_open(&v)) return -1;
    chart_subtitle(run, threads ? 0 : s[0].key.threads, run_text, sizeof run_text);
    name_panels(panel, text);
    chart_set_text(&v, "title_text", "Sustained: %s over time", text);
    if (fills)
        name_problem(&s[0].key, text);
    else
        name_series(&s[0].key, false, text);
    if (fills || count == 1)
        chart_set_text(&v, "subtitle_text", "%s; %s", run_text, text);
    else if (all > (size_t)count)
        chart_set_text(&v, "subtitle_text", "%s; the first %d of %zu series", run_text, count, all);
    else
        chart_set_text(&v, "subtitle_text", "%s", run_text);
    for (int k = 0; k < count; k++) {
        name_series(&s[k].key, threads, text);
        const char *name = fills ? s[k].key.fill : text;
        if (strlen(name) > longest) longest = strlen(name);
        snprintf(variable, sizeof variable, "series_%d", k);
        chart_set_text(&v, variable, "%s", name);
    }
    const int columns = key_columns(out, longest), key_rows = (count + columns - 1) / columns;
    for (int p = 0; p < PANELS; p++) {
        snprintf(variable, sizeof variable, "%s_axis", panel[p].name);
        chart_set_text(&v, variable, "%s", panel[p].axis);
        set_range(&v, &panel[p]);
        panels += panel[p].any;
    }
    chart_set_data(&v, out, "sustain_data", "sustained");
    chart_set_number(&v, "series", count);
    chart_set_number(&v, "panels", panels);
    chart_set_number(&v, "last", last);
    chart_set_number(&v, "scale", scale);
    chart_set_number(&v, "key_rows", key_rows);
    chart_set_number(&v, "key_columns", columns);
    chart_set_number(&v, "canvas_y", chart_height(out, 147 + 23 * key_rows + 210 * panels));
    chart_draw(out, &v, "sustain", "sustained");
    return 0;
}

int chart_sustained(struct chart_out *out, const struct chart_run *run) {
    struct sustain_list list;
    if (!run->dir) return 0;
    int status = sustain_read(run->dir, run->device, &list);
    const int count = list.count < MAX_SERIES ? (int)list.count : MAX_SERIES;
    if (!status && count) status = draw(out, run, list.series, count, list.count);
    sustain_release(&list);
    return status;
}
