/* einsum_cost.c - FLOPs, bytes, and the evaluation that defines them. */
#include "einsum.h"
#include "count.h"
#include "tensor.h"
#include "training_memory.h"

#include <math.h>

static int64_t steps_of(const struct einsum *e) {
    int64_t steps = 1;
    for (int i = 0; i < e->axes; i++) steps = count_mul(steps, e->axis[i].size);
    return steps;
}

/* Elements in the order of the input's axes, permuted to the output's, then merged: a view if strides allow it. */
static bool is_view(const struct einsum *e) {
    int64_t size[EINSUM_AXES], merged[EINSUM_DIMS];
    int order[EINSUM_AXES], place[EINSUM_AXES] = {0}, count = 0, out = 0;
    struct tensor t;
    struct complaint why;
    for (int d = 0; d < e->in[0].dims; d++)
        for (int i = 0; i < e->in[0].dim[d].axes; i++) {
            place[e->in[0].dim[d].axis[i]] = count;
            size[count++] = e->axis[e->in[0].dim[d].axis[i]].size;
        }
    for (int d = 0; d < e->out.dims; d++) {
        merged[d] = einsum_dim_size(e, &e->out.dim[d]);
        for (int i = 0; i < e->out.dim[d].axes; i++) order[out++] = place[e->out.dim[d].axis[i]];
    }
    if (count > TENSOR_DIMS || tensor_new(&t, size, count, &why)) return false;
    return tensor_permute(&t, order, &why) == 0 && tensor_view(&t, merged, e->out.dims, &why) == 0;
}

int einsum_cost(const struct einsum *e, enum dtype t, struct einsum_cost *cost,
                struct complaint *why) {
    const int64_t out = einsum_numel(e, &e->out);
    *cost = (struct einsum_cost){.steps = steps_of(e), .out = t};
    for (int a = 0; a < e->axes; a++)
        cost->reduces |= !einsum_has(&e->out, a) && e->axis[a].size > 1;
    if (e->operands > 1) {
        struct einsum_order order = {.flops = 2 * (double)cost->steps};
        if (e->operands > 2) einsum_find_order(e, &order);
        cost->flops = order.flops;
        cost->out = dtypes[t].product;
    } else if (cost->reduces) {
        cost->flops = (double)cost->steps + (e->kind == EINSUM_MEAN ? (double)out : 0);
    }
    cost->view = e->kind == EINSUM_REARRANGE && is_view(e);
    if (cost->view) return 0;
    cost->bytes = bytes_of(value_bits_16(cost->out), out);
    for (int i = 0; i < e->operands; i++)
        cost->bytes =
            count_add(cost->bytes, bytes_of(value_bits_16(t), einsum_numel(e, &e->in[i])));
    return cost->bytes == COUNT_OVERFLOW ? complain(why, "more than 2^63 bytes") : 0;
}

/* ---- the definition ---- */

/* How far an axis' step moves within a contiguous tensor; 0: it is not there. An axis that is there twice adds up. */
static void strides_of(const struct einsum *e, const struct einsum_tensor *t, int64_t *stride) {
    int64_t inner = 1;
    for (int a = 0; a < e->axes; a++) stride[a] = 0;
    for (int d = t->dims - 1; d >= 0; d--)
        for (int i = t->dim[d].axes - 1; i >= 0; i--) {
            stride[t->dim[d].axis[i]] += inner;
            inner *= e->axis[t->dim[d].axis[i]].size;
        }
}

static double combine(enum einsum_kind kind, double so_far, double value) {
    switch (kind) {
    case EINSUM_MAX:
        return value > so_far ? value : so_far;
    case EINSUM_MIN:
        return value < so_far ? value : so_far;
    case EINSUM_PRODUCT:
    case EINSUM_REARRANGE:
    case EINSUM_SUM:
    case EINSUM_MEAN:
        break;
    }
    return so_far + value;
}

void einsum_evaluate(const struct einsum *e, const double *const in[], double *out) {
    int64_t stride[EINSUM_OPERANDS + 1][EINSUM_AXES] = {{0}};
    const int64_t numel = einsum_numel(e, &e->out), steps = steps_of(e);
    const double nothing = e->kind == EINSUM_MAX   ? -(double)INFINITY
                           : e->kind == EINSUM_MIN ? (double)INFINITY
                                                   : 0;
    for (int i = 0; i < e->operands; i++) strides_of(e, &e->in[i], stride[i]);
    strides_of(e, &e->out, stride[e->operands]);
    for (int64_t i = 0; i < numel; i++) out[i] = nothing;
    for (int64_t step = 0; step < steps; step++) {
        int64_t at[EINSUM_OPERANDS + 1] = {0}, rest = step;
        for (int a = e->axes - 1; a >= 0; a--) {
            const int64_t index = rest % e->axis[a].size;
            rest /= e->axis[a].size;
            for (int i = 0; i <= e->operands; i++) at[i] += index * stride[i][a];
        }
        double value = 1;
        for (int i = 0; i < e->operands; i++) value *= in[i][at[i]];
        double *to = &out[at[e->operands]];
        *to = combine(e->kind, *to, value);
    }
    if (e->kind != EINSUM_MEAN) return;
    const int64_t terms = steps / numel; /* without remainder: the output's axes are some of all */
    for (int64_t i = 0; i < numel; i++) out[i] /= (double)terms;
}
