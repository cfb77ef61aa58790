/* training_memory.c - bytes a parameter, and who holds them. */
#include "training_memory.h"
#include "count.h"

#include "../../kernels/numerics.h"

const char *const optimizer_names[] = {"none",    "sgd",  "momentum", "adagrad",
                                       "rmsprop", "adam", "adamw",    NULL};

int optimizer_states(enum optimizer o) {
    static const int states[] = {0, 0, 1, 1, 1, 2, 2};
    return states[o];
}

int64_t value_bits_16(enum dtype t) {
    return (int64_t)16 * dtypes[t].bits + (t == DT_nvfp4 ? 16 / NVFP4_BLOCK * 8 : 0);
}

double value_bytes(enum dtype t) { return (double)value_bits_16(t) / 128; }

int64_t parameter_bits_sum(const struct parameter_bits *bits) {
    return bits->parameters + bits->gradients + bits->optimizer + bits->master;
}

int64_t bytes_of(int64_t bits_16, int64_t n) {
    /* n = 128 q + r: q x bits_16 bytes and the rest, so that the product in bits cannot overflow first */
    if (n == COUNT_OVERFLOW) return COUNT_OVERFLOW;
    return count_add(count_mul(n / 128, bits_16), (n % 128 * bits_16 + 127) / 128);
}

/* Over how many devices each kind is divided. */
struct divisors {
    int64_t parameters, gradients, optimizer;
};

static struct divisors divisors(const struct parallel *p) {
    const int64_t model = count_mul(p->tensor, p->pipeline), all = count_mul(model, p->data);
    return (struct divisors){.parameters = p->zero >= 3 ? all : model,
                             .gradients = p->zero >= 2 ? all : model,
                             .optimizer = p->zero >= 1 ? all : model};
}

static int64_t divided(int64_t n, int64_t by) { return n / by + (n % by != 0); }

struct device_bytes device_bytes(const struct parameter_bits *bits, const struct parallel *p,
                                 int64_t n) {
    const struct divisors by = divisors(p);
    return (struct device_bytes){.parameters =
                                     bytes_of(bits->parameters, divided(n, by.parameters)),
                                 .gradients = bytes_of(bits->gradients, divided(n, by.gradients)),
                                 .optimizer = bytes_of(bits->optimizer, divided(n, by.optimizer)),
                                 .master = bytes_of(bits->master, divided(n, by.optimizer))};
}

int64_t device_bytes_sum(const struct device_bytes *d) {
    return count_add(count_add(d->parameters, d->gradients), count_add(d->optimizer, d->master));
}

double largest_model(const struct parameter_bits *bits, const struct parallel *p, double memory) {
    const struct divisors by = divisors(p);
    const double a_parameter = (double)bits->parameters / (double)by.parameters +
                               (double)bits->gradients / (double)by.gradients +
                               (double)(bits->optimizer + bits->master) / (double)by.optimizer;
    return memory * 128 / a_parameter;
}
