/* findings.c - what a run says, in sentences. */
#include "findings.h"

#include "../chart_comparison.h"
#include "../chart_points.h"
#include "../stats.h"
#include "html.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add(struct findings *out, enum finding_kind kind, const char *lead, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

static void add(struct findings *out, enum finding_kind kind, const char *lead, const char *format,
                ...) {
    if (out->count == MAX_FINDINGS) return;
    struct report_finding *x = &out->item[out->count++];
    va_list list;
    *x = (struct report_finding){.kind = kind};
    snprintf(x->lead, sizeof x->lead, "%s", lead);
    va_start(list, format);
    vsnprintf(x->text, sizeof x->text, format, list);
    va_end(list);
}

static bool is_ok(const struct row *r) { return strcmp(r->status, "ok") == 0; }

static const char *threads_text(int64_t threads, char text[40]) {
    snprintf(text, 40, "%" PRId64 " thread%s", threads, threads == 1 ? "" : "s");
    return text;
}

/* ---- ceilings ---- */

static const struct ceiling *best_pattern(const struct chart_run *run, const char *level,
                                          const char *pattern, int64_t threads) {
    const struct ceiling *found = NULL;
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        if (x->kind == CEILING_MEMORY && x->proven && x->threads == threads &&
            strcmp(x->name, level) == 0 && (!pattern || strcmp(x->pattern, pattern) == 0) &&
            (!found || x->rate > found->rate))
            found = x;
    }
    return found;
}

const struct ceiling *finding_dram(const struct chart_run *run) {
    const struct ceiling *reads = best_pattern(run, "DRAM", "read", chart_threads(run));
    return reads ? reads : best_pattern(run, "DRAM", NULL, chart_threads(run));
}

const struct ceiling *finding_arithmetic(const struct chart_run *run) {
    const struct ceiling *found = NULL;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const struct ceiling *x = ceilings_compute(&run->roofs, dtypes[t].name, chart_threads(run));
        if (x && (!found || x->rate > found->rate)) found = x;
    }
    return found;
}

/* The best ceiling that proves nothing, for why. */
static const struct ceiling *unproven(const struct chart_run *run, enum ceiling_kind kind,
                                      const char *name) {
    const struct ceiling *found = NULL;
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        if (x->kind == kind && !x->proven && x->threads == chart_threads(run) &&
            (!name || strcmp(x->name, name) == 0) && (!found || x->rate > found->rate))
            found = x;
    }
    return found;
}

static const char *pattern_verb(const char *pattern) {
    return strcmp(pattern, "read") == 0     ? "Reads from"
           : strcmp(pattern, "write") == 0  ? "Writes to"
           : strcmp(pattern, "update") == 0 ? "Updates in place of"
                                            : "Copies within";
}

static void say_dram(struct findings *out, const struct chart_run *run) {
    const struct ceiling *x = finding_dram(run);
    char threads[40], rest[240] = "";
    if (!x) {
        const struct ceiling *why = unproven(run, CEILING_MEMORY, "DRAM");
        if (why)
            add(out, FINDING_WARNING, "DRAM",
                "No DRAM bandwidth with %s is proven; the best candidate is %.3g GB/s (%s), but "
                "%s.",
                threads_text(chart_threads(run), threads), why->rate, why->pattern, why->why);
        return;
    }
    const struct row *r = &run->peaks.row[x->row];
    const struct ceiling *one = x->threads > 1 ? best_pattern(run, "DRAM", x->pattern, 1) : NULL;
    if (r->spec_gbyte_s > 0)
        snprintf(rest, sizeof rest, ", %.0f %% of the published %.4g GB/s",
                 100 * x->rate / r->spec_gbyte_s, r->spec_gbyte_s);
    else if (one)
        snprintf(rest, sizeof rest, ", %.2f times what one thread gets (%.3g GB/s)",
                 x->rate / one->rate, one->rate);
    add(out, FINDING_FACT, "DRAM", "%s DRAM reach %.3g GB/s with %s%s%s%s.",
        pattern_verb(x->pattern), x->rate, threads_text(x->threads, threads),
        *x->placement ? ", placed " : "", x->placement, rest);
}

static void say_caches(struct findings *out, const struct chart_run *run) {
    static const char *const levels[] = {"L1", "L2", "L3", "L4"};
    const int64_t threads = chart_threads(run);
    const struct ceiling *dram = best_pattern(run, "DRAM", "read", threads);
    char text[400] = "";
    size_t used = 0, found = 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const struct ceiling *x = best_pattern(run, levels[i], "read", threads);
        if (!x) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.3g GB/s from %s",
                                 found ? ", " : "", x->rate, levels[i]);
        if (dram)
            used += (size_t)snprintf(text + used, sizeof text - used, " (%.1f times DRAM)",
                                     x->rate / dram->rate);
        found++;
    }
    if (found) add(out, FINDING_FACT, "Caches", "Reads get %s.", text);
}

