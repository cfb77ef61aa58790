/* chart_peaks.c - charts of the measured ceilings: bandwidth over the working set, and the ladder of compute rates. */
#include "chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_SERIES_POINTS = 256 };

static int64_t most_threads(const struct rows *rows) {
    int64_t most = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].status, "ok") == 0 && rows->row[i].threads > most)
            most = rows->row[i].threads;
    return most;
}

static bool is_memory_row(const struct row *r, const char *pattern, int64_t threads) {
    const char *is = roof_pattern(r->op);
    return is && strcmp(is, pattern) == 0 && strcmp(r->status, "ok") == 0 &&
           r->threads == threads && r->gbyte_s > 0 && r->footprint_bytes > 0;
}

/* The fastest rows of a pattern, one a working-set size, in order of size. */
static size_t fastest_by_size(const struct rows *rows, const char *pattern, int64_t threads,
                              const struct row *found[]) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->row[i];
        if (!is_memory_row(r, pattern, threads)) continue;
        size_t at = 0;
        while (at < count && found[at]->footprint_bytes < r->footprint_bytes * 0.98) at++;
        if (at < count && found[at]->footprint_bytes < r->footprint_bytes * 1.02) {
            if (r->gbyte_s > found[at]->gbyte_s) found[at] = r;
        } else if (count < MAX_SERIES_POINTS) {
            memmove(&found[at + 1], &found[at], (count - at) * sizeof(const struct row *));
            found[at] = r;
            count++;
        }
    }
    return count;
}

/* Which working sets each level serves, as the rows are labelled. */
static int write_levels(struct chart_out *out, const struct rows *rows, int *levels) {
    static const char *const name[] = {"L1", "L2", "L3", "L4", "DRAM"};
    FILE *f =
        chart_data(out, "bandwidth_levels", "level,first_bytes,last_bytes,middle_bytes,shade");
    if (!f) return -1;
    *levels = 0;
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        double first = INFINITY, last = 0;
        for (size_t i = 0; i < rows->count; i++) {
            const struct row *r = &rows->row[i];
            if (strcmp(r->level, name[k]) != 0 || !roof_pattern(r->op)) continue;
            first = fmin(first, r->footprint_bytes);
            last = fmax(last, r->footprint_bytes);
        }
        if (last <= 0) continue;
        chart_csv_text(f, name[k]);
        chart_csv_number(f, first), chart_csv_number(f, last),
            chart_csv_number(f, sqrt(first * last));
        chart_csv_end(f, *levels % 2);
        ++*levels;
    }
    return chart_data_close(out, f, "bandwidth_levels");
}

