/* products.c - claims on matrix products and on the bound that intensity sets. */
#include "claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- from which n on memory no longer matters ---- */

enum { SIDES = 10 };
static const int64_t cpu_side[SIDES] = {16, 32, 48, 64, 96, 128, 192, 256, 320, 384},
                     gpu_side[SIDES] = {128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};
/* A product that takes more than twice as long with its operands in memory as in a cache spends more time on moving than
 * on computing. */
static const double waits = 2;

static struct want want_side(const struct evidence *e, int i, bool cold) {
    const int64_t n = e->gpu ? gpu_side[i] : cpu_side[i];
    struct want w = want_product(e->dtype, LAYOUT_NN, (struct shape){1, n, n, n});
    w.cold = cold;
    return w;
}

void want_turn(struct evidence *e) {
    want_arithmetic(e, e->dtype);
    for (int i = 0; i < SIDES; i++) {
        want(e, want_side(e, i, true));
        want(e, want_side(e, i, false));
    }
}

/* n at which a square product's intensity 2 n^3 / (bytes of three matrices) reaches the kink. */
static double turning_n(enum dtype t, double kink) {
    const double a_lot = 1 << 20;
    const struct args problem = {.s = {1, 1 << 10, 1 << 10, 1 << 10}};
    const double bytes_per_element = op_bytes(&ops[OP_matmul], t, &problem) / a_lot;
    return kink * bytes_per_element / 2;
}

void judge_turn(const struct evidence *e, struct finding *f) {
    const struct row *pair[2] = {NULL, NULL};
    struct finding missing = {.interrupted = NULL};
    double bandwidth = NAN, peak, first = NAN, smallest = NAN, ratio = NAN;
    double worst = 0, worst_n = NAN;
    int seen = 0;
    if (!evidence_arithmetic(e, e->dtype, &peak, f)) return;
    for (int i = 0; i < SIDES; i++) {
        const struct want w[] = {want_side(e, i, true), want_side(e, i, false)};
        const double n = (double)w[0].s.n;
        if (!evidence_rows(e, w, 2, pair, &missing)) continue;
        f->interrupted = missing.interrupted;
        ratio = pair[0]->time_s / pair[1]->time_s;
        if (ratio > worst) {
            worst = ratio;
            worst_n = n;
        }
        if (ratio > waits)
            first = NAN; /* the turn lies beyond */
        else if (isnan(first))
            first = n;
        if (seen++ > 0) continue;
        smallest = n;
        if (!evidence_bandwidth(e, "triad", pair[0]->placement, &bandwidth, f)) return;
    }
    if (seen < SIDES / 2) {
        claim_untested(f,
                       "only %d of %d sizes could be measured both from memory and from the "
                       "cache; the last reason: %s",
                       seen, SIDES, missing.why);
        return;
    }
    const double kink = peak / bandwidth;
    f->predicted = turning_n(e->dtype, kink);
    f->measured = first;
    claim_model(f,
                "intensity passes the accelerator intensity %.4g / %.3g = %.3g at n = %.0f; "
                "measured: from this n on a product from memory takes at most %.0f x one from the "
                "cache; at most it took %.2f x, at n = %.0f",
                peak, bandwidth, kink, f->predicted, waits, worst, worst_n);
    claim_within(f, f->predicted / 4, f->predicted * 4);
    if (f->verdict == CLAIM_HOLDS) return;
    if (isnan(first))
        claim_why(f, "the largest n measured still takes %.2f x as long from memory", ratio);
    else if (first == smallest && f->predicted > first)
        claim_why(f, "small products wait for something other than memory: their start, and parts "
                     "of the machine that they leave idle");
    else if (first > f->predicted)
        claim_why(f, "small matrices do not stream: their lines come one latency at a time, slower "
                     "than the bandwidth of the model");
    else
        claim_why(f, "this implementation is slower than the arithmetic of the model, which leaves "
                     "memory more time");
}

/* ---- intensity bounds MFU ---- */

void want_mfu(struct evidence *e) {
    want_turn(e);
    want_relu_gelu(e);
    want_dot(e);
    want_matvec(e);
}

void judge_mfu(const struct evidence *e, struct finding *f) {
    const struct row *worst = NULL;
    double peak, worst_bound = NAN;
    int count = 0;
    if (!evidence_arithmetic(e, e->dtype, &peak, f)) return;
    for (size_t i = 0; i < e->rows.count; i++) {
        const struct row *r = &e->rows.row[i];
        /* one accelerator intensity a placement: the best bandwidth that any pattern has */
        const struct ceiling *memory =
            ceilings_bandwidth(&e->roofs, "DRAM", e->threads, r->placement);
        if (!memory || strcmp(r->status, "ok") != 0 || strcmp(r->cache, "cold") != 0 ||
            !(r->flops > 0) || strcmp(r->dtype, dtypes[e->dtype].name) != 0)
            continue;
        const double bound = fmin(1, r->ai / (peak / memory->rate)),
                     over = r->gflop_s / peak / bound;
        count++;
        if (!worst || over > f->measured) {
            worst = r;
            f->measured = over;
            worst_bound = bound;
        }
    }
    if (!worst) {
        claim_untested(f, "no row with operands from memory, at a placement with a ceiling");
        return;
    }
    f->predicted = 1;
    claim_model(f,
                "%d rows with operands from memory; the closest, %s n = %lld: intensity %.3g, MFU "
                "%.3g of %.4g GFLOP/s, bound %.3g",
                count, worst->op, (long long)worst->n, worst->ai, worst->gflop_s / peak, peak,
                worst_bound);
    claim_within(f, 0, 1.1);
    if (f->verdict == CLAIM_FAILS)
        claim_why(f, "a point above its roof: the ceiling was measured while something else used "
                     "the machine, or a cache served part of the bytes");
}

