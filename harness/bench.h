/* bench.h - one trial: fill, verify, choose a launch, warm up, sample, summarise into a row. */
#ifndef BENCH_H
#define BENCH_H
#include "plan.h"
#include "row.h"
#include "sample.h"
#include "tune.h"

struct ceilings;

struct bench_settings {
    struct sampling sampling;
    double terms;    /* of the oracle, to spend on verifying an output */
    bool check_only; /* verify, do not time */
    bool count;      /* read hardware counters in a pass of its own */
    struct tuning tuning;
    const struct ceilings
        *ceilings; /* of an earlier `peaks`, for the roof columns; NULL: those stay empty */
};

/* time_s > 0 takes the place of the effort's own time of sampling a trial. */
struct bench_settings bench_settings_for(enum effort effort, double time_s);

/* Runs a trial on an open device, with those behind it that are timed in turns with it: t, r, samples are arrays of
 * 1 + t->more. Every outcome is a status in its row, never an error of the caller. The samples are those behind an `ok`
 * row, none behind another; samples_free() in every case. */
void bench_trial(struct device *d, const struct trial t[], const struct bench_settings *settings,
                 struct row r[], struct samples samples[]);
#endif
