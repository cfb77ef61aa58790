/* comparison.c - a hash join, then only like against like. */
#define _GNU_SOURCE
#include "comparison.h"

#include "../commands.h"
#include "../device.h"
#include "../stats.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SAMPLES = 7, LEAST_CALM = 3, LABELS = 8 };

static const double z_of_95 = 1.959964;
static const double pair_differs = 2;     /* round trips this far apart are two placements */
static const double disturbed_gap = 0.25; /* of the shares of disturbed samples */
static const double clock_gap = 0.02;

static void *no_less(void *p) {
    if (p) return p;
    perror("roofline");
    abort();
}

/* ---- one row's samples ---- */

static double log_interval_error(double low, double high) {
    return low > 0 && high >= low ? log(high / low) / (2 * z_of_95) : 0;
}

void log_median(const double *time_s, size_t n, double *location, double *error) {
    enum { BLOCKS = 8 };
    double *copy = no_less(malloc(n * sizeof *copy));
    memcpy(copy, time_s, n * sizeof *copy);
    const struct stats s = stats_of(copy, n);
    *location = log(s.median);
    *error = log_interval_error(s.ci_low, s.ci_high);
    if (n >= (size_t)BLOCKS * LEAST_SAMPLES) {
        double mean = 0, sum = 0, block[BLOCKS];
        for (size_t i = 0; i < BLOCKS; i++) {
            const size_t from = i * n / BLOCKS, to = (i + 1) * n / BLOCKS;
            memcpy(copy, time_s + from, (to - from) * sizeof *copy);
            block[i] = log(stats_of(copy, to - from).median);
            mean += block[i] / BLOCKS;
        }
        for (size_t i = 0; i < BLOCKS; i++) sum += (block[i] - mean) * (block[i] - mean);
        *error = fmax(*error, sqrt(sum / (BLOCKS - 1) / BLOCKS));
    }
    free(copy);
}

/* ---- entries: the rows behind one key of one side ---- */

struct entry {
    const struct row *row;
    const struct series *series; /* NULL: none */
    int run;
    size_t next; /* of the same key; an index + 1; 0: the last */
};

struct entries {
    struct entry *entry;
    size_t count;
    size_t *first, *last; /* by key, as next */
};

static bool is_timed(const struct row *r) { return strcmp(r->status, "ok") == 0 && r->time_s > 0; }

/* What a side has at one placement of the threads: logs of medians, one a round. */
struct side {
    double *location, *error; /* [rounds] */
    int *run;
    size_t rounds;
    double pair_ns, disturbed, clock_ghz; /* medians; share of the samples used; NaN: unknown */
    const struct row *row;                /* the first of them; NULL: no round */
    const char *throttle;
};

/* The times of a row's samples at a placement, all or only the calm ones; how many. */
static size_t times_at(const struct series *s, const char *label, bool calm, double *times) {
    size_t n = 0;
    for (size_t i = 0; s && i < s->count; i++) {
        const struct sample *x = &s->sample[i];
        if (strcmp(x->placement, label) == 0 && x->time_s > 0 && !(calm && x->disturbed))
            times[n++] = x->time_s;
    }
    return n;
}

/* Of a round at a placement: its samples there, or its row where that was at it; where the system left enough of its
 * samples alone, only these: one during which it took a CPU away is none of the kernel. */
struct round {
    bool there, calm;
    bool own;    /* the row is of this placement */
    size_t used; /* samples in `times`; 0: the row's own figures stand */
};

static struct round round_at(const struct entry *e, const char *label, double *times) {
    const struct row *r = e->row;
    struct round x = {.own = strcmp(r->placement, label) == 0};
    if (!is_timed(r)) return x;
    x.used = times_at(e->series, label, true, times);
    x.calm = x.used >= LEAST_CALM;
    if (!x.calm) x.used = times_at(e->series, label, false, times);
    if (x.used < LEAST_SAMPLES && !x.own && !x.calm) x.used = 0;
    if (x.used == 0) x.calm = 2 * r->disturbed <= r->samples;
    x.there = x.own || x.used > 0;
    return x;
}

static double *times_for(const struct entries *all, size_t first) {
    size_t most = 1;
    for (size_t i = first; i; i = all->entry[i - 1].next) {
        const struct series *x = all->entry[i - 1].series;
        if (x && x->count > most) most = x->count;
    }
    return no_less(malloc(most * sizeof(double)));
}

