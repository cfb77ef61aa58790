/* cmd_tensor.c - roofline account tensor: elements, bytes, and what is a view and what a copy. */
#include "calculators.h"
#include "count.h"
#include "flags.h"
#include "tensor.h"

#include "../../kernels/catalogue.h"
#include "../commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: roofline account tensor --shape SHAPE [--dtype TYPE] [steps]\n"
    "\n"
    "Elements and bytes of a tensor, and what operations on it cost: views change shape, strides "
    "and offset and move\n"
    "nothing; a copy reads and writes every element. Element (i, j) lies at offset + i stride0 + j "
    "stride1.\n"
    "\n"
    "  --shape 4x8          sizes, row-major unless --strides says otherwise\n"
    "  --strides 8x1        in elements; --offset N: where element 0 lies\n"
    "  --dtype TYPE         default fp32\n"
    "Steps, done in order; dimensions and indices from 0, negative ones from the end:\n"
    "  --select DIM,I       the I-th of a dimension: a row, a column\n"
    "  --slice DIM,A:B[:S]  from A to before B in steps of S\n"
    "  --transpose DIM,DIM\n"
    "  --view SHAPE         another shape of the same elements, refused where it takes a copy; one "
    "size may be -1\n"
    "  --reshape SHAPE      the same, copies where it must\n"
    "  --contiguous         copies unless it is\n"
    "  --at I,J             where an element lies\n"
    "\n"
    "Examples: GPT-3's feed-forward matrix takes 2,415,919,104 bytes; a transposed matrix cannot "
    "be flattened for free:\n"
    "  roofline account tensor --shape 49152x12288 --dtype fp32\n"
    "  roofline account tensor --shape 4x8 --transpose 0,1 --at 3,2 --reshape 32\n";

/* "1,-2" or "1x-1": whole numbers; how many, or -1. */
static int parse_list(const char *text, const char *separators, int64_t *out, int max) {
    for (int count = 0; count < max; text++) {
        char *end;
        errno = 0;
        out[count++] = strtoll(text, &end, 10);
        if (end == text || errno || *text == ' ' || *text == '+') return -1;
        if (!*end) return count;
        if (!strchr(separators, *end)) return -1;
        text = end;
    }
    return -1;
}

static int parse_shape(const char *text, int64_t *size, struct complaint *why) {
    const int dims = parse_list(text, "x,", size, TENSOR_DIMS);
    for (int d = 0; d < dims; d++)
        if (size[d] < 1 && size[d] != -1)
            return complain(why, "'%s': sizes are whole numbers from 1 on, such as 4x8", text);
    return dims < 0 ? complain(why, "'%s' is no shape, such as 4x8", text) : dims;
}

/* "1,2:6:2"; what is left out is the whole dimension. */
static int parse_slice(const char *text, int64_t part[4], struct complaint *why) {
    static const int64_t defaults[] = {0, 0, INT64_MAX, 1};
    char *end;
    errno = 0;
    part[0] = strtoll(text, &end, 10);
    bool good = end != text && *end == ',';
    for (int i = 1; i < 4; i++) {
        part[i] = defaults[i];
        if (!good || !*end) continue;
        const char *begin = end + 1;
        const int64_t value = strtoll(begin, &end, 10);
        if (end != begin) part[i] = value;
        good = !*end || *end == ':';
        if (i == 1 && *end != ':') good = false; /* an index, not a slice */
    }
    if (good && !*end && !errno) return 0;
    return complain(why, "slice '%s': DIM,A:B or DIM,A:B:S", text);
}

static void print_sizes(char *text, size_t size, const int64_t *value, int count) {
    size_t used = 0;
    snprintf(text, size, "scalar");
    for (int d = 0; d < count && used < size; d++) {
        const int written =
            snprintf(text + used, size - used, "%s%" PRId64, d ? "x" : "", value[d]);
        used += written > 0 ? (size_t)written : 0;
    }
}