int chart_bandwidth(struct chart_out *out, const struct chart_run *run) {
    static const char *const pattern[] = {"read", "write", "copy", "triad", "update"};
    const struct row *found[MAX_SERIES_POINTS + 1];
    const int64_t most = most_threads(&run->peaks);
    const int64_t threads[] = {1, most};
    double least = INFINITY, largest = 0, bottom = INFINITY, top = 0;
    char subtitle[256];
    struct chart_vars v;
    int levels = 0, series[2] = {0, 0};
    FILE *f = NULL;
    for (int t = 0; t < (most > 1 ? 2 : 1); t++) {
        for (size_t p = 0; p < sizeof pattern / sizeof *pattern; p++) {
            const size_t count = fastest_by_size(&run->peaks, pattern[p], threads[t], found);
            if (count < 2) continue;
            if (!f &&
                !(f = chart_data(out, "bandwidth",
                                 "pattern,impl,dtype,placement,footprint_bytes,gbyte_s,threads")))
                return -1;
            series[t]++;
            for (size_t i = 0; i < count; i++) {
                const struct row *r = found[i];
                chart_csv_text(f, pattern[p]), chart_csv_text(f, r->impl),
                    chart_csv_text(f, r->dtype);
                chart_csv_text(f, r->placement), chart_csv_number(f, r->footprint_bytes),
                    chart_csv_number(f, r->gbyte_s);
                chart_csv_end(f, (int)threads[t]);
                least = fmin(least, r->footprint_bytes),
                largest = fmax(largest, r->footprint_bytes), top = fmax(top, r->gbyte_s);
                bottom = fmin(bottom, r->gbyte_s);
            }
        }
    }
    if (!f) return 0;
    if (chart_data_close(out, f, "bandwidth") || write_levels(out, &run->peaks, &levels) ||
        chart_vars_open(&v))
        return -1;
    chart_subtitle(run, 0, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Bandwidth against working set");
    chart_set_text(&v, "subtitle_text", "%s; the fastest implementation of each pattern", subtitle);
    chart_set_data(&v, out, "bandwidth_data", "bandwidth");
    chart_set_data(&v, out, "levels_data", "bandwidth_levels");
    chart_set_number(&v, "levels", levels);
    chart_set_number(&v, "all_threads", series[1] ? (double)most : 0);
    chart_set_number(&v, "one_thread", series[0] > 0);
    chart_set_number(&v, "bytes_min", least);
    chart_set_number(&v, "bytes_max", largest);
    chart_set_number(&v, "rate_min", bottom);
    chart_set_number(&v, "rate_max", top);
    chart_draw(out, &v, "bandwidth", "bandwidth");
    return 0;
}

/* ---- the ladder ---- */

static const struct ceiling *rung(const struct chart_run *run, const char *dtype, const char *impl,
                                  int64_t threads) {
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        if (x->kind == CEILING_COMPUTE && x->threads == threads && strcmp(x->name, dtype) == 0 &&
            strcmp(x->impl, impl) == 0)
            return x;
    }
    return NULL;
}

int chart_ladder(struct chart_out *out, const struct chart_run *run) {
    const int64_t most = most_threads(&run->peaks);
    char subtitle[256], text[320];
    struct chart_vars v;
    double top = 0;
    int rungs = 0, gaps = 0, unproven = 0;
    FILE *f = NULL;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const int before = rungs;
        for (size_t i = 0; i < run->roofs.count; i++) {
            const struct ceiling *x = &run->roofs.ceiling[i];
            if (x->kind != CEILING_COMPUTE || x->threads != most ||
                strcmp(x->name, dtypes[t].name) != 0)
                continue;
            if (!f && !(f = chart_data(out, "ladder",
                                       "dtype,impl,label,value,short,why,gflop_s,one_thread_gflop_"
                                       "s,position,proven")))
                return -1;
            const struct ceiling *one = most > 1 ? rung(run, x->name, x->impl, 1) : NULL;
            chart_csv_text(f, x->name), chart_csv_text(f, x->impl);
            snprintf(text, sizeof text, "%s  %s", x->name, x->impl);
            chart_csv_text(f, text);
            snprintf(text, sizeof text, "%.4g%s%s", x->rate,
                     x->proven ? "" : "   not proven: ", x->why);
            chart_csv_text(f, text);
            snprintf(text, sizeof text, "%.4g%s", x->rate, x->proven ? "" : " ?");
            chart_csv_text(f, text), chart_csv_text(f, x->why);
            chart_csv_number(f, x->rate), chart_csv_number(f, one ? one->rate : NAN);
            chart_csv_number(f, rungs + 0.6 * gaps);
            chart_csv_end(f, x->proven);
            top = fmax(top, fmax(x->rate, one ? one->rate : 0));
            unproven += !x->proven;
            rungs++;
        }
        gaps += rungs > before;
    }
    if (!f) return 0;
    if (chart_data_close(out, f, "ladder") || chart_vars_open(&v)) return -1;
    chart_subtitle(run, most, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Compute ceilings, every number format and instruction set");
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    chart_set_data(&v, out, "ladder_data", "ladder");
    chart_set_number(&v, "last", rungs - 1 + 0.6 * (gaps - 1));
    chart_set_number(&v, "rate_max", top);
    chart_set_number(&v, "unproven", unproven);
    chart_set_number(&v, "threads", (double)most);
    chart_set_number(&v, "canvas_y", chart_height(out, 190 + 30 * (rungs + 0.6 * gaps)));
    chart_draw(out, &v, "ladder", "ladder");
    return 0;
}
