/* cmd_inspect.c - roofline account inspect: what a checkpoint holds, from its headers. */
#include "calculators.h"
#include "checkpoint.h"
#include "count.h"
#include "flags.h"

#include "../commands.h"

#include <inttypes.h>
#include <string.h>

static const char help[] =
    "Usage: roofline account inspect FILE\n"
    "\n"
    "Tensors, parameters, dtypes and bytes of a model's checkpoint: a .safetensors file, or the\n"
    "model.safetensors.index.json of one in shards. Only headers are read. They are checked: "
    "offsets within the data, as\n"
    "long as shape and dtype say, no overlap, no hole; shards and index agree. Of an index whose "
    "shards are not there the\n"
    "totals are shown. Names that differ in numbers only stand in one row. A header may have "
    "100,000,000 bytes, as the\n"
    "format says, and 4 million JSON values.\n"
    "\n"
    "  --json, --csv   for scripts; CSV holds the table\n"
    "\n"
    "Exit status 1: the index states another size than the shards have.\n"
    "\n"
    "Example: the 48 parameters of a network of 3 layers, 4 wide, in bf16:\n"
    "  roofline account inspect tests/data/account/network.safetensors\n";

static void shape_text(const struct stored_tensor *t, char *text, size_t size) {
    size_t used = 0;
    snprintf(text, size, "scalar");
    for (int d = 0; d < t->dims && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, d ? "x" : "", t->size[d]);
}

static void say_parts(struct answer *a, const struct checkpoint_part *part, size_t count) {
    static const char *const columns[] = {"tensor", "role",       "tensors", "shape",
                                          "dtype",  "parameters", "bytes"};
    answer_table(a, "parts", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        char shape[400];
        shape_text(part[i].first, shape, sizeof shape);
        answer_cell(a, "%s", part[i].pattern);
        answer_cell(a, "%s", checkpoint_role(part[i].pattern));
        answer_cell(a, "%zu", part[i].tensors);
        answer_cell(a, "%s", part[i].same_shape ? shape : "various");
        answer_cell(a, "%s", part[i].same_dtype ? part[i].first->dtype : "various");
        answer_cell(a, "%" PRId64, part[i].numel);
        answer_cell(a, "%" PRId64, part[i].bytes);
    }
}

static void say_roles(struct answer *a, const struct checkpoint_part *part, size_t count) {
    static const char *const roles[] = {"embedding", "attention",    "mlp",  "experts",
                                        "norms",     "output_layer", "other"};
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
        int64_t numel = 0;
        for (size_t i = 0; i < count; i++)
            if (strcmp(checkpoint_role(part[i].pattern), roles[r]) == 0)
                numel = count_add(numel, part[i].numel);
        if (numel) answer_count(a, roles[r], numel, "parameters", NULL);
    }
}

static void say_dtypes(struct answer *a, const struct stored_tensors *t) {
    const char *seen[32];
    size_t kinds = 0;
    for (size_t i = 0; i < t->count; i++) {
        size_t k = 0;
        while (k < kinds && seen[k] != t->tensor[i].dtype) k++;
        if (k < kinds) continue;
        seen[kinds++] = t->tensor[i].dtype;
        int64_t numel = 0;
        for (size_t j = i; j < t->count; j++)
            if (t->tensor[j].dtype == seen[k]) numel = count_add(numel, t->tensor[j].numel);
        char name[32];
        snprintf(name, sizeof name, "in_%s", seen[k]);
        answer_count(a, name, numel, "parameters", NULL);
    }
}

/* 0, or -1; *agree: the index's size is that of the tensors. */
static int answer(struct answer *a, const struct checkpoint *c, bool *agree,
                  struct complaint *why) {
    const struct stored_tensors *t = &c->tensors;
    int64_t numel = 0;
    for (size_t i = 0; i < t->count; i++) numel = count_add(numel, t->tensor[i].numel);
    if (numel == COUNT_OVERFLOW || t->data_bytes == COUNT_OVERFLOW)
        return complain(why, "more than 2^63 elements");
    *agree = c->only_index || c->index_bytes < 0 || c->index_bytes == t->data_bytes;
    answer_count(a, "files", (int64_t)c->files, "", NULL);
    answer_count(a, "tensors", (int64_t)(c->only_index ? c->indexed : t->count), "", NULL);
    if (c->only_index) {
        answer_text(a, "shards", "not here: what the index alone says");
        if (c->index_bytes >= 0) answer_count(a, "bytes", c->index_bytes, "B", NULL);
        return 0;
    }
    size_t count;
    struct checkpoint_part *part = checkpoint_parts(c, &count);
    if (!part) return complain(why, "out of memory");
    answer_count(a, "parameters", numel, "", "elements of all tensors");
    answer_count(a, "bytes", t->data_bytes, "B", NULL);
    if (numel)
        answer_real(a, "bytes_a_parameter", (double)t->data_bytes / (double)numel, "B", NULL);
    answer_count(a, "header_bytes", t->header_bytes, "B", NULL);
    if (!*agree)
        answer_count(a, "index_total_size", c->index_bytes, "B", "not what the shards hold");
    say_dtypes(a, t);
    say_roles(a, part, count);
    say_parts(a, part, count);
    checkpoint_parts_release(part, count);
    return 0;
}

int account_inspect(int argc, char **argv) {
    static const struct flag flags[] = {{.name = NULL}};
    static struct answer a;
    struct complaint why, reason;
    struct checkpoint c;
    bool agree = true;
    int operands;
    const enum flags_result result = flags_read(argc, argv, flags, &a, help, &operands);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? STATUS_OK : STATUS_ERROR;
    if (operands != 1) {
        complain(&why, operands ? "inspect: one file at a time" : "inspect: say which file");
        return account_refuse(&why);
    }
    if (checkpoint_read(argv[1], &c, &why)) return account_refuse(&why);
    const int bad = answer(&a, &c, &agree, &reason);
    if (bad) complain(&why, "%s: %s", argv[1], reason.text);
    const int status = bad ? account_refuse(&why) : account_print(&a);
    checkpoint_release(&c);
    return status == STATUS_OK && !agree ? STATUS_NO : status;
}
