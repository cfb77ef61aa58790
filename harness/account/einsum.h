/* einsum.h - products, reductions and rearrangements over named dimensions, in einops' notation:
 *
 *   einsum     "batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2"   what is not in the output is summed
 *   reduce     "batch (heads hidden) ... -> batch heads ..."               sum, mean, max, min of what is left out
 *   rearrange  "... (heads hidden) -> ... heads hidden"                    parentheses split and merge
 *
 * `...` stands for any dimensions, summed where only the left side of a product has it (as in torch); `1` and `()` for one of
 * size 1. What einops refuses is refused: parentheses and numbers in a product, a name twice on one side of the others, a name
 * that only the right side knows. Names are ASCII. */
#ifndef ACCOUNT_EINSUM_H
#define ACCOUNT_EINSUM_H
#include "answer.h"

#include "../../kernels/catalogue.h"

enum {
    EINSUM_OPERANDS = 8,
    EINSUM_DIMS = 16, /* of a tensor, and axes within one pair of parentheses */
    EINSUM_AXES = 52,
    EINSUM_NAME = 32,
    ELLIPSIS = -1 /* in place of an axis, until sizes are bound */
};

enum einsum_kind {
    EINSUM_PRODUCT,
    EINSUM_REARRANGE,
    EINSUM_SUM,
    EINSUM_MEAN,
    EINSUM_MAX,
    EINSUM_MIN
};

struct einsum_axis {
    char name[EINSUM_NAME]; /* "" is a number's: it can't be named */
    int64_t size;           /* 0: not known yet */
};

/* A dimension of a tensor: its axes, outermost first; none: size 1. */
struct einsum_dim {
    int axes, axis[EINSUM_DIMS];
    bool group; /* parentheses: what `...` stands for is merged within them */
};

struct einsum_tensor {
    int dims;
    struct einsum_dim dim[EINSUM_DIMS];
};

struct einsum {
    enum einsum_kind kind;
    int operands, axes;
    struct einsum_tensor in[EINSUM_OPERANDS], out;
    struct einsum_axis axis[EINSUM_AXES];
};

/* 0, or -1 after a complaint. */
int einsum_parse(const char *pattern, enum einsum_kind kind, struct einsum *e,
                 struct complaint *why);

/* Sizes, as given: by name, for `...`, and shapes of operands, dims -1 where none is given. */
struct einsum_sizes {
    int names;
    const char *name[EINSUM_AXES];
    int64_t size[EINSUM_AXES];
    int ellipsis; /* dimensions; -1: not given */
    int64_t ellipsis_size[EINSUM_DIMS];
    int dims[EINSUM_OPERANDS];
    int64_t shape[EINSUM_OPERANDS][EINSUM_DIMS];
};
void einsum_sizes_none(struct einsum_sizes *s);

/* Replaces `...` by axes and gives every axis its size; 0, or -1 after a complaint. Every product of sizes fits. */
int einsum_bind(struct einsum *e, const struct einsum_sizes *s, struct complaint *why);

/* ---- of a bound pattern ---- */

int64_t einsum_dim_size(const struct einsum *e, const struct einsum_dim *d);
int64_t einsum_numel(const struct einsum *e, const struct einsum_tensor *t);
/* Whether an axis is in a tensor. */
bool einsum_has(const struct einsum_tensor *t, int axis);

struct einsum_cost {
    int64_t steps; /* the product of all axes */
    double
        flops; /* a product of two: 2 a step; of more: in the best order; a reduction: 1 a step */
    int64_t bytes;      /* every operand read once, the output written once; 0 for a view */
    bool reduces, view; /* view: a rearrangement that only changes strides */
    enum dtype out;     /* a product of narrow types is stored in a wider one */
};
int einsum_cost(const struct einsum *e, enum dtype t, struct einsum_cost *cost,
                struct complaint *why);

/* A product of three operands or more, pair by pair. Tensors are numbered: operands first, then what the pairs make. */
struct einsum_order {
    int pairs, pair[EINSUM_OPERANDS - 1][2];
    double flops; /* 2 a step of each pair, and 1 an element to sum what only one operand has */
    double
        one_loop; /* over all dimensions at once: a multiply-add and operands - 2 products a step */
};
/* The order with the fewest FLOPs of all; each result keeps what the output or another operand needs. */
void einsum_find_order(const struct einsum *e, struct einsum_order *o);
/* "1 (2 3)" */
void einsum_order_text(const struct einsum *e, const struct einsum_order *o, char *text,
                       size_t size);

/* The definition itself, step by step, for contiguous operands: what faster code is compared with. */
void einsum_evaluate(const struct einsum *e, const double *const in[], double *out);
#endif
