/* einsum_lower.h - a bound pattern as calls of the catalogue, planned without a device.
 *
 * A product of two is a (batched) matrix product, matrix-vector product, dot or elementwise product; of more, pair by pair in the
 * order of fewest FLOPs. What one operand alone has is summed first, by a product with ones. Reductions go row by row. Transposes
 * bring dimensions into order, copies take diagonals. */
#ifndef ACCOUNT_EINSUM_LOWER_H
#define ACCOUNT_EINSUM_LOWER_H
#include "einsum.h"

enum { LOWERED_STEPS = 64, LOWERED_TENSORS = EINSUM_OPERANDS + LOWERED_STEPS };

/* Tensors are numbered: the pattern's operands first, then what the steps make, in their order. */
struct lowered_step {
    enum op_id op;
    enum dtype dtype;
    enum layout layout;
    struct shape s;
    int in[2], ins;
    double alpha; /* of fill and scale; 1 */
    int64_t
        calls; /* on one part of the input and of the result after the other; more than one: one input */
    int64_t apart; /* elements from the beginning of one part of the input to the next */
};

struct lowering {
    int steps;
    struct lowered_step step[LOWERED_STEPS]; /* the last one makes the output */
};

/* The dtype that a step's result is stored in, and its elements, all calls together. */
enum dtype lowered_dtype(const struct lowered_step *s);
int64_t lowered_elements(const struct lowered_step *s);
/* What an operand is stored in: tf32 lies in memory as fp32. */
enum dtype lowered_storage(enum dtype t);
/* Calls of all steps. */
int64_t lowered_calls(const struct lowering *l);

/* Sizes are those of e, and what is chosen is best for those of `full`, which may be e itself: so a small problem goes the way
 * of a large one. 0, or -1 after a complaint: a view, nvfp4, or more steps than there is room for. */
int einsum_lower(const struct einsum *e, const struct einsum *full, enum dtype t,
                 struct lowering *l, struct complaint *why);

/* How far the result may be from the definition's on operands that are integers of at most `largest`: by `terms` times the sum
 * of the terms' magnitudes, and by `result` times the result; exact: it is the definition's result, rounded once. */
struct lowered_error {
    bool exact;
    double terms, result;
};
struct lowered_error lowering_error(const struct lowering *l, int operands, double largest);

/* The same pattern with the longest dimension halved, again and again, until the definition takes at most so many steps and
 * no operand has more elements. */
void einsum_shrink(struct einsum *e, int64_t most_steps);
#endif
