/* chart_overlay.c - the rooflines of several runs in one chart: a colour a device, DRAM bandwidth and the fastest
 * arithmetic of a dtype, and what operations reach. */
#include "chart_comparison.h"
#include "chart_groups.h"
#include "chart_layout.h"
#include "chart_points.h"
#include "chart_roofs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_SIZE = 25 };

/* What a run gives to the overlay of one dtype. */
struct layer {
    const struct chart_run *run;
    double bandwidth, compute; /* GB/s, GFLOP/s; NaN: not proven */
    struct chart_point point[CHART_MAX_POINTS];
    size_t points;
};

static double rate_of(const struct ceiling *x) { return x ? x->rate : NAN; }

static void fill_layer(struct layer *l, const struct chart_run *run, enum dtype t) {
    *l = (struct layer){.run = run};
    size_t all = chart_pick_points(run, dtypes[t].name, l->point, &l->points);
    (void)all; /* the rest has no FLOPs and no place here */
    const int64_t threads = chart_threads(run);
    l->bandwidth = rate_of(ceilings_bandwidth(&run->roofs, "DRAM", threads, NULL));
    l->compute = rate_of(ceilings_compute_for(&run->roofs, t, threads));
}

static bool has_roof(const struct layer *l) {
    return isfinite(l->bandwidth) && isfinite(l->compute);
}

static struct chart_axes axes_of(const struct chart_out *out, const struct layer *l,
                                 size_t layers) {
    double x_min = INFINITY, x_max = 0, y_min = INFINITY, y_max = 0;
    for (size_t i = 0; i < layers; i++) {
        for (size_t k = 0; k < l[i].points; k++) {
            const struct row *r = l[i].point[k].r;
            x_min = fmin(x_min, r->ai), x_max = fmax(x_max, r->ai);
            y_min = fmin(y_min, r->gflop_s), y_max = fmax(y_max, r->gflop_s);
        }
        if (!has_roof(&l[i])) continue;
        const double kink = l[i].compute / l[i].bandwidth;
        x_min = fmin(x_min, kink / 10), x_max = fmax(x_max, 2 * kink);
        y_max = fmax(y_max, l[i].compute);
    }
    for (size_t i = 0; i < layers; i++)
        if (has_roof(&l[i])) y_min = fmin(y_min, l[i].bandwidth * x_min * 2);
    struct chart_axes a = chart_area(out);
    a.x_min = chart_decade_below(x_min / 1.1);
    a.x_max = chart_decade_above(x_max * 1.1);
    a.y_min = chart_decade_below(y_min / 2);
    a.y_max = chart_decade_above(y_max * 1.1);
    return a;
}

static int write_roofs(struct chart_out *out, const char *name, const struct layer *l,
                       size_t layers) {
    char text[64];
    FILE *f = chart_data(out, name, "run,peak,bandwidth,intensity,ai_kink,gflop_s,run_index");
    if (!f) return -1;
    for (size_t i = 0; i < layers; i++) {
        const double kink = l[i].compute / l[i].bandwidth;
        const double number[] = {l[i].compute, l[i].bandwidth, kink};
        snprintf(text, sizeof text, "%.46s", l[i].run->label);
        chart_csv_text(f, text);
        for (int k = 0; k < 3; k++) {
            snprintf(text, sizeof text, k == 2 ? "%.3g" : "%.4g", number[k]);
            chart_csv_text(f, isfinite(number[k]) ? text : "-");
        }
        chart_csv_number(f, kink), chart_csv_number(f, has_roof(&l[i]) ? l[i].compute : NAN);
        chart_csv_end(f, (int)i);
    }
    return chart_data_close(out, f, name);
}

static size_t write_points(struct chart_out *out, const char *name, const struct layer *l,
                           size_t layers, struct chart_group *group, int *status) {
    char text[320];
    size_t groups = 0;
    *status = -1;
    FILE *f = chart_data(out, name, "op,impl,shape,hover,ai,gflop_s,share,run_index");
    if (!f) return 0;
    for (size_t i = 0; i < layers; i++) {
        for (size_t k = 0; k < l[i].points; k++) {
            const struct chart_point *p = &l[i].point[k];
            chart_csv_text(f, p->r->op), chart_csv_text(f, p->r->impl);
            chart_shape_text(p->r, text, sizeof text);
            chart_csv_text(f, text);
            chart_csv_text(f, chart_hover_text(p, text, sizeof text));
            chart_csv_number(f, p->r->ai), chart_csv_number(f, p->r->gflop_s);
            chart_csv_number(f, p->share);
            chart_csv_end(f, (int)i);
            const int op = op_find(p->r->op);
            snprintf(text, sizeof text, "%s", p->r->op);
            if (op >= 0 && ops[op].sweep == SWEEP_cubes)
                snprintf(text, sizeof text, "%s n = %lld", p->r->op, (long long)p->r->n);
            chart_group_add(group, &groups, p->r->ai, text);
        }
    }
    *status = chart_data_close(out, f, name);
    chart_groups_sort(group, groups);
    return groups;
}

