/* einsum_run.c - first the trials, each verified by its op's oracle at full size; then the calls in a row on small integers, whose
 * result must be the definition's, at sizes that the definition can be computed at; then the time is told. */
#include "einsum_run.h"
#include "count.h"
#include "einsum_lower.h"

#include "../claims/measure.h"
#include "../commands.h"
#include "../devices.h"
#include "../execute.h"
#include "../table.h"

#include "../../kernels/numerics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = EINSUM_OPERANDS + LOWERED_STEPS };

/* Steps of the definition that are computed for comparison: well under a second. */
static const int64_t compared_steps = (int64_t)1 << 22;

static struct args problem_of(const struct lowered_step *s, const struct evidence *e,
                              const struct device *d) {
    return (struct args){
        .s = s->s, .layout = s->layout, .alpha = 1, .threads = e->threads, .gpu = d->gpu};
}

/* From memory where the operands can be kept out of the caches. */
static struct want want_of(const struct lowered_step *s, const struct evidence *e) {
    const double most_sets = 1 << 16;
    const double bytes = op_footprint(&ops[s->op], s->dtype, s->s);
    return (struct want){s->op,
                         s->dtype,
                         s->layout,
                         s->s,
                         e->last_cache > 0 && bytes * most_sets >= 4 * e->last_cache,
                         false};
}

static void step_text(const struct lowered_step *s, const struct impl *impl, char *text,
                      size_t size) {
    struct row r;
    char shape[96];
    row_init(&r);
    row_set_text(r.layout, layout_names[s->layout]);
    r.b = s->s.b;
    r.m = s->s.m;
    r.n = s->s.n;
    r.k = s->s.k;
    format_shape(&r, shape, sizeof shape);
    snprintf(text, size, "%s.%s.%s %s", ops[s->op].name, impl->name, dtypes[s->dtype].name, shape);
}

/* ---- the definition ---- */

struct execution {
    void *tensor[TENSORS]; /* as stored */
    enum dtype dtype[TENSORS];
    double *in[EINSUM_OPERANDS], *want;
};

static void release(struct execution *x) {
    for (int i = 0; i < TENSORS; i++) free(x->tensor[i]);
    for (int i = 0; i < EINSUM_OPERANDS; i++) free(x->in[i]);
    free(x->want);
    *x = (struct execution){.want = NULL};
}

/* Operands of -2, -1, 1 and 2, and what the definition makes of them. 0, or -1: no memory. */
static int define(struct execution *x, const struct einsum *e, enum dtype t) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < e->operands; i++) {
        const int64_t n = einsum_numel(e, &e->in[i]);
        x->dtype[i] = t;
        x->tensor[i] = calloc(1, storage_bytes(t, n));
        x->in[i] = malloc((size_t)n * sizeof *x->in[i]);
        if (!x->tensor[i] || !x->in[i]) return -1;
        for (int64_t j = 0; j < n; j++) {
            static const double values[] = {-2, -1, 1, 2};
            state ^= state << 13; /* xorshift64, Marsaglia 2003 */
            state ^= state >> 7;
            state ^= state << 17;
            x->in[i][j] = values[state >> 62];
            value_put(t, x->tensor[i], n, j, (long double)x->in[i][j]);
        }
    }
    x->want = malloc((size_t)einsum_numel(e, &e->out) * sizeof *x->want);
    if (!x->want) return -1;
    einsum_evaluate(e, (const double *const *)x->in, x->want);
    return 0;
}

/* The steps one after the other. 0, or -1 after a complaint. */
static int perform(struct execution *x, const struct lowering *l, int operands,
                   const struct evidence *e, struct device *d, struct complaint *why) {
    for (int i = 0; i < l->steps; i++) {
        const struct lowered_step *s = &l->step[i];
        const struct args problem = problem_of(s, e, d);
        const struct impl *impl = best_impl(d, s->op, s->dtype, &problem);
        const struct operand *made = &ops[s->op].operand[s->ins];
        const void *in[MAX_OPERANDS] = {NULL};
        void *out[MAX_OPERANDS] = {NULL};
        const int to = operands + i;
        if (!impl)
            return complain(why, "no implementation of %s in %s takes the sizes to compare",
                            ops[s->op].name, dtypes[s->dtype].name);
        x->dtype[to] = lowered_dtype(s);
        x->tensor[to] = calloc(1, storage_bytes(x->dtype[to], operand_elements(made, s->s)));
        if (!x->tensor[to]) return complain(why, "no memory");
        for (int o = 0; o < s->ins; o++) in[o] = x->tensor[s->in[o]];
        out[s->ins] = x->tensor[to];
        const int error = execute(d, impl, &problem, in, out);
        if (error)
            return complain(why, "%s.%s returned error %d", ops[s->op].name, impl->name, error);
    }
    return 0;
}

