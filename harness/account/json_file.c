/* json_file.c - reading and parsing, with complaints of one line. */
#include "json_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A value takes a hundred bytes in memory and may be two in the file. */
enum { MOST_VALUES = 1 << 22 };

/* At least the number of values: what begins, follows a comma or a colon, strings left out. */
static size_t values_within(const char *text, size_t length) {
    size_t values = 1;
    bool string = false;
    for (size_t i = 0; i < length; i++) {
        if (string) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                string = false;
        } else if (text[i] == '"') {
            string = true;
        } else if (text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{') {
            values++;
        }
    }
    return values;
}

json_t *json_object_of(const char *text, size_t length, const char *what, struct complaint *why) {
    json_error_t error;
    if (values_within(text, length) > MOST_VALUES) {
        complain(why, "%s: more than %d JSON values", what, MOST_VALUES);
        return NULL;
    }
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        complain(why, "%s: line %d: %s", what, error.line, error.text);
        return NULL;
    }
    if (json_is_object(root)) return root;
    complain(why, "%s: no JSON object", what);
    json_decref(root);
    return NULL;
}

char *read_whole_file(const char *path, size_t limit, size_t *length, struct complaint *why) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t capacity = 0;
    *length = 0;
    errno = f ? 0 : errno;
    while (f && *length <= limit) {
        if (*length == capacity) {
            capacity = capacity ? 2 * capacity : 65536;
            char *more = realloc(text, capacity);
            if (!more) break;
            text = more;
        }
        const size_t got = fread(text + *length, 1, capacity - *length, f);
        *length += got;
        if (got == 0) break;
    }
    const bool good = f && feof(f) && !ferror(f) && *length <= limit;
    if (!good && f && *length > limit)
        complain(why, "%s: larger than %zu bytes", path, limit);
    else if (!good)
        complain(why, "%s: %s", path, errno ? strerror(errno) : "cannot be read");
    if (f) fclose(f);
    if (good) return text;
    free(text);
    return NULL;
}
