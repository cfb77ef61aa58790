/* row.h - one measured trial, and the CSV file that keeps rows. RFC 4180; '.' is the decimal point in any locale. */
#ifndef ROW_H
#define ROW_H
#include "append_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ROW_SCHEMA = 4, ROW_TEXT = 96 };

#define ROW_STR(name)  char name[ROW_TEXT];
#define ROW_INT(name)  int64_t name;
#define ROW_REAL(name) double name;
struct row {
#define COL(kind, type, name) ROW_##type(name)
#include "columns.def"
#undef COL
};
#undef ROW_STR
#undef ROW_INT
#undef ROW_REAL

enum column {
#define COL(kind, type, name) COLUMN_##name,
#include "columns.def"
#undef COL
    COLUMN_COUNT
};

struct rows {
    struct row *row;
    size_t count;
    uint64_t columns; /* of a file that was read: a bit for each enum column that it has */
};

int column_find(const char *name); /* -1: there is none of that name */

void row_init(struct row *r);                              /* every field unknown */
void row_set_text(char field[ROW_TEXT], const char *text); /* cut to fit */
void row_set_now(char field[ROW_TEXT]);                    /* UTC, ISO 8601 */
bool row_same_key(const struct row *a, const struct row *b);
void row_print_header(FILE *f);
void row_print(FILE *f, const struct row *r);
void row_print_key_header(FILE *f); /* the key columns only, and no newline */
void row_print_key(FILE *f, const struct row *r);

/* One cell: quoted where it has to be; a number with its '.', empty when it is not finite. */
void csv_print_text(FILE *f, const char *text);
void csv_print_real(FILE *f, double x);

/* Splits one record in place; quoted fields lose their quotes. Returns the number of fields, -1 when malformed or when
 * there are more than max. */
int csv_split(char *line, char *field[], int max);

/* A cell as a number, '.' in any locale; empty: -1 or NaN. 0, or -1 when it is none. */
int parse_integer(int64_t *target, const char *text);
int parse_real(double *target, const char *text);

enum { CSV_FIELDS = 512, CSV_FINE = -1, CSV_NO_MEMORY = -2 };

/* What csv_read() calls; the fields last until the call returns. header: how many columns it knows, 0 when that makes no
 * such file, -(i + 1) when column i is there twice. record: CSV_FINE, CSV_NO_MEMORY, or the field that is no number. */
struct csv_reader {
    int (*header)(char *field[], int fields, void *context);
    int (*record)(char *field[], int fields, void *context);
    void *context;
};

/* Reads a CSV file; an empty one has no header. A last line without its newline is what a killed run leaves; it is
 * dropped, and *torn says so. Returns 0, or -1 after one line on stderr. */
int csv_read(const char *path, const struct csv_reader *reader, bool *torn);

/* The same of text in memory, NUL-terminated behind `size` bytes, which it takes apart; complaints call it `name`. */
int csv_parse(char *text, size_t size, const char *name, const struct csv_reader *reader,
              bool *torn);

/* Reads a result file, columns in any order: unknown ones are skipped, missing ones are unknown. As csv_read(); the
 * caller frees out->row. */
int rows_read(const char *path, struct rows *out, bool *torn);
int rows_parse(char *text, size_t size, const char *name, struct rows *out, bool *torn);

/* Drops the rows of other devices. */
void rows_keep_device(struct rows *rows, const char *device);

/* An append-only result file: every row is one write, synced. A second run on the same file is refused. 0, or -1 after
 * one line on stderr. */
int row_file_open(struct append_file *f, const char *path);
int row_file_append(struct append_file *f, const struct row r[],
                    int count); /* all of them or none; nothing torn stays */
#endif
