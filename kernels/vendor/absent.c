/* absent.c - no vendor library for the CPU in this build. */
#include "../catalogue.h"

const struct impl *const vendor_cpu_kernels[] = {NULL};
