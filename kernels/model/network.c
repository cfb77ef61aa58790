/* network.c - lays out a model's buffers and writes down the calls of a step.
 *
 * Forward, a layer: Z = H W (nn), H' = max(Z, 0). Backward: dZ = dH' where H' > 0, dW = H^T dZ (tn), dH = dZ W^T (nt).
 * The gradient of the input is computed too, as in a network that has something in front: so backward is twice forward.
 * Micro-batches after the first add to the gradients (beta = 1). */
#include "model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct builder {
    struct model *m;
    const struct model_host *host;
    char *why;
    size_t size;
    bool failed;
    int call_room, use_room;
    struct scratch {
        const struct impl *impl;
        size_t bytes;
        void *memory;
    } * scratch;
    int scratches;
    /* where the next calls belong */
    enum phase phase;
    int micro, layer;
    bool again;
    /* buffers of a micro-batch */
    int64_t rows;
    void **kept; /* [layers + 1]: H_0 ... H_L, where they are when the backward pass needs them */
    void **segment;  /* outputs of the segment at work */
    void *down, *up; /* rows x dim: from above, and Z or dZ */
    void *logits, *logits_down, *row_loss;
    void *x8, *w8, *g8; /* fp8 operands of the products at work */
};

static void fail(struct builder *b, const char *format, ...) {
    va_list list;
    if (b->failed) return;
    va_start(list, format);
    vsnprintf(b->why, b->size, format, list);
    va_end(list);
    b->failed = true;
}

static void *grown(struct builder *b, void *array, int count, int *room, size_t element) {
    if (count < *room) return array;
    *room = *room ? 2 * *room : 64;
    void *larger = realloc(array, (size_t)*room * element);
    if (!larger) {
        fail(b, "out of memory");
        free(array);
    }
    return larger;
}

/* ---- buffers ---- */

static void *take(struct builder *b, enum memory_kind kind, const char *name, enum dtype t,
                  int64_t elements) {
    void *p = NULL;
    const size_t bytes = storage_bytes(t, elements);
    if (b->failed) return NULL;
    if (bytes) p = b->host->alloc(b->host->context, kind, name, bytes);
    if (!p) fail(b, "%s (%s): %zu bytes do not fit", name, memory_kind_names[kind], bytes);
    return p;
}

static void *take_indices(struct builder *b, const char *name, int64_t count) {
    return take(b, MEMORY_data, name, DT_fp32, count); /* int32 is as wide */
}

/* One a kernel and size: a kernel finds its scratch as it left it. */
static void *scratch_for(struct builder *b, const struct impl *impl, size_t bytes) {
    for (int i = 0; i < b->scratches; i++)
        if (b->scratch[i].impl == impl && b->scratch[i].bytes == bytes) return b->scratch[i].memory;
    struct scratch *more = realloc(b->scratch, (size_t)(b->scratches + 1) * sizeof *more);
    if (!more) {
        fail(b, "out of memory");
        return NULL;
    }
    b->scratch = more;
    void *p = b->host->alloc(b->host->context, MEMORY_temporaries, "scratch", bytes);
    if (!p) fail(b, "scratch of %s: %zu bytes do not fit", impl->name, bytes);
    more[b->scratches++] = (struct scratch){impl, bytes, p};
    b->m->scratch_bytes += (int64_t)bytes;
    return p;
}

static void add_parameter(struct builder *b, int64_t rows, int64_t cols, double deviation,
                          const char *format, int number) {
    struct parameter *p = &b->m->parameter[b->m->parameters++];
    *p = (struct parameter){.rows = rows, .cols = cols, .deviation = deviation};
    snprintf(p->name, sizeof p->name, format, number);
}

/* Small matrices whose ends are not aligned get a group each. */
static void lay_out_groups(struct builder *b) {
    struct model *m = b->m;
    const bool together = model_in_one_group(&m->config);
    m->groups = together ? 1 : m->parameters;
    m->group = calloc((size_t)m->groups, sizeof *m->group);
    if (!m->group) {
        fail(b, "out of memory");
        return;
    }
    for (int i = 0; i < m->parameters; i++) {
        struct parameter *p = &m->parameter[i];
        p->group = together ? 0 : i;
        p->first = m->group[p->group].count;
        m->group[p->group].count += p->rows * p->cols;
    }
    for (int g = 0; g < m->groups; g++) {
        struct group *x = &m->group[g];
        x->param = take(b, MEMORY_parameters, "parameters", m->stored, x->count);
        x->grad = take(b, MEMORY_gradients, "gradients", m->stored, x->count);
        if (m->config.master)
            x->master = take(b, MEMORY_optimizer, "master copy", m->acc, x->count);
        for (int s = 0; s < update_states(m->config.update); s++)
            x->state[s] = take(b, MEMORY_optimizer, "optimizer state", m->acc, x->count);
        x->norm = take(b, MEMORY_temporaries, "sum of squares", m->acc, 1);
    }
}

