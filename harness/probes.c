/* probes.c - the child that measures, and what becomes of its lines. */
#define _GNU_SOURCE
#include "probes.h"

#include "chart.h"
#include "os.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

static const double timeout_s = 180;

struct printer {
    struct probe_sink sink; /* first: what it points to is a printer */
    const char *device;
    FILE *csv, *table;
};

/* Flushed line by line: what is measured stays when a later probe crashes. */
static void print(struct probe_sink *s, const struct probe *p) {
    const struct printer *to = (const struct printer *)s;
    if (to->csv) {
        chart_csv_text(to->csv, to->device);
        chart_csv_text(to->csv, p->name);
        chart_csv_text(to->csv, p->setting);
        chart_csv_number(to->csv, p->value);
        chart_csv_text(to->csv, p->unit);
        chart_csv_text(to->csv, p->status);
        fprintf(to->csv, "\"%s\"\n", p->note);
        fflush(to->csv);
    }
    if (!to->table) return;
    if (isfinite(p->value))
        fprintf(to->table, "%-28s %-26s %12.4g %-8s  %s\n", p->name, p->setting, p->value, p->unit,
                p->note);
    else
        fprintf(to->table, "%-28s %-26s %12s %-8s  %s: %s\n", p->name, p->setting, "", p->unit,
                p->status, p->note);
    fflush(to->table);
}

static void measure(struct device *d, struct printer *to) {
    signal(SIGINT, SIG_DFL); /* what the parent caught is not for this process */
    signal(SIGTERM, SIG_DFL);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    const int lost = d->open(d) || probes_measure(d, &to->sink);
    _exit(lost ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Waits for the end of the child, which holds the other end of the pipe until then. False: it overstays. */
static bool await_end(int fd) {
    const double deadline = os_now_s() + timeout_s;
    for (double left; (left = deadline - os_now_s()) > 0;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int ready = poll(&p, 1, (int)(left * 1000) + 1);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
    return false;
}

int probes_run(struct device *d, FILE *csv, FILE *table) {
    struct printer to = {{print}, d->name, csv, table};
    int ends[2], status = 0;
    if (csv) fputs("device,probe,setting,value,unit,status,note\n", csv);
    if (table)
        fprintf(table, "%-28s %-26s %12s %-8s  %s\n", "probe", "setting", "value", "unit", "note");
    if (pipe(ends)) {
        fprintf(stderr, "roofline: the probes cannot start: %s\n", strerror(errno));
        return -1;
    }
    fflush(NULL); /* or the child would write what is left in the buffers again */
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        measure(d, &to);
    }
    close(ends[1]);
    if (child < 0) {
        fprintf(stderr, "roofline: the probes cannot start: %s\n", strerror(errno));
        close(ends[0]);
        return -1;
    }
    const bool ended = await_end(ends[0]);
    if (!ended) kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    close(ends[0]);
    if (!ended)
        fprintf(stderr, "roofline: the probes did not end within %.0f s and were killed\n",
                timeout_s);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "roofline: the probes were killed by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != EXIT_SUCCESS)
        fprintf(stderr, "roofline: the probes lost the device\n");
    return ended && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? 0 : -1;
}
