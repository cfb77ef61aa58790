/* unit_matmul.c - every row of matmul and bmm that this machine can run, against sums in long
 * double: sizes around every tile edge, all layouts, alpha and beta, NaN in C where it must not
 * be read, guard bands that must stay. */
#include "../harness/os.h"
#include "../kernels/cpu/packed/caches.h"
#include "../kernels/numerics.h"
#include "../kernels/vendor/vendor.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    GUARD = 256,
    GUARD_BYTE = 0xa5,
    MAX_COMPLAINTS = 20,
    TALL = 901,  /* rows, by 391 columns and a depth of 661: several blocks of each for AMX */
    WIDE = 4200, /* columns of fp64: more than a block of B, 4096 where the last cache has 32 MiB */
};

static uint64_t random_bits(uint64_t *state) { /* splitmix64, Steele et al. 2014 */
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
        for (int64_t i = 0; i < elements; i++)
            value_put(t, tensor, elements, i, random_value(state, exact));
        return tensor;
    }
    for (int64_t i = 0; i < elements; i += NVFP4_BLOCK) {
        float x[NVFP4_BLOCK];
        for (int j = 0; j < NVFP4_BLOCK; j++) x[j] = (float)random_value(state, exact);
        if (exact)
            x[i / NVFP4_BLOCK % NVFP4_BLOCK] = 6; /* every block scale is 1, so codes are exact */
        nvfp4_quantize_block(x, exact ? 1 : 0.0371f, tensor + i / 2,
                             nvfp4_scales(tensor, elements) + i / NVFP4_BLOCK);
    }
    nvfp4_set_tensor_scale(tensor, elements, exact ? 1 : 0.0371f);
    return tensor;
}

static long double *values_of(enum dtype t, const void *tensor, int64_t elements) {
    long double *values = aligned((size_t)elements * sizeof *values);
    for (int64_t i = 0; i < elements; i++) values[i] = value_get(t, tensor, elements, i);
    return values;
}

/* One problem of a dtype, which all of its rows solve. */
struct problem {
    enum op_id op;
    enum dtype dtype;
    struct args a; /* buf[2] and scratch are the row's own */
    bool exact;
    void *old;                 /* C before the call, NaN where beta is 0 */
    long double *want, *bound; /* [b,m,n] */
};

/* i-p-j order: each row of B is read along. */
static void solve(struct problem *p) {
    const struct args *a = &p->a;
    const int64_t m = a->s.m, n = a->s.n, k = a->s.k, elements = a->s.b * m * n;
    const enum dtype stored = dtypes[p->dtype].product, acc = dtypes[p->dtype].acc;
    const long double unit = (long double)k * dtype_roundoff(acc) + 2 * dtype_roundoff(stored);
    const bool a_transposed = a->layout == LAYOUT_TN, b_transposed = a->layout == LAYOUT_NT;
    long double *A = values_of(p->dtype, a->buf[0], a->s.b * m * k),
                *B = values_of(p->dtype, a->buf[1], a->s.b * k * n);
    p->want = aligned((size_t)elements * sizeof *p->want);
    p->bound = aligned((size_t)elements * sizeof *p->bound);
    for (int64_t row = 0; row < a->s.b * m; row++) {
        const int64_t batch = row / m, i = row % m;
        long double *want = p->want + row * n, *bound = p->bound + row * n;
        for (int64_t j = 0; j < n; j++) want[j] = bound[j] = 0;
        for (int64_t q = 0; q < k; q++) {
            const long double x =
                a->alpha * A[batch * m * k + (a_transposed ? q * m + i : i * k + q)];
            for (int64_t j = 0; j < n; j++) {
                const long double term =
                    x * B[batch * k * n + (b_transposed ? j * k + q : q * n + j)];
                want[j] += term;
                bound[j] += fabsl(term);
            }
        }
        for (int64_t j = 0; j < n; j++) {
            const long double old =
                a->beta == 0 ? 0 : a->beta * value_get(stored, p->old, elements, row * n + j);
            want[j] += old;
            bound[j] = unit * (bound[j] + fabsl(old)) + dtype_smallest(stored);
            if (p->exact) want[j] = value_round(stored, want[j]);
        }
    }
    free(A), free(B);
}

