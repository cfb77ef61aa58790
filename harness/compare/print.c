/* print.c - what explains most comes first: the environments, then what changed, then what it comes to. */
#define _GNU_SOURCE
#include "print.h"

#include "../runinfo.h"
#include "../table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const print_format_names[PRINT_FORMATS] = {"table", "csv", "md", "json"};

enum { MOST_DIFFERENCES = 64, MOST_LINES = 40 };

/* ---- pieces ---- */

static void pair_name(const struct pair *p, char *text, size_t size) {
    const struct row *r = p->a ? p->a : p->b;
    snprintf(text, size, "%.40s.%.40s.%.16s", r->op, r->impl, r->dtype);
}

/* A change for people: "+5.3 %" faster. */
static void percent(double ratio, char *text, size_t size) {
    text[0] = '\0';
    if (isfinite(ratio)) snprintf(text, size, "%+.1f %%", 100 * (ratio - 1));
}

static bool one_device(const struct comparison *c) { return c->key >> COLUMN_device & 1; }

/* What rows were measured with, as a set of values: "normal", "normal zeros". */
static void values_of(const struct subject *s, enum column column, char *text, size_t size) {
    struct text_index index = {0};
    bool is_new;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < s->runs; i++)
        for (size_t j = 0; j < s->run[i].rows.count; j++) {
            const struct row *r = &s->run[i].rows.row[j];
            const char *value = column == COLUMN_fill ? r->fill : r->cache;
            if (j == 0 || strcmp(value, column == COLUMN_fill ? r[-1].fill : r[-1].cache) != 0)
                text_index_add(&index, value, &is_new);
        }
    for (size_t i = 0; i < index.count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", index.text[i]);
    text_index_release(&index);
}

static double median_clock(const struct subject *s) {
    double *clock = malloc((subject_rows(s) + 1) * sizeof *clock);
    size_t n = 0;
    for (int i = 0; clock && i < s->runs; i++)
        for (size_t j = 0; j < s->run[i].rows.count; j++)
            if (s->run[i].rows.row[j].clock_ghz > 0) clock[n++] = s->run[i].rows.row[j].clock_ghz;
    const double median = n ? effect_location(clock, n) : NAN;
    free(clock);
    return median;
}

static size_t add(struct difference *d, size_t count, const char *name, const char *a,
                  const char *b) {
    if (strcmp(a, b) == 0 || count >= MOST_DIFFERENCES) return count;
    snprintf(d[count].name, sizeof d->name, "%.63s", name);
    snprintf(d[count].a, sizeof d->a, "%.159s", a);
    snprintf(d[count].b, sizeof d->b, "%.159s", b);
    return count + 1;
}

/* By the rows first, then by run.json of each side's first run. */
static size_t differences(const struct comparison *c, struct difference *d) {
    char a[160], b[160];
    size_t count = 0;
    if (c->other_device)
        count = add(d, count, "device", c->a->run[0].rows.row[0].device,
                    c->b->run[0].rows.row[0].device);
    values_of(c->a, COLUMN_fill, a, sizeof a);
    values_of(c->b, COLUMN_fill, b, sizeof b);
    count = add(d, count, "fill", a, b);
    values_of(c->a, COLUMN_cache, a, sizeof a);
    values_of(c->b, COLUMN_cache, b, sizeof b);
    count = add(d, count, "cache", a, b);
    const double x = median_clock(c->a), y = median_clock(c->b);
    if (fabs(x / y - 1) > 0.01) {
        snprintf(a, sizeof a, "%.2f", x);
        snprintf(b, sizeof b, "%.2f", y);
        count = add(d, count, "clock while timing, GHz", a, b);
    }
    const size_t more = environment_differences(
        &c->a->run[0].environment, &c->b->run[0].environment, d + count, MOST_DIFFERENCES - count);
    count += more < MOST_DIFFERENCES - count ? more : MOST_DIFFERENCES - count;
    return count;
}

static const char *known(const char *text) { return *text ? text : "unknown"; }

