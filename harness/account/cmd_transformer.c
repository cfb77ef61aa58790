/* cmd_transformer.c - roofline account transformer: what a model's sizes imply. */
#include "calculators.h"
#include "count.h"
#include "flags.h"
#include "gpu.h"
#include "hf_config.h"
#include "training_memory.h"
#include "training_time.h"

#include "../commands.h"

#include <math.h>
#include <string.h>

static const char help[] =
    "Usage: roofline account transformer (--config FILE | sizes) [options]\n"
    "\n"
    "Parameters by part, FLOPs a token, KV cache, activations and training time of a decoder-only "
    "transformer.\n"
    "\n"
    "  --config FILE     config.json of Hugging Face: gpt2 llama mistral mixtral qwen2 qwen2_moe "
    "qwen3 qwen3_moe\n"
    "                    deepseek_v2 deepseek_v3; mixtures of experts and MLA as they are, MTP "
    "modules left out\n"
    "  --arch KIND       instead: gpt (LayerNorm, biases, MLP of 4h, learned positions, tied, "
    "dropout) or\n"
    "                    llama (RMSNorm, no biases, SwiGLU, rotary positions, untied)\n"
    "  --vocab V --hidden H --layers L --heads A [--kv-heads K] [--ffn F] [--positions P]\n"
    "  --batch B         sequences (default 1)\n"
    "  --seq S           tokens a sequence (default: the model's longest, at most 4096)\n"
    "  --dtype TYPE      of parameters, activations and KV cache (default bf16)\n"
    "  --recompute WHAT  none, selective, full (as in 'account memory')\n"
    "  --flash           no s x s attention matrices are kept\n"
    "  --full-attention  count attention's masked half as well, as 6ND + 12 L h s formulas do\n"
    "  --tokens D --gpu NAME [--count C] [--mfu F]   training time, by exact FLOPs and by 6ND\n"
    "\n"
    "FLOPs: 2 a weight and token, of matrices only; attention 2 L (q + v widths) a token seen; "
    "backward twice forward.\n"
    "Activations tensor by tensor as Korthikanti et al. 2022 count them.\n"
    "\n"
    "Examples: GPT-2 has 124,439,808 parameters; GPT-3 174.6e9:\n"
    "  roofline account transformer --config tests/data/account/gpt2.json --batch 8 --seq 1024\n"
    "  roofline account transformer --arch gpt --vocab 50257 --hidden 12288 --layers 96 --heads 96 "
    "--positions 2048\n";

struct question {
    const char *config, *gpu;
    int64_t vocab, hidden, layers, heads, kv_heads, ffn, positions, batch, seq;
    int arch, dtype, recompute;
    bool flash, full_attention;
    double tokens, count, mfu;
};

static int model_of_sizes(const struct question *q, struct transformer *m, struct complaint *why) {
    const bool gpt = q->arch == 0;
    if (!q->vocab || !q->hidden || !q->layers || !q->heads)
        return complain(why,
                        "transformer: say --config, or --arch with --vocab, --hidden, --layers "
                        "and --heads");
    if (q->hidden % q->heads)
        return complain(why, "transformer: --hidden %lld is no multiple of --heads %lld",
                        (long long)q->hidden, (long long)q->heads);
    if (!gpt && !q->ffn) return complain(why, "transformer: --arch llama needs --ffn");
    *m = (struct transformer){.vocab = q->vocab,
                              .hidden = q->hidden,
                              .layers = q->layers,
                              .heads = q->heads,
                              .kv_heads = q->kv_heads ? q->kv_heads : q->heads,
                              .head_dim = q->hidden / q->heads,
                              .ffn = q->ffn ? q->ffn : count_mul(4, q->hidden),
                              .positions = gpt ? q->positions : 0,
                              .max_seq = q->positions,
                              .tied = gpt,
                              .gated = !gpt,
                              .layer_norm = gpt,
                              .qkv_bias = gpt,
                              .out_bias = gpt,
                              .mlp_bias = gpt,
                              .dropout = gpt};
    if (gpt && !q->positions)
        return complain(why, "transformer: --arch gpt needs --positions, 1024 for GPT-2");
    snprintf(m->family, sizeof m->family, "%s", gpt ? "gpt" : "llama");
    return transformer_check(m, why);
}

static void say_part(struct answer *a, const char *name, int64_t part) {
    if (part) answer_count(a, name, part, "", NULL);
}

