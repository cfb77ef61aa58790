/* counters_metrics.c - names of the counters, by chip. They are those of the database in CUPTI 13.0 (libnvperf_host), where
 * tests/unit_counters.c looks each of them up. */
#include "counters_metrics.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Chips that share all names. GA10B, GB10B and GB20B are parts of systems on a chip, and their memory is not theirs. */
enum {
    TU10X = 1 << 0,
    TU11X = 1 << 1, /* without tensor cores */
    GA100 = 1 << 2,
    GA10X = 1 << 3,
    GA10B = 1 << 4,
    AD10X = 1 << 5,
    GH100 = 1 << 6,
    GB10X = 1 << 7,
    GB110 = 1 << 8,
    GB10B = 1 << 9,
    GB20X = 1 << 10,
    GB20B = 1 << 11,

    ALL = (1 << 12) - 1,
    BLACKWELL = GB10X | GB110 | GB10B | GB20X | GB20B,
    TENSOR = ALL & ~(TU10X | TU11X), /* Turing counts fp16 by halves only */
    OWN_MEMORY = ALL & ~(GA10B | GB10B | GB20B),
};

static const struct {
    const char *name;
    int family;
} chips[] = {
    {"TU102", TU10X}, {"TU104", TU10X}, {"TU106", TU10X}, {"TU116", TU11X}, {"TU117", TU11X},
    {"GA100", GA100}, {"GA102", GA10X}, {"GA103", GA10X}, {"GA104", GA10X}, {"GA106", GA10X},
    {"GA107", GA10X}, {"GA10B", GA10B}, {"AD102", AD10X}, {"AD103", AD10X}, {"AD104", AD10X},
    {"AD106", AD10X}, {"AD107", AD10X}, {"GH100", GH100}, {"GB100", GB10X}, {"GB102", GB10X},
    {"GB110", GB110}, {"GB10B", GB10B}, {"GB202", GB20X}, {"GB203", GB20X}, {"GB205", GB20X},
    {"GB206", GB20X}, {"GB207", GB20X}, {"GB20B", GB20B},
};
enum { CHIPS = sizeof chips / sizeof chips[0] };

#define FIELD(name)         offsetof(struct counted, name)
#define SASS(op)            "sm__sass_thread_inst_executed_op_" #op "_pred_on.sum"
#define TENSOR_OPS(formats) "sm__ops_path_tensor_src_" #formats ".sum"

