/* chart_roofline.c - achieved GFLOP/s over arithmetic intensity, under the measured ceilings.
 *
 * Points are numbered and explained beside the chart. An op whose intensity does not depend on its shape gives one
 * point, its largest shape; others give up to four, an octave apart. What has no FLOPs has no place on a logarithmic
 * axis: the table lists its bandwidth. */
#define _GNU_SOURCE
#include "chart.h"
#include "chart_layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_POINTS = 96,
    MAX_LINES = 24,
    POINTS_AN_OP = 4,
    CHART_WIDTH = 912,
    CHART_HEIGHT = 810,
    MARK_SIZE = 23
};
static const double octave = 1.9, above_roof = 1.02;

struct point {
    const struct row *r;
    double share; /* of its roof; NaN: unknown */
};

/* ---- which rows are points ---- */

static bool same_shape(const struct row *a, const struct row *b) {
    return a->b == b->b && a->m == b->m && a->n == b->n && a->k == b->k;
}

static double rate(const struct row *r) { return r->flops > 0 ? r->gflop_s : r->gbyte_s; }

static bool is_candidate(const struct chart_run *run, const struct row *r, const char *dtype,
                         const char *op) {
    return chart_shows(run, r, dtype) && strcmp(r->op, op) == 0 &&
           (!*r->fill || strcmp(r->fill, "normal") == 0);
}

/* The fastest row of an op whose shape is that of `like`. */
static const struct row *fastest(const struct chart_run *run, const struct row *like,
                                 const char *dtype) {
    const struct row *found = NULL;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (is_candidate(run, r, dtype, like->op) && same_shape(r, like) &&
            (!found || rate(r) > rate(found)))
            found = r;
    }
    return found;
}

/* Of the shapes with an intensity under `limit`, the one with the highest; with equal ones the largest. */
static const struct row *next_shape(const struct chart_run *run, const char *dtype, const char *op,
                                    double limit) {
    const struct row *found = NULL;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (!is_candidate(run, r, dtype, op) || r->ai > limit) continue;
        if (!found || r->ai > octave * found->ai ||
            (r->ai * octave >= found->ai && r->footprint_bytes > found->footprint_bytes))
            found = r;
    }
    return found;
}

static bool op_is_new(const struct chart_run *run, size_t row, const char *dtype) {
    for (size_t i = 0; i < row; i++)
        if (is_candidate(run, &run->bench.row[i], dtype, run->bench.row[row].op)) return false;
    return is_candidate(run, &run->bench.row[row], dtype, run->bench.row[row].op);
}

/* Points with FLOPs first, then those without, each in the order of the file. */
static size_t pick_points(const struct chart_run *run, const char *dtype, struct point *point,
                          size_t *with_flops) {
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < run->bench.count; i++) {
            const char *op = run->bench.row[i].op;
            if (!op_is_new(run, i, dtype) || roof_is_compute(op) ||
                (run->bench.row[i].flops > 0) != (pass == 0))
                continue;
            double limit = INFINITY;
            for (int shapes = 0; shapes < (pass ? 1 : POINTS_AN_OP) && count < MAX_POINTS;
                 shapes++) {
                const struct row *shape = next_shape(run, dtype, op, limit);
                if (!shape) break;
                const struct row *r = fastest(run, shape, dtype);
                const double roof = chart_roof(run, r);
                point[count++] = (struct point){r, isfinite(r->roof_fraction) ? r->roof_fraction
                                                                              : rate(r) / roof};
                limit = shape->ai / octave;
            }
        }
        if (pass == 0) *with_flops = count;
    }
    return count;
}

/* ---- which ceilings are lines ---- */

struct line {
    char label[320];
    bool memory, measured, best;
    double rate; /* GB/s or GFLOP/s */
    unsigned colour;
};

static unsigned level_colour(const char *level) {
    if (strcmp(level, "L1") == 0) return 0x56b4e9;
    if (strcmp(level, "L2") == 0) return 0x009e73;
    if (strcmp(level, "L3") == 0) return 0xe69f00;
    return 0x000000;
}

static size_t add_line(struct line *line, size_t count, struct line x) {
    if (count < MAX_LINES && isfinite(x.rate) && x.rate > 0) line[count++] = x;
    return count;
}

static size_t memory_lines(const struct chart_run *run, struct line *line, size_t count) {
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        if (x->kind != CEILING_MEMORY ||
            x != ceilings_bandwidth(&run->roofs, x->name, run->threads, x->placement))
            continue;
        const bool dram = strcmp(x->name, "DRAM") == 0;
        if (!dram && x != ceilings_bandwidth(&run->roofs, x->name, run->threads, NULL)) continue;
        struct line l = {.memory = true, .measured = true, .best = dram, .rate = x->rate};
        l.colour = dram && strcmp(x->placement, "near") == 0 ? 0x777777 : level_colour(x->name);
        snprintf(l.label, sizeof l.label, "%s%s%s %s: %.4g GB/s", x->name,
                 *x->placement && dram ? " " : "", dram ? x->placement : "", x->pattern, x->rate);
        count = add_line(line, count, l);
    }
    return count;
}

