/* transformer.c - one layer counted, times the layers. */
#include "transformer.h"
#include "count.h"
#include "training_memory.h"

static int64_t sum3(int64_t a, int64_t b, int64_t c) { return count_add(count_add(a, b), c); }

static int64_t product3(int64_t a, int64_t b, int64_t c) { return count_mul(count_mul(a, b), c); }

static bool has_mla(const struct transformer *m) { return m->kv_rank > 0; }

/* Widths of all heads together. */
static int64_t q_width(const struct transformer *m) {
    return count_mul(m->heads, has_mla(m) ? count_add(m->nope_dim, m->rope_dim) : m->head_dim);
}
static int64_t k_width(const struct transformer *m) {
    return has_mla(m) ? q_width(m) : count_mul(m->kv_heads, m->head_dim);
}
static int64_t v_width(const struct transformer *m) {
    return has_mla(m) ? count_mul(m->heads, m->v_dim) : count_mul(m->kv_heads, m->head_dim);
}
/* What attention gives to its output matrix: as wide as the values, a head of its own for every query head. */
static int64_t out_width(const struct transformer *m) {
    return count_mul(m->heads, has_mla(m) ? m->v_dim : m->head_dim);
}

int transformer_check(const struct transformer *m, struct complaint *why) {
    if (!has_mla(m) && m->heads % m->kv_heads)
        return complain(why, "%lld heads are no multiple of %lld key-value heads",
                        (long long)m->heads, (long long)m->kv_heads);
    if (m->sparse_layers > m->layers)
        return complain(why, "%lld sparse layers of %lld", (long long)m->sparse_layers,
                        (long long)m->layers);
    if (m->experts && m->active_experts > m->experts)
        return complain(why, "%lld active experts of %lld", (long long)m->active_experts,
                        (long long)m->experts);
    if (transformer_parameters(m).total == COUNT_OVERFLOW)
        return complain(why, "more than 2^63 parameters");
    return 0;
}

/* ---- parameters ---- */

static int64_t attention_weights(const struct transformer *m) {
    const int64_t h = m->hidden, out = count_mul(out_width(m), h);
    if (!has_mla(m)) return count_add(count_mul(h, sum3(q_width(m), k_width(m), v_width(m))), out);
    const int64_t q =
        m->q_rank ? count_mul(m->q_rank, count_add(h, q_width(m))) : count_mul(h, q_width(m));
    const int64_t down = count_mul(h, count_add(m->kv_rank, m->rope_dim));
    const int64_t up = product3(m->kv_rank, m->heads, count_add(m->nope_dim, m->v_dim));
    return count_add(sum3(q, down, up), out);
}

static int64_t attention_biases(const struct transformer *m) {
    const int64_t out = m->out_bias ? m->hidden : 0;
    if (!m->qkv_bias) return out;
    if (has_mla(m)) return sum3(m->q_rank, count_add(m->kv_rank, m->rope_dim), out);
    return count_add(sum3(q_width(m), k_width(m), v_width(m)), out);
}

/* Norms inside attention: of queries' and keys' heads, or of MLA's latents. */
static int64_t attention_norms(const struct transformer *m) {
    if (has_mla(m)) return count_add(m->q_rank, m->kv_rank);
    return m->qk_norm ? count_mul(2, m->head_dim) : 0;
}

static int64_t mlp_weights(const struct transformer *m, int64_t width) {
    return product3(m->gated ? 3 : 2, m->hidden, width);
}

static int64_t mlp_biases(const struct transformer *m, int64_t width) {
    return m->mlp_bias ? count_add(count_mul(m->gated ? 2 : 1, width), m->hidden) : 0;
}

static int64_t router_weights(const struct transformer *m) {
    return count_add(count_mul(m->experts, m->hidden), m->shared_gate ? m->hidden : 0);
}

struct parameter_counts transformer_parameters(const struct transformer *m) {
    const int64_t h = m->hidden, L = m->layers, sparse = m->sparse_layers;
    const int64_t norm = m->layer_norm ? count_mul(2, h) : h;
    struct parameter_counts c = {
        .embedding = count_mul(m->vocab, h),
        .positions = count_mul(m->positions, h),
        .attention = count_mul(L, count_add(attention_weights(m), attention_biases(m))),
        .mlp = count_mul(L - sparse, count_add(mlp_weights(m, m->ffn), mlp_biases(m, m->ffn))),
        .experts = product3(sparse, m->experts, mlp_weights(m, m->expert_ffn)),
        .shared_experts = count_mul(sparse, mlp_weights(m, m->shared_ffn)),
        .router = count_mul(sparse, count_add(router_weights(m), m->router_bias ? m->experts : 0)),
        .norms = count_add(count_mul(L, count_add(count_mul(2, norm), attention_norms(m))), norm),
        .head = m->tied ? 0 : count_mul(m->vocab, h)};
    c.total = count_add(
        sum3(c.embedding, c.positions, c.attention),
        count_add(sum3(c.mlp, c.experts, c.shared_experts), sum3(c.router, c.norms, c.head)));
    c.active = c.total;
    if (m->experts && c.total != COUNT_OVERFLOW)
        c.active -= c.experts / m->experts * (m->experts - m->active_experts);
    return c;
}