static void lay_out_parameters(struct builder *b) {
    struct model *m = b->m;
    const struct model_config *c = &m->config;
    const double deviation = 1 / sqrt((double)c->dim);
    m->parameter = calloc((size_t)c->layers + 2, sizeof *m->parameter);
    if (!m->parameter) {
        fail(b, "out of memory");
        return;
    }
    if (c->vocab) add_parameter(b, c->vocab, c->dim, 1, "embedding", 0);
    for (int64_t l = 1; l <= c->layers; l++)
        add_parameter(b, c->dim, c->dim, deviation, "layer.%d", (int)l);
    if (c->vocab) add_parameter(b, c->dim, c->vocab, deviation, "unembedding", 0);
    lay_out_groups(b);
}

static void *part(const struct model *m, int parameter, bool gradient) {
    const struct parameter *p = &m->parameter[parameter];
    const struct group *g = &m->group[p->group];
    char *base = gradient ? g->grad : g->param;
    return base + (size_t)p->first * (size_t)dtypes[m->stored].bits / 8;
}

/* Layer 1 ... L; 0 is the embedding, L + 1 the unembedding. */
static int parameter_of(const struct model *m, int64_t layer) {
    return (int)(m->config.vocab ? layer : layer - 1);
}

static void lay_out_activations(struct builder *b) {
    const struct model *m = b->m;
    const struct model_config *c = &m->config;
    const int64_t layers = c->layers, wide = b->rows * c->dim;
    const enum memory_kind kind = MEMORY_activations;
    b->kept = calloc((size_t)layers + 1, sizeof *b->kept);
    b->segment = calloc((size_t)layers + 1, sizeof *b->segment);
    if (!b->kept || !b->segment) {
        fail(b, "out of memory");
        return;
    }
    if (c->vocab) b->kept[0] = take(b, kind, "H_0", m->stored, wide);
    if (c->keep == KEEP_all)
        for (int64_t l = 1; l <= layers; l++) b->kept[l] = take(b, kind, "H", m->stored, wide);
    if (c->keep == KEEP_segments) {
        for (int64_t l = c->segment; l < layers; l += c->segment)
            b->kept[l] = take(b, kind, "H", m->stored, wide);
        for (int64_t i = 0; i < c->segment; i++)
            b->segment[i] = take(b, kind, "H of a segment", m->stored, wide);
    }
    if (c->keep == KEEP_input)
        for (int64_t l = 1; l <= 2 && l <= layers; l++)
            b->segment[l % 2] = take(b, kind, "H", m->stored, wide);
    b->up = take(b, MEMORY_temporaries, "Z", m->stored, wide);
    b->down = take(b, MEMORY_temporaries, "dH", m->stored, wide);
    if (c->vocab) {
        b->logits = take(b, kind, "logits", m->stored, b->rows * c->vocab);
        b->logits_down = take(b, MEMORY_temporaries, "dlogits", m->stored, b->rows * c->vocab);
        b->row_loss = take(b, MEMORY_temporaries, "losses", m->acc, b->rows);
    }
    if (c->precision == PRECISION_fp8) {
        const int64_t widest = c->vocab > c->dim ? c->vocab : c->dim;
        b->x8 = take(b, MEMORY_temporaries, "fp8 activations", m->product, b->rows * c->dim);
        b->w8 = take(b, MEMORY_temporaries, "fp8 weights", m->product, c->dim * widest);
        b->g8 = take(b, MEMORY_temporaries, "fp8 gradients", m->product, b->rows * widest);
    }
}

/* ---- calls ---- */

static struct shape flat(int64_t n) { return (struct shape){1, 1, n, 1}; }

