/* tables_absent.c - a build without CUDA. */
#include "../catalogue.h"

const struct impl *const cuda_kernels[] = {NULL};
