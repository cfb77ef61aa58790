/* unit_account_einsum.c - random products, reductions and rearrangements against loops that know nothing of patterns; the
 * grammar's refusals; costs against the catalogue's. */
#include "test.h"

#include "../harness/account/einsum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 5, MOST = 4, ELEMENTS = 1 << 14 };

static uint64_t state = 0x2545f4914f6cdd1du;

static int64_t below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

static const char *const names[AXES] = {"batch", "s1", "h_2", "K", "z9z"};

/* A tensor as the test knows it: dimensions, each a list of axes. */
struct known {
    int dims, axes[8], axis[8][AXES];
};

/* What the test knows of a pattern; axes [0, first_of_ellipsis) have names, the others are what `...` stands for. */
struct spec {
    struct known in[MOST], out;
    int operands;
    int64_t size[AXES];
    int first_of_ellipsis;
    char pattern[512];
};

static int64_t numel(const struct spec *s, const struct known *t) {
    int64_t n = 1;
    for (int d = 0; d < t->dims; d++)
        for (int i = 0; i < t->axes[d]; i++) n *= s->size[t->axis[d][i]];
    return n;
}

/* Where an assignment of indices lies in a contiguous tensor. */
static int64_t place(const struct spec *s, const struct known *t, const int64_t *index) {
    int64_t at = 0;
    for (int d = 0; d < t->dims; d++)
        for (int i = 0; i < t->axes[d]; i++) {
            const int a = t->axis[d][i];
            at = at * s->size[a] + index[a];
        }
    return at;
}

static void add_dim(struct known *t, int axis) {
    t->axes[t->dims] = 1;
    t->axis[t->dims++][0] = axis;
}

/* Random axes of a mask; `...` as a whole at one place. */
static void random_dims(const struct spec *s, struct known *t, unsigned mask) {
    int order[AXES], count = 0;
    t->dims = 0;
    for (int a = 0; a < s->first_of_ellipsis; a++)
        if (mask >> a & 1) order[count++] = a;
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)below(i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    const bool ellipsis = s->first_of_ellipsis < AXES && mask >> s->first_of_ellipsis & 1;
    const int where = ellipsis ? (int)below(count + 1) : -1;
    for (int i = 0; i <= count; i++) {
        for (int a = s->first_of_ellipsis; i == where && a < AXES; a++) add_dim(t, a);
        if (i < count) add_dim(t, order[i]);
    }
}

static void write(char *text, const char *word) {
    const size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%s%s",
             used && text[used - 1] != '(' && text[used - 1] != ' ' && *word != ')' ? " " : "",
             word);
}

static void write_axis(const struct spec *s, int axis, char *text) {
    if (axis < s->first_of_ellipsis)
        write(text, names[axis]);
    else if (axis == s->first_of_ellipsis)
        write(text, "...");
}

static void write_tensor(const struct spec *s, const struct known *t, char *text) {
    for (int d = 0; d < t->dims; d++) {
        const bool group = t->axes[d] != 1;
        if (group) write(text, t->axes[d] == 0 && below(2) ? "1" : "(");
        const bool one = group && text[strlen(text) - 1] == '1';
        for (int i = 0; i < t->axes[d]; i++) write_axis(s, t->axis[d][i], text);
        if (group && !one) write(text, ")");
    }
}

static void random_sizes(struct spec *s, bool ellipsis) {
    *s = (struct spec){.operands = 1, .first_of_ellipsis = ellipsis ? 3 : AXES};
    for (int a = 0; a < AXES; a++) s->size[a] = below(3) + 1;
}

/* Neighbours merged into parentheses at random, and sizes of 1 put in. */
static void group_dims(const struct spec *s, struct known *t, bool may_group_ellipsis) {
    struct known to = {.dims = 0};
    bool open = false; /* the last dimension takes more */
    for (int d = 0; d < t->dims; d++) {
        const int a = t->axis[d][0], dots = a == s->first_of_ellipsis ? AXES - a : 0;
        if (a > s->first_of_ellipsis) continue; /* came with the first of `...` */
        if (to.dims < 3 && below(8) == 0) {
            to.axes[to.dims++] = 0;
            open = false;
        }
        if (dots && may_group_ellipsis && below(2)) {
            to.axes[to.dims++] = 0; /* a group of its own: "(...)" */
            open = true;
        } else if (!open || !below(2) || (dots && !may_group_ellipsis)) {
            open = !dots;
            for (int i = 1; i < dots; i++) add_dim(&to, a + i - 1);
            add_dim(&to, dots ? AXES - 1 : a);
            continue;
        }
        const int last = to.dims - 1;
        to.axis[last][to.axes[last]++] = a;
        for (int i = 1; i < dots; i++) to.axis[last][to.axes[last]++] = a + i;
    }
    *t = to;
}

