/* csv.c - a CSV file whose columns this program does not fix. */
#include "csv.h"

#include "../account/json_file.h"
#include "../row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 64 << 20 };

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
    free(c->cell);
    free(c->text);
    *c = (struct csv){0};
}

/* Ends the record at `line`; the next one, or NULL when no newline ends it. */
static char *end_record(char *line) {
    bool quoted = false;
    for (char *c = line; *c; c++) {
        if (*c == '"') quoted = !quoted;
        if (*c != '\n' || quoted) continue;
        *c = '\0';
        if (c > line && c[-1] == '\r') c[-1] = '\0';
        return c + 1;
    }
    return NULL;
}

int csv_read(const char *dir, const char *name, struct csv *out) {
    char path[4096];
    struct complaint why;
    size_t length = 0, capacity = 0, number = 0;
    *out = (struct csv){0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (access(path, F_OK) != 0) return 0;
    out->text = read_whole_file(path, LARGEST, &length, &why);
    if (!out->text) {
        fprintf(stderr, "roofline: %s\n", why.text);
        return -1;
    }
    char *ended = realloc(out->text, length + 1);
    if (!ended) {
        fprintf(stderr, "roofline: no memory for '%s'\n", path);
        csv_free(out);
        return -1;
    }
    out->text = ended;
    out->text[length] = '\0';
    char *line = out->text, *next;
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3;
    for (; *line && (next = end_record(line)); line = next) {
        char *field[CSV_MAX_COLUMNS];
        if (number++ > 0 && !*line) continue;
        const int fields = csv_split(line, field, CSV_MAX_COLUMNS);
        if (number == 1 && fields > 0) {
            out->columns = fields;
            memcpy(out->header, field, (size_t)fields * sizeof *field);
            continue;
        }
        if (fields <= 0 || fields != out->columns) {
            fprintf(stderr, "roofline: '%s' line %zu is damaged: not the header's %d fields\n",
                    path, number, out->columns);
            csv_free(out);
            return -1;
        }
        if (out->records == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            char **grown = realloc(out->cell, capacity * (size_t)out->columns * sizeof(char *));
            if (!grown) {
                fprintf(stderr, "roofline: no memory for '%s'\n", path);
                csv_free(out);
                return -1;
            }
            out->cell = grown;
        }
        memcpy(out->cell + out->records++ * (size_t)out->columns, field,
               (size_t)fields * sizeof *field);
    }
    return 0;
}
