/* trainer.c - runs a model's calls in order, between marks on the device, and decides what depends on their results. */
#include "trainer.h"

#include "../execute.h"

#include "../../kernels/cpu/parallel.h"
#include "../../kernels/model/philox.h"
#include "../../kernels/numerics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_X = 1 << 20, STREAM_TARGET }; /* parameters' streams count from 0 */
static const double cut = 3; /* standard deviations that initial values stay within */

struct hyperparameters hyperparameters_for(enum update u) {
    struct hyperparameters h = {1e-3, 0.9, 0.999, 1e-8, 0, 0};
    if (u == UPDATE_adagrad || u == UPDATE_rmsprop) h.lr = 1e-2;
    if (u == UPDATE_adagrad) h.eps = 1e-5;
    if (u == UPDATE_rmsprop) h.beta2 = 0.99;
    if (u == UPDATE_adamw) h.decay = 0.01;
    return h;
}

static int complain(const char *what, const struct device *d, int error) {
    const char *text = error > 0 && d->error_text ? d->error_text(error) : "";
    fprintf(stderr, "roofline: train: %s: error %d %s\n", what, error, text);
    return -1;
}

/* ---- host values to and from the device ---- */

static double load(enum dtype t, const void *p, int64_t i) {
    switch (t) {
    case DT_fp64:
        return ((const double *)p)[i];
    case DT_fp16:
        return (double)fp16_to_float(((const uint16_t *)p)[i]);
    case DT_bf16:
        return (double)bf16_to_float(((const uint16_t *)p)[i]);
    default:
        return (double)((const float *)p)[i];
    }
}

static void store(enum dtype t, void *p, int64_t i, double x) {
    switch (t) {
    case DT_fp64:
        ((double *)p)[i] = x;
        break;
    case DT_fp16:
        ((uint16_t *)p)[i] = fp16_of_float((float)x);
        break;
    case DT_bf16:
        ((uint16_t *)p)[i] = bf16_of_float((float)x);
        break;
    default:
        ((float *)p)[i] = (float)x;
    }
}

static size_t bytes_of(enum dtype t, int64_t n) { return storage_bytes(t, n); }

static void *staging(struct trainer *t, size_t bytes) {
    if (bytes > t->staging_bytes) {
        free(t->staging);
        t->staging = malloc(bytes);
        t->staging_bytes = t->staging ? bytes : 0;
        if (!t->staging) perror("roofline: train");
    }
    return t->staging;
}

static int put_one(struct trainer *t, void *to, double x) {
    double word = 0;
    store(t->model.acc, &word, 0, x);
    return t->device->upload(t->device, to, &word, bytes_of(t->model.acc, 1));
}

static int get_one(struct trainer *t, const void *from, double *x) {
    double word = 0;
    const int error = t->device->download(t->device, &word, from, bytes_of(t->model.acc, 1));
    *x = load(t->model.acc, &word, 0);
    return error;
}

static char *element(const struct model *m, const struct parameter *p, void *base, enum dtype t) {
    (void)m;
    return (char *)base + bytes_of(t, p->first);
}

/* ---- initial values ---- */

struct drawing {
    uint64_t seed, stream;
    double deviation, limit;
};

static void draw(const struct drawing *w, enum dtype t, void *to, int64_t first, int64_t n,
                 int threads) {
#pragma omp parallel num_threads(threads)
    {
        const struct range r = my_slice(n, 64);
        for (int64_t i = r.begin; i < r.end; i++)
            store(t, to, i,
                  w->deviation *
                      philox_normal(w->seed, w->stream, (uint64_t)(first + i), w->limit));
    }
}

static int host_threads(const struct trainer *t) {
    return t->device->host_threads ? t->device->host_threads : t->spec.threads;
}

/* n numbers of the stream from `start` on, in pieces, so that the staging stays small. */
static int draw_tensor(struct trainer *t, const struct drawing *w, enum dtype dtype, void *to,
                       int64_t start, int64_t n) {
    enum { PIECE = 1 << 22 };
    for (int64_t first = 0; first < n; first += PIECE) {
        const int64_t count = n - first < PIECE ? n - first : PIECE;
        void *host = staging(t, bytes_of(dtype, count));
        if (!host) return -1;
        draw(w, dtype, host, start + first, count, host_threads(t));
        const int error = t->device->upload(t->device, (char *)to + bytes_of(dtype, first), host,
                                            bytes_of(dtype, count));
        if (error) return complain("initial values", t->device, error);
    }
    return 0;
}

