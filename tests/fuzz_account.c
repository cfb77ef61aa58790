/* fuzz_account.c - hostile text for the parsers of einsum patterns, safetensors headers and files, their indices, configurations,
 * result files, samples, CSV records and numbers. The first byte chooses the parser, the rest is its input. What survives parsing
 * goes through what follows it, so that wrong sizes are found where they do harm.
 *
 * With libFuzzer (clang, -DROOFLINE_FUZZ=ON): FUZZ_PARSER=e fuzz_account FOUND tests/data/account/corpus; what it finds goes
 * to FOUND. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "../harness/account/checkpoint.h"
#include "../harness/account/count.h"
#include "../harness/account/einsum_lower.h"
#include "../harness/account/hf_config.h"
#include "../harness/account/safetensors.h"
#include "../harness/row.h"
#include "../harness/samples_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVALUATED = 1 << 16 };

/* A complaint is one line of harmless text. */
static void check_complaint(const struct complaint *why) {
    if (!why->text[0]) abort();
    for (const char *c = why->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) abort();
}

/* A plan, or a reason why there is none; its last step makes as many elements as the output has. */
static void fuzz_lowering(const struct einsum *e) {
    static const enum dtype types[] = {DT_fp8_e4m3, DT_tf32, DT_fp16};
    struct einsum small = *e;
    einsum_shrink(&small, 8);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct lowering l;
        struct complaint why = {""};
        if (einsum_lower(&small, e, types[i], &l, &why)) {
            check_complaint(&why);
            continue;
        }
        const struct lowered_error error = lowering_error(&l, e->operands, 2);
        if (lowered_elements(&l.step[l.steps - 1]) != einsum_numel(&small, &small.out)) abort();
        if (!(error.terms >= 0 && error.result >= 0)) abort();
    }
}

/* Sizes cycle through 1, 2, 3 and are given by name; or those of every second axis only, and shapes besides. */
static void choose_sizes(const struct einsum *e, bool shapes, unsigned seed,
                         struct einsum_sizes *s) {
    einsum_sizes_none(s);
    for (int a = 0; a < e->axes; a++) {
        if (!e->axis[a].name[0] || (shapes && a % 2)) continue;
        s->name[s->names] = e->axis[a].name;
        s->size[s->names++] = a % 3 + 1;
    }
    for (int i = 0; i < e->operands; i++) {
        const bool dots = einsum_has(&e->in[i], ELLIPSIS);
        if (dots && !shapes) s->ellipsis = 2;
        if (!shapes) continue;
        s->dims[i] = e->in[i].dims + (dots ? 1 : 0);
        for (int d = 0; d < s->dims[i] && d < EINSUM_DIMS; d++)
            s->shape[i][d] = seed % 2 ? 6 : ((unsigned)d + seed) % 6 + 1;
        if (s->dims[i] > EINSUM_DIMS) s->dims[i] = EINSUM_DIMS;
    }
    s->ellipsis_size[0] = 2;
    s->ellipsis_size[1] = 3;
}

/* The first character chooses the kind and how sizes are given. */
static void fuzz_einsum(const char *text) {
    struct einsum e;
    struct einsum_sizes sizes;
    struct einsum_cost cost;
    struct complaint why = {""};
    if (!*text) return;
    const enum einsum_kind kind = (enum einsum_kind)((unsigned char)*text % 6);
    if (einsum_parse(text + 1, kind, &e, &why)) {
        check_complaint(&why);
        return;
    }
    const unsigned choice = (unsigned char)*text / 6;
    choose_sizes(&e, choice % 2, choice / 2, &sizes);
    if (einsum_bind(&e, &sizes, &why) || einsum_cost(&e, DT_nvfp4, &cost, &why)) {
        check_complaint(&why);
        return;
    }
    int64_t elements = einsum_numel(&e, &e.out);
    for (int i = 0; i < e.operands; i++) elements = count_add(elements, einsum_numel(&e, &e.in[i]));
    if (elements > EVALUATED || cost.steps > EVALUATED) return;
    fuzz_lowering(&e);
    double *buffer = calloc((size_t)elements, sizeof *buffer);
    const double *in[EINSUM_OPERANDS];
    if (!buffer) return;
    double *next = buffer;
    for (int i = 0; i < e.operands; i++) {
        in[i] = next;
        next += einsum_numel(&e, &e.in[i]);
    }
    einsum_evaluate(&e, in, next);
    free(buffer);
}

