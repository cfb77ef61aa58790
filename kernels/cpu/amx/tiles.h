/* tiles.h - AMX's eight tile registers: four sums [16][16] of fp32, two tiles of A [16][32] and two
 * of B [16][16][2] in bf16, all of 16 rows of 64 bytes. The configuration is a thread's own: it is
 * loaded and released in every call, so that nothing else pays for 8 KiB of live registers.
 * tdpbf16ps takes subnormal inputs and sums for zeros and rounds to nearest even.
 * Source: Intel 64 and IA-32 SDM, volume 1, chapter 18, and TDPBF16PS in volume 2. */
#ifndef TILES_H
#define TILES_H
#include <immintrin.h>
#include <stdint.h>

enum {
    TILE_LANES = 16,           /* rows of A, columns of B */
    TILE_LINE = 64,            /* bytes of a row */
    TILE_BYTES = 16 * 64,      /* a whole tile */
    PANEL = 2 * TILE_LANES,    /* rows or columns of C that the kernel takes at a time */
    A_STEP = PANEL * TILE_LINE /* bytes of 32 steps of k of a panel */
};

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* GCC 12 believes that the instruction reads eight bytes, and that loads and stores of tiles touch
 * no memory: what they read has to be stored before, what they write be read after a fence. */
static inline void tiles_fence(void) { __asm__ volatile("" ::: "memory"); }

static inline void tiles_open(void) {
    static const struct tile_config whole = {
        .palette = 1,
        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    tiles_fence();
    _tile_loadconfig(&whole);
}

static inline void tiles_close(void) { _tile_release(); }
#endif
