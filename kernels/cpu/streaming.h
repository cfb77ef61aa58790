/* streaming.h - when non-temporal stores pay: they save the read of a line that is to be overwritten, and lose where
 * the line could have stayed in a cache. A file that defines STREAMING before its vec.h gets them. */
#ifndef STREAMING_H
#define STREAMING_H
#include "parallel.h"

/* With two or three operands of this size a problem is about as large as a level-3 cache of 32 MiB. */
enum { STREAMING_BYTES = 12 << 20 };

static inline const char *refuses_in_caches(const struct args *a, size_t element_bytes) {
    return (double)a->s.m * (double)a->s.n * (double)element_bytes >= STREAMING_BYTES
               ? NULL
               : "non-temporal stores pay only beyond the caches: 12 MiB an operand or more";
}
#endif
