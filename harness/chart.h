/* chart.h - what every chart needs: tidy data files, variables for a script of plots/, gnuplot. */
#ifndef CHART_H
#define CHART_H
#include "ceilings.h"
#include "../kernels/catalogue.h"

struct chart_out {
    const char *dir; /* charts go here, their data to dir/data */
    bool png, svg;
    bool
        compact; /* for a page that says itself what a chart shows: smaller, without title and tables */
    bool quiet;      /* no paths on stdout */
    bool no_gnuplot; /* found missing: data only */
    bool failed;     /* gnuplot refused a script */
    int made;        /* files */
    /* told of every picture: its name, title and subtitle */
    void (*on_chart)(void *context, const char *name, const char *title, const char *subtitle);
    void *context;
};

/* One device's rows of one folder. */
struct chart_run {
    const char *dir;          /* the caller's */
    struct rows bench, peaks; /* bench: a row a trial, as rounds_fold() has it */
    size_t folded;            /* further rounds of these trials */
    struct ceilings roofs;
    char device[ROW_TEXT];
    char when[16]; /* date, or empty */
    char commit[16];
    int64_t threads; /* of the bench rows that are drawn: the most */
    char label[160]; /* no two of a chart alike */
    unsigned colour; /* the device's */
    int dash;        /* runs before it of this colour */
};

/* FLOPs a byte. Below, an op does next to no arithmetic (mean_loss_backward: one division for all its bytes), and would
 * stretch both axes of a roofline over many decades. */
#define CHART_LEAST_INTENSITY 0.01

enum { CHART_MAX_RUNS = 16 }; /* more in one chart can't be told apart */

struct chart_runs {
    struct chart_run *run;
    size_t count;
};

/* Appends the runs of a folder, one a device. 0, or -1 after one line on stderr: no folder, damaged rows, none, or of
 * emulated devices only. */
int chart_runs_load(struct chart_runs *runs, const char *dir);
void chart_runs_name(
    struct chart_runs *runs); /* sets label, colour and dash, when all are loaded */
void chart_runs_free(struct chart_runs *runs);

/* The colour that a GPU of the published chart has everywhere, by its name or slug; else CHART_NO_COLOUR. */
enum { CHART_NO_COLOUR = 0x1000000 };
unsigned chart_gpu_colour(const char *name);

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
    char title[160], subtitle[512];
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

/* Of a chart whose height follows from its data: at least 300, or the title's less. */
double chart_height(const struct chart_out *out, double pixels);

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
int chart_training(struct chart_out *out, const struct chart_run *run);
int chart_sustained(struct chart_out *out, const struct chart_run *run);
int chart_published(struct chart_out *out);

/* All charts of one run. */
int chart_all(struct chart_out *out, const struct chart_run *run);

/* Of one run: rows that differ in nothing but their cache or their fill. */
int chart_effects(struct chart_out *out, const struct chart_run *run);

/* Whether the folder holds a fleet's rows, and the chart of their spread. */
bool chart_is_fleet(const char *dir);
int chart_fleet(struct chart_out *out, const char *dir);

/* Of two runs or more: rooflines in one, rates over size, compute ceilings, and the second beside the first. */
int chart_comparison(struct chart_out *out, const struct chart_runs *runs);

/* Rows that charts of measured operations show: ok, of the run's thread count and of this dtype. */
bool chart_shows(const struct chart_run *run, const struct row *r, const char *dtype);

/* The bound of a row in GFLOP/s (or GB/s where it has no FLOPs), from the ceilings; NaN when a roof is missing. */
double chart_roof(const struct chart_run *run, const struct row *r);
#endif