/* The largest change first within a verdict. */
static int by_interest(const void *x, const void *y) {
    const struct pair *a = *(const struct pair *const *)x, *b = *(const struct pair *const *)y;
    if (a->broken != b->broken) return a->broken ? -1 : 1;
    if (a->effect.verdict != b->effect.verdict)
        return (int)a->effect.verdict - (int)b->effect.verdict;
    const double p = fabs(log(a->effect.ratio)), q = fabs(log(b->effect.ratio));
    if (isnan(p) || isnan(q)) return isnan(p) - isnan(q);
    return (p < q) - (p > q);
}

static const struct pair **ranked(const struct comparison *c) {
    const struct pair **list = malloc((c->partners + 1) * sizeof *list);
    if (!list) abort();
    for (size_t i = 0; i < c->partners; i++) list[i] = &c->pair[i];
    qsort(list, c->partners, sizeof *list, by_interest);
    return list;
}

static const char *verdict_of(const struct pair *p) {
    if (!p->a) return "only in B";
    if (!p->b) return "only in A";
    if (p->broken) return "broken";
    if (p->repaired) return "repaired";
    return isnan(p->effect.ratio) ? "no time" : verdict_names[p->effect.verdict];
}

static bool is_news(const struct pair *p) {
    return p->broken || p->repaired ||
           (!isnan(p->effect.ratio) && p->effect.verdict != VERDICT_SAME);
}

/* What every format says in words. */
static void headline(const struct comparison *c, bool strict, char *text, size_t size) {
    const size_t *n = c->verdicts;
    if (c->partners == 0) {
        snprintf(text, size, "nothing in common");
        return;
    }
    size_t used = (size_t)snprintf(
        text, size, "%s: of %zu rows %zu slower, %zu faster, %zu same, %zu undecidable",
        comparison_word(c, strict), c->partners, n[VERDICT_SLOWER], n[VERDICT_FASTER],
        n[VERDICT_SAME], n[VERDICT_UNDECIDABLE]);
    if (c->broken && used < size)
        used += (size_t)snprintf(text + used, size - used, ", %zu broken", c->broken);
    if (c->repaired && used < size)
        used += (size_t)snprintf(text + used, size - used, ", %zu repaired", c->repaired);
    if (c->untimed && used < size)
        snprintf(text + used, size - used, ", %zu without a time on either side", c->untimed);
}

/* "3.4 %"; what is tenfold is not told further. */
static const char *size_of_change(double x, char text[24]) {
    if (x < 10)
        snprintf(text, 24, "%.1f %%", 100 * x);
    else
        snprintf(text, 24, "more than 1000 %%");
    return text;
}

static void detectable(const struct comparison *c, char *text, size_t size) {
    char half[24], all[24];
    text[0] = '\0';
    if (isnan(c->smallest_half)) return;
    size_t used = (size_t)snprintf(
        text, size,
        "Smallest change this pair could have shown: %s in half of the rows, %s in all of them "
        "(four times out of five).",
        size_of_change(c->smallest_half, half), size_of_change(c->smallest_worst, all));
    if (c->verdicts[VERDICT_UNDECIDABLE] && isfinite(c->hidden) && used < size)
        snprintf(text + used, size - used, " An undecidable row may hide a slowdown of %s.",
                 size_of_change(c->hidden, half));
}

/* Of verdicts that a run of its own could have made; NULL: none. Rows share what runs are assumed to differ by. */
static const char *caution(const struct comparison *c) {
    const size_t changed = c->verdicts[VERDICT_SLOWER] + c->verdicts[VERDICT_FASTER];
    if (c->a->runs > 1 || c->b->runs > 1 || c->other_device || !changed) return NULL;
    return "One run a side: a row that differs from run to run by more than most rows do looks "
           "slower "
           "or faster here. Several runs a side (A1,A2,A3 B1,B2,B3) tell.";
}

/* Percentage of the samples that other work disturbed; NaN: no samples are kept. */
static double disturbed(const struct subject *s) {
    double all = 0, some = 0;
    for (int i = 0; i < s->runs; i++)
        for (size_t j = 0; j < s->run[i].rows.count; j++) {
            const struct series *x = s->run[i].series[j];
            for (size_t k = 0; x && k < x->count; k++) some += x->sample[k].disturbed;
            all += x ? (double)x->count : 0;
        }
    return 100 * some / all;
}

static size_t assumed(const struct comparison *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->partners; i++) n += c->pair[i].judged && c->pair[i].effect.assumed;
    return n;
}

