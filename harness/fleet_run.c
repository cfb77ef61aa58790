/* fleet_run.c - processes and folders; a rank's state is a file that appears whole. */
#define _GNU_SOURCE
#include "fleet_run.h"

#include "commands.h"
#include "compare/fleet.h"
#include "devices.h"
#include "os.h"
#include "run.h"
#include "runinfo.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const double fleet_threshold = 0.02;
static const char member_variable[] =
    "ROOFLINE_FLEET_MEMBER"; /* set: this process is one already */

/* ---- ranks ---- */

static int number_in(const char *const *names, int otherwise) {
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end;
        if (!text || !*text) continue;
        const long x = strtol(text, &end, 10);
        if (!*end && x >= 0 && x < 1000000) return (int)x;
    }
    return otherwise;
}

struct rank rank_of_environment(void) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
    /* SLURM_NTASKS stands, beside a rank of 0, in batch scripts too, whose commands are no ranks. */
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        NULL};
    static const char *const locals[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                         "SLURM_LOCALID", NULL};
    static const char *const jobs[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "PMI_JOBID"};
    struct rank r = {.size = 1};
    if (getenv(member_variable)) return r;
    const int rank = number_in(ranks, -1), size = number_in(sizes, 1);
    if (rank < 0 || rank >= size || size < 2) return r;
    r.rank = rank;
    r.size = size;
    r.local = number_in(locals, rank);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs && !r.job[0]; i++)
        if (getenv(jobs[i])) snprintf(r.job, sizeof r.job, "%.80s", getenv(jobs[i]));
    const char *step = getenv("SLURM_STEP_ID");
    if (r.job[0] && step)
        snprintf(r.job + strlen(r.job), sizeof r.job - strlen(r.job), ".%.8s", step);
    return r;
}

static char *rank_folder(const char *dir, int rank) {
    char name[32];
    snprintf(name, sizeof name, "rank-%04d", rank);
    return path_join(dir, name);
}

static int write_text(const char *dir, const char *name, const char *text) {
    char *path = path_join(dir, name), *temporary = path_join(dir, ".state.tmp");
    FILE *f = fopen(temporary, "w");
    bool ok = f && fputs(text, f) >= 0;
    if (f) ok = fclose(f) == 0 && ok;
    ok = ok && rename(temporary, path) == 0;
    if (!ok) fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
    free(path);
    free(temporary);
    return ok ? 0 : -1;
}

/* A rank's folder and device: of the ranks of a machine each takes its next GPU. 0, or -1 after one line on stderr. */
static int rank_begin(const struct rank *r, const char *dir, const char **device, char **own_dir) {
    static char name[24];
    char host[64] = "";
    *own_dir = rank_folder(dir, r->rank);
    gethostname(host, sizeof host - 1);
    if (make_directory(*own_dir) || write_text(*own_dir, "host", host)) return -1;
    char *state = path_join(*own_dir, "state");
    if (unlink(state) && errno != ENOENT) /* an earlier launch's */
        fprintf(stderr, "roofline: cannot remove '%s': %s\n", state, strerror(errno));
    free(state);
    if (*device) return 0;
    const struct gpus *gpus = devices_gpus();
    int real = 0;
    for (int i = 0; i < gpus->count; i++) real += !gpus->gpu[i].emulated;
    if (real == 0) return 0;
    if (r->local >= real)
        fprintf(stderr,
                "roofline: rank %d is number %d of its machine and sees %d GPUs: ranks share them, "
                "unless the launcher gave each its own\n",
                r->rank, r->local + 1, real);
    int left = r->local % real, i = 0;
    while (gpus->gpu[i].emulated || left-- > 0) i++;
    snprintf(name, sizeof name, "cuda:%d", gpus->gpu[i].index);
    *device = name;
    return 0;
}

static int write_state(const char *own_dir, const struct rank *r, int status) {
    char text[128];
    snprintf(text, sizeof text, "%d %s\n", status, r->job[0] ? r->job : "-");
    return write_text(own_dir, "state", text);
}

/* A rank's exit status once it is done in this launch; -1: not yet. */
static int state_of(const char *dir, const struct rank *r, int rank) {
    char *own_dir = rank_folder(dir, rank), *path = path_join(own_dir, "state"), job[96] = "";
    FILE *f = fopen(path, "r");
    int status = -1;
    if (f &&
        (fscanf(f, "%d %95s", &status, job) != 2 || strcmp(job, r->job[0] ? r->job : "-") != 0))
        status = -1;
    if (f) fclose(f);
    free(path);
    free(own_dir);
    return status;
}

static int gather(const struct rank *r, const char *dir, const char *file, double patience_s) {
    const double deadline = os_now_s() + patience_s;
    int missing, worst = STATUS_OK;
    for (;;) {
        missing = 0;
        worst = STATUS_OK;
        for (int i = 0; i < r->size; i++) {
            const int status = state_of(dir, r, i);
            missing += status < 0;
            if (status > worst) worst = status;
        }
        if (missing == 0 || os_now_s() >= deadline) break;
        os_sleep_s(0.2);
    }
    for (int i = 0; missing && i < r->size; i++)
        if (state_of(dir, r, i) < 0)
            fprintf(
                stderr,
                "roofline: rank %d of %d has not ended: only the rows that it has written count\n",
                i, r->size);
    const int table = fleet_compare(stdout, dir, file, fleet_threshold);
    if (missing && worst == STATUS_OK) worst = STATUS_NO;
    return worst == STATUS_OK ? table : worst;
}

/* ---- devices of this machine ---- */

static bool is_list(const char *device) {
    return device && !getenv(member_variable) &&
           (strcmp(device, "all") == 0 || strchr(device, ','));
}

