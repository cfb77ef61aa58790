/* unit_account_lower.c - random patterns lowered to calls: the calls, as plain loops, must give what the definition gives. */
#include "test.h"

#include "../harness/account/einsum_lower.h"

#include <stdlib.h>
#include <string.h>

enum { AXES = 6, ELEMENTS = 1 << 12 };

static uint64_t state = 0x2545f4914f6cdd1du;

static int64_t below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

/* ---- the calls ---- */

/* Element (r, c) of a matrix that is stored transposed or not, rows x cols as it is meant. */
static double at(const double *x, bool transposed, int64_t rows, int64_t cols, int64_t r,
                 int64_t c) {
    return transposed ? x[c * rows + r] : x[r * cols + c];
}

static void multiply(const struct lowered_step *s, const double *A, const double *B, double *C) {
    const struct shape z = s->s;
    for (int64_t b = 0; b < z.b; b++, A += z.m * z.k, B += z.k * z.n)
        for (int64_t i = 0; i < z.m; i++)
            for (int64_t j = 0; j < z.n; j++) {
                double sum = 0;
                for (int64_t p = 0; p < z.k; p++)
                    sum += at(A, s->layout == LAYOUT_TN, z.m, z.k, i, p) *
                           at(B, s->layout == LAYOUT_NT, z.k, z.n, p, j);
                *C++ = sum;
            }
}

/* Elements written; 0: no call that lowering may give. */
static int64_t call(const struct lowered_step *s, const double *x, const double *y, double *out) {
    struct lowered_step product = *s;
    const struct shape z = s->s;
    double sum = 0, most = -1e300;
    switch (s->op) {
    case OP_transpose:
        for (int64_t i = 0; i < z.n; i++)
            for (int64_t j = 0; j < z.m; j++) out[i * z.m + j] = x[j * z.n + i];
        return z.m * z.n;
    case OP_copy:
        memcpy(out, x, (size_t)z.n * sizeof *out);
        return z.n;
    case OP_mul:
        for (int64_t i = 0; i < z.n; i++) out[i] = x[i] * y[i];
        return z.n;
    case OP_dot:
        for (int64_t i = 0; i < z.n; i++) sum += x[i] * y[i];
        *out = sum;
        return 1;
    case OP_sum:
    case OP_mean:
    case OP_max:
        for (int64_t i = 0; i < z.n; i++) {
            sum += x[i];
            if (x[i] > most) most = x[i];
        }
        *out = s->op == OP_max ? most : s->op == OP_mean ? sum / (double)z.n : sum;
        return 1;
    case OP_matvec: /* A[m,n] or stored as [n,m] */
        product.s = (struct shape){1, z.m, 1, z.n};
        product.layout = s->layout == LAYOUT_T ? LAYOUT_TN : LAYOUT_NN;
        multiply(&product, x, y, out);
        return z.m;
    case OP_matmul:
    case OP_bmm:
        multiply(s, x, y, out);
        return z.b * z.m * z.n;
    default:
        return 0;
    }
}

/* Whether the calls give the definition's result; false after a CHECK has failed. */
static bool calls_are_right(const struct einsum *e, const struct lowering *l, const char *pattern) {
    static double tensor[EINSUM_OPERANDS + LOWERED_STEPS][ELEMENTS], want[ELEMENTS];
    const double *in[EINSUM_OPERANDS];
    int64_t made = 0;
    for (int o = 0; o < e->operands; o++) {
        in[o] = tensor[o];
        for (int64_t i = 0; i < einsum_numel(e, &e->in[o]); i++)
            tensor[o][i] = (double)(below(9) - 4);
    }
    einsum_evaluate(e, in, want);
    for (int i = 0; i < l->steps; i++)
        made = call(&l->step[i], tensor[l->step[i].in[0]], tensor[l->step[i].in[1]],
                    tensor[e->operands + i]);
    const double *got = tensor[e->operands + l->steps - 1];
    bool right =
        CHECK(made == einsum_numel(e, &e->out), "%s: %lld elements", pattern, (long long)made);
    for (int64_t i = 0; right && i < made; i++)
        right = CHECK(got[i] == want[i], "%s: element %lld: %g, not %g", pattern, (long long)i,
                      got[i], want[i]);
    return right;
}

/* ---- random products ---- */

static const char names[AXES + 1] = "abcdef";

/* Appends to a text of 128 characters. */
static void append(char *text, const char *more) {
    const size_t used = strlen(text);
    snprintf(text + used, 128 - used, "%s", more);
}

