/* unit_counters_measure.c - counters.c on a fake CUPTI and a fake driver, which the loader finds first. */
#define _POSIX_C_SOURCE 200809L
#include "../harness/counters.h"
#include "test.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 3, WHY_BYTES = 512 };

static int (*open_objects)(void);
static int (*in_range)(void);

static void set(const char *name, const char *value) {
    if (value ? setenv(name, value, 1) : unsetenv(name)) {
        perror(name);
        exit(1);
    }
}

static int find_fake(void) {
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "fake_cupti_open") : NULL;
    memcpy(&open_objects, &address, sizeof address);
    address = library ? dlsym(library, "fake_cupti_in_range") : NULL;
    memcpy(&in_range, &address, sizeof address);
    return open_objects && in_range;
}

/* A run that notes when it was called, and fails at call `fails_at`, counted from 1. */
struct work {
    int prepared, run, fails_at, prepare_fails_at;
    bool out_of_order;
};

static int prepare(void *context) {
    struct work *w = context;
    w->prepared++;
    if (in_range() || w->prepared != w->run + 1) w->out_of_order = true;
    return w->prepared == w->prepare_fails_at ? 4 : 0;
}

static int run(void *context) {
    struct work *w = context;
    w->run++;
    if (!in_range()) w->out_of_order = true;
    return w->run == w->fails_at ? 5 : 0;
}

/* Place of a metric of GH100 among those that the fake has. */
static double value_of(const char *metric, const char *lacks) {
    const char *names[COUNTERS_MAX_METRICS];
    const int count = counters_metrics("GH100", names);
    int place = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], metric) == 0) return 1000 + place;
        place += !lacks || strcmp(names[i], lacks) != 0;
    }
    CHECK(false, "%s is not in the table", metric);
    return NAN;
}

static void check_values(const char *lacks) {
    char why[WHY_BYTES] = "";
    struct counted out;
    struct work w = {0};
    set("FAKE_CUPTI_LACKS", lacks);
    struct counters *c = counters_open(why, sizeof why);
    if (!CHECK(c != NULL, "%s", why)) return;
    CHECK(strcmp(counters_chip(c), "GH100") == 0, "%s", counters_chip(c));
    CHECK(counters_passes(c) == PASSES, "%d passes", counters_passes(c));
    for (int again = 0; again < 2; again++) {
        w = (struct work){0};
        if (!CHECK(counters_measure(c, prepare, run, &w, &out, why, sizeof why) == 0, "%s", why))
            break;
        CHECK(w.run == PASSES && w.prepared == PASSES && !w.out_of_order, "%d runs, %d prepared",
              w.run, w.prepared);
        CHECK(out.passes == PASSES, "%d", out.passes);
        CHECK(out.l2_bytes == value_of("lts__t_bytes.sum", lacks), "%g", out.l2_bytes);
        CHECK(out.tensor_ops_fp8 == value_of("sm__ops_path_tensor_src_fp8.sum", lacks), "%g",
              out.tensor_ops_fp8);
        CHECK(isnan(out.tensor_ops_fp4), "%g on a chip without fp4", out.tensor_ops_fp4);
        CHECK(!!lacks == !!isnan(out.simt_flops_fp32), "%g without %s", out.simt_flops_fp32,
              lacks ? lacks : "nothing");
    }
    w = (struct work){0};
    CHECK(counters_measure(c, NULL, run, &w, &out, why, sizeof why) == 0 && w.run == PASSES, "%s",
          why);
    w = (struct work){0};
    set("FAKE_CUPTI_PASSES", "5");
    CHECK(counters_measure(c, prepare, run, &w, &out, why, sizeof why) == 0, "%s", why);
    CHECK(w.run == 5 && out.passes == 5, "%d runs where the last pass is the fifth", w.run);
    set("FAKE_CUPTI_PASSES", NULL);
    counters_close(c);
    set("FAKE_CUPTI_LACKS", NULL);
    CHECK(open_objects() == 0, "%d objects left open", open_objects());
}

