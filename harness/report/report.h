/* report.h - a page about runs: what is read, what is drawn, and its sections. */
#ifndef REPORT_H
#define REPORT_H
#include "../csv_table.h"
#include "info.h"

#include "../chart.h"

/* The files of one folder that are no rows. A damaged one was named on stderr and is left out. */
struct report_folder {
    const char *dir;
    struct infos infos;
    struct csv claims, probes, train, memory, loss;
};

struct report_chart {
    char name[64], title[160], subtitle[512];
    bool placed; /* in the page already */
};

/* Charts of one run, or of all together. */
struct report_charts {
    char dir[4096];
    struct report_chart *chart;
    size_t count;
};

/* A heading that can be jumped to. */
struct report_place {
    char id[48], title[176];
};

enum { REPORT_MAX_PLACES = 24 };

struct report {
    struct chart_runs runs;
    struct report_folder *folder; /* of the runs: folder[of_run[i]] */
    size_t folders, *of_run;
    struct report_charts *charts;                 /* one a run, then those of all: runs.count + 1 */
    struct report_place place[REPORT_MAX_PLACES]; /* of the part that is being printed */
    size_t places;
    bool no_gnuplot;
    char work[4096]; /* a temporary folder; empty: none */
};

/* Reads the folders. 0, or -1 after one line on stderr. */
int report_load(struct report *r, char **dirs, int count);

/* Draws into a temporary folder. 0, or -1 after one line on stderr. */
int report_draw(struct report *r);

/* Releases everything, the temporary folder included. */
void report_free(struct report *r);

/* The whole page. 0, or -1 after one line on stderr. */
int report_print(FILE *f, struct report *r);

/* ---- sections; `run` is an index, `id` the start of the ids of a run: "r1-" ---- */

struct section {
    FILE *f;
    struct report *report;
    size_t run;
    const char *id;
    int level; /* of its heading: 2, or 3 within a run of several */
};

/* The chart of that name: a figure with its caption. Nothing when there is none. 0, or -1 after one line on stderr. */
int section_chart(const struct section *s, size_t charts, const char *name);
int section_charts_by_dtype(const struct section *s, size_t charts, const char *prefix);
bool section_has_chart(const struct section *s, size_t charts, const char *name);

/* <section id="..."><h2>title</h2>; becomes a place of the report. */
void section_begin(const struct section *s, const char *name, const char *title);
void section_end(const struct section *s);

void section_findings(const struct section *s);
int section_ceilings(const struct section *s);
int section_rooflines(const struct section *s);
int section_products(const struct section *s);
int section_streams(const struct section *s);
int section_vendors(const struct section *s);
int section_effects(const struct section *s);
int section_sustained(const struct section *s);
void section_claims(const struct section *s);
void section_probes(const struct section *s);
int section_training(const struct section *s);
int section_memory(const struct section *s);
void section_rows(const struct section *s);
void section_environment(const struct section *s);
void section_reproduce(const struct section *s);

/* Of several runs. */
int section_comparison(const struct section *s);
#endif
