/* unit_claims.c - verdicts on hand-made rows: of a machine that keeps to the model every claim holds; then one thing at a time
 * is made different, and the claims that say otherwise must say so. No time is measured. */
#include "test.h"

#include "../harness/claims/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double bandwidth = 20e9, peak = 100e9; /* of the machine: a kink of 5 */

/* What makes a row differ from the model. */
struct change {
    const char *op, *dtype, *layout;     /* NULL: any */
    int64_t least_n, most_n;             /* 0: any */
    const char *cache;                   /* NULL: any */
    int round;                           /* 0: all */
    double slower;                       /* times */
    const char *status, *placement;      /* NULL: "ok", "" */
    double counted_flops, counted_bytes; /* times the model's; 0: not counted */
    bool absent, interrupted;
};

static struct change none;
static struct evidence e;

static bool concerns(const struct change *c, const struct row *r) {
    return (!c->op || strcmp(c->op, r->op) == 0) &&
           (!c->dtype || strcmp(c->dtype, r->dtype) == 0) &&
           (!c->layout || strcmp(c->layout, r->layout) == 0) &&
           (!c->cache || strcmp(c->cache, r->cache) == 0) && r->n >= c->least_n &&
           (!c->most_n || r->n <= c->most_n) && (!c->round || r->round == c->round);
}

/* The row that the machine gives: max(bytes / bandwidth, FLOPs / peak), no bytes where a cache holds them. */
static void add_row(const struct want *w, int round, const struct change *c) {
    const struct op *op = &ops[w->op];
    const struct args problem = {.s = w->s};
    struct row r;
    row_init(&r);
    row_set_text(r.op, op->name);
    row_set_text(r.impl, "model");
    row_set_text(r.dtype, dtypes[w->dtype].name);
    row_set_text(r.layout, layout_names[w->layout]);
    row_set_text(r.cache, w->cold ? "cold" : "warm");
    row_set_text(r.level, w->cold ? "DRAM" : "L2");
    row_set_text(r.status, "ok");
    r.b = w->s.b;
    r.m = w->s.m;
    r.n = w->s.n;
    r.k = w->s.k;
    r.threads = e.threads;
    r.round = round;
    r.flops = op->flops(w->s);
    r.bytes = op_bytes(op, w->dtype, &problem);
    r.ai = r.flops / r.bytes;
    r.footprint_bytes = op_footprint(op, w->dtype, w->s);
    const double moving = w->cold ? r.bytes / bandwidth : 0,
                 computing = r.flops / (w->dtype == DT_bf16 ? 15 * peak : peak);
    r.min_s = fmax(fmax(moving, computing), 1e-9);
    if (concerns(c, &r)) {
        if (c->absent) return;
        r.samples = 9;
        r.disturbed = c->interrupted ? 9 : 8;
        if (c->slower > 0) r.min_s *= c->slower;
        if (c->status) {
            row_set_text(r.status, c->status);
            row_set_text(r.reason, "the reason");
        }
        if (c->placement) row_set_text(r.placement, c->placement);
        if (c->counted_flops > 0) r.counted_flops = c->counted_flops * r.flops;
        if (c->counted_bytes > 0) r.counted_bytes = c->counted_bytes * r.bytes;
    }
    r.time_s = 1.5 * r.min_s; /* medians of a busy machine: not compared */
    r.ci_low_s = r.min_s;
    r.ci_high_s = 2 * r.time_s;
    evidence_add(&e, &r);
}

static void forget(void) {
    free(e.rows.row);
    free(e.roofs.ceiling);
    e = (struct evidence){.threads = 1};
}

/* One claim on a machine with that change. */
static struct finding judge_on(const char *id, bool gpu, const struct change *c) {
    const int claim = claim_find(id);
    struct finding f = {.verdict = CLAIM_UNTESTED};
    if (!CHECK(claim >= 0, "no claim '%s'", id)) return f;
    forget();
    e.gpu = gpu;
    e.dtype = gpu ? DT_bf16 : DT_fp32;
    e.last_cache = 32 << 20;
    for (int t = 0; t < DTYPE_COUNT; t++) e.spec_gflop_s[t] = NAN;
    if (gpu) e.spec_gflop_s[DT_bf16] = 15 * (e.spec_gflop_s[DT_fp32] = 100);
    e.stored[FP16_OF_1E_8] = (struct claim_stored){0, ""};
    e.stored[BF16_OF_1E_8] = (struct claim_stored){0x1.58p-27, ""}; /* 1.001171767711639404e-08 */
    e.stored[BF16_SUM] = (struct claim_stored){1, ""};
    e.pinned_gbyte_s = 50;
    e.pageable_gbyte_s = 10;
    if (claims[claim].want) claims[claim].want(&e);
    for (int round = 1; round <= CLAIM_ROUNDS; round++)
        for (int i = 0; i < e.wants; i++) add_row(&e.want[i], round, c);
    CHECK(ceilings_of(&e.rows, e.last_cache, &e.roofs) == 0, "no memory");
    claim_judge(&claims[claim], &e, &f);
    return f;
}