/* Integers and their sums are exact in every accumulator: one rounding at the end, two where a sum is divided. */
static int compare(const struct execution *x, const struct einsum *e, int last,
                   struct complaint *why) {
    const enum dtype t = x->dtype[last];
    const int64_t n = einsum_numel(e, &e->out);
    for (int64_t i = 0; i < n; i++) {
        const long double want = value_round(t, (long double)x->want[i]),
                          got = value_get(t, x->tensor[last], n, i),
                          slack = e->kind == EINSUM_MEAN
                                      ? 2 * (long double)dtype_roundoff(t) * fabsl(want)
                                      : 0;
        if (!(got == want || fabsl(got - want) <= slack))
            return complain(why, "element %lld of the result is %Lg and must be %Lg", (long long)i,
                            got, want);
    }
    return 0;
}

/* 0, or -1 after a complaint. *compared: elements of the result. */
static int verify_run(const struct einsum *full, enum dtype t, const struct evidence *e,
                      struct device *d, struct einsum *small, struct complaint *why) {
    struct lowering l;
    struct execution x = {.want = NULL};
    int status = -1;
    *small = *full;
    einsum_shrink(small, compared_steps);
    if (einsum_lower(small, t, &l, why) == 0) {
        if (d->open(d))
            complain(why, "the device cannot be opened");
        else if (define(&x, small, t))
            complain(why, "no memory");
        else if (perform(&x, &l, small->operands, e, d, why) == 0)
            status = compare(&x, small, small->operands + l.steps - 1, why);
    }
    release(&x);
    return status;
}

/* ---- the time ---- */

static double roof_s(const struct evidence *e, const struct row *r, const struct lowered_step *s,
                     struct finding *why) {
    const struct args problem = {.s = s->s, .layout = s->layout};
    const struct traffic t = op_traffic(&ops[s->op], s->dtype, &problem);
    double bandwidth, peak;
    if (!evidence_bandwidth(e, traffic_pattern(t.read, t.written, t.in_place), r->placement,
                            &bandwidth, why) ||
        !evidence_arithmetic(e, s->dtype, &peak, why))
        return NAN;
    const double moving = strcmp(r->cache, "cold") == 0 ? r->bytes / (1e9 * bandwidth) : 0;
    return fmax(moving, r->flops / (1e9 * peak));
}

static int say_times(struct answer *a, const struct evidence *e, const struct lowering *l,
                     struct complaint *why) {
    double total = 0, model = 0, flops = 0, bytes = 0;
    bool warm = false;
    struct finding reason = {.verdict = CLAIM_UNTESTED}, no_roof = {.verdict = CLAIM_UNTESTED};
    for (int i = 0; i < l->steps; i++) {
        const struct want w = want_of(&l->step[i], e);
        const struct row *r, *seen_twice;
        const bool settled = evidence_rows(e, &w, 1, &seen_twice, &reason);
        r = settled ? seen_twice : evidence_fastest(e, &w);
        if (!r) return complain(why, "einsum: %s", reason.why);
        if (!settled) answer_text(a, "doubt", "%s", reason.why);
        total += r->time_s;
        flops += r->flops;
        bytes += r->bytes;
        model += roof_s(e, r, &l->step[i], &no_roof);
        warm = warm || !w.cold;
    }
    answer_real(a, "measured", total, "s", "operands from %s; fastest sample%s",
                warm ? "a cache, where they are too small to be kept out of it" : "memory",
                l->steps > 1 ? "s of the steps, added" : "");
    if (flops > 0)
        answer_real(a, "rate", flops / total, "FLOP/s", "%s / %s", figure(flops).text,
                    figure(total).text);
    answer_real(a, "bandwidth", bytes / total, "B/s", "%s / %s%s", figure(bytes).text,
                figure(total).text,
                l->steps > 1 ? ", what the steps write and read again included" : "");
    if (isnan(model)) {
        answer_text(a, "predicted", "unknown: %s", no_roof.why);
        return 0;
    }
    answer_real(a, "predicted", model, "s",
                "measured ceilings: the longer of moving and computing%s",
                l->steps > 1 ? ", a step" : "");
    answer_real(a, "measured_to_predicted", total / model, "", "%s / %s", figure(total).text,
                figure(model).text);
    return 0;
}

