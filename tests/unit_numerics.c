/* unit_numerics.c - every value of every small format, against decoders written from the definitions.
 *
 * Facts: IEEE 754-2019 (fp16), OCP OFP8 1.0 (E4M3, E5M2), OCP MX 1.0 (E2M1), and the table of the README. */
#include "../kernels/numerics.h"
#include "test.h"

#include <stdlib.h>

/* ---- formats by definition ---- */

enum specials {
    IEEE,
    ONE_NAN,
    NO_SPECIALS
}; /* of the largest exponent: inf and NaN; one NaN pattern; none */

struct format {
    const char *name;
    enum dtype dtype;
    int exponent_bits, fraction_bits;
    enum specials specials;
    bool saturates;
};

static const struct format formats[] = {
    {"fp16", DT_fp16, 5, 10, IEEE, false},          {"bf16", DT_bf16, 8, 7, IEEE, false},
    {"fp8_e4m3", DT_fp8_e4m3, 4, 3, ONE_NAN, true}, {"fp8_e5m2", DT_fp8_e5m2, 5, 2, IEEE, true},
    {"e2m1", DT_nvfp4, 2, 1, NO_SPECIALS, true},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static uint32_t encode(const struct format *f, float x) {
    switch (f->dtype) {
    case DT_fp16:
        return fp16_of_float(x);
    case DT_bf16:
        return bf16_of_float(x);
    case DT_fp8_e4m3:
        return e4m3_of_float(x);
    case DT_fp8_e5m2:
        return e5m2_of_float(x);
    case DT_nvfp4:
        return e2m1_of_float(x);
    default:
        abort();
    }
}

static float decode(const struct format *f, uint32_t pattern) {
    switch (f->dtype) {
    case DT_fp16:
        return fp16_to_float((uint16_t)pattern);
    case DT_bf16:
        return bf16_to_float((uint16_t)pattern);
    case DT_fp8_e4m3:
        return e4m3_to_float((uint8_t)pattern);
    case DT_fp8_e5m2:
        return e5m2_to_float((uint8_t)pattern);
    case DT_nvfp4:
        return e2m1_to_float((uint8_t)pattern);
    default:
        abort();
    }
}

static uint32_t sign_bit(const struct format *f) {
    return 1u << (f->exponent_bits + f->fraction_bits);
}

/* Sign, exponent, fraction -> value, from the definition; exact in double. */
static double defined_value(const struct format *f, uint32_t pattern) {
    const uint32_t fractions = 1u << f->fraction_bits, exponents = 1u << f->exponent_bits;
    const uint32_t fraction = pattern % fractions, exponent = pattern / fractions % exponents;
    const int bias = (int)exponents / 2 - 1;
    const double sign = pattern & sign_bit(f) ? -1 : 1;
    if (f->specials == IEEE && exponent == exponents - 1)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (f->specials == ONE_NAN && exponent == exponents - 1 && fraction == fractions - 1)
        return (double)NAN;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - f->fraction_bits);
    return sign * ldexp(fractions + fraction, (int)exponent - bias - f->fraction_bits);
}

/* Pattern of the largest finite value. */
static uint32_t largest_pattern(const struct format *f) {
    uint32_t p = sign_bit(f) - 1;
    while (!isfinite(defined_value(f, p))) p--;
    return p;
}

