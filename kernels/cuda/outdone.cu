/* outdone.cu - small products on Hopper: wgmma_tma against mma.sync, by the clocks that both are estimated to take. wgmma is the faster
 * of the two wherever multiplying is what takes time; a problem of a few tiles is over sooner with the smaller tiles of mma.sync and
 * its shorter way to the first multiply, and where wgmma needs a pre-pass that mma.sync does not. Not measured. */
#include "outdone.h"

#include "matmul_mma.cuh"
#include "wgmma_launch.cuh"

#include <string.h>

/* mma.sync reaches 0.65 of Hopper's tensor cores (published): clocks of an element of C and 64 bytes of k in both operands. */
static constexpr double MMA_CLOCKS = 2 * 32 / (0.65 * 4096), MMA_FILL = 1000;

/* Of the pre-passes over both operands. */
static double packing_clocks(const struct args *a, enum dtype t, int size, bool only_k_major) {
    double clocks = 0;
    for (int i = 0; i < 2; i++)
        if (!packing_of(a, i, t, size, only_k_major).direct) clocks += LAUNCH;
    return clocks;
}

static double mma_clocks(const struct args *a, enum dtype t) {
    const int size = t == DT_tf32 ? 4 : 2; /* fp8 and nvfp4 go by bf16 */
    const double tiles =
        fmin(cost<large_tile>(a, 1), fmin(cost<medium_tile>(a, 0.9), cost<small_tile>(a, 0.5)));
    return MMA_FILL + tiles * MMA_CLOCKS * static_cast<double>(ceil_div(a->s.k * size, 64)) +
           packing_clocks(a, t, size, false);
}

static double wgmma_clocks(const struct args *a, enum dtype t) {
    const bool is_fp8 = t == DT_fp8_e4m3 || t == DT_fp8_e5m2; /* both rows by the promoted one */
    const int size = is_fp8 ? 1 : t == DT_tf32 ? 4 : 2;
    return wgmma_best_form(a, size, is_fp8).clocks + packing_clocks(a, t, size, size != 2);
}

extern "C" bool cuda_outdone(const struct impl *row, const struct args *problem) {
    return strncmp(row->name, "wgmma_tma", 9) == 0 &&
           wgmma_clocks(problem, row->dtype) > mma_clocks(problem, row->dtype);
}
