/* oracles.c - the truth, one output element at a time, in extended precision on the host.
 *
 * Operands are read as stored, in the dtype under test, so that the oracle sees what the kernel saw. Each oracle
 * returns the exact-arithmetic result and the sum of |terms|, by which bench/verify scales the error bound. */
#include "oracles.h"

#include "numerics.h"

/* ---- access to operands ---- */

struct view {
    const void *data;
    enum dtype dtype;
    int64_t elements;
};

static struct view view_of(const struct args *a, enum dtype t, enum op_id id, int o) {
    const struct operand *operand = &ops[id].operand[o];
    return (struct view){a->buf[o], operand_dtype(operand, t), operand_elements(operand, a->s)};
}

static long double at(const struct view *v, int64_t i) {
    return value_get(v->dtype, v->data, v->elements, i);
}

/* sum of x[i0 + p dx] y[j0 + p dy], p < n */
static long double sum_products(const struct view *x, int64_t i0, int64_t dx, const struct view *y,
                                int64_t j0, int64_t dy, int64_t n, long double *mag) {
    long double sum = 0;
    *mag = 0;
    for (int64_t p = 0; p < n; p++) {
        const long double term = at(x, i0 + p * dx) * at(y, j0 + p * dy);
        sum += term;
        *mag += fabsl(term);
    }
    return sum;
}

static long double result(long double value, long double magnitude, long double *mag) {
    *mag = magnitude;
    return value;
}

/* One input, y[i] = f(x[i]): the element, by which such an oracle starts. */
static long double input(const struct args *a, enum dtype t, enum op_id id, int o, int64_t i) {
    const struct view v = view_of(a, t, id, o);
    return at(&v, i);
}

/* Kernels hold alpha in the accumulator's precision. */
static long double alpha_of(const struct args *a, enum dtype t) {
    return value_round(dtypes[t].acc, (long double)a->alpha);
}

/* ---- STREAM and elementwise ---- */

long double oracle_copy(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double x = input(a, t, OP_copy, 0, i);
    return result(x, fabsl(x), mag);
}

long double oracle_scale(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double y = alpha_of(a, t) * input(a, t, OP_scale, 0, i);
    return result(y, fabsl(y), mag);
}

long double oracle_add(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double x = input(a, t, OP_add, 0, i), y = input(a, t, OP_add, 1, i);
    return result(x + y, fabsl(x) + fabsl(y), mag);
}

long double oracle_triad(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double x = input(a, t, OP_triad, 0, i),
                      y = alpha_of(a, t) * input(a, t, OP_triad, 1, i);
    return result(x + y, fabsl(x) + fabsl(y), mag);
}

long double oracle_fill(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o, (void)i;
    const long double x = alpha_of(a, t);
    return result(x, fabsl(x), mag);
}

long double oracle_relu(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double x = input(a, t, OP_relu, 0, i);
    return result(x > 0 ? x : 0, fabsl(x), mag);
}

/* 1 + tanh cancels for x < 0: the bound is relative to |x|, not to the result. */
long double oracle_gelu(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double root_2_over_pi = 0.797884560802865355879892119868763737L;
    const long double x = input(a, t, OP_gelu, 0, i);
    return result(x / 2 * (1 + tanhl(root_2_over_pi * (x + 0.044715L * x * x * x))), fabsl(x), mag);
}

long double oracle_exp(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double y = expl(input(a, t, OP_exp, 0, i));
    return result(y, y, mag);
}

long double oracle_sqrt(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double y = sqrtl(input(a, t, OP_sqrt, 0, i));
    return result(y, y, mag);
}

long double oracle_rsqrt(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double y = 1 / sqrtl(input(a, t, OP_rsqrt, 0, i));
    return result(y, y, mag);
}

long double oracle_square(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double x = input(a, t, OP_square, 0, i);
    return result(x * x, x * x, mag);
}

long double oracle_mul(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double z = input(a, t, OP_mul, 0, i) * input(a, t, OP_mul, 1, i);
    return result(z, fabsl(z), mag);
}

long double oracle_div(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double z = input(a, t, OP_div, 0, i) / input(a, t, OP_div, 1, i);
    return result(z, fabsl(z), mag);
}

long double oracle_axpy(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const long double x = alpha_of(a, t) * input(a, t, OP_axpy, 0, i),
                      y = input(a, t, OP_axpy, 1, i);
    return result(x + y, fabsl(x) + fabsl(y), mag);
}