/* The axes of a mask in random order. */
static void write_axes(char *text, unsigned mask) {
    int order[AXES], count = 0;
    for (int a = 0; a < AXES; a++)
        if (mask >> a & 1) order[count++] = a;
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)below(i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = 0; i < count; i++) {
        const char word[] = {names[order[i]], ' ', '\0'};
        append(text, word);
    }
}

static void random_products(void) {
    int lowered = 0, refused = 0, seen[OP_COUNT] = {0};
    for (int i = 0; i < 20000; i++) {
        struct einsum e;
        struct einsum_sizes sizes;
        struct lowering l;
        struct complaint why;
        char pattern[128] = "", axis[AXES][2];
        unsigned x = 0, y = 0, out = 0;
        /* every axis of one operand stays, one of both may be summed */
        for (int a = 0; a < 1 + (int)below(AXES); a++) {
            const int64_t role = below(4);
            if (role != 1) x |= 1u << a;
            if (role != 0) y |= 1u << a;
            if (role != 3) out |= 1u << a;
        }
        write_axes(pattern, x);
        append(pattern, ", ");
        write_axes(pattern, y);
        append(pattern, "-> ");
        write_axes(pattern, out);
        einsum_sizes_none(&sizes);
        for (int a = 0; a < AXES; a++) {
            if (!((x | y) >> a & 1)) continue;
            axis[a][0] = names[a];
            axis[a][1] = '\0';
            sizes.name[sizes.names] = axis[a];
            sizes.size[sizes.names++] = 1 + below(3);
        }
        if (!CHECK(einsum_parse(pattern, EINSUM_PRODUCT, &e, &why) == 0 &&
                       einsum_bind(&e, &sizes, &why) == 0,
                   "%s: %s", pattern, why.text))
            continue;
        if (einsum_lower(&e, DT_fp32, &l, &why)) {
            refused++;
            CHECK(strstr(why.text, "no transpose of a matrix each") != NULL, "%s: %s", pattern,
                  why.text);
            continue;
        }
        lowered++;
        for (int s = 0; s < l.steps; s++) seen[l.step[s].op]++;
        if (!calls_are_right(&e, &l, pattern)) return;
    }
    CHECK(lowered > 10000 && refused > 100, "%d lowered, %d refused", lowered, refused);
    CHECK(seen[OP_matmul] && seen[OP_bmm] && seen[OP_matvec] && seen[OP_dot] && seen[OP_mul] &&
              seen[OP_transpose],
          "a call that was never seen");
}

/* ---- known patterns ---- */

struct known {
    const char *pattern;
    enum einsum_kind kind;
    const char *calls; /* or, after '!', what the refusal has */
};

static void text_of(const struct lowering *l, char *text) {
    *text = '\0';
    for (int i = 0; i < l->steps; i++) {
        if (i) append(text, ", ");
        append(text, ops[l->step[i].op].name);
        if (l->step[i].layout == LAYOUT_FLAT) continue;
        append(text, " ");
        append(text, layout_names[l->step[i].layout]);
    }
}

