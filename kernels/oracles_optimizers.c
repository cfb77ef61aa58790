/* oracles_optimizers.c - the truth of one optimizer step, an element at a time, in extended precision.
 *
 * Each number carries, beside its exact value, a magnitude: what a relative error of each operation before is relative to
 * once it has come this far. Sums of opposite signs, roots and quotients of such sums have more than their value. The
 * depths in ops.def count the roundings on the longest way to a result; a root halves those before it. */
#include "oracles.h"

#include "numerics.h"

enum optimizer { SGD, MOMENTUM, ADAGRAD, RMSPROP, ADAM, ADAMW };

struct number {
    long double value, magnitude; /* magnitude >= |value| */
};

static struct number plus(struct number x, struct number y) {
    return (struct number){x.value + y.value, x.magnitude + y.magnitude};
}
static struct number times(long double a, struct number x) {
    return (struct number){a * x.value, fabsl(a) * x.magnitude};
}
static struct number squared(struct number x) {
    return (struct number){x.value * x.value, x.magnitude * x.magnitude};
}
static long double amplification(struct number x) {
    return x.magnitude > 0 ? x.magnitude / fabsl(x.value) : 1;
}
static struct number root(struct number x) {
    const long double y = sqrtl(x.value);
    return (struct number){y, x.value > 0 ? y * amplification(x) : sqrtl(x.magnitude)};
}
static struct number over(struct number x, struct number y) {
    return (struct number){x.value / y.value, x.magnitude / fabsl(y.value) * amplification(y)};
}
static struct number exactly(long double x) { return (struct number){x, fabsl(x)}; }

static struct number operand(const struct args *a, enum dtype t, enum op_id id, int o, int64_t i) {
    const struct operand *operand = &ops[id].operand[o];
    return exactly(
        value_get(operand_dtype(operand, t), a->buf[o], operand_elements(operand, a->s), i));
}

/* Operands: p [, master], grad, state, numbers. `master`: 1 or 0 of the second. */
static long double step(const struct args *a, enum dtype t, enum op_id id, int o, int64_t i,
                        long double *mag, enum optimizer kind, int master) {
    const int grad = 1 + master, state = grad + 1, last = op_operand_count(&ops[id]) - 1;
    long double h[HYPER_COUNT];
    for (int j = 0; j < HYPER_COUNT; j++) h[j] = operand(a, t, id, last, j).value;
    const long double lr = h[HYPER_LR], b1 = h[HYPER_BETA1], b2 = h[HYPER_BETA2],
                      decay = h[HYPER_DECAY];
    const struct number eps = exactly(h[HYPER_EPS]);

    struct number p = operand(a, t, id, master, i), m = {0, 0}, s = {0, 0}, move;
    struct number g = times(h[HYPER_GRAD_SCALE], operand(a, t, id, grad, i));
    if (kind == ADAMW)
        p = plus(p, times(-lr * decay, p));
    else
        g = plus(g, times(decay, p));

    const bool has_mean = kind == MOMENTUM || kind == ADAM || kind == ADAMW;
    if (has_mean) m = plus(times(b1, operand(a, t, id, state, i)), times(1 - b1, g));
    if (kind == ADAGRAD)
        s = plus(operand(a, t, id, state, i), squared(g));
    else if (kind >= RMSPROP)
        s = plus(times(b2, operand(a, t, id, last - 1, i)), times(1 - b2, squared(g)));

    switch (kind) {
    case SGD:
        move = times(lr, g);
        break;
    case MOMENTUM:
        move = times(lr, m);
        break;
    case ADAGRAD:
        move = over(times(lr, g), root(plus(s, eps)));
        break;
    case RMSPROP:
        move = over(times(lr, g), plus(root(s), eps));
        break;
    default:
        move = over(times(lr * h[HYPER_CORRECT1], m), plus(root(times(h[HYPER_CORRECT2], s)), eps));
    }
    p = plus(p, times(-1, move));

    const struct number result = o <= master ? p : o == state && has_mean ? m : s;
    *mag = result.magnitude;
    return result.value;
}

#define ORACLE(name, kind)                                                                   \
    long double oracle_##name(const struct args *a, enum dtype t, int o, int64_t i,          \
                              long double *mag) {                                            \
        return step(a, t, OP_##name, o, i, mag, kind, 0);                                    \
    }                                                                                        \
    long double oracle_##name##_master(const struct args *a, enum dtype t, int o, int64_t i, \
                                       long double *mag) {                                   \
        return step(a, t, OP_##name##_master, o, i, mag, kind, 1);                           \
    }
ORACLE(sgd, SGD)
ORACLE(momentum, MOMENTUM)
ORACLE(adagrad, ADAGRAD)
ORACLE(rmsprop, RMSPROP)
ORACLE(adam, ADAM)
ORACLE(adamw, ADAMW)