/* ---- running one ---- */

static void set_sizes(const struct spec *s, struct einsum_sizes *sizes, bool by_shape) {
    einsum_sizes_none(sizes);
    for (int a = 0; a < s->first_of_ellipsis; a++) {
        bool used = false, alone = false;
        for (int i = 0; i < s->operands; i++)
            for (int d = 0; d < s->in[i].dims; d++)
                for (int k = 0; k < s->in[i].axes[d]; k++) {
                    used |= s->in[i].axis[d][k] == a;
                    alone |= s->in[i].axis[d][k] == a && s->in[i].axes[d] == 1;
                }
        if (!used || (by_shape && alone)) continue;
        sizes->name[sizes->names] = names[a];
        sizes->size[sizes->names++] = s->size[a];
    }
    bool dots = false;
    for (int i = 0; i < s->operands; i++) {
        if (by_shape) sizes->dims[i] = s->in[i].dims;
        for (int d = 0; d < s->in[i].dims; d++) {
            sizes->shape[i][d] = 1;
            for (int k = 0; k < s->in[i].axes[d]; k++) {
                sizes->shape[i][d] *= s->size[s->in[i].axis[d][k]];
                dots |= s->in[i].axis[d][k] >= s->first_of_ellipsis;
            }
        }
    }
    if (!dots || by_shape) return;
    sizes->ellipsis = AXES - s->first_of_ellipsis;
    for (int a = s->first_of_ellipsis; a < AXES; a++)
        sizes->ellipsis_size[a - s->first_of_ellipsis] = s->size[a];
}

/* Every assignment of indices to the axes that occur, by counting. */
static int64_t loop(const struct spec *s, enum einsum_kind kind, double *const in[], double *out) {
    int64_t index[AXES] = {0}, steps = 0;
    bool occurs[AXES] = {false};
    for (int i = 0; i < s->operands; i++)
        for (int d = 0; d < s->in[i].dims; d++)
            for (int k = 0; k < s->in[i].axes[d]; k++) occurs[s->in[i].axis[d][k]] = true;
    bool seen[ELEMENTS] = {false};
    for (;;) {
        double value = 1;
        for (int i = 0; i < s->operands; i++) value *= in[i][place(s, &s->in[i], index)];
        const int64_t at = place(s, &s->out, index);
        if (!seen[at])
            out[at] = value;
        else if (kind == EINSUM_MAX)
            out[at] = fmax(out[at], value);
        else if (kind == EINSUM_MIN)
            out[at] = fmin(out[at], value);
        else
            out[at] += value;
        seen[at] = true;
        steps++;
        int a = 0;
        while (a < AXES && (!occurs[a] || ++index[a] == s->size[a])) index[a++] = 0;
        if (a == AXES) break;
    }
    if (kind == EINSUM_MEAN)
        for (int64_t i = 0; i < numel(s, &s->out); i++)
            out[i] /= (double)steps / (double)numel(s, &s->out);
    return steps;
}

static double bits_of(enum dtype t) {
    static const double bits[DTYPE_COUNT] = {64, 32, 32, 16, 16, 8, 8, 4.5};
    return bits[t];
}

/* Whether the output's elements, each the place it came from, lie at constant steps along every dimension. */
static bool is_strided(const struct spec *s, const double *from) {
    double stride[8];
    int64_t size[8], inner = 1;
    for (int d = s->out.dims - 1; d >= 0; d--) {
        size[d] = 1;
        for (int i = 0; i < s->out.axes[d]; i++) size[d] *= s->size[s->out.axis[d][i]];
        stride[d] = size[d] > 1 ? from[inner] - from[0] : 0;
        inner *= size[d];
    }
    for (int64_t k = 0; k < inner; k++) {
        double at = from[0];
        int64_t rest = k;
        for (int d = s->out.dims - 1; d >= 0; d--) {
            at += (double)(rest % size[d]) * stride[d];
            rest /= size[d];
        }
        if (at != from[k]) return false;
    }
    return true;
}

