/* parallel.h - one static split of work over threads, the same for kernels and for first touch. */
#ifndef PARALLEL_H
#define PARALLEL_H
#include "../catalogue.h"

#include <omp.h>
#include <stdint.h>

struct range {
    int64_t begin, end;
};

/* Part `thread` of `threads` of 0..n, cut at multiples of granule. */
static inline struct range slice(int64_t n, int64_t granule, int thread, int threads) {
    const int64_t pieces = (n + granule - 1) / granule;
    const int64_t begin = pieces * thread / threads * granule,
                  end = pieces * (thread + 1) / threads * granule;
    return (struct range){begin < n ? begin : n, end < n ? end : n};
}

/* The part of 0..n that falls to the calling thread of an OpenMP team. */
static inline struct range my_slice(int64_t n, int64_t granule) {
    return slice(n, granule, omp_get_thread_num(), omp_get_num_threads());
}

/* Whether work, given in bytes at streaming speed, pays for waking others. */
bool worth_a_team(const struct args *a, double work_bytes);

/* Does range r of a problem; omp_get_thread_num() tells which slice it is. */
typedef void part_fn(const struct args *a, struct range r);

/* Runs `part` over 0..n in slices cut at multiples of granule, one a thread: a->threads of them, or one when the
 * work, given in bytes at streaming speed, is too small to pay for waking others. Returns the number of slices. */
int in_slices(const struct args *a, int64_t n, int64_t granule, double work_bytes, part_fn *part);
#endif
