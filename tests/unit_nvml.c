/* unit_nvml.c - nvml.c on fake libraries: unit_nvml <library> <library with older names>. */
#define _POSIX_C_SOURCE 200809L
#include "../harness/nvml.h"
#include "test.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char bus_id[] = "0000:3B:00.0"; /* cudaDeviceGetPCIBusId writes capitals */

static void set(const char *name, const char *value) {
    if (value ? setenv(name, value, 1) : unsetenv(name)) {
        perror(name);
        exit(1);
    }
}

static bool near(double x, double want) { return fabs(x - want) <= 1e-9 * fabs(want); }

/* The same copy of the fake that nvml.c loads, which counts inits and shutdowns. */
static void check_closed(const char *library) {
    int (*opened)(void);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *address = handle ? dlsym(handle, "fake_nvml_opened") : NULL;
    if (!CHECK(address != NULL, "%s", library)) exit(1);
    memcpy(&opened, &address, sizeof address);

    char why[256];
    set("ROOFLINE_NVML", library);
    struct nvml *first = nvml_open(bus_id, why, sizeof why);
    struct nvml *second = nvml_open("0000:3b:00.0", why, sizeof why);
    CHECK(first && second && opened() == 2, "%d open", opened());
    nvml_close(first);
    nvml_close(second);
    nvml_close(nvml_open("0000:65:00.0", why, sizeof why));
    CHECK(opened() == 0, "%d still open", opened());
    if (handle) dlclose(handle);
}

static void check_readings(const char *library) {
    char why[256];
    struct nvml_state a, b;
    set("ROOFLINE_NVML", library);
    struct nvml *n = nvml_open(bus_id, why, sizeof why);
    if (!CHECK(n != NULL, "%s", why)) return;
    CHECK(strcmp(nvml_driver_version(n), "580.65.06") == 0, "%s", nvml_driver_version(n));
    CHECK(nvml_read(n, &a) == 0, "the first reading");
    CHECK(nvml_read(n, &b) == 0, "the second reading");
    CHECK(near(a.sm_clock_ghz, 1.98), "%g GHz", a.sm_clock_ghz);
    CHECK(near(b.sm_clock_ghz, 1.965), "%g GHz", b.sm_clock_ghz);
    CHECK(near(a.memory_clock_ghz, 2.619), "%g GHz", a.memory_clock_ghz);
    CHECK(near(b.max_sm_clock_ghz, 1.98), "%g GHz", b.max_sm_clock_ghz);
    CHECK(near(a.temperature_c, 40) && near(b.temperature_c, 41), "%g, %g C", a.temperature_c,
          b.temperature_c);
    CHECK(near(a.power_w, 350), "%g W", a.power_w);
    CHECK(near(a.power_limit_w, 700), "%g W", a.power_limit_w);
    CHECK(near(a.energy_j, 1003.5), "%g J", a.energy_j);
    CHECK(near(b.energy_j - a.energy_j, 3.5), "%g J more", b.energy_j - a.energy_j);
    CHECK(a.throttle_known && a.throttle == 0, "%#llx", a.throttle);
    set("FAKE_NVML_THROTTLE", "0x44");
    CHECK(nvml_read(n, &a) == 0 && a.throttle == 0x44, "%#llx", a.throttle);
    set("FAKE_NVML_THROTTLE", NULL);
    nvml_close(n);
}

/* One function fails: its reading is unknown, the others are there. */
static void check_failing(const char *library) {
    static const struct {
        const char *fails;
        size_t reading; /* offset in struct nvml_state */
    } cases[] = {
        {"nvmlDeviceGetClockInfo=3", offsetof(struct nvml_state, sm_clock_ghz)},
        {"nvmlDeviceGetMaxClockInfo=13", offsetof(struct nvml_state, max_sm_clock_ghz)},
        {"nvmlDeviceGetTemperatureV=25,nvmlDeviceGetTemperature=3",
         offsetof(struct nvml_state, temperature_c)},
        {"nvmlDeviceGetPowerUsage=3", offsetof(struct nvml_state, power_w)},
        {"nvmlDeviceGetEnforcedPowerLimit=999", offsetof(struct nvml_state, power_limit_w)},
        {"nvmlDeviceGetTotalEnergyConsumption=3", offsetof(struct nvml_state, energy_j)},
    };
    char why[256];
    set("ROOFLINE_NVML", library);
    struct nvml *n = nvml_open(bus_id, why, sizeof why);
    if (!CHECK(n != NULL, "%s", why)) return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nvml_state state;
        double reading;
        set("FAKE_NVML_FAIL", cases[i].fails);
        CHECK(nvml_read(n, &state) == 0, "%s", cases[i].fails);
        memcpy(&reading, (const char *)&state + cases[i].reading, sizeof reading);
        CHECK(isnan(reading), "%s: %g", cases[i].fails, reading);
        const int unknown = !!isnan(state.sm_clock_ghz) + !!isnan(state.memory_clock_ghz) +
                            !!isnan(state.max_sm_clock_ghz) + !!isnan(state.temperature_c) +
                            !!isnan(state.power_w) + !!isnan(state.power_limit_w) +
                            !!isnan(state.energy_j);
        CHECK(unknown == (i == 0 ? 2 : 1), "%s: %d unknown", cases[i].fails, unknown);
        CHECK(state.throttle_known, "%s", cases[i].fails);
    }

    struct nvml_state state;
    set("FAKE_NVML_FAIL", "nvmlDeviceGetTemperatureV=25");
    CHECK(nvml_read(n, &state) == 0 && state.temperature_c >= 40, "the older function: %g C",
          state.temperature_c);
    set("FAKE_NVML_THROTTLE", "0x4");
    set("FAKE_NVML_FAIL", "nvmlDeviceGetCurrentClocksEventReasons=3");
    CHECK(nvml_read(n, &state) == 0 && !state.throttle_known && state.throttle == 0, "%#llx",
          state.throttle);
    set("FAKE_NVML_THROTTLE", NULL);

    set("FAKE_NVML_FAIL",
        "nvmlDeviceGetClockInfo=15,nvmlDeviceGetMaxClockInfo=15,nvmlDeviceGetTemperatureV=15,"
        "nvmlDeviceGetTemperature=15,nvmlDeviceGetPowerUsage=15,nvmlDeviceGetEnforcedPowerLimit=15,"
        "nvmlDeviceGetTotalEnergyConsumption=15,nvmlDeviceGetCurrentClocksEventReasons=15");
    CHECK(nvml_read(n, &state) == -1, "a GPU that is lost");
    set("FAKE_NVML_FAIL", NULL);
    nvml_close(n);
}

