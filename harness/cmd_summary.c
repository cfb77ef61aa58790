/* cmd_summary.c - a run's findings: the roof, what each operation reaches of it, ours beside the vendors', what is odd. */
#define _GNU_SOURCE
#include "commands.h"
#include "csv_table.h"
#include "ceilings.h"
#include "device.h"
#include "options.h"
#include "rounds.h"
#include "run.h"
#include "stats.h"
#include "table.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A point may lie this far above its roof before it is called odd: two medians, each within a few percent. */
static const double ABOVE = 1.05;

static void help(void) {
    puts("Usage: roofline summary DIR\n"
         "\n"
         "Prints the findings of a run from DIR/peaks.csv and DIR/bench.csv (either may be "
         "absent): ceilings; for each\n"
         "operation and dtype the rate at its largest shape and the percentage of the roof; ours "
         "against vendor libraries;\n"
         "rows that are wrong, failed, or above the roof. Exit status 1 when there are wrong or "
         "failed rows.\n"
         "\n"
         "Example:\n"
         "  roofline summary results/amd-epyc/2026-11-30-abcdef0");
}

static bool is_ok(const struct row *r) { return strcmp(r->status, "ok") == 0; }

/* ---- ceilings ---- */

static bool is_first_of_kind(const struct ceilings *c, size_t i, const char *name,
                             const char *placement) {
    for (size_t j = 0; j < i; j++)
        if (c->ceiling[j].kind == c->ceiling[i].kind &&
            c->ceiling[j].threads == c->ceiling[i].threads &&
            strcmp(c->ceiling[j].name, name) == 0 &&
            strcmp(c->ceiling[j].placement, placement) == 0)
            return false;
    return true;
}

/* The best proven rate of a pattern; NaN: none. */
static double best_rate(const struct ceilings *c, const struct ceiling *like, const char *pattern,
                        const char **impl) {
    double best = NAN;
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        if (x->kind != like->kind || x->threads != like->threads || !x->proven ||
            strcmp(x->name, like->name) != 0 || strcmp(x->placement, like->placement) != 0 ||
            strcmp(x->pattern, pattern) != 0 || x->rate <= best)
            continue;
        best = x->rate;
        *impl = x->impl;
    }
    return best;
}

static void print_rate(double rate) {
    if (isnan(rate))
        printf(" %9s", "-");
    else
        printf(" %9.1f", rate);
}

static void print_memory(const struct ceilings *c, int64_t threads) {
    static const char *const patterns[] = {"read", "write", "copy", "triad", "update"};
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        const char *impl;
        if (x->kind != CEILING_MEMORY || x->threads != threads ||
            !is_first_of_kind(c, i, x->name, x->placement))
            continue;
        bool any = false;
        for (int p = 0; p < 5; p++) any |= !isnan(best_rate(c, x, patterns[p], &impl));
        if (!any) continue;
        printf("  %-5s %-5s %3" PRId64 " threads", x->name, x->placement, x->threads);
        for (int p = 0; p < 5; p++) print_rate(best_rate(c, x, patterns[p], &impl));
        puts("  GB/s");
    }
}

static void print_compute(const struct ceilings *c, int64_t threads) {
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        const char *impl = "";
        if (x->kind != CEILING_COMPUTE || x->threads != threads ||
            !is_first_of_kind(c, i, x->name, x->placement))
            continue;
        const double rate = best_rate(c, x, "", &impl);
        printf("  %-11s %3" PRId64 " threads", x->name, x->threads);
        print_rate(rate);
        printf("  GFLOP/s  %s\n", isnan(rate) ? "not proven" : impl);
    }
}

static void print_ceilings(const struct ceilings *c) {
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->ceiling[i].threads < least) least = c->ceiling[i].threads;
        if (c->ceiling[i].threads > most) most = c->ceiling[i].threads;
    }
    puts("Measured ceilings");
    printf("  %-23s %9s %9s %9s %9s %9s\n", "memory", "read", "write", "copy", "triad", "update");
    print_memory(c, least);
    if (most != least) print_memory(c, most);
    puts("  multiply-add");
    print_compute(c, least);
    if (most != least) print_compute(c, most);
}

/* ---- operations ---- */

/* The row that stands for an op and dtype: ours, all threads, the largest shape, there the fastest. */
static const struct row *representative(const struct rows *rows, const char *op,
                                        const char *dtype) {
    const struct row *best = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->row[i];
        if (!is_ok(r) || impl_is_vendor(r->impl) || strcmp(r->op, op) != 0 ||
            strcmp(r->dtype, dtype) != 0 || (r->fill[0] && strcmp(r->fill, "normal") != 0))
            continue;
        const double more = best ? r->footprint_bytes - best->footprint_bytes : 1;
        const int64_t threads = best ? r->threads - best->threads : 1;
        if (threads > 0 || (threads == 0 && (more > 0 || (more == 0 && r->time_s < best->time_s))))
            best = r;
    }
    return best;
}