/* Buffers follow in operand order. */
static struct call *emit(struct builder *b, enum op_id op, enum dtype t, struct shape s,
                         enum layout layout, double alpha, double beta,
                         void *const buf[MAX_OPERANDS]) {
    struct model *m = b->m;
    struct call c = {.phase = b->phase, .micro = b->micro, .layer = b->layer, .again = b->again};
    if (b->failed) return NULL;
    c.a = (struct args){.s = s,
                        .layout = layout,
                        .alpha = alpha,
                        .beta = beta,
                        .threads = b->host->threads,
                        .gpu = b->host->gpu,
                        .stream = b->host->stream};
    for (int i = 0; i < MAX_OPERANDS; i++) c.a.buf[i] = buf[i];
    c.impl = b->host->pick(b->host->context, op, t, &c.a);
    if (!c.impl) {
        fail(b, "this device has no kernel for %s in %s", ops[op].name, dtypes[t].name);
        return NULL;
    }
    const size_t scratch = c.impl->scratch_bytes ? c.impl->scratch_bytes(&c.a) : 0;
    if (scratch) c.a.scratch = scratch_for(b, c.impl, scratch);
    m->call = grown(b, m->call, m->calls, &b->call_room, sizeof *m->call);
    if (b->failed) return NULL;
    m->call[m->calls] = c;
    return &m->call[m->calls++];
}

#define EMIT(b, op, t, s, layout, alpha, beta, ...) \
    emit(b, op, t, s, layout, alpha, beta, (void *const[MAX_OPERANDS]){__VA_ARGS__})

static void use_scales(struct builder *b, int first, int second) {
    struct model *m = b->m;
    m->use = grown(b, m->use, m->uses, &b->use_room, sizeof *m->use);
    if (!b->failed) m->use[m->uses++] = (struct scale_use){m->calls - 1, first, second};
}

/* ---- products; in fp8 their operands are rounded first ---- */

enum { SCALED_X, SCALED_W, SCALED_G, SCALED_A_LAYER };

static int scale_of(const struct builder *b, int which) {
    return b->layer * SCALED_A_LAYER + which;
}

/* How large the elements are is looked at once, where they are rounded first. */
static void *round_to_fp8(struct builder *b, int which, void *from, int64_t n, bool look) {
    void *const to[] = {b->x8, b->w8, b->g8};
    const int scale = scale_of(b, which);
    if (b->m->config.precision != PRECISION_fp8) return from;
    if (look)
        EMIT(b, OP_amax, b->m->stored, flat(n), LAYOUT_FLAT, 1, 0, from, b->m->scaled[scale].amax);
    EMIT(b, OP_cast_from_bf16, b->m->product, flat(n), LAYOUT_FLAT, 1, 0, from, to[which]);
    use_scales(b, scale, -1);
    return to[which];
}

static void multiply(struct builder *b, struct shape s, enum layout layout, double beta, void *A,
                     void *B, void *C, int left, int right) {
    EMIT(b, OP_matmul, b->m->product, s, layout, 1, beta, A, B, C);
    if (b->m->config.precision == PRECISION_fp8)
        use_scales(b, scale_of(b, left), scale_of(b, right));
}

/* Z[rows, out] = H[rows, in] W[in, out] */
static void linear(struct builder *b, void *H, void *W, void *Z, int64_t in, int64_t out) {
    const bool look = !b->again;
    void *x = round_to_fp8(b, SCALED_X, H, b->rows * in, look);
    void *w = round_to_fp8(b, SCALED_W, W, in * out, look && b->micro == 0);
    multiply(b, (struct shape){1, b->rows, out, in}, LAYOUT_NN, 0, x, w, Z, SCALED_X, SCALED_W);
}

/* dW[in, out] += H' dZ; dH[rows, in] = dZ W' */
static void linear_backward(struct builder *b, void *H, void *W, void *dZ, void *dW, void *dH,
                            int64_t in, int64_t out) {
    const double beta = b->micro ? 1 : 0;
    void *g = round_to_fp8(b, SCALED_G, dZ, b->rows * out, true);
    void *x = round_to_fp8(b, SCALED_X, H, b->rows * in, false);
    multiply(b, (struct shape){1, in, out, b->rows}, LAYOUT_TN, beta, x, g, dW, SCALED_X, SCALED_G);
    void *w = round_to_fp8(b, SCALED_W, W, in * out, false);
    multiply(b, (struct shape){1, b->rows, in, out}, LAYOUT_NT, 0, g, w, dH, SCALED_G, SCALED_W);
}

/* ---- layers ---- */

