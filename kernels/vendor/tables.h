/* tables.h - what each vendor library contributes; a library that is not there refuses every
 * row. */
#ifndef VENDOR_TABLES_H
#define VENDOR_TABLES_H
#include "../catalogue.h"

extern const struct impl openblas_cpu[], blis_cpu[], onednn_cpu[], stream_loop_cpu[];

void cblas_open(void);                       /* both CBLAS libraries */
const char *cblas_version(const char *impl); /* NULL: not installed, or not a CBLAS */
const char *onednn_version(void);            /* NULL: not in this build */
const char *stream_loop_version(void);       /* of the compiler that made it */
#endif
