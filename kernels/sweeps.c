/* sweeps.c - problem sizes. Fixed, not fitted to the machine, so that runs of different machines compare: one set for
 * CPUs, one for GPUs, whose rates ask for larger problems. Smoke and default sizes are multiples of 16: every dtype runs them. Odd ones are for verification. */
#include "catalogue.h"

#define VECTOR(n) \
    { 1, 1, n, 1 }
#define MATRIX(m, n) \
    { 1, m, n, 1 }
#define CUBE(m, n, k) \
    { 1, m, n, k }
#define TABLE(tokens, vocabulary, width) \
    { 1, tokens, vocabulary, width }
#define END \
    { 0, 0, 0, 0 }

/* 2^16 fp32 lie in a level-2 cache, 2^20 in a level-3, 2^24 and 2^26 in DRAM (64 and 256 MiB an array). */
static const struct shape vectors_smoke[] = {VECTOR(1 << 16), VECTOR(1 << 24), END};
static const struct shape vectors_default[] = {VECTOR(1 << 12), VECTOR(1 << 16), VECTOR(1 << 20),
                                               VECTOR(1 << 26), END};
static const struct shape vectors_full[] = {VECTOR(1 << 10),
                                            VECTOR(1 << 12),
                                            VECTOR(1 << 14),
                                            VECTOR(1 << 16),
                                            VECTOR(1 << 18),
                                            VECTOR(1 << 20),
                                            VECTOR(1 << 22),
                                            VECTOR(1 << 24),
                                            VECTOR(1 << 26),
                                            VECTOR(1 << 28),
                                            END};

static const struct shape squares_smoke[] = {MATRIX(4096, 4096), END};
static const struct shape squares_default[] = {MATRIX(256, 256), MATRIX(2048, 2048),
                                               MATRIX(8192, 8192), END};
static const struct shape squares_full[] = {
    MATRIX(64, 64),     MATRIX(256, 256),   MATRIX(1024, 1024),   MATRIX(2048, 2048),
    MATRIX(4096, 4096), MATRIX(8192, 8192), MATRIX(16384, 16384), END};

static const struct shape rows_smoke[] = {MATRIX(16384, 1024), END};
static const struct shape rows_default[] = {MATRIX(64, 1024), MATRIX(65536, 1024), END};
static const struct shape rows_full[] = {MATRIX(64, 1024), MATRIX(4096, 256), MATRIX(65536, 1024),
                                         MATRIX(2048, 32768), END};

static const struct shape matrices_smoke[] = {MATRIX(4096, 4096), END};
static const struct shape matrices_default[] = {MATRIX(256, 512), MATRIX(8192, 8192), END};
static const struct shape matrices_full[] = {MATRIX(256, 512), MATRIX(2048, 2048),
                                             MATRIX(8192, 8192), MATRIX(1024, 65536), END};

static const struct shape cubes_smoke[] = {CUBE(128, 128, 128), CUBE(1024, 1024, 1024), END};
static const struct shape cubes_default[] = {CUBE(64, 64, 64),
                                             CUBE(128, 128, 128),
                                             CUBE(256, 256, 256),
                                             CUBE(512, 512, 512),
                                             CUBE(1024, 1024, 1024),
                                             CUBE(2048, 2048, 2048),
                                             END};
static const struct shape cubes_full[] = {
    CUBE(16, 16, 16),       CUBE(32, 32, 32),       CUBE(64, 64, 64),
    CUBE(96, 96, 96),       CUBE(128, 128, 128),    CUBE(256, 256, 256),
    CUBE(512, 512, 512),    CUBE(1024, 1024, 1024), CUBE(2048, 2048, 2048),
    CUBE(4096, 4096, 4096), CUBE(64, 4096, 4096),   CUBE(4096, 64, 4096),
    CUBE(16, 4096, 4096),   CUBE(1008, 48, 512),    END};

static const struct shape batches_smoke[] = {{64, 64, 64, 64}, END};
static const struct shape batches_default[] = {{64, 64, 64, 64}, {16, 512, 512, 64}, END};
static const struct shape batches_full[] = {
    {256, 32, 32, 32}, {64, 64, 64, 64}, {16, 512, 512, 64}, {16, 512, 64, 512}, END};

/* n accumulators, k rounds: intensity is far above every kink. Blocks of 8, 12 and 16 vectors divide n, and
 * there are several for each of 64 threads. */
static const struct shape chains_all[] = {{1, 1, 3 << 14, 1 << 12}, END};

/* Tables of embeddings: the whole vocabulary is written by embedding_backward. GPT-2's 50257 words padded to a multiple
 * of 64, Llama 3's 128256. */
static const struct shape tables_smoke[] = {TABLE(4096, 8192, 256), END};
static const struct shape tables_default[] = {TABLE(1024, 8192, 256), TABLE(8192, 50304, 1024),
                                              END};
static const struct shape tables_full[] = {TABLE(1024, 8192, 256), TABLE(512, 50304, 1024),
                                           TABLE(8192, 50304, 1024), TABLE(16384, 128256, 2048),
                                           END};

