/* activations.h - bytes of activations that the forward pass leaves for the backward pass.
 *
 * A transformer's layer after Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models",
 * section 4: s b h (34 + 5 a s / h) bytes in 16-bit arithmetic for their GPT: LayerNorm inputs 2 x 2sbh, attention
 * 11 sbh + 5 a s^2 b, MLP 19 sbh. Counted here tensor by tensor, so that other MLPs, head counts and dtypes follow;
 * masks of dropout take a byte an element. */
#ifndef ACCOUNT_ACTIVATIONS_H
#define ACCOUNT_ACTIVATIONS_H
#include "../../kernels/catalogue.h"

/* What a layer keeps a token, in elements. */
struct layer_shape {
    int64_t hidden; /* width of the residual stream */
    int64_t
        outside; /* not divided by tensor parallelism: norm inputs, inputs of attention and MLP: 4 h, and latents */
    int64_t inside; /* divided: queries, keys, values, attention's output; inside of the MLP */
    int64_t heads;
    bool dropout,
        flash; /* flash: no s x s matrix is kept, but fp32 log-sum-exps, one a head and token */
};

/* GPT: queries, keys, values and attention output 4h, MLP of 4h: 2 x 4h. */
struct layer_shape gpt_layer_shape(int64_t hidden, int64_t heads, bool dropout, bool flash);

/* Bytes of one micro-batch of `batch` sequences; COUNT_OVERFLOW when there are too many. */
struct layer_bytes {
    int64_t input;   /* the layer's input alone: what full recomputation keeps */
    int64_t outside; /* of tensor parallelism; sequence parallelism divides it as well */
    int64_t inside;
    int64_t scores; /* softmax and its dropout: what selective recomputation drops */
};
struct layer_bytes layer_bytes(const struct layer_shape *layer, enum dtype t, int64_t seq,
                               int64_t batch);

enum recompute {
    RECOMPUTE_NONE,      /* every layer is kept */
    RECOMPUTE_SELECTIVE, /* all but attention's scores */
    RECOMPUTE_FULL,      /* each layer's input is kept */
    RECOMPUTE_SQRT,      /* the input of every ceil(sqrt(L))-th layer */
    RECOMPUTE_ALL        /* only the network's input */
};
extern const char *const recompute_names[]; /* ends at NULL */

/* Layers whose input is kept, and layers kept whole at the worst moment: with none (0, L); full (L, 1); sqrt
 * (ceil(L / k), k) for k = ceil(sqrt(L)); all (1, 1), each layer from the start when its turn comes. */
struct kept {
    int64_t inputs, layers;
};
struct kept kept_layers(enum recompute r, int64_t layers);

/* FLOPs a parameter and token: 6; 8 with one more forward pass (full, sqrt); 6 + (L - 1) where each layer is computed
 * again from the start: L (L - 1) / 2 layers of 2 N / L FLOPs a token. Selective: 6, its repeats are no parameter's. */
double recompute_factor(enum recompute r, int64_t layers);

/* Bytes on the device of the first pipeline stage, which under 1F1B holds as many micro-batches as there are stages,
 * or all there are. sequence: the parts outside of tensor parallelism are divided by sequence parallelism. */
struct stages {
    int64_t tensor, pipeline, micro_batches;
    bool sequence;
};
int64_t transformer_activations(const struct layer_bytes *layer, enum recompute r, int64_t layers,
                                const struct stages *stages);

/* DeepNetwork: L layers of width D on B rows; each keeps its output, B D elements. */
int64_t network_activations(enum recompute r, int64_t batch, int64_t width, int64_t layers,
                            enum dtype t);
#endif
