/* json_file.h - JSON out of files that nobody vouches for: sizes, depth, duplicate keys and numbers are checked. */
#ifndef ACCOUNT_JSON_FILE_H
#define ACCOUNT_JSON_FILE_H
#include "answer.h"

#include <jansson.h>

/* An object, to be released with json_decref(); NULL after a complaint in one line that names `what`. Refuses duplicate
 * keys, numbers beyond 64 bits, nesting deeper than jansson's 2048, and more values than fit into half a gigabyte. */
json_t *json_object_of(const char *text, size_t length, const char *what, struct complaint *why);

/* A whole file of at most `limit` bytes, to be freed; NULL after a complaint. */
char *read_whole_file(const char *path, size_t limit, size_t *length, struct complaint *why);
#endif
