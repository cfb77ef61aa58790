/* einsum_lower.c - dimensions of size 1 do not count; of the forms that compute a product the one with the fewest transposes
 * is taken. A transpose of a matrix exchanges the first and the last part of a list of dimensions: [x y z] -> [z x y]. */
#include "einsum_lower.h"

#include <string.h>

/* Axes of a tensor or of a part of it, outermost first. */
struct axes {
    int count, axis[EINSUM_AXES];
};

static void append(struct axes *a, const struct axes *b) {
    for (int i = 0; i < b->count; i++) a->axis[a->count++] = b->axis[i];
}

static bool contains(const struct axes *a, int axis) {
    for (int i = 0; i < a->count; i++)
        if (a->axis[i] == axis) return true;
    return false;
}

static int64_t extent(const struct einsum *e, const struct axes *a) {
    int64_t n = 1;
    for (int i = 0; i < a->count; i++) n *= e->axis[a->axis[i]].size;
    return n;
}

/* The axes of a tensor that are longer than 1; -1 when one is there twice. */
static int axes_of(const struct einsum *e, const struct einsum_tensor *t, struct axes *out) {
    out->count = 0;
    for (int d = 0; d < t->dims; d++)
        for (int i = 0; i < t->dim[d].axes; i++) {
            const int axis = t->dim[d].axis[i];
            if (e->axis[axis].size == 1) continue;
            if (contains(out, axis)) return -1;
            out->axis[out->count++] = axis;
        }
    return 0;
}

/* How far the list must be turned to become the other one: 0 ... count - 1; -1: no turn does. */
static int turn(const struct axes *from, const struct axes *to) {
    if (from->count != to->count) return -1;
    if (from->count == 0) return 0;
    for (int by = 0; by < from->count; by++) {
        int i = 0;
        while (i < from->count && from->axis[(i + by) % from->count] == to->axis[i]) i++;
        if (i == from->count) return by;
    }
    return -1;
}

static int add_step(struct lowering *l, struct lowered_step s) {
    l->step[l->steps] = s;
    return l->steps++;
}

/* The transpose that turns a tensor: its first `by` axes become the last ones. */
static int add_transpose(struct lowering *l, const struct einsum *e, enum dtype t, int tensor,
                         const struct axes *from, int by) {
    struct axes first = {.count = by};
    memcpy(first.axis, from->axis, (size_t)by * sizeof *first.axis);
    const int64_t m = extent(e, &first), n = extent(e, from) / m;
    return add_step(l,
                    (struct lowered_step){OP_transpose, t, LAYOUT_FLAT, {1, m, n, 1}, {tensor}, 1});
}

enum dtype lowered_dtype(const struct lowered_step *s) {
    const struct op *op = &ops[s->op];
    return operand_dtype(&op->operand[op_operand_count(op) - 1], s->dtype);
}

/* ---- one operand ---- */

static int lower_reduction(const struct einsum *e, enum dtype t, const struct axes *in,
                           struct lowering *l, struct complaint *why) {
    if (e->kind == EINSUM_MIN) return complain(why, "the catalogue has no minimum");
    const enum op_id op = e->kind == EINSUM_MAX    ? OP_max
                          : e->kind == EINSUM_MEAN ? OP_mean
                                                   : OP_sum;
    struct axes out;
    axes_of(e, &e->out, &out);
    if (out.count)
        return complain(why, "the catalogue reduces whole tensors: '%s' must not stay",
                        e->axis[out.axis[0]].name);
    add_step(l, (struct lowered_step){op, t, LAYOUT_FLAT, {1, 1, extent(e, in), 1}, {0}, 1});
    return 0;
}

static int lower_move(const struct einsum *e, enum dtype t, const struct axes *in,
                      const struct axes *out, struct lowering *l, struct complaint *why) {
    const int by = turn(in, out);
    struct einsum_cost cost;
    if (einsum_cost(e, t, &cost, why)) return -1;
    if (cost.view) return complain(why, "a view: there is nothing to run");
    if (by < 0)
        return complain(why,
                        "no single transpose of a matrix brings the dimensions into this order");
    if (by == 0)
        add_step(l,
                 (struct lowered_step){OP_copy, t, LAYOUT_FLAT, {1, 1, extent(e, in), 1}, {0}, 1});
    else
        add_transpose(l, e, t, 0, in, by);
    return 0;
}

