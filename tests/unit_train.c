/* unit_train.c - MISSION's figures, gradients against finite differences and against plain loops, what accumulation and
 * checkpointing must not change, loss scaling, checkpoints, batches. */
#define _GNU_SOURCE
#include "../harness/train/results.h"
#include "../harness/train/tokens.h"
#include "../kernels/model/philox.h"
#include "test.h"

#ifdef EMULATED_DEVICE
#include "../harness/devices.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef EMULATED_DEVICE
enum { EMULATED = 1 }; /* thousands of times slower: fewer elements and steps */
#else
enum { EMULATED = 0 };
#endif
static struct device device;

static struct train_spec spec_of(int64_t dim, int64_t layers, int64_t rows, enum precision p,
                                 enum update u) {
    struct train_spec s = {.model = {.dim = dim,
                                     .layers = layers,
                                     .rows = rows,
                                     .micro_batches = 1,
                                     .precision = p,
                                     .objective = OBJECTIVE_mse,
                                     .update = u},
                           .hyper = hyperparameters_for(u),
                           .scaling = {.on = false, .scale = 1, .patience = 2000},
                           .seed = 1,
                           .threads = 1};
    return s;
}

static bool begin(struct trainer *t, const struct train_spec *s) {
    const bool good = trainer_begin(t, &device, s) == 0;
    CHECK(good, "trainer_begin");
    return good;
}

/* ---- random numbers ---- */

/* Random123 1.09, tests/kat_vectors. */
static void test_philox(void) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                  {0xffffffff, 0xffffffff},
                  {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                  {0xa4093822, 0x299f31d0},
                  {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        philox(known[i].counter, known[i].key, out);
        for (int w = 0; w < 4; w++)
            CHECK(out[w] == known[i].out[w], "case %zu word %d: %08x", i, w, out[w]);
    }
    enum { N = 200000 };
    double sum = 0, squares = 0, largest = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double x = philox_normal(3, 5, i, 3);
        sum += x;
        squares += x * x;
        largest = fmax(largest, fabs(x));
    }
    /* variance of a normal cut at 3: 1 - 6 phi(3) / (2 Phi(3) - 1) = 0.97333 */
    CHECK(fabs(sum / N) < 5 / sqrt(N), "mean %g", sum / N);
    CHECK(fabs(squares / N - 0.97333) < 0.02, "variance %g", squares / N);
    CHECK(largest <= 3 && largest > 2.99, "largest %g", largest);
}

/* ---- MISSION's figures ---- */

static int64_t four_kinds(const int64_t kind[MEMORY_KINDS]) {
    return kind[MEMORY_parameters] + kind[MEMORY_gradients] + kind[MEMORY_optimizer] +
           kind[MEMORY_activations];
}

static void test_toy_network(void) {
    const struct train_spec s = spec_of(4, 3, 2, PRECISION_bf16, UPDATE_adagrad);
    const struct model_bytes predicted = model_bytes(&s.model);
    const struct model_flops flops = model_flops(&s.model);
    struct trainer t;
    CHECK(model_parameters(&s.model) == 48, "N = %lld", (long long)model_parameters(&s.model));
    CHECK(four_kinds(predicted.kind) == 432, "%lld bytes", (long long)four_kinds(predicted.kind));
    CHECK(predicted.kind[MEMORY_activations] == 48, "activations");
    CHECK(predicted.kind[MEMORY_optimizer] == 192, "optimizer");
    CHECK(flops.forward + flops.backward == 576, "%g FLOPs", flops.forward + flops.backward);
    CHECK(flops.backward == 2 * flops.forward, "backward %g", flops.backward);
    if (begin(&t, &s)) {
        CHECK(four_kinds(t.ledger.peak) == 432, "%lld measured",
              (long long)four_kinds(t.ledger.peak));
        CHECK(t.ledger.peak[MEMORY_data] == predicted.kind[MEMORY_data], "data");
    }
    trainer_end(&t);
}