/* ---- table ---- */

static void describe(FILE *f, const char *side, const struct subject *s) {
    const struct environment *e = &s->run[0].environment;
    const struct row *r = &s->run[0].rows.row[0];
    int64_t rounds = 1;
    size_t sampled = 0;
    for (int i = 0; i < s->runs; i++)
        for (size_t j = 0; j < s->run[i].rows.count; j++) {
            if (s->run[i].rows.row[j].round > rounds) rounds = s->run[i].rows.row[j].round;
            sampled += s->run[i].series[j] != NULL;
        }
    fprintf(f, "%s  %s: %s, commit %s, %s; %zu rows", side, s->name, r->device,
            known(environment_fact(e, "program.commit")),
            r->when[0] ? r->when : known(environment_fact(e, "started")), subject_rows(s));
    if (s->runs > 1) fprintf(f, " of %d runs", s->runs);
    if (rounds > 1) fprintf(f, ", %" PRId64 " rounds", rounds);
    fprintf(f, ", %s\n",
            sampled == 0                ? "no samples kept: intervals from the rows"
            : sampled < subject_rows(s) ? "some with samples"
                                        : "with samples");
}

static void table_head(FILE *f) {
    fprintf(f, "\n%-11s %-38s %-19s %3s %-4s %9s %9s %7s %-15s  %s\n", "verdict", "op.impl.dtype",
            "shape", "thr", "at", "time A", "time B", "speed B", "95 % interval", "note");
}

static void table_pair(FILE *f, const struct pair *p) {
    char name[128], shape[96], a[32] = "", b[32] = "", interval[40] = "", change[16];
    const struct row *r = p->a ? p->a : p->b;
    pair_name(p, name, sizeof name);
    format_shape(r, shape, sizeof shape);
    if (!isnan(p->effect.ratio)) {
        format_time(exp(p->effect.a), a, sizeof a);
        format_time(exp(p->effect.b), b, sizeof b);
    }
    if (p->judged)
        snprintf(interval, sizeof interval, "%.3f to %.3f", p->effect.low, p->effect.high);
    percent(p->effect.ratio, change, sizeof change);
    fprintf(f, "%-11s %-38s %-19s %3" PRId64 " %-4s %9s %9s %7s %-15s  %s\n", verdict_of(p), name,
            shape, r->threads, r->level, a, b, change, interval, p->why);
}

static void print_means(FILE *f, const struct comparison *c, bool markdown) {
    size_t count;
    struct mean *mean = comparison_means(c, &count);
    if (count && mean[count - 1].rows) {
        if (markdown)
            fputs("\n| family | dtype | rows | geometric mean | least | greatest |\n"
                  "|---|---|--:|--:|--:|--:|\n",
                  f);
        else
            fprintf(f, "\nSpeed of B relative to A, geometric means\n");
        for (size_t i = 0; i < count; i++)
            fprintf(f,
                    markdown ? "| %s | %s | %zu | %.3f | %.3f | %.3f |\n"
                             : "  %-16s %-9s %4zu rows  %.3f  (%.3f to %.3f)\n",
                    mean[i].family, mean[i].dtype, mean[i].rows, mean[i].ratio, mean[i].low,
                    mean[i].high);
    }
    free(mean);
}

