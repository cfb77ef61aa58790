/* chart_roofline.c - achieved GFLOP/s over arithmetic intensity, under the measured ceilings.
 *
 * Points are numbered and explained beside the chart. What has no FLOPs has no place on a logarithmic axis: the table
 * lists its bandwidth. */
#include "chart.h"
#include "chart_layout.h"
#include "chart_points.h"
#include "chart_roofs.h"

#include <math.h>
#include <string.h>

enum { MARK_SIZE = 23 }; /* pixels; a little more than the circle that roofline.gp draws */

static const char *share_text(double share, char text[16]) {
    snprintf(text, 16, "%.0f %%", 100 * share);
    return isfinite(share) ? text : "-";
}

/* Table and points in one file; a row without FLOPs has neither intensity nor mark. */
static int write_points(struct chart_out *out, const char *name, const struct chart_axes *a,
                        const struct chart_point *point, size_t count, size_t with_flops) {
    char file[80], shape[64], rate_text[32], share[16], hover[320];
    struct chart_mark mark[CHART_MAX_POINTS];
    for (size_t i = 0; i < with_flops; i++)
        mark[i] = (struct chart_mark){point[i].r->ai, point[i].r->gflop_s, 0, 0};
    chart_place_marks(a, mark, with_flops, MARK_SIZE);
    snprintf(file, sizeof file, "%s_points", name);
    FILE *f = chart_data(out, file,
                         "op,impl,dtype,shape,level,rate,share,hover,ai,gflop_s,gbyte_s,mark_ai,"
                         "mark_gflop_s,line,above,number");
    if (!f) return -1;
    for (size_t i = 0; i < count; i++) {
        const struct row *r = point[i].r;
        const bool flops = i < with_flops;
        chart_shape_text(r, shape, sizeof shape);
        snprintf(rate_text, sizeof rate_text, "%.3g", chart_point_rate(r));
        if (chart_point_rate(r) >= 1000)
            snprintf(rate_text, sizeof rate_text, "%.0f", chart_point_rate(r));
        const char *text[] = {r->op,
                              r->impl,
                              r->dtype,
                              shape,
                              r->level,
                              rate_text,
                              share_text(point[i].share, share),
                              chart_hover_text(&point[i], hover, sizeof hover)};
        for (size_t k = 0; k < sizeof text / sizeof *text; k++) chart_csv_text(f, text[k]);
        const double number[] = {flops ? r->ai : NAN,
                                 flops ? r->gflop_s : NAN,
                                 r->gbyte_s,
                                 flops ? mark[i].mark_x : NAN,
                                 flops ? mark[i].mark_y : NAN,
                                 (double)i + (flops ? 0 : 2),
                                 chart_is_above_roof(&point[i])};
        for (size_t k = 0; k < sizeof number / sizeof *number; k++) chart_csv_number(f, number[k]);
        chart_csv_end(f, flops ? (int)i + 1 : 0);
    }
    return chart_data_close(out, f, file);
}

static size_t longer(size_t length, const char *text) {
    return strlen(text) > length ? strlen(text) : length;
}

/* Where the table's columns begin: its texts share the room in proportion to their longest, in characters. */
static void set_columns(struct chart_vars *v, const struct chart_point *point, size_t count) {
    const double begin = 0.05, room = 0.76, gap = 1.5;
    size_t op = strlen("operation"), impl = strlen("implementation"), shape = strlen("shape");
    for (size_t i = 0; i < count; i++) {
        char text[64];
        chart_shape_text(point[i].r, text, sizeof text);
        op = longer(op, point[i].r->op);
        impl = longer(impl, point[i].r->impl);
        shape = longer(shape, text);
    }
    const double share = room / ((double)(op + impl + shape) + 3 * gap);
    chart_set_number(v, "impl_at", begin + share * ((double)op + gap));
    chart_set_number(v, "shape_at", begin + share * ((double)(op + impl) + 2 * gap));
}

