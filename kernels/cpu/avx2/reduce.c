/* reduce.c - ../reduce.c in 256-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#include "../reduce_all.inc"

extern const struct impl reduce_avx2[], reduce_stream_avx2[];
const struct impl reduce_avx2[] = {
#define NAME       "avx2"
#define REFUSES(t) refuses_without_avx2
#include "../reduce_rows.inc"
    {.run = NULL},
};

const struct impl reduce_stream_avx2[] = {
#include "../reduce_stream_rows.inc"
    {.run = NULL},
};
