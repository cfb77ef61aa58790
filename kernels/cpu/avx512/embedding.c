/* embedding.c - the gradient of ../embedding.c in 512-bit vectors. */
#include "vec.h"
#include "../isa.h"
#include "../move_bytes.h"
#include "../embedding.h"
#include "../table_rows.h"

#define TRAINED_ONLY
#define BODY "embedding.inc"
#include "../each_dtype.inc"

extern const struct impl embedding_avx512[];
const struct impl embedding_avx512[] = {
#define NAME       "avx512"
#define REFUSES(t) refuses_without_avx512
#include "../embedding_rows.inc"
    {.run = NULL},
};
