/* hf_config.c - from the keys of each family to sizes. Sources: the configuration and modeling files of Hugging Face
 * transformers for gpt2, llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, deepseek_v2, deepseek_v3. */
#include "hf_config.h"
#include "count.h"
#include "json_file.h"

#include <stdlib.h>
#include <string.h>

const char *const hf_families =
    "gpt2 llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe deepseek_v2 deepseek_v3";

/* Sizes beyond any model, so that sums of a few of them cannot overflow. */
static const int64_t MOST = (int64_t)1 << 40;

/* Reads keys one after the other; the first complaint stays and ends the reading. */
struct reader {
    const json_t *root;
    struct complaint *why;
    bool failed;
};

enum { REQUIRED = -1, MOST_LISTED = 4096, MAX_CONFIG = 1 << 20 };

/* A whole number from low on; absent or null: the default, or a complaint when there is none. */
static int64_t count(struct reader *r, const char *key, int64_t low, int64_t standard) {
    const json_t *value = json_object_get(r->root, key);
    if (r->failed) return low;
    if (!value || json_is_null(value)) {
        if (standard != REQUIRED) return standard;
        complain(r->why, "no \"%s\"", key);
    } else if (!json_is_integer(value)) {
        complain(r->why, "\"%s\" is no whole number", key);
    } else if (json_integer_value(value) < low || json_integer_value(value) > MOST) {
        complain(r->why, "\"%s\" is %lld, not %lld to 2^40", key,
                 (long long)json_integer_value(value), (long long)low);
    } else {
        return json_integer_value(value);
    }
    r->failed = true;
    return low;
}

static bool flag(struct reader *r, const char *key, bool standard) {
    const json_t *value = json_object_get(r->root, key);
    if (r->failed || !value || json_is_null(value)) return standard;
    if (json_is_boolean(value)) return json_is_true(value);
    complain(r->why, "\"%s\" is neither true nor false", key);
    r->failed = true;
    return standard;
}

static bool above_zero(const json_t *root, const char *key, double standard) {
    const json_t *value = json_object_get(root, key);
    return (json_is_number(value) ? json_number_value(value) : standard) > 0;
}

static void read_gpt2(struct reader *r, struct transformer *m) {
    m->vocab = count(r, "vocab_size", 1, 50257);
    m->hidden = count(r, "n_embd", 1, 768);
    m->layers = count(r, "n_layer", 1, 12);
    m->heads = m->kv_heads = count(r, "n_head", 1, 12);
    m->positions = m->max_seq = count(r, "n_positions", 1, count(r, "n_ctx", 1, 1024));
    m->ffn = count(r, "n_inner", 1, 4 * m->hidden);
    m->head_dim = m->hidden / m->heads;
    m->tied = flag(r, "tie_word_embeddings", true);
    m->layer_norm = m->qkv_bias = m->out_bias = m->mlp_bias = true;
    m->dropout = above_zero(r->root, "attn_pdrop", 0.1) || above_zero(r->root, "resid_pdrop", 0.1);
    if (!r->failed && m->hidden % m->heads) {
        complain(r->why, "n_embd %lld is no multiple of n_head %lld", (long long)m->hidden,
                 (long long)m->heads);
        r->failed = true;
    }
}

/* What all others share. head_dim 0: hidden / heads. */
static void read_common(struct reader *r, struct transformer *m, bool kv_default,
                        int64_t head_dim) {
    m->vocab = count(r, "vocab_size", 1, REQUIRED);
    m->hidden = count(r, "hidden_size", 1, REQUIRED);
    m->layers = count(r, "num_hidden_layers", 1, REQUIRED);
    m->heads = count(r, "num_attention_heads", 1, REQUIRED);
    m->kv_heads = count(r, "num_key_value_heads", 1, kv_default ? m->heads : REQUIRED);
    m->head_dim = count(r, "head_dim", 1, head_dim);
    m->ffn = count(r, "intermediate_size", 1, REQUIRED);
    m->max_seq = count(r, "max_position_embeddings", 1, 0);
    m->tied = flag(r, "tie_word_embeddings", false);
    m->dropout = above_zero(r->root, "attention_dropout", 0);
    m->gated = true;
    if (r->failed || m->head_dim) return;
    m->head_dim = m->hidden / m->heads;
    if (m->hidden % m->heads == 0) return;
    complain(r->why, "hidden_size %lld is no multiple of num_attention_heads %lld",
             (long long)m->hidden, (long long)m->heads);
    r->failed = true;
}

static void read_llama(struct reader *r, struct transformer *m) {
    read_common(r, m, true, 0);
    m->qkv_bias = m->out_bias = flag(r, "attention_bias", false);
    m->mlp_bias = flag(r, "mlp_bias", false);
}

/* null: no window; absent: the family's. */
static void read_window(struct reader *r, struct transformer *m, int64_t standard) {
    m->window =
        count(r, "sliding_window", 1, json_object_get(r->root, "sliding_window") ? 0 : standard);
}

static void read_mistral(struct reader *r, struct transformer *m) {
    read_common(r, m, false, 0);
    read_window(r, m, 4096);
}

static void read_mixtral(struct reader *r, struct transformer *m) {
    read_common(r, m, false, 0);
    read_window(r, m, 0);
    m->experts = count(r, "num_local_experts", 1, 8);
    m->active_experts = count(r, "num_experts_per_tok", 1, 2);
    m->expert_ffn = m->ffn;
    m->sparse_layers = m->layers;
}

/* Every layer looks back over the window, or none: with max_window_layers between, what is called the window holds for the
 * layers above only. */
