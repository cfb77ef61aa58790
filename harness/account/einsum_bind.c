/* einsum_bind.c - sizes for the names: given ones, and those that follow from shapes. */
#include "einsum.h"
#include "count.h"

#include <string.h>

bool einsum_has(const struct einsum_tensor *t, int axis) {
    for (int d = 0; d < t->dims; d++)
        for (int i = 0; i < t->dim[d].axes; i++)
            if (t->dim[d].axis[i] == axis) return true;
    return false;
}

int64_t einsum_dim_size(const struct einsum *e, const struct einsum_dim *d) {
    int64_t size = 1;
    for (int i = 0; i < d->axes; i++) size = count_mul(size, e->axis[d->axis[i]].size);
    return size;
}

int64_t einsum_numel(const struct einsum *e, const struct einsum_tensor *t) {
    int64_t numel = 1;
    for (int d = 0; d < t->dims; d++) numel = count_mul(numel, einsum_dim_size(e, &t->dim[d]));
    return numel;
}

void einsum_sizes_none(struct einsum_sizes *s) {
    s->names = 0;
    s->ellipsis = -1;
    for (int i = 0; i < EINSUM_OPERANDS; i++) s->dims[i] = -1;
}

/* Dimensions that `...` stands for; -1 after a complaint. */
static int ellipsis_dims(const struct einsum *e, const struct einsum_sizes *s,
                         struct complaint *why) {
    int count = s->ellipsis;
    bool there = false;
    for (int i = 0; i < e->operands; i++) {
        if (!einsum_has(&e->in[i], ELLIPSIS)) continue;
        there = true;
        if (s->dims[i] < 0) continue;
        const int here = s->dims[i] - (e->in[i].dims - 1);
        if (here < 0)
            return complain(why, "operand %d has %d dimensions, not %d or more", i + 1, s->dims[i],
                            e->in[i].dims - 1);
        if (count >= 0 && count != here)
            return complain(why, "'...' stands for %d dimensions and for %d", count, here);
        count = here;
    }
    if (!there && s->ellipsis >= 0) return complain(why, "there is no '...' in the pattern");
    if (there && count < 0) return complain(why, "say '...=2x3' or --shape: what '...' stands for");
    return there ? count : 0;
}

/* Within parentheses `...` becomes axes of the group, elsewhere dimensions. */
static int expand(struct einsum_tensor *t, int first, int count, struct complaint *why) {
    struct einsum_tensor full = {.dims = 0};
    for (int d = 0; d < t->dims; d++) {
        const struct einsum_dim *from = &t->dim[d];
        const bool alone = !from->group && from->axes == 1 && from->axis[0] == ELLIPSIS;
        if (full.dims + (alone ? count : 1) > EINSUM_DIMS)
            return complain(why, "more than %d dimensions", EINSUM_DIMS);
        if (alone) {
            for (int i = 0; i < count; i++)
                full.dim[full.dims++] = (struct einsum_dim){.axes = 1, .axis = {first + i}};
            continue;
        }
        struct einsum_dim *to = &full.dim[full.dims++];
        to->group = from->group;
        for (int i = 0; i < from->axes; i++) {
            const bool dots = from->axis[i] == ELLIPSIS;
            if (to->axes + (dots ? count : 1) > EINSUM_DIMS)
                return complain(why, "more than %d dimensions in parentheses", EINSUM_DIMS);
            if (!dots) to->axis[to->axes++] = from->axis[i];
            for (int j = 0; dots && j < count; j++) to->axis[to->axes++] = first + j;
        }
    }
    *t = full;
    return 0;
}

