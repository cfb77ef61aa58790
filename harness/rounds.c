/* rounds.c - what a trial comes to over its rounds, for those who show one row a trial. */
#include "rounds.h"

#include <stdlib.h>
#include <string.h>

static bool is_timed(const struct row *r) { return strcmp(r->status, "ok") == 0 && r->time_s > 0; }

#define ORDER_STR(x, y) strcmp(x, y)
#define ORDER_INT(x, y) (((x) > (y)) - ((x) < (y)))
#define ORDER_KEY(column, compared) \
    if (order == 0 && (column) != COLUMN_round) order = (compared);
#define ORDER_VAL(column, compared)

static int order_trials(const struct row *a, const struct row *b) {
    int order = 0;
#define COL(kind, type, name) ORDER_##kind(COLUMN_##name, ORDER_##type(a->name, b->name))
#include "columns.def"
#undef COL
    return order;
}

/* By trial; of one those with a time first, by placement, by time; as they stand in the file where that is equal. */
static int by_trial(const void *x, const void *y) {
    const struct row *a = *(const struct row *const *)x, *b = *(const struct row *const *)y;
    int order = order_trials(a, b);
    if (!order) order = is_timed(b) - is_timed(a);
    if (!order && is_timed(a)) order = strcmp(a->placement, b->placement);
    if (!order && is_timed(a)) order = (a->time_s > b->time_s) - (a->time_s < b->time_s);
    return order ? order : (a > b) - (a < b);
}

/* Of the rows of one trial, as by_trial() has them, those that stay. */
static void choose(const struct row *const *row, size_t count, const struct row *all, bool *stays) {
    size_t timed = 0, first = 0, most = 0;
    bool several = false;
    for (size_t i = 0; i < count; i++) several |= row[i]->round > 1;
    for (size_t i = 0; i < count && !several; i++) stays[row[i] - all] = true;
    if (!several) return;
    while (timed < count && is_timed(row[timed])) timed++;
    for (size_t i = 0, end; i < timed; i = end) {
        for (end = i + 1; end < timed && strcmp(row[end]->placement, row[i]->placement) == 0;)
            end++;
        if (end - i > most) first = i;
        if (end - i > most) most = end - i;
    }
    if (most) stays[row[first + (most - 1) / 2] - all] = true;
    if (timed < count) stays[row[timed] - all] = true;
}

int rounds_fold(struct rows *rows) {
    const struct row **order = malloc((rows->count + 1) * sizeof(const struct row *));
    bool *stays = calloc(rows->count + 1, sizeof *stays);
    size_t kept = 0;
    if (order && stays) {
        for (size_t i = 0; i < rows->count; i++) order[i] = &rows->row[i];
        qsort(order, rows->count, sizeof(const struct row *), by_trial);
        for (size_t i = 0, end; i < rows->count; i = end) {
            for (end = i + 1; end < rows->count && order_trials(order[i], order[end]) == 0;) end++;
            choose(order + i, end - i, rows->row, stays);
        }
        for (size_t i = 0; i < rows->count; i++) {
            if (!stays[i]) continue;
            rows->row[kept] = rows->row[i];
            rows->row[kept++].round = 1;
        }
        rows->count = kept;
    }
    const int status = order && stays ? 0 : -1;
    free(order);
    free(stays);
    return status;
}
