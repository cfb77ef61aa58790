/* print.h - a comparison as a table for people, as Markdown for a pull request, as CSV and JSON for tools. */
#ifndef COMPARE_PRINT_H
#define COMPARE_PRINT_H
#include "comparison.h"

enum print_format { PRINT_TABLE, PRINT_CSV, PRINT_MD, PRINT_JSON, PRINT_FORMATS };
extern const char *const print_format_names[PRINT_FORMATS];

struct print_options {
    enum print_format format;
    bool all;       /* table, md: every row, not only what differs or could not be decided */
    bool unmatched; /* list what has no partner */
    bool strict;
};

/* Comparisons of one subject with each of the others. */
void print_comparisons(FILE *f, const struct comparison *c, size_t count,
                       const struct print_options *how);
#endif
