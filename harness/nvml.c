/* nvml.c - NVML's functions are looked up by name, one by one: a driver has those of its age, and a renamed one is sought
 * under both names. Signatures and constants: NVML API Reference Manual, "Device Queries", "NvmlClocksEventReasons". */
#include "nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, VERSION_BYTES = 80 };

/* nvmlTemperature_v1_t; a versioned struct carries its size and, in the top byte, its version. */
struct temperature {
    unsigned version, sensor;
    int celsius;
};

typedef int plain_fn(void);
typedef int find_device_fn(const char *pci_bus_id, void **device);
typedef int read_fn(void *device, unsigned *value);
typedef int read_kind_fn(void *device, unsigned kind, unsigned *value);
typedef int read_wide_fn(void *device, unsigned long long *value);
typedef int temperature_fn(void *device, struct temperature *t);
typedef int driver_fn(char *version, unsigned length);
typedef const char *error_fn(int code);

/* Functions that the driver lacks are NULL. */
struct nvml {
    void *library, *device;
    plain_fn *shutdown;
    error_fn *error;
    read_kind_fn *clock, *max_clock, *temperature;
    temperature_fn *temperature_versioned;
    read_fn *power, *power_limit;
    read_wide_fn *energy, *throttle;
    char driver[VERSION_BYTES];
};

/* *function = the address of the first name that the library has, or NULL; older may be NULL. ISO C has no cast from an
 * object pointer to a function's. */
static void find(void *library, void *function, const char *name, const char *older) {
    void *address = dlsym(library, name);
    if (!address && older) address = dlsym(library, older);
    memcpy(function, &address, sizeof address);
}

static void find_all(struct nvml *n) {
    find(n->library, &n->shutdown, "nvmlShutdown", NULL);
    find(n->library, &n->error, "nvmlErrorString", NULL);
    find(n->library, &n->clock, "nvmlDeviceGetClockInfo", NULL);
    find(n->library, &n->max_clock, "nvmlDeviceGetMaxClockInfo", NULL);
    find(n->library, &n->temperature_versioned, "nvmlDeviceGetTemperatureV", NULL);
    find(n->library, &n->temperature, "nvmlDeviceGetTemperature", NULL);
    find(n->library, &n->power, "nvmlDeviceGetPowerUsage", NULL);
    find(n->library, &n->power_limit, "nvmlDeviceGetEnforcedPowerLimit",
         "nvmlDeviceGetPowerManagementLimit");
    find(n->library, &n->energy, "nvmlDeviceGetTotalEnergyConsumption", NULL);
    find(n->library, &n->throttle, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons");
}

static void explain(const struct nvml *n, const char *what, int code, char *why, size_t size) {
    const char *text = n->error ? n->error(code) : NULL;
    snprintf(why, size, "NVML: %s: %s (%d)", what, text ? text : "error", code);
}

struct nvml *nvml_open(const char *pci_bus_id, char *why, size_t size) {
    const char *file = getenv("ROOFLINE_NVML");
    plain_fn *init;
    find_device_fn *find_device;
    driver_fn *driver;
    int code;
    if (!file || !file[0]) file = "libnvidia-ml.so.1";
    struct nvml *n = calloc(1, sizeof *n);
    if (!n) {
        snprintf(why, size, "NVML: out of memory");
        return NULL;
    }
    n->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        snprintf(why, size, "NVML: %s", dlerror());
        goto failed;
    }
    find_all(n);
    find(n->library, &init, "nvmlInit_v2", "nvmlInit");
    find(n->library, &find_device, "nvmlDeviceGetHandleByPciBusId_v2",
         "nvmlDeviceGetHandleByPciBusId");
    find(n->library, &driver, "nvmlSystemGetDriverVersion", NULL);
    if (!init || !find_device || !n->shutdown) {
        n->shutdown = NULL; /* nothing to end */
        snprintf(why, size, "NVML: %s lacks its basic functions", file);
        goto failed;
    }
    if ((code = init()) != SUCCESS) {
        n->shutdown = NULL;
        explain(n, "init", code, why, size);
        goto failed;
    }
    if ((code = find_device(pci_bus_id, &n->device)) != SUCCESS) {
        explain(n, pci_bus_id, code, why, size);
        goto failed;
    }
    if (!driver || driver(n->driver, sizeof n->driver) != SUCCESS) n->driver[0] = '\0';
    return n;
failed:
    nvml_close(n);
    return NULL;
}

