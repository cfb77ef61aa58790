/* bench.c - a trial from its key to its row. */
#include "bench.h"

#include "ceilings.h"
#include "stats.h"
#include "verify.h"

#include <math.h>
#include <string.h>

enum { MAX_SETS = 1 << 16 };

struct bench_settings bench_settings_for(enum effort effort, double time_s) {
    static const double times_s[] = {0.045, 0.3, 2};
    static const double terms[] = {0x1p16, 0x1p18, 0x1p20};
    const double most_s = time_s > 0 ? time_s : times_s[effort];
    return (struct bench_settings){
        .sampling = {.interval = 0.005, .least_s = most_s / 4, .most_s = most_s, .sample_s = 2e-3},
        .terms = terms[effort],
    };
}

/* ---- what follows from the trial ---- */

/* Costs and where the data lie; known before anything runs. */
static void set_costs(struct row *r, const struct device *d, const struct trial *t) {
    const struct op *op = &ops[t->impl->op];
    const enum dtype dtype = t->impl->dtype;
    const int threads = t->copies > 1 ? t->copies : t->problem.threads;
    r->flops = op->flops(t->problem.s) * t->copies;
    r->bytes = op_bytes(op, dtype, &t->problem) * t->copies;
    r->ai = r->flops / r->bytes;
    r->footprint_bytes = op_footprint(op, dtype, t->problem.s) * t->copies;
    r->spec_gflop_s = d->spec_gflop_s[dtype];
    r->spec_gbyte_s = d->spec_gbyte_s;
    row_set_text(r->level, t->cold ? d->level[d->levels - 1].name
                                   : device_level(d, r->footprint_bytes, threads));
}

/* FLOPs a cycle in the dtype, or in that of its products or its accumulator where it has no arithmetic here. */
static double flops_per_cycle(struct device *d, enum dtype t, int threads) {
    if (!d->flops_per_cycle) return NAN;
    return fmax(d->flops_per_cycle(d, t, threads),
                fmax(d->flops_per_cycle(d, dtypes[t].product, threads),
                     d->flops_per_cycle(d, dtypes[t].acc, threads)));
}

static void set_rates(struct row *r, struct device *d, const struct trial *t) {
    const int threads = t->copies > 1 ? t->copies : t->problem.threads;
    r->gflop_s = r->flops / r->time_s * 1e-9;
    r->gbyte_s = r->bytes / r->time_s * 1e-9;
    r->clock_gflop_s = flops_per_cycle(d, t->impl->dtype, threads) * r->clock_ghz;
    if (r->flops > 0)
        r->mfu = r->gflop_s / (isnan(r->spec_gflop_s) ? r->clock_gflop_s : r->spec_gflop_s);
}

static double rate_of(const struct ceiling *c) { return c ? c->rate : NAN; }

static void set_roof(struct row *r, const struct trial *t, const struct ceilings *c) {
    const struct op *op = &ops[t->impl->op];
    const enum dtype dtype = t->impl->dtype;
    const int threads = t->copies > 1 ? t->copies : t->problem.threads;
    r->roof_gflop_s = rate_of(ceilings_compute_for(c, dtype, threads));
    const struct traffic traffic = op_traffic(op, dtype, &t->problem);
    r->roof_gbyte_s =
        ceilings_bandwidth_for(c, r->level, threads, r->placement,
                               traffic_pattern(traffic.read, traffic.written, traffic.in_place));
    const double memory_s = r->bytes / (r->roof_gbyte_s * 1e9),
                 compute_s = r->flops / (r->roof_gflop_s * 1e9);
    if (isnan(memory_s) || (isnan(compute_s) && r->flops > 0)) return;
    row_set_text(r->bound, r->flops == 0 || memory_s > compute_s ? "memory" : "compute");
    r->roof_time_s = r->flops == 0 ? memory_s : fmax(memory_s, compute_s);
    r->roof_fraction = r->roof_time_s / r->time_s;
}

static void set_statistics(struct row *r, struct samples *samples) {
    struct sample_group *chosen = samples_chosen(samples);
    const struct stats s = stats_of(chosen->time_s, chosen->count);
    r->time_s = s.median;
    r->ci_low_s = s.ci_low;
    r->ci_high_s = s.ci_high;
    r->p25_s = s.p25;
    r->p75_s = s.p75;
    r->min_s = s.min;
    r->samples = (int64_t)chosen->count;
    r->reps = samples->reps;
    row_set_text(r->stopped_by, samples->narrow ? "interval" : "time");
    r->disturbed = chosen->disturbed;
    row_set_text(r->placement, chosen->label);
    r->pair_ns = chosen->pair_ns;
    r->displaced = 0;
    for (int i = 0; i < PLACEMENTS; i++)
        if (&samples->group[i] != chosen) r->displaced += (int64_t)samples->group[i].count;
}

