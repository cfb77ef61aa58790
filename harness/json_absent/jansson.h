/* jansson.h - stands in where jansson is not installed. Nothing can be parsed, which callers report in these words, and
 * nothing can be built: so model files, checkpoints and the environment of compared runs are left out of such a program. */
#ifndef JANSSON_H
#define JANSSON_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct json_t json_t;
typedef long long json_int_t;
typedef struct {
    int line;
    char text[160];
} json_error_t;
typedef enum {
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_INTEGER,
    JSON_REAL,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
} json_type;
enum { JSON_REJECT_DUPLICATES = 1, JSON_COMPACT = 2 };

static inline json_t *json_loadb(const char *text, size_t length, size_t flags, json_error_t *e) {
    (void)text, (void)length, (void)flags;
    if (!e) return NULL;
    e->line = 0;
    snprintf(e->text, sizeof e->text, "this program was built without jansson, which reads JSON");
    return NULL;
}
static inline json_t *json_loads(const char *text, size_t flags, json_error_t *e) {
    return json_loadb(text, 0, flags, e);
}

static inline json_t *json_object(void) {
    errno = ENOTSUP;
    return NULL;
}
static inline json_t *json_string(const char *text) { return (void)text, NULL; }
static inline json_t *json_pack(const char *format, ...) { return (void)format, NULL; }
static inline char *json_dumps(const json_t *j, size_t flags) { return (void)j, (void)flags, NULL; }
static inline int json_object_set_new(json_t *j, const char *key, json_t *value) {
    return (void)j, (void)key, (void)value, -1;
}

static inline json_type json_typeof(const json_t *j) { return (void)j, JSON_NULL; }
static inline bool json_is_object(const json_t *j) { return (void)j, false; }
static inline bool json_is_array(const json_t *j) { return (void)j, false; }
static inline bool json_is_string(const json_t *j) { return (void)j, false; }
static inline bool json_is_integer(const json_t *j) { return (void)j, false; }
static inline bool json_is_real(const json_t *j) { return (void)j, false; }
static inline bool json_is_number(const json_t *j) { return (void)j, false; }
static inline bool json_is_boolean(const json_t *j) { return (void)j, false; }
static inline bool json_is_true(const json_t *j) { return (void)j, false; }
static inline bool json_is_null(const json_t *j) { return (void)j, false; }
static inline json_t *json_incref(json_t *j) { return j; }
static inline void json_decref(json_t *j) { (void)j; }
static inline json_t *json_object_get(const json_t *j, const char *key) {
    return (void)j, (void)key, NULL;
}
static inline size_t json_object_size(const json_t *j) { return (void)j, 0; }
static inline void *json_object_iter(json_t *j) { return (void)j, NULL; }
static inline void *json_object_iter_next(json_t *j, void *i) { return (void)j, (void)i, NULL; }
static inline const char *json_object_iter_key(void *i) { return (void)i, ""; }
static inline json_t *json_object_iter_value(void *i) { return (void)i, NULL; }
static inline json_t *json_array_get(const json_t *j, size_t i) { return (void)j, (void)i, NULL; }
static inline size_t json_array_size(const json_t *j) { return (void)j, 0; }
static inline const char *json_string_value(const json_t *j) { return (void)j, NULL; }
static inline json_int_t json_integer_value(const json_t *j) { return (void)j, 0; }
static inline double json_real_value(const json_t *j) { return (void)j, 0; }
static inline double json_number_value(const json_t *j) { return (void)j, 0; }

#define json_object_foreach(object, key, value) \
    for ((void)(object), (key) = NULL, (value) = NULL; (key) && (value); (key) = NULL)
#endif
