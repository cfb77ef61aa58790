/* chart_published.c - the lecture's picture: published rooflines of several GPUs, and where the catalogue's operations
 * lie by their intensity alone. Needs no run. */
#include "chart.h"
#include "chart_groups.h"
#include "chart_layout.h"
#include "chart_roofs.h"
#include "specs.h"

#include <math.h>
#include <string.h>

enum { MARK_SIZE = 25 };

static const char *const shown[] = {"A100 SXM4 80GB", "H100 SXM5 80GB", "H200 SXM", "B200 SXM"};
enum { GPUS = sizeof shown / sizeof *shown };

/* Every op with FLOPs at its largest default shape; products at each of theirs, since their intensity grows. */
static size_t group_ops(enum dtype t, struct chart_group *group) {
    size_t count = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op *op = &ops[i];
        if (op_refuses_dtype(op, t) || roof_is_compute(op->name)) continue;
        const bool grows = op->sweep == SWEEP_cubes;
        for (const struct shape *s = sweep_shapes(op->sweep, 1, false); s->m; s++) {
            const struct args a = {.s = *s, .alpha = 1};
            const double flops = op->flops(*s);
            char text[64];
            const double ai = flops / op_bytes(op, t, &a);
            if ((!grows && s[1].m) || ai < CHART_LEAST_INTENSITY) continue;
            snprintf(text, sizeof text, grows ? "%s n = %lld" : "%s", op->name, (long long)s->n);
            chart_group_add(group, &count, ai, text);
        }
    }
    chart_groups_sort(group, count);
    return count;
}

static double attainable(const struct gpu_spec *gpu, enum dtype t, double ai) {
    return fmin(gpu->gflop_s[t], gpu->gbyte_s * ai) / 1e3; /* TFLOP/s */
}

static int write_roofs(struct chart_out *out, const char *name, const struct gpu_spec *const gpu[],
                       enum dtype t) {
    char text[64];
    FILE *f =
        chart_data(out, name, "gpu,peak,bandwidth,intensity,source,ai_kink,tflop_s,gpu_index");
    if (!f) return -1;
    for (int g = 0; g < GPUS; g++) {
        chart_csv_text(f, gpu[g]->name);
        snprintf(text, sizeof text, "%.5g", gpu[g]->gflop_s[t] / 1e3);
        chart_csv_text(f, text);
        snprintf(text, sizeof text, "%.4g", gpu[g]->gbyte_s / 1e3);
        chart_csv_text(f, text);
        snprintf(text, sizeof text, "%.1f", spec_intensity(gpu[g], t));
        chart_csv_text(f, text), chart_csv_text(f, gpu[g]->source);
        chart_csv_number(f, spec_intensity(gpu[g], t)),
            chart_csv_number(f, gpu[g]->gflop_s[t] / 1e3);
        chart_csv_end(f, g);
    }
    return chart_data_close(out, f, name);
}