static void run(const struct spec *s, enum einsum_kind kind) {
    static double in[MOST][ELEMENTS], out[ELEMENTS], want[ELEMENTS];
    double *const ins[MOST] = {in[0], in[1], in[2], in[3]};
    const double *const inputs[MOST] = {in[0], in[1], in[2], in[3]};
    struct einsum e;
    struct einsum_sizes sizes;
    struct einsum_cost cost;
    struct complaint why = {""};
    const enum dtype t = (enum dtype)below(DTYPE_COUNT);
    set_sizes(s, &sizes, below(2));
    if (!CHECK(einsum_parse(s->pattern, kind, &e, &why) == 0, "%s", why.text) ||
        !CHECK(einsum_bind(&e, &sizes, &why) == 0, "'%s': %s", s->pattern, why.text) ||
        !CHECK(einsum_cost(&e, t, &cost, &why) == 0, "'%s': %s", s->pattern, why.text))
        return;
    double bytes = 0;
    for (int i = 0; i < s->operands; i++) {
        const int64_t n = numel(s, &s->in[i]);
        CHECK(einsum_numel(&e, &e.in[i]) == n, "'%s': operand %d", s->pattern, i);
        for (int64_t k = 0; k < n; k++) in[i][k] = (double)(below(7) - 3);
        bytes += ceil((double)n * bits_of(t) / 8);
    }
    const int64_t outputs = numel(s, &s->out);
    if (!CHECK(einsum_numel(&e, &e.out) == outputs, "'%s': %lld outputs", s->pattern,
               (long long)einsum_numel(&e, &e.out)))
        return;
    if (!CHECK(e.out.dims == s->out.dims, "'%s': %d dimensions", s->pattern, e.out.dims)) return;
    const int64_t steps = loop(s, kind, ins, want);
    einsum_evaluate(&e, inputs, out);
    int64_t differ = 0;
    for (int64_t k = 0; k < outputs; k++) differ += !(out[k] == want[k]);
    CHECK(differ == 0, "'%s': %lld other values", s->pattern, (long long)differ);
    CHECK(cost.steps == steps, "'%s': %lld steps, not %lld", s->pattern, (long long)cost.steps,
          (long long)steps);
    if (s->operands == 2)
        CHECK(cost.flops == 2 * (double)steps, "'%s': %g FLOPs", s->pattern, cost.flops);
    if (s->operands == 1) {
        const double sums = steps > outputs ? (double)steps : 0;
        CHECK(cost.flops == sums + (kind == EINSUM_MEAN && sums > 0 ? (double)outputs : 0),
              "'%s': %g FLOPs", s->pattern, cost.flops);
    }
    const bool narrow = t == DT_fp8_e4m3 || t == DT_fp8_e5m2 || t == DT_nvfp4;
    const double out_bits = s->operands < 2 ? bits_of(t)
                            : narrow        ? 16
                            : t == DT_tf32  ? 32
                                            : bits_of(t);
    bytes += ceil((double)outputs * out_bits / 8);
    CHECK((double)cost.bytes == (cost.view ? 0 : bytes), "'%s' of %s: %lld bytes, not %g",
          s->pattern, dtypes[t].name, (long long)cost.bytes, bytes);
    if (kind != EINSUM_REARRANGE) {
        CHECK(!cost.view, "'%s': only rearrangements are views", s->pattern);
        return;
    }
    for (int64_t k = 0; k < numel(s, &s->in[0]); k++) in[0][k] = (double)k;
    einsum_evaluate(&e, inputs, out);
    CHECK(cost.view == is_strided(s, out), "'%s': %s view", s->pattern, cost.view ? "a" : "no");
}

static void products(void) {
    for (int trial = 0; trial < 20000; trial++) {
        struct spec s;
        random_sizes(&s, below(3) == 0);
        s.operands = (int)below(MOST) + 1;
        unsigned all = 0;
        for (int i = 0; i < s.operands; i++) {
            const unsigned mask = (unsigned)below(1 << AXES);
            random_dims(&s, &s.in[i], mask);
            all |= mask;
            if (below(6) == 0 && s.in[i].dims > 0 && s.in[i].axis[0][0] < s.first_of_ellipsis)
                add_dim(&s.in[i], s.in[i].axis[0][0]); /* a diagonal */
            char text[256] = "";
            write_tensor(&s, &s.in[i], text);
            const size_t used = strlen(s.pattern);
            snprintf(s.pattern + used, sizeof s.pattern - used, "%s%s", i ? ", " : "", text);
        }
        random_dims(&s, &s.out, all & (unsigned)below(1 << AXES));
        char text[256] = "";
        write_tensor(&s, &s.out, text);
        const size_t used = strlen(s.pattern);
        snprintf(s.pattern + used, sizeof s.pattern - used, " -> %s", text);
        run(&s, EINSUM_PRODUCT);
    }
}

