/* training.c - claims on a pass through linear layers, from the times of its operations, each measured by itself.
 *
 * A layer Y = X W, tokens x in by in x out: forward one product (nn); backward dX = dY W' (nt) and dW = X' dY (tn). */
#include "claims.h"

#include <math.h>
#include <stdio.h>

enum { PRODUCTS = 3, LAYERS = 3, LAYER_ROWS = PRODUCTS + 2 };

/* nn, nt, tn of a layer. */
static void layer_products(const struct evidence *e, int64_t tokens, int64_t in, int64_t out,
                           struct want w[PRODUCTS]) {
    w[0] = want_product(e->dtype, LAYOUT_NN, (struct shape){1, tokens, out, in});
    w[1] = want_product(e->dtype, LAYOUT_NT, (struct shape){1, tokens, in, out});
    w[2] = want_product(e->dtype, LAYOUT_TN, (struct shape){1, in, out, tokens});
}

/* ---- backward against forward ---- */

static void one_layer(const struct evidence *e, struct want w[PRODUCTS]) {
    const int64_t n = large_product(e).n;
    layer_products(e, n / 2, n, n, w);
}

void want_backward(struct evidence *e) {
    struct want w[PRODUCTS];
    one_layer(e, w);
    for (int i = 0; i < PRODUCTS; i++) want(e, w[i]);
}

void judge_backward(const struct evidence *e, struct finding *f) {
    struct want w[PRODUCTS];
    const struct row *r[PRODUCTS];
    one_layer(e, w);
    if (!evidence_rows(e, w, PRODUCTS, r, f)) return;
    f->predicted = 2;
    f->measured = (r[1]->time_s + r[2]->time_s) / r[0]->time_s;
    claim_model(f,
                "2 products of 2BD^2 FLOPs against 1: dX = dY W' %.3g ms, dW = X' dY %.3g ms, "
                "Y = X W %.3g ms",
                1e3 * r[1]->time_s, 1e3 * r[2]->time_s, 1e3 * r[0]->time_s);
    claim_within(f, 1.6, 2.5);
    if (f->verdict == CLAIM_FAILS)
        claim_why(f,
                  "FLOPs are 2 to 1; products with a transposed operand run at other rates here");
}

/* ---- a stack of layers ---- */

static int64_t stack_tokens(const struct evidence *e) { return large_product(e).n / 2; }

/* Width of layer i's input: n, 2n, 2n, n. */
static int64_t stack_width(const struct evidence *e, int i) {
    return large_product(e).n * (i == 0 || i == LAYERS ? 1 : 2);
}

/* Layer i: its products; relu on its output, and its gradient. */
static void stack_layer(const struct evidence *e, int i, struct want w[LAYER_ROWS]) {
    const int64_t tokens = stack_tokens(e), out = stack_width(e, i + 1);
    layer_products(e, tokens, stack_width(e, i), out, w);
    w[3] = (struct want){OP_relu, e->dtype, LAYOUT_FLAT, {1, 1, tokens * out, 1}, false, false};
    w[4] = w[3];
    w[4].op = OP_relu_backward;
}

void want_stack(struct evidence *e) {
    struct want w[LAYER_ROWS];
    want(e, want_product(e->dtype, LAYOUT_NN, large_product(e)));
    for (int i = 0; i < LAYERS; i++) {
        stack_layer(e, i, w);
        for (int j = 0; j < LAYER_ROWS; j++) want(e, w[j]);
    }
}

struct pass {
    double forward_s, backward_s, elementwise_s; /* of both, the part that no product is */
    double parameters, product_gflop_s;
};

static bool measure_pass(const struct evidence *e, struct pass *p, struct finding *f) {
    struct want w[1 + LAYERS * LAYER_ROWS];
    const struct row *r[1 + LAYERS * LAYER_ROWS];
    *p = (struct pass){0};
    w[0] = want_product(e->dtype, LAYOUT_NN, large_product(e));
    for (int i = 0; i < LAYERS; i++) stack_layer(e, i, &w[1 + i * LAYER_ROWS]);
    if (!evidence_rows(e, w, 1 + LAYERS * LAYER_ROWS, r, f)) return false;
    p->product_gflop_s = r[0]->gflop_s;
    for (int i = 0; i < LAYERS; i++) {
        const struct row *const *layer = &r[1 + i * LAYER_ROWS];
        p->parameters += (double)layer[0]->k * (double)layer[0]->n;
        p->forward_s += layer[0]->time_s + layer[3]->time_s;
        p->backward_s += layer[1]->time_s + layer[2]->time_s + layer[4]->time_s;
        p->elementwise_s += layer[3]->time_s + layer[4]->time_s;
    }
    return true;
}

void judge_6nd(const struct evidence *e, struct finding *f) {
    struct pass p;
    if (!measure_pass(e, &p, f)) return;
    const double tokens = (double)stack_tokens(e), flops = 6 * p.parameters * tokens;
    const double total = p.forward_s + p.backward_s;
    f->predicted = 1e3 * flops * 1e-9 / p.product_gflop_s;
    f->measured = 1e3 * total;
    claim_model(f,
                "N = %.0f in %d layers, D = %.0f tokens: 6ND = %.4g FLOPs at the %.4g GFLOP/s of a "
                "square product; measured: the sum of every op, each by itself (relu and its "
                "gradient %.0f %%)",
                p.parameters, LAYERS, tokens, flops, p.product_gflop_s,
                100 * p.elementwise_s / total);
    claim_within(f, 0.75 * f->predicted, 1.35 * f->predicted);
    if (f->verdict == CLAIM_FAILS)
        claim_why(f,
                  "%.2f x the prediction: the layers' products run at another rate than the "
                  "square one",
                  f->measured / f->predicted);
}

void judge_checkpointing(const struct evidence *e, struct finding *f) {
    struct pass p;
    if (!measure_pass(e, &p, f)) return;
    f->predicted = 8.0 / 6.0;
    f->measured = (2 * p.forward_s + p.backward_s) / (p.forward_s + p.backward_s);
    claim_model(f,
                "8ND / 6ND: one more forward pass; from the measured passes of the stack, forward "
                "%.3g ms, backward %.3g ms",
                1e3 * p.forward_s, 1e3 * p.backward_s);
    claim_within(f, 1.25, 1.42);
    if (f->verdict == CLAIM_FAILS)
        claim_why(f, "backward takes %.2f x forward here, not 2 x", p.backward_s / p.forward_s);
}
