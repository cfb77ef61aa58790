/* chart_comparison.c - several runs side by side: rates over size, compute ceilings, ratios of equal problems. */
#include "chart_comparison.h"
#include "chart_bars.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void chart_set_runs(struct chart_vars *v, const struct chart_runs *runs) {
    char name[32];
    for (size_t i = 0; i < runs->count; i++) {
        snprintf(name, sizeof name, "label_%zu", i);
        chart_set_text(v, name, "%s", runs->run[i].label);
        snprintf(name, sizeof name, "colour_%zu", i);
        chart_set_number(v, name, runs->run[i].colour);
        snprintf(name, sizeof name, "dash_%zu", i);
        chart_set_number(v, name, 1 + runs->run[i].dash % 4);
    }
    chart_set_number(v, "runs", (double)runs->count);
}

int64_t chart_threads(const struct chart_run *run) {
    int64_t most = run->threads;
    for (size_t i = 0; i < run->roofs.count && run->threads == 0; i++)
        if (run->roofs.ceiling[i].threads > most) most = run->roofs.ceiling[i].threads;
    return most;
}

/* ---- equal problems ---- */

static int order_numbers(int64_t x, int64_t y) { return (x > y) - (x < y); }

/* A file may lack the column. */
static int64_t at_least_one(int64_t x) { return x < 1 ? 1 : x; }

static int order_problems(const struct row *x, const struct row *y) {
    int order = strcmp(x->op, y->op);
    if (!order) order = strcmp(x->dtype, y->dtype);
    if (!order) order = order_numbers(x->b, y->b);
    if (!order) order = order_numbers(x->m, y->m);
    if (!order) order = order_numbers(x->n, y->n);
    if (!order) order = order_numbers(x->k, y->k);
    if (!order) order = strcmp(x->layout, y->layout);
    if (!order) order = strcmp(x->cache, y->cache);
    if (!order) order = order_numbers(at_least_one(x->copies), at_least_one(y->copies));
    return order;
}

static int by_problem_then_time(const void *a, const void *b) {
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    const int order = order_problems(x, y);
    return order ? order : (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* The fastest row of each problem, sorted; NULL without memory. */
static const struct row **fastest_rows(const struct chart_run *run, size_t *count) {
    const struct row **row = calloc(run->bench.count + 1, sizeof(const struct row *));
    size_t rows = 0;
    *count = 0;
    if (!row) return NULL;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (chart_shows(run, r, r->dtype) && (!*r->fill || strcmp(r->fill, "normal") == 0))
            row[rows++] = r;
    }
    qsort(row, rows, sizeof(const struct row *), by_problem_then_time);
    for (size_t i = 0; i < rows; i++)
        if (*count == 0 || order_problems(row[*count - 1], row[i]) != 0) row[(*count)++] = row[i];
    return row;
}

struct chart_pair *chart_pairs(const struct chart_run *a, const struct chart_run *b,
                               size_t *count) {
    size_t in_a = 0, in_b = 0;
    const struct row **x = fastest_rows(a, &in_a), **y = fastest_rows(b, &in_b);
    struct chart_pair *pair = x && y ? malloc((in_a + 1) * sizeof *pair) : NULL;
    *count = pair ? 0 : 1;
    if (!pair) fprintf(stderr, "roofline: no memory for the rows of two runs\n");
    for (size_t i = 0, k = 0; pair && i < in_a && k < in_b;) {
        const int order = order_problems(x[i], y[k]);
        if (order == 0) pair[(*count)++] = (struct chart_pair){x[i], y[k]};
        i += order <= 0;
        k += order >= 0;
    }
    free(x);
    free(y);
    if (pair && *count == 0) {
        free(pair);
        return NULL;
    }
    return pair;
}

/* ---- the second beside the first ---- */

/* Of an op's problems in this dtype only the largest is a bar, of products each size. */
static bool is_bar(const struct chart_pair *pair, size_t count, size_t i, const char *dtype) {
    const struct row *r = pair[i].a;
    if (strcmp(r->dtype, dtype) != 0) return false;
    const int op = op_find(r->op);
    if (op >= 0 && ops[op].sweep == SWEEP_cubes && r->n >= 256) return true;
    for (size_t k = 0; k < count; k++)
        if (strcmp(pair[k].a->op, r->op) == 0 && strcmp(pair[k].a->dtype, dtype) == 0 &&
            (pair[k].a->footprint_bytes > r->footprint_bytes ||
             (pair[k].a->footprint_bytes == r->footprint_bytes && k < i)))
            return false;
    return true;
}

static int ratio(struct chart_out *out, const struct chart_runs *runs,
                 const struct chart_pair *pair, size_t count, const char *dtype) {
    struct chart_bar bar[CHART_MAX_BARS];
    char name[64], title[160], subtitle[512];
    const bool same_device = strcmp(runs->run[0].device, runs->run[1].device) == 0;
    bool any_moved = false;
    int bars = 0;
    for (size_t i = 0; i < count; i++) {
        const struct row *a = pair[i].a, *b = pair[i].b;
        if (!is_bar(pair, count, i, dtype)) continue;
        struct chart_bar x = chart_bar_of(a, b);
        const bool same = strcmp(a->impl, b->impl) == 0;
        const bool moved = same_device && strcmp(a->placement, b->placement) != 0;
        snprintf(x.value, sizeof x.value, "%.2f%s   %s%s%s", x.ratio, moved ? "*" : "", b->impl,
                 same ? "" : " / ", same ? "" : a->impl);
        any_moved = any_moved || moved;
        bars = chart_add_bar(bar, bars, x);
    }
    snprintf(name, sizeof name, "ratio_%s", dtype);
    snprintf(title, sizeof title, "Two runs, %s", dtype);
    snprintf(subtitle, sizeof subtitle,
             "%s over %s; the fastest of each; more than 1: the former is faster%s",
             runs->run[1].label, runs->run[0].label,
             any_moved ? "; *: the threads were placed otherwise" : "");
    return chart_draw_bars(out, name, title, subtitle, "ratio of rates", bar, bars);
}

static int ratios(struct chart_out *out, const struct chart_runs *runs) {
    size_t count;
    struct chart_pair *pair = chart_pairs(&runs->run[0], &runs->run[1], &count);
    int status = 0;
    if (!pair) return count ? -1 : 0;
    for (int t = 0; t < DTYPE_COUNT && status == 0; t++)
        status = ratio(out, runs, pair, count, dtypes[t].name);
    free(pair);
    return status;
}

/* ---- rates over size ---- */

struct sweep_point {
    double x, y;
};

static int by_x(const void *a, const void *b) {
    const struct sweep_point *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y < q->y) - (p->y > q->y);
}

