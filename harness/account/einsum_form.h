/* einsum_form.h - the ways to compute a product of two tensors as one (batched) product of matrices. */
#ifndef ACCOUNT_EINSUM_FORM_H
#define ACCOUNT_EINSUM_FORM_H
#include "einsum_permute.h"

/* What an axis of a product does: batch is in both tensors and in the product, k in both and summed. */
struct roles {
    struct axes batch, m, n, k;
};

struct form {
    int x; /* the tensor that is X; the other one is Y */
    enum layout layout;
    struct axes order[3]; /* of X, Y and the product [batch m n] */
    struct roles roles;   /* of X and Y */
    double moved;         /* elements, by transposes before and after */
};

/* The form whose transposes move the least, at the sizes of e. Every axis of a tensor that is not in `out` is in the other tensor
 * too. any_order: the product may stay as it comes. A matrix times a vector, never a vector times a matrix. */
struct form product_form(const struct einsum *e, const struct axes *in[2], const struct axes *out,
                         bool any_order);
#endif
