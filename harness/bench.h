/* bench.h - one trial: fill, verify, warm up, sample, summarise into a row. */
#ifndef BENCH_H
#define BENCH_H
#include "plan.h"
#include "row.h"

struct ceilings;

struct bench_settings {
    double interval;   /* stop when the 95 % interval of the median is within +- this fraction */
    double time_cap_s; /* of sampling, per trial */
    double sample_s;   /* aimed at for one sample */
    int64_t checks;    /* output elements compared with the oracle */
    bool check_only;   /* verify, do not time */
    const struct ceilings
        *ceilings; /* of an earlier `peaks`, for the roof columns; NULL: those stay empty */
};

struct bench_settings bench_defaults(enum effort effort);

/* Runs one trial on an open device. Every outcome is a status in the row, never an error of the caller. */
void bench_trial(struct device *d, const struct trial *t, const struct bench_settings *settings,
                 struct row *r);

/* Fills what follows from the trial and a call's time, for a measured row or for a prediction. */
void row_derive(struct row *r, struct device *d, const struct trial *t, const struct ceilings *c);
#endif
