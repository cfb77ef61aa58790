/* cmd_memory.c - roofline account memory: bytes of a training run, a device's share, the largest model that fits. */
#include "activations.h"
#include "calculators.h"
#include "count.h"
#include "flags.h"
#include "gpu.h"
#include "hf_config.h"
#include "training_memory.h"

#include "../commands.h"

#include <string.h>

static const char help[] =
    "Usage: roofline account memory [options]\n"
    "\n"
    "What training holds: parameters, gradients, optimizer state, master copy, activations; each "
    "device's share; the\n"
    "largest model that fits into so much memory. Temporaries and fragmentation come on top.\n"
    "\n"
    "  --params N              parameters; without it the largest N is found\n"
    "  --dtype TYPE            of parameters and activations (default bf16)\n"
    "  --grad-dtype TYPE       of gradients (default: as --dtype)\n"
    "  --optimizer NAME        none sgd momentum adagrad rmsprop adam adamw (default adamw)\n"
    "  --optimizer-dtype TYPE  of its state (default fp32)\n"
    "  --master                an fp32 master copy of the parameters\n"
    "  --inference             parameters only\n"
    "Devices:\n"
    "  --gpus C                how many (default 1)\n"
    "  --gpu-memory BYTES      of each: 80e9, 80GB, 80GiB; or --gpu NAME, by its data sheet\n"
    "  --zero STAGE            over the data-parallel devices 1 divides optimizer state and master "
    "copy, 2 gradients too,\n"
    "                          3 parameters too (default: 3, everything is held once)\n"
    "  --tp T, --pp P, --dp D  degrees of tensor, pipeline and data parallelism (default: 1, 1, "
    "what --gpus leaves)\n"
    "Activations:\n"
    "  --config FILE --batch B --seq S\n"
    "                          of a Hugging Face config.json, whose parameters are counted too\n"
    "  --layers L --hidden H --batch B --seq S --heads A\n"
    "                          of a transformer with 4h-wide MLPs and dropout\n"
    "  --layers L --hidden H --batch B\n"
    "                          of a DeepNetwork: L layers h x h, N = h^2 L\n"
    "                          B: rows or sequences of a data-parallel replica; P stages run under "
    "1F1B\n"
    "  --accumulate K          micro-batches of B / K\n"
    "  --recompute WHAT        none; selective: attention's scores; full: all but layers' inputs; "
    "sqrt: all but the inputs\n"
    "                          of every sqrt(L)-th layer; all: everything, each layer from the "
    "start\n"
    "  --sequence-parallel     divides norms and dropout over T too\n"
    "  --flash                 no s x s matrices are kept\n"
    "  --no-dropout            no masks are kept\n"
    "\n"
    "Sources: Rajbhandari et al. 2020 (ZeRO, section 5); Korthikanti et al. 2022 (section 4): a "
    "layer keeps\n"
    "s b h (34 + 5 a s / h) bytes in 16 bits, with T and sequence parallelism divided by T.\n"
    "\n"
    "Examples: AdamW on 8 x 80 GB trains at most 53.3e9 parameters; a network of 3 layers, 4 wide, "
    "takes 432 bytes:\n"
    "  roofline account memory --gpus 8 --gpu-memory 80e9 --dtype bf16 --optimizer adamw\n"
    "  roofline account memory --layers 3 --hidden 4 --batch 2 --dtype bf16 --optimizer adagrad\n";

struct question {
    int64_t params, gpus, memory, tp, pp, dp;
    int64_t layers, hidden, batch, seq, heads, accumulate;
    int dtype, grad_dtype, optimizer, optimizer_dtype, zero, recompute;
    bool master, inference, sequence, flash, no_dropout;
    const char *gpu, *config;
    struct transformer model; /* where there is --config or --seq */
};