static void forward_layer(struct builder *b, int64_t layer, void *from, void *to) {
    const struct model *m = b->m;
    const int64_t dim = m->config.dim;
    b->layer = (int)layer;
    linear(b, from, part(m, parameter_of(m, layer), false), b->up, dim, dim);
    EMIT(b, OP_relu, m->stored, flat(b->rows * dim), LAYOUT_FLAT, 1, 0, b->up, to);
}

static void backward_layer(struct builder *b, int64_t layer, void *from, void *to) {
    const struct model *m = b->m;
    const int64_t dim = m->config.dim;
    const int p = parameter_of(m, layer);
    b->layer = (int)layer;
    EMIT(b, OP_relu_backward, m->stored, flat(b->rows * dim), LAYOUT_FLAT, 1, 0, to, b->down,
         b->up);
    linear_backward(b, from, part(m, p, false), b->up, part(m, p, true), b->down, dim, dim);
}

/* Layers first ... last with their outputs in the segment's buffers, but the last one's in `end` if that is given. */
static void forward_segment(struct builder *b, int64_t first, int64_t last, void *from, void *end) {
    for (int64_t l = first; l <= last; l++) {
        void *to = l == last && end ? end : b->segment[l - first];
        forward_layer(b, l, from, to);
        from = to;
    }
}

/* Layers 1 ... last; each output overwrites the one before the last. */
static void forward_from_input(struct builder *b, int64_t last) {
    for (int64_t l = 1; l <= last; l++)
        forward_layer(b, l, l == 1 ? b->kept[0] : b->segment[(l - 1) % 2], b->segment[l % 2]);
}

static int64_t end_of_segment(const struct model_config *c, int64_t first) {
    const int64_t last = first + c->segment - 1;
    return last < c->layers ? last : c->layers;
}

/* Returns H_L. */
static void *forward_layers(struct builder *b) {
    const struct model_config *c = &b->m->config;
    const int64_t layers = c->layers;
    void *H = b->kept[0];
    if (c->keep == KEEP_input) {
        forward_from_input(b, layers);
        return b->segment[layers % 2];
    }
    if (c->keep == KEEP_all) {
        for (int64_t l = 1; l <= layers; l++) forward_layer(b, l, b->kept[l - 1], b->kept[l]);
        return b->kept[layers];
    }
    for (int64_t first = 1; first <= layers; first += c->segment) {
        const int64_t last = end_of_segment(c, first);
        void *end = last < layers ? b->kept[last] : NULL;
        forward_segment(b, first, last, H, end);
        H = end ? end : b->segment[last - first];
    }
    return H;
}

static void backward_segments(struct builder *b) {
    const struct model_config *c = &b->m->config;
    const int64_t segments = (c->layers + c->segment - 1) / c->segment;
    for (int64_t s = segments - 1; s >= 0; s--) {
        const int64_t first = 1 + s * c->segment, last = end_of_segment(c, first);
        b->again = true;
        forward_segment(b, first, last, b->kept[first - 1], NULL);
        b->again = false;
        for (int64_t l = last; l >= first; l--)
            backward_layer(b, l, l == first ? b->kept[first - 1] : b->segment[l - first - 1],
                           b->segment[l - first]);
    }
}

static void backward_layers(struct builder *b) {
    const struct model_config *c = &b->m->config;
    if (c->keep == KEEP_segments) {
        backward_segments(b);
        return;
    }
    for (int64_t l = c->layers; l >= 1; l--) {
        if (c->keep == KEEP_all) {
            backward_layer(b, l, b->kept[l - 1], b->kept[l]);
            continue;
        }
        b->again = true;
        if (l < c->layers) forward_from_input(b, l);
        b->again = false;
        backward_layer(b, l, l == 1 ? b->kept[0] : b->segment[(l - 1) % 2], b->segment[l % 2]);
    }
}

/* ---- loss ---- */

static void loss_forward(struct builder *b, void *H) {
    const struct model *m = b->m;
    const int64_t dim = m->config.dim, vocab = m->config.vocab, n = b->rows * dim;
    void *loss = m->loss[b->micro], *target = m->target[b->micro];
    b->layer = (int)m->config.layers + 1;
    switch (m->config.objective) {
    case OBJECTIVE_mean:
        EMIT(b, OP_mean, m->stored, flat(n), LAYOUT_FLAT, 1, 0, H, loss);
        break;
    case OBJECTIVE_mse:
        EMIT(b, OP_mse, m->stored, flat(n), LAYOUT_FLAT, 1, 0, H, target, loss);
        break;
    default:
        linear(b, H, part(m, m->parameters - 1, false), b->logits, dim, vocab);
        EMIT(b, OP_cross_entropy, m->stored, ((struct shape){1, b->rows, vocab, 1}), LAYOUT_FLAT, 1,
             0, b->logits, target, b->row_loss);
        EMIT(b, OP_mean, m->acc, flat(b->rows), LAYOUT_FLAT, 1, 0, b->row_loss, loss);
    }
}

