/* number_format.c - patterns of a format in the order of their values: sign and magnitude, so that the next magnitude
 * up is the next pattern. */
#include "number_format.h"

#include "../../kernels/numerics.h"

#include <ctype.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool parse_value(const char *text, long double *out) {
    char *end;
    const int rounding = fegetround();
    if (!*text || isspace((unsigned char)*text)) return false;
    *out = strtold(text, &end);
    if (*end) return false;
    if (!isfinite(*out)) return true;
    /* strtold follows the rounding mode: two results that differ enclose the number, and the odd one is kept */
    if (fesetround(FE_DOWNWARD)) return true;
    const long double low = strtold(text, NULL);
    fesetround(FE_UPWARD);
    const long double high = strtold(text, NULL);
    fesetround(rounding);
    if (low == high || !isfinite(low) || !isfinite(high)) return true;
    int exponent;
    frexpl(low == 0 ? high : low, &exponent);
    int last = exponent - LDBL_MANT_DIG;
    if (last < LDBL_MIN_EXP - LDBL_MANT_DIG) last = LDBL_MIN_EXP - LDBL_MANT_DIG;
    *out = fmodl(ldexpl(low, -last), 2) != 0 ? low : high;
    return true;
}

long double stored_value(enum dtype t, const char *text, long double parsed) {
    return t == DT_fp64 ? (long double)strtod(text, NULL) : value_round(t, parsed);
}

int pattern_bits(enum dtype t) { return dtypes[t].bits; }

/* Bits below the last one that the format keeps: tf32 lies in the upper 19 of 32. */
static int unused_bits(enum dtype t) {
    return dtypes[t].bits - 1 - dtypes[t].exponent_bits - dtypes[t].fraction_bits;
}

uint64_t pattern_of(enum dtype t, long double stored) {
    unsigned char bytes[8] = {0};
    uint64_t pattern = 0;
    if (t == DT_nvfp4) return e2m1_of_float((float)stored);
    value_put(t, bytes, 1, 0, stored);
    switch (dtypes[t].bits) {
    case 64:
        memcpy(&pattern, bytes, 8);
        return pattern;
    case 32: {
        uint32_t word;
        memcpy(&word, bytes, sizeof word);
        return word;
    }
    case 16: {
        uint16_t word;
        memcpy(&word, bytes, sizeof word);
        return word;
    }
    default:
        return bytes[0];
    }
}

long double value_of_pattern(enum dtype t, uint64_t pattern) {
    unsigned char bytes[8] = {0};
    const uint32_t word = (uint32_t)pattern & ~((1u << unused_bits(t)) - 1);
    const uint16_t half = (uint16_t)pattern;
    if (t == DT_nvfp4) return (long double)e2m1_to_float((uint8_t)(pattern & 15));
    if (dtypes[t].bits == 64)
        memcpy(bytes, &pattern, 8);
    else if (dtypes[t].bits == 32)
        memcpy(bytes, &word, sizeof word);
    else if (dtypes[t].bits == 16)
        memcpy(bytes, &half, sizeof half);
    else
        bytes[0] = (unsigned char)pattern;
    return value_get(t, bytes, 1, 0);
}

long double neighbour(enum dtype t, long double stored, bool up) {
    if (isnan(stored)) return stored;
    const uint64_t unit = (uint64_t)1 << unused_bits(t);
    const uint64_t sign = (uint64_t)1 << (dtypes[t].bits - 1);
    if (stored == 0) return value_of_pattern(t, up ? unit : sign | unit);
    const uint64_t pattern = pattern_of(t, stored);
    const bool larger = up == (stored > 0); /* away from zero */
    const long double next = value_of_pattern(t, larger ? pattern + unit : pattern - unit);
    /* behind the largest magnitude comes NaN, or the other sign's zero */
    return larger && !(fabsl(next) > fabsl(stored)) ? stored : next;
}

double smallest_normal(enum dtype t) { return ldexp(dtype_smallest(t), dtypes[t].fraction_bits); }

bool has_infinity(enum dtype t) {
    return isinf(neighbour(t, (long double)dtypes[t].max, true)) != 0;
}
