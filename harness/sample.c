/* sample.c - nothing is dropped: every sample lands in the group of its placement. */
#include "sample.h"

#include "contest.h"
#include "os.h"
#include "stats.h"

#include "../kernels/vendor/vendor.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SAMPLES = 7, MAX_SAMPLES = 1 << 15 };

/* Threads wait for work by spinning: those of OpenMP for a few ms, OpenBLAS's for tens of ms. On as many CPUs as threads
 * the one pool's wait would be timed with the other's work; so there is a pause between them, and a sample is longer, to
 * make up for the waking. */
static const double before_own_threads_s = 0.01, after_own_threads_s = 0.06, longer = 5;

/* In turns: how long the samples of one turn last together, where the threads need no pause and where they do; a sample
 * that lasts longer than `long_s` needs no call before it that warms caches up. */
enum { TURN_SAMPLES = 8 };
static const double turn_s = 0.008, turn_with_pause_s = 0.03, long_s = 0.1;

static bool is_team(const struct trial *t) { return t->copies > 1 || t->problem.threads > 1; }

struct sampler {
    struct device *device;
    const struct trial *trial;
    const struct operands *operands;
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

/* Raises the calls of a sample until it lasts sample_s, then repeats until two samples agree: warm. A sample that a
 * disturbance alone made long does not count: where the next is short, calls are raised further. *lasts: how long a
 * sample does. */
static int warm_up(struct sampler *s, double sample_s, double *lasts) {
    double before = INFINITY, least_s = sample_s, spent = 0;
    s->reps = 1;
    for (;;) {
        double now;
        bool disturbed;
        const int error = take(s, &now, &disturbed);
        if (error) return error;
        const double lasted = *lasts = now * (double)s->reps;
        if (lasted < least_s) {
            const double factor = lasted > sample_s / 64 ? 1.1 * sample_s / lasted : 64;
            s->reps = (int64_t)ceil((double)s->reps * fmax(factor, 1.2));
            before = INFINITY;
            least_s = sample_s;
            continue;
        }
        if (least_s < sample_s) spent += lasted; /* what has raised the calls is not counted */
        if (fabs(now - before) <= 0.02 * now || spent >= 20 * sample_s) return 0;
        before = now;
        least_s = sample_s / 2;
    }
}

/* ---- groups ---- */

static struct sample_group *group_of(struct samples *s, const char *label) {
    int i = 0;
    while (i + 1 < PLACEMENTS && s->group[i].label && strcmp(s->group[i].label, label) != 0) i++;
    s->group[i].label = label;
    return &s->group[i];
}

/* Capacity grows by powers of two. 0, or -1 without memory. */
static int add(struct sample_group *g, double time_s) {
    if ((g->count & (g->count - 1)) == 0) {
        double *grown = realloc(g->time_s, (g->count ? 2 * g->count : 1) * sizeof *grown);
        if (!grown) return -1;
        g->time_s = grown;
    }
    g->time_s[g->count++] = time_s;
    return 0;
}

/* The sample in the order of time as well. 0, or -1 without memory. */
static int record(struct samples *s, const struct sample_group *g, double time_s, bool disturbed,
                  int turn) {
    if ((s->count & (s->count - 1)) == 0) {
        struct sample *grown = realloc(s->taken, (s->count ? 2 * s->count : 1) * sizeof *grown);
        if (!grown) return -1;
        s->taken = grown;
    }
    struct sample *x = &s->taken[s->count++];
    *x = (struct sample){.time_s = time_s, .turn = turn, .disturbed = disturbed};
    snprintf(x->placement, sizeof x->placement, "%s", g->label);
    return 0;
}

static int rank(const struct sample_group *g) {
    if (g->count < MIN_SAMPLES) return 0;
    return strcmp(g->label, "mixed") == 0 ? 1 : strcmp(g->label, "shared") == 0 ? 2 : 3;
}

struct sample_group *samples_chosen(struct samples *s) {
    struct sample_group *best = &s->group[0];
    for (int i = 1; i < PLACEMENTS; i++) {
        struct sample_group *g = &s->group[i];
        if (rank(g) > rank(best) || (rank(g) == rank(best) && g->count > best->count)) best = g;
    }
    return best;
}

void samples_free(struct samples *s) {
    for (int i = 0; i < PLACEMENTS; i++) free(s->group[i].time_s);
    free(s->taken);
    free(s->reading);
    *s = (struct samples){0};
}

static bool narrow_enough(const struct sample_group *g, double interval) {
    if (g->count < MIN_SAMPLES) return false;
    double *copy = malloc(g->count * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, g->time_s, g->count * sizeof *copy);
    const struct stats s = stats_of(copy, g->count);
    free(copy);
    return s.ci_high - s.ci_low <= 2 * interval * s.median;
}

/* ---- sampling ---- */

/* A host that has put the threads on one core moves them apart again, mostly within seconds: worth waiting for, up to a
 * budget for the whole run. Where they never had a core each there is nothing to wait for. */
static void wait_for_cores(struct device *d) {
    const double pause_s = 0.05;
    while (d->own_cores_seen && d->wait_left_s > 0 &&
           strcmp(d->placement(d).label, "shared") == 0) {
        os_sleep_s(pause_s);
        d->wait_left_s -= pause_s;
    }
}

static int collect(struct sampler *s, const struct sampling *how, struct samples *out) {
    struct device *d = s->device;
    const bool team = is_team(s->trial);
    const bool own_threads = vendor_has_own_threads(s->trial->impl->name);
    const struct placement alone = {NAN, ""};
    if (team) wait_for_cores(d);
    struct placement before = team ? d->placement(d) : alone;
    const double start = os_now_s();
    size_t next_check = MIN_SAMPLES;
    for (size_t taken = 1;; taken++) {
        double call_s;
        bool disturbed;
        if (team && own_threads) os_sleep_s(before_own_threads_s);
        const int error = take(s, &call_s, &disturbed);
        if (error) return error;
        const struct placement after = team ? d->placement(d) : alone;
        const bool stayed = strcmp(before.label, after.label) == 0;
        struct sample_group *g = group_of(out, stayed ? after.label : "mixed");
        before = after;
        if (add(g, call_s) || record(out, g, call_s, disturbed, 0)) return -1;
        g->disturbed += disturbed;
        g->pair_ns = after.pair_ns;

        const double spent = os_now_s() - start;
        if (spent >= how->least_s && taken >= next_check) {
            out->narrow = narrow_enough(samples_chosen(out), how->interval);
            next_check = taken + taken / 8 + 1;
        }
        if (out->narrow || taken == MAX_SAMPLES || (spent >= how->most_s && taken >= 3)) return 0;
    }
}

/* ---- sustained ---- */

/* About 600 readings, at least a few a second: an energy counter moves in steps of up to 0.1 s. Long runs have more. */
static double reading_every_s(double seconds) {
    const double least = fmin(0.1, seconds / 12), most = fmax(0.25, seconds / 14400);
    return fmin(fmax(seconds / 600, least), most);
}

/* The calls of a sample until the time is over, from a device that has rested. */
static int collect_sustained(struct sampler *s, const struct sampling *how, double sample_s,
                             struct samples *out) {
    struct device *d = s->device;
    const bool team = is_team(s->trial);
    const struct placement alone = {NAN, ""};
    const double every_s = reading_every_s(how->sustain_s), rest_s = fmin(1, how->sustain_s / 10);
    const double reps = (double)s->reps * every_s / sample_s;
    size_t room = 0;
    s->reps = reps < 1 ? 1 : (int64_t)reps;
    if (team) wait_for_cores(d);
    os_sleep_s(rest_s); /* what verified it has heated the chip as well */
    struct placement before = team ? d->placement(d) : alone;
    d->conditions(d); /* power is counted from here */
    const double start = os_now_s();
    for (double at_s = 0; at_s < how->sustain_s;) {
        double call_s;
        bool disturbed;
        const int error = take(s, &call_s, &disturbed);
        if (error) return error;
        at_s = os_now_s() - start;
        const double lasted = call_s * (double)s->reps;
        if (lasted < every_s / 2) /* the warm-up was disturbed, or the kernel is faster now */
            s->reps = (int64_t)ceil((double)s->reps * fmin(every_s / lasted, 64));
        if (out->count == room) {
            room = room ? 2 * room : 1024;
            struct reading *grown = realloc(out->reading, room * sizeof *grown);
            if (!grown) return -1;
            out->reading = grown;
        }
        out->reading[out->count] = (struct reading){at_s, d->conditions(d)};
        const struct placement after = team ? d->placement(d) : alone;
        const bool stayed = strcmp(before.label, after.label) == 0;
        struct sample_group *g = group_of(out, stayed ? after.label : "mixed");
        before = after;
        if (add(g, call_s) || record(out, g, call_s, disturbed, 0)) return -1;
        g->disturbed += disturbed;
        g->pair_ns = after.pair_ns;
    }
    return 0;
}

/* ---- in turns ---- */

/* One turn: waits until the threads of the one before sleep, calls once untimed, then takes samples. The placement at its
 * end is the next one's at its start. Adds the seconds of its calls to *spent. */
static int take_turn(struct sampler *s, struct samples *out, int turn, int samples,
                     struct placement *place, double *spent) {
    double call_s[TURN_SAMPLES];
    bool disturbed[TURN_SAMPLES];
    const bool team = is_team(s->trial), own = vendor_has_own_threads(s->trial->impl->name);
    if (team && own) os_sleep_s(before_own_threads_s);
    const bool warm = samples > 1 || out->count == 0 ||
                      out->taken[out->count - 1].time_s * (double)s->reps < long_s;
    for (int i = warm ? -1 : 0; i < samples; i++) {
        const int k = i < 0 ? 0 : i;
        const int error = take(s, &call_s[k], &disturbed[k]);
        if (error) return error;
        *spent += call_s[k] * (double)s->reps;
    }
    if (team && own) os_sleep_s(after_own_threads_s);
    const struct placement after =
        team ? s->device->placement(s->device) : (struct placement){NAN, ""};
    const bool stayed = strcmp(place->label, after.label) == 0;
    struct sample_group *g = group_of(out, stayed ? after.label : "mixed");
    for (int i = 0; i < samples; i++) {
        if (add(g, call_s[i]) || record(out, g, call_s[i], disturbed[i], turn)) return -1;
        g->disturbed += disturbed[i];
    }
    g->pair_ns = after.pair_ns;
    *place = after;
    return 0;
}

/* Samples a turn, so that all turns last about as long. */
static int samples_a_turn(double sample_s, double seconds) {
    const double samples = ceil(seconds / sample_s);
    return samples < 1 ? 1 : samples > TURN_SAMPLES ? TURN_SAMPLES : (int)samples;
}

/* Whether every median and every ratio is known well enough; *turns: of the ratio that has fewest. -1 without memory. */
static int all_narrow(const struct trial trial[], struct samples out[], int n, double interval,
                      size_t *turns) {
    bool narrow = true;
    *turns = SIZE_MAX;
    for (int i = 0; i < n; i++) {
        out[i].narrow = narrow_enough(samples_chosen(&out[i]), interval);
        narrow = narrow && out[i].narrow;
        for (int k = 0; k < n; k++) {
            struct contest c;
            if (trial[i].rival || !trial[k].rival) continue;
            if (contest_of(&out[i], &out[k], &c)) return -1;
            if (c.turns < *turns) *turns = c.turns;
            narrow = narrow && c.high - c.low <= 2 * interval * c.ratio;
        }
    }
    return narrow;
}

/* Rounds, each a turn of every trial; the cursor through the sets of cold buffers is common, since what one trial has just
 * read is in a cache for the next. */
static int collect_turns(struct sampler s[], int n, const struct trial trial[],
                         const struct sampling *how, const double first_s[], struct samples out[],
                         int *failed) {
    struct device *d = s[0].device;
    const bool team = is_team(&trial[0]);
    bool pauses = false;
    double spent = 0;
    int64_t cursor = 0;
    int next_check = CONTEST_TURNS;
    for (int i = 0; i < n; i++) pauses |= team && vendor_has_own_threads(trial[i].impl->name);
    if (team) wait_for_cores(d);
    struct placement place = team ? d->placement(d) : (struct placement){NAN, ""};
    for (int round = 1;; round++) {
        for (int k = 0; k < n; k++) {
            const int i = round % 2 ? k : n - 1 - k;
            const int samples = samples_a_turn(first_s[i], pauses ? turn_with_pause_s : turn_s);
            s[i].cursor = cursor;
            const int error = take_turn(&s[i], &out[i], round, samples, &place, &spent);
            cursor = s[i].cursor;
            *failed = i;
            if (error) return error;
        }
        if (round % 2 || round < next_check) continue;
        next_check = round + round / 8;
        size_t turns;
        const int narrow = all_narrow(trial, out, n, how->interval, &turns);
        if (narrow < 0) return -1;
        if (narrow && spent >= how->least_s * n) return 0;
        /* Turns whose threads were moved are no part of a ratio: up to three times as many as it needs are taken. */
        const bool enough = turns >= CONTEST_TURNS || round >= 3 * CONTEST_TURNS;
        if (spent >= how->most_s * n && enough) return 0;
        if (round >= MAX_SAMPLES / TURN_SAMPLES) return 0;
    }
}

int samples_take(struct device *d, const struct trial trial[], const struct operands o[], int n,
                 const struct sampling *how, struct samples out[], int *failed) {
    struct sampler s[MAX_CONTENDERS] = {{0}};
    double sample_s[MAX_CONTENDERS]; /* one sample lasts */
    int error = 0;
    assert(n > 0 && n <= MAX_CONTENDERS);
    for (int i = 0; i < n; i++) out[i] = (struct samples){0};
    for (int i = 0; i < n && !error; i++) {
        const bool own_threads = vendor_has_own_threads(trial[i].impl->name);
        s[i] = (struct sampler){d, &trial[i], &o[i], 1, 0};
        error = warm_up(&s[i], how->sample_s * (own_threads ? longer : 1), &sample_s[i]);
        *failed = i;
        if (n > 1 && own_threads) os_sleep_s(after_own_threads_s);
    }
    if (!error && n > 1)
        error = collect_turns(s, n, trial, how, sample_s, out, failed);
    else if (!error)
        error = how->sustain_s > 0 ? collect_sustained(&s[0], how, sample_s[0], &out[0])
                                   : collect(&s[0], how, &out[0]);
    for (int i = 0; i < n && !error; i++) out[i].reps = s[i].reps;
    if (n == 1 && vendor_has_own_threads(trial[0].impl->name)) os_sleep_s(after_own_threads_s);
    return error;
}
