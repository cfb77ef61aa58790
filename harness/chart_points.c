/* chart_points.c - which rows of a run are points of a roofline. */
#include "chart_points.h"

#include <math.h>
#include <string.h>

enum { POINTS_AN_OP = 4 };
static const double octave = 1.9, tolerance = 1.02;

bool chart_is_above_roof(const struct chart_point *p) { return p->share > tolerance; }

static bool same_shape(const struct row *a, const struct row *b) {
    return a->b == b->b && a->m == b->m && a->n == b->n && a->k == b->k;
}

double chart_point_rate(const struct row *r) { return r->flops > 0 ? r->gflop_s : r->gbyte_s; }

const char *chart_hover_text(const struct chart_point *p, char *text, size_t size) {
    char shape[64], share[48] = "";
    chart_shape_text(p->r, shape, sizeof shape);
    if (isfinite(p->share)) snprintf(share, sizeof share, "; %.0f %% of its roof", 100 * p->share);
    snprintf(text, size, "%s.%s.%s %s: %.3g %s%s", p->r->op, p->r->impl, p->r->dtype, shape,
             chart_point_rate(p->r), p->r->flops > 0 ? "GFLOP/s" : "GB/s", share);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = ';';
    return text;
}

static bool is_candidate(const struct chart_run *run, const struct row *r, const char *dtype,
                         const char *op) {
    return chart_shows(run, r, dtype) && strcmp(r->op, op) == 0 &&
           !(r->flops > 0 && r->ai < CHART_LEAST_INTENSITY) &&
           (!*r->fill || strcmp(r->fill, "normal") == 0);
}

/* The fastest row of an op whose shape is that of `like`. */
static const struct row *fastest(const struct chart_run *run, const struct row *like,
                                 const char *dtype) {
    const struct row *found = NULL;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (is_candidate(run, r, dtype, like->op) && same_shape(r, like) &&
            (!found || chart_point_rate(r) > chart_point_rate(found)))
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
    const char *op = run->bench.row[row].op;
    if (!is_candidate(run, &run->bench.row[row], dtype, op)) return false;
    for (size_t i = 0; i < row; i++)
        if (strcmp(run->bench.row[i].op, op) == 0 &&
            is_candidate(run, &run->bench.row[i], dtype, op))
            return false;
    return true;
}

size_t chart_pick_points(const struct chart_run *run, const char *dtype,
                         struct chart_point point[CHART_MAX_POINTS], size_t *with_flops) {
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < run->bench.count; i++) {
            const char *op = run->bench.row[i].op;
            if (!op_is_new(run, i, dtype) || roof_is_compute(op) ||
                (run->bench.row[i].flops > 0) != (pass == 0))
                continue;
            double limit = INFINITY;
            for (int shapes = 0; shapes < (pass ? 1 : POINTS_AN_OP) && count < CHART_MAX_POINTS;
                 shapes++) {
                const struct row *shape = next_shape(run, dtype, op, limit);
                if (!shape) break;
                const struct row *r = fastest(run, shape, dtype);
                const double roof = chart_roof(run, r);
                point[count++] = (struct chart_point){
                    r, isfinite(r->roof_fraction) ? r->roof_fraction : chart_point_rate(r) / roof};
                limit = shape->ai / octave;
            }
        }
        if (pass == 0) *with_flops = count;
    }
    return count;
}
