/* counters_absent.c - this build found no headers of CUPTI's range profiler. */
#include "counters.h"

#include <stdio.h>

static void explain(char *why, size_t size) {
    snprintf(why, size, "counters: CUPTI was not found when this was built");
}

struct counters *counters_open(char *why, size_t size) {
    explain(why, size);
    return NULL;
}

void counters_close(struct counters *c) { (void)c; }

const char *counters_chip(const struct counters *c) {
    (void)c;
    return "";
}

int counters_passes(const struct counters *c) {
    (void)c;
    return 0;
}

int counters_measure(struct counters *c, int (*prepare)(void *), int (*run)(void *), void *context,
                     struct counted *out, char *why, size_t size) {
    (void)c, (void)prepare, (void)run, (void)context, (void)out;
    explain(why, size);
    return -1;
}

int counters_plan(const char *chip, const char *const names[], int count, char *why, size_t size) {
    (void)chip, (void)names, (void)count;
    explain(why, size);
    return 0;
}
