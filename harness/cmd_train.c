/* cmd_train.c - whole training steps: what they cost, what they take, what the loss does. */
#define _GNU_SOURCE
#include "commands.h"
#include "ceilings_file.h"
#include "devices.h"
#include "options.h"
#include "os.h"
#include "plan.h"
#include "run.h"
#include "runinfo.h"
#include "train/results.h"
#include "train/tokens.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void help(void) {
    puts("Usage: roofline train [options]\n"
         "\n"
         "Trains a DeepNetwork, L layers of a linear map (D x D, no bias) and a ReLU, and reports "
         "what a step costs and takes:\n"
         "memory by kind beside its formulas, FLOPs, each phase beside its roof, MFU. With --data "
         "the network is put between an\n"
         "embedding and an unembedding and learns to tell the next token.\n"
         "\n"
         "What (defaults in brackets, a GPU's second):\n"
         "  --dim D --layers L   [1024, 4; 4096, 8; with --data 128, 2; 1024, 4]\n"
         "  --batch B            rows of a step; with --data sequences [256; 8192; with --data 16; "
         "64]\n"
         "  --loss NAME          mse: over elements [default]; mean: (mean - target)^2, the "
         "lecture's\n"
         "  --target T           of --loss mean [0]\n"
         "  --data FILE          uint16 tokens ('roofline tokens' makes such a file); the loss is "
         "cross-entropy\n"
         "  --seq S              tokens of a sequence [64; 512]\n"
         "  --vocab V            [the largest token + 1, in full 64s]\n"
         "  --dtype NAME         fp64 fp32 tf32 fp16 bf16 fp8 [fp32; bf16]; fp8 multiplies in "
         "E4M3, the rest is bf16\n"
         "  --optimizer NAME     sgd momentum adagrad rmsprop adam adamw [adamw]\n"
         "  --master             an fp32 copy of bf16 or fp16 parameters takes the updates\n"
         "  --lr --beta1 --beta2 --eps --weight-decay X   [PyTorch's; AdaGrad's eps 1e-5, within "
         "the root]\n"
         "  --clip NORM          scale gradients down to this norm\n"
         "  --loss-scale X       dynamic, or a number to keep [dynamic with fp16, else 1]\n"
         "  --micro-batches K    gradients of K parts of the batch are added up before one update\n"
         "  --checkpoint WHAT    activation checkpointing: none [default], every-layer, sqrt, K: "
         "only the input of every K-th\n"
         "                       layer is kept; input: only the network's\n"
         "  --seed N             of initial values, data and batches [0]\n"
         "  --init NAME          truncated: N(0, 1/D) within 3 standard deviations [default]; "
         "normal\n"
         "How:\n"
         "  --steps N            in all, with those before a --resume [20]\n"
         "  --device NAME        cpu, gpu, cuda:0 ... [the GPU where there is one]\n"
         "  --threads N          [all]\n"
         "  --grad-norm          report the gradients' norm where nothing else needs it\n"
         "  --dry-run            print the formulas' figures, allocate nothing\n"
         "Where to:\n"
         "  --out DIR            train.csv, memory.csv, loss.csv; ceilings from DIR/peaks.csv\n"
         "  --peaks FILE         ceilings from another run's peaks.csv\n"
         "  --save FILE          a checkpoint at the end, as safetensors; --save-every N: every N "
         "steps too\n"
         "  --resume             go on from --save FILE where there is one\n"
         "  --quiet              no line a step\n"
         "\n"
         "The gradient of the input is computed as well, as in a network that has layers in front "
         "of it: so backward takes exactly\n"
         "twice the FLOPs of forward.\n"
         "\n"
         "Examples:\n"
         "  roofline train --dim 4 --layers 3 --batch 2 --dtype bf16 --optimizer adagrad --steps 3 "
         "  # 432 bytes, 576 FLOPs\n"
         "  roofline train --dim 1024 --layers 16 --batch 64 --micro-batches 4   # a quarter of "
         "the activations\n"
         "  roofline tokens README.md -o corpus.bin && roofline train --data corpus.bin --steps "
         "300");
}