static void say_parameters(struct answer *a, const struct transformer *m,
                           const struct parameter_counts *c, enum dtype t) {
    const struct text V = grouped(m->vocab), h = grouped(m->hidden), L = grouped(m->layers);
    answer_text(a, "model", "%s: %s layers of %s, %s heads, %s", m->family, L.text, h.text,
                grouped(m->heads).text,
                m->kv_rank                ? "multi-head latent attention"
                : m->kv_heads == m->heads ? "multi-head attention"
                : m->kv_heads == 1        ? "multi-query attention"
                                          : "grouped-query attention");
    answer_count(a, "embedding", c->embedding, "", "V h = %s x %s", V.text, h.text);
    say_part(a, "positions", c->positions);
    answer_count(a, "attention", c->attention, "", "%s layers x %s", L.text,
                 grouped(c->attention / m->layers).text);
    if (c->mlp)
        answer_count(a, "mlp", c->mlp, "", "%s layers x %s",
                     grouped(m->layers - m->sparse_layers).text,
                     grouped(c->mlp / (m->layers - m->sparse_layers)).text);
    if (c->experts)
        answer_count(a, "experts", c->experts, "", "%s layers x %s experts x %s",
                     grouped(m->sparse_layers).text, grouped(m->experts).text,
                     grouped(c->experts / m->sparse_layers / m->experts).text);
    say_part(a, "shared_experts", c->shared_experts);
    say_part(a, "routers", c->router);
    say_part(a, "norms", c->norms);
    if (m->tied)
        answer_text(a, "output_layer", "the embedding again (tied)");
    else
        answer_count(a, "output_layer", c->head, "", "V h = %s x %s", V.text, h.text);
    answer_count(a, "parameters", c->total, "", "the sum");
    if (c->active != c->total)
        answer_count(a, "active_parameters", c->active, "", "%s of %s experts",
                     grouped(m->active_experts).text, grouped(m->experts).text);
    answer_count(a, "parameter_bytes", bytes_of(value_bits_16(t), c->total), "B", "%g N (%s)",
                 value_bytes(t), dtypes[t].name);
}

static double say_flops(struct answer *a, const struct question *q, const struct transformer *m,
                        const struct parameter_counts *c) {
    const struct token_flops f = transformer_flops(m, q->seq);
    const double attention = q->full_attention ? f.attention : f.causal_attention;
    const double forward = f.matmul + attention, step = 3 * forward;
    answer_real(a, "matmul_flops_a_token", f.matmul, "FLOP", "2 x %s weights of matrices",
                grouped(transformer_matmul_weights(m)).text);
    answer_real(a, "attention_flops_a_token", f.attention, "FLOP",
                "2 L (q + v widths) %s = 2 x %s x %s x %s",
                m->window && m->window < q->seq ? "window" : "s", grouped(m->layers).text,
                figure(f.width).text, figure(f.reach).text);
    answer_real(a, "causal_attention_flops_a_token", f.causal_attention, "FLOP",
                "the half that the mask leaves: %s tokens seen on average", figure(f.seen).text);
    answer_real(a, "forward_flops_a_token", forward, "FLOP", "matmul + %sattention",
                q->full_attention ? "" : "causal ");
    answer_real(a, "backward_flops_a_token", 2 * forward, "FLOP", "2 x forward");
    answer_real(a, "training_flops_a_token", step, "FLOP", "3 x forward");
    answer_real(a, "flops_a_token_by_6N", 6 * (double)c->active, "FLOP", "6 x %s%s",
                grouped(c->active).text, c->active != c->total ? " active" : "");
    answer_real(a, "exact_by_6N", step / (6 * (double)c->active), "", "%s / %s", figure(step).text,
                figure(6 * (double)c->active).text);
    answer_real(a, "flops_a_step", step * (double)q->batch * (double)q->seq, "FLOP",
                "%s x B s = %s x %s x %s", figure(step).text, figure(step).text,
                grouped(q->batch).text, grouped(q->seq).text);
    return step;
}

static int say_memory(struct answer *a, const struct question *q, const struct transformer *m,
                      struct complaint *why) {
    const enum dtype t = (enum dtype)q->dtype;
    const int64_t token = kv_cache_token(m, t), kept = kv_cache_tokens(m, q->seq);
    const int64_t cache = count_mul(count_mul(token, kept), q->batch);
    const struct stages alone = {.tensor = 1, .pipeline = 1, .micro_batches = 1};
    const int64_t layers = transformer_layer_activations(m, (enum recompute)q->recompute, t, q->seq,
                                                         q->batch, q->flash, &alone);
    const int64_t logits =
        count_mul(count_mul(q->seq, q->batch), count_mul(4, m->vocab)); /* fp32 */
    if (cache == COUNT_OVERFLOW || count_add(layers, logits) == COUNT_OVERFLOW)
        return complain(why, "transformer: more than 2^63 bytes");
    if (m->kv_rank)
        answer_count(a, "kv_cache_a_token", token, "B",
                     "L x (kv rank + rotary) = %s x (%s + %s) x %g B", grouped(m->layers).text,
                     grouped(m->kv_rank).text, grouped(m->rope_dim).text, value_bytes(t));
    else
        answer_count(a, "kv_cache_a_token", token, "B",
                     "2 L x key-value heads x d = 2 x %s x %s x %s x %g B", grouped(m->layers).text,
                     grouped(m->kv_heads).text, grouped(m->head_dim).text, value_bytes(t));
    answer_count(a, "kv_cache", cache, "B", "%s x %s sequences x %s tokens%s", grouped(token).text,
                 grouped(q->batch).text, grouped(kept).text, kept < q->seq ? " (window)" : "");
    answer_count(a, "activations", layers, "B", "layers, recompute %s%s",
                 recompute_names[q->recompute], q->flash ? ", flash attention" : "");
    answer_count(a, "logits", logits, "B", "4 s b V = 4 x %s x %s x %s (fp32)",
                 grouped(q->seq).text, grouped(q->batch).text, grouped(m->vocab).text);
    return 0;
}