static void print_table(FILE *f, const struct comparison *c, const struct print_options *how) {
    struct difference d[MOST_DIFFERENCES];
    char text[320];
    const size_t differing = differences(c, d);
    describe(f, "A", c->a);
    describe(f, "B", c->b);
    if (differing) fprintf(f, "\nWhat differs around them\n");
    for (size_t i = 0; i < differing; i++)
        fprintf(f, "  %-24s %s -> %s\n", d[i].name, known(d[i].a), known(d[i].b));
    if (!differing)
        fprintf(f, "\nNothing is known to differ around them%s\n",
                c->a->run[0].environment.count && c->b->run[0].environment.count
                    ? "."
                    : ": a run.json is missing.");
    fprintf(f, "\n%zu rows in common; %zu only in A, %zu only in B%s\n", c->partners, c->only_a,
            c->only_b,
            (c->only_a || c->only_b) && !how->unmatched ? " (--unmatched lists them)" : "");
    if (!one_device(c) && c->partners) fprintf(f, "The devices differ: not part of the key.\n");

    const struct pair **list = ranked(c);
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < c->partners; i++) {
        if (!how->all && !is_news(list[i])) continue;
        if (!how->all && shown == MOST_LINES) {
            left++;
            continue;
        }
        if (shown++ == 0) table_head(f);
        table_pair(f, list[i]);
    }
    if (left) fprintf(f, "... and %zu more (--all shows every row)\n", left);
    free(list);
    for (size_t i = c->partners; how->unmatched && i < c->count; i++) {
        if (i == c->partners) table_head(f);
        table_pair(f, &c->pair[i]);
    }
    print_means(f, c, false);
    headline(c, how->strict, text, sizeof text);
    fprintf(f, "\nB is %s.\n", text);
    detectable(c, text, sizeof text);
    if (*text) fprintf(f, "%s\n", text);
    if (caution(c)) fprintf(f, "%s\n", caution(c));
    const double of_a = disturbed(c->a), of_b = disturbed(c->b);
    if (of_a > 0 || of_b > 0)
        fprintf(f,
                "Samples during which other work took a CPU are left out where enough are left: "
                "%.0f %% of A's, %.0f %% of B's.\n",
                of_a, of_b);
    const size_t guessed = assumed(c);
    if (guessed)
        fprintf(f,
                "In %zu rows noise between runs is assumed to be %.3g %%: neither side has rounds "
                "(bench --rounds) or runs to show it.\n",
                guessed, 100 * c->doubt.noise);
}

/* ---- Markdown ---- */

/* Text that a table may hold. */
static void md_text(FILE *f, const char *text) {
    for (; *text; text++) {
        if (strchr("|\\`*_<>", *text)) fputc('\\', f);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
}

/* The same between backquotes, where only a bar can be escaped. */
static void md_code(FILE *f, const char *text) {
    fputc('`', f);
    for (; *text; text++) {
        if (*text == '|') fputc('\\', f);
        fputc((unsigned char)*text < ' ' ? ' ' : *text == '`' ? '\'' : *text, f);
    }
    fputc('`', f);
}

static void md_pairs(FILE *f, const struct pair *const *list, size_t count, bool news,
                     size_t most) {
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pair *p = list[i];
        char name[128], shape[96], a[32] = "", b[32] = "", change[16];
        if (is_news(p) != news) continue;
        if (shown++ == 0)
            fputs("\n| verdict | row | shape | threads | A | B | speed of B | 95 % interval | note "
                  "|\n"
                  "|---|---|---|--:|--:|--:|--:|---|---|\n",
                  f);
        if (shown > most) continue;
        const struct row *r = p->a ? p->a : p->b;
        pair_name(p, name, sizeof name);
        format_shape(r, shape, sizeof shape);
        if (!isnan(p->effect.ratio)) {
            format_time(exp(p->effect.a), a, sizeof a);
            format_time(exp(p->effect.b), b, sizeof b);
        }
        percent(p->effect.ratio, change, sizeof change);
        const bool bad =
            p->broken || (!isnan(p->effect.ratio) && p->effect.verdict == VERDICT_SLOWER);
        fprintf(f, "| %s%s%s | ", bad ? "**" : "", verdict_of(p), bad ? "**" : "");
        md_code(f, name);
        fputs(" | ", f);
        md_text(f, shape);
        fprintf(f, " | %" PRId64 " | %s | %s | %s | ", r->threads, a, b, change);
        if (p->judged) fprintf(f, "%.3f to %.3f", p->effect.low, p->effect.high);
        fputs(" | ", f);
        md_text(f, p->why);
        fputs(" |\n", f);
    }
    if (shown > most) fprintf(f, "\n... and %zu more.\n", shown - most);
}

