/* device_cuda_absent.c - a build without CUDA. */
#include "devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void device_cuda_list(struct gpus *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->why_none, sizeof out->why_none,
             "this program was built without CUDA (ROOFLINE_CUDA=ON builds it)");
}

void device_cuda_init(struct device *d, const struct gpu_info *gpu) {
    (void)d, (void)gpu;
    abort(); /* there is no gpu_info to call it with */
}

const struct gpu_info *device_cuda_info(const struct device *d) {
    (void)d;
    abort();
}