static bool same(double x, double y) {
    return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

/* ---- all patterns ---- */

static void test_every_pattern(const struct format *f) {
    for (uint32_t p = 0; p < 2 * sign_bit(f); p++) {
        const double defined = defined_value(f, p), decoded = (double)decode(f, p);
        CHECK(same(decoded, defined), "%s 0x%x: %.9g, defined %.9g", f->name, p, decoded, defined);
        const uint32_t back = encode(f, decode(f, p));
        if (isnan(defined)) {
            CHECK(isnan(decode(f, back)), "%s NaN 0x%x became 0x%x", f->name, p, back);
            continue;
        }
        const uint32_t expected =
            isinf(defined) && f->saturates ? (p & sign_bit(f)) | largest_pattern(f) : p;
        CHECK(back == expected, "%s 0x%x became 0x%x", f->name, p, back);
        const double rounded = (double)value_round(f->dtype, (long double)defined);
        CHECK(same(rounded, defined_value(f, expected)), "%s 0x%x: %.9g", f->name, p, rounded);
    }
}

/* x is halfway between the patterns below and above, or a hair beside it. */
static void check_rounding(const struct format *f, double x, uint32_t expected) {
    for (int s = 0; s < 2; s++) {
        const float signed_x = (float)(s ? -x : x);
        const uint32_t pattern = expected | (s ? sign_bit(f) : 0);
        CHECK((double)fabsf(signed_x) == x, "%s: %.17g is not a float", f->name, x);
        CHECK(encode(f, signed_x) == pattern, "%s(%.9g): 0x%x, expected 0x%x", f->name,
              (double)signed_x, encode(f, signed_x), pattern);
        const double rounded = (double)value_round(f->dtype, (long double)signed_x);
        CHECK(same(rounded, defined_value(f, pattern)), "value_round(%s, %.9g): %.9g", f->name,
              (double)signed_x, rounded);
    }
}

static void test_every_midpoint(const struct format *f) {
    const uint32_t largest = largest_pattern(f);
    for (uint32_t p = 0; p < largest; p++) {
        const double below = defined_value(f, p), above = defined_value(f, p + 1);
        const double middle = (below + above) / 2;
        check_rounding(f, middle, p % 2 ? p + 1 : p);
        check_rounding(f, (double)nextafterf((float)middle, 0), p);
        check_rounding(f, (double)nextafterf((float)middle, INFINITY), p + 1);

        /* a hair that float cannot hold: only one rounding from long double gets it right */
        const long double hair = ldexpl((long double)middle, -60);
        CHECK(value_round(f->dtype, (long double)middle + hair) == (long double)above,
              "%s above %.9g", f->name, middle);
        CHECK(value_round(f->dtype, (long double)middle - hair) == (long double)below,
              "%s below %.9g", f->name, middle);
    }
}

/* Past the largest value: half a unit more is the tie, which IEEE formats round to infinity. */
static void test_overflow(const struct format *f) {
    const uint32_t largest = largest_pattern(f), beyond = f->saturates ? largest : largest + 1;
    const double max = defined_value(f, largest), unit = max - defined_value(f, largest - 1);
    CHECK(max == dtypes[f->dtype].max, "%s: %.9g", f->name, max);
    check_rounding(f, (double)nextafterf((float)(max + unit / 2), 0), largest);
    check_rounding(f, max + unit / 2, beyond);
    check_rounding(f, (double)nextafterf((float)(max + unit / 2), INFINITY), beyond);
    check_rounding(f, (double)0x1.fffffep+127f, beyond);
    check_rounding(f, (double)INFINITY, beyond);
    const double of_huge = (double)value_round(f->dtype, 0x1p+1000L);
    CHECK(of_huge == (f->saturates ? max : (double)INFINITY), "%s: %.9g", f->name, of_huge);
}

static void test_nan(const struct format *f) {
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001,
                                    0xff800001, 0x7fffffff, 0x7f803fff};
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++) {
        const uint32_t pattern = encode(f, float_of_bits(nans[i]));
        if (f->specials == NO_SPECIALS)
            CHECK(pattern == 7, "%s: NaN 0x%x became 0x%x, not 6", f->name, nans[i], pattern);
        else
            CHECK(isnan(decode(f, pattern)), "%s: NaN 0x%x became 0x%x", f->name, nans[i], pattern);
    }
}

/* Every stride-th of the 2^32 floats, against the one rounding from long double. */
static void test_floats(const struct format *f, uint64_t stride) {
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride) {
        const float x = float_of_bits((uint32_t)bits);
        const double got = (double)decode(f, encode(f, x));
        const double expected = (double)value_round(f->dtype, (long double)x);
        if (!same(got, expected))
            CHECK(false, "%s(%.9g = 0x%x): %.9g, expected %.9g", f->name, (double)x, (uint32_t)bits,
                  got, expected);
    }
    CHECK(true, "%s", f->name);
}

/* ---- wide formats ---- */

static uint64_t next_random(uint64_t *state) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

