/* chart_fleet.c - the spread of a fleet, from fleet.csv: each device's speed beside the median device, over all rows that at
 * least two have; the whisker holds the middle half of its rows. */
#include "chart_bars.h"
#include "csv_table.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What makes two rows the same problem. */
static const char *const key[] = {"op", "impl", "dtype",   "layout", "b",     "m",
                                  "n",  "k",    "threads", "copies", "cache", "fill"};
enum { KEYS = sizeof key / sizeof *key };

struct timed {
    const struct csv *csv;
    int column[KEYS];
    size_t record;
    int member;
    double time_s;
};

static const char *cell(const struct timed *x, int k) {
    return x->column[k] < 0
               ? ""
               : x->csv->cell[x->record * (size_t)x->csv->columns + (size_t)x->column[k]];
}

static int by_problem(const void *a, const void *b) {
    const struct timed *x = a, *y = b;
    for (int k = 0; k < KEYS; k++) {
        const int order = strcmp(cell(x, k), cell(y, k));
        if (order) return order;
    }
    return (x->member > y->member) - (x->member < y->member);
}

static bool same_problem(const struct timed *x, const struct timed *y) {
    for (int k = 0; k < KEYS; k++)
        if (strcmp(cell(x, k), cell(y, k)) != 0) return false;
    return true;
}

struct member {
    char name[ROW_TEXT];
    double *speed; /* of its rows, beside the median of all devices */
    size_t count;
};

static int member_of(struct member *m, int *count, const char *name) {
    int i = 0;
    while (i < *count && strcmp(m[i].name, name) != 0) i++;
    if (i == *count && *count < CHART_MAX_BARS) row_set_text(m[(*count)++].name, name);
    return i;
}

/* The rows that count, sorted by problem; members get their names. NULL without memory. */
static struct timed *timed_rows(const struct csv *c, struct member *m, int *members,
                                size_t *count) {
    struct timed *x = calloc(c->records + 1, sizeof *x), like = {.csv = c};
    *count = 0;
    if (!x) return NULL;
    for (int k = 0; k < KEYS; k++) like.column[k] = csv_column(c, key[k]);
    for (size_t i = 0; i < c->records; i++) {
        const double time_s = strtod(csv_get(c, i, "time_s"), NULL);
        if (*csv_get(c, i, "with") || strcmp(csv_get(c, i, "status"), "ok") != 0 || !(time_s > 0))
            continue;
        like.record = i;
        like.time_s = time_s;
        like.member = member_of(m, members, csv_get(c, i, "member"));
        if (like.member < CHART_MAX_BARS) x[(*count)++] = like;
    }
    qsort(x, *count, sizeof *x, by_problem);
    return x;
}

/* Speeds of one problem's rows; rounds of a device count one by one. */
static void add_problem(const struct timed *x, size_t n, struct member *m, double *work) {
    for (size_t i = 0; i < n; i++) work[i] = x[i].time_s;
    const double center = stats_of(work, n).median;
    for (size_t i = 0; i < n; i++) {
        struct member *one = &m[x[i].member];
        one->speed[one->count++] = center / x[i].time_s;
    }
}

static int draw(struct chart_out *out, const struct csv *c, struct member *m) {
    struct chart_bar bar[CHART_MAX_BARS];
    int members = 0, bars = 0;
    size_t count;
    int status = -1;
    struct timed *x = timed_rows(c, m, &members, &count);
    double *work = calloc(count + 1, sizeof *work);
    for (int i = 0; i < members; i++) m[i].speed = calloc(count + 1, sizeof *m[i].speed);
    for (int i = 0; i < members; i++)
        if (!m[i].speed) goto done;
    if (!x || !work) goto done;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && same_problem(&x[from], &x[to]);) to++;
        if (x[from].member != x[to - 1].member) add_problem(&x[from], to - from, m, work);
    }
    for (int i = 0; i < members; i++) {
        if (!m[i].count) continue;
        const struct stats s = stats_of(m[i].speed, m[i].count);
        struct chart_bar one = {.ratio = s.median, .low = s.p25, .high = s.p75};
        snprintf(one.label, sizeof one.label, "%.*s", ROW_TEXT, m[i].name);
        snprintf(one.value, sizeof one.value, "%.3f  %zu rows", s.median, m[i].count);
        bars = chart_add_bar(bar, bars, one);
    }
    status =
        chart_draw_bars(out, "fleet", "The spread of a fleet",
                        "the median row of each device; whiskers hold the middle half of its rows",
                        "speed beside the median device", bar, bars);
done:
    if (status && (!x || !work)) fprintf(stderr, "roofline: no memory for the fleet's chart\n");
    free(x);
    free(work);
    return status;
}

bool chart_is_fleet(const char *dir) {
    char path[4096];
    snprintf(path, sizeof path, "%s/fleet.csv", dir);
    return access(path, F_OK) == 0;
}

int chart_fleet(struct chart_out *out, const char *dir) {
    static struct member m[CHART_MAX_BARS + 1];
    struct csv c;
    if (csv_table_read(dir, "fleet.csv", &c)) return -1;
    memset(m, 0, sizeof m);
    const int status = draw(out, &c, m);
    for (int i = 0; i < CHART_MAX_BARS; i++) free(m[i].speed);
    csv_free(&c);
    return status;
}
