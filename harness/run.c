/* run.c - rows are written as they are made; whatever happens, those stay. */
#define _GNU_SOURCE
#include "run.h"

#include "commands.h"
#include "os.h"
#include "runinfo.h"
#include "samples_file.h"
#include "sustain.h"
#include "worker.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths ---- */

char *path_join(const char *dir, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        perror("roofline");
        abort();
    }
    return path;
}

int make_directory(const char *path) {
    char *copy = strdup(path);
    int status = copy ? 0 : -1;
    for (char *c = copy; status == 0 && c; c++) {
        if ((*c != '/' && *c != '\0') || c == copy) {
            if (*c) continue;
        }
        const char kept = *c;
        *c = '\0';
        if (*copy && mkdir(copy, 0777) != 0 && errno != EEXIST) status = -1;
        *c = kept;
        if (!kept) break;
    }
    struct stat st;
    if (status == 0 && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))) {
        errno = ENOTDIR;
        status = -1;
    }
    if (status)
        fprintf(stderr, "roofline: cannot make directory '%s': %s\n", path, strerror(errno));
    free(copy);
    return status;
}

/* ---- interruption ---- */

static volatile sig_atomic_t interrupted;
static void on_signal(int signal) { interrupted = signal; }

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN; /* a dead worker is noticed by its pipe */
    sigaction(SIGPIPE, &action, NULL);
}

/* ---- progress ---- */

struct progress {
    bool shown, terminal;
    double start_s, last_s;
    size_t total;
};

static void show_progress(struct progress *p, size_t done, const struct trial *next) {
    char name[160] = "";
    const double now = os_now_s(), spent = now - p->start_s;
    const double left = done ? spent / (double)done * (double)(p->total - done) : NAN;
    if (!p->shown) return;
    if (next) trial_name(next, name, sizeof name);
    if (p->terminal) {
        if (isnan(left))
            fprintf(stderr, "\r\033[K[%zu/%zu] %s", done, p->total, name);
        else
            fprintf(stderr, "\r\033[K[%zu/%zu, %d:%02d left] %s", done, p->total, (int)left / 60,
                    (int)left % 60, name);
        if (!next) fprintf(stderr, "\r\033[K");
        fflush(stderr);
    } else if (done == 0 || !next || now - p->last_s > 15) {
        if (isnan(left))
            fprintf(stderr, "%zu trials to run\n", p->total);
        else
            fprintf(stderr, "%zu of %zu trials done in %.0f s, about %.0f s left\n", done, p->total,
                    spent, left);
        p->last_s = now;
    }
}

/* ---- the run ---- */

static enum run_status status_of(const struct row *r) {
    static const char *const names[] = {"ok", "refused", "no_memory", "wrong", "failed", "timeout"};
    for (int i = 0; i < 6; i++)
        if (strcmp(r->status, names[i]) == 0) return (enum run_status)i;
    return RUN_failed;
}

/* What the result file has already: dropped from the plan on resume, an error otherwise. */
static int consider_earlier(struct run *run, const char *path, struct device *d,
                            struct plan *plan) {
    struct rows earlier;
    bool torn;
    if (access(path, F_OK) != 0) return 0;
    if (rows_read(path, &earlier, &torn)) return -1;
    if (torn)
        fprintf(stderr,
                "roofline: '%s': the last line was cut short; that trial is measured again\n",
                path);
    if (earlier.count && !run->resume) {
        fprintf(stderr, "roofline: '%s' has %zu rows already; --resume adds what is missing\n",
                path, earlier.count);
        free(earlier.row);
        return -1;
    }
    run->kept = earlier.count;
    for (size_t i = 0; i < earlier.count; i++) run->count[status_of(&earlier.row[i])]++;
    const int status = plan_drop_measured(plan, d, &earlier);
    free(earlier.row);
    return status;
}

