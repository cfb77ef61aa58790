/* environment.c - run.json is ours, but from any version: whatever members it has are compared. */
#define _GNU_SOURCE
#include "environment.h"

#include "../account/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 20, NAME = 256, VALUE = 1024 };

static void out_of_memory(void) {
    perror("roofline");
    abort();
}

/* ---- reading ---- */

/* Whether a list of values between " | " has this one, which is not empty. */
static bool contains(const char *list, const char *value) {
    const size_t n = strlen(value);
    for (const char *at = list; (at = strstr(at, value)); at++)
        if ((at == list || (at - list >= 3 && strncmp(at - 3, " | ", 3) == 0)) &&
            (at[n] == '\0' || strncmp(at + n, " | ", 3) == 0))
            return true;
    return false;
}

static void add(struct environment *e, const char *name, const char *value) {
    for (size_t i = 0; i < e->count; i++) {
        struct fact *f = &e->fact[i];
        char *both = NULL;
        if (strcmp(f->name, name) != 0) continue;
        if (!*value || contains(f->value, value))
            return; /* what one file doesn't know, another does */
        if (asprintf(&both, "%s%s%s", f->value, *f->value ? " | " : "", value) < 0) out_of_memory();
        free(f->value);
        f->value = both;
        return;
    }
    e->fact = realloc(e->fact, (e->count + 1) * sizeof *e->fact);
    if (!e->fact) out_of_memory();
    struct fact *f = &e->fact[e->count++];
    *f = (struct fact){strdup(name), strdup(value)};
    if (!f->name || !f->value) out_of_memory();
}

/* Objects give dotted names, arrays one line of their elements. */
static void flatten(struct environment *e, const char *name, const json_t *value) {
    char text[VALUE] = "";
    if (json_is_object(value)) {
        const char *key;
        json_t *member;
        json_object_foreach((json_t *)value, key, member) {
            char inner[NAME];
            snprintf(inner, sizeof inner, "%.160s%s%.64s", name, *name ? "." : "", key);
            flatten(e, inner, member);
        }
        return;
    }
    if (json_is_array(value)) {
        size_t used = 0;
        for (size_t i = 0; i < json_array_size(value); i++) {
            const char *element = json_string_value(json_array_get(value, i));
            const int n = snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                                   element ? element : "?");
            used += n > 0 ? (size_t)n : 0;
            if (used >= sizeof text) break;
        }
    } else if (json_is_string(value)) {
        snprintf(text, sizeof text, "%s", json_string_value(value));
    } else if (json_is_number(value)) {
        snprintf(text, sizeof text, "%.12g", json_number_value(value));
    } else if (json_is_boolean(value)) {
        snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : "no");
    } /* null: unknown */
    add(e, name, text);
}

int environment_read(const char *csv, struct environment *out) {
    enum { MOST = 1000 };
    const char *slash = strrchr(csv, '/');
    *out = (struct environment){0};
    for (int i = 1; i < MOST; i++) {
        char *path = NULL, number[24] = "";
        struct complaint why = {""};
        size_t length;
        if (i > 1) snprintf(number, sizeof number, ".%d", i);
        if (asprintf(&path, "%.*srun%s.json", slash ? (int)(slash - csv + 1) : 0, csv, number) < 0)
            out_of_memory();
        if (access(path, F_OK) != 0) {
            free(path);
            return 0;
        }
        char *text = read_whole_file(path, LARGEST, &length, &why);
        json_t *root = text ? json_object_of(text, length, path, &why) : NULL;
        if (root) {
            const json_t *schema = json_object_get(root, "schema");
            if (json_is_integer(schema) && json_integer_value(schema) > out->schema)
                out->schema = (int)json_integer_value(schema);
            flatten(out, "", root);
        } else {
            fprintf(stderr, "roofline: %s\n", why.text);
        }
        json_decref(root);
        free(text);
        free(path);
        if (!root) return -1;
    }
    return 0;
}

void environment_release(struct environment *e) {
    for (size_t i = 0; i < e->count; i++) {
        free(e->fact[i].name);
        free(e->fact[i].value);
    }
    free(e->fact);
    *e = (struct environment){0};
}

const char *environment_fact(const struct environment *e, const char *name) {
    for (size_t i = 0; i < e->count; i++)
        if (strcmp(e->fact[i].name, name) == 0) return e->fact[i].value;
    return "";
}

/* ---- differences ---- */

/* What explains most first; the names that people use. */
static const struct {
    const char *name, *label;
} known[] = {
    {"machine.device", "device"},
    {"machine.model", "model"},
    {"machine.emulated", "emulated"},
    {"machine.gpu_uuid", "GPU"},
    {"machine.gpu_boost_ghz", "boost clock, GHz"},
    {"machine.gpu_power_limit_w", "power limit, W"},
    {"machine.gpu_ecc", "ECC"},
    {"machine.gpu_mig", "MIG"},
    {"machine.gpu_driver", "driver"},
    {"machine.cuda_driver", "CUDA driver"},
    {"machine.cuda_runtime", "CUDA runtime"},
    {"machine.usable_threads", "threads"},
    {"machine.instruction_set", "instruction set"},
    {"machine.virtual_machine", "virtual machine"},
    {"program.commit", "commit"},
    {"program.version", "version"},
    {"program.compiler", "compiler"},
    {"program.flags", "flags"},
};

static bool close_numbers(const char *a, const char *b, double part) {
    char *end_a, *end_b;
    const double x = strtod(a, &end_a), y = strtod(b, &end_b);
    return end_a != a && end_b != b && !*end_a && !*end_b &&
           fabs(x - y) <= part * fmax(fabs(x), fabs(y));
}

static bool is_no_difference(const char *name, const char *a, const char *b) {
    if (strcmp(a, b) == 0) return true;
    if (strcmp(name, "started") == 0 || strcmp(name, "command") == 0) return true;
    if (strcmp(name, "machine.temperature_c") == 0) return close_numbers(a, b, 0.15);
    if (strcmp(name, "machine.clock_ghz") == 0)
        return true; /* rows have it while they were timed */
    if (strstr(name, "DRAM_bytes")) return close_numbers(a, b, 0.01);
    return false;
}

static void add_difference(const struct environment *a, const struct environment *b,
                           const char *name, const char *label, struct difference *out, size_t most,
                           size_t *count) {
    const char *x = environment_fact(a, name), *y = environment_fact(b, name);
    if (is_no_difference(name, x, y)) return;
    if (*count < most) {
        struct difference *d = &out[*count];
        snprintf(d->name, sizeof d->name, "%.63s", label);
        snprintf(d->a, sizeof d->a, "%.159s", x);
        snprintf(d->b, sizeof d->b, "%.159s", y);
    }
    ++*count;
}

static bool is_known(const char *name) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return true;
    return false;
}

size_t environment_differences(const struct environment *a, const struct environment *b,
                               struct difference *out, size_t most) {
    size_t count = 0;
    if (a->count == 0 || b->count == 0) return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        add_difference(a, b, known[i].name, known[i].label, out, most, &count);
    for (int side = 0; side < 2; side++) {
        const struct environment *e = side ? b : a;
        for (size_t i = 0; i < e->count; i++) {
            const char *name = e->fact[i].name, *dot = strchr(name, '.');
            if (is_known(name)) continue;
            if (side == 1 && *environment_fact(a, name)) continue; /* was the first side's */
            if (strcmp(name, "schema") == 0) continue;
            add_difference(a, b, name, dot ? dot + 1 : name, out, most, &count);
        }
    }
    return count;
}
