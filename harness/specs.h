/* specs.h - published peaks of devices, from plots/specs. Dense figures. What is not there is unknown: there is no
 * nearest match. */
#ifndef SPECS_H
#define SPECS_H
#include "../kernels/catalogue.h"

struct gpu_spec {
    const char *name,
        *driver_name; /* driver_name: what the driver calls it; empty when not known */
    const char *compute_capability;
    int sms;
    double boost_ghz;
    double memory_gbyte, gbyte_s;
    double l2_mib;
    double gflop_s[DTYPE_COUNT]; /* NaN: none is published; the faster of vector and tensor units */
    double vector_fp64_gflop_s;
    const char *source, *url, *note;
};

/* By data-sheet or driver name, letter case aside; NULL when unknown. */
const struct gpu_spec *spec_gpu(const char *name);

/* All of them, oldest first. */
const struct gpu_spec *spec_gpus(size_t *count);

/* Accelerator intensity, peak / bandwidth in FLOP/byte; NaN when either is unknown. */
double spec_intensity(const struct gpu_spec *gpu, enum dtype t);

/* FLOPs a cycle of one multiprocessor in t, on the faster of vector and tensor units, by compute capability (90: sm_90);
 * NaN where it is unknown or not the same for all GPUs of that capability. */
double spec_flops_per_cycle_sm(int cc, enum dtype t);

/* FLOPs a cycle of one core in t by CPUID vendor ("AuthenticAMD"), family and model (extended parts added); false when
 * the model is not listed or nothing is known for t. The strings stay valid. Callers see to it that the CPU reports
 * the instructions: cheap versions of some models lack them. */
bool spec_cpu(const char *vendor, int family, int model, enum dtype t, double *flop_per_cycle,
              const char **microarchitecture, const char **source);
#endif