static void expect(const char *id, bool gpu, struct change c, enum claim_verdict verdict,
                   const char *why) {
    const struct finding f = judge_on(id, gpu, &c);
    CHECK(f.verdict == verdict, "%s: %s, predicted %g, measured %g: %s", id,
          claim_verdicts[f.verdict], f.predicted, f.measured, f.why);
    CHECK(strstr(f.why, why) != NULL, "%s: why '%s' has no '%s'", id, f.why, why);
    CHECK(f.verdict == CLAIM_HOLDS || *f.why, "%s: no reason", id);
}

static void a_machine_that_keeps_to_the_model(void) {
    for (int i = 0; i < claim_count; i++) {
        const char *id = claims[i].id;
        CHECK(claim_find(id) == i, "'%s' is there twice", id);
        CHECK(*claims[i].says && *claims[i].quantity && *claims[i].holds_if, "%s", id);
        for (int gpu = 0; gpu < 2; gpu++) {
            const struct finding f = judge_on(id, gpu, &none);
            const bool untested =
                !gpu && (strcmp(id, "fp32-10x") == 0 || strcmp(id, "pinned") == 0);
            CHECK(f.verdict == (untested ? CLAIM_UNTESTED : CLAIM_HOLDS), "%s on a %s: %s: %s", id,
                  gpu ? "GPU" : "CPU", claim_verdicts[f.verdict], f.why);
            CHECK(untested == isnan(f.measured), "%s: measured %g", id, f.measured);
        }
    }
}

static void figures(void) {
    struct finding f = judge_on("matmul-turn", false, &none);
    CHECK(fabs(f.predicted - 30) < 1e-9, "n %g",
          f.predicted); /* 12 n^2 bytes, 2 n^3 FLOPs, kink 5 */
    f = judge_on("relu-gelu", false, &none);
    CHECK(f.predicted == 1 && fabs(f.measured - 1) < 1e-9, "%g %g", f.predicted, f.measured);
    f = judge_on("backward", false, &none);
    CHECK(f.predicted == 2 && fabs(f.measured - 2) < 1e-9, "%g %g", f.predicted, f.measured);
    f = judge_on("checkpointing", false, &none);
    CHECK(fabs(f.predicted - 4.0 / 3) < 1e-12 && fabs(f.measured - 4.0 / 3) < 0.01, "%g %g",
          f.predicted, f.measured);
    /* n = 256: 128 tokens, N = 2 x 256 x 512 + 512 x 512 */
    f = judge_on("6nd", false, &none);
    CHECK(fabs(f.predicted - 1e3 * 6 * 524288.0 * 128 / peak) < 1e-9, "%g ms", f.predicted);
    f = judge_on("adamw-bytes", false, &none);
    CHECK(f.measured == 12, "%g", f.measured);
    f = judge_on("accumulation", false, &none);
    CHECK(f.measured == 4 && strstr(f.model, "2097152") && strstr(f.model, "524288"), "%s",
          f.model);
    f = judge_on("fp32-10x", true, &none);
    CHECK(f.predicted == 15 && fabs(f.measured - 15) < 1e-9, "%g %g", f.predicted, f.measured);
    f = judge_on("pinned", true, &none);
    CHECK(f.measured == 5, "%g", f.measured);
}

