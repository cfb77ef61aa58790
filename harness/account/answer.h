/* answer.h - what a calculator says: named values with the formula they come from, and at most one table; printed for
 * people, as JSON or as CSV. A complaint is the one line that says why there is no answer. */
#ifndef ACCOUNT_ANSWER_H
#define ACCOUNT_ANSWER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct complaint {
    char text[256];
};

/* Formats the line, control characters made harmless (names come out of files); returns -1. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int complain(struct complaint *why, const char *format, ...);

enum answer_format { ANSWER_TEXT, ANSWER_JSON, ANSWER_CSV };
enum answer_kind { KIND_COUNT, KIND_REAL, KIND_EXACT, KIND_TEXT };

struct answer_item {
    char name[48]; /* snake_case: the key in JSON and CSV */
    enum answer_kind kind;
    int64_t count;
    double real;
    char text[256];
    char unit[16]; /* "B", "FLOP", "days"; may be empty */
    char formula[200];
};

enum { ANSWER_ITEMS = 96, ANSWER_COLUMNS = 12 };

struct answer {
    enum answer_format format;
    bool si; /* bytes in kB, MB, GB instead of KiB, MiB, GiB */
    size_t items;
    struct answer_item item[ANSWER_ITEMS];
    /* the table: cells in row order, NULL-free; numbers stay unquoted in JSON */
    const char *table_name;
    const char *const *column;
    size_t columns, cells, capacity;
    char **cell;
    bool failed; /* no memory, or more items than there is room for */
};

void answer_begin(struct answer *a); /* keeps format and units */
void answer_end(struct answer *a);   /* releases */

/* The formula has the figures put in; NULL: none. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void answer_count(struct answer *a, const char *name, int64_t value, const char *unit,
                  const char *formula, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void answer_real(struct answer *a, const char *name, double value, const char *unit,
                 const char *formula, ...);
/* As answer_real(), with every digit for people as well. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void answer_exact(struct answer *a, const char *name, double value, const char *unit,
                  const char *formula, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void answer_text(struct answer *a, const char *name, const char *format, ...);

/* A table of these columns (they must stay); its cells follow row by row. */
void answer_table(struct answer *a, const char *name, const char *const *column, size_t columns);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void answer_cell(struct answer *a, const char *format, ...);

/* Prints it in its format; 0, or -1 when the answer is incomplete. CSV holds the table where there is one. */
int answer_print(const struct answer *a, FILE *f);
#endif