/* GPUs. 2^24 fp32 lie in a level-2 cache of 96 MiB or more, 2^27 in DRAM (512 MiB an array). */
static const struct shape gpu_vectors_smoke[] = {VECTOR(1 << 20), VECTOR(1 << 27), END};
static const struct shape gpu_vectors_default[] = {VECTOR(1 << 16), VECTOR(1 << 20),
                                                   VECTOR(1 << 24), VECTOR(1 << 27), END};
static const struct shape gpu_vectors_full[] = {VECTOR(1 << 12),
                                                VECTOR(1 << 14),
                                                VECTOR(1 << 16),
                                                VECTOR(1 << 18),
                                                VECTOR(1 << 20),
                                                VECTOR(1 << 22),
                                                VECTOR(1 << 24),
                                                VECTOR(1 << 26),
                                                VECTOR(1 << 28),
                                                VECTOR(1 << 30),
                                                END};
static const struct shape gpu_squares_smoke[] = {MATRIX(8192, 8192), END};
static const struct shape gpu_squares_default[] = {MATRIX(1024, 1024), MATRIX(4096, 4096),
                                                   MATRIX(16384, 16384), END};
static const struct shape gpu_rows_smoke[] = {MATRIX(65536, 1024), END};
static const struct shape gpu_rows_default[] = {MATRIX(4096, 1024), MATRIX(262144, 1024),
                                                MATRIX(16384, 8192), END};
static const struct shape gpu_rows_full[] = {MATRIX(4096, 1024),
                                             MATRIX(1048576, 256),
                                             MATRIX(262144, 1024),
                                             MATRIX(16384, 8192),
                                             MATRIX(8192, 32768),
                                             MATRIX(2048, 131072),
                                             END};
static const struct shape gpu_matrices_smoke[] = {MATRIX(8192, 8192), END};
static const struct shape gpu_matrices_default[] = {MATRIX(1024, 1024), MATRIX(4096, 4096),
                                                    MATRIX(16384, 16384), END};
static const struct shape gpu_matrices_full[] = {MATRIX(1024, 1024),   MATRIX(4096, 4096),
                                                 MATRIX(16384, 16384), MATRIX(64, 65536),
                                                 MATRIX(65536, 1024),  END};
static const struct shape gpu_cubes_smoke[] = {CUBE(1024, 1024, 1024), CUBE(4096, 4096, 4096), END};
static const struct shape gpu_cubes_default[] = {CUBE(256, 256, 256),
                                                 CUBE(512, 512, 512),
                                                 CUBE(1024, 1024, 1024),
                                                 CUBE(2048, 2048, 2048),
                                                 CUBE(4096, 4096, 4096),
                                                 CUBE(8192, 8192, 8192),
                                                 END};
static const struct shape gpu_cubes_full[] = {CUBE(128, 128, 128),    CUBE(256, 256, 256),
                                              CUBE(512, 512, 512),    CUBE(1024, 1024, 1024),
                                              CUBE(2048, 2048, 2048), CUBE(4096, 4096, 4096),
                                              CUBE(8192, 8192, 8192), CUBE(16384, 16384, 16384),
                                              CUBE(16, 8192, 8192),   CUBE(64, 8192, 8192),
                                              CUBE(8192, 64, 8192),   CUBE(4096, 4096, 256),
                                              CUBE(1008, 48, 512),    END};
static const struct shape gpu_batches_default[] = {
    {256, 64, 64, 64}, {64, 512, 512, 64}, {32, 1024, 1024, 128}, END};
static const struct shape gpu_batches_full[] = {{1024, 32, 32, 32},
                                                {256, 64, 64, 64},
                                                {64, 512, 512, 64},
                                                {64, 512, 64, 512},
                                                {32, 1024, 1024, 128},
                                                {16, 2048, 2048, 2048},
                                                END};

/* Two dozen waves of blocks on the largest chips, so that the last one counts little. */
static const struct shape gpu_chains_all[] = {{1, 1, 3 << 24, 1 << 13}, END};

static const struct shape gpu_tables_smoke[] = {TABLE(8192, 50304, 1024), END};
static const struct shape gpu_tables_default[] = {TABLE(8192, 50304, 1024),
                                                  TABLE(32768, 128256, 4096), END};
static const struct shape gpu_tables_full[] = {TABLE(1024, 8192, 256), TABLE(8192, 50304, 1024),
                                               TABLE(131072, 50304, 1024),
                                               TABLE(32768, 128256, 4096), END};