long double oracle_triu(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const int64_t row = i / a->s.n, col = i % a->s.n;
    const long double x = col >= row ? input(a, t, OP_triu, 0, i) : 0;
    return result(x, fabsl(x), mag);
}

/* ---- casts ---- */

long double oracle_cast_from_fp32(const struct args *a, enum dtype t, int o, int64_t i,
                                  long double *mag) {
    (void)o;
    if (t == DT_nvfp4) { /* the block's scale decides: quantise the whole block */
        const float *x = (const float *)a->buf[0] + i / NVFP4_BLOCK * NVFP4_BLOCK,
                    tensor_scale = (float)a->alpha;
        const int within = (int)(i % NVFP4_BLOCK);
        uint8_t codes[NVFP4_BLOCK / 2], scale;
        nvfp4_quantize_block(x, tensor_scale, codes, &scale);
        const uint8_t code =
            (uint8_t)(within % 2 ? codes[within / 2] >> 4 : codes[within / 2] & 15);
        const long double y =
            (long double)(e2m1_to_float(code) * e4m3_to_float(scale) * tensor_scale);
        return result(y, fabsl(y), mag);
    }
    const long double y = value_round(t, input(a, t, OP_cast_from_fp32, 0, i));
    return result(y, fabsl(y), mag);
}

long double oracle_cast_to_fp32(const struct args *a, enum dtype t, int o, int64_t i,
                                long double *mag) {
    (void)o;
    const long double y = value_round(DT_fp32, input(a, t, OP_cast_to_fp32, 0, i));
    return result(y, fabsl(y), mag);
}

/* ---- reductions ---- */

long double oracle_dot(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o, (void)i;
    const struct view x = view_of(a, t, OP_dot, 0), y = view_of(a, t, OP_dot, 1);
    return sum_products(&x, 0, 1, &y, 0, 1, a->s.n, mag);
}

static long double sum_of(const struct view *x, int64_t first, int64_t n, long double *mag) {
    long double sum = 0;
    *mag = 0;
    for (int64_t j = 0; j < n; j++) {
        const long double term = at(x, first + j);
        sum += term;
        *mag += fabsl(term);
    }
    return sum;
}

long double oracle_sum(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o, (void)i;
    const struct view x = view_of(a, t, OP_sum, 0);
    return sum_of(&x, 0, a->s.n, mag);
}

static long double max_of(const struct view *x, int64_t first, int64_t n) {
    long double largest = at(x, first);
    for (int64_t j = 1; j < n; j++) largest = fmaxl(largest, at(x, first + j));
    return largest;
}

long double oracle_max(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o, (void)i;
    const struct view x = view_of(a, t, OP_max, 0);
    const long double largest = max_of(&x, 0, a->s.n);
    return result(largest, fabsl(largest), mag);
}

long double oracle_mean(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o, (void)i;
    const struct view x = view_of(a, t, OP_mean, 0);
    const long double sum = sum_of(&x, 0, a->s.n, mag), n = (long double)a->s.n;
    return result(sum / n, *mag / n, mag);
}

/* ---- rows of n ---- */

static const long double EPSILON = 1e-5L;

long double oracle_softmax(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const struct view x = view_of(a, t, OP_softmax, 0);
    const int64_t first = i / a->s.n * a->s.n;
    const long double largest = max_of(&x, first, a->s.n);
    long double sum = 0;
    for (int64_t j = 0; j < a->s.n; j++) sum += expl(at(&x, first + j) - largest);
    const long double y = expl(at(&x, i) - largest) / sum;
    return result(y, y, mag);
}

long double oracle_rmsnorm(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const struct view x = view_of(a, t, OP_rmsnorm, 0), w = view_of(a, t, OP_rmsnorm, 1);
    const int64_t n = a->s.n, first = i / n * n;
    long double squares;
    sum_products(&x, first, 1, &x, first, 1, n, &squares);
    const long double y = at(&w, i % n) * at(&x, i) / sqrtl(squares / (long double)n + EPSILON);
    return result(y, fabsl(y), mag);
}