struct options {
    struct train_spec spec;
    const char *data, *out, *peaks, *save, *device, *threads, *checkpoint, *loss_scale;
    double dim, layers, batch, seq, vocab, micro_batches, steps, save_every, seed;
    double lr, beta1, beta2, eps, decay;
    int precision; /* -1: by the device */
    bool resume, dry_run, quiet;
};

static volatile sig_atomic_t interrupted;
static void on_signal(int signal) { interrupted = signal; }

/* ---- options ---- */

enum option_kind { NUMBER, COUNT, FLAG, TEXT, NAME };

struct option_row {
    const char *name;
    enum option_kind kind;
    void *value;
    double low, high;         /* of numbers and counts */
    const char *const *names; /* of names, as many as `high` */
};

static int take(const struct option_row *o, const char *text) {
    char name[32];
    snprintf(name, sizeof name, "--%s", o->name);
    switch (o->kind) {
    case NUMBER:
        return option_number(name, text, o->low, o->high, o->value);
    case COUNT:
        if (option_number(name, text, o->low, o->high, o->value)) return -1;
        if (*(double *)o->value == floor(*(double *)o->value)) return 0;
        fprintf(stderr, "roofline: %s '%s': a whole number\n", name, text);
        return -1;
    case FLAG:
        *(bool *)o->value = true;
        return 0;
    case TEXT:
        *(const char **)o->value = text;
        return 0;
    case NAME:
        return option_choice(name, text, o->names, (int)o->high, o->value);
    }
    return -1;
}

/* 0 go on, 1 help was given, -1 complained. */
static int parse(int argc, char **argv, struct options *o) {
    static const char *const losses[] = {"mean", "mse"}, *const inits[] = {"truncated", "normal"};
    int loss = OBJECTIVE_mse, init = 0, optimizer = UPDATE_adamw;
    const double many = 0x1p31;
    const struct option_row table[] = {
        {"dim", COUNT, &o->dim, 1, many, NULL},
        {"layers", COUNT, &o->layers, 1, 65536, NULL},
        {"batch", COUNT, &o->batch, 1, many, NULL},
        {"seq", COUNT, &o->seq, 1, many, NULL},
        {"vocab", COUNT, &o->vocab, 2, 65536, NULL},
        {"micro-batches", COUNT, &o->micro_batches, 1, 65536, NULL},
        {"steps", COUNT, &o->steps, 1, 1e9, NULL},
        {"save-every", COUNT, &o->save_every, 1, 1e9, NULL},
        {"seed", COUNT, &o->seed, 0, 0x1p53, NULL},
        {"lr", NUMBER, &o->lr, 0, 1e6, NULL},
        {"beta1", NUMBER, &o->beta1, 0, 1 - 1e-9, NULL},
        {"beta2", NUMBER, &o->beta2, 0, 1 - 1e-9, NULL},
        {"eps", NUMBER, &o->eps, 0, 1, NULL},
        {"weight-decay", NUMBER, &o->decay, 0, 1e6, NULL},
        {"clip", NUMBER, &o->spec.hyper.clip, 1e-30, 1e30, NULL},
        {"target", NUMBER, &o->spec.goal, -1e30, 1e30, NULL},
        {"loss", NAME, &loss, 0, 2, losses},
        {"init", NAME, &init, 0, 2, inits},
        {"dtype", NAME, &o->precision, 0, PRECISIONS, precision_names},
        {"optimizer", NAME, &optimizer, 0, UPDATES, update_names},
        {"loss-scale", TEXT, &o->loss_scale, 0, 0, NULL},
        {"checkpoint", TEXT, &o->checkpoint, 0, 0, NULL},
        {"data", TEXT, &o->data, 0, 0, NULL},
        {"out", TEXT, &o->out, 0, 0, NULL},
        {"peaks", TEXT, &o->peaks, 0, 0, NULL},
        {"save", TEXT, &o->save, 0, 0, NULL},
        {"device", TEXT, &o->device, 0, 0, NULL},
        {"threads", TEXT, &o->threads, 0, 0, NULL},
        {"master", FLAG, &o->spec.model.master, 0, 0, NULL},
        {"grad-norm", FLAG, &o->spec.norm, 0, 0, NULL},
        {"resume", FLAG, &o->resume, 0, 0, NULL},
        {"dry-run", FLAG, &o->dry_run, 0, 0, NULL},
        {"quiet", FLAG, &o->quiet, 0, 0, NULL},
    };
    enum { ROWS = sizeof table / sizeof *table, FIRST = 256 };
    struct option longs[ROWS + 2] = {{NULL, 0, NULL, 0}};
    int c;
    for (int i = 0; i < ROWS; i++)
        longs[i] =
            (struct option){table[i].name, table[i].kind == FLAG ? no_argument : required_argument,
                            NULL, FIRST + i};
    longs[ROWS] = (struct option){"help", no_argument, NULL, 'h'};
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (c == 'h') {
            help();
            return 1;
        }
        if (c < FIRST || take(&table[c - FIRST], optarg)) return -1;
    }
    if (option_no_operands(argc, argv, optind)) return -1;
    if (o->resume && !o->save) {
        fprintf(stderr, "roofline: --resume needs --save FILE\n");
        return -1;
    }
    if (o->save_every > 0 && !o->save) {
        fprintf(stderr, "roofline: --save-every needs --save FILE\n");
        return -1;
    }
    if (o->spec.goal != 0 && loss != OBJECTIVE_mean) {
        fprintf(stderr, "roofline: --target is of --loss mean\n");
        return -1;
    }
    if (o->data && loss != OBJECTIVE_mse) {
        fprintf(stderr, "roofline: --loss is not for --data, whose loss is cross-entropy\n");
        return -1;
    }
    if (!o->data && (o->seq > 0 || o->vocab > 0)) {
        fprintf(stderr, "roofline: --seq and --vocab need --data FILE\n");
        return -1;
    }
    o->spec.plain_normal = init == 1;
    o->spec.seed = (uint64_t)o->seed;
    o->spec.model.update = (enum update)optimizer;
    o->spec.model.objective = o->data ? OBJECTIVE_cross_entropy : (enum objective)loss;
    return 0;
}

