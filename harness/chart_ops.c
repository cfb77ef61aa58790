/* chart_ops.c - charts of measured operations: products over their size, ours against a vendor's, streams. */
#include "chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SERIES = 12, MAX_BARS = 64 };

/* ---- products ---- */

static bool is_cube(const struct row *r) {
    return r->b == 1 && r->m == r->n && r->n == r->k && r->n > 1;
}

/* The n at which a cube's intensity reaches ai: op_bytes() knows the bytes; NaN when it never does. */
static double cube_at(const struct op *op, enum dtype t, double ai) {
    int64_t low = 1, high = 1 << 20;
    while (low < high) {
        const int64_t n = (low + high) / 2;
        const struct args a = {.s = {1, n, n, n}, .alpha = 1};
        if (op->flops(a.s) / op_bytes(op, t, &a) >= ai)
            high = n;
        else
            low = n + 1;
    }
    return low < 1 << 20 ? (double)low : NAN;
}

/* What DRAM and the compute ceiling allow a cube of n; without ceilings one empty record. */
static int write_cube_roof(struct chart_out *out, const char *name, const struct op *op,
                           enum dtype t, const struct ceiling *roof, const struct ceiling *dram,
                           double n_min, double n_max) {
    enum { STEPS = 100 };
    FILE *f = chart_data(out, name, "n,gflop_s,step");
    if (!f) return -1;
    for (int i = 0; i <= STEPS; i++) {
        const double n = n_min * pow(n_max / n_min, (double)i / STEPS);
        const int64_t whole = (int64_t)ceil(n);
        const struct args a = {.s = {1, whole, whole, whole}, .alpha = 1};
        const double intensity = op->flops(a.s) / op_bytes(op, t, &a);
        chart_csv_number(f, (double)whole);
        chart_csv_number(f, roof && dram ? fmin(roof->rate, dram->rate * intensity) : NAN);
        chart_csv_end(f, i);
    }
    return chart_data_close(out, f, name);
}

static int by_size(const void *a, const void *b) {
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    return (x->n > y->n) - (x->n < y->n);
}

static int product(struct chart_out *out, const struct chart_run *run, const struct op *op,
                   enum dtype t) {
    char series[MAX_SERIES][ROW_TEXT], name[64], roof_name[80], subtitle[256];
    const struct row **row = calloc(run->bench.count + 1, sizeof(const struct row *));
    size_t rows = 0, kinds = 0, sizes = 0;
    int status = -1;
    struct chart_vars v;
    if (!row) return -1;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (!chart_shows(run, r, dtypes[t].name) || strcmp(r->op, op->name) != 0 || !is_cube(r))
            continue;
        if (*r->layout && strcmp(r->layout, layout_names[LAYOUT_NN]) != 0) continue;
        if (*r->fill && strcmp(r->fill, "normal") != 0) continue;
        row[rows++] = r;
    }
    qsort(row, rows, sizeof(const struct row *), by_size);
    for (size_t i = 0; i < rows; i++) sizes += i == 0 || row[i]->n != row[i - 1]->n;
    for (size_t i = 0; i < rows; i++) {
        size_t k = 0;
        while (k < kinds && strcmp(series[k], row[i]->impl) != 0) k++;
        if (k == kinds && kinds < MAX_SERIES) row_set_text(series[kinds++], row[i]->impl);
    }
    if (sizes < 2) {
        free(row);
        return 0;
    }
    snprintf(name, sizeof name, "%s_%s", op->name, dtypes[t].name);
    snprintf(roof_name, sizeof roof_name, "%s_roof", name);
    FILE *f = chart_data(out, name, "op,impl,dtype,n,gflop_s,low,high,roof_fraction,series");
    if (!f) goto done;
    double top = 0;
    for (size_t k = 0; k < kinds; k++)
        for (size_t i = 0; i < rows; i++) {
            const struct row *r = row[i];
            if (strcmp(r->impl, series[k]) != 0) continue;
            chart_csv_text(f, r->op), chart_csv_text(f, r->impl), chart_csv_text(f, r->dtype);
            chart_csv_number(f, (double)r->n), chart_csv_number(f, r->gflop_s);
            chart_csv_number(f, r->flops / r->ci_high_s / 1e9),
                chart_csv_number(f, r->flops / r->ci_low_s / 1e9);
            chart_csv_number(f, r->gflop_s / chart_roof(run, r));
            chart_csv_end(f, (int)k);
            top = fmax(top, r->gflop_s);
        }
    if (chart_data_close(out, f, name) || chart_vars_open(&v)) goto done;
    const struct ceiling *roof = ceilings_compute_for(&run->roofs, t, run->threads);
    const struct ceiling *dram = ceilings_bandwidth(&run->roofs, "DRAM", run->threads, NULL);
    chart_subtitle(run, run->threads, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "%s, %s: rate against size, m = n = k", op->name,
                   dtypes[t].name);
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    chart_set_data(&v, out, "product_data", name);
    for (size_t k = 0; k < kinds; k++) {
        char variable[32];
        snprintf(variable, sizeof variable, "series_%zu", k);
        chart_set_text(&v, variable, "%s", series[k]);
    }
    chart_set_number(&v, "series_count", (double)kinds);
    chart_set_number(&v, "roof", roof ? roof->rate : NAN);
    chart_set_text(&v, "roof_text", "measured ceiling, %s %s: %.4g GFLOP/s", roof ? roof->name : "",
                   roof ? roof->impl : "", roof ? roof->rate : NAN);
    const double kink = roof && dram ? cube_at(op, t, roof->rate / dram->rate) : NAN;
    const double n_min = fmin((double)row[0]->n, isnan(kink) ? INFINITY : kink) / 1.4;
    const double n_max = fmax((double)row[rows - 1]->n, isnan(kink) ? 0 : kink) * 1.2;
    chart_set_data(&v, out, "roof_data", roof_name);
    chart_set_number(&v, "kink", kink);
    chart_set_text(&v, "kink_text", "kink predicted at n = %.0f", kink);
    chart_set_number(&v, "n_min", n_min);
    chart_set_number(&v, "n_max", n_max);
    chart_set_number(&v, "rate_max", fmax(top, roof ? roof->rate : 0));
    if (write_cube_roof(out, roof_name, op, t, roof, dram, n_min, n_max)) {
        fclose(v.f);
        free(v.text);
        goto done;
    }
    chart_draw(out, &v, "product", name);
    status = 0;
