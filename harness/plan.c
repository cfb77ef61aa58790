/* plan.c - which trials, in which order: op by op, small before large. */
#define _GNU_SOURCE
#include "plan.h"

#include "options.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMENSIONS = 4, NAME_BYTES = 64 };
static const int64_t MAX_EXTENT = (int64_t)1 << 40;

/* ---- lists of names ---- */

/* Calls for each comma-separated item; the text is not changed. */
static bool next_item(const char **list, char item[NAME_BYTES]) {
    if (!*list || !**list) return false;
    const size_t length = strcspn(*list, ",");
    snprintf(item, NAME_BYTES, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

static bool selects(const char *list, const char *name) {
    char item[NAME_BYTES];
    if (!list) return true;
    while (next_item(&list, item))
        if (fnmatch(item, name, 0) == 0) return true;
    return false;
}

/* Every item of a list must match at least one name. */
static int check_list(const char *what, const char *list, int count, const char *(*name)(int)) {
    char item[NAME_BYTES];
    if (list && !*list) {
        fprintf(stderr, "roofline: --%s needs a name\n", what);
        return -1;
    }
    while (next_item(&list, item)) {
        bool known = false;
        for (int i = 0; i < count && !known; i++) known = fnmatch(item, name(i), 0) == 0;
        if (known) continue;
        fprintf(stderr, "roofline: unknown %s '%s'; 'roofline list' names them\n", what, item);
        return -1;
    }
    return 0;
}

static const char *op_name(int i) { return ops[i].name; }
static const char *dtype_name(int i) { return dtypes[i].name; }
static const char *layout_name(int i) { return layout_names[i]; }

/* Every item of a list must match the name of one of the device's rows. */
static int check_impl(const struct device *d, const char *item) {
    const struct impl *const *const groups[] = {d->kernels, d->vendors->kernels};
    for (int g = 0; g < 2; g++)
        for (const struct impl *const *table = groups[g]; *table; table++)
            for (const struct impl *row = *table; row->run; row++)
                if (fnmatch(item, row->name, 0) == 0) return 0;
    fprintf(stderr, "roofline: unknown impl '%s' on %s; 'roofline list --device %s' names them\n",
            item, d->name, d->name);
    return -1;
}

static int check_impls(const struct device *d, const char *list) {
    char item[NAME_BYTES];
    while (next_item(&list, item)) {
        if (strcmp(item, "best") == 0 || strcmp(item, "vendor") == 0 || strcmp(item, "all") == 0)
            continue;
        if (check_impl(d, item)) return -1;
    }
    return 0;
}

/* Reads "zeros,normal" into distinct fills; how many, or -1 after one line on stderr. */
static int parse_fills(const char *list, enum fill fills[FILL_COUNT]) {
    char item[NAME_BYTES];
    int n = 0, choice;
    if (!*list) return option_choice("--fill", list, fill_names, FILL_COUNT, &choice);
    while (next_item(&list, item)) {
        bool seen = false;
        if (option_choice("--fill", item, fill_names, FILL_COUNT, &choice)) return -1;
        for (int i = 0; i < n; i++) seen |= fills[i] == (enum fill)choice;
        if (!seen) fills[n++] = (enum fill)choice;
    }
    return n;
}

/* ---- shapes ---- */

/* Which dimensions an op's shape has, in the order they are written. */
static int dimensions_of(const struct op *op, struct shape *s, int64_t *dimension[MAX_DIMENSIONS],
                         const char **form) {
    int n = 0;
    switch (op->sweep) {
    case SWEEP_vectors:
        *form = "N";
        break;
    case SWEEP_chains:
        *form = "NxK";
        break;
    case SWEEP_squares:
    case SWEEP_rows:
    case SWEEP_matrices:
        *form = "MxN";
        break;
    case SWEEP_cubes:
    case SWEEP_tables:
        *form = "MxNxK";
        break;
    case SWEEP_batches:
        *form = "BxMxNxK";
        break;
    }
    for (const char *c = *form; *c; c++) {
        if (*c == 'B') dimension[n++] = &s->b;
        if (*c == 'M') dimension[n++] = &s->m;
        if (*c == 'N') dimension[n++] = &s->n;
        if (*c == 'K') dimension[n++] = &s->k;
    }
    return n;
}

int shape_parse(const struct op *op, const char *text, struct shape *out) {
    int64_t *dimension[MAX_DIMENSIONS];
    const char *form, *at = text;
    *out = (struct shape){1, 1, 1, 1};
    const int count = dimensions_of(op, out, dimension, &form);
    for (int i = 0; i < count; i++) {
        char *end;
        errno = 0;
        if (*at < '0' || *at > '9') goto malformed;
        const long long value = strtoll(at, &end, 10);
        if (errno || value > MAX_EXTENT) {
            fprintf(stderr, "roofline: shape '%s': a dimension is at most 2^40\n", text);
            return -1;
        }
        if (value < 1) {
            fprintf(stderr, "roofline: shape '%s': a dimension is at least 1\n", text);
            return -1;
        }
        *dimension[i] = value;
        if (*end != (i + 1 < count ? 'x' : '\0')) goto malformed;
        at = end + 1;
    }
    return 0;
malformed:
    fprintf(stderr, "roofline: shape '%s': %s takes %s, positive integers\n", text, op->name, form);
    return -1;
}

/* ---- trials ---- */

void plan_add(struct plan *p, const struct trial *t) {
    if ((p->count & (p->count - 1)) == 0) { /* full at powers of two */
        struct trial *grown = realloc(p->trial, (p->count ? 2 * p->count : 1) * sizeof *grown);
        if (!grown) {
            perror("roofline: plan");
            abort();
        }
        p->trial = grown;
    }
    p->trial[p->count++] = *t;
}

static bool accepts(const struct impl *impl, const struct args *problem) {
    return !impl->refuses || !impl->refuses(problem);
}

static bool runs_in_mode(const struct selection *s, const struct trial *t, bool cold) {
    const bool large = op_footprint(&ops[t->impl->op], t->impl->dtype, t->problem.s) >= COLD_BYTES;
    if (s->check) return !cold;
    if (s->cache == CACHE_auto) return cold == large;
    return s->cache == CACHE_both || (s->cache == CACHE_cold) == cold;
}

/* These implementations in every mode of the cache, with every fill; in turns with each other where several are given. */
static void add_modes(struct plan *p, const struct selection *s, struct trial t,
                      const struct impl *const impl[], int count, int ours) {
    enum fill fills[FILL_COUNT] = {FILL_normal};
    const int fill_count = s->fill ? parse_fills(s->fill, fills) : 1;
    t.impl = impl[0];
    for (int cold = 0; cold < 2; cold++) {
        if (!runs_in_mode(s, &t, cold)) continue;
        for (int f = 0; f < fill_count; f++) {
            for (int i = 0; i < count; i++) {
                struct trial one = t;
                one.impl = impl[i];
                one.cold = cold;
                one.fill = fills[f];
                one.rival = i >= ours;
                one.more = count - 1 - i;
                plan_add(p, &one);
            }
        }
    }
}

/* Of a vendor's row only the library's name is known to be there: it is loaded by the worker alone. "all" and "vendor" do
 * not mean what cannot run; a name does, and the row says why it can't. */
static bool wanted(const struct selection *s, const char *list, const struct impl *row,
                   const struct impl *best, const struct args *problem, bool vendor) {
    const bool runs = vendor ? vendors_have(&s->vendors, row->name) != 0 : accepts(row, problem);
    return ((selects(list, "all") || (vendor && selects(list, "vendor"))) && runs) ||
           (row == best && selects(list, "best")) || selects(list, row->name);
}

/* Problems with and without a rival. */
struct contests {
    size_t held, alone;
};

/* Trials of every selected implementation of one problem. What both lists select is a rival, unless nothing of ours would
 * be left. */
static void add_impls(struct plan *p, const struct device *d, const struct selection *s,
                      enum op_id op, enum dtype dtype, struct trial t, struct contests *contests) {
    const struct impl *best = NULL, *row, *found[MAX_CONTENDERS], *sorted[MAX_CONTENDERS];
    enum { OURS = 1, RIVAL = 2 };
    int side[MAX_CONTENDERS], count = 0, ours = 0;
    bool some_ours_alone = false;
    const char *list = s->impl ? s->impl : s->check ? "all" : s->vs ? "best" : "best,vendor";
    const struct impl *const *const groups[] = {d->kernels, d->vendors->kernels};
    for (const struct impl *const *table = d->kernels; *table; table++)
        for (row = *table; row->run; row++)
            if (row->op == op && row->dtype == dtype && accepts(row, &t.problem) &&
                !(d->outdone && d->outdone(row, &t.problem)))
                best = row;
    for (int g = 0; g < 2; g++) {
        for (const struct impl *const *table = groups[g]; *table; table++) {
            for (row = *table; row->run; row++) {
                if (row->op != op || row->dtype != dtype) continue;
                int of = wanted(s, list, row, best, &t.problem, g == 1) ? OURS : 0;
                if (s->vs && wanted(s, s->vs, row, best, &t.problem, g == 1)) of |= RIVAL;
                if (!of) continue;
                assert(count < MAX_CONTENDERS);
                found[count] = row;
                side[count++] = of;
                some_ours_alone |= of == OURS;
            }
        }
    }
    const int both = some_ours_alone ? RIVAL : OURS;
    for (int pass = OURS; pass <= RIVAL; pass++) {
        for (int i = 0, at = pass == OURS ? 0 : ours; i < count; i++) {
            if ((side[i] == (OURS | RIVAL) ? both : side[i]) != pass) continue;
            sorted[at++] = found[i];
            ours += pass == OURS;
        }
    }
    if (ours == 0) return;
    contests->held += ours < count;
    contests->alone += ours == count;
    if (ours < count) {
        add_modes(p, s, t, sorted, count, ours);
    } else {
        for (int i = 0; i < count; i++) add_modes(p, s, t, &sorted[i], 1, 1);
    }
}

static void add_layouts(struct plan *p, const struct device *d, const struct selection *s,
                        enum op_id op, enum dtype dtype, struct trial t, bool all_layouts,
                        struct contests *contests) {
    bool first = true;
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        if (!(ops[op].layouts >> layout & 1) || !selects(s->layout, layout_names[layout])) continue;
        if (!first && !all_layouts && !s->layout) continue;
        first = false;
        t.problem.layout = (enum layout)layout;
        const bool product = (ops[op].layouts >> LAYOUT_NN & 1) != 0;
        t.problem.alpha = product ? 1 : 0.5;
        t.problem.beta = 0;
        add_impls(p, d, s, op, dtype, t, contests);
        if (!s->check || !op_takes_beta(&ops[op])) continue;
        t.problem.alpha = -0.5;
        t.problem.beta = 2;
        add_impls(p, d, s, op, dtype, t, contests);
    }
}

int threads_parse(const struct device *d, const char *list, int counts[MAX_THREAD_COUNTS]) {
    char item[NAME_BYTES];
    int n = 0;
    while (next_item(&list, item)) {
        char *end = item;
        const long value = strcmp(item, "all") == 0 ? d->max_threads : strtol(item, &end, 10);
        if (strcmp(item, "all") != 0 &&
            (*end || end == item || value < 1 || value > d->max_threads)) {
            fprintf(stderr, "roofline: --threads '%s': a number from 1 to %d, or all\n", item,
                    d->max_threads);
            return -1;
        }
        bool seen = false;
        for (int i = 0; i < n; i++) seen |= counts[i] == (int)value;
        if (!seen && n == MAX_THREAD_COUNTS) {
            fprintf(stderr, "roofline: --threads takes at most %d different numbers\n",
                    MAX_THREAD_COUNTS);
            return -1;
        }
        if (!seen) counts[n++] = (int)value;
    }
    if (n == 0) fprintf(stderr, "roofline: --threads needs a number, or all\n");
    return n ? n : -1;
}

/* The shapes of one op: named on the command line or those of its sweep. */
static int collect_shapes(const struct device *d, const struct selection *s, const struct op *op,
                          struct shape shapes[], int max) {
    char item[NAME_BYTES];
    int n = 0;
    const char *list = s->shape;
    while (next_item(&list, item)) {
        if (n == max) {
            fprintf(stderr, "roofline: --shape: more than %d shapes\n", max);
            return -1;
        }
        if (shape_parse(op, item, &shapes[n++])) return -1;
    }
    if (n) return n;
    if (s->shape) {
        fprintf(stderr, "roofline: --shape needs a shape\n");
        return -1;
    }
    const struct shape *sweep = s->check ? check_shapes(op->sweep)
                                         : sweep_shapes(op->sweep, (int)s->effort, d->gpu != NULL);
    for (; n < max && sweep->m; sweep++) shapes[n++] = *sweep;
    return n;
}

static int add_op(struct plan *p, struct device *d, const struct selection *s, enum op_id op,
                  struct contests *contests) {
    enum { MAX_SHAPES = 64 };
    struct shape shapes[MAX_SHAPES];
    int threads[MAX_THREAD_COUNTS];
    const char *few = s->effort == EFFORT_full || s->check ? "1,all" : "all";
    const int thread_counts = threads_parse(d, s->threads ? s->threads : few, threads);
    const int count = collect_shapes(d, s, &ops[op], shapes, MAX_SHAPES);
    if (count < 0 || thread_counts < 0) return -1;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        if (!selects(s->dtype, dtypes[dtype].name) || op_refuses_dtype(&ops[op], (enum dtype)dtype))
            continue;
        /* A smoke run is for fp32 and bf16, and for fp64 where its arithmetic matters. */
        const bool smoke = dtype == DT_fp32 || dtype == DT_bf16 ||
                           (dtype == DT_fp64 && ops[op].sweep != SWEEP_vectors);
        if (!s->dtype && s->effort == EFFORT_smoke && !s->check && !smoke) continue;
        for (int t = 0; t < thread_counts; t++) {
            for (int i = 0; i < count; i++) {
                struct trial trial = {
                    .copies = 1,
                    .round = 1,
                    .problem = {.s = shapes[i], .threads = threads[t], .gpu = d->gpu}};
                const bool all_layouts = s->check || s->effort == EFFORT_full ||
                                         (s->effort == EFFORT_default && i == count - 1);
                add_layouts(p, d, s, op, (enum dtype)dtype, trial, all_layouts, contests);
            }
        }
    }
    return 0;
}

