/* caches.c - cache sizes from the C library, which has them from CPUID; that of level 3 from Linux: for AMD's CPUs glibc
 * reports all of a package, where a core reaches one complex's (320 MiB for 32 on a Zen 4). */
#define _GNU_SOURCE /* O_CLOEXEC */
#include "caches.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct caches found = {
    .level1 = 32 << 10, .level2 = 256 << 10, .last = 4 << 20, .hints = true};

#if defined(_SC_LEVEL1_DCACHE_SIZE)
static size_t reported(int name, size_t otherwise) {
    const long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}
#endif

/* A number in sysfs about the first CPU's cache of that index, "3" or "32768K"; -1: there is none. Without stdio,
 * which allocates. */
static long long fact(int index, const char *name) {
    char path[80], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return -1;
    text[length] = '\0';
    char *unit;
    const long long number = strtoll(text, &unit, 10);
    return *unit == 'K' ? number << 10 : *unit == 'M' ? number << 20 : number;
}

static size_t level3_of_linux(size_t otherwise) {
    long long level;
    for (int i = 0; (level = fact(i, "level")) >= 0; i++) {
        if (level != 3) continue;
        const long long bytes = fact(i, "size");
        return bytes > 0 ? (size_t)bytes : otherwise;
    }
    return otherwise;
}

static void find(void) {
#if defined(__x86_64__)
    found.hints = !__builtin_cpu_is("amd");
#endif
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    found.level1 = reported(_SC_LEVEL1_DCACHE_SIZE, found.level1);
    found.level2 = reported(_SC_LEVEL2_CACHE_SIZE, found.level2);
    found.last = reported(_SC_LEVEL3_CACHE_SIZE, found.level2);
#endif
    found.last = level3_of_linux(found.last);
}

/* Once: CPUID takes microseconds where a hypervisor answers it, as long as a small product. */
struct caches caches(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}