static void what_does_not_hold(void) {
    expect("relu-gelu", false, (struct change){.op = "gelu", .slower = 4}, CLAIM_FAILS, "e^x");
    expect("relu-gelu", false, (struct change){.op = "gelu", .cache = "cold", .slower = 2},
           CLAIM_FAILS, "do not overlap");
    expect("relu-gelu", false, (struct change){.op = "relu", .slower = 2}, CLAIM_HOLDS, "");
    expect("dot", false, (struct change){.op = "dot", .slower = 2}, CLAIM_FAILS, "50 %");
    expect("dot", false, (struct change){.op = "dot", .slower = 1.5}, CLAIM_HOLDS, "");
    expect("dot", false, (struct change){.op = "fma", .slower = 100}, CLAIM_FAILS, "compute-bound");
    expect("matvec", false, (struct change){.op = "matvec", .slower = 3}, CLAIM_FAILS, "model");
    expect("matmul-turn", false,
           (struct change){.cache = "cold", .op = "matmul", .most_n = 256, .slower = 40},
           CLAIM_FAILS, "latency");
    expect("matmul-turn", false, (struct change){.cache = "cold", .op = "matmul", .slower = 40},
           CLAIM_FAILS, "still takes");
    expect("matmul-turn", true, (struct change){.op = "fma", .slower = 0.25}, CLAIM_FAILS,
           "something other than memory");
    expect("mfu-bound", false, (struct change){.op = "dot", .slower = 0.5}, CLAIM_FAILS,
           "above its roof");
    expect("2mnk", false, (struct change){.op = "matmul", .most_n = 128, .slower = 2}, CLAIM_FAILS,
           "form");
    expect("backward", false, (struct change){.layout = "tn", .slower = 2.2}, CLAIM_FAILS, "rates");
    expect("6nd", false, (struct change){.least_n = 257, .op = "matmul", .slower = 2}, CLAIM_FAILS,
           "another rate");
    expect("checkpointing", false, (struct change){.layout = "nn", .slower = 3}, CLAIM_FAILS,
           "backward takes 0.67 x");
    expect("fp32-10x", true, (struct change){.dtype = "bf16", .slower = 2}, CLAIM_FAILS, "reach");
    expect("contiguous", false, (struct change){.op = "transpose", .slower = 0.5}, CLAIM_FAILS,
           "caches");
}

static void counters(void) {
    expect("2mnk", true, (struct change){.dtype = "fp32", .counted_flops = 1.01}, CLAIM_HOLDS,
           "counters saw");
    expect("2mnk", true, (struct change){.dtype = "fp32", .counted_flops = 2}, CLAIM_FAILS,
           "counters saw");
    expect("contiguous", true,
           (struct change){.op = "transpose", .counted_bytes = 1.1, .slower = 9}, CLAIM_HOLDS,
           "1.10 x");
    expect("contiguous", true, (struct change){.op = "transpose", .counted_bytes = 2}, CLAIM_FAILS,
           "2.00 x");
}

static void what_cannot_be_tested(void) {
    expect("contiguous", false, (struct change){.op = "transpose", .slower = 9}, CLAIM_UNTESTED,
           "only counters");
    expect("dot", false, (struct change){.op = "dot", .status = "failed"}, CLAIM_UNTESTED,
           "dot in fp32: failed: the reason");
    expect("dot", false, (struct change){.op = "dot", .absent = true}, CLAIM_UNTESTED,
           "no implementation of dot in fp32");
    expect("dot", false, (struct change){.op = "dot", .round = 1, .slower = 1.5}, CLAIM_UNTESTED,
           "the machine is busy: the fastest times of two rounds are 1.50 x apart");
    expect("dot", false, (struct change){.op = "dot", .round = 1, .slower = 1.2}, CLAIM_HOLDS, "");
    expect("dot", false, (struct change){.op = "dot", .round = 1, .absent = true}, CLAIM_UNTESTED,
           "nothing was seen twice");
    expect("dot", false, (struct change){.op = "dot", .slower = 9, .interrupted = true},
           CLAIM_UNTESTED, "every sample of dot, n = 4194304, was interrupted");
    expect("dot", false, (struct change){.op = "dot", .interrupted = true}, CLAIM_HOLDS, "");
    expect("matmul-turn", false,
           (struct change){.cache = "cold", .op = "matmul", .slower = 40, .interrupted = true},
           CLAIM_UNTESTED, "every sample of matmul");
    expect("dot", false, (struct change){.op = "dot", .placement = "shared"}, CLAIM_UNTESTED,
           "on one core");
    expect("dot", false, (struct change){.op = "dot", .placement = "near"}, CLAIM_UNTESTED,
           "no proven ceiling of DRAM: not with the threads placed");
    expect("relu-gelu", false, (struct change){.op = "relu", .placement = "far"}, CLAIM_UNTESTED,
           "moved the threads between the measurements");
    expect("dot", false, (struct change){.op = "sum", .status = "wrong"}, CLAIM_HOLDS, "");
    expect("dot", false, (struct change){.op = "fma", .absent = true}, CLAIM_UNTESTED,
           "no proven ceiling of fp32: it was not measured");
    expect("matmul-turn", false,
           (struct change){.op = "matmul", .cache = "warm", .status = "refused"}, CLAIM_UNTESTED,
           "only 0 of");
    expect("mfu-bound", false, (struct change){.cache = "cold", .status = "refused"},
           CLAIM_UNTESTED, "no proven ceiling of fp32");
    expect("fp32-10x", true, (struct change){.dtype = "bf16", .absent = true}, CLAIM_UNTESTED,
           "no implementation of matmul in bf16");
    expect("fp32-10x", false, none, CLAIM_UNTESTED, "no tensor cores");
    expect("pinned", false, none, CLAIM_UNTESTED, "already");
}