done:
    free(row);
    return status;
}

int chart_products(struct chart_out *out, const struct chart_run *run) {
    for (int i = 0; i < OP_COUNT; i++)
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (ops[i].sweep == SWEEP_cubes && product(out, run, &ops[i], (enum dtype)t)) return -1;
    return 0;
}

/* ---- ours against a vendor's ---- */

static bool same_problem(const struct row *a, const struct row *b) {
    struct row x = *a;
    row_set_text(x.impl, b->impl);
    return row_same_key(&x, b);
}

/* The fastest row for the problem of `like`, of a vendor or ours. */
static const struct row *fastest(const struct chart_run *run, const struct row *like, bool vendor) {
    const struct row *found = NULL;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (impl_is_vendor(r->impl) != vendor || !chart_shows(run, r, like->dtype) ||
            !same_problem(like, r))
            continue;
        if (strcmp(r->placement, like->placement) != 0) continue;
        if (!found || r->time_s < found->time_s) found = r;
    }
    return found;
}

static int vendors(struct chart_out *out, const struct chart_run *run, const char *dtype) {
    char name[64], subtitle[256], shape[64], text[256];
    struct chart_vars v;
    double top = 1;
    int bars = 0;
    FILE *f = NULL;
    snprintf(name, sizeof name, "vendor_%s", dtype);
    for (size_t i = 0; i < run->bench.count && bars < MAX_BARS; i++) {
        const struct row *r = &run->bench.row[i];
        if (!impl_is_vendor(r->impl) || !chart_shows(run, r, dtype)) continue;
        const struct row *theirs = fastest(run, r, true);
        const struct row *ours = fastest(run, r, false);
        if (!ours || !theirs || theirs != r) continue;
        if (!f &&
            !(f = chart_data(out, name, "op,shape,ours,vendor,label,value,ratio,low,high,bar")))
            return -1;
        /* Of two that were timed in turns the ratio is known better than from their medians. */
        const bool turns = strcmp(ours->vs, r->impl) == 0 && isfinite(ours->vs_ratio);
        const double ratio = turns ? ours->vs_ratio : theirs->time_s / ours->time_s;
        chart_shape_text(r, shape, sizeof shape);
        chart_csv_text(f, r->op), chart_csv_text(f, shape), chart_csv_text(f, ours->impl),
            chart_csv_text(f, r->impl);
        snprintf(text, sizeof text, "%s  %s%s", r->op, shape,
                 strcmp(r->cache, "cold") == 0 ? "  cold" : "");
        chart_csv_text(f, text);
        snprintf(text, sizeof text, "%.2f   %s / %s", ratio, ours->impl, r->impl);
        chart_csv_text(f, text);
        chart_csv_number(f, ratio);
        chart_csv_number(f, turns ? ours->vs_low : r->ci_low_s / ours->ci_high_s);
        chart_csv_number(f, turns ? ours->vs_high : r->ci_high_s / ours->ci_low_s);
        chart_csv_end(f, bars++);
        top = fmax(top, ratio);
    }
    if (!f) return 0;
    if (chart_data_close(out, f, name) || chart_vars_open(&v)) return -1;
    chart_subtitle(run, run->threads, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Ours against vendor libraries, %s", dtype);
    chart_set_text(&v, "subtitle_text", "%s; more than 1: ours is faster", subtitle);
    chart_set_data(&v, out, "vendor_data", name);
    chart_set_number(&v, "bars", bars);
    chart_set_number(&v, "ratio_max", top);
    chart_set_number(&v, "canvas_y", chart_height(out, 190 + 28 * bars));
    chart_draw(out, &v, "vendor", name);
    return 0;
}

int chart_vendors(struct chart_out *out, const struct chart_run *run) {
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (vendors(out, run, dtypes[t].name)) return -1;
    return 0;
}

/* ---- streams ---- */

/* A DRAM-sized row that memory bounds. */
static bool is_stream(const struct chart_run *run, const struct row *r, const char *dtype) {
    if (!chart_shows(run, r, dtype) || strcmp(r->level, "DRAM") != 0 || roof_is_compute(r->op))
        return false;
    if (*r->fill && strcmp(r->fill, "normal") != 0) return false;
    const struct ceiling *dram = ceilings_bandwidth(&run->roofs, "DRAM", r->threads, NULL);
    const struct ceiling *compute =
        ceilings_compute_for(&run->roofs, (enum dtype)dtype_find(dtype), r->threads);
    if (dram && compute) return r->ai * dram->rate < compute->rate;
    return *r->bound ? strcmp(r->bound, "memory") == 0 : r->ai < 1;
}

/* DRAM bandwidth at the row's placement; NaN when it was not measured. */
static double roof_of(const struct chart_run *run, const struct row *r) {
    if (r->roof_gbyte_s > 0) return r->roof_gbyte_s;
    const struct ceiling *x = ceilings_bandwidth(&run->roofs, "DRAM", r->threads, r->placement);
    return x ? x->rate : NAN;
}

static const struct row *fastest_stream(const struct chart_run *run, const char *op,
                                        const char *dtype, size_t *first) {
    const struct row *found = NULL;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (strcmp(r->op, op) != 0 || !is_stream(run, r, dtype)) continue;
        if (!found) *first = i;
        if (!found || r->gbyte_s > found->gbyte_s) found = r;
    }
    return found;
}