/* Axes of 2, 3, 5 and 7 by name. */
static void known_patterns(void) {
    static const struct known known[] = {
        {"a b, b c -> a c", EINSUM_PRODUCT, "matmul nn"},
        {"a b, c b -> a c", EINSUM_PRODUCT, "matmul nt"},
        {"b a, b c -> a c", EINSUM_PRODUCT, "matmul tn"},
        {"a b, b c -> c a", EINSUM_PRODUCT, "matmul nn, transpose"},
        {"d a b, d c b -> d a c", EINSUM_PRODUCT, "bmm nt"},
        {"d a b, d b c -> d c a", EINSUM_PRODUCT, "!no transpose of a matrix each"},
        {"a d b, d b c -> d a c", EINSUM_PRODUCT, "transpose, bmm tn"},
        {"a b c, c d -> a b d", EINSUM_PRODUCT, "matmul nn"},
        {"a b, b -> a", EINSUM_PRODUCT, "matvec n"},
        {"b, b a -> a", EINSUM_PRODUCT, "matvec t"},
        {"a, a ->", EINSUM_PRODUCT, "dot"},
        {"a, b -> a b", EINSUM_PRODUCT, "matmul nn"},
        {"a b, a b -> a b", EINSUM_PRODUCT, "mul"},
        {"a b, b a -> a b", EINSUM_PRODUCT, "transpose, mul"},
        {"a b -> b a", EINSUM_PRODUCT, "transpose"},
        {"a b -> a b", EINSUM_PRODUCT, "copy"},
        {"a b ->", EINSUM_PRODUCT, "sum"},
        {"a b ->", EINSUM_SUM, "sum"},
        {"a b ->", EINSUM_MEAN, "mean"},
        {"a b ->", EINSUM_MAX, "max"},
        {"a b -> (b a)", EINSUM_REARRANGE, "transpose"},
        {"a b ->", EINSUM_MIN, "!no minimum"},
        {"a b -> a", EINSUM_SUM, "!'a' must not stay"},
        {"a b -> b a", EINSUM_REARRANGE, "!a view"},
        {"a b -> (a b)", EINSUM_REARRANGE, "!a view"},
        {"a b c -> (c b a)", EINSUM_REARRANGE, "!no single transpose"},
        {"a a -> a", EINSUM_PRODUCT, "!a diagonal"},
        {"a b, b c, c d -> a d", EINSUM_PRODUCT, "!pair by pair"},
        {"a b, b d -> a", EINSUM_PRODUCT, "!'d' is in operand 2 alone"},
        {"a b c d, d -> c a", EINSUM_PRODUCT, "!'b' is in operand 1 alone"},
    };
    static const int64_t size[] = {2, 3, 5, 7};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct known *k = &known[i];
        struct einsum e;
        struct einsum_sizes sizes;
        struct lowering l;
        struct complaint why = {""};
        char text[128];
        static const char *const name[] = {"a", "b", "c", "d"};
        einsum_sizes_none(&sizes);
        for (int a = 0; a < 4; a++) {
            if (!strchr(k->pattern, *name[a])) continue;
            sizes.name[sizes.names] = name[a];
            sizes.size[sizes.names++] = size[a];
        }
        if (!CHECK(einsum_parse(k->pattern, k->kind, &e, &why) == 0 &&
                       einsum_bind(&e, &sizes, &why) == 0,
                   "%s: %s", k->pattern, why.text))
            continue;
        const int error = einsum_lower(&e, DT_fp32, &l, &why);
        text_of(&l, text);
        if (*k->calls == '!')
            CHECK(error && strstr(why.text, k->calls + 1), "%s: %s%s", k->pattern, text, why.text);
        else if (CHECK(!error && strcmp(text, k->calls) == 0, "%s: %s%s", k->pattern, text,
                       why.text))
            calls_are_right(&e, &l, k->pattern);
    }
}

static void dtypes_of_results(void) {
    const struct lowered_step product = {OP_matmul, DT_fp8_e4m3, LAYOUT_NN, {1, 2, 2, 2}, {0}, 2},
                              sum = {OP_sum, DT_bf16, LAYOUT_FLAT, {1, 1, 4, 1}, {0}, 1},
                              move = {OP_transpose, DT_fp16, LAYOUT_FLAT, {1, 2, 2, 1}, {0}, 1};
    CHECK(lowered_dtype(&product) == DT_bf16, "%d", lowered_dtype(&product));
    CHECK(lowered_dtype(&sum) == DT_fp32, "%d", lowered_dtype(&sum));
    CHECK(lowered_dtype(&move) == DT_fp16, "%d", lowered_dtype(&move));
}

static void shrinking(void) {
    struct einsum e;
    struct einsum_sizes sizes;
    struct complaint why;
    einsum_sizes_none(&sizes);
    sizes.names = 3;
    const char *const name[] = {"a", "b", "c"};
    const int64_t size[] = {1000, 3, 1};
    for (int i = 0; i < 3; i++) {
        sizes.name[i] = name[i];
        sizes.size[i] = size[i];
    }
    CHECK(einsum_parse("a b, b c -> a c", EINSUM_PRODUCT, &e, &why) == 0 &&
              einsum_bind(&e, &sizes, &why) == 0,
          "%s", why.text);
    einsum_shrink(&e, 3000);
    CHECK(e.axis[0].size == 1000, "%lld", (long long)e.axis[0].size);
    einsum_shrink(&e, 100);
    CHECK(e.axis[0].size == 31 && e.axis[1].size == 3 && e.axis[2].size == 1, "%lld %lld",
          (long long)e.axis[0].size, (long long)e.axis[1].size);
    einsum_shrink(&e, 1);
    CHECK(e.axis[0].size == 3 && e.axis[1].size == 3, "%lld %lld", (long long)e.axis[0].size,
          (long long)e.axis[1].size);
}

int main(void) {
    known_patterns();
    random_products();
    dtypes_of_results();
    shrinking();
    return test_result();
}
