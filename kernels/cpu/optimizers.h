/* optimizers.h - the optimizers of optimizers.inc: what state each has, and the slices of a step. */
#ifndef OPTIMIZERS_H
#define OPTIMIZERS_H
#include "parallel.h"

enum optimizer { SGD, MOMENTUM, ADAGRAD, RMSPROP, ADAM, ADAMW };

static inline bool has_mean(enum optimizer kind) {
    return kind == MOMENTUM || kind == ADAM || kind == ADAMW;
}
static inline bool has_squares(enum optimizer kind) { return kind >= ADAGRAD; }

/* A step moves three operands or more; a root and a division take about as long as three more. */
static inline int in_step(const struct args *a, size_t acc_bytes, part_fn *part) {
    in_slices(a, a->s.n, 64, 4 * (double)a->s.n * (double)acc_bytes, part);
    return 0;
}
#endif
