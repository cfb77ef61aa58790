/* absent.c - no vendor library for the CPU in this build. */
#include "../catalogue.h"
#include "vendor.h"

#include <stddef.h>

const struct impl *const vendor_cpu_kernels[] = {NULL};

void vendor_open(void) {}

const char *vendor_version(const char *impl) {
    (void)impl;
    return NULL;
}
