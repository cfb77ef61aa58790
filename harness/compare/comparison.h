/* comparison.h - two subjects, row by row: partners by key, replicates, verdicts with their reasons, and what they come to. */
#ifndef COMPARE_COMPARISON_H
#define COMPARE_COMPARISON_H
#include "effect.h"
#include "subject.h"

struct pair {
    const struct row *a,
        *b; /* a row of each side, for its names and shape; NULL: that side has none */
    struct effect
        effect; /* where it could be judged, else only its verdict, and its ratio where both have a time */
    bool judged;
    bool broken,
        repaired; /* only A, only B has a time: the other's rows are wrong, failed, refused ...; broken
                     also where a round of B alone is wrong or failed */
    size_t replicates_a, replicates_b;
    char why[256]; /* of a verdict `undecidable` or a broken row; else what may explain it; "" */
};

struct comparison {
    const struct subject *a, *b;
    struct doubt doubt;
    uint64_t key;      /* bits of enum column: rows are partners when these are equal */
    bool other_device; /* A and B have no device in common: it is no part of the key */
    struct pair
        *pair; /* partners first in the order of A; then what only A, then what only B has */
    size_t count, partners, only_a, only_b;
    size_t verdicts[VERDICT_COUNT], broken, repaired,
        untimed; /* of the partners; untimed: neither side has a time */
    double smallest_half,
        smallest_worst; /* changes that half of, all of the judged rows would have shown; NaN: none */
    double
        hidden; /* the largest slowdown that an undecidable row may hide: 0.08 is 8 %; NaN: unbounded */
};

/* Both have rows. ignore: bits of key columns that are left out; of rows that then coincide the fastest stands. 0, or -1 after one line on
 * stderr. comparison_release() in every case. */
int comparison_make(const struct subject *a, const struct subject *b, const struct doubt *doubt,
                    uint64_t ignore, struct comparison *out);
void comparison_release(struct comparison *c);

/* Of all verdicts together, as STATUS_* of commands.h: NO when a row is slower or broken; ERROR when there are no partners,
 * or when more rows are undecidable than decided, with `strict` when any is. */
int comparison_status(const struct comparison *c, bool strict);

/* "slower", "faster", "mixed", "same", "undecidable", "nothing in common" */
const char *comparison_word(const struct comparison *c, bool strict);

/* Geometric means of ratios by family of operations and dtype. */
struct mean {
    char family[24], dtype[ROW_TEXT];
    size_t rows;
    double ratio, low, high; /* geometric mean; least and greatest ratio */
};
/* Of the pairs with a ratio; the caller frees. The last one is of all rows: its family and dtype are "all". */
struct mean *comparison_means(const struct comparison *c, size_t *count);

/* Log-median of samples and its standard error: the wider one of the interval from order statistics, which takes samples for
 * independent, and of the medians of eight successive blocks, which does not. n > 0. */
void log_median(const double *time_s, size_t n, double *location, double *error);
#endif
