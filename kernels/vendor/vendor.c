/* vendor.c - the libraries of the CPU, and the compiler's own loop. */
#include "vendor.h"

#include "tables.h"

#include <string.h>

const struct impl *const vendor_cpu_kernels[] = {openblas_cpu, blis_cpu, onednn_cpu,
                                                 stream_loop_cpu, NULL};

static const char *version(const char *name) {
    if (strcmp(name, "stream_loop") == 0) return stream_loop_version();
    return strcmp(name, "onednn") == 0 ? onednn_version() : cblas_version(name);
}

const struct vendor_set cpu_vendors = {
    {"openblas", "blis", "onednn", "stream_loop"}, vendor_cpu_kernels, cblas_open, version};

/* Debian's BLIS and oneDNN are OpenMP builds, its OpenBLAS has a pool on pthreads. */
bool vendor_has_own_threads(const char *name) { return strcmp(name, "openblas") == 0; }
