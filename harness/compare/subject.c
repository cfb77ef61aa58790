/* subject.c - files into memory, each row with its samples. */
#define _GNU_SOURCE
#include "subject.h"

#include "../run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *no_less(void *p) {
    if (p) return p;
    perror("roofline");
    abort();
}

/* ---- texts ---- */

static uint64_t hash(const char *text) { /* FNV-1a */
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h;
}

static size_t slot_of(const struct text_index *t, const char *text) {
    size_t i = (size_t)hash(text) & (t->slots - 1);
    while (t->slot[i] && strcmp(t->text[t->slot[i] - 1], text) != 0) i = (i + 1) & (t->slots - 1);
    return i;
}

static void grow(struct text_index *t) {
    t->slots = t->slots ? 2 * t->slots : 256;
    free(t->slot);
    t->slot = no_less(calloc(t->slots, sizeof *t->slot));
    for (size_t i = 0; i < t->count; i++) t->slot[slot_of(t, t->text[i])] = i + 1;
}

size_t text_index_add(struct text_index *t, const char *text, bool *is_new) {
    if (2 * t->count >= t->slots) grow(t);
    const size_t slot = slot_of(t, text);
    *is_new = t->slot[slot] == 0;
    if (!*is_new) return t->slot[slot] - 1;
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 256;
        t->text = no_less(realloc(t->text, t->capacity * sizeof *t->text));
    }
    t->text[t->count] = no_less(strdup(text));
    t->slot[slot] = ++t->count;
    return t->count - 1;
}

void text_index_release(struct text_index *t) {
    for (size_t i = 0; i < t->count; i++) free(t->text[i]);
    free(t->text);
    free(t->slot);
    *t = (struct text_index){0};
}

uint64_t key_columns(void) {
#define BIT_KEY(name) | UINT64_C(1) << COLUMN_##name
#define BIT_VAL(name)
    return UINT64_C(0)
#define COL(kind, type, name) BIT_##kind(name)
#include "../columns.def"
#undef COL
        ;
}

/* Appends the text and a separator; cut to fit. */
static void put_text(char *out, size_t size, size_t *used, const char *text) {
    const size_t n = strlen(text);
    if (*used + n + 2 > size) return;
    memcpy(out + *used, text, n);
    *used += n;
    out[(*used)++] = '\x1f'; /* a separator that no name has */
    out[*used] = '\0';
}

/* Keys are counts, or -1; printf would take most of the time of a large file. */
static void put_integer(char *out, size_t size, size_t *used, int64_t x) {
    char text[24], *at = text + sizeof text - 1;
    *at = '\0';
    for (uint64_t rest = x < 0 ? 0 : (uint64_t)x; rest; rest /= 10) *--at = (char)('0' + rest % 10);
    put_text(out, size, used, x < 0 ? "-" : at);
}

void key_text(const struct row *r, uint64_t columns, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
#define PUT_STR put_text
#define PUT_INT put_integer
#define PUT_KEY(type, name) \
    if (columns >> COLUMN_##name & 1) PUT_##type(text, size, &used, r->name);
#define PUT_VAL(type, name)
#define COL(kind, type, name) PUT_##kind(type, name)
#include "../columns.def"
#undef COL
}

/* ---- reading ---- */

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "dir/bench.csv" -> "bench" */
static void stem_of(const char *path, char stem[16]) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    snprintf(stem, 16, "%.*s", dot && dot - name < 15 ? (int)(dot - name) : 15, name);
}

/* Finds each row's samples: those of its key in its file; of several such the last. */
static void attach_samples(struct run_data *run) {
    struct text_index index = {0};
    const size_t n = run->samples.count;
    struct series **series = no_less(calloc(n + 1, sizeof *series));
    char stem[16], text[KEY_TEXT];
    bool is_new;
    stem_of(run->path, stem);
    for (size_t i = 0; i < n; i++) {
        struct series *s = &run->samples.series[i];
        if (strcmp(s->file, stem) != 0) continue;
        key_text(&s->key, key_columns(), text, sizeof text);
        series[text_index_add(&index, text, &is_new)] = s;
    }
    run->series = no_less(calloc(run->rows.count + 1, sizeof *run->series));
    for (size_t i = 0; n && i < run->rows.count; i++) {
        key_text(&run->rows.row[i], key_columns(), text, sizeof text);
        const size_t at = text_index_add(&index, text, &is_new);
        if (!is_new && at < n) run->series[i] = series[at];
    }
    text_index_release(&index);
    free(series);
}

static int check_rows(const struct run_data *run) {
    static const enum column needed[] = {COLUMN_op, COLUMN_impl, COLUMN_dtype, COLUMN_time_s};
    static const char *const names[] = {"op", "impl", "dtype", "time_s"};
    if (run->rows.count == 0) {
        fprintf(stderr, "roofline: '%s' has no rows\n", run->path);
        return -1;
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (run->rows.columns >> needed[i] & 1) continue;
        fprintf(stderr, "roofline: '%s' has no column %s\n", run->path, names[i]);
        return -1;
    }
    for (size_t i = 0; i < run->rows.count; i++) {
        const double t = run->rows.row[i].time_s;
        if (isnan(t) || (t > 0 && isfinite(t))) continue;
        fprintf(stderr, "roofline: '%s' row %zu: a time_s of %g seconds can't be\n", run->path,
                i + 1, t);
        return -1;
    }
    return 0;
}