/* Verdicts that no row decides. */
static void values(void) {
    const struct {
        const char *id;
        enum claim_value which;
        double value;
        enum claim_verdict verdict;
        const char *why;
    } cases[] = {
        {"fp16-1e-8", FP16_OF_1E_8, 0x1p-24, CLAIM_FAILS, "differ"},
        {"bf16-1e-8", BF16_OF_1E_8, 0, CLAIM_FAILS, "differ"},
        {"bf16-1e-8", BF16_OF_1E_8, 0x1.56p-27, CLAIM_FAILS, "differ"}, /* a neighbour */
        {"bf16-1.001", BF16_SUM, 1.0078125, CLAIM_FAILS, "differ"},
        {"bf16-1.001", BF16_SUM, (double)NAN, CLAIM_UNTESTED, "no kernel"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct finding f = judge_on(cases[i].id, false, &none);
        e.stored[cases[i].which] = (struct claim_stored){cases[i].value, "no kernel"};
        claim_judge(&claims[claim_find(cases[i].id)], &e, &f);
        CHECK(f.verdict == cases[i].verdict, "%s with %g: %s", cases[i].id, cases[i].value,
              claim_verdicts[f.verdict]);
        CHECK(strstr(f.why, cases[i].why) != NULL, "%s: '%s'", cases[i].id, f.why);
    }
    struct finding f = judge_on("pinned", true, &none);
    e.pageable_gbyte_s = 49;
    claim_judge(&claims[claim_find("pinned")], &e, &f);
    CHECK(f.verdict == CLAIM_FAILS, "pinned %g x", f.measured);
    e.pageable_gbyte_s = NAN;
    snprintf(e.why_no_copies, sizeof e.why_no_copies, "lost");
    claim_judge(&claims[claim_find("pinned")], &e, &f);
    CHECK(f.verdict == CLAIM_UNTESTED && strstr(f.why, "lost"), "'%s'", f.why);
}

/* Several threads: rows of one placement are compared, and the fastest rounds of each. */
static void placements(void) {
    const struct change near = {.placement = "near"};
    struct finding f;
    forget();
    e.threads = 2;
    e.dtype = DT_fp32;
    want_dot(&e);
    for (int round = 1; round <= 2; round++)
        for (int i = 0; i < e.wants; i++) {
            struct change far = {.placement = "far", .slower = 2};
            if (e.want[i].op == OP_fma) far = none;
            add_row(&e.want[i], round, e.want[i].op == OP_fma ? &none : &near);
            add_row(&e.want[i], round + 2, &far);
        }
    CHECK(ceilings_of(&e.rows, e.last_cache, &e.roofs) == 0, "no memory");
    claim_judge(&claims[claim_find("dot")], &e, &f);
    CHECK(f.verdict == CLAIM_HOLDS && fabs(f.measured - 1) < 1e-9, "measured %g: %s", f.measured,
          f.why);
}

/* Wants are kept once; a plan has a trial of each that an implementation takes. */
static void wants(void) {
    forget();
    want_mfu(&e);
    const int once = e.wants;
    want_mfu(&e);
    want_dot(&e);
    want_turn(&e);
    CHECK(e.wants == once && once > 20, "%d and %d", once, e.wants);
    for (int i = 0; i < claim_count; i++)
        if (claims[i].want) claims[i].want(&e);
    CHECK(e.wants < CLAIM_WANTS, "%d", e.wants);
}

int main(void) {
    a_machine_that_keeps_to_the_model();
    figures();
    what_does_not_hold();
    counters();
    what_cannot_be_tested();
    values();
    placements();
    wants();
    forget();
    return test_result();
}
