/* contest.h - two implementations timed in turns: how much faster one is, and how sure that is. Pure functions of samples. */
#ifndef CONTEST_H
#define CONTEST_H
#include "sample.h"

enum { CONTEST_TURNS = 6 }; /* the least number whose extremes enclose a median 95 % of the time */

struct contest {
    double ratio; /* time of theirs / time of ours: above 1 ours is faster; NaN: too few turns */
    double low, high; /* its 95 % interval */
    size_t turns;     /* behind it */
};

/* Of each turn in which both ran with their threads at one placement, the quotient of the two medians; the ratio is the
 * median of these, its interval that of order statistics. What drifts from turn to turn cancels, and so does what a turn's
 * samples have in common. Turns of different placements are not mixed: those of the placement that samples_chosen() would
 * choose count. 0, or -1 without memory. */
int contest_of(const struct samples *ours, const struct samples *theirs, struct contest *out);
#endif
