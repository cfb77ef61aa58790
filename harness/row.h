/* row.h - one measured trial, and the CSV file that keeps rows. RFC 4180; '.' is the decimal point in any locale. */
#ifndef ROW_H
#define ROW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ROW_SCHEMA = 2, ROW_TEXT = 96 };

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

struct rows {
    struct row *row;
    size_t count;
};

void row_init(struct row *r);                              /* every field unknown */
void row_set_text(char field[ROW_TEXT], const char *text); /* cut to fit */
void row_set_now(char field[ROW_TEXT]);                    /* UTC, ISO 8601 */
bool row_same_key(const struct row *a, const struct row *b);
void row_print_header(FILE *f);
void row_print(FILE *f, const struct row *r);

/* Splits one record in place; quoted fields lose their quotes. Returns the number of fields, -1 when malformed or when
 * there are more than max. */
int csv_split(char *line, char *field[], int max);

/* Reads a result file, columns in any order: unknown ones are skipped, missing ones are unknown. A last line without
 * its newline is what a killed run leaves; it is dropped, and *torn says so. Returns 0, or -1 after one line on
 * stderr. The caller frees out->row. */
int rows_read(const char *path, struct rows *out, bool *torn);

/* Drops the rows of other devices. */
void rows_keep_device(struct rows *rows, const char *device);

/* An append-only result file: every row is one write, synced. */
struct row_file {
    int fd;
    char *path;
};

/* Opens or creates path; writes the header if it is new; cuts a torn last line. Holds a lock: a second run on the
 * same file is refused. Returns 0, or -1 after one line on stderr. */
int row_file_open(struct row_file *f, const char *path);
int row_file_append(
    struct row_file *f,
    const struct row *r); /* 0, or -1 after one line on stderr; nothing torn stays */
void row_file_close(struct row_file *f);
#endif
