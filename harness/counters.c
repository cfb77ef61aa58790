/* counters.c - CUPTI's Range Profiling API, user ranges and user replay: the caller's run is repeated once a pass, each
 * time as one range. The host half (names, plan, values) needs no GPU. Order of the calls: CUPTI 13.0 documentation,
 * section "CUPTI Range Profiling API". */
#include "counters_cupti.h"
#include "counters_metrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHIP_BYTES = 16, SPARE_PASSES = 16 };

/* ---- the plan: which counters in which pass ---- */

struct plan {
    CUpti_Profiler_Host_Object *host;
    uint8_t *image;
    size_t image_bytes;
    int passes;
};

static void plan_close(struct plan *p) {
    if (p->host) {
        CUpti_Profiler_Host_Deinitialize_Params close = {
            .structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
            .pHostObject = p->host};
        cupti.host_close(&close);
    }
    free(p->image);
    *p = (struct plan){0};
}

/* available is the device's image of its counters; NULL: all that the chip has. */
static int plan_host(struct plan *p, const char *chip, const uint8_t *available, char *why,
                     size_t size) {
    CUpti_Profiler_Host_Initialize_Params open = {
        .structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
        .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
        .pChipName = chip,
        .pCounterAvailabilityImage = available};
    *p = (struct plan){0};
    if (cupti_check(cupti.host_open(&open), chip, why, size)) return -1;
    p->host = open.pHostObject;
    return 0;
}

/* One unknown name makes CUPTI refuse them all, and the host object is of no use after that. */
static int plan_add(struct plan *p, const char *const names[], int count, char *why, size_t size) {
    const char *list[COUNTERS_MAX_METRICS];
    for (int i = 0; i < count; i++) list[i] = names[i];
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {
        .structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
        .pHostObject = p->host,
        .ppMetricNames = list,
        .numMetrics = (size_t)count};
    return cupti_check(cupti.host_add(&add), names[0], why, size);
}

static bool usable(const char *chip, const uint8_t *available, const char *name) {
    char why[1];
    struct plan p;
    const bool ok = plan_host(&p, chip, available, why, sizeof why) == 0 &&
                    plan_add(&p, &name, 1, why, sizeof why) == 0;
    plan_close(&p);
    return ok;
}

/* Of names that are usable one by one. */
static int plan_open(struct plan *p, const char *chip, const uint8_t *available,
                     const char *const names[], int count, char *why, size_t size) {
    if (plan_host(p, chip, available, why, size)) return -1;
    if (plan_add(p, names, count, why, size)) goto failed;
    CUpti_Profiler_Host_GetConfigImageSize_Params bytes = {
        .structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
        .pHostObject = p->host};
    if (cupti_check(cupti.host_image_size(&bytes), "config image size", why, size)) goto failed;
    p->image_bytes = bytes.configImageSize;
    p->image = malloc(p->image_bytes);
    if (!p->image) {
        snprintf(why, size, "counters: out of memory");
        goto failed;
    }
    CUpti_Profiler_Host_GetConfigImage_Params image = {
        .structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
        .pHostObject = p->host,
        .configImageSize = p->image_bytes,
        .pConfigImage = p->image};
    if (cupti_check(cupti.host_image(&image), "config image", why, size)) goto failed;
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {
        .structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
        .configImageSize = p->image_bytes,
        .pConfigImage = p->image};
    if (cupti_check(cupti.host_passes(&passes), "number of passes", why, size)) goto failed;
    p->passes = (int)passes.numOfPasses;
    return 0;
failed:
    plan_close(p);
    return -1;
}

