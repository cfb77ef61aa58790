/* numerics.c - one exact rounding from long double to any format of dtypes.def. */
#include "numerics.h"

#include <stdlib.h>

static int smallest_exponent(enum dtype t) { /* of the last subnormal bit */
    return 2 - (1 << (dtypes[t].exponent_bits - 1)) - dtypes[t].fraction_bits;
}

double dtype_roundoff(enum dtype t) { return ldexp(1, -(dtypes[t].fraction_bits + 1)); }

double dtype_smallest(enum dtype t) { return ldexp(1, smallest_exponent(t)); }

static bool saturates(enum dtype t) {
    return t == DT_fp8_e4m3 || t == DT_fp8_e5m2 || t == DT_nvfp4;
}

long double value_round(enum dtype t, long double x) {
    if (isnan(x)) return t == DT_nvfp4 ? 6 : x;
    const long double limit = (long double)dtypes[t].max;
    if (isinf(x)) return saturates(t) ? copysignl(limit, x) : x;
    if (x == 0) return x;
    int exponent;
    frexpl(x, &exponent); /* x = 0.1... * 2^exponent */
    int last = exponent - 1 - dtypes[t].fraction_bits;
    if (last < smallest_exponent(t)) last = smallest_exponent(t);
    const long double rounded = ldexpl(nearbyintl(ldexpl(x, -last)), last);
    if (fabsl(rounded) <= limit) return rounded;
    return copysignl(saturates(t) ? limit : (long double)INFINITY, x);
}

long double value_get(enum dtype t, const void *tensor, int64_t elements, int64_t i) {
    switch (t) {
    case DT_fp64:
        return (long double)((const double *)tensor)[i];
    case DT_fp32:
    case DT_tf32:
        return (long double)((const float *)tensor)[i];
    case DT_fp16:
        return (long double)fp16_to_float(((const uint16_t *)tensor)[i]);
    case DT_bf16:
        return (long double)bf16_to_float(((const uint16_t *)tensor)[i]);
    case DT_fp8_e4m3:
        return (long double)e4m3_to_float(((const uint8_t *)tensor)[i]);
    case DT_fp8_e5m2:
        return (long double)e5m2_to_float(((const uint8_t *)tensor)[i]);
    case DT_nvfp4:
        return (long double)nvfp4_get(tensor, elements, i);
    case DTYPE_COUNT:
        break;
    }
    abort();
}

/* The rounded value is exact in float for every format but fp64, so the inline conversions only pack it. */
void value_put(enum dtype t, void *tensor, int64_t elements, int64_t i, long double x) {
    (void)elements;
    const long double value = value_round(t, x);
    switch (t) {
    case DT_fp64:
        ((double *)tensor)[i] = (double)value;
        return;
    case DT_fp32:
    case DT_tf32:
        ((float *)tensor)[i] = (float)value;
        return;
    case DT_fp16:
        ((uint16_t *)tensor)[i] = fp16_of_float((float)value);
        return;
    case DT_bf16:
        ((uint16_t *)tensor)[i] = bf16_of_float((float)value);
        return;
    case DT_fp8_e4m3:
        ((uint8_t *)tensor)[i] = e4m3_of_float((float)value);
        return;
    case DT_fp8_e5m2:
        ((uint8_t *)tensor)[i] = e5m2_of_float((float)value);
        return;
    case DT_nvfp4:
    case DTYPE_COUNT:
        break;
    }
    abort();
}
