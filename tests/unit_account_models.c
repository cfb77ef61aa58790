/* unit_account_models.c FOLDER - transformers: parameters of published models to the unit, FLOPs, caches, activations;
 * configurations that lie. FOLDER holds the sizes of published models. */
#include "test.h"

#include "../harness/account/count.h"
#include "../harness/account/hf_config.h"
#include "../harness/account/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;
static const struct stages alone = {.tensor = 1, .pipeline = 1, .micro_batches = 1};

static bool load(const char *name, struct transformer *m) {
    char path[512];
    size_t length;
    struct complaint why = {""};
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    char *text = read_whole_file(path, 1 << 20, &length, &why);
    const bool good = text && hf_config_read(text, length, m, &why) == 0;
    free(text);
    return CHECK(good, "%s: %s", name, why.text);
}

/* Counts of the checkpoints as published with them (tensors of the safetensors headers, or the model card). DeepSeek-V3
 * without its MTP module. Active parameters: with embedding and output layer; DeepSeek-V3's includes 14,848 biases of
 * routers. */
static void published(void) {
    static const struct {
        const char *name;
        int64_t total, active; /* 0: dense */
    } models[] = {{"gpt2", 124439808, 0},
                  {"gpt2-xl", 1557611200, 0},
                  {"llama-2-7b", 6738415616, 0},
                  {"llama-2-70b", 68976648192, 0},
                  {"llama-3-8b", 8030261248, 0},
                  {"llama-3-70b", 70553706496, 0},
                  {"llama-3.2-1b", 1235814400, 0},
                  {"mistral-7b", 7241732096, 0},
                  {"mixtral-8x7b", 46702792704, 12879925248},
                  {"qwen2.5-7b", 7615616512, 0},
                  {"qwen2.5-0.5b", 494032768, 0},
                  {"qwen3-8b", 8190735360, 0},
                  {"qwen3-30b-a3b", 30532122624, 3353032704},
                  {"qwen1.5-moe-a2.7b", 14315784192, 2689173504},
                  {"deepseek-v2-lite", 15706484224, 2661150208},
                  {"deepseek-v2", 235741434880, 21375800320},
                  {"deepseek-v3", 671026419200, 37552297472}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct transformer m = {.vocab = 0};
        if (!load(models[i].name, &m)) continue;
        const struct parameter_counts c = transformer_parameters(&m);
        CHECK(c.total == models[i].total, "%s: %lld parameters", models[i].name,
              (long long)c.total);
        CHECK(c.active == (models[i].active ? models[i].active : models[i].total),
              "%s: %lld active", models[i].name, (long long)c.active);
        if (m.tied || m.qkv_bias || m.router_bias || m.experts) continue;
        /* all that is left of a plain model is multiplied with */
        CHECK(transformer_matmul_weights(&m) == c.total - c.embedding - c.norms, "%s: weights",
              models[i].name);
    }
    /* GPT-3: 174,600 million, Brown et al. 2020, table D.1 */
    const struct transformer gpt3 = {.vocab = 50257,
                                     .hidden = 12288,
                                     .layers = 96,
                                     .heads = 96,
                                     .kv_heads = 96,
                                     .head_dim = 128,
                                     .ffn = 49152,
                                     .positions = 2048,
                                     .tied = true,
                                     .layer_norm = true,
                                     .qkv_bias = true,
                                     .out_bias = true,
                                     .mlp_bias = true};
    CHECK(fabs((double)transformer_parameters(&gpt3).total - 174600e6) < 50e6, "GPT-3: %lld",
          (long long)transformer_parameters(&gpt3).total);
}

static void flops(void) {
    struct transformer m;
    if (!load("deepseek-v3", &m)) return;
    /* "36.6B" activation parameters, README_WEIGHTS.md of DeepSeek-V3: output layer, no embedding look-up */
    CHECK(llround((double)transformer_matmul_weights(&m) / 1e8) == 366, "%lld",
          (long long)transformer_matmul_weights(&m));
    if (!load("gpt2", &m)) return;
    const int64_t layer = 12 * 768 * (int64_t)768;
    CHECK(transformer_matmul_weights(&m) == 12 * layer + 50257 * (int64_t)768, "GPT-2's weights");
    const struct token_flops f = transformer_flops(&m, 1024);
    CHECK(f.attention == 4.0 * 12 * 768 * 1024, "%g", f.attention);
    CHECK(f.causal_attention == 4.0 * 12 * 768 * 1025 / 2, "%g", f.causal_attention);
    if (!load("mistral-7b", &m)) return;
    m.window = 5;
    for (int64_t s = 1; s < 20; s++) {
        double seen = 0;
        for (int64_t i = 0; i < s; i++)
            for (int64_t j = 0; j <= i; j++) seen += i - j < m.window;
        const double want = 4.0 * 32 * 4096 * seen / (double)s;
        CHECK(fabs(transformer_flops(&m, s).causal_attention - want) < 1e-6 * want,
              "window 5 of %lld: %g, not %g", (long long)s,
              transformer_flops(&m, s).causal_attention, want);
    }
}