int counters_plan(const char *chip, const char *const names[], int count, char *why, size_t size) {
    struct plan p;
    if (cupti_load(why, size) || plan_host(&p, chip, NULL, why, size)) return 0;
    plan_close(&p);
    if (count < 1 || count > COUNTERS_MAX_METRICS) {
        snprintf(why, size, "counters: %d metrics", count);
        return -1;
    }
    for (int i = 0; i < count; i++)
        if (!usable(chip, NULL, names[i])) {
            snprintf(why, size, "counters: %s has no metric %s", chip, names[i]);
            return -1;
        }
    if (plan_open(&p, chip, NULL, names, count, why, size)) return -1;
    const int passes = p.passes;
    plan_close(&p);
    return passes;
}

/* ---- a device ---- */

struct counters {
    CUcontext context;
    char chip[CHIP_BYTES];
    uint8_t *available;
    struct counters_term term[COUNTERS_MAX_METRICS];
    int terms;
    /* The terms that this device counts: their names, and for each term its place among them, -1: not counted. */
    const char *name[COUNTERS_MAX_METRICS];
    int place[COUNTERS_MAX_METRICS], names;
    struct plan plan;
};

/* Why the device can't be profiled; "" when it can. */
static const char *obstacle(const CUpti_Profiler_DeviceSupported_Params *s) {
    const CUpti_Profiler_Support_Level ok = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    if (s->isSupported == ok) return "";
    if (s->architecture != ok) return "GPUs older than cc 7.5 have no range profiler";
    if (s->vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED)
        return "profiling is switched off for this vGPU";
    if (s->vGpu != ok) return "this vGPU has no profiling";
    if (s->confidentialCompute != ok) return "confidential computing is on";
    if (s->sli != ok) return "SLI is on";
    if (s->cmp != ok) return "mining processors have no profiling";
    if (s->wsl != ok) return "this WSL has no profiling";
    return "the device has no profiling";
}

