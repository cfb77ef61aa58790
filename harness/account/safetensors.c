/* safetensors.c - a header is believed when every byte of the data belongs to one tensor. */
#define _GNU_SOURCE
#include "safetensors.h"
#include "count.h"
#include "json_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    int bits;
} kinds[] = {{"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
             {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},
             {"I32", 32},    {"U32", 32}, {"F32", 32}, {"F64", 64},    {"I64", 64},
             {"U64", 64},    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}};

/* Bytes of a tensor; -1 when its bits are no whole bytes, COUNT_OVERFLOW when there are too many. */
static int64_t tensor_bytes(int64_t numel, int bits) {
    const int64_t total = count_mul(numel, bits);
    if (total == COUNT_OVERFLOW) return total;
    return total % 8 ? -1 : total / 8;
}

static int read_shape(const json_t *shape, struct stored_tensor *t, struct complaint *why) {
    if (!json_is_array(shape)) return complain(why, "tensor '%s': no shape", t->name);
    if (json_array_size(shape) > SAFETENSORS_DIMS)
        return complain(why, "tensor '%s': more than %d dimensions", t->name, SAFETENSORS_DIMS);
    t->dims = (int)json_array_size(shape);
    t->numel = 1;
    for (int d = 0; d < t->dims; d++) {
        const json_t *size = json_array_get(shape, (size_t)d);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return complain(why, "tensor '%s': a size is no whole number from 0 on", t->name);
        t->size[d] = json_integer_value(size);
        t->numel = count_mul(t->numel, t->size[d]);
    }
    return t->numel == COUNT_OVERFLOW ? complain(why, "tensor '%s': too many elements", t->name)
                                      : 0;
}

static int read_tensor(const json_t *entry, int64_t data_bytes, struct stored_tensor *t,
                       struct complaint *why) {
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t kind = 0;
    if (!json_is_object(entry)) return complain(why, "tensor '%s': no JSON object", t->name);
    if (!dtype) return complain(why, "tensor '%s': no dtype", t->name);
    while (kind < sizeof kinds / sizeof *kinds && strcmp(dtype, kinds[kind].name) != 0) kind++;
    if (kind == sizeof kinds / sizeof *kinds)
        return complain(why, "tensor '%s': unknown dtype '%s'", t->name, dtype);
    t->dtype = kinds[kind].name;
    if (read_shape(json_object_get(entry, "shape"), t, why)) return -1;
    if (json_array_size(offsets) != 2 || !json_is_integer(json_array_get(offsets, 0)) ||
        !json_is_integer(json_array_get(offsets, 1)))
        return complain(why, "tensor '%s': data_offsets are not two whole numbers", t->name);
    t->begin = json_integer_value(json_array_get(offsets, 0));
    t->end = json_integer_value(json_array_get(offsets, 1));
    if (t->begin < 0 || t->end < t->begin || t->end > data_bytes)
        return complain(why,
                        "tensor '%s': data at %lld to %lld, outside of the %lld bytes there are",
                        t->name, (long long)t->begin, (long long)t->end, (long long)data_bytes);
    const int64_t bytes = tensor_bytes(t->numel, kinds[kind].bits);
    if (bytes != t->end - t->begin)
        return complain(why, "tensor '%s': %s elements of %s do not take %lld bytes", t->name,
                        grouped(t->numel).text, dtype, (long long)(t->end - t->begin));
    return 0;
}

static int by_place(const void *a, const void *b) {
    const struct stored_tensor *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int check_places(const struct stored_tensors *t, struct complaint *why) {
    int64_t at = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct stored_tensor *x = &t->tensor[i];
        if (x->begin < at)
            return complain(why, "tensors '%s' and '%s' overlap at byte %lld",
                            t->tensor[i - 1].name, x->name, (long long)x->begin);
        if (x->begin > at)
            return complain(why, "bytes %lld to %lld, before tensor '%s', belong to none",
                            (long long)at, (long long)x->begin, x->name);
        at = x->end;
    }
    if (at == t->data_bytes) return 0;
    return complain(why, "the last %lld bytes belong to no tensor",
                    (long long)(t->data_bytes - at));
}

