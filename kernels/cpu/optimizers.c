/* optimizers.c - one step of an optimizer in one pass over memory, in plain C. */
#include "vec.h"
#include "optimizers.h"
#include "table_rows.h"

#define TRAINED_ONLY
#define BODY "optimizers.inc"
#include "each_dtype.inc"

extern const struct impl optimizers_cpu[];
const struct impl optimizers_cpu[] = {
#define NAME       "portable"
#define REFUSES(t) NULL
#include "optimizers_rows.inc"
    {.run = NULL},
};
