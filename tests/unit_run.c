/* unit_run.c - a crash, a hang, a wrong kernel and an error each cost one row; the run goes on, and answers no. */
#define _POSIX_C_SOURCE 200809L
#include "../harness/commands.h"
#include "../harness/run.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int right(const struct args *a) {
    memcpy(a->buf[1], a->buf[0], (size_t)a->s.n * sizeof(float));
    return 0;
}

static int crashes(const struct args *a) {
    (void)a;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
    raise(SIGSEGV);
    return 0;
}

static int hangs(const struct args *a) {
    (void)a;
    while (pause() < 0) continue;
    return 0;
}

static int errs(const struct args *a) {
    (void)a;
    return 3;
}

static int wrong(const struct args *a) {
    right(a);
    ((float *)a->buf[1])[a->s.n / 2] += 1;
    return 0;
}

/* Right when it is verified, later past its end: what a race would do. */
static int degrades(const struct args *a) {
    static int calls;
    right(a);
    if (++calls > 10) ((float *)a->buf[1])[a->s.n] = 0;
    return 0;
}

static const struct {
    const char *name, *status, *reason;
    kernel_fn *run;
} kernels[] = {
    {"right", "ok", "", right},
    {"crashes", "failed", "signal 11", crashes},
    {"right_after", "ok", "", right},
    {"hangs", "timeout", "killed", hangs},
    {"errs", "failed", "error 3", errs},
    {"wrong", "wrong", "want", wrong},
    {"degrades", "wrong", "past the end", degrades},
    {"right_at_last", "ok", "", right},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void make_plan(struct plan *p, struct impl impls[KERNELS]) {
    *p = (struct plan){0};
    for (int i = 0; i < KERNELS; i++) {
        impls[i] = (struct impl){OP_copy, kernels[i].name, DT_fp32, kernels[i].run, NULL, NULL};
        const struct trial t = {.impl = &impls[i],
                                .copies = 1,
                                .round = 1,
                                .problem = {.s = {1, 1, 1000, 1}, .alpha = 1, .threads = 1}};
        plan_add(p, &t);
    }
}

static void remove_files(const char *folder) {
    static const char *const files[] = {"rows.csv", "samples.csv", "run.json", "run.2.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = path_join(folder, files[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

/* In turns with one that is right: what is wrong drops out, what crashes or hangs costs the rows of all. */
static void contests(struct device *d, const struct bench_settings *settings) {
    static const struct {
        kernel_fn *rival;
        const char *ours, *theirs;
    } cases[] = {
        {right, "ok", "ok"},           {wrong, "ok", "wrong"},       {errs, "ok", "failed"},
        {crashes, "failed", "failed"}, {degrades, "wrong", "wrong"}, {right, "ok", "ok"},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    char folder[] = "/tmp/roofline-run-XXXXXX", *name[] = {"test"};
    struct impl impls[CASES][2];
    struct plan plan = {0};
    struct rows rows = {0};
    bool torn;
    if (!mkdtemp(folder)) exit(1);
    for (int i = 0; i < CASES; i++) {
        for (int k = 0; k < 2; k++) {
            impls[i][k] = (struct impl){
                OP_copy, k ? "theirs" : "ours", DT_fp32, k ? cases[i].rival : right, NULL, NULL};
            const struct trial t = {.impl = &impls[i][k],
                                    .copies = 1,
                                    .round = i + 1,
                                    .rival = k,
                                    .more = 1 - k,
                                    .problem = {.s = {1, 1, 1000, 1}, .alpha = 1, .threads = 1}};
            plan_add(&plan, &t);
        }
    }
    struct run run = {.dir = folder, .file = "rows.csv", .timeout_s = 20, .argc = 1, .argv = name};
    CHECK(run_plan(&run, d, &plan, settings) == STATUS_NO, "broken rivals answer no");
    char *path = path_join(folder, "rows.csv");
    CHECK(rows_read(path, &rows, &torn) == 0 && rows.count == (size_t)2 * CASES, "%zu rows",
          rows.count);
    for (size_t i = 0; i < rows.count; i++) {
        const struct row *r = &rows.row[i];
        const char *want = i % 2 ? cases[i / 2].theirs : cases[i / 2].ours;
        const bool held = cases[i / 2].rival == right;
        CHECK(strcmp(r->impl, i % 2 ? "theirs" : "ours") == 0, "row %zu is of %s", i, r->impl);
        CHECK(strcmp(r->status, want) == 0, "case %zu, %s: %s: %s", i / 2, r->impl, r->status,
              r->reason);
        CHECK((r->time_s > 0) == (strcmp(want, "ok") == 0), "%s: only what is right has a time",
              r->impl);
        CHECK(strcmp(r->vs, held ? i % 2 ? "ours" : "theirs" : "") == 0, "case %zu against '%s'",
              i / 2, r->vs);
        CHECK((r->vs_ratio > 0) == held && (r->vs_turns >= 6) == held, "case %zu: ratio %g", i / 2,
              r->vs_ratio);
        CHECK(!held || (r->vs_low <= r->vs_ratio && r->vs_ratio <= r->vs_high), "%g <= %g <= %g",
              r->vs_low, r->vs_ratio, r->vs_high);
        CHECK(!held || r->vs_time_s == rows.row[i ^ 1].time_s, "the other one's median");
    }
    /* Both directions are of the same turns. */
    for (size_t i = 0; i + 1 < rows.count; i += 2)
        if (cases[i / 2].rival == right)
            CHECK(rows.row[i].vs_turns == rows.row[i + 1].vs_turns &&
                      rows.row[i].vs_low <= 1 / rows.row[i + 1].vs_ratio * (1 + 1e-6) &&
                      rows.row[i].vs_high >= 1 / rows.row[i + 1].vs_ratio * (1 - 1e-6),
                  "%g and %g", rows.row[i].vs_ratio, rows.row[i + 1].vs_ratio);
    free(rows.row);
    free(path);
    free(plan.trial);
    remove_files(folder);
}

/* As where the system takes the CPU away in the first calls. */
static int starts_late(const struct args *a) {
    static int calls;
    if (calls++ < 4) {
        const struct timespec pause = {.tv_nsec = (3 + calls) * 1000000};
        nanosleep(&pause, NULL);
    }
    return right(a);
}

/* Calls that a disturbance alone made long do not end the search for how many make a sample. */
static void warm_ups(struct device *d, struct bench_settings settings) {
    const struct impl impl = {OP_copy, "late", DT_fp32, starts_late, NULL, NULL};
    const struct trial t = {.impl = &impl,
                            .copies = 1,
                            .round = 1,
                            .problem = {.s = {1, 1, 1000, 1}, .alpha = 1, .threads = 1}};
    struct row r;
    struct samples samples;
    for (int sustained = 0; sustained < 2; sustained++) {
        settings.sampling.sustain_s = sustained ? 0.5 : 0;
        bench_trial(d, &t, &settings, &r, &samples);
        CHECK(strcmp(r.status, "ok") == 0 && r.reps > 20, "%s, %d calls a sample", r.status,
              (int)r.reps);
        CHECK(samples.count < 5000, "%zu samples", samples.count);
        samples_free(&samples);
    }
}

int main(void) {
    char folder[] = "/tmp/roofline-run-XXXXXX", *name[] = {"test"};
    struct impl impls[KERNELS];
    struct device d;
    struct plan plan;
    struct rows rows = {0};
    bool torn;
    if (!mkdtemp(folder)) return 1;
    device_cpu_init(&d);
    const struct bench_settings settings = bench_settings_for(EFFORT_smoke, 0.005);
    struct run run = {.dir = folder, .file = "rows.csv", .timeout_s = 2, .argc = 1, .argv = name};
    make_plan(&plan, impls);
    CHECK(run_plan(&run, &d, &plan, &settings) == STATUS_NO,
          "a run with broken kernels answers no");

    char *path = path_join(folder, "rows.csv");
    CHECK(rows_read(path, &rows, &torn) == 0 && rows.count == KERNELS && !torn, "%zu rows",
          rows.count);
    for (size_t i = 0; i < rows.count && i < KERNELS; i++) {
        const struct row *r = &rows.row[i];
        CHECK(strcmp(r->impl, kernels[i].name) == 0, "row %zu is of %s", i, r->impl);
        CHECK(strcmp(r->status, kernels[i].status) == 0, "%s: %s: %s", r->impl, r->status,
              r->reason);
        CHECK(strstr(r->reason, kernels[i].reason) != NULL, "%s: reason '%s'", r->impl, r->reason);
        CHECK(r->when[0] != '\0', "%s: no time", r->impl);
        CHECK((r->time_s > 0) == (strcmp(r->status, "ok") == 0),
              "%s: only what is right has a time", r->impl);
        CHECK(!(r->gflop_s > 0) && (r->gbyte_s > 0) == (strcmp(r->status, "ok") == 0), "%s: rate",
              r->impl);
    }
    free(rows.row);

    /* Resumed: nothing is left to run, and the answer stays no. */
    struct run again = run;
    again.resume = true;
    memset(again.count, 0, sizeof again.count);
    free(plan.trial);
    make_plan(&plan, impls);
    CHECK(run_plan(&again, &d, &plan, &settings) == STATUS_NO, "kept rows count");
    CHECK(plan.count == 0 && again.kept == KERNELS, "%zu left, %zu kept", plan.count, again.kept);
    CHECK(again.count[RUN_ok] == 3 && again.count[RUN_wrong] == 2 && again.count[RUN_failed] == 2 &&
              again.count[RUN_timeout] == 1,
          "kept rows by status");
    free(plan.trial);
    free(path);

    remove_files(folder);
    contests(&d, &settings);
    warm_ups(&d, settings);
    d.close(&d);
    return test_result();
}
