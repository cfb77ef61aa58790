/* checkpoint.c - shards put together, tensors put into groups. */
#define _GNU_SOURCE
#include "checkpoint.h"
#include "count.h"
#include "json_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INDEX = 64 << 20 };

/* ---- shards ---- */

static int by_text(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Shards lie beside the index: a name with a folder in it could lead anywhere. */
static bool is_file_name(const char *name) {
    return name && *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The names of the shards, each once; they belong to the map. */
static const char **shard_names(json_t *map, size_t *count, struct complaint *why) {
    const size_t entries = json_object_size(map);
    const char **name = calloc(entries + 1, sizeof *name);
    size_t used = 0;
    *count = 0;
    if (!name) {
        complain(why, "out of memory");
        return NULL;
    }
    for (void *i = json_object_iter(map); i; i = json_object_iter_next(map, i)) {
        const char *file = json_string_value(json_object_iter_value(i));
        if (!is_file_name(file)) {
            complain(why, "weight_map: '%s' is in no file beside the index",
                     json_object_iter_key(i));
            free(name);
            return NULL;
        }
        name[used++] = file;
    }
    qsort(name, used, sizeof *name, by_text);
    for (size_t i = 0; i < used; i++)
        if (i == 0 || strcmp(name[i], name[*count - 1]) != 0) name[(*count)++] = name[i];
    return name;
}

/* Takes over the tensors of a shard. */
static int append(struct stored_tensors *all, struct stored_tensors *shard, struct complaint *why) {
    struct stored_tensor *more =
        realloc(all->tensor, (all->count + shard->count + 1) * sizeof *more);
    if (!more) return complain(why, "out of memory");
    all->tensor = more;
    if (shard->count) memcpy(more + all->count, shard->tensor, shard->count * sizeof *more);
    all->count += shard->count;
    all->header_bytes = count_add(all->header_bytes, shard->header_bytes);
    all->data_bytes = count_add(all->data_bytes, shard->data_bytes);
    shard->count = 0;
    return 0;
}

static int read_shard(const char *path, const char *name, json_t *map, struct checkpoint *c,
                      struct complaint *why) {
    struct stored_tensors shard;
    if (safetensors_read(path, &shard, why)) return -1;
    int bad = 0;
    for (size_t i = 0; i < shard.count && !bad; i++) {
        const char *file = json_string_value(json_object_get(map, shard.tensor[i].name));
        if (!file)
            bad = complain(why, "%s: tensor '%s' is not in the index", path, shard.tensor[i].name);
        else if (strcmp(file, name) != 0)
            bad = complain(why, "%s: tensor '%s', which the index has in %s", path,
                           shard.tensor[i].name, file);
    }
    if (!bad) bad = append(&c->tensors, &shard, why);
    safetensors_release(&shard);
    return bad;
}

/* The path of a file beside the index. */
static char *beside(const char *index, const char *name) {
    const char *slash = strrchr(index, '/');
    const size_t folder = slash ? (size_t)(slash - index) + 1 : 0, length = strlen(name) + 1;
    char *path = malloc(folder + length);
    if (!path) return NULL;
    memcpy(path, index, folder);
    memcpy(path + folder, name, length);
    return path;
}

/* Paths of the shards, NULL-ended; NULL: no memory. */
static char **shard_paths(const char *index, const char **name, size_t count) {
    char **path = calloc(count + 1, sizeof *path);
    for (size_t i = 0; path && i < count; i++) {
        path[i] = beside(index, name[i]);
        if (path[i]) continue;
        while (i > 0) free(path[--i]);
        free(path);
        return NULL;
    }
    return path;
}

/* All of them, or none where none is here. */
static int read_files(const char *index, const char **name, char **path, json_t *map,
                      struct checkpoint *c, struct complaint *why) {
    size_t here = 0;
    const char *missing = NULL;
    for (size_t i = 0; i < c->files; i++) {
        if (access(path[i], F_OK) == 0)
            here++;
        else if (!missing)
            missing = name[i];
    }
    c->only_index = here == 0;
    if (c->only_index) return 0;
    if (missing)
        return complain(why, "%s: %s is missing; of %zu shards %zu are here", index, missing,
                        c->files, here);
    for (size_t i = 0; i < c->files; i++)
        if (read_shard(path[i], name[i], map, c, why)) return -1;
    if (c->tensors.count == c->indexed) return 0;
    return complain(why, "%s: lists %zu tensors, the shards hold %zu", index, c->indexed,
                    c->tensors.count);
}

static int read_shards(const char *index, json_t *map, struct checkpoint *c,
                       struct complaint *why) {
    const char **name = shard_names(map, &c->files, why);
    if (!name) return -1;
    char **path = shard_paths(index, name, c->files);
    const int bad =
        path ? read_files(index, name, path, map, c, why) : complain(why, "out of memory");
    for (size_t i = 0; path && i < c->files; i++) free(path[i]);
    free(path);
    free(name);
    return bad;
}

static int read_index(const char *path, struct checkpoint *c, struct complaint *why) {
    size_t length;
    char *text = read_whole_file(path, MAX_INDEX, &length, why);
    json_t *root = text ? json_object_of(text, length, path, why) : NULL;
    free(text);
    if (!root) return -1;
    json_t *map = json_object_get(root, "weight_map");
    const json_t *total = json_object_get(json_object_get(root, "metadata"), "total_size");
    int bad = 0;
    if (!json_is_object(map) || json_object_size(map) == 0)
        bad = complain(why, "%s: no weight_map", path);
    else if (total && (!json_is_integer(total) || json_integer_value(total) < 0))
        bad = complain(why, "%s: metadata.total_size is no whole number", path);
    if (!bad) {
        c->indexed = json_object_size(map);
        c->index_bytes = total ? (int64_t)json_integer_value(total) : -1;
        bad = read_shards(path, map, c, why);
    }
    json_decref(root);
    return bad;
}

int checkpoint_read(const char *path, struct checkpoint *c, struct complaint *why) {
    const size_t length = strlen(path);
    *c = (struct checkpoint){.files = 1, .index_bytes = -1};
    if (length < 5 || strcmp(path + length - 5, ".json") != 0)
        return safetensors_read(path, &c->tensors, why);
    if (read_index(path, c, why) == 0) return 0;
    checkpoint_release(c);
    return -1;
}

void checkpoint_release(struct checkpoint *c) { safetensors_release(&c->tensors); }

/* ---- groups ---- */

/* "model.layers.12.mlp" as "model.layers.*.mlp"; NULL: no memory. */
static char *pattern_of_name(const char *name) {
    char *pattern = malloc(strlen(name) + 2), *out = pattern;
    if (!pattern) return NULL;
    while (*name) {
        const size_t word = strcspn(name, "."), digits = strspn(name, "0123456789");
        if (word && digits == word) {
            *out++ = '*';
        } else {
            memcpy(out, name, word);
            out += word;
        }
        name += word;
        if (*name == '.') *out++ = *name++;
    }
    *out = '\0';
    return pattern;
}

static bool same_shape(const struct stored_tensor *a, const struct stored_tensor *b) {
    return a->dims == b->dims && memcmp(a->size, b->size, (size_t)a->dims * sizeof *a->size) == 0;
}

static int by_pattern(const void *a, const void *b) {
    const struct checkpoint_part *x = a, *y = b;
    return strcmp(x->pattern, y->pattern);
}

struct checkpoint_part *checkpoint_parts(const struct checkpoint *c, size_t *count) {
    const struct stored_tensors *t = &c->tensors;
    struct checkpoint_part *part = calloc(t->count + 1, sizeof *part);
    *count = 0;
    if (!part) return NULL;
    for (size_t i = 0; i < t->count; i++) {
        const struct stored_tensor *x = &t->tensor[i];
        part[i] = (struct checkpoint_part){.pattern = pattern_of_name(x->name),
                                           .tensors = 1,
                                           .numel = x->numel,
                                           .bytes = x->end - x->begin,
                                           .first = x,
                                           .same_shape = true,
                                           .same_dtype = true};
        if (!part[i].pattern) {
            checkpoint_parts_release(part, i);
            return NULL;
        }
    }
    qsort(part, t->count, sizeof *part, by_pattern);
    for (size_t i = 0; i < t->count; i++) {
        struct checkpoint_part *last = *count ? &part[*count - 1] : NULL;
        if (!last || strcmp(last->pattern, part[i].pattern) != 0) {
            part[(*count)++] = part[i];
            continue;
        }
        last->tensors++;
        last->numel = count_add(last->numel, part[i].numel);
        last->bytes = count_add(last->bytes, part[i].bytes);
        last->same_shape &= same_shape(last->first, part[i].first);
        last->same_dtype &= last->first->dtype == part[i].first->dtype;
        free(part[i].pattern);
    }
    return part;
}

void checkpoint_parts_release(struct checkpoint_part *part, size_t count) {
    for (size_t i = 0; part && i < count; i++) free(part[i].pattern);
    free(part);
}

const char *checkpoint_role(const char *pattern) {
    static const struct {
        const char *word, *role;
    } roles[] = {{"norm", "norms"},           {"ln_", "norms"},
                 {"experts", "experts"},      {"embed", "embedding"},
                 {"wte", "embedding"},        {"wpe", "embedding"},
                 {"lm_head", "output_layer"}, {"attn", "attention"},
                 {"attention", "attention"},  {"mlp", "mlp"},
                 {"feed_forward", "mlp"},     {"block_sparse_moe", "mlp"}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strstr(pattern, roles[i].word)) return roles[i].role;
    return "other";
}
