/* unit_account_lower.c - random patterns lowered to calls: the calls, as plain loops that round what they store, must give what
 * the definition gives, to the last bit or within the bound that the plan tells. Sequences of transposes and orders of products
 * are compared with searches of all there are. */
#include "test.h"

#include "../harness/account/einsum_lower.h"
#include "../harness/account/einsum_permute.h"

#include "../kernels/numerics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 6, ELEMENTS = 1 << 14, LARGEST = 4 };

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

/* One call. Elements written; 0: no call that lowering may give. */
static int64_t call(const struct lowered_step *s, const double *x, const double *y, double *out) {
    struct lowered_step product = *s;
    const struct shape z = s->s;
    double sum = 0, most = -INFINITY;
    switch (s->op) {
    case OP_transpose:
        for (int64_t i = 0; i < z.n; i++)
            for (int64_t j = 0; j < z.m; j++) out[i * z.m + j] = x[j * z.n + i];
        return z.m * z.n;
    case OP_copy:
    case OP_cast_to_fp32:
    case OP_cast_from_fp32:
        memcpy(out, x, (size_t)z.n * sizeof *out);
        return z.n;
    case OP_fill:
    case OP_scale:
        for (int64_t i = 0; i < z.n; i++) out[i] = s->op == OP_fill ? s->alpha : s->alpha * x[i];
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
            most = fmax(most, x[i]);
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

/* All calls of a step, the results rounded to what they are stored in. Elements written. */
static int64_t run_step(const struct lowered_step *s, const double *x, const double *y,
                        double *out) {
    int64_t made = 0;
    for (int64_t c = 0; c < s->calls; c++) made += call(s, x + c * s->apart, y, out + made);
    for (int64_t i = 0; i < made; i++)
        out[i] = (double)value_round(lowered_dtype(s), (long double)out[i]);
    return made;
}

/* Every step must read what there is, in the dtype that it is stored in; false after a CHECK has failed. */
static bool is_consistent(const struct einsum *e, enum dtype t, const struct lowering *l,
                          const char *pattern) {
    int64_t elements[LOWERED_TENSORS];
    enum dtype stored[LOWERED_TENSORS];
    for (int o = 0; o < e->operands; o++) {
        elements[o] = einsum_numel(e, &e->in[o]);
        stored[o] = lowered_storage(t);
    }
    for (int i = 0; i < l->steps; i++) {
        const struct lowered_step *s = &l->step[i];
        const struct op *op = &ops[s->op];
        const int to = e->operands + i;
        if (!CHECK(!op_refuses_dtype(op, s->dtype) && op->layouts >> s->layout & 1 && s->calls > 0,
                   "%s: step %d: %s in %s", pattern, i, op->name, dtypes[s->dtype].name))
            return false;
        elements[to] = lowered_elements(s);
        stored[to] = lowered_dtype(s);
        for (int o = 0; o < s->ins; o++) {
            const int64_t each = operand_elements(&op->operand[o], s->s);
            const int64_t last = (s->calls - 1) * s->apart + each;
            if (!CHECK(s->in[o] < to && last <= elements[s->in[o]] &&
                           lowered_storage(operand_dtype(&op->operand[o], s->dtype)) ==
                               stored[s->in[o]],
                       "%s: step %d: %s of tensor %d", pattern, i, op->name, s->in[o]))
                return false;
        }
        if (!CHECK(s->ins <= 1 || s->calls == 1, "%s: step %d", pattern, i)) return false;
    }
    return true;
}

/* Whether the calls give the definition's result; false after a CHECK has failed. */
static bool calls_are_right(const struct einsum *e, enum dtype t, const struct lowering *l,
                            const char *pattern) {
    static double tensor[LOWERED_TENSORS][ELEMENTS], want[ELEMENTS], terms[ELEMENTS];
    static double magnitude[EINSUM_OPERANDS][ELEMENTS];
    const double *in[EINSUM_OPERANDS], *magnitudes[EINSUM_OPERANDS];
    int64_t made = 0;
    if (!is_consistent(e, t, l, pattern)) return false;
    for (int o = 0; o < e->operands; o++) {
        in[o] = tensor[o];
        magnitudes[o] = magnitude[o];
        for (int64_t i = 0; i < einsum_numel(e, &e->in[o]); i++) {
            tensor[o][i] = (double)(below(2 * LARGEST + 1) - LARGEST);
            magnitude[o][i] = fabs(tensor[o][i]);
        }
    }
    einsum_evaluate(e, in, want);
    einsum_evaluate(e, magnitudes, terms);
    for (int i = 0; i < l->steps; i++) {
        const struct lowered_step *s = &l->step[i];
        const int to = e->operands + i;
        if (!CHECK(lowered_elements(s) <= ELEMENTS, "%s: too large to look", pattern)) return false;
        made = run_step(s, tensor[s->in[0]], tensor[s->in[1]], tensor[to]);
        if (!CHECK(made == lowered_elements(s), "%s: step %d: %lld elements", pattern, i,
                   (long long)made))
            return false;
    }
    const int last = e->operands + l->steps - 1;
    const double *got = tensor[last];
    const enum dtype stored = lowered_dtype(&l->step[l->steps - 1]);
    const struct lowered_error error = lowering_error(l, e->operands, LARGEST);
    bool right =
        CHECK(made == einsum_numel(e, &e->out), "%s: %lld elements", pattern, (long long)made);
    for (int64_t i = 0; right && i < made; i++) {
        const double slack =
            error.terms * (1 + error.result) * terms[i] + error.result * fabs(want[i]);
        right = error.exact
                    ? CHECK(got[i] == (double)value_round(stored, (long double)want[i]),
                            "%s: element %lld: %g, not %g", pattern, (long long)i, got[i], want[i])
                    : CHECK(fabs(got[i] - want[i]) <= slack, "%s: element %lld: %g, not %g +- %g",
                            pattern, (long long)i, got[i], want[i], slack);
    }
    return right;
}

/* ---- random patterns ---- */

static const char names[AXES + 1] = "abcdef";

/* Appends to a text of 128 characters. */
static void append(char *text, const char *more) {
    const size_t used = strlen(text);
    snprintf(text + used, 128 - used, "%s", more);
}

static void shuffle(int *list, int count) {
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)below(i + 1), swap = list[i];
        list[i] = list[j];
        list[j] = swap;
    }
}

