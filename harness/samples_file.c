/* samples_file.c - lines of one trial stand together, so that neighbours mostly share their key. */
#define _GNU_SOURCE
#include "samples_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/* "bench.csv" -> "bench" */
static int stem_length(const char *file) {
    const char *dot = strrchr(file, '.');
    return dot ? (int)(dot - file) : (int)strlen(file);
}

int samples_file_open(struct append_file *f, const char *path) {
    char *header = NULL;
    size_t length;
    int status = -1;
    FILE *text = open_memstream(&header, &length);
    *f = (struct append_file){.fd = -1};
    if (text) {
        fputs("file,", text);
        row_print_key_header(text);
        fputs(",sample,turn,placement,disturbed,time_s\n", text);
        if (fclose(text) == 0) status = append_file_open(f, path, header, false);
    } else {
        perror("roofline");
    }
    free(header);
    return status;
}

int samples_file_append(struct append_file *f, const char *file, const struct row *r,
                        const struct samples *s) {
    char *lines = NULL;
    size_t length;
    int status = -1;
    if (s->count == 0) return 0;
    FILE *text = open_memstream(&lines, &length);
    if (text) {
        for (size_t i = 0; i < s->count; i++) {
            const struct sample *x = &s->taken[i];
            fprintf(text, "%.*s,", stem_length(file), file);
            row_print_key(text, r);
            fprintf(text, ",%zu,", i + 1);
            if (x->turn) fprintf(text, "%d", x->turn);
            fprintf(text, ",%s,%d,", x->placement, x->disturbed);
            csv_print_real(text, x->time_s);
            fputc('\n', text);
        }
        if (fclose(text) == 0) status = append_file_write(f, lines, length);
    } else {
        perror("roofline");
    }
    free(lines);
    return status;
}

/* ---- reading ---- */

enum { OF_FILE = COLUMN_COUNT, OF_SAMPLE, NOT_OURS };

struct samples_reader {
    struct series_list *list;
    size_t capacity;
    int column[CSV_FIELDS]; /* an enum column, OF_FILE, OF_SAMPLE */
    char *last;             /* the key of the last line, its fields one behind the other */
    size_t last_bytes;
};

static bool is_key(int column) {
#define IS_KEY true
#define IS_VAL false
    static const bool key[] = {
#define COL(kind, type, name) IS_##kind,
#include "columns.def"
#undef COL
    };
    return column < COLUMN_COUNT && key[column];
}

static int samples_header(char *field[], int fields, void *context) {
    struct samples_reader *reader = context;
    uint64_t seen = 0;
    int known = 0;
    bool time = false;
    for (int i = 0; i < fields; i++) {
        int c = column_find(field[i]);
        if (c < 0)
            c = strcmp(field[i], "file") == 0     ? OF_FILE
                : strcmp(field[i], "sample") == 0 ? OF_SAMPLE
                                                  : NOT_OURS;
        reader->column[i] = c;
        if (c == NOT_OURS) continue;
        if (seen >> c & 1) return -(i + 1);
        seen |= UINT64_C(1) << c;
        time |= c == COLUMN_time_s;
        known++;
    }
    return time ? known : 0;
}

/* Whether the key is that of the line before; kept for the next one. */
static int same_as_last(struct samples_reader *reader, char *field[], int fields, bool *same) {
    size_t bytes = 0;
    *same = reader->last != NULL;
    for (int i = 0; i < fields; i++)
        if (is_key(reader->column[i]) || reader->column[i] == OF_FILE)
            bytes += strlen(field[i]) + 1;
    if (!reader->last || bytes != reader->last_bytes) {
        char *grown = realloc(reader->last, bytes + 1);
        if (!grown) return CSV_NO_MEMORY;
        reader->last = grown;
        reader->last_bytes = bytes;
        *same = false;
    }
    char *at = reader->last;
    for (int i = 0; i < fields; i++) {
        if (!is_key(reader->column[i]) && reader->column[i] != OF_FILE) continue;
        const size_t n = strlen(field[i]) + 1;
        *same = *same && memcmp(at, field[i], n) == 0;
        memcpy(at, field[i], n);
        at += n;
    }
    return CSV_FINE;
}

