/* einsum_lower.c - dimensions of size 1 do not count. A transpose of a matrix exchanges the first and the last part of a list of
 * dimensions: [x y z] -> [z x y]. Of the forms that compute a product the one whose transposes move the least is taken. */
#include "einsum_lower.h"
#include "einsum_form.h"

#include <math.h>

enum dtype lowered_dtype(const struct lowered_step *s) {
    const struct op *op = &ops[s->op];
    return operand_dtype(&op->operand[op_operand_count(op) - 1], s->dtype);
}

int64_t lowered_elements(const struct lowered_step *s) {
    const struct op *op = &ops[s->op];
    return s->calls * operand_elements(&op->operand[op_operand_count(op) - 1], s->s);
}

enum dtype lowered_storage(enum dtype t) { return t == DT_tf32 ? DT_fp32 : t; }

int64_t lowered_calls(const struct lowering *l) {
    int64_t calls = 0;
    for (int i = 0; i < l->steps; i++) calls += l->step[i].calls;
    return calls;
}

/* ---- tensors on their way ---- */

struct tensor_state {
    int number;
    enum dtype dtype; /* as stored */
    struct axes axes;
};

struct planner {
    const struct einsum *e, *full;
    enum dtype product; /* what matrices are multiplied in where all are stored alike */
    struct lowering *l;
    bool too_long;
};

static int64_t extent(const struct planner *p, const struct axes *a) {
    return axes_extent(p->e, a);
}

/* One call, without its inputs. */
static struct lowered_step step_of(enum op_id op, enum dtype t, enum layout layout,
                                   struct shape s) {
    return (struct lowered_step){
        .op = op, .dtype = t, .layout = layout, .s = s, .alpha = 1, .calls = 1};
}

/* Of a whole tensor as a vector. */
static struct lowered_step of_vector(const struct planner *p, enum op_id op,
                                     const struct tensor_state *x) {
    return step_of(op, x->dtype, LAYOUT_FLAT, (struct shape){1, 1, extent(p, &x->axes), 1});
}

/* Makes the state that of the step's result; its axes are the caller's to set. */
static void add_step(struct planner *p, struct tensor_state *made, struct lowered_step s) {
    made->dtype = lowered_storage(lowered_dtype(&s));
    made->number = p->e->operands + p->l->steps;
    p->too_long = p->too_long || p->l->steps == LOWERED_STEPS;
    if (!p->too_long) p->l->step[p->l->steps++] = s;
}

/* A step that makes a tensor of itself. */
static void apply(struct planner *p, struct tensor_state *x, struct lowered_step s) {
    s.ins = 1;
    s.in[0] = x->number;
    add_step(p, x, s);
}

static void permute(struct planner *p, struct tensor_state *x, const struct axes *order) {
    struct rotation r;
    while (!p->too_long && axes_next_rotation(p->full, &x->axes, order, &r) > 0) {
        struct axes before = {.count = 0}, first = {.count = 0};
        for (int i = 0; i < r.middle; i++) {
            struct axes *part = i < r.first ? &before : &first;
            part->axis[part->count++] = x->axes.axis[i];
        }
        const int64_t calls = extent(p, &before), m = extent(p, &first),
                      n = extent(p, &x->axes) / calls / m;
        struct lowered_step s =
            step_of(OP_transpose, x->dtype, LAYOUT_FLAT, (struct shape){1, m, n, 1});
        s.calls = calls;
        s.apart = m * n;
        apply(p, x, s);
        axes_rotate(&x->axes, r);
    }
}

/* fp32 is the way between two narrow types. */
static void cast(struct planner *p, struct tensor_state *x, enum dtype to) {
    if (x->dtype == to) return;
    if (x->dtype != DT_fp32) apply(p, x, of_vector(p, OP_cast_to_fp32, x));
    if (to == DT_fp32) return;
    struct lowered_step s = of_vector(p, OP_cast_from_fp32, x);
    s.dtype = to;
    apply(p, x, s);
}

static void scale(struct planner *p, struct tensor_state *x, double by) {
    struct lowered_step s = of_vector(p, OP_scale, x);
    s.alpha = by;
    apply(p, x, s);
}

/* An operand as it comes: its axes that are longer than 1. */
static void axes_of(const struct einsum *e, const struct einsum_tensor *t, struct axes *out) {
    out->count = 0;
    for (int d = 0; d < t->dims; d++)
        for (int i = 0; i < t->dim[d].axes; i++) {
            int axis = t->dim[d].axis[i];
            if (e->axis[axis].size == 1) continue;
            while (axes_contain(out, axis)) axis += EINSUM_AXES;
            out->axis[out->count++] = axis;
        }
}

