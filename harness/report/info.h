/* info.h - run.json and its successors: what a run's numbers depend on. */
#ifndef REPORT_INFO_H
#define REPORT_INFO_H
#include <stddef.h>

struct info_pair {
    char key[64]; /* "machine.model" */
    char value[512];
};

/* One file. */
struct info {
    char file[32]; /* run.json */
    struct info_pair *pair;
    size_t count;
    char command[2048]; /* as one would type it; empty when unknown */
};

struct infos {
    struct info *info;
    size_t count;
};

/* Reads dir/run.json, run.2.json ... as far as they go. No file: none. 0, or -1 after one line on stderr when one is
 * damaged. The caller frees with infos_free(). */
int infos_read(const char *dir, struct infos *out);
void infos_free(struct infos *x);

/* The value of a key; "" when it is unknown. */
const char *info_get(const struct info *x, const char *key);
/* Of the first file; "" without one. */
const char *infos_get(const struct infos *x, const char *key);
#endif
