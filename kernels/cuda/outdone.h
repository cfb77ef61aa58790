/* outdone.h - rows that others of their op and dtype outdo where problems are small. */
#ifndef CUDA_OUTDONE_H
#define CUDA_OUTDONE_H
#include "../catalogue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a row before this one is estimated to be faster on the problem; device.h. */
bool cuda_outdone(const struct impl *row, const struct args *problem);

#ifdef __cplusplus
}
#endif
#endif
