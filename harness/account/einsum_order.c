/* einsum_order.c - of all binary trees the one with the fewest FLOPs: the best one of a set of operands is made of the best ones of
 * two parts of it, whatever is outside; with 8 operands there are 3^8 parts of sets to look at. */
#include "einsum.h"

#include <math.h>
#include <string.h>

enum { SETS = 1 << EINSUM_OPERANDS };

/* Sets of axes are bits. */
static uint64_t set_of(const struct einsum *e, const struct einsum_tensor *t) {
    uint64_t set = 0;
    for (int a = 0; a < e->axes; a++)
        if (einsum_has(t, a)) set |= (uint64_t)1 << a;
    return set;
}

static double extent(const struct einsum *e, uint64_t set) {
    double n = 1;
    for (int a = 0; a < e->axes; a++)
        if (set >> a & 1) n *= (double)e->axis[a].size;
    return n;
}

/* What is left of the axes of some operands once they are multiplied: those of the output or of others. */
static uint64_t kept(const struct einsum *e, const uint64_t *in, uint64_t out, unsigned operands) {
    uint64_t inside = 0, outside = out;
    for (int i = 0; i < e->operands; i++) {
        if (operands >> i & 1)
            inside |= in[i];
        else
            outside |= in[i];
    }
    return inside & outside;
}

/* Adds the pairs of a set; the number of its tensor. */
static int add_pairs(const struct einsum *e, const unsigned *part, unsigned set,
                     struct einsum_order *o) {
    int operand = 0;
    if ((set & (set - 1)) == 0) {
        while (!(set >> operand & 1)) operand++;
        return operand;
    }
    const int left = add_pairs(e, part, part[set], o),
              right = add_pairs(e, part, set & ~part[set], o);
    o->pair[o->pairs][0] = left;
    o->pair[o->pairs++][1] = right;
    return e->operands + o->pairs - 1;
}

void einsum_find_order(const struct einsum *e, struct einsum_order *o) {
    uint64_t in[EINSUM_OPERANDS], all = 0;
    double flops[SETS] = {0};
    unsigned part[SETS] = {
        0}; /* one of the two parts that a set is made of: the one with its first operand */
    const uint64_t out = set_of(e, &e->out);
    const unsigned sets = 1u << e->operands;
    for (int i = 0; i < e->operands; i++) all |= in[i] = set_of(e, &e->in[i]);
    for (int i = 0; i < e->operands; i++)
        if (extent(e, in[i]) > extent(e, kept(e, in, out, 1u << i)))
            flops[1u << i] = extent(e, in[i]);
    for (unsigned set = 1; set < sets; set++) {
        if ((set & (set - 1)) == 0) continue;
        const unsigned first = set & (~set + 1);
        flops[set] = INFINITY;
        for (unsigned one = (set - 1) & set; one > 0; one = (one - 1) & set) {
            const unsigned other = set & ~one;
            if (!(one & first)) continue;
            const uint64_t both = kept(e, in, out, one) | kept(e, in, out, other);
            const double sum = flops[one] + flops[other] + 2 * extent(e, both);
            if (sum < flops[set]) {
                flops[set] = sum;
                part[set] = one;
            }
        }
    }
    o->pairs = 0;
    o->flops = flops[sets - 1];
    o->one_loop = e->operands * extent(e, all);
    add_pairs(e, part, sets - 1, o);
}

void einsum_order_text(const struct einsum *e, const struct einsum_order *o, char *text,
                       size_t size) {
    enum { LONGEST = 4 * EINSUM_OPERANDS }; /* a digit, a space and two parentheses each */
    char part[2 * EINSUM_OPERANDS][LONGEST];
    for (int i = 0; i < e->operands; i++) snprintf(part[i], LONGEST, "%d", i + 1);
    for (int i = 0; i < o->pairs; i++) {
        const bool last = i + 1 == o->pairs;
        char *to = part[e->operands + i];
        size_t used = 0;
        const char *const words[] = {last ? "" : "(", part[o->pair[i][0]], " ", part[o->pair[i][1]],
                                     last ? "" : ")"};
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            const size_t length = strlen(words[w]);
            if (used + length >= LONGEST) break;
            memcpy(to + used, words[w], length);
            used += length;
        }
        to[used] = '\0';
    }
    snprintf(text, size, "%s", part[e->operands + o->pairs - 1]);
}
