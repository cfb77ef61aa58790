/* evidence.c - from what claims want to a plan, and from its rows to what a claim compares. */
#include "claims.h"

#include "../execute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is wanted ---- */

static bool same_shape(struct shape a, struct shape b) {
    return a.b == b.b && a.m == b.m && a.n == b.n && a.k == b.k;
}

void want(struct evidence *e, struct want w) {
    for (int i = 0; i < e->wants; i++) {
        const struct want *x = &e->want[i];
        if (x->op == w.op && x->dtype == w.dtype && x->layout == w.layout && x->cold == w.cold &&
            x->roof == w.roof && same_shape(x->s, w.s))
            return;
    }
    if (e->wants == CLAIM_WANTS) {
        fprintf(stderr, "roofline: claims: more than %d problems\n", CLAIM_WANTS);
        abort();
    }
    e->want[e->wants++] = w;
}

/* Larger for more threads, so that their start counts little; small enough that a sample of a few ms is one undisturbed
 * stretch of time, while a few sets of operands exceed the caches. */
static int64_t pick(const struct evidence *e, int64_t alone, int64_t few, int64_t many,
                    int64_t gpu) {
    return e->gpu ? gpu : e->threads == 1 ? alone : e->threads <= 8 ? few : many;
}

static int64_t vector_length(const struct evidence *e) {
    return pick(e, 1 << 22, 1 << 24, 1 << 26, 1 << 27);
}

static void want_stream(struct evidence *e, enum op_id op) {
    want(e, (struct want){op, DT_fp32, LAYOUT_FLAT, {1, 1, vector_length(e), 1}, true, true});
}

void want_bandwidth(struct evidence *e) {
    want_stream(e, OP_sum);
    want_stream(e, OP_copy);
}

void want_arithmetic(struct evidence *e, enum dtype t) {
    const struct shape s = *sweep_shapes(ops[OP_fma].sweep, 1, e->gpu);
    want_bandwidth(e); /* a multiply-add ceiling is proven against the kink */
    want(e, (struct want){OP_fma, dtypes[t].acc, LAYOUT_FLAT, s, false, true});
    if (!op_refuses_dtype(&ops[OP_fma], t))
        want(e, (struct want){OP_fma, t, LAYOUT_FLAT, s, false, true});
}

struct want want_vector(const struct evidence *e, enum op_id op) {
    return (struct want){op, e->dtype, LAYOUT_FLAT, {1, 1, vector_length(e), 1}, true, false};
}

struct want want_matrix(const struct evidence *e, enum op_id op, enum layout layout) {
    const int64_t n = pick(e, 2048, 4096, 8192, 16384);
    return (struct want){op, e->dtype, layout, {1, n, n, 1}, true, false};
}

struct want want_product(enum dtype t, enum layout layout, struct shape s) {
    return (struct want){OP_matmul, t, layout, s, false, false};
}

struct shape large_product(const struct evidence *e) {
    const int64_t n = pick(e, 256, 1024, 2048, 4096);
    return (struct shape){1, n, n, n};
}

static void add_trials(struct plan *p, const struct device *d, const struct evidence *e,
                       const struct want *w, int round) {
    const bool arithmetic = w->roof && roof_is_compute(ops[w->op].name);
    struct trial t = {.copies = arithmetic ? e->threads : 1,
                      .round = round,
                      .cold = w->cold,
                      .fill = FILL_normal,
                      .problem = {.s = w->s,
                                  .layout = w->layout,
                                  .alpha = 1,
                                  .threads = arithmetic ? 1 : e->threads,
                                  .gpu = d->gpu}};
    if (!w->roof) {
        t.impl = best_impl(d, w->op, w->dtype, &t.problem);
        if (t.impl) plan_add(p, &t);
        return;
    }
    for (const struct impl *const *table = d->kernels; *table; table++)
        for (const struct impl *row = *table; row->run; row++) {
            if (row->op != w->op || row->dtype != w->dtype ||
                (row->refuses && row->refuses(&t.problem)))
                continue;
            t.impl = row;
            plan_add(p, &t);
        }
}

/* ---- what there is ---- */

void evidence_add(struct evidence *e, const struct row *r) {
    if (e->rows.count == e->capacity) {
        e->capacity = e->capacity ? 2 * e->capacity : 256;
        struct row *grown = realloc(e->rows.row, e->capacity * sizeof *grown);
        if (!grown) {
            perror("roofline");
            abort();
        }
        e->rows.row = grown;
    }
    struct row *to = &e->rows.row[e->rows.count++];
    *to = *r;
    if (strcmp(r->status, "ok") != 0) return;
    to->time_s = to->ci_low_s = to->ci_high_s = r->min_s;
    to->gflop_s = r->flops / r->min_s * 1e-9;
    to->gbyte_s = r->bytes / r->min_s * 1e-9;
}

static bool is_row_of(const struct row *r, const struct want *w) {
    return strcmp(r->op, ops[w->op].name) == 0 && strcmp(r->dtype, dtypes[w->dtype].name) == 0 &&
           strcmp(r->layout, layout_names[w->layout]) == 0 &&
           strcmp(r->cache, w->cold ? "cold" : "warm") == 0 && r->b == w->s.b && r->m == w->s.m &&
           r->n == w->s.n && r->k == w->s.k;
}

