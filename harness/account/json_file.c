/* json_file.c - reading and parsing, with complaints of one line. */
#include "json_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

json_t *json_object_of(const char *text, size_t length, const char *what, struct complaint *why) {
    json_error_t error;
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
