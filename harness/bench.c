/* bench.c - a trial from its key to its row. */
#include "bench.h"

#include "ceilings.h"
#include "contest.h"
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

/* One of the trials that are run together. */
struct contender {
    const struct trial *trial;
    struct row *row;
    struct samples *samples;
};

/* What is known before it runs; false: it is refused. */
static bool enter(struct contender *c, struct device *d) {
    *c->samples = (struct samples){0};
    row_init(c->row);
    trial_key(c->trial, d, c->row);
    row_set_now(c->row->when);
    const char *reason = refusal(d, c->trial);
    if (reason)
        finish(c->row, "refused", reason);
    else
        set_costs(c->row, d, c->trial);
    return !reason;
}

/* Buffers of the first contender, which the others share; those whose scratch does not fit drop out. How many are left. */
static int make_operands(struct contender c[], int n, struct operands o[], struct device *d,
                         int *made) {
    const struct trial *t = c[0].trial;
    const int sets = t->copies > 1 ? t->copies : t->cold ? cold_sets(d, t) : 1;
    int left = 0;
    for (int i = 0; i < n; i++) {
        const struct trial *own = c[i].trial;
        const int error = left ? operands_share(&o[left], &o[0], own->impl, &own->problem)
                               : operands_make(&o[left], d, own->impl, &own->problem, sets);
        if (error) {
            finish(c[i].row, "no_memory", "the operands do not fit in memory");
            operands_free(&o[left]);
        } else {
            c[left++] = c[i];
        }
    }
    *made = left;
    return left;
}

/* Verified as it will be timed: where a kernel leaves its launch open and nothing is known or wished, forms are tried after a
 * first verification, and the one found is verified as well. *form: what is launched, for good; *spent: the operands are not
 * what a verification leaves. */
static struct verdict verify_and_tune(struct device *d, const struct contender *c,
                                      struct operands *o, const struct bench_settings *settings,
                                      struct launch_form *form, bool *spent) {
    const struct launch_form none = {0, 0},
                             wish = d->gpu ? tuning_wish(&settings->tuning, c->trial, d) : none;
    *form = none;
    operands_launch(o->args, o->sets, wish, form);
    struct verdict v = verify(o, c->trial->impl, settings->terms);
    const struct launch_form own = *form;
    if (strcmp(v.status, "ok") == 0 && own.threads && !wish.threads && !settings->check_only &&
        !settings->tuning.off) {
        *spent = true;
        if (tune(d, c->trial, o, form)) {
            v.status = "failed";
            snprintf(v.reason, sizeof v.reason, "an error while launch forms were tried");
        } else if (form->threads != own.threads || form->blocks_per_sm != own.blocks_per_sm) {
            v = verify(o, c->trial->impl, settings->terms);
            *spent = false;
        }
    }
    launch_print(*form, c->row->launch);
    return v;
}

/* Those that are wrong drop out. How many are left; 0 where no more is wanted of them. */
static int verify_all(struct device *d, struct contender c[], int n, struct operands o[],
                      struct operands *by[], const struct bench_settings *settings,
                      struct launch_form form[], bool *spent) {
    int left = 0;
    for (int i = 0; i < n; i++) {
        const struct verdict v = verify_and_tune(d, &c[i], &o[i], settings, &form[i], spent);
        c[i].row->max_error = v.max_error;
        c[i].row->checked = v.checked;
        if (strcmp(v.status, "ok") != 0 || settings->check_only) {
            finish(c[i].row, v.status, v.reason);
            continue;
        }
        by[left] = &o[i];
        c[left++] = c[i];
    }
    return left;
}

/* The fastest of the other side, and by how much. -1 without memory. */
static int set_contest(struct contender c[], int n, int i) {
    struct row *r = c[i].row;
    const struct contender *other = NULL;
    for (int k = 0; k < n; k++)
        if (c[k].trial->rival != c[i].trial->rival &&
            !(other && other->row->time_s <= c[k].row->time_s))
            other = &c[k];
    if (!other) return 0;
    struct contest contest;
    if (contest_of(c[i].samples, other->samples, &contest)) return -1;
    row_set_text(r->vs, other->row->impl);
    r->vs_time_s = other->row->time_s;
    r->vs_ratio = contest.ratio;
    r->vs_low = contest.low;
    r->vs_high = contest.high;
    r->vs_turns = (int64_t)contest.turns;
    return 0;
}

