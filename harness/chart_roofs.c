/* chart_roofs.c - the lines of a roofline chart, its axes and its legend. */
#include "chart_roofs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct chart_axes chart_area(const struct chart_out *out) {
    struct chart_axes a = {.width = out->compact ? 700 : 912, .height = out->compact ? 522 : 810};
    return a;
}

/* ---- which ceilings are lines ---- */

static unsigned level_colour(const char *level) {
    if (strcmp(level, "L1") == 0) return 0x56b4e9;
    if (strcmp(level, "L2") == 0) return 0x009e73;
    if (strcmp(level, "L3") == 0) return 0xe69f00;
    return 0x000000;
}

size_t chart_add_line(struct chart_line *line, size_t count, struct chart_line x) {
    if (count < CHART_MAX_LINES && isfinite(x.rate) && x.rate > 0) line[count++] = x;
    return count;
}

size_t chart_memory_lines(const struct chart_run *run, struct chart_line *line, size_t count) {
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        if (x->kind != CEILING_MEMORY ||
            x != ceilings_bandwidth(&run->roofs, x->name, run->threads, x->placement))
            continue;
        const bool dram = strcmp(x->name, "DRAM") == 0;
        if (!dram && x != ceilings_bandwidth(&run->roofs, x->name, run->threads, NULL)) continue;
        struct chart_line l = {.memory = true, .measured = true, .best = dram, .rate = x->rate};
        l.colour = dram && strcmp(x->placement, "near") == 0 ? 0x777777 : level_colour(x->name);
        snprintf(l.label, sizeof l.label, "%s%s%s %s: %.4g GB/s", x->name,
                 *x->placement && dram ? " " : "", dram ? x->placement : "", x->pattern, x->rate);
        count = chart_add_line(line, count, l);
    }
    return count;
}

/* Every implementation's ceiling of the dtype, and the accumulator's best where that is the roof. */
size_t chart_compute_lines(const struct chart_run *run, enum dtype dtype, struct chart_line *line,
                           size_t count) {
    const struct ceiling *top = ceilings_compute_for(&run->roofs, dtype, run->threads);
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        const bool own = strcmp(x->name, dtypes[dtype].name) == 0;
        if (x->kind != CEILING_COMPUTE || !x->proven || x->threads != run->threads ||
            (!own && x != top))
            continue;
        struct chart_line l = {.measured = true,
                               .best = x == top,
                               .rate = x->rate,
                               .colour = x == top ? 0xd55e00 : 0x999999};
        snprintf(l.label, sizeof l.label, "%s %s%s: %.4g GFLOP/s", x->name, own ? "" : "fma ",
                 x->impl, x->rate);
        count = chart_add_line(line, count, l);
    }
    return count;
}