static int check_devices(struct question *q, struct complaint *why) {
    if (q->tp == 0) q->tp = 1;
    if (q->pp == 0) q->pp = 1;
    const int64_t model = count_mul(q->tp, q->pp);
    if (q->gpus == 0 && q->dp == 0) q->dp = 1;
    if (q->gpus == 0) q->gpus = count_mul(model, q->dp);
    if (q->gpus == COUNT_OVERFLOW) return complain(why, "memory: too many devices");
    if (q->dp == 0 && q->gpus % model == 0) q->dp = q->gpus / model;
    if (q->dp == 0 || count_mul(model, q->dp) != q->gpus)
        return complain(why, "memory: tp x pp x dp = %lld x %lld x %s is not --gpus %lld",
                        (long long)q->tp, (long long)q->pp,
                        q->dp ? grouped(q->dp).text : "anything", (long long)q->gpus);
    if (!q->gpu) return 0;
    if (q->memory) return complain(why, "memory: --gpu or --gpu-memory, not both");
    const struct gpu_spec *gpu = gpu_named(q->gpu, why);
    if (!gpu) return -1;
    q->memory = (int64_t)(1e9 * gpu->memory_gbyte);
    return 0;
}

/* Sizes out of the config. */
static int check_config(struct question *q, struct complaint *why) {
    if (q->params || q->layers || q->hidden || q->heads)
        return complain(why, "memory: --config, or --params, --layers, --hidden, --heads");
    if (hf_config_load(q->config, &q->model, why)) return -1;
    if ((q->batch != 0) != (q->seq != 0))
        return complain(why, "memory: activations of --config need --batch and --seq");
    q->params = transformer_parameters(&q->model).total;
    if (!q->batch) return 0;
    q->layers = q->model.layers;
    q->hidden = q->model.hidden;
    q->heads = q->model.heads;
    if (q->model.sparse_layers && q->model.sparse_layers < q->layers &&
        (q->recompute == RECOMPUTE_SQRT || q->recompute == RECOMPUTE_ALL))
        return complain(why, "memory: --recompute %s is for layers all alike",
                        recompute_names[q->recompute]);
    return 0;
}

static int check(struct question *q, struct complaint *why) {
    if (check_devices(q, why)) return -1;
    if (q->config && check_config(q, why)) return -1;
    const bool activations = q->layers || q->hidden || q->batch || q->seq || q->heads;
    if (activations && !(q->layers && q->hidden && q->batch))
        return complain(why, "memory: activations need --layers, --hidden and --batch");
    if ((q->seq != 0) != (q->heads != 0))
        return complain(why, "memory: a transformer needs --seq and --heads");
    if (!q->config && q->heads && q->hidden % q->heads)
        return complain(why, "memory: --hidden %lld is no multiple of --heads %lld",
                        (long long)q->hidden, (long long)q->heads);
    if (q->accumulate > 1 && (!activations || q->batch % q->accumulate))
        return complain(why, "memory: --accumulate %lld does not divide --batch",
                        (long long)q->accumulate);
    if (!q->seq && q->recompute == RECOMPUTE_SELECTIVE)
        return complain(why, "memory: --recompute selective is for transformers: --seq, --heads");
    if (q->inference && activations)
        return complain(why, "memory: inference keeps no activations for a backward pass");
    if (activations && !q->seq && (q->tp > 1 || q->pp > 1))
        return complain(why, "memory: --tp and --pp with activations are for transformers");
    if (q->pp > 1 && q->layers && q->layers < q->pp)
        return complain(why, "memory: --pp %lld of %lld layers", (long long)q->pp,
                        (long long)q->layers);
    if (q->seq && !q->config)
        q->model = (struct transformer){.layers = q->layers,
                                        .hidden = q->hidden,
                                        .heads = q->heads,
                                        .kv_heads = q->heads,
                                        .head_dim = q->hidden / q->heads,
                                        .ffn = count_mul(4, q->hidden),
                                        .dropout = !q->no_dropout};
    if (activations && !q->seq && !q->params) {
        q->params = count_mul(count_mul(q->hidden, q->hidden), q->layers);
        if (q->params == COUNT_OVERFLOW) return complain(why, "memory: too many parameters");
    }
    if (!q->params && !q->memory)
        return complain(why,
                        "memory: say --params, or --gpu-memory or --gpu for the largest model");
    return 0;
}

static struct parameter_bits bits_of(const struct question *q) {
    struct parameter_bits bits = {.parameters = value_bits_16((enum dtype)q->dtype)};
    if (q->inference) return bits;
    bits.gradients = value_bits_16((enum dtype)(q->grad_dtype < 0 ? q->dtype : q->grad_dtype));
    bits.optimizer = optimizer_states((enum optimizer)q->optimizer) *
                     value_bits_16((enum dtype)q->optimizer_dtype);
    if (q->master) bits.master = value_bits_16(DT_fp32);
    return bits;
}