static void problem_open(struct problem *p, uint64_t *state) {
    struct args *a = &p->a;
    const enum dtype stored = dtypes[p->dtype].product;
    const int64_t elements = a->s.b * a->s.m * a->s.n;
    a->buf[0] = random_tensor(p->dtype, a->s.b * a->s.m * a->s.k, state, p->exact);
    a->buf[1] = random_tensor(p->dtype, a->s.b * a->s.k * a->s.n, state, p->exact);
    p->old = aligned(storage_bytes(stored, elements));
    for (int64_t i = 0; i < elements; i++)
        value_put(stored, p->old, elements, i,
                  a->beta == 0 ? (long double)NAN : random_value(state, p->exact));
    solve(p);
}

static void problem_close(struct problem *p) {
    free(p->a.buf[0]), free(p->a.buf[1]), free(p->old), free(p->want), free(p->bound);
}

static int complain(const struct problem *p, const char *name, const char *what, int64_t i,
                    long double got, long double want) {
    const struct shape s = p->a.s;
    printf("%s.%s.%s b=%lld m=%lld n=%lld k=%lld %s alpha=%g beta=%g threads=%d %s: %s [%lld] "
           "%.9Lg, not %.9Lg\n",
           ops[p->op].name, name, dtypes[p->dtype].name, (long long)s.b, (long long)s.m,
           (long long)s.n, (long long)s.k, layout_names[p->a.layout], p->a.alpha, p->a.beta,
           p->a.threads, p->exact ? "exact" : "normal", what, (long long)i, got, want);
    return 1;
}

static int guard_broken(const uint8_t *guard) {
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != GUARD_BYTE) return 1;
    return 0;
}

/* 1 if the row gets it wrong; the first wrong element is told. */
static int run(const struct problem *p, const struct impl *impl) {
    struct args a = p->a;
    const enum dtype stored = dtypes[p->dtype].product;
    const int64_t elements = a.s.b * a.s.m * a.s.n;
    const size_t c_bytes = storage_bytes(stored, elements);
    const size_t scratch_bytes = impl->scratch_bytes ? impl->scratch_bytes(&a) : 0;
    uint8_t *guarded = aligned(c_bytes + 2 * GUARD), *C = guarded + GUARD;
    uint8_t *scratch = aligned(scratch_bytes + GUARD);
    memset(guarded, GUARD_BYTE, c_bytes + 2 * GUARD);
    memset(scratch, 0xff, scratch_bytes); /* NaN in every format */
    memset(scratch + scratch_bytes, GUARD_BYTE, GUARD);
    memcpy(C, p->old, c_bytes);
    a.buf[2] = C;
    a.scratch = scratch;

    int wrong = 0;
    if (impl->run(&a) != 0) wrong = complain(p, impl->name, "status", 0, 1, 0);
    for (int64_t i = 0; i < elements && !wrong; i++) {
        const long double got = value_get(stored, C, elements, i), want = p->want[i];
        const bool right = p->exact ? got == want : fabsl(got - want) <= p->bound[i];
        if (!right) wrong = complain(p, impl->name, "element", i, got, want);
    }
    if (guard_broken(guarded)) wrong = complain(p, impl->name, "guard before C", 0, 0, 0);
    if (guard_broken(C + c_bytes)) wrong = complain(p, impl->name, "guard after C", 0, 0, 0);
    if (guard_broken(scratch + scratch_bytes))
        wrong = complain(p, impl->name, "guard after scratch", 0, 0, 0);
    free(guarded), free(scratch);
    return wrong;
}

/* Sizes 1 ... 40 each occur as m, n and k; the rest are edges of tiles, vectors, scale blocks
 * and cache blocks. */
static struct shape shape_of_case(int i) {
    static const struct shape edges[] = {
        {1, 12, 32, 16},   {1, 13, 33, 17},     {1, 24, 64, 32},  {1, 25, 65, 1},  {1, 11, 31, 15},
        {1, 48, 16, 48},   {1, 16, 48, 16},     {1, 32, 80, 64},  {1, 64, 64, 64}, {1, 1, 130, 70},
        {1, 130, 1, 70},   {1, 6, 16, 8},       {1, 7, 17, 9},    {1, 97, 47, 3},  {1, 5, 7, 1100},
        {1, 14, 34, 777},  {1, 16, 32, 1616},   {1, 112, 96, 96}, {1, 1, 1, 2000}, {1, 600, 3, 5},
        {1, 2, WIDE, 250}, {1, TALL, 391, 661},
    };
    enum { EDGES = sizeof edges / sizeof edges[0] };
    if (i >= 40 + EDGES) return (struct shape){0};
    if (i >= 40) return edges[i - 40];
    return (struct shape){1, i + 1, i * 7 % 40 + 1, i * 11 % 40 + 1};
}