/* How many rounds were at a placement, and how many of these were calm. */
static size_t rounds_at(const struct entries *all, size_t first, const char *label, size_t *calm) {
    double *times = times_for(all, first);
    size_t rounds = 0;
    *calm = 0;
    for (size_t i = first; i; i = all->entry[i - 1].next) {
        const struct round x = round_at(&all->entry[i - 1], label, times);
        rounds += x.there;
        *calm += x.there && x.calm;
    }
    free(times);
    return rounds;
}

/* The rounds that were at `label`: the calm ones where there are two or more. */
static void side_at(const struct entries *all, size_t first, const char *label, struct side *s) {
    size_t calm, pairs = 0, clocks = 0;
    const size_t rounds = rounds_at(all, first, label, &calm);
    double *times = times_for(all, first);
    double *pair_ns = no_less(malloc((rounds + 1) * sizeof *pair_ns));
    double *clock = no_less(malloc((rounds + 1) * sizeof *clock));
    double samples = 0, disturbed = 0;
    *s = (struct side){.location = no_less(malloc((rounds + 1) * sizeof(double))),
                       .error = no_less(malloc((rounds + 1) * sizeof(double))),
                       .run = no_less(malloc((rounds + 1) * sizeof(int))),
                       .throttle = ""};
    for (size_t i = first; i; i = all->entry[i - 1].next) {
        const struct entry *e = &all->entry[i - 1];
        const struct row *r = e->row;
        const struct round x = round_at(e, label, times);
        if (!x.there || (calm > 1 && !x.calm)) continue;
        double *location = &s->location[s->rounds], *error = &s->error[s->rounds];
        if (x.used) {
            log_median(times, x.used, location, error);
        } else {
            *location = log(r->time_s);
            *error = log_interval_error(r->ci_low_s, r->ci_high_s);
        }
        s->run[s->rounds++] = e->run;
        if (!s->row) s->row = r;
        if (x.own && r->pair_ns > 0) pair_ns[pairs++] = r->pair_ns;
        if (r->clock_ghz > 0) clock[clocks++] = r->clock_ghz;
        if (r->throttle[0]) s->throttle = r->throttle;
        if (r->samples > 0 && r->disturbed >= 0) {
            samples += (double)r->samples;
            disturbed += x.used && x.calm ? 0 : (double)r->disturbed;
        }
    }
    s->pair_ns = pairs ? effect_location(pair_ns, pairs) : NAN;
    s->clock_ghz = clocks ? effect_location(clock, clocks) : NAN;
    s->disturbed = samples > 0 ? disturbed / samples : NAN;
    free(times);
    free(pair_ns);
    free(clock);
}

static void side_release(struct side *s) {
    free(s->location);
    free(s->error);
    free(s->run);
    *s = (struct side){0};
}

/* Several runs: each run is a replicate, by the median of its rounds; one run: each round is. */
static size_t replicates(const struct side *s, int runs, bool by_run, double *out) {
    if (!by_run) {
        memcpy(out, s->location, s->rounds * sizeof *out);
        return s->rounds;
    }
    size_t count = 0;
    double *of_run = no_less(malloc((s->rounds + 1) * sizeof *of_run));
    for (int run = 0; run < runs; run++) {
        size_t n = 0;
        for (size_t i = 0; i < s->rounds; i++)
            if (s->run[i] == run) of_run[n++] = s->location[i];
        if (n) out[count++] = effect_location(of_run, n);
    }
    free(of_run);
    return count;
}

/* Standard error of the side's location by its samples alone. */
static double within_error(const struct side *s) {
    double sum = 0;
    for (size_t i = 0; i < s->rounds; i++) sum += s->error[i] * s->error[i];
    return sqrt(sum / (double)s->rounds * effect_share(s->rounds));
}

/* ---- like against like ---- */

static size_t add_label(const char *label, const char *labels[LABELS], size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(labels[i], label) == 0) return count;
    if (count < LABELS && strcmp(label, "mixed") != 0) labels[count++] = label;
    return count;
}

static size_t labels_of(const struct entries *all, size_t first, const char *labels[LABELS],
                        size_t count) {
    for (size_t i = first; i; i = all->entry[i - 1].next) {
        const struct entry *e = &all->entry[i - 1];
        if (!is_timed(e->row)) continue;
        count = add_label(e->row->placement, labels, count);
        for (size_t j = 0; e->series && j < e->series->count; j++)
            count = add_label(e->series->sample[j].placement, labels, count);
    }
    return count;
}

