/* unit_kernels_math.c - every implementation of exp, gelu, relu and the casts over dense sweeps of inputs and at the
 * edges (infinities, NaN, zeros, subnormals): errors in units of the last place, bits where no rounding is free. */
#include "../kernels/numerics.h"

#include <stdio.h>
#include <stdlib.h>

enum { SWEEP = 1 << 16, WIDE_SWEEP = 1 << 18 };

static int failures;

static void fail(const struct impl *impl, long double x, long double got, long double want) {
    if (failures++ < 20)
        fprintf(stderr, "%s.%s.%s: f(%La) = %La, want %La\n", ops[impl->op].name, impl->name,
                dtypes[impl->dtype].name, x, got, want);
}

/* ---- inputs ---- */

struct tensor {
    enum dtype dtype;
    int64_t n;
    void *data;
};

static struct tensor tensor_make(enum dtype t, int64_t n) {
    const size_t bytes = (storage_bytes(t, n) + 63) / 64 * 64;
    struct tensor x = {t, n, aligned_alloc(64, bytes)};
    if (!x.data) abort();
    memset(x.data, 0xff, bytes);
    return x;
}

static long double get(const struct tensor *x, int64_t i) {
    return value_get(x->dtype, x->data, x->n, i);
}

/* Every pattern of a 16- or 8-bit format; n patterns spread evenly over all of fp32's or fp64's, with NaN and infinity
 * of either sign; odd strides reach every fraction bit. */
static struct tensor all_patterns(enum dtype t, int64_t n) {
    struct tensor x = tensor_make(t, dtypes[t].bits <= 16 ? INT64_C(1) << dtypes[t].bits : n);
    for (int64_t i = 0; i < x.n; i++) {
        const uint64_t stride32 = (UINT64_C(1) << 32) / (uint64_t)n + 1,
                       stride64 = UINT64_MAX / (uint64_t)n + 1;
        const uint32_t bits32 = (uint32_t)((uint64_t)i * stride32);
        const uint64_t bits64 =
            (uint64_t)i * stride64 + (uint64_t)i * 0x9e3779b97f4a7c15u % stride64;
        if (t == DT_fp64) memcpy((double *)x.data + i, &bits64, sizeof bits64);
        if (t == DT_fp32) memcpy((float *)x.data + i, &bits32, sizeof bits32);
        if (dtypes[t].bits == 16) ((uint16_t *)x.data)[i] = (uint16_t)i;
        if (dtypes[t].bits == 8) ((uint8_t *)x.data)[i] = (uint8_t)i;
    }
    static const double special[] = {INFINITY, -INFINITY, NAN,       -NAN,     0.0,
                                     -0.0,     0x1p-149,  -0x1p-149, 0x1p-126, 0x1p-1074};
    for (int i = 0; dtypes[t].bits > 16 && i < (int)(sizeof special / sizeof *special); i++)
        value_put(t, x.data, x.n, 1000 + i, (long double)special[i]);
    return x;
}

/* n values spread over low ... high */
static struct tensor between(enum dtype t, int64_t n, long double low, long double high) {
    struct tensor x = tensor_make(t, n);
    uint64_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const long double within =
            ((long double)i + (long double)(state >> 40) * 0x1p-24L) / (long double)n;
        value_put(t, x.data, n, i, low + (high - low) * within);
    }
    return x;
}

/* ---- running every implementation ---- */

/* Would run on this machine: asked for a problem that is large enough for every implementation. */
static bool can_run(const struct impl *impl) {
    const struct args large = {.s = {1, 1, INT64_C(1) << 28, 1}, .threads = 1};
    return !impl->refuses || !impl->refuses(&large);
}

typedef void judge_fn(const struct impl *impl, const struct tensor *x, const struct tensor *y,
                      const long double *want);

/* Runs each implementation of an op in a dtype on x, on two threads, and judges what it wrote to its second operand. */
static int each_impl(enum op_id op, enum dtype t, const struct tensor *x, const long double *want,
                     double alpha, judge_fn *judge) {
    int ran = 0;
    for (const struct impl *const *table = cpu_kernels; *table; table++)
        for (const struct impl *impl = *table; impl->run; impl++) {
            if (impl->op != op || impl->dtype != t || !can_run(impl)) continue;
            struct tensor y = tensor_make(operand_dtype(&ops[op].operand[1], t), x->n);
            const struct args a = {
                .s = {1, 1, x->n, 1}, .alpha = alpha, .threads = 2, .buf = {x->data, y.data}};
            if (impl->run(&a) != 0) fail(impl, 0, NAN, 0);
            judge(impl, x, &y, want);
            free(y.data);
            ran++;
        }
    if (ran == 0) failures++, fprintf(stderr, "%s has no %s\n", ops[op].name, dtypes[t].name);
    return ran;
}