/* The numbers at the foot of the chart and the list that explains them. */
static int write_key(struct chart_out *out, const char *marks, const char *key,
                     const struct chart_axes *a, const struct chart_group *group, size_t groups,
                     int *lines) {
    struct chart_mark mark[CHART_MAX_GROUPS];
    char text[64];
    for (size_t i = 0; i < groups; i++)
        mark[i] = (struct chart_mark){group[i].ai, chart_y_at(a, 22), 0, 0};
    chart_place_marks(a, mark, groups, MARK_SIZE);
    FILE *f = chart_data(out, marks, "operations,ai,mark_ai,mark_gflop_s,number");
    if (!f) return -1;
    for (size_t i = 0; i < groups; i++) {
        chart_csv_text(f, group[i].ops), chart_csv_number(f, group[i].ai);
        chart_csv_number(f, mark[i].mark_x), chart_csv_number(f, mark[i].mark_y);
        chart_csv_end(f, (int)i + 1);
    }
    if (chart_data_close(out, f, marks)) return -1;
    f = chart_data(out, key, "number,operations,intensity,line");
    if (!f) return -1;
    *lines = 0;
    for (size_t i = 0; i < groups; i++) {
        const char *words = group[i].ops;
        for (bool first = true; *words; first = false) {
            const size_t length = chart_line_length(words, CHART_KEY_CHARACTERS);
            snprintf(text, sizeof text, "%zu", i + 1);
            chart_csv_text(f, first ? text : " ");
            snprintf(text, sizeof text, "%.*s", (int)length, words);
            chart_csv_text(f, text);
            snprintf(text, sizeof text, "%.3g", group[i].ai);
            chart_csv_text(f, first ? text : " "), chart_csv_end(f, (*lines)++);
            words += length;
            words += strspn(words, " ");
        }
    }
    return chart_data_close(out, f, key);
}

static int overlay(struct chart_out *out, const struct chart_runs *runs, enum dtype t,
                   struct layer *layer) {
    static struct chart_group group[CHART_MAX_GROUPS];
    char name[64], part[4][96];
    struct chart_vars v;
    size_t roofs = 0, longest = 0;
    int lines = 0, status;
    memset(group, 0, sizeof group);
    for (size_t i = 0; i < runs->count; i++) {
        fill_layer(&layer[i], &runs->run[i], t);
        /* a run that has neither points nor a ceiling of this dtype says nothing here */
        roofs += layer[i].points > 0 && has_roof(&layer[i]);
        const size_t length = strlen(runs->run[i].label);
        longest = length > longest ? length : longest;
    }
    if (roofs < 2) return 0;
    static const char *const suffix[] = {"roofs", "points", "marks", "key"};
    snprintf(name, sizeof name, "overlay_%s", dtypes[t].name);
    for (int i = 0; i < 4; i++) snprintf(part[i], sizeof part[i], "%s_%s", name, suffix[i]);
    const struct chart_axes a = axes_of(out, layer, runs->count);
    const size_t groups = write_points(out, part[1], layer, runs->count, group, &status);
    if (status || write_roofs(out, part[0], layer, runs->count) ||
        write_key(out, part[2], part[3], &a, group, groups, &lines) || chart_vars_open(&v))
        return -1;
    chart_set_text(&v, "title_text", "Rooflines of %zu runs, %s", runs->count, dtypes[t].name);
    chart_set_text(&v, "subtitle_text",
                   "measured: DRAM bandwidth, the fastest arithmetic, operations at their largest "
                   "shapes");
    chart_set_data(&v, out, "roofs_data", part[0]);
    chart_set_data(&v, out, "points_data", part[1]);
    chart_set_data(&v, out, "marks_data", part[2]);
    chart_set_data(&v, out, "key_data", part[3]);
    chart_set_runs(&v, runs);
    chart_set_number(&v, "x_min", a.x_min);
    chart_set_number(&v, "x_max", a.x_max);
    chart_set_number(&v, "y_min", a.y_min);
    chart_set_number(&v, "y_max", a.y_max);
    chart_set_number(&v, "lines", lines);
    chart_set_number(&v, "longest", (double)longest);
    chart_draw(out, &v, "overlay", name);
    return 0;
}

int chart_overlays(struct chart_out *out, const struct chart_runs *runs) {
    struct layer *layer = calloc(runs->count, sizeof *layer);
    int status = layer ? 0 : -1;
    if (!layer) fprintf(stderr, "roofline: no memory for a chart\n");
    for (int t = 0; t < DTYPE_COUNT && status == 0; t++)
        status = overlay(out, runs, (enum dtype)t, layer);
    free(layer);
    return status;
}