static void test_activation_memory(void) {
    const int64_t MiB = 1 << 20;
    for (int micro = 1; micro <= 4; micro += 3) {
        struct train_spec s = spec_of(1024, 16, 64, PRECISION_bf16, UPDATE_sgd);
        struct trainer t;
        s.model.micro_batches = micro;
        if (begin(&t, &s))
            CHECK(t.ledger.peak[MEMORY_activations] == 2 * MiB / micro, "%d: %lld", micro,
                  (long long)t.ledger.peak[MEMORY_activations]);
        trainer_end(&t);
    }
}

/* Whatever is asked for, the formulas say what the ledger finds, but for kernels' scratch. */
static void test_ledger_against_formulas(void) {
    for (int keep = 0; keep < 4; keep++)
        for (int vocab = 0; vocab <= 96; vocab += 96)
            for (int p = 0; p < PRECISIONS; p++)
                for (int micro = 1; micro <= 2; micro++) {
                    struct train_spec s = spec_of(64, 5, 48, (enum precision)p, UPDATE_adamw);
                    struct trainer t;
                    if (p == PRECISION_tf32 && !device.gpu) continue; /* no CPU has it */
                    s.model.vocab = vocab;
                    s.model.objective = vocab ? OBJECTIVE_cross_entropy : OBJECTIVE_mse;
                    s.model.micro_batches = micro;
                    s.model.keep = keep == 0 ? KEEP_all : keep == 3 ? KEEP_input : KEEP_segments;
                    s.model.segment = keep == 1 ? 1 : 3;
                    s.model.master = p == PRECISION_bf16 || p == PRECISION_fp16;
                    const struct model_bytes want = model_bytes(&s.model);
                    if (!begin(&t, &s)) continue;
                    for (int k = 0; k < MEMORY_KINDS; k++) {
                        const int64_t got = t.ledger.peak[k] -
                                            (k == MEMORY_temporaries ? t.model.scratch_bytes : 0);
                        CHECK(got == want.kind[k],
                              "keep %d vocab %d %s micro %d %s: %lld, formula %lld", keep, vocab,
                              precision_names[p], micro, memory_kind_names[k], (long long)got,
                              (long long)want.kind[k]);
                    }
                    trainer_end(&t);
                }
}