/* The axes of a mask in random order; an axis of `twice` two times. */
static void write_axes(char *text, unsigned mask, unsigned twice) {
    int order[2 * AXES], count = 0;
    for (int a = 0; a < AXES; a++) {
        if (mask >> a & 1) order[count++] = a;
        if (mask >> a & twice >> a & 1) order[count++] = a;
    }
    shuffle(order, count);
    for (int i = 0; i < count; i++) {
        const char word[] = {names[order[i]], ' ', '\0'};
        append(text, word);
    }
}

/* Sizes for those of the six axes that a pattern has; false after a CHECK has failed. */
static bool bind(const char *pattern, enum einsum_kind kind, const int64_t *size,
                 struct einsum *e) {
    static char name[AXES][2];
    struct einsum_sizes sizes;
    struct complaint why = {""};
    einsum_sizes_none(&sizes);
    for (int a = 0; a < AXES; a++) {
        name[a][0] = names[a];
        if (!strchr(pattern, names[a])) continue;
        sizes.name[sizes.names] = name[a];
        sizes.size[sizes.names++] = size[a];
    }
    return CHECK(einsum_parse(pattern, kind, e, &why) == 0 && einsum_bind(e, &sizes, &why) == 0,
                 "%s: %s", pattern, why.text);
}

/* The pattern at these sizes, and a smaller one that goes the same way. */
static bool one_is_right(const struct einsum *e, enum dtype t, const char *pattern, int *seen) {
    struct lowering l, of_small;
    struct complaint why = {""};
    struct einsum small = *e;
    if (!CHECK(einsum_lower(e, e, t, &l, &why) == 0, "%s: %s", pattern, why.text)) return false;
    for (int s = 0; s < l.steps; s++) seen[l.step[s].op]++;
    if (!calls_are_right(e, t, &l, pattern)) return false;
    einsum_shrink(&small, 8);
    if (!CHECK(einsum_lower(&small, e, t, &of_small, &why) == 0, "%s: %s", pattern, why.text))
        return false;
    bool same = CHECK(of_small.steps == l.steps, "%s: %d steps", pattern, of_small.steps);
    for (int s = 0; same && s < l.steps; s++) {
        const struct lowered_step *x = &l.step[s], *y = &of_small.step[s];
        same = CHECK(x->op == y->op && x->dtype == y->dtype && x->layout == y->layout &&
                         x->in[0] == y->in[0] && x->in[1] == y->in[1],
                     "%s: step %d is another one", pattern, s);
    }
    return same && calls_are_right(&small, t, &of_small, pattern);
}

