/* tensor.h - a strided tensor: element (i0, i1, ...) lies at offset + i0 stride0 + i1 stride1 + ... of its storage. Which
 * operations only change shape, strides and offset (views), and which must copy. Semantics of PyTorch's tensors. */
#ifndef ACCOUNT_TENSOR_H
#define ACCOUNT_TENSOR_H
#include "answer.h"

enum { TENSOR_DIMS = 32 };

struct tensor {
    int dims; /* 0: a scalar */
    int64_t size[TENSOR_DIMS], stride[TENSOR_DIMS],
        offset; /* in elements; sizes from 1, strides from 0 on */
};

/* Row-major; 0, or -1 when it has too many elements (counts stay below 2^62). */
int tensor_new(struct tensor *t, const int64_t *size, int dims, struct complaint *why);

int64_t tensor_numel(const struct tensor *t);
bool tensor_is_contiguous(const struct tensor *t);
/* Elements of storage that it reaches over, from 0 to its last one; COUNT_OVERFLOW. */
int64_t tensor_storage(const struct tensor *t);

/* Views; 0, or -1 after a complaint, the tensor unchanged. Negative indices count from the end. */
int tensor_select(struct tensor *t, int64_t dim, int64_t index, struct complaint *why);
int tensor_slice(struct tensor *t, int64_t dim, int64_t start, int64_t stop, int64_t step,
                 struct complaint *why);
int tensor_transpose(struct tensor *t, int64_t a, int64_t b, struct complaint *why);
int tensor_permute(struct tensor *t, const int *order, struct complaint *why);

/* Another shape of the same elements in the same order, without a copy; -1 with the reason where strides forbid it.
 * One size may be -1: what is left. */
int tensor_view(struct tensor *t, const int64_t *size, int dims, struct complaint *why);
/* As tensor_view(), but copies where it must. */
int tensor_reshape(struct tensor *t, const int64_t *size, int dims, bool *copied,
                   struct complaint *why);
void tensor_contiguous(struct tensor *t, bool *copied);

/* Where an element lies, `count` indices; -1 after a complaint. */
int64_t tensor_at(const struct tensor *t, const int64_t *index, int count, struct complaint *why);
#endif
