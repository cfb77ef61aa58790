/* elementwise.c - ../elementwise.c in 256-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../parallel.h"
#include "../table_rows.h"

#define BODY "elementwise.inc"
#include "../each_dtype.inc"

extern const struct impl elementwise_avx2[], elementwise_stream_avx2[];
const struct impl elementwise_avx2[] = {
#define NAME       "avx2"
#define REFUSES(t) refuses_without_avx2
#include "../elementwise_rows.inc"
    {.run = NULL},
};

const struct impl elementwise_stream_avx2[] = {
#include "../elementwise_stream_rows.inc"
    {.run = NULL},
};
