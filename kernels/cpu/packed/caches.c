/* caches.c - cache sizes from the C library, which has them from CPUID or the kernel. */
#include "caches.h"

#include <pthread.h>
#include <unistd.h>

static struct caches found = {
    .level1 = 32 << 10, .level2 = 256 << 10, .last = 4 << 20, .hints = true};

#if defined(_SC_LEVEL1_DCACHE_SIZE)
static size_t reported(int name, size_t otherwise) {
    const long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}
#endif

static void find(void) {
#if defined(__x86_64__)
    found.hints = !__builtin_cpu_is("amd");
#endif
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    found.level1 = reported(_SC_LEVEL1_DCACHE_SIZE, found.level1);
    found.level2 = reported(_SC_LEVEL2_CACHE_SIZE, found.level2);
    found.last = reported(_SC_LEVEL3_CACHE_SIZE, found.level2);
#endif
}

/* Once: CPUID takes microseconds where a hypervisor answers it, as long as a small product. */
struct caches caches(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}
