/* einsum_error.c - how far a plan's result may be off, from the roundings of its steps; problems small enough to look. */
#include "einsum_lower.h"

#include "../../kernels/numerics.h"

#include <math.h>

/* What is known of a tensor: elements of at most this magnitude, whether they are integers without any error, and else how
 * far they are off. */
struct knowledge {
    double most;
    bool whole;
    struct lowered_error error;
};

/* Integers up to here have all their bits in a dtype. */
static double integers_of(enum dtype t) { return ldexp(1, dtypes[t].fraction_bits + 1); }

/* The error of (1 + a)(1 + b). */
static double both(double a, double b) { return a + b + a * b; }

/* Terms that a call adds up for an element; 0: it only moves them. */
static double terms_of(const struct lowered_step *s) {
    switch (s->op) {
    case OP_matmul:
    case OP_bmm:
        return (double)s->s.k;
    case OP_matvec:
    case OP_dot:
    case OP_sum:
    case OP_mean:
        return (double)s->s.n;
    case OP_mul:
    case OP_scale:
    case OP_fill:
    case OP_cast_from_fp32:
        return 1;
    default:
        return 0;
    }
}

/* Of the factors of a step's terms, together. */
static struct knowledge factors_of(const struct lowered_step *s, const struct knowledge *tensor) {
    struct knowledge all = {.most = fabs(s->alpha), .whole = s->alpha == rint(s->alpha)};
    for (int o = 0; o < s->ins; o++) {
        struct knowledge x = tensor[s->in[o]];
        if (s->dtype == DT_tf32 && !(x.whole && x.most <= integers_of(DT_tf32))) {
            x.error.result =
                both(x.error.result, dtype_roundoff(DT_tf32)); /* of what it is given */
            x.whole = false;
        }
        all.most *= x.most;
        all.whole = all.whole && x.whole;
        all.error.terms = both(all.error.terms, x.error.terms);
        all.error.result = both(all.error.result, x.error.result);
    }
    return all;
}

static struct knowledge result_of(const struct lowered_step *s, const struct knowledge *tensor) {
    const enum dtype acc = dtypes[s->dtype].acc, stored = lowered_dtype(s);
    const double terms = terms_of(s);
    if (terms == 0) return tensor[s->in[0]];
    struct knowledge r = factors_of(s, tensor);
    const bool given_whole = r.whole;
    if (terms > 1 || r.error.terms > 0) {
        r.error.terms = both(r.error.terms, r.error.result);
        r.error.result = 0;
    }
    if (s->op != OP_mean) r.most *= terms;
    const bool sums_exact = r.whole && r.most * (s->op == OP_mean ? terms : 1) <= integers_of(acc);
    if (!sums_exact && terms > 1)
        r.error.terms = both(r.error.terms, ops[s->op].depth(s->s) * dtype_roundoff(acc));
    /* a factor or a divisor that is no integer is rounded, and so is what it makes */
    const bool scaled = s->op == OP_mean || (!given_whole && terms == 1);
    if (scaled) r.error.result = both(r.error.result, 2 * dtype_roundoff(acc));
    r.error.exact = sums_exact && !scaled;
    r.whole = r.error.exact && r.most <= fmin(integers_of(stored), dtypes[stored].max);
    if (!r.whole) r.error.result = both(r.error.result, dtype_roundoff(stored));
    return r;
}

struct lowered_error lowering_error(const struct lowering *l, int operands, double largest) {
    struct knowledge tensor[LOWERED_TENSORS];
    for (int i = 0; i < operands; i++)
        tensor[i] = (struct knowledge){largest, true, {.exact = true}};
    for (int i = 0; i < l->steps; i++) tensor[operands + i] = result_of(&l->step[i], tensor);
    return tensor[operands + l->steps - 1].error;
}

/* ---- smaller ---- */

/* Steps of the definition, or elements of the largest tensor if they are more. */
static double work_of(const struct einsum *e) {
    double most = 1;
    for (int i = 0; i < e->axes; i++) most *= (double)e->axis[i].size;
    for (int i = 0; i < e->operands; i++) most = fmax(most, (double)einsum_numel(e, &e->in[i]));
    return most;
}

void einsum_shrink(struct einsum *e, int64_t most_steps) {
    while (work_of(e) > (double)most_steps) {
        int longest = 0;
        for (int i = 0; i < e->axes; i++)
            if (e->axis[i].size > e->axis[longest].size) longest = i;
        e->axis[longest].size /= 2;
    }
}
