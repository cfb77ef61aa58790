/* embedding.h - tokens sorted by word, and an even split of the table's gradient between threads. */
#ifndef EMBEDDING_H
#define EMBEDDING_H
#include "parallel.h"

#include <string.h>

/* Of word v: order[begin .. end of v) are its tokens, in ascending order. */
struct tokens {
    uint32_t *end;   /* [words] */
    uint32_t *order; /* [tokens] */
};

static inline struct tokens tokens_in(const struct args *a) {
    uint32_t *scratch = a->scratch;
    return (struct tokens){scratch, scratch + a->s.n};
}
static inline size_t tokens_scratch(const struct args *a) {
    return (size_t)(a->s.n + a->s.m) * sizeof(uint32_t);
}
static inline int64_t first_of(const struct tokens *t, int64_t word) {
    return word > 0 ? t->end[word - 1] : 0;
}
static inline int64_t count_of(const struct tokens *t, int64_t word) {
    return t->end[word] - first_of(t, word);
}

/* A counting sort, by one thread: 4 bytes a word and a token, where the gradient takes a row of each. */
static inline void sort_tokens(const struct args *a) {
    const int32_t *index = a->buf[1];
    const struct tokens t = tokens_in(a);
    memset(t.end, 0, (size_t)a->s.n * sizeof *t.end);
    for (int64_t i = 0; i < a->s.m; i++) t.end[index[i]]++;
    uint32_t sum = 0;
    for (int64_t word = 0; word < a->s.n; word++) { /* counts to where each word begins */
        const uint32_t count = t.end[word];
        t.end[word] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < a->s.m; i++) t.order[t.end[index[i]]++] = (uint32_t)i;
}

/* The work is a band of BAND columns of a row, to be written or to be added: 1 + count of them a word. Words being as
 * unequal as they are in a language, rows are cut as well, and a frequent word falls to several threads. */
enum { BAND = 64, CHUNK = 512 }; /* CHUNK: columns whose sums lie in the nearest cache */

static inline int64_t bands_of(const struct args *a) { return (a->s.k + BAND - 1) / BAND; }
static inline int64_t all_work(const struct args *a) { return (a->s.n + a->s.m) * bands_of(a); }

struct place {
    int64_t word, column;
};

/* Where the work's unit `at` belongs: words before it have (word + their tokens) * bands. */
static inline struct place place_of(const struct args *a, const struct tokens *t, int64_t at) {
    const int64_t bands = bands_of(a);
    int64_t low = 0, high = a->s.n; /* the last word that begins at or before `at`; or the end */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((middle + 1 + t->end[middle]) * bands <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == a->s.n) return (struct place){low, 0};
    const int64_t within = at - (low + first_of(t, low)) * bands;
    return (struct place){low, within / (1 + count_of(t, low)) * BAND};
}
#endif