static int set_key(struct row *r, int column, const char *text) {
#define SET_STR(name) row_set_text(r->name, text)
#define SET_INT(name) \
    if (parse_integer(&r->name, text)) return -1
#define KEY_CASE_KEY(type, name) \
    case COLUMN_##name:          \
        SET_##type(name);        \
        break;
#define KEY_CASE_VAL(type, name)
    switch (column) {
#define COL(kind, type, name) KEY_CASE_##kind(type, name)
#include "columns.def"
#undef COL
    default:
        break;
    }
    return 0;
}

static int start_series(struct samples_reader *reader, char *field[], int fields) {
    struct series_list *list = reader->list;
    if (list->count == reader->capacity) {
        reader->capacity = reader->capacity ? 2 * reader->capacity : 64;
        struct series *grown = realloc(list->series, reader->capacity * sizeof *grown);
        if (!grown) return CSV_NO_MEMORY;
        list->series = grown;
    }
    struct series *s = &list->series[list->count];
    *s = (struct series){.count = 0};
    row_init(&s->key);
    for (int i = 0; i < fields; i++) {
        if (reader->column[i] == OF_FILE)
            snprintf(s->file, sizeof s->file, "%.15s", field[i]);
        else if (set_key(&s->key, reader->column[i], field[i]))
            return i;
    }
    list->count++;
    return CSV_FINE;
}

static int samples_record(char *field[], int fields, void *context) {
    struct samples_reader *reader = context;
    struct sample x = {.time_s = NAN};
    int64_t number = -1, disturbed = 0;
    bool same;
    for (int i = 0; i < fields; i++) {
        switch (reader->column[i]) {
        case COLUMN_time_s:
            if (parse_real(&x.time_s, field[i])) return i;
            break;
        case COLUMN_placement:
            snprintf(x.placement, sizeof x.placement, "%.6s", field[i]);
            break;
        case COLUMN_disturbed:
            if (parse_integer(&disturbed, field[i])) return i;
            break;
        case OF_SAMPLE:
            if (parse_integer(&number, field[i])) return i;
            break;
        default:
            break;
        }
    }
    x.disturbed = disturbed > 0;
    int status = same_as_last(reader, field, fields, &same);
    if (status == CSV_FINE && (!same || number == 1)) status = start_series(reader, field, fields);
    if (status != CSV_FINE) return status;
    struct series *s = &reader->list->series[reader->list->count - 1];
    if ((s->count & (s->count - 1)) == 0) {
        struct sample *grown = realloc(s->sample, (s->count ? 2 * s->count : 1) * sizeof *grown);
        if (!grown) return CSV_NO_MEMORY;
        s->sample = grown;
    }
    s->sample[s->count++] = x;
    return CSV_FINE;
}

/* text NULL: the file. */
static int read_samples(const char *path, char *text, size_t size, struct series_list *out) {
    struct samples_reader reader = {.list = out};
    const struct csv_reader csv = {samples_header, samples_record, &reader};
    bool torn; /* by a killed run: what is whole counts */
    *out = (struct series_list){0};
    const int status =
        text ? csv_parse(text, size, path, &csv, &torn) : csv_read(path, &csv, &torn);
    free(reader.last);
    if (status) samples_release(out);
    return status;
}

int samples_read(const char *path, struct series_list *out) {
    return read_samples(path, NULL, 0, out);
}

int samples_parse(char *text, size_t size, const char *name, struct series_list *out) {
    return read_samples(name, text, size, out);
}

void samples_release(struct series_list *s) {
    for (size_t i = 0; i < s->count; i++) free(s->series[i].sample);
    free(s->series);
    *s = (struct series_list){0};
}
