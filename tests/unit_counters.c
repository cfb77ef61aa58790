/* unit_counters.c - every metric name against CUPTI's own database of its chip, no GPU needed; sums of metrics. Skipped where
 * there is no CUPTI, and with --tables-only, which leaves the library alone. */
#include "../harness/counters_metrics.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { SKIPPED = 77, WHY_BYTES = 512 };

static void check_tables(void) {
    const char *names[COUNTERS_MAX_METRICS], *chip;
    for (int c = 0; (chip = counters_chip_name(c)) != NULL; c++) {
        const int count = counters_metrics(chip, names);
        CHECK(count > 0 && count < COUNTERS_MAX_METRICS, "%s: %d metrics", chip, count);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < i; k++)
                CHECK(strcmp(names[i], names[k]) != 0, "%s: %s twice", chip, names[i]);
        for (int k = 0; k < c; k++)
            CHECK(strcmp(chip, counters_chip_name(k)) != 0, "%s twice", chip);
    }
    CHECK(counters_metrics("GV100", names) == 0, "a chip that is not in the table");
    CHECK(counters_metrics("", names) == 0, "no chip");
    CHECK(!counters_chip_name(-1), "a chip before the first");
}

static void check_sums(void) {
    struct counters_term terms[COUNTERS_MAX_METRICS];
    double value[COUNTERS_MAX_METRICS] = {0};
    struct counted out;
    int count = counters_terms("GB100", terms);
    for (int i = 0; i < count; i++) {
        if (strstr(terms[i].metric, "time_duration")) value[i] = 5e6;
        if (strstr(terms[i].metric, "op_fadd_")) value[i] = 1;
        if (strstr(terms[i].metric, "op_fmul_")) value[i] = 10;
        if (strstr(terms[i].metric, "op_ffma_")) value[i] = 100;
        if (strstr(terms[i].metric, "op_fadd2_")) value[i] = 1e3;
        if (strstr(terms[i].metric, "op_fmul2_")) value[i] = 1e4;
        if (strstr(terms[i].metric, "op_ffma2_")) value[i] = 1e5;
        if (strstr(terms[i].metric, "op_dfma_")) value[i] = 7;
        if (strstr(terms[i].metric, "op_hadd_")) value[i] = NAN;
        if (strstr(terms[i].metric, "fp8_dst_fp32")) value[i] = 3;
        if (strstr(terms[i].metric, "fp8_dst_fp16")) value[i] = 4;
        if (strstr(terms[i].metric, "dram__bytes_write")) value[i] = 64;
    }
    counters_sum(terms, value, count, &out);
    CHECK(fabs(out.time_s - 5e-3) < 1e-12, "%g s", out.time_s);
    CHECK(out.simt_flops_fp32 == 1 + 10 + 200 + 2e3 + 2e4 + 4e5, "%g", out.simt_flops_fp32);
    CHECK(out.simt_flops_fp64 == 14, "%g", out.simt_flops_fp64);
    CHECK(isnan(out.simt_flops_fp16), "%g with an unknown term", out.simt_flops_fp16);
    CHECK(out.tensor_ops_fp8 == 7, "%g", out.tensor_ops_fp8);
    CHECK(out.tensor_ops_fp4 == 0, "%g", out.tensor_ops_fp4);
    CHECK(out.dram_written_bytes == 64 && out.dram_read_bytes == 0, "%g", out.dram_written_bytes);
    CHECK(out.passes == 0, "%d", out.passes);

    count = counters_terms("TU117", terms);
    for (int i = 0; i < count; i++) value[i] = 1;
    counters_sum(terms, value, count, &out);
    CHECK(out.l2_bytes == 1 && out.simt_flops_fp16 == 4, "%g, %g", out.l2_bytes,
          out.simt_flops_fp16);
    CHECK(isnan(out.tensor_ops_fp64) && isnan(out.tensor_ops_tf32) && isnan(out.tensor_ops_fp16) &&
              isnan(out.tensor_ops_bf16) && isnan(out.tensor_ops_int8) &&
              isnan(out.tensor_ops_fp8) && isnan(out.tensor_ops_fp4),
          "a chip without tensor cores counts their operations");

    count = counters_terms("GA10B", terms);
    counters_sum(terms, value, count, &out);
    CHECK(isnan(out.dram_read_bytes) && isnan(out.dram_written_bytes),
          "DRAM counters of a chip that shares the system's memory");
}

/* How many chips' names could be looked up. */
static int check_database(void) {
    const char *names[COUNTERS_MAX_METRICS], *chip;
    char why[WHY_BYTES] = "";
    int known = 0;
    for (int c = 0; (chip = counters_chip_name(c)) != NULL; c++) {
        const int count = counters_metrics(chip, names);
        const int passes = counters_plan(chip, names, count, why, sizeof why);
        CHECK(passes >= 0, "%s", why);
        if (passes > 0) printf("%s: %d metrics, %d passes\n", chip, count, passes);
        if (passes == 0) printf("%s: %s\n", chip, why);
        known += passes != 0;
    }
    return known;
}

/* The check can tell: a name that no chip has, a name of another chip, a name without its sum. */
static void check_wrong_names(void) {
    static const struct {
        const char *chip, *name;
    } cases[] = {
        {"GH100", "dram__bytes_raed.sum"},
        {"GB202", "dram__bytes_read.sum"},
        {"GA100", "sm__ops_path_tensor_src_fp8.sum"},
        {"GH100", "lts__t_bytes.total"},
        {"GH100", ""},
    };
    char why[WHY_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *names[] = {"gpu__time_duration.sum", cases[i].name, "lts__t_bytes.sum"};
        const int passes = counters_plan(cases[i].chip, names, 3, why, sizeof why);
        if (passes == 0) continue; /* a CUPTI that does not know the chip */
        CHECK(passes == -1, "%s on %s: %d passes", cases[i].name, cases[i].chip, passes);
        CHECK(strstr(why, cases[i].name) != NULL, "'%s' names not %s", why, cases[i].name);
    }
    CHECK(counters_plan("GX999", NULL, 0, why, sizeof why) == 0, "a chip that does not exist");
    CHECK(why[0] && !strchr(why, '\n'), "'%s'", why);
}

int main(int argc, char **argv) {
    const bool tables_only = argc > 1 && strcmp(argv[1], "--tables-only") == 0;
    check_tables();
    check_sums();
    const int known = tables_only ? 0 : check_database();
    if (known) check_wrong_names();
    const int result = test_result();
    return result == 0 && known == 0 ? SKIPPED : result;
}