/* The placement at which both sides have most rounds; "mixed" where there is none, which no side has. */
static const char *common_placement(const struct entries *a, size_t first_a,
                                    const struct entries *b, size_t first_b) {
    const char *labels[LABELS], *best = "mixed";
    size_t count = labels_of(a, first_a, labels, 0), most = 0, calm;
    count = labels_of(b, first_b, labels, count);
    for (size_t i = 0; i < count; i++) {
        const size_t x = rounds_at(a, first_a, labels[i], &calm),
                     y = rounds_at(b, first_b, labels[i], &calm), both = x < y ? x : y;
        if (both > most) best = labels[i];
        if (both > most) most = both;
    }
    return best;
}

/* Another device's threads lie as they do there: each side at the placement of most of its rounds. */
static const char *own_placement(const struct entries *all, size_t first) {
    return common_placement(all, first, all, first);
}

static const struct row *first_timed(const struct entries *all, size_t first) {
    for (size_t i = first; i; i = all->entry[i - 1].next)
        if (is_timed(all->entry[i - 1].row)) return all->entry[i - 1].row;
    return NULL;
}

/* Wrong results or a crash in any round. */
static const struct row *first_failed(const struct entries *all, size_t first) {
    for (size_t i = first; i; i = all->entry[i - 1].next) {
        const struct row *r = all->entry[i - 1].row;
        if (strcmp(r->status, "wrong") == 0 || strcmp(r->status, "failed") == 0) return r;
    }
    return NULL;
}

static const char *place(const struct row *r) {
    return r->placement[0] ? r->placement : "one thread";
}

/* Why times of two sides must not be compared, in p->why; false when they may be. */
static bool unlike(struct pair *p, const struct side *x, const struct side *y, bool other_device) {
    if (device_slug_is_emulated(p->a->device) || device_slug_is_emulated(p->b->device)) {
        snprintf(p->why, sizeof p->why, "times of an emulated device mean nothing");
    } else if (x->rounds == 0 || y->rounds == 0) {
        if (strcmp(p->a->placement, "mixed") == 0 || strcmp(p->b->placement, "mixed") == 0)
            snprintf(p->why, sizeof p->why, "the threads were moved while they were timed");
        else
            snprintf(p->why, sizeof p->why, "placement: %s against %s", place(p->a), place(p->b));
    } else if (!other_device &&
               fmax(x->pair_ns, y->pair_ns) > pair_differs * fmin(x->pair_ns, y->pair_ns)) {
        snprintf(p->why, sizeof p->why, "threads lie differently: pair_ns %.0f against %.0f",
                 x->pair_ns, y->pair_ns);
    } else if ((x->disturbed > 0.5) != (y->disturbed > 0.5) &&
               fabs(x->disturbed - y->disturbed) > disturbed_gap) {
        snprintf(p->why, sizeof p->why,
                 "other work took CPUs in %.0f %% of A's samples, in %.0f %% of B's",
                 100 * x->disturbed, 100 * y->disturbed);
    } else {
        return false;
    }
    return true;
}

static void explain(struct pair *p, const struct side *x, const struct side *y) {
    size_t used = 0;
    if (fabs(x->clock_ghz / y->clock_ghz - 1) > clock_gap)
        used += (size_t)snprintf(p->why, sizeof p->why, "clock %.2f -> %.2f GHz", x->clock_ghz,
                                 y->clock_ghz);
    if (strcmp(x->throttle, y->throttle) != 0 && used < sizeof p->why)
        snprintf(p->why + used, sizeof p->why - used, "%sthrottle %s -> %s", used ? "; " : "",
                 x->throttle[0] ? x->throttle : "none", y->throttle[0] ? y->throttle : "none");
}