/* "none", "every-layer", "sqrt", "input" or a number of layers. */
static int set_keep(struct options *o) {
    struct model_config *c = &o->spec.model;
    const char *text = o->checkpoint ? o->checkpoint : "none";
    double layers;
    c->keep = KEEP_segments;
    if (strcmp(text, "none") == 0) {
        c->keep = KEEP_all;
    } else if (strcmp(text, "input") == 0) {
        c->keep = KEEP_input;
    } else if (strcmp(text, "every-layer") == 0) {
        c->segment = 1;
    } else if (strcmp(text, "sqrt") == 0) {
        c->segment = (int64_t)ceil(sqrt((double)c->layers));
    } else {
        char *end;
        layers = strtod(text, &end);
        if (*end || end == text || layers < 1 || layers > (double)c->layers ||
            layers != floor(layers)) {
            fprintf(stderr,
                    "roofline: --checkpoint '%s': none, every-layer, sqrt, input or a number of "
                    "layers up to %lld\n",
                    text, (long long)c->layers);
            return -1;
        }
        c->segment = (int64_t)layers;
    }
    return 0;
}

static int set_loss_scale(struct options *o) {
    struct loss_scaling *s = &o->spec.scaling;
    const bool fp16 = o->spec.model.precision == PRECISION_fp16;
    const char *text = o->loss_scale ? o->loss_scale : fp16 ? "dynamic" : "1";
    *s = (struct loss_scaling){.on = true, .scale = 0x1p16, .patience = 2000};
    if (strcmp(text, "dynamic") == 0) return 0;
    s->patience = 0;
    if (option_number("--loss-scale", text, 0x1p-30, 0x1p30, &s->scale)) return -1;
    s->on = s->scale != 1;
    return 0;
}

/* A size for what none was asked: a fraction of a second a step. */
struct sizes {
    double dim, layers, batch, seq;
};

