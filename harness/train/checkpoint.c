/* checkpoint.c - training state as safetensors: tensors parameters.*, optimizer.*, trainer.*, the rest as metadata.
 *
 * Written beside the old file, synced, renamed over it, the directory synced: whenever it is killed, one whole file is
 * there. A digest of header and data tells a file whose blocks never reached the disk. Formats: safetensors.h. */
#define _GNU_SOURCE
#include "trainer.h"

#include "../account/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const format = "roofline-train-1";
enum { PIECE = 1 << 24, DIGEST_DIGITS = 16, NAME = 64 };

/* ---- what a trainer consists of ---- */

struct item {
    char name[NAME];
    enum dtype dtype;
    int64_t rows, cols;
    void *device; /* or: */
    double *host; /* fp64 */
};

static size_t item_bytes(const struct item *x) {
    return storage_bytes(x->dtype, x->rows * x->cols);
}

static void add(struct item *items, size_t *count, const char *prefix, const struct parameter *p,
                enum dtype t, void *base) {
    struct item *x = &items[*count];
    if (!base) return;
    *x = (struct item){.dtype = t,
                       .rows = p->rows,
                       .cols = p->cols,
                       .device = (char *)base + storage_bytes(t, p->first)};
    snprintf(x->name, sizeof x->name, "%s.%s", prefix, p->name);
    ++*count;
}

/* In the order in which they are stored. NULL: no memory. */
static struct item *items_of(struct trainer *t, size_t *count) {
    const struct model *m = &t->model;
    struct item *items = calloc(4 * (size_t)m->parameters + 1, sizeof *items);
    *count = 0;
    if (!items) return NULL;
    for (int i = 0; i < m->parameters; i++) {
        const struct parameter *p = &m->parameter[i];
        const struct group *g = &m->group[p->group];
        add(items, count, "parameters", p, m->stored, g->param);
        add(items, count, "optimizer.master", p, m->acc, g->master);
        add(items, count, "optimizer.state0", p, m->acc, g->state[0]);
        add(items, count, "optimizer.state1", p, m->acc, g->state[1]);
    }
    if (t->amax) {
        struct item *x = &items[(*count)++];
        *x = (struct item){.dtype = DT_fp64, .rows = 1, .cols = m->scales, .host = t->amax};
        snprintf(x->name, sizeof x->name, "trainer.amax");
    }
    return items;
}

static const char *stored_name(enum dtype t) {
    return t == DT_fp64 ? "F64" : t == DT_fp16 ? "F16" : t == DT_bf16 ? "BF16" : "F32";
}

static uint64_t digest(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (; bytes >= 8;
         p += 8, bytes -= 8) { /* FNV-1a, by words, folded so that high bits count too */
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; bytes; p++, bytes--) h = (h ^ *p) * 0x100000001b3u;
    return h;
}

static const char digest_key[] = "\"digest\":\"";

/* Of a header without padding, in which the digest's own digits count as zeros; the data's follow. 0: it names none. */
static uint64_t digest_of_header(const char *header, size_t length) {
    static const char zeros[DIGEST_DIGITS] = "0000000000000000";
    const char *mark = memmem(header, length, digest_key, strlen(digest_key));
    const size_t before = mark ? (size_t)(mark - header) + strlen(digest_key) : length;
    if (length - before < DIGEST_DIGITS) return 0;
    const size_t after = before + DIGEST_DIGITS;
    uint64_t h = digest(0xcbf29ce484222325u, header, before);
    h = digest(h, zeros, DIGEST_DIGITS);
    return digest(h, header + after, length - after);
}

/* ---- writing ---- */

static int number(json_t *o, const char *name, const char *text) {
    return json_object_set_new(o, name, json_string(text));
}

/* The header as text, its digest zeros; NULL: no memory. */
static char *header_of(const struct trainer *t, const struct item *items, size_t count,
                       uint64_t data) {
    char name[160], text[64];
    json_t *root = json_object(), *meta = json_object();
    int64_t at = 0;
    train_name(&t->spec, name, sizeof name);
    int bad = !root || !meta || number(meta, "format", format) || number(meta, "model", name) ||
              number(meta, "digest", "0000000000000000");
    const struct {
        const char *name;
        uint64_t value;
    } whole[] = {{"step", (uint64_t)t->step},
                 {"updates", (uint64_t)t->updates},
                 {"seed", t->spec.seed},
                 {"good_steps", (uint64_t)t->spec.scaling.good_steps},
                 {"data", data}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole && !bad; i++) {
        snprintf(text, sizeof text, "%" PRIu64, whole[i].value);
        bad = number(meta, whole[i].name, text);
    }
    snprintf(text, sizeof text, "%a", t->spec.scaling.scale);
    bad = bad || number(meta, "loss_scale", text);
    bad = bad || json_object_set_new(root, "__metadata__", json_incref(meta));
    for (size_t i = 0; i < count && !bad; i++) {
        const json_int_t begin = at;
        at += (int64_t)item_bytes(&items[i]);
        bad = json_object_set_new(root, items[i].name,
                                  json_pack("{s:s, s:[I,I], s:[I,I]}", "dtype",
                                            stored_name(items[i].dtype), "shape",
                                            (json_int_t)items[i].rows, (json_int_t)items[i].cols,
                                            "data_offsets", begin, (json_int_t)at));
    }
    char *header = bad ? NULL : json_dumps(root, JSON_COMPACT);
    json_decref(meta);
    json_decref(root);
    return header;
}