static void judge_alone(struct pair *p, bool other_device, const struct entries *a, size_t first_a,
                        int runs_a, const struct entries *b, size_t first_b, int runs_b) {
    struct side x, y;
    assert(p->a && p->b);
    const struct row *timed_a = first_timed(a, first_a), *timed_b = first_timed(b, first_b);
    /* A race may show in one round of many: the others' times don't make up for it. */
    const struct row *failed = first_failed(a, first_a) ? NULL : first_failed(b, first_b);
    if (timed_a && timed_b && failed) {
        p->b = failed;
        timed_b = NULL;
    }
    if (!timed_a || !timed_b) {
        p->broken = timed_a != NULL;
        p->repaired = timed_b != NULL;
        p->effect.ratio = NAN;
        const struct row *without = timed_a ? p->b : p->a;
        snprintf(p->why, sizeof p->why, "%s: %s%s%s",
                 timed_a   ? "B"
                 : timed_b ? "A"
                           : "both",
                 without->status[0] ? without->status : "no time", without->reason[0] ? ": " : "",
                 without->reason);
        return;
    }
    p->a = timed_a;
    p->b = timed_b;
    const char *common = other_device ? NULL : common_placement(a, first_a, b, first_b);
    side_at(a, first_a, common ? common : own_placement(a, first_a), &x);
    side_at(b, first_b, common ? common : own_placement(b, first_b), &y);
    p->effect.verdict = VERDICT_UNDECIDABLE;
    p->effect.a = log(timed_a->time_s);
    p->effect.b = log(timed_b->time_s);
    if (!unlike(p, &x, &y, other_device)) {
        const bool by_run = runs_a > 1 || runs_b > 1;
        double *u = no_less(malloc((x.rounds + y.rounds) * sizeof *u)), *v = u + x.rounds;
        p->a = x.row;
        p->b = y.row;
        p->replicates_a = replicates(&x, runs_a, by_run, u);
        p->replicates_b = replicates(&y, runs_b, by_run, v);
        effect_of_replicates(&p->effect, u, p->replicates_a, v, p->replicates_b);
        p->effect.within = hypot(within_error(&x), within_error(&y));
        p->judged = true;
        explain(p, &x, &y);
        free(u);
    }
    p->effect.ratio = exp(p->effect.a - p->effect.b);
    side_release(&x);
    side_release(&y);
}

/* ---- the join ---- */

static uint64_t columns_of(const struct subject *s) {
    uint64_t columns = ~UINT64_C(0);
    for (int i = 0; i < s->runs; i++) columns &= s->run[i].rows.columns;
    return columns;
}

static size_t devices_of(const struct subject *s, struct text_index *index) {
    bool is_new;
    for (int i = 0; i < s->runs; i++)
        for (size_t j = 0; j < s->run[i].rows.count; j++) {
            const struct row *r = &s->run[i].rows.row[j];
            if (j == 0 || strcmp(r->device, r[-1].device) != 0)
                text_index_add(index, r->device, &is_new);
        }
    return index->count;
}

/* Sets c->key. Devices are part of it unless the sides have none in common. */
static int choose_key(struct comparison *c, uint64_t ignore) {
    const uint64_t device = UINT64_C(1) << COLUMN_device, round = UINT64_C(1) << COLUMN_round;
    struct text_index a = {0}, both = {0};
    const size_t of_a = devices_of(c->a, &a);
    devices_of(c->a, &both);
    const size_t together = devices_of(c->b, &both);
    struct text_index b = {0};
    const size_t of_b = devices_of(c->b, &b);
    c->other_device = together == of_a + of_b;
    c->key = key_columns() & columns_of(c->a) & columns_of(c->b) & ~round & ~ignore;
    int status = 0;
    if (c->other_device) c->key &= ~device;
    if (c->other_device && (of_a > 1 || of_b > 1)) {
        const bool first = of_a > 1;
        fprintf(stderr,
                "roofline: '%s' has rows of %zu devices and none in common with '%s': which one is "
                "to be compared?\n",
                first ? c->a->name : c->b->name, first ? of_a : of_b,
                first ? c->b->name : c->a->name);
        status = -1;
    }
    text_index_release(&a);
    text_index_release(&b);
    text_index_release(&both);
    return status;
}