void nvml_close(struct nvml *n) {
    if (!n) return;
    if (n->shutdown) n->shutdown();
    if (n->library) dlclose(n->library);
    free(n);
}

const char *nvml_driver_version(const struct nvml *n) { return n->driver; }

/* ---- one reading each; NaN: the driver lacks the function, or the function this board ---- */

static double read_value(const struct nvml *n, read_fn *function, double unit) {
    unsigned value;
    return function && function(n->device, &value) == SUCCESS ? value * unit : NAN;
}

static double read_kind(const struct nvml *n, read_kind_fn *function, unsigned kind, double unit) {
    unsigned value;
    return function && function(n->device, kind, &value) == SUCCESS ? value * unit : NAN;
}

static double read_temperature(const struct nvml *n) {
    struct temperature t = {.version = sizeof t | 1U << 24, .sensor = SENSOR_GPU};
    if (n->temperature_versioned && n->temperature_versioned(n->device, &t) == SUCCESS)
        return t.celsius;
    return read_kind(n, n->temperature, SENSOR_GPU, 1);
}

static double read_energy(const struct nvml *n) {
    unsigned long long millijoules;
    return n->energy && n->energy(n->device, &millijoules) == SUCCESS ? (double)millijoules * 1e-3
                                                                      : NAN;
}

int nvml_read(struct nvml *n, struct nvml_state *state) {
    *state = (struct nvml_state){
        .sm_clock_ghz = read_kind(n, n->clock, CLOCK_SM, 1e-3), /* MHz */
        .memory_clock_ghz = read_kind(n, n->clock, CLOCK_MEMORY, 1e-3),
        .max_sm_clock_ghz = read_kind(n, n->max_clock, CLOCK_SM, 1e-3),
        .temperature_c = read_temperature(n),
        .power_w = read_value(n, n->power, 1e-3), /* mW */
        .power_limit_w = read_value(n, n->power_limit, 1e-3),
        .energy_j = read_energy(n),
    };
    state->throttle_known = n->throttle && n->throttle(n->device, &state->throttle) == SUCCESS;
    if (!state->throttle_known) state->throttle = 0;
    const bool any = state->throttle_known || !isnan(state->sm_clock_ghz) ||
                     !isnan(state->memory_clock_ghz) || !isnan(state->max_sm_clock_ghz) ||
                     !isnan(state->temperature_c) || !isnan(state->power_w) ||
                     !isnan(state->power_limit_w) || !isnan(state->energy_j);
    return any ? 0 : -1;
}

const char *nvml_throttle_text(unsigned long long bits, char *buf, size_t size) {
    /* Bits 0 and 1, idle and application clocks, have no word. */
    static const char *const words[] = {
        NULL,         NULL,         "sw-power-cap",   "hw-slowdown",  "sync-boost",
        "sw-thermal", "hw-thermal", "hw-power-brake", "display-clock"};
    enum { WORDS = sizeof words / sizeof words[0] };
    size_t length = 0;
    if (size > 0) buf[0] = '\0';
    for (unsigned bit = 0; bit < 64; bit++) {
        char unknown[16];
        const char *word = bit < WORDS ? words[bit] : unknown;
        if (!(bits >> bit & 1) || !word) continue;
        snprintf(unknown, sizeof unknown, "reason-%u", bit);
        const size_t comma = length > 0;
        if (length + comma + strlen(word) >= size) continue;
        length += (size_t)snprintf(buf + length, size - length, "%s%s", comma ? "," : "", word);
    }
    return buf;
}
