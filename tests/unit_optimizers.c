/* unit_optimizers.c [device] - every row of the optimizers on steps that were computed by hand, on steps that are to be
 * skipped, on zeros; and on many steps, which have to find a minimum. */
#include "../harness/devices.h"
#include "../harness/execute.h"
#include "../kernels/numerics.h"
#include "test.h"

#include <stdlib.h>

enum { SKIPPED_TEST = 77, MOST = 20011, STEPS = 100 };

static struct device device;

/* ---- one call ---- */

enum place { P, MASTER, GRAD, M, S, PLACES };

static const struct optimizer {
    enum op_id op, master;
    bool has_m, has_s;
} optimizers[] = {
    {OP_sgd, OP_sgd_master, false, false},        {OP_momentum, OP_momentum_master, true, false},
    {OP_adagrad, OP_adagrad_master, false, true}, {OP_rmsprop, OP_rmsprop_master, false, true},
    {OP_adam, OP_adam_master, true, true},        {OP_adamw, OP_adamw_master, true, true},
};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

/* Where an operand lies among those of the call, -1: nowhere. */
static int index_of(const struct optimizer *o, bool master, enum place place) {
    const bool present[PLACES] = {true, master, true, o->has_m, o->has_s};
    int index = 0;
    for (int i = 0; i < (int)place; i++) index += present[i];
    return present[place] ? index : -1;
}

struct step {
    double x[PLACES];
    double hyper[HYPER_COUNT];
};

static void *tensor_of(enum dtype t, int64_t n, double x) {
    void *tensor = malloc(storage_bytes(t, n));
    if (!tensor) abort();
    for (int64_t i = 0; i < n; i++) value_put(t, tensor, n, i, (long double)x);
    return tensor;
}

/* Runs a step on n equal elements. The first element's new values go to *s; -1: no such row, or elements differ. */
static int run(const struct impl *impl, const struct optimizer *o, int64_t n, int threads,
               struct step *s) {
    const bool master = impl->op == o->master;
    const struct op *op = &ops[impl->op];
    const struct args problem = {
        .s = {1, 1, n, 1}, .alpha = 1, .threads = threads, .gpu = device.gpu};
    void *tensor[MAX_OPERANDS] = {NULL};
    const void *in[MAX_OPERANDS] = {NULL};
    const int last = op_operand_count(op) - 1;
    const enum dtype acc = operand_dtype(&op->operand[last], impl->dtype);
    if (impl->refuses && impl->refuses(&problem)) return -1;

    for (int place = 0; place < PLACES; place++) {
        const int at = index_of(o, master, (enum place)place);
        if (at >= 0)
            tensor[at] = tensor_of(operand_dtype(&op->operand[at], impl->dtype), n, s->x[place]);
    }
    tensor[last] = tensor_of(acc, HYPER_COUNT, 0);
    for (int i = 0; i < HYPER_COUNT; i++)
        value_put(acc, tensor[last], HYPER_COUNT, i, (long double)s->hyper[i]);
    for (int i = 0; i <= last; i++) in[i] = tensor[i];

    int error = execute(&device, impl, &problem, in, tensor);
    CHECK(error == 0, "%s.%s.%s: error %d", op->name, impl->name, dtypes[impl->dtype].name, error);
    for (int place = 0; place < PLACES; place++) {
        const int at = index_of(o, master, (enum place)place);
        if (at < 0) continue;
        const enum dtype stored = operand_dtype(&op->operand[at], impl->dtype);
        const size_t bytes = (size_t)dtypes[stored].bits / 8;
        s->x[place] = (double)value_get(stored, tensor[at], n, 0);
        for (int64_t i = 1; i < n; i++) {
            const bool same =
                memcmp(tensor[at], (const char *)tensor[at] + (size_t)i * bytes, bytes) == 0;
            if (same) continue;
            CHECK(same, "%s.%s.%s: operand %d, element %lld of %lld", op->name, impl->name,
                  dtypes[impl->dtype].name, at, (long long)i, (long long)n);
            error = -1;
            break;
        }
    }
    for (int i = 0; i <= last; i++) free(tensor[i]);
    return error;
}

