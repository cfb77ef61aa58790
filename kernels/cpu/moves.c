/* moves.c - copy, fill, triu: bytes move, nothing is computed. Plain C. */
#include "vec.h"
#include "move_bytes.h"
#include "parallel.h"
#include "table_rows.h"

#define BODY "moves.inc"
#include "each_dtype.inc"
#include "copy_nvfp4.inc"

extern const struct impl moves_cpu[];
const struct impl moves_cpu[] = {
#define NAME       "portable"
#define REFUSES(t) NULL
#include "moves_rows.inc"
    {.run = NULL},
};