static void say_parameter(struct answer *a, const struct question *q,
                          const struct parameter_bits *bits) {
    const int states = q->inference ? 0 : optimizer_states((enum optimizer)q->optimizer);
    const double state = value_bytes((enum dtype)q->optimizer_dtype);
    char formula[160];
    int used = snprintf(formula, sizeof formula, "%g (%s parameters)",
                        (double)bits->parameters / 128, dtypes[q->dtype].name);
    if (bits->gradients)
        used += snprintf(formula + used, sizeof formula - (size_t)used, " + %g (gradients)",
                         (double)bits->gradients / 128);
    for (int i = 0; i < states; i++)
        used += snprintf(formula + used, sizeof formula - (size_t)used, " + %g", state);
    if (states)
        used += snprintf(formula + used, sizeof formula - (size_t)used, " (%s of %s)",
                         dtypes[q->optimizer_dtype].name, optimizer_names[q->optimizer]);
    if (bits->master) snprintf(formula + used, sizeof formula - (size_t)used, " + 4 (master copy)");
    answer_real(a, "bytes_a_parameter", (double)parameter_bits_sum(bits) / 128, "B", "%s", formula);
}

/* A kind's bytes; nothing where there is none. */
static void say_kind(struct answer *a, const char *name, int64_t bits, int64_t bytes, double n,
                     int64_t devices) {
    if (!bits) return;
    if (devices > 1)
        answer_count(a, name, bytes, "B", "%g N / %s = %g x %s / %s", (double)bits / 128,
                     grouped(devices).text, (double)bits / 128, figure(n).text,
                     grouped(devices).text);
    else
        answer_count(a, name, bytes, "B", "%g N = %g x %s", (double)bits / 128, (double)bits / 128,
                     figure(n).text);
}

static int64_t say_whole(struct answer *a, const struct question *q,
                         const struct parameter_bits *bits) {
    const struct parallel one = {.zero = 0, .tensor = 1, .pipeline = 1, .data = 1};
    const struct device_bytes bytes = device_bytes(bits, &one, q->params);
    const double n = (double)q->params;
    say_kind(a, "parameters", bits->parameters, bytes.parameters, n, 1);
    say_kind(a, "gradients", bits->gradients, bytes.gradients, n, 1);
    say_kind(a, "optimizer_state", bits->optimizer, bytes.optimizer, n, 1);
    say_kind(a, "master_copy", bits->master, bytes.master, n, 1);
    return device_bytes_sum(&bytes);
}

static int64_t say_share(struct answer *a, const struct question *q,
                         const struct parameter_bits *bits, const struct parallel *p) {
    const struct device_bytes bytes = device_bytes(bits, p, q->params);
    const double n = (double)q->params;
    const int64_t model = count_mul(p->tensor, p->pipeline), all = count_mul(model, p->data);
    say_kind(a, "parameters_a_device", bits->parameters, bytes.parameters, n,
             p->zero >= 3 ? all : model);
    say_kind(a, "gradients_a_device", bits->gradients, bytes.gradients, n,
             p->zero >= 2 ? all : model);
    say_kind(a, "optimizer_state_a_device", bits->optimizer, bytes.optimizer, n,
             p->zero >= 1 ? all : model);
    say_kind(a, "master_copy_a_device", bits->master, bytes.master, n, p->zero >= 1 ? all : model);
    return device_bytes_sum(&bytes);
}

/* One layer's, where all are alike, in the terms of the formula. */
static void say_layer(struct answer *a, const struct question *q, int64_t micro) {
    const bool sparse = q->model.sparse_layers > 0;
    if (sparse && q->model.sparse_layers < q->layers) return;
    const struct layer_shape shape = transformer_layer_shape(&q->model, sparse, q->flash);
    const struct layer_bytes layer = layer_bytes(&shape, (enum dtype)q->dtype, q->seq, micro);
    const double sbh = (double)q->seq * (double)micro * (double)q->hidden;
    const int64_t linear = count_add(layer.outside, layer.inside);
    answer_count(a, "layer_activations", count_add(linear, layer.scores), "B",
                 "s b h (%.4g + %.4g) = %s x %s x %s x (%.4g + %.4g), a micro-batch",
                 (double)linear / sbh, (double)layer.scores / sbh, grouped(q->seq).text,
                 grouped(micro).text, grouped(q->hidden).text, (double)linear / sbh,
                 (double)layer.scores / sbh);
}