static int streams(struct chart_out *out, const struct chart_run *run, const char *dtype) {
    char name[64], subtitle[256], text[160];
    struct chart_vars v;
    double top = 0;
    int bars = 0, far_bars = 0, near_bars = 0;
    FILE *f = NULL;
    snprintf(name, sizeof name, "streams_%s", dtype);
    for (size_t i = 0; i < run->bench.count && bars < MAX_BARS; i++) {
        size_t first = i;
        const struct row *r = fastest_stream(run, run->bench.row[i].op, dtype, &first);
        if (!r || first != i) continue;
        if (!f && !(f = chart_data(out, name, "op,impl,placement,value,gbyte_s,low,high,near,bar")))
            return -1;
        const bool near = strcmp(r->placement, "near") == 0;
        chart_csv_text(f, r->op), chart_csv_text(f, r->impl), chart_csv_text(f, r->placement);
        const double share =
            isfinite(r->roof_fraction) ? r->roof_fraction : r->gbyte_s / roof_of(run, r);
        char percent[16] = "";
        if (isfinite(share)) snprintf(percent, sizeof percent, "   %.0f %%", 100 * share);
        snprintf(text, sizeof text, "%.1f%s   %s", r->gbyte_s, percent, r->impl);
        chart_csv_text(f, text);
        chart_csv_number(f, r->gbyte_s), chart_csv_number(f, r->bytes / r->ci_high_s / 1e9);
        chart_csv_number(f, r->bytes / r->ci_low_s / 1e9), chart_csv_number(f, near);
        chart_csv_end(f, bars++);
        near_bars += near;
        far_bars += !near;
        top = fmax(top, r->gbyte_s);
    }
    if (!f) return 0;
    if (chart_data_close(out, f, name) || chart_vars_open(&v)) return -1;
    static const char *const placement[] = {"near", "far", ""};
    double roof = NAN;
    for (size_t i = 0; i < sizeof placement / sizeof *placement; i++) {
        const struct ceiling *x =
            ceilings_bandwidth(&run->roofs, "DRAM", run->threads, placement[i]);
        snprintf(text, sizeof text, "roof_%s", *placement[i] ? placement[i] : "any");
        chart_set_number(&v, text, x ? x->rate : NAN);
        if (x) roof = fmax(roof, x->rate);
    }
    chart_subtitle(run, run->threads, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Streams from DRAM, %s", dtype);
    chart_set_text(
        &v, "subtitle_text", "%s; compulsory bytes / time, share of the ceiling%s", subtitle,
        near_bars && far_bars ? "; light: threads share a cache (near), dark: they do not (far)"
                              : "");
    chart_set_data(&v, out, "streams_data", name);
    chart_set_number(&v, "bars", bars);
    chart_set_number(&v, "near_bars", near_bars);
    chart_set_number(&v, "far_bars", far_bars);
    chart_set_number(&v, "rate_max", fmax(top, fmax(roof, 0)));
    chart_set_number(&v, "canvas_y", chart_height(out, 210 + 28 * bars));
    chart_draw(out, &v, "streams", name);
    return 0;
}

int chart_streams(struct chart_out *out, const struct chart_run *run) {
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (streams(out, run, dtypes[t].name)) return -1;
    return 0;
}