static enum dtype random_dtype(void) {
    static const enum dtype t[] = {DT_fp64,     DT_fp32,     DT_fp16, DT_bf16,
                                   DT_fp8_e4m3, DT_fp8_e5m2, DT_tf32};
    return t[below(sizeof t / sizeof *t)];
}

/* Products of one to four operands; axes of one operand alone are summed or not, some are there twice. */
static void random_products(void) {
    int seen[OP_COUNT] = {0};
    for (int i = 0; i < 20000; i++) {
        struct einsum e;
        char pattern[128] = "";
        const int operands = 1 + (int)below(4), axes = (int)below(AXES + 1);
        unsigned all = 0, out = 0;
        int64_t size[AXES], elements = 1;
        for (int o = 0; o < operands; o++) {
            const unsigned mask = (unsigned)below(1 << axes),
                           twice = below(4) ? 0 : 1u << below(AXES);
            if (o) append(pattern, ", ");
            write_axes(pattern, mask, twice);
            all |= mask;
        }
        out = all & (unsigned)below(1 << AXES);
        append(pattern, "-> ");
        write_axes(pattern, out, 0);
        for (int a = 0; a < AXES; a++) elements *= size[a] = 1 + below(a % 2 ? 3 : 5);
        if (elements > ELEMENTS / 25) continue;
        if (!bind(pattern, EINSUM_PRODUCT, size, &e) ||
            !one_is_right(&e, random_dtype(), pattern, seen))
            return;
    }
    CHECK(seen[OP_matmul] && seen[OP_bmm] && seen[OP_matvec] && seen[OP_dot] && seen[OP_mul] &&
              seen[OP_transpose] && seen[OP_sum] && seen[OP_fill] && seen[OP_copy] &&
              seen[OP_cast_to_fp32] && seen[OP_cast_from_fp32],
          "a call that was never seen");
}

/* Sums, means, maxima and minima of any axes in any place, and rearrangements of all. */
static void random_reductions(void) {
    static const enum einsum_kind kinds[] = {EINSUM_SUM, EINSUM_MEAN, EINSUM_MAX, EINSUM_MIN,
                                             EINSUM_REARRANGE};
    int seen[OP_COUNT] = {0}, views = 0;
    for (int i = 0; i < 10000; i++) {
        const enum einsum_kind kind = kinds[below(5)];
        struct einsum e;
        struct einsum_cost cost;
        struct complaint why = {""};
        char pattern[128] = "";
        const unsigned in = (unsigned)below(1 << AXES),
                       out = kind == EINSUM_REARRANGE ? in : in & (unsigned)below(1 << AXES);
        int64_t size[AXES];
        for (int a = 0; a < AXES; a++) size[a] = 1 + below(a % 2 ? 3 : 5);
        write_axes(pattern, in, 0);
        append(pattern, "-> (");
        write_axes(pattern, out, 0);
        append(pattern, ")");
        if (!bind(pattern, kind, size, &e) ||
            !CHECK(einsum_cost(&e, DT_fp32, &cost, &why) == 0, "%s", why.text))
            return;
        views += cost.view;
        if (!cost.view && !one_is_right(&e, random_dtype(), pattern, seen)) return;
    }
    CHECK(seen[OP_max] && seen[OP_mean] && seen[OP_scale] && seen[OP_sum] && seen[OP_matvec] &&
              seen[OP_transpose] && views,
          "a call that was never seen");
}