static int64_t say_activations(struct answer *a, const struct question *q) {
    const enum recompute r = (enum recompute)q->recompute;
    const int64_t micro = q->batch / q->accumulate, here = (q->layers + q->pp - 1) / q->pp;
    const struct kept kept = kept_layers(r, here);
    if (!q->seq) {
        const int64_t bytes =
            network_activations(r, micro, q->hidden, q->layers, (enum dtype)q->dtype);
        answer_count(a, "activations", bytes, "B", "layers x rows x h x bytes = %s x %s x %s x %g",
                     grouped(count_add(kept.inputs, kept.layers)).text, grouped(micro).text,
                     grouped(q->hidden).text, value_bytes((enum dtype)q->dtype));
        return bytes;
    }
    const struct stages stages = {.tensor = q->tp,
                                  .pipeline = q->pp,
                                  .micro_batches = q->accumulate,
                                  .sequence = q->sequence};
    const int64_t bytes = transformer_layer_activations(&q->model, r, (enum dtype)q->dtype, q->seq,
                                                        micro, q->flash, &stages);
    const int64_t in_flight = q->pp < q->accumulate ? q->pp : q->accumulate;
    say_layer(a, q, micro);
    if (kept.inputs == 0)
        answer_count(a, "activations_a_device", bytes, "B",
                     "%s in flight x %s layers, divided over T = %s%s", grouped(in_flight).text,
                     grouped(kept.layers).text, grouped(q->tp).text,
                     r == RECOMPUTE_SELECTIVE ? ", without scores" : "");
    else
        answer_count(a, "activations_a_device", bytes, "B",
                     "%s in flight x %s inputs + %s layers whole, divided over T = %s",
                     grouped(in_flight).text, grouped(kept.inputs).text, grouped(kept.layers).text,
                     grouped(q->tp).text);
    if (!q->config || q->pp > 1)
        return bytes; /* the last stage has the logits, the first the most layers' */
    const int64_t logits =
        count_mul(count_mul(q->seq, micro), count_mul(4, q->model.vocab)) / q->tp;
    answer_count(a, "logits_a_device", logits, "B", "4 s b V / T = 4 x %s x %s x %s / %s (fp32)",
                 grouped(q->seq).text, grouped(micro).text, grouped(q->model.vocab).text,
                 grouped(q->tp).text);
    return count_add(bytes, logits);
}

/* A step of one data-parallel replica. Of experts only those count that a token meets. */
static void say_flops(struct answer *a, const struct question *q) {
    const double factor = recompute_factor((enum recompute)q->recompute, q->layers);
    const int64_t active = q->config ? transformer_parameters(&q->model).active : q->params;
    const double rows = (double)q->batch * (q->seq ? (double)q->seq : 1);
    answer_real(a, "flops_a_step", factor * rows * (double)active, "FLOP",
                "%g N x %s = %g x %s x %s, a replica%s", factor, q->seq ? "tokens" : "rows", factor,
                figure((double)active).text, figure(rows).text,
                factor > 6 ? ", recomputation included" : "");
}