/* The gradient of H_L into b->down. Its alpha is set by model_set_loss_scale(). */
static void loss_backward(struct builder *b, void *H) {
    const struct model *m = b->m;
    const int64_t dim = m->config.dim, vocab = m->config.vocab, n = b->rows * dim;
    const int last = m->parameters - 1;
    void *target = m->target[b->micro];
    b->layer = (int)m->config.layers + 1;
    switch (m->config.objective) {
    case OBJECTIVE_mean:
        EMIT(b, OP_mean_loss_backward, m->stored, flat(n), LAYOUT_FLAT, 1, 0, m->loss[b->micro],
             m->goal, b->down);
        break;
    case OBJECTIVE_mse:
        EMIT(b, OP_mse_backward, m->stored, flat(n), LAYOUT_FLAT, 1, 0, H, target, b->down);
        break;
    default:
        EMIT(b, OP_cross_entropy_backward, m->stored, ((struct shape){1, b->rows, vocab, 1}),
             LAYOUT_FLAT, 1, 0, b->logits, target, b->logits_down);
        linear_backward(b, H, part(m, last, false), b->logits_down, part(m, last, true), b->down,
                        dim, vocab);
    }
}

static bool is_loss_backward(enum op_id op) {
    return op == OP_mean_loss_backward || op == OP_mse_backward || op == OP_cross_entropy_backward;
}

void model_set_loss_scale(struct model *m, double scale) {
    const double rows = (double)m->config.rows, elements = rows * (double)m->config.dim;
    const double factor =
        m->config.vocab ? 1 / rows : 2 / elements; /* of the mean; of the square as well */
    m->loss_scale = scale;
    for (int i = 0; i < m->calls; i++)
        if (is_loss_backward(m->call[i].impl->op)) m->call[i].a.alpha = scale * factor;
}

bool model_set_scales(struct model *m, const double *amax) {
    const double most = dtypes[m->product].max, headroom = 2; /* the next step's may be larger */
    bool changed = false;
    for (int i = 0; i < m->scales; i++) {
        if (!(isfinite(amax[i]) && amax[i] > 0)) continue;
        const double scale = exp2(floor(log2(most / (headroom * amax[i]))));
        changed = changed || scale != m->scaled[i].scale;
        m->scaled[i].scale = scale;
    }
    for (int i = 0; i < m->uses; i++) {
        const struct scale_use *u = &m->use[i];
        const double a = m->scaled[u->a].scale;
        m->call[u->call].a.alpha = u->b < 0 ? a : 1 / (a * m->scaled[u->b].scale);
    }
    return changed;
}

/* ---- a step ---- */

static void micro_batch(struct builder *b) {
    const struct model *m = b->m;
    const struct model_config *c = &m->config;
    const struct shape table = {1, b->rows, c->vocab, c->dim};
    b->phase = PHASE_forward;
    b->layer = 0;
    if (c->vocab)
        EMIT(b, OP_embedding, m->stored, table, LAYOUT_FLAT, 1, 0, part(m, 0, false),
             m->input[b->micro], b->kept[0]);
    else
        b->kept[0] = m->input[b->micro];
    void *H = forward_layers(b);
    loss_forward(b, H);

    b->phase = PHASE_backward;
    loss_backward(b, H);
    backward_layers(b);
    b->layer = 0;
    if (c->vocab)
        EMIT(b, OP_embedding_backward, m->stored, table, LAYOUT_FLAT, 1, b->micro ? 1 : 0, b->down,
             m->input[b->micro], part(m, 0, true));
}

