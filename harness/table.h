/* table.h - rows and quantities as people read them. */
#ifndef TABLE_H
#define TABLE_H
#include "row.h"

void table_header(FILE *f);
void table_row(FILE *f, const struct row *r);

/* Rows of bench --vs: each beside what it was timed against. */
void table_vs_header(FILE *f);
void table_vs_row(FILE *f, const struct row *r);

/* "1.234 ms"; empty when unknown. */
void format_time(double seconds, char *text, size_t size);

/* "64 KiB", "1.5 GiB". */
void format_bytes(double bytes, char *text, size_t size);

/* The shape in the dimensions that differ from 1: "1024x1024x1024 nt". */
void format_shape(const struct row *r, char *text, size_t size);
#endif