static void read_qwen_window(struct reader *r, struct transformer *m) {
    if (!flag(r, "use_sliding_window", false)) return;
    if (count(r, "max_window_layers", 0, 28) > 0 || r->failed) return;
    read_window(r, m, 4096);
}

static void read_qwen2(struct reader *r, struct transformer *m) {
    read_common(r, m, false, 0);
    m->qkv_bias = true;
    read_qwen_window(r, m);
}

static void read_qwen3(struct reader *r, struct transformer *m) {
    read_common(r, m, false, 128);
    m->qkv_bias = m->out_bias = flag(r, "attention_bias", false);
    m->qk_norm = true;
    read_qwen_window(r, m);
}

/* Layers i with (i + 1) % step == 0 are sparse, but for the listed ones. */
static void read_qwen_experts(struct reader *r, struct transformer *m, int64_t experts,
                              int64_t active) {
    const int64_t step = count(r, "decoder_sparse_step", 1, 1);
    const json_t *dense = json_object_get(r->root, "mlp_only_layers");
    m->experts = count(r, "num_experts", 1, experts);
    m->active_experts = count(r, "num_experts_per_tok", 1, active);
    m->expert_ffn = count(r, "moe_intermediate_size", 1, REQUIRED);
    m->sparse_layers = m->layers / step;
    if (!r->failed && json_array_size(dense) > MOST_LISTED) {
        complain(r->why, "\"mlp_only_layers\" lists more than %d", MOST_LISTED);
        r->failed = true;
        return;
    }
    for (size_t i = 0; i < json_array_size(dense); i++) {
        const json_t *layer = json_array_get(dense, i);
        const int64_t index = json_is_integer(layer) ? json_integer_value(layer) : -1;
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again |= json_integer_value(json_array_get(dense, j)) == index;
        if (!again && index >= 0 && index < m->layers && (index + 1) % step == 0)
            m->sparse_layers--;
    }
}

static void read_qwen2_moe(struct reader *r, struct transformer *m) {
    read_qwen2(r, m);
    read_qwen_experts(r, m, 60, 4);
    m->shared_ffn = count(r, "shared_expert_intermediate_size", 0, REQUIRED);
    m->shared_gate = true;
}

static void read_qwen3_moe(struct reader *r, struct transformer *m) {
    read_qwen3(r, m);
    read_qwen_experts(r, m, 128, 8);
}

/* A layer is sparse from first_k_dense_replace on, where its index is a multiple of moe_layer_freq. */
static void read_deepseek(struct reader *r, struct transformer *m) {
    read_common(r, m, true, 1); /* head_dim is not used: MLA has dimensions of its own */
    m->q_rank = count(r, "q_lora_rank", 1, 0);
    m->kv_rank = count(r, "kv_lora_rank", 1, REQUIRED);
    m->nope_dim = count(r, "qk_nope_head_dim", 0, REQUIRED);
    m->rope_dim = count(r, "qk_rope_head_dim", 1, REQUIRED);
    m->v_dim = count(r, "v_head_dim", 1, REQUIRED);
    m->qkv_bias = m->out_bias = flag(r, "attention_bias", false);
    m->experts = count(r, "n_routed_experts", 1, 0);
    if (!m->experts || r->failed) return;
    m->active_experts = count(r, "num_experts_per_tok", 1, REQUIRED);
    m->expert_ffn = count(r, "moe_intermediate_size", 1, REQUIRED);
    m->shared_ffn = count_mul(count(r, "n_shared_experts", 0, 0), m->expert_ffn);
    const int64_t first = count(r, "first_k_dense_replace", 0, 0);
    const int64_t every = count(r, "moe_layer_freq", 1, 1);
    const int64_t before = first < m->layers ? (first + every - 1) / every : 0;
    m->sparse_layers = first < m->layers ? (m->layers + every - 1) / every - before : 0;
}

static void read_deepseek_v3(struct reader *r, struct transformer *m) {
    read_deepseek(r, m);
    m->router_bias = true; /* e_score_correction_bias */
}

static const struct {
    const char *name;
    void (*read)(struct reader *r, struct transformer *m);
} families[] = {{"gpt2", read_gpt2},
                {"llama", read_llama},
                {"mistral", read_mistral},
                {"mixtral", read_mixtral},
                {"qwen2", read_qwen2},
                {"qwen2_moe", read_qwen2_moe},
                {"qwen3", read_qwen3},
                {"qwen3_moe", read_qwen3_moe},
                {"deepseek_v2", read_deepseek},
                {"deepseek_v3", read_deepseek_v3}};

int hf_config_read(const char *text, size_t length, struct transformer *m, struct complaint *why) {
    json_t *root = json_object_of(text, length, "config", why);
    if (!root) return -1;
    struct reader r = {.root = root, .why = why};
    const char *type = json_string_value(json_object_get(root, "model_type"));
    size_t family = 0;
    *m = (struct transformer){.vocab = 0};
    while (type && family < sizeof families / sizeof *families &&
           strcmp(type, families[family].name) != 0)
        family++;
    if (!type || family == sizeof families / sizeof *families) {
        complain(why, "model_type '%s': one of %s", type ? type : "", hf_families);
        r.failed = true;
    } else {
        snprintf(m->family, sizeof m->family, "%s", type);
        families[family].read(&r, m);
    }
    json_decref(root);
    return r.failed ? -1 : transformer_check(m, why);
}

int hf_config_load(const char *path, struct transformer *m, struct complaint *why) {
    size_t length;
    struct complaint reason;
    char *text = read_whole_file(path, MAX_CONFIG, &length, why);
    if (!text) return -1;
    const int bad = hf_config_read(text, length, m, &reason);
    free(text);
    return bad ? complain(why, "%s: %s", path, reason.text) : 0;
}
