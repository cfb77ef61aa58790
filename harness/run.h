/* run.h - a plan from its first trial to its last: worker, result file, progress, interruption. */
#ifndef RUN_H
#define RUN_H
#include "bench.h"

struct run {
    const char *dir, *file; /* where rows go: dir/file; dir NULL: nowhere but to on_row */
    bool resume;            /* keep what dir/file has and measure the rest */
    bool in_process;        /* no worker: for debuggers */
    bool progress;          /* on stderr */
    double timeout_s;       /* of one trial */
    int argc;               /* the command line, for run.json */
    char **argv;
    void (*on_row)(const struct row *r, void *context); /* NULL: none */
    void (*on_samples)(const struct row *r, const struct samples *s,
                       void *context); /* of a row, before it; NULL: none */
    void *context;
    /* results */
    size_t kept;     /* rows that a resumed file had */
    size_t count[6]; /* by enum run_status, kept rows included */
};

enum run_status { RUN_ok, RUN_refused, RUN_no_memory, RUN_wrong, RUN_failed, RUN_timeout };

/* Measures the plan (which it may shorten on resume). Returns an exit status of commands.h: STATUS_NO when a kernel
 * was wrong, failed or hung; what stops the run has been said on stderr. */
int run_plan(struct run *run, struct device *d, struct plan *plan,
             const struct bench_settings *settings);

/* mkdir -p; 0, or -1 after one line on stderr. */
int make_directory(const char *path);

/* dir/name in newly allocated memory; aborts without memory. */
char *path_join(const char *dir, const char *name);
#endif