typedef void test_fn(const struct impl *impl, const struct optimizer *o);

static void each_row(test_fn *test) {
    for (const struct impl *const *table = device.kernels; *table; table++)
        for (const struct impl *impl = *table; impl->run; impl++)
            for (int i = 0; i < OPTIMIZERS; i++)
                if (impl->op == optimizers[i].op || impl->op == optimizers[i].master)
                    test(impl, &optimizers[i]);
}

static const char *name_of(const struct impl *impl) {
    static char name[64];
    snprintf(name, sizeof name, "%s.%s.%s", ops[impl->op].name, impl->name,
             dtypes[impl->dtype].name);
    return name;
}

/* ---- by hand ---- */

/* All steps start at p = 2 with gradient 4, scale 1/4, decay 1/2: g = 1 + 1 = 2, without the decay 1. The states are such that
 * roots are rational, and every number is exact in bf16 or, the state's, in fp32. */
static const struct {
    double m, s;                /* before */
    double p_new, m_new, s_new; /* after */
} by_hand[OPTIMIZERS] = {
    /* 2 - 1/2 2 */
    {0, 0, 1, 0, 0},
    /* v = 3/4 3 + 1/4 2 = 2.75; 2 - 1/2 2.75 */
    {3, 0, 0.625, 2.75, 0},
    /* s = 11.75 + 4 = 15.75; sqrt(15.75 + 1/4) = 4; 2 - 1/2 2 / 4 */
    {0, 11.75, 1.75, 0, 15.75},
    /* s = 1/2 2.125 + 1/2 4 = 3.0625; sqrt 1.75 + 1/4 = 2; 2 - 1/2 2 / 2 */
    {0, 2.125, 1.5, 0, 3.0625},
    /* m = 2.75; s = 1/2 3.03125 + 1/2 4 = 3.515625; sqrt(4 s) = 3.75, + 1/4 = 4; 2 - 1/2 2 2.75 / 4 */
    {3, 3.03125, 1.3125, 2.75, 3.515625},
    /* p = 2 - 1/2 1/2 2 = 1.5; m = 3/4 3 + 1/4 = 2.5; s = 1/2 6.03125 + 1/2 = 3.515625; 1.5 - 1/2 2 2.5 / 4 */
    {3, 6.03125, 0.875, 2.5, 3.515625},
};

static const struct step start = {
    {[P] = 2, [MASTER] = 2, [GRAD] = 4},
    {[HYPER_LR] = 0.5,
     [HYPER_BETA1] = 0.75,
     [HYPER_BETA2] = 0.5,
     [HYPER_EPS] = 0.25,
     [HYPER_DECAY] = 0.5,
     [HYPER_CORRECT1] = 2,
     [HYPER_CORRECT2] = 4,
     [HYPER_GRAD_SCALE] = 0.25},
};

static struct step start_of(const struct impl *impl, const struct optimizer *o) {
    struct step s = start;
    s.x[M] = by_hand[o - optimizers].m;
    s.x[S] = by_hand[o - optimizers].s;
    if (impl->op == o->master) s.x[P] = 7; /* is not read */
    return s;
}

static void test_by_hand(const struct impl *impl, const struct optimizer *o) {
    static const int64_t sizes[] = {1, 37, MOST};
    for (int i = 0; i < 3; i++) {
        struct step s = start_of(impl, o);
        if (run(impl, o, sizes[i], device.max_threads < 2 ? 1 : 2, &s)) continue;
        const int at = (int)(o - optimizers);
        CHECK(s.x[P] == by_hand[at].p_new, "%s: p = %.9g", name_of(impl), s.x[P]);
        if (impl->op == o->master)
            CHECK(s.x[MASTER] == by_hand[at].p_new, "%s: master %.9g", name_of(impl), s.x[MASTER]);
        if (o->has_m) CHECK(s.x[M] == by_hand[at].m_new, "%s: m = %.9g", name_of(impl), s.x[M]);
        if (o->has_s) CHECK(s.x[S] == by_hand[at].s_new, "%s: s = %.9g", name_of(impl), s.x[S]);
    }
}

