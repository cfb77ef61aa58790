/* reduce.c - ../reduce.c in 512-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#include "../reduce_all.inc"

extern const struct impl reduce_avx512[], reduce_stream_avx512[];
const struct impl reduce_avx512[] = {
#define NAME       "avx512"
#define REFUSES(t) refuses_without_avx512
#include "../reduce_rows.inc"
    {.run = NULL},
};

const struct impl reduce_stream_avx512[] = {
#include "../reduce_stream_rows.inc"
    {.run = NULL},
};