/* The hardware's conversions are the reference: IEEE 754 asks them to round to nearest even. */
static void test_wide(void) {
    uint64_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        const long double mantissa = (long double)next_random(&state) + 1;
        const int exponent = (int)(next_random(&state) % 2300) - 1200;
        const long double x = ldexpl(next_random(&state) & 1 ? mantissa : -mantissa, exponent - 63);
        const double as_double = (double)x;
        const float as_float = (float)x;
        CHECK(same((double)value_round(DT_fp64, x), as_double), "fp64(%.21Lg)", x);
        CHECK(same((double)value_round(DT_fp32, x), (double)as_float), "fp32(%.21Lg)", x);
    }
    CHECK(value_round(DT_fp64, 0x1.8p-1074L) == 0x1p-1073L, "tie of fp64 subnormals");
    CHECK(value_round(DT_fp64, 0x1p-1075L) == 0, "half the smallest fp64");
    CHECK(value_round(DT_tf32, 1 + 0x1p-11L) == 1, "tie of tf32 goes to even");
    CHECK(value_round(DT_tf32, 1 + 0x1.8p-10L) == 1 + 0x1p-9L, "tie of tf32 goes to even");
    CHECK(isinf(value_round(DT_tf32, 0x1.fffp+127L)), "tf32 overflows");
    CHECK(isnan(value_round(DT_fp64, (long double)NAN)), "NaN");
}

/* ---- facts ---- */

static void test_table(void) {
    static const struct {
        enum dtype t;
        double max, smallest, max_rounded, smallest_rounded;
    } table[] = {
        {DT_fp64, 0x1.fffffffffffffp+1023, 0x1p-1074, 1.797e308, 4.94e-324},
        {DT_fp32, 0x1.fffffep+127, 0x1p-149, 3.403e38, 1.40e-45},
        {DT_fp16, 65504, 0x1p-24, 65504, 5.96e-8},
        {DT_bf16, 0x1.fep+127, 0x1p-133, 3.39e38, 9.18e-41},
        {DT_fp8_e4m3, 448, 0x1p-9, 448, 0x1p-9},
        {DT_fp8_e5m2, 57344, 0x1p-16, 57344, 0x1p-16},
        {DT_nvfp4, 6, 0.5, 6, 0.5},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const enum dtype t = table[i].t;
        CHECK(dtypes[t].max == table[i].max, "%s: %.17g", dtypes[t].name, dtypes[t].max);
        CHECK(dtype_smallest(t) == table[i].smallest, "%s: %.17g", dtypes[t].name,
              dtype_smallest(t));
        CHECK(fabs(table[i].max / table[i].max_rounded - 1) < 1e-2, "%s", dtypes[t].name);
        CHECK(fabs(table[i].smallest / table[i].smallest_rounded - 1) < 1e-2, "%s", dtypes[t].name);
        CHECK(value_round(t, (long double)table[i].max) == (long double)table[i].max, "%s",
              dtypes[t].name);
        CHECK(value_round(t, (long double)table[i].smallest) == (long double)table[i].smallest,
              "%s", dtypes[t].name);
        CHECK(value_round(t, (long double)table[i].smallest / 2) == 0, "%s: tie goes to 0",
              dtypes[t].name);
    }
    CHECK(fabs(dtypes[DT_tf32].max / 3.40e38 - 1) < 1e-2, "tf32: %.9g", dtypes[DT_tf32].max);
    CHECK(dtype_roundoff(DT_fp32) == 0x1p-24, "%.9g", dtype_roundoff(DT_fp32));
    CHECK(dtype_roundoff(DT_bf16) == 0x1p-8, "%.9g", dtype_roundoff(DT_bf16));
    CHECK(dtype_roundoff(DT_fp64) == 0x1p-53, "%.9g", dtype_roundoff(DT_fp64));

    CHECK(fp16_of_float(1e-8f) == 0, "fp16(1e-8): 0x%x", fp16_of_float(1e-8f));
    const double survives = (double)bf16_to_float(bf16_of_float(1e-8f));
    CHECK(fabs(survives / 1e-8 - 1) <= 0x1p-8, "bf16(1e-8): %.9g", survives);
    CHECK(bf16_to_float(bf16_of_float(1.001f)) == 1, "bf16(1.001)");
    static const float e2m1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (uint8_t code = 0; code < 8; code++)
        CHECK(e2m1_to_float(code) == e2m1[code], "code %d", code);
}

