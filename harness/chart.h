/* chart.h - what every chart needs: tidy data files, variables for a script of plots/, gnuplot. */
#ifndef CHART_H
#define CHART_H
#include "ceilings.h"
#include "../kernels/catalogue.h"

struct chart_out {
    const char *dir; /* charts go here, their data to dir/data */
    bool png, svg;
    bool no_gnuplot; /* found missing: data only */
    bool failed;     /* gnuplot refused a script */
    int made;        /* files */
};

/* One device's rows. */
struct chart_run {
    struct rows bench, peaks;
    struct ceilings roofs;
    char device[ROW_TEXT];
    char when[16]; /* date, or empty */
    char commit[16];
    int64_t threads; /* of the bench rows that are drawn: the most */
};

/* dir/data/<name>.csv with its header line; NULL after one line on stderr. chart_data_close: 0, or -1 likewise. */
FILE *chart_data(const struct chart_out *out, const char *name, const char *header);
int chart_data_close(const struct chart_out *out, FILE *f, const char *name);
void chart_csv_text(FILE *f, const char *text); /* quoted where it must be, then a comma */
void chart_csv_number(FILE *f, double x);       /* then a comma; NaN is empty */
void chart_csv_end(FILE *f, int last);          /* an integer ends the record */

/* Variables that a script of plots/ finds set. */
struct chart_vars {
    char *text;
    size_t size;
    FILE *f;
};
int chart_vars_open(struct chart_vars *v); /* 0, or -1 after one line on stderr */
void chart_set_text(struct chart_vars *v, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void chart_set_number(struct chart_vars *v, const char *name, double x);
void chart_set_data(struct chart_vars *v, const struct chart_out *out, const char *name,
                    const char *file);

/* Draws dir/<name>.png and .svg with plots/<script>.gp and prints their paths; closes v. A gnuplot that is missing or
 * fails is noted in out after one line on stderr. */
void chart_draw(struct chart_out *out, struct chart_vars *v, const char *script, const char *name);

/* "sample-cpu, 2 threads, 2026-11-29, abc1234"; threads 0: not said. */
void chart_subtitle(const struct chart_run *run, int64_t threads, char *text, size_t size);
void chart_shape_text(const struct row *r, char *text,
                      size_t size); /* "2^26", "2048^3", "64x1024 nn" */

/* The charts. 0, or -1 when their data could not be written. A chart that lacks rows is left out silently. */
int chart_rooflines(struct chart_out *out, const struct chart_run *run);
int chart_bandwidth(struct chart_out *out, const struct chart_run *run);
int chart_ladder(struct chart_out *out, const struct chart_run *run);
int chart_products(struct chart_out *out, const struct chart_run *run);
int chart_vendors(struct chart_out *out, const struct chart_run *run);
int chart_streams(struct chart_out *out, const struct chart_run *run);
int chart_published(struct chart_out *out);

/* Rows that charts of measured operations show: ok, of the run's thread count and of this dtype. */
bool chart_shows(const struct chart_run *run, const struct row *r, const char *dtype);

/* The bound of a row in GFLOP/s (or GB/s where it has no FLOPs), from the ceilings; NaN when a roof is missing. */
double chart_roof(const struct chart_run *run, const struct row *r);
#endif