static double field_most(const struct rows *rows, const char *dtype, int64_t threads,
                         size_t offset) {
    double most = NAN;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->row[i].threads == threads && strcmp(rows->row[i].dtype, dtype) == 0)
            most = fmax(most, *(const double *)((const char *)&rows->row[i] + offset));
    return most;
}

/* "234 GFLOP/s in fp32 (avx2, 99 % of FLOPs a cycle x the measured clock)" */
static void rate_text(const struct chart_run *run, const struct ceiling *x, char *text,
                      size_t size) {
    const double spec =
        field_most(&run->peaks, x->name, x->threads, offsetof(struct row, spec_gflop_s));
    const double clock =
        field_most(&run->peaks, x->name, x->threads, offsetof(struct row, clock_gflop_s));
    char of[120] = "";
    if (spec > 0)
        snprintf(of, sizeof of, ", %.0f %% of the published peak", 100 * x->rate / spec);
    else if (clock > 0)
        snprintf(of, sizeof of, ", %.0f %% of FLOPs a cycle x the measured clock",
                 100 * x->rate / clock);
    snprintf(text, size, "%.4g GFLOP/s in %s (%s%s)", x->rate, x->name, x->impl, of);
}

static void say_arithmetic(struct findings *out, const struct chart_run *run) {
    const int64_t threads = chart_threads(run);
    const struct ceiling *top = finding_arithmetic(run);
    const struct ceiling *fp32 = ceilings_compute(&run->roofs, dtypes[DT_fp32].name, threads);
    char first[400], second[400] = "", count[40];
    if (!top) {
        const struct ceiling *why = unproven(run, CEILING_COMPUTE, NULL);
        if (why)
            add(out, FINDING_WARNING, "Arithmetic",
                "No rate of multiply-adds with %s is proven; the best candidate is %.4g GFLOP/s in "
                "%s, but %s.",
                threads_text(threads, count), why->rate, why->name, why->why);
        return;
    }
    rate_text(run, top, first, sizeof first);
    if (fp32 && fp32 != top) rate_text(run, fp32, second, sizeof second);
    add(out, FINDING_FACT, "Arithmetic", "Multiply-adds reach %s with %s%s%s.", first,
        threads_text(threads, count), *second ? "; " : "", second);
}

static void say_kink(struct findings *out, const struct chart_run *run) {
    const int64_t threads = chart_threads(run);
    const struct ceiling *dram = ceilings_bandwidth(&run->roofs, "DRAM", threads, NULL);
    const struct ceiling *fp32 = ceilings_compute(&run->roofs, dtypes[DT_fp32].name, threads);
    const struct ceiling *bf16 = ceilings_compute(&run->roofs, dtypes[DT_bf16].name, threads);
    char also[160] = "";
    const struct ceiling *x = fp32 ? fp32 : finding_arithmetic(run);
    if (!dram || !x) return;
    if (bf16 && bf16 != x)
        snprintf(also, sizeof also, " and %.3g in %s", bf16->rate / dram->rate, bf16->name);
    add(out, FINDING_FACT, "Kink",
        "An operation whose data lie in DRAM needs %.3g FLOPs a byte in %s%s before arithmetic "
        "limits it instead of memory.",
        x->rate / dram->rate, x->name, also);
}

/* ---- operations ---- */

static void name_row(const struct row *r, char *text, size_t size) {
    char shape[64];
    chart_shape_text(r, shape, sizeof shape);
    snprintf(text, size, "%s.%s.%s (%s)", r->op, r->impl, r->dtype, shape);
}

