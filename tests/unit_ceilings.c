/* unit_ceilings.c - roofs from hand-made rows, with results worked out by hand; refusals included. */
#include "../harness/ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(bool ok, const char *what) {
    if (ok) return;
    printf("FAILED: %s\n", what);
    failures++;
}

static const double MiB = 1048576;
static struct row table[32];
static struct rows rows = {.row = table};

static struct row *add(const char *op, const char *impl, const char *dtype, int threads,
                       double rate) {
    struct row *r = &table[rows.count++];
    row_init(r);
    row_set_text(r->op, op);
    row_set_text(r->impl, impl);
    row_set_text(r->dtype, dtype);
    row_set_text(r->cache, "warm");
    row_set_text(r->status, "ok");
    r->threads = threads;
    r->time_s = 1e-3;
    r->ci_low_s = 0.99e-3;
    r->ci_high_s = 1.01e-3;
    r->gbyte_s = r->gflop_s = rate;
    r->ai = 0.25;
    r->footprint_bytes = 256 * MiB;
    return r;
}

static struct row *memory(const char *op, const char *impl, int threads, const char *level,
                          const char *placement, double rate) {
    struct row *r = add(op, impl, "fp32", threads, rate);
    row_set_text(r->level, level);
    row_set_text(r->placement, placement);
    return r;
}

static struct row *compute(const char *impl, const char *dtype, int threads, double rate,
                           double ai) {
    struct row *r = add("fma", impl, dtype, threads, rate);
    r->ai = ai;
    return r;
}

static const struct ceiling *unproven(const struct ceilings *c, const char *name,
                                      const char *impl) {
    for (size_t i = 0; i < c->count; i++)
        if (!c->ceiling[i].proven && strcmp(c->ceiling[i].name, name) == 0 &&
            strcmp(c->ceiling[i].impl, impl) == 0)
            return &c->ceiling[i];
    return NULL;
}

static bool is(const struct ceiling *c, double rate, const char *impl) {
    return c && c->rate == rate && strcmp(c->impl, impl) == 0;
}

static void memory_roofs(void) {
    struct ceilings c;
    rows.count = 0;
    memory("sum", "avx2", 1, "DRAM", "", 32);
    memory("sum", "avx512", 1, "DRAM", "", 30);
    memory("copy", "avx2", 1, "DRAM", "", 26);
    memory("copy", "avx2_nt", 1, "DRAM", "", 46);
    memory("fill", "avx2_nt", 1, "DRAM", "", 27.5);
    memory("sum", "avx2", 2, "DRAM", "near", 36);
    memory("copy", "avx2_nt", 2, "DRAM", "near", 50);
    memory("sum", "avx2", 2, "DRAM", "far", 62);
    memory("copy", "avx2_nt", 2, "DRAM", "far", 87);
    memory("sum", "avx2", 1, "L2", "", 117)->footprint_bytes = 0.5 * MiB;
    memory("triad", "avx2", 1, "", "", 500); /* between two levels: no roof */
    row_set_text(memory("sum", "bad", 1, "DRAM", "", 900)->status, "wrong");
    memory("sum", "noisy", 1, "DRAM", "", 80)->ci_high_s =
        1.2e-3;                                 /* 21 % wide: not while others are tight */
    memory("relu", "avx2", 1, "DRAM", "", 700); /* an op that is no roof */
    memory("sum", "unknown", 1, "DRAM", "", NAN);
    check(ceilings_of(&rows, 32 * MiB, &c) == 0, "ceilings_of succeeds");
    check(is(ceilings_bandwidth(&c, "DRAM", 1, NULL), 46, "avx2_nt"),
          "best of the patterns, 1 thread");
    check(is(ceilings_bandwidth(&c, "DRAM", 2, "near"), 50, "avx2_nt"), "near");
    check(is(ceilings_bandwidth(&c, "DRAM", 2, "far"), 87, "avx2_nt"), "far");
    check(is(ceilings_bandwidth(&c, "DRAM", 2, NULL), 87, "avx2_nt"), "any placement");
    check(is(ceilings_bandwidth(&c, "L2", 1, ""), 117, "avx2"), "L2");
    check(!ceilings_bandwidth(&c, "L3", 1, NULL), "no L3 was measured");
    check(!ceilings_bandwidth(&c, "DRAM", 4, NULL), "no 4 threads were measured");
    check(!ceilings_bandwidth(&c, "DRAM", 2, "sideways"), "no such placement");
    check(c.count == 8, "read, copy, write; read and copy, near and far; L2 read");
    for (size_t i = 0; i < c.count; i++)
        if (strcmp(c.ceiling[i].pattern, "read") == 0 && c.ceiling[i].threads == 1 &&
            strcmp(c.ceiling[i].name, "DRAM") == 0)
            check(c.ceiling[i].rate == 32 && c.ceiling[i].row == 0,
                  "the faster implementation reads at 32, row 0");
    free(c.ceiling);
}