static void set_axes(struct chart_vars *v, const struct chart_axes *a) {
    chart_set_number(v, "x_min", a->x_min);
    chart_set_number(v, "x_max", a->x_max);
    chart_set_number(v, "y_min", a->y_min);
    chart_set_number(v, "y_max", a->y_max);
}

int chart_roofline_draw(struct chart_out *out, const struct chart_run *run, enum dtype t,
                        const char *name, const char *title, const struct chart_point *point,
                        size_t points, size_t with_flops) {
    struct chart_line line[CHART_MAX_LINES];
    struct chart_vars v;
    char file[80], subtitle[256];
    size_t lines = chart_memory_lines(run, line, 0);
    lines =
        chart_published_lines(run, dtypes[t].name, line, chart_compute_lines(run, t, line, lines));
    if (with_flops == 0) return 0;
    chart_sort_lines(line, lines);
    const struct chart_axes a = chart_roofline_axes(out, point, with_flops, line, lines, true);
    if (chart_write_lines(out, name, &a, line, lines) ||
        write_points(out, name, &a, point, points, with_flops))
        return -1;
    if (chart_vars_open(&v)) return -1;
    size_t above = 0;
    for (size_t i = 0; i < points; i++) above += chart_is_above_roof(&point[i]);
    chart_subtitle(run, run->threads, subtitle, sizeof subtitle);
    const size_t unproven = chart_unproven_roofs(run, t);
    char note[64] = "";
    if (unproven)
        snprintf(note, sizeof note, "; %zu ceiling%s unproven and not drawn", unproven,
                 unproven == 1 ? "" : "s");
    chart_set_text(&v, "title_text", "%s", title);
    chart_set_text(&v, "subtitle_text", "%s%s", subtitle, note);
    snprintf(file, sizeof file, "%s_roofs", name);
    chart_set_data(&v, out, "roofs_data", file);
    snprintf(file, sizeof file, "%s_points", name);
    chart_set_data(&v, out, "points_data", file);
    set_axes(&v, &a);
    set_columns(&v, point, points);
    chart_set_number(&v, "points", (double)with_flops);
    chart_set_number(&v, "without_flops", (double)(points - with_flops));
    chart_set_number(&v, "above", (double)above);
    chart_draw(out, &v, "roofline", name);
    return 0;
}

static int roofline(struct chart_out *out, const struct chart_run *run, enum dtype t) {
    struct chart_point point[CHART_MAX_POINTS];
    char name[64], title[64];
    size_t with_flops = 0;
    const size_t points = chart_pick_points(run, dtypes[t].name, point, &with_flops);
    snprintf(name, sizeof name, "roofline_%s", dtypes[t].name);
    snprintf(title, sizeof title, "Roofline, %s", dtypes[t].name);
    return chart_roofline_draw(out, run, t, name, title, point, points, with_flops);
}

/* ---- all dtypes in one ---- */

static unsigned dtype_colour(int t) {
    static const unsigned palette[] = {0x000000, 0x0072b2, 0x999999, 0xe69f00,
                                       0xd55e00, 0x009e73, 0x56b4e9, 0xcc79a7};
    return palette[t % (int)(sizeof palette / sizeof *palette)];
}

