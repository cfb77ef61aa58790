/* ceilings.c - measured roofs, from the ordinary rows of a peaks run.
 *
 * The kink is the intensity at which a compute ceiling meets the DRAM bandwidth of as many threads. A kernel closer to
 * it than a factor 4 could be waiting for memory; a working set less than 4 times the last cache could be served by it. */
#include "ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double min_kinks = 4, min_caches = 4, max_interval = 0.10;
static const double clearly = 1.1; /* faster by more than what two measurements differ by */

/* The one place that ties roofs to operations. */
static const struct {
    const char *op, *pattern;
} memory_roofs[] = {
    {"sum", "read"}, {"fill", "write"}, {"copy", "copy"}, {"triad", "triad"}, {"axpy", "update"}};
static const char *const compute_roof = "fma";

const char *roof_pattern(const char *op) {
    for (size_t i = 0; i < sizeof memory_roofs / sizeof *memory_roofs; i++)
        if (strcmp(op, memory_roofs[i].op) == 0) return memory_roofs[i].pattern;
    return NULL;
}

const char *traffic_pattern(double read_bytes, double written_bytes, double in_place_bytes) {
    if (written_bytes < 0.1 * read_bytes) return "read";
    if (read_bytes < 0.1 * written_bytes) return "write";
    if (in_place_bytes > 0.25 * (read_bytes + written_bytes)) return "update";
    return read_bytes <= 1.5 * written_bytes ? "copy" : "triad";
}

bool roof_is_compute(const char *op) { return strcmp(op, compute_roof) == 0; }

static bool interval_is_tight(const struct row *r) {
    return r->ci_high_s - r->ci_low_s <= max_interval * r->time_s; /* false when one is unknown */
}

/* What this row says about a roof; false when it says nothing. */
static bool candidate(const struct row *r, double last_cache_bytes, struct ceiling *out) {
    const char *pattern = roof_pattern(r->op);
    const bool compute = roof_is_compute(r->op);
    *out = (struct ceiling){.threads = r->threads, .ai = r->ai, .proven = true};
    if (strcmp(r->status, "ok") != 0 || (!compute && (!pattern || !*r->level))) return false;
    out->kind = compute ? CEILING_COMPUTE : CEILING_MEMORY;
    out->rate = compute ? r->gflop_s : r->gbyte_s;
    if (!isfinite(out->rate) || out->rate <= 0) return false;
    const double reached = r->min_s > 0 ? out->rate * r->time_s / r->min_s : out->rate;
    row_set_text(out->name, compute ? r->dtype : r->level);
    row_set_text(out->impl, r->impl);
    if (!compute) {
        row_set_text(out->pattern, pattern);
        row_set_text(out->placement, r->placement);
    }
    if (strcmp(r->placement, "shared") == 0 || strcmp(r->placement, "mixed") == 0) {
        out->proven = false;
        out->disturbed_reached = reached;
        snprintf(out->why, sizeof out->why, "the host had the threads %s",
                 strcmp(r->placement, "mixed") == 0 ? "moved meanwhile" : "on one core");
    } else if (!interval_is_tight(r)) {
        out->proven = false;
        out->disturbed_reached = reached;
        snprintf(out->why, sizeof out->why, "the interval of the median is wider than %.0f %%",
                 100 * max_interval);
    } else if (!compute && strcmp(r->level, "DRAM") == 0 && strcmp(r->cache, "cold") != 0 &&
               !(last_cache_bytes > 0 && r->footprint_bytes >= min_caches * last_cache_bytes)) {
        out->proven = false;
        snprintf(out->why, sizeof out->why,
                 "a working set of %.4g MiB is not %.0f x the last cache (%.4g MiB) and not cold",
                 r->footprint_bytes / 1048576, min_caches, last_cache_bytes / 1048576);
    }
    return true;
}

static bool same_roof(const struct ceiling *a, const struct ceiling *b) {
    return a->kind == b->kind && a->threads == b->threads && strcmp(a->name, b->name) == 0 &&
           strcmp(a->pattern, b->pattern) == 0 && strcmp(a->placement, b->placement) == 0 &&
           (a->kind == CEILING_MEMORY || strcmp(a->impl, b->impl) == 0);
}

