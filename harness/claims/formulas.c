/* formulas.c - claims on bytes, on what number formats keep, and on copies to a GPU. */
#include "claims.h"

#include "../../kernels/numerics.h"
#include "../account/activations.h"
#include "../account/tensor.h"
#include "../account/training_memory.h"

#include <math.h>

static void claim_equal(struct finding *f) {
    f->verdict = f->measured == f->predicted ? CLAIM_HOLDS : CLAIM_FAILS;
}

/* ---- bytes ---- */

/* The formula's ratio against the bytes of the tensors themselves, layer by layer. */
void judge_accumulation(const struct evidence *e, struct finding *f) {
    const int64_t batch = 64, width = 1024, layers = 16, parts = 4;
    (void)e;
    const int64_t whole = network_activations(RECOMPUTE_NONE, batch, width, layers, DT_bf16),
                  part = network_activations(RECOMPUTE_NONE, batch / parts, width, layers, DT_bf16);
    const size_t tensors = (size_t)layers * storage_bytes(DT_bf16, batch * width),
                 fewer = (size_t)layers * storage_bytes(DT_bf16, batch / parts * width);
    f->predicted = (double)whole / (double)part;
    f->measured = (double)tensors / (double)fewer;
    claim_model(f,
                "LBD values of 2 bytes, L = 16, D = 1024: B = 64 takes %lld bytes, each of 4 "
                "micro-batches %lld; counted by tensor %zu and %zu",
                (long long)whole, (long long)part, tensors, fewer);
    claim_equal(f);
}

void judge_adamw_bytes(const struct evidence *e, struct finding *f) {
    const int64_t n = 1 << 20;
    (void)e;
    const struct parameter_bits bits = {.parameters = value_bits_16(DT_bf16),
                                        .gradients = value_bits_16(DT_bf16),
                                        .optimizer = optimizer_states(OPTIMIZER_ADAMW) *
                                                     value_bits_16(DT_fp32)};
    const size_t tensors = 2 * storage_bytes(DT_bf16, n) + 2 * storage_bytes(DT_fp32, n);
    f->predicted = (double)bytes_of(parameter_bits_sum(&bits), 1);
    f->measured = (double)tensors / (double)n;
    claim_model(f,
                "2 (bf16 parameter) + 2 (gradient) + 4 + 4 (fp32 moments); the four tensors of "
                "%lld parameters take %zu bytes",
                (long long)n, tensors);
    claim_equal(f);
}

void judge_view(const struct evidence *e, struct finding *f) {
    const int64_t size[] = {49152, 12288}, flat[] = {-1};
    struct tensor t, view;
    struct complaint why;
    (void)e;
    if (tensor_new(&t, size, 2, &why)) {
        claim_untested(f, "%s", why.text);
        return;
    }
    view = t;
    if (tensor_transpose(&view, 0, 1, &why)) {
        claim_untested(f, "%s", why.text);
        return;
    }
    const int64_t more = tensor_storage(&view) - tensor_storage(&t);
    struct tensor reshaped = view;
    const bool refused = tensor_view(&reshaped, flat, 1, &why) != 0;
    f->predicted = 0;
    f->measured = 4 * (double)more;
    claim_model(f,
                "49152 x 12288 in fp32, transposed: strides %lld and %lld become %lld and %lld "
                "over the same storage; a flat view of it is %s",
                (long long)t.stride[0], (long long)t.stride[1], (long long)view.stride[0],
                (long long)view.stride[1], refused ? "refused: it would need a copy" : "possible");
    claim_equal(f);
    if (!refused) f->verdict = CLAIM_FAILS;
}

/* ---- number formats ---- */

/* The device must store what the software conversion says; low and high say what the claim needs of it. */
static void judge_stored(const struct evidence *e, enum claim_value which, long double predicted,
                         double low, double high, struct finding *f) {
    const struct claim_stored *s = &e->stored[which];
    f->predicted = (double)predicted;
    f->measured = s->value;
    if (isnan(s->value)) {
        claim_untested(f, "%s", s->why);
        return;
    }
    claim_within(f, low, high);
    if (f->measured != f->predicted) {
        f->verdict = CLAIM_FAILS;
        claim_why(f, "the device and the software conversion differ");
    }
}

void judge_fp16(const struct evidence *e, struct finding *f) {
    claim_model(f, "the smallest subnormal of fp16 is %.3g, half of which rounds to 0",
                dtype_smallest(DT_fp16));
    judge_stored(e, FP16_OF_1E_8, value_round(DT_fp16, (long double)1e-8F), 0, 0, f);
}

void judge_bf16(const struct evidence *e, struct finding *f) {
    claim_model(f,
                "bf16 has the exponents of fp32, down to %.3g; 8 bits of precision keep 1e-8 "
                "within %.2g",
                dtype_smallest(DT_bf16), dtype_roundoff(DT_bf16));
    judge_stored(e, BF16_OF_1E_8, value_round(DT_bf16, (long double)1e-8F),
                 1e-8 * (1 - dtype_roundoff(DT_bf16)), 1e-8 * (1 + dtype_roundoff(DT_bf16)), f);
}

void judge_bf16_sum(const struct evidence *e, struct finding *f) {
    const long double small = value_round(DT_bf16, (long double)0.001F);
    claim_model(f, "neighbours of 1 lie 2^-7 = 0.0078 apart above it; 0.001 is less than half");
    judge_stored(e, BF16_SUM, value_round(DT_bf16, 1 + small), 1, 1, f);
}

/* ---- copies to a GPU ---- */

void judge_pinned(const struct evidence *e, struct finding *f) {
    if (!e->gpu) {
        claim_untested(f, "a CPU's operands are in the host's memory already");
        return;
    }
    if (isnan(e->pinned_gbyte_s) || isnan(e->pageable_gbyte_s)) {
        claim_untested(f, "the copies were not measured: %s", e->why_no_copies);
        return;
    }
    f->measured = e->pinned_gbyte_s / e->pageable_gbyte_s;
    claim_model(f,
                "pageable memory is copied once more, by the driver; measured: %.3g GB/s pinned, "
                "%.3g pageable",
                e->pinned_gbyte_s, e->pageable_gbyte_s);
    claim_within(f, 1.1, INFINITY);
    if (f->verdict == CLAIM_FAILS)
        claim_why(f, "the driver's extra copy keeps up with the link here");
}
