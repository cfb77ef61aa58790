/* unit_matmul.c - every row of matmul and bmm that this machine can run, against sums in long double: sizes around
 * every tile edge, all layouts, alpha and beta, NaN in C where it must not be read, guard bands that must stay. */
#include "../kernels/numerics.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { GUARD = 256, GUARD_BYTE = 0xa5, MAX_COMPLAINTS = 20 };

static uint64_t random_bits(uint64_t *state) {        /* splitmix64, Steele et al. 2014 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Exact: +-1, +-2. Otherwise a sum of four uniform numbers, within +-2. */
static long double random_value(uint64_t *state, bool exact) {
    const uint64_t bits = random_bits(state);
    if (exact) return (bits & 1 ? 1 : 2) * (bits & 2 ? 1 : -1);
    long double sum = 0;
    for (int i = 0; i < 4; i++) sum += (long double)(bits >> (16 * i) & 0xffff) / 65536 - 0.5L;
    return sum;
}

static void *aligned(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (p) return p;
    fprintf(stderr, "unit_matmul: no memory\n");
    exit(2);
}

static void *random_tensor(enum dtype t, int64_t elements, uint64_t *state, bool exact) {
    uint8_t *tensor = aligned(storage_bytes(t, elements));
    if (t != DT_nvfp4) {
        for (int64_t i = 0; i < elements; i++) value_put(t, tensor, elements, i, random_value(state, exact));
        return tensor;
    }
    for (int64_t i = 0; i < elements; i += NVFP4_BLOCK) {
        float x[NVFP4_BLOCK];
        for (int j = 0; j < NVFP4_BLOCK; j++) x[j] = (float)random_value(state, exact);
        if (exact) x[i / NVFP4_BLOCK % NVFP4_BLOCK] = 6;   /* every block scale is 1, so codes are exact */
        nvfp4_quantize_block(x, exact ? 1 : 0.0371f, tensor + i / 2, nvfp4_scales(tensor, elements) + i / NVFP4_BLOCK);
    }
    nvfp4_set_tensor_scale(tensor, elements, exact ? 1 : 0.0371f);
    return tensor;
}

static long double *values_of(enum dtype t, const void *tensor, int64_t elements) {
    long double *values = aligned((size_t)elements * sizeof *values);
    for (int64_t i = 0; i < elements; i++) values[i] = value_get(t, tensor, elements, i);
    return values;
}

struct test {
    const struct impl *impl;
    struct args        a;
    bool               exact;
};

static int complain(const struct test *test, const char *what, int64_t i, long double got, long double want) {
    const struct shape s = test->a.s;
    printf("%s.%s.%s b=%lld m=%lld n=%lld k=%lld %s alpha=%g beta=%g threads=%d %s: %s [%lld] %.9Lg, not %.9Lg\n",
           ops[test->impl->op].name, test->impl->name, dtypes[test->impl->dtype].name, (long long)s.b, (long long)s.m,
           (long long)s.n, (long long)s.k, layout_names[test->a.layout], test->a.alpha, test->a.beta, test->a.threads,
           test->exact ? "exact" : "normal", what, (long long)i, got, want);
    return 1;
}

/* The first wrong element; 1 if there is one. */
static int compare(const struct test *test, const long double *A, const long double *B, const long double *old,
                   const void *C) {
    const struct args *a = &test->a;
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k, elements = a->s.b * m * n;
    const enum dtype stored = dtypes[test->impl->dtype].product, acc = dtypes[test->impl->dtype].acc;
    const long double unit = (long double)k * dtype_roundoff(acc) + 2 * dtype_roundoff(stored);
    const int64_t a_row = a->layout == LAYOUT_TN ? 1 : k, a_step = a->layout == LAYOUT_TN ? m : 1;
    const int64_t b_col = a->layout == LAYOUT_NT ? k : 1, b_step = a->layout == LAYOUT_NT ? 1 : n;
    for (int64_t i = 0; i < elements; i++) {
        const long double *x = A + i / (m * n) * m * k + i / n % m * a_row, *y = B + i / (m * n) * k * n + i % n * b_col;
        long double sum = 0, mag = 0;
        for (int64_t p = 0; p < k; p++) {
            sum += x[p * a_step] * y[p * b_step];
            mag += fabsl(x[p * a_step] * y[p * b_step]);
        }
        const long double previous = a->beta == 0 ? 0 : a->beta * old[i];
        const long double want = a->alpha * sum + previous, got = value_get(stored, C, elements, i);
        mag = mag * fabsl((long double)a->alpha) + fabsl(previous);
        if (test->exact && !(got == value_round(stored, want))) return complain(test, "exact", i, got, want);
        if (!(fabsl(got - want) <= unit * mag + dtype_smallest(stored))) return complain(test, "bound", i, got, want);
    }
    return 0;
}

static int guards_broken(const struct test *test, const uint8_t *before, const uint8_t *after) {
    for (int i = 0; i < GUARD; i++) {
        if (before[i] != GUARD_BYTE) return complain(test, "guard before C", i, before[i], GUARD_BYTE);
        if (after[i] != GUARD_BYTE) return complain(test, "guard after C", i, after[i], GUARD_BYTE);
    }
    return 0;
}

/* 1 if wrong, -1 if the row does not take this shape. */
static int run(struct test *test, uint64_t *state) {
    struct args *a = &test->a;
    const enum dtype t = test->impl->dtype, stored = dtypes[t].product;
    const int64_t a_elements = a->s.b * a->s.m * a->s.k, b_elements = a->s.b * a->s.k * a->s.n,
                  c_elements = a->s.b * a->s.m * a->s.n;
    if (op_refuses_shape(&ops[test->impl->op], t, a)) return -1;
    if (test->impl->refuses && test->impl->refuses(a)) return -1;

    const size_t c_bytes = storage_bytes(stored, c_elements);
    const size_t scratch_bytes = test->impl->scratch_bytes ? test->impl->scratch_bytes(a) : 0;
    uint8_t *guarded = aligned(c_bytes + 2 * GUARD);
    uint8_t *scratch = aligned(scratch_bytes + GUARD);
    memset(guarded, GUARD_BYTE, c_bytes + 2 * GUARD);
    memset(scratch, 0xff, scratch_bytes);              /* NaN in every format */
    memset(scratch + scratch_bytes, GUARD_BYTE, GUARD);
    a->buf[0] = random_tensor(t, a_elements, state, test->exact);
    a->buf[1] = random_tensor(t, b_elements, state, test->exact);
    a->buf[2] = guarded + GUARD;
    a->scratch = scratch;
    for (int64_t i = 0; i < c_elements; i++)
        value_put(stored, a->buf[2], c_elements, i, a->beta == 0 ? (long double)NAN : random_value(state, test->exact));
    long double *A = values_of(t, a->buf[0], a_elements), *B = values_of(t, a->buf[1], b_elements),
                *old = values_of(stored, a->buf[2], c_elements);

    int wrong = 0;
    if (test->impl->run(a) != 0) wrong = complain(test, "status", 0, 1, 0);
    if (!wrong) wrong = compare(test, A, B, old, a->buf[2]);
    if (!wrong) wrong = guards_broken(test, guarded, guarded + GUARD + c_bytes);
    if (!wrong) wrong = guards_broken(test, guarded, scratch + scratch_bytes);

    free(a->buf[0]), free(a->buf[1]), free(guarded), free(scratch), free(A), free(B), free(old);
    return wrong;
}

/* Sizes 1 ... 40 each occur as m, n and k; the rest are edges of tiles, vectors, scale blocks and cache blocks. */
static struct shape shape_of_case(int i) {
    static const struct shape edges[] = {
        {1, 12, 32, 16},   {1, 13, 33, 17},   {1, 24, 64, 32},  {1, 25, 65, 1},    {1, 11, 31, 15},  {1, 48, 16, 48},
        {1, 16, 48, 16},   {1, 32, 80, 64},   {1, 64, 64, 64},  {1, 1, 130, 70},   {1, 130, 1, 70},  {1, 6, 16, 8},
        {1, 7, 17, 9},     {1, 97, 47, 3},    {1, 5, 7, 1100},  {1, 14, 34, 777},  {1, 16, 32, 1616}, {1, 112, 96, 96},
        {1, 1, 1, 2000},   {1, 600, 3, 5},    {1, 3, 700, 5},
    };
    enum { EDGES = sizeof edges / sizeof edges[0] };
    if (i >= 40 + EDGES) return (struct shape){0};
    if (i >= 40) return edges[i - 40];
    return (struct shape){1, i + 1, i * 7 % 40 + 1, i * 11 % 40 + 1};
}

static int check_row(const struct impl *impl, int *ran) {
    static const enum layout layouts[] = {LAYOUT_NN, LAYOUT_NT, LAYOUT_TN};
    static const double alphas[] = {1, 0.5, -2}, betas[] = {0, 1, 0.5};
    int wrong = 0;
    uint64_t state = 1;
    for (int i = 0; shape_of_case(i).m > 0; i++)
        for (int l = 0; l < 3; l++)
            for (int exact = 0; exact < 2; exact++) {
                const int turn = i + l + exact;
                struct test test = {impl, {.s = shape_of_case(i), .layout = layouts[l], .threads = 1 + turn % 3}, exact};
                test.a.alpha = alphas[turn % 3];
                test.a.beta = betas[(turn / 3 + i) % 3];
                if (impl->op == OP_bmm) {
                    if (i % 3 != 0) continue;
                    test.a.s.b = 1 + turn % 5;
                }
                const int outcome = run(&test, &state);
                if (outcome >= 0) ++*ran;
                if (outcome > 0 && ++wrong >= MAX_COMPLAINTS) return wrong;
            }
    return wrong;
}

int main(int argc, char **argv) {
    int wrong = 0, rows = 0, total = 0;
    for (int group = 0; group < 2; group++)
        for (const struct impl *const *table = group ? vendor_cpu_kernels : cpu_kernels; *table; table++)
            for (const struct impl *impl = *table; impl->run; impl++) {
                if (impl->op != OP_matmul && impl->op != OP_bmm) continue;
                if (argc > 1 && strcmp(argv[1], impl->name) != 0) continue;
                int ran = 0;
                const double start = omp_get_wtime();
                const int bad = check_row(impl, &ran);
                printf("%s.%s.%s: %d cases, %d wrong, %.2f s\n", ops[impl->op].name, impl->name,
                       dtypes[impl->dtype].name, ran, bad, omp_get_wtime() - start);
                wrong += bad;
                total += ran;
                rows++;
            }
    if (rows == 0 || total == 0) printf("unit_matmul: nothing ran\n");
    return wrong > 0 || total == 0;
}