/* Whether the row is of a compute unit that should have a rate. */
static bool failed_unit(const struct row *r, struct ceiling *out) {
    *out = (struct ceiling){.kind = CEILING_COMPUTE, .threads = r->threads};
    row_set_text(out->name, r->dtype);
    row_set_text(out->impl, r->impl);
    return roof_is_compute(r->op) &&
           (strcmp(r->status, "failed") == 0 || strcmp(r->status, "wrong") == 0 ||
            strcmp(r->status, "timeout") == 0);
}

static bool is_better(const struct ceiling *a, const struct ceiling *b) {
    return a->proven != b->proven ? a->proven : a->rate > b->rate;
}

/* DRAM bandwidth of so many threads; of several placements the slowest, which puts the kink farthest out. NaN: none. */
static double dram_bandwidth(const struct ceilings *c, int64_t threads) {
    double slowest = NAN;
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        if (x->kind != CEILING_MEMORY || x->threads != threads || strcmp(x->name, "DRAM") != 0)
            continue;
        const struct ceiling *best = ceilings_bandwidth(c, "DRAM", threads, x->placement);
        if (best) slowest = fmin(slowest, best->rate);
    }
    return slowest;
}

static void disprove(struct ceiling *x) {
    if (!x->proven || x->disturbed_reached <= clearly * x->rate) return;
    x->proven = false;
    snprintf(x->why, sizeof x->why, "one that was disturbed has reached %.4g",
             x->disturbed_reached);
}

static void prove_compute(struct ceiling *x, double bandwidth) {
    const double kink = x->rate / bandwidth;
    if (!x->proven || x->ai >= min_kinks * kink) return;
    x->proven = false;
    if (isnan(bandwidth))
        snprintf(x->why, sizeof x->why,
                 "no proven DRAM bandwidth with %lld threads to set its kink",
                 (long long)x->threads);
    else
        snprintf(x->why, sizeof x->why,
                 "its intensity of %.4g is not %.0f x the kink at %.4g FLOP/byte", x->ai, min_kinks,
                 kink);
}

/* Memory before arithmetic, few threads before many, near levels before far ones, slow arithmetic before fast; the rest as
 * measured. */
static int in_order(const void *a, const void *b) {
    const struct ceiling *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->threads != y->threads) return x->threads < y->threads ? -1 : 1;
    if (x->kind == CEILING_MEMORY && strcmp(x->name, y->name) != 0) {
        const bool x_last = strcmp(x->name, "DRAM") == 0, y_last = strcmp(y->name, "DRAM") == 0;
        return x_last != y_last ? (x_last ? 1 : -1) : strcmp(x->name, y->name);
    }
    if (x->kind == CEILING_COMPUTE) {
        const int t = dtype_find(x->name), u = dtype_find(y->name);
        return t != u ? (t < u ? -1 : 1) : x->rate < y->rate ? -1 : x->rate > y->rate;
    }
    return x->row < y->row ? -1 : 1;
}

/* Index of the same roof, or the count. */
static size_t find_roof(const struct ceilings *c, const struct ceiling *x) {
    size_t at = 0;
    while (at < c->count && !same_roof(&c->ceiling[at], x)) at++;
    return at;
}

/* Behind the ceilings: units of which no row has a rate. */
static void add_failed(const struct rows *rows, struct ceilings *out) {
    for (size_t i = 0; i < rows->count; i++) {
        struct ceiling x;
        if (!failed_unit(&rows->row[i], &x) || find_roof(out, &x) < out->count) continue;
        x.row = x.first = i;
        out->ceiling[out->count + out->failed++] = x;
    }
}

