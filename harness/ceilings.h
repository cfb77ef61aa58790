/* ceilings.h - measured roofs, from the ordinary rows of a peaks run. Each proves itself or says why it does not. */
#ifndef CEILINGS_H
#define CEILINGS_H
#include "row.h"

#include "../kernels/catalogue.h"

enum ceiling_kind { CEILING_MEMORY, CEILING_COMPUTE };

struct ceiling {
    enum ceiling_kind kind;
    char name[ROW_TEXT];    /* memory: the level, L1 ... DRAM; compute: the dtype */
    char pattern[ROW_TEXT]; /* memory: read write copy triad update; compute: empty */
    char impl[ROW_TEXT];
    int64_t threads;
    char placement[ROW_TEXT]; /* memory, several threads: near, far or empty; compute: empty */
    double rate;              /* GB/s or GFLOP/s, at the median */
    double disturbed_reached; /* by the fastest sample of those that were disturbed; 0: none was */
    double ai;                /* FLOP/byte of the row */
    bool proven;
    char why[160]; /* why it is not proven, as a sentence; empty when it is */
    size_t row;    /* index of the row it is taken from */
    size_t
        first; /* of the first row that measures the same; slow units are measured before fast ones */
};

struct ceilings {
    struct ceiling *ceiling;
    size_t count;
    size_t
        failed; /* compute units behind these that have rows, and no rate: all failed, were wrong or timed out */
};

/* What an operation measures when it serves as a roof. NULL: it is no roof. */
const char *roof_pattern(const char *op); /* read write copy triad update */
bool roof_is_compute(const char *op);

/* The best row of every (level, pattern, threads, placement) and (dtype, implementation, threads). Only rows with
 * status ok count; of these the ones whose interval of the median is within 10 % come first, unless one of the others was
 * clearly faster for a moment: then none is proven. A DRAM ceiling is proven when its row is cold or its footprint is at
 * least 4 x last_cache_bytes (0: unknown), a compute ceiling when its intensity is at least 4 x the measured kink with as
 * many threads. Returns 0, or -1 when memory is short. The caller frees out->ceiling. */
int ceilings_of(const struct rows *rows, double last_cache_bytes, struct ceilings *out);

/* The fastest proven one over patterns or implementations; NULL: none. placement NULL: any. */
const struct ceiling *ceilings_bandwidth(const struct ceilings *c, const char *level,
                                         int64_t threads, const char *placement);
const struct ceiling *ceilings_compute(const struct ceilings *c, const char *dtype,
                                       int64_t threads);

/* The roof of work in a dtype: the fastest of the ceilings of that dtype, of its products' and of its accumulator's, in
 * which a dtype without arithmetic of its own is computed. NULL: none is proven.
 * NULL as well where a unit that is not proven seems to be clearly faster: what breaks a roof proves that it is none; and
 * where one that is measured after it, and so should be faster, has failed: Hopper's roof is not what mma.sync reaches. */
const struct ceiling *ceilings_compute_for(const struct ceilings *c, enum dtype dtype,
                                           int64_t threads);

/* The pattern of a traffic: read or write only; update: in place (y is read and written); copy: as much written as
 * read; triad: more read. */
const char *traffic_pattern(double read_bytes, double written_bytes, double in_place_bytes);

/* The measured bandwidth, GB/s, of that pattern at that level; where the pattern has no proven ceiling, the level's best;
 * NaN where it has none, or where one that was disturbed has been clearly faster for a moment. In DRAM only of the same
 * placement. */
double ceilings_bandwidth_for(const struct ceilings *c, const char *level, int64_t threads,
                              const char *placement, const char *pattern);
#endif