/* ---- sequences of transposes ---- */

/* The fewest rotations from 0 1 2 ... n - 1 to every order, found from there; orders are numbers to the base of 8. */
static int distances(int n, int *distance) {
    static int queue[5040];
    int head = 0, tail = 0, start = 0, farthest = 0;
    for (int i = 0; i < n; i++) start |= i << 3 * i;
    for (int i = 0; i < 1 << 3 * n; i++) distance[i] = -1;
    distance[start] = 0;
    for (queue[tail++] = start; head < tail; head++)
        for (int first = 0; first < n - 1; first++)
            for (int middle = first + 1; middle < n; middle++) {
                int turned = queue[head] & ((1 << 3 * first) - 1);
                for (int i = first; i < n; i++) {
                    const int from = i < first + n - middle ? i + middle - first : i - (n - middle);
                    turned |= (queue[head] >> 3 * from & 7) << 3 * i;
                }
                if (distance[turned] >= 0) continue;
                distance[turned] = distance[queue[head]] + 1;
                farthest = distance[turned];
                queue[tail++] = turned;
            }
    return farthest;
}

static void rotations(void) {
    static int distance[1 << 3 * PERMUTED_EXACTLY];
    struct einsum e = {.axes = EINSUM_AXES};
    for (int a = 0; a < EINSUM_AXES; a++) e.axis[a].size = 2;
    for (int n = 1; n <= PERMUTED_EXACTLY; n++) {
        distances(n, distance);
        for (int i = 0; i < 300; i++) {
            struct axes from = {.count = n}, to = {.count = n};
            int index = 0;
            for (int k = 0; k < n; k++) from.axis[k] = to.axis[k] = k;
            shuffle(to.axis, n);
            for (int k = 0; k < n; k++) index |= to.axis[k] << 3 * k;
            CHECK(axes_rotations(&e, &from, &to) == distance[index], "%d axes: %d, not %d", n,
                  axes_rotations(&e, &from, &to), distance[index]);
        }
    }
    /* many: it ends, and says right how many it takes */
    for (int i = 0; i < 300; i++) {
        const int n = 1 + (int)below(EINSUM_AXES);
        struct axes from = {.count = n}, to = {.count = n};
        struct rotation r;
        for (int k = 0; k < n; k++) from.axis[k] = to.axis[k] = k;
        shuffle(to.axis, n);
        const int said = axes_rotations(&e, &from, &to);
        int taken = 0;
        while (taken < n && axes_next_rotation(&e, &from, &to, &r)) {
            axes_rotate(&from, r);
            taken++;
        }
        CHECK(taken == said && taken < n &&
                  memcmp(from.axis, to.axis, (size_t)n * sizeof *to.axis) == 0,
              "%d axes: %d rotations, %d were said", n, taken, said);
    }
    /* of two rotations each way, the one with fewer transposes: a b c -> c b a as (a b)(c), then b of each c */
    const struct axes from = {3, {0, 1, 2}}, to = {3, {2, 1, 0}};
    struct rotation r;
    e.axis[0].size = 100;
    CHECK(axes_next_rotation(&e, &from, &to, &r) == 2 && r.first == 0 && r.middle == 2, "%d %d",
          r.first, r.middle);
}

