/* einsum_lower.h - a bound pattern as calls of the catalogue: a product of two operands as (batched) matrix product,
 * matrix-vector product, dot or elementwise product, with transposes before and after where they bring a tensor's dimensions
 * into order; a sum, mean or maximum of a whole tensor; a rearrangement that moves data as one transpose. */
#ifndef ACCOUNT_EINSUM_LOWER_H
#define ACCOUNT_EINSUM_LOWER_H
#include "einsum.h"

enum { LOWERED_STEPS = 4 };

/* Tensors are numbered: the pattern's operands first, then what the steps make, in their order. */
struct lowered_step {
    enum op_id op;
    enum dtype dtype;
    enum layout layout;
    struct shape s;
    int in[2], ins;
};

struct lowering {
    int steps;
    struct lowered_step step[LOWERED_STEPS]; /* the last one makes the output */
};

/* The dtype that a step's result is stored in. */
enum dtype lowered_dtype(const struct lowered_step *s);

/* 0, or -1 after a complaint: what the catalogue has no calls for. */
int einsum_lower(const struct einsum *e, enum dtype t, struct lowering *l, struct complaint *why);

/* The same pattern with every dimension halved, but never below 2, until it takes at most so many steps. */
void einsum_shrink(struct einsum *e, int64_t most_steps);
#endif