static int say_training(struct answer *a, const struct question *q,
                        const struct parameter_counts *c, double flops_a_token,
                        struct complaint *why) {
    const struct gpu_spec *gpu = q->gpu ? gpu_named(q->gpu, why) : NULL;
    const bool tokens = q->tokens > 0;
    if (!tokens && !q->gpu) return 0;
    if (!tokens || !q->gpu)
        return complain(why, "transformer: training time needs --tokens and --gpu");
    if (!gpu) return -1;
    struct training_run run = {.factor = 6,
                               .count = q->count,
                               .mfu = q->mfu,
                               .peak = gpu_peak(gpu, (enum dtype)q->dtype, why)};
    if (isnan(run.peak)) return -1;
    struct training_run rule = run;
    run.flops = flops_a_token * q->tokens;
    rule.flops = 6 * (double)c->active * q->tokens;
    training_time(&run);
    training_time(&rule);
    if (!isfinite(run.seconds)) return complain(why, "transformer: the figures are too large");
    answer_text(a, "gpu", "%s", gpu->name);
    answer_real(a, "training_flops", run.flops, "FLOP", "%s x %s tokens",
                figure(flops_a_token).text, figure(q->tokens).text);
    answer_real(a, "days", run.seconds / 86400, "days", "FLOPs / (%s x %s x %s) / 86400",
                figure(q->count).text, figure(run.peak).text, figure(q->mfu).text);
    answer_real(a, "days_by_6ND", rule.seconds / 86400, "days", "6 x %s x %s, the same way",
                figure((double)c->active).text, figure(q->tokens).text);
    return 0;
}

static int answer(struct answer *a, struct question *q, struct complaint *why) {
    struct transformer m = {.vocab = 0};
    if (q->config && q->vocab) return complain(why, "transformer: --config or sizes, not both");
    if (q->config ? hf_config_load(q->config, &m, why) : model_of_sizes(q, &m, why)) return -1;
    if (!q->seq) q->seq = m.max_seq && m.max_seq < 4096 ? m.max_seq : 4096;
    if (m.positions && q->seq > m.positions)
        return complain(why, "transformer: --seq %lld, but %lld learned positions",
                        (long long)q->seq, (long long)m.positions);
    const struct parameter_counts c = transformer_parameters(&m);
    say_parameters(a, &m, &c, (enum dtype)q->dtype);
    const double flops = say_flops(a, q, &m, &c);
    if (say_memory(a, q, &m, why)) return -1;
    return say_training(a, q, &c, flops, why);
}

int account_transformer(int argc, char **argv) {
    static const char *const kinds[] = {"gpt", "llama", NULL};
    static const char *const recompute[] = {"none", "selective", "full", NULL};
    static struct answer a;
    struct complaint why;
    struct question q = {.batch = 1, .dtype = DT_bf16, .count = 1, .mfu = 0.5};
    const struct flag flags[] = {{"config", FLAG_TEXT, &q.config, NULL},
                                 {"arch", FLAG_CHOICE, &q.arch, kinds},
                                 {"vocab", FLAG_COUNT, &q.vocab, NULL},
                                 {"hidden", FLAG_COUNT, &q.hidden, NULL},
                                 {"layers", FLAG_COUNT, &q.layers, NULL},
                                 {"heads", FLAG_COUNT, &q.heads, NULL},
                                 {"kv-heads", FLAG_COUNT, &q.kv_heads, NULL},
                                 {"ffn", FLAG_COUNT, &q.ffn, NULL},
                                 {"positions", FLAG_COUNT, &q.positions, NULL},
                                 {"batch", FLAG_COUNT, &q.batch, NULL},
                                 {"seq", FLAG_COUNT, &q.seq, NULL},
                                 {"dtype", FLAG_DTYPE, &q.dtype, NULL},
                                 {"recompute", FLAG_CHOICE, &q.recompute, recompute},
                                 {"flash", FLAG_SET, &q.flash, NULL},
                                 {"full-attention", FLAG_SET, &q.full_attention, NULL},
                                 {"tokens", FLAG_QUANTITY, &q.tokens, NULL},
                                 {"gpu", FLAG_TEXT, &q.gpu, NULL},
                                 {"count", FLAG_QUANTITY, &q.count, NULL},
                                 {"mfu", FLAG_FRACTION, &q.mfu, NULL},
                                 {.name = NULL}};
    int operands;
    const enum flags_result result = flags_read(argc, argv, flags, &a, help, &operands);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? STATUS_OK : STATUS_ERROR;
    if (account_no_operands(argv, operands)) return STATUS_ERROR;
    if (answer(&a, &q, &why)) return account_refuse(&why);
    return account_print(&a);
}
