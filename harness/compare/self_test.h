/* self_test.h - A/A: one thing measured as two, to see how often they are called different. */
#ifndef COMPARE_SELF_TEST_H
#define COMPARE_SELF_TEST_H
#include "effect.h"

#include <stdio.h>

/* Runs a small set of kernels `repeat` times as two sides, round by round in turns, and compares these; then the same with
 * one row of B slowed by 5 % and by 10 % in its figures. STATUS_NO when more comparisons than the confidence allows for had a
 * false verdict, STATUS_ERROR when nothing could be measured. */
int self_test(FILE *f, const struct doubt *doubt, int repeat, const char *device);

/* The most false ones of n comparisons that a rate of alpha explains at 1 in 100: more of them are the harness's fault. */
int most_false(int n, double alpha);
#endif
