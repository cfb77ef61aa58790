/* probes_absent.c - a build without CUDA. */
#include "probes.h"

#include <stdlib.h>

int probes_measure(struct device *d, struct probe_sink *sink) {
    (void)d, (void)sink;
    abort(); /* no device of such a build is a GPU */
}
