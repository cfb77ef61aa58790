/* sample.h - timing one kernel: warm up, then samples until the interval of their median is narrow. */
#ifndef SAMPLE_H
#define SAMPLE_H
#include "operands.h"
#include "plan.h"

enum { PLACEMENTS = 4 }; /* near, far, shared, mixed; with one thread only "" */

struct sampling {
    double interval; /* stop when the 95 % interval of the median is within +- this fraction */
    double least_s, most_s; /* of sampling: the interval may end it from, the clock ends it at */
    double sample_s;        /* aimed at for one sample */
    double sustain_s; /* > 0: one trial for that long, and the device is read after every sample */
};

/* One sample, as it was taken. */
struct sample {
    double time_s;     /* a call's */
    int turn;          /* 1, 2 ... of those taken in turns with others; 0: alone */
    char placement[7]; /* the label of its group */
    bool disturbed;    /* the system took a CPU away meanwhile */
};

/* What a device said after a sample. */
struct reading {
    double at_s; /* since the first sample began */
    struct conditions conditions;
};

/* Samples taken while the threads lay alike; those of different placements are never mixed. */
struct sample_group {
    const char *label; /* struct placement's; "mixed": the threads were moved during the sample */
    double *time_s;    /* [count], a call's */
    double pair_ns;    /* of the last sample */
    size_t count;
    int64_t disturbed; /* during which the system took a CPU away */
};

struct samples {
    struct sample_group group[PLACEMENTS];
    struct sample *taken; /* [count], all of them in their order */
    size_t count;
    struct reading *reading; /* [count], of a sustained trial; NULL: none */
    int64_t reps;            /* calls a sample */
    bool narrow;             /* the interval ended it, not the clock */
};

/* Takes the samples of trial[0 ... n - 1]; of several in turns, forwards and backwards, so that what drifts meets all
 * of them: each for how->most_s, until the ratios between ours and the rivals are known as well as the medians. Trials
 * of several differ in nothing but their kernel, and o[i] share their buffers. Returns 0, a kernel's code, or -1 without
 * memory; then *failed says which trial it was. samples_free() in every case. */
int samples_take(struct device *d, const struct trial trial[], const struct operands o[], int n,
                 const struct sampling *how, struct samples out[], int *failed);
void samples_free(struct samples *s);

/* The group to report: with a core for each thread before a shared one, that before mixed, then the larger one. */
struct sample_group *samples_chosen(struct samples *s);
#endif
