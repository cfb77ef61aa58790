/* transformer.h - a decoder-only transformer by its sizes: parameters by part, FLOPs a token, KV cache, activations.
 *
 * Dense or mixture of experts, multi-head, grouped-query or multi-head latent attention (MLA, DeepSeek-V2, section 2.1).
 * Counts saturate at COUNT_OVERFLOW. */
#ifndef ACCOUNT_TRANSFORMER_H
#define ACCOUNT_TRANSFORMER_H
#include "activations.h"
#include "answer.h"

struct transformer {
    char family[32]; /* the config's model_type, or "gpt", "llama" */
    int64_t vocab, hidden, layers, heads, kv_heads, head_dim;
    int64_t ffn;       /* width of a dense layer's MLP */
    int64_t positions; /* learned ones; 0: rotary */
    int64_t window;    /* tokens that attention looks back; 0: all */
    int64_t max_seq;   /* 0: unknown */
    bool tied;         /* the output layer is the embedding */
    bool gated;        /* MLP of three matrices (SwiGLU) instead of two */
    bool layer_norm;   /* scale and shift instead of RMSNorm's scale */
    bool qkv_bias, out_bias, mlp_bias, qk_norm, dropout;
    /* MLA; kv_rank 0: none, q_rank 0: queries are not compressed */
    int64_t q_rank, kv_rank, nope_dim, rope_dim, v_dim;
    /* mixture of experts; experts 0: none */
    int64_t experts, active_experts, expert_ffn, shared_ffn, sparse_layers;
    bool shared_gate, router_bias;
};

/* All of the model, by part. */
struct parameter_counts {
    int64_t embedding, positions, attention, mlp, experts, shared_experts, router, norms, head;
    int64_t total;
    int64_t active; /* that a token meets: total less the experts that are not chosen */
};

/* 0, or -1 when sizes contradict each other or the counts overflow. */
int transformer_check(const struct transformer *m, struct complaint *why);
struct parameter_counts transformer_parameters(const struct transformer *m);

/* Weights of matrices that a token is multiplied with: no embedding look-up, no norms, no biases; the output layer also
 * where it is tied. */
int64_t transformer_matmul_weights(const struct transformer *m);

/* FLOPs of one token's forward pass within sequences of `seq`. Backward takes twice as many. Attention is Q K' and its
 * product with V; causal: a token sees itself and what is before it, (seq + 1) / 2 tokens on average, or its window. */
struct token_flops {
    double matmul, attention, causal_attention;
    double width, reach, seen; /* attention = 2 L width reach; causal: 2 L width seen */
};
struct token_flops transformer_flops(const struct transformer *m, int64_t seq);

/* Bytes of keys and values of one token, all layers; MLA: the latent and the shared rotary key. */
int64_t kv_cache_token(const struct transformer *m, enum dtype t);
/* Tokens of a sequence that are kept: the window's, if there is one. */
int64_t kv_cache_tokens(const struct transformer *m, int64_t seq);

/* What layers keep for the backward pass; the model's sparse layers and its others. */
struct layer_shape transformer_layer_shape(const struct transformer *m, bool sparse, bool flash);
/* On the fullest device of the first pipeline stage; sparse and dense layers are spread over the stages alike. Where there
 * are both, only none, selective and full have a meaning here. */
int64_t transformer_layer_activations(const struct transformer *m, enum recompute r, enum dtype t,
                                      int64_t seq, int64_t batch, bool flash,
                                      const struct stages *stages);
#endif
