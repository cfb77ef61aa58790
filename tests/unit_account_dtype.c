/* unit_account_dtype.c - patterns and neighbours of every small format, one by one; numbers that lie at a tie by the last
 * of many digits. */
#include "test.h"

#include "../harness/account/number_format.h"

#include "../kernels/numerics.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

static void every_pattern(void) {
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const enum dtype t = (enum dtype)i;
        const int unused = dtypes[t].bits - 1 - dtypes[t].exponent_bits - dtypes[t].fraction_bits;
        const int used = dtypes[t].bits - unused;
        const uint64_t step = used > 16 ? 2097143 : 1; /* wide formats are sampled */
        if (used > 32) continue;
        for (uint64_t kept = 0; kept < (uint64_t)1 << used; kept += step) {
            const uint64_t pattern = kept << unused;
            const long double value = value_of_pattern(t, pattern);
            if (isnan(value)) continue;
            if (isfinite(value))
                CHECK(pattern_of(t, value) == pattern, "%s 0x%llx is %Lg, back 0x%llx",
                      dtypes[t].name, (unsigned long long)pattern, value,
                      (unsigned long long)pattern_of(t, value));
            const long double above = neighbour(t, value, true), below = neighbour(t, value, false);
            CHECK(above >= value && below <= value, "%s %Lg: neighbours on the wrong side",
                  dtypes[t].name, value);
            if (!isfinite(value) || !isfinite(above) || above == value) continue;
            CHECK(neighbour(t, above, false) == value || value == 0,
                  "%s %Lg: up and down again is %Lg", dtypes[t].name, value,
                  neighbour(t, above, false));
            /* nothing lies between: the middle rounds to one of them */
            const long double middle = value_round(t, value + (above - value) / 2);
            CHECK(middle == value || middle == above, "%s %Lg: %Lg lies between", dtypes[t].name,
                  value, middle);
        }
    }
}

static void ends(void) {
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const enum dtype t = (enum dtype)i;
        const long double max = (long double)dtypes[t].max;
        CHECK(neighbour(t, 0, true) == (long double)dtype_smallest(t), "%s: above 0",
              dtypes[t].name);
        CHECK(neighbour(t, 0, false) == -(long double)dtype_smallest(t), "%s: below 0",
              dtypes[t].name);
        CHECK(neighbour(t, max, true) == (has_infinity(t) ? (long double)INFINITY : max),
              "%s: above the largest", dtypes[t].name);
        CHECK(neighbour(t, -max, true) > -max, "%s: above the lowest", dtypes[t].name);
        CHECK(has_infinity(t) == (t != DT_fp8_e4m3 && t != DT_nvfp4), "%s: infinity",
              dtypes[t].name);
    }
    CHECK(isnan(neighbour(DT_fp32, NAN, true)), "of NaN");
    CHECK(neighbour(DT_fp16, INFINITY, false) == 65504, "below infinity");
    CHECK(smallest_normal(DT_bf16) == 0x1p-126 && smallest_normal(DT_fp8_e4m3) == 0x1p-6, "normal");
}

static void stored(enum dtype t, const char *text, double want) {
    long double value = 0;
    CHECK(parse_value(text, &value), "'%s' is a number", text);
    const long double got = stored_value(t, text, value);
    CHECK(got == (long double)want || (isnan(got) && isnan(want)), "%s of %s is %Lg, not %g", text,
          dtypes[t].name, got, want);
}

static void values(void) {
    stored(DT_fp16, "1e-8", 0);
    stored(DT_bf16, "1e-8", 0x1.58p-27);
    stored(DT_bf16, "1.001", 1);
    stored(DT_fp16, "70000", INFINITY);
    stored(DT_fp8_e4m3, "1e9", 448);
    stored(DT_nvfp4, "2.5", 2);
    stored(DT_nvfp4, "-nan", 6);
    stored(DT_fp64, "0.1", 0.1);
    stored(DT_fp32, "-inf", -INFINITY);
    /* ties go to even; a digit far behind the 64 bits of long double breaks them */
    stored(DT_bf16, "1.00390625", 1);
    stored(DT_bf16, "1.0039062500000000000000000000000001", 1.0078125);
    stored(DT_bf16, "1.01171875", 1.015625);
    stored(DT_bf16, "1.0117187499999999999999999999999999", 1.0078125);
    stored(DT_bf16, "-1.0039062500000000000000000000000001", -1.0078125);
    stored(DT_fp16, "2.98023223876953125e-8", 0);
    stored(DT_fp16, "2.980232238769531250000000000001e-8", 0x1p-24);
    stored(DT_fp32, "16777217", 16777216);
    stored(DT_fp32, "16777217.0000000000000000000000001", 16777218);
    stored(DT_fp64, "9007199254740993.00000000000000000000001", 9007199254740994.0);
    CHECK(fegetround() == FE_TONEAREST, "the rounding mode is as before");
    long double value;
    static const char *const wrong[] = {"", " 1", "1x", "one", "1e", "--1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!parse_value(wrong[i], &value), "'%s' is no number", wrong[i]);
}

int main(void) {
    every_pattern();
    ends();
    values();
    return test_result();
}
