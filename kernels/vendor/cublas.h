/* cublas.h - NVIDIA's libraries for products; one that is not there refuses every row. */
#ifndef VENDOR_CUBLAS_H
#define VENDOR_CUBLAS_H
#include "../catalogue.h"

extern const struct impl cublas_cuda[];

void cublas_open(void);                         /* loads what is installed; touches no device */
const char *cublas_version(const char *vendor); /* of "cublas" or "cublaslt"; NULL: not installed */
#endif