static int draw_parameters(struct trainer *t) {
    struct model *m = &t->model;
    for (int i = 0; i < m->parameters; i++) {
        const struct parameter *p = &m->parameter[i];
        const struct group *g = &m->group[p->group];
        const struct drawing w = {t->spec.seed, (uint64_t)i, p->deviation,
                                  t->spec.plain_normal ? 0 : cut};
        const int64_t n = p->rows * p->cols;
        if (draw_tensor(t, &w, m->stored, element(m, p, g->param, m->stored), 0, n)) return -1;
        if (g->master && draw_tensor(t, &w, m->acc, element(m, p, g->master, m->acc), 0, n))
            return -1;
    }
    return 0;
}

static int draw_data(struct trainer *t) {
    struct model *m = &t->model;
    const int64_t k = m->config.micro_batches, n = m->config.rows / k * m->config.dim;
    const int error = m->goal ? put_one(t, m->goal, t->spec.goal) : 0;
    if (error) return complain("the target", t->device, error);
    for (int64_t i = 0; i < k && !m->config.vocab; i++) {
        /* as if it were one tensor: the same numbers however it is divided */
        for (int what = 0; what < 2; what++) {
            void *to = what ? m->target[i] : m->input[i];
            const struct drawing w = {t->spec.seed, what ? STREAM_TARGET : STREAM_X, 1, 0};
            if (to && draw_tensor(t, &w, m->stored, to, i * n, n)) return -1;
        }
    }
    return 0;
}

/* ---- making ---- */

static void *allocate(void *context, enum memory_kind kind, const char *name, size_t bytes) {
    struct trainer *t = context;
    return ledger_take(&t->ledger, kind, name, bytes);
}

static const struct impl *pick(void *context, enum op_id op, enum dtype dtype,
                               const struct args *problem) {
    struct trainer *t = context;
    return best_impl(t->device, op, dtype, problem);
}

int trainer_begin(struct trainer *t, struct device *d, const struct train_spec *spec) {
    char why[200];
    *t = (struct trainer){.device = d, .spec = *spec};
    ledger_begin(&t->ledger, d);
    if (d->set_threads(d, spec->threads)) return -1;
    const struct model_host host = {.context = t,
                                    .gpu = d->gpu,
                                    .stream = d->stream,
                                    .threads = spec->threads,
                                    .alloc = allocate,
                                    .pick = pick};
    if (model_make(&t->model, &spec->model, &host, why, sizeof why)) {
        fprintf(stderr, "roofline: train: %s\n", why);
        return -1;
    }
    if (t->model.scales) {
        t->amax = calloc((size_t)t->model.scales, sizeof *t->amax);
        if (!t->amax) return -1;
    }
    return draw_parameters(t) || draw_data(t) ? -1 : 0;
}

void trainer_end(struct trainer *t) {
    if (t->device) ledger_end(&t->ledger);
    model_free(&t->model);
    free(t->amax);
    free(t->staging);
    *t = (struct trainer){.device = NULL};
}

int trainer_set_tokens(struct trainer *t, const int32_t *tokens, const int32_t *labels) {
    struct model *m = &t->model;
    const int64_t k = m->config.micro_batches, rows = m->config.rows / k;
    const size_t bytes = (size_t)rows * sizeof *tokens;
    for (int64_t i = 0; i < k; i++) {
        int error = t->device->upload_later(t->device, m->input[i], tokens + i * rows, bytes);
        if (!error)
            error = t->device->upload_later(t->device, m->target[i], labels + i * rows, bytes);
        if (error) return complain("tokens", t->device, error);
    }
    return 0;
}

/* ---- a step ---- */

/* The optimizer's scalars for the update to come. */
static int put_hyper(struct trainer *t, double grad_scale) {
    const struct hyperparameters *h = &t->spec.hyper;
    const double next = (double)(t->updates + 1);
    double value[HYPER_COUNT] = {0}, word[HYPER_COUNT];
    value[HYPER_LR] = h->lr;
    value[HYPER_BETA1] = h->beta1;
    value[HYPER_BETA2] = h->beta2;
    value[HYPER_EPS] = h->eps;
    value[HYPER_DECAY] = h->decay;
    value[HYPER_CORRECT1] = 1 / (1 - pow(h->beta1, next));
    value[HYPER_CORRECT2] = 1 / (1 - pow(h->beta2, next));
    value[HYPER_GRAD_SCALE] = grad_scale;
    for (int i = 0; i < HYPER_COUNT; i++) store(t->model.acc, word, i, value[i]);
    return t->device->upload(t->device, t->model.hyper, word, bytes_of(t->model.acc, HYPER_COUNT));
}