static void check_old(const char *library) {
    char why[256];
    struct nvml_state state;
    set("ROOFLINE_NVML", library);
    set("FAKE_NVML_THROTTLE", "0x20");
    set("FAKE_NVML_FAIL", "nvmlSystemGetDriverVersion=999");
    struct nvml *n = nvml_open(bus_id, why, sizeof why);
    set("FAKE_NVML_FAIL", NULL);
    if (!CHECK(n != NULL, "%s", why)) return;
    CHECK(nvml_driver_version(n)[0] == '\0', "%s", nvml_driver_version(n));
    CHECK(nvml_read(n, &state) == 0, "reads");
    CHECK(near(state.temperature_c, 40), "%g C", state.temperature_c);
    CHECK(near(state.power_limit_w, 250), "%g W", state.power_limit_w);
    CHECK(isnan(state.energy_j), "%g J", state.energy_j);
    CHECK(state.throttle_known && state.throttle == 0x20, "%#llx", state.throttle);
    set("FAKE_NVML_THROTTLE", NULL);
    nvml_close(n);
}

/* No device and one line that has `reason`. */
static void check_refused(const char *library, const char *fails, const char *address,
                          const char *reason) {
    char why[256] = "";
    set("ROOFLINE_NVML", library);
    set("FAKE_NVML_FAIL", fails);
    struct nvml *n = nvml_open(address, why, sizeof why);
    CHECK(!n, "%s opened", reason);
    CHECK(strstr(why, reason) && !strchr(why, '\n'), "'%s' where '%s' is wanted", why, reason);
    nvml_close(n);
    set("FAKE_NVML_FAIL", NULL);
}

static void check_text(void) {
    static const struct {
        unsigned long long bits;
        size_t size;
        const char *text;
    } cases[] = {
        {0, 64, ""},
        {0x1, 64, ""},
        {0x3, 64, ""},
        {0x44, 64, "sw-power-cap,hw-thermal"},
        {0x47, 64, "sw-power-cap,hw-thermal"},
        {0x1fc, NVML_THROTTLE_BYTES,
         "sw-power-cap,hw-slowdown,sync-boost,sw-thermal,hw-thermal,hw-power-brake,display-clock"},
        {0x200, 64, "reason-9"},
        {1ULL << 63, 64, "reason-63"},
        {0x44, 24, "sw-power-cap,hw-thermal"},
        {0x44, 23, "sw-power-cap"}, /* no half words */
        {0x44, 12, "hw-thermal"},
        {0x44, 1, ""},
    };
    char buf[NVML_THROTTLE_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(buf, '#', sizeof buf);
        const char *text = nvml_throttle_text(cases[i].bits, buf, cases[i].size);
        CHECK(text == buf && strcmp(text, cases[i].text) == 0, "%#llx in %zu bytes: '%s'",
              cases[i].bits, cases[i].size, text);
        CHECK(cases[i].size == sizeof buf || buf[cases[i].size] == '#', "%zu bytes overrun",
              cases[i].size);
    }
    memset(buf, '#', sizeof buf);
    CHECK(nvml_throttle_text(4, buf, 0) == buf && buf[0] == '#', "no room at all");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "unit_nvml: two libraries are wanted\n");
        return 2;
    }
    check_text();
    check_readings(argv[1]);
    check_failing(argv[1]);
    check_old(argv[2]);
    check_closed(argv[1]);
    check_refused(argv[1], NULL, "0000:65:00.0", "0000:65:00.0: Not Found (6)");
    check_refused(argv[1], "nvmlInit_v2=9", bus_id, "init: Driver Not Loaded (9)");
    check_refused("libm.so.6", NULL, bus_id, "libm.so.6 lacks");
    check_refused("/nonexistent/libnvidia-ml.so.1", NULL, bus_id, "No such file");
    return test_result();
}
