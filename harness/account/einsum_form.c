/* einsum_form.c - every layout, either tensor as X, and each role's axes in the order of either tensor that has them. */
#include "einsum_form.h"

#include <math.h>

/* Sorts the axes of both operands by what they do; m is the first operand's. */
static void find_roles(const struct axes *in[2], const struct axes *out, struct roles *r) {
    *r = (struct roles){{.count = 0}, {.count = 0}, {.count = 0}, {.count = 0}};
    for (int o = 0; o < 2; o++)
        for (int i = 0; i < in[o]->count; i++) {
            const int axis = in[o]->axis[i];
            const bool stays = axes_contain(out, axis), both = axes_contain(in[1 - o], axis);
            struct axes *role = !stays ? &r->k : both ? &r->batch : o == 0 ? &r->m : &r->n;
            if (o == 0 || !both) role->axis[role->count++] = axis;
        }
}

/* out NULL: the product may stay as it comes. */
static struct form form_of(const struct einsum *e, const struct axes *in[2], const struct axes *out,
                           const struct roles *r, int x, enum layout layout) {
    struct form f = {.x = x, .layout = layout, .roles = *r};
    if (x == 1) {
        f.roles.m = r->n;
        f.roles.n = r->m;
    }
    const struct axes *b = &f.roles.batch, *m = &f.roles.m, *n = &f.roles.n, *k = &f.roles.k;
    f.order[0] = layout == LAYOUT_TN ? axes_joined(b, k, m) : axes_joined(b, m, k);
    f.order[1] = layout == LAYOUT_NT ? axes_joined(b, n, k) : axes_joined(b, k, n);
    f.order[2] = axes_joined(b, m, n);
    f.moved = axes_moved(e, in[x], &f.order[0]) + axes_moved(e, in[1 - x], &f.order[1]) +
              (out ? axes_moved(e, &f.order[2], out) : 0);
    return f;
}

struct form product_form(const struct einsum *e, const struct axes *in[2], const struct axes *out,
                         bool any_order) {
    static const enum layout layouts[] = {LAYOUT_NN, LAYOUT_NT, LAYOUT_TN};
    struct roles roles;
    struct form best = {.moved = INFINITY};
    find_roles(in, out, &roles);
    for (unsigned choice = 0; choice < 16; choice++) {
        const struct roles ordered = {axes_in_order_of(&roles.batch, in[choice & 1]),
                                      axes_in_order_of(&roles.m, choice & 2 ? out : in[0]),
                                      axes_in_order_of(&roles.n, choice & 4 ? out : in[1]),
                                      axes_in_order_of(&roles.k, in[choice >> 3])};
        for (int x = 0; x < 2; x++)
            for (int i = 0; i < 3 && best.moved > 0; i++) {
                const struct axes *m = x ? &roles.n : &roles.m, *n = x ? &roles.m : &roles.n;
                if (m->count == 0 && n->count > 0) continue;
                const struct form f =
                    form_of(e, in, any_order ? NULL : out, &ordered, x, layouts[i]);
                if (f.moved < best.moved) best = f;
            }
    }
    return best;
}
