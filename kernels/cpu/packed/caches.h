/* caches.h - sizes by which kernels choose their blocks. */
#ifndef CACHES_H
#define CACHES_H
#include <stddef.h>

struct caches {
    size_t level1, level2; /* data, a core's own */
    size_t last;           /* shared; level2 again where there is no third level */
};

/* What the system reports, or common sizes where it reports nothing. */
struct caches caches(void);
#endif