static void print_cell(const struct row *r, bool compute) {
    char text[32] = "-";
    if (r) {
        const double rate = compute ? r->gflop_s : r->gbyte_s, percent = 100 * r->roof_fraction;
        const int used = snprintf(text, sizeof text, "%.*f",
                                  rate < 10    ? 2
                                  : rate < 100 ? 1
                                               : 0,
                                  rate);
        if (isfinite(percent) && used > 0)
            snprintf(text + used, sizeof text - (size_t)used, " %3.0f%%", percent);
    }
    printf(" %11s", text);
}

static void print_ops(const struct rows *rows, bool compute) {
    bool any = false;
    for (int op = 0; op < OP_COUNT; op++) {
        const struct row *cell[DTYPE_COUNT], *some = NULL;
        bool memory_bound = true;
        for (int t = 0; t < DTYPE_COUNT; t++) {
            cell[t] = representative(rows, ops[op].name, dtypes[t].name);
            if (!cell[t]) continue;
            if (!some) some = cell[t];
            /* without a roof: by whether a large problem has more FLOPs a byte than any machine's kink in fp32 */
            if (strcmp(cell[t]->bound, "compute") == 0 || (!cell[t]->bound[0] && cell[t]->ai > 64))
                memory_bound = false;
        }
        if (!some || memory_bound == compute) continue;
        if (!any) {
            printf("\n%s\n  %-15s %-18s",
                   compute ? "Compute-bound in some dtype: GFLOP/s, % of the roof"
                           : "Memory-bound: GB/s of compulsory traffic, % of the roof",
                   "", "");
            for (int t = 0; t < DTYPE_COUNT; t++)
                if (t != DT_tf32) printf(" %11s", dtypes[t].name);
            putchar('\n');
            any = true;
        }
        char shape[96];
        format_shape(some, shape, sizeof shape);
        printf("  %-15s %-18s", ops[op].name, shape);
        for (int t = 0; t < DTYPE_COUNT; t++)
            if (t != DT_tf32) print_cell(cell[t], compute);
        putchar('\n');
    }
}

/* ---- ours beside the vendors' ---- */

static const struct row *ours_like(const struct rows *rows, const struct row *vendor) {
    const struct row *best = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        struct row key = *vendor;
        const struct row *r = &rows->row[i];
        if (!is_ok(r) || impl_is_vendor(r->impl)) continue;
        row_set_text(key.impl, r->impl);
        if (row_same_key(&key, r) && strcmp(r->placement, vendor->placement) == 0 &&
            (!best || r->time_s < best->time_s))
            best = r;
    }
    return best;
}

/* A line for each vendor, op and dtype: the ratio of rates, median and range over shapes. */
static void print_vendors(const struct rows *rows) {
    bool any = false;
    bool *seen = calloc(rows->count + 1, sizeof *seen);
    double *ratio = malloc((rows->count + 1) * sizeof *ratio);
    for (size_t i = 0; seen && ratio && i < rows->count; i++) {
        const struct row *v = &rows->row[i];
        size_t n = 0;
        if (seen[i] || !is_ok(v) || !impl_is_vendor(v->impl)) continue;
        for (size_t j = i; j < rows->count; j++) {
            const struct row *r = &rows->row[j];
            if (!is_ok(r) || strcmp(r->impl, v->impl) != 0 || strcmp(r->op, v->op) != 0 ||
                strcmp(r->dtype, v->dtype) != 0)
                continue;
            seen[j] = true;
            const struct row *ours = ours_like(rows, r);
            if (ours) ratio[n++] = r->time_s / ours->time_s;
        }
        if (n == 0) continue;
        if (!any)
            printf("\nOurs against vendor libraries: ratio of rates, above 1 ours is faster\n");
        any = true;
        const struct stats s = stats_of(ratio, n);
        printf("  %-10s %-10s %-8s median %5.2f", v->op, v->dtype, v->impl, s.median);
        if (n > 1) printf("   %.2f to %.2f over %zu shapes", s.min, ratio[n - 1], n);
        putchar('\n');
    }
    free(seen);
    free(ratio);
}

/* ---- what is odd ---- */

