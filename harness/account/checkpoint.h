/* checkpoint.h - a model's weights as stored: one .safetensors file, or the shards that an index names. */
#ifndef ACCOUNT_CHECKPOINT_H
#define ACCOUNT_CHECKPOINT_H
#include "safetensors.h"

struct checkpoint {
    struct stored_tensors tensors; /* of all files; empty when only the index is here */
    size_t files, indexed; /* shards that there are; tensors that the index lists, 0: no index */
    bool only_index;
    int64_t index_bytes; /* metadata.total_size; -1: not stated */
};

/* A path that ends in .json is an index; its shards lie beside it, all or none of them. 0, or -1 after a complaint with
 * nothing to release. */
int checkpoint_read(const char *path, struct checkpoint *c, struct complaint *why);
void checkpoint_release(struct checkpoint *c);

/* Tensors alike: names that differ in numbers only. */
struct checkpoint_part {
    char *pattern; /* "model.layers.*.mlp.up_proj.weight" */
    size_t tensors;
    int64_t numel, bytes;
    const struct stored_tensor *first;
    bool same_shape, same_dtype;
};

/* In the order of their patterns; *count of them, to be released with checkpoint_parts_release(). NULL: no memory. */
struct checkpoint_part *checkpoint_parts(const struct checkpoint *c, size_t *count);
void checkpoint_parts_release(struct checkpoint_part *part, size_t count);

/* "embedding", "attention", "mlp", "experts", "norms", "output_layer", "other": by words of common names. */
const char *checkpoint_role(const char *pattern);
#endif
