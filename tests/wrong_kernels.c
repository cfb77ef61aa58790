/* wrong_kernels.c - the checker checked: each of these kernels has one mistake that people make, and verify() must call
 * it wrong; each right one must pass. */
#include "../harness/verify.h"
#include "../kernels/numerics.h"
#include "test.h"

/* ---- the mistakes ---- */

static int copy_right(const struct args *a) {
    memcpy(a->buf[1], a->buf[0], (size_t)a->s.n * sizeof(float));
    return 0;
}

static int copy_nothing(const struct args *a) {
    (void)a;
    return 0;
}

static int copy_missing_tail(const struct args *a) {
    memcpy(a->buf[1], a->buf[0], (size_t)(a->s.n / 16 * 16) * sizeof(float));
    return 0;
}

static int copy_missing_first(const struct args *a) {
    memcpy((float *)a->buf[1] + 1, (float *)a->buf[0] + 1, (size_t)(a->s.n - 1) * sizeof(float));
    return 0;
}

static int copy_off_by_one(const struct args *a) {
    const float *x = a->buf[0];
    float *y = a->buf[1];
    for (int64_t i = 0; i < a->s.n; i++) y[i] = x[i ? i - 1 : 0];
    return 0;
}

static int copy_past_the_end(const struct args *a) {
    memcpy(a->buf[1], a->buf[0], (size_t)a->s.n * sizeof(float));
    ((float *)a->buf[1])[a->s.n] = 0;
    return 0;
}

static int copy_before_the_start(const struct args *a) {
    memcpy(a->buf[1], a->buf[0], (size_t)a->s.n * sizeof(float));
    ((float *)a->buf[1])[-1] = 0;
    return 0;
}

static int copy_spoils_input(const struct args *a) {
    memcpy(a->buf[1], a->buf[0], (size_t)a->s.n * sizeof(float));
    ((float *)a->buf[0])[0] = 1e9f;
    return 0;
}

static int copy_fails(const struct args *a) {
    (void)a;
    return 42;
}

static int axpy_right(const struct args *a) {
    const float *x = a->buf[0], alpha = (float)a->alpha;
    float *y = a->buf[1];
    for (int64_t i = 0; i < a->s.n; i++) y[i] += alpha * x[i];
    return 0;
}

static int axpy_forgets_y(const struct args *a) {
    const float *x = a->buf[0], alpha = (float)a->alpha;
    float *y = a->buf[1];
    for (int64_t i = 0; i < a->s.n; i++) y[i] = alpha * x[i];
    return 0;
}

static int axpy_twice(const struct args *a) { return axpy_right(a) || axpy_right(a); }

/* adam with the numbers it is given; `spoils`: writes to them */
static int adam(const struct args *a, const float *h, bool spoils) {
    const float *grad = a->buf[1];
    float *p = a->buf[0], *m = a->buf[2], *s = a->buf[3], *numbers = a->buf[4];
    for (int64_t i = 0; i < a->s.n; i++) {
        const float g = h[HYPER_GRAD_SCALE] * grad[i] + h[HYPER_DECAY] * p[i];
        m[i] = h[HYPER_BETA1] * m[i] + (1 - h[HYPER_BETA1]) * g;
        s[i] = h[HYPER_BETA2] * s[i] + (1 - h[HYPER_BETA2]) * g * g;
        p[i] -= h[HYPER_LR] * h[HYPER_CORRECT1] * m[i] /
                (sqrtf(h[HYPER_CORRECT2] * s[i]) + h[HYPER_EPS]);
    }
    if (spoils) numbers[HYPER_CORRECT1] = 1;
    return 0;
}

static int adam_with(const struct args *a, enum hyper one, float value) {
    float h[HYPER_COUNT];
    memcpy(h, a->buf[4], sizeof h);
    h[one] = value;
    return adam(a, h, false);
}