/* Files from before a column hold what was its only value. */
static void fill_in(struct rows *rows) {
    const bool no_status = !(rows->columns >> COLUMN_status & 1);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *r = &rows->row[i];
        if (r->round < 1) r->round = 1;
        if (no_status && r->time_s > 0) row_set_text(r->status, "ok");
    }
}

static int read_run(const char *path, const char *file, struct run_data *run) {
    bool torn;
    run->path = is_folder(path) ? path_join(path, file) : no_less(strdup(path));
    if (rows_read(run->path, &run->rows, &torn)) return -1;
    if (torn)
        fprintf(stderr, "roofline: '%s': the last line was cut short; it is left out\n", run->path);
    fill_in(&run->rows);
    if (check_rows(run) || environment_read(run->path, &run->environment)) return -1;
    if (run->environment.schema > ROW_SCHEMA)
        fprintf(stderr,
                "roofline: '%s' was written by a newer version (schema %d, this one knows %d): "
                "columns that this one doesn't know are left out\n",
                run->path, run->environment.schema, ROW_SCHEMA);
    const char *slash = strrchr(run->path, '/');
    char *samples = NULL;
    if (asprintf(&samples, "%.*ssamples.csv", slash ? (int)(slash - run->path + 1) : 0, run->path) <
        0)
        no_less(NULL);
    const int status = access(samples, F_OK) == 0 ? samples_read(samples, &run->samples) : 0;
    free(samples);
    if (status == 0) attach_samples(run);
    return status;
}

/* The path as it is where there is one of that name, else the parts between commas. */
static int parts_of(const char *name, char ***out) {
    char *copy = no_less(strdup(name)), *rest = copy;
    int count = 0;
    *out = NULL;
    const bool whole = access(name, F_OK) == 0;
    for (char *part; (part = whole ? rest : strsep(&rest, ",")) && (whole || *part || rest);) {
        *out = no_less(realloc(*out, ((size_t)count + 1) * sizeof **out));
        (*out)[count++] = no_less(strdup(part));
        if (whole) break;
    }
    free(copy);
    return count;
}

static void parts_release(char **part, int count) {
    for (int i = 0; i < count; i++) free(part[i]);
    free(part);
}

bool subject_has(const char *name, const char *file) {
    char **part;
    bool has = false;
    const int count = parts_of(name, &part);
    for (int i = 0; i < count && !has; i++) {
        if (is_folder(part[i])) {
            char *path = path_join(part[i], file);
            has = access(path, F_OK) == 0;
            free(path);
        } else {
            const char *slash = strrchr(part[i], '/');
            has = strcmp(slash ? slash + 1 : part[i], file) == 0;
        }
    }
    parts_release(part, count);
    return has;
}

/* Runs of one side stand for one thing: what they differ in would pass for noise. */
static void warn_of_mixture(const struct subject *s) {
    static const char *const facts[][2] = {{"program.commit", "commit"},
                                           {"program.compiler", "compiler"},
                                           {"program.flags", "flags"},
                                           {"machine.gpu_driver", "driver"}};
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
        for (int i = 1; i < s->runs; i++) {
            const char *a = environment_fact(&s->run[0].environment, facts[k][0]),
                       *b = environment_fact(&s->run[i].environment, facts[k][0]);
            if (!*a || !*b || strcmp(a, b) == 0) continue;
            fprintf(stderr, "roofline: runs of one side differ in %s: '%s' has %s, '%s' has %s\n",
                    facts[k][1], s->run[0].path, a, s->run[i].path, b);
            break;
        }
}

int subject_read(const char *name, const char *file, struct subject *out) {
    char **part;
    int status = 0;
    *out = (struct subject){.name = name};
    const int count = parts_of(name, &part);
    out->run = no_less(calloc((size_t)count + 1, sizeof *out->run));
    if (count == 0) {
        fprintf(stderr, "roofline: '' names no run\n");
        status = -1;
    }
    for (int i = 0; i < count && status == 0; i++) {
        out->runs++;
        status = read_run(part[i], file, &out->run[i]);
    }
    parts_release(part, count);
    if (status == 0) warn_of_mixture(out);
    return status;
}

void subject_release(struct subject *s) {
    for (int i = 0; i < s->runs; i++) {
        struct run_data *run = &s->run[i];
        free(run->path);
        free(run->rows.row);
        free(run->series);
        samples_release(&run->samples);
        environment_release(&run->environment);
    }
    free(s->run);
    *s = (struct subject){0};
}

size_t subject_rows(const struct subject *s) {
    size_t rows = 0;
    for (int i = 0; i < s->runs; i++) rows += s->run[i].rows.count;
    return rows;
}