static int write_items(struct trainer *t, FILE *f, const struct item *items, size_t count,
                       uint64_t *sum) {
    unsigned char *piece = malloc(PIECE);
    int bad = piece == NULL;
    for (size_t i = 0; i < count && !bad; i++) {
        const size_t bytes = item_bytes(&items[i]);
        for (size_t at = 0; at < bytes && !bad; at += PIECE) {
            const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
            if (items[i].host)
                memcpy(piece, (char *)items[i].host + at, n);
            else
                bad = t->device->download(t->device, piece, (char *)items[i].device + at, n);
            *sum = digest(*sum, piece, n);
            bad = bad || fwrite(piece, 1, n, f) != n;
        }
    }
    free(piece);
    return bad ? -1 : 0;
}

static int sync_directory(const char *path) {
    char *copy = strdup(path);
    const int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int bad = fd < 0 || fsync(fd);
    if (fd >= 0) close(fd);
    free(copy);
    return bad && errno != EINVAL ? -1 : 0; /* some file systems have no such thing */
}

static int write_file(struct trainer *t, FILE *f, const struct item *items, size_t count,
                      const char *header) {
    const size_t length = strlen(header), padded = (length + 7) / 8 * 8;
    const char *mark = strstr(header, digest_key);
    unsigned char first[8];
    uint64_t sum = digest_of_header(header, length);
    char digits[DIGEST_DIGITS + 1];
    if (!mark) return -1;
    for (int i = 0; i < 8; i++) first[i] = (unsigned char)(padded >> (8 * i));
    if (fwrite(first, 1, 8, f) != 8 || fprintf(f, "%-*s", (int)padded, header) < 0 ||
        write_items(t, f, items, count, &sum))
        return -1;
    snprintf(digits, sizeof digits, "%016" PRIx64, sum);
    const long place = 8 + (long)(mark - header) + (long)strlen(digest_key);
    if (fseek(f, place, SEEK_SET) || fwrite(digits, 1, DIGEST_DIGITS, f) != DIGEST_DIGITS)
        return -1;
    return fflush(f) || fsync(fileno(f)) ? -1 : 0;
}

static int say_unwritable(const char *path) {
    fprintf(stderr, "roofline: cannot write checkpoint '%s': %s\n", path, strerror(errno));
    return -1;
}

int checkpoint_may_save(const char *path) {
    char *temporary = NULL;
    errno = ENOMEM;
    json_t *header = json_object(); /* none in a program without jansson */
    FILE *f = header && asprintf(&temporary, "%s.tmp", path) > 0 ? fopen(temporary, "wb") : NULL;
    json_decref(header);
    const int bad = f ? fclose(f) || unlink(temporary) : -1;
    free(temporary);
    return bad ? say_unwritable(path) : 0;
}

int checkpoint_save(struct trainer *t, const char *path, uint64_t data) {
    size_t count;
    char *temporary = NULL, *header = NULL;
    struct item *items = items_of(t, &count);
    int status = -1;
    FILE *f = NULL;
    errno = ENOMEM;
    if (items && asprintf(&temporary, "%s.tmp", path) > 0) {
        header = header_of(t, items, count, data);
        f = header ? fopen(temporary, "wb") : NULL;
    }
    if (f) {
        status = write_file(t, f, items, count, header);
        if (fclose(f)) status = -1;
        if (!status && rename(temporary, path)) status = -1;
        if (status) {
            const int why = errno;
            unlink(temporary);
            errno = why;
        }
        if (!status) status = sync_directory(path);
    }
    if (status) say_unwritable(path);
    free(items);
    free(temporary);
    free(header);
    return status;
}

/* ---- reading ---- */

static int refuse(const char *path, const char *why, const char *detail) {
    fprintf(stderr, "roofline: checkpoint '%s': %s%s\n", path, why, detail);
    return -1;
}

static json_t *read_metadata(FILE *f, int64_t header_bytes, uint64_t *sum) {
    size_t length = (size_t)header_bytes;
    char *text = malloc(length);
    json_t *root = NULL, *meta = NULL;
    if (text && fseek(f, 8, SEEK_SET) == 0 && fread(text, 1, length, f) == length) {
        while (length && text[length - 1] == ' ') length--;
        root = json_loadb(text, length, 0, NULL);
        *sum = digest_of_header(text, length);
    }
    if (root) meta = json_incref(json_object_get(root, "__metadata__"));
    json_decref(root);
    free(text);
    return meta;
}

static const char *text_of(const json_t *meta, const char *name) {
    const char *text = json_string_value(json_object_get(meta, name));
    return text ? text : "";
}

