/* unit_account.c - the calculators' pure functions: counts, quantities, time; the lecture's figures. */
#define _GNU_SOURCE
#include "test.h"

#include "../harness/account/activations.h"
#include "../harness/account/answer.h"
#include "../harness/account/count.h"
#include "../harness/account/gpu.h"
#include "../harness/account/training_memory.h"
#include "../harness/account/training_time.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool near(double got, double want, double tolerance) {
    return fabs(got - want) <= tolerance;
}

/* ---- counts and quantities ---- */

static void counts(void) {
    CHECK(count_mul(3037000499, 3037000499) == 9223372030926249001, "the largest square");
    CHECK(count_mul(3037000500, 3037000500) == COUNT_OVERFLOW, "one more overflows");
    CHECK(count_mul(COUNT_OVERFLOW, 0) == COUNT_OVERFLOW, "an overflow stays one");
    CHECK(count_mul(0, INT64_MAX - 1) == 0, "nothing of many is nothing");
    CHECK(count_add(INT64_MAX - 1, 1) == COUNT_OVERFLOW, "sums stop as well");
    CHECK(count_add(COUNT_OVERFLOW, COUNT_OVERFLOW) == COUNT_OVERFLOW, "and stay there");
    CHECK(count_add(40, 2) == 42, "a sum");
}

static void quantities(void) {
    static const struct {
        const char *text;
        int64_t want; /* -1: refused */
    } counts[] = {{"4096", 4096},
                  {"70e9", 70000000000},
                  {"70B", 70000000000},
                  {"1.1B", 1100000000},
                  {"1.5T", 1500000000000},
                  {"400k", 400000},
                  {"9223372036854775806", 9223372036854775806},
                  {"9007199254740993", 9007199254740993},
                  {"9223372036854775807", -1},
                  {"9223372036854775808", -1},
                  {"1e19", -1},
                  {"1e400", -1},
                  {"-4", -1},
                  {"0.5", -1},
                  {"", -1},
                  {"B", -1},
                  {"e9", -1},
                  {"1e9B", -1},
                  {"12 ", -1},
                  {" 12", -1},
                  {"0x10", -1},
                  {"inf", -1},
                  {"nan", -1},
                  {"7Q", -1}},
      bytes[] = {{"80e9", 80000000000},
                 {"80GB", 80000000000},
                 {"80GiB", 85899345920},
                 {"80 GiB", 85899345920},
                 {"0.5KiB", 512},
                 {"512 B", 512},
                 {"512B", 512},
                 {"1.5kB", 1500},
                 {"iB", -1},
                 {"GiB", -1},
                 {"5iB", -1},
                 {"0.3B", -1},
                 {"1e9GB", -1},
                 {"9000000PiB", -1}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int64_t got = -1;
        const bool ok = parse_count(counts[i].text, &got);
        CHECK(ok == (counts[i].want >= 0) && (!ok || got == counts[i].want), "count '%s' is %lld",
              counts[i].text, (long long)got);
    }
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        int64_t got = -1;
        const bool ok = parse_bytes(bytes[i].text, &got);
        CHECK(ok == (bytes[i].want >= 0) && (!ok || got == bytes[i].want), "bytes '%s' are %lld",
              bytes[i].text, (long long)got);
    }
    int64_t size[3];
    CHECK(parse_sizes("4x8", 1, size, 3) == 2 && size[0] == 4 && size[1] == 8, "4x8");
    CHECK(parse_sizes("1,2,3", 1, size, 3) == 3 && size[2] == 3, "1,2,3");
    static const char *const wrong[] = {
        "", "4x", "x4", "4xx8", "1x2x3x4", "0x4", "-1x4", "4.0", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(parse_sizes(wrong[i], 1, size, 3) == -1, "'%s' is no shape", wrong[i]);
}