static volatile sig_atomic_t stop_children;
static void on_signal(int signal) { stop_children = signal; }

/* This command again, for one device, in a folder of its own; the later option wins. Its process, or -1. */
static pid_t start(int argc, char **argv, const char *device, const char *dir, bool quiet) {
    char **all = calloc((size_t)argc + 8, sizeof *all);
    int n = 0;
    if (!all) return -1;
    all[n++] = (char *)"roofline";
    for (int i = 0; i < argc; i++) all[n++] = argv[i];
    all[n++] = (char *)"--device";
    all[n++] = (char *)device;
    all[n++] = (char *)"--out";
    all[n++] = (char *)dir;
    if (quiet) all[n++] = (char *)"--quiet";
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv(member_variable, "1", 1);
        execv("/proc/self/exe", all);
        perror("roofline: /proc/self/exe");
        _exit(STATUS_ERROR);
    }
    if (child < 0) perror("roofline: cannot start a process");
    free(all);
    return child;
}

/* Its exit status; what killed it is said. */
static int finish(pid_t child, const char *device) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return STATUS_ERROR;
        else if (stop_children)
            kill(child, SIGTERM);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    fprintf(stderr,
            "roofline: %s: killed by signal %d (%s): only the rows that it has written count\n",
            device, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return STATUS_NO;
}

static bool is_among(const char *name, char names[MAX_GPUS][DEVICE_TEXT], int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static int names_of(const char *device, char names[MAX_GPUS][DEVICE_TEXT]) {
    int n = 0;
    if (strcmp(device, "all") == 0) {
        const struct gpus *gpus = devices_gpus();
        for (int i = 0; i < gpus->count && n < MAX_GPUS; i++)
            if (!gpus->gpu[i].emulated)
                snprintf(names[n++], DEVICE_TEXT, "cuda:%d", gpus->gpu[i].index);
        if (n == 0) snprintf(names[n++], DEVICE_TEXT, "cpu");
        return n;
    }
    char *copy = strdup(device), *rest = copy;
    for (const char *name; copy && (name = strsep(&rest, ",")) && n < MAX_GPUS;)
        if (*name && !is_among(name, names, n)) snprintf(names[n++], DEVICE_TEXT, "%.95s", name);
    free(copy);
    return n;
}

/* Each device alone, then all at once. Where the list is one device it is named in *one, and nothing has run. */
static int run_devices(int argc, char **argv, const char *device, const char *dir, const char *file,
                       const char **one) {
    static char names[MAX_GPUS][DEVICE_TEXT];
    const int n = names_of(device, names);
    int worst = STATUS_OK;
    *one = NULL;
    if (n == 0) {
        fprintf(stderr, "roofline: --device '%s' names no device\n", device);
        return STATUS_ERROR;
    }
    if (n == 1) {
        *one = names[0];
        fprintf(stderr, "roofline: --device %s: it is one device, %s\n", device, names[0]);
        return STATUS_OK;
    }
    if (!dir) {
        fprintf(stderr, "roofline: --device %s: %d devices need --out DIR\n", device, n);
        return STATUS_ERROR;
    }
    for (int i = 0; i < n; i++) { /* a wrong name before hours of the right ones */
        struct device d;
        if (device_pick(names[i], &d)) return STATUS_ERROR;
        d.close(&d);
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (int together = 0; together < 2; together++) {
        pid_t child[MAX_GPUS] = {0};
        for (int i = 0; i < n && !stop_children; i++) {
            char name[DEVICE_TEXT], sub[DEVICE_TEXT + 16];
            device_make_slug(name, sizeof name, names[i]);
            snprintf(sub, sizeof sub, "%s/%s", together ? "together" : "alone", name);
            char *folder = path_join(dir, sub);
            fprintf(stderr, "roofline: %s, %s\n", names[i], together ? "all at once" : "alone");
            child[i] = start(argc, argv, names[i], folder, together);
            free(folder);
            if (child[i] > 0 && together) continue;
            const int status = child[i] > 0 ? finish(child[i], names[i]) : STATUS_ERROR;
            if (status > worst) worst = status;
        }
        for (int i = 0; together && i < n; i++) {
            if (child[i] <= 0) continue;
            if (stop_children) kill(child[i], SIGTERM);
            const int status = finish(child[i], names[i]);
            if (status > worst) worst = status;
        }
        if (stop_children) return STATUS_INTERRUPTED;
    }
    const int table = fleet_compare(stdout, dir, file, fleet_threshold);
    return worst == STATUS_OK ? table : worst;
}

/* ---- what commands call ---- */

int fleet_enter(struct fleet_part *p, int argc, char **argv, const char **device, const char **dir,
                const char *file, double patience_s) {
    *p = (struct fleet_part){.rank = rank_of_environment(),
                             .dir = *dir,
                             .start_s = os_now_s(),
                             .patience_s = patience_s};
    if (is_list(*device)) {
        const char *one;
        const int status = run_devices(argc, argv, *device, *dir, file, &one);
        if (!one) return status;
        *device = one;
    }
    if (p->rank.size < 2 || !*dir) return -1;
    if (rank_begin(&p->rank, *dir, device, &p->own_dir)) return STATUS_ERROR;
    *dir = p->own_dir;
    return -1;
}

int fleet_leave(struct fleet_part *p, const char *file, int status) {
    if (!p->own_dir) return status;
    const double took = os_now_s() - p->start_s;
    const int unwritten = write_state(p->own_dir, &p->rank, status);
    free(p->own_dir);
    if (status == STATUS_INTERRUPTED) return status;
    if (p->rank.rank > 0) return unwritten ? STATUS_ERROR : STATUS_OK;
    return gather(&p->rank, p->dir, file, p->patience_s > 0 ? p->patience_s : fmax(60, took));
}
