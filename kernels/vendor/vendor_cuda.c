/* vendor_cuda.c - the libraries of NVIDIA GPUs. */
#include "cub.h"
#include "cublas.h"
#include "vendor.h"

#include <string.h>

static const struct impl *const kernels[] = {cublas_cuda, cub_cuda, NULL};

static const char *version(const char *name) {
    return strcmp(name, "cub") == 0 ? cub_version() : cublas_version(name);
}

const struct vendor_set cuda_vendors = {
    {"cublas", "cublaslt", "cub"}, kernels, cublas_open, version};