/* ---- orders of products ---- */

/* The fewest FLOPs of all ways to go on from these sets of axes, pair by pair. */
static double fewest(const int64_t *size, unsigned *tensor, int tensors, unsigned out) {
    double best = INFINITY;
    if (tensors == 1) return 0;
    for (int x = 0; x < tensors; x++)
        for (int y = x + 1; y < tensors; y++) {
            unsigned rest[EINSUM_OPERANDS], others = out;
            int count = 0;
            double flops = 2;
            for (int i = 0; i < tensors; i++)
                if (i != x && i != y) others |= rest[count++] = tensor[i];
            for (int a = 0; a < AXES; a++)
                if ((tensor[x] | tensor[y]) >> a & 1) flops *= (double)size[a];
            rest[count++] = (tensor[x] | tensor[y]) & others;
            best = fmin(best, flops + fewest(size, rest, count, out));
        }
    return best;
}

static void orders(void) {
    for (int i = 0; i < 300; i++) {
        struct einsum e;
        struct einsum_order o;
        char pattern[128] = "";
        const int operands = 3 + (int)below(3);
        unsigned mask[EINSUM_OPERANDS], all = 0;
        int64_t size[AXES];
        double first = 0;
        for (int a = 0; a < AXES; a++) size[a] = 1 + below(9);
        for (int k = 0; k < operands; k++) {
            if (k) append(pattern, ", ");
            mask[k] = (unsigned)below(1 << AXES);
            write_axes(pattern, mask[k], 0);
            all |= mask[k];
        }
        const unsigned out = all & (unsigned)below(1 << AXES);
        append(pattern, "-> ");
        write_axes(pattern, out, 0);
        if (!bind(pattern, EINSUM_PRODUCT, size, &e)) return;
        /* what one operand alone has is summed first */
        for (int k = 0; k < operands; k++) {
            unsigned others = out;
            double elements = 1, left = 1;
            for (int j = 0; j < operands; j++)
                if (j != k) others |= mask[j];
            for (int a = 0; a < AXES; a++) {
                if (mask[k] >> a & 1) elements *= (double)size[a];
                if (mask[k] >> a & others >> a & 1) left *= (double)size[a];
            }
            if (elements > left) first += elements;
            mask[k] &= others;
        }
        einsum_find_order(&e, &o);
        const double want = first + fewest(size, mask, operands, out);
        CHECK(o.flops == want && o.pairs == operands - 1, "%s: %g FLOPs, not %g", pattern, o.flops,
              want);
    }
}

struct known_order {
    const char *pattern, *order;
    double flops, one_loop;
};

/* Axes of 2, 3, 5, 7, 11 and 13 by name. */
static void known_orders(void) {
    static const struct known_order known[] = {
        {"a b, b c, c d -> a d", "(1 2) 3", 2 * 30 + 2 * 70, 3 * 210},
        {"c d, b c, a b -> a d", "1 (2 3)", 2 * 30 + 2 * 70, 3 * 210},
        {"a b, b, b -> a", "1 (2 3)", 2 * 3 + 2 * 6, 3 * 6},
        {"a f, f, a c, c -> a", "", 2 * 26 + 2 * 10 + 2 * 2, 4 * 130},
        {"a d, b d, b -> a b", "(1 2) 3", 2 * 42 + 2 * 6, 3 * 42},
        {"a b, b d, a -> a", "", 21 + 2 * 6 + 2 * 2, 3 * 42},
    };
    static const int64_t size[AXES] = {2, 3, 5, 7, 11, 13};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct einsum e;
        struct einsum_order o;
        char text[64];
        if (!bind(known[i].pattern, EINSUM_PRODUCT, size, &e)) continue;
        einsum_find_order(&e, &o);
        einsum_order_text(&e, &o, text, sizeof text);
        CHECK(o.flops == known[i].flops && o.one_loop == known[i].one_loop, "%s: %s: %g of %g",
              known[i].pattern, text, o.flops, o.one_loop);
        CHECK(!*known[i].order || strcmp(text, known[i].order) == 0, "%s: %s", known[i].pattern,
              text);
    }
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
        const struct lowered_step *s = &l->step[i];
        char times[24];
        snprintf(times, sizeof times, "%lld ", (long long)s->calls);
        if (i) append(text, ", ");
        if (s->calls > 1) append(text, times);
        append(text, ops[s->op].name);
        if (s->layout == LAYOUT_FLAT) continue;
        append(text, " ");
        append(text, layout_names[s->layout]);
    }
}

