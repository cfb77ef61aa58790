/* cub.h - NVIDIA's reductions; compiled in, or absent where no nvcc compiles them. */
#ifndef VENDOR_CUB_H
#define VENDOR_CUB_H
#include "../catalogue.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct impl cub_cuda[];

const char *cub_version(void); /* NULL: absent */

#ifdef __cplusplus
}
#endif
#endif
