/* vendor.c - the CPU's vendor rows. They stand in a list of their own: never "the best of ours". */
#include "vendor.h"

#include "tables.h"

#include <string.h>

const struct impl *const vendor_cpu_kernels[] = {openblas_cpu, blis_cpu, onednn_cpu, NULL};

const char *const vendor_names[VENDORS] = {"openblas", "blis", "onednn"};

void vendor_open(void) { cblas_open(); }

const char *vendor_version(const char *impl) {
    return strcmp(impl, "onednn") == 0 ? onednn_version() : cblas_version(impl);
}

/* Debian's BLIS and oneDNN are OpenMP builds, its OpenBLAS has a pool on pthreads. */
bool vendor_has_own_threads(const char *impl) { return strcmp(impl, "openblas") == 0; }
