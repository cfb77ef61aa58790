/* parallel.c - slices of one problem on an OpenMP team. */
#include "parallel.h"

/* Waking a waiting team takes about 1.6 us, in which one core streams 180 KiB out of its level-2 cache: two threads
 * break even at 128 KiB (Zen 4, libgomp). */
static const double work_bytes_worth_a_team = 256 * 1024;

bool worth_a_team(const struct args *a, double work_bytes) {
    return a->threads > 1 && work_bytes >= work_bytes_worth_a_team;
}

int in_slices(const struct args *a, int64_t n, int64_t granule, double work_bytes, part_fn *part) {
    if (!worth_a_team(a, work_bytes)) {
        part(a, (struct range){0, n});
        return 1;
    }
    int slices = 1;
#pragma omp parallel num_threads(a->threads)
    {
        if (omp_get_thread_num() == 0) slices = omp_get_num_threads();
        part(a, my_slice(n, granule));
    }
    return slices;
}
