/* worker.c - a child, two pipes: an index goes in, a row and its samples come out. */
#define _GNU_SOURCE
#include "worker.h"

#include "os.h"
#include "../kernels/vendor/vendor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

void worker_init(struct worker *w, struct device *d, const struct plan *plan,
                 const struct bench_settings *settings) {
    *w = (struct worker){.device = d,
                         .plan = plan,
                         .settings = settings,
                         .to = -1,
                         .from = -1,
                         .not_for_child = {-1, -1}};
}

static const char READY = 'r'; /* a child's first byte: its device is open */

/* All of it or -1. */
static int transfer(ssize_t (*move)(int, void *, size_t), int fd, void *data, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t n = move(fd, (char *)data + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        done += (size_t)n;
    }
    return 0;
}

static ssize_t write_some(int fd, void *data, size_t size) { return write(fd, data, size); }

/* Loads the vendor libraries and pins the threads that they start to the CPUs after the first, which is the caller's: left
 * alone they may share that one with it. */
static void open_vendors(const struct vendor_set *set, const struct cpu_facts *facts) {
    static int before[MAX_CPUS], after[MAX_CPUS];
    const int old = os_threads(before, MAX_CPUS);
    if (set->open) set->open();
    const int now = os_threads(after, MAX_CPUS);
    int started = 0;
    for (int i = 0; i < now; i++) {
        bool known = false;
        for (int j = 0; j < old && !known; j++) known = before[j] == after[i];
        if (!known) os_pin_other(after[i], facts->usable[++started % facts->usable_count]);
    }
}

int worker_open(struct device *d) {
    static struct cpu_facts facts;
    os_cpu_facts(&facts);
    open_vendors(d->vendors,
                 &facts); /* before this thread is pinned: libraries count the CPUs of its mask */
    return d->open(d);
}

static int send_samples(struct samples *s, int out) {
    const bool readings = s->reading != NULL;
    return transfer(write_some, out, &s->count, sizeof s->count) ||
                   transfer(write_some, out, s->taken, s->count * sizeof *s->taken) ||
                   transfer(write_some, out, (void *)&readings, sizeof readings) ||
                   (readings &&
                    transfer(write_some, out, s->reading, s->count * sizeof *s->reading))
               ? -1
               : 0;
}

static int receive_samples(struct samples *s, int in) {
    if (transfer(read, in, &s->count, sizeof s->count)) return -1;
    bool readings;
    s->taken = malloc((s->count + 1) * sizeof *s->taken);
    if (!s->taken || transfer(read, in, s->taken, s->count * sizeof *s->taken) ||
        transfer(read, in, &readings, sizeof readings))
        return -1;
    if (!readings) return 0;
    s->reading = malloc((s->count + 1) * sizeof *s->reading);
    return s->reading ? transfer(read, in, s->reading, s->count * sizeof *s->reading) : -1;
}

static void serve(struct worker *w, int in, int out) {
    struct device *d = w->device;
    char ready = READY;
    size_t i;
    signal(SIGINT, SIG_IGN); /* the terminal sends it to the whole group; the parent decides */
    signal(SIGTERM, SIG_DFL);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    for (int file = 0; file < 2; file++)
        if (w->not_for_child[file] >= 0) close(w->not_for_child[file]);
    if (worker_open(d) || transfer(write_some, out, &ready, sizeof ready)) _exit(EXIT_FAILURE);
    while (transfer(read, in, &i, sizeof i) == 0) {
        static struct row r[MAX_CONTENDERS];
        struct samples samples[MAX_CONTENDERS];
        const int count = 1 + w->plan->trial[i].more;
        int sent = 0;
        bench_trial(d, &w->plan->trial[i], w->settings, r, samples);
        const bool lost = d->alive && !d->alive(d);
        if (lost) close(in); /* before the row is out: the next trial must not be sent here */
        while (sent < count && transfer(write_some, out, &r[sent], sizeof r[sent]) == 0 &&
               send_samples(&samples[sent], out) == 0)
            samples_free(&samples[sent++]);
        if (sent < count) break;
        if (lost) _exit(EXIT_FAILURE);
    }
    _exit(EXIT_SUCCESS);
}