/* Rounds other than `other` only; 0: any. */
static const struct row *fastest(const struct evidence *e, const struct want *w,
                                 const char *placement, int64_t other) {
    const struct row *best = NULL;
    for (size_t i = 0; i < e->rows.count; i++) {
        const struct row *r = &e->rows.row[i];
        if (is_row_of(r, w) && strcmp(r->status, "ok") == 0 && r->round != other &&
            strcmp(r->placement, placement) == 0 && (!best || r->time_s < best->time_s))
            best = r;
    }
    return best;
}

/* Placements at which rows are compared, each with its own kind only. */
static const char *const placements[] = {"", "near", "far"};
enum { PLACES = sizeof placements / sizeof *placements };

/* How far the second fastest round is behind the fastest; the least over placements. INFINITY: there are no two. */
static double spread_at(const struct evidence *e, const struct want *w, const char *placement) {
    const struct row *best = fastest(e, w, placement, 0),
                     *again = best ? fastest(e, w, placement, best->round) : NULL;
    return again ? again->time_s / best->time_s : INFINITY;
}

static double spread(const struct evidence *e, const struct want *w) {
    double least = INFINITY;
    for (int p = 0; p < PLACES; p++) least = fmin(least, spread_at(e, w, placements[p]));
    return least;
}

static const double settled = 1.05, comparable = 1.3;

void evidence_plan(const struct evidence *e, const struct device *d, int round, struct plan *out) {
    *out = (struct plan){0};
    for (int i = 0; i < e->wants; i++)
        if (spread(e, &e->want[i]) > settled) add_trials(out, d, e, &e->want[i], round);
}

/* Why a problem has no row that can be compared. */
static void say_missing(const struct evidence *e, const struct want *w, struct finding *f) {
    const struct row *seen = NULL;
    for (size_t i = 0; i < e->rows.count; i++)
        if (is_row_of(&e->rows.row[i], w)) seen = &e->rows.row[i];
    const char *op = ops[w->op].name, *t = dtypes[w->dtype].name;
    if (!seen)
        claim_untested(f, "no implementation of %s in %s takes %lld x %lld x %lld here", op, t,
                       (long long)w->s.m, (long long)w->s.n, (long long)w->s.k);
    else if (strcmp(seen->status, "ok") != 0)
        claim_untested(f, "%s in %s: %s: %s", op, t, seen->status, seen->reason);
    else
        claim_untested(f, "%s in %s: the host had the threads %s", op, t,
                       strcmp(seen->placement, "shared") == 0 ? "on one core" : "moved meanwhile");
}

bool evidence_rows(const struct evidence *e, const struct want *w, int n, const struct row *out[],
                   struct finding *f) {
    double worst = 0;
    for (int p = 0; p < PLACES; p++) {
        int found = 0;
        double most = 0;
        while (found < n && (out[found] = fastest(e, &w[found], placements[p], 0)) != NULL)
            most = fmax(most, spread_at(e, &w[found++], placements[p]));
        if (found < n) continue;
        if (most <= comparable) {
            for (int i = 0; i < n; i++)
                if (out[i]->samples > 0 && out[i]->disturbed >= out[i]->samples)
                    f->interrupted = out[i];
            return true;
        }
        worst = worst > 0 ? fmin(worst, most) : most;
    }
    for (int i = 0; i < n && worst == 0; i++) {
        bool there = false;
        for (int p = 0; p < PLACES; p++) there = there || fastest(e, &w[i], placements[p], 0);
        if (there) continue;
        say_missing(e, &w[i], f);
        return false;
    }
    if (isinf(worst))
        claim_untested(f, "the host moved the threads between two rounds: nothing was seen twice");
    else if (worst > 0)
        claim_untested(f, "the machine is busy: the fastest times of two rounds are %.2f x apart",
                       worst);
    else
        claim_untested(f, "the host moved the threads between the measurements to compare");
    return false;
}

const struct row *evidence_fastest(const struct evidence *e, const struct want *w) {
    const struct row *best = NULL;
    for (int p = 0; p < PLACES; p++) {
        const struct row *r = fastest(e, w, placements[p], 0);
        if (r && (!best || r->time_s < best->time_s)) best = r;
    }
    return best;
}

/* The reason why a ceiling of this name is not proven. */
static void say_unproven(const struct evidence *e, enum ceiling_kind kind, const char *name,
                         struct finding *f) {
    const char *reason = "it was not measured";
    for (size_t i = 0; i < e->roofs.count; i++) {
        const struct ceiling *c = &e->roofs.ceiling[i];
        if (c->kind == kind && strcmp(c->name, name) == 0)
            reason =
                c->proven ? "not with the threads placed as in what it is compared with" : c->why;
    }
    claim_untested(f, "no proven ceiling of %s: %s", name, reason);
}

bool evidence_bandwidth(const struct evidence *e, const char *pattern, const char *placement,
                        double *gbyte_s, struct finding *f) {
    *gbyte_s = ceilings_bandwidth_for(&e->roofs, "DRAM", e->threads, placement, pattern);
    if (isnan(*gbyte_s)) say_unproven(e, CEILING_MEMORY, "DRAM", f);
    return !isnan(*gbyte_s);
}

bool evidence_arithmetic(const struct evidence *e, enum dtype t, double *gflop_s,
                         struct finding *f) {
    const struct ceiling *c = ceilings_compute_for(&e->roofs, t, e->threads);
    *gflop_s = c ? c->rate : (double)NAN;
    if (!c) say_unproven(e, CEILING_COMPUTE, dtypes[t].name, f);
    return c != NULL;
}
