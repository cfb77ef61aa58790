/* bench.c - samples are taken until the interval of their median is narrow, and judged by order statistics alone. */
#define _GNU_SOURCE
#include "bench.h"

#include "ceilings.h"
#include "operands.h"
#include "os.h"
#include "stats.h"
#include "verify.h"

#include "../kernels/vendor/vendor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MIN_SAMPLES = 7, MAX_SAMPLES = 4000, MAX_SETS = 1 << 16 };

struct bench_settings bench_defaults(enum effort effort) {
    struct bench_settings s = {
        .interval = 0.005, .time_cap_s = 0.3, .sample_s = 2e-3, .checks = 512};
    if (effort == EFFORT_smoke) s.time_cap_s = 0.06, s.checks = 128;
    if (effort == EFFORT_full) s.time_cap_s = 2, s.checks = 2048;
    return s;
}

/* Threads wait for work by spinning: those of OpenMP for a few ms, OpenBLAS's for tens of ms. On as many CPUs as threads
 * the one pool's wait would be timed with the other's work; so there is a pause between them, and a sample is longer, to
 * make up for the waking. */
static const double before_own_threads_s = 0.01, after_own_threads_s = 0.06, longer = 5;

/* ---- sampling ---- */

/* Samples of one placement of the threads; the two are never mixed. */
struct group {
    const char *label;
    double *time_s; /* [MAX_SAMPLES], a call's */
    double pair_ns; /* of the last sample */
    size_t count;
    int64_t disturbed;
};

struct sampler {
    struct device *device;
    const struct trial *trial;
    struct operands *operands;
    int64_t reps, cursor;
};

/* One sample: seconds a call; 0, or the kernel's code. */
static int take(struct sampler *s, double *call_s, bool *disturbed) {
    double seconds = 0;
    const struct trial *t = s->trial;
    const struct args *a = s->operands->args;
    struct device *d = s->device;
    const int error =
        t->copies > 1 ? d->time_copies(d, t->impl->run, a, t->copies, s->reps, &seconds, disturbed)
                      : d->time(d, t->impl->run, a, s->operands->sets, s->cursor, s->reps, &seconds,
                                disturbed);
    s->cursor += s->reps;
    *call_s = seconds / (double)s->reps;
    return error;
}

/* Doubles the calls of a sample until it lasts sample_s, then repeats until two samples agree: warm. */
static int warm_up(struct sampler *s, double sample_s) {
    double before = INFINITY, now;
    bool disturbed;
    s->reps = 1;
    for (;;) {
        const int error = take(s, &now, &disturbed);
        if (error) return error;
        const double lasted = now * (double)s->reps;
        if (lasted >= sample_s) break;
        const double factor = lasted > sample_s / 64 ? 1.1 * sample_s / lasted : 64;
        s->reps = (int64_t)ceil((double)s->reps * fmax(factor, 1.2));
    }
    for (double spent = 0; spent < 20 * sample_s && fabs(now - before) > 0.02 * now;
         spent += now * (double)s->reps) {
        before = now;
        const int error = take(s, &now, &disturbed);
        if (error) return error;
    }
    return 0;
}

static bool narrow_enough(const struct group *g, double interval) {
    if (g->count < MIN_SAMPLES) return false;
    double *copy = malloc(g->count * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, g->time_s, g->count * sizeof *copy);
    const struct stats s = stats_of(copy, g->count);
    free(copy);
    return s.ci_high - s.ci_low <= 2 * interval * s.median;
}

static struct group *group_of(struct group groups[2], const char *label) {
    for (int i = 0; i < 2; i++) {
        if (!groups[i].label) groups[i].label = label;
        if (strcmp(groups[i].label, label) == 0) return &groups[i];
    }
    return NULL;
}

/* A host that has put the threads on one core moves them apart again, after seconds at most: worth waiting for. Where they
 * never had a core each (all hardware threads in use) there is nothing to wait for. */
static void wait_for_cores(struct device *d) {
    for (int i = 0; i < 60 && d->own_cores_seen; i++) {
        if (strcmp(d->placement(d).label, "shared") != 0) return;
        os_sleep_s(0.05);
    }
}

