/* self_test.c - the whole way, from a plan through workers to verdicts, on this machine as it is now. */
#define _GNU_SOURCE
#include "self_test.h"

#include "../commands.h"
#include "../devices.h"
#include "../run.h"
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5, SIDES = 2 };

int most_false(int n, double alpha) {
    double term = pow(1 - alpha, n), below = term;
    int k = 0;
    while (below < 0.99 && k < n) {
        term *= (double)(n - k) / (k + 1) * alpha / (1 - alpha);
        below += term;
        k++;
    }
    return k;
}

/* A few kernels of each kind, small enough to be done soon, each often enough to have rounds on both sides. */
static int make_plan(struct device *d, int repeat, struct plan *out) {
    static const struct {
        const char *op, *shape;
    } set[] = {
        {"copy,dot,triad,gelu", "65536"}, {"softmax", "256x1024"}, {"matmul", "256x256x256"}};
    *out = (struct plan){0};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        struct plan part = {0};
        const struct selection s = {.op = set[i].op,
                                    .dtype = "fp32,fp64",
                                    .impl = "best",
                                    .shape = set[i].shape,
                                    .threads = "1",
                                    .cache = CACHE_warm};
        if (plan_build(d, &s, &part)) return -1;
        for (size_t j = 0; j < part.count; j++) plan_add(out, &part.trial[j]);
        free(part.trial);
    }
    plan_repeat(out, repeat * ROUNDS * SIDES);
    return 0;
}

/* Rounds are dealt A B B A A B B A ...: a drift over time falls on both alike. */
static int side_of(int64_t round) {
    const int64_t i = round - 1;
    return (int)((i + 1) / 2 % 2);
}

static void deal(const struct run_data *all, int repetition, int side, struct subject *s,
                 struct run_data *run) {
    const int64_t first = (int64_t)repetition * ROUNDS * SIDES + 1;
    *run = (struct run_data){.path = NULL};
    *s = (struct subject){.name = side ? "B" : "A", .run = run, .runs = 1};
    run->rows.columns = all->rows.columns;
    run->rows.row = malloc((all->rows.count + 1) * sizeof *run->rows.row);
    run->series = calloc(all->rows.count + 1, sizeof *run->series);
    if (!run->rows.row || !run->series) abort();
    for (size_t i = 0; i < all->rows.count; i++) {
        const int64_t round = all->rows.row[i].round;
        if (round < first || round >= first + ROUNDS * SIDES || side_of(round) != side) continue;
        run->series[run->rows.count] = all->series[i];
        run->rows.row[run->rows.count++] = all->rows.row[i];
    }
}

static void undeal(struct run_data *run) {
    free(run->rows.row);
    free(run->series);
}

struct tally {
    size_t rows, same, undecidable, false_rows; /* over all repetitions */
    int false_comparisons, comparisons;
    size_t slowed, found[2]; /* rows slowed in turn; found at 5 %, at 10 % */
    double *smallest;        /* [comparisons], of half of the rows */
};

static void slow(struct run_data *b, const struct row *like, double factor) {
    for (size_t i = 0; i < b->rows.count; i++) {
        struct row *r = &b->rows.row[i];
        if (strcmp(r->op, like->op) != 0 || strcmp(r->dtype, like->dtype) != 0) continue;
        r->time_s *= factor;
        r->ci_low_s *= factor;
        r->ci_high_s *= factor;
        struct series *s = b->series[i];
        for (size_t j = 0; s && j < s->count; j++) s->sample[j].time_s *= factor;
    }
}