static void test_flops_counted(void) {
    static const struct {
        enum keep keep;
        int64_t segment;
        double factor; /* times N rows */
    } cases[] = {
        {KEEP_all, 0, 6}, {KEEP_segments, 1, 8}, {KEEP_segments, 3, 8}, {KEEP_input, 0, 6 + 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_spec s = spec_of(32, 9, 16, PRECISION_fp32, UPDATE_sgd);
        struct trainer t;
        double products[2] = {0, 0}, again = 0;
        s.model.keep = cases[i].keep;
        s.model.segment = cases[i].segment;
        if (!begin(&t, &s)) continue;
        for (int c = 0; c < t.model.calls; c++) {
            const struct call *x = &t.model.call[c];
            if (x->impl->op != OP_matmul) continue;
            products[x->phase == PHASE_backward] += model_call_flops(x);
            if (x->again) again += model_call_flops(x);
        }
        const double n = (double)model_multiplied(&s.model) * (double)s.model.rows;
        CHECK(products[0] == 2 * n, "case %zu: forward %g", i, products[0] / n);
        CHECK(products[1] - again == 4 * n, "case %zu: backward %g", i, (products[1] - again) / n);
        CHECK(products[0] + products[1] == cases[i].factor * n, "case %zu: %g", i,
              (products[0] + products[1]) / n);
        CHECK(again == model_flops(&s.model).recompute, "case %zu: again %g", i, again / n);
        trainer_end(&t);
    }
}

/* ---- gradients ---- */

static int32_t token_of(int64_t i, int64_t vocab) {
    return (int32_t)(philox_bits(9, 9, (uint64_t)i) % (uint64_t)vocab);
}

static void set_tokens(struct trainer *t) {
    const int64_t rows = t->spec.model.rows, vocab = t->spec.model.vocab;
    int32_t *tokens = malloc(2 * (size_t)rows * sizeof *tokens);
    if (!vocab || !tokens) {
        free(tokens);
        return;
    }
    for (int64_t i = 0; i < 2 * rows; i++) tokens[i] = token_of(i, vocab);
    CHECK(trainer_set_tokens(t, tokens, tokens + rows) == 0, "tokens");
    free(tokens);
}

static double *gradient_of(struct trainer *t, int parameter) {
    const struct parameter *p = &t->model.parameter[parameter];
    double *g = malloc((size_t)(p->rows * p->cols) * sizeof *g);
    if (!g || trainer_read(t, parameter, true, g)) abort();
    return g;
}

/* Central differences in fp64, every parameter of a small model. */
static void test_finite_differences(enum objective objective) {
    struct train_spec s = spec_of(6, 3, 10, PRECISION_fp64, UPDATE_sgd);
    struct trainer t;
    double loss;
    s.model.objective = objective;
    s.model.vocab = objective == OBJECTIVE_cross_entropy ? 11 : 0;
    s.model.micro_batches = objective == OBJECTIVE_mean ? 1 : 2;
    s.goal = 0.7;
    if (!begin(&t, &s)) return;
    set_tokens(&t);
    CHECK(trainer_gradients(&t, &loss) == 0, "gradients");
    double *all[8] = {NULL};
    for (int i = 0; i < t.model.parameters; i++) all[i] = gradient_of(&t, i);
    for (int i = 0; i < t.model.parameters && all[i]; i++) {
        const int64_t n = t.model.parameter[i].rows * t.model.parameter[i].cols;
        double *value = malloc((size_t)n * sizeof *value);
        if (!value || trainer_read(&t, i, false, value)) abort();
        for (int64_t j = 0; j < n; j += EMULATED ? 13 : 1) {
            const double h = 1e-6, kept = value[j];
            double up, down;
            value[j] = kept + h;
            trainer_write(&t, i, value);
            trainer_gradients(&t, &up);
            value[j] = kept - h;
            trainer_write(&t, i, value);
            trainer_gradients(&t, &down);
            value[j] = kept;
            const double want = (up - down) / (2 * h);
            CHECK(fabs(all[i][j] - want) < 1e-7 * (1 + fabs(want)),
                  "%s: parameter %d element %lld: %g, want %g", objective_names[objective], i,
                  (long long)j, all[i][j], want);
        }
        trainer_write(&t, i, value);
        free(value);
    }
    for (int i = 0; i < t.model.parameters; i++) free(all[i]);
    trainer_end(&t);
}

/* The token model in plain loops, double, in another order: no kernel, no call list. */
static double reference(struct trainer *t, double **grad) {
    const struct model_config *c = &t->spec.model;
    const int64_t D = c->dim, V = c->vocab, B = c->rows, L = c->layers;
    double **W = calloc((size_t)(L + 2), sizeof *W);
    double *H = calloc((size_t)((L + 1) * D), sizeof *H), *dH = calloc((size_t)D, sizeof *dH);
    double *p = calloc((size_t)V, sizeof *p), *dZ = calloc((size_t)D, sizeof *dZ), loss = 0;
    if (!W || !H || !dH || !p || !dZ) abort();
    for (int i = 0; i < L + 2; i++) {
        const int64_t n = t->model.parameter[i].rows * t->model.parameter[i].cols;
        W[i] = malloc((size_t)n * sizeof **W);
        if (!W[i] || trainer_read(t, i, false, W[i])) abort();
    }
    if (!W[0]) abort();
    for (int64_t b = 0; b < B; b++) {
        const int64_t x = token_of(b, V), y = token_of(B + b, V);
        for (int64_t d = 0; d < D; d++) H[d] = W[0][x * D + d];
        for (int64_t l = 1; l <= L; l++)
            for (int64_t o = 0; o < D; o++) {
                double z = 0;
                for (int64_t i = 0; i < D; i++) z += H[(l - 1) * D + i] * W[l][i * D + o];
                H[l * D + o] = z > 0 ? z : 0;
            }
        double sum = 0, top = -INFINITY;
        for (int64_t v = 0; v < V; v++) {
            p[v] = 0;
            for (int64_t i = 0; i < D; i++) p[v] += H[L * D + i] * W[L + 1][i * V + v];
            top = fmax(top, p[v]);
        }
        for (int64_t v = 0; v < V; v++) sum += exp(p[v] - top);
        loss += (log(sum) + top - p[y]) / (double)B;
        for (int64_t v = 0; v < V; v++) p[v] = (exp(p[v] - top) / sum - (v == y)) / (double)B;
        for (int64_t i = 0; i < D; i++) {
            dH[i] = 0;
            for (int64_t v = 0; v < V; v++) {
                dH[i] += p[v] * W[L + 1][i * V + v];
                grad[L + 1][i * V + v] += H[L * D + i] * p[v];
            }
        }
        for (int64_t l = L; l >= 1; l--) {
            for (int64_t o = 0; o < D; o++) dZ[o] = H[l * D + o] > 0 ? dH[o] : 0;
            for (int64_t i = 0; i < D; i++) {
                dH[i] = 0;
                for (int64_t o = 0; o < D; o++) {
                    dH[i] += dZ[o] * W[l][i * D + o];
                    grad[l][i * D + o] += H[(l - 1) * D + i] * dZ[o];
                }
            }
        }
        for (int64_t d = 0; d < D; d++) grad[0][x * D + d] += dH[d];
    }
    for (int i = 0; i < L + 2; i++) free(W[i]);
    free(W);
    free(H);
    free(dH);
    free(p);
    free(dZ);
    return loss;
}

/* Relative error of each gradient by norms. Where Z is near 0 a rounding decides whether the ReLU lets a gradient through:
 * a share u of the elements, hence an error of about sqrt(u). */
static void test_reference(enum precision p, double tolerance) {
    struct train_spec s = spec_of(64, 3, 96, p, UPDATE_adamw);
    struct trainer t;
    double loss, *want[5];
    s.model.vocab = 80;
    s.model.objective = OBJECTIVE_cross_entropy;
    if (p == PRECISION_fp16) s.scaling = (struct loss_scaling){true, 1024, 2000, 0};
    if (!begin(&t, &s)) return;
    set_tokens(&t);
    model_set_loss_scale(&t.model, s.scaling.scale);
    for (int i = 0; i < (p == PRECISION_fp8 ? 3 : 1); i++)
        CHECK(trainer_gradients(&t, &loss) == 0, "gradients"); /* fp8: until the scales are found */
    for (int i = 0; i < 5; i++) {
        const struct parameter *x = &t.model.parameter[i];
        want[i] = calloc((size_t)(x->rows * x->cols), sizeof **want);
        if (!want[i]) abort();
    }
    const double want_loss = reference(&t, want);
    CHECK(fabs(loss - want_loss) < tolerance * want_loss, "%s: loss %.9g, want %.9g",
          precision_names[p], loss, want_loss);
    for (int i = 0; i < 5; i++) {
        const struct parameter *x = &t.model.parameter[i];
        double *got = gradient_of(&t, i), error = 0, norm = 0;
        for (int64_t j = 0; j < x->rows * x->cols; j++) {
            const double e = got[j] / s.scaling.scale - want[i][j];
            error += e * e;
            norm += want[i][j] * want[i][j];
        }
        CHECK(sqrt(error) < tolerance * sqrt(norm), "%s %s: relative error %g", precision_names[p],
              x->name, sqrt(error / norm));
        free(got);
        free(want[i]);
    }
    trainer_end(&t);
}

/* ---- what must not change gradients ---- */

static double *all_gradients(const struct train_spec *s, int64_t *count, double *loss) {
    struct trainer t;
    double *out = NULL;
    *count = model_parameters(&s->model);
    if (!begin(&t, s)) abort();
    set_tokens(&t);
    if (trainer_gradients(&t, loss) || !(out = malloc((size_t)*count * sizeof *out))) abort();
    int64_t at = 0;
    for (int i = 0; i < t.model.parameters; i++) {
        if (trainer_read(&t, i, true, out + at)) abort();
        at += t.model.parameter[i].rows * t.model.parameter[i].cols;
    }
    trainer_end(&t);
    return out;
}

static void test_equal_gradients(enum precision p, int64_t vocab) {
    struct train_spec plain = spec_of(64, 7, 32, p, UPDATE_sgd), other;
    int64_t n;
    double loss, other_loss;
    plain.model.vocab = vocab;
    if (vocab) plain.model.objective = OBJECTIVE_cross_entropy;
    double *want = all_gradients(&plain, &n, &loss);
    for (int64_t segment = 0; segment <= 7; segment++) { /* 0: from the input */
        other = plain;
        other.model.keep = segment ? KEEP_segments : KEEP_input;
        other.model.segment = segment;
        double *got = all_gradients(&other, &n, &other_loss);
        CHECK(other_loss == loss, "segment %lld: loss %g, want %g", (long long)segment, other_loss,
              loss);
        CHECK(memcmp(got, want, (size_t)n * sizeof *got) == 0, "segment %lld: other bits",
              (long long)segment);
        free(got);
    }
    for (int64_t micro = 2; micro <= 8; micro *= 2) {
        double worst = 0, largest = 0;
        other = plain;
        other.model.micro_batches = micro;
        double *got = all_gradients(&other, &n, &other_loss);
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs(got[i] - want[i]));
            largest = fmax(largest, fabs(want[i]));
        }
        /* each of the micro-batches rounds the sum once to what gradients are stored in */
        const double unit = dtypes[precision_stored(p)].fraction_bits;
        const double bound = (double)micro * ldexp(1, -(int)unit) * largest;
        CHECK(worst <= bound, "%lld micro-batches: off by %g, bound %g", (long long)micro, worst,
              bound);
        CHECK(fabs(other_loss - loss) < 1e-5 * loss, "loss %g, want %g", other_loss, loss);
        free(got);
    }
    free(want);
}

