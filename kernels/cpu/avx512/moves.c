/* moves.c - ../moves.c in 512-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../move_bytes.h"
#include "../parallel.h"
#include "../table_rows.h"

#define BODY "moves.inc"
#include "../each_dtype.inc"
#include "../copy_nvfp4.inc"

extern const struct impl moves_avx512[];
const struct impl moves_avx512[] = {
#define NAME       "avx512"
#define REFUSES(t) refuses_without_avx512
#include "../moves_rows.inc"
    {.run = NULL},
};