/* ---- errors ---- */

/* Distance of neighbours in t at |v| */
static long double ulp(enum dtype t, long double v) {
    int exponent = 0;
    if (v != 0 && isfinite(v)) frexpl(v, &exponent);
    const long double step = ldexpl(1, exponent - 1 - dtypes[t].fraction_bits);
    return v == 0 || step < (long double)dtype_smallest(t) ? (long double)dtype_smallest(t) : step;
}

/* Error in units of the last place of the rounded result; infinite where one is NaN or infinite and the other not. */
static double ulps(enum dtype t, long double got, long double want) {
    const long double rounded = value_round(t, want);
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : (double)INFINITY;
    if (got == rounded && !(fabsl(want) <= (long double)dtypes[t].max)) return 0;
    return (double)(fabsl(got - want) / ulp(t, want));
}

/* ---- exp ---- */

/* fp32 and fp64: 1.5 ulp (1 where multiply-adds are fused). Narrow formats: the error of fp32 is then rounded away, but
 * for results that lie within it of a tie. */
static double exp_bound(enum dtype t) { return dtypes[t].bits >= 32 ? 1.5 : 0.501; }

static double worst_seen;

static void judge_exp(const struct impl *impl, const struct tensor *x, const struct tensor *y,
                      const long double *want) {
    double worst = 0;
    for (int64_t i = 0; i < x->n; i++) {
        const double e = ulps(y->dtype, get(y, i), want[i]);
        if (!(e <= exp_bound(y->dtype))) fail(impl, get(x, i), get(y, i), want[i]);
        if (e > worst) worst = e;
    }
    if (worst > worst_seen) worst_seen = worst;
}

static void test_exp(enum dtype t, const struct tensor *x) {
    long double *want = malloc((size_t)x->n * sizeof *want);
    if (!want) abort();
    for (int64_t i = 0; i < x->n; i++) want[i] = expl(get(x, i));
    worst_seen = 0;
    each_impl(OP_exp, t, x, want, 1, judge_exp);
    printf("exp %s: %.3f ulp at most over %lld inputs\n", dtypes[t].name, worst_seen,
           (long long)x->n);
    free(want);
}

/* ---- gelu ---- */

static long double gelu(long double x) {
    const long double root_2_over_pi = 0.797884560802865355879892119868763737L;
    if (isinf(x)) return x > 0 ? x : 0;
    return x / (1 + expl(-2 * root_2_over_pi *
                         (x + 0.044715L * x * x * x))); /* x/2 (1 + tanh u), without cancellation */
}

/* Right of -1 within 4 ulp; left of it the exponent amplifies the rounding of its argument, and the error is measured
 * against x, on whose scale the result is used. */
static void judge_gelu(const struct impl *impl, const struct tensor *x, const struct tensor *y,
                       const long double *want) {
    const enum dtype t = y->dtype;
    const double units = dtypes[t].bits >= 32 ? 4 : 0.51;
    for (int64_t i = 0; i < x->n; i++) {
        const long double input = get(x, i), got = get(y, i);
        if (input >= -1 || !isfinite(input) || !isfinite(got)) {
            const double e = ulps(t, got, want[i]);
            if (!(e <= units)) fail(impl, input, got, want[i]);
            if (e > worst_seen) worst_seen = e;
        } else {
            const long double unit = (long double)dtype_roundoff(dtypes[t].acc),
                              store = ulp(t, want[i]) / 2;
            if (!(fabsl(got - want[i]) <= 2 * unit * fabsl(input) + store))
                fail(impl, input, got, want[i]);
        }
    }
}

static void test_gelu(enum dtype t, const struct tensor *x) {
    long double *want = malloc((size_t)x->n * sizeof *want);
    if (!want) abort();
    for (int64_t i = 0; i < x->n; i++) want[i] = gelu(get(x, i));
    worst_seen = 0;
    each_impl(OP_gelu, t, x, want, 1, judge_gelu);
    printf("gelu %s: %.3f ulp at most right of -1 over %lld inputs\n", dtypes[t].name, worst_seen,
           (long long)x->n);
    free(want);
}

/* ---- relu and casts: bits ---- */