/* With one layer there is one buffer only. */
static void test_one_layer_kept_from_input(void) {
    struct train_spec plain = spec_of(16, 1, 8, PRECISION_fp32, UPDATE_sgd), other = plain;
    int64_t n;
    double loss, other_loss;
    other.model.keep = KEEP_input;
    double *want = all_gradients(&plain, &n, &loss), *got = all_gradients(&other, &n, &other_loss);
    CHECK(loss == other_loss && memcmp(got, want, (size_t)n * sizeof *got) == 0, "other bits");
    free(got);
    free(want);
}

/* ---- training ---- */

static double train(struct trainer *t, int steps) {
    struct step_result r = {.loss = NAN};
    for (int i = 0; i < steps; i++)
        if (trainer_step(t, &r)) abort();
    return r.loss;
}

/* Every optimizer in every precision makes the loss smaller. */
static void test_all_optimizers(void) {
    static const double lr[UPDATES] = {2, 2, 0.01, 0.002, 0.002, 0.002};
    for (int u = 0; u < UPDATES; u++)
        for (int p = 0; p < PRECISIONS; p++)
            for (int master = 0; master < 2; master++) {
                struct train_spec s = spec_of(32, 2, 64, (enum precision)p, (enum update)u);
                struct trainer t;
                struct step_result first;
                s.model.master = master;
                s.hyper.lr = lr[u];
                if ((p == PRECISION_tf32 && !device.gpu) || model_refuses(&s.model)) continue;
                if (p == PRECISION_fp16) s.scaling = (struct loss_scaling){true, 1024, 2000, 0};
                if (!begin(&t, &s) || trainer_step(&t, &first)) continue;
                const double last = train(&t, EMULATED ? 4 : 40);
                CHECK(last < (EMULATED ? 1 : 0.97) * first.loss, "%s %s%s: loss %g -> %g",
                      update_names[u], precision_names[p], master ? " with a master copy" : "",
                      first.loss, last);
                trainer_end(&t);
            }
}

