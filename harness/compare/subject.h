/* subject.h - what is compared: a run's folder, a CSV file, or several of them that stand for one side. */
#ifndef COMPARE_SUBJECT_H
#define COMPARE_SUBJECT_H
#include "../row.h"
#include "../samples_file.h"

#include "environment.h"

/* One folder or file. */
struct run_data {
    char *path; /* of the CSV file */
    struct rows rows;
    struct series **series; /* [rows.count]: a row's samples; NULL: there are none */
    struct series_list samples;
    struct environment environment;
};

struct subject {
    const char *name; /* as it was given */
    struct run_data *run;
    int runs;
};

/* "RUN" or "RUN,RUN,...", each a folder (its `file`, such as bench.csv) or a CSV file. Rows without a time that can be are
 * an error; what a newer program wrote beyond our columns is left out, which is said. 0, or -1 after one line on stderr.
 * subject_release() in every case. */
int subject_read(const char *name, const char *file, struct subject *out);
void subject_release(struct subject *s);

/* Whether a folder of the list has this file; a CSV file counts by its name. */
bool subject_has(const char *name, const char *file);

size_t subject_rows(const struct subject *s);

/* ---- looking things up by text ---- */

/* A hash table from texts to numbers 0, 1, 2 ... in the order in which they came. */
struct text_index {
    char **text; /* [count] */
    size_t count, capacity;
    size_t *slot; /* [slots], an index + 1; 0: free */
    size_t slots;
};

/* The number of a text; *is_new says whether it came for the first time. Aborts without memory. */
size_t text_index_add(struct text_index *t, const char *text, bool *is_new);
void text_index_release(struct text_index *t);

/* The key columns of `columns` (bits of enum column) as one text. */
void key_text(const struct row *r, uint64_t columns, char *text, size_t size);
uint64_t key_columns(void); /* all of them */

enum { KEY_TEXT = 1024 };
#endif
