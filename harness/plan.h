/* plan.h - catalogue x filters -> trials. Pure: touches no device memory and measures nothing. */
#ifndef PLAN_H
#define PLAN_H
#include "device.h"
#include "fill.h"
#include "row.h"
#include "vendors.h"

enum effort { EFFORT_smoke, EFFORT_default, EFFORT_full };
enum cache_mode { CACHE_auto, CACHE_warm, CACHE_cold, CACHE_both };

enum { MAX_THREAD_COUNTS = 16 };
enum {
    COLD_BYTES = 32 << 20
}; /* CACHE_auto runs problems of this size and more cold, the others warm */

struct trial {
    const struct impl *impl;
    struct args problem; /* buf unset; threads set */
    int copies;          /* 1, or the number of independent problems run at once, a thread each */
    int round; /* 1; more: measured again later, since a machine is not the same all the time */
    bool cold;
    bool rival; /* selected by `vs`, to time ours against */
    int more;   /* that many trials behind this one in the plan are timed in turns with it */
    enum fill fill;
};

enum {
    MAX_CONTENDERS = 32
}; /* of trials timed in turns: no operation has as many kernels a dtype */

struct plan {
    struct trial *trial;
    size_t count;
};

/* What to put in a plan. Lists are comma-separated names or globs (fnmatch); NULL: the default. */
struct selection {
    const char *op, *impl, *dtype, *layout, *shape, *threads;
    enum effort effort;
    enum cache_mode cache;
    const char *fill; /* NULL: normal */
    const char *vs; /* as impl: what those are timed against, in turns; NULL: each is timed alone */
    struct vendors vendors; /* installed: `vendor` and `all` mean these */
    bool check;             /* small odd shapes, every alpha and beta, for verification only */
};

/* 0, or -1 after one line on stderr (unknown name, malformed shape ...). impl: "best" the last row that accepts the
 * problem, "vendor" the libraries', "all", or names. The caller frees out->trial. Where vs finds no rival a problem is
 * timed alone, which a line on stderr says; a vs without any rival is refused unless it is "vendor". */
int plan_build(struct device *d, const struct selection *s, struct plan *out);

/* Adds one trial. */
void plan_add(struct plan *p, const struct trial *t);

/* The trials once more as round 2, then 3 ... up to `rounds`; each round goes through all of them. */
void plan_repeat(struct plan *p, int rounds);

/* Drops the trials whose key is among the rows; those timed in turns when all of theirs are. 0, or -1 after one line on
 * stderr: some of these are there, or all from another contest. */
int plan_drop_measured(struct plan *p, const struct device *d, const struct rows *done);

/* The key columns of a trial. */
void trial_key(const struct trial *t, const struct device *d, struct row *r);

/* "matmul.packed_avx512.fp32 1024x1024x1024", for progress and complaints. */
void trial_name(const struct trial *t, char *text, size_t size);

/* Reads "1,all" into distinct thread counts; how many, or -1 after one line on stderr. */
int threads_parse(const struct device *d, const char *list, int counts[MAX_THREAD_COUNTS]);

/* Reads "4096", "1024x512" ... in the op's own dimensions. 0, or -1 after one line on stderr. */
int shape_parse(const struct op *op, const char *text, struct shape *out);
#endif
