/* safetensors.h - headers of .safetensors files: 8 bytes of length, little endian, that many bytes of JSON, then data.
 *
 * Checked as the format's reference implementation does: offsets lie within the data, fit shape and dtype, neither
 * overlap nor leave holes, and the data are all of the file. Source: github.com/huggingface/safetensors, README. */
#ifndef ACCOUNT_SAFETENSORS_H
#define ACCOUNT_SAFETENSORS_H
#include "answer.h"

enum { SAFETENSORS_DIMS = 16, SAFETENSORS_MAX_HEADER = 100000000 };

struct stored_tensor {
    char *name;
    const char *dtype; /* "BF16" */
    int dims;
    int64_t size[SAFETENSORS_DIMS];
    int64_t numel, begin, end; /* bytes within the data */
};

struct stored_tensors {
    struct stored_tensor *tensor;
    size_t count;
    int64_t header_bytes, data_bytes;
};

/* A header's JSON, for data of so many bytes; tensors come in the order of their data. 0, or -1 after a complaint with
 * nothing to release. */
int safetensors_parse(const char *json, size_t length, int64_t data_bytes, struct stored_tensors *t,
                      struct complaint *why);

/* A file's first bytes: how long its header is; -1 after a complaint. file_bytes: of the whole file. */
int64_t safetensors_header_bytes(const unsigned char first[8], int64_t file_bytes,
                                 struct complaint *why);

/* The header of a file; its data are not read. */
int safetensors_read(const char *path, struct stored_tensors *t, struct complaint *why);

void safetensors_release(struct stored_tensors *t);
#endif