int64_t transformer_matmul_weights(const struct transformer *m) {
    const int64_t dense = count_mul(m->layers - m->sparse_layers, mlp_weights(m, m->ffn));
    const int64_t sparse = count_mul(
        m->sparse_layers, sum3(count_mul(m->active_experts, mlp_weights(m, m->expert_ffn)),
                               mlp_weights(m, m->shared_ffn), router_weights(m)));
    return count_add(sum3(count_mul(m->layers, attention_weights(m)), dense, sparse),
                     count_mul(m->vocab, m->hidden));
}

/* ---- FLOPs ---- */

struct token_flops transformer_flops(const struct transformer *m, int64_t seq) {
    const double s = (double)seq, w = m->window && m->window < seq ? (double)m->window : s;
    /* the sum of min(i, w) over i = 1 ... s, a token */
    const double seen = (w * (w + 1) / 2 + (s - w) * w) / s;
    const double width = (double)q_width(m) + (double)out_width(m);
    const double a_token_seen = 2.0 * (double)m->layers * width;
    return (struct token_flops){.matmul = 2.0 * (double)transformer_matmul_weights(m),
                                .attention = a_token_seen * w,
                                .causal_attention = a_token_seen * seen,
                                .width = width,
                                .reach = w,
                                .seen = seen};
}

/* ---- memory ---- */

int64_t kv_cache_token(const struct transformer *m, enum dtype t) {
    const int64_t values =
        has_mla(m) ? count_add(m->kv_rank, m->rope_dim) : count_add(k_width(m), v_width(m));
    return bytes_of(value_bits_16(t), count_mul(m->layers, values));
}

int64_t kv_cache_tokens(const struct transformer *m, int64_t seq) {
    return m->window && m->window < seq ? m->window : seq;
}

struct layer_shape transformer_layer_shape(const struct transformer *m, bool sparse, bool flash) {
    /* a plain MLP keeps the activation's input and output; a gated one both branches, the activated one, the product */
    const int64_t inner = m->gated ? 4 : 2;
    struct layer_shape shape = {
        .hidden = m->hidden,
        .outside = count_mul(4, m->hidden),
        .inside = count_add(sum3(q_width(m), k_width(m), v_width(m)), out_width(m)),
        .heads = m->heads,
        .dropout = m->dropout,
        .flash = flash};
    if (m->qk_norm) shape.inside = sum3(shape.inside, q_width(m), k_width(m));
    if (has_mla(m)) /* latents before and after their norms */
        shape.outside = count_add(
            shape.outside, sum3(count_mul(2, m->q_rank), count_mul(2, m->kv_rank), m->rope_dim));
    if (!sparse) {
        shape.inside = count_add(shape.inside, count_mul(inner, m->ffn));
        return shape;
    }
    /* every chosen expert gets a copy of the token */
    shape.outside = count_add(shape.outside, count_mul(m->active_experts, m->hidden));
    shape.inside = count_add(
        shape.inside,
        count_mul(inner, count_add(count_mul(m->active_experts, m->expert_ffn), m->shared_ffn)));
    return shape;
}

int64_t transformer_layer_activations(const struct transformer *m, enum recompute r, enum dtype t,
                                      int64_t seq, int64_t batch, bool flash,
                                      const struct stages *stages) {
    struct stages one = *stages; /* a single layer of a single micro-batch */
    int64_t total = 0, working = 0;
    const int64_t count[] = {m->layers - m->sparse_layers, m->sparse_layers};
    one.pipeline = one.micro_batches = 1;
    for (int sparse = 0; sparse < 2; sparse++) {
        if (!count[sparse]) continue;
        const struct layer_shape shape = transformer_layer_shape(m, sparse, flash);
        const struct layer_bytes layer = layer_bytes(&shape, t, seq, batch);
        int64_t kind = transformer_activations(&layer, r, count[sparse], stages);
        if (r == RECOMPUTE_FULL && kind != COUNT_OVERFLOW) {
            /* one layer is computed again at a time: the larger kind's, not both */
            const int64_t whole = transformer_activations(&layer, RECOMPUTE_NONE, 1, &one);
            kind -= whole;
            if (whole > working) working = whole;
        }
        total = count_add(total, kind);
    }
    return count_add(total, working);
}
