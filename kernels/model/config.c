/* config.c - what follows from a model's sizes alone: refusals, counts, bytes, FLOPs. */
#include "model.h"

#include <stddef.h>

const char *const memory_kind_names[MEMORY_KINDS] = {"parameters",  "gradients",   "optimizer",
                                                     "activations", "temporaries", "data"};
const char *const precision_names[PRECISIONS] = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8"};
const char *const objective_names[OBJECTIVES] = {"mean", "mse", "cross_entropy"};
const char *const update_names[UPDATES] = {"sgd",     "momentum", "adagrad",
                                           "rmsprop", "adam",     "adamw"};

enum dtype precision_stored(enum precision p) {
    static const enum dtype stored[PRECISIONS] = {DT_fp64, DT_fp32, DT_fp32,
                                                  DT_fp16, DT_bf16, DT_bf16};
    return stored[p];
}

enum dtype precision_product(enum precision p) {
    static const enum dtype product[PRECISIONS] = {DT_fp64, DT_fp32, DT_tf32,
                                                   DT_fp16, DT_bf16, DT_fp8_e4m3};
    return product[p];
}

int update_states(enum update u) {
    static const int states[UPDATES] = {0, 1, 1, 1, 2, 2};
    return states[u];
}

const char *model_refuses(const struct model_config *c) {
    const int64_t most = INT64_C(1) << 31;
    const double countable = 0x1p56; /* elements; all kinds together have under 128 bytes of each */
    const bool tokens = c->objective == OBJECTIVE_cross_entropy;
    const enum dtype stored = precision_stored(c->precision);
    if (c->dim < 1 || c->layers < 1 || c->rows < 1 || c->dim > most || c->rows > most ||
        c->vocab > most || c->layers > 1 << 16)
        return "dim, layers and batch are at least 1, at most 2^31 (layers 65536)";
    const double n = (double)c->dim * ((double)c->dim * (double)c->layers + 2 * (double)c->vocab),
                 wide = (double)c->rows * ((double)c->dim * (double)c->layers + (double)c->vocab);
    if (n > countable || wide > countable) return "more bytes than can be counted";
    if (tokens != (c->vocab > 0)) return "cross-entropy is the loss of a model with a vocabulary";
    if (c->micro_batches < 1 || c->rows % c->micro_batches)
        return "micro-batches are equal parts of the batch";
    if (c->objective == OBJECTIVE_mean && c->micro_batches > 1)
        return "the square of a mean is no mean over micro-batches: --loss mse is";
    if (c->keep == KEEP_segments && (c->segment < 1 || c->segment > c->layers))
        return "a segment has 1 layer to all of them";
    if (c->master && stored != DT_bf16 && stored != DT_fp16)
        return "a master copy is of bf16 or fp16 parameters";
    return NULL;
}

int64_t model_multiplied(const struct model_config *c) {
    return c->dim * c->dim * c->layers + c->dim * c->vocab;
}

int64_t model_parameters(const struct model_config *c) {
    return model_multiplied(c) + c->dim * c->vocab;
}

bool model_in_one_group(const struct model_config *c) {
    enum { ALIGNMENT = 256 }; /* what kernels may expect of a buffer */
    const int64_t element = dtypes[precision_stored(c->precision)].bits / 8;
    return c->dim * c->dim * element % ALIGNMENT == 0 &&
           c->dim * c->vocab * element % ALIGNMENT == 0;
}

static int64_t bytes_an_element(enum dtype t) { return dtypes[t].bits / 8; }

/* Matrices of rows x dim that the forward pass leaves for the backward pass. */
static int64_t kept_outputs(const struct model_config *c) {
    if (c->keep == KEEP_all) return c->layers;
    if (c->keep == KEEP_input)
        return c->layers < 2 ? c->layers : 2; /* a layer's input and output */
    /* inputs of all segments but the first, which is X; outputs of the one at work */
    return (c->layers + c->segment - 1) / c->segment - 1 + c->segment;
}

/* Numbers by themselves: hyperparameters, a loss a micro-batch, a sum of squares a group of gradients, fp8's largest elements. */
static int64_t scalars(const struct model_config *c) {
    const int64_t matrices = c->layers + (c->vocab ? 2 : 0);
    const int64_t largest = c->precision == PRECISION_fp8 ? 3 * (c->layers + 2) : 0;
    return HYPER_COUNT + c->micro_batches + (model_in_one_group(c) ? 1 : matrices) + largest;
}

struct model_bytes model_bytes(const struct model_config *c) {
    const enum dtype stored = precision_stored(c->precision);
    const int64_t element = bytes_an_element(stored), acc = bytes_an_element(dtypes[stored].acc);
    const int64_t n = model_parameters(c), rows = c->rows / c->micro_batches;
    const int64_t index = (int64_t)sizeof(int32_t);
    struct model_bytes b;
    b.kind[MEMORY_parameters] = n * element;
    b.kind[MEMORY_gradients] = n * element;
    b.kind[MEMORY_optimizer] = n * (update_states(c->update) + (c->master ? 1 : 0)) * acc;
    b.kind[MEMORY_activations] = rows * c->dim * kept_outputs(c) * element;
    /* what comes from above, what goes on below */
    b.kind[MEMORY_temporaries] = 2 * rows * c->dim * element + scalars(c) * acc;
    b.kind[MEMORY_data] = c->rows * c->dim * element;
    if (c->vocab) {
        /* activations: H_0 and the logits; temporaries: a loss a row and the logits' gradient; data: tokens, labels */
        b.kind[MEMORY_activations] += rows * (c->dim + c->vocab) * element;
        b.kind[MEMORY_temporaries] += rows * (c->vocab * element + acc);
        b.kind[MEMORY_data] = 2 * c->rows * index;
    } else if (c->objective == OBJECTIVE_mse) {
        b.kind[MEMORY_data] *= 2;
    } else {
        b.kind[MEMORY_data] += acc; /* t */
    }
    if (c->precision ==
        PRECISION_fp8) { /* the two operands at work, a byte an element, of the widest product */
        const int64_t wide = c->vocab > c->dim ? c->vocab : c->dim;
        b.kind[MEMORY_temporaries] += rows * (c->dim + wide) + c->dim * wide;
    }
    return b;
}

struct model_flops model_flops(const struct model_config *c) {
    const double rows = (double)c->rows, layer = 2 * rows * (double)c->dim * (double)c->dim;
    const double n = (double)model_multiplied(c), layers = (double)c->layers;
    struct model_flops f = {2 * rows * n, 4 * rows * n, 0};
    if (c->keep == KEEP_segments) f.recompute = layers * layer;
    if (c->keep == KEEP_input) f.recompute = layers * (layers - 1) / 2 * layer;
    return f;
}
