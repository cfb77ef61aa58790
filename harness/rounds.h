/* rounds.h - a trial that was measured in several rounds (bench --rounds) as one row. */
#ifndef ROUNDS_H
#define ROUNDS_H
#include "row.h"

/* Of the rows that differ in their round only one stays: the one in the middle by its time, among those at the placement
 * of most of them; and the first one without a time, since a round that fails is news. Their round is 1:
 * rows are partners by their keys. The order of the file is kept.
 * 0, or -1 without memory, with all rows as they were. */
int rounds_fold(struct rows *rows);
#endif