static size_t compute_lines(const struct chart_run *run, const char *dtype, struct line *line,
                            size_t count) {
    const struct ceiling *top = ceilings_compute(&run->roofs, dtype, run->threads);
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        if (x->kind != CEILING_COMPUTE || !x->proven || x->threads != run->threads ||
            strcmp(x->name, dtype) != 0)
            continue;
        struct line l = {.measured = true,
                         .best = x == top,
                         .rate = x->rate,
                         .colour = x == top ? 0xd55e00 : 0x999999};
        snprintf(l.label, sizeof l.label, "%s %s: %.4g GFLOP/s", x->name, x->impl, x->rate);
        count = add_line(line, count, l);
    }
    return count;
}

static double highest(const struct rows *rows, const char *dtype, int64_t threads, size_t field) {
    double found = NAN;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->row[i];
        if (r->threads == threads && strcmp(r->dtype, dtype) == 0)
            found = fmax(found, *(const double *)((const char *)r + field));
    }
    return found;
}

static size_t published_lines(const struct chart_run *run, const char *dtype, struct line *line,
                              size_t count) {
    static const struct {
        const char *label;
        size_t field;
        bool memory;
    } source[] = {{"published dense peak: %.4g GFLOP/s", offsetof(struct row, spec_gflop_s), false},
                  {"published: %.4g GB/s", offsetof(struct row, spec_gbyte_s), true},
                  {"FLOPs a cycle x measured clock: %.4g GFLOP/s",
                   offsetof(struct row, clock_gflop_s), false}};
    for (size_t i = 0; i < sizeof source / sizeof *source; i++) {
        struct line l = {.memory = source[i].memory, .colour = 0xcc79a7};
        l.rate = fmax(highest(&run->peaks, dtype, run->threads, source[i].field),
                      highest(&run->bench, dtype, run->threads, source[i].field));
        snprintf(l.label, sizeof l.label, source[i].label, l.rate);
        count = add_line(line, count, l);
    }
    return count;
}

/* Bandwidths, then measured rates, then published ones; the highest first. */
static int by_rank(const void *a, const void *b) {
    const struct line *x = a, *y = b;
    if (x->measured != y->measured) return x->measured ? -1 : 1;
    if (x->memory != y->memory) return x->memory ? -1 : 1;
    return (x->rate < y->rate) - (x->rate > y->rate);
}

/* ---- geometry ---- */

static double top_of(const struct line *line, size_t count, bool memory) {
    double top = NAN;
    for (size_t i = 0; i < count; i++)
        if (line[i].memory == memory) top = fmax(top, line[i].rate);
    return top;
}

static struct chart_axes axes_for(const struct point *point, size_t points, const struct line *line,
                                  size_t lines) {
    const double compute = top_of(line, lines, false), memory = top_of(line, lines, true);
    double bandwidth = INFINITY, x_min = INFINITY, x_max = 0, y_min = INFINITY,
           y_max = fmax(compute, 0);
    for (size_t i = 0; i < points; i++) {
        x_min = fmin(x_min, point[i].r->ai);
        x_max = fmax(x_max, point[i].r->ai);
        y_min = fmin(y_min, point[i].r->gflop_s);
        y_max = fmax(y_max, point[i].r->gflop_s);
    }
    for (size_t i = 0; i < lines; i++)
        if (line[i].memory) bandwidth = fmin(bandwidth, line[i].rate);
    if (compute > 0 && isfinite(bandwidth)) x_max = fmax(x_max, 1.5 * compute / bandwidth);
    struct chart_axes a = {chart_decade_below(x_min / 1.1),
                           chart_decade_above(x_max * 1.1),
                           chart_decade_below(y_min / 1.1),
                           chart_decade_above(y_max * 1.2),
                           CHART_WIDTH,
                           CHART_HEIGHT};
    /* The legend lies above the slants, at the upper left: what it covers must be free. */
    const double legend_x = chart_x_at(&a, 330), legend_y = a.height - 30.0 - 20.0 * (double)lines;
    const double roof = fmin(compute, memory * legend_x);
    if (isfinite(roof) && chart_y_pixels(&a, roof) > legend_y) a.y_max *= 10;
    return a;
}

/* ---- files ---- */