const struct shape *sweep_shapes(enum sweep s, int effort, bool gpu) {
    static const struct shape *const gpu_table[][3] = {
        [SWEEP_vectors] = {gpu_vectors_smoke, gpu_vectors_default, gpu_vectors_full},
        [SWEEP_squares] = {gpu_squares_smoke, gpu_squares_default, gpu_squares_default},
        [SWEEP_rows] = {gpu_rows_smoke, gpu_rows_default, gpu_rows_full},
        [SWEEP_matrices] = {gpu_matrices_smoke, gpu_matrices_default, gpu_matrices_full},
        [SWEEP_cubes] = {gpu_cubes_smoke, gpu_cubes_default, gpu_cubes_full},
        [SWEEP_batches] = {batches_smoke, gpu_batches_default, gpu_batches_full},
        [SWEEP_chains] = {gpu_chains_all, gpu_chains_all, gpu_chains_all},
        [SWEEP_tables] = {gpu_tables_smoke, gpu_tables_default, gpu_tables_full},
    };
    if (gpu) return gpu_table[s][effort];
    static const struct shape *const table[][3] = {
        [SWEEP_vectors] = {vectors_smoke, vectors_default, vectors_full},
        [SWEEP_squares] = {squares_smoke, squares_default, squares_full},
        [SWEEP_rows] = {rows_smoke, rows_default, rows_full},
        [SWEEP_matrices] = {matrices_smoke, matrices_default, matrices_full},
        [SWEEP_cubes] = {cubes_smoke, cubes_default, cubes_full},
        [SWEEP_batches] = {batches_smoke, batches_default, batches_full},
        [SWEEP_chains] = {chains_all, chains_all, chains_all},
        [SWEEP_tables] = {tables_smoke, tables_default, tables_full},
    };
    return table[s][effort];
}

const struct shape *check_shapes(enum sweep s) {
    static const struct shape vectors[] = {
        VECTOR(1),    VECTOR(2),    VECTOR(7),     VECTOR(15),      VECTOR(16),  VECTOR(17),
        VECTOR(31),   VECTOR(64),   VECTOR(127),   VECTOR(129),     VECTOR(256), VECTOR(511),
        VECTOR(1009), VECTOR(4096), VECTOR(65551), VECTOR(1 << 18), END};
    static const struct shape squares[] = {MATRIX(1, 1),
                                           MATRIX(1, 37),
                                           MATRIX(41, 1),
                                           MATRIX(3, 5),
                                           MATRIX(16, 16),
                                           MATRIX(17, 33),
                                           MATRIX(64, 64),
                                           MATRIX(100, 48),
                                           MATRIX(129, 257),
                                           MATRIX(515, 301),
                                           END};
    static const struct shape rows[] = {MATRIX(1, 1),    MATRIX(1, 2),     MATRIX(3, 7),
                                        MATRIX(2, 16),   MATRIX(5, 17),    MATRIX(7, 64),
                                        MATRIX(4, 127),  MATRIX(3, 400),   MATRIX(9, 1000),
                                        MATRIX(2, 4097), MATRIX(33, 1024), END};
    static const struct shape matrices[] = {
        MATRIX(1, 1),    MATRIX(1, 37),    MATRIX(41, 1),   MATRIX(3, 5),     MATRIX(16, 16),
        MATRIX(17, 33),  MATRIX(64, 64),   MATRIX(100, 48), MATRIX(129, 257), MATRIX(515, 301),
        MATRIX(2, 4096), MATRIX(2048, 32), MATRIX(32, 256), MATRIX(64, 2000), END};
    static const struct shape cubes[] = {CUBE(1, 1, 1),      CUBE(1, 1, 64),    CUBE(1, 64, 1),
                                         CUBE(64, 1, 1),     CUBE(3, 5, 7),     CUBE(16, 16, 16),
                                         CUBE(17, 33, 65),   CUBE(64, 48, 32),  CUBE(127, 65, 33),
                                         CUBE(31, 129, 256), CUBE(1, 96, 80),   CUBE(96, 1, 80),
                                         CUBE(100, 52, 80),  CUBE(9, 20, 1030), END};
    static const struct shape batches[] = {{1, 1, 1, 1},    {3, 5, 7, 9},  {4, 16, 32, 48},
                                           {7, 33, 17, 65}, {17, 2, 3, 4}, END};
    static const struct shape chains[] = {
        {1, 1, 1, 1},     {1, 1, 7, 3}, {1, 1, 16, 5}, {1, 1, 129, 64}, {1, 1, 1000, 100},
        {1, 1, 4096, 16}, END};
    static const struct shape tables[] = {TABLE(1, 1, 1),
                                          TABLE(1, 7, 3),
                                          TABLE(5, 1, 16),
                                          TABLE(3, 5, 7),
                                          TABLE(16, 16, 16),
                                          TABLE(33, 64, 17),
                                          TABLE(64, 3, 64),
                                          TABLE(100, 1000, 48),
                                          TABLE(257, 129, 80),
                                          TABLE(1000, 31, 33),
                                          TABLE(300, 5003, 8),
                                          TABLE(2048, 515, 130),
                                          TABLE(90, 2, 24),
                                          TABLE(7, 65, 1024),
                                          TABLE(70, 3, 4100),
                                          TABLE(5000, 600, 4),
                                          END};
    static const struct shape *const table[] = {
        [SWEEP_vectors] = vectors,   [SWEEP_squares] = squares, [SWEEP_rows] = rows,
        [SWEEP_matrices] = matrices, [SWEEP_cubes] = cubes,     [SWEEP_batches] = batches,
        [SWEEP_chains] = chains,     [SWEEP_tables] = tables,
    };
    return table[s];
}