static int adam_right(const struct args *a) { return adam(a, a->buf[4], false); }
static int adam_spoils_numbers(const struct args *a) { return adam(a, a->buf[4], true); }
static int adam_forgets_eps(const struct args *a) { return adam_with(a, HYPER_EPS, 0); }
static int adam_forgets_decay(const struct args *a) { return adam_with(a, HYPER_DECAY, 0); }
static int adam_forgets_scale(const struct args *a) { return adam_with(a, HYPER_GRAD_SCALE, 1); }
static int adam_forgets_bias(const struct args *a) { return adam_with(a, HYPER_CORRECT2, 1); }
static int adam_with_one_beta(const struct args *a) {
    const float *numbers = a->buf[4];
    return adam_with(a, HYPER_BETA1, numbers[HYPER_BETA2]);
}

static float sum_between(const struct args *a, int64_t first, int64_t last) {
    const float *x = a->buf[0];
    float sum = 0;
    for (int64_t i = first; i < last; i++) sum += x[i];
    return sum;
}

static int sum_right(const struct args *a) {
    *(float *)a->buf[1] = sum_between(a, 0, a->s.n);
    return 0;
}

static int sum_drops_first(const struct args *a) {
    *(float *)a->buf[1] = sum_between(a, 1, a->s.n);
    return 0;
}

static int sum_drops_last(const struct args *a) {
    *(float *)a->buf[1] = sum_between(a, 0, a->s.n - 1);
    return 0;
}

/* One part in four million: far below the bound of a sum of a million terms, but not the integers' sum. */
static int sum_slightly_off(const struct args *a) {
    *(float *)a->buf[1] = nextafterf(sum_between(a, 0, a->s.n), INFINITY);
    return 0;
}

static int mean_right(const struct args *a) {
    *(float *)a->buf[1] = sum_between(a, 0, a->s.n) / (float)a->s.n;
    return 0;
}

static int mean_zero(const struct args *a) {
    *(float *)a->buf[1] = 0;
    return 0;
}

static int mean_of_half(const struct args *a) {
    *(float *)a->buf[1] = sum_between(a, 0, a->s.n / 2) / (float)a->s.n;
    return 0;
}

static int sum_nan(const struct args *a) {
    *(float *)a->buf[1] = NAN;
    return 0;
}

static int dot_in_bf16(const struct args *a) {
    const uint16_t *x = a->buf[0], *y = a->buf[1];
    float sum = 0;
    for (int64_t i = 0; i < a->s.n; i++)
        sum = bf16_to_float(bf16_of_float(sum + bf16_to_float(x[i]) * bf16_to_float(y[i])));
    *(float *)a->buf[2] = sum;
    return 0;
}

static int cast_right(const struct args *a) {
    for (int64_t i = 0; i < a->s.n; i++)
        ((uint16_t *)a->buf[1])[i] = bf16_of_float(((float *)a->buf[0])[i]);
    return 0;
}

static int cast_truncates(const struct args *a) {
    for (int64_t i = 0; i < a->s.n; i++)
        ((uint16_t *)a->buf[1])[i] = (uint16_t)(bits_of_float(((float *)a->buf[0])[i]) >> 16);
    return 0;
}

static int exp_right(const struct args *a) {
    for (int64_t i = 0; i < a->s.n; i++) ((float *)a->buf[1])[i] = expf(((float *)a->buf[0])[i]);
    return 0;
}

static int exp_of_few_digits(const struct args *a) {
    for (int64_t i = 0; i < a->s.n; i++)
        ((float *)a->buf[1])[i] = expf(((float *)a->buf[0])[i]) * (1 + 4e-6f);
    return 0;
}

/* Y[i] = T[index i]; `spoil` writes to an index, `shift` looks up the next row. */
static int embedding(const struct args *a, bool spoil, bool shift) {
    const float *table = a->buf[0];
    int32_t *index = a->buf[1];
    float *y = a->buf[2];
    for (int64_t i = 0; i < a->s.m; i++)
        for (int64_t j = 0; j < a->s.k; j++)
            y[i * a->s.k + j] = table[(index[i] + shift) % a->s.n * a->s.k + j];
    if (spoil) index[a->s.m - 1] ^= 1;
    return 0;
}
static int embedding_right(const struct args *a) { return embedding(a, false, false); }
static int embedding_spoils_index(const struct args *a) { return embedding(a, true, false); }
static int embedding_next_row(const struct args *a) { return embedding(a, false, true); }