/* The first two bytes: how long the data are. */
static void fuzz_safetensors(const char *text, size_t length) {
    struct checkpoint c = {.files = 1};
    struct complaint why = {""};
    if (length < 2) return;
    const int64_t data = (unsigned char)text[0] << 8 | (unsigned char)text[1];
    if (safetensors_parse(text + 2, length - 2, data, &c.tensors, &why)) {
        check_complaint(&why);
        return;
    }
    size_t parts;
    struct checkpoint_part *part = checkpoint_parts(&c, &parts);
    int64_t bytes = 0;
    for (size_t i = 0; i < parts; i++) {
        bytes = count_add(bytes, part[i].bytes);
        checkpoint_role(part[i].pattern);
    }
    if (bytes != data) abort(); /* every byte belongs to one tensor */
    checkpoint_parts_release(part, parts);
    checkpoint_release(&c);
}

static char folder[] = "/tmp/roofline-fuzz-XXXXXX", path[64];

static void remove_folder(void) {
    if (*path) remove(path);
    rmdir(folder);
}

/* Reads it as a file of this name, which is the only one in its folder. */
static void fuzz_file(const char *name, const char *text, size_t length) {
    static bool there;
    struct checkpoint c;
    struct complaint why = {""};
    if (!there && (!mkdtemp(folder) || atexit(remove_folder))) abort();
    there = true;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, length, f) != length || fclose(f)) abort();
    if (checkpoint_read(path, &c, &why))
        check_complaint(&why);
    else
        checkpoint_release(&c);
    remove(path);
}

static void fuzz_config(const char *text, size_t length) {
    struct transformer m;
    struct complaint why = {""};
    if (hf_config_read(text, length, &m, &why)) {
        check_complaint(&why);
        return;
    }
    const struct stages alone = {.tensor = 1, .pipeline = 1, .micro_batches = 1};
    const struct parameter_counts c = transformer_parameters(&m);
    if (c.total <= 0 || c.active <= 0 || c.active > c.total) abort();
    if (!(transformer_flops(&m, 4096).matmul > 0) || kv_cache_token(&m, DT_bf16) < 0) abort();
    transformer_layer_activations(&m, RECOMPUTE_FULL, DT_bf16, 4096, 8, false, &alone);
}

static void fuzz_numbers(const char *text) {
    int64_t n, size[8];
    double x;
    if (parse_count(text, &n) && (n < 0 || n == COUNT_OVERFLOW)) abort();
    if (parse_bytes(text, &n)) in_units((double)n, n % 2);
    if (parse_quantity(text, &x)) figure(x);
    const int count = parse_sizes(text, 1, size, 8);
    for (int i = 0; i < count; i++)
        if (size[i] < 1) abort();
}

static void fuzz_csv(char *text, size_t length) {
    char *field[8];
    const int count = csv_split(text, field, 8);
    if (count == 0 || count > 8) abort();
    for (int i = 0; i < count; i++)
        if (field[i] < text || field[i] + strlen(field[i]) > text + length) abort();
}

static void fuzz_rows(char *text) {
    struct rows rows;
    bool torn;
    if (rows_parse(text, strlen(text), "fuzz", &rows, &torn)) {
        if (rows.row || rows.count) abort();
        return;
    }
    for (size_t i = 0; i < rows.count; i++)
        if (!row_same_key(&rows.row[i], &rows.row[i])) abort();
    free(rows.row);
}

static void fuzz_samples(char *text) {
    struct series_list list;
    if (samples_parse(text, strlen(text), "fuzz", &list)) {
        if (list.series || list.count) abort();
        return;
    }
    for (size_t i = 0; i < list.count; i++)
        if (list.series[i].count == 0) abort();
    samples_release(&list);
}

int fuzz_one(const uint8_t *data, size_t length) {
    if (length == 0 || length > 65536) return 0;
    char *text =
        malloc(length); /* of its exact size, so that a read behind it is seen; ends in a NUL */
    if (!text) return 0;
    memcpy(text, data + 1, length - 1);
    text[length - 1] = '\0';
    switch (data[0]) {
    case 'e':
        fuzz_einsum(text);
        break;
    case 's':
        fuzz_safetensors(text, length - 1);
        break;
    case 'f':
        fuzz_file("model.safetensors", text, length - 1);
        break;
    case 'i':
        fuzz_file("model.safetensors.index.json", text, length - 1);
        break;
    case 'c':
        fuzz_config(text, length - 1);
        break;
    case 'v':
        fuzz_csv(text, length - 1);
        break;
    case 'r':
        fuzz_rows(text);
        break;
    case 'a':
        fuzz_samples(text);
        break;
    default:
        fuzz_numbers(text);
        break;
    }
    free(text);
    return 0;
}