/* x - mean cancels: the bound is relative to the terms, |w| (|x| + mean |x|) / sigma + |b|. */
long double oracle_layernorm(const struct args *a, enum dtype t, int o, int64_t i,
                             long double *mag) {
    (void)o;
    const struct view x = view_of(a, t, OP_layernorm, 0), w = view_of(a, t, OP_layernorm, 1),
                      b = view_of(a, t, OP_layernorm, 2);
    const int64_t n = a->s.n, first = i / n * n;
    const long double count = (long double)n;
    long double sum_abs, squares = 0;
    const long double mean = sum_of(&x, first, n, &sum_abs) / count;
    for (int64_t j = 0; j < n; j++) {
        const long double d = at(&x, first + j) - mean;
        squares += d * d;
    }
    const long double sigma = sqrtl(squares / count + EPSILON), weight = at(&w, i % n),
                      bias = at(&b, i % n);
    return result(weight * (at(&x, i) - mean) / sigma + bias,
                  fabsl(weight) * (fabsl(at(&x, i)) + sum_abs / count) / sigma + fabsl(bias), mag);
}

/* ---- matrices ---- */

long double oracle_transpose(const struct args *a, enum dtype t, int o, int64_t i,
                             long double *mag) {
    (void)o;
    const int64_t row = i / a->s.m, col = i % a->s.m; /* of Y[n,m] */
    const long double x = input(a, t, OP_transpose, 0, col * a->s.n + row);
    return result(x, fabsl(x), mag);
}

long double oracle_matvec(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const struct view A = view_of(a, t, OP_matvec, 0), x = view_of(a, t, OP_matvec, 1);
    const bool stored_transposed = a->layout == LAYOUT_T;
    return sum_products(&A, stored_transposed ? i : i * a->s.n, stored_transposed ? a->s.m : 1, &x,
                        0, 1, a->s.n, mag);
}

static long double product(const struct args *a, enum dtype t, enum op_id id, int64_t i,
                           long double *mag) {
    const struct view A = view_of(a, t, id, 0), Bm = view_of(a, t, id, 1), C = view_of(a, t, id, 2);
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k;
    const int64_t batch = i / (m * n), row = i / n % m, col = i % n;
    const bool ta = a->layout == LAYOUT_TN, tb = a->layout == LAYOUT_NT;
    long double sum = sum_products(&A, batch * m * k + (ta ? row : row * k), ta ? m : 1, &Bm,
                                   batch * k * n + (tb ? col * k : col), tb ? 1 : n, k, mag);
    const long double alpha = alpha_of(a, t);
    sum *= alpha;
    *mag *= fabsl(alpha);
    if (a->beta != 0) {
        const long double old = value_round(dtypes[t].acc, (long double)a->beta) * at(&C, i);
        sum += old;
        *mag += fabsl(old);
    }
    return sum;
}

long double oracle_matmul(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    return product(a, t, OP_matmul, i, mag);
}

long double oracle_bmm(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    return product(a, t, OP_bmm, i, mag);
}

/* ---- the flat roof ---- */

long double oracle_fma(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o;
    const struct view x = view_of(a, t, OP_fma, 0), w = view_of(a, t, OP_fma, 1),
                      y = view_of(a, t, OP_fma, 2);
    long double terms;
    const long double pair = sum_products(&x, 0, 1, &w, 0, 1, 2, &terms), k = (long double)a->s.k;
    *mag = fabsl(at(&y, i)) + k * terms;
    return at(&y, i) + k * pair;
}

/* ---- training ---- */

long double oracle_relu_backward(const struct args *a, enum dtype t, int o, int64_t i,
                                 long double *mag) {
    (void)o;
    const long double dy = input(a, t, OP_relu_backward, 1, i);
    const long double dx = input(a, t, OP_relu_backward, 0, i) > 0 ? dy : 0;
    return result(dx, fabsl(dx), mag);
}

/* Rounded once, x - y is as exact as x and y are: the bounds of mse and its gradient are relative to the difference. */
long double oracle_mse(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o, (void)i;
    const struct view x = view_of(a, t, OP_mse, 0), y = view_of(a, t, OP_mse, 1);
    long double sum = 0;
    for (int64_t j = 0; j < a->s.n; j++) {
        const long double d = at(&x, j) - at(&y, j);
        sum += d * d;
    }
    const long double mean = sum / (long double)a->s.n;
    return result(mean, mean, mag);
}

