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

/* Steps of the definition that are computed for comparison, and calls that are made for it: about a second. */
static const int64_t compared_steps = (int64_t)1 << 22, compared_calls = (int64_t)1 << 12;

static struct args problem_of(const struct lowered_step *s, const struct evidence *e,
                              const struct device *d) {
    return (struct args){
        .s = s->s, .layout = s->layout, .alpha = s->alpha, .threads = e->threads, .gpu = d->gpu};
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
    const int used = s->calls > 1 ? snprintf(text, size, "%s x ", grouped(s->calls).text) : 0;
    snprintf(text + used, size - (size_t)used, "%s.%s.%s %s", ops[s->op].name, impl->name,
             dtypes[s->dtype].name, shape);
}

/* ---- the definition ---- */

enum { LARGEST = 2 }; /* of the operands' elements */

struct execution {
    void *tensor[LOWERED_TENSORS]; /* as stored */
    enum dtype dtype[LOWERED_TENSORS];
    double *in[EINSUM_OPERANDS], *want;
    double *terms; /* of each output, the sum of their magnitudes */
};

static void release(struct execution *x) {
    for (int i = 0; i < LOWERED_TENSORS; i++) free(x->tensor[i]);
    for (int i = 0; i < EINSUM_OPERANDS; i++) free(x->in[i]);
    free(x->want);
    free(x->terms);
    *x = (struct execution){.want = NULL};
}

/* Operands of -2, -1, 1 and 2, and what the definition makes of them and of their magnitudes. 0, or -1: no memory. */
static int define(struct execution *x, const struct einsum *e, enum dtype t) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    const int64_t outputs = einsum_numel(e, &e->out);
    for (int i = 0; i < e->operands; i++) {
        const int64_t n = einsum_numel(e, &e->in[i]);
        x->dtype[i] = lowered_storage(t);
        x->tensor[i] = calloc(1, storage_bytes(x->dtype[i], n));
        x->in[i] = malloc((size_t)n * sizeof *x->in[i]);
        if (!x->tensor[i] || !x->in[i]) return -1;
        for (int64_t j = 0; j < n; j++) {
            static const double values[] = {-LARGEST, -1, 1, LARGEST};
            state ^= state << 13; /* xorshift64, Marsaglia 2003 */
            state ^= state >> 7;
            state ^= state << 17;
            x->in[i][j] = values[state >> 62];
            value_put(x->dtype[i], x->tensor[i], n, j, (long double)x->in[i][j]);
        }
    }
    x->want = malloc((size_t)outputs * sizeof *x->want);
    x->terms = malloc((size_t)outputs * sizeof *x->terms);
    if (!x->want || !x->terms) return -1;
    einsum_evaluate(e, (const double *const *)x->in, x->want);
    for (int i = 0; i < e->operands; i++)
        for (int64_t j = einsum_numel(e, &e->in[i]); j-- > 0;) x->in[i][j] = fabs(x->in[i][j]);
    einsum_evaluate(e, (const double *const *)x->in, x->terms);
    return 0;
}

/* A step's calls, each on its part of the tensors. Only steps of one input have several. */
static int make_calls(const struct execution *x, const struct lowered_step *s, int to,
                      const struct impl *impl, const struct args *problem, struct device *d) {
    const size_t from_bytes = s->ins ? storage_bytes(x->dtype[s->in[0]], 1) : 0,
                 to_bytes = storage_bytes(x->dtype[to], 1);
    const int64_t made = lowered_elements(s) / s->calls;
    int error = 0;
    for (int64_t c = 0; c < s->calls && !error; c++) {
        const void *in[MAX_OPERANDS] = {NULL};
        void *out[MAX_OPERANDS] = {NULL};
        for (int o = 0; o < s->ins; o++) in[o] = x->tensor[s->in[o]];
        if (s->calls > 1) in[0] = (const char *)in[0] + (size_t)(c * s->apart) * from_bytes;
        out[s->ins] = (char *)x->tensor[to] + (size_t)(c * made) * to_bytes;
        error = execute(d, impl, problem, in, out);
    }
    return error;
}

/* The steps one after the other. 0, or -1 after a complaint. */
static int perform(struct execution *x, const struct lowering *l, int operands,
                   const struct evidence *e, struct device *d, struct complaint *why) {
    for (int i = 0; i < l->steps; i++) {
        const struct lowered_step *s = &l->step[i];
        const struct args problem = problem_of(s, e, d);
        const struct impl *impl = best_impl(d, s->op, s->dtype, &problem);
        const int to = operands + i;
        if (!impl)
            return complain(why, "no implementation of %s in %s takes the sizes to compare",
                            ops[s->op].name, dtypes[s->dtype].name);
        x->dtype[to] = lowered_dtype(s);
        x->tensor[to] = calloc(1, storage_bytes(x->dtype[to], lowered_elements(s)));
        if (!x->tensor[to]) return complain(why, "no memory");
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): release() has it, at an index that is not known here */
        const int error = make_calls(x, s, to, impl, &problem, d);
        if (error)
            return complain(why, "%s.%s returned error %d", ops[s->op].name, impl->name, error);
    }
    return 0;
}

/* To the last bit where the plan rounds once, else within what its roundings may add up to. */
static int compare(const struct execution *x, const struct einsum *e, int last,
                   const struct lowered_error *error, struct complaint *why) {
    const enum dtype t = x->dtype[last];
    const int64_t n = einsum_numel(e, &e->out);
    for (int64_t i = 0; i < n; i++) {
        const long double exact = (long double)x->want[i],
                          got = value_get(t, x->tensor[last], n, i);
        const long double want = error->exact ? value_round(t, exact) : exact,
                          slack =
                              error->exact
                                  ? 0
                                  : (long double)(error->terms * (1 + error->result) * x->terms[i] +
                                                  error->result * fabs(x->want[i]));
        if (!(got == want || fabsl(got - want) <= slack))
            return complain(why, "element %lld of the result is %Lg and must be %Lg +- %Lg",
                            (long long)i, got, want, slack);
    }
    return 0;
}

