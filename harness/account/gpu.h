/* gpu.h - published GPUs as people name them. */
#ifndef ACCOUNT_GPU_H
#define ACCOUNT_GPU_H
#include "answer.h"

#include "../specs.h"

/* By full name, or by its beginning, blanks, dashes and letter case aside: "h100-pcie", "rtx4090". Where a family's
 * name fits several ("h100", "a100"), its SXM version is meant, the one with more memory; answers say which was
 * taken. NULL after a complaint: unknown, or several without an SXM version. */
const struct gpu_spec *gpu_named(const char *name, struct complaint *why);

/* Published dense peak in t, FLOP/s; NaN: none is published, and the complaint says so. */
double gpu_peak(const struct gpu_spec *gpu, enum dtype t, struct complaint *why);
#endif
