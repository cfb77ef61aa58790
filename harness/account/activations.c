/* activations.c - what the backward pass needs kept, tensor by tensor. */
#include "activations.h"
#include "count.h"
#include "training_memory.h"

#include <math.h>

const char *const recompute_names[] = {"none", "selective", "full", "sqrt", "all", NULL};

struct layer_shape gpt_layer_shape(int64_t hidden, int64_t heads, bool dropout, bool flash) {
    return (struct layer_shape){.hidden = hidden,
                                .outside = count_mul(4, hidden),
                                .inside = count_mul(12, hidden),
                                .heads = heads,
                                .dropout = dropout,
                                .flash = flash};
}

struct layer_bytes layer_bytes(const struct layer_shape *layer, enum dtype t, int64_t seq,
                               int64_t batch) {
    const int64_t tokens = count_mul(seq, batch), bits = value_bits_16(t);
    const int64_t masks = layer->dropout ? count_mul(2, layer->hidden) : 0;
    const int64_t scores = count_mul(count_mul(layer->heads, seq), tokens);
    struct layer_bytes bytes = {
        .input = bytes_of(bits, count_mul(tokens, layer->hidden)),
        .outside =
            count_add(bytes_of(bits, count_mul(tokens, layer->outside)), count_mul(tokens, masks)),
        .inside = bytes_of(bits, count_mul(tokens, layer->inside)),
        .scores = layer->dropout /* softmax, mask, what dropout leaves */
                      ? count_add(bytes_of(bits, count_mul(2, scores)), scores)
                      : bytes_of(bits, scores)};
    if (layer->flash) bytes.scores = count_mul(4, count_mul(layer->heads, tokens));
    return bytes;
}

static int64_t square_root_up(int64_t n) {
    int64_t root = (int64_t)sqrt((double)n);
    while (root > 1 && count_mul(root - 1, root - 1) >= n) root--;
    while (count_mul(root, root) < n) root++;
    return root;
}

static int64_t divided(int64_t n, int64_t by) {
    return n == COUNT_OVERFLOW ? n : n / by + (n % by != 0);
}

struct kept kept_layers(enum recompute r, int64_t layers) {
    const int64_t root = square_root_up(layers);
    switch (r) {
    case RECOMPUTE_FULL:
        return (struct kept){layers, 1};
    case RECOMPUTE_SQRT:
        return (struct kept){divided(layers, root), root};
    case RECOMPUTE_ALL:
        return (struct kept){1, 1};
    case RECOMPUTE_NONE:
    case RECOMPUTE_SELECTIVE:
        break;
    }
    return (struct kept){0, layers};
}

double recompute_factor(enum recompute r, int64_t layers) {
    if (r == RECOMPUTE_ALL) return 6 + (double)(layers - 1);
    return r == RECOMPUTE_FULL || r == RECOMPUTE_SQRT ? 8 : 6;
}

int64_t transformer_activations(const struct layer_bytes *layer, enum recompute r, int64_t layers,
                                const struct stages *stages) {
    const int64_t here = divided(layers, stages->pipeline), t = stages->tensor;
    const int64_t in_flight =
        stages->pipeline < stages->micro_batches ? stages->pipeline : stages->micro_batches;
    const int64_t outside = stages->sequence ? t : 1;
    const struct kept kept = kept_layers(r, here);
    const int64_t input = divided(layer->input, outside);
    const int64_t scores = r == RECOMPUTE_SELECTIVE ? 0 : divided(layer->scores, t);
    const int64_t whole =
        count_add(divided(layer->outside, outside), count_add(divided(layer->inside, t), scores));
    if (r == RECOMPUTE_NONE || r == RECOMPUTE_SELECTIVE)
        return count_mul(in_flight, count_mul(kept.layers, whole));
    /* kept inputs of every micro-batch in flight; only one is computed again at a time */
    return count_add(count_mul(in_flight, count_mul(kept.inputs, input)),
                     count_mul(kept.layers, whole));
}

int64_t network_activations(enum recompute r, int64_t batch, int64_t width, int64_t layers,
                            enum dtype t) {
    const struct kept kept = kept_layers(r, layers);
    const int64_t one = bytes_of(value_bits_16(t), count_mul(batch, width));
    return count_mul(count_add(kept.inputs, kept.layers), one);
}