static void say_roofs(struct findings *out, const struct chart_run *run) {
    struct chart_point point[CHART_MAX_POINTS];
    struct chart_point low = {NULL, INFINITY}, high = {NULL, 0};
    size_t known = 0, near = 0, above = 0, with_flops;
    char name[400], rate[96];
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const size_t count = chart_pick_points(run, dtypes[t].name, point, &with_flops);
        for (size_t i = 0; i < count; i++) {
            if (!isfinite(point[i].share)) continue;
            known++;
            near += point[i].share >= 0.8;
            above += chart_is_above_roof(&point[i]);
            if (point[i].share < low.share) low = point[i];
            if (point[i].share > high.share && point[i].share <= 1) high = point[i];
        }
    }
    if (known < 2) return;
    add(out, FINDING_FACT, "Roofs reached",
        "Of %zu operations, each at its largest shape in each number format, %zu reach 80 %% of "
        "their roof or more%s.",
        known, near, above ? "; some lie above it, and their data come in part from a cache" : "");
    if (high.r) {
        name_row(high.r, name, sizeof name);
        add(out, FINDING_FACT, "Nearest", "%s comes nearest to its roof: %.0f %%.", name,
            100 * high.share);
    }
    name_row(low.r, name, sizeof name);
    snprintf(rate, sizeof rate, "%.3g %s", chart_point_rate(low.r),
             low.r->flops > 0 ? "GFLOP/s" : "GB/s");
    add(out, FINDING_FACT, "Farthest",
        "%s is farthest from its roof: %s are %.*f %% of what %s allows here.", name, rate,
        low.share < 0.1, 100 * low.share,
        strcmp(low.r->bound, "compute") == 0 ? "arithmetic"
        : *low.r->level                      ? low.r->level
                                             : "memory");
}

const struct row *finding_product(const struct chart_run *run) {
    const struct row *found = NULL;
    double best = 0;
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        const int op = op_find(r->op);
        if (op < 0 || ops[op].sweep != SWEEP_cubes || !chart_shows(run, r, r->dtype)) continue;
        const double share = r->gflop_s / chart_roof(run, r);
        if (isfinite(share) && share > best && share <= 1.02) {
            best = share;
            found = r;
        }
    }
    return found;
}

static void say_products(struct findings *out, const struct chart_run *run) {
    for (int i = 0; i < OP_COUNT; i++) {
        char text[400] = "";
        size_t used = 0;
        if (ops[i].sweep != SWEEP_cubes) continue;
        for (int t = 0; t < DTYPE_COUNT; t++) {
            const struct row *best = NULL;
            for (size_t k = 0; k < run->bench.count; k++) {
                const struct row *r = &run->bench.row[k];
                if (strcmp(r->op, ops[i].name) == 0 && chart_shows(run, r, dtypes[t].name) &&
                    (!best || r->gflop_s > best->gflop_s))
                    best = r;
            }
            if (!best || used + 120 > sizeof text) continue;
            const double share = best->gflop_s / chart_roof(run, best);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.4g GFLOP/s in %s (%.40s",
                                     used ? ", " : "", best->gflop_s, dtypes[t].name, best->impl);
            if (isfinite(share))
                used += (size_t)snprintf(text + used, sizeof text - used, ", %.0f %% of the roof",
                                         100 * share);
            used += (size_t)snprintf(text + used, sizeof text - used, ")");
        }
        if (used) add(out, FINDING_FACT, "Products", "%s at its best: %s.", ops[i].name, text);
    }
}

/* ---- ours and the vendors' ---- */

struct contest {
    double ratio;
    const struct row *ours;
};

static int by_ratio(const void *a, const void *b) {
    const double x = ((const struct contest *)a)->ratio, y = ((const struct contest *)b)->ratio;
    return (x > y) - (x < y);
}

static const struct row *ours_like(const struct rows *rows, const struct row *vendor) {
    const struct row *best = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->row[i];
        if (strcmp(r->op, vendor->op) != 0 || r->n != vendor->n || !is_ok(r) ||
            impl_is_vendor(r->impl))
            continue;
        struct row key = *vendor;
        row_set_text(key.impl, r->impl);
        if (row_same_key(&key, r) && strcmp(r->placement, vendor->placement) == 0 &&
            (!best || r->time_s < best->time_s))
            best = r;
    }
    return best;
}

static void say_vendor(struct findings *out, const struct chart_run *run, const char *vendor) {
    const struct rows *rows = &run->bench;
    struct contest *found = malloc((rows->count + 1) * sizeof *found);
    size_t count = 0;
    if (!found) return;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *v = &rows->row[i];
        if (!is_ok(v) || strcmp(v->impl, vendor) != 0) continue;
        const struct row *ours = ours_like(rows, v);
        if (ours) found[count++] = (struct contest){v->time_s / ours->time_s, ours};
    }
    qsort(found, count, sizeof *found, by_ratio);
    if (count) {
        const double median = count % 2 ? found[count / 2].ratio
                                        : (found[count / 2 - 1].ratio + found[count / 2].ratio) / 2;
        const struct row *worst = found[0].ours, *best = found[count - 1].ours;
        char range[256] = "";
        if (count > 1)
            snprintf(range, sizeof range, "; from %.2f (%.60s %.20s) to %.2f (%.60s %.20s)",
                     found[0].ratio, worst->op, worst->dtype, found[count - 1].ratio, best->op,
                     best->dtype);
        char lead[48];
        snprintf(lead, sizeof lead, "Beside %.40s", vendor);
        add(out, FINDING_FACT, lead,
            "Against %s our kernels have %.2f times the rate in the median of %zu equal "
            "problem%s%s.",
            vendor, median, count, count == 1 ? "" : "s", range);
    }
    free(found);
}