/* An axis that is there several times is moved to the front, and one copy taken for each of its indices. */
static void take_diagonals(struct planner *p, struct tensor_state *x) {
    for (int i = 0; i < x->axes.count && !p->too_long; i++) {
        const int axis = x->axes.axis[i] % EINSUM_AXES;
        struct axes order = {.count = 0}, rest = {.count = 0};
        for (int k = 0; k < x->axes.count; k++) {
            struct axes *part = x->axes.axis[k] % EINSUM_AXES == axis ? &order : &rest;
            part->axis[part->count++] = x->axes.axis[k];
        }
        const int times = order.count;
        if (times == 1) continue;
        const int64_t size = p->e->axis[axis].size, block = extent(p, &rest);
        axes_append(&order, &rest);
        permute(p, x, &order);
        int64_t apart = 0, stride = block;
        for (int k = 0; k < times; k++, stride *= size) apart += stride;
        struct lowered_step s =
            step_of(OP_copy, x->dtype, LAYOUT_FLAT, (struct shape){1, 1, block, 1});
        s.calls = size;
        s.apart = apart;
        apply(p, x, s);
        x->axes = (struct axes){1, {axis}};
        axes_append(&x->axes, &rest);
        i = -1;
    }
}

/* ---- products ---- */

/* The call that multiplies X and Y, which are stored alike. */
static struct lowered_step multiply(const struct planner *p, const struct form *f,
                                    const struct tensor_state *X, const struct tensor_state *Y) {
    const struct roles *r = &f->roles;
    const int64_t b = extent(p, &r->batch), m = extent(p, &r->m), n = extent(p, &r->n),
                  k = extent(p, &r->k);
    struct lowered_step s = step_of(OP_bmm, X->dtype, f->layout, (struct shape){b, m, n, k});
    s.in[0] = X->number;
    s.in[1] = Y->number;
    s.ins = 2;
    if (r->m.count + r->n.count + r->k.count == 0) {
        s.op = OP_mul;
        s.layout = LAYOUT_FLAT;
        s.s = (struct shape){1, 1, b, 1};
    } else if (r->batch.count + r->m.count + r->n.count == 0) {
        s.op = OP_dot;
        s.layout = LAYOUT_FLAT;
        s.s = (struct shape){1, 1, k, 1};
    } else if (r->batch.count + r->n.count == 0) {
        s.op = OP_matvec;
        s.layout = f->layout == LAYOUT_TN ? LAYOUT_T : LAYOUT_N;
        s.s = (struct shape){1, m, k, 1};
    } else if (r->batch.count == 0) {
        s.op = OP_matmul;
    }
    const bool matrices = s.op == OP_matmul || s.op == OP_bmm;
    if (matrices && s.dtype == lowered_storage(p->product)) s.dtype = p->product;
    return s;
}

/* x = x times y, summed over what `out` lacks, in out's order unless any will do. */
static void contract(struct planner *p, struct tensor_state *x, struct tensor_state *y,
                     const struct axes *out, bool any_order) {
    const struct axes *in[2] = {&x->axes, &y->axes};
    const struct form f = product_form(p->full, in, out, any_order);
    struct tensor_state *X = f.x ? y : x, *Y = f.x ? x : y;
    const struct roles *r = &f.roles;
    const bool elementwise = r->m.count + r->n.count + r->k.count == 0;
    /* an elementwise product is stored as what it multiplies: in what products are stored in */
    if (elementwise || X->dtype != Y->dtype) {
        const enum dtype common = lowered_storage(dtypes[p->product].product);
        cast(p, X, common);
        cast(p, Y, common);
    }
    permute(p, X, &f.order[0]);
    permute(p, Y, &f.order[1]);
    add_step(p, x, multiply(p, &f, X, Y));
    x->axes = f.order[2];
    if (!any_order) permute(p, x, out);
}

/* ---- sums, means, extrema ---- */

static void split(const struct axes *all, const struct axes *stay, struct axes *kept,
                  struct axes *gone) {
    kept->count = gone->count = 0;
    for (int i = 0; i < all->count; i++) {
        struct axes *part = axes_contain(stay, all->axis[i]) ? kept : gone;
        part->axis[part->count++] = all->axis[i];
    }
}

/* Sums over the axes that do not stay: a whole tensor as it is, a part of it by a product with ones. */
static void sum_out(struct planner *p, struct tensor_state *x, const struct axes *stay,
                    bool any_order) {
    struct axes kept, gone;
    split(&x->axes, stay, &kept, &gone);
    if (gone.count == 0) return;
    if (kept.count == 0) {
        apply(p, x, of_vector(p, OP_sum, x));
        x->axes = kept;
        return;
    }
    const struct axes order = axes_in_order_of(&kept, any_order ? &x->axes : stay);
    struct tensor_state ones = {.dtype = x->dtype, .axes = gone};
    add_step(p, &ones, of_vector(p, OP_fill, &ones));
    contract(p, x, &ones, &order, any_order);
}

/* One call a row of what is reduced. Rows are brought into the output's order before or, where that moves less, after; in
 * which order a row's elements come does not matter. */