static void set_sizes(struct options *o, const struct device *d) {
    static const struct sizes usual[2][2] = {{{1024, 4, 256, 1}, {4096, 8, 8192, 1}},
                                             {{128, 2, 16, 64}, {1024, 4, 64, 512}}};
    const struct sizes *s = &usual[o->data != NULL][d->gpu && !d->emulated];
    if (o->dim <= 0) o->dim = s->dim;
    if (o->layers <= 0) o->layers = s->layers;
    if (o->batch <= 0) o->batch = s->batch;
    if (o->seq <= 0) o->seq = s->seq;
}

static int set_vocabulary(struct options *o, const struct token_file *tokens) {
    enum { WHOLE = 64 };
    const int64_t least = tokens->largest + 1, full = (least + WHOLE - 1) / WHOLE * WHOLE;
    o->spec.model.vocab = o->vocab > 0 ? (int64_t)o->vocab : full;
    if (o->spec.model.vocab < least) {
        fprintf(stderr, "roofline: --vocab %lld: '%s' has token %lld\n",
                (long long)o->spec.model.vocab, o->data, (long long)tokens->largest);
        return -1;
    }
    if (tokens->count > (int64_t)o->seq) return 0;
    fprintf(stderr, "roofline: '%s' has %lld tokens, a sequence takes %g and one more\n", o->data,
            (long long)tokens->count, o->seq);
    return -1;
}

/* What the device, the data and the defaults leave open. */
static int complete(struct options *o, const struct device *d, const struct token_file *tokens) {
    struct train_spec *s = &o->spec;
    struct model_config *c = &s->model;
    const struct hyperparameters usual = hyperparameters_for(c->update);
    int threads[MAX_THREAD_COUNTS];
    set_sizes(o, d);
    if (o->data && set_vocabulary(o, tokens)) return -1;
    c->dim = (int64_t)o->dim;
    c->layers = (int64_t)o->layers;
    c->rows = (int64_t)(o->batch * o->seq);
    c->micro_batches = (int64_t)o->micro_batches;
    c->precision = o->precision >= 0 ? (enum precision)o->precision
                   : d->gpu          ? PRECISION_bf16
                                     : PRECISION_fp32;
    s->hyper.lr = isnan(o->lr) ? usual.lr : o->lr;
    s->hyper.beta1 = isnan(o->beta1) ? usual.beta1 : o->beta1;
    s->hyper.beta2 = isnan(o->beta2) ? usual.beta2 : o->beta2;
    s->hyper.eps = isnan(o->eps) ? usual.eps : o->eps;
    s->hyper.decay = isnan(o->decay) ? usual.decay : o->decay;
    if (threads_parse(d, o->threads ? o->threads : "all", threads) != 1) {
        if (o->threads)
            fprintf(stderr, "roofline: --threads '%s': one number, or all\n", o->threads);
        return -1;
    }
    s->threads = threads[0];
    if (set_keep(o) || set_loss_scale(o)) return -1;
    const char *why = model_refuses(c);
    if (why) fprintf(stderr, "roofline: train: %s\n", why);
    return why ? -1 : 0;
}

/* ---- the run ---- */

struct history {
    struct loss_point *point;
    double *seconds[ROW_PHASES]; /* [step] */
    size_t count, room;
};

static int history_add(struct history *h, const struct loss_point *p, const struct step_result *s) {
    if (h->count == h->room) {
        h->room = h->room ? 2 * h->room : 256;
        void *more = realloc(h->point, h->room * sizeof *h->point);
        if (!more) return -1;
        h->point = more;
        for (int i = 0; i < ROW_PHASES; i++) {
            more = realloc(h->seconds[i], h->room * sizeof *h->seconds[i]);
            if (!more) return -1;
            h->seconds[i] = more;
        }
    }
    h->seconds[ROW_forward][h->count] = s->seconds[PHASE_forward];
    h->seconds[ROW_backward][h->count] = s->seconds[PHASE_backward];
    h->seconds[ROW_optimizer][h->count] = s->seconds[PHASE_norm] + s->seconds[PHASE_update];
    h->seconds[ROW_step][h->count] = s->step_s;
    h->point[h->count++] = *p;
    return 0;
}

static void history_free(struct history *h) {
    free(h->point);
    for (int i = 0; i < ROW_PHASES; i++) free(h->seconds[i]);
}