static void compare_once(const struct run_data *all, int repetition, const struct doubt *doubt,
                         struct tally *t) {
    static const double factors[] = {1.05, 1.10};
    struct subject a, b;
    struct run_data run_a, run_b;
    struct comparison c;
    deal(all, repetition, 0, &a, &run_a);
    deal(all, repetition, 1, &b, &run_b);
    if (run_a.rows.count && run_b.rows.count && comparison_make(&a, &b, doubt, 0, &c) == 0) {
        const size_t wrong = c.verdicts[VERDICT_SLOWER] + c.verdicts[VERDICT_FASTER];
        t->rows += c.partners;
        t->same += c.verdicts[VERDICT_SAME];
        t->undecidable += c.verdicts[VERDICT_UNDECIDABLE];
        t->false_rows += wrong;
        t->false_comparisons += wrong > 0;
        t->smallest[t->comparisons++] = c.smallest_half;
        const size_t partners = c.partners;
        t->slowed += partners;
        for (size_t i = 0; i < partners; i++) {
            const struct row like = *c.pair[i].b;
            for (int k = 0; k < 2; k++) {
                struct comparison slowed;
                slow(&run_b, &like, factors[k]);
                if (comparison_make(&a, &b, doubt, 0, &slowed) == 0) {
                    for (size_t j = 0; j < slowed.partners; j++)
                        t->found[k] += slowed.pair[j].effect.verdict == VERDICT_SLOWER &&
                                       strcmp(slowed.pair[j].b->op, like.op) == 0 &&
                                       strcmp(slowed.pair[j].b->dtype, like.dtype) == 0;
                }
                comparison_release(&slowed);
                slow(&run_b, &like, 1 / factors[k]);
            }
        }
        comparison_release(&c);
    }
    undeal(&run_a);
    undeal(&run_b);
}

static void report(FILE *f, const struct tally *t, const struct doubt *doubt, double smallest) {
    const double alpha = 1 - doubt->confidence;
    fprintf(f,
            "%d comparisons of one thing with itself, %d rounds a side in turns, %zu rows in all\n"
            "  false verdicts     %zu rows, in %d comparisons; at %.4g %% confidence up to %d of "
            "%d are chance\n"
            "  same               %zu rows\n"
            "  undecidable        %zu rows\n"
            "  slowed by 5 %%      found in %zu of %zu rows\n"
            "  slowed by 10 %%     found in %zu of %zu rows\n"
            "  smallest change that half of the rows could have shown: %.1f %%\n",
            t->comparisons, ROUNDS, t->rows, t->false_rows, t->false_comparisons,
            100 * doubt->confidence, most_false(t->comparisons, alpha), t->comparisons, t->same,
            t->undecidable, t->found[0], t->slowed, t->found[1], t->slowed, 100 * smallest);
}

int self_test(FILE *f, const struct doubt *doubt, int repeat, const char *name) {
    struct device device;
    struct plan plan = {0};
    struct subject all = {0};
    int status = STATUS_ERROR;
    char folder[4096], *no_arguments[] = {"compare", "--self-test"};
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.4000s/roofline-self-test-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    struct tally t = {.smallest = calloc((size_t)repeat + 1, sizeof(double))};
    if (!t.smallest) abort();
    if (device_pick(name, &device)) goto no_device;
    if (device.emulated) {
        fprintf(stderr, "roofline: --self-test: times of an emulated device mean nothing\n");
        goto done;
    }
    if (!mkdtemp(folder)) {
        perror("roofline: a folder for the self-test");
        goto done;
    }
    struct run run = {.dir = folder,
                      .file = "bench.csv",
                      .progress = true,
                      .timeout_s = 120,
                      .argc = 2,
                      .argv = no_arguments};
    const struct bench_settings settings = bench_settings_for(EFFORT_smoke, 0.05);
    if (make_plan(&device, repeat, &plan) == 0) status = run_plan(&run, &device, &plan, &settings);
    if (status == STATUS_OK && subject_read(folder, "bench.csv", &all)) status = STATUS_ERROR;
    if (status == STATUS_OK) {
        for (int i = 0; i < repeat; i++) compare_once(&all.run[0], i, doubt, &t);
        if (t.comparisons == 0) status = STATUS_ERROR;
    }
    if (status == STATUS_OK) {
        report(f, &t, doubt, effect_location(t.smallest, (size_t)t.comparisons));
        if (t.false_comparisons > most_false(t.comparisons, 1 - doubt->confidence))
            status = STATUS_NO;
    }
    static const char *const files[] = {"bench.csv", "samples.csv", "run.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = path_join(folder, files[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
done:
    free(plan.trial);
    device.close(&device);
no_device:
    subject_release(&all);
    free(t.smallest);
    return status;
}