static bool parameters_moved(struct trainer *t, const double *before) {
    const struct parameter *p = &t->model.parameter[0];
    const int64_t n = p->rows * p->cols;
    double *now = malloc((size_t)n * sizeof *now);
    if (!now || trainer_read(t, 0, false, now)) abort();
    const bool moved = memcmp(now, before, (size_t)n * sizeof *now) != 0;
    free(now);
    return moved;
}

/* The gradient of a mean over 2^21 elements is below half of fp16's smallest number: without a scale all of it becomes 0. */
static void test_fp16_underflow(void) {
    struct train_spec s = spec_of(32, 2, 65536, PRECISION_fp16, UPDATE_adam);
    struct trainer t;
    struct step_result first, last = {.loss = NAN};
    double before[32 * 32], square;
    s.model.objective = OBJECTIVE_mean;
    s.model.master = true;
    s.norm = true;
    if (!begin(&t, &s)) return;
    if (trainer_gradients(&t, &square)) abort();
    trainer_end(&t);
    s.goal = 0.9 * sqrt(square);
    for (int scaled = 0; scaled < 2; scaled++) {
        s.scaling = (struct loss_scaling){scaled, 0x1p16, 2000, 0};
        if (!begin(&t, &s)) return;
        if (trainer_read(&t, 0, false, before) || trainer_step(&t, &first)) abort();
        for (int i = 0; i < 8; i++)
            if (trainer_step(&t, &last)) abort();
        if (scaled) {
            CHECK(first.grad_norm > 0 && parameters_moved(&t, before), "gradient %g",
                  first.grad_norm);
            CHECK(last.loss < 0.5 * first.loss, "loss %g -> %g", first.loss, last.loss);
        } else {
            CHECK(first.grad_norm == 0, "gradient %g", first.grad_norm);
            CHECK(!parameters_moved(&t, before) && last.loss == first.loss, "loss %g -> %g",
                  first.loss, last.loss);
        }
        trainer_end(&t);
    }
}