/* ---- two operands ---- */

/* What an axis of a product does. */
struct roles {
    struct axes batch, m, n, k;
};

/* Sorts the axes of both operands by what they do; m is the first operand's. 0, or -1 after a complaint. */
static int find_roles(const struct einsum *e, const struct axes in[2], const struct axes *out,
                      struct roles *r, struct complaint *why) {
    *r = (struct roles){{.count = 0}, {.count = 0}, {.count = 0}, {.count = 0}};
    for (int i = 0; i < out->count; i++) {
        const int axis = out->axis[i];
        struct axes *role = !contains(&in[1], axis)   ? &r->m
                            : !contains(&in[0], axis) ? &r->n
                                                      : &r->batch;
        role->axis[role->count++] = axis;
    }
    for (int o = 0; o < 2; o++)
        for (int i = 0; i < in[o].count; i++) {
            const int axis = in[o].axis[i];
            if (contains(out, axis)) continue;
            if (!contains(&in[1 - o], axis))
                return complain(why, "'%s' is in operand %d alone and is summed: sum it first",
                                e->axis[axis].name, o + 1);
            if (o == 0) r->k.axis[r->k.count++] = axis;
        }
    return 0;
}

static struct axes joined(const struct axes *a, const struct axes *b, const struct axes *c) {
    struct axes all = {.count = 0};
    append(&all, a);
    append(&all, b);
    append(&all, c);
    return all;
}

/* The axes of a set as a tensor has them. */
static struct axes in_order_of(const struct axes *set, const struct axes *tensor) {
    struct axes sorted = {.count = 0};
    for (int i = 0; i < tensor->count; i++)
        if (contains(set, tensor->axis[i])) sorted.axis[sorted.count++] = tensor->axis[i];
    return sorted;
}

/* One way to compute the product: which operand is X, how X and Y lie, and how far each tensor must be turned. */
struct form {
    int x; /* the operand that is X */
    enum layout layout;
    int turn[3];        /* of X, of Y, of the product [batch m n] into the output */
    struct roles roles; /* of X and Y */
    int transposes;     /* -1: it can't be */
};

static struct form form_of(const struct axes in[2], const struct axes *out, const struct roles *r,
                           int x, enum layout layout) {
    struct form f = {.x = x, .layout = layout, .roles = *r};
    if (x == 1) {
        f.roles.m = r->n;
        f.roles.n = r->m;
    }
    const struct axes *b = &f.roles.batch, *m = &f.roles.m, *n = &f.roles.n, *k = &f.roles.k;
    const struct axes X = layout == LAYOUT_TN ? joined(b, k, m) : joined(b, m, k),
                      Y = layout == LAYOUT_NT ? joined(b, n, k) : joined(b, k, n),
                      product = joined(b, m, n);
    f.turn[0] = turn(&in[x], &X);
    f.turn[1] = turn(&in[1 - x], &Y);
    f.turn[2] = turn(&product, out);
    for (int i = 0; i < 3; i++)
        f.transposes = f.turn[i] < 0 || f.transposes < 0 ? -1 : f.transposes + (f.turn[i] > 0);
    /* a matrix times a vector, not a vector times a matrix */
    if (m->count == 0 && n->count > 0) f.transposes = -1;
    return f;
}

/* The call that multiplies X and Y. */
static struct lowered_step multiply(const struct einsum *e, const struct form *f, enum dtype t) {
    const int64_t b = extent(e, &f->roles.batch), m = extent(e, &f->roles.m),
                  n = extent(e, &f->roles.n), k = extent(e, &f->roles.k);
    struct lowered_step s = {OP_bmm, t, f->layout, {b, m, n, k}, {0}, 2};
    if (m == 1 && n == 1 && k == 1) {
        s = (struct lowered_step){OP_mul, t, LAYOUT_FLAT, {1, 1, b, 1}, {0}, 2};
    } else if (b == 1 && m == 1 && n == 1) {
        s = (struct lowered_step){OP_dot, t, LAYOUT_FLAT, {1, 1, k, 1}, {0}, 2};
    } else if (b == 1 && n == 1) {
        const enum layout layout = f->layout == LAYOUT_TN ? LAYOUT_T : LAYOUT_N;
        s = (struct lowered_step){OP_matvec, t, layout, {1, m, k, 1}, {0}, 2};
    } else if (b == 1) {
        s.op = OP_matmul;
    }
    return s;
}