static void memory(void) {
    struct transformer m;
    if (!load("llama-2-7b", &m)) return;
    CHECK(kv_cache_token(&m, DT_bf16) == 524288, "Llama-2-7B: %lld B a token",
          (long long)kv_cache_token(&m, DT_bf16));
    if (!load("llama-3-8b", &m)) return;
    CHECK(kv_cache_token(&m, DT_bf16) == 131072, "grouped queries: a quarter");
    if (!load("deepseek-v3", &m)) return;
    CHECK(kv_cache_token(&m, DT_bf16) == 70272, "latents: %lld",
          (long long)kv_cache_token(&m, DT_bf16));
    if (!load("mistral-7b", &m)) return;
    static const char sizes[] =
        "{\"model_type\": \"mistral\", \"vocab_size\": 8, \"hidden_size\": 8, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"num_key_value_heads\": 1, \"intermediate_size\": 4%s}";
    static const struct {
        const char *key;
        int64_t window;
    } windows[] = {{"", 4096}, {", \"sliding_window\": null", 0}, {", \"sliding_window\": 7", 7}};
    for (size_t i = 0; i < 3; i++) {
        struct transformer small;
        struct complaint why = {""};
        char text[512];
        snprintf(text, sizeof text, sizes, windows[i].key);
        CHECK(hf_config_read(text, strlen(text), &small, &why) == 0 &&
                  small.window == windows[i].window,
              "window '%s': %lld %s", windows[i].key, (long long)small.window, why.text);
    }
    CHECK(kv_cache_tokens(&m, 32768) == 4096 && kv_cache_tokens(&m, 100) == 100, "the window's");

    /* a GPT keeps s b h (34 + 5 a s / h) bytes a layer */
    if (!load("gpt2", &m)) return;
    const int64_t s = 1024, b = 8, h = 768, a = 12;
    CHECK(transformer_layer_activations(&m, RECOMPUTE_NONE, DT_bf16, s, b, false, &alone) ==
              12 * (34 * s * b * h + 5 * a * s * s * b),
          "GPT-2's activations");
    CHECK(transformer_layer_activations(&m, RECOMPUTE_SELECTIVE, DT_bf16, s, b, false, &alone) ==
              12 * 34 * s * b * h,
          "selective");
    CHECK(transformer_layer_activations(&m, RECOMPUTE_FULL, DT_bf16, s, b, false, &alone) ==
              12 * 2 * s * b * h + 34 * s * b * h + 5 * a * s * s * b,
          "full");
    /* Llama: norms' inputs and outputs 4h, q k v out, four of the MLP's width, softmax; no masks */
    if (!load("llama-3-8b", &m)) return;
    const int64_t token = 2 * (4 * 4096 + 4096 + 1024 + 1024 + 4096 + 4 * 14336);
    CHECK(transformer_layer_activations(&m, RECOMPUTE_SELECTIVE, DT_bf16, 10, 3, false, &alone) ==
              32 * 30 * token,
          "Llama-3-8B's activations");
    CHECK(transformer_layer_activations(&m, RECOMPUTE_NONE, DT_bf16, 10, 3, false, &alone) ==
              32 * (30 * token + 2 * 32 * 10 * 30),
          "and its scores");
    CHECK(transformer_layer_activations(&m, RECOMPUTE_NONE, DT_bf16, (int64_t)1 << 40,
                                        (int64_t)1 << 20, false, &alone) == COUNT_OVERFLOW,
          "overflow");
}

/* What follows these is given without braces. */
static const char *const llama = "\"model_type\": \"llama\", \"vocab_size\": 10, "
                                 "\"hidden_size\": 8, \"num_hidden_layers\": 2";

