/* gpu.c - published GPUs by short name. */
#include "gpu.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Whether `name` begins with `text`, letters and digits compared only. */
static bool begins_with(const char *name, const char *text) {
    for (;; name++, text++) {
        while (*text && !isalnum((unsigned char)*text)) text++;
        while (*name && !isalnum((unsigned char)*name)) name++;
        if (!*text) return true;
        if (tolower((unsigned char)*name) != tolower((unsigned char)*text)) return false;
    }
}

/* Whether the name's beginning that equals `text` ends where a word ends: "h10" is no name of an H100. */
static bool is_family(const char *name, const char *text) {
    size_t letters = 0;
    for (; *text; text++) letters += isalnum((unsigned char)*text) != 0;
    for (; *name && letters; name++) letters -= isalnum((unsigned char)*name) != 0;
    return !isalnum((unsigned char)*name);
}

const struct gpu_spec *gpu_named(const char *name, struct complaint *why) {
    size_t count;
    const struct gpu_spec *specs = spec_gpus(&count), *best = spec_gpu(name), *first = NULL;
    int fits = 0, sxm = 0;
    if (best) return best;
    for (size_t i = 0; i < count; i++) {
        if (!isalnum((unsigned char)*name) || !begins_with(specs[i].name, name) ||
            !is_family(specs[i].name, name))
            continue;
        fits++;
        if (!first) first = &specs[i];
        if (!strstr(specs[i].name, "SXM")) continue;
        sxm++;
        if (!best || specs[i].memory_gbyte > best->memory_gbyte) best = &specs[i];
    }
    if (fits == 1) return first;
    if (sxm) return best;
    if (fits)
        complain(why, "GPU '%s' may be any of %d; say more of the name: '%s'", name, fits,
                 first->name);
    else
        complain(why,
                 "unknown GPU '%s'; known are the rows of plots/specs/gpus.csv, such as "
                 "H100, 'A100 PCIe 80GB', B200",
                 name);
    return NULL;
}

double gpu_peak(const struct gpu_spec *gpu, enum dtype t, struct complaint *why) {
    const double peak = 1e9 * gpu->gflop_s[t];
    if (isnan(peak)) complain(why, "no %s peak is published for the %s", dtypes[t].name, gpu->name);
    return peak;
}
