/* counters_cupti.h - CUPTI and the driver as tables of functions, filled when the program runs; private to counters.c. */
#ifndef COUNTERS_CUPTI_H
#define COUNTERS_CUPTI_H
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <stdbool.h>
#include <stddef.h>

/* One of each in a process, never unloaded, for CUPTI's hooks stay in the driver. */
struct cupti {
    bool loaded, started; /* started: cuptiProfilerInitialize was called */
    CUptiResult (*text)(CUptiResult, const char **);
    CUptiResult (*initialize)(CUpti_Profiler_Initialize_Params *);
    CUptiResult (*supported)(CUpti_Profiler_DeviceSupported_Params *);
    CUptiResult (*availability)(CUpti_Profiler_GetCounterAvailability_Params *);
    CUptiResult (*chip_name)(CUpti_Device_GetChipName_Params *);
    CUptiResult (*host_open)(CUpti_Profiler_Host_Initialize_Params *);
    CUptiResult (*host_close)(CUpti_Profiler_Host_Deinitialize_Params *);
    CUptiResult (*host_add)(CUpti_Profiler_Host_ConfigAddMetrics_Params *);
    CUptiResult (*host_image_size)(CUpti_Profiler_Host_GetConfigImageSize_Params *);
    CUptiResult (*host_image)(CUpti_Profiler_Host_GetConfigImage_Params *);
    CUptiResult (*host_passes)(CUpti_Profiler_Host_GetNumOfPasses_Params *);
    CUptiResult (*host_evaluate)(CUpti_Profiler_Host_EvaluateToGpuValues_Params *);
    CUptiResult (*enable)(CUpti_RangeProfiler_Enable_Params *);
    CUptiResult (*disable)(CUpti_RangeProfiler_Disable_Params *);
    CUptiResult (*data_size)(CUpti_RangeProfiler_GetCounterDataSize_Params *);
    CUptiResult (*data_initialize)(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *);
    CUptiResult (*data_info)(CUpti_RangeProfiler_GetCounterDataInfo_Params *);
    CUptiResult (*configure)(CUpti_RangeProfiler_SetConfig_Params *);
    CUptiResult (*start)(CUpti_RangeProfiler_Start_Params *);
    CUptiResult (*stop)(CUpti_RangeProfiler_Stop_Params *);
    CUptiResult (*push)(CUpti_RangeProfiler_PushRange_Params *);
    CUptiResult (*pop)(CUpti_RangeProfiler_PopRange_Params *);
    CUptiResult (*decode)(CUpti_RangeProfiler_DecodeData_Params *);
};
extern struct cupti cupti;

struct cuda_driver {
    CUresult (*current)(CUcontext *);
    CUresult (*device)(CUdevice *);
};
extern struct cuda_driver cuda_driver;

/* 0; -1: it is not there or too old, why has the reason. Any number of times. */
int cupti_load(char *why, size_t size);
int cuda_driver_load(char *why, size_t size);

/* 0 for success; else -1, and why has what `call` was answered. */
int cupti_check(CUptiResult code, const char *call, char *why, size_t size);
#endif
