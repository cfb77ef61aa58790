/* fake_nvml.c - a library with the functions of NVML that nvml.c uses, and one GPU at 0000:3b:00.0. ROOFLINE_NVML points to it.
 *
 * Time is counted in readings of the energy: each adds 10 ms at 350 W, a degree up to 80, and 15 MHz less down to 1410.
 * FAKE_NVML_FAIL=<function>=<code>,... makes functions return an error; FAKE_NVML_THROTTLE=<bits> is what holds the clock
 * back. Built with FAKE_NVML_OLD it has older names, and lacks what came later. */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    VERSION_MISMATCH = 25, /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
    STEP_MJ = 3500,        /* 350 W for 10 ms */
};

struct gpu {
    unsigned long long energy_mj;
    unsigned steps;
};

struct temperature {
    unsigned version, sensor;
    int celsius;
};

static struct gpu gpu = {.energy_mj = 1000000};
static int opened; /* inits less shutdowns */

int fake_nvml_opened(void);
const char *nvmlErrorString(int code);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *version, unsigned length);
int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *mhz);
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius);
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
#ifdef FAKE_NVML_OLD
int nvmlInit(void);
int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **device);
int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits);
#else
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
int nvmlDeviceGetTemperatureV(void *device, struct temperature *t);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *bits);
#endif

/* The code that FAKE_NVML_FAIL has for a function. */
static int failure(const char *function) {
    const size_t length = strlen(function);
    for (const char *entry = getenv("FAKE_NVML_FAIL"); entry; entry = strchr(entry, ',')) {
        entry += *entry == ',';
        if (strncmp(entry, function, length) == 0 && entry[length] == '=')
            return atoi(entry + length + 1);
    }
    return SUCCESS;
}

static int number(const char *function, const void *device, unsigned *value, unsigned result) {
    if (device != &gpu || !value) return INVALID_ARGUMENT;
    const int code = failure(function);
    if (code == SUCCESS) *value = result;
    return code;
}

static unsigned celsius_now(void) { return gpu.steps < 40 ? 40 + gpu.steps : 80; }

static int open_library(const char *function) {
    const int code = failure(function);
    if (code == SUCCESS) opened++;
    return code;
}

static int open_device(const char *function, const char *bus_id, void **device) {
    const int code = failure(function);
    if (code != SUCCESS) return code;
    if (strcasecmp(bus_id, "0000:3b:00.0") != 0) return NOT_FOUND;
    *device = &gpu;
    return SUCCESS;
}

static int reasons(const char *function, const void *device, unsigned long long *bits) {
    const char *set = getenv("FAKE_NVML_THROTTLE");
    const int code = failure(function);
    if (device != &gpu) return INVALID_ARGUMENT;
    if (code == SUCCESS) *bits = set ? strtoull(set, NULL, 0) : 0;
    return code;
}

int fake_nvml_opened(void) { return opened; }

const char *nvmlErrorString(int code) {
    return code == NOT_FOUND ? "Not Found" : code == 9 ? "Driver Not Loaded" : "Some Error";
}

int nvmlShutdown(void) {
    opened--;
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    static const char text[] = "580.65.06";
    const int code = failure("nvmlSystemGetDriverVersion");
    if (code != SUCCESS) return code;
    if (length < sizeof text) return INSUFFICIENT_SIZE;
    memcpy(version, text, sizeof text);
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz) {
    const unsigned sm = gpu.steps < 38 ? 1980 - 15 * gpu.steps : 1410;
    return number("nvmlDeviceGetClockInfo", device, mhz, kind == 2 ? 2619 : sm);
}

int nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *mhz) {
    return number("nvmlDeviceGetMaxClockInfo", device, mhz, kind == 2 ? 2619 : 1980);
}

int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius) {
    if (sensor != 0) return INVALID_ARGUMENT;
    return number("nvmlDeviceGetTemperature", device, celsius, celsius_now());
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw) {
    return number("nvmlDeviceGetPowerUsage", device, mw, 350000);
}

#ifdef FAKE_NVML_OLD
int nvmlInit(void) { return open_library("nvmlInit"); }

int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **device) {
    return open_device("nvmlDeviceGetHandleByPciBusId", bus_id, device);
}

int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw) {
    return number("nvmlDeviceGetPowerManagementLimit", device, mw, 250000);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits) {
    return reasons("nvmlDeviceGetCurrentClocksThrottleReasons", device, bits);
}
#else
int nvmlInit_v2(void) { return open_library("nvmlInit_v2"); }

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device) {
    return open_device("nvmlDeviceGetHandleByPciBusId_v2", bus_id, device);
}

int nvmlDeviceGetTemperatureV(void *device, struct temperature *t) {
    const int code = failure("nvmlDeviceGetTemperatureV");
    if (code != SUCCESS) return code;
    if (device != &gpu || t->sensor != 0) return INVALID_ARGUMENT;
    if (t->version != 0x100000c) return VERSION_MISMATCH; /* 12 bytes, version 1 */
    t->celsius = (int)celsius_now();
    return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw) {
    return number("nvmlDeviceGetEnforcedPowerLimit", device, mw, 700000);
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
    const int code = failure("nvmlDeviceGetTotalEnergyConsumption");
    if (device != &gpu) return INVALID_ARGUMENT;
    if (code != SUCCESS) return code;
    gpu.steps++;
    gpu.energy_mj += STEP_MJ;
    *mj = gpu.energy_mj;
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *bits) {
    return reasons("nvmlDeviceGetCurrentClocksEventReasons", device, bits);
}
#endif