/* Fills groups; 0, or the kernel's code. *narrow: the interval ended it, not the clock. */
static int sample(struct sampler *s, const struct bench_settings *settings, struct group groups[2],
                  int64_t *astray, bool *narrow) {
    const bool team = s->trial->copies > 1 || s->trial->problem.threads > 1;
    if (team) wait_for_cores(s->device);
    const double start = os_now_s();
    size_t next_check = MIN_SAMPLES;
    struct placement before = team ? s->device->placement(s->device) : (struct placement){NAN, ""};
    *narrow = false;
    *astray = 0;
    for (;;) {
        double call_s;
        bool disturbed;
        if (team && vendor_has_own_threads(s->trial->impl->name)) os_sleep_s(before_own_threads_s);
        const int error = take(s, &call_s, &disturbed);
        if (error) return error;
        const struct placement after = team ? s->device->placement(s->device) : before;
        struct group *g =
            strcmp(before.label, after.label) == 0 ? group_of(groups, after.label) : NULL;
        before = after;
        const double spent = os_now_s() - start;
        if (!g) {
            ++*astray; /* the threads moved during the sample */
        } else if (g->count < MAX_SAMPLES) {
            g->time_s[g->count++] = call_s;
            g->disturbed += disturbed;
            g->pair_ns = after.pair_ns;
            if (g->count >= next_check) {
                *narrow = narrow_enough(g, settings->interval);
                next_check = g->count + g->count / 8 + 1;
            }
        } else {
            return 0;
        }
        if (*narrow || (spent >= settings->time_cap_s && groups[0].count + groups[1].count >= 3) ||
            spent >= 4 * settings->time_cap_s + 60)
            return 0;
    }
}

/* ---- rows ---- */

