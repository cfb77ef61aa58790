/* devices.c - a child lists the GPUs and writes what it found to a pipe. */
#define _GNU_SOURCE
#include "devices.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 }; /* a driver that is loaded for the first time takes seconds */

static void answer(int fd) {
    static struct gpus found;
    device_cuda_list(&found);
    const char *at = (const char *)&found;
    for (size_t left = sizeof found; left > 0;) {
        const ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(EXIT_FAILURE);
        at += n;
        left -= (size_t)n;
    }
    _exit(EXIT_SUCCESS);
}

/* Bytes that came before the end, or -1 when nothing came for too long. */
static ssize_t receive(int fd, void *data, size_t size) {
    size_t got = 0;
    while (got < size) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int ready = poll(&p, 1, PATIENCE_MS);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        const ssize_t n = read(fd, (char *)data + got, size - got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static void ask(struct gpus *out) {
    int ends[2];
    memset(out, 0, sizeof *out);
    if (pipe(ends)) {
        snprintf(out->why_none, sizeof out->why_none, "no pipe: %s", strerror(errno));
        return;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        answer(ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        snprintf(out->why_none, sizeof out->why_none, "no process: %s", strerror(errno));
    } else {
        const ssize_t got = receive(ends[0], out, sizeof *out);
        if (got != (ssize_t)sizeof *out) {
            memset(out, 0, sizeof *out);
            snprintf(out->why_none, sizeof out->why_none,
                     got < 0 ? "the driver does not answer" : "asking the driver ended in a crash");
            kill(child, SIGKILL);
        }
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    close(ends[0]);
}

const struct gpus *devices_gpus(void) {
    static struct gpus gpus;
    static bool asked;
    if (!asked) ask(&gpus);
    asked = true;
    return &gpus;
}

static bool is_named(const struct gpu_info *g, const char *name) {
    char index[16];
    snprintf(index, sizeof index, "cuda:%d", g->index);
    return strcasecmp(name, index) == 0 || strcasecmp(name, g->name) == 0 ||
           strcasecmp(name, g->pci_bus_id) == 0 ||
           (strlen(name) >= 8 && strncasecmp(name, g->uuid, strlen(name)) == 0);
}

int device_pick(const char *name, struct device *out) {
    if (name && strcmp(name, "cpu") == 0) {
        device_cpu_init(out);
        return 0;
    }
    const struct gpus *gpus = devices_gpus();
    const bool first = !name || strcmp(name, "gpu") == 0;
    for (int i = 0; i < gpus->count; i++) {
        /* an emulated device is for those who name it */
        if (first ? gpus->gpu[i].emulated : !is_named(&gpus->gpu[i], name)) continue;
        device_cuda_init(out, &gpus->gpu[i]);
        return 0;
    }
    if (!name) {
        device_cpu_init(out);
        return 0;
    }
    if (gpus->count == 0)
        fprintf(stderr, "roofline: --device '%s': there is cpu and no GPU: %s\n", name,
                gpus->why_none);
    else
        fprintf(stderr,
                "roofline: --device '%s': there is cpu and cuda:0 to cuda:%d; 'roofline devices' "
                "lists them\n",
                name, gpus->count - 1);
    return -1;
}