/* Sorts, and keeps the highest point of each x (within 2 %). */
static size_t keep_highest(struct sweep_point *point, size_t count) {
    size_t kept = 0;
    qsort(point, count, sizeof *point, by_x);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && point[i].x < 1.02 * point[kept - 1].x)
            point[kept - 1].y = fmax(point[kept - 1].y, point[i].y);
        else
            point[kept++] = point[i];
    }
    return kept;
}

/* What DRAM and caches deliver to reads, over the working set. */
static size_t read_points(const struct chart_run *run, struct sweep_point *point) {
    size_t count = 0;
    const int64_t threads = chart_threads(run);
    for (size_t i = 0; i < run->peaks.count; i++) {
        const struct row *r = &run->peaks.row[i];
        const char *pattern = roof_pattern(r->op);
        if (pattern && strcmp(pattern, "read") == 0 && strcmp(r->status, "ok") == 0 &&
            r->threads == threads && r->gbyte_s > 0 && r->footprint_bytes > 0)
            point[count++] = (struct sweep_point){r->footprint_bytes, r->gbyte_s};
    }
    return keep_highest(point, count);
}

static size_t product_points(const struct chart_run *run, const struct op *op, const char *dtype,
                             struct sweep_point *point) {
    size_t count = 0;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (chart_shows(run, r, dtype) && strcmp(r->op, op->name) == 0 && r->b == 1 && r->n > 1 &&
            r->m == r->n && r->k == r->n && (!*r->fill || strcmp(r->fill, "normal") == 0))
            point[count++] = (struct sweep_point){(double)r->n, r->gflop_s};
    }
    return keep_highest(point, count);
}