static void memory_refusals(void) {
    struct ceilings c;
    rows.count = 0;
    memory("sum", "small", 1, "DRAM", "", 100)->footprint_bytes = 127 * MiB;
    ceilings_of(&rows, 32 * MiB, &c);
    const struct ceiling *x = unproven(&c, "DRAM", "small");
    check(x && strstr(x->why, "127") && strstr(x->why, "32"),
          "127 MiB are not 4 x 32 MiB, and the reason says so");
    check(!ceilings_bandwidth(&c, "DRAM", 1, NULL), "an unproven ceiling is not handed out");
    free(c.ceiling);

    memory("sum", "large", 1, "DRAM", "", 33)->footprint_bytes = 128 * MiB;
    ceilings_of(&rows, 32 * MiB, &c);
    check(is(ceilings_bandwidth(&c, "DRAM", 1, NULL), 33, "large"),
          "a proven row wins over a faster unproven one");
    free(c.ceiling);

    ceilings_of(&rows, 0, &c);
    check(!ceilings_bandwidth(&c, "DRAM", 1, NULL),
          "last cache unknown: a warm set proves nothing");
    free(c.ceiling);

    row_set_text(table[0].cache, "cold");
    ceilings_of(&rows, 0, &c);
    check(is(ceilings_bandwidth(&c, "DRAM", 1, NULL), 100, "small"), "cold needs no size");
    free(c.ceiling);

    rows.count = 0;
    memory("copy", "noisy", 1, "L3", "", 90)->ci_low_s = NAN;
    ceilings_of(&rows, 32 * MiB, &c);
    x = unproven(&c, "L3", "noisy");
    check(x && strstr(x->why, "interval"), "an unknown interval proves nothing");
    free(c.ceiling);
}