static void set_now(char field[ROW_TEXT]) {
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(field, ROW_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static double rate_of(const struct ceiling *c) { return c ? c->rate : NAN; }

void row_derive(struct row *r, struct device *d, const struct trial *t, const struct ceilings *c) {
    const struct op *op = &ops[t->impl->op];
    const enum dtype dtype = t->impl->dtype;
    const int threads = t->copies > 1 ? t->copies : t->problem.threads;
    r->flops = op->flops(t->problem.s) * t->copies;
    r->bytes = op_bytes(op, dtype, &t->problem) * t->copies;
    r->ai = r->flops / r->bytes;
    r->footprint_bytes = op_footprint(op, dtype, t->problem.s) * t->copies;
    const double last_cache = device_last_cache(d, threads);
    const bool from_memory = t->cold && last_cache > 0;
    row_set_text(r->level, from_memory ? d->level[d->levels - 1].name
                                       : device_level(d, r->footprint_bytes, threads));
    r->clock_gflop_s =
        d->flops_per_cycle ? d->flops_per_cycle(d, dtype) * r->clock_ghz * threads : NAN;
    r->spec_gflop_s = NAN;
    r->spec_gbyte_s = NAN;
    r->gflop_s = r->flops / r->time_s * 1e-9;
    r->gbyte_s = r->bytes / r->time_s * 1e-9;
    if (r->flops > 0)
        r->mfu = r->gflop_s / (isnan(r->spec_gflop_s) ? r->clock_gflop_s : r->spec_gflop_s);
    if (!c) return;
    /* A dtype without arithmetic of its own is computed in its accumulator's: the faster of the two is the roof. */
    r->roof_gflop_s = fmax(rate_of(ceilings_compute(c, dtypes[dtype].name, threads)),
                           rate_of(ceilings_compute(c, dtypes[dtypes[dtype].acc].name, threads)));
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

/* Enough samples with a core each count more than many on a shared one. */
static bool is_preferred(const struct group *a, const struct group *b) {
    const bool a_own = a->count >= MIN_SAMPLES && strcmp(a->label, "shared") != 0;
    const bool b_own = b->count >= MIN_SAMPLES && strcmp(b->label, "shared") != 0;
    return a_own != b_own ? a_own : a->count > b->count;
}

static void set_statistics(struct row *r, struct group groups[2], int64_t astray, int64_t reps,
                           bool narrow) {
    struct group *most = is_preferred(&groups[1], &groups[0]) ? &groups[1] : &groups[0];
    const struct group *other = most == &groups[0] ? &groups[1] : &groups[0];
    const struct stats s = stats_of(most->time_s, most->count);
    r->time_s = s.median;
    r->ci_low_s = s.ci_low;
    r->ci_high_s = s.ci_high;
    r->p25_s = s.p25;
    r->p75_s = s.p75;
    r->min_s = s.min;
    r->samples = (int64_t)most->count;
    r->reps = reps;
    row_set_text(r->stopped_by, narrow ? "interval" : "time");
    r->disturbed = most->disturbed;
    row_set_text(r->placement, most->label);
    r->pair_ns = most->pair_ns;
    r->displaced = (int64_t)other->count + astray;
}

static void finish(struct row *r, const char *status, const char *reason) {
    row_set_text(r->status, status);
    row_set_text(r->reason, reason ? reason : "");
}

/* Copies of the problem that a cold trial rotates through: together more than four times the last cache. */
static int cold_sets(struct device *d, const struct trial *t) {
    const double bytes = op_footprint(&ops[t->impl->op], t->impl->dtype, t->problem.s);
    const double sets = ceil(4 * device_last_cache(d, t->problem.threads) / bytes);
    return sets < 1 ? 1 : sets > MAX_SETS ? MAX_SETS : (int)sets;
}

void bench_trial(struct device *d, const struct trial *t, const struct bench_settings *settings,
                 struct row *r) {
    struct group groups[2] = {{0}};
    struct operands o = {0};
    struct sampler s = {d, t, &o, 1, 0};
    struct args problem = t->problem;
    const bool own_threads = vendor_has_own_threads(t->impl->name);
    int64_t astray = 0;
    bool narrow = false;

    row_init(r);
    trial_key(t, d, r);
    set_now(r->when);
    row_derive(r, d, t, NULL);
    r->gflop_s = r->gbyte_s = NAN;

    const char *reason = op_refuses_shape(&ops[t->impl->op], t->impl->dtype, &problem);
    if (!reason && t->impl->refuses) reason = t->impl->refuses(&problem);
    if (reason) {
        finish(r, "refused", reason);
        return;
    }
    if (d->set_threads(d, t->copies > 1 ? t->copies : problem.threads)) {
        finish(r, "failed", "the threads could not be placed");
        return;
    }
    const int sets = t->copies > 1 ? t->copies : t->cold ? cold_sets(d, t) : 1;
    if (operands_make(&o, d, t->impl, &problem, sets)) {
        finish(r, "no_memory", "the operands do not fit in memory");
        goto done;
    }

    const struct verdict v = verify(&o, t->impl, settings->checks);
    r->max_error = v.max_error;
    r->checked = v.checked;
    if (strcmp(v.status, "ok") != 0 || settings->check_only) {
        finish(r, v.status, v.reason);
        goto done;
    }

    for (int i = 0; i < 2; i++) {
        groups[i].time_s = malloc(MAX_SAMPLES * sizeof *groups[i].time_s);
        if (!groups[i].time_s) {
            finish(r, "no_memory", "no memory for the samples");
            goto done;
        }
    }
    if (t->fill != FILL_normal && operands_fill(&o, t->fill)) {
        finish(r, "failed", "the operands cannot be filled");
        goto done;
    }
    const int error = warm_up(&s, settings->sample_s * (own_threads ? longer : 1)) ||
                      sample(&s, settings, groups, &astray, &narrow);
    if (error || groups[0].count + groups[1].count == 0) {
        finish(r, "failed",
               error ? "the kernel returned an error" : "the threads were moved in every sample");
        goto done;
    }
    set_statistics(r, groups, astray, s.reps, narrow);
    const struct conditions c = d->conditions(d);
    r->clock_ghz = c.clock_ghz;
    r->temperature_c = c.temperature_c;
    r->power_w = c.power_w;
    row_derive(r, d, t, settings->ceilings);
    finish(r, "ok", NULL);
done:
    if (own_threads && !settings->check_only) os_sleep_s(after_own_threads_s);
    for (int i = 0; i < 2; i++) free(groups[i].time_s);
    operands_free(&o);
}
