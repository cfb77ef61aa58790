/* einsum_permute.h - lists of axes, and how transposes of matrices bring one into another order: the axes from `first` to `middle`
 * change places with those from `middle` to the end. For every index of what is before `first` that is one transpose. */
#ifndef ACCOUNT_EINSUM_PERMUTE_H
#define ACCOUNT_EINSUM_PERMUTE_H
#include "einsum.h"

/* Axes of a tensor or of a part of it, outermost first. Where an axis is in a tensor again, EINSUM_AXES is added to its number
 * for each time it was there before. */
struct axes {
    int count, axis[EINSUM_AXES];
};

bool axes_contain(const struct axes *a, int axis);
void axes_append(struct axes *a, const struct axes *b);
struct axes axes_joined(const struct axes *a, const struct axes *b, const struct axes *c);
/* The axes of a set as a tensor has them. */
struct axes axes_in_order_of(const struct axes *set, const struct axes *tensor);
/* Elements of a tensor of these axes. */
int64_t axes_extent(const struct einsum *e, const struct axes *a);

struct rotation {
    int first, middle;
};
void axes_rotate(struct axes *a, struct rotation r);

/* The next of the rotations that turn one list into the other, which has the same axes; how many it takes from here on, this
 * one included: 0 when both are equal. It takes as few as possible when at most PERMUTED_EXACTLY groups of axes have to move;
 * of several ways the one with the fewest transposes. */
enum { PERMUTED_EXACTLY = 6 };
int axes_next_rotation(const struct einsum *e, const struct axes *from, const struct axes *to,
                       struct rotation *next);

/* How many rotations it takes in all, and how many elements they move. */
int axes_rotations(const struct einsum *e, const struct axes *from, const struct axes *to);
double axes_moved(const struct einsum *e, const struct axes *from, const struct axes *to);
#endif
