/* cmd_dtype.c - roofline account dtype: the formats, and what becomes of a value in one. */
#include "calculators.h"
#include "flags.h"
#include "number_format.h"

#include "../../kernels/numerics.h"
#include "../commands.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: roofline account dtype [TYPE [VALUE | --bits PATTERN]]\n"
    "\n"
    "What a number format can hold. With a value: its bits, what is stored, the error, the "
    "neighbours. Rounding is to\n"
    "nearest, ties to even; fp8 and nvfp4 saturate at their largest value. Without arguments a "
    "table of all formats.\n"
    "\n"
    "  TYPE            fp64 fp32 tf32 fp16 bf16 fp8_e4m3 fp8_e5m2 nvfp4 (one E2M1 element, scales "
    "1)\n"
    "  VALUE           1e-8, 0x1p-24, inf, nan\n"
    "  --bits PATTERN  a stored pattern, 0x3c00, instead of a value\n"
    "\n"
    "Examples: fp16 loses 1e-8, bf16 keeps it, but 1.001 becomes 1 in bf16:\n"
    "  roofline account dtype fp16 1e-8\n"
    "  roofline account dtype bf16 1e-8\n"
    "  roofline account dtype bf16 1.001\n"
    "  roofline account dtype\n";

static const char *note(enum dtype t) {
    static const char *const notes[DTYPE_COUNT] = {
        [DT_fp64] = "scientific computing",
        [DT_fp32] = "the default; optimizer state, long sums",
        [DT_tf32] = "tensor-core mode of fp32, 19 of 32 bits used",
        [DT_fp16] = "needs loss scaling",
        [DT_bf16] = "range of fp32",
        [DT_fp8_e4m3] = "weights, activations",
        [DT_fp8_e5m2] = "gradients",
        [DT_nvfp4] = "E2M1 with an E4M3 scale a block of 16: 4.5 bits a value",
    };
    return notes[t];
}

static void say_table(struct answer *a) {
    static const char *const columns[] = {"dtype",
                                          "bits",
                                          "sign",
                                          "exponent",
                                          "fraction",
                                          "max",
                                          "smallest_normal",
                                          "smallest_subnormal",
                                          "roundoff",
                                          "infinity",
                                          "use"};
    answer_table(a, "dtypes", columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const enum dtype t = (enum dtype)i;
        answer_cell(a, "%s", dtypes[t].name);
        answer_cell(a, "%d", dtypes[t].bits);
        answer_cell(a, "1");
        answer_cell(a, "%d", dtypes[t].exponent_bits);
        answer_cell(a, "%d", dtypes[t].fraction_bits);
        answer_cell(a, "%.5g", dtypes[t].max);
        answer_cell(a, "%.4g", smallest_normal(t));
        answer_cell(a, "%.4g", dtype_smallest(t));
        answer_cell(a, "%.4g", dtype_roundoff(t));
        answer_cell(a, "%s", has_infinity(t) ? "yes" : "no");
        answer_cell(a, "%s", note(t));
    }
}

static void say_format(struct answer *a, enum dtype t) {
    const int bias = (1 << (dtypes[t].exponent_bits - 1)) - 1;
    answer_text(a, "dtype", "%s: 1 sign, %d exponent (bias %d), %d fraction bits in %d; %s",
                dtypes[t].name, dtypes[t].exponent_bits, bias, dtypes[t].fraction_bits,
                dtypes[t].bits, note(t));
    answer_exact(a, "max", dtypes[t].max, "", NULL);
    answer_exact(a, "smallest_normal", smallest_normal(t), "", "2^%d", 1 - bias);
    answer_exact(a, "smallest_subnormal", dtype_smallest(t), "", "2^(%d - %d)", 1 - bias,
                 dtypes[t].fraction_bits);
    answer_exact(a, "unit_roundoff", dtype_roundoff(t), "", "2^-(%d + 1)", dtypes[t].fraction_bits);
}

/* "0 01100100 0101100": sign, exponent, fraction; what tf32 does not use is left out. */
static void say_bits(struct answer *a, enum dtype t, uint64_t pattern) {
    const int exponent = dtypes[t].exponent_bits, fraction = dtypes[t].fraction_bits;
    char text[72];
    int used = 0;
    for (int i = 0; i < 1 + exponent + fraction; i++) {
        if (i == 1 || i == 1 + exponent) text[used++] = ' ';
        text[used++] = pattern >> (dtypes[t].bits - 1 - i) & 1 ? '1' : '0';
    }
    text[used] = '\0';
    answer_text(a, "pattern", "0x%0*" PRIx64, (dtypes[t].bits + 3) / 4, pattern);
    answer_text(a, "sign_exponent_fraction", "%s", text);
}