/* ---- all ---- */

static int measure_and_verify(struct answer *a, const struct einsum *e, enum dtype t,
                              const struct lowering *l, struct device *d, struct evidence *ev,
                              struct complaint *why) {
    const struct run how = {.timeout_s = 120};
    const double time_s = 0.15, enough_s = 20;
    struct einsum small;
    char shape[EINSUM_AXES * 24] = "";
    size_t used = 0;
    for (int i = 0; i < l->steps; i++) want(ev, want_of(&l->step[i], ev));
    if (!d->emulated) {
        want_bandwidth(ev);
        for (int i = 0; i < l->steps; i++) want_arithmetic(ev, l->step[i].dtype);
        const int status = evidence_measure(ev, d, &how, time_s, enough_s);
        if (status != STATUS_OK && status != STATUS_NO) return status;
    }
    if (verify_run(e, t, ev, d, &small, why)) {
        struct complaint reason = *why;
        return complain(why, "einsum: %s", reason.text);
    }
    for (int i = 0; i < small.axes && used < sizeof shape; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%s=%lld", i ? " " : "",
                                 small.axis[i].name, (long long)small.axis[i].size);
    answer_text(a, "verified", "%s outputs are those of the definition, at %s",
                grouped(einsum_numel(&small, &small.out)).text, shape);
    if (!d->emulated) return say_times(a, ev, l, why);
    answer_text(a, "measured", "nothing: times of an emulated device mean nothing");
    return 0;
}

int einsum_run(struct answer *a, const struct einsum *e, enum dtype t, const char *device,
               struct complaint *why) {
    static struct evidence evidence;
    struct lowering l;
    struct device d;
    struct complaint reason;
    if (t == DT_nvfp4)
        return complain(why,
                        "einsum: --run in nvfp4: its block scales belong to one order of elements");
    if (einsum_lower(e, t, &l, &reason))
        return complain(why, "einsum: cannot run: %s", reason.text);
    if (device_pick(device, &d)) return STATUS_ERROR;
    int status = STATUS_ERROR;
    const int threads = evidence_threads(&d, NULL);
    if (threads < 0) goto done;
    evidence_begin(&evidence, &d, threads);
    answer_text(a, "device", "%s, %d thread%s", d.slug, threads, threads == 1 ? "" : "s");
    for (int i = 0; i < l.steps; i++) {
        const struct args problem = problem_of(&l.step[i], &evidence, &d);
        const struct impl *impl = best_impl(&d, l.step[i].op, l.step[i].dtype, &problem);
        char name[32], text[256];
        if (!impl) {
            const struct op *op = &ops[l.step[i].op];
            const char *none =
                tables_refuse_dtype(d.kernels, d.vendors->kernels, op, l.step[i].dtype);
            status = none ? complain(why, "einsum: cannot run %s in %s: %s", op->name,
                                     dtypes[l.step[i].dtype].name, none)
                          : complain(why,
                                     "einsum: cannot run: no implementation of %s in %s takes "
                                     "this shape",
                                     op->name, dtypes[l.step[i].dtype].name);
            goto done;
        }
        snprintf(name, sizeof name, "call_%d", i + 1);
        step_text(&l.step[i], impl, text, sizeof text);
        answer_text(a, name, "%s", text);
    }
    status = measure_and_verify(a, e, t, &l, &d, &evidence, why);
done:
    evidence_end(&evidence);
    d.close(&d);
    return status;
}
