/* caches.c - cache sizes from the C library, which has them from CPUID or the kernel. */
#include "caches.h"

#include <unistd.h>

static size_t reported(int name, size_t otherwise) {
    const long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}

struct caches caches(void) {
    struct caches c = {.level1 = 32 << 10, .level2 = 256 << 10, .last = 4 << 20};
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    c.level1 = reported(_SC_LEVEL1_DCACHE_SIZE, c.level1);
    c.level2 = reported(_SC_LEVEL2_CACHE_SIZE, c.level2);
    c.last = reported(_SC_LEVEL3_CACHE_SIZE, c.level2);
#endif
    return c;
}
