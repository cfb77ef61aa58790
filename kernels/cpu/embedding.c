/* embedding.c - rows of a table by index, and their gradient: dT[v] = sum of dY[i] with index i = v. Plain C. */
#include "vec.h"
#include "move_bytes.h"
#include "embedding.h"
#include "table_rows.h"

#define EMBEDDING_MOVES /* bytes, as fast as memcpy() moves them: of this table alone */
#define TRAINED_ONLY
#define BODY "embedding.inc"
#include "each_dtype.inc"

extern const struct impl embedding_cpu[];
const struct impl embedding_cpu[] = {
#define NAME       "portable"
#define REFUSES(t) NULL
    ROWS_OF_HARDWARE(embedding, NULL),
    ROW(embedding, bf16, NULL),
#include "embedding_rows.inc"
    {.run = NULL},
};