/* An error at a step: the reason has `reason`, nothing stays open, and the next measurement works. */
static void check_step(const char *variable, const char *value, const char *reason) {
    char why[WHY_BYTES] = "";
    struct work w = {0};
    struct counted out;
    set(variable, value);
    struct counters *c = counters_open(why, sizeof why);
    int failed = !c;
    if (c) failed = counters_measure(c, prepare, run, &w, &out, why, sizeof why) != 0;
    CHECK(failed, "%s=%s passed", variable, value);
    CHECK(strstr(why, reason) && !strchr(why, '\n'), "%s=%s: '%s'", variable, value, why);
    set(variable, NULL);
    if (c) {
        w = (struct work){0};
        CHECK(counters_measure(c, prepare, run, &w, &out, why, sizeof why) == 0, "after %s=%s: %s",
              variable, value, why);
    }
    counters_close(c);
    CHECK(open_objects() == 0, "%s=%s: %d objects left open", variable, value, open_objects());
}

static void check_failing_run(struct work w, const char *reason) {
    char why[WHY_BYTES] = "";
    struct counted out;
    struct counters *c = counters_open(why, sizeof why);
    if (!CHECK(c != NULL, "%s", why)) return;
    CHECK(counters_measure(c, prepare, run, &w, &out, why, sizeof why) == -1, "passed");
    CHECK(strcmp(why, reason) == 0, "%s", why);
    counters_close(c);
    CHECK(open_objects() == 0, "%d objects left open", open_objects());
}

int main(void) {
    static const char *const steps[] = {
        "cuptiProfilerDeviceSupported",
        "cuptiDeviceGetChipName",
        "cuptiProfilerGetCounterAvailability",
        "cuptiProfilerHostGetConfigImageSize",
        "cuptiProfilerHostGetConfigImage",
        "cuptiProfilerHostGetNumOfPasses",
        "cuptiRangeProfilerEnable",
        "cuptiRangeProfilerGetCounterDataSize",
        "cuptiRangeProfilerCounterDataImageInitialize",
        "cuptiRangeProfilerSetConfig",
        "cuptiRangeProfilerStart",
        "cuptiRangeProfilerPushRange",
        "cuptiRangeProfilerPopRange",
        "cuptiRangeProfilerStop",
        "cuptiRangeProfilerDecodeData",
        "cuptiRangeProfilerGetCounterDataInfo",
        "cuptiProfilerHostEvaluateToGpuValues",
    };
    if (!find_fake()) {
        fprintf(stderr,
                "unit_counters_measure: the fake CUPTI is not first in the loader's path\n");
        return 2;
    }
    check_step("FAKE_CUPTI_FAIL", "cuptiProfilerInitialize=999", "CUPTI_ERROR_UNKNOWN (999)");
    check_values(NULL);
    check_values("sm__sass_thread_inst_executed_op_ffma_pred_on.sum");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char fails[128];
        snprintf(fails, sizeof fails, "%s=999", steps[i]);
        check_step("FAKE_CUPTI_FAIL", fails, "CUPTI_ERROR_UNKNOWN (999)");
    }
    check_step("FAKE_CUPTI_FAIL", "cuptiProfilerGetCounterAvailability=35", "NVreg_Restrict");
    check_step("FAKE_CUPTI_FAIL", "cuptiRangeProfilerStart=35", "CAP_SYS_ADMIN");
    check_step("FAKE_CUPTI_FAIL", "cuptiRangeProfilerStart=40", "host of this VM");
    check_step("FAKE_CUPTI_FAIL", "cuptiProfilerHostConfigAddMetrics=1", "counts nothing on GH100");
    check_step("FAKE_CUPTI_PASSES", "1000", "no end after 19 passes, 3 were planned");
    check_step("FAKE_CUPTI_NO_RANGE", "1", "0 ranges where one was run");
    check_step("FAKE_CUPTI_VGPU", "1", "switched off for this vGPU");
    check_step("FAKE_CUPTI_CHIP", "GX999", "no metric is known for GX999");
    check_step("FAKE_CUDA_NO_CONTEXT", "1", "no CUDA context");
    check_failing_run((struct work){.fails_at = 2}, "counters: the run failed (5)");
    check_failing_run((struct work){.prepare_fails_at = 3},
                      "counters: the run could not be prepared (4)");
    return test_result();
}
