/* effect.h - how much faster B is than A, row by row, and how sure that is. Pure functions of medians.
 *
 * All in logarithms of times. A row has replicates: medians of rounds, or of runs where a side has several of them. Their
 * spread within a side is the noise that counts, since two runs of one program differ by more than the samples of one run
 * show. A row has few replicates, so its variance is moderated by that of all rows (an empirical-Bayes estimate: Smyth,
 * Linear models and empirical Bayes methods, 2004); what rows differ by beyond that (runs differ, rounds need not) is added.
 * Slower and faster need a change that is larger than the threshold, beyond doubt (McCarthy and Smyth, Testing significance
 * relative to a fold-change threshold, 2009); over all rows of a comparison at once (Holm 1979). */
#ifndef COMPARE_EFFECT_H
#define COMPARE_EFFECT_H
#include <stdbool.h>
#include <stddef.h>

enum verdict { VERDICT_SLOWER, VERDICT_FASTER, VERDICT_UNDECIDABLE, VERDICT_SAME, VERDICT_COUNT };
extern const char *const verdict_names[VERDICT_COUNT];

struct doubt {
    double
        threshold; /* 0.02: a row is slower or faster when it changed by more than 2 % beyond doubt */
    double same;   /* 0.05: it is the same when it did not change by 5 % or more */
    double confidence; /* 0.95: of no false verdict among all rows, and of each row's interval */
    double noise;      /* 0.03: standard deviation between runs, where nothing shows it */
};

struct effect {
    /* given */
    double a, b; /* log of each side's time: the median of its replicates */
    double
        variance; /* of single replicates about their side's mean, pooled over the sides; 0 without freedom */
    int freedom;   /* replicates of both sides, less 2; 0: one each, which says nothing of noise */
    double share;  /* variance of a - b in units of that of one replicate */
    double within; /* standard error of a - b that the samples within the rounds show */
    /* found */
    double ratio;     /* time of A / time of B: 1.05 is B 5 % faster */
    double low, high; /* its interval at the confidence, of this row alone */
    double se, df;    /* standard error of the log ratio, and its degrees of freedom */
    double p; /* of a change at most as large as the threshold, adjusted for the number of rows */
    double
        smallest; /* the change that would have got a verdict in four of five such comparisons: 0.034 is 3.4 % */
    enum verdict verdict;
    bool assumed; /* the noise is the assumed one */
};

/* Median of x (sorted here), and the `share` of a side with n replicates. */
double effect_location(double *x, size_t n);
double effect_share(size_t n);

/* Fills in `a`, `b`, `variance`, `freedom`, `share` from the replicates' logs, which it sorts. */
void effect_of_replicates(struct effect *e, double *a, size_t na, double *b, size_t nb);

/* Finds what is to be found, of all rows of a comparison together. like: A and B are the same device and program to the
 * extent that most rows should not differ; then their spread is a witness of noise. */
void effects_judge(struct effect *e, size_t n, const struct doubt *doubt, bool like);

/* ---- what it is made of ---- */

/* P(T <= t) of Student's t, and its inverse for p in (0, 1). */
double student_cdf(double t, double df);
double student_quantile(double p, double df);

/* The scaled inverse chi-square that variances with these degrees of freedom come from, by moments of their logs: *df0 (0
 * where it can't be told, INFINITY where they are all alike) and *variance0. */
void variance_prior(const double *variance, const int *freedom, size_t n, double *df0,
                    double *variance0);

/* Standard deviation of normal x by its narrowest half, whatever the other half is. Sorts x; n >= 2. */
double spread_of_half(double *x, size_t n);
#endif