static void say_vendors(struct findings *out, const struct chart_run *run) {
    enum { MOST = 8 };
    char seen[MOST][ROW_TEXT];
    size_t count = 0;
    for (size_t i = 0; i < run->bench.count && count < MOST; i++) {
        const struct row *r = &run->bench.row[i];
        size_t k = 0;
        if (!is_ok(r) || !impl_is_vendor(r->impl)) continue;
        while (k < count && strcmp(seen[k], r->impl) != 0) k++;
        if (k < count) continue;
        row_set_text(seen[count++], r->impl);
        say_vendor(out, run, r->impl);
    }
}

/* ---- rows ---- */

struct row_counts finding_counts(const struct rows *rows) {
    struct row_counts c = {.all = rows->count};
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->row[i];
        const bool refused =
            strcmp(r->status, "refused") == 0 || strcmp(r->status, "no_memory") == 0;
        c.ok += is_ok(r);
        c.refused += refused;
        if (!is_ok(r) && !refused) {
            c.bad++;
            if (!c.first_bad) c.first_bad = r;
        }
        c.wide += is_ok(r) && r->ci_high_s - r->ci_low_s > 0.1 * r->time_s;
        c.above += is_ok(r) && r->roof_fraction > 1.05;
        if (is_ok(r) && r->samples > 0 && r->disturbed >= 0) {
            c.samples += r->samples;
            c.disturbed += r->disturbed;
        }
    }
    return c;
}

static void say_rows(struct findings *out, const struct chart_run *run) {
    const struct row_counts c = finding_counts(&run->bench);
    char name[400], refused[64] = ", none was refused";
    if (c.all == 0) return;
    if (c.refused)
        snprintf(refused, sizeof refused, "; %zu further %s refused", c.refused,
                 c.refused == 1 ? "trial was" : "trials were");
    if (c.bad) {
        name_row(c.first_bad, name, sizeof name);
        add(out, FINDING_WARNING, "Correctness",
            "Of %zu rows %zu %s wrong or failed; the first is %s: %s%s%s.", c.all, c.bad,
            c.bad == 1 ? "is" : "are", name, c.first_bad->status, *c.first_bad->reason ? ": " : "",
            c.first_bad->reason);
    } else {
        add(out, FINDING_FACT, "Correctness",
            "All %zu rows that were timed were verified first; none is wrong%s.", c.ok, refused);
    }
    if (c.wide)
        add(out, FINDING_WARNING, "Spread",
            "In %zu of %zu rows the 95 %% interval of the median is wider than \xc2\xb1 5 %%: they "
            "are no "
            "base for small differences.",
            c.wide, c.ok);
    if (c.samples > 0 && c.disturbed * 20 > c.samples)
        add(out, FINDING_WARNING, "Disturbance",
            "During %.0f %% of the samples the system or the hypervisor took a CPU away: compare "
            "with care.",
            100.0 * (double)c.disturbed / (double)c.samples);
}

static void say_placements(struct findings *out, const struct chart_run *run) {
    static const char *const names[] = {"near", "far", "shared", "mixed"};
    size_t count[4] = {0}, kinds = 0;
    char text[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < run->bench.count; i++)
        for (int k = 0; k < 4; k++) count[k] += strcmp(run->bench.row[i].placement, names[k]) == 0;
    for (int k = 0; k < 4; k++) {
        if (!count[k]) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu %s", kinds++ ? ", " : "",
                                 count[k], names[k]);
    }
    if (kinds > 1)
        add(out, FINDING_WARNING, "Placement",
            "The host moved the threads between cores: rows are %s. Only those of one placement "
            "compare.",
            text);
}