struct tally {
    int problems, runs, wrong;
};

/* Every row of this op and dtype on one problem. */
static void check_problem(struct problem *p, const char *only, uint64_t *state,
                          struct tally *tally) {
    if (op_refuses_shape(&ops[p->op], p->dtype, &p->a)) return;
    problem_open(p, state);
    tally->problems++;
    for (int group = 0; group < 2; group++)
        for (const struct impl *const *table = group ? vendor_cpu_kernels : cpu_kernels; *table;
             table++)
            for (const struct impl *impl = *table; impl->run; impl++) {
                if (impl->op != p->op || impl->dtype != p->dtype) continue;
                if (only && strcmp(only, impl->name) != 0) continue;
                if (impl->refuses && impl->refuses(&p->a)) continue;
                tally->runs++;
                tally->wrong += run(p, impl);
            }
    problem_close(p);
}

static void check_dtype(enum op_id op, enum dtype t, const char *only, struct tally *tally) {
    static const enum layout layouts[] = {LAYOUT_NN, LAYOUT_NT, LAYOUT_TN};
    static const double alphas[] = {1, 0.5, -2}, betas[] = {0, 1, 0.5};
    static const int threads[] = {1, 2, 1, 3, 1};
    uint64_t state = 1;
    for (int i = 0; shape_of_case(i).m > 0 && tally->wrong < MAX_COMPLAINTS; i++)
        for (int l = 0; l < 3; l++) {
            const int turn = i + l;
            if (shape_of_case(i).n == WIDE && t != DT_fp64) continue;
            if (shape_of_case(i).m == TALL && t != DT_bf16) continue;
            struct problem p = {.op = op, .dtype = t, .exact = turn % 3 != 0};
            p.a = (struct args){
                .s = shape_of_case(i), .layout = layouts[l], .threads = threads[turn % 5]};
            p.a.alpha = alphas[i / 2 % 3];
            p.a.beta = betas[(turn + i / 3) % 3];
            if (op == OP_bmm) {
                if (i % 4 != 0) continue;
                p.a.s.b = 1 + turn % 5;
            }
            check_problem(&p, only, &state, tally);
        }
}

/* Blocks go by the level-3 cache that the harness finds, a core complex's: the C library may report a package's. */
static bool caches_agree(void) {
    static struct cpu_facts facts;
    os_cpu_facts(&facts);
    for (int i = 0; i < facts.caches; i++) {
        const int64_t found = facts.cache[i].bytes, used = (int64_t)caches().last;
        if (facts.usable[0] != 0 || facts.cache[i].level != 3 || found == used) continue;
        printf("level 3: blocks go by %lld bytes, the harness finds %lld\n", (long long)used,
               (long long)found);
        return false;
    }
    return true;
}

/* An argument restricts the test to implementations of that name. */
int main(int argc, char **argv) {
    int wrong = 0, runs = 0;
    cpu_vendors.open();
    for (int op = 0; op < OP_COUNT; op++)
        for (int t = 0; t < DTYPE_COUNT; t++) {
            if ((op != OP_matmul && op != OP_bmm) || t == DT_tf32) continue;
            struct tally tally = {0};
            const double start = omp_get_wtime();
            check_dtype((enum op_id)op, (enum dtype)t, argc > 1 ? argv[1] : NULL, &tally);
            printf("%s.%s: %d problems, %d runs, %d wrong, %.2f s\n", ops[op].name, dtypes[t].name,
                   tally.problems, tally.runs, tally.wrong, omp_get_wtime() - start);
            wrong += tally.wrong;
            runs += tally.runs;
        }
    if (runs == 0) printf("unit_matmul: nothing ran\n");
    return wrong > 0 || runs == 0 || !caches_agree();
}
