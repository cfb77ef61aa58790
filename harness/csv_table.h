/* csv_table.h - a CSV file whose columns this program does not fix: claims, probes, training, charts' data. */
#ifndef CSV_TABLE_H
#define CSV_TABLE_H
#include <stddef.h>

enum { CSV_MAX_COLUMNS = 128 };

struct csv {
    int columns;
    char *header[CSV_MAX_COLUMNS];
    char **
        cell; /* records x columns; a record's cells lie in one block, which begins with the first */
    size_t records, capacity;
};

/* Reads dir/name. No file: no columns. A torn last line is left out. 0, or -1 after one line on stderr when it is
 * damaged. The caller frees with csv_free(). */
int csv_table_read(const char *dir, const char *name, struct csv *out);
void csv_free(struct csv *c);

/* The cell of a record by the column's name; "" where there is no such column. */
const char *csv_get(const struct csv *c, size_t record, const char *column);
int csv_column(const struct csv *c, const char *column); /* -1: none */
#endif