/* The rows of a side, chained by key; new keys get new numbers. */
static void chain(const struct subject *s, uint64_t key, struct text_index *index,
                  struct entries *out) {
    char text[KEY_TEXT];
    size_t capacity = 0;
    bool is_new;
    *out = (struct entries){.entry = no_less(calloc(subject_rows(s) + 1, sizeof *out->entry))};
    for (int run = 0; run < s->runs; run++) {
        const struct run_data *d = &s->run[run];
        for (size_t i = 0; i < d->rows.count; i++) {
            key_text(&d->rows.row[i], key, text, sizeof text);
            const size_t k = text_index_add(index, text, &is_new);
            if (k >= capacity) {
                const size_t grown = index->capacity > k ? index->capacity : k + 1;
                out->first = no_less(realloc(out->first, grown * sizeof *out->first));
                out->last = no_less(realloc(out->last, grown * sizeof *out->last));
                memset(out->first + capacity, 0, (grown - capacity) * sizeof *out->first);
                memset(out->last + capacity, 0, (grown - capacity) * sizeof *out->last);
                capacity = grown;
            }
            out->entry[out->count++] = (struct entry){
                .row = &d->rows.row[i], .series = d->series[i], .run = run, .next = 0};
            if (out->last[k])
                out->entry[out->last[k] - 1].next = out->count;
            else
                out->first[k] = out->count;
            out->last[k] = out->count;
        }
    }
}

/* Where columns are ignored: of rows that differ in them the fastest stands, with its rounds. */
static void keep_fastest(struct entries *all, size_t *first) {
    const uint64_t columns = key_columns() & ~(UINT64_C(1) << COLUMN_round);
    const struct row *best = first_timed(all, *first);
    char wanted[KEY_TEXT], text[KEY_TEXT];
    if (!best) return;
    for (size_t i = *first; i; i = all->entry[i - 1].next) {
        const struct row *r = all->entry[i - 1].row;
        if (is_timed(r) && r->time_s < best->time_s) best = r;
    }
    key_text(best, columns, wanted, sizeof wanted);
    size_t *at = first;
    while (*at) {
        struct entry *e = &all->entry[*at - 1];
        key_text(e->row, columns, text, sizeof text);
        if (strcmp(text, wanted) == 0)
            at = &e->next;
        else
            *at = e->next;
    }
}

static void judge_together(struct comparison *c) {
    struct effect *e = no_less(malloc((c->partners + 1) * sizeof *e));
    double *smallest = no_less(malloc((c->partners + 1) * sizeof *smallest));
    size_t n = 0;
    for (size_t i = 0; i < c->partners; i++)
        if (c->pair[i].judged) e[n++] = c->pair[i].effect;
    effects_judge(e, n, &c->doubt, !c->other_device);
    c->hidden = 0;
    n = 0;
    for (size_t i = 0; i < c->partners; i++) {
        struct pair *p = &c->pair[i];
        c->broken += p->broken;
        c->repaired += p->repaired;
        c->untimed += !p->broken && !p->repaired && isnan(p->effect.ratio);
        if (isnan(p->effect.ratio)) continue;
        if (p->judged) {
            p->effect = e[n];
            smallest[n++] = p->effect.smallest;
        }
        c->verdicts[p->effect.verdict]++;
        if (p->effect.verdict == VERDICT_UNDECIDABLE)
            c->hidden = p->judged ? fmax(c->hidden, 1 / p->effect.low - 1) : INFINITY;
        if (p->judged && p->effect.verdict == VERDICT_UNDECIDABLE) {
            const double most = 1 + c->doubt.threshold;
            const bool between = p->effect.low >= 1 / most && p->effect.high <= most;
            char *why = NULL;
            if (asprintf(&why, "%s%s%s",
                         between             ? "larger than --same, within --threshold"
                         : p->effect.assumed ? "one round each: the noise is assumed"
                                             : "noise: the interval is too wide",
                         p->why[0] ? "; " : "", p->why) < 0)
                no_less(NULL);
            snprintf(p->why, sizeof p->why, "%.254s", why);
            free(why);
        }
    }
    c->smallest_half = n ? effect_location(smallest, n) : NAN;
    c->smallest_worst = n ? smallest[n - 1] : NAN;
    free(e);
    free(smallest);
}