static int write_ops(struct chart_out *out, const char *points, const char *key,
                     const struct gpu_spec *const gpu[], enum dtype t, const struct chart_axes *a,
                     const struct chart_group *group, size_t groups, int *lines) {
    struct chart_mark mark[CHART_MAX_GROUPS];
    const struct gpu_spec *h100 = gpu[1];
    FILE *f = chart_data(
        out, points,
        "operations,ai,a100_tflop_s,h100_tflop_s,h200_tflop_s,b200_tflop_s,h100_mfu_bound,mark_ai,"
        "mark_tflop_s,number");
    if (!f) return -1;
    for (size_t i = 0; i < groups; i++)
        mark[i] = (struct chart_mark){group[i].ai, chart_y_at(a, 22), 0, 0};
    chart_place_marks(a, mark, groups, MARK_SIZE);
    for (size_t i = 0; i < groups; i++) {
        chart_csv_text(f, group[i].ops), chart_csv_number(f, group[i].ai);
        for (int g = 0; g < GPUS; g++) chart_csv_number(f, attainable(gpu[g], t, group[i].ai));
        chart_csv_number(f, fmin(1, group[i].ai / spec_intensity(h100, t)));
        chart_csv_number(f, mark[i].mark_x), chart_csv_number(f, mark[i].mark_y);
        chart_csv_end(f, (int)i + 1);
    }
    if (chart_data_close(out, f, points)) return -1;
    f = chart_data(out, key, "number,operations,intensity,mfu,line");
    if (!f) return -1;
    *lines = 0;
    for (size_t i = 0; i < groups; i++) {
        char number[24], ai[32], mfu[32], part[CHART_KEY_CHARACTERS + 8];
        const double bound = fmin(1, group[i].ai / spec_intensity(h100, t));
        snprintf(number, sizeof number, "%zu", i + 1);
        snprintf(ai, sizeof ai, "%.3g", group[i].ai);
        snprintf(mfu, sizeof mfu, bound < 0.1 ? "%.2g %%" : "%.0f %%", 100 * bound);
        const char *words = group[i].ops;
        for (bool first = true; *words; first = false) { /* " ": gnuplot 5.4 takes "" for a quote */
            const size_t length = chart_line_length(words, CHART_KEY_CHARACTERS);
            snprintf(part, sizeof part, "%.*s", (int)length, words);
            chart_csv_text(f, first ? number : " "), chart_csv_text(f, part),
                chart_csv_text(f, first ? ai : " ");
            chart_csv_text(f, first ? mfu : " "), chart_csv_end(f, (*lines)++);
            words += length;
            words += strspn(words, " ");
        }
    }
    return chart_data_close(out, f, key);
}

static int published(struct chart_out *out, enum dtype t) {
    static struct chart_group group[CHART_MAX_GROUPS];
    const struct gpu_spec *gpu[GPUS];
    char name[64], points[80], key[80], roofs[80];
    struct chart_vars v;
    double peak = 0, slowest = INFINITY;
    int lines = 0;
    memset(group, 0, sizeof group);
    for (int g = 0; g < GPUS; g++) {
        gpu[g] = spec_gpu(shown[g]);
        if (!gpu[g] || isnan(gpu[g]->gflop_s[t])) return 0;
        peak = fmax(peak, gpu[g]->gflop_s[t] / 1e3);
    }
    const size_t groups = group_ops(t, group);
    if (groups == 0) return 0;
    for (int g = 0; g < GPUS; g++) slowest = fmin(slowest, attainable(gpu[g], t, group[0].ai));
    const double x_max = fmax(group[groups - 1].ai, 2 * spec_intensity(gpu[1], t));
    struct chart_axes a = chart_area(out);
    a.x_min = chart_decade_below(group[0].ai / 1.1);
    a.x_max = chart_decade_above(x_max);
    a.y_min = chart_decade_below(slowest / 3);
    a.y_max = chart_decade_above(peak * 1.1);
    snprintf(name, sizeof name, "published_%s", dtypes[t].name);
    snprintf(points, sizeof points, "%s_operations", name);
    snprintf(key, sizeof key, "%s_key", name);
    snprintf(roofs, sizeof roofs, "%s_roofs", name);
    if (write_roofs(out, roofs, gpu, t) ||
        write_ops(out, points, key, gpu, t, &a, group, groups, &lines))
        return -1;
    if (chart_vars_open(&v)) return -1;
    chart_set_text(&v, "title_text", "Published rooflines, %s, dense", dtypes[t].name);
    chart_set_text(&v, "subtitle_text",
                   "operations by their arithmetic intensity: compulsory bytes, nothing measured");
    chart_set_data(&v, out, "roofs_data", roofs);
    chart_set_data(&v, out, "points_data", points);
    chart_set_data(&v, out, "key_data", key);
    chart_set_number(&v, "x_min", a.x_min);
    chart_set_number(&v, "x_max", a.x_max);
    chart_set_number(&v, "y_min", a.y_min);
    chart_set_number(&v, "y_max", a.y_max);
    chart_set_number(&v, "gpus", GPUS);
    chart_set_number(&v, "lines", lines);
    chart_draw(out, &v, "published", name);
    return 0;
}

int chart_published(struct chart_out *out) {
    return published(out, DT_bf16) || published(out, DT_fp32) ? -1 : 0;
}