static void test_storage(void) {
    CHECK(storage_bytes(DT_fp32, 4 * 8) == 128, "%zu", storage_bytes(DT_fp32, 4 * 8));
    CHECK(storage_bytes(DT_fp32, 49152LL * 12288) == 2415919104u, "%zu",
          storage_bytes(DT_fp32, 49152LL * 12288));
    CHECK(storage_bytes(DT_fp64, 3) == 24 && storage_bytes(DT_bf16, 3) == 6 &&
              storage_bytes(DT_fp8_e5m2, 3) == 3,
          "small");
    CHECK(storage_bytes(DT_nvfp4, 16) == 8 + 4 + 4, "%zu", storage_bytes(DT_nvfp4, 16));
    CHECK(storage_bytes(DT_nvfp4, 64) == 32 + 4 + 4, "%zu", storage_bytes(DT_nvfp4, 64));
    CHECK(storage_bytes(DT_nvfp4, 80) == 40 + 8 + 4, "%zu", storage_bytes(DT_nvfp4, 80));
    CHECK(storage_bytes(DT_nvfp4, 17) == 0, "not a multiple of 16");
    CHECK(storage_bytes(DT_fp64, INT64_MAX) == 0, "%zu", storage_bytes(DT_fp64, INT64_MAX));
    CHECK(storage_bytes(DT_fp64, 1LL << 61) == 0, "2^64 bytes");
    CHECK(storage_bytes(DT_fp64, 1LL << 60) == (size_t)1 << 63, "2^63 bytes");
    CHECK(storage_bytes(DT_fp32, -1) == 0, "negative");
    for (int64_t n = 16; n < 2000; n += 16)
        CHECK(nvfp4_tensor_scale_offset(n) + sizeof(float) == storage_bytes(DT_nvfp4, n), "n %lld",
              (long long)n);
}

/* value_put() and value_get() address the right element and leave its neighbours alone. */
static void test_get_put(void) {
    static const enum dtype types[] = {DT_fp64, DT_fp32,     DT_tf32,    DT_fp16,
                                       DT_bf16, DT_fp8_e4m3, DT_fp8_e5m2};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        double memory[5] = {0};
        for (int e = 0; e < 5; e++) value_put(types[i], memory, 5, e, 1 + e / 4.0L);
        value_put(types[i], memory, 5, 2, -1.25L);
        for (int e = 0; e < 5; e++) {
            const double got = (double)value_get(types[i], memory, 5, e),
                         expected = e == 2 ? -1.25 : 1 + e / 4.0;
            CHECK(got == (double)value_round(types[i], (long double)expected), "%s[%d]: %.9g",
                  dtypes[types[i]].name, e, got);
        }
    }
}

/* ---- nvfp4 ---- */

/* The pattern of f nearest to x >= 0, ties to even, by trying all. */
static uint32_t nearest(const struct format *f, float x) {
    uint32_t best = 0;
    for (uint32_t p = 1; p <= largest_pattern(f); p++) {
        const double to_best = fabs((double)x - defined_value(f, best)),
                     to_p = fabs((double)x - defined_value(f, p));
        if (to_p < to_best || (to_p == to_best && p % 2 == 0)) best = p;
    }
    return best;
}

static void check_block(const float x[NVFP4_BLOCK], float tensor_scale) {
    const struct format *e4m3 = &formats[2], *e2m1 = &formats[4];
    uint8_t codes[NVFP4_BLOCK / 2], scale;
    nvfp4_quantize_block(x, tensor_scale, codes, &scale);
    float amax = 0;
    for (int i = 0; i < NVFP4_BLOCK; i++) amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    const uint32_t expected_scale = nearest(e4m3, amax / 6.0f / tensor_scale);
    CHECK(scale == expected_scale, "amax %.9g: scale 0x%x, expected 0x%x", (double)amax, scale,
          expected_scale);
    const float step = (float)defined_value(e4m3, expected_scale) * tensor_scale;
    for (int i = 0; i < NVFP4_BLOCK; i++) {
        const uint8_t code = (uint8_t)(i % 2 ? codes[i / 2] >> 4 : codes[i / 2] & 15);
        uint32_t expected = 0;
        if (step > 0) expected = nearest(e2m1, fabsf(x[i] / step)) | (signbit(x[i]) ? 8 : 0);
        CHECK(code == expected, "x %.9g step %.9g: code %d, expected %u", (double)x[i],
              (double)step, code, expected);
    }
}

