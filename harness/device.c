/* device.c - what follows from a device's facts alone. */
#include "device.h"

#include <ctype.h>
#include <string.h>

void device_make_slug(char *slug, size_t size, const char *model) {
    size_t n = 0;
    for (; *model && n + 1 < size; model++) {
        if (isalnum((unsigned char)*model))
            slug[n++] = (char)tolower((unsigned char)*model);
        else if (n && slug[n - 1] != '-')
            slug[n++] = '-';
    }
    while (n && slug[n - 1] == '-') n--;
    slug[n] = '\0';
}

bool device_slug_is_emulated(const char *slug) { return strncmp(slug, "emulated-", 9) == 0; }

void device_count_instances(const int home[], int threads, int instances[]) {
    int count = 0;
    for (int i = 0; i < threads; i++) {
        int seen = i - 1;
        while (seen >= 0 && home[seen] != home[i]) seen--;
        if (home[i] >= 0 && seen < 0) count++;
        instances[i] = count ? count : 1;
    }
}

static double capacity(const struct level *level, int threads) {
    return (double)level->bytes * (level->instances ? level->instances[threads - 1] : 1);
}

double device_last_cache(const struct device *d, int threads) {
    const int spread = d->host_moves_threads && threads > 1 ? 2 : 1;
    return d->levels > 1 ? spread * capacity(&d->level[d->levels - 2], threads) : 0;
}

const char *device_level(const struct device *d, double bytes, int threads) {
    for (int i = 0; i + 1 < d->levels; i++)
        if (bytes <= 0.75 * capacity(&d->level[i], threads) &&
            (i == 0 || bytes >= 1.5 * capacity(&d->level[i - 1], threads)))
            return d->level[i].name;
    const double last = device_last_cache(d, threads);
    return last > 0 && bytes >= 4 * last ? d->level[d->levels - 1].name : "";
}