static void judge_relu(const struct impl *impl, const struct tensor *x, const struct tensor *y,
                       const long double *want) {
    (void)want;
    for (int64_t i = 0; i < x->n; i++) {
        const long double input = get(x, i), got = get(y, i), right = input > 0 ? input : 0;
        if (!(got == right) || signbit(got)) fail(impl, input, got, right);
    }
}

static void judge_cast(const struct impl *impl, const struct tensor *x, const struct tensor *y,
                       const long double *want) {
    (void)want;
    for (int64_t i = 0; i < x->n; i++) {
        const long double input = get(x, i), got = get(y, i), right = value_round(y->dtype, input);
        const bool same =
            isnan(right) ? isnan(got) : got == right && !signbit(got) == !signbit(right);
        if (!same) fail(impl, input, got, right);
    }
}

static const double SCALE = 0x1.b6db6ep-2; /* 3/7 as an fp32: most products round */

static void judge_scaled_cast(const struct impl *impl, const struct tensor *x,
                              const struct tensor *y, const long double *want) {
    (void)want;
    for (int64_t i = 0; i < x->n; i++) {
        const long double input = get(x, i), got = get(y, i);
        const long double right =
            value_round(y->dtype, value_round(DT_fp32, (long double)SCALE * input));
        if (!(isnan(right) ? isnan(got) : got == right && !signbit(got) == !signbit(right)))
            fail(impl, input, got, right);
    }
}

/* Every gate with every kind of dy, each of which passes as it is stored or not at all. */
static void test_relu_backward(enum dtype t, const struct tensor *gate) {
    enum { APART = 5 };
    struct tensor dy = tensor_make(t, gate->n), dx = tensor_make(t, gate->n);
    const size_t bytes = (size_t)dtypes[t].bits / 8, all = (size_t)gate->n * bytes;
    const unsigned char zero[8] = {0};
    memcpy(dy.data, (char *)gate->data + APART * bytes, all - APART * bytes);
    memcpy((char *)dy.data + all - APART * bytes, gate->data, APART * bytes);
    for (const struct impl *const *table = cpu_kernels; *table; table++)
        for (const struct impl *impl = *table; impl->run; impl++) {
            if (impl->op != OP_relu_backward || impl->dtype != t || !can_run(impl)) continue;
            const struct args a = {
                .s = {1, 1, gate->n, 1}, .threads = 2, .buf = {gate->data, dy.data, dx.data}};
            memset(dx.data, 0xff, all);
            if (impl->run(&a) != 0) fail(impl, 0, NAN, 0);
            for (int64_t i = 0; i < gate->n; i++) {
                const size_t at = (size_t)i * bytes;
                const void *right = get(gate, i) > 0 ? (char *)dy.data + at : (const void *)zero;
                if (memcmp((char *)dx.data + at, right, bytes) != 0)
                    fail(impl, get(gate, i), get(&dx, i), get(&dy, i));
            }
        }
    free(dy.data);
    free(dx.data);
}

/* One large negative element among ones, at every place of vectors of every kind of end. */
static void test_amax(enum dtype t) {
    enum { LONGEST = 80 };
    double scratch[16]; /* a cache line a thread */
    for (const struct impl *const *table = cpu_kernels; *table; table++)
        for (const struct impl *impl = *table; impl->run; impl++) {
            if (impl->op != OP_amax || impl->dtype != t || !can_run(impl)) continue;
            for (int64_t n = 1; n <= LONGEST; n++)
                for (int64_t place = 0; place < n; place++) {
                    struct tensor x = tensor_make(t, n), s = tensor_make(dtypes[t].acc, 1);
                    for (int64_t i = 0; i < n; i++) value_put(t, x.data, n, i, i == place ? -3 : 1);
                    const struct args a = {.s = {1, 1, n, 1},
                                           .threads = 1,
                                           .buf = {x.data, s.data},
                                           .scratch = scratch};
                    if (impl->run(&a) != 0 || get(&s, 0) != 3) fail(impl, -3, get(&s, 0), 3);
                    free(x.data);
                    free(s.data);
                }
        }
}

/* Blocks of hard cases for the quantiser: the result is compared byte for byte. */
static void judge_quantise(const struct impl *impl, const struct tensor *x, const struct tensor *y,
                           const long double *want) {
    (void)want;
    const uint8_t *codes = y->data, *scales = nvfp4_scales_const(y->data, y->n);
    for (int64_t block = 0; block < x->n / NVFP4_BLOCK; block++) {
        uint8_t right[NVFP4_BLOCK / 2], scale;
        nvfp4_quantize_block((const float *)x->data + block * NVFP4_BLOCK, 1, right, &scale);
        if (memcmp(right, codes + block * (NVFP4_BLOCK / 2), sizeof right) != 0 ||
            scale != scales[block])
            fail(impl, get(x, block * NVFP4_BLOCK), scales[block], scale);
    }
}