/* Counters are extra: without them a row is what it was. The reason is said once a process. */
static void count(struct row *r, struct device *d, const struct trial *t, struct operands *o) {
    static bool complained;
    struct counted_call c;
    char why[256] = "this device has none";
    if (d->count && d->count(d, t->impl->run, o->args, t->cold, &c, why, sizeof why) == 0) {
        r->counted_bytes = c.bytes;
        r->counted_flops = c.flops;
        r->counted_tensor_ops = c.tensor_ops;
    } else if (!complained) {
        fprintf(stderr, "roofline: no counters: %s\n", why);
        complained = true;
    }
}

/* ---- the trial ---- */

static void finish(struct row *r, const char *status, const char *reason) {
    row_set_text(r->status, status);
    row_set_text(r->reason, reason ? reason : "");
}

/* Copies of the problem that a cold trial rotates through: together at least four times the last cache. 0: can't be. */
static int cold_sets(struct device *d, const struct trial *t) {
    const double bytes = op_footprint(&ops[t->impl->op], t->impl->dtype, t->problem.s);
    const double last_cache = device_last_cache(d, t->problem.threads);
    const double sets = ceil(4 * last_cache / bytes);
    return last_cache <= 0 || sets > MAX_SETS ? 0 : sets < 1 ? 1 : (int)sets;
}

static const char *refusal(struct device *d, const struct trial *t) {
    const char *reason = op_refuses_shape(&ops[t->impl->op], t->impl->dtype, &t->problem);
    if (!reason && t->impl->refuses) reason = t->impl->refuses(&t->problem);
    if (!reason && t->cold && cold_sets(d, t) == 0)
        reason = device_last_cache(d, 1) > 0 ? "cold: too small to be kept out of the caches"
                                             : "cold: the size of the last cache is unknown";
    return reason;
}

void bench_trial(struct device *d, const struct trial *t, const struct bench_settings *settings,
                 struct row *r, struct samples *samples) {
    struct operands o = {0};
    struct conditions c;
    const char *damage;
    int error;

    *samples = (struct samples){0};
    row_init(r);
    trial_key(t, d, r);
    row_set_now(r->when);
    const char *reason = refusal(d, t);
    if (reason) {
        finish(r, "refused", reason);
        return;
    }
    set_costs(r, d, t);
    if (d->set_threads(d, t->copies > 1 ? t->copies : t->problem.threads)) {
        finish(r, "failed", "the threads could not be placed");
        return;
    }
    const int sets = t->copies > 1 ? t->copies : t->cold ? cold_sets(d, t) : 1;
    if (operands_make(&o, d, t->impl, &t->problem, sets)) {
        finish(r, "no_memory", "the operands do not fit in memory");
        goto done;
    }

    const struct verdict v = verify(&o, t->impl, settings->terms);
    r->max_error = v.max_error;
    r->checked = v.checked;
    if (strcmp(v.status, "ok") != 0 || settings->check_only) {
        finish(r, v.status, v.reason);
        goto done;
    }
    if (t->fill != FILL_normal && operands_fill(&o, t->fill)) {
        finish(r, "failed", "the operands cannot be filled");
        goto done;
    }

    d->conditions(d); /* power is counted from here */
    error = samples_take(d, t, &o, &settings->sampling, samples);
    c = d->conditions(d);
    damage = error ? NULL : operands_damage(&o);
    if (error || damage) {
        finish(r, damage ? "wrong" : "failed",
               damage ? damage : "the kernel returned an error while it was timed");
        goto done;
    }
    set_statistics(r, samples);
    r->clock_ghz = c.clock_ghz;
    r->temperature_c = c.temperature_c;
    r->power_w = c.power_w;
    row_set_text(r->throttle, c.throttle);
    if (settings->count) count(r, d, t, &o);
    set_rates(r, d, t);
    if (settings->ceilings) set_roof(r, t, settings->ceilings);
    finish(r, "ok", NULL);
done:
    if (strcmp(r->status, "ok") != 0) samples_free(samples);
    operands_free(&o);
}
