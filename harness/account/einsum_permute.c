/* einsum_permute.c - axes that follow each other in both orders move as one group; few groups are sorted by a search that goes
 * deeper step by step, many are brought to their places one after the other until few are left. */
#include "einsum_permute.h"

#include <math.h>
#include <string.h>

bool axes_contain(const struct axes *a, int axis) {
    for (int i = 0; i < a->count; i++)
        if (a->axis[i] == axis) return true;
    return false;
}

void axes_append(struct axes *a, const struct axes *b) {
    for (int i = 0; i < b->count; i++) a->axis[a->count++] = b->axis[i];
}

struct axes axes_joined(const struct axes *a, const struct axes *b, const struct axes *c) {
    struct axes all = *a;
    axes_append(&all, b);
    axes_append(&all, c);
    return all;
}

struct axes axes_in_order_of(const struct axes *set, const struct axes *tensor) {
    struct axes sorted = {.count = 0};
    for (int i = 0; i < tensor->count; i++)
        if (axes_contain(set, tensor->axis[i])) sorted.axis[sorted.count++] = tensor->axis[i];
    return sorted;
}

int64_t axes_extent(const struct einsum *e, const struct axes *a) {
    int64_t n = 1;
    for (int i = 0; i < a->count; i++) n *= e->axis[a->axis[i] % EINSUM_AXES].size;
    return n;
}

/* [first, middle) and [middle, count) of a list change places. */
static void rotate(int *list, int count, int first, int middle) {
    int moved[EINSUM_AXES];
    const int front = middle - first, back = count - middle;
    memcpy(moved, list + first, (size_t)front * sizeof *moved);
    memmove(list + first, list + middle, (size_t)back * sizeof *moved);
    memcpy(list + first + back, moved, (size_t)front * sizeof *moved);
}

void axes_rotate(struct axes *a, struct rotation r) {
    rotate(a->axis, a->count, r.first, r.middle);
}

/* ---- groups ---- */

/* place: of each group in the order that is wanted; sorted, it is 0, 1, 2, ... */
struct groups {
    int count, place[EINSUM_AXES];
    int begin[EINSUM_AXES];     /* by group as they lie now: its first axis */
    double extent[EINSUM_AXES]; /* by place */
};

static void group(const struct einsum *e, const struct axes *from, const struct axes *to,
                  struct groups *g) {
    int at[EINSUM_AXES], first[EINSUM_AXES];
    g->count = 0;
    for (int i = 0; i < from->count; i++) {
        for (at[i] = 0; to->axis[at[i]] != from->axis[i]; at[i]++) {
        }
        if (i > 0 && at[i] == at[i - 1] + 1) continue;
        g->begin[g->count] = i;
        first[g->count++] = at[i];
    }
    for (int i = 0; i < g->count; i++) {
        g->place[i] = 0;
        for (int j = 0; j < g->count; j++) g->place[i] += first[j] < first[i];
        const int end = i + 1 < g->count ? g->begin[i + 1] : from->count;
        double *extent = &g->extent[g->place[i]];
        *extent = 1;
        for (int j = g->begin[i]; j < end; j++)
            *extent *= (double)e->axis[from->axis[j] % EINSUM_AXES].size;
    }
}

/* Neighbours that do not follow each other, with the end as the last group's. A rotation mends three at most. */
static int gaps(const int *place, int count) {
    int n = place[count - 1] != count - 1;
    for (int i = 0; i < count; i++) n += place[i] != (i > 0 ? place[i - 1] + 1 : 0);
    return n;
}

/* The fewest transposes in which `left` rotations sort the groups; INFINITY: they can't. */
static double search(const struct groups *g, const int *place, int left, struct rotation *next) {
    const int open = gaps(place, g->count);
    double best = INFINITY, before = 1;
    if (open == 0) return 0;
    if (open > 3 * left) return INFINITY;
    for (int first = 0; first < g->count - 1; before *= g->extent[place[first++]])
        for (int middle = first + 1; middle < g->count; middle++) {
            int turned[EINSUM_AXES];
            struct rotation later;
            memcpy(turned, place, (size_t)g->count * sizeof *turned);
            rotate(turned, g->count, first, middle);
            const double calls = before + search(g, turned, left - 1, &later);
            if (calls < best) {
                best = calls;
                *next = (struct rotation){first, middle};
            }
        }
    return best;
}

int axes_next_rotation(const struct einsum *e, const struct axes *from, const struct axes *to,
                       struct rotation *next) {
    struct groups g;
    struct rotation r = {0, 0};
    int count = 0;
    if (from->count == 0) return 0;
    group(e, from, to, &g);
    if (g.count <= PERMUTED_EXACTLY) {
        while (isinf(search(&g, g.place, count, &r))) count++;
    } else {
        /* the first one that is not in its place is brought there, which unites it with the one before */
        while (g.place[r.first] == r.first) r.first++;
        for (r.middle = r.first; g.place[r.middle] != r.first; r.middle++) {
        }
        struct axes turned = *from;
        struct rotation ignored;
        next->first = g.begin[r.first];
        next->middle = g.begin[r.middle];
        axes_rotate(&turned, *next);
        return 1 + axes_next_rotation(e, &turned, to, &ignored);
    }
    if (count > 0) *next = (struct rotation){g.begin[r.first], g.begin[r.middle]};
    return count;
}

double axes_moved(const struct einsum *e, const struct axes *from, const struct axes *to) {
    return axes_rotations(e, from, to) * (double)axes_extent(e, from);
}

int axes_rotations(const struct einsum *e, const struct axes *from, const struct axes *to) {
    struct rotation ignored;
    return axes_next_rotation(e, from, to, &ignored);
}