/* A scale at which gradients overflow: the step changes nothing, the scale goes down until they fit. */
static void test_skipped_steps(void) {
    struct train_spec s = spec_of(32, 2, 32, PRECISION_fp16, UPDATE_adamw);
    struct trainer t;
    struct step_result r;
    double before[32 * 32];
    int skipped = 0;
    s.scaling = (struct loss_scaling){true, 0x1p24, 3, 0};
    if (!begin(&t, &s)) return;
    if (trainer_read(&t, 0, false, before) || trainer_step(&t, &r)) abort();
    CHECK(r.skipped && !isfinite(r.grad_norm), "gradient %g", r.grad_norm);
    CHECK(!parameters_moved(&t, before), "a skipped step moved parameters");
    CHECK(t.updates == 0 && t.step == 1, "%lld updates", (long long)t.updates);
    CHECK(t.spec.scaling.scale == 0x1p23, "scale %g", t.spec.scaling.scale);
    for (int i = 0; i < 20 && r.skipped; i++, skipped++)
        if (trainer_step(&t, &r)) abort();
    CHECK(!r.skipped && parameters_moved(&t, before), "%d steps skipped", skipped);
    const double scale = t.spec.scaling.scale;
    train(&t, 2);
    CHECK(t.spec.scaling.scale == 2 * scale, "scale %g after 3 good steps", t.spec.scaling.scale);
    trainer_end(&t);
}

static void test_clipping(void) {
    struct train_spec s = spec_of(16, 2, 8, PRECISION_fp32, UPDATE_sgd);
    struct trainer t;
    struct step_result r;
    double before[256], after[256], moved = 0;
    s.hyper.clip = 1e-3;
    s.hyper.lr = 1;
    s.model.layers = 1;
    if (!begin(&t, &s)) return;
    if (trainer_read(&t, 0, false, before) || trainer_step(&t, &r) ||
        trainer_read(&t, 0, false, after))
        abort();
    for (int i = 0; i < 256; i++) moved += (after[i] - before[i]) * (after[i] - before[i]);
    CHECK(r.grad_norm > 2e-3, "norm %g", r.grad_norm);
    CHECK(fabs(sqrt(moved) - 1e-3) < 1e-6, "moved by %g", sqrt(moved));
    trainer_end(&t);
}

/* A scale that was asked for stays, whether steps are skipped or not. */
static void test_kept_scale(void) {
    struct train_spec s = spec_of(32, 2, 32, PRECISION_fp16, UPDATE_adamw);
    for (int large = 0; large < 2; large++) {
        struct trainer t;
        struct step_result r = {.loss = NAN};
        const double scale = large ? 0x1p24 : 0x1p10;
        s.scaling = (struct loss_scaling){true, scale, 0, 0};
        if (!begin(&t, &s)) return;
        for (int i = 0; i < 3; i++) {
            if (trainer_step(&t, &r)) abort();
            CHECK(r.skipped == (large == 1), "scale %g: skipped %d", scale, r.skipped);
        }
        CHECK(t.spec.scaling.scale == scale, "scale %g became %g", scale, t.spec.scaling.scale);
        trainer_end(&t);
    }
}