static int write_lines(struct chart_out *out, const char *name, const struct chart_axes *a,
                       const struct line *line, size_t count) {
    char file[80];
    snprintf(file, sizeof file, "%s_roofs", name);
    FILE *f = chart_data(
        out, file,
        "label,rate,ai_0,gflop_0,ai_1,gflop_1,legend_ai_0,legend_ai_1,legend_text_ai,legend_gflop,"
        "memory,measured,colour,best");
    if (!f) return -1;
    const double compute = top_of(line, count, false), memory = top_of(line, count, true);
    for (size_t i = 0; i < count; i++) {
        const struct line *l = &line[i];
        double x0 = a->x_min, x1 = a->x_max;
        if (l->memory)
            x0 = fmax(x0, a->y_min / l->rate), x1 = fmin(x1, fmin(compute, a->y_max) / l->rate);
        if (l->memory && !isfinite(x1)) x1 = a->y_max / l->rate;
        if (!l->memory && isfinite(memory)) x0 = fmax(x0, l->rate / memory);
        const double legend_y = chart_y_at(a, a->height - 22.0 - 20.0 * (double)i);
        const double number[] = {l->rate,
                                 x0,
                                 l->memory ? x0 * l->rate : l->rate,
                                 x1,
                                 l->memory ? x1 * l->rate : l->rate,
                                 chart_x_at(a, 12),
                                 chart_x_at(a, 60),
                                 chart_x_at(a, 68),
                                 legend_y,
                                 l->memory,
                                 l->measured,
                                 l->colour};
        if (x1 <= x0) continue;
        chart_csv_text(f, l->label);
        for (size_t k = 0; k < sizeof number / sizeof *number; k++) chart_csv_number(f, number[k]);
        chart_csv_end(f, l->best);
    }
    return chart_data_close(out, f, file);
}

static const char *share_text(double share, char text[16]) {
    snprintf(text, 16, "%.0f %%", 100 * share);
    return isfinite(share) ? text : "-";
}

/* Table and points in one file; a row without FLOPs has neither intensity nor mark. */
static int write_points(struct chart_out *out, const char *name, const struct chart_axes *a,
                        const struct point *point, size_t count, size_t with_flops) {
    char file[80], shape[64], rate_text[32], share[16];
    struct chart_mark mark[MAX_POINTS];
    for (size_t i = 0; i < with_flops; i++)
        mark[i] = (struct chart_mark){point[i].r->ai, point[i].r->gflop_s, 0, 0};
    chart_place_marks(a, mark, with_flops, MARK_SIZE);
    snprintf(file, sizeof file, "%s_points", name);
    FILE *f = chart_data(out, file,
                         "op,impl,dtype,shape,level,rate,share,ai,gflop_s,gbyte_s,mark_ai,mark_"
                         "gflop_s,line,above,number");
    if (!f) return -1;
    for (size_t i = 0; i < count; i++) {
        const struct row *r = point[i].r;
        const bool flops = i < with_flops;
        chart_shape_text(r, shape, sizeof shape);
        snprintf(rate_text, sizeof rate_text, "%.3g", rate(r));
        if (rate(r) >= 1000) snprintf(rate_text, sizeof rate_text, "%.0f", rate(r));
        const char *text[] = {r->op,
                              r->impl,
                              r->dtype,
                              shape,
                              r->level,
                              rate_text,
                              share_text(point[i].share, share)};
        for (size_t k = 0; k < sizeof text / sizeof *text; k++) chart_csv_text(f, text[k]);
        const double number[] = {
            flops ? r->ai : NAN,          flops ? r->gflop_s : NAN,     r->gbyte_s,
            flops ? mark[i].mark_x : NAN, flops ? mark[i].mark_y : NAN, (double)i + (flops ? 0 : 2),
            point[i].share > above_roof};
        for (size_t k = 0; k < sizeof number / sizeof *number; k++) chart_csv_number(f, number[k]);
        chart_csv_end(f, flops ? (int)i + 1 : 0);
    }
    return chart_data_close(out, f, file);
}

static void set_axes(struct chart_vars *v, const struct chart_axes *a) {
    chart_set_number(v, "x_min", a->x_min);
    chart_set_number(v, "x_max", a->x_max);
    chart_set_number(v, "y_min", a->y_min);
    chart_set_number(v, "y_max", a->y_max);
}

