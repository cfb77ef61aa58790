/* fake_cupti.c - libcupti and libcuda in one, with one GH100 and a plan of three passes. It keeps the rules of the range
 * profiler: a call out of order, of another size or with a foreign object is an error, as CUPTI has it.
 *
 * FAKE_CUPTI_FAIL=<function>=<code>,... makes functions return an error. FAKE_CUPTI_LACKS=<metric> is unknown.
 * FAKE_CUPTI_PASSES is how many there really are. A metric's value is 1000 and its index among the added ones.
 * Further variables, FAKE_..., stand where they act. */
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 3, AVAILABLE_BYTES = 24, CONFIG_BYTES = 40, DATA_BYTES = 56, METRICS = 64 };

struct CUpti_Profiler_Host_Object {
    size_t metrics;
    int broken;
};

struct CUpti_RangeProfiler_Object {
    int initialized, configured, started, in_range, submitted, decoded;
};

static struct CUpti_RangeProfiler_Object profiler;
static int enabled, hosts;

/* The library is loaded twice, under both names: an address within it would not be the same. */
static const CUcontext context = (CUcontext)0x1000;
static uint8_t *data;

int fake_cupti_open(void);
int fake_cupti_in_range(void);

/* Objects that are still open. */
int fake_cupti_open(void) { return enabled + hosts; }
int fake_cupti_in_range(void) { return enabled && profiler.started && profiler.in_range; }

static int passes(void) {
    const char *real = getenv("FAKE_CUPTI_PASSES");
    return real ? atoi(real) : PASSES;
}

static CUptiResult failure(const char *function) {
    const size_t length = strlen(function);
    for (const char *entry = getenv("FAKE_CUPTI_FAIL"); entry; entry = strchr(entry, ',')) {
        entry += *entry == ',';
        if (strncmp(entry, function, length) == 0 && entry[length] == '=')
            return (CUptiResult)atoi(entry + length + 1);
    }
    return CUPTI_SUCCESS;
}

/* What holds for every call; `in_order` is the rule of this one. */
static CUptiResult call(const char *function, size_t size, size_t wanted, int in_order) {
    const CUptiResult code = failure(function);
    if (size != wanted) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!in_order) return CUPTI_ERROR_INVALID_OPERATION;
    return code;
}

CUresult cuCtxGetCurrent(CUcontext *current) {
    *current = getenv("FAKE_CUDA_NO_CONTEXT") ? NULL : context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    *device = 2;
    return CUDA_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text) {
    *text = result == CUPTI_ERROR_UNKNOWN ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_ERROR_OTHER";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p) {
    return call(__func__, p->structSize, CUpti_Profiler_Initialize_Params_STRUCT_SIZE, 1);
}

CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p) {
    const char *vgpu = getenv("FAKE_CUPTI_VGPU");
    const CUpti_Profiler_Support_Level ok = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    if (p->cuDevice != 2 || p->api != CUPTI_PROFILER_RANGE_PROFILING)
        return CUPTI_ERROR_INVALID_PARAMETER;
    p->isSupported = vgpu ? CUPTI_PROFILER_CONFIGURATION_DISABLED : ok;
    p->architecture = p->sli = p->confidentialCompute = p->cmp = p->wsl = ok;
    p->vGpu = vgpu ? CUPTI_PROFILER_CONFIGURATION_DISABLED : ok;
    return call(__func__, p->structSize, CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE, 1);
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p) {
    const char *chip = getenv("FAKE_CUPTI_CHIP");
    p->pChipName = chip ? chip : "GH100";
    return call(__func__, p->structSize, CUpti_Device_GetChipName_Params_STRUCT_SIZE,
                p->deviceIndex == 2);
}

CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE,
             p->ctx == context);
    if (code != CUPTI_SUCCESS) return code;
    if (!p->pCounterAvailabilityImage)
        p->counterAvailabilityImageSize = AVAILABLE_BYTES;
    else if (p->counterAvailabilityImageSize == AVAILABLE_BYTES)
        memset(p->pCounterAvailabilityImage, 0xa7, AVAILABLE_BYTES);
    else
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

/* ---- host ---- */

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE, 1);
    if (code != CUPTI_SUCCESS) return code;
    if (p->profilerType != CUPTI_PROFILER_TYPE_RANGE_PROFILER || !p->pCounterAvailabilityImage ||
        p->pCounterAvailabilityImage[AVAILABLE_BYTES - 1] != 0xa7)
        return CUPTI_ERROR_INVALID_PARAMETER;
    p->pHostObject = calloc(1, sizeof *p->pHostObject);
    hosts++;
    return p->pHostObject ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p) {
    free(p->pHostObject);
    hosts--;
    return call(__func__, p->structSize, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE, 1);
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p) {
    const char *lacks = getenv("FAKE_CUPTI_LACKS");
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
             !p->pHostObject->broken);
    if (code != CUPTI_SUCCESS) return code;
    for (size_t i = 0; i < p->numMetrics; i++)
        if (lacks && strcmp(lacks, p->ppMetricNames[i]) == 0) p->pHostObject->broken = 1;
    if (p->pHostObject->broken) return CUPTI_ERROR_INVALID_PARAMETER;
    p->pHostObject->metrics += p->numMetrics;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p) {
    p->configImageSize = CONFIG_BYTES;
    return call(__func__, p->structSize, CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
                p->pHostObject->metrics > 0);
}

CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
             p->configImageSize == CONFIG_BYTES);
    if (code == CUPTI_SUCCESS) memset(p->pConfigImage, 0xc0, CONFIG_BYTES);
    return code;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p) {
    p->numOfPasses = PASSES;
    return call(__func__, p->structSize, CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
                p->configImageSize == CONFIG_BYTES && p->pConfigImage[CONFIG_BYTES - 1] == 0xc0);
}

CUptiResult
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p) {
    const CUptiResult code = call(
        __func__, p->structSize, CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
        profiler.decoded && p->pCounterDataImage == data && p->counterDataImageSize == DATA_BYTES &&
            p->rangeIndex == 0 && p->numMetrics == p->pHostObject->metrics);
    if (code != CUPTI_SUCCESS) return code;
    for (size_t i = 0; i < p->numMetrics; i++) p->pMetricValues[i] = 1000 + (double)i;
    return CUPTI_SUCCESS;
}

/* ---- device ---- */

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE,
             !enabled && p->ctx == context);
    if (code != CUPTI_SUCCESS) return code;
    memset(&profiler, 0, sizeof profiler);
    p->pRangeProfilerObject = &profiler;
    enabled = 1;
    return CUPTI_SUCCESS;
}

static int mine(const CUpti_RangeProfiler_Object *p) { return enabled && p == &profiler; }

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE,
             mine(p->pRangeProfilerObject) && !profiler.started);
    if (code == CUPTI_SUCCESS) enabled = 0;
    return code;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p) {
    p->counterDataSize = DATA_BYTES;
    return call(__func__, p->structSize, CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE,
                mine(p->pRangeProfilerObject) && p->numMetrics > 0 && p->pMetricNames[0] &&
                    p->maxNumOfRanges == 1 && p->maxNumRangeTreeNodes >= 1);
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p) {
    const CUptiResult code = call(
        __func__, p->structSize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
        mine(p->pRangeProfilerObject) && p->counterDataSize == DATA_BYTES);
    if (code != CUPTI_SUCCESS) return code;
    data = p->pCounterData;
    memset(data, 0, DATA_BYTES);
    profiler.initialized = 1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p) {
    const CUptiResult code = call(
        __func__, p->structSize, CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE,
        mine(p->pRangeProfilerObject) && profiler.initialized && p->configSize == CONFIG_BYTES &&
            p->pConfig[0] == 0xc0 && p->pCounterDataImage == data &&
            p->counterDataImageSize == DATA_BYTES && p->range == CUPTI_UserRange &&
            p->replayMode == CUPTI_UserReplay && p->maxRangesPerPass == 1 &&
            p->numNestingLevels == 1 && p->minNestingLevel == 1 && p->targetNestingLevel == 1);
    if (code == CUPTI_SUCCESS) profiler.configured = 1;
    return code;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_RangeProfiler_Start_Params_STRUCT_SIZE,
             mine(p->pRangeProfilerObject) && profiler.configured && !profiler.started);
    if (code == CUPTI_SUCCESS) profiler.started = 1;
    return code;
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE,
             mine(p->pRangeProfilerObject) && profiler.started && !profiler.in_range &&
                 p->pRangeName && p->pRangeName[0]);
    if (code == CUPTI_SUCCESS) profiler.in_range = 1;
    return code;
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE,
             mine(p->pRangeProfilerObject) && profiler.in_range);
    profiler.in_range = 0;
    return code;
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE,
             mine(p->pRangeProfilerObject) && profiler.started && !profiler.in_range);
    if (code == CUPTI_ERROR_INVALID_OPERATION) return code;
    profiler.started = 0;
    profiler.submitted++;
    p->passIndex = (size_t)profiler.submitted;
    p->isAllPassSubmitted = profiler.submitted == passes();
    return code;
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p) {
    const CUptiResult code =
        call(__func__, p->structSize, CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE,
             mine(p->pRangeProfilerObject) && profiler.submitted == passes() && !profiler.started);
    p->numOfRangeDropped = 0;
    if (code == CUPTI_SUCCESS) profiler.decoded = 1;
    return code;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p) {
    p->numTotalRanges = getenv("FAKE_CUPTI_NO_RANGE") ? 0 : 1;
    return call(__func__, p->structSize, CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE,
                profiler.decoded && p->pCounterDataImage == data &&
                    p->counterDataImageSize == DATA_BYTES);
}