/* Gradients that fp8 rounds to zeros without a scale: the first step has those of every layer, under a loss scale too. */
static void test_fp8_first_step(void) {
    struct train_spec s = spec_of(32, EMULATED ? 4 : 9, 256, PRECISION_bf16, UPDATE_sgd);
    struct trainer t;
    struct step_result want, got;
    s.norm = true;
    if (!begin(&t, &s) || trainer_step(&t, &want)) abort();
    trainer_end(&t);
    s.model.precision = PRECISION_fp8;
    for (int scaled = 0; scaled < 2; scaled++) {
        if (scaled) s.scaling = (struct loss_scaling){true, 0x1p16, 2000, 0};
        if (!begin(&t, &s) || trainer_step(&t, &got)) abort();
        CHECK(fabs(got.grad_norm - want.grad_norm) < 0.25 * want.grad_norm,
              "scaled %d: gradient %g, of bf16 %g", scaled, got.grad_norm, want.grad_norm);
        for (int i = 0; i < t.model.parameters; i++) {
            double *g = gradient_of(&t, i), largest = 0;
            for (int j = 0; j < 32 * 32; j++) largest = fmax(largest, fabs(g[j]));
            CHECK(largest > 0, "scaled %d: layer %d has no gradient", scaled, i + 1);
            free(g);
        }
        trainer_end(&t);
    }
}

/* A step without gradients in between: what is resumed has the scales of before, as what was not stopped. */
static void test_fp8_scales_kept(void) {
    struct train_spec s = spec_of(32, 2, 16, PRECISION_fp8, UPDATE_adamw);
    struct trainer whole, rest;
    const char *file = "unit_train.safetensors";
    double zeros[32 * 32] = {0}, values[32 * 32];
    if (!begin(&whole, &s)) return;
    train(&whole, 2);
    if (trainer_read(&whole, 1, false, values) || trainer_write(&whole, 1, zeros)) abort();
    train(&whole, 1);
    trainer_write(&whole, 1, values);
    CHECK(checkpoint_save(&whole, file, 0) == 0, "save");
    if (!begin(&rest, &s)) return;
    CHECK(checkpoint_load(&rest, file, 0) == 0, "load");
    for (int i = 0; i < whole.model.scales; i++)
        CHECK(rest.model.scaled[i].scale == whole.model.scaled[i].scale, "scale %d: %g, want %g", i,
              rest.model.scaled[i].scale, whole.model.scaled[i].scale);
    trainer_end(&rest);
    trainer_end(&whole);
    unlink(file);
}

/* ---- checkpoints ---- */

static void test_checkpoint(enum precision p) {
    struct train_spec s = spec_of(32, 3, 16, p, UPDATE_adamw);
    struct trainer whole, part, rest;
    const char *file = "unit_train.safetensors";
    s.model.master = p == PRECISION_bf16;
    if (p == PRECISION_fp16) s.scaling = (struct loss_scaling){true, 0x1p20, 3, 0};
    if (!begin(&whole, &s)) return;
    const double want = train(&whole, 9);
    if (!begin(&part, &s)) return;
    train(&part, 5);
    CHECK(checkpoint_save(&part, file, 7) == 0, "save");
    trainer_end(&part);
    if (!begin(&rest, &s)) return;
    CHECK(checkpoint_load(&rest, file, 8) != 0, "other data were accepted");
    CHECK(checkpoint_load(&rest, file, 7) == 0, "load");
    CHECK(rest.step == 5, "step %lld", (long long)rest.step);
    const double got = train(&rest, 4);
    CHECK(got == want, "%s: %.17g after resuming, %.17g without", precision_names[p], got, want);
    trainer_end(&rest);

    /* of another optimizer; cut short; with a bit turned over */
    struct train_spec foreign = s;
    foreign.model.update = UPDATE_adam;
    if (begin(&rest, &foreign)) CHECK(checkpoint_load(&rest, file, 7) != 0, "foreign");
    trainer_end(&rest);
    if (begin(&rest, &s)) {
        FILE *f = fopen(file, "r+b");
        if (!f || fseek(f, -100, SEEK_END)) abort();
        const int c = fgetc(f);
        if (fseek(f, -100, SEEK_END)) abort();
        fputc(c ^ 1, f);
        fclose(f);
        CHECK(checkpoint_load(&rest, file, 7) != 0, "damaged");
        CHECK(rest.step == 0, "a refused checkpoint moved the step");
        if (truncate(file, 3000)) abort();
        CHECK(checkpoint_load(&rest, file, 7) != 0, "torn");
    }
    trainer_end(&rest);
    trainer_end(&whole);
    unlink(file);
}

