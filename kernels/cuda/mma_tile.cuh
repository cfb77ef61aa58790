/* mma_tile.cuh - the parts of a product on tensor cores by mma.sync (sm_80 and later): k-tiles of A and B on their way
 * from memory to fragments.
 *
 * A k-tile of an operand lies in shared memory as it does in memory: K-major [row][k] or MN-major [k][row] (a column
 * of B is called a row here). cp.async brings it in chunks of 16 bytes; which chunk of a row goes where is turned by
 * an exclusive or with bits of the row's number, so that fragments are read without bank conflicts:
 *
 *   ldmatrix reads 8 rows x 16 bytes in one go; conflict-free when their chunks lie in 8 different eighths of 128 bytes.
 *   A plain 16-byte load is served for 8 lanes at a time, under the same condition.
 *
 *   K-major, rows of 64 bytes (ldmatrix): chunk c of row r lies in eighth 4 (r mod 2) + (c ^ (r / 2 mod 4)). Of 8
 *     consecutive rows and one c, r mod 2 picks a half and r / 2 mod 4 takes four values in each: 8 different eighths.
 *   MN-major, 2-byte elements (ldmatrix.trans): rows are multiples of 128 bytes; c ^ (r mod 8) differs for 8 rows.
 *   MN-major, 4-byte elements (16-byte loads): 8 lanes read chunks 2h, 2h + 1 of 4 consecutive rows r; in eighths
 *     (2h + i) ^ 2 (r mod 4) = 2 (h ^ (r mod 4)) + i (mod 8): four pairs.
 *   K-major, 8-byte elements, rows of 128 bytes (16-byte loads): 8 lanes read chunks 4s ... 4s + 3 of two consecutive
 *     rows; c ^ 4 (r mod 2) puts them into different halves.
 *   MN-major, 8-byte elements (16-byte loads): 8 lanes read chunks 2h, 2h + 1 of rows r, r + 2, r + 4, r + 6:
 *     (2h + i) ^ 2 (r / 2 mod 4), four pairs as above.
 *
 *   Writes: 8 lanes of a cp.async fill a row's aligned 128 bytes, or two consecutive rows of 64, whole. */
#ifndef MMA_TILE_CUH
#define MMA_TILE_CUH
#include "matmul.cuh"

/* Geometry of a k-tile: EXTENT rows, elements of SIZE bytes, K_BYTES of k (64; fp64: 128), copied by THREADS. */
template <bool K_MAJOR, int EXTENT, int SIZE, int K_BYTES, int THREADS> struct k_tile {
    static constexpr int ROWS = K_MAJOR ? EXTENT : K_BYTES / SIZE; /* as stored */
    static constexpr int ROW_BYTES = K_MAJOR ? K_BYTES : EXTENT * SIZE;
    static constexpr int CHUNKS = ROW_BYTES / 16;
    static constexpr int APART = THREADS / CHUNKS; /* rows between two copies of a thread */
    static constexpr int COPIES = ROWS / APART;
    static constexpr int BYTES = ROWS * ROW_BYTES;
    static_assert(COPIES * APART == ROWS && COPIES >= 1, "every thread copies equally much");
    static_assert(K_MAJOR || ROW_BYTES >= 128, "the swizzle permutes 8 chunks");

    static DEV int offset(int row, int chunk) { /* in bytes */
        const int key = K_MAJOR     ? (SIZE == 8 ? row % 2 * 4 : row / 2 % 4)
                        : SIZE == 2 ? row % 8
                        : SIZE == 4 ? row % 4 * 2
                                    : row / 2 % 4 * 2;
        return row * ROW_BYTES + (chunk ^ key) * 16;
    }
};

/* A matrix in memory: rows, as stored, begin `pitch` bytes apart, a multiple of 16, and are read to their end; what
 * is between the last element of a row and that is zero. */
struct matrix {
    const char *data;
    int64_t pitch, stride; /* bytes between rows; between matrices of a batch */
    /* Of block-scaled operands, else NULL: a k-tile's scales of all rows one after the other, SCALE_BYTES a row; then the next's. */
    const char *scales;
    int64_t scale_pitch, scale_stride; /* bytes between k-tiles; between matrices */
};

