/* tokens.c - the file is mapped read-only; random access is announced, so that the system reads no more than asked. */
#define _GNU_SOURCE
#include "tokens.h"

#include "../../kernels/model/philox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STREAM_DATA = 0x64617461 }; /* apart from the streams of parameters, which count from 0 */

static uint64_t digest_of(const struct token_file *f) {
    enum { ENDS = 4096 };
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)f->count; /* FNV-1a, by tokens */
    for (int64_t i = 0; i < f->count; i++) {
        if (i == ENDS && f->count > 2 * ENDS) i = f->count - ENDS;
        h = (h ^ f->token[i]) * 0x100000001b3u;
    }
    return h;
}

/* No byte is a control character, which tokens under 2304 have as their upper half: text, as it is. */
static bool is_text(const unsigned char *p, int64_t bytes) {
    enum { LEAST = 256, MOST = 4096 };
    const int64_t n = bytes < MOST ? bytes : MOST;
    for (int64_t i = 0; i < n; i++)
        if (p[i] < ' ' && !strchr("\t\n\v\f\r", p[i] ? p[i] : 1)) return false;
    return n >= LEAST;
}

int token_file_open(struct token_file *f, const char *path) {
    struct stat facts;
    void *p = MAP_FAILED;
    *f = (struct token_file){.token = NULL};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts)) {
        fprintf(stderr, "roofline: '%s': %s\n", path, strerror(errno));
    } else if (!S_ISREG(facts.st_mode) || facts.st_size < 4 || facts.st_size % 2) {
        fprintf(stderr, "roofline: '%s': no file of uint16 tokens: %lld bytes\n", path,
                (long long)facts.st_size);
    } else {
        p = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            fprintf(stderr, "roofline: '%s': %s\n", path, strerror(errno));
        } else if (is_text(p, facts.st_size)) {
            fprintf(stderr,
                    "roofline: '%s' is text: 'roofline tokens %s -o FILE' makes tokens of it\n",
                    path, path);
            munmap(p, (size_t)facts.st_size);
            p = MAP_FAILED;
        }
    }
    if (fd >= 0) close(fd);
    if (p == MAP_FAILED) return -1;
    f->mapped = p;
    f->token = p;
    f->count = facts.st_size / 2;
    madvise(p, (size_t)facts.st_size, MADV_SEQUENTIAL);
    for (int64_t i = 0; i < f->count; i++)
        if (f->token[i] > f->largest) f->largest = f->token[i];
    madvise(p, (size_t)facts.st_size, MADV_RANDOM);
    f->digest = digest_of(f);
    return 0;
}

void token_file_close(struct token_file *f) {
    if (f->mapped) munmap(f->mapped, (size_t)f->count * 2);
    *f = (struct token_file){.token = NULL};
}

void token_batch(const struct token_file *f, uint64_t seed, int64_t step, int64_t sequences,
                 int64_t length, int32_t *tokens, int32_t *labels) {
    const uint64_t starts = (uint64_t)(f->count - length); /* the last label is the last token */
    for (int64_t s = 0; s < sequences; s++) {
        const uint64_t draw = philox_bits(seed, STREAM_DATA, (uint64_t)(step * sequences + s));
        const uint16_t *from = f->token + draw % starts;
        for (int64_t i = 0; i < length; i++) {
            tokens[s * length + i] = from[i];
            labels[s * length + i] = from[i + 1];
        }
    }
}

/* ---- from text ---- */

static int append_text(FILE *out, const char *path) {
    unsigned char in[1 << 14];
    uint16_t token[sizeof in];
    FILE *f = fopen(path, "rb");
    size_t n;
    int bad = f == NULL;
    while (!bad && (n = fread(in, 1, sizeof in, f)) > 0) {
        for (size_t i = 0; i < n; i++)
            token[i] = in[i]; /* little endian, as the machines this runs on */
        bad = fwrite(token, 2, n, out) != n;
    }
    bad = bad || ferror(f);
    if (bad) fprintf(stderr, "roofline: '%s': %s\n", path, strerror(errno));
    if (f) fclose(f);
    return bad ? -1 : 0;
}

int tokens_from_text(const char *const *paths, int count, const char *out) {
    char *temporary = NULL;
    int status = -1;
    if (asprintf(&temporary, "%s.%ld.tmp", out, (long)getpid()) < 0) {
        perror("roofline");
        return -1;
    }
    FILE *f = fopen(temporary, "wb");
    if (f) {
        status = 0;
        for (int i = 0; i < count && !status; i++) status = append_text(f, paths[i]);
        const bool written = fflush(f) == 0 && fsync(fileno(f)) == 0;
        if (fclose(f) || !written) status = -2;
        if (!status && rename(temporary, out)) status = -2;
    }
    if (!f || status == -2)
        fprintf(stderr, "roofline: cannot write '%s': %s\n", out, strerror(errno));
    if (status) unlink(temporary);
    free(temporary);
    return status ? -1 : 0;
}

/* ---- batches ahead of time ---- */

struct batch_ahead {
    const struct token_file *file;
    uint64_t seed;
    int64_t first_step, sequences, length;
    int32_t *buffer[2];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t drawn, taken; /* batches so far; drawn stays at most one ahead of what is in use */
    bool stop;
};

static void *draw_batches(void *context) {
    struct batch_ahead *b = context;
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        if (b->drawn > b->taken) { /* the other buffer may still be in use */
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        const int64_t step = b->drawn;
        pthread_mutex_unlock(&b->lock);
        int32_t *to = b->buffer[step % 2];
        token_batch(b->file, b->seed, b->first_step + step, b->sequences, b->length, to,
                    to + b->sequences * b->length);
        pthread_mutex_lock(&b->lock);
        b->drawn++;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

struct batch_ahead *batch_ahead_begin(const struct token_file *f, uint64_t seed, int64_t first_step,
                                      int64_t sequences, int64_t length,
                                      int32_t *const buffers[2]) {
    struct batch_ahead *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    *b = (struct batch_ahead){.file = f,
                              .seed = seed,
                              .first_step = first_step,
                              .sequences = sequences,
                              .length = length,
                              .buffer = {buffers[0], buffers[1]}};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (pthread_create(&b->thread, NULL, draw_batches, b) == 0) return b;
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
    return NULL;
}

const int32_t *batch_ahead_next(struct batch_ahead *b) {
    pthread_mutex_lock(&b->lock);
    while (b->drawn == b->taken) pthread_cond_wait(&b->changed, &b->lock);
    const int32_t *batch = b->buffer[b->taken % 2];
    b->taken++; /* frees the buffer of the batch before */
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return batch;
}

void batch_ahead_end(struct batch_ahead *b) {
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}