/* Axes of 2, 3, 5, 7, 11 and 13 by name. */
static void known_patterns(void) {
    static const struct known known[] = {
        {"a b, b c -> a c", EINSUM_PRODUCT, "matmul nn"},
        {"a b, c b -> a c", EINSUM_PRODUCT, "matmul nt"},
        {"b a, b c -> a c", EINSUM_PRODUCT, "matmul tn"},
        {"a b, b c -> c a", EINSUM_PRODUCT, "transpose, matmul tn"},
        {"a d, d b -> b a", EINSUM_PRODUCT, "matmul nn, transpose"},
        {"d a b, d c b -> d a c", EINSUM_PRODUCT, "bmm nt"},
        {"d a b, d b c -> d c a", EINSUM_PRODUCT, "7 transpose, bmm tn"},
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
        {"->", EINSUM_PRODUCT, "copy"},
        {", ->", EINSUM_PRODUCT, "mul"},
        {"a b ->", EINSUM_PRODUCT, "sum"},
        {"a b ->", EINSUM_SUM, "sum"},
        {"a b ->", EINSUM_MEAN, "mean"},
        {"a b ->", EINSUM_MAX, "max"},
        {"a b -> (b a)", EINSUM_REARRANGE, "transpose"},
        {"a b -> b a", EINSUM_REARRANGE, "!a view"},
        {"a b -> (a b)", EINSUM_REARRANGE, "!a view"},
        /* general permutations */
        {"a b c -> (c b a)", EINSUM_REARRANGE, "2 transpose, transpose"},
        {"a b c -> (b a c)", EINSUM_REARRANGE, "2 transpose, transpose"},
        {"a b c -> a c b", EINSUM_PRODUCT, "2 transpose"},
        {"a b c d -> (d c b a)", EINSUM_REARRANGE, "6 transpose, 2 transpose, transpose"},
        /* parts of a tensor */
        {"a b -> a", EINSUM_SUM, "fill, matvec n"},
        {"a b -> b", EINSUM_SUM, "fill, matvec t"},
        {"a b -> a", EINSUM_PRODUCT, "fill, matvec n"},
        {"a b c -> a c", EINSUM_SUM, "fill, 2 transpose, matvec n"},
        {"a b -> b", EINSUM_MEAN, "fill, matvec t, scale"},
        {"a b -> a", EINSUM_MAX, "2 max"},
        {"a b -> b", EINSUM_MAX, "transpose, 3 max"},
        {"a b c -> b a", EINSUM_MAX, "6 max, transpose"},
        {"a b ->", EINSUM_MIN, "scale, max, scale"},
        {"a b -> a", EINSUM_MIN, "scale, 2 max, scale"},
        {"a b, b d -> a", EINSUM_PRODUCT, "fill, matvec n, matvec n"},
        {"a b c d, d -> c a", EINSUM_PRODUCT, "fill, 2 transpose, matvec n, matvec n, transpose"},
        /* diagonals */
        {"a a -> a", EINSUM_PRODUCT, "2 copy"},
        {"a a ->", EINSUM_PRODUCT, "2 copy, sum"},
        {"b a a -> b a", EINSUM_PRODUCT, "transpose, 2 copy, transpose"},
        {"a a a -> a", EINSUM_PRODUCT, "2 copy"},
        {"a b a b -> a b", EINSUM_PRODUCT,
         "2 transpose, 4 transpose, 2 copy, transpose, 3 copy, transpose"},
        /* three and more */
        {"a b, b c, c d -> a d", EINSUM_PRODUCT, "matmul nn, matmul nn"},
        {"a b, b, b -> a", EINSUM_PRODUCT, "mul, matvec n"},
        {"a, b, c -> a b c", EINSUM_PRODUCT, "matmul nn, matmul nn"},
    };
    static const int64_t size[AXES] = {2, 3, 5, 7, 11, 13};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct known *k = &known[i];
        struct einsum e;
        struct lowering l;
        struct complaint why = {""};
        char text[128];
        if (!bind(k->pattern, k->kind, size, &e)) continue;
        const int error = einsum_lower(&e, &e, DT_fp32, &l, &why);
        text_of(&l, text);
        if (*k->calls == '!')
            CHECK(error && strstr(why.text, k->calls + 1), "%s: %s%s", k->pattern, text, why.text);
        else if (CHECK(!error && strcmp(text, k->calls) == 0, "%s: %s%s", k->pattern, text,
                       why.text))
            calls_are_right(&e, DT_fp32, &l, k->pattern);
    }
}