static void update(struct builder *b) {
    static const enum op_id plain[UPDATES] = {OP_sgd,     OP_momentum, OP_adagrad,
                                              OP_rmsprop, OP_adam,     OP_adamw};
    static const enum op_id with_master[UPDATES] = {OP_sgd_master,     OP_momentum_master,
                                                    OP_adagrad_master, OP_rmsprop_master,
                                                    OP_adam_master,    OP_adamw_master};
    const struct model *m = b->m;
    const enum update u = m->config.update;
    b->micro = 0;
    b->layer = 0;
    b->phase = PHASE_norm;
    for (int g = 0; g < m->groups; g++) {
        const struct group *x = &m->group[g];
        EMIT(b, OP_dot, m->stored, flat(x->count), LAYOUT_FLAT, 1, 0, x->grad, x->grad, x->norm);
    }
    b->phase = PHASE_update;
    for (int g = 0; g < m->groups; g++) {
        const struct group *x = &m->group[g];
        void *buf[MAX_OPERANDS] = {x->param};
        int n = 1;
        if (x->master) buf[n++] = x->master;
        buf[n++] = x->grad;
        for (int s = 0; s < update_states(u); s++) buf[n++] = x->state[s];
        buf[n++] = m->hyper;
        emit(b, (x->master ? with_master : plain)[u], m->stored, flat(x->count), LAYOUT_FLAT, 1, 0,
             buf);
    }
}

static void lay_out_data(struct builder *b) {
    struct model *m = b->m;
    const struct model_config *c = &m->config;
    const size_t count = (size_t)c->micro_batches;
    m->input = calloc(count, sizeof *m->input);
    m->target = calloc(count, sizeof *m->target);
    m->loss = calloc(count, sizeof *m->loss);
    if (!m->input || !m->target || !m->loss) fail(b, "out of memory");
    for (size_t i = 0; i < count && !b->failed; i++) {
        const int64_t n = b->rows * c->dim;
        if (c->vocab) {
            m->input[i] = take_indices(b, "tokens", b->rows);
            m->target[i] = take_indices(b, "labels", b->rows);
        } else {
            m->input[i] = take(b, MEMORY_data, "X", m->stored, n);
            if (c->objective == OBJECTIVE_mse)
                m->target[i] = take(b, MEMORY_data, "targets", m->stored, n);
        }
        m->loss[i] = take(b, MEMORY_temporaries, "loss", m->acc, 1);
    }
    if (c->objective == OBJECTIVE_mean) m->goal = take(b, MEMORY_data, "target", m->acc, 1);
    m->hyper = take(b, MEMORY_temporaries, "hyperparameters", m->acc, HYPER_COUNT);
}

static void lay_out_scales(struct builder *b) {
    struct model *m = b->m;
    if (m->config.precision != PRECISION_fp8) return;
    m->scales = SCALED_A_LAYER * ((int)m->config.layers + 2);
    m->scaled = calloc((size_t)m->scales, sizeof *m->scaled);
    if (!m->scaled) {
        fail(b, "out of memory");
        return;
    }
    for (int i = 0; i < m->scales; i++) {
        m->scaled[i].scale = 1;
        m->scaled[i].amax = take(b, MEMORY_temporaries, "largest element", m->acc, 1);
    }
}

int model_make(struct model *m, const struct model_config *config, const struct model_host *host,
               char *why, size_t size) {
    struct builder b = {.m = m, .host = host, .why = why, .size = size};
    const char *refusal = model_refuses(config);
    *m = (struct model){.config = *config,
                        .stored = precision_stored(config->precision),
                        .product = precision_product(config->precision)};
    m->acc = dtypes[m->stored].acc;
    if (refusal) {
        snprintf(why, size, "%s", refusal);
        return -1;
    }
    b.rows = config->rows / config->micro_batches;
    lay_out_parameters(&b);
    if (!b.failed) lay_out_data(&b);
    if (!b.failed) lay_out_activations(&b);
    if (!b.failed) lay_out_scales(&b);
    for (; b.micro < config->micro_batches && !b.failed; b.micro++) micro_batch(&b);
    if (!b.failed) update(&b);
    free(b.kept);
    free(b.segment);
    free(b.scratch);
    if (b.failed) {
        model_free(m);
        return -1;
    }
    model_set_loss_scale(m, 1);
    return 0;
}

void model_free(struct model *m) {
    free(m->parameter);
    free(m->group);
    free(m->call);
    free(m->input);
    free(m->target);
    free(m->loss);
    free(m->scaled);
    free(m->use);
    *m = (struct model){.calls = 0};
}

double model_call_flops(const struct call *c) { return ops[c->impl->op].flops(c->a.s); }

double model_call_bytes(const struct call *c) {
    return op_bytes(&ops[c->impl->op], c->impl->dtype, &c->a);
}