static void lies(void) {
    static const struct {
        const char *text, *want; /* NULL: accepted */
    } configs[] = {
        {"\"num_attention_heads\": 2, \"intermediate_size\": 4", NULL},
        {"\"num_attention_heads\": 2, \"intermediate_size\": 4, \"head_dim\": null", NULL},
        {"\"num_attention_heads\": 3, \"intermediate_size\": 4", "no multiple"},
        {"\"num_attention_heads\": 2", "no \"intermediate_size\""},
        {"\"num_attention_heads\": 0, \"intermediate_size\": 4", "is 0, not 1 to"},
        {"\"num_attention_heads\": -2, \"intermediate_size\": 4", "is -2, not"},
        {"\"num_attention_heads\": \"2\", \"intermediate_size\": 4", "no whole number"},
        {"\"num_attention_heads\": 2, \"intermediate_size\": 4.0", "no whole number"},
        {"\"num_attention_heads\": 2, \"intermediate_size\": 9223372036854775807", "not 1 to 2^40"},
        {"\"num_attention_heads\": 2, \"intermediate_size\": 99999999999999999999",
         "too big integer"},
        {"\"num_attention_heads\": 2, \"num_attention_heads\": 2", "duplicate"},
        {"\"num_attention_heads\": 2, \"num_key_value_heads\": 5, \"intermediate_size\": 4",
         "no multiple of 5"},
        {"\"num_attention_heads\": 2, \"intermediate_size\": 4, \"tie_word_embeddings\": 1",
         "neither true"},
        {"{\"model_type\": \"llama\", \"vocab_size\": 1099511627776, \"hidden_size\": "
         "1099511627776, "
         "\"num_hidden_layers\": 1, \"num_attention_heads\": 1, \"intermediate_size\": 1}",
         "more than 2^63"},
        {"{\"model_type\": \"gpt2\"}", NULL},
        {"{\"model_type\": \"gpt2\", \"n_head\": 7}", "no multiple"},
        {"{\"model_type\": 7}", "one of gpt2"},
        {"{}", "one of gpt2"},
        {"[]", "no JSON object"},
        {"", "line"},
        {"{\"model_type\": \"llama\"", "line"},
        {"{\"model_type\": \"llama\\u0000\"}", "line"},
        {"{\"model_type\": \"\xff\"}", "line"},
        {"{\"model_type\": \"mistral\", \"vocab_size\": 1, \"hidden_size\": 1, "
         "\"num_hidden_layers\": 1, "
         "\"num_attention_heads\": 1, \"intermediate_size\": 1}",
         "no \"num_key_value_heads\""},
        {"{\"model_type\": \"mixtral\", \"vocab_size\": 1, \"hidden_size\": 1, "
         "\"num_hidden_layers\": 1, "
         "\"num_attention_heads\": 1, \"num_key_value_heads\": 1, \"intermediate_size\": 1, "
         "\"num_local_experts\": 2, \"num_experts_per_tok\": 3}",
         "3 active experts of 2"},
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct transformer m;
        struct complaint why = {""};
        char text[512];
        if (configs[i].text[0] == '"')
            snprintf(text, sizeof text, "{%s, %s}", llama, configs[i].text);
        else
            snprintf(text, sizeof text, "%s", configs[i].text);
        const bool refused = hf_config_read(text, strlen(text), &m, &why) != 0;
        CHECK(refused == (configs[i].want != NULL), "config %zu: '%s'", i, why.text);
        if (refused && configs[i].want)
            CHECK(strstr(why.text, configs[i].want) && !strchr(why.text, '\n'),
                  "config %zu: '%s' does not say '%s'", i, why.text, configs[i].want);
    }
}

/* Sparse layers by the families' rules, counted one by one. */
static void sparse_layers(void) {
    for (int64_t layers = 1; layers < 12; layers++)
        for (int64_t first = 0; first < 14; first++)
            for (int64_t every = 1; every < 5; every++) {
                char text[512];
                struct transformer m;
                struct complaint why = {""};
                int64_t want = 0;
                for (int64_t i = 0; i < layers; i++) want += i >= first && i % every == 0;
                snprintf(text, sizeof text,
                         "{\"model_type\": \"deepseek_v2\", \"vocab_size\": 1, \"hidden_size\": 1, "
                         "\"num_hidden_layers\": %lld, \"num_attention_heads\": 1, "
                         "\"intermediate_size\": 1, \"kv_lora_rank\": 1, \"qk_nope_head_dim\": 1, "
                         "\"qk_rope_head_dim\": 1, \"v_head_dim\": 1, \"n_routed_experts\": 2, "
                         "\"num_experts_per_tok\": 1, \"moe_intermediate_size\": 1, "
                         "\"first_k_dense_replace\": %lld, \"moe_layer_freq\": %lld}",
                         (long long)layers, (long long)first, (long long)every);
                CHECK(hf_config_read(text, strlen(text), &m, &why) == 0, "%s", why.text);
                CHECK(m.sparse_layers == want, "%lld layers from %lld, every %lld: %lld",
                      (long long)layers, (long long)first, (long long)every,
                      (long long)m.sparse_layers);
            }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    folder = argv[1];
    published();
    flops();
    memory();
    lies();
    sparse_layers();
    return test_result();
}
