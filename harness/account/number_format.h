/* number_format.h - a value as a dtype stores it: pattern, rounding, neighbours. The conversions are those of
 * kernels/numerics.h. nvfp4 stands for one E2M1 element whose scales are 1. */
#ifndef ACCOUNT_NUMBER_FORMAT_H
#define ACCOUNT_NUMBER_FORMAT_H
#include "../../kernels/catalogue.h"

/* Decimal, hexadecimal (0x1p-24), inf, nan. Rounded to odd beyond 64 bits, so that a second rounding to any narrower
 * format is the right one; false: no number. */
bool parse_value(const char *text, long double *out);

/* text as t stores it: rounded once, to nearest, ties to even. fp64 takes all of the digits. */
long double stored_value(enum dtype t, const char *text, long double parsed);

/* Bits of a pattern: 32 for tf32, whose lower 13 stay zero. */
int pattern_bits(enum dtype t);
uint64_t pattern_of(enum dtype t, long double stored);
/* What a pattern stands for; tf32 ignores its lower 13 bits. */
long double value_of_pattern(enum dtype t, uint64_t pattern);

/* The next value towards +infinity (up) or -infinity; x itself where there is none, NaN of NaN. Between them lies the
 * unit in the last place. */
long double neighbour(enum dtype t, long double stored, bool up);

/* Smallest positive normal value; the smallest subnormal is dtype_smallest(). */
double smallest_normal(enum dtype t);
bool has_infinity(enum dtype t); /* a pattern for it; E5M2 has one, though conversions saturate */
#endif