/* Of sustained trials: those whose series the file has. A series is written whole. */
static int consider_series(struct run *run, const char *path, struct device *d, struct plan *plan) {
    struct rows earlier;
    bool torn;
    const size_t before = plan->count;
    if (access(path, F_OK) != 0) return 0;
    if (rows_read(path, &earlier, &torn)) return -1;
    int status = plan_drop_measured(plan, d, &earlier);
    free(earlier.row);
    run->kept = before - plan->count;
    if (!status && run->kept && !run->resume) {
        fprintf(stderr,
                "roofline: '%s' has %zu of these %zu series already; --resume leaves them out\n",
                path, run->kept, before);
        status = -1;
    }
    return status;
}

/* Rows of trials that were run together, to the files and to the caller. 0, or -1 after one line on stderr. */
static int keep(struct run *run, int count, const struct row r[], struct samples samples[],
                struct append_file *file, struct append_file *samples_file, bool sustained) {
    int status = 0;
    /* The samples first: a row that is there has them. */
    for (int k = 0; k < count; k++) {
        if (!status && run->dir)
            status = sustained ? sustain_file_append(file, &r[k], &samples[k])
                               : samples_file_append(samples_file, run->file, &r[k], &samples[k]);
        if (!status && run->on_samples) run->on_samples(&r[k], &samples[k], run->context);
        samples_free(&samples[k]);
    }
    if (!status && run->dir && !sustained) status = row_file_append(file, r, count);
    for (int k = 0; k < count && !status; k++) {
        run->count[status_of(&r[k])]++;
        if (run->on_row) run->on_row(&r[k], run->context);
    }
    return status;
}

int run_plan(struct run *run, struct device *d, struct plan *plan,
             const struct bench_settings *settings) {
    int status = STATUS_ERROR;
    char *path = run->dir ? path_join(run->dir, run->file) : NULL;
    const bool sustained =
        settings->sampling.sustain_s > 0; /* its file has the samples, and no rows */
    char *samples_path = run->dir && !sustained ? path_join(run->dir, "samples.csv") : NULL;
    struct append_file file = {.fd = -1};
    struct append_file samples_file = {.fd = -1};
    struct worker worker;
    worker_init(&worker, d, plan, settings);
    catch_signals();

    if (path && make_directory(run->dir)) goto done;
    if (path && (sustained ? consider_series(run, path, d, plan) || sustain_file_open(&file, path)
                           : consider_earlier(run, path, d, plan) || row_file_open(&file, path)))
        goto done;
    if (samples_path && samples_file_open(&samples_file, samples_path)) goto done;
    worker.not_for_child[0] = file.fd;
    worker.not_for_child[1] = samples_file.fd;
    if (run->dir && run_info_write(run->dir, d, run->argc, run->argv)) goto done;
    if (run->in_process && worker_open(d)) goto done;

    struct progress progress = {.shown = run->progress,
                                .terminal = isatty(STDERR_FILENO) == 1,
                                .start_s = os_now_s(),
                                .total = plan->count};
    size_t i = 0;
    while (i < plan->count && !interrupted) {
        static struct row r[MAX_CONTENDERS];
        struct samples samples[MAX_CONTENDERS];
        const int count = 1 + plan->trial[i].more;
        show_progress(&progress, i, &plan->trial[i]);
        if (run->in_process) {
            bench_trial(d, &plan->trial[i], settings, r, samples);
        } else {
            const int stopped =
                worker_run(&worker, i, count * run->timeout_s, &interrupted, r, samples);
            if (stopped > 0) break;
            if (stopped < 0) goto done;
        }
        if (progress.shown && progress.terminal && run->on_row) fprintf(stderr, "\r\033[K");
        if (keep(run, count, r, samples, &file, &samples_file, sustained)) goto done;
        i += (size_t)count;
    }
    show_progress(&progress, i, NULL);
    if (interrupted) {
        fprintf(stderr, "roofline: interrupted after %zu of %zu trials%s\n", i, plan->count,
                path ? "; --resume goes on" : "");
        status = STATUS_INTERRUPTED;
        goto done;
    }
    status = run->count[RUN_wrong] + run->count[RUN_failed] + run->count[RUN_timeout] ? STATUS_NO
                                                                                      : STATUS_OK;
done:
    worker_stop(&worker);
    append_file_close(&file);
    append_file_close(&samples_file);
    free(samples_path);
    free(path);
    return status;
}
