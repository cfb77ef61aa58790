/* small_caches.c - caches() of a few KiB, linked in its place (--wrap): products of a hundred rows
 * and columns have several blocks of each dimension, as only huge ones do on a real CPU. */
#include "../kernels/cpu/packed/caches.h"

struct caches __wrap_caches(void);
struct caches __wrap_caches(void) {
    return (struct caches){.level1 = 4 << 10, .level2 = 8 << 10, .last = 32 << 10, .hints = true};
}