/* Means of squares: all in fp32, of which a long sum stops growing; without the last. */
static int mse(const struct args *a, int64_t n) {
    const float *x = a->buf[0], *y = a->buf[1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)((x[i] - y[i]) * (x[i] - y[i]));
    *(float *)a->buf[2] = (float)(sum / (double)a->s.n);
    return 0;
}
static int mse_right(const struct args *a) { return mse(a, a->s.n); }
static int mse_drops_last(const struct args *a) { return mse(a, a->s.n - 1); }
static int mse_in_fp32(const struct args *a) {
    const float *x = a->buf[0], *y = a->buf[1];
    float sum = 0;
    for (int64_t i = 0; i < a->s.n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    *(float *)a->buf[2] = sum / (float)a->s.n;
    return 0;
}

/* log sum e^(x - max) + max - x[label]; `shift` takes the next label, `first` leaves out the first element */
static int cross_entropy(const struct args *a, bool shift, bool first) {
    const int64_t n = a->s.n;
    for (int64_t i = 0; i < a->s.m; i++) {
        const double *x = (const double *)a->buf[0] + i * n;
        double most = x[0], sum = 0;
        for (int64_t j = 1; j < n; j++) most = fmax(most, x[j]);
        for (int64_t j = first; j < n; j++) sum += exp(x[j] - most);
        ((double *)a->buf[2])[i] =
            log(sum) + (most - x[(((const int32_t *)a->buf[1])[i] + shift) % n]);
    }
    return 0;
}
static int cross_entropy_right(const struct args *a) { return cross_entropy(a, false, false); }
static int cross_entropy_next_label(const struct args *a) { return cross_entropy(a, true, false); }
static int cross_entropy_drops_first(const struct args *a) { return cross_entropy(a, false, true); }

/* alpha A B + beta C in the layout nn; `skip` leaves the last element, `old` reads C even when beta is 0. */
static int matmul(const struct args *a, bool last, bool beta, bool read_always, bool transposed) {
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k;
    const float *A = a->buf[0], *B = a->buf[1];
    float *C = a->buf[2];
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += A[i * k + p] * (transposed ? B[j * k + p] : B[p * n + j]);
            sum *= (float)a->alpha;
            if (beta && (a->beta != 0 || read_always)) sum += (float)a->beta * C[i * n + j];
            if (last || i + 1 < m || j + 1 < n) C[i * n + j] = sum;
        }
    }
    return 0;
}

static int matmul_right(const struct args *a) { return matmul(a, true, true, false, false); }
static int matmul_misses_a_corner(const struct args *a) {
    return matmul(a, false, true, false, false);
}
static int matmul_forgets_beta(const struct args *a) {
    return matmul(a, true, false, false, false);
}
static int matmul_reads_c(const struct args *a) { return matmul(a, true, true, true, false); }
static int matmul_transposes(const struct args *a) { return matmul(a, true, true, false, true); }

/* ---- the table ---- */