/* A thread's part of the copies of one operand, k-tile after k-tile. */
template <bool K_MAJOR, int EXTENT, int SIZE, int K_BYTES, int THREADS> struct copies {
    using T = k_tile<K_MAJOR, EXTENT, SIZE, K_BYTES, THREADS>;
    const char *from;
    int left;        /* K-major: chunks from this thread's on to the row's end; else rows of k */
    unsigned inside; /* bit i: the row, or column of chunks, of copy i exists */

    /* The tile's rows begin at `first` of `extent`. */
    DEV void start(const matrix &x, int64_t extent, int64_t first, int k) {
        const int row = threadIdx.x / T::CHUNKS, chunk = threadIdx.x % T::CHUNKS;
        const int64_t at = K_MAJOR ? chunk * 16 : first * SIZE + chunk * 16; /* in the row */
        from = x.data + (K_MAJOR ? first + row : row) * x.pitch + at;
        left = K_MAJOR ? static_cast<int>(x.pitch / 16) - chunk : k - row;
        inside = 0;
#pragma unroll
        for (int i = 0; i < T::COPIES; i++)
            if (K_MAJOR ? first + row + i * T::APART < extent : at < x.pitch) inside |= 1u << i;
    }
    /* Starts the copy of the next k-tile; zeros where the matrix ends. Nothing is read there. */
    DEV void issue(char *tile, int64_t pitch) {
        const int row = threadIdx.x / T::CHUNKS, chunk = threadIdx.x % T::CHUNKS;
#pragma unroll
        for (int i = 0; i < T::COPIES; i++) {
            const bool there = (inside >> i & 1) && left > (K_MAJOR ? 0 : i * T::APART);
            gpu::cp_async16(tile + T::offset(row + i * T::APART, chunk),
                            from + i * T::APART * pitch, there ? 16 : 0);
        }
        from += K_MAJOR ? K_BYTES : T::ROWS * pitch;
        left -= K_MAJOR ? T::CHUNKS : T::ROWS;
    }
};

/* The same of block-scaled ones, K-major: a k-tile is 64 bytes of codes a row, two a byte, and behind all rows their scales. */
enum { SCALE_BYTES = 8 };
template <int EXTENT, int THREADS> struct scaled_copies {
    using codes_type = copies<true, EXTENT, 1, 64, THREADS>;
    struct T : codes_type::T {
        static constexpr int CODES = codes_type::T::BYTES, BYTES = CODES + EXTENT * SCALE_BYTES;
    };
    static_assert(EXTENT * SCALE_BYTES / 16 <= THREADS, "a copy a thread");
    codes_type codes;
    const char *scales;
    int64_t scale_pitch;

    DEV void start(const matrix &x, int64_t extent, int64_t first, int k) {
        codes.start(x, extent, first, k);
        scales = x.scales + first * SCALE_BYTES + threadIdx.x * 16;
        scale_pitch = x.scale_pitch;
    }
    DEV void issue(char *tile, int64_t pitch) { /* there are scales for all rows of a tile */
        codes.issue(tile, pitch);
        if (threadIdx.x < EXTENT * SCALE_BYTES / 16)
            gpu::cp_async16(tile + T::CODES + threadIdx.x * 16, scales);
        scales += scale_pitch;
    }
};

/* ---- the loop over k ---- */

/* A and B are copies<>; load(buffer, tile_a, tile_b, step) fetches the fragments of one of STEPS parts of a k-tile,
 * multiply(buffer, step) uses them. Fragments have two buffers: the next ones are under way while the present ones are
 * multiplied. k-tiles have STAGES buffers of A::T::BYTES + B::T::BYTES; there is one barrier a k-tile. */
template <int STAGES, int STEPS, class A, class B, class LOAD, class MULTIPLY>
DEV void k_loop(char *shared, A &a, int64_t a_pitch, B &b, int64_t b_pitch, int k_tiles,
                const LOAD &load, const MULTIPLY &multiply) {
    constexpr int A_BYTES = A::T::BYTES, STAGE = A_BYTES + B::T::BYTES;
    static_assert(STEPS % 2 == 0, "fragment buffers alternate");
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < k_tiles) {
            a.issue(shared + s * STAGE, a_pitch);
            b.issue(shared + s * STAGE + A_BYTES, b_pitch);
        }
        gpu::cp_async_commit(); /* also an empty group: waits count groups */
    }
    gpu::cp_async_wait<STAGES - 2>(); /* this thread's part of the first k-tile is here */
    __syncthreads();                  /* everybody's is */
    load(0, shared, shared + A_BYTES, 0);

    int reading = 0, writing = STAGES - 1;
    for (int kt = 0; kt < k_tiles; kt++) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            if (step == STEPS - 1) {
                gpu::cp_async_wait<STAGES - 2>();
                /* The next k-tile is here for everybody; and all have read the present one, whose buffer is the next
                 * to be written. */
                __syncthreads();
                reading = reading + 1 == STAGES ? 0 : reading + 1;
            }
            /* after the last k-tile: whatever is there, for nobody */
            load((step + 1) % 2, shared + reading * STAGE, shared + reading * STAGE + A_BYTES,
                 (step + 1) % STEPS);
            if (step == 0) {
                if (kt + STAGES - 1 < k_tiles) {
                    a.issue(shared + writing * STAGE, a_pitch);
                    b.issue(shared + writing * STAGE + A_BYTES, b_pitch);
                }
                gpu::cp_async_commit();
                writing = writing + 1 == STAGES ? 0 : writing + 1;
            }
            multiply(step % 2, step);
        }
    }
    gpu::cp_async_wait<0>(); /* redundant: the groups that are left are empty */
    __syncthreads();         /* all have read their last fragments: the buffers are free */
}

