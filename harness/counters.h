/* counters.h - what an NVIDIA GPU's own counters say of a run: bytes moved, operations done. By CUPTI's range profiler,
 * looked for when the program runs (CUPTI 13, or a 12 that has it; cc 7.5 and newer); where it is absent or not permitted
 * there are no counters and a reason. The build picks counters.c or counters_absent.c. */
#ifndef COUNTERS_H
#define COUNTERS_H
#include <stddef.h>

/* NaN for what the chip, or this one's state, does not count. Fused multiply-adds are 2 FLOPs. */
struct counted {
    double time_s; /* of the GPU, at the clocks that profiling leaves it */
    double dram_read_bytes, dram_written_bytes;
    double l2_bytes; /* asked of the L2 */
    double simt_flops_fp64, simt_flops_fp32;
    /* bf16 too; half of what was done where the chip counts a packed instruction once. */
    double simt_flops_fp16;
    /* Of the tensor cores, by operand format, in the chip's unit "math op"; whether a multiply-add is one or two of
     * them must be seen on the device, with a product of known size. On GB100, GB102 and GB10B fp8 has the fp6 and fp4
     * operands of the same instructions too. */
    double tensor_ops_fp64, tensor_ops_tf32, tensor_ops_fp16, tensor_ops_bf16, tensor_ops_int8;
    double tensor_ops_fp8, tensor_ops_fp4;
    int passes; /* how often the run was repeated: a chip counts only so much at a time */
};

enum { COUNTERS_MAX_METRICS = 32 };

struct counters;

/* Counters of the current CUDA context's device. NULL: a one-line reason is in why. */
struct counters *counters_open(char *why, size_t size);
void counters_close(struct counters *c); /* c may be NULL */

const char *counters_chip(const struct counters *c); /* "GH100" */
int counters_passes(const struct counters *c);       /* planned calls of run() */

/* Counts what run(context) does, in as many runs as there are passes: it must do the same each time, launch into the
 * context of counters_open() and synchronise. prepare(context), unless NULL, comes before each run and is not counted:
 * there caches are flushed and operands restored, and there too it ends with a synchronisation. Both return 0 or a
 * code. 0; -1: a one-line reason is in why, and *out is not set. */
int counters_measure(struct counters *c, int (*prepare)(void *), int (*run)(void *), void *context,
                     struct counted *out, char *why, size_t size);

/* ---- the tables, for which no GPU is needed ---- */

/* Chips that there are metrics for, 0, 1, ...; NULL past the last. */
const char *counters_chip_name(int i);

/* CUPTI's names of what is counted on a chip; how many, 0 for an unknown chip. */
int counters_metrics(const char *chip, const char *names[COUNTERS_MAX_METRICS]);

/* Passes that CUPTI's database of a chip plans for these metrics. 0: it can't be asked, CUPTI is absent or does not know the
 * chip; -1: it refuses a metric, named in why. */
int counters_plan(const char *chip, const char *const names[], int count, char *why, size_t size);
#endif