/* About ten lines, whatever the number of steps. */
static void print_step(const struct loss_point *p, int64_t last, bool quiet) {
    const int64_t every = last > 20 ? (last + 9) / 10 : 1;
    if (quiet || (p->step % every != 0 && p->step != 1 && p->step != last)) return;
    printf("step %lld  loss %.6g", (long long)p->step, p->loss);
    if (!isnan(p->grad_norm)) printf("  gradient %.4g", p->grad_norm);
    if (p->loss_scale != 1) printf("  loss scale %g", p->loss_scale);
    if (p->skipped) printf("  skipped: gradients are not finite");
    putchar('\n');
    fflush(stdout);
}

/* Steps until the last, an interruption or a failure. */
static int run_steps(struct options *o, struct trainer *t, struct batch_ahead *batches,
                     uint64_t data, int64_t last, struct history *h, struct train_results *r) {
    const int64_t first = t->step + 1, rows = t->spec.model.rows;
    while (t->step < last && !interrupted) {
        struct step_result s;
        const double scale = t->spec.scaling.on ? t->spec.scaling.scale : 1;
        const double start = os_now_s();
        if (batches) {
            const int32_t *batch = batch_ahead_next(batches);
            if (trainer_set_tokens(t, batch, batch + rows)) return -1;
        }
        if (trainer_step(t, &s)) return -1;
        s.step_s =
            os_now_s() - start; /* what the device does not see as well: batch, scalars, results */
        const struct loss_point p = {t->step, s.loss, s.grad_norm, scale, s.step_s, s.skipped};
        if (history_add(h, &p, &s)) {
            perror("roofline: train");
            return -1;
        }
        r->skipped += s.skipped;
        print_step(&p, last, o->quiet);
        const bool due = o->save_every > 0 && t->step % (int64_t)o->save_every == 0;
        /* what is no number any more does not take the place of a checkpoint that was */
        if (!isfinite(s.loss) && !s.skipped) continue;
        if (!o->save || (!due && t->step < last && !interrupted)) continue;
        /* losses first: a checkpoint never stands for steps that loss.csv lacks */
        if (o->out && results_write_losses(o->out, t, h->point, h->count, first)) return -1;
        if (checkpoint_save(t, o->save, data)) return -1;
    }
    return 0;
}

/* Medians without the first steps, in which caches, clocks and allocations settle, and without those that updated nothing,
 * unless there are no others. */
static void take_times(struct train_results *r, struct history *h) {
    const size_t warm = h->count >= 12 ? 3 : h->count / 4;
    for (int p = 0; p < ROW_PHASES && h->count; p++) {
        double *seconds = h->seconds[p];
        size_t n = 0;
        for (size_t i = warm; i < h->count; i++)
            if (!h->point[i].skipped) seconds[n++] = seconds[i];
        if (n == 0) n = h->count;
        results_time(r, (enum row_phase)p, seconds, n);
    }
}

static int finish(struct options *o, struct trainer *t, const struct ceilings *ceilings,
                  struct history *h, struct train_results *r, int64_t first) {
    const bool look = t->spec.scaling.on || t->spec.hyper.clip > 0 || t->spec.norm;
    if (h->count == 0) {
        if (interrupted) return STATUS_INTERRUPTED;
        printf("nothing left to do: %lld steps are done\n", (long long)t->step);
        return STATUS_OK;
    }
    results_cost(r, t, ceilings, look);
    results_peak(r, t);
    take_times(r, h);
    r->steps = (int64_t)h->count;
    r->first_loss = h->point[0].loss;
    r->last_loss = h->point[h->count - 1].loss;
    if (t->device->emulated)
        printf("\nan emulated device: what is computed counts, times do not\n");
    else
        results_print_phases(stdout, &t->spec, r);
    if (r->skipped)
        printf("%lld of %lld steps updated nothing: gradients were not finite\n",
               (long long)r->skipped, (long long)r->steps);
    if (t->spec.model.vocab)
        printf("loss %.4f -> %.4f; uniform over the vocabulary: ln V = %.4f\n", r->first_loss,
               r->last_loss, log((double)t->spec.model.vocab));
    if (o->out &&
        (results_write_losses(o->out, t, h->point, h->count, first) || results_write(o->out, t, r)))
        return STATUS_ERROR;
    if (interrupted) return STATUS_INTERRUPTED;
    if (isfinite(r->last_loss)) return STATUS_OK;
    fprintf(stderr, "roofline: train: the loss is not finite after step %lld: it diverged\n",
            (long long)t->step);
    return STATUS_NO;
}