/* ---- a step to skip ---- */

static void test_skipped(const struct impl *impl, const struct optimizer *o) {
    static const double scales[] = {0, -0.0, INFINITY, -INFINITY, NAN};
    static const double grads[] = {4, INFINITY, NAN};
    for (int i = 0; i < 5; i++) {
        const struct step before = start_of(impl, o);
        struct step s = before;
        s.hyper[HYPER_GRAD_SCALE] = scales[i];
        s.x[GRAD] = grads[i % 3];
        if (run(impl, o, 37, 1, &s)) continue;
        for (int place = 0; place < PLACES; place++)
            CHECK(place == GRAD || s.x[place] == before.x[place], "%s, scale %g: operand %d is %g",
                  name_of(impl), scales[i], place, s.x[place]);
    }
}

/* ---- zeros, and what is no number ---- */

static void test_zeros(const struct impl *impl, const struct optimizer *o) {
    struct step s = start;
    s.x[GRAD] = 0;
    s.hyper[HYPER_DECAY] = 0;
    s.hyper[HYPER_EPS] = 1e-8;
    if (run(impl, o, 37, 1, &s)) return;
    CHECK(s.x[P] == 2 && s.x[M] == 0 && s.x[S] == 0, "%s without gradient: p = %g, m = %g, s = %g",
          name_of(impl), s.x[P], s.x[M], s.x[S]);
    s = start;
    s.x[GRAD] = NAN;
    if (run(impl, o, 37, 1, &s)) return;
    CHECK(isnan(s.x[P]), "%s: a gradient that is NaN gives p = %g", name_of(impl), s.x[P]);
}

/* ---- many steps: the minimum of (p - 3)^2 / 2, whose gradient is p - 3 ---- */

static void test_minimum(const struct impl *impl, const struct optimizer *o) {
    const bool master = impl->op == o->master;
    /* without a master copy bf16 would round small steps away */
    if (impl->dtype != (master ? DT_bf16 : DT_fp32)) return;
    const double b1 = 0.9, b2 = 0.99;
    double power1 = 1, power2 = 1;
    struct step s = {{0}, {[HYPER_LR] = 0.1, [HYPER_GRAD_SCALE] = 0x1p-6}};
    s.hyper[HYPER_BETA1] = b1;
    s.hyper[HYPER_BETA2] = b2;
    s.hyper[HYPER_EPS] = 1e-8;
    if (o->op == OP_adagrad) s.hyper[HYPER_LR] = 1;
    for (int t = 1; t <= STEPS; t++) {
        power1 *= b1;
        power2 *= b2;
        s.hyper[HYPER_CORRECT1] = 1 / (1 - power1);
        s.hyper[HYPER_CORRECT2] = 1 / (1 - power2);
        s.x[GRAD] = 0x1p6 * (s.x[master ? MASTER : P] - 3);
        if (run(impl, o, 3, 1, &s)) return;
        /* whatever the gradient's size, adam's first step is the learning rate */
        if (t == 1 && o->op >= OP_adam && o->op <= OP_adamw)
            CHECK(fabs(s.x[master ? MASTER : P] - 0.1) < 1e-6, "%s: first step to %.9g",
                  name_of(impl), s.x[master ? MASTER : P]);
    }
    CHECK(fabs(s.x[P] - 3) < 0.1, "%s: %.9g after %d steps", name_of(impl), s.x[P], STEPS);
}

int main(int argc, char **argv) {
    if (device_pick(argc > 1 ? argv[1] : "cpu", &device) || device.open(&device))
        return SKIPPED_TEST;
    each_row(test_by_hand);
    each_row(test_skipped);
    each_row(test_zeros);
    each_row(test_minimum);
    device.close(&device);
    return test_result();
}