static void judge_dequantise(const struct impl *impl, const struct tensor *x,
                             const struct tensor *y, const long double *want) {
    (void)want;
    for (int64_t i = 0; i < x->n; i++) {
        const long double right = get(x, i), got = get(y, i);
        if (!(isnan(right) ? isnan(got) : got == right && !signbit(got) == !signbit(right)))
            fail(impl, right, got, right);
    }
}

/* Every code under every scale that is a number, under a tensor scale that makes the product round. */
static struct tensor all_nvfp4(void) {
    struct tensor x = tensor_make(DT_nvfp4, 256 * NVFP4_BLOCK);
    for (int64_t i = 0; i < x.n / 2; i++)
        ((uint8_t *)x.data)[i] = (uint8_t)((2 * i & 15) | (2 * i + 1) << 4);
    for (int64_t i = 0; i < x.n / NVFP4_BLOCK; i++) nvfp4_scales(x.data, x.n)[i] = (uint8_t)i;
    nvfp4_set_tensor_scale(x.data, x.n, 0x1.234568p-3f);
    return x;
}

/* Floats about the edges of every narrow format: each power of two and its neighbours, halves of last places. */
static struct tensor near_edges(void) {
    enum { FRACTIONS = 1024 };
    struct tensor x = tensor_make(DT_fp32, 2 * 256 * FRACTIONS);
    for (int64_t i = 0; i < x.n; i++) {
        const uint32_t exponent = (uint32_t)(i / FRACTIONS) << 23, j = (uint32_t)(i % FRACTIONS);
        const uint32_t near_tie = (j / 4) << 15,
                       offset = j % 4; /* 256 coarse fractions, then -1 0 1 2 */
        ((float *)x.data)[i] = float_of_bits(exponent + near_tie + offset - 1);
    }
    return x;
}

int main(void) {
    for (int t = 0; t < DTYPE_COUNT; t++) {
        if (op_refuses_dtype(&ops[OP_exp], (enum dtype)t)) continue;
        const enum dtype dtype = (enum dtype)t;
        struct tensor x = all_patterns(dtype, SWEEP);
        test_exp(dtype, &x);
        test_gelu(dtype, &x);
        each_impl(OP_relu, dtype, &x, NULL, 1, judge_relu);
        test_relu_backward(dtype, &x);
        test_amax(dtype);
        if (dtype != DT_fp32) each_impl(OP_cast_to_fp32, dtype, &x, NULL, 1, judge_cast);
        if (dtype == DT_bf16) {
            each_impl(OP_cast_from_bf16, DT_fp8_e4m3, &x, NULL, SCALE, judge_scaled_cast);
            each_impl(OP_cast_from_bf16, DT_fp8_e5m2, &x, NULL, SCALE, judge_scaled_cast);
        }
        free(x.data);
        if (dtypes[t].bits < 32) continue;

        /* where results are neither 0 nor infinite, subnormal ones included */
        x = between(dtype, WIDE_SWEEP, dtype == DT_fp64 ? -746 : -104, dtype == DT_fp64 ? 710 : 89);
        test_exp(dtype, &x);
        free(x.data);
        x = between(dtype, WIDE_SWEEP, -12, 12);
        test_exp(dtype, &x);
        test_gelu(dtype, &x);
        free(x.data);
    }

    struct tensor floats[] = {all_patterns(DT_fp32, WIDE_SWEEP), near_edges(),
                              between(DT_fp32, SWEEP, -6, 6)};
    for (int i = 0; i < 3; i++) {
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (t != DT_nvfp4 && !op_refuses_dtype(&ops[OP_cast_from_fp32], (enum dtype)t))
                each_impl(OP_cast_from_fp32, (enum dtype)t, &floats[i], NULL, 1, judge_cast);
        each_impl(OP_cast_from_fp32, DT_nvfp4, &floats[i], NULL, 1, judge_quantise);
        free(floats[i].data);
    }
    struct tensor blocks = all_nvfp4();
    each_impl(OP_cast_to_fp32, DT_nvfp4, &blocks, NULL, 1, judge_dequantise);
    free(blocks.data);

    if (failures) fprintf(stderr, "%d failures\n", failures);
    return failures != 0;
}