static void say_element(struct answer *a, const struct tensor *t, const int64_t *index,
                        int64_t at) {
    char formula[160];
    size_t used = (size_t)snprintf(formula, sizeof formula, "%" PRId64, t->offset);
    for (int d = 0; d < t->dims && used < sizeof formula; d++) {
        const int64_t i = index[d] < 0 ? index[d] + t->size[d] : index[d];
        used += (size_t)snprintf(formula + used, sizeof formula - used, " + %" PRId64 " x %" PRId64,
                                 i, t->stride[d]);
    }
    answer_count(a, "element_offset", at, "elements", "%s", formula);
}

/* One step: the tensor after it, whether it copied. */
static int step(struct answer *a, struct tensor *t, const char *name, const char *text,
                bool *copied, struct complaint *why) {
    int64_t part[TENSOR_DIMS];
    *copied = false;
    if (strcmp(name, "slice") == 0)
        return parse_slice(text, part, why)
                   ? -1
                   : tensor_slice(t, part[0], part[1], part[2], part[3], why);
    if (strcmp(name, "view") == 0 || strcmp(name, "reshape") == 0) {
        const int dims = parse_shape(text, part, why);
        if (dims < 0) return -1;
        return *name == 'v' ? tensor_view(t, part, dims, why)
                            : tensor_reshape(t, part, dims, copied, why);
    }
    const int count = parse_list(text, ",", part, TENSOR_DIMS);
    if (strcmp(name, "at") == 0 && count > 0) {
        const int64_t at = tensor_at(t, part, count, why);
        if (at >= 0) say_element(a, t, part, at);
        return at < 0 ? -1 : 0;
    }
    if (count != 2) return complain(why, "'%s': two whole numbers, such as 0,1", text);
    return *name == 's' ? tensor_select(t, part[0], part[1], why)
                        : tensor_transpose(t, part[0], part[1], why);
}

struct question {
    const char *shape, *strides;
    int64_t offset;
    int dtype;
    struct flag_steps steps;
};

static int make_tensor(const struct question *q, struct tensor *t, struct complaint *why) {
    int64_t size[TENSOR_DIMS], stride[TENSOR_DIMS];
    if (!q->shape) return complain(why, "tensor: say --shape");
    const int dims = parse_sizes(q->shape, 1, size, TENSOR_DIMS);
    if (dims < 0)
        return complain(why, "--shape '%s': at most %d sizes from 1 on, such as 4x8", q->shape,
                        TENSOR_DIMS);
    if (tensor_new(t, size, dims, why)) return -1;
    if (q->strides) {
        if (parse_sizes(q->strides, 0, stride, TENSOR_DIMS) != dims)
            return complain(why, "--strides '%s': %d of them, from 0 on", q->strides, dims);
        memcpy(t->stride, stride, (size_t)dims * sizeof *stride);
    }
    t->offset = q->offset;
    return tensor_storage(t) >= INT64_MAX / 2 ? complain(why, "tensor: the storage is too large")
                                              : 0;
}

/* -1: the dtype cannot hold so many. */
static int64_t bytes(const struct question *q, int64_t numel, struct complaint *why) {
    const size_t size = storage_bytes((enum dtype)q->dtype, numel);
    if (size && size < INT64_MAX / 2) return (int64_t)size;
    return complain(why, "tensor: %s elements of %s %s", grouped(numel).text, dtypes[q->dtype].name,
                    q->dtype == DT_nvfp4 && numel % 16 ? "are no whole blocks of 16"
                                                       : "are too many bytes");
}

static void say_layout(struct answer *a, const struct tensor *t) {
    char shape[256], strides[256];
    print_sizes(shape, sizeof shape, t->size, t->dims);
    print_sizes(strides, sizeof strides, t->stride, t->dims);
    answer_text(a, "shape", "%s", shape);
    answer_text(a, "strides", "%s", strides);
    answer_count(a, "offset", t->offset, "elements", NULL);
    answer_text(a, "contiguous", "%s", tensor_is_contiguous(t) ? "yes" : "no");
}