static void test_nvfp4(void) {
    static const float tensor_scales[] = {1, 0.25f, 0.3f, 1.0f / 448, 1000};
    uint64_t state = 7;
    float x[NVFP4_BLOCK];
    for (int trial = 0; trial < 3000; trial++) {
        const float range = ldexpf(1, (int)(next_random(&state) % 24) - 12);
        for (int i = 0; i < NVFP4_BLOCK; i++)
            x[i] = range * ((float)(next_random(&state) % 65536) / 32768 - 1);
        check_block(x, tensor_scales[trial % 5]);
    }
    for (int i = 0; i < NVFP4_BLOCK; i++) x[i] = i % 2 ? -0.0f : 0;
    check_block(x, 1);
    for (int i = 0; i < NVFP4_BLOCK; i++) x[i] = 1e-30f * (float)i; /* the scale rounds to 0 */
    check_block(x, 1);
    for (int i = 0; i < NVFP4_BLOCK; i++) x[i] = 1e6f * (float)(i - 8); /* the scale saturates */
    check_block(x, 1);

    /* a block of NaN has no largest value; a NaN among numbers becomes 6; infinity saturates */
    uint8_t codes[NVFP4_BLOCK / 2], scale;
    for (int i = 0; i < NVFP4_BLOCK; i++) x[i] = NAN;
    nvfp4_quantize_block(x, 1, codes, &scale);
    CHECK(scale == 0 && codes[0] == 0 && codes[7] == 0, "scale 0x%x codes 0x%x 0x%x", scale,
          codes[0], codes[7]);
    for (int i = 1; i < NVFP4_BLOCK; i++) x[i] = 6;
    nvfp4_quantize_block(x, 1, codes, &scale);
    CHECK(scale == e4m3_of_float(1) && codes[0] == 0x77, "scale 0x%x codes 0x%x", scale, codes[0]);
    x[0] = INFINITY;
    nvfp4_quantize_block(x, 1, codes, &scale);
    CHECK(scale == 0x7e && (codes[0] & 15) == 7, "scale 0x%x codes 0x%x", scale, codes[0]);
}

/* What a tensor holds comes back from quantising it, and nvfp4_get() reads it where the layout puts it. */
static void test_nvfp4_round_trip(void) {
    enum { ELEMENTS = 3 * NVFP4_BLOCK };
    static const float tensor_scales[] = {1, 0.25f, 0.3f};
    for (int t = 0; t < 3; t++) {
        for (uint8_t scale = 1; scale <= 0x7e; scale++) {
            uint8_t tensor[ELEMENTS / 2 + 4 + 4] = {0};
            uint8_t *scales = nvfp4_scales(tensor, ELEMENTS);
            for (int i = 0; i < ELEMENTS / 2; i++)
                tensor[i] = (uint8_t)(i * 2 % 16 | (i * 2 + 1) % 16 << 4);
            for (int block = 0; block < 3; block++) scales[block] = scale;
            nvfp4_set_tensor_scale(tensor, ELEMENTS, tensor_scales[t]);
            CHECK(nvfp4_tensor_scale(tensor, ELEMENTS) == tensor_scales[t], "tensor scale");
            for (int block = 0; block < 3; block++) {
                float x[NVFP4_BLOCK];
                uint8_t codes[NVFP4_BLOCK / 2], got;
                for (int i = 0; i < NVFP4_BLOCK; i++) {
                    const int64_t at = block * NVFP4_BLOCK + i;
                    x[i] = nvfp4_get(tensor, ELEMENTS, at);
                    const float expected = e2m1_to_float((uint8_t)i) *
                                           (float)defined_value(&formats[2], scale) *
                                           tensor_scales[t];
                    CHECK(same((double)x[i], (double)expected), "element %d: %.9g", (int)at,
                          (double)x[i]);
                    CHECK((float)value_get(DT_nvfp4, tensor, ELEMENTS, at) == x[i], "element %d",
                          (int)at);
                }
                nvfp4_quantize_block(x, tensor_scales[t], codes, &got);
                CHECK(got == scale, "scale 0x%x became 0x%x", scale, got);
                CHECK(memcmp(codes, tensor + block * NVFP4_BLOCK / 2, sizeof codes) == 0,
                      "codes at scale 0x%x", scale);
            }
        }
    }
}

/* unit_numerics [stride]: a wider one for builds with sanitizers, which are slow. */
int main(int argc, char **argv) {
    const long stride = argc > 1 ? strtol(argv[1], NULL, 10) : 251;
    CHECK(stride > 0, "stride %ld", stride);
    for (int i = 0; i < FORMATS; i++) {
        test_every_pattern(&formats[i]);
        test_every_midpoint(&formats[i]);
        test_overflow(&formats[i]);
        test_nan(&formats[i]);
        if (stride > 0) test_floats(&formats[i], (uint64_t)stride);
    }
    test_wide();
    test_table();
    test_storage();
    test_get_put();
    test_nvfp4();
    test_nvfp4_round_trip();
    return test_result();
}
