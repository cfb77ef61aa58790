/* nvml.h - state of an NVIDIA GPU by NVML, the driver's management library, loaded when the program runs: without a driver
 * there is no device and a reason. ROOFLINE_NVML in the environment names another library file than libnvidia-ml.so.1. */
#ifndef NVML_H
#define NVML_H
#include <stdbool.h>
#include <stddef.h>

struct nvml;

/* NaN for what the driver or the board does not tell. */
struct nvml_state {
    double sm_clock_ghz, memory_clock_ghz, max_sm_clock_ghz;
    double temperature_c;
    double
        power_w; /* on most chips since 2020 an average over the last second (GA100: of the moment) */
    double power_limit_w;        /* the one in force */
    double energy_j;             /* since the driver was loaded: two readings give the mean power */
    unsigned long long throttle; /* reasons of the clock, as NVML has them; 0 where unknown */
    bool throttle_known;
};

enum { NVML_THROTTLE_BYTES = 160 }; /* room for all reasons that have a word */

/* The GPU with a PCI address as cudaDeviceGetPCIBusId() writes it. NULL: a one-line reason is in why. Opened by the process
 * that reads it: a handle does not survive fork(). */
struct nvml *nvml_open(const char *pci_bus_id, char *why, size_t size);
void nvml_close(struct nvml *n); /* n may be NULL */

const char *nvml_driver_version(const struct nvml *n); /* "580.65.06"; "" unknown */

/* 0; -1: nothing at all could be read, as when the GPU has fallen off the bus. */
int nvml_read(struct nvml *n, struct nvml_state *state);

/* What holds the clock back, "sw-power-cap,hw-thermal"; "" for nothing. An idle GPU and clocks that the user set are no
 * throttling. What does not fit is left out, whole words at a time. Returns buf. */
const char *nvml_throttle_text(unsigned long long bits, char *buf, size_t size);
#endif