static int answer(struct answer *a, const struct question *q, struct complaint *why) {
    struct tensor t = {.dims = 0};
    if (make_tensor(q, &t, why)) return -1;
    int64_t numel = tensor_numel(&t), size = bytes(q, numel, why), moved = 0;
    if (size < 0) return -1;
    char text[256];
    print_sizes(text, sizeof text, t.size, t.dims);
    if (q->steps.count) answer_text(a, "0", "%s", text);
    for (int i = 0; i < q->steps.count; i++) {
        const char *name = q->steps.name[i], *value = q->steps.value[i];
        struct complaint reason;
        bool copied = false;
        int64_t now = 0;
        if (strcmp(name, "contiguous") == 0)
            tensor_contiguous(&t, &copied);
        else if (step(a, &t, name, value, &copied, &reason))
            return complain(why, "--%s %s: %s", name, value, reason.text);
        if (strcmp(name, "at") == 0) continue;
        if (copied && (now = bytes(q, tensor_numel(&t), why)) < 0) return -1;
        moved = count_add(moved, count_mul(2, now));
        char label[48], strides[160];
        snprintf(label, sizeof label, "%d", i + 1);
        print_sizes(text, sizeof text, t.size, t.dims);
        print_sizes(strides, sizeof strides, t.stride, t.dims);
        if (copied)
            answer_text(a, label, "%s %s: a copy, reads and writes %s bytes; %s, strides %s", name,
                        value, grouped(now).text, text, strides);
        else
            answer_text(a, label, "%s %s: a view, moves nothing; %s, strides %s, offset %" PRId64,
                        name, value, text, strides, t.offset);
    }
    numel = tensor_numel(&t);
    if (q->steps.count && (size = bytes(q, numel, why)) < 0) return -1;
    say_layout(a, &t);
    answer_count(a, "numel", numel, "elements", NULL);
    answer_count(a, "bytes", size, "B", "%s x %d bits (%s)%s", grouped(numel).text,
                 dtypes[q->dtype].bits, dtypes[q->dtype].name,
                 q->dtype == DT_nvfp4 ? " + 8 a block of 16, + the tensor's scale" : "");
    if (q->steps.count)
        answer_count(a, "bytes_moved", moved, "B", moved ? "copies: 2 x bytes" : "views alone");
    return 0;
}

int account_tensor(int argc, char **argv) {
    static struct answer a;
    struct complaint why;
    struct question q = {.dtype = DT_fp32};
    const char *offset = NULL;
    int operands;
    const struct flag flags[] = {
        {"shape", FLAG_TEXT, &q.shape, NULL},     {"strides", FLAG_TEXT, &q.strides, NULL},
        {"offset", FLAG_TEXT, &offset, NULL},     {"dtype", FLAG_DTYPE, &q.dtype, NULL},
        {"select", FLAG_STEP, &q.steps, NULL},    {"slice", FLAG_STEP, &q.steps, NULL},
        {"transpose", FLAG_STEP, &q.steps, NULL}, {"view", FLAG_STEP, &q.steps, NULL},
        {"reshape", FLAG_STEP, &q.steps, NULL},   {"contiguous", FLAG_LONE_STEP, &q.steps, NULL},
        {"at", FLAG_STEP, &q.steps, NULL},        {.name = NULL}};
    const enum flags_result result = flags_read(argc, argv, flags, &a, help, &operands);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? STATUS_OK : STATUS_ERROR;
    if (account_no_operands(argv, operands)) return STATUS_ERROR;
    if (offset && !parse_count(offset, &q.offset)) {
        complain(&why, "--offset '%s': a whole number from 0 on", offset);
        return account_refuse(&why);
    }
    if (answer(&a, &q, &why)) return account_refuse(&why);
    return account_print(&a);
}