static void reduce_rows(struct planner *p, struct tensor_state *x, enum op_id op,
                        const struct axes *out) {
    struct axes kept, gone, order = {.count = 0};
    const struct axes none = {.count = 0};
    double least = INFINITY;
    bool late = false;
    split(&x->axes, out, &kept, &gone);
    for (int turn = 0; turn < gone.count; turn++, axes_rotate(&gone, (struct rotation){0, 1})) {
        const struct axes before = axes_joined(out, &gone, &none),
                          after = axes_joined(&kept, &gone, &none);
        const double first = axes_moved(p->full, &x->axes, &before),
                     last = axes_moved(p->full, &x->axes, &after) + axes_moved(p->full, &kept, out);
        if (fmin(first, last) >= least) continue;
        least = fmin(first, last);
        late = last < first;
        order = late ? after : before;
    }
    permute(p, x, &order);
    struct lowered_step s = of_vector(p, op, x);
    s.calls = extent(p, &kept);
    s.s.n = s.apart = extent(p, &gone);
    apply(p, x, s);
    x->axes = late ? kept : *out;
    permute(p, x, out);
}

/* Whether sums may overflow where what they are divided by would bring them back into range. */
static bool sums_overflow(enum dtype t) {
    return dtypes[dtypes[t].product].exponent_bits < dtypes[dtypes[t].acc].exponent_bits;
}

static void reduce(struct planner *p, struct tensor_state *x, const struct axes *out) {
    switch (p->e->kind) {
    case EINSUM_MAX:
        reduce_rows(p, x, OP_max, out);
        break;
    case EINSUM_MIN: /* -max(-x) */
        scale(p, x, -1);
        reduce_rows(p, x, OP_max, out);
        scale(p, x, -1);
        break;
    case EINSUM_MEAN:
        if (out->count > 0 && !sums_overflow(x->dtype)) {
            const int64_t terms = extent(p, &x->axes) / extent(p, out); /* without remainder */
            sum_out(p, x, out, false);
            scale(p, x, 1 / (double)terms);
        } else {
            reduce_rows(p, x, OP_mean, out);
        }
        break;
    case EINSUM_SUM:
    case EINSUM_PRODUCT:
    case EINSUM_REARRANGE:
        sum_out(p, x, out, false);
        break;
    }
}

/* ---- all ---- */

/* Of a tensor's axes those that the output or one of the other tensors has. */
static struct axes needed(const struct tensor_state *tensor, int tensors, int x, int y,
                          const struct axes *out) {
    struct axes stay = *out;
    for (int i = 0; i < tensors; i++)
        for (int k = 0; i != x && i != y && k < tensor[i].axes.count; k++)
            if (!axes_contain(&stay, tensor[i].axes.axis[k] % EINSUM_AXES))
                stay.axis[stay.count++] = tensor[i].axes.axis[k] % EINSUM_AXES;
    return stay;
}

static void lower_product(struct planner *p, struct tensor_state *tensor, const struct axes *out) {
    struct einsum_order order = {.pairs = 1, .pair = {{0, 1}}};
    int at[2 * EINSUM_OPERANDS];
    const int operands = p->e->operands;
    for (int i = 0; i < operands; i++) {
        const struct axes stay = needed(tensor, operands, i, i, out);
        sum_out(p, &tensor[i], &stay, true);
        at[i] = i;
    }
    if (operands > 2) einsum_find_order(p->full, &order);
    for (int i = 0; i < order.pairs; i++) {
        const int x = at[order.pair[i][0]], y = at[order.pair[i][1]];
        const struct axes stay = needed(tensor, operands, x, y, out);
        const bool last = i + 1 == order.pairs;
        struct axes result = axes_in_order_of(&stay, &tensor[x].axes);
        for (int k = 0; k < tensor[y].axes.count; k++) {
            const int axis = tensor[y].axes.axis[k];
            if (axes_contain(&stay, axis) && !axes_contain(&result, axis))
                result.axis[result.count++] = axis;
        }
        contract(p, &tensor[x], &tensor[y], last ? out : &result, !last);
        tensor[y].axes.count = 0;
        at[operands + i] = x;
    }
}

int einsum_lower(const struct einsum *e, const struct einsum *full, enum dtype t,
                 struct lowering *l, struct complaint *why) {
    struct planner p = {.e = e, .full = full, .product = t, .l = l};
    struct tensor_state tensor[EINSUM_OPERANDS] = {{.number = 0}};
    struct einsum_cost cost;
    struct axes out;
    *l = (struct lowering){.steps = 0};
    if (t == DT_nvfp4)
        return complain(why, "in nvfp4: its block scales belong to one order of elements");
    if (einsum_cost(full, t, &cost, why)) return -1;
    if (cost.view) return complain(why, "a view: there is nothing to run");
    axes_of(full, &e->out, &out);
    for (int i = 0; i < e->operands; i++) {
        tensor[i] = (struct tensor_state){.number = i, .dtype = lowered_storage(t)};
        axes_of(full, &e->in[i], &tensor[i].axes);
        take_diagonals(&p, &tensor[i]);
    }
    if (e->operands > 1)
        lower_product(&p, tensor, &out);
    else if (tensor[0].axes.count > out.count)
        reduce(&p, &tensor[0], &out);
    permute(&p, &tensor[0], &out);
    if (l->steps == 0) apply(&p, &tensor[0], of_vector(&p, OP_copy, &tensor[0]));
    return p.too_long ? complain(why, "more than %d steps one after the other", LOWERED_STEPS) : 0;
}
