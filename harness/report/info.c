/* info.c - run.json and its successors, flattened to keys and values. */
#include "info.h"

#include "../account/json_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 20, MOST_FILES = 99, MOST_PAIRS = 500 };

const char *info_get(const struct info *x, const char *key) {
    for (size_t i = 0; i < x->count; i++)
        if (strcmp(x->pair[i].key, key) == 0) return x->pair[i].value;
    return "";
}

const char *infos_get(const struct infos *x, const char *key) {
    return x->count ? info_get(&x->info[0], key) : "";
}

void infos_free(struct infos *x) {
    for (size_t i = 0; i < x->count; i++) free(x->info[i].pair);
    free(x->info);
    *x = (struct infos){0};
}

static void value_text(const json_t *v, char *text, size_t size) {
    text[0] = '\0';
    switch (json_typeof(v)) {
    case JSON_STRING:
        snprintf(text, size, "%s", json_string_value(v));
        break;
    case JSON_INTEGER:
        snprintf(text, size, "%lld", (long long)json_integer_value(v));
        break;
    case JSON_REAL:
        snprintf(text, size, "%.6g", json_real_value(v));
        break;
    case JSON_TRUE:
        snprintf(text, size, "yes");
        break;
    case JSON_FALSE:
        snprintf(text, size, "no");
        break;
    default:
        break;
    }
}

static int add_pair(struct info *x, const char *key, const char *value) {
    if (x->count == MOST_PAIRS || !*value) return 0;
    struct info_pair *grown = realloc(x->pair, (x->count + 1) * sizeof *grown);
    if (!grown) return -1;
    x->pair = grown;
    snprintf(grown[x->count].key, sizeof grown->key, "%s", key);
    snprintf(grown[x->count].value, sizeof grown->value, "%s", value);
    x->count++;
    return 0;
}

/* A word as a shell would have to be given it. */
static void append_word(char *line, size_t size, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=:,+@%";
    size_t used = strlen(line);
    const int quoted = !*word || word[strspn(word, plain)];
    if (used + 2 * strlen(word) + 8 > size) return;
    if (used) line[used++] = ' ';
    if (quoted) line[used++] = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(line + used, "'\\''", 4);
            used += 4;
        } else {
            line[used++] = *word;
        }
        if (used + 8 > size) break;
    }
    if (quoted) line[used++] = '\'';
    line[used] = '\0';
}

static int flatten(struct info *x, json_t *object, const char *prefix, int depth) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        char name[64], text[512];
        snprintf(name, sizeof name, "%.31s%s%.31s", prefix, *prefix ? "." : "", key);
        if (strcmp(name, "command") == 0 && json_is_array(value)) {
            snprintf(x->command, sizeof x->command, "roofline");
            for (size_t i = 0; i < json_array_size(value); i++)
                if (json_is_string(json_array_get(value, i)))
                    append_word(x->command, sizeof x->command,
                                json_string_value(json_array_get(value, i)));
        } else if (json_is_object(value)) {
            if (depth < 4 && flatten(x, value, name, depth + 1)) return -1;
        } else if (!json_is_array(value)) {
            value_text(value, text, sizeof text);
            if (add_pair(x, name, text)) return -1;
        }
    }
    return 0;
}

/* 1: there is no such file. */
static int read_one(const char *dir, int number, struct info *out) {
    char path[4096];
    struct complaint why;
    size_t length;
    *out = (struct info){.file = "run.json"};
    if (number > 1) snprintf(out->file, sizeof out->file, "run.%d.json", number);
    snprintf(path, sizeof path, "%.4000s/%s", dir, out->file);
    if (access(path, F_OK) != 0) return 1;
    char *text = read_whole_file(path, LARGEST, &length, &why);
    json_t *root = text ? json_object_of(text, length, path, &why) : NULL;
    free(text);
    if (!root) {
        fprintf(stderr, "roofline: %s\n", why.text);
        return -1;
    }
    const int status = flatten(out, root, "", 0);
    json_decref(root);
    if (status) fprintf(stderr, "roofline: no memory for '%s'\n", path);
    return status;
}

int infos_read(const char *dir, struct infos *out) {
    *out = (struct infos){0};
    for (int number = 1; number <= MOST_FILES; number++) {
        struct info one;
        const int status = read_one(dir, number, &one);
        struct info *grown = status ? NULL : realloc(out->info, (out->count + 1) * sizeof *grown);
        if (status > 0) return 0;
        if (!grown) {
            if (!status) fprintf(stderr, "roofline: no memory for '%s'\n", dir);
            free(one.pair);
            infos_free(out);
            return -1;
        }
        out->info = grown;
        out->info[out->count++] = one;
    }
    return 0;
}
