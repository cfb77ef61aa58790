/* unit_matmul_guard.c - every row of matmul, bmm and matvec that this machine can run, on operands,
 * results and scratch that end, or begin, at a page that may not be touched: ragged sizes, all
 * layouts, one to three threads. A touch ends the process, so each row runs in one of its own.
 * All elements are 1, so that every result is alpha k + beta C.
 *
 * Usage: unit_matmul_guard [EVERY [IMPL]]: each EVERY-th combination of sizes only, best an odd
 * number; rows of one name only. */
#define _GNU_SOURCE
#include "../kernels/numerics.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 8 << 20, MAX_ELEMENT = 8, REPEATS = 40, PAINT = 0x5a };

static size_t page_bytes;

/* ROOM bytes between two pages that may not be touched. */
static uint8_t *guarded_room(void) {
    uint8_t *all = mmap(NULL, ROOM + 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page_bytes, ROOM, PROT_READ | PROT_WRITE) != 0) {
        perror("unit_matmul_guard: no memory");
        exit(2);
    }
    return all + page_bytes;
}

/* What a row's process tells of the case it is at, should it die there. */
struct report {
    char at[200];
    long runs, wrong;
    char first_wrong[200];
};

struct row {
    const struct impl *impl;
    uint8_t *A, *B, *C, *scratch;     /* rooms */
    uint8_t one[MAX_ELEMENT];         /* in the row's dtype */
    uint8_t product_one[MAX_ELEMENT]; /* in its product's */
    size_t bytes, product_bytes;      /* of an element; nvfp4: 0 */
    struct report *report;
};

static void fill(uint8_t *x, const uint8_t *element, size_t bytes) {
    for (size_t i = 0; i < ROOM; i += bytes) memcpy(x + i, element, bytes);
}

static void nvfp4_ones(uint8_t *x, int64_t elements) {
    memset(x, e2m1_of_float(1) * 0x11, (size_t)elements / 2);
    memset(nvfp4_scales(x, elements), e4m3_of_float(1), (size_t)(elements / NVFP4_BLOCK));
    nvfp4_set_tensor_scale(x, elements, 1);
}

static uint8_t *placed(uint8_t *room, size_t bytes, bool at_end) {
    return at_end ? room + ROOM - bytes : room;
}

static void run_case(const struct row *r, const struct args *problem, bool at_end) {
    const enum dtype t = r->impl->dtype, product = dtypes[t].product;
    const struct op *op = &ops[r->impl->op];
    struct args a = *problem;
    int64_t elements[3];
    size_t bytes[3];
    for (int i = 0; i < 3; i++) {
        elements[i] = operand_elements(&op->operand[i], a.s);
        bytes[i] = storage_bytes(i == 2 ? product : t, elements[i]);
        if (bytes[i] > ROOM) return;
    }
    a.buf[0] = placed(r->A, bytes[0], at_end);
    a.buf[1] = placed(r->B, bytes[1], at_end);
    a.buf[2] = placed(r->C, bytes[2], at_end);
    if (r->impl->refuses && r->impl->refuses(&a)) return;
    const size_t scratch = r->impl->scratch_bytes ? r->impl->scratch_bytes(&a) : 0,
                 aligned = (scratch + 255) / 256 * 256;
    if (aligned > ROOM) return;
    a.scratch = placed(r->scratch, aligned, at_end);
    memset(a.scratch, 0xff, scratch); /* NaN */
    memset((uint8_t *)a.scratch + scratch, PAINT, aligned - scratch);
    if (t == DT_nvfp4) {
        nvfp4_ones(a.buf[0], elements[0]);
        nvfp4_ones(a.buf[1], elements[1]);
    }
    if (a.beta == 0) /* not to be read */
        memset(a.buf[2], 0xff, bytes[2]);
    else
        for (size_t i = 0; i < bytes[2]; i += r->product_bytes)
            memcpy((uint8_t *)a.buf[2] + i, r->product_one, r->product_bytes);

    struct report *const report = r->report;
    snprintf(report->at, sizeof report->at,
             "b=%lld m=%lld n=%lld k=%lld %s alpha=%g beta=%g threads=%d, operands %s the room",
             (long long)a.s.b, (long long)a.s.m, (long long)a.s.n, (long long)a.s.k,
             layout_names[a.layout], a.alpha, a.beta, a.threads, at_end ? "end" : "begin");
    const int status = r->impl->run(&a);
    const int64_t depth = r->impl->op == OP_matvec ? a.s.n : a.s.k;
    uint8_t want[MAX_ELEMENT];
    value_put(product, want, 1, 0, (long double)a.alpha * depth + (long double)a.beta);
    bool right = status == 0;
    for (size_t i = 0; i < bytes[2] && right; i += r->product_bytes)
        right = memcmp((uint8_t *)a.buf[2] + i, want, r->product_bytes) == 0 ||
                (depth == 0 && value_get(product, (uint8_t *)a.buf[2] + i, 1, 0) == a.beta);
    for (size_t i = scratch; i < aligned && right; i++) right = ((uint8_t *)a.scratch)[i] == PAINT;
    report->runs++;
    if (!right && report->wrong++ == 0) memcpy(report->first_wrong, report->at, sizeof report->at);
}

