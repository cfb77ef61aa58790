/* unit_matmul_sizes.c - every row of matmul that this machine can run, in every size from 0 to 130
 * of each dimension beside a few sizes of the others: all layouts, alpha and beta, one and two
 * threads, bases one element off. Small integers, so that sums are exact; C is compared bit by
 * bit, with guards around it.
 *
 * Usage: unit_matmul_sizes [EVERY [IMPL]]: each EVERY-th shape only (sizes still occur all, as 131
 * is prime); rows of one name only. */
#include "../kernels/numerics.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* The portable rows take part in two of eight shapes, with and without beta. */
enum { SLOW = 4 };
enum { LARGEST = 130, SUMS = 2 * (4 * LARGEST + 2) + 1, GUARD = 64, MAX_ELEMENT = 8 };

/* What A and B are made of, and how one dtype stores it. */
static const int values[4] = {1, -1, 2, -2};

struct format {
    enum dtype dtype, product;
    size_t bytes, product_bytes;            /* of an element; nvfp4: 0, two a byte */
    uint8_t value[4][MAX_ELEMENT];          /* values[] as stored */
    uint8_t sum[2 * SUMS + 1][MAX_ELEMENT]; /* -SUMS .. SUMS in the product's dtype */
};

static void format_open(struct format *f, enum dtype t) {
    *f = (struct format){.dtype = t, .product = dtypes[t].product};
    f->product_bytes = storage_bytes(f->product, 1);
    for (int i = -SUMS; i <= SUMS; i++) value_put(f->product, f->sum[i + SUMS], 1, 0, i);
    if (t == DT_nvfp4) return;
    f->bytes = storage_bytes(t, 1);
    for (int i = 0; i < 4; i++) value_put(t, f->value[i], 1, 0, values[i]);
}

/* x[rows,cols] as a tensor, stored transposed or not, at p. */
static void store(const struct format *f, const uint8_t *x, int64_t rows, int64_t cols,
                  bool transposed, uint8_t *p) {
    const int64_t elements = rows * cols;
    if (f->dtype == DT_nvfp4) {
        memset(p, 0, storage_bytes(DT_nvfp4, elements));
        memset(nvfp4_scales(p, elements), e4m3_of_float(1), (size_t)(elements / NVFP4_BLOCK));
        nvfp4_set_tensor_scale(p, elements, 1);
    }
    for (int64_t i = 0; i < elements; i++) {
        const uint8_t v = transposed ? x[i % rows * cols + i / rows] : x[i];
        if (f->dtype == DT_nvfp4)
            p[i / 2] |= (uint8_t)(e2m1_of_float((float)values[v]) << (i % 2 * 4));
        else
            memcpy(p + (size_t)i * f->bytes, f->value[v], f->bytes);
    }
}

/* One product in integers: C = A B + beta old. */
struct problem {
    struct shape s;
    uint8_t A[LARGEST * LARGEST], B[LARGEST * LARGEST]; /* indices into values[] */
    int AB[LARGEST * LARGEST];
};

static unsigned next_random(void) {
    static unsigned state = 1;
    return (state = state * 1664525u + 1013904223u) >> 24;
}

static void problem_open(struct problem *p, struct shape s) {
    p->s = s;
    for (int64_t i = 0; i < s.m * s.k; i++) p->A[i] = next_random() % 4;
    for (int64_t i = 0; i < s.k * s.n; i++) p->B[i] = next_random() % 4;
    for (int64_t i = 0; i < s.m; i++) {
        for (int64_t j = 0; j < s.n; j++) p->AB[i * s.n + j] = 0;
        for (int64_t q = 0; q < s.k; q++)
            for (int64_t j = 0; j < s.n; j++)
                p->AB[i * s.n + j] += values[p->A[i * s.k + q]] * values[p->B[q * s.n + j]];
    }
}

static uint8_t *room(size_t bytes) {
    uint8_t *p = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!p) abort();
    return p;
}