static void print_md(FILE *f, const struct comparison *c, const struct print_options *how) {
    struct difference d[MOST_DIFFERENCES];
    char text[320];
    const size_t differing = differences(c, d);
    const struct pair **list = ranked(c);
    headline(c, how->strict, text, sizeof text);
    fputs("### roofline: ", f);
    md_text(f, c->b->name);
    fputs(" against ", f);
    md_text(f, c->a->name);
    fprintf(f, "\n\n**B is %s.** ", text);
    detectable(c, text, sizeof text);
    fprintf(f, "%s\n", text);
    if (caution(c)) fprintf(f, "\n%s\n", caution(c));
    if (differing) fputs("\n| differs | A | B |\n|---|---|---|\n", f);
    for (size_t i = 0; i < differing; i++) {
        fputs("| ", f);
        md_text(f, d[i].name);
        fputs(" | ", f);
        md_text(f, known(d[i].a));
        fputs(" | ", f);
        md_text(f, known(d[i].b));
        fputs(" |\n", f);
    }
    md_pairs(f, list, c->partners, true, how->all ? SIZE_MAX : MOST_LINES);
    print_means(f, c, true);
    if (how->all) {
        fputs("\n<details><summary>Rows that are the same</summary>\n", f);
        md_pairs(f, list, c->partners, false, SIZE_MAX);
        fputs("\n</details>\n", f);
    }
    if (how->unmatched && c->only_a + c->only_b) {
        fputs("\n| only in | row | shape | threads |\n|---|---|---|--:|\n", f);
        for (size_t i = c->partners; i < c->count; i++) {
            const struct row *r = c->pair[i].a ? c->pair[i].a : c->pair[i].b;
            char name[128], shape[96];
            pair_name(&c->pair[i], name, sizeof name);
            format_shape(r, shape, sizeof shape);
            fprintf(f, "| %s | ", c->pair[i].a ? "A" : "B");
            md_code(f, name);
            fputs(" | ", f);
            md_text(f, shape);
            fprintf(f, " | %" PRId64 " |\n", r->threads);
        }
    }
    fprintf(f, "\n%zu rows in common, %zu only in A, %zu only in B.\n", c->partners, c->only_a,
            c->only_b);
    free(list);
}

/* ---- CSV ---- */

static void csv_head(FILE *f) {
    fputs("a,b,", f);
    row_print_key_header(f);
    fputs(",verdict,ratio,ratio_low,ratio_high,p_adjusted,smallest,time_a_s,time_b_s,replicates_a,"
          "replicates_b,placement,note\n",
          f);
}

static void csv_cell(FILE *f, double x) {
    fputc(',', f);
    csv_print_real(f, x);
}

static void print_csv(FILE *f, const struct comparison *c, const struct print_options *how) {
    const size_t count = how->unmatched ? c->count : c->partners;
    for (size_t i = 0; i < count; i++) {
        const struct pair *p = &c->pair[i];
        const struct row *r = p->a ? p->a : p->b;
        const struct effect *e = &p->effect;
        const bool timed = !isnan(e->ratio);
        csv_print_text(f, c->a->name);
        fputc(',', f);
        csv_print_text(f, c->b->name);
        fputc(',', f);
        row_print_key(f, r);
        fprintf(f, ",%s", verdict_of(p));
        csv_cell(f, e->ratio);
        csv_cell(f, p->judged ? e->low : NAN);
        csv_cell(f, p->judged ? e->high : NAN);
        csv_cell(f, p->judged ? e->p : NAN);
        csv_cell(f, p->judged ? e->smallest : NAN);
        csv_cell(f, timed ? exp(e->a) : NAN);
        csv_cell(f, timed ? exp(e->b) : NAN);
        fprintf(f, ",%zu,%zu,", p->replicates_a, p->replicates_b);
        csv_print_text(f, r->placement);
        fputc(',', f);
        csv_print_text(f, p->why);
        fputc('\n', f);
    }
}

/* ---- JSON ---- */

static void json_number(FILE *f, const char *name, double x) {
    fprintf(f, ", \"%s\": ", name);
    if (isfinite(x))
        csv_print_real(f, x);
    else
        fputs("null", f);
}

static void json_member(FILE *f, const char *name, const char *text) {
    fprintf(f, ", \"%s\": ", name);
    json_text(f, text);
}

