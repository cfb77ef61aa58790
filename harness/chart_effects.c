/* chart_effects.c - what the cache and what operands hold do to a time: pairs of rows that differ in nothing else. */
#include "chart_bars.h"

#include <stdlib.h>
#include <string.h>

static int order_numbers(int64_t x, int64_t y) { return (x > y) - (x < y); }

/* By everything that says what was measured but the cache and the fill; then by these. */
static int by_problem(const void *a, const void *b) {
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    const struct {
        const char *x, *y;
    } text[] = {{x->op, y->op},
                {x->dtype, y->dtype},
                {x->impl, y->impl},
                {x->layout, y->layout},
                {x->placement, y->placement}};
    const int64_t number[][2] = {{x->b, y->b},
                                 {x->m, y->m},
                                 {x->n, y->n},
                                 {x->k, y->k},
                                 {x->threads, y->threads},
                                 {x->copies, y->copies},
                                 {x->round, y->round}};
    int order = 0;
    for (size_t i = 0; i < sizeof text / sizeof *text && !order; i++)
        order = strcmp(text[i].x, text[i].y);
    for (size_t i = 0; i < sizeof number / sizeof *number && !order; i++)
        order = order_numbers(number[i][0], number[i][1]);
    return order;
}

static bool is_normal(const struct row *r) { return !*r->fill || strcmp(r->fill, "normal") == 0; }

/* The row of a group that stands for `like` with one thing changed: warm for cold, or normal for another fill. */
static const struct row *partner(const struct row **group, size_t count, const struct row *like,
                                 bool cache) {
    for (size_t i = 0; i < count; i++) {
        const struct row *r = group[i];
        if (cache && strcmp(r->cache, "warm") == 0 && strcmp(r->fill, like->fill) == 0) return r;
        if (!cache && is_normal(r) && strcmp(r->cache, like->cache) == 0) return r;
    }
    return NULL;
}

static bool is_changed(const struct row *r, bool cache) {
    return cache ? strcmp(r->cache, "cold") == 0 && is_normal(r) : !is_normal(r);
}

static int effect(struct chart_out *out, const struct chart_run *run, const struct row **row,
                  size_t rows, bool cache) {
    struct chart_bar bar[CHART_MAX_BARS];
    char subtitle[400], run_text[256];
    int bars = 0;
    for (size_t i = 0; i < rows;) {
        size_t end = i + 1;
        while (end < rows && by_problem(&row[i], &row[end]) == 0) end++;
        for (size_t k = i; k < end; k++) {
            const struct row *with = is_changed(row[k], cache) ? row[k] : NULL;
            const struct row *plain = with ? partner(row + i, end - i, with, cache) : NULL;
            if (!plain) continue;
            struct chart_bar x = chart_bar_of(plain, with);
            char shape[64];
            chart_shape_text(with, shape, sizeof shape);
            snprintf(x.label, sizeof x.label, "%s %s  %s", with->op, with->dtype, shape);
            snprintf(x.value, sizeof x.value, "%.2f   %s   %s", x.ratio,
                     cache ? with->cache : with->fill, with->impl);
            bars = chart_add_bar(bar, bars, x);
        }
        i = end;
    }
    chart_subtitle(run, run->threads, run_text, sizeof run_text);
    snprintf(subtitle, sizeof subtitle, "%s; %s", run_text,
             cache ? "equal trials, operands evicted from the caches or not"
                   : "equal trials, operands that hold something other than normal random numbers");
    return chart_draw_bars(out, cache ? "cold_warm" : "fill",
                           cache ? "Cold against warm" : "What operands hold", subtitle,
                           cache ? "rate cold / rate warm" : "rate / rate on normal random numbers",
                           bar, bars);
}

int chart_effects(struct chart_out *out, const struct chart_run *run) {
    const struct row **row = calloc(run->bench.count + 1, sizeof(const struct row *));
    size_t rows = 0;
    int status = -1;
    if (!row) {
        fprintf(stderr, "roofline: no memory for a chart\n");
        return -1;
    }
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct row *r = &run->bench.row[i];
        if (chart_shows(run, r, r->dtype)) row[rows++] = r;
    }
    qsort(row, rows, sizeof(const struct row *), by_problem);
    if (effect(out, run, row, rows, true) || effect(out, run, row, rows, false)) goto done;
    status = 0;
done:
    free(row);
    return status;
}