static void run_shape(const struct row *r, struct shape s, int turn) {
    const struct op *op = &ops[r->impl->op];
    for (int l = 0; l < LAYOUT_COUNT; l++) {
        struct args a = {.s = s, .layout = (enum layout)l, .alpha = 1};
        if (!(op->layouts >> l & 1)) continue;
        a.threads = 1 + (turn + l) % 3;
        if (r->impl->op != OP_matvec) {
            a.alpha = turn % 5 == 0 ? 2 : 1;
            a.beta = turn / 2 % 2;
        }
        if (s.b * s.m * s.n * s.k > 0 && op_refuses_shape(op, r->impl->dtype, &a)) continue;
        run_case(r, &a, true);
        run_case(r, &a, false);
    }
}

static void run_row(const struct row *r, int every) {
    static const int sizes[] = {1, 3, 4, 8, 9, 12, 16, 19, 24, 32, 37, 48, 71, 96, 101, 160};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    /* Rows that share sets of a level-1 cache, odd and long k, several blocks of everything. */
    static const struct shape large[] = {{1, 315, 20, 2048},
                                         {1, 301, 37, 1025},
                                         {1, 64, 300, 1301},
                                         {1, 20, 2050, 17},
                                         {1, 600, 96, 640}};
    const bool slow = strcmp(r->impl->name, "portable") == 0, batched = r->impl->op == OP_bmm,
               vector = r->impl->op == OP_matvec;
    int turn = 0;
    for (int i = 0; i < SIZES * SIZES * SIZES; i += every * (slow ? 11 : batched ? 5 : 1), turn++) {
        const int m = sizes[i % SIZES], n = sizes[i / SIZES % SIZES], k = sizes[i / SIZES / SIZES];
        if (vector && k != 1) break;
        run_shape(r, (struct shape){batched ? 1 + turn % 4 : 1, m, n, vector ? 1 : k}, turn);
    }
    for (size_t i = 0; i < sizeof large / sizeof large[0] && !slow; i++, turn++)
        for (int threads = 0; threads < 3; threads++) {
            const struct shape s = large[i];
            run_shape(r, (struct shape){batched ? 2 : 1, s.m, s.n, vector ? 1 : s.k},
                      turn + threads);
        }
}

/* Threads that wait for no one: several blocks of B of unequal width, and of k. */
static void run_threads(const struct row *r) {
    for (int turn = 0; turn < REPEATS; turn++) run_shape(r, (struct shape){1, 130, 990, 176}, turn);
}

static void run_alone(const struct impl *impl, int every, struct report *report) {
    struct row r = {.impl = impl, .report = report};
    const enum dtype t = impl->dtype, product = dtypes[t].product;
    r.A = guarded_room();
    r.B = guarded_room();
    r.C = guarded_room();
    r.scratch = guarded_room();
    r.product_bytes = storage_bytes(product, 1);
    value_put(product, r.product_one, 1, 0, 1);
    if (t != DT_nvfp4) {
        r.bytes = storage_bytes(t, 1);
        value_put(t, r.one, 1, 0, 1);
        fill(r.A, r.one, r.bytes);
        fill(r.B, r.one, r.bytes);
    }
    run_row(&r, every);
    if (impl->op == OP_matmul && strcmp(impl->name, "portable") != 0) run_threads(&r);
}

static void check_row(const struct impl *impl, int every, struct report *report) {
    *report = (struct report){.at = "its start"};
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        run_alone(impl, every, report);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child) abort();
    const char *op = ops[impl->op].name, *dtype = dtypes[impl->dtype].name;
    CHECK(status == 0, "%s %s.%s died (status 0x%x) at %s", op, impl->name, dtype, (unsigned)status,
          report->at);
    CHECK(report->wrong == 0, "%s %s.%s: %ld of %ld runs wrong, the first with %s", op, impl->name,
          dtype, report->wrong, report->runs, report->first_wrong);
}

int main(int argc, char **argv) {
    const int every = argc > 1 ? atoi(argv[1]) : 1;
    const char *only = argc > 2 ? argv[2] : NULL;
    if (every < 1) {
        fprintf(stderr, "unit_matmul_guard: '%s' is no step\n", argv[1]);
        return 2;
    }
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct report *report =
        mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED) abort();
    long runs = 0;
    for (const struct impl *const *table = cpu_kernels; *table; table++)
        for (const struct impl *impl = *table; impl->run; impl++) {
            if (impl->op != OP_matmul && impl->op != OP_bmm && impl->op != OP_matvec) continue;
            if (only && strcmp(only, impl->name) != 0) continue;
            check_row(impl, every, report);
            runs += report->runs;
        }
    CHECK(runs > 0, "no row of the name %s runs here", only ? only : "of any");
    printf("%ld runs\n", runs);
    return test_result();
}