static int expand_all(struct einsum *e, const struct einsum_sizes *s, struct complaint *why) {
    const int count = ellipsis_dims(e, s, why), first = e->axes;
    if (count < 0) return -1;
    if (e->axes + count > EINSUM_AXES) return complain(why, "more than %d dimensions", EINSUM_AXES);
    for (int i = 0; i < count; i++) {
        struct einsum_axis *axis = &e->axis[e->axes++];
        snprintf(axis->name, sizeof axis->name, "...%d", i);
        axis->size = s->ellipsis >= 0 ? s->ellipsis_size[i] : 0;
    }
    for (int i = 0; i < e->operands; i++)
        if (expand(&e->in[i], first, count, why)) return -1;
    return expand(&e->out, first, count, why);
}

static int bind_names(struct einsum *e, const struct einsum_sizes *s, struct complaint *why) {
    for (int i = 0; i < s->names; i++) {
        int axis = 0;
        while (axis < e->axes && strcmp(e->axis[axis].name, s->name[i]) != 0) axis++;
        if (axis == e->axes || e->axis[axis].name[0] == '.')
            return complain(why, "'%s' is no dimension of the pattern", s->name[i]);
        if (e->axis[axis].size && e->axis[axis].size != s->size[i])
            return complain(why, "'%s' is %lld and %lld", s->name[i], (long long)e->axis[axis].size,
                            (long long)s->size[i]);
        e->axis[axis].size = s->size[i];
    }
    return 0;
}

/* A dimension of known size: its one unknown axis follows. */
static int bind_dim(struct einsum *e, const struct einsum_dim *d, int64_t size, int operand,
                    struct complaint *why) {
    int64_t known = 1;
    int unknown = -1;
    for (int i = 0; i < d->axes; i++) {
        const struct einsum_axis *axis = &e->axis[d->axis[i]];
        if (axis->size)
            known = count_mul(known, axis->size);
        else if (unknown >= 0)
            return complain(why, "sizes of '%s' and '%s' do not follow from %lld",
                            e->axis[unknown].name, axis->name, (long long)size);
        else
            unknown = d->axis[i];
    }
    if (unknown >= 0 && known != COUNT_OVERFLOW && size % known == 0)
        e->axis[unknown].size = size / known;
    else if (unknown >= 0)
        return complain(why, "operand %d: %lld cannot be divided into parts of %lld", operand + 1,
                        (long long)size, (long long)known);
    else if (known != size)
        return complain(why, "operand %d: a dimension of %lld, not of %lld", operand + 1,
                        (long long)size, (long long)known);
    return 0;
}

static int bind_shapes(struct einsum *e, const struct einsum_sizes *s, struct complaint *why) {
    for (int i = 0; i < e->operands; i++) {
        if (s->dims[i] < 0) continue;
        if (s->dims[i] != e->in[i].dims)
            return complain(why, "operand %d has %d dimensions, not %d", i + 1, s->dims[i],
                            e->in[i].dims);
        for (int d = 0; d < s->dims[i]; d++)
            if (bind_dim(e, &e->in[i].dim[d], s->shape[i][d], i, why)) return -1;
    }
    for (int i = e->operands; i < EINSUM_OPERANDS; i++)
        if (s->dims[i] >= 0)
            return complain(why, "a shape for operand %d of %d", i + 1, e->operands);
    return 0;
}

int einsum_bind(struct einsum *e, const struct einsum_sizes *s, struct complaint *why) {
    if (expand_all(e, s, why) || bind_names(e, s, why) || bind_shapes(e, s, why)) return -1;
    int64_t all = 1;
    for (int i = 0; i < e->axes; i++) {
        if (!e->axis[i].size)
            return complain(why, "the size of '%s' is not known: say %s=N", e->axis[i].name,
                            e->axis[i].name);
        all = count_mul(all, e->axis[i].size);
    }
    /* a diagonal has more elements than steps */
    for (int i = 0; i < e->operands; i++) {
        const int64_t numel = einsum_numel(e, &e->in[i]);
        if (numel > all) all = numel;
    }
    return all >= INT64_MAX / 2 ? complain(why, "more than 2^62 steps or elements") : 0;
}
