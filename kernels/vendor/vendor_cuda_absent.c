/* vendor_cuda_absent.c - a build without CUDA, or without the headers of cuBLAS. */
#include "vendor.h"

#include <stddef.h>

static const struct impl *const kernels[] = {NULL};
static void open_none(void) {}
static const char *no_version(const char *name) {
    (void)name;
    return NULL;
}

const struct vendor_set cuda_vendors = {{NULL}, kernels, open_none, no_version};