static int train(struct options *o, struct device *d, const struct token_file *tokens,
                 const struct ceilings *ceilings, int argc, char **argv) {
    struct trainer t = {.device = NULL};
    struct history h = {.count = 0};
    struct train_results r = {.peak_gflop_s = NAN, .peak_source = ""};
    struct batch_ahead *batches = NULL;
    int32_t *buffer[2] = {NULL, NULL};
    /* of the file and how it is cut: the rows of a step are batch x seq */
    const uint64_t data = o->data ? tokens->digest ^ (uint64_t)o->seq << 32 : 0;
    const size_t batch_bytes = 2 * (size_t)o->spec.model.rows * sizeof(int32_t);
    int status = STATUS_ERROR;
    if (d->open(d)) {
        fprintf(stderr, "roofline: device '%s' cannot be opened\n", d->name);
        return STATUS_ERROR;
    }
    if (o->save && checkpoint_may_save(o->save)) goto done;
    if (trainer_begin(&t, d, &o->spec)) goto done;
    if (o->resume && access(o->save, F_OK) == 0) {
        if (checkpoint_load(&t, o->save, data)) goto done;
        printf("going on from '%s' after step %lld\n", o->save, (long long)t.step);
    }
    if (o->out && (make_directory(o->out) || run_info_write(o->out, d, argc, argv))) goto done;
    if (o->data) {
        for (int i = 0; i < 2; i++)
            if (!(buffer[i] = d->host_alloc(d, batch_bytes))) break;
        if (buffer[1])
            batches = batch_ahead_begin(tokens, o->spec.seed, t.step, (int64_t)o->batch,
                                        (int64_t)o->seq, buffer);
        if (!batches) {
            fprintf(stderr, "roofline: train: no memory for batches\n");
            goto done;
        }
    }
    results_memory(&r, &t);
    results_print_plan(stdout, &o->spec, &r);
    putchar('\n');
    const int64_t first = t.step + 1;
    if (run_steps(o, &t, batches, data, (int64_t)o->steps, &h, &r)) goto done;
    results_memory(&r, &t);
    status = finish(o, &t, ceilings, &h, &r, first);
done:
    batch_ahead_end(batches);
    for (int i = 0; i < 2; i++)
        if (buffer[i]) d->host_release(d, buffer[i], batch_bytes);
    history_free(&h);
    trainer_end(&t);
    return status;
}

int cmd_train(int argc, char **argv) {
    struct options o = {.micro_batches = 1,
                        .steps = 20,
                        .precision = -1,
                        .lr = NAN,
                        .beta1 = NAN,
                        .beta2 = NAN,
                        .eps = NAN,
                        .decay = NAN};
    struct token_file tokens = {.token = NULL};
    struct ceilings ceilings = {0};
    struct device device;
    const int parsed = parse(argc, argv, &o);
    if (parsed) return parsed > 0 ? STATUS_OK : STATUS_ERROR;
    if (o.data && token_file_open(&tokens, o.data)) return STATUS_ERROR;
    if (device_pick(o.device, &device)) {
        token_file_close(&tokens);
        return STATUS_ERROR;
    }
    int status = STATUS_ERROR;
    if (complete(&o, &device, &tokens)) goto done;
    if (o.dry_run) {
        const struct train_results r = {.predicted = model_bytes(&o.spec.model)};
        results_print_plan(stdout, &o.spec, &r);
        status = STATUS_OK;
        goto done;
    }
    if (ceilings_load(o.peaks, o.out, &device, &ceilings)) goto done;
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    status = train(&o, &device, &tokens, ceilings.count ? &ceilings : NULL, argc, argv);
done:
    free(ceilings.ceiling);
    token_file_close(&tokens);
    device.close(&device);
    return status;
}