/* The gradients' norm as it would be without loss scaling; infinite when one of them is infinite or no number. */
static int read_norm(struct trainer *t, double *norm) {
    double sum = 0;
    for (int g = 0; g < t->model.groups; g++) {
        double x;
        const int error = get_one(t, t->model.group[g].norm, &x);
        if (error) return error;
        sum += x;
    }
    *norm = isfinite(sum) ? sqrt(sum) / t->model.loss_scale : INFINITY;
    return 0;
}

/* By what the update multiplies gradients; 0 skips it. */
static double grad_scale(struct trainer *t, double norm) {
    const double clip = t->spec.hyper.clip;
    const double scale = 1 / t->model.loss_scale;
    if (isnan(norm)) return scale; /* not looked at */
    /* only looked at: it changes nothing */
    if (!isfinite(norm)) return t->spec.scaling.on || clip > 0 ? 0 : scale;
    return clip > 0 && norm > clip ? scale * clip / norm : scale;
}

static void adjust_loss_scale(struct trainer *t, bool skipped) {
    struct loss_scaling *s = &t->spec.scaling;
    const double least = 0x1p-24, most = 0x1p24;
    if (!s->on || s->patience == 0) return;
    if (skipped) {
        s->scale = fmax(s->scale / 2, least);
        s->good_steps = 0;
    } else if (++s->good_steps >= s->patience) {
        s->scale = fmin(s->scale * 2, most);
        s->good_steps = 0;
    }
}

static int read_loss(struct trainer *t, double *loss) {
    const struct model *m = &t->model;
    double sum = 0;
    for (int64_t i = 0; i < m->config.micro_batches; i++) {
        double x;
        const int error = get_one(t, m->loss[i], &x);
        if (error) return complain("the loss", t->device, error);
        sum += x;
    }
    *loss = sum / (double)m->config.micro_batches;
    if (m->config.objective == OBJECTIVE_mean)
        *loss = (*loss - t->spec.goal) * (*loss - t->spec.goal);
    return 0;
}

/* What gives no scale, a zero or an overflow, leaves the last one that did: a resumed run finds it too. */
static int read_scales(struct trainer *t, bool *changed) {
    for (int i = 0; i < t->model.scales; i++) {
        double x;
        const int error = get_one(t, t->model.scaled[i].amax, &x);
        if (error) return complain("the largest elements", t->device, error);
        if (isfinite(x) && x > 0) t->amax[i] = x;
    }
    *changed = t->model.scales && model_set_scales(&t->model, t->amax);
    return 0;
}

/* Launches calls from `first` on until the phase after `last`; marks each change between forward and backward. */
static int launch(struct trainer *t, int *call, enum phase last, int *slot, enum phase *phase_of) {
    struct model *m = &t->model;
    int current = -1;
    for (; *call < m->calls && m->call[*call].phase <= last; ++*call) {
        const struct call *c = &m->call[*call];
        if ((int)c->phase != current) {
            if (t->device->mark(t->device, *slot)) return complain("timing", t->device, -1);
            phase_of[(*slot)++] = c->phase;
            current = (int)c->phase;
        }
        const int error = c->impl->run(&c->a);
        if (error) return complain(ops[c->impl->op].name, t->device, error);
    }
    return 0;
}

static int slots_needed(const struct trainer *t) {
    return 2 * (int)t->spec.model.micro_batches + 4;
}

static int sum_phases(struct trainer *t, const enum phase *phase_of, int slots,
                      struct step_result *r) {
    for (int i = 0; i < slots; i++) {
        double seconds;
        const int error = t->device->between(t->device, i, i + 1, &seconds);
        if (error) return complain("the step", t->device, error);
        r->seconds[phase_of[i]] += seconds;
        r->step_s += seconds;
    }
    return 0;
}

static int gradients(struct trainer *t, double *loss, bool *changed) {
    enum phase *phase_of = malloc((size_t)slots_needed(t) * sizeof *phase_of);
    int slot = 0, call = 0;
    if (!phase_of) return -1;
    const int bad = launch(t, &call, PHASE_backward, &slot, phase_of);
    free(phase_of);
    return bad || read_loss(t, loss) || read_scales(t, changed) ? -1 : 0;
}

/* Before the first step of fp8. A gradient is seen once those of the layers above are no longer rounded to zeros, so each
 * pass may find one layer more. */
static int find_scales(struct trainer *t) {
    const int64_t most = t->spec.model.layers + 2;
    bool changed = t->model.scales > 0;
    double loss;
    for (int64_t pass = 0; pass < most && changed; pass++)
        if (gradients(t, &loss, &changed)) return -1;
    return 0;
}

