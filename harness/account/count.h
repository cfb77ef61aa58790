/* count.h - counts that cannot overflow unseen, and quantities as people write and read them. */
#ifndef ACCOUNT_COUNT_H
#define ACCOUNT_COUNT_H
#include <stdbool.h>
#include <stdint.h>

/* Sums and products of counts >= 0 stay at COUNT_OVERFLOW once they exceed it, so that one look at the end tells. */
#define COUNT_OVERFLOW INT64_MAX
int64_t count_add(int64_t a, int64_t b);
int64_t count_mul(int64_t a, int64_t b);

/* "70e9", "70B", "1.5T", "4096": suffixes k M G (or B) T P are powers of 1000. False: not a finite number. */
bool parse_quantity(const char *text, double *out);
/* The same, a whole number from 0 to below 2^63, exact where it is written in digits only. */
bool parse_count(const char *text, int64_t *out);
/* "80e9", "80GB", "80GiB", "512 KiB". */
bool parse_bytes(const char *text, int64_t *out);
/* "4x8", "4,8" or "4": at most `max` whole numbers from `low` on; how many, or -1. */
int parse_sizes(const char *text, int64_t low, int64_t *size, int max);

/* Short text that lives as long as the expression it stands in: printf("%s", figure(x).text). */
struct text {
    char text[48];
};

/* A figure within a formula: "1024", "989.5e12", "0.5", "16,777,216"; exponents are multiples of three. */
struct text figure(double x);
/* "2,415,919,104" */
struct text grouped(int64_t n);
/* Of |bytes| >= 1000 or 1024: "2304 MiB", "53.3 GB"; the largest unit in which the figure is whole, else the largest
 * in which it is above 1. Empty for fewer. */
struct text in_units(double bytes, bool si);
#endif