/* What dtypes change: casts between them, means that could overflow, what is no product of matrices. */
static void known_dtypes(void) {
    static const struct {
        const char *pattern;
        enum einsum_kind kind;
        enum dtype dtype;
        const char *calls;
    } known[] = {
        {"a b -> a", EINSUM_MEAN, DT_fp16, "2 mean"},
        {"a b -> a", EINSUM_MEAN, DT_bf16, "fill, matvec n, scale"},
        {"a b -> a", EINSUM_MEAN, DT_fp8_e4m3, "fill, matvec n, scale"},
        {"a, a -> a", EINSUM_PRODUCT, DT_fp8_e4m3,
         "cast_to_fp32, cast_from_fp32, cast_to_fp32, cast_from_fp32, mul"},
        {"a b, b c, c d -> a d", EINSUM_PRODUCT, DT_fp8_e4m3,
         "matmul nn, cast_to_fp32, cast_from_fp32, matmul nn"},
        {"a, a, b -> b", EINSUM_PRODUCT, DT_bf16, "dot, cast_from_fp32, matvec n"},
        {"a b, b c -> a c", EINSUM_PRODUCT, DT_tf32, "matmul nn"},
        {"a b, b -> a", EINSUM_PRODUCT, DT_tf32, "matvec n"},
        {"a b, b c -> a c", EINSUM_PRODUCT, DT_nvfp4, "!block scales"},
    };
    static const int64_t size[AXES] = {2, 3, 5, 7, 11, 13};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct einsum e;
        struct lowering l;
        struct complaint why = {""};
        char text[128];
        if (!bind(known[i].pattern, known[i].kind, size, &e)) continue;
        const int error = einsum_lower(&e, &e, known[i].dtype, &l, &why);
        text_of(&l, text);
        if (*known[i].calls == '!')
            CHECK(error && strstr(why.text, known[i].calls + 1), "%s: %s", text, why.text);
        else if (CHECK(!error && strcmp(text, known[i].calls) == 0, "%s in %s: %s%s",
                       known[i].pattern, dtypes[known[i].dtype].name, text, why.text))
            calls_are_right(&e, known[i].dtype, &l, known[i].pattern);
    }
}