int trainer_step(struct trainer *t, struct step_result *r) {
    struct model *m = &t->model;
    const bool look = t->spec.scaling.on || t->spec.hyper.clip > 0 || t->spec.norm;
    enum phase *phase_of = malloc((size_t)slots_needed(t) * sizeof *phase_of);
    int slot = 0, call = 0, status = -1;
    bool changed;
    *r = (struct step_result){.grad_norm = NAN};
    if (!phase_of) return -1;
    model_set_loss_scale(m, t->spec.scaling.on ? t->spec.scaling.scale : 1);
    if (t->step == 0 && find_scales(t)) goto done;
    if (!look && put_hyper(t, grad_scale(t, NAN))) goto done;
    if (launch(t, &call, PHASE_backward, &slot, phase_of)) goto done;
    if (look) {
        if (launch(t, &call, PHASE_norm, &slot, phase_of)) goto done;
        const int error = read_norm(t, &r->grad_norm);
        if (error) {
            complain("the gradients' norm", t->device, error);
            goto done;
        }
        const double scale = grad_scale(t, r->grad_norm);
        r->skipped = scale == 0;
        if (put_hyper(t, scale)) goto done;
    }
    while (call < m->calls && m->call[call].phase == PHASE_norm) call++;
    if (launch(t, &call, PHASE_update, &slot, phase_of)) goto done;
    if (t->device->mark(t->device, slot) || sum_phases(t, phase_of, slot, r)) goto done;
    if (read_loss(t, &r->loss) || read_scales(t, &changed)) goto done;
    adjust_loss_scale(t, r->skipped);
    t->step++;
    t->updates += !r->skipped;
    status = 0;
done:
    free(phase_of);
    return status;
}

int trainer_gradients(struct trainer *t, double *loss) {
    bool changed;
    return gradients(t, loss, &changed);
}

/* ---- looking in ---- */

int trainer_read(struct trainer *t, int parameter, bool gradient, double *out) {
    const struct model *m = &t->model;
    const struct parameter *p = &m->parameter[parameter];
    const struct group *g = &m->group[p->group];
    const int64_t n = p->rows * p->cols;
    void *host = staging(t, bytes_of(m->stored, n));
    if (!host) return -1;
    const int error = t->device->download(t->device, host,
                                          element(m, p, gradient ? g->grad : g->param, m->stored),
                                          bytes_of(m->stored, n));
    if (error) return complain("a parameter", t->device, error);
    for (int64_t i = 0; i < n; i++) out[i] = load(m->stored, host, i);
    return 0;
}

static int write_as(struct trainer *t, enum dtype dtype, void *to, const double *in, int64_t n) {
    void *host = staging(t, bytes_of(dtype, n));
    if (!host) return -1;
    for (int64_t i = 0; i < n; i++) store(dtype, host, i, in[i]);
    return t->device->upload(t->device, to, host, bytes_of(dtype, n));
}

int trainer_write(struct trainer *t, int parameter, const double *in) {
    const struct model *m = &t->model;
    const struct parameter *p = &m->parameter[parameter];
    const struct group *g = &m->group[p->group];
    const int64_t n = p->rows * p->cols;
    if (write_as(t, m->stored, element(m, p, g->param, m->stored), in, n)) return -1;
    return g->master ? write_as(t, m->acc, element(m, p, g->master, m->acc), in, n) : 0;
}

void train_name(const struct train_spec *spec, char *text, size_t size) {
    const struct model_config *c = &spec->model;
    int n = snprintf(text, size, c->vocab ? "tokens-v%lld-" : "deepnet-", (long long)c->vocab);
    n += snprintf(text + n, size - (size_t)n, "%lldx%lld-b%lld-%s-%s", (long long)c->dim,
                  (long long)c->layers, (long long)c->rows, precision_names[c->precision],
                  update_names[c->update]);
    if (c->master) n += snprintf(text + n, size - (size_t)n, "-master");
    if (c->micro_batches > 1)
        n += snprintf(text + n, size - (size_t)n, "-micro%lld", (long long)c->micro_batches);
    if (c->keep == KEEP_segments)
        n += snprintf(text + n, size - (size_t)n, "-keep%lld", (long long)c->segment);
    if (c->keep == KEEP_input) n += snprintf(text + n, size - (size_t)n, "-keepinput");
    if (c->objective == OBJECTIVE_mean) snprintf(text + n, size - (size_t)n, "-mean");
}
