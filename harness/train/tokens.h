/* tokens.h - a corpus as one flat file of little-endian uint16 tokens, memory-mapped, and batches out of it. */
#ifndef TOKENS_H
#define TOKENS_H
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

struct token_file {
    void *mapped;
    const uint16_t *token;
    int64_t count;
    int64_t largest; /* of all tokens */
    uint64_t digest; /* of the length and the first and last pages: tells files apart */
};

/* Maps it. 0, or -1 after one line on stderr. */
int token_file_open(struct token_file *f, const char *path);
void token_file_close(struct token_file *f);

/* Batch number `step`: `sequences` stretches of `length` tokens from random starts that depend on seed and step alone;
 * label i is the token after token i. The file has more than `length` tokens. */
void token_batch(const struct token_file *f, uint64_t seed, int64_t step, int64_t sequences,
                 int64_t length, int32_t *tokens, int32_t *labels);

/* The bytes of text files as tokens 0 ... 255, into a file that appears whole or not at all. 0, or -1 after one line. */
int tokens_from_text(const char *const *paths, int count, const char *out);

/* ---- batches ahead of time ---- */

/* A thread draws the next batch while the current one is used. */
struct batch_ahead;

/* buffers[i]: room for tokens, then labels, sequences x length each; they are used in turn and stay the caller's. NULL:
 * no thread or no memory. */
struct batch_ahead *batch_ahead_begin(const struct token_file *f, uint64_t seed, int64_t first_step,
                                      int64_t sequences, int64_t length, int32_t *const buffers[2]);

/* The batch of the next step, first_step at first; it stays as it is until the next call. */
const int32_t *batch_ahead_next(struct batch_ahead *b);
void batch_ahead_end(struct batch_ahead *b); /* b may be NULL */
#endif
