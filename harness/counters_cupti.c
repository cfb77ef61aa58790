/* counters_cupti.c - where CUPTI may lie: the loader's path, the toolkit of CUDA_HOME or CUDA_PATH, /usr/local/cuda. */
#include "counters_cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

struct cupti cupti;
struct cuda_driver cuda_driver;

/* Whether the library has a function. ISO C has no cast from an object pointer to a function's. */
static bool find(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void *open_cupti(void) {
    static const char *const files[] = {"libcupti.so.13", "libcupti.so", "libcupti.so.12"};
    static const char *const folders[] = {"extras/CUPTI/lib64", "lib64", "lib"};
    enum { FILES = sizeof files / sizeof files[0], FOLDERS = sizeof folders / sizeof folders[0] };
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    char path[PATH_BYTES];
    void *library = NULL;
    for (int f = 0; f < FILES && !library; f++) library = dlopen(files[f], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0] && !library; i++)
        for (int k = 0; k < FOLDERS * FILES && roots[i] && roots[i][0] && !library; k++)
            if (snprintf(path, sizeof path, "%s/%s/%s", roots[i], folders[k / FILES],
                         files[k % FILES]) < (int)sizeof path)
                library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library;
}

int cupti_load(char *why, size_t size) {
    if (cupti.loaded) return 0;
    void *l = open_cupti();
    if (!l) {
        snprintf(why, size, "counters: libcupti is not installed (CUDA_HOME names the toolkit)");
        return -1;
    }
    cupti.loaded =
        find(l, "cuptiGetResultString", &cupti.text) &&
        find(l, "cuptiProfilerInitialize", &cupti.initialize) &&
        find(l, "cuptiProfilerDeviceSupported", &cupti.supported) &&
        find(l, "cuptiProfilerGetCounterAvailability", &cupti.availability) &&
        find(l, "cuptiDeviceGetChipName", &cupti.chip_name) &&
        find(l, "cuptiProfilerHostInitialize", &cupti.host_open) &&
        find(l, "cuptiProfilerHostDeinitialize", &cupti.host_close) &&
        find(l, "cuptiProfilerHostConfigAddMetrics", &cupti.host_add) &&
        find(l, "cuptiProfilerHostGetConfigImageSize", &cupti.host_image_size) &&
        find(l, "cuptiProfilerHostGetConfigImage", &cupti.host_image) &&
        find(l, "cuptiProfilerHostGetNumOfPasses", &cupti.host_passes) &&
        find(l, "cuptiProfilerHostEvaluateToGpuValues", &cupti.host_evaluate) &&
        find(l, "cuptiRangeProfilerEnable", &cupti.enable) &&
        find(l, "cuptiRangeProfilerDisable", &cupti.disable) &&
        find(l, "cuptiRangeProfilerGetCounterDataSize", &cupti.data_size) &&
        find(l, "cuptiRangeProfilerCounterDataImageInitialize", &cupti.data_initialize) &&
        find(l, "cuptiRangeProfilerGetCounterDataInfo", &cupti.data_info) &&
        find(l, "cuptiRangeProfilerSetConfig", &cupti.configure) &&
        find(l, "cuptiRangeProfilerStart", &cupti.start) &&
        find(l, "cuptiRangeProfilerStop", &cupti.stop) &&
        find(l, "cuptiRangeProfilerPushRange", &cupti.push) &&
        find(l, "cuptiRangeProfilerPopRange", &cupti.pop) &&
        find(l, "cuptiRangeProfilerDecodeData", &cupti.decode);
    if (cupti.loaded) return 0;
    dlclose(l);
    snprintf(why, size, "counters: this libcupti has no range profiler");
    return -1;
}

int cuda_driver_load(char *why, size_t size) {
    if (cuda_driver.current) return 0;
    void *l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (l && find(l, "cuCtxGetDevice", &cuda_driver.device) &&
        find(l, "cuCtxGetCurrent", &cuda_driver.current))
        return 0;
    snprintf(why, size, "counters: no CUDA driver (libcuda.so.1)");
    if (l) dlclose(l);
    return -1;
}

int cupti_check(CUptiResult code, const char *call, char *why, size_t size) {
    const char *text = NULL;
    if (code == CUPTI_SUCCESS) return 0;
    if (code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        code == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        snprintf(
            why, size,
            "counters: no permission (ERR_NVGPUCTRPERM): run as root or with CAP_SYS_ADMIN, or "
            "load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0%s",
            code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "" : " (on the host of this VM)");
    else
        snprintf(why, size, "counters: %s: %s (%d)", call,
                 cupti.text(code, &text) == CUPTI_SUCCESS && text ? text : "error", (int)code);
    return -1;
}