/* clang-format off */
static const struct {
    int families;
    struct counters_term term;
} rows[] = {
    {ALL, {"gpu__time_duration.sum", FIELD(time_s), 1e-9}},

    {OWN_MEMORY & ~GB20X, {"dram__bytes_read.sum", FIELD(dram_read_bytes), 1}},
    {OWN_MEMORY & ~GB20X, {"dram__bytes_write.sum", FIELD(dram_written_bytes), 1}},
    {GB20X, {"dram__bytes_op_read.sum", FIELD(dram_read_bytes), 1}},
    {GB20X, {"dram__bytes_op_write.sum", FIELD(dram_written_bytes), 1}},
    {ALL, {"lts__t_bytes.sum", FIELD(l2_bytes), 1}},

    {ALL, {SASS(dadd), FIELD(simt_flops_fp64), 1}},
    {ALL, {SASS(dmul), FIELD(simt_flops_fp64), 1}},
    {ALL, {SASS(dfma), FIELD(simt_flops_fp64), 2}},
    {ALL, {SASS(fadd), FIELD(simt_flops_fp32), 1}},
    {ALL, {SASS(fmul), FIELD(simt_flops_fp32), 1}},
    {ALL, {SASS(ffma), FIELD(simt_flops_fp32), 2}},
    /* on two values at once */
    {GB10X | GB110, {SASS(fadd2), FIELD(simt_flops_fp32), 2}},
    {GB10X | GB110, {SASS(fmul2), FIELD(simt_flops_fp32), 2}},
    {GB10X | GB110, {SASS(ffma2), FIELD(simt_flops_fp32), 4}},
    {ALL, {SASS(hadd), FIELD(simt_flops_fp16), 1}},
    {ALL, {SASS(hmul), FIELD(simt_flops_fp16), 1}},
    {ALL, {SASS(hfma), FIELD(simt_flops_fp16), 2}},

    {TENSOR, {TENSOR_OPS(fp64), FIELD(tensor_ops_fp64), 1}},
    {TENSOR, {TENSOR_OPS(tf32_dst_fp32), FIELD(tensor_ops_tf32), 1}},
    {TENSOR, {TENSOR_OPS(bf16_dst_fp32), FIELD(tensor_ops_bf16), 1}},
    {TENSOR | TU10X, {TENSOR_OPS(int8), FIELD(tensor_ops_int8), 1}},
    {GH100, {TENSOR_OPS(fp16), FIELD(tensor_ops_fp16), 1}},
    {TENSOR & ~GH100, {TENSOR_OPS(fp16_dst_fp32), FIELD(tensor_ops_fp16), 1}},
    {TENSOR & ~GH100, {TENSOR_OPS(fp16_dst_fp16), FIELD(tensor_ops_fp16), 1}},
    {AD10X | GH100, {TENSOR_OPS(fp8), FIELD(tensor_ops_fp8), 1}},
    {GB10X | GB10B, {TENSOR_OPS(fp4_fp6_fp8_dst_fp32), FIELD(tensor_ops_fp8), 1}},
    {GB10X | GB10B, {TENSOR_OPS(fp4_fp6_fp8_dst_fp16), FIELD(tensor_ops_fp8), 1}},
    {GB110 | GB20X | GB20B, {TENSOR_OPS(fp8_dst_fp32), FIELD(tensor_ops_fp8), 1}},
    {GB110 | GB20X | GB20B, {TENSOR_OPS(fp8_dst_fp16), FIELD(tensor_ops_fp8), 1}},
    {BLACKWELL, {TENSOR_OPS(fp4_dst_fp32), FIELD(tensor_ops_fp4), 1}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const size_t fields[] = {
    FIELD(time_s), FIELD(dram_read_bytes), FIELD(dram_written_bytes), FIELD(l2_bytes),
    FIELD(simt_flops_fp64), FIELD(simt_flops_fp32), FIELD(simt_flops_fp16),
    FIELD(tensor_ops_fp64), FIELD(tensor_ops_tf32), FIELD(tensor_ops_fp16), FIELD(tensor_ops_bf16),
    FIELD(tensor_ops_int8), FIELD(tensor_ops_fp8), FIELD(tensor_ops_fp4),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };
/* clang-format on */

_Static_assert(FIELDS * sizeof(double) == offsetof(struct counted, passes), "a field is missing");

const char *counters_chip_name(int i) { return i >= 0 && i < CHIPS ? chips[i].name : NULL; }

int counters_terms(const char *chip, struct counters_term terms[COUNTERS_MAX_METRICS]) {
    int family = 0, count = 0;
    for (int i = 0; i < CHIPS; i++)
        if (strcmp(chips[i].name, chip) == 0) family = chips[i].family;
    for (int i = 0; i < ROWS && count < COUNTERS_MAX_METRICS; i++)
        if (rows[i].families & family) terms[count++] = rows[i].term;
    return count;
}

int counters_metrics(const char *chip, const char *names[COUNTERS_MAX_METRICS]) {
    struct counters_term terms[COUNTERS_MAX_METRICS];
    const int count = counters_terms(chip, terms);
    for (int i = 0; i < count; i++) names[i] = terms[i].metric;
    return count;
}

static double *field_of(struct counted *out, size_t offset) {
    return (double *)((char *)out + offset);
}

void counters_sum(const struct counters_term terms[], const double value[], int count,
                  struct counted *out) {
    for (int f = 0; f < FIELDS; f++) {
        double sum = 0;
        bool any = false;
        for (int i = 0; i < count; i++) {
            if (terms[i].field != fields[f]) continue;
            sum += terms[i].weight * value[i];
            any = true;
        }
        *field_of(out, fields[f]) = any ? sum : NAN;
    }
    out->passes = 0;
}