static void check_run(const struct format *f, const struct impl *impl, const struct problem *p,
                      const struct args *problem) {
    struct args a = *problem;
    const int64_t elements = a.s.m * a.s.n;
    const size_t bytes = (size_t)elements * f->product_bytes;
    const size_t scratch_bytes = impl->scratch_bytes ? impl->scratch_bytes(&a) : 0;
    uint8_t *guarded = room(bytes + 2 * GUARD + MAX_ELEMENT), *scratch = room(scratch_bytes);
    uint8_t *C = guarded + GUARD + f->product_bytes; /* one element off */
    memset(guarded, 0xa5, bytes + 2 * GUARD + MAX_ELEMENT);
    memset(scratch, 0xff, scratch_bytes); /* NaN */
    for (int64_t i = 0; i < elements; i++) {
        if (a.beta == 0) /* not to be read */
            memset(C + (size_t)i * f->product_bytes, 0xff, f->product_bytes);
        else
            memcpy(C + (size_t)i * f->product_bytes, f->sum[SUMS + i % 3 - 1], f->product_bytes);
    }
    a.buf[2] = C;
    a.scratch = scratch;
    const int status = impl->run(&a);
    int64_t wrong = -1;
    for (int64_t i = elements - 1; i >= 0; i--) {
        const int old = a.beta == 0 ? 0 : (int)(i % 3 - 1);
        const int want = (int)a.alpha * p->AB[i] + (int)a.beta * old;
        const uint8_t *got = C + (size_t)i * f->product_bytes;
        /* 0 may come with either sign */
        if (memcmp(got, f->sum[SUMS + want], f->product_bytes) != 0 &&
            !(want == 0 && value_get(f->product, got, 1, 0) == 0))
            wrong = i;
    }
    bool guards = true;
    for (int i = 0; i < GUARD; i++)
        guards = guards && guarded[i] == 0xa5 && C[bytes + (size_t)i] == 0xa5;
    CHECK(status == 0 && wrong < 0 && guards,
          "%s.%s m=%lld n=%lld k=%lld %s alpha=%g beta=%g threads=%d: status %d, first wrong "
          "element %lld (%Lg, A B = %d), guards %s",
          impl->name, dtypes[f->dtype].name, (long long)a.s.m, (long long)a.s.n, (long long)a.s.k,
          layout_names[a.layout], a.alpha, a.beta, a.threads, status, (long long)wrong,
          wrong < 0 ? 0 : value_get(f->product, C + (size_t)wrong * f->product_bytes, 1, 0),
          wrong < 0 ? 0 : p->AB[wrong], guards ? "whole" : "broken");
    free(guarded), free(scratch);
}

static void check_shape(const struct format *f, const struct problem *p, int turn,
                        const char *only) {
    static const enum layout layouts[] = {LAYOUT_NN, LAYOUT_NT, LAYOUT_TN};
    static _Alignas(256) uint8_t A_room[(LARGEST * LARGEST + 1) * MAX_ELEMENT];
    static _Alignas(256) uint8_t B_room[(LARGEST * LARGEST + 1) * MAX_ELEMENT];
    const struct shape s = p->s;
    for (int l = 0; l < 3; l++) {
        struct args a = {.s = s, .layout = layouts[l], .threads = 1 + (turn + l) % 2};
        a.alpha = turn % 3 == 0 ? 2 : 1;
        a.beta = turn % 2;
        if (s.m * s.n * s.k > 0 && op_refuses_shape(&ops[OP_matmul], f->dtype, &a)) continue;
        a.buf[0] = A_room + f->bytes; /* nvfp4 stays aligned */
        a.buf[1] = B_room + f->bytes;
        store(f, p->A, s.m, s.k, layouts[l] == LAYOUT_TN, a.buf[0]);
        store(f, p->B, s.k, s.n, layouts[l] == LAYOUT_NT, a.buf[1]);
        for (const struct impl *const *table = cpu_kernels; *table; table++)
            for (const struct impl *impl = *table; impl->run; impl++) {
                if (impl->op != OP_matmul || impl->dtype != f->dtype) continue;
                if (only ? strcmp(only, impl->name) != 0
                         : turn / 2 % SLOW != 0 && strcmp(impl->name, "portable") == 0)
                    continue;
                if (impl->refuses && impl->refuses(&a)) continue;
                check_run(f, impl, p, &a);
            }
    }
}

int main(int argc, char **argv) {
    static const int others[] = {1, 8, 33, 64, LARGEST};
    enum { OTHERS = sizeof others / sizeof others[0], PAIRS = OTHERS * OTHERS };
    static struct format formats[DTYPE_COUNT];
    static struct problem p;
    const int every = argc > 1 ? atoi(argv[1]) : 1;
    if (every < 1) {
        fprintf(stderr, "unit_matmul_sizes: '%s' is no step\n", argv[1]);
        return 2;
    }
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (ops[OP_matmul].dtypes >> t & 1 && t != DT_tf32) format_open(&formats[t], (enum dtype)t);
    for (int i = 0; i < 3 * PAIRS * (LARGEST + 1); i += every) {
        const int size = i % (LARGEST + 1), pair = i / (LARGEST + 1) % PAIRS,
                  dimension = i / (LARGEST + 1) / PAIRS;
        const int x = others[pair / OTHERS], y = others[pair % OTHERS];
        const struct shape shapes[] = {{1, size, x, y}, {1, x, size, y}, {1, x, y, size}};
        problem_open(&p, shapes[dimension]);
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (ops[OP_matmul].dtypes >> t & 1 && t != DT_tf32)
                check_shape(&formats[t], &p, i / every, argc > 2 ? argv[2] : NULL);
    }
    return test_result();
}