static void say_stored(struct answer *a, enum dtype t, long double stored, uint64_t pattern) {
    const int fraction = dtypes[t].fraction_bits, bias = (1 << (dtypes[t].exponent_bits - 1)) - 1;
    const int unused = dtypes[t].bits - 1 - dtypes[t].exponent_bits - fraction;
    const uint64_t kept = pattern >> unused;
    const int exponent = (int)(kept >> fraction & ((1u << dtypes[t].exponent_bits) - 1));
    const uint64_t digits = kept & (((uint64_t)1 << fraction) - 1);
    if (!isfinite(stored)) {
        answer_text(a, "stored", "%s", isnan(stored) ? "nan" : stored > 0 ? "inf" : "-inf");
        return;
    }
    answer_exact(a, "stored", (double)stored, "", "%s(%d + %" PRIu64 "/%" PRIu64 ") x 2^%d",
                 signbit(stored) ? "-" : "", exponent > 0, digits, (uint64_t)1 << fraction,
                 (exponent ? exponent : 1) - bias);
}

static void say_neighbours(struct answer *a, enum dtype t, long double stored) {
    if (isnan(stored)) return;
    const long double below = neighbour(t, stored, false), above = neighbour(t, stored, true);
    if (below < stored && isfinite(below)) answer_exact(a, "next_below", (double)below, "", NULL);
    if (above > stored && isfinite(above)) {
        answer_exact(a, "next_above", (double)above, "", NULL);
        if (isfinite(stored))
            answer_exact(a, "spacing_above", (double)(above - stored), "", "next above - stored");
    }
}

static void say_value(struct answer *a, enum dtype t, const char *text, long double given) {
    const long double stored = stored_value(t, text, given);
    answer_text(a, "given", "%s", text);
    say_stored(a, t, stored, pattern_of(t, stored));
    if (isfinite(given) && isfinite(stored)) {
        answer_real(a, "error", (double)(stored - given), "", "stored - given");
        if (given != 0)
            answer_real(a, "relative_error", (double)fabsl((stored - given) / given), "",
                        "|error / given|, at most %g while normal", dtype_roundoff(t));
    }
    if (given != 0 && stored == 0)
        answer_text(a, "lost", "underflows: below half of the smallest subnormal");
    else if (isfinite(given) && fabsl(stored) >= (long double)dtypes[t].max && stored != given)
        answer_text(a, "lost",
                    isinf(stored) ? "overflows to infinity" : "saturates at the largest value");
    else if (isinf(given) && isfinite(stored))
        answer_text(a, "lost", "saturates at the largest value");
    else if (isnan(given) && !isnan(stored))
        answer_text(a, "lost", "no NaN in this format: the largest value is stored");
    say_bits(a, t, pattern_of(t, stored));
    say_neighbours(a, t, stored);
}

static int say_pattern(struct answer *a, enum dtype t, const char *text, struct complaint *why) {
    char *end;
    errno = 0;
    const uint64_t pattern = strtoull(text, &end, 0);
    if (end == text || *end || *text == '-' || errno ||
        (dtypes[t].bits < 64 && pattern >> dtypes[t].bits))
        return complain(why, "dtype: --bits '%s': a pattern of %d bits, such as 0x%x", text,
                        dtypes[t].bits, 1u << (dtypes[t].bits < 8 ? 2 : 6));
    const long double stored = value_of_pattern(t, pattern);
    say_stored(a, t, stored, pattern);
    say_bits(a, t, pattern);
    say_neighbours(a, t, stored);
    return 0;
}

static int answer(struct answer *a, char **word, int words, const char *bits,
                  struct complaint *why) {
    if (words == 0 && bits) return complain(why, "dtype: --bits of which type?");
    if (words == 0) {
        say_table(a);
        return 0;
    }
    if (words > 2) return complain(why, "dtype: unexpected argument '%s'", word[2]);
    const int t = dtype_find(word[0]);
    if (t < 0)
        return complain(why, "dtype '%s': one of fp64 fp32 tf32 fp16 bf16 fp8_e4m3 fp8_e5m2 nvfp4",
                        word[0]);
    if (words == 2 && bits) return complain(why, "dtype: a value or --bits, not both");
    long double given;
    if (words == 2 && !parse_value(word[1], &given))
        return complain(why, "dtype: '%s' is no number", word[1]);
    if (words == 2) say_value(a, (enum dtype)t, word[1], given);
    if (bits && say_pattern(a, (enum dtype)t, bits, why)) return -1;
    say_format(a, (enum dtype)t);
    return 0;
}

int account_dtype(int argc, char **argv) {
    static struct answer a;
    struct complaint why;
    const char *bits = NULL;
    int operands;
    const struct flag flags[] = {{"bits", FLAG_TEXT, &bits, NULL}, {.name = NULL}};
    const enum flags_result result = flags_read(argc, argv, flags, &a, help, &operands);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? STATUS_OK : STATUS_ERROR;
    if (answer(&a, argv + 1, operands, bits, &why)) return account_refuse(&why);
    return account_print(&a);
}