size_t chart_unproven_roofs(const struct chart_run *run, enum dtype dtype) {
    size_t count = 0;
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        const bool concerns = x->kind == CEILING_MEMORY ||
                              strcmp(x->name, dtypes[dtype].name) == 0 ||
                              strcmp(x->name, dtypes[dtypes[dtype].acc].name) == 0;
        count += concerns && !x->proven && x->threads == run->threads;
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

size_t chart_published_lines(const struct chart_run *run, const char *dtype,
                             struct chart_line *line, size_t count) {
    static const struct {
        const char *label;
        size_t field;
        bool memory;
    } source[] = {{"published dense peak: %.4g GFLOP/s", offsetof(struct row, spec_gflop_s), false},
                  {"published: %.4g GB/s", offsetof(struct row, spec_gbyte_s), true},
                  {"FLOPs a cycle x measured clock: %.4g GFLOP/s",
                   offsetof(struct row, clock_gflop_s), false}};
    for (size_t i = 0; i < sizeof source / sizeof *source; i++) {
        struct chart_line l = {.memory = source[i].memory, .colour = 0xcc79a7};
        l.rate = fmax(highest(&run->peaks, dtype, run->threads, source[i].field),
                      highest(&run->bench, dtype, run->threads, source[i].field));
        snprintf(l.label, sizeof l.label, source[i].label, l.rate);
        count = chart_add_line(line, count, l);
    }
    return count;
}

static int by_rank(const void *a, const void *b) {
    const struct chart_line *x = a, *y = b;
    if (x->measured != y->measured) return x->measured ? -1 : 1;
    if (x->memory != y->memory) return x->memory ? -1 : 1;
    return (x->rate < y->rate) - (x->rate > y->rate);
}

void chart_sort_lines(struct chart_line *line, size_t count) {
    qsort(line, count, sizeof *line, by_rank);
}

/* ---- geometry ---- */

static double top_of(const struct chart_line *line, size_t count, bool memory) {
    double top = NAN;
    for (size_t i = 0; i < count; i++)
        if (line[i].memory == memory) top = fmax(top, line[i].rate);
    return top;
}

enum { LEGEND_WIDTH = 340, LEGEND_LINE = 20, LEGEND_EDGE = 22 };

/* The legend lies at the upper left, above the slants. Without a flat roof they run through there: then it lies at the
 * lower right. */
static bool legend_is_low(const struct chart_line *line, size_t count) {
    return isnan(top_of(line, count, false));
}

/* Adds decades until nothing lies behind the legend. */
static void free_legend(struct chart_axes *a, const struct chart_point *point, size_t points,
                        const struct chart_line *line, size_t lines) {
    const double height = 2.0 * LEGEND_EDGE + LEGEND_LINE * (double)lines;
    const double compute = top_of(line, lines, false), memory = top_of(line, lines, true);
    const bool low = legend_is_low(line, lines);
    double highest = isnan(memory) ? compute : fmin(compute, memory * chart_x_at(a, LEGEND_WIDTH));
    double lowest = INFINITY;
    for (size_t i = 0; i < points; i++) {
        const double x = chart_x_pixels(a, point[i].r->ai);
        if (x < LEGEND_WIDTH) highest = fmax(highest, point[i].r->gflop_s);
        if (x > a->width - LEGEND_WIDTH) lowest = fmin(lowest, point[i].r->gflop_s);
    }
    for (int tries = 0; tries < 3; tries++) {
        if (low && chart_y_pixels(a, lowest) < height) a->y_min /= 10;
        if (!low && chart_y_pixels(a, highest) > a->height - height) a->y_max *= 10;
    }
}

struct chart_axes chart_roofline_axes(const struct chart_out *out, const struct chart_point *point,
                                      size_t points, const struct chart_line *line, size_t lines,
                                      bool with_legend) {
    const double compute = top_of(line, lines, false);
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
    struct chart_axes a = chart_area(out);
    a.x_min = chart_decade_below(x_min / 1.1);
    a.x_max = chart_decade_above(x_max * 1.1);
    a.y_min = chart_decade_below(y_min / 1.1);
    a.y_max = chart_decade_above(y_max * 1.2);
    if (isnan(compute) && isfinite(bandwidth))
        a.y_max = fmax(a.y_max, chart_decade_above(3 * bandwidth * x_min));
    if (with_legend) free_legend(&a, point, points, line, lines);
    return a;
}

/* ---- files ---- */

/* Where slants of a kind end: the highest flat roof of that kind, else of the other; NaN: none. */
static double flat_roof(const struct chart_line *line, size_t count, bool measured) {
    double same = NAN;
    for (size_t i = 0; i < count; i++)
        if (!line[i].memory && line[i].measured == measured) same = fmax(same, line[i].rate);
    return isnan(same) ? top_of(line, count, false) : same;
}

int chart_write_lines(struct chart_out *out, const char *name, const struct chart_axes *a,
                      const struct chart_line *line, size_t count) {
    char file[80];
    snprintf(file, sizeof file, "%s_roofs", name);
    FILE *f = chart_data(
        out, file,
        "label,rate,ai_0,gflop_0,ai_1,gflop_1,legend_ai_0,legend_ai_1,legend_text_ai,legend_gflop,"
        "memory,measured,colour,line,best");
    if (!f) return -1;
    const double memory = top_of(line, count, true);
    for (size_t i = 0; i < count; i++) {
        const struct chart_line *l = &line[i];
        double x0 = a->x_min, x1 = a->x_max;
        if (l->memory) {
            x0 = fmax(x0, a->y_min / l->rate);
            x1 = fmin(x1, fmin(flat_roof(line, count, l->measured), a->y_max) / l->rate);
        }
        if (!l->memory && isfinite(memory)) x0 = fmax(x0, l->rate / memory);
        const double below = LEGEND_EDGE + LEGEND_LINE * (double)i;
        const double legend_y = chart_y_at(
            a, legend_is_low(line, count) ? LEGEND_LINE * (double)count - below + LEGEND_EDGE
                                          : a->height - below);
        const double legend_x = legend_is_low(line, count) ? a->width - LEGEND_WIDTH : 0;
        const double number[] = {l->rate,
                                 x0,
                                 l->memory ? x0 * l->rate : l->rate,
                                 x1,
                                 l->memory ? x1 * l->rate : l->rate,
                                 chart_x_at(a, legend_x + 12),
                                 chart_x_at(a, legend_x + 60),
                                 chart_x_at(a, legend_x + 68),
                                 legend_y,
                                 l->memory,
                                 l->measured,
                                 l->colour,
                                 (double)i};
        if (x1 <= x0) continue;
        chart_csv_text(f, l->label);
        for (size_t k = 0; k < sizeof number / sizeof *number; k++) chart_csv_number(f, number[k]);
        chart_csv_end(f, l->best);
    }
    return chart_data_close(out, f, file);
}