/* ---- fragments for m16n8 with 32 bytes of k: m16n8k8 tf32, m16n8k16 fp16 and bf16, m16n8k32 fp8 ----
 * One code for all while k is contiguous: a register is 4 bytes of k whatever they hold. */

/* Of A: rows first ... first + 16 TILES. Fragment row r of tile i is matrix row fragment_row(i, r). */
template <bool K_MAJOR, int TILES, class T, int SIZE>
DEV void load_a(uint32_t (&a)[TILES][4], const char *tile, int first, int step) {
    const int lane = threadIdx.x % 32;
    if constexpr (K_MAJOR) { /* 8x8 matrices: rows 0-7, 8-15 of chunk 2 step, then of the next */
#pragma unroll
        for (int i = 0; i < TILES; i++)
            gpu::ldmatrix_x4(a[i],
                             tile + T::offset(first + 16 * i + lane % 16, 2 * step + lane / 16));
    } else if constexpr (SIZE == 2) { /* stored k 0-7 x rows 0-7, rows 8-15, then k 8-15 */
#pragma unroll
        for (int i = 0; i < TILES; i++)
            gpu::ldmatrix_x4_trans(a[i], tile + T::offset(16 * step + lane / 16 * 8 + lane % 8,
                                                          first / 8 + 2 * i + lane / 8 % 2));
    } else { /* a lane reads 4 consecutive rows of one k: the rows of two tiles are dealt out */
#pragma unroll
        for (int i = 0; i < TILES; i += 2)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const uint4 v = *reinterpret_cast<const uint4 *>(
                    tile + T::offset(8 * step + 4 * h + lane % 4, first / 4 + 4 * i + lane / 4));
                a[i][2 * h] = v.x;
                a[i][2 * h + 1] = v.y;
                a[i + 1][2 * h] = v.z;
                a[i + 1][2 * h + 1] = v.w;
            }
    }
}
/* Row of fragment row r (0 ... 15) of tile i. */
template <bool K_MAJOR, int SIZE> DEV int fragment_row(int i, int r) {
    return K_MAJOR || SIZE == 2 ? 16 * i + r : 32 * (i / 2) + 4 * (r % 8) + 2 * (i % 2) + r / 8;
}

/* Of B: columns first ... first + 8 TILES. */
template <bool K_MAJOR, int TILES, class T, int SIZE>
DEV void load_b(uint32_t (&b)[TILES][2], const char *tile, int first, int step) {
    const int lane = threadIdx.x % 32;
    if constexpr (K_MAJOR || SIZE == 2) {
#pragma unroll
        for (int j = 0; j < TILES; j += 2) {
            uint32_t r[4];
            if constexpr (K_MAJOR) /* columns 0-7: chunk 2 step, the next; then columns 8-15 */
                gpu::ldmatrix_x4(r, tile + T::offset(first + 8 * j + lane / 16 * 8 + lane % 8,
                                                     2 * step + lane / 8 % 2));
            else /* stored k 0-7 x columns 0-7, k 8-15; then columns 8-15 */
                gpu::ldmatrix_x4_trans(
                    r, tile + T::offset(16 * step + lane % 16, first / 8 + j + lane / 16));
            b[j][0] = r[0];
            b[j][1] = r[1];
            b[j + 1][0] = r[2];
            b[j + 1][1] = r[3];
        }
    } else { /* a lane reads 4 consecutive columns of one k: one for each of 4 tiles */
#pragma unroll
        for (int j = 0; j < TILES; j += 4)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const uint4 v = *reinterpret_cast<const uint4 *>(
                    tile + T::offset(8 * step + 4 * h + lane % 4, first / 4 + 2 * j + lane / 4));
                b[j][h] = v.x;
                b[j + 1][h] = v.y;
                b[j + 2][h] = v.z;
                b[j + 3][h] = v.w;
            }
    }
}

/* ---- scales for m16n8k64: a word, of 64 of k, a row ---- */

/* Of A, rows first ... first + 16 TILES: those of row g + 8 t in thread t of four, t below 2. Rows are 2 words apart: no bank
 * conflict. */
template <int TILES, class T>
DEV void load_a_scales(uint32_t (&scales)[TILES], const char *tile, int first, int step) {
    const int lane = threadIdx.x % 32, row = first + lane / 4 + lane % 2 * 8;
#pragma unroll
    for (int i = 0; i < TILES; i++)
        scales[i] = *reinterpret_cast<const uint32_t *>(tile + T::CODES +
                                                        (row + 16 * i) * SCALE_BYTES + 4 * step);
}
/* Of B, columns first ... first + 8 TILES: those of column g in all four. */
template <int TILES, class T>
DEV void load_b_scales(uint32_t (&scales)[TILES], const char *tile, int first, int step) {
    const int col = first + threadIdx.x % 32 / 4;
#pragma unroll
    for (int j = 0; j < TILES; j++)
        scales[j] = *reinterpret_cast<const uint32_t *>(tile + T::CODES +
                                                        (col + 8 * j) * SCALE_BYTES + 4 * step);
}
#endif