static void reductions_and_rearrangements(void) {
    static const enum einsum_kind kinds[] = {EINSUM_REARRANGE, EINSUM_SUM, EINSUM_MEAN, EINSUM_MAX,
                                             EINSUM_MIN};
    for (int trial = 0; trial < 20000; trial++) {
        struct spec s;
        const enum einsum_kind kind = kinds[below(5)];
        random_sizes(&s, below(2));
        const unsigned mask = (unsigned)below(1 << AXES);
        random_dims(&s, &s.in[0], mask);
        random_dims(&s, &s.out,
                    kind == EINSUM_REARRANGE ? mask : mask & (unsigned)below(1 << AXES));
        group_dims(&s, &s.in[0], false);
        group_dims(&s, &s.out, true);
        char text[256] = "";
        write_tensor(&s, &s.in[0], text);
        snprintf(s.pattern, sizeof s.pattern, "%s->", text);
        text[0] = '\0';
        write_tensor(&s, &s.out, text);
        const size_t used = strlen(s.pattern);
        snprintf(s.pattern + used, sizeof s.pattern - used, "%s", text);
        run(&s, kind);
    }
}

/* ---- the grammar ---- */

static void grammar(void) {
    static const struct {
        enum einsum_kind kind;
        const char *pattern, *want; /* NULL: accepted */
    } patterns[] = {
        {EINSUM_PRODUCT, "batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2", NULL},
        {EINSUM_PRODUCT, "i i ->", NULL},
        {EINSUM_PRODUCT, "i,j->i j", NULL},
        {EINSUM_PRODUCT, " , a -> a", NULL},
        {EINSUM_PRODUCT, "... _ , _ -> ... _", NULL},
        {EINSUM_PRODUCT, "a b", "no '->'"},
        {EINSUM_PRODUCT, "a -> b -> c", "twice"},
        {EINSUM_PRODUCT, "a -> b", "'b' is on the right"},
        {EINSUM_PRODUCT, "a, b -> a a", "'a' is twice"},
        {EINSUM_PRODUCT, "a b -> (a b)", "no parentheses"},
        {EINSUM_PRODUCT, "(a b) -> a", "no parentheses"},
        {EINSUM_PRODUCT, "a 1 -> a", "size 1"},
        {EINSUM_PRODUCT, "a 2 -> a", "no numbered"},
        {EINSUM_PRODUCT, "a () -> a", "no parentheses"},
        {EINSUM_PRODUCT, "a -> ...", "right side only"},
        {EINSUM_PRODUCT, "... a ... -> a", "twice in one"},
        {EINSUM_PRODUCT, ". a -> a", "unknown character '.'"},
        {EINSUM_PRODUCT, ".. a -> a", "unknown character '.'"},
        {EINSUM_PRODUCT, ".... a -> a", "stands alone"},
        {EINSUM_PRODUCT, "a... -> a", "stands alone"},
        {EINSUM_PRODUCT, "_a -> _a", "is no name"},
        {EINSUM_PRODUCT, "a_ -> a_", "is no name"},
        {EINSUM_PRODUCT, "1a -> 1a", "is no name"},
        {EINSUM_PRODUCT, "a\tb -> a", "unknown character '?'"},
        {EINSUM_PRODUCT, "a-b -> a", "unknown character '-'"},
        {EINSUM_PRODUCT, "\xc3\xa9 b -> b", "byte 0xc3"},
        {EINSUM_PRODUCT, "a,a,a,a,a,a,a,a,a -> a", "more than 8 operands"},
        {EINSUM_PRODUCT, "a b c d e f g h i j k l m n o p q -> a", "more than 16 dimensions"},
        {EINSUM_PRODUCT, "abcdefghijklmnopqrstuvwxyzabcdefgh -> a", "at most 31 characters"},
        {EINSUM_REARRANGE, "b (h d) ... -> b ... h d 1", NULL},
        {EINSUM_REARRANGE, "b () (1 h) -> (b 1) h", NULL},
        {EINSUM_REARRANGE, "b ... -> (b ...)", NULL},
        {EINSUM_REARRANGE, "->", NULL},
        {EINSUM_REARRANGE, "a ... -> a (...)", NULL},
        {EINSUM_REARRANGE, "(...) -> ...", "within parentheses on the left"},
        {EINSUM_REARRANGE, "a  b->b   a", NULL},
        {EINSUM_REARRANGE, "a1 b_c -> b_c a1", NULL},
        {EINSUM_REARRANGE, "a b -> a a b", "'a' is twice on one side"},
        {EINSUM_REARRANGE, "a .. b -> b a", "unknown character '.'"},
        {EINSUM_REARRANGE, "a b - > b a", "no '->'"},
        {EINSUM_REARRANGE, "a b -> a (b 2)", "only 1"},
        {EINSUM_REARRANGE, "a -> a ...", "'...' is on the right side only"},
        {EINSUM_REARRANGE, "a a -> a", "'a' is twice on one side"},
        {EINSUM_REARRANGE, "a (b a) -> a b", "'a' is twice on one side"},
        {EINSUM_REARRANGE, "a b -> a", "'b' is on the left side only"},
        {EINSUM_REARRANGE, "a -> a b", "'b' is on the right side only"},
        {EINSUM_REARRANGE, "a ... -> a", "'...' is on the left side only"},
        {EINSUM_REARRANGE, "a (...) -> a ...", "within parentheses on the left"},
        {EINSUM_REARRANGE, "a 2 -> a 2", "only 1"},
        {EINSUM_REARRANGE, "(a (b)) -> a b", "within parentheses"},
        {EINSUM_REARRANGE, "(a b -> a b", "'(' without ')'"},
        {EINSUM_REARRANGE, "a b) -> a b", "')' without '('"},
        {EINSUM_REARRANGE, "a, b -> a b", "unknown character ','"},
        {EINSUM_REARRANGE, "_ -> _", "is no name"},
        {EINSUM_SUM, "b (h 2) (w 2) -> b h w", NULL},
        {EINSUM_MEAN, "b ... ->", NULL},
        {EINSUM_MAX, "b c -> b 1", NULL},
        {EINSUM_SUM, "b c -> b 2", "right side only"},
        {EINSUM_SUM, "b 0 -> b", "2 or more"},
        {EINSUM_SUM, "b 01 -> b", "2 or more"},
        {EINSUM_SUM, "b 99999999999999999999 -> b", "2 or more"},
        {EINSUM_MIN, "b c -> d", "'d' is on the right"},
        {EINSUM_MIN, "b c -> b b", "twice"},
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct einsum e;
        struct complaint why = {""};
        const bool refused = einsum_parse(patterns[i].pattern, patterns[i].kind, &e, &why) != 0;
        CHECK(refused == (patterns[i].want != NULL), "'%s': %s", patterns[i].pattern, why.text);
        if (refused && patterns[i].want)
            CHECK(strstr(why.text, patterns[i].want) && !strchr(why.text, '\n'),
                  "'%s' does not say '%s'", why.text, patterns[i].want);
    }
}