static void complain_of_nothing(const struct device *d, const struct selection *s) {
    const int op = s->op ? op_find(s->op) : -1, dtype = s->dtype ? dtype_find(s->dtype) : -1;
    const char *reason =
        op >= 0 && dtype >= 0 ? op_refuses_dtype(&ops[op], (enum dtype)dtype) : NULL;
    if (!reason && op >= 0 && dtype >= 0)
        reason = tables_refuse_dtype(d->kernels, d->vendors->kernels, &ops[op], (enum dtype)dtype);
    if (reason)
        fprintf(stderr, "roofline: %s has no %s: %s\n", s->op, s->dtype, reason);
    else
        fprintf(stderr,
                "roofline: nothing to measure: no implementation matches (see 'roofline list')\n");
}

int plan_build(struct device *d, const struct selection *s, struct plan *out) {
    *out = (struct plan){0};
    enum fill fills[FILL_COUNT];
    struct contests contests = {0, 0};
    if (check_list("op", s->op, OP_COUNT, op_name) ||
        check_list("dtype", s->dtype, DTYPE_COUNT, dtype_name) ||
        check_list("layout", s->layout, LAYOUT_COUNT, layout_name) || check_impls(d, s->impl) ||
        check_impls(d, s->vs) || (s->fill && parse_fills(s->fill, fills) < 0))
        return -1;
    for (int op = 0; op < OP_COUNT; op++) {
        if (!selects(s->op, ops[op].name)) continue;
        if (add_op(out, d, s, (enum op_id)op, &contests)) goto failed;
    }
    if (out->count == 0) {
        complain_of_nothing(d, s);
        goto failed;
    }
    if (!s->vs || contests.alone == 0) return 0;
    if (contests.held == 0 && strcmp(s->vs, "vendor") != 0) {
        fprintf(stderr,
                "roofline: --vs '%s': none of these problems has such an implementation beside "
                "those selected\n",
                s->vs);
        goto failed;
    }
    fprintf(stderr, "roofline: --vs %s: %zu of %zu problems have no such rival here: timed alone\n",
            s->vs, contests.alone, contests.alone + contests.held);
    return 0;
failed:
    free(out->trial);
    *out = (struct plan){0};
    return -1;
}

