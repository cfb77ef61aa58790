/* samples_file.h - samples.csv: every sample behind the rows of a run, a line each, so that a comparison can be redone.
 *
 * Columns: file (bench or peaks: that .csv has the row), the key columns of columns.def, sample (1, 2 ... in the order of
 * time), turn (1, 2 ... where implementations were timed in turns: what two of them took in one turn is a pair), placement
 * (of the threads; a row's statistics are of one), disturbed (1: the system took a CPU away meanwhile), time_s (seconds a
 * call). A key whose samples start anew, as after a crash between samples and row, counts from there. */
#ifndef SAMPLES_FILE_H
#define SAMPLES_FILE_H
#include "row.h"
#include "sample.h"

/* Shared by the commands that write to one folder. 0, or -1 after one line on stderr. */
int samples_file_open(struct append_file *f, const char *path);

/* The samples of a row of `file` ("bench.csv"). 0, or -1 after one line on stderr. */
int samples_file_append(struct append_file *f, const char *file, const struct row *r,
                        const struct samples *s);

/* The samples of one row: those of a key and a file. */
struct series {
    char file[16];
    struct row key; /* only its key columns are set */
    struct sample *sample;
    size_t count;
};

struct series_list {
    struct series *series;
    size_t count;
};

/* Reads samples.csv, or text in memory as csv_parse(). 0, or -1 after one line on stderr. The caller releases out. */
int samples_read(const char *path, struct series_list *out);
int samples_parse(char *text, size_t size, const char *name, struct series_list *out);
void samples_release(struct series_list *s);
#endif