static size_t print_odd(const struct rows *rows) {
    size_t bad = 0, above = 0, refused = 0, ok = 0, wide = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->row[i];
        ok += is_ok(r);
        const bool no_memory = strcmp(r->status, "no_memory") == 0;
        refused += no_memory || strcmp(r->status, "refused") == 0;
        wide += is_ok(r) && r->ci_high_s - r->ci_low_s > 0.1 * r->time_s;
        const bool over = is_ok(r) && r->roof_fraction > ABOVE;
        const bool broken = !is_ok(r) && !no_memory && strcmp(r->status, "refused") != 0;
        above += over;
        bad += broken;
        if (!over && !broken) continue;
        char shape[96];
        if (bad + above == 1)
            puts(
                "\nOdd rows. Above its roof: data that stays in a faster cache, a mix of reads and "
                "writes that suits the\nmemory better than the ceiling's, or a ceiling that was "
                "disturbed.");
        if (bad + above > 20) continue;
        format_shape(r, shape, sizeof shape);
        printf("  %s.%s.%s %s, %" PRId64 " threads: ", r->op, r->impl, r->dtype, shape, r->threads);
        if (over)
            printf("%.0f %% of its roof\n", 100 * r->roof_fraction);
        else
            printf("%s: %s\n", r->status, r->reason);
    }
    printf("\n%zu rows: %zu ok, %zu refused or without memory, %zu wrong or failed; %zu above the "
           "roof; in %zu the "
           "interval of the median "
           "is wider than +- 5 %%\n",
           rows->count, ok, refused, bad, above, wide);
    return bad;
}

/* ---- training ---- */

static double real(const struct csv *c, size_t i, const char *column) {
    const char *text = csv_get(c, i, column);
    return *text ? strtod(text, NULL) : NAN;
}

/* train.csv has a record a phase, the step last. */
static int print_training(const char *dir, const char *device) {
    struct csv c;
    bool headed = false;
    if (csv_table_read(dir, "train.csv", &c)) return -1;
    for (size_t i = 0; i < c.records; i++) {
        char time[32];
        if (strcmp(csv_get(&c, i, "device"), device) != 0) continue;
        if (!headed)
            printf("\n%-44s %11s %11s %11s %11s %8s %7s %10s\n", "Training", "forward", "backward",
                   "optimizer", "step", "of roof", "MFU", "rows/s");
        headed = true;
        const char *phase = csv_get(&c, i, "phase");
        if (strcmp(phase, "forward") == 0) printf("%-44s", csv_get(&c, i, "model"));
        format_time(real(&c, i, "time_s"), time, sizeof time);
        printf(" %11s", time);
        if (strcmp(phase, "step") != 0) continue;
        const double roof = real(&c, i, "roof_fraction"), mfu = real(&c, i, "mfu_6nd");
        if (isfinite(roof))
            printf(" %6.0f %%", 100 * roof);
        else
            printf(" %8s", "");
        if (isfinite(mfu))
            printf(" %5.0f %%", 100 * mfu);
        else
            printf(" %7s", "");
        printf(" %10.4g\n", real(&c, i, "rows_s"));
    }
    csv_free(&c);
    return 0;
}

/* A file of the run; an empty result where there is none. */
static int read_part(const char *dir, const char *name, struct rows *out) {
    bool torn;
    char *path = path_join(dir, name);
    *out = (struct rows){0};
    const int status = access(path, F_OK) == 0 ? rows_read(path, out, &torn) : 0;
    free(path);
    return status;
}

int cmd_summary(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct rows peaks = {0}, bench = {0};
    struct ceilings ceilings = {0};
    int c, status = STATUS_ERROR;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (c != 'h') return STATUS_ERROR;
        help();
        return STATUS_OK;
    }
    if (optind >= argc) {
        fprintf(stderr, "roofline: summary needs the folder of a run\n");
        return STATUS_ERROR;
    }
    if (option_no_operands(argc, argv, optind + 1)) return STATUS_ERROR;
    const char *dir = argv[optind];
    if (read_part(dir, "peaks.csv", &peaks) || read_part(dir, "bench.csv", &bench)) goto done;
    if (peaks.count + bench.count == 0) {
        fprintf(stderr, "roofline: no rows in '%s/peaks.csv' or '%s/bench.csv'\n", dir, dir);
        goto done;
    }
    const char *device = (peaks.count ? &peaks : &bench)->row[0].device;
    rows_keep_device(&peaks, device);
    rows_keep_device(&bench, device);
    if (rounds_fold(&bench)) goto done;
    /* The rows carry their level already; the cache size is not needed again. */
    if (ceilings_of(&peaks, 0, &ceilings)) goto done;
    printf("%s%s\n\n", device,
           device_slug_is_emulated(device) ? " (the times of an emulated device mean nothing)"
                                           : "");
    if (ceilings.count) print_ceilings(&ceilings);
    status = STATUS_OK;
    if (bench.count) {
        print_ops(&bench, false);
        print_ops(&bench, true);
        print_vendors(&bench);
        if (print_odd(&bench)) status = STATUS_NO;
    }
    if (print_training(dir, device)) status = STATUS_ERROR;
done:
    free(ceilings.ceiling);
    free(peaks.row);
    free(bench.row);
    return status;
}