/* guilty: whose fault it is; -1: nobody can tell. */
static void fail_all(struct contender c[], int n, int guilty, const char *status,
                     const char *reason) {
    char others[ROW_TEXT];
    if (guilty < 0)
        snprintf(others, sizeof others, "one of those timed in turns %s", reason);
    else
        snprintf(others, sizeof others, "of %s, timed in turns with it: %s",
                 c[guilty].trial->impl->name, reason);
    for (int i = 0; i < n; i++) finish(c[i].row, status, i == guilty || n == 1 ? reason : others);
}

/* Of a sustained trial: each reading is a mean since the one before. */
static double mean_power_w(const struct samples *s) {
    double joules = 0, before_s = 0;
    for (size_t i = 0; i < s->count; i++) {
        joules += s->reading[i].conditions.power_w * (s->reading[i].at_s - before_s);
        before_s = s->reading[i].at_s;
    }
    return joules / before_s;
}

/* Timed, in turns where there are several. filled: the buffers hold the normal fill of the first one. */
static void time_all(struct contender c[], int n, struct operands o[], struct device *d,
                     const struct bench_settings *settings, bool filled) {
    struct trial trial[MAX_CONTENDERS];
    struct samples samples[MAX_CONTENDERS];
    const enum fill fill = c[0].trial->fill;
    int guilty = 0;
    for (int i = 0; i < n; i++) trial[i] = *c[i].trial;
    if (!(filled && fill == FILL_normal) && operands_fill(&o[0], fill)) {
        fail_all(c, n, -1, "failed", "has operands that cannot be filled");
        return;
    }
    d->conditions(d); /* power is counted from here */
    const int error = samples_take(d, trial, o, n, &settings->sampling, samples, &guilty);
    const struct conditions now = d->conditions(d);
    const char *damage = error ? NULL : operands_damage(&o[0]);
    for (int i = 0; i < n; i++) *c[i].samples = samples[i];
    if (error || damage) {
        char reason[67]; /* room is left for what fail_all() puts before it */
        snprintf(reason, sizeof reason, "error %d %.29s while it was timed", error,
                 error > 0 && d->error_text ? d->error_text(error) : "of the kernel");
        fail_all(c, n, damage ? -1 : guilty, damage ? "wrong" : "failed", damage ? damage : reason);
        return;
    }
    for (int i = 0; i < n; i++) {
        struct row *r = c[i].row;
        set_statistics(r, c[i].samples);
        r->clock_ghz = now.clock_ghz;
        r->temperature_c = now.temperature_c;
        r->power_w = n > 1                   ? NAN /* it is of all of them together */
                     : c[i].samples->reading ? mean_power_w(c[i].samples)
                                             : now.power_w;
        row_set_text(r->throttle, now.throttle);
        if (settings->count) count(r, d, c[i].trial, &o[i]);
        set_rates(r, d, c[i].trial);
        if (settings->ceilings) set_roof(r, c[i].trial, settings->ceilings);
        finish(r, "ok", NULL);
    }
    for (int i = 0; i < n; i++)
        if (set_contest(c, n, i)) finish(c[i].row, "failed", "no memory for the ratio");
}

void bench_trial(struct device *d, const struct trial t[], const struct bench_settings *settings,
                 struct row r[], struct samples samples[]) {
    struct contender c[MAX_CONTENDERS];
    struct operands o[MAX_CONTENDERS] = {{0}}, own[MAX_CONTENDERS], *by[MAX_CONTENDERS];
    struct launch_form form[MAX_CONTENDERS];
    bool spent = false;
    int n = 0, made = 0;
    for (int i = 0; i <= t[0].more; i++) {
        c[n] = (struct contender){&t[i], &r[i], &samples[i]};
        n += enter(&c[n], d);
    }
    if (n == 0) return;
    if (d->set_threads(d, t->copies > 1 ? t->copies : t->problem.threads)) {
        for (int i = 0; i < n; i++) finish(c[i].row, "failed", "the threads could not be placed");
        return;
    }
    n = make_operands(c, n, o, d, &made);
    n = verify_all(d, c, n, o, by, settings, form, &spent);
    for (int i = 0; i < n; i++) own[i] = *by[i];
    if (n > 0) time_all(c, n, own, d, settings, made == 1 && !spent);
    for (int i = 0; i <= t[0].more; i++)
        if (strcmp(r[i].status, "ok") == 0) tuning_keep(&settings->tuning, &r[i]);
    for (int i = 0; i <= t[0].more; i++)
        if (strcmp(r[i].status, "ok") != 0) samples_free(&samples[i]);
    while (made > 0) operands_free(&o[--made]);
}