/* ---- 2 m n k ---- */

enum { SHAPES = 4 };

/* The same number of steps in three forms, and an eighth of it. */
static struct want want_shape(const struct evidence *e, int i) {
    const int64_t n = large_product(e).n;
    const struct shape s[SHAPES] = {
        {1, n, n, n}, {1, n, n / 2, 2 * n}, {1, 2 * n, n, n / 2}, {1, n / 2, n / 2, n / 2}};
    return want_product(e->dtype, LAYOUT_NN, s[i]);
}

void want_flops(struct evidence *e) {
    for (int i = 0; i < SHAPES; i++) want(e, want_shape(e, i));
    want(e, want_product(DT_fp32, LAYOUT_NN, large_product(e)));
}

void judge_flops(const struct evidence *e, struct finding *f) {
    const struct row *r[SHAPES], *vector;
    struct want w[SHAPES];
    struct finding unused;
    double least = INFINITY, most = 0;
    for (int i = 0; i < SHAPES; i++) w[i] = want_shape(e, i);
    if (!evidence_rows(e, w, SHAPES, r, f)) return;
    for (int i = 0; i < SHAPES; i++) {
        const double each = r[i]->time_s / r[i]->flops;
        least = fmin(least, each);
        most = fmax(most, each);
    }
    f->predicted = 1;
    f->measured = most / least;
    claim_model(f,
                "time / 2mnk is the same for %lld^3, for two oblong products of as many steps, and "
                "for an eighth of them: %.4g to %.4g GFLOP/s",
                (long long)w[0].s.n, 1e-9 / most, 1e-9 / least);
    claim_within(f, 1, 1.4);
    /* counters count FLOPs of vector units: those of fp32, not of tensor cores */
    const struct want fp32 = want_product(DT_fp32, LAYOUT_NN, large_product(e));
    const bool counted =
        evidence_rows(e, &fp32, 1, &vector, &unused) && isfinite(vector->counted_flops);
    if (counted) {
        if (fabs(vector->counted_flops / vector->flops - 1) > 0.05) f->verdict = CLAIM_FAILS;
        claim_why(f, "counters saw %.4g FLOPs of an fp32 product, 2mnk is %.4g",
                  vector->counted_flops, vector->flops);
    } else if (f->verdict == CLAIM_FAILS) {
        claim_why(f, "the rate depends on the form: edges and packing weigh differently");
    }
}

/* ---- fp32 against tensor cores ---- */

static void fp32_and_bf16(const struct evidence *e, struct want w[2]) {
    w[0] = want_product(DT_fp32, LAYOUT_NN, large_product(e));
    w[1] = want_product(DT_bf16, LAYOUT_NN, large_product(e));
}

void want_tensor_cores(struct evidence *e) {
    struct want w[2];
    if (!e->gpu) return;
    fp32_and_bf16(e, w);
    want(e, w[0]);
    want(e, w[1]);
}

void judge_tensor_cores(const struct evidence *e, struct finding *f) {
    const struct row *r[2];
    struct want w[2];
    if (!e->gpu) {
        claim_untested(f, "a CPU has no tensor cores");
        return;
    }
    fp32_and_bf16(e, w);
    if (!evidence_rows(e, w, 2, r, f)) return;
    f->predicted = e->spec_gflop_s[DT_bf16] / e->spec_gflop_s[DT_fp32];
    f->measured = r[1]->gflop_s / r[0]->gflop_s;
    if (isfinite(f->predicted))
        claim_model(f, "published: %.4g and %.4g GFLOP/s; measured: %.4g (%s) and %.4g (%s)",
                    e->spec_gflop_s[DT_bf16], e->spec_gflop_s[DT_fp32], r[1]->gflop_s, r[1]->impl,
                    r[0]->gflop_s, r[0]->impl);
    else
        claim_model(f, "no peak is published; measured: %.4g (%s) and %.4g (%s) GFLOP/s",
                    r[1]->gflop_s, r[1]->impl, r[0]->gflop_s, r[0]->impl);
    claim_within(f, 10, INFINITY);
    if (f->verdict == CLAIM_FAILS)
        claim_why(f, f->predicted < 10
                         ? "this GPU's own peaks are less than 10 x apart"
                         : "our bf16 product does not reach what its tensor cores allow");
}
