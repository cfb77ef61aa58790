/* specs.c - reads the embedded plots/specs tables, by column name. */
#define _GNU_SOURCE
#include "specs.h"
#include "embedded.h"
#include "row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 32 };

struct table {
    char *text; /* what the cells point into; kept, like the tables, as long as the program runs */
    char *column[MAX_COLUMNS];
    int columns;
    char *(*cell)[MAX_COLUMNS];
    size_t rows;
};

/* The tables are part of the program: a malformed one is a broken build. */
static void broken(const char *file) {
    fprintf(stderr, "roofline: the built-in table %s is malformed\n", file);
    abort();
}

static struct table read_table(const char *file) {
    struct table t = {0};
    const char *text = embedded_file(file);
    t.text = text ? strdup(text) : NULL;
    if (!t.text) broken(file);
    char *line = t.text;
    for (size_t lines = 0; *line; lines++) {
        char *end = strchr(line, '\n');
        if (!end) broken(file);
        *end = '\0';
        if (lines == 0) {
            t.columns = csv_split(line, t.column, MAX_COLUMNS);
        } else {
            t.cell = realloc(t.cell, lines * sizeof *t.cell);
            if (!t.cell || csv_split(line, t.cell[t.rows++], MAX_COLUMNS) != t.columns)
                broken(file);
        }
        line = end + 1;
    }
    return t;
}

static const char *cell(const struct table *t, size_t row, const char *column) {
    for (int i = 0; i < t->columns; i++)
        if (strcmp(t->column[i], column) == 0) return t->cell[row][i];
    return "";
}

static double number(const struct table *t, size_t row, const char *column) {
    const char *text = cell(t, row, column);
    return *text ? strtod(text, NULL) : NAN;
}

static double in_dtype(const struct table *t, size_t row, enum dtype d) {
    const double giga = 1e3;
    char column[32];
    switch (d) {
    case DT_fp64:
        return giga *
               fmax(number(t, row, "fp64_vector_tflop_s"), number(t, row, "fp64_tensor_tflop_s"));
    case DT_fp8_e4m3:
    case DT_fp8_e5m2:
        return giga * number(t, row, "fp8_tflop_s");
    default:
        snprintf(column, sizeof column, "%s_tflop_s", dtypes[d].name);
        return giga * number(t, row, column);
    }
}

const struct gpu_spec *spec_gpus(size_t *count) {
    static struct gpu_spec *specs; /* built once from the constant table */
    static struct table t;
    if (!specs) {
        t = read_table("specs/gpus.csv");
        specs = calloc(t.rows, sizeof *specs);
        if (!specs) broken("specs/gpus.csv");
        for (size_t i = 0; i < t.rows; i++) {
            specs[i] = (struct gpu_spec){
                .name = cell(&t, i, "name"),
                .driver_name = cell(&t, i, "driver_name"),
                .compute_capability = cell(&t, i, "compute_capability"),
                .sms = (int)number(&t, i, "sms"),
                .boost_ghz = number(&t, i, "boost_mhz") / 1e3,
                .memory_gbyte = number(&t, i, "memory_gb"),
                .gbyte_s = number(&t, i, "bandwidth_gb_s"),
                .l2_mib = number(&t, i, "l2_mib"),
                .vector_fp64_gflop_s = 1e3 * number(&t, i, "fp64_vector_tflop_s"),
                .source = cell(&t, i, "source"),
                .url = cell(&t, i, "url"),
                .note = cell(&t, i, "note"),
            };
            for (int d = 0; d < DTYPE_COUNT; d++)
                specs[i].gflop_s[d] = in_dtype(&t, i, (enum dtype)d);
        }
    }
    *count = t.rows;
    return specs;
}

const struct gpu_spec *spec_gpu(const char *name) {
    size_t count;
    const struct gpu_spec *specs = spec_gpus(&count);
    if (!*name) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, specs[i].name) == 0 || strcasecmp(name, specs[i].driver_name) == 0)
            return &specs[i];
    return NULL;
}

double spec_intensity(const struct gpu_spec *gpu, enum dtype t) {
    return gpu->gflop_s[t] / gpu->gbyte_s;
}

double spec_flops_per_cycle_sm(int cc, enum dtype t) {
    static struct table sms;
    if (!sms.rows) sms = read_table("specs/sms.csv");
    const char *column = t == DT_fp8_e4m3 || t == DT_fp8_e5m2 ? "fp8" : dtypes[t].name;
    for (size_t i = 0; i < sms.rows; i++)
        if (atoi(cell(&sms, i, "compute_capability")) == cc) return number(&sms, i, column);
    return NAN;
}

bool spec_cpu(const char *vendor, int family, int model, enum dtype t, double *flop_per_cycle,
              const char **microarchitecture, const char **source) {
    static struct table cpus;
    if (!cpus.rows) cpus = read_table("specs/cpus.csv");
    for (size_t i = 0; i < cpus.rows; i++) {
        if (strcmp(vendor, cell(&cpus, i, "vendor")) != 0 ||
            family != atoi(cell(&cpus, i, "family")))
            continue;
        if (model < strtol(cell(&cpus, i, "model_first"), NULL, 16)) continue;
        if (model > strtol(cell(&cpus, i, "model_last"), NULL, 16)) continue;
        const double rate = number(&cpus, i, dtypes[t].name);
        if (isnan(rate)) return false;
        *flop_per_cycle = rate;
        *microarchitecture = cell(&cpus, i, "microarchitecture");
        *source = cell(&cpus, i, "source");
        return true;
    }
    return false;
}