static const struct {
    struct impl impl;
    struct shape shape;
    double beta;
    const char *status, *reason; /* the reason contains this */
} cases[] = {
    {{OP_copy, "right", DT_fp32, copy_right, NULL, NULL}, {1, 1, 1000, 1}, 0, "ok", ""},
    {{OP_copy, "nothing", DT_fp32, copy_nothing, NULL, NULL}, {1, 1, 1000, 1}, 0, "wrong", "nan"},
    {{OP_copy, "missing tail", DT_fp32, copy_missing_tail, NULL, NULL},
     {1, 1, 1001, 1},
     0,
     "wrong",
     "nan"},
    {{OP_copy, "missing tail, large", DT_fp32, copy_missing_tail, NULL, NULL},
     {1, 1, 1000001, 1},
     0,
     "wrong",
     "element 1000000"},
    {{OP_copy, "missing first", DT_fp32, copy_missing_first, NULL, NULL},
     {1, 1, 1000001, 1},
     0,
     "wrong",
     "element 0"},
    {{OP_copy, "off by one", DT_fp32, copy_off_by_one, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_copy, "past the end", DT_fp32, copy_past_the_end, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "past the end"},
    {{OP_copy, "past an aligned end", DT_fp32, copy_past_the_end, NULL, NULL},
     {1, 1, 1024, 1},
     0,
     "wrong",
     "past the end"},
    {{OP_copy, "before the start", DT_fp32, copy_before_the_start, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "before the start"},
    {{OP_copy, "spoils its input", DT_fp32, copy_spoils_input, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "input"},
    {{OP_copy, "fails", DT_fp32, copy_fails, NULL, NULL}, {1, 1, 1000, 1}, 0, "failed", "42"},
    {{OP_axpy, "right", DT_fp32, axpy_right, NULL, NULL}, {1, 1, 1000, 1}, 0, "ok", ""},
    {{OP_axpy, "forgets y", DT_fp32, axpy_forgets_y, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_axpy, "twice", DT_fp32, axpy_twice, NULL, NULL}, {1, 1, 1000, 1}, 0, "wrong", "want"},
    {{OP_adam, "right", DT_fp32, adam_right, NULL, NULL}, {1, 1, 1000, 1}, 0, "ok", ""},
    {{OP_adam, "spoils its numbers", DT_fp32, adam_spoils_numbers, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "input"},
    {{OP_adam, "forgets epsilon", DT_fp32, adam_forgets_eps, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_adam, "forgets the decay", DT_fp32, adam_forgets_decay, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_adam, "forgets the scale", DT_fp32, adam_forgets_scale, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_adam, "forgets a correction", DT_fp32, adam_forgets_bias, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_adam, "one beta for both", DT_fp32, adam_with_one_beta, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_sum, "right", DT_fp32, sum_right, NULL, NULL}, {1, 1, 1 << 20, 1}, 0, "ok", ""},
    {{OP_sum, "drops the first", DT_fp32, sum_drops_first, NULL, NULL},
     {1, 1, 1 << 20, 1},
     0,
     "wrong",
     "integers"},
    {{OP_sum, "drops the last", DT_fp32, sum_drops_last, NULL, NULL},
     {1, 1, 1 << 20, 1},
     0,
     "wrong",
     "integers"},
    {{OP_sum, "slightly off", DT_fp32, sum_slightly_off, NULL, NULL},
     {1, 1, 1 << 20, 1},
     0,
     "wrong",
     "integers"},
    {{OP_sum, "nan", DT_fp32, sum_nan, NULL, NULL}, {1, 1, 1 << 20, 1}, 0, "wrong", "nan"},
    {{OP_mean, "right", DT_fp32, mean_right, NULL, NULL}, {1, 1, 1 << 20, 1}, 0, "ok", ""},
    {{OP_mean, "zero", DT_fp32, mean_zero, NULL, NULL}, {1, 1, 1 << 20, 1}, 0, "wrong", "integers"},
    {{OP_mean, "half", DT_fp32, mean_of_half, NULL, NULL},
     {1, 1, 1 << 20, 1},
     0,
     "wrong",
     "integers"},
    {{OP_dot, "sums in bf16", DT_bf16, dot_in_bf16, NULL, NULL},
     {1, 1, 1 << 16, 1},
     0,
     "wrong",
     "want"},
    {{OP_cast_from_fp32, "right", DT_bf16, cast_right, NULL, NULL}, {1, 1, 1000, 1}, 0, "ok", ""},
    {{OP_cast_from_fp32, "truncates", DT_bf16, cast_truncates, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "normal"},
    {{OP_embedding, "right", DT_fp32, embedding_right, NULL, NULL}, {1, 50, 30, 8}, 0, "ok", ""},
    {{OP_embedding, "spoils an index", DT_fp32, embedding_spoils_index, NULL, NULL},
     {1, 50, 30, 8},
     0,
     "wrong",
     "input"},
    {{OP_embedding, "next row", DT_fp32, embedding_next_row, NULL, NULL},
     {1, 50, 30, 8},
     0,
     "wrong",
     "want"},
    {{OP_mse, "right", DT_fp32, mse_right, NULL, NULL}, {1, 1, 1 << 20, 1}, 0, "ok", ""},
    {{OP_mse, "drops the last", DT_fp32, mse_drops_last, NULL, NULL},
     {1, 1, 1 << 20, 1},
     0,
     "wrong",
     "integers"},
    {{OP_mse, "in fp32", DT_fp32, mse_in_fp32, NULL, NULL},
     {1, 1, 1 << 24, 1},
     0,
     "wrong",
     "integers"},
    {{OP_cross_entropy, "right", DT_fp64, cross_entropy_right, NULL, NULL},
     {1, 9, 1000, 1},
     0,
     "ok",
     ""},
    {{OP_cross_entropy, "next label", DT_fp64, cross_entropy_next_label, NULL, NULL},
     {1, 9, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_cross_entropy, "drops the first", DT_fp64, cross_entropy_drops_first, NULL, NULL},
     {1, 9, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_exp, "right", DT_fp32, exp_right, NULL, NULL}, {1, 1, 1000, 1}, 0, "ok", ""},
    {{OP_exp, "few digits", DT_fp32, exp_of_few_digits, NULL, NULL},
     {1, 1, 1000, 1},
     0,
     "wrong",
     "want"},
    {{OP_matmul, "right", DT_fp32, matmul_right, NULL, NULL}, {1, 40, 50, 60}, 0, "ok", ""},
    {{OP_matmul, "right, beta", DT_fp32, matmul_right, NULL, NULL}, {1, 40, 50, 60}, 2, "ok", ""},
    {{OP_matmul, "misses a corner", DT_fp32, matmul_misses_a_corner, NULL, NULL},
     {1, 100, 200, 30},
     0,
     "wrong",
     "element 19999"},
    {{OP_matmul, "forgets beta", DT_fp32, matmul_forgets_beta, NULL, NULL},
     {1, 40, 50, 60},
     2,
     "wrong",
     "want"},
    {{OP_matmul, "reads C", DT_fp32, matmul_reads_c, NULL, NULL},
     {1, 40, 50, 60},
     0,
     "wrong",
     "nan"},
    {{OP_matmul, "transposes B", DT_fp32, matmul_transposes, NULL, NULL},
     {1, 40, 50, 60},
     0,
     "wrong",
     "want"},
};

int main(void) {
    struct device d;
    device_cpu_init(&d);
    if (d.open(&d)) return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct impl *impl = &cases[i].impl;
        const bool product = impl->op == OP_matmul;
        const struct args problem = {.s = cases[i].shape,
                                     .alpha = product ? 1 : 0.5,
                                     .beta = cases[i].beta,
                                     .layout = product ? LAYOUT_NN : LAYOUT_FLAT,
                                     .threads = 1};
        struct operands o;
        CHECK(operands_make(&o, &d, impl, &problem, 1) == 0, "%s", impl->name);
        const struct verdict v = verify(&o, impl, 0x1p18);
        CHECK(strcmp(v.status, cases[i].status) == 0, "%s %s: status %s, want %s (%s)",
              ops[impl->op].name, impl->name, v.status, cases[i].status, v.reason);
        CHECK(strstr(v.reason, cases[i].reason) != NULL, "%s %s: reason '%s', want '%s' in it",
              ops[impl->op].name, impl->name, v.reason, cases[i].reason);
        CHECK(strcmp(v.status, "ok") != 0 || v.max_error <= 1, "%s: max error %g", impl->name,
              v.max_error);
        CHECK(strcmp(v.status, "wrong") != 0 || v.max_error > 1, "%s: max error %g", impl->name,
              v.max_error);
        operands_free(&o);
    }
    d.close(&d);
    return test_result();
}
