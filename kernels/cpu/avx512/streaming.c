/* streaming.c - copy, fill, triu, casts, elementwise operations, rows and the gradient of an embedding with non-temporal 512-bit stores. */
#define STREAMING
#include "vec.h"
#include "../embedding.h"
#include "../isa.h"
#include "../move_bytes.h"
#include "../parallel.h"
#include "../streaming.h"
#include "../table_rows.h"

static const char *refuses_isa(const struct args *a) { return refuses_without_avx512(a); }

#define BODY "streaming_refusal.inc"
#include "../each_dtype.inc"
static const char *refuses_nvfp4(const struct args *a) {
    const char *reason = refuses_isa(a);
    return reason ? reason : refuses_in_caches(a, 1);
}

#define BODY "moves.inc"
#include "../each_dtype.inc"
#include "../copy_nvfp4.inc"
#define NOT_FP32
#define BODY "casts.inc"
#include "../each_dtype.inc"
#define BODY "elementwise.inc"
#include "../each_dtype.inc"
#include "../rows_all.inc"
#define TRAINED_ONLY
#define BODY "embedding.inc"
#include "../each_dtype.inc"

#define NAME       "avx512_nt"
#define REFUSES(t) refuses_##t

extern const struct impl elementwise_nt_avx512[], stream_nt_avx512[];
const struct impl elementwise_nt_avx512[] = {
#include "../elementwise_rows.inc"
#include "../casts_rows.inc"
    {.run = NULL},
};

const struct impl stream_nt_avx512[] = {
#include "../moves_rows.inc"
#include "../elementwise_stream_rows.inc"
    {.run = NULL},
};

#undef REFUSES
#define REFUSES(t) refuses_rows_##t

extern const struct impl rows_nt_avx512[];
const struct impl rows_nt_avx512[] = {
#include "../rows_rows.inc"
    {.run = NULL},
};

#undef REFUSES
#define REFUSES(t) refuses_table_##t

extern const struct impl embedding_nt_avx512[];
const struct impl embedding_nt_avx512[] = {
#include "../embedding_rows.inc"
    {.run = NULL},
};