static void written(void) {
    static const struct {
        double x;
        const char *want;
    } figures[] = {{0, "0"},
                   {1024, "1024"},
                   {0.5, "0.5"},
                   {70e9, "70e9"},
                   {989.5e12, "989.5e12"},
                   {6.3e24, "6.3e24"},
                   {999999.9999e6, "1e12"},
                   {1e-8, "10e-9"},
                   {-70e9, "-70e9"},
                   {1e6, "1e6"},
                   {16777216, "16,777,216"}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        CHECK(strcmp(figure(figures[i].x).text, figures[i].want) == 0, "%g as %s", figures[i].x,
              figure(figures[i].x).text);
    CHECK(strcmp(grouped(2415919104).text, "2,415,919,104") == 0, "%s", grouped(2415919104).text);
    CHECK(strcmp(grouped(-1234).text, "-1,234") == 0, "%s", grouped(-1234).text);
    CHECK(strcmp(grouped(-123).text, "-123") == 0, "%s", grouped(-123).text);
    CHECK(strcmp(grouped(INT64_MAX).text, "9,223,372,036,854,775,807") == 0, "%s",
          grouped(INT64_MAX).text);
    static const struct {
        double bytes;
        bool si;
        const char *want;
    } sizes[] = {{128, false, ""},          {2415919104, false, "2304 MiB"},
                 {2097152, false, "2 MiB"}, {524288, false, "512 KiB"},
                 {80e9, true, "80 GB"},     {80e9, false, "74.51 GiB"},
                 {1000, true, "1 kB"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK(strcmp(in_units(sizes[i].bytes, sizes[i].si).text, sizes[i].want) == 0, "%g is '%s'",
              sizes[i].bytes, in_units(sizes[i].bytes, sizes[i].si).text);
}

/* ---- answers ---- */

static char *printed(const struct answer *a) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    answer_print(a, f);
    fclose(f);
    return text;
}

static void answers(void) {
    static const char *const columns[] = {"what", "how_many"};
    static struct answer answer, *const a = &answer;
    a->format = ANSWER_JSON;
    answer_begin(a);
    answer_count(a, "big", 9223372036854775806, "B", "a \"quoted\" %s", "formula");
    answer_real(a, "third", 1.0 / 3, "", NULL);
    answer_real(a, "nothing", NAN, "s", NULL);
    answer_text(a, "said", "tab\there, \x1b[31m");
    answer_table(a, "rows", columns, 2);
    static const char *const cells[] = {"a,b", "42", "01", "", "-0.5", "1e3", "\"", "0x1"};
    for (size_t i = 0; i < 8; i++) answer_cell(a, "%s", cells[i]);
    char *text = printed(a);
    json_t *root = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (CHECK(root != NULL, "valid JSON: %s", text ? text : "no memory")) {
        json_t *big = json_object_get(root, "big"), *rows = json_object_get(root, "rows");
        CHECK(json_integer_value(json_object_get(big, "value")) == 9223372036854775806, "exact");
        CHECK(strcmp(json_string_value(json_object_get(big, "formula")), "a \"quoted\" formula") ==
                  0,
              "formula");
        CHECK(json_real_value(json_object_get(json_object_get(root, "third"), "value")) == 1.0 / 3,
              "a real reads back the same");
        CHECK(json_is_null(json_object_get(json_object_get(root, "nothing"), "value")), "unknown");
        CHECK(json_array_size(rows) == 4, "four rows");
        CHECK(json_is_integer(json_object_get(json_array_get(rows, 0), "how_many")), "a number");
        CHECK(json_is_string(json_object_get(json_array_get(rows, 1), "what")), "01 is a text");
        CHECK(json_is_null(json_object_get(json_array_get(rows, 1), "how_many")), "empty is null");
        CHECK(json_is_real(json_object_get(json_array_get(rows, 2), "how_many")),
              "1e3 is a number");
    }
    json_decref(root);
    free(text);
    a->format = ANSWER_CSV;
    text = printed(a);
    CHECK(text && strcmp(text, "what,how_many\n\"a,b\",42\n01,\n-0.5,1e3\n\"\"\"\",0x1\n") == 0,
          "CSV of a table: %s", text ? text : "no memory");
    free(text);
    a->format = ANSWER_TEXT;
    text = printed(a);
    CHECK(text && !strchr(text, 0x1b) && !strchr(text, '\t'), "no control characters: %s",
          text ? text : "no memory");
    free(text);
    answer_end(a);
    answer_begin(a);
    for (int i = 0; i <= ANSWER_ITEMS; i++) answer_count(a, "x", i, "", NULL);
    CHECK(answer_print(a, stdout) == -1, "too many items are noticed");
    answer_end(a);
    struct complaint why;
    CHECK(complain(&why, "a\nb\x7f\xc2\x9b %d", 7) == -1 && strcmp(why.text, "a?b??? 7") == 0, "%s",
          why.text);
    CHECK(complain(&why, "\xc3\xa9\xc3 \xe2\x82\xac\xe2\x82\x9b\xff") == -1 &&
              strcmp(why.text, "\xc3\xa9? \xe2\x82\xac\xe2\x82\x9b?") == 0,
          "half a letter: %s", why.text);
}

static void gpus(void) {
    static const struct {
        const char *name, *want; /* NULL: refused */
    } names[] = {{"h100", "H100 SXM5 80GB"},
                 {"H100", "H100 SXM5 80GB"},
                 {"a100", "A100 SXM4 80GB"},
                 {"a100-sxm4-40gb", "A100 SXM4 40GB"},
                 {"h100 pcie", "H100 PCIe"},
                 {"b200", "B200 SXM"},
                 {"rtx4090", "RTX 4090"},
                 {"rtx-5090", "RTX 5090"},
                 {"v100", "V100 SXM2 32GB"},
                 {"mi300x", "MI300X"},
                 {"NVIDIA H200", "H200 SXM"},
                 {"l4", "L4"},
                 {"l40s", "L40S"},
                 {"gh200", NULL},
                 {"gh200 96gb", "GH200 96GB"},
                 {"h10", NULL},
                 {"rtx", NULL},
                 {"", NULL},
                 {"-", NULL},
                 {"h100 sxm5 80gb x", NULL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct complaint why = {""};
        const struct gpu_spec *gpu = gpu_named(names[i].name, &why);
        const char *got = gpu ? gpu->name : NULL;
        CHECK(names[i].want ? got && strcmp(got, names[i].want) == 0 : !got && *why.text,
              "'%s' is %s", names[i].name, got ? got : why.text);
    }
    struct complaint why;
    CHECK(isnan(gpu_peak(spec_gpu("A100 SXM4 80GB"), DT_nvfp4, &why)), "no nvfp4 on an A100");
}

/* ---- time ---- */

static void times(void) {
    struct training_run run = {.factor = 6,
                               .parameters = 70e9,
                               .tokens = 15e12,
                               .peak = 989.5e12,
                               .count = 1024,
                               .mfu = 0.5};
    training_time(&run);
    CHECK(run.flops == 6.3e24, "%g", run.flops);
    CHECK(near(run.seconds / 86400, 143.93, 0.01), "%g days", run.seconds / 86400);

    struct training_run weeks = {
        .factor = 6, .peak = 989.5e12, .count = 8, .mfu = 1, .seconds = 14 * 86400.0};
    training_time(&weeks);
    CHECK(near(weeks.flops, 9.575e21, 0.001e21), "%g", weeks.flops);
    CHECK(near(100 * weeks.flops / GPT3_FLOPS, 3.05, 0.005), "%g", weeks.flops / GPT3_FLOPS);

    /* every unknown from the others */
    struct training_run again = run;
    again.mfu = 0;
    training_time(&again);
    CHECK(near(again.mfu, 0.5, 1e-12), "MFU %g", again.mfu);
    again = run;
    again.flops = again.tokens = 0;
    training_time(&again);
    CHECK(near(again.tokens, 15e12, 1), "tokens %g", again.tokens);
    again = run;
    again.flops = again.parameters = 0;
    training_time(&again);
    CHECK(near(again.parameters, 70e9, 1), "parameters %g", again.parameters);

    struct training_run measured = {
        .factor = 6, .parameters = 7e9, .tokens_s = 4e5, .peak = 312e12, .count = 128};
    training_time(&measured);
    CHECK(near(measured.mfu, 6 * 7e9 * 4e5 / (128 * 312e12), 1e-15), "%g", measured.mfu);
}

/* ---- memory ---- */

static struct parameter_bits bits(enum dtype t, enum optimizer o, bool master) {
    return (struct parameter_bits){value_bits_16(t), value_bits_16(t),
                                   optimizer_states(o) * value_bits_16(DT_fp32),
                                   master ? value_bits_16(DT_fp32) : 0};
}

static void bytes_a_parameter(void) {
    static const struct {
        enum dtype t;
        enum optimizer o;
        bool master;
        int64_t bytes;
        double largest; /* on 8 x 80e9 bytes */
    } rows[] = {{DT_bf16, OPTIMIZER_ADAMW, false, 12, 53.333e9},
                {DT_fp32, OPTIMIZER_ADAMW, false, 16, 40e9},
                {DT_bf16, OPTIMIZER_ADAM, true, 16, 40e9},
                {DT_fp32, OPTIMIZER_SGD, false, 8, 80e9},
                {DT_fp32, OPTIMIZER_MOMENTUM, false, 12, 53.333e9},
                {DT_fp32, OPTIMIZER_ADAGRAD, false, 12, 53.333e9},
                {DT_fp32, OPTIMIZER_RMSPROP, false, 12, 53.333e9}};
    const struct parallel once = {.zero = 3, .tensor = 1, .pipeline = 1, .data = 8};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct parameter_bits b = bits(rows[i].t, rows[i].o, rows[i].master);
        CHECK(parameter_bits_sum(&b) == 128 * rows[i].bytes, "%g B",
              (double)parameter_bits_sum(&b) / 128);
        CHECK(near(largest_model(&b, &once, 80e9), rows[i].largest, 0.001e9), "%g",
              largest_model(&b, &once, 80e9));
    }
    const struct parameter_bits inference = {.parameters = value_bits_16(DT_bf16)};
    CHECK(near(largest_model(&inference, &once, 80e9), 320e9, 1), "inference");
    CHECK(value_bytes(DT_nvfp4) == 0.5625, "nvfp4 takes %g", value_bytes(DT_nvfp4));
    CHECK(bytes_of(value_bits_16(DT_nvfp4), 32) == 18, "two blocks of nvfp4");
    CHECK(bytes_of(value_bits_16(DT_fp32), 49152 * (int64_t)12288) == 2415919104, "GPT-3's matrix");
    CHECK(bytes_of(value_bits_16(DT_bf16), INT64_MAX / 2) == INT64_MAX - 1, "no overflow in bits");
    CHECK(bytes_of(value_bits_16(DT_fp64), INT64_MAX / 2) == COUNT_OVERFLOW, "an overflow seen");
}

/* Rajbhandari et al. 2020, figure 1: 7.5e9 parameters over 64 devices, mixed precision Adam. */
static void zero_stages(void) {
    static const double want[] = {120e9, 31.4e9, 16.6e9, 1.9e9};
    const struct parameter_bits b = bits(DT_bf16, OPTIMIZER_ADAM, true);
    for (int stage = 0; stage < 4; stage++) {
        const struct parallel p = {.zero = stage, .tensor = 1, .pipeline = 1, .data = 64};
        const struct device_bytes d = device_bytes(&b, &p, 7500000000);
        CHECK(near((double)device_bytes_sum(&d), want[stage], 0.05e9), "stage %d: %g", stage,
              (double)device_bytes_sum(&d));
        const double largest = largest_model(&b, &p, (double)device_bytes_sum(&d));
        CHECK(near(largest, 7.5e9, 100), "stage %d, and back: %.0f", stage, largest);
    }
    const struct parallel model = {.zero = 0, .tensor = 4, .pipeline = 2, .data = 3};
    const struct device_bytes d = device_bytes(&b, &model, 800);
    CHECK(device_bytes_sum(&d) == 1600, "tensor and pipeline divide all: %lld",
          (long long)device_bytes_sum(&d));
}

/* Korthikanti et al. 2022, table 2, per layer in 16 bits. */
static void transformer_layers(void) {
    const int64_t s = 2048, b = 3, h = 12288, a = 96, t = 8, sbh = s * b * h;
    const struct layer_shape shape = gpt_layer_shape(h, a, true, false);
    const struct layer_bytes layer = layer_bytes(&shape, DT_bf16, s, b);
    struct stages alone = {1, 1, 1, false}, tensor = {t, 1, 1, false}, both = {t, 1, 1, true};
    CHECK(transformer_activations(&layer, RECOMPUTE_NONE, 1, &alone) ==
              34 * sbh + 5 * a * s * s * b,
          "no parallelism");
    CHECK(transformer_activations(&layer, RECOMPUTE_NONE, 1, &tensor) ==
              10 * sbh + 24 * sbh / t + 5 * a * s * s * b / t,
          "tensor parallel");
    CHECK(transformer_activations(&layer, RECOMPUTE_NONE, 1, &both) ==
              (34 * sbh + 5 * a * s * s * b) / t,
          "tensor and sequence parallel");
    CHECK(transformer_activations(&layer, RECOMPUTE_SELECTIVE, 1, &tensor) ==
              10 * sbh + 24 * sbh / t,
          "selective");
    CHECK(transformer_activations(&layer, RECOMPUTE_FULL, 96, &alone) ==
              96 * 2 * sbh + 34 * sbh + 5 * a * s * s * b,
          "full: inputs, and one layer at work");
    struct stages pipeline = {t, 8, 64, true};
    CHECK(transformer_activations(&layer, RECOMPUTE_NONE, 96, &pipeline) ==
              8 * 12 * ((34 * sbh + 5 * a * s * s * b) / t),
          "the first of 8 stages holds 8 micro-batches of 12 layers");
    pipeline.micro_batches = 2;
    CHECK(transformer_activations(&layer, RECOMPUTE_NONE, 96, &pipeline) ==
              2 * 12 * ((34 * sbh + 5 * a * s * s * b) / t),
          "or as many as there are");
    const struct layer_shape plain = gpt_layer_shape(h, a, false, true);
    const struct layer_bytes flash = layer_bytes(&plain, DT_bf16, s, b);
    CHECK(flash.scores == 4 * a * s * b && flash.outside == 8 * sbh, "flash, no dropout");
    const struct layer_bytes huge = layer_bytes(&shape, DT_bf16, INT64_MAX / 4, 8);
    CHECK(transformer_activations(&huge, RECOMPUTE_NONE, 1, &alone) == COUNT_OVERFLOW, "overflow");
}

static void networks(void) {
    CHECK(network_activations(RECOMPUTE_NONE, 2, 4, 3, DT_bf16) == 48, "the toy net");
    CHECK(network_activations(RECOMPUTE_NONE, 64, 1024, 16, DT_bf16) == 2 << 20, "2 MiB");
    CHECK(network_activations(RECOMPUTE_NONE, 16, 1024, 16, DT_bf16) == 512 << 10, "512 KiB");
    /* 2 sqrt(L) for square L; and by trying every segment length, none is better */
    for (int64_t layers = 1; layers < 200; layers++) {
        const struct kept kept = kept_layers(RECOMPUTE_SQRT, layers);
        int64_t best = INT64_MAX;
        for (int64_t k = 1; k <= layers; k++) {
            const int64_t held = (layers + k - 1) / k + k;
            if (held < best) best = held;
        }
        CHECK(kept.inputs + kept.layers == best, "%lld layers: %lld held, %lld would do",
              (long long)layers, (long long)(kept.inputs + kept.layers), (long long)best);
        int64_t again = 0; /* layers computed again when only the network's input is kept */
        for (int64_t l = 1; l <= layers; l++) again += l - 1;
        CHECK(near(recompute_factor(RECOMPUTE_ALL, layers),
                   6 + 2.0 * (double)again / (double)layers, 1e-9),
              "%lld layers", (long long)layers);
    }
    CHECK(kept_layers(RECOMPUTE_SQRT, 16).inputs == 4, "sqrt of 16");
    CHECK(near(recompute_factor(RECOMPUTE_FULL, 16) / recompute_factor(RECOMPUTE_NONE, 16), 4 / 3.0,
               1e-12),
          "a third more");
}

int main(void) {
    counts();
    quantities();
    written();
    answers();
    gpus();
    times();
    bytes_a_parameter();
    zero_stages();
    transformer_layers();
    networks();
    return test_result();
}