static int roofline(struct chart_out *out, const struct chart_run *run, const char *dtype) {
    struct point point[MAX_POINTS];
    struct line line[MAX_LINES];
    struct chart_vars v;
    char name[64], file[80], subtitle[256];
    size_t with_flops = 0, lines = memory_lines(run, line, 0);
    const size_t points = pick_points(run, dtype, point, &with_flops);
    lines = published_lines(run, dtype, line, compute_lines(run, dtype, line, lines));
    if (with_flops == 0) return 0;
    qsort(line, lines, sizeof *line, by_rank);
    const struct chart_axes a = axes_for(point, with_flops, line, lines);
    snprintf(name, sizeof name, "roofline_%s", dtype);
    if (write_lines(out, name, &a, line, lines) ||
        write_points(out, name, &a, point, points, with_flops))
        return -1;
    if (chart_vars_open(&v)) return -1;
    size_t above = 0;
    for (size_t i = 0; i < points; i++) above += point[i].share > above_roof;
    chart_subtitle(run, run->threads, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Roofline, %s", dtype);
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    snprintf(file, sizeof file, "%s_roofs", name);
    chart_set_data(&v, out, "roofs_data", file);
    snprintf(file, sizeof file, "%s_points", name);
    chart_set_data(&v, out, "points_data", file);
    set_axes(&v, &a);
    chart_set_number(&v, "points", (double)with_flops);
    chart_set_number(&v, "without_flops", (double)(points - with_flops));
    chart_set_number(&v, "above", (double)above);
    chart_draw(out, &v, "roofline", name);
    return 0;
}

/* ---- all dtypes in one ---- */

static unsigned dtype_colour(int t) {
    static const unsigned palette[] = {0x000000, 0x0072b2, 0x999999, 0xe69f00,
                                       0xd55e00, 0x009e73, 0x56b4e9, 0xcc79a7};
    return palette[t % (int)(sizeof palette / sizeof *palette)];
}

static int roofline_all(struct chart_out *out, const struct chart_run *run) {
    struct point all[DTYPE_COUNT * MAX_POINTS];
    struct line line[MAX_LINES];
    struct chart_vars v;
    size_t count = 0, first[DTYPE_COUNT + 1], lines = memory_lines(run, line, 0);
    char subtitle[256], text[64];
    for (int t = 0; t < DTYPE_COUNT; t++) {
        size_t with_flops = 0;
        first[t] = count;
        pick_points(run, dtypes[t].name, all + count, &with_flops);
        count += with_flops;
        const struct ceiling *top = ceilings_compute(&run->roofs, dtypes[t].name, run->threads);
        struct line l = {.measured = true,
                         .best = true,
                         .rate = top ? top->rate : NAN,
                         .colour = dtype_colour(t)};
        if (!top || !with_flops) continue;
        snprintf(l.label, sizeof l.label, "%s %s: %.4g GFLOP/s", dtypes[t].name, top->impl,
                 top->rate);
        lines = add_line(line, lines, l);
    }
    first[DTYPE_COUNT] = count;
    if (count == 0) return 0;
    qsort(line, lines, sizeof *line, by_rank);
    const struct chart_axes a = axes_for(all, count, line, lines);
    FILE *f =
        chart_data(out, "roofline_all_points", "op,impl,dtype,shape,ai,gflop_s,share,colour,above");
    if (!f) return -1;
    for (int t = 0; t < DTYPE_COUNT; t++)
        for (size_t i = first[t]; i < first[t + 1]; i++) {
            const struct row *r = all[i].r;
            chart_shape_text(r, text, sizeof text);
            chart_csv_text(f, r->op), chart_csv_text(f, r->impl), chart_csv_text(f, r->dtype),
                chart_csv_text(f, text);
            chart_csv_number(f, r->ai), chart_csv_number(f, r->gflop_s),
                chart_csv_number(f, all[i].share);
            chart_csv_number(f, dtype_colour(t));
            chart_csv_end(f, all[i].share > above_roof);
        }
    if (chart_data_close(out, f, "roofline_all_points")) return -1;
    f = chart_data(out, "roofline_all_key", "dtype,roof,kink,best,best_op,colour,line,points");
    if (!f) return -1;
    const struct ceiling *dram = ceilings_bandwidth(&run->roofs, "DRAM", run->threads, NULL);
    for (int t = 0, row = 0; t < DTYPE_COUNT; t++) {
        const struct ceiling *top = ceilings_compute(&run->roofs, dtypes[t].name, run->threads);
        const struct point *fast = &all[first[t]];
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
        write_lines(out, "roofline_all", &a, line, lines))
        return -1;
    if (chart_vars_open(&v)) return -1;
    chart_subtitle(run, run->threads, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Roofline, all number formats");
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    chart_set_data(&v, out, "roofs_data", "roofline_all_roofs");
    chart_set_data(&v, out, "points_data", "roofline_all_points");
    chart_set_data(&v, out, "key_data", "roofline_all_key");
    set_axes(&v, &a);
    chart_draw(out, &v, "roofline_all", "roofline_all");
    return 0;
}

int chart_rooflines(struct chart_out *out, const struct chart_run *run) {
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (roofline(out, run, dtypes[t].name)) return -1;
    return roofline_all(out, run);
}
