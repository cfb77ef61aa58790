/* training_memory.h - bytes that training takes a parameter: parameters, gradients, optimizer state, fp32 master copy;
 * and how many of them each device holds.
 *
 * ZeRO (Rajbhandari et al. 2020, section 5) divides over the data-parallel degree: stage 1 optimizer state and master
 * copy, 2 gradients as well, 3 parameters as well. Tensor and pipeline parallelism divide all of them. */
#ifndef ACCOUNT_TRAINING_MEMORY_H
#define ACCOUNT_TRAINING_MEMORY_H
#include "../../kernels/catalogue.h"

enum optimizer {
    OPTIMIZER_NONE,
    OPTIMIZER_SGD,
    OPTIMIZER_MOMENTUM,
    OPTIMIZER_ADAGRAD,
    OPTIMIZER_RMSPROP,
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAMW
};
extern const char *const optimizer_names[]; /* ends at NULL */

/* Values that an optimizer keeps a parameter: 0, 1 or 2. */
int optimizer_states(enum optimizer o);

/* Bits that a value takes, times 16, so that block scales are whole: nvfp4 4 + 8/16. Its one tensor scale is left out. */
int64_t value_bits_16(enum dtype t);
double value_bytes(enum dtype t);

/* What each parameter takes in bits x 16; 0: there is none of it. */
struct parameter_bits {
    int64_t parameters, gradients, optimizer, master;
};
int64_t parameter_bits_sum(const struct parameter_bits *bits);

/* Bytes of n values of so many bits x 16, rounded up; COUNT_OVERFLOW when there are too many. */
int64_t bytes_of(int64_t bits_16, int64_t n);

/* Degrees of parallelism, each from 1 on, and the ZeRO stage, 0 to 3. */
struct parallel {
    int zero;
    int64_t tensor, pipeline, data;
};

/* Bytes on the fullest device, of a model of n parameters divided evenly. */
struct device_bytes {
    int64_t parameters, gradients, optimizer, master;
};
struct device_bytes device_bytes(const struct parameter_bits *bits, const struct parallel *p,
                                 int64_t n);
int64_t device_bytes_sum(const struct device_bytes *d);

/* Parameters of the largest model whose bytes fit into `memory` on each device; an upper bound, without activations. */
double largest_model(const struct parameter_bits *bits, const struct parallel *p, double memory);
#endif
