/* unit_run.c - a crash, a hang, a wrong kernel and an error each cost one row; the run goes on, and answers no. */
#define _POSIX_C_SOURCE 200809L
#include "../harness/commands.h"
#include "../harness/run.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

    const char *const files[] = {"rows.csv", "samples.csv", "run.json", "run.2.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        path = path_join(folder, files[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
    d.close(&d);
    return test_result();
}
