/* tune.c - a short contest of launch forms: samples of a millisecond in turns, the least of a form's counts. */
#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's own; a block a tile of 128, 256, 512 threads; persistent grids that fill 1024 threads of a multiprocessor with
 * blocks of either size, or 2048. Those that a kernel does not have come out as one that it has. */
static const struct launch_form wishes[] = {{0, 0},   {128, 0}, {256, 0}, {512, 0},
                                            {128, 8}, {256, 4}, {512, 2}, {256, 8}};
enum { WISHES = sizeof wishes / sizeof *wishes, ROUNDS = 3, MOST_CALLS = 2048 };
static const double sample_s = 1e-3;
static const double clearly = 0.995; /* of the own form's time */

/* ---- as text ---- */

void launch_print(struct launch_form f, char text[ROW_TEXT]) {
    if (f.threads == 0)
        text[0] = '\0';
    else if (f.blocks_per_sm == 0)
        snprintf(text, ROW_TEXT, "%d", f.threads);
    else
        snprintf(text, ROW_TEXT, "%dx%d", f.threads, f.blocks_per_sm);
}

static int number(const char **text, int most) {
    char *end;
    if (**text < '1' || **text > '9') return -1;
    const long value = strtol(*text, &end, 10);
    *text = end;
    return value <= most ? (int)value : -1;
}

int launch_parse(const char *text, struct launch_form *out) {
    const struct launch_form none = {0, 0};
    *out = none;
    out->threads = number(&text, 1024);
    if (*text == 'x') {
        text++;
        out->blocks_per_sm = number(&text, 32);
    }
    const bool right =
        *text == '\0' && out->threads > 0 && out->threads % 32 == 0 && out->blocks_per_sm >= 0;
    if (!right) *out = none;
    return right ? 0 : -1;
}

/* ---- what is known ---- */

int tuning_load(struct tuning *t, const char *path, const struct device *d) {
    bool torn;
    if (rows_read(path, t->known, &torn)) return -1;
    rows_keep_device(t->known, d->slug);
    return 0;
}

struct launch_form tuning_wish(const struct tuning *t, const struct trial *trial,
                               const struct device *d) {
    struct launch_form form = {0, 0};
    struct row key;
    if (t->off || t->form.threads || !t->known) return t->off ? form : t->form;
    row_init(&key);
    trial_key(trial, d, &key);
    for (size_t i = t->known->count; i-- > 0;) { /* the latest first */
        const struct row *r = &t->known->row[i];
        key.round = r->round;
        if (row_same_key(&key, r) && strcmp(r->status, "ok") == 0 &&
            launch_parse(r->launch, &form) == 0)
            break;
    }
    return form;
}

void tuning_keep(const struct tuning *t, const struct row *r) {
    if (!t->known || !r->launch[0]) return;
    struct row *grown = realloc(t->known->row, (t->known->count + 1) * sizeof *grown);
    if (!grown) return; /* it will be tried again */
    grown[t->known->count++] = *r;
    t->known->row = grown;
}

void operands_launch(struct args *a, int sets, struct launch_form wish, struct launch_form *took) {
    for (int s = 0; s < sets; s++) {
        a[s].launch = wish;
        a[s].launched = took;
    }
}

/* ---- the contest ---- */

struct candidate {
    struct launch_form form;
    struct args *args; /* [sets], of its own: the device knows by them what it has recorded */
    double time_s;     /* a call */
};

static int call(struct device *d, const struct trial *t, const struct candidate *c, int sets,
                int64_t reps, double *call_s) {
    double seconds = 0;
    bool disturbed;
    const int error = d->time(d, t->impl->run, c->args, sets, 0, reps, &seconds, &disturbed);
    *call_s = seconds / (double)reps;
    return error;
}

/* One call with each wish, which also loads the kernel; those that are different launches stay. How many, or -1: the device
 * is lost or there is no memory. */
static int gather(struct device *d, const struct trial *t, const struct operands *o,
                  struct candidate c[WISHES]) {
    int n = 0;
    for (int w = 0; w < WISHES; w++) {
        struct candidate *x = &c[n];
        double unused;
        *x = (struct candidate){{0, 0}, malloc((size_t)o->sets * sizeof *x->args), INFINITY};
        if (!x->args) return -1;
        memcpy(x->args, o->args, (size_t)o->sets * sizeof *x->args);
        operands_launch(x->args, o->sets, wishes[w], &x->form);
        bool stays = call(d, t, x, o->sets, 1, &unused) == 0;
        if (!stays && d->alive && !d->alive(d)) return -1;
        for (int k = 0; k < n; k++)
            stays = stays && !(c[k].form.threads == x->form.threads &&
                               c[k].form.blocks_per_sm == x->form.blocks_per_sm);
        if (stays) {
            n++;
        } else {
            free(x->args);
            x->args = NULL;
        }
    }
    return n;
}

/* Before each sample an untimed call: what follows the same one may be recorded by the device, as when it is measured. */
static int race(struct device *d, const struct trial *t, int sets, struct candidate c[], int n) {
    double now;
    int error = call(d, t, &c[0], sets, 4, &now);
    const double calls = ceil(sample_s / now);
    const int64_t reps = calls >= 1 && calls < MOST_CALLS ? (int64_t)calls : MOST_CALLS;
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < n && !error; k++) {
            error = call(d, t, &c[k], sets, 1, &now);
            if (!error) error = call(d, t, &c[k], sets, reps, &now);
            if (!error) c[k].time_s = fmin(c[k].time_s, now);
        }
    }
    return error;
}

int tune(struct device *d, const struct trial *t, const struct operands *o,
         struct launch_form *form) {
    struct candidate c[WISHES] = {{{0, 0}, NULL, 0}};
    const int n = gather(d, t, o, c);
    int error = n < 1 ? -1 : 0, best = 0;
    if (n > 1 && d->emulated) {
        best = n - 1;
    } else if (n > 1) {
        error = race(d, t, o->sets, c, n);
        for (int k = 1; k < n; k++)
            if (c[k].time_s < (best ? c[best].time_s : clearly * c[0].time_s)) best = k;
    }
    if (!error) operands_launch(o->args, o->sets, c[best].form, form);
    if (!error) *form = c[best].form;
    for (int k = 0; k < WISHES; k++) free(c[k].args);
    return error;
}