static void bind_one(const char *pattern, enum einsum_kind kind, const struct einsum_sizes *s,
                     const char *want) {
    struct einsum e;
    struct complaint why = {""};
    CHECK(einsum_parse(pattern, kind, &e, &why) == 0, "%s", why.text);
    const bool refused = einsum_bind(&e, s, &why) != 0;
    CHECK(refused == (want != NULL), "'%s': %s", pattern, why.text);
    if (refused && want)
        CHECK(strstr(why.text, want) != NULL, "'%s' does not say '%s'", why.text, want);
}

static void sizes(void) {
    struct einsum_sizes s;
    einsum_sizes_none(&s);
    bind_one("a b -> a", EINSUM_PRODUCT, &s, "size of 'a' is not known");
    s.dims[0] = 2;
    s.shape[0][0] = 4;
    s.shape[0][1] = 6;
    bind_one("a b -> a", EINSUM_PRODUCT, &s, NULL);
    bind_one("a -> a", EINSUM_PRODUCT, &s, "has 2 dimensions, not 1");
    bind_one("a a -> a", EINSUM_PRODUCT, &s, "a dimension of 6, not of 4");
    bind_one("... b -> b", EINSUM_PRODUCT, &s, NULL);
    bind_one("... a b c -> a", EINSUM_PRODUCT, &s, "has 2 dimensions, not 3 or more");
    bind_one("a (b c) -> a b c", EINSUM_REARRANGE, &s, "do not follow from 6");
    bind_one("a (b 1) -> a b", EINSUM_REARRANGE, &s, NULL);
    bind_one("a (b 4) -> a b", EINSUM_SUM, &s, "6 cannot be divided into parts of 4");
    s.names = 1;
    s.name[0] = "c";
    s.size[0] = 3;
    bind_one("a (b c) -> a b c", EINSUM_REARRANGE, &s, NULL);
    bind_one("a b -> a", EINSUM_PRODUCT, &s, "'c' is no dimension");
    s.name[0] = "b";
    bind_one("a b -> a", EINSUM_PRODUCT, &s, "a dimension of 6, not of 3");
    einsum_sizes_none(&s);
    bind_one("... -> ...", EINSUM_PRODUCT, &s, "what '...' stands for");
    s.ellipsis = 1;
    s.ellipsis_size[0] = 5;
    bind_one("... -> ...", EINSUM_PRODUCT, &s, NULL);
    bind_one("->", EINSUM_PRODUCT, &s, "no '...' in the pattern");
    einsum_sizes_none(&s);
    s.dims[1] = 0;
    bind_one("->", EINSUM_PRODUCT, &s, "a shape for operand 2 of 1");
    einsum_sizes_none(&s);
    s.names = 2;
    s.name[0] = "a";
    s.name[1] = "b";
    s.size[0] = s.size[1] = (int64_t)1 << 31;
    bind_one("a b -> a", EINSUM_PRODUCT, &s, "more than 2^62");
    bind_one("a, b -> a b", EINSUM_PRODUCT, &s, "more than 2^62");
}

