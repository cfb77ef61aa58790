/* model.h - DeepNetwork and its token model as a list of catalogue calls, for any device.
 *
 * DeepNetwork: H_0 = X; Z_l = H_(l-1) W_l, H_l = max(Z_l, 0) for l = 1 ... L; W_l is D x D, H_l is rows x D. The token
 * model puts H_0 = T[token] (T is V x D) in front and logits = H_L U (U is D x V) behind. Everything is decided when the
 * model is made: buffers, kernels, the order of calls. A step runs the calls; nothing is allocated then. */
#ifndef MODEL_H
#define MODEL_H
#include "../catalogue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What fills device memory; every allocation is of one kind. */
enum memory_kind {
    MEMORY_parameters, /* with the fp32 master copy counted as optimizer state */
    MEMORY_gradients,
    MEMORY_optimizer,
    MEMORY_activations, /* written by the forward pass and read by the backward pass */
    MEMORY_temporaries, /* live within a phase; kernels' scratch */
    MEMORY_data,        /* inputs, targets, tokens */
    MEMORY_KINDS
};
extern const char *const memory_kind_names[MEMORY_KINDS];

/* stored: parameters, gradients, activations. product: what matrices are multiplied in. fp8: stored bf16, multiplied E4M3. */
enum precision {
    PRECISION_fp64,
    PRECISION_fp32,
    PRECISION_tf32,
    PRECISION_fp16,
    PRECISION_bf16,
    PRECISION_fp8,
    PRECISIONS
};
extern const char *const precision_names[PRECISIONS];
enum dtype precision_stored(enum precision p);
enum dtype precision_product(enum precision p);

/* MISSION's loss is the square of one number: (mean of H_L - t)^2. The other two are means over elements and rows. */
enum objective { OBJECTIVE_mean, OBJECTIVE_mse, OBJECTIVE_cross_entropy, OBJECTIVES };
extern const char *const objective_names[OBJECTIVES];

enum update {
    UPDATE_sgd,
    UPDATE_momentum,
    UPDATE_adagrad,
    UPDATE_rmsprop,
    UPDATE_adam,
    UPDATE_adamw,
    UPDATES
};
extern const char *const update_names[UPDATES];
int update_states(enum update u); /* numbers kept a parameter: 0, 1, 2 */

/* Activation checkpointing. SEGMENTS: only each segment's input is kept, and the backward pass computes the segment's
 * layers again, all of them, so one more forward pass. INPUT: only X is kept, and each layer is computed again from
 * there: L (L - 1) / 2 layers. */
enum keep { KEEP_all, KEEP_segments, KEEP_input };

struct model_config {
    int64_t dim, layers;
    int64_t vocab;         /* 0: DeepNetwork alone */
    int64_t rows;          /* of a step; tokens of the token model */
    int64_t micro_batches; /* divides rows */
    enum precision precision;
    enum objective objective; /* cross_entropy with a vocabulary and only then */
    enum update update;
    bool master; /* an fp32 copy of bf16 or fp16 parameters, which the optimizer updates */
    enum keep keep;
    int64_t segment; /* layers of one, for KEEP_segments */
};

/* Why there is no such model, as a sentence; NULL: there is. */
const char *model_refuses(const struct model_config *c);

/* Parameters that are multiplied: D^2 L, and D V of the token model; and all, with the V D of the embedding. */
int64_t model_multiplied(const struct model_config *c);
int64_t model_parameters(const struct model_config *c);

/* Whether all parameters lie in one piece, updated by one call: where every matrix ends at an aligned address. */
bool model_in_one_group(const struct model_config *c);

/* Bytes by kind, from the formulas alone: scratch of kernels is in none. */
struct model_bytes {
    int64_t kind[MEMORY_KINDS];
};
struct model_bytes model_bytes(const struct model_config *c);

/* FLOPs of a step by the lecture's count, multiply-adds of the products only: 2 N rows, 4 N rows, and the recomputed ones. */
struct model_flops {
    double forward, backward, recompute;
};
struct model_flops model_flops(const struct model_config *c);

/* ---- the made model ---- */

enum phase { PHASE_forward, PHASE_backward, PHASE_norm, PHASE_update, PHASES };

struct call {
    const struct impl *impl;
    struct args a;
    enum phase phase;
    int micro, layer; /* layer 0: embedding, L + 1: unembedding and loss */
    bool again;       /* recomputation */
};

/* A parameter matrix. Its buffers are parts of its group's. */
struct parameter {
    char name[32];
    int64_t rows, cols;
    double deviation; /* of its initial values */
    int group;
    int64_t first; /* element within the group */
};

/* Parameters that one optimizer call updates: all in one where their sizes keep parts aligned, else a matrix each. */
struct group {
    int64_t count;
    void *param, *grad, *master, *state[2]; /* master, state: NULL where there is none */
    void *norm;                             /* one number: the sum of squares of grad */
};

/* A power of two by which a matrix is multiplied before it is rounded to fp8, and its largest |element| as last seen. */
struct scaled {
    double scale;
    void *amax; /* on the device: one fp32 */
};

/* A call whose alpha follows from scales: a cast multiplies by scaled[a], a product divides by those of a and b. */
struct scale_use {
    int call, a, b; /* b -1: a cast */
};

struct model_host {
    void *context;
    const struct gpu_facts *gpu;
    void *stream;
    int threads;
    /* Cleared memory on the device; NULL after it has complained. */
    void *(*alloc)(void *context, enum memory_kind kind, const char *name, size_t bytes);
    /* The kernel for a problem; NULL: there is none. */
    const struct impl *(*pick)(void *context, enum op_id op, enum dtype t,
                               const struct args *problem);
};

struct model {
    struct model_config config;
    enum dtype stored, product, acc;
    struct parameter *parameter;
    int parameters;
    struct group *group;
    int groups;
    struct call *call;
    int calls;
    void **input, **target; /* [micro_batches]: X and target rows, or int32 tokens and labels */
    void *goal;             /* the t of OBJECTIVE_mean: one number in acc */
    void **loss;            /* [micro_batches]: one number in acc each */
    void *hyper;            /* HYPER_COUNT numbers in acc */
    int64_t scratch_bytes;  /* of kernels, all together */
    double loss_scale;      /* as set last; 1 at first */
    struct scaled *scaled;  /* fp8: inputs of layers, weights, gradients */
    int scales;
    struct scale_use *use;
    int uses;
};

/* Makes the calls and allocates through the host; what it allocated is the host's to release. 0, or -1 with a reason. */
int model_make(struct model *m, const struct model_config *config, const struct model_host *host,
               char *why, size_t size);
void model_free(struct model *m); /* host memory only */

/* Gradients come out multiplied by this. */
void model_set_loss_scale(struct model *m, double scale);

/* fp8: takes scales from the largest elements of the last step; amax[i] belongs to scaled[i]. Whether one changed. */
bool model_set_scales(struct model *m, const double *amax);

/* Bytes and FLOPs of calls, by phase; again: only the recomputed ones. */
double model_call_flops(const struct call *c);
double model_call_bytes(const struct call *c);

#ifdef __cplusplus
}
#endif
#endif