static void json_key(FILE *f, const struct row *r) {
    const char *comma = "";
#define KEY_STR(name)                       \
    fprintf(f, "%s\"%s\": ", comma, #name); \
    json_text(f, r->name);
#define KEY_INT(name) \
    if (r->name >= 0) fprintf(f, "%s\"%s\": %" PRId64, comma, #name, r->name);
#define JSON_KEY(type, name) KEY_##type(name) comma = ", ";
#define JSON_VAL(type, name)
#define COL(kind, type, name) JSON_##kind(type, name)
#include "../columns.def"
#undef COL
}

static void print_json(FILE *f, const struct comparison *c, const struct print_options *how) {
    struct difference d[MOST_DIFFERENCES];
    size_t count;
    const size_t differing = differences(c, d);
    fputs("    {\"a\": ", f);
    json_text(f, c->a->name);
    json_member(f, "b", c->b->name);
    json_member(f, "verdict", comparison_word(c, how->strict));
    fprintf(f, ", \"rows\": %zu, \"only_a\": %zu, \"only_b\": %zu", c->partners, c->only_a,
            c->only_b);
    for (int v = 0; v < VERDICT_COUNT; v++)
        fprintf(f, ", \"%s\": %zu", verdict_names[v], c->verdicts[v]);
    fprintf(f, ", \"broken\": %zu, \"repaired\": %zu, \"untimed\": %zu", c->broken, c->repaired,
            c->untimed);
    json_number(f, "threshold", c->doubt.threshold);
    json_number(f, "confidence", c->doubt.confidence);
    json_number(f, "smallest_in_half", c->smallest_half);
    json_number(f, "smallest_in_all", c->smallest_worst);
    fputs(",\n     \"environment\": [", f);
    for (size_t i = 0; i < differing; i++) {
        fprintf(f, "%s{\"name\": ", i ? ", " : "");
        json_text(f, d[i].name);
        json_member(f, "a", d[i].a);
        json_member(f, "b", d[i].b);
        fputc('}', f);
    }
    fputs("],\n     \"means\": [", f);
    struct mean *mean = comparison_means(c, &count);
    for (size_t i = 0; i < count; i++) {
        fprintf(f, "%s{\"family\": \"%s\"", i ? ", " : "", mean[i].family);
        json_member(f, "dtype", mean[i].dtype);
        fprintf(f, ", \"rows\": %zu", mean[i].rows);
        json_number(f, "ratio", mean[i].ratio);
        json_number(f, "least", mean[i].rows ? mean[i].low : NAN);
        json_number(f, "greatest", mean[i].rows ? mean[i].high : NAN);
        fputc('}', f);
    }
    free(mean);
    fputs("],\n     \"pairs\": [", f);
    const size_t listed = how->unmatched ? c->count : c->partners;
    for (size_t i = 0; i < listed; i++) {
        const struct pair *p = &c->pair[i];
        const struct effect *e = &p->effect;
        fprintf(f, "%s\n      {\"key\": {", i ? "," : "");
        json_key(f, p->a ? p->a : p->b);
        fputc('}', f);
        json_member(f, "verdict", verdict_of(p));
        json_number(f, "ratio", e->ratio);
        json_number(f, "low", p->judged ? e->low : NAN);
        json_number(f, "high", p->judged ? e->high : NAN);
        json_number(f, "p_adjusted", p->judged ? e->p : NAN);
        json_number(f, "smallest", p->judged ? e->smallest : NAN);
        json_number(f, "time_a_s", isnan(e->ratio) ? NAN : exp(e->a));
        json_number(f, "time_b_s", isnan(e->ratio) ? NAN : exp(e->b));
        json_member(f, "note", p->why);
        fputc('}', f);
    }
    fputs("]}", f);
}

void print_comparisons(FILE *f, const struct comparison *c, size_t count,
                       const struct print_options *how) {
    if (how->format == PRINT_CSV) csv_head(f);
    if (how->format == PRINT_JSON) fprintf(f, "{\"schema\": 1, \"comparisons\": [\n");
    for (size_t i = 0; i < count; i++) {
        switch (how->format) {
        case PRINT_CSV:
            print_csv(f, &c[i], how);
            break;
        case PRINT_JSON:
            if (i) fputs(",\n", f);
            print_json(f, &c[i], how);
            break;
        case PRINT_MD:
            if (i) fputc('\n', f);
            print_md(f, &c[i], how);
            break;
        default:
            if (i) fputs("\n----\n\n", f);
            print_table(f, &c[i], how);
            break;
        }
    }
    if (how->format == PRINT_JSON) fputs("\n]}\n", f);
}