static int find_device(struct counters *c, char *why, size_t size) {
    CUdevice device;
    if (cuda_driver.current(&c->context) != CUDA_SUCCESS || !c->context ||
        cuda_driver.device(&device) != CUDA_SUCCESS) {
        snprintf(why, size, "counters: this thread has no CUDA context");
        return -1;
    }
    if (!cupti.started) {
        CUpti_Profiler_Initialize_Params start = {.structSize =
                                                      CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
        if (cupti_check(cupti.initialize(&start), "initialize", why, size)) return -1;
        cupti.started = true;
    }
    CUpti_Profiler_DeviceSupported_Params supported = {
        .structSize = CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE,
        .cuDevice = device,
        .api = CUPTI_PROFILER_RANGE_PROFILING};
    if (cupti_check(cupti.supported(&supported), "device supported", why, size)) return -1;
    if (obstacle(&supported)[0]) {
        snprintf(why, size, "counters: %s", obstacle(&supported));
        return -1;
    }
    CUpti_Device_GetChipName_Params chip = {
        .structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE, .deviceIndex = (size_t)device};
    if (cupti_check(cupti.chip_name(&chip), "chip name", why, size)) return -1;
    snprintf(c->chip, sizeof c->chip, "%s", chip.pChipName);
    return 0;
}

/* The image of what this device counts now; without permission there is none. */
static int find_available(struct counters *c, char *why, size_t size) {
    CUpti_Profiler_GetCounterAvailability_Params p = {
        .structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE, .ctx = c->context};
    if (cupti_check(cupti.availability(&p), "counter availability", why, size)) return -1;
    p.pCounterAvailabilityImage = c->available = calloc(1, p.counterAvailabilityImageSize);
    if (!c->available) {
        snprintf(why, size, "counters: out of memory");
        return -1;
    }
    return cupti_check(cupti.availability(&p), "counter availability", why, size);
}

struct counters *counters_open(char *why, size_t size) {
    if (cupti_load(why, size) || cuda_driver_load(why, size)) return NULL;
    struct counters *c = calloc(1, sizeof *c);
    if (!c) {
        snprintf(why, size, "counters: out of memory");
        return NULL;
    }
    if (find_device(c, why, size)) goto failed;
    c->terms = counters_terms(c->chip, c->term);
    if (c->terms == 0) {
        snprintf(why, size, "counters: no metric is known for %s", c->chip);
        goto failed;
    }
    if (find_available(c, why, size)) goto failed;
    for (int i = 0; i < c->terms; i++) {
        const bool counts = usable(c->chip, c->available, c->term[i].metric);
        c->place[i] = counts ? c->names : -1;
        if (counts) c->name[c->names++] = c->term[i].metric;
    }
    if (c->names == 0) {
        snprintf(why, size, "counters: this CUPTI counts nothing on %s", c->chip);
        goto failed;
    }
    if (plan_open(&c->plan, c->chip, c->available, c->name, c->names, why, size)) goto failed;
    return c;
failed:
    counters_close(c);
    return NULL;
}

void counters_close(struct counters *c) {
    if (!c) return;
    plan_close(&c->plan);
    free(c->available);
    free(c);
}

const char *counters_chip(const struct counters *c) { return c->chip; }

int counters_passes(const struct counters *c) { return c->plan.passes; }

/* ---- one measurement ---- */

/* Where the counts of the passes are put together. */
struct image {
    uint8_t *data;
    size_t bytes;
};

static int image_open(struct image *m, struct counters *c, CUpti_RangeProfiler_Object *profiler,
                      char *why, size_t size) {
    CUpti_RangeProfiler_GetCounterDataSize_Params bytes = {
        .structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE,
        .pRangeProfilerObject = profiler,
        .pMetricNames = c->name,
        .numMetrics = (size_t)c->names,
        .maxNumOfRanges = 1,
        .maxNumRangeTreeNodes = 1};
    if (cupti_check(cupti.data_size(&bytes), "counter data size", why, size)) return -1;
    m->bytes = bytes.counterDataSize;
    m->data = calloc(1, m->bytes);
    if (!m->data) {
        snprintf(why, size, "counters: out of memory");
        return -1;
    }
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params initialize = {
        .structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
        .pRangeProfilerObject = profiler,
        .counterDataSize = m->bytes,
        .pCounterData = m->data};
    return cupti_check(cupti.data_initialize(&initialize), "counter data", why, size);
}

/* One run as one range. Start and range are ended even when the run fails. */
static int count_pass(CUpti_RangeProfiler_Object *profiler, int (*run)(void *), void *context,
                      bool *last, char *why, size_t size) {
    CUpti_RangeProfiler_Start_Params start = {.structSize =
                                                  CUpti_RangeProfiler_Start_Params_STRUCT_SIZE,
                                              .pRangeProfilerObject = profiler};
    CUpti_RangeProfiler_Stop_Params stop = {.structSize =
                                                CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE,
                                            .pRangeProfilerObject = profiler};
    CUpti_RangeProfiler_PushRange_Params push = {
        .structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE,
        .pRangeProfilerObject = profiler,
        .pRangeName = "run"};
    CUpti_RangeProfiler_PopRange_Params pop = {.structSize =
                                                   CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE,
                                               .pRangeProfilerObject = profiler};
    int code;
    if (cupti_check(cupti.start(&start), "start", why, size)) return -1;
    int failed = cupti_check(cupti.push(&push), "push range", why, size);
    if (!failed) {
        if ((code = run(context)) != 0) {
            snprintf(why, size, "counters: the run failed (%d)", code);
            failed = -1;
        }
        const CUptiResult popped = cupti.pop(&pop);
        if (!failed) failed = cupti_check(popped, "pop range", why, size);
    }
    const CUptiResult stopped = cupti.stop(&stop);
    if (!failed) failed = cupti_check(stopped, "stop", why, size);
    *last = stop.isAllPassSubmitted;
    return failed;
}

static int count_passes(struct counters *c, CUpti_RangeProfiler_Object *profiler,
                        int (*prepare)(void *), int (*run)(void *), void *context, int *passes,
                        char *why, size_t size) {
    bool last = false;
    int code;
    for (*passes = 0; !last; ++*passes) {
        /* CUPTI says which pass is the last; the plan only keeps a fault from going on for ever. */
        if (*passes == c->plan.passes + SPARE_PASSES) {
            snprintf(why, size, "counters: no end after %d passes, %d were planned", *passes,
                     c->plan.passes);
            return -1;
        }
        if (prepare && (code = prepare(context)) != 0) {
            snprintf(why, size, "counters: the run could not be prepared (%d)", code);
            return -1;
        }
        if (count_pass(profiler, run, context, &last, why, size)) return -1;
    }
    return 0;
}

/* Values of c->name[] from the decoded image. */
static int evaluate(struct counters *c, CUpti_RangeProfiler_Object *profiler, const struct image *m,
                    double value[], char *why, size_t size) {
    CUpti_RangeProfiler_DecodeData_Params decode = {
        .structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE,
        .pRangeProfilerObject = profiler};
    if (cupti_check(cupti.decode(&decode), "decode", why, size)) return -1;
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = {
        .structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE,
        .pCounterDataImage = m->data,
        .counterDataImageSize = m->bytes};
    if (cupti_check(cupti.data_info(&info), "counter data", why, size)) return -1;
    if (decode.numOfRangeDropped != 0 || info.numTotalRanges != 1) {
        snprintf(why, size, "counters: %zu ranges where one was run, %zu lost", info.numTotalRanges,
                 decode.numOfRangeDropped);
        return -1;
    }
    CUpti_Profiler_Host_EvaluateToGpuValues_Params values = {
        .structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
        .pHostObject = c->plan.host,
        .pCounterDataImage = m->data,
        .counterDataImageSize = m->bytes,
        .rangeIndex = 0,
        .ppMetricNames = c->name,
        .numMetrics = (size_t)c->names,
        .pMetricValues = value};
    return cupti_check(cupti.host_evaluate(&values), "evaluate", why, size);
}

int counters_measure(struct counters *c, int (*prepare)(void *), int (*run)(void *), void *context,
                     struct counted *out, char *why, size_t size) {
    double counted[COUNTERS_MAX_METRICS], value[COUNTERS_MAX_METRICS];
    struct image m = {0};
    int passes, failed = -1;
    CUpti_RangeProfiler_Enable_Params enable = {
        .structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE, .ctx = c->context};
    /* Only while it measures: an enabled profiler slows launches down. */
    if (cupti_check(cupti.enable(&enable), "enable", why, size)) return -1;
    CUpti_RangeProfiler_Object *profiler = enable.pRangeProfilerObject;
    if (image_open(&m, c, profiler, why, size)) goto done;
    CUpti_RangeProfiler_SetConfig_Params configure = {
        .structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE,
        .pRangeProfilerObject = profiler,
        .configSize = c->plan.image_bytes,
        .pConfig = c->plan.image,
        .counterDataImageSize = m.bytes,
        .pCounterDataImage = m.data,
        .range = CUPTI_UserRange,
        .replayMode = CUPTI_UserReplay,
        .maxRangesPerPass = 1,
        .numNestingLevels = 1,
        .minNestingLevel = 1,
        .passIndex = 0,
        .targetNestingLevel = 1};
    if (cupti_check(cupti.configure(&configure), "configuration", why, size) ||
        count_passes(c, profiler, prepare, run, context, &passes, why, size) ||
        evaluate(c, profiler, &m, counted, why, size))
        goto done;
    for (int i = 0; i < c->terms; i++) value[i] = c->place[i] < 0 ? NAN : counted[c->place[i]];
    counters_sum(c->term, value, c->terms, out);
    out->passes = passes;
    failed = 0;
done:;
    CUpti_RangeProfiler_Disable_Params disable = {
        .structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE,
        .pRangeProfilerObject = profiler};
    const CUptiResult disabled = cupti.disable(&disable);
    if (!failed) failed = cupti_check(disabled, "disable", why, size);
    free(m.data);
    return failed;
}