/* Reaps the child; its end in words. */
static void bury(struct worker *w, char *text, size_t size) {
    int status = 0;
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status))
        snprintf(text, size, "the worker was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "the worker ended with status %d", WEXITSTATUS(status));
    close(w->to);
    close(w->from);
    w->pid = 0;
    w->to = w->from = -1;
}

/* A child that cannot open its device would fail every trial: that ends the run. */
static int await_ready(struct worker *w) {
    char ready = 0, end[ROW_TEXT];
    if (transfer(read, w->from, &ready, sizeof ready) == 0 && ready == READY) return 0;
    bury(w, end, sizeof end);
    fprintf(stderr, "roofline: the device cannot be opened: %s\n", end);
    return -1;
}

static int start(struct worker *w) {
    int down[2] = {-1, -1}, up[2] = {-1, -1};
    if (pipe(down) == 0 && pipe(up) == 0) {
        fflush(NULL);
        w->pid = fork();
        if (w->pid == 0) {
            close(down[1]);
            close(up[0]);
            serve(w, down[0], up[1]);
        }
    }
    if (w->pid <= 0 || down[0] < 0 || up[0] < 0) {
        fprintf(stderr, "roofline: cannot start a worker process: %s\n", strerror(errno));
        w->pid = 0;
    }
    if (down[0] >= 0) close(down[0]);
    if (up[1] >= 0) close(up[1]);
    w->to = down[1];
    w->from = up[0];
    return w->pid > 0 ? await_ready(w) : -1;
}

static void fail_rows(struct worker *w, size_t i, const char *status, const char *reason,
                      struct row r[]) {
    const struct trial *t = &w->plan->trial[i];
    for (int k = 0; k <= t->more; k++) {
        row_init(&r[k]);
        trial_key(&t[k], w->device, &r[k]);
        row_set_now(r[k].when);
        row_set_text(r[k].status, status);
        row_set_text(r[k].reason, reason);
    }
}

static int receive(struct worker *w, int count, struct row r[], struct samples samples[]) {
    for (int k = 0; k < count; k++)
        if (transfer(read, w->from, &r[k], sizeof r[k]) || receive_samples(&samples[k], w->from))
            return -1;
    return 0;
}

int worker_run(struct worker *w, size_t i, double timeout_s, const volatile sig_atomic_t *stop,
               struct row r[], struct samples samples[]) {
    char end[ROW_TEXT];
    const int count = 1 + w->plan->trial[i].more;
    for (int k = 0; k < count; k++) samples[k] = (struct samples){0};
    if (w->pid == 0 && start(w)) return -1;
    bool lost = transfer(write_some, w->to, &i, sizeof i) != 0;
    if (lost) { /* it died after its last trial, which is not this one's fault */
        bury(w, end, sizeof end);
        if (start(w)) return -1;
        lost = transfer(write_some, w->to, &i, sizeof i) != 0;
    }
    const double deadline = os_now_s() + timeout_s;
    while (!lost) {
        struct pollfd p = {.fd = w->from, .events = POLLIN};
        const double left = deadline - os_now_s();
        const int ready = poll(&p, 1, left > 0.1 ? 100 : left > 0 ? (int)(left * 1000) + 1 : 0);
        if (*stop) {
            worker_stop(w);
            return 1;
        }
        if (ready > 0) {
            if (receive(w, count, r, samples) == 0) return 0;
            for (int k = 0; k < count; k++) samples_free(&samples[k]);
            lost = true;
        } else if (os_now_s() >= deadline) {
            kill(w->pid, SIGKILL);
            bury(w, end, sizeof end);
            snprintf(end, sizeof end, "no result within %.3g s; the worker was killed", timeout_s);
            fail_rows(w, i, "timeout", end, r);
            return 0;
        }
    }
    bury(w, end, sizeof end);
    fail_rows(w, i, "failed", end, r);
    return 0;
}

void worker_stop(struct worker *w) {
    char end[ROW_TEXT];
    if (w->pid == 0) return;
    kill(w->pid, SIGKILL);
    bury(w, end, sizeof end);
}
