/* memory.c - claims on operations that move more than they compute. */
#include "claims.h"

#include <math.h>
#include <string.h>

/* Vectors that a level-2 cache holds: what an op computes when it does not wait for memory. */
static struct want want_cached(const struct evidence *e, enum op_id op) {
    struct want w = want_vector(e, op);
    w.s.n = e->gpu ? 1 << 20 : 1 << 14;
    w.cold = false;
    return w;
}

/* ---- relu and gelu ---- */

void want_relu_gelu(struct evidence *e) {
    want_arithmetic(e, e->dtype);
    want(e, want_vector(e, OP_relu));
    want(e, want_vector(e, OP_gelu));
    want(e, want_cached(e, OP_gelu));
}

void judge_relu_gelu(const struct evidence *e, struct finding *f) {
    const struct want wants[] = {want_vector(e, OP_relu), want_vector(e, OP_gelu)},
                      cached = want_cached(e, OP_gelu);
    const struct row *r[2], *warm;
    struct finding unused;
    double bandwidth, peak;
    if (!evidence_rows(e, wants, 2, r, f)) return;
    if (!evidence_bandwidth(e, "copy", r[0]->placement, &bandwidth, f)) return;
    if (!evidence_arithmetic(e, e->dtype, &peak, f)) return;
    const double moving = r[0]->bytes / bandwidth * 1e-9, relu = r[0]->flops / peak * 1e-9,
                 gelu = r[1]->flops / peak * 1e-9;
    f->predicted = fmax(moving, relu) / fmax(moving, gelu);
    f->measured = r[0]->time_s / r[1]->time_s;
    claim_model(f,
                "both move %.4g bytes, %.3g ms at %.3g GB/s; %.3g and %.3g ms of arithmetic at "
                "%.4g GFLOP/s",
                r[0]->bytes, 1e3 * moving, bandwidth, 1e3 * relu, 1e3 * gelu, peak);
    claim_within(f, 0.9, INFINITY);
    if (f->verdict == CLAIM_HOLDS) return;
    if (!evidence_rows(e, &cached, 1, &warm, &unused)) {
        claim_why(f, "gelu takes %.2f x the time that its bytes need", r[1]->time_s / moving);
        return;
    }
    const double computing = warm->time_s / (double)warm->n, moved = moving / (double)r[0]->n;
    claim_why(
        f,
        computing > moved
            ? "from the cache gelu takes %.3g ns an element, longer than the %.3g ns that its "
              "bytes need from memory: it is bound by the instructions of its e^x, of which "
              "the 20 FLOPs of the convention tell nothing"
            : "from the cache gelu takes %.3g ns an element, less than the %.3g ns that its "
              "bytes need from memory: moving and computing do not overlap fully",
        1e9 * computing, 1e9 * moved);
}

/* ---- memory-bound ---- */

/* Measured: the bandwidth that the op reaches over the ceiling of its pattern. A model that does not call it memory-bound
 * leaves nothing to confirm. */
static void judge_bound(const struct evidence *e, const struct want *w, struct finding *f) {
    const struct row *r;
    double bandwidth, peak;
    if (!evidence_rows(e, w, 1, &r, f)) return;
    const struct args problem = {.s = w->s};
    const struct traffic t = op_traffic(&ops[w->op], w->dtype, &problem);
    const char *pattern = traffic_pattern(t.read, t.written, t.in_place);
    if (!evidence_bandwidth(e, pattern, r->placement, &bandwidth, f)) return;
    if (!evidence_arithmetic(e, w->dtype, &peak, f)) return;
    const double kink = peak / bandwidth;
    f->predicted = fmin(1, kink / r->ai);
    f->measured = r->gbyte_s / bandwidth;
    claim_model(f,
                "intensity %.3g FLOP/byte, accelerator intensity %.4g / %.3g = %.3g: %s-bound; "
                "%.3g of %.3g GB/s",
                r->ai, peak, bandwidth, kink, r->ai < kink ? "memory" : "compute", r->gbyte_s,
                bandwidth);
    claim_within(f, 0.6, INFINITY);
    if (r->ai >= kink) {
        f->verdict = CLAIM_FAILS;
        claim_why(f, "arithmetic is so slow here beside memory that the op is compute-bound");
    } else if (f->verdict == CLAIM_FAILS) {
        claim_why(f,
                  "it leaves %.0f %% of the bandwidth unused: something other than memory holds "
                  "this implementation (%s) back",
                  100 * (1 - f->measured), r->impl);
    }
}

void want_dot(struct evidence *e) {
    want_arithmetic(e, e->dtype);
    want(e, want_vector(e, OP_dot));
}

void judge_dot(const struct evidence *e, struct finding *f) {
    const struct want w = want_vector(e, OP_dot);
    judge_bound(e, &w, f);
}

void want_matvec(struct evidence *e) {
    want_arithmetic(e, e->dtype);
    want(e, want_matrix(e, OP_matvec, LAYOUT_N));
}

void judge_matvec(const struct evidence *e, struct finding *f) {
    const struct want w = want_matrix(e, OP_matvec, LAYOUT_N);
    judge_bound(e, &w, f);
}

/* ---- AdamW's update ---- */

void want_adamw(struct evidence *e) {
    want_arithmetic(e, e->dtype);
    want(e, want_vector(e, OP_adamw));
}

void judge_adamw(const struct evidence *e, struct finding *f) {
    const struct want w = want_vector(e, OP_adamw);
    judge_bound(e, &w, f);
}

/* ---- a transposed view made contiguous ---- */

void want_contiguous(struct evidence *e) {
    want_bandwidth(e);
    want(e, want_matrix(e, OP_transpose, LAYOUT_FLAT));
}

void judge_contiguous(const struct evidence *e, struct finding *f) {
    const struct want w = want_matrix(e, OP_transpose, LAYOUT_FLAT);
    const struct row *r;
    double bandwidth;
    if (!evidence_rows(e, &w, 1, &r, f)) return;
    if (!evidence_bandwidth(e, "copy", r->placement, &bandwidth, f)) return;
    const double tensor = (double)storage_bytes(w.dtype, w.s.m * w.s.n);
    const double moving = 2 * tensor / bandwidth * 1e-9;
    f->predicted = 1;
    f->measured = r->time_s / moving;
    claim_model(f,
                "2 x %.4g bytes at %.3g GB/s, a copy's rate: %.3g ms; the transpose took %.3g ms",
                tensor, bandwidth, 1e3 * moving, 1e3 * r->time_s);
    const bool counted = isfinite(r->counted_bytes);
    claim_within(f, 0.7, 2);
    if (counted) {
        const double ratio = r->counted_bytes / (2 * tensor);
        f->verdict = ratio >= 0.8 && ratio <= 1.25 ? CLAIM_HOLDS : CLAIM_FAILS;
        claim_why(f, "counters saw %.4g bytes move, %.2f x the 2 x %.4g", r->counted_bytes, ratio,
                  tensor);
    } else if (f->verdict == CLAIM_FAILS && f->measured > 2) {
        const double slower = f->measured;
        claim_untested(f,
                       "at %.0f %% of a copy's rate it is not bytes that take the time, but lines "
                       "and pages that each row of this transpose (%s) touches anew; only counters "
                       "of bytes, of which there are none, could tell",
                       100 / slower, r->impl);
        f->measured = slower;
    } else if (f->verdict == CLAIM_FAILS) {
        claim_why(f,
                  "it ran at %.0f %% of a copy's rate: caches served a part, or the copy was "
                  "disturbed",
                  100 / f->measured);
    }
}