static int check_metadata(json_t *metadata, struct complaint *why) {
    if (!json_is_object(metadata)) return complain(why, "__metadata__ is no JSON object");
    for (void *i = json_object_iter(metadata); i; i = json_object_iter_next(metadata, i))
        if (!json_is_string(json_object_iter_value(i)))
            return complain(why, "__metadata__: '%s' is no text", json_object_iter_key(i));
    return 0;
}

static int read_all(json_t *root, struct stored_tensors *t, struct complaint *why) {
    t->tensor = calloc(json_object_size(root) + 1, sizeof *t->tensor);
    if (!t->tensor) return complain(why, "out of memory");
    for (void *i = json_object_iter(root); i; i = json_object_iter_next(root, i)) {
        const char *name = json_object_iter_key(i);
        json_t *value = json_object_iter_value(i);
        if (strcmp(name, "__metadata__") == 0) {
            if (check_metadata(value, why)) return -1;
            continue;
        }
        struct stored_tensor *x = &t->tensor[t->count];
        x->name = strdup(name);
        if (!x->name) return complain(why, "out of memory");
        t->count++;
        if (read_tensor(value, t->data_bytes, x, why)) return -1;
    }
    qsort(t->tensor, t->count, sizeof *t->tensor, by_place);
    return check_places(t, why);
}

int safetensors_parse(const char *json, size_t length, int64_t data_bytes, struct stored_tensors *t,
                      struct complaint *why) {
    *t = (struct stored_tensors){.header_bytes = (int64_t)length, .data_bytes = data_bytes};
    if (length == 0 || *json != '{') return complain(why, "header: does not begin with '{'");
    json_t *root = json_object_of(json, length, "header", why);
    if (!root) return -1;
    const int bad = read_all(root, t, why);
    json_decref(root);
    if (bad) safetensors_release(t);
    return bad;
}

int64_t safetensors_header_bytes(const unsigned char first[8], int64_t file_bytes,
                                 struct complaint *why) {
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | first[i];
    if (length > SAFETENSORS_MAX_HEADER)
        return complain(why, "header of %llu bytes, more than the %d that the format allows",
                        (unsigned long long)length, SAFETENSORS_MAX_HEADER);
    if ((int64_t)length > file_bytes - 8)
        return complain(why, "header of %llu bytes in a file of %lld", (unsigned long long)length,
                        (long long)file_bytes);
    return (int64_t)length;
}

static int read_header(FILE *f, int64_t file_bytes, struct stored_tensors *t,
                       struct complaint *why) {
    unsigned char first[8];
    if (fread(first, 1, 8, f) != 8)
        return complain(why, ferror(f) ? "cannot be read" : "too short for a safetensors file");
    const int64_t length = safetensors_header_bytes(first, file_bytes, why);
    if (length < 0) return -1;
    char *json = malloc((size_t)length + 1);
    if (!json) return complain(why, "out of memory");
    int bad = fread(json, 1, (size_t)length, f) != (size_t)length;
    if (bad)
        complain(why, "the header cannot be read");
    else
        bad = safetensors_parse(json, (size_t)length, file_bytes - 8 - length, t, why);
    free(json);
    return bad ? -1 : 0;
}

int safetensors_read(const char *path, struct stored_tensors *t, struct complaint *why) {
    struct complaint reason;
    struct stat facts;
    *t = (struct stored_tensors){.count = 0};
    if (stat(path, &facts)) return complain(why, "%s: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode)) return complain(why, "%s: no regular file", path);
    FILE *f = fopen(path, "rb");
    if (!f) return complain(why, "%s: %s", path, strerror(errno));
    const int bad = read_header(f, (int64_t)facts.st_size, t, &reason);
    fclose(f);
    return bad ? complain(why, "%s: %s", path, reason.text) : 0;
}

void safetensors_release(struct stored_tensors *t) {
    for (size_t i = 0; i < t->count; i++) free(t->tensor[i].name);
    free(t->tensor);
    t->tensor = NULL;
    t->count = 0;
}