/* One chart: of products where there is an op, else of reads. */
static int sweep(struct chart_out *out, const struct chart_runs *runs, const struct op *op,
                 const char *dtype) {
    char name[64];
    struct chart_vars v;
    double least = INFINITY, largest = 0, top = 0, bottom = INFINITY;
    size_t drawn = 0;
    FILE *f = NULL;
    if (op)
        snprintf(name, sizeof name, "sweep_%s_%s", op->name, dtype);
    else
        snprintf(name, sizeof name, "sweep_read");
    for (size_t i = 0; i < runs->count; i++) {
        const struct chart_run *run = &runs->run[i];
        struct sweep_point *point =
            malloc((run->bench.count + run->peaks.count + 1) * sizeof *point);
        if (!point) {
            fprintf(stderr, "roofline: no memory for a chart\n");
            if (f) fclose(f);
            return -1;
        }
        const size_t count = op ? product_points(run, op, dtype, point) : read_points(run, point);
        drawn += count >= 2;
        if (count >= 2 && !f && !(f = chart_data(out, name, "run,x,rate,run_index"))) {
            free(point);
            return -1;
        }
        for (size_t k = 0; count >= 2 && k < count; k++) {
            chart_csv_text(f, run->label), chart_csv_number(f, point[k].x);
            chart_csv_number(f, point[k].y), chart_csv_end(f, (int)i);
            least = fmin(least, point[k].x), largest = fmax(largest, point[k].x);
            bottom = fmin(bottom, point[k].y), top = fmax(top, point[k].y);
        }
        free(point);
    }
    if (!f) return 0;
    if (chart_data_close(out, f, name)) return -1;
    if (drawn < 2) return 0;
    if (chart_vars_open(&v)) return -1;
    if (op) {
        chart_set_text(&v, "title_text", "%s, %s: rate against size, m = n = k", op->name, dtype);
        chart_set_text(&v, "subtitle_text", "the fastest implementation of each run");
    } else {
        chart_set_text(&v, "title_text", "Read bandwidth against working set");
        chart_set_text(&v, "subtitle_text", "all threads, the fastest implementation of each run");
    }
    chart_set_text(&v, "x_text", op ? "m = n = k" : "working set");
    chart_set_text(&v, "y_text", op ? "GFLOP/s" : "GB/s");
    chart_set_data(&v, out, "sweep_data", name);
    chart_set_runs(&v, runs);
    chart_set_number(&v, "in_bytes", op == NULL);
    chart_set_number(&v, "x_min", least);
    chart_set_number(&v, "x_max", largest);
    chart_set_number(&v, "rate_min", bottom);
    chart_set_number(&v, "rate_max", top);
    chart_draw(out, &v, "sweep", name);
    return 0;
}

static int sweeps(struct chart_out *out, const struct chart_runs *runs) {
    if (sweep(out, runs, NULL, NULL)) return -1;
    for (int i = 0; i < OP_COUNT; i++)
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (ops[i].sweep == SWEEP_cubes && sweep(out, runs, &ops[i], dtypes[t].name)) return -1;
    return 0;
}

/* ---- compute ceilings ---- */

static int devices(struct chart_out *out, const struct chart_runs *runs) {
    static const char name[] = "ladder_devices";
    char text[160];
    struct chart_vars v;
    double top = 0, at = 0;
    size_t having = 0;
    for (size_t i = 0; i < runs->count; i++) {
        bool any = false;
        for (int t = 0; t < DTYPE_COUNT; t++)
            any = any || ceilings_compute(&runs->run[i].roofs, dtypes[t].name,
                                          chart_threads(&runs->run[i]));
        having += any;
    }
    if (having < 2) return 0;
    FILE *f = chart_data(out, name, "dtype,run,impl,value,gflop_s,position,middle,run_index");
    if (!f) return -1;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        size_t bars = 0;
        for (size_t i = 0; i < runs->count; i++)
            bars += ceilings_compute(&runs->run[i].roofs, dtypes[t].name,
                                     chart_threads(&runs->run[i])) != NULL;
        const double middle = at + ((double)bars - 1) / 2;
        for (size_t i = 0; i < runs->count; i++) {
            const struct ceiling *x =
                ceilings_compute(&runs->run[i].roofs, dtypes[t].name, chart_threads(&runs->run[i]));
            if (!x) continue;
            chart_csv_text(f, dtypes[t].name), chart_csv_text(f, runs->run[i].label);
            chart_csv_text(f, x->impl);
            snprintf(text, sizeof text, "%.4g   %s", x->rate, x->impl);
            chart_csv_text(f, text);
            chart_csv_number(f, x->rate), chart_csv_number(f, at++);
            chart_csv_number(f, middle), chart_csv_end(f, (int)i);
            top = fmax(top, x->rate);
        }
        at += bars > 0 ? 0.7 : 0;
    }
    if (chart_data_close(out, f, name) || chart_vars_open(&v)) return -1;
    chart_set_text(&v, "title_text", "Compute ceilings of %zu runs", runs->count);
    chart_set_text(&v, "subtitle_text",
                   "every number format, all threads, the fastest instruction set");
    chart_set_data(&v, out, "devices_data", name);
    chart_set_runs(&v, runs);
    chart_set_number(&v, "last", at - 1.7);
    chart_set_number(&v, "rate_max", top);
    chart_set_number(&v, "canvas_y",
                     chart_height(out, 210 + 24 * (double)runs->count + 26 * (at + 0.3)));
    chart_draw(out, &v, "devices", name);
    return 0;
}

int chart_comparison(struct chart_out *out, const struct chart_runs *runs) {
    if (runs->count < 2) return 0;
    return chart_overlays(out, runs) || sweeps(out, runs) || devices(out, runs) || ratios(out, runs)
               ? -1
               : 0;
}