/* At the largest sizes that take few enough steps and calls. 0, or -1 after a complaint. */
static int verify_run(const struct einsum *full, enum dtype t, const struct evidence *e,
                      struct device *d, struct einsum *small, struct lowered_error *error,
                      struct complaint *why) {
    struct lowering l;
    struct execution x = {.want = NULL};
    int status = -1;
    for (int64_t most = compared_steps;; most /= 4) {
        *small = *full;
        einsum_shrink(small, most);
        if (einsum_lower(small, full, t, &l, why)) return -1;
        if (lowered_calls(&l) <= compared_calls || most < compared_calls) break;
    }
    *error = lowering_error(&l, small->operands, LARGEST);
    if (d->open(d))
        complain(why, "the device cannot be opened");
    else if (define(&x, small, t))
        complain(why, "no memory");
    else if (perform(&x, &l, small->operands, e, d, why) == 0)
        status = compare(&x, small, small->operands + l.steps - 1, error, why);
    release(&x);
    return status;
}

/* ---- the time ---- */

static double roof_s(const struct evidence *e, const struct row *r, const struct lowered_step *s,
                     struct finding *why) {
    const struct args problem = {.s = s->s, .layout = s->layout};
    const struct traffic t = op_traffic(&ops[s->op], s->dtype, &problem);
    double bandwidth, peak = INFINITY;
    if (!evidence_bandwidth(e, traffic_pattern(t.read, t.written, t.in_place), r->placement,
                            &bandwidth, why) ||
        (r->flops > 0 && !evidence_arithmetic(e, s->dtype, &peak, why)))
        return NAN;
    const double moving = strcmp(r->cache, "cold") == 0 ? r->bytes / (1e9 * bandwidth) : 0;
    return (double)s->calls * fmax(moving, r->flops / (1e9 * peak));
}

static int say_times(struct answer *a, const struct evidence *e, const struct lowering *l,
                     struct complaint *why) {
    double total = 0, model = 0, flops = 0, bytes = 0;
    bool warm = false, doubted = false, repeated = false;
    struct finding reason = {.verdict = CLAIM_UNTESTED}, no_roof = {.verdict = CLAIM_UNTESTED};
    for (int i = 0; i < l->steps; i++) {
        const struct want w = want_of(&l->step[i], e);
        const struct row *r, *seen_twice;
        const bool settled = evidence_rows(e, &w, 1, &seen_twice, &reason);
        r = settled ? seen_twice : evidence_fastest(e, &w);
        if (!r) return complain(why, "einsum: %s", reason.why);
        if (!settled && !doubted) answer_text(a, "doubt", "%s", reason.why);
        const double calls = (double)l->step[i].calls;
        total += calls * r->time_s;
        flops += calls * r->flops;
        bytes += calls * r->bytes;
        doubted = doubted || !settled;
        repeated = repeated || calls > 1;
        model += roof_s(e, r, &l->step[i], &no_roof);
        warm = warm || !w.cold;
    }
    answer_real(a, "measured", total, "s", "operands from %s; fastest sample%s%s",
                warm ? "a cache, where they are too small to be kept out of it" : "memory",
                l->steps > 1 ? "s of the steps, added" : "", repeated ? ", times their calls" : "");
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
    if (model == 0) {
        answer_text(a, "predicted",
                    "unknown: nothing is computed, and the operands are too small to be kept out "
                    "of a cache");
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
                              bool timed, struct complaint *why) {
    const struct run how = {.timeout_s = 120};
    const double time_s = 0.15, enough_s = 20;
    struct einsum small;
    struct lowered_error error;
    char shape[EINSUM_AXES * 24] = "";
    size_t used = 0;
    for (int i = 0; i < l->steps; i++) want(ev, want_of(&l->step[i], ev));
    if (timed && !d->emulated) {
        want_bandwidth(ev);
        for (int i = 0; i < l->steps; i++) want_arithmetic(ev, l->step[i].dtype);
        const int status = evidence_measure(ev, d, &how, time_s, enough_s);
        if (status != STATUS_OK && status != STATUS_NO) return status;
    }
    if (verify_run(e, t, ev, d, &small, &error, why)) {
        struct complaint reason = *why;
        return complain(why, "einsum: %s", reason.text);
    }
    for (int i = 0; i < small.axes && used < sizeof shape; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%s=%lld", i ? " " : "",
                                 small.axis[i].name, (long long)small.axis[i].size);
    answer_text(a, "verified", "%s outputs are those of the definition%s, at %s",
                grouped(einsum_numel(&small, &small.out)).text,
                error.exact ? "" : " within the roundings' bound", shape);
    if (!timed) return 0;
    if (!d->emulated) return say_times(a, ev, l, why);
    answer_text(a, "measured", "nothing: times of an emulated device mean nothing");
    return 0;
}

int einsum_run(struct answer *a, const struct einsum *e, enum dtype t, const char *device,
               bool timed, struct complaint *why) {
    static struct evidence evidence;
    struct lowering l;
    struct device d;
    struct complaint reason;
    if (einsum_lower(e, e, t, &l, &reason))
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
    status = measure_and_verify(a, e, t, &l, &d, &evidence, timed, why);
done:
    evidence_end(&evidence);
    d.close(&d);
    return status;
}
