/* probes.h - facts of a GPU that are no catalogue op: cache bandwidths, latencies, clocks, launches, copies. */
#ifndef PROBES_H
#define PROBES_H
#include "device.h"

#include <stdio.h>

/* One measured fact. */
struct probe {
    const char *name, *setting; /* "latency L2", "12 MiB ring" */
    double value;               /* NaN unless it is ok */
    const char *unit;
    const char *status; /* "ok"; "refused", "wrong", "failed": then the note says why */
    const char *note;
};

/* Takes the facts as they are measured. */
struct probe_sink {
    void (*put)(struct probe_sink *s, const struct probe *p);
};

/* Measures in a child process, which a crash or a hang costs: every line goes to both files as it is known. csv (with its
 * header line) and table may be NULL. 0, or -1 after one line on stderr. */
int probes_run(struct device *d, FILE *csv, FILE *table);

/* In this process, on an opened GPU; a build without CUDA has none. 0, or -1 when the device is lost. */
int probes_measure(struct device *d, struct probe_sink *sink);
#endif