int ceilings_of(const struct rows *rows, double last_cache_bytes, struct ceilings *out) {
    *out =
        (struct ceilings){.ceiling = calloc(rows->count ? rows->count : 1, sizeof *out->ceiling)};
    if (!out->ceiling) return -1;
    for (size_t i = 0; i < rows->count; i++) {
        struct ceiling x;
        if (!candidate(&rows->row[i], last_cache_bytes, &x)) continue;
        x.row = x.first = i;
        const size_t at = find_roof(out, &x);
        if (at == out->count) out->ceiling[out->count++] = x;
        struct ceiling *known = &out->ceiling[at];
        const double reached = fmax(x.disturbed_reached, known->disturbed_reached);
        if (is_better(&x, known)) {
            x.first = known->first;
            *known = x;
        }
        known->disturbed_reached = reached;
    }
    for (size_t i = 0; i < out->count; i++) disprove(&out->ceiling[i]);
    for (size_t i = 0; i < out->count; i++)
        if (out->ceiling[i].kind == CEILING_COMPUTE)
            prove_compute(&out->ceiling[i], dram_bandwidth(out, out->ceiling[i].threads));
    qsort(out->ceiling, out->count, sizeof *out->ceiling, in_order);
    add_failed(rows, out);
    return 0;
}

static const struct ceiling *best(const struct ceilings *c, enum ceiling_kind kind,
                                  const char *name, int64_t threads, const char *placement,
                                  const char *pattern) {
    const struct ceiling *found = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        if (x->kind != kind || !x->proven || x->threads != threads || strcmp(x->name, name) != 0)
            continue;
        if (placement && strcmp(x->placement, placement) != 0) continue;
        if (pattern && strcmp(x->pattern, pattern) != 0) continue;
        if (!found || x->rate > found->rate) found = x;
    }
    return found;
}

const struct ceiling *ceilings_bandwidth(const struct ceilings *c, const char *level,
                                         int64_t threads, const char *placement) {
    return best(c, CEILING_MEMORY, level, threads, placement, NULL);
}

const struct ceiling *ceilings_compute(const struct ceilings *c, const char *dtype,
                                       int64_t threads) {
    return best(c, CEILING_COMPUTE, dtype, threads, NULL, NULL);
}

/* Whether a unit that is not proven, but clearly faster than `roof` or meant to be, may do the dtype's arithmetic. */
static bool outdone_unproven(const struct ceilings *c, const char *dtype,
                             const struct ceiling *roof) {
    for (size_t i = 0; i < c->count + c->failed; i++) {
        const struct ceiling *x = &c->ceiling[i];
        if (x->kind == CEILING_COMPUTE && !x->proven && x->threads == roof->threads &&
            strcmp(x->name, dtype) == 0 &&
            (i < c->count ? fmax(x->rate, x->disturbed_reached) > clearly * roof->rate
                          : x->first > roof->first))
            return true;
    }
    return false;
}

const struct ceiling *ceilings_compute_for(const struct ceilings *c, enum dtype dtype,
                                           int64_t threads) {
    const enum dtype computed_in[] = {dtype, dtypes[dtype].product, dtypes[dtype].acc};
    const struct ceiling *fastest = NULL;
    for (int i = 0; i < 3; i++) {
        const struct ceiling *x = ceilings_compute(c, dtypes[computed_in[i]].name, threads);
        if (x && (!fastest || x->rate > fastest->rate)) fastest = x;
    }
    for (int i = 0; i < 3 && fastest; i++)
        if (outdone_unproven(c, dtypes[computed_in[i]].name, fastest)) return NULL;
    return fastest;
}

/* Whether a bandwidth that was disturbed, of the roof's pattern where that is meant, has been clearly above it. */
static bool outdone_disturbed(const struct ceilings *c, const struct ceiling *roof,
                              const char *where, bool same_pattern) {
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        if (x->kind == CEILING_MEMORY && !x->proven && x->threads == roof->threads &&
            strcmp(x->name, roof->name) == 0 && (!where || strcmp(x->placement, where) == 0) &&
            (!same_pattern || strcmp(x->pattern, roof->pattern) == 0) &&
            x->disturbed_reached > clearly * roof->rate)
            return true;
    }
    return false;
}

double ceilings_bandwidth_for(const struct ceilings *c, const char *level, int64_t threads,
                              const char *placement, const char *pattern) {
    /* Where the threads lie decides what they get of DRAM; of caches each has its own or the same. */
    const char *where = strcmp(level, "DRAM") == 0 ? placement : NULL;
    const struct ceiling *x = best(c, CEILING_MEMORY, level, threads, where, pattern);
    const bool own = x != NULL;
    if (!own) x = best(c, CEILING_MEMORY, level, threads, where, NULL);
    if (!x || outdone_disturbed(c, x, where, own)) return NAN;
    return x->rate;
}