void plan_repeat(struct plan *p, int rounds) {
    const size_t once = p->count;
    for (int round = 2; round <= rounds; round++) {
        for (size_t i = 0; i < once; i++) {
            struct trial again = p->trial[i]; /* a copy: adding moves the array */
            again.round = round;
            plan_add(p, &again);
        }
    }
}

/* The row of a trial; NULL: there is none. */
static const struct row *row_of(const struct trial *t, const struct device *d,
                                const struct rows *rows) {
    struct row key;
    row_init(&key);
    trial_key(t, d, &key);
    for (size_t i = 0; i < rows->count; i++)
        if (row_same_key(&key, &rows->row[i])) return &rows->row[i];
    return NULL;
}

/* Whether what a row was timed against is among the trials. */
static bool is_contender(const char *vs, const struct trial t[], int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(t[i].impl->name, vs) == 0) return true;
    return false;
}

int plan_drop_measured(struct plan *p, const struct device *d, const struct rows *done) {
    size_t kept = 0;
    for (size_t i = 0; i < p->count;) {
        const struct trial *t = &p->trial[i];
        const int together = 1 + t->more;
        int measured = 0, contested = 0, timed[2] = {0, 0};
        for (int k = 0; k < together; k++) {
            const struct row *row = row_of(&t[k], d, done);
            if (!row) continue;
            measured++;
            timed[t[k].rival] += strcmp(row->status, "ok") == 0;
            contested += is_contender(row->vs, t, together);
        }
        const bool held = timed[0] && timed[1];
        if (measured && together > 1 &&
            (measured < together || (held && contested < timed[0] + timed[1]))) {
            char name[160];
            trial_name(t, name, sizeof name);
            fprintf(stderr,
                    "roofline: %s: has rows that were not timed in turns with these: --vs wants a "
                    "folder without them\n",
                    name);
            return -1;
        }
        for (int k = 0; k < together && !measured; k++) p->trial[kept++] = p->trial[i + (size_t)k];
        i += (size_t)together;
    }
    p->count = kept;
    return 0;
}