int comparison_make(const struct subject *a, const struct subject *b, const struct doubt *doubt,
                    uint64_t ignore, struct comparison *out) {
    struct text_index index = {0};
    struct entries x, y;
    *out = (struct comparison){.a = a, .b = b, .doubt = *doubt};
    if (choose_key(out, ignore)) return -1;
    chain(a, out->key, &index, &x);
    const size_t keys_a = index.count;
    chain(b, out->key, &index, &y);
    assert(x.first && y.first); /* a subject has rows */
    out->pair = no_less(calloc(index.count + 1, sizeof *out->pair));
    for (int pass = 0; pass < 3; pass++) {
        for (size_t k = 0; k < index.count; k++) {
            size_t in_a = k < keys_a ? x.first[k] : 0, in_b = y.first[k];
            if ((pass == 0 && (!in_a || !in_b)) || (pass == 1 && in_b) || (pass == 2 && in_a))
                continue;
            struct pair *p = &out->pair[out->count++];
            p->effect.ratio = NAN;
            if (ignore && in_a) keep_fastest(&x, &in_a);
            if (ignore && in_b) keep_fastest(&y, &in_b);
            p->a = in_a ? x.entry[in_a - 1].row : NULL;
            p->b = in_b ? y.entry[in_b - 1].row : NULL;
            if (pass == 0) judge_alone(p, out->other_device, &x, in_a, a->runs, &y, in_b, b->runs);
            out->partners += pass == 0;
            out->only_a += pass == 1;
            out->only_b += pass == 2;
        }
    }
    judge_together(out);
    free(x.entry);
    free(x.first);
    free(x.last);
    free(y.entry);
    free(y.first);
    free(y.last);
    text_index_release(&index);
    return 0;
}

void comparison_release(struct comparison *c) {
    free(c->pair);
    *c = (struct comparison){0};
}

/* ---- what it comes to ---- */

int comparison_status(const struct comparison *c, bool strict) {
    const size_t *n = c->verdicts;
    const size_t undecided = n[VERDICT_UNDECIDABLE],
                 decided = n[VERDICT_SLOWER] + n[VERDICT_FASTER] + n[VERDICT_SAME];
    if (n[VERDICT_SLOWER] || c->broken) return STATUS_NO;
    if (undecided + decided == 0 || undecided > decided || (strict && undecided))
        return STATUS_ERROR;
    return STATUS_OK;
}

const char *comparison_word(const struct comparison *c, bool strict) {
    const size_t *n = c->verdicts;
    const bool slower = n[VERDICT_SLOWER] || c->broken;
    if (c->partners == 0) return "nothing in common";
    if (slower) return n[VERDICT_FASTER] ? "mixed" : "slower";
    if (comparison_status(c, strict) == STATUS_ERROR) return "undecidable";
    return n[VERDICT_FASTER] ? "faster" : "same";
}

/* By the kind of shape that an operation has, which the catalogue knows; "other" for one that this version lacks. */
static const char *family_of(const char *op) {
    static const char *const names[] = {
        [SWEEP_vectors] = "vectors",     [SWEEP_squares] = "squares",
        [SWEEP_rows] = "rows",           [SWEEP_matrices] = "matrix-vector",
        [SWEEP_cubes] = "products",      [SWEEP_batches] = "batched products",
        [SWEEP_chains] = "multiply-adds"};
    const int i = op_find(op);
    return i < 0 ? "other" : names[ops[i].sweep];
}

static void count_in(struct mean *m, double ratio) {
    m->low = m->rows ? fmin(m->low, ratio) : ratio;
    m->high = m->rows ? fmax(m->high, ratio) : ratio;
    m->ratio += log(ratio); /* of all, until the end */
    m->rows++;
}

struct mean *comparison_means(const struct comparison *c, size_t *count) {
    struct mean *mean = NULL, all = {.family = "all", .dtype = "all"};
    *count = 0;
    for (size_t i = 0; i < c->partners; i++) {
        const struct pair *p = &c->pair[i];
        if (isnan(p->effect.ratio)) continue;
        const char *family = family_of(p->a->op);
        size_t j = 0;
        while (j < *count &&
               (strcmp(mean[j].family, family) != 0 || strcmp(mean[j].dtype, p->a->dtype) != 0))
            j++;
        if (j == *count) {
            mean = no_less(realloc(mean, ++*count * sizeof *mean));
            mean[j] = (struct mean){.rows = 0};
            snprintf(mean[j].family, sizeof mean[j].family, "%.23s", family);
            row_set_text(mean[j].dtype, p->a->dtype);
        }
        count_in(&mean[j], p->effect.ratio);
        count_in(&all, p->effect.ratio);
    }
    mean = no_less(realloc(mean, (*count + 1) * sizeof *mean));
    mean[(*count)++] = all;
    for (size_t i = 0; i < *count; i++)
        mean[i].ratio = mean[i].rows ? exp(mean[i].ratio / (double)mean[i].rows) : NAN;
    return mean;
}