/* The lecture's and the catalogue's costs. */
static void costs(void) {
    struct einsum e;
    struct einsum_sizes s;
    struct einsum_cost cost = {.steps = 0};
    struct complaint why;
    einsum_sizes_none(&s);
    s.names = 3;
    s.name[0] = "m";
    s.name[1] = "k";
    s.name[2] = "n";
    for (int i = 0; i < DTYPE_COUNT; i++) {
        const enum dtype t = (enum dtype)i;
        const struct args problem = {.s = {1, 48, 80, 112}, .alpha = 1, .layout = LAYOUT_NN};
        s.size[0] = problem.s.m;
        s.size[1] = problem.s.k;
        s.size[2] = problem.s.n;
        einsum_parse("m k, k n -> m n", EINSUM_PRODUCT, &e, &why);
        if (!CHECK(einsum_bind(&e, &s, &why) == 0 && einsum_cost(&e, t, &cost, &why) == 0, "%s",
                   why.text))
            continue;
        CHECK(cost.flops == ops[OP_matmul].flops(problem.s), "FLOPs of matmul");
        /* the catalogue counts nvfp4's tensor scale and padding too */
        const double slack = t == DT_nvfp4 ? 16 : 0;
        CHECK(fabs((double)cost.bytes - op_bytes(&ops[OP_matmul], t, &problem)) <= slack,
              "bytes of matmul in %s: %lld, not %g", dtypes[t].name, (long long)cost.bytes,
              op_bytes(&ops[OP_matmul], t, &problem));
    }
    s.size[0] = 16384;
    s.size[1] = 32768;
    s.size[2] = 8192;
    einsum_parse("m k, k n -> m n", EINSUM_PRODUCT, &e, &why);
    CHECK(einsum_bind(&e, &s, &why) == 0 && einsum_cost(&e, DT_bf16, &cost, &why) == 0, "%s",
          why.text);
    CHECK(cost.flops == 8796093022208.0, "%g FLOPs", cost.flops);
    /* three operands from the left: m k n, then m n j */
    s.names = 4;
    s.name[3] = "j";
    s.size[0] = 2;
    s.size[1] = 3;
    s.size[2] = 5;
    s.size[3] = 7;
    einsum_parse("m k, k n, n j -> m j", EINSUM_PRODUCT, &e, &why);
    CHECK(einsum_bind(&e, &s, &why) == 0 && einsum_cost(&e, DT_bf16, &cost, &why) == 0, "%s",
          why.text);
    CHECK(cost.flops == 2 * 2 * 3 * 5 + 2 * 2 * 5 * 7, "%g FLOPs", cost.flops);
}

int main(void) {
    grammar();
    sizes();
    costs();
    products();
    reductions_and_rearrangements();
    return test_result();
}