/* The bound is no excuse: where everything is exact until the end it says so, and it grows with what is rounded. */
static void bounds(void) {
    static const int64_t size[AXES] = {2, 3, 5, 7, 11, 13};
    static const struct {
        const char *pattern;
        enum einsum_kind kind;
        enum dtype dtype;
        bool exact;
        double terms, result; /* at most, in roundoffs of bf16 */
    } known[] = {
        {"a b, b c -> a c", EINSUM_PRODUCT, DT_bf16, true, 0, 0}, /* 3 x 4 x 4 has 6 bits */
        {"a f, f c -> a c", EINSUM_PRODUCT, DT_bf16, true, 0, 0},
        {"f e d, f e d -> ", EINSUM_PRODUCT, DT_bf16, true, 0, 0}, /* a dot is stored in fp32 */
        {"a f e, f e c -> a c", EINSUM_PRODUCT, DT_bf16, true, 0, 1},
        {"a b, b c, c d -> a d", EINSUM_PRODUCT, DT_bf16, true, 0, 1},
        {"a f e, f e c, c d -> a d", EINSUM_PRODUCT, DT_bf16, false, 1.01, 1},
        {"a f e, f e c, c d -> a d", EINSUM_PRODUCT, DT_fp32, true, 0, 0},
        {"a b -> a", EINSUM_MEAN, DT_bf16, false, 0, 1.01},
        {"a b ->", EINSUM_MEAN, DT_bf16, false, 0, 0.01},
        {"a b -> b", EINSUM_MIN, DT_bf16, true, 0, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct einsum e;
        struct lowering l;
        struct complaint why = {""};
        if (!bind(known[i].pattern, known[i].kind, size, &e) ||
            !CHECK(einsum_lower(&e, &e, known[i].dtype, &l, &why) == 0, "%s", why.text))
            continue;
        const struct lowered_error error = lowering_error(&l, e.operands, LARGEST);
        const double u = dtype_roundoff(DT_bf16);
        CHECK(error.exact == known[i].exact && error.terms <= known[i].terms * u &&
                  error.result <= known[i].result * u,
              "%s: exact %d, terms %g, result %g", known[i].pattern, error.exact, error.terms / u,
              error.result / u);
        CHECK(known[i].terms == 0 || error.terms > 0, "%s: no error", known[i].pattern);
    }
}

/* More than there is room for. */
static void too_long(void) {
    struct einsum e = {.kind = EINSUM_PRODUCT, .operands = 8, .axes = 16};
    struct lowering l;
    struct complaint why = {""};
    for (int a = 0; a < 16; a++) e.axis[a] = (struct einsum_axis){{(char)('a' + a)}, 2};
    for (int o = 0; o < 8; o++) {
        int order[16];
        for (int a = 0; a < 16; a++) order[a] = a;
        shuffle(order, 16);
        e.in[o].dims = 16;
        for (int a = 0; a < 16; a++)
            e.in[o].dim[a] = (struct einsum_dim){.axes = 1, .axis = {order[a]}};
    }
    e.out = e.in[0];
    CHECK(einsum_lower(&e, &e, DT_fp32, &l, &why) && strstr(why.text, "more than 64 steps"), "%s",
          why.text);
}

static void dtypes_of_results(void) {
    const struct lowered_step product = {.op = OP_matmul, .dtype = DT_fp8_e4m3},
                              sum = {.op = OP_sum, .dtype = DT_bf16},
                              move = {.op = OP_transpose, .dtype = DT_fp16};
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
    CHECK(e.axis[0].size == 1 && e.axis[1].size == 1, "%lld %lld", (long long)e.axis[0].size,
          (long long)e.axis[1].size);
    /* a diagonal has more elements than the definition takes steps */
    sizes.names = 1;
    CHECK(einsum_parse("a a ->", EINSUM_PRODUCT, &e, &why) == 0 &&
              einsum_bind(&e, &sizes, &why) == 0,
          "%s", why.text);
    einsum_shrink(&e, 10000);
    CHECK(e.axis[0].size == 62, "%lld", (long long)e.axis[0].size);
}

int main(void) {
    known_patterns();
    known_dtypes();
    bounds();
    random_products();
    random_reductions();
    rotations();
    orders();
    known_orders();
    too_long();
    dtypes_of_results();
    shrinking();
    return test_result();
}