static int lower_product(const struct einsum *e, enum dtype t, const struct axes in[2],
                         const struct axes *out, struct lowering *l, struct complaint *why) {
    static const enum layout layouts[] = {LAYOUT_NN, LAYOUT_NT, LAYOUT_TN};
    struct roles roles;
    struct form best = {.transposes = -1};
    if (find_roles(e, in, out, &roles, why)) return -1;
    for (unsigned choice = 0; choice < 16; choice++) {
        const struct roles ordered = {in_order_of(&roles.batch, choice & 1 ? &in[0] : out),
                                      in_order_of(&roles.m, choice & 2 ? &in[0] : out),
                                      in_order_of(&roles.n, choice & 4 ? &in[1] : out),
                                      in_order_of(&roles.k, choice & 8 ? &in[1] : &in[0])};
        for (int x = 0; x < 2; x++)
            for (int i = 0; i < 3; i++) {
                const struct form f = form_of(in, out, &ordered, x, layouts[i]);
                if (f.transposes >= 0 && (best.transposes < 0 || f.transposes < best.transposes))
                    best = f;
            }
    }
    if (best.transposes < 0)
        return complain(why, "no transpose of a matrix each brings operands and output into the "
                             "order of a batched product");
    int tensor[2] = {best.x, 1 - best.x};
    struct lowered_step product = multiply(e, &best, t);
    for (int i = 0; i < 2; i++)
        if (best.turn[i] > 0)
            tensor[i] = 2 + add_transpose(l, e, t, tensor[i], &in[tensor[i]], best.turn[i]);
    memcpy(product.in, tensor, sizeof tensor);
    const int made = 2 + add_step(l, product);
    const struct axes order = joined(&best.roles.batch, &best.roles.m, &best.roles.n);
    if (best.turn[2] > 0) add_transpose(l, e, lowered_dtype(&product), made, &order, best.turn[2]);
    return 0;
}

int einsum_lower(const struct einsum *e, enum dtype t, struct lowering *l, struct complaint *why) {
    struct axes in[2] = {{.count = 0}, {.count = 0}}, out;
    bool reduces = false;
    *l = (struct lowering){.steps = 0};
    if (e->operands > 2)
        return complain(why, "a product of %d operands: run it pair by pair", e->operands);
    for (int i = 0; i < e->operands; i++)
        if (axes_of(e, &e->in[i], &in[i]))
            return complain(why, "operand %d: a diagonal, which the catalogue does not take",
                            i + 1);
    axes_of(e, &e->out, &out);
    for (int i = 0; i < in[0].count; i++) reduces = reduces || !contains(&out, in[0].axis[i]);
    const int error = e->operands == 2 ? lower_product(e, t, in, &out, l, why)
                      : reduces        ? lower_reduction(e, t, &in[0], l, why)
                                       : lower_move(e, t, &in[0], &out, l, why);
    for (int i = 0; i < l->steps && !error; i++) {
        const struct op *op = &ops[l->step[i].op];
        const char *refusal = op_refuses_dtype(op, l->step[i].dtype);
        if (refusal)
            return complain(why, "%s in %s: %s", op->name, dtypes[l->step[i].dtype].name, refusal);
    }
    return error;
}

void einsum_shrink(struct einsum *e, int64_t most_steps) {
    for (;;) {
        double steps = 1;
        int longest = -1;
        for (int i = 0; i < e->axes; i++) {
            steps *= (double)e->axis[i].size;
            if (longest < 0 || e->axis[i].size > e->axis[longest].size) longest = i;
        }
        if (steps <= (double)most_steps || longest < 0 || e->axis[longest].size < 4) return;
        e->axis[longest].size /= 2;
    }
}