static int roofline_all(struct chart_out *out, const struct chart_run *run) {
    struct chart_point all[DTYPE_COUNT * CHART_MAX_POINTS];
    struct chart_line line[CHART_MAX_LINES];
    struct chart_vars v;
    size_t count = 0, first[DTYPE_COUNT + 1], lines = chart_memory_lines(run, line, 0);
    const size_t slants = lines;
    char subtitle[256], text[64], hover[320];
    for (int t = 0; t < DTYPE_COUNT; t++) {
        size_t with_flops = 0;
        first[t] = count;
        chart_pick_points(run, dtypes[t].name, all + count, &with_flops);
        count += with_flops;
        const struct ceiling *top = ceilings_compute_for(&run->roofs, (enum dtype)t, run->threads);
        if (!top || !with_flops) continue;
        struct chart_line l = {.measured = true,
                               .best = true,
                               .rate = top->rate,
                               .colour = dtype_colour(dtype_find(top->name))};
        snprintf(l.label, sizeof l.label, "%s %s: %.4g GFLOP/s", top->name, top->impl, top->rate);
        size_t same = slants; /* formats that are computed in fp32 share its roof */
        while (same < lines && strcmp(line[same].label, l.label) != 0) same++;
        if (same == lines) lines = chart_add_line(line, lines, l);
    }
    first[DTYPE_COUNT] = count;
    if (count == 0) return 0;
    chart_sort_lines(line, lines);
    for (size_t i = 0; i < slants; i++) line[i].colour = line[i].best ? 0x444444 : 0xb8b8b8;
    const struct chart_axes a = chart_roofline_axes(out, all, count, line, lines, false);
    FILE *f = chart_data(out, "roofline_all_points",
                         "op,impl,dtype,shape,hover,ai,gflop_s,share,colour,above");
    if (!f) return -1;
    for (int t = 0; t < DTYPE_COUNT; t++)
        for (size_t i = first[t]; i < first[t + 1]; i++) {
            const struct row *r = all[i].r;
            chart_shape_text(r, text, sizeof text);
            chart_csv_text(f, r->op), chart_csv_text(f, r->impl), chart_csv_text(f, r->dtype),
                chart_csv_text(f, text);
            chart_csv_text(f, chart_hover_text(&all[i], hover, sizeof hover));
            chart_csv_number(f, r->ai), chart_csv_number(f, r->gflop_s),
                chart_csv_number(f, all[i].share);
            chart_csv_number(f, dtype_colour(t));
            chart_csv_end(f, chart_is_above_roof(&all[i]));
        }
    if (chart_data_close(out, f, "roofline_all_points")) return -1;
    f = chart_data(out, "roofline_all_key", "dtype,roof,kink,best,best_op,colour,line,points");
    if (!f) return -1;
    const struct ceiling *dram = ceilings_bandwidth(&run->roofs, "DRAM", run->threads, NULL);
    int row = 0;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const struct ceiling *top = ceilings_compute_for(&run->roofs, (enum dtype)t, run->threads);
        const struct chart_point *fast = &all[first[t]];
        if (first[t] == first[t + 1]) continue;
        for (size_t i = first[t]; i < first[t + 1]; i++)
            if (all[i].r->gflop_s > fast->r->gflop_s) fast = &all[i];
        chart_csv_text(f, dtypes[t].name);
        snprintf(text, sizeof text, "%.4g", top ? top->rate : NAN);
        chart_csv_text(f, top ? text : "-");
        snprintf(text, sizeof text, "%.3g", top && dram ? top->rate / dram->rate : NAN);
        chart_csv_text(f, top && dram ? text : "-");
        snprintf(text, sizeof text, "%.4g", fast->r->gflop_s);
        chart_csv_text(f, text);
        chart_csv_text(f, fast->r->op);
        chart_csv_number(f, dtype_colour(t)), chart_csv_number(f, row++);
        chart_csv_end(f, (int)(first[t + 1] - first[t]));
    }
    if (chart_data_close(out, f, "roofline_all_key") ||
        chart_write_lines(out, "roofline_all", &a, line, lines))
        return -1;
    if (chart_vars_open(&v)) return -1;
    chart_subtitle(run, run->threads, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Roofline, all number formats");
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    chart_set_data(&v, out, "roofs_data", "roofline_all_roofs");
    chart_set_data(&v, out, "points_data", "roofline_all_points");
    chart_set_data(&v, out, "key_data", "roofline_all_key");
    chart_set_number(&v, "formats", row);
    set_axes(&v, &a);
    chart_draw(out, &v, "roofline_all", "roofline_all");
    return 0;
}

int chart_rooflines(struct chart_out *out, const struct chart_run *run) {
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (roofline(out, run, (enum dtype)t)) return -1;
    return roofline_all(out, run);
}