long double oracle_mse_backward(const struct args *a, enum dtype t, int o, int64_t i,
                                long double *mag) {
    (void)o;
    const long double x = input(a, t, OP_mse_backward, 0, i),
                      y = input(a, t, OP_mse_backward, 1, i), dx = alpha_of(a, t) * (x - y);
    return result(dx, fabsl(dx), mag);
}

long double oracle_mean_loss_backward(const struct args *a, enum dtype t, int o, int64_t i,
                                      long double *mag) {
    (void)o, (void)i;
    const long double mean = input(a, t, OP_mean_loss_backward, 0, 0),
                      target = input(a, t, OP_mean_loss_backward, 1, 0);
    const long double dx = alpha_of(a, t) * (mean - target);
    return result(dx, fabsl(dx), mag);
}

static int64_t index_at(const struct args *a, int o, int64_t i) {
    return ((const int32_t *)a->buf[o])[i];
}

/* largest of a row, and the sum of e^(x - largest) */
static long double row_exponentials(const struct view *x, int64_t first, int64_t n,
                                    long double *largest) {
    long double sum = 0;
    *largest = max_of(x, first, n);
    for (int64_t j = 0; j < n; j++) sum += expl(at(x, first + j) - *largest);
    return sum;
}

/* log sum + (max - x[label]). A relative error of the sum is an absolute one of its logarithm: hence the 1. */
long double oracle_cross_entropy(const struct args *a, enum dtype t, int o, int64_t i,
                                 long double *mag) {
    (void)o;
    const struct view x = view_of(a, t, OP_cross_entropy, 0);
    const int64_t first = i * a->s.n;
    long double largest;
    const long double log_sum = logl(row_exponentials(&x, first, a->s.n, &largest));
    const long double below = largest - at(&x, first + index_at(a, 1, i));
    return result(log_sum + below, 1 + log_sum + below, mag);
}

/* The label's own element is the difference of two terms. */
long double oracle_cross_entropy_backward(const struct args *a, enum dtype t, int o, int64_t i,
                                          long double *mag) {
    (void)o;
    const struct view x = view_of(a, t, OP_cross_entropy_backward, 0);
    const int64_t row = i / a->s.n, first = row * a->s.n;
    long double largest;
    const long double sum = row_exponentials(&x, first, a->s.n, &largest);
    const long double p = expl(at(&x, i) - largest) / sum, alpha = alpha_of(a, t),
                      label = i - first == index_at(a, 1, row) ? 1 : 0;
    return result(alpha * (p - label), fabsl(alpha) * (p + label), mag);
}

long double oracle_embedding(const struct args *a, enum dtype t, int o, int64_t i,
                             long double *mag) {
    (void)o;
    const int64_t row = index_at(a, 1, i / a->s.k);
    const long double y = input(a, t, OP_embedding, 0, row * a->s.k + i % a->s.k);
    return result(y, fabsl(y), mag);
}

long double oracle_embedding_backward(const struct args *a, enum dtype t, int o, int64_t i,
                                      long double *mag) {
    (void)o;
    const struct view dY = view_of(a, t, OP_embedding_backward, 0),
                      dT = view_of(a, t, OP_embedding_backward, 2);
    const int64_t row = i / a->s.k, col = i % a->s.k;
    long double sum = 0;
    *mag = 0;
    if (a->beta != 0) {
        sum = value_round(dtypes[t].acc, (long double)a->beta) * at(&dT, i);
        *mag = fabsl(sum);
    }
    for (int64_t token = 0; token < a->s.m; token++) {
        if (index_at(a, 1, token) != row) continue;
        const long double term = at(&dY, token * a->s.k + col);
        sum += term;
        *mag += fabsl(term);
    }
    return sum;
}

long double oracle_amax(const struct args *a, enum dtype t, int o, int64_t i, long double *mag) {
    (void)o, (void)i;
    const struct view x = view_of(a, t, OP_amax, 0);
    long double largest = 0;
    for (int64_t j = 0; j < a->s.n; j++) largest = fmaxl(largest, fabsl(at(&x, j)));
    return result(largest, largest, mag);
}

long double oracle_cast_from_bf16(const struct args *a, enum dtype t, int o, int64_t i,
                                  long double *mag) {
    (void)o;
    const long double scaled = alpha_of(a, t) * input(a, t, OP_cast_from_bf16, 0, i);
    const long double y = value_round(t, value_round(DT_fp32, scaled));
    return result(y, fabsl(y), mag);
}