/* A roof that was seen broken while it was disturbed is none. */
static void disturbed_roofs(void) {
    struct ceilings c;
    rows.count = 0;
    memory("sum", "avx2", 2, "L2", "near", 200);
    memory("copy", "avx2", 2, "L2", "near", 220);
    struct row *mixed = memory("sum", "avx2", 2, "L2", "mixed", 210);
    ceilings_of(&rows, 32 * MiB, &c);
    check(ceilings_bandwidth_for(&c, "L2", 2, "near", "read") == 200, "5 % more breaks nothing");
    free(c.ceiling);
    mixed->min_s = 0.9e-3; /* its fastest sample: 233 */
    ceilings_of(&rows, 32 * MiB, &c);
    check(isnan(ceilings_bandwidth_for(&c, "L2", 2, "near", "read")), "17 % more breaks the roof");
    check(ceilings_bandwidth_for(&c, "L2", 2, "near", "copy") == 220, "of its pattern alone");
    check(ceilings_bandwidth_for(&c, "L2", 2, "near", "triad") == 220,
          "another pattern's stands in where 6 % break nothing");
    free(c.ceiling);
    row_set_text(mixed->op, "axpy");
    mixed->min_s = 0.8e-3; /* 262 */
    ceilings_of(&rows, 32 * MiB, &c);
    check(ceilings_bandwidth_for(&c, "L2", 2, "near", "read") == 200, "updates break no reading");
    check(isnan(ceilings_bandwidth_for(&c, "L2", 2, "near", "update")),
          "no stand-in below what updates reached");
    free(c.ceiling);

    rows.count = 0;
    memory("copy", "avx2", 2, "DRAM", "near", 36);
    memory("axpy", "avx2", 2, "DRAM", "near", 50);
    struct row *nt = memory("copy", "avx2_nt", 2, "DRAM", "near", 48);
    nt->ci_high_s = 1.2e-3;
    memory("copy", "avx512", 2, "DRAM", "near", 35); /* a row after it makes nothing undone */
    ceilings_of(&rows, 32 * MiB, &c);
    check(ceilings_bandwidth_for(&c, "DRAM", 2, "near", "copy") == 50,
          "copies have been faster than the proven one: updates stand in");
    check(!ceilings_bandwidth(&c, "DRAM", 2, "near") ||
              ceilings_bandwidth(&c, "DRAM", 2, "near")->rate == 50,
          "and no line is drawn at 36");
    free(c.ceiling);
    nt->min_s = 0.8e-3; /* 60 */
    ceilings_of(&rows, 32 * MiB, &c);
    check(isnan(ceilings_bandwidth_for(&c, "DRAM", 2, "near", "copy")), "faster than updates too");
    free(c.ceiling);

    rows.count = 0;
    memory("sum", "avx2", 2, "DRAM", "near", 36);
    memory("sum", "avx2", 2, "DRAM", "far", 62)->ci_high_s = 1.2e-3;
    memory("copy", "avx2", 2, "DRAM", "near", 50)->footprint_bytes = 8 * MiB; /* cached */
    ceilings_of(&rows, 32 * MiB, &c);
    check(ceilings_bandwidth_for(&c, "DRAM", 2, "near", "read") == 36,
          "DRAM: far says nothing of near");
    check(ceilings_bandwidth_for(&c, "DRAM", 2, "near", "copy") == 36, "nor does what is cached");
    check(isnan(ceilings_bandwidth_for(&c, "DRAM", 2, "far", "read")), "far is not proven");
    free(c.ceiling);

    rows.count = 0;
    memory("copy", "avx2", 2, "DRAM", "far", 40);
    compute("avx512", "fp32", 2, 240, 1000);
    struct row *own = compute("avx512_bf16", "bf16", 2, 230, 1000);
    row_set_text(own->placement, "mixed");
    ceilings_of(&rows, 32 * MiB, &c);
    check(is(ceilings_compute_for(&c, DT_bf16, 2), 240, "avx512"), "the accumulator's");
    free(c.ceiling);
    own->min_s = 0.5e-3; /* on one core for the most part; 460 on two */
    ceilings_of(&rows, 32 * MiB, &c);
    check(!ceilings_compute_for(&c, DT_bf16, 2), "bf16's own unit has been faster than that");
    free(c.ceiling);
}