static bool whole_of(const json_t *meta, const char *name, uint64_t *value) {
    const char *text = text_of(meta, name);
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

struct state {
    uint64_t step, updates, good_steps;
    double scale;
};

/* The state beside the tensors; a sentence when it is not of this run, or NULL. */
static const char *state_of(const json_t *meta, const struct trainer *t, uint64_t data,
                            struct state *s, const char **detail) {
    char name[160], *end;
    uint64_t seed, stored_data;
    train_name(&t->spec, name, sizeof name);
    *detail = "";
    if (strcmp(text_of(meta, "format"), format) != 0) return "not written by 'roofline train'";
    if (strcmp(text_of(meta, "model"), name) != 0) {
        *detail = text_of(meta, "model");
        return "of another model or optimizer: ";
    }
    const char *scale_text = text_of(meta, "loss_scale");
    s->scale = strtod(scale_text, &end);
    if (!whole_of(meta, "step", &s->step) || !whole_of(meta, "updates", &s->updates) ||
        !whole_of(meta, "seed", &seed) || !whole_of(meta, "good_steps", &s->good_steps) ||
        !whole_of(meta, "data", &stored_data) || end == scale_text || *end || !(s->scale > 0) ||
        s->step > INT64_MAX || s->updates > s->step || s->good_steps > s->step)
        return "its metadata are damaged";
    if (seed != t->spec.seed) return "of a run with another --seed";
    if (stored_data != data) return "of a run on other data or with another --seq";
    return NULL;
}

/* The same tensors in the same places; a sentence, or NULL. */
static const char *tensors_match(const struct stored_tensors *s, const struct item *items,
                                 size_t count) {
    if (s->count != count) return "its tensors are not those of this model";
    for (size_t i = 0; i < count; i++) {
        const struct stored_tensor *x = &s->tensor[i];
        if (strcmp(x->name, items[i].name) != 0 || x->dims != 2 || x->size[0] != items[i].rows ||
            x->size[1] != items[i].cols || strcmp(x->dtype, stored_name(items[i].dtype)) != 0)
            return "its tensors are not those of this model";
    }
    return NULL;
}

static int read_items(struct trainer *t, FILE *f, int64_t header_bytes, const struct item *items,
                      size_t count, bool upload, uint64_t *sum) {
    unsigned char *piece = malloc(PIECE);
    int bad = piece == NULL || fseek(f, (long)(8 + header_bytes), SEEK_SET);
    for (size_t i = 0; i < count && !bad; i++) {
        const size_t bytes = item_bytes(&items[i]);
        for (size_t at = 0; at < bytes && !bad; at += PIECE) {
            const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
            bad = fread(piece, 1, n, f) != n;
            if (bad) break;
            *sum = digest(*sum, piece, n);
            if (upload && items[i].host)
                memcpy((char *)items[i].host + at, piece, n);
            else if (upload)
                bad = t->device->upload(t->device, (char *)items[i].device + at, piece, n);
        }
    }
    free(piece);
    return bad ? -1 : 0;
}

static int load_from(struct trainer *t, FILE *f, const char *path, const struct stored_tensors *s,
                     uint64_t data) {
    size_t count;
    uint64_t sum = 0;
    char digits[DIGEST_DIGITS + 1];
    const char *detail = "", *why;
    struct state state;
    struct item *items = items_of(t, &count);
    json_t *meta = read_metadata(f, s->header_bytes, &sum);
    int status = -1;
    if (!items || !meta) {
        refuse(path, items ? "not written by 'roofline train'" : "out of memory", "");
        goto done;
    }
    why = state_of(meta, t, data, &state, &detail);
    if (!why) why = tensors_match(s, items, count);
    if (why) {
        refuse(path, why, detail);
        goto done;
    }
    if (read_items(t, f, s->header_bytes, items, count, false, &sum)) {
        refuse(path, "cannot be read", "");
        goto done;
    }
    snprintf(digits, sizeof digits, "%016" PRIx64, sum);
    if (strcmp(digits, text_of(meta, "digest")) != 0) {
        refuse(path, "torn or damaged: it does not have the digest it names", "");
        goto done;
    }
    if (read_items(t, f, s->header_bytes, items, count, true, &sum)) {
        refuse(path, "cannot be read", "");
        goto done;
    }
    if (t->amax) model_set_scales(&t->model, t->amax);
    t->step = (int64_t)state.step;
    t->updates = (int64_t)state.updates;
    if (t->spec.scaling.patience) t->spec.scaling.scale = state.scale; /* or the one asked for */
    t->spec.scaling.good_steps = (int64_t)state.good_steps;
    status = 0;
done:
    json_decref(meta);
    free(items);
    return status;
}

int checkpoint_load(struct trainer *t, const char *path, uint64_t data) {
    struct stored_tensors stored;
    struct complaint why;
    if (safetensors_read(path, &stored, &why)) {
        fprintf(stderr, "roofline: checkpoint %s\n", why.text);
        return -1;
    }
    FILE *f = fopen(path, "rb");
    const int status = f ? load_from(t, f, path, &stored, data) : refuse(path, strerror(errno), "");
    if (f) fclose(f);
    safetensors_release(&stored);
    return status;
}
