/* elementwise.c - ../elementwise.c in 512-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#define BODY "elementwise.inc"
#include "../each_dtype.inc"

extern const struct impl elementwise_avx512[], elementwise_stream_avx512[];
const struct impl elementwise_avx512[] = {
#define NAME       "avx512"
#define REFUSES(t) refuses_without_avx512
#include "../elementwise_rows.inc"
    {.run = NULL},
};

const struct impl elementwise_stream_avx512[] = {
#include "../elementwise_stream_rows.inc"
    {.run = NULL},
};
