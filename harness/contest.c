/* contest.c - pairs of turns. */
#include "contest.h"

#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The samples of one turn stand together. */
struct turn {
    int number;
    const char *placement;
    double median_s;
};

/* Turns in their order; how many. work: room for as many times as there are samples. */
static size_t turns_of(const struct samples *s, struct turn out[], double work[]) {
    size_t count = 0;
    for (size_t i = 0, end; i < s->count; i = end) {
        const struct sample *first = &s->taken[i];
        for (end = i; end < s->count && s->taken[end].turn == first->turn; end++)
            work[end - i] = s->taken[end].time_s;
        out[count++] = (struct turn){first->turn, first->placement, stats_of(work, end - i).median};
    }
    return count;
}

struct quotient {
    const char *placement;
    double value;
};

/* A core for each thread is better than a shared one, then what there is more of; threads that were moved do not count. */
static bool better(const char *placement, size_t count, const char *than, size_t than_count) {
    const bool shared = strcmp(placement, "shared") == 0;
    if (strcmp(placement, "mixed") == 0) return false;
    if (!than) return true;
    if ((count >= CONTEST_TURNS) != (than_count >= CONTEST_TURNS)) return count > than_count;
    if (shared != (strcmp(than, "shared") == 0)) return !shared;
    return count > than_count;
}

/* The placement whose turns are the result; NULL: none. */
static const char *choose(const struct quotient q[], size_t n) {
    struct {
        const char *placement;
        size_t count;
    } at[PLACEMENTS] = {{NULL, 0}};
    for (size_t i = 0; i < n; i++) {
        int p = 0;
        while (p + 1 < PLACEMENTS && at[p].count && strcmp(at[p].placement, q[i].placement) != 0)
            p++;
        at[p].placement = q[i].placement;
        at[p].count++;
    }
    const char *chosen = NULL;
    size_t count = 0;
    for (int p = 0; p < PLACEMENTS && at[p].count; p++) {
        if (!better(at[p].placement, at[p].count, chosen, count)) continue;
        chosen = at[p].placement;
        count = at[p].count;
    }
    return chosen;
}

/* work: room for n. */
static void summarise(const struct quotient q[], size_t n, double work[], struct contest *out) {
    const char *chosen = choose(q, n);
    for (size_t i = 0; i < n; i++)
        if (chosen && strcmp(q[i].placement, chosen) == 0) work[out->turns++] = q[i].value;
    if (out->turns < CONTEST_TURNS) return;
    const struct stats s = stats_of(work, out->turns);
    out->ratio = s.median;
    out->low = s.ci_low;
    out->high = s.ci_high;
}

int contest_of(const struct samples *ours, const struct samples *theirs, struct contest *out) {
    const size_t most = ours->count > theirs->count ? ours->count : theirs->count;
    struct turn *a = malloc((most + 1) * sizeof *a), *b = malloc((most + 1) * sizeof *b);
    struct quotient *q = malloc((most + 1) * sizeof *q);
    double *work = malloc((most + 1) * sizeof *work);
    *out = (struct contest){.ratio = NAN, .low = NAN, .high = NAN};
    const int status = a && b && q && work ? 0 : -1;
    if (status == 0) {
        const size_t na = turns_of(ours, a, work), nb = turns_of(theirs, b, work);
        size_t n = 0;
        for (size_t i = 0, k = 0; i < na && k < nb;) {
            if (a[i].number == b[k].number && a[i].number > 0 &&
                strcmp(a[i].placement, b[k].placement) == 0)
                q[n++] = (struct quotient){a[i].placement, b[k].median_s / a[i].median_s};
            const int step = a[i].number - b[k].number;
            i += step <= 0;
            k += step >= 0;
        }
        summarise(q, n, work, out);
    }
    free(a);
    free(b);
    free(q);
    free(work);
    return status;
}