/* ---- data ---- */

static void test_batches(void) {
    const char *text = "unit_train.txt", *file = "unit_train.bin";
    enum { LENGTH = 8, SEQUENCES = 5, ROWS = LENGTH * SEQUENCES };
    int32_t buffer[2][2 * ROWS], again[2 * ROWS];
    int32_t *const buffers[2] = {buffer[0], buffer[1]};
    struct token_file f;
    FILE *out = fopen(text, "w");
    if (!out) abort();
    for (int i = 0; i < 1000; i++) fputc('a' + i % 26, out);
    fclose(out);
    CHECK(tokens_from_text(&text, 1, file) == 0, "tokens");
    CHECK(token_file_open(&f, file) == 0 && f.count == 1000 && f.largest == 'z', "open");
    struct batch_ahead *b = batch_ahead_begin(&f, 4, 10, SEQUENCES, LENGTH, buffers);
    bool different = false;
    int32_t last = -1;
    for (int64_t step = 10; step < 40 && b; step++) {
        const int32_t *batch = batch_ahead_next(b);
        token_batch(&f, 4, step, SEQUENCES, LENGTH, again, again + ROWS);
        CHECK(memcmp(batch, again, sizeof again) == 0, "step %lld: other batch", (long long)step);
        for (int i = 0; i < ROWS; i++) {
            const int32_t next = batch[i] == 'z' ? 'a' : batch[i] + 1;
            CHECK(batch[ROWS + i] == next, "label %d of token %d", batch[ROWS + i], batch[i]);
        }
        different = different || (last >= 0 && batch[0] != last);
        last = batch[0];
    }
    CHECK(b && different, "starts are random");
    batch_ahead_end(b);
    token_file_close(&f);
    unlink(text);
    unlink(file);
}

int main(void) {
#ifdef EMULATED_DEVICE
    if (device_pick(EMULATED_DEVICE, &device)) return 1;
#else
    device_cpu_init(&device);
#endif
    if (device.open(&device)) return 1;
    test_philox();
    test_toy_network();
    test_activation_memory();
    test_ledger_against_formulas();
    test_flops_counted();
    for (int o = 0; o < OBJECTIVES; o++) test_finite_differences((enum objective)o);
    test_reference(PRECISION_fp64, 1e-12);
    test_reference(PRECISION_fp32, 1e-5);
    test_reference(PRECISION_fp16, 0.03);
    test_reference(PRECISION_bf16, 0.1);
    test_reference(PRECISION_fp8, 0.5);
    if (device.gpu) test_reference(PRECISION_tf32, 0.03);
    test_equal_gradients(PRECISION_fp32, 0);
    test_equal_gradients(PRECISION_bf16, 80);
    test_one_layer_kept_from_input();
    test_all_optimizers();
    if (!EMULATED) test_fp16_underflow(); /* 2^21 elements */
    test_skipped_steps();
    test_kept_scale();
    test_fp8_first_step();
    test_fp8_scales_kept();
    test_clipping();
    test_checkpoint(PRECISION_fp32);
    test_checkpoint(PRECISION_bf16);
    test_checkpoint(PRECISION_fp16);
    test_checkpoint(PRECISION_fp8);
    test_batches();
    device.close(&device);
    return test_result();
}
