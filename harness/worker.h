/* worker.h - trials run in a child process: what crashes, hangs or poisons it costs one row. */
#ifndef WORKER_H
#define WORKER_H
#include "bench.h"

#include <signal.h>
#include <sys/types.h>

struct worker {
    struct device *device;
    const struct plan *plan; /* as it was at the fork: trials are named by index */
    const struct bench_settings *settings;
    pid_t pid; /* 0: none running */
    int to, from;
    int not_for_child[2]; /* files that the child closes, with their locks; -1: none */
};

/* Forgets nothing and starts nothing: the child is forked when the first trial needs it. */
void worker_init(struct worker *w, struct device *d, const struct plan *plan,
                 const struct bench_settings *settings);

/* Runs trial i and those timed in turns with it: r and samples have room for all. A child that dies gives `failed` rows
 * with its signal, one that overstays `timeout` rows; the next trial gets a new child. Returns 0, 1 when *stop became true
 * meanwhile (r is then unset), -1 after one line on stderr when no child can be had. Of the samples `taken`, `count`
 * and `reading` are set; samples_free() in every case. */
int worker_run(struct worker *w, size_t i, double timeout_s, const volatile sig_atomic_t *stop,
               struct row r[], struct samples samples[]);

void worker_stop(struct worker *w);

/* What a worker does first: vendor libraries, then the device. For running trials without a worker. */
int worker_open(struct device *d);
#endif