static int answer(struct answer *a, struct question *q, struct complaint *why) {
    if (check(q, why)) return -1;
    const struct parameter_bits bits = bits_of(q);
    const struct parallel p = {.zero = q->zero, .tensor = q->tp, .pipeline = q->pp, .data = q->dp};
    int64_t total = 0;
    say_parameter(a, q, &bits);
    if (q->params) total = say_whole(a, q, &bits);
    if (q->params && q->gpus > 1) {
        answer_count(a, "all_devices_need", total, "B", "%g x %s, held once",
                     (double)parameter_bits_sum(&bits) / 128, figure((double)q->params).text);
        answer_text(a, "divided", "ZeRO stage %d over %s, tensor %s, pipeline %s", q->zero,
                    grouped(q->dp).text, grouped(q->tp).text, grouped(q->pp).text);
        total = say_share(a, q, &bits, &p);
    }
    int64_t activations = 0;
    if (q->layers) activations = say_activations(a, q);
    total = count_add(total, activations);
    if (total == COUNT_OVERFLOW) return complain(why, "memory: more than 2^63 bytes");
    if (q->params)
        answer_count(a, q->gpus > 1 ? "total_a_device" : "total", total, "B", "the sum%s",
                     q->layers ? "" : ", without activations");
    if (q->params && q->layers) say_flops(a, q);
    if (q->memory && q->params)
        answer_real(a, "of_device_memory", 100 * (double)total / (double)q->memory, "%",
                    "%s / %s%s", figure((double)total).text, figure((double)q->memory).text,
                    total > q->memory ? ": does not fit" : "");
    if (!q->memory || q->params) return 0;
    const double room = (double)q->memory - (double)activations;
    if (room <= 0) return complain(why, "memory: the activations alone do not fit");
    const double largest = largest_model(&bits, &p, room);
    const double a_device = room / largest;
    answer_real(a, "largest_model", (double)(int64_t)largest, "parameters", "%s x %s B / %.4g B%s",
                grouped(q->gpus).text, figure(room).text, a_device * (double)q->gpus,
                q->layers ? "" : ": an upper bound, activations not counted");
    return 0;
}

int account_memory(int argc, char **argv) {
    static const char *const stages[] = {"0", "1", "2", "3", NULL};
    static struct answer a;
    struct complaint why;
    struct question q = {.dtype = DT_bf16,
                         .grad_dtype = -1,
                         .optimizer = OPTIMIZER_ADAMW,
                         .optimizer_dtype = DT_fp32,
                         .zero = 3,
                         .accumulate = 1};
    const struct flag flags[] = {{"params", FLAG_COUNT, &q.params, NULL},
                                 {"dtype", FLAG_DTYPE, &q.dtype, NULL},
                                 {"grad-dtype", FLAG_DTYPE, &q.grad_dtype, NULL},
                                 {"optimizer", FLAG_CHOICE, &q.optimizer, optimizer_names},
                                 {"optimizer-dtype", FLAG_DTYPE, &q.optimizer_dtype, NULL},
                                 {"master", FLAG_SET, &q.master, NULL},
                                 {"inference", FLAG_SET, &q.inference, NULL},
                                 {"gpus", FLAG_COUNT, &q.gpus, NULL},
                                 {"gpu-memory", FLAG_BYTES, &q.memory, NULL},
                                 {"gpu", FLAG_TEXT, &q.gpu, NULL},
                                 {"zero", FLAG_CHOICE, &q.zero, stages},
                                 {"tp", FLAG_COUNT, &q.tp, NULL},
                                 {"pp", FLAG_COUNT, &q.pp, NULL},
                                 {"dp", FLAG_COUNT, &q.dp, NULL},
                                 {"config", FLAG_TEXT, &q.config, NULL},
                                 {"layers", FLAG_COUNT, &q.layers, NULL},
                                 {"hidden", FLAG_COUNT, &q.hidden, NULL},
                                 {"batch", FLAG_COUNT, &q.batch, NULL},
                                 {"seq", FLAG_COUNT, &q.seq, NULL},
                                 {"heads", FLAG_COUNT, &q.heads, NULL},
                                 {"accumulate", FLAG_COUNT, &q.accumulate, NULL},
                                 {"recompute", FLAG_CHOICE, &q.recompute, recompute_names},
                                 {"sequence-parallel", FLAG_SET, &q.sequence, NULL},
                                 {"flash", FLAG_SET, &q.flash, NULL},
                                 {"no-dropout", FLAG_SET, &q.no_dropout, NULL},
                                 {.name = NULL}};
    int operands;
    const enum flags_result result = flags_read(argc, argv, flags, &a, help, &operands);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? STATUS_OK : STATUS_ERROR;
    if (account_no_operands(argv, operands)) return STATUS_ERROR;
    if (answer(&a, &q, &why)) return account_refuse(&why);
    return account_print(&a);
}