static void compute_roofs(void) {
    struct ceilings c;
    rows.count = 0;
    memory("sum", "avx2", 1, "DRAM", "", 30);
    memory("copy", "avx2", 1, "DRAM", "", 40);
    memory("copy", "avx2", 2, "DRAM", "far", 80);
    memory("copy", "avx2", 2, "DRAM", "near", 50);
    compute("avx512", "fp32", 1, 120, 12); /* kink 120 / 40 = 3: 12 is just enough */
    compute("avx2", "fp32", 1, 118, 1000);
    compute("portable", "fp32", 1, 160, 15.9); /* kink 4: 15.9 < 16 */
    compute("avx512", "fp32", 2, 240, 19.1);   /* near: kink 4.8, 19.2 needed */
    compute("avx512", "fp64", 2, 120, 1000);
    compute("avx512", "fp32", 3, 300, 1000); /* no bandwidth with 3 threads */
    check(ceilings_of(&rows, 32 * MiB, &c) == 0, "ceilings_of succeeds");
    check(is(ceilings_compute(&c, "fp32", 1), 120, "avx512"), "intensity of exactly 4 kinks");
    const struct ceiling *x = unproven(&c, "fp32", "portable");
    check(x && strstr(x->why, "15.9") && strstr(x->why, " 4 x the kink at 4 "),
          "15.9 is not 4 x 4, and the reason says so");
    check(!ceilings_compute(&c, "fp32", 2), "the kink is taken at the slower placement");
    check(is(ceilings_compute(&c, "fp64", 2), 120, "avx512"), "fp64, 2 threads");
    check(!ceilings_compute(&c, "fp64", 1) && !ceilings_compute(&c, "bf16", 1), "not measured");
    check(!ceilings_compute(&c, "fp32", 3), "no kink without a bandwidth");
    check(!ceilings_compute_for(&c, DT_fp16, 1), "160, though not proven, breaks a roof of 120");
    check(is(ceilings_compute_for(&c, DT_fp64, 2), 120, "avx512"), "fp64 is its own accumulator");
    check(!ceilings_compute_for(&c, DT_fp64, 1) && !ceilings_compute_for(&c, DT_fp16, 2),
          "neither is proven");
    free(c.ceiling);

    rows.count = 0;
    memory("copy", "avx2", 1, "DRAM", "", 40);
    compute("avx512", "fp32", 1, 120, 1000);
    compute("avx512_bf16", "bf16", 1, 240, 1000);
    compute("slow", "fp16", 1, 60, 1000);
    ceilings_of(&rows, 32 * MiB, &c);
    check(is(ceilings_compute_for(&c, DT_bf16, 1), 240, "avx512_bf16"), "bf16 has a faster one");
    check(is(ceilings_compute_for(&c, DT_fp8_e4m3, 1), 240, "avx512_bf16"), "fp8 fits into bf16");
    check(is(ceilings_compute_for(&c, DT_nvfp4, 1), 240, "avx512_bf16"), "nvfp4 fits into bf16");
    check(is(ceilings_compute_for(&c, DT_fp16, 1), 120, "avx512"), "fp32 is faster than this fp16");
    check(is(ceilings_compute_for(&c, DT_fp32, 1), 120, "avx512"), "fp32 is not judged by bf16");
    free(c.ceiling);
    compute("tcgen05", "nvfp4", 1, 960, 1000);
    ceilings_of(&rows, 32 * MiB, &c);
    check(is(ceilings_compute_for(&c, DT_nvfp4, 1), 960, "tcgen05"), "nvfp4 has a unit of its own");
    check(is(ceilings_compute_for(&c, DT_bf16, 1), 240, "avx512_bf16"), "bf16 is not judged by it");
    free(c.ceiling);
    row_set_text(table[rows.count - 1].status, "refused");
    ceilings_of(&rows, 32 * MiB, &c);
    check(is(ceilings_compute_for(&c, DT_nvfp4, 1), 240, "avx512_bf16"),
          "where there is none it fits into bf16");
    free(c.ceiling);
    compute("amx", "bf16", 1, 3400, 19); /* its intensity is too low to prove it */
    ceilings_of(&rows, 32 * MiB, &c);
    check(!ceilings_compute_for(&c, DT_bf16, 1) && !ceilings_compute_for(&c, DT_nvfp4, 1),
          "a roof that a faster unit breaks is none, proven or not");
    check(is(ceilings_compute_for(&c, DT_fp32, 1), 120, "avx512"), "fp32 has no part in it");
    free(c.ceiling);

    rows.count = 0;
    memory("copy", "vector", 1, "DRAM", "", 40);
    row_set_text(compute("old_mma", "bf16", 1, NAN, 1000)->status, "failed");
    compute("mma_sync", "bf16", 1, 668, 1000);
    row_set_text(compute("wgmma", "bf16", 1, NAN, 1000)->status, "wrong");
    compute("mma_sync", "bf16", 1, 669, 1000); /* of the second round */
    row_set_text(compute("wgmma", "bf16", 1, NAN, 1000)->status, "refused");
    ceilings_of(&rows, 32 * MiB, &c);
    check(c.count == 2 && c.failed == 2, "units that have failed are no ceilings");
    check(!ceilings_compute_for(&c, DT_bf16, 1) && !ceilings_compute_for(&c, DT_nvfp4, 1),
          "nor is what is slower than a unit that has failed");
    free(c.ceiling);
    row_set_text(compute("wgmma", "bf16", 1, 900, 1000)->status, "ok");
    ceilings_of(&rows, 32 * MiB, &c);
    check(c.failed == 1 && is(ceilings_compute_for(&c, DT_bf16, 1), 900, "wgmma"),
          "once it has a rate that is the roof; what is slower may fail");
    free(c.ceiling);

    rows.count = 0;
    check(ceilings_of(&rows, 32 * MiB, &c) == 0 && c.count == 0, "no rows, no ceilings");
    check(!ceilings_compute(&c, "fp32", 1), "none");
    free(c.ceiling);
}

int main(void) {
    memory_roofs();
    memory_refusals();
    disturbed_roofs();
    compute_roofs();
    if (!failures) printf("ceilings: ok\n");
    return failures != 0;
}
