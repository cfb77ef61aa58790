/* count.c - counts that stop at their largest value; numbers with suffixes, and back. */
#include "count.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TWO_TO_63 = 9223372036854775808.0;

int64_t count_add(int64_t a, int64_t b) { return a > COUNT_OVERFLOW - b ? COUNT_OVERFLOW : a + b; }

int64_t count_mul(int64_t a, int64_t b) {
    if (a == COUNT_OVERFLOW || b == COUNT_OVERFLOW) return COUNT_OVERFLOW;
    return a && b > COUNT_OVERFLOW / a ? COUNT_OVERFLOW : a * b;
}

/* ---- reading ---- */

/* text up to `length` as a number times 10^exponent, rounded once: the exponent goes through strtod as well. */
static bool read_scaled(const char *text, size_t length, int exponent, double *out) {
    char digits[64];
    char *end;
    if (length == 0 || length >= sizeof digits - 8) return false;
    /* what strtod takes and nobody means: hexadecimal, infinity, NaN, leading blanks */
    if (strspn(text, "0123456789+-.eE") < length || text[0] == 'e' || text[0] == 'E') return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (exponent) {
        if (strpbrk(digits, "eE")) return false;
        snprintf(digits + length, sizeof digits - length, "e%d", exponent);
    }
    *out = strtod(digits, &end);
    return !*end && isfinite(*out);
}

bool parse_quantity(const char *text, double *out) {
    static const struct {
        char suffix;
        int exponent;
    } suffixes[] = {{'k', 3}, {'K', 3}, {'M', 6}, {'G', 9}, {'B', 9}, {'T', 12}, {'P', 15}};
    const size_t length = strlen(text);
    for (size_t i = 0; length && i < sizeof suffixes / sizeof *suffixes; i++)
        if (text[length - 1] == suffixes[i].suffix)
            return read_scaled(text, length - 1, suffixes[i].exponent, out);
    return read_scaled(text, length, 0, out);
}

static bool whole(double x, int64_t *out) {
    if (!(x >= 0) || x >= TWO_TO_63 || x != floor(x)) return false;
    *out = (int64_t)x;
    return true;
}

/* Digits only; false: something else, or too many. */
static bool parse_digits(const char *text, int64_t *out) {
    int64_t n = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text)) return false;
        n = count_add(count_mul(n, 10), *text - '0');
    }
    *out = n;
    return n != COUNT_OVERFLOW;
}

bool parse_count(const char *text, int64_t *out) {
    double x;
    if (parse_digits(text, out)) return true;
    return text[strspn(text, "0123456789")] && parse_quantity(text, &x) && whole(x, out);
}

bool parse_bytes(const char *text, int64_t *out) {
    static const char prefixes[] = "KMGTP";
    size_t length = strlen(text);
    if (length < 2 || text[length - 1] != 'B') return parse_count(text, out);
    const bool binary = text[length - 2] == 'i';
    length -= binary ? 2 : 1;
    const char *prefix = length ? strchr(prefixes, toupper((unsigned char)text[length - 1])) : NULL;
    if (!prefix || !*prefix) { /* "512 B" */
        double x;
        while (length && text[length - 1] == ' ') length--;
        return !binary && read_scaled(text, length, 0, &x) && whole(x, out);
    }
    const int power = (int)(prefix - prefixes) + 1;
    double x;
    length--;
    while (length && text[length - 1] == ' ') length--;
    if (!read_scaled(text, length, binary ? 0 : 3 * power, &x)) return false;
    return whole(binary ? ldexp(x, 10 * power) : x, out);
}

int parse_sizes(const char *text, int64_t low, int64_t *size, int max) {
    int count = 0;
    for (;; text++) {
        char one[32];
        const size_t length = strcspn(text, "x,");
        if (length >= sizeof one || count == max) return -1;
        memcpy(one, text, length);
        one[length] = '\0';
        if (!parse_digits(one, &size[count]) || size[count] < low) return -1;
        count++;
        text += length;
        if (!*text) return count;
    }
}

/* ---- writing ---- */

struct text figure(double x) {
    struct text t;
    const double magnitude = fabs(x);
    if (!isfinite(x) || magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e6)) {
        snprintf(t.text, sizeof t.text, "%.6g", x);
        return t;
    }
    if (magnitude >= 1e6 && magnitude < 1e9 && x == floor(x) && fmod(x, 1000) != 0)
        return grouped((int64_t)x); /* six digits would not be all of it */
    int exponent = 3 * (int)floor(log10(magnitude) / 3);
    if (fabs(x / pow(10, exponent)) >= 999.9995) exponent += 3;
    snprintf(t.text, sizeof t.text, "%.6ge%d", x / pow(10, exponent), exponent);
    return t;
}

struct text grouped(int64_t n) {
    struct text t;
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%" PRId64, n);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < sizeof t.text; i++) {
        t.text[used++] = digits[i];
        const int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') t.text[used++] = ',';
    }
    t.text[used] = '\0';
    return t;
}

struct text in_units(double bytes, bool si) {
    static const char *const binary_names[] = {"", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static const char *const si_names[] = {"", "kB", "MB", "GB", "TB", "PB", "EB"};
    const double step = si ? 1000 : 1024;
    struct text t = {""};
    int unit = 0;
    double value = bytes;
    while (fabs(value) >= step && unit < 6) {
        value /= step;
        unit++;
    }
    if (unit == 0) return t;
    /* 2304 MiB rather than 2.25 GiB */
    for (int down = 0; down < 2 && unit > 1 && value != floor(value); down++) {
        const double finer = value * step;
        if (fabs(finer) >= 10000 || finer != floor(finer)) break;
        value = finer;
        unit--;
    }
    snprintf(t.text, sizeof t.text, "%.4g %s", value, si ? si_names[unit] : binary_names[unit]);
    return t;
}
