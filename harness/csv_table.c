/* csv_table.c - cells are copied out of the reader's buffer. */
#include "csv_table.h"

#include "row.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int csv_column(const struct csv *c, const char *column) {
    for (int i = 0; i < c->columns; i++)
        if (strcmp(c->header[i], column) == 0) return i;
    return -1;
}

const char *csv_get(const struct csv *c, size_t record, const char *column) {
    const int i = csv_column(c, column);
    return i < 0 ? "" : c->cell[record * (size_t)c->columns + (size_t)i];
}

void csv_free(struct csv *c) {
    if (c->columns) free(c->header[0]);
    for (size_t i = 0; c->columns && i < c->records; i++) free(c->cell[i * (size_t)c->columns]);
    free(c->cell);
    *c = (struct csv){0};
}

/* Copies of the fields in one block, to[0]; false without memory. */
static bool copy(char *to[], char *const field[], int fields) {
    size_t bytes = 1;
    for (int i = 0; i < fields; i++) bytes += strlen(field[i]) + 1;
    char *at = fields > 0 ? malloc(bytes) : NULL;
    for (int i = 0; at && i < fields; i++) {
        const size_t n = strlen(field[i]) + 1;
        to[i] = memcpy(at, field[i], n);
        at += n;
    }
    return at != NULL;
}

static int take_header(char *field[], int fields, void *context) {
    struct csv *c = context;
    if (fields > CSV_MAX_COLUMNS || !copy(c->header, field, fields)) return 0;
    c->columns = fields;
    return fields;
}

static int take_record(char *field[], int fields, void *context) {
    struct csv *c = context;
    if (c->records == c->capacity) {
        const size_t room = c->capacity ? 2 * c->capacity : 64;
        char **grown = realloc(c->cell, room * (size_t)fields * sizeof *grown);
        if (!grown) return CSV_NO_MEMORY;
        c->cell = grown;
        c->capacity = room;
    }
    if (!copy(c->cell + c->records * (size_t)fields, field, fields)) return CSV_NO_MEMORY;
    c->records++;
    return CSV_FINE;
}

int csv_table_read(const char *dir, const char *name, struct csv *out) {
    char path[4096];
    bool torn;
    const struct csv_reader reader = {take_header, take_record, out};
    *out = (struct csv){0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (access(path, F_OK) != 0) return 0;
    const int status = csv_read(path, &reader, &torn);
    if (status) csv_free(out);
    return status;
}
