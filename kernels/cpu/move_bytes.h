/* move_bytes.h - copies and periodic fills of bytes in the widest registers of this instruction set (raw_*). */
#ifndef MOVE_BYTES_H
#define MOVE_BYTES_H

/* Bytes before y is aligned to a register, n at most. */
static inline size_t unaligned_head(const char *y, size_t n) {
    const size_t head = (size_t)(-(uintptr_t)y % RAW_BYTES);
    return head < n ? head : n;
}

static inline void copy_bytes(char *restrict y, const char *restrict x, size_t n) {
    size_t i = unaligned_head(y, n);
    if (i > 0) memcpy(y, x, i);
#ifdef STREAMING
    for (; i + PAIR_BYTES <= n; i += PAIR_BYTES) {
        look_ahead(x + i, AHEAD_BYTES);
        UNROLL for (size_t v = 0; v < PAIR_BYTES; v += RAW_BYTES)
            RAW_STORE(y + i + v, raw_load(x + i + v));
    }
#endif
    INDEPENDENT UNROLL for (; i + RAW_BYTES <= n; i += RAW_BYTES) RAW_STORE(y + i, raw_load(x + i));
    if (i < n) memcpy(y + i, x + i, n - i);
}

/* The pattern is 64 bytes long and repeats every 8 or less; y is aligned to its period. */
static inline void fill_bytes(char *restrict y, const char *restrict pattern, size_t n) {
    const raw vector = raw_load(pattern);
    size_t i = unaligned_head(y, n);
    if (i > 0) memcpy(y, pattern, i);
    INDEPENDENT UNROLL for (; i + RAW_BYTES <= n; i += RAW_BYTES) RAW_STORE(y + i, vector);
    if (i < n) memcpy(y + i, pattern, n - i);
}
#endif
