/* print.h - findings for people, as CSV and as JSON. */
#ifndef CLAIMS_PRINT_H
#define CLAIMS_PRINT_H
#include "claims.h"

enum claims_format { CLAIMS_TABLE, CLAIMS_CSV, CLAIMS_JSON };
extern const char *const claims_formats[]; /* "table", "csv", "json" */

/* Findings in the order of the table; which[i]: whether claim i was asked for. `device` is its slug. */
void claims_print(FILE *f, enum claims_format format, const char *device, int threads,
                  const bool which[], const struct finding found[]);
#endif