static void say_claims(struct findings *out, const struct csv *claims) {
    size_t holds = 0, fails = 0, untested = 0, used = 0;
    char names[320] = "";
    if (csv_column(claims, "verdict") < 0) return;
    for (size_t i = 0; i < claims->records; i++) {
        const char *verdict = csv_get(claims, i, "verdict");
        const bool fail = strncmp(verdict, "does not hold", 13) == 0;
        holds += strcmp(verdict, "holds") == 0;
        fails += fail;
        untested += strncmp(verdict, "can't", 5) == 0;
        if (fail && used + 80 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "",
                                     csv_get(claims, i, "claim"));
    }
    if (claims->records)
        add(out, FINDING_FACT, "Claims",
            "Of %zu claims on what training costs %zu hold here, %zu do not%s%s%s, %zu can't be "
            "tested.",
            claims->records, holds, fails, fails ? " (" : "", names, fails ? ")" : "", untested);
}

void findings_of_run(struct findings *out, const struct chart_run *run, const struct csv *claims) {
    *out = (struct findings){0};
    say_dram(out, run);
    say_caches(out, run);
    say_arithmetic(out, run);
    say_kink(out, run);
    say_roofs(out, run);
    say_products(out, run);
    say_vendors(out, run);
    say_claims(out, claims);
    say_rows(out, run);
    say_placements(out, run);
}

/* ---- two runs ---- */

/* "117 GFLOP/s in fp64 against 116.8 (1.00 times as much)" for every format that both have a ceiling of. */
static void say_arithmetics(struct findings *out, const struct chart_run *a,
                            const struct chart_run *b) {
    char text[800] = "";
    size_t used = 0;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const struct ceiling *x = ceilings_compute(&a->roofs, dtypes[t].name, chart_threads(a));
        const struct ceiling *y = ceilings_compute(&b->roofs, dtypes[t].name, chart_threads(b));
        if (!x || !y) continue;
        used +=
            (size_t)snprintf(text + used, sizeof text - used,
                             "%s%.4g GFLOP/s in %s against %.4g (%.2f times as much)",
                             used ? ", " : "", y->rate, dtypes[t].name, x->rate, y->rate / x->rate);
    }
    if (used) add(out, FINDING_FACT, "Arithmetic", "Multiply-adds reach %s.", text);
}

static void say_problems(struct findings *out, const struct chart_pair *pair, size_t count,
                         const char *bound) {
    double sum = 0;
    size_t n = 0;
    const struct chart_pair *low = NULL, *high = NULL;
    char low_name[400], high_name[400];
    for (size_t i = 0; i < count; i++) {
        const char *of = *pair[i].a->bound ? pair[i].a->bound : pair[i].b->bound;
        if (strcmp(of, bound) != 0) continue;
        const double ratio = pair[i].a->time_s / pair[i].b->time_s;
        sum += log(ratio);
        n++;
        if (!low || ratio < low->a->time_s / low->b->time_s) low = &pair[i];
        if (!high || ratio > high->a->time_s / high->b->time_s) high = &pair[i];
    }
    if (n < 2) return;
    name_row(low->b, low_name, sizeof low_name);
    name_row(high->b, high_name, sizeof high_name);
    const int kind = strcmp(bound, "memory") == 0 ? 0 : *bound ? 1 : 2;
    static const char *const lead[] = {"Memory-bound", "Compute-bound", "Other problems"};
    static const char *const by[] = {" bound by memory", " bound by arithmetic", ""};
    add(out, FINDING_FACT, lead[kind],
        "In %zu equal problems%s it has %.3g times the rate (geometric mean of the fastest rows); "
        "at "
        "least %.3g, %s, at most %.3g, %s.",
        n, by[kind], exp(sum / (double)n), low->a->time_s / low->b->time_s, low_name,
        high->a->time_s / high->b->time_s, high_name);
}

int findings_of_pair(struct findings *out, const struct chart_run *a, const struct chart_run *b) {
    const struct ceiling *x = finding_dram(a), *y = finding_dram(b);
    size_t count;
    *out = (struct findings){0};
    if (x && y && strcmp(x->pattern, y->pattern) == 0)
        add(out, FINDING_FACT, "DRAM", "%s DRAM reach %.3g GB/s against %.3g (%.2f times as much).",
            pattern_verb(x->pattern), y->rate, x->rate, y->rate / x->rate);
    say_arithmetics(out, a, b);
    struct chart_pair *pair = chart_pairs(a, b, &count);
    if (!pair && count) return -1;
    if (!pair) {
        add(out, FINDING_WARNING, "Problems", "%s and %s have no problem in common.", a->label,
            b->label);
        return 0;
    }
    say_problems(out, pair, count, "memory");
    say_problems(out, pair, count, "compute");
    say_problems(out, pair, count, "");
    free(pair);
    return 0;
}