void trial_key(const struct trial *t, const struct device *d, struct row *r) {
    const struct args *a = &t->problem;
    row_set_text(r->device, d->slug);
    row_set_text(r->op, ops[t->impl->op].name);
    row_set_text(r->impl, t->impl->name);
    row_set_text(r->dtype, dtypes[t->impl->dtype].name);
    row_set_text(r->layout, layout_names[a->layout]);
    r->b = a->s.b;
    r->m = a->s.m;
    r->n = a->s.n;
    r->k = a->s.k;
    r->threads = t->copies > 1 ? t->copies : a->threads;
    r->copies = t->copies;
    r->round = t->round;
    row_set_text(r->cache, t->cold ? "cold" : "warm");
    row_set_text(r->fill, fill_names[t->fill]);
}

void trial_name(const struct trial *t, char *text, size_t size) {
    struct shape s = t->problem.s;
    int64_t *dimension[MAX_DIMENSIONS];
    const char *form;
    const struct op *op = &ops[t->impl->op];
    const int count = dimensions_of(op, &s, dimension, &form);
    int used =
        snprintf(text, size, "%s.%s.%s ", op->name, t->impl->name, dtypes[t->impl->dtype].name);
    for (int i = 0; i < count && used >= 0 && (size_t)used < size; i++)
        used +=
            snprintf(text + used, size - (size_t)used, "%s%" PRId64, i ? "x" : "", *dimension[i]);
    if (t->problem.layout > LAYOUT_NN && used >= 0 && (size_t)used < size)
        used += snprintf(text + used, size - (size_t)used, " %s", layout_names[t->problem.layout]);
    if (t->more && used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " in turns with %d", t->more);
}
