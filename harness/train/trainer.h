/* trainer.h - a model on a device, its optimizer's hyperparameters and what training it has come to. */
#ifndef TRAINER_H
#define TRAINER_H
#include "../ledger.h"

struct hyperparameters {
    double lr, beta1, beta2, eps, decay;
    double clip; /* of the gradients' norm; 0: none */
};

/* PyTorch's: lr 1e-3 (AdaGrad, RMSProp: 1e-2), betas 0.9 and 0.999 (RMSProp: 0.99), eps 1e-8 (AdaGrad: the lecture's 1e-5,
 * inside the root), decay 0 (AdamW: 0.01), no clipping. */
struct hyperparameters hyperparameters_for(enum update u);

/* Dynamic loss scaling (Micikevicius et al. 2018): halved and the step skipped when gradients are not finite, doubled after
 * `patience` steps without. patience 0: the scale is kept. */
struct loss_scaling {
    bool on;
    double scale;
    int64_t patience, good_steps;
};

struct train_spec {
    struct model_config model;
    struct hyperparameters hyper;
    struct loss_scaling scaling;
    uint64_t seed;
    bool plain_normal; /* initial values: not cut at 3 standard deviations */
    double goal;       /* t of OBJECTIVE_mean */
    bool norm;         /* report the gradients' norm even where nothing needs it */
    int threads;
};

/* What a step took, seconds, by the device's clock; step_s is the sum of phases. */
struct step_result {
    double loss, grad_norm; /* grad_norm NaN: not looked at */
    double seconds[PHASES], step_s;
    bool skipped; /* gradients were not finite: nothing was updated */
};

struct trainer {
    struct device *device;
    struct train_spec spec;
    struct model model;
    struct ledger ledger;
    int64_t step, updates; /* steps taken; of these, not skipped: the t of bias corrections */
    double *amax;          /* fp8: what scales follow from, as last seen */
    unsigned char *staging;
    size_t staging_bytes;
};

/* On an open device: allocates, draws initial values and, without a vocabulary, X and targets from N(0, 1). 0, or -1 after
 * one line on stderr. trainer_end() in every case. */
int trainer_begin(struct trainer *t, struct device *d, const struct train_spec *spec);
void trainer_end(struct trainer *t);

/* tokens then labels, a step's rows each, in memory of the device's host_alloc(). Read until the step's end. */
int trainer_set_tokens(struct trainer *t, const int32_t *tokens, const int32_t *labels);

/* One step. 0, or -1 after one line on stderr. */
int trainer_step(struct trainer *t, struct step_result *r);

/* Forward and backward alone, so that gradients can be looked at and scales of fp8 found. */
int trainer_gradients(struct trainer *t, double *loss);

/* A parameter's or its gradient's elements as doubles. 0, or -1. */
int trainer_read(struct trainer *t, int parameter, bool gradient, double *out);
int trainer_write(struct trainer *t, int parameter, const double *in); /* the master copy as well */

/* "deepnet-1024x16-b64-bf16-adamw": what is trained, for rows and checkpoints. */
void train_name(const struct train_spec *spec, char *text, size_t size);

/* ---- checkpoints: harness/train/checkpoint.c ---- */

/* Parameters, optimizer state, step, loss scale and data position as safetensors. The file appears whole or not at all,
 * after it has reached the disk. `data` tells data apart; 0: none. 0, or -1 after one line on stderr. */
int checkpoint_save(struct trainer *t, const char *path, uint64_t data);

/* Whether a checkpoint could be written there; 0, or -1 after one line on stderr. */
int checkpoint_may_save(const char *path);

/* Into a trainer of the same spec; what does not belong to it is refused. 0, or -1 after one line on stderr. */
int checkpoint_load(struct trainer *t, const char *path, uint64_t data);
#endif
