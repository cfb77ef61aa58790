/* append_file.c - whole records under one header, whatever stops the writer. */
#define _GNU_SOURCE
#include "append_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 8192, TORN_BYTES = 8192 };

/* All of it or nothing: what a full disk cuts short is taken back. */
static int append(const struct append_file *f, const char *text, size_t length) {
    const off_t before = lseek(f->fd, 0, SEEK_END);
    size_t written = 0;
    while (before >= 0 && written < length) {
        const ssize_t n = write(f->fd, text + written, length - written);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        written += (size_t)n;
    }
    if (written == length && fdatasync(f->fd) == 0) return 0;
    if (written == length && errno == EINVAL) return 0; /* a file system without sync */
    fprintf(stderr, "roofline: cannot write '%s': %s\n", f->path, strerror(errno));
    if (before >= 0 && written > 0 && ftruncate(f->fd, before) != 0)
        fprintf(stderr, "roofline: '%s' may end in a torn line\n", f->path);
    return -1;
}

int append_file_write(struct append_file *f, const char *text, size_t length) {
    if (f->shared) flock(f->fd, LOCK_EX);
    const int status = append(f, text, length);
    if (f->shared) flock(f->fd, LOCK_UN);
    return status;
}

/* Where the last whole record ends; newlines within quotes do not end one. */
static off_t end_of_records(int fd) {
    char buffer[65536];
    off_t at = 0, end = 0;
    bool quoted = false;
    ssize_t n;
    while ((n = pread(fd, buffer, sizeof buffer, at)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (buffer[i] == '"') quoted = !quoted;
            if (buffer[i] == '\n' && !quoted) end = at + i + 1;
        }
        at += n;
    }
    return n < 0 ? -1 : end;
}

/* Whether the file starts with the header, or ends within it. */
static bool has_header(int fd, const char *header) {
    char found[HEADER_BYTES];
    const size_t length = strlen(header);
    if (length + 1 > sizeof found) return false;
    const ssize_t n = pread(fd, found, length + 1, 0);
    if (n < 0) return false;
    if (n > (ssize_t)length && found[length - 1] == '\r' && found[length] == '\n')
        found[length - 1] = '\n';
    return memcmp(header, found, (size_t)n < length ? (size_t)n : length) == 0;
}

/* The file as it is found, made fit to be appended to. 0, or -1 after one line on stderr. */
static int make_whole(struct append_file *f, const char *header) {
    struct stat st;
    if (fstat(f->fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        fprintf(stderr, "roofline: '%s' is not a regular file\n", f->path);
        return -1;
    }
    const off_t whole = end_of_records(f->fd);
    if (whole < 0 || fstat(f->fd, &st) != 0) {
        fprintf(stderr, "roofline: cannot read '%s': %s\n", f->path, strerror(errno));
        return -1;
    }
    if (!has_header(f->fd, header)) {
        fprintf(stderr,
                "roofline: '%s' has other columns than this version writes; start a new one\n",
                f->path);
        return -1;
    }
    if (st.st_size - whole > TORN_BYTES) {
        fprintf(stderr, "roofline: '%s' is damaged: more than a torn line after byte %lld\n",
                f->path, (long long)whole);
        return -1;
    }
    if (whole < st.st_size && ftruncate(f->fd, whole) != 0) {
        fprintf(stderr, "roofline: cannot cut the torn last line of '%s': %s\n", f->path,
                strerror(errno));
        return -1;
    }
    return whole == 0 ? append(f, header, strlen(header)) : 0;
}

int append_file_open(struct append_file *f, const char *path, const char *header, bool alone) {
    *f = (struct append_file){.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644),
                              .path = strdup(path),
                              .shared = !alone};
    if (f->fd < 0 || !f->path) {
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
        goto failed;
    }
    if (flock(f->fd, alone ? LOCK_EX | LOCK_NB : LOCK_EX) != 0 && errno == EWOULDBLOCK) {
        fprintf(stderr, "roofline: '%s' is being written by another run\n", path);
        goto failed;
    }
    if (make_whole(f, header)) goto failed;
    if (!alone) flock(f->fd, LOCK_UN);
    return 0;
failed:
    append_file_close(f);
    return -1;
}

void append_file_close(struct append_file *f) {
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    *f = (struct append_file){.fd = -1};
}
