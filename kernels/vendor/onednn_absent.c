/* onednn_absent.c - this build found no oneDNN 2. */
#include "tables.h"

static int unreachable(const struct args *a) {
    (void)a;
    return -1;
}

static const char *refuses(const struct args *a) {
    (void)a;
    return "oneDNN 2 was not found when this was built";
}

#define ROW(op, dtype, scratch) \
    { OP_##op, "onednn", DT_##dtype, unreachable, refuses, NULL }
const struct impl onednn_cpu[] = {
#include "onednn_rows.inc"
    {.run = NULL},
};

const char *onednn_version(void) { return NULL; }
