/* page.c - the page: head, tiles, findings, sections, and several runs beside each other. */
#define _GNU_SOURCE
#include "report.h"

#include "../chart_comparison.h"
#include "../embedded.h"
#include "findings.h"
#include "html.h"
#include "version.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const struct report_folder *folder_of(const struct report *r, size_t run) {
    return &r->folder[r->of_run[run]];
}

/* The model's name where run.json is of this device, else the device's. */
static const char *model_of(const struct report *r, size_t run) {
    const struct infos *x = &folder_of(r, run)->infos;
    const char *model = infos_get(x, "machine.model");
    const bool same = strcmp(infos_get(x, "machine.device"), r->runs.run[run].device) == 0;
    return *model && same ? model : r->runs.run[run].device;
}

/* ---- tiles and findings ---- */

static void tile(FILE *f, const char *value, const char *unit, const char *what) {
    fputs("<div class=\"tile\"><span class=\"value\">", f);
    html_text(f, value);
    if (*unit) fprintf(f, " <small>%s</small>", unit);
    fputs("</span><span class=\"what\">", f);
    html_text(f, what);
    fputs("</span></div>\n", f);
}

static void tiles(const struct section *s) {
    const struct chart_run *run = &s->report->runs.run[s->run];
    const struct ceiling *dram = finding_dram(run), *top = finding_arithmetic(run);
    const struct row *product = finding_product(run);
    const struct row_counts c = finding_counts(&run->bench);
    char value[48], what[320];
    fputs("<div class=\"tiles\">\n", s->f);
    if (dram) {
        snprintf(what, sizeof what, "DRAM, %s, %" PRId64 " thread%s", dram->pattern, dram->threads,
                 dram->threads == 1 ? "" : "s");
        tile(s->f, number_text(dram->rate, 3, value), "GB/s", what);
    }
    if (top) {
        snprintf(what, sizeof what, "multiply-adds in %s, %s", top->name, top->impl);
        tile(s->f, number_text(top->rate, 3, value), "GFLOP/s", what);
    }
    if (product) {
        char shape[64];
        chart_shape_text(product, shape, sizeof shape);
        snprintf(what, sizeof what, "of the ceiling: %s %s, %s", product->op, product->dtype,
                 shape);
        tile(s->f, number_text(100 * product->gflop_s / chart_roof(run, product), 2, value), "%",
             what);
    }
    if (c.all) {
        snprintf(value, sizeof value, "%zu", c.ok);
        if (c.bad)
            snprintf(what, sizeof what, "rows verified and timed; %zu wrong or failed", c.bad);
        else
            snprintf(what, sizeof what, "rows verified and timed, none wrong");
        tile(s->f, value, "", what);
    }
    fputs("</div>\n", s->f);
}

static void print_findings(FILE *f, const struct findings *x) {
    fputs("<ul class=\"findings\">\n", f);
    for (size_t i = 0; i < x->count; i++) {
        fprintf(f, "<li%s><b>", x->item[i].kind == FINDING_WARNING ? " class=\"warning\"" : "");
        html_text(f, x->item[i].lead);
        fputs("</b> ", f);
        html_text(f, x->item[i].text);
        fputs("</li>\n", f);
    }
    fputs("</ul>\n", f);
}

void section_findings(const struct section *s) {
    struct findings found;
    findings_of_run(&found, &s->report->runs.run[s->run], &folder_of(s->report, s->run)->claims);
    section_begin(s, "findings", "Findings");
    tiles(s);
    print_findings(s->f, &found);
    section_end(s);
}

static int sections_of_run(const struct section *s) {
    section_findings(s);
    if (s->report->no_gnuplot)
        fputs("<p class=\"note\">Made without gnuplot: the charts are missing.</p>\n", s->f);
    if (section_ceilings(s) || section_rooflines(s) || section_products(s) || section_streams(s) ||
        section_vendors(s) || section_effects(s) || section_sustained(s) || section_training(s) ||
        section_memory(s))
        return -1;
    section_claims(s);
    section_probes(s);
    section_rows(s);
    section_environment(s);
    section_reproduce(s);
    return 0;
}

/* ---- several runs ---- */

static void swatch(FILE *f, const struct chart_run *run) {
    fprintf(f, "<span class=\"swatch\" style=\"background:#%06x\"></span>", run->colour);
}

static void run_header(const struct section *s, const char *first) {
    const struct chart_runs *runs = &s->report->runs;
    fprintf(s->f, "<thead><tr><th scope=\"col\">%s</th>", first);
    for (size_t i = 0; i < runs->count; i++) {
        fputs("<th scope=\"col\" class=\"n\">", s->f);
        swatch(s->f, &runs->run[i]);
        fprintf(s->f, "<a href=\"#r%zu\">", i + 1);
        html_text(s->f, runs->run[i].label);
        fputs("</a></th>", s->f);
    }
    fputs("</tr></thead>\n<tbody>\n", s->f);
}

static void begin_side_by_side(const struct section *s, const char *caption) {
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", s->f);
    html_text(s->f, caption);
    fputs("\"><table class=\"side\"><caption><span>", s->f);
    html_text(s->f, caption);
    fputs("</span></caption>", s->f);
}

static void text_line(const struct section *s, const char *what, const char *key) {
    const struct report *r = s->report;
    bool any = false;
    for (size_t i = 0; i < r->runs.count; i++)
        any = any || *infos_get(&folder_of(r, i)->infos, key);
    if (!any) return;
    fprintf(s->f, "<tr><th scope=\"row\">%s</th>", what);
    for (size_t i = 0; i < r->runs.count; i++) {
        fputs("<td class=\"n wrap\">", s->f);
        html_name(s->f, infos_get(&folder_of(r, i)->infos, key));
        fputs("</td>", s->f);
    }
    fputs("</tr>\n", s->f);
}

static void number_line(const struct section *s, const char *what, const double *x, int digits) {
    bool any = false;
    for (size_t i = 0; i < s->report->runs.count; i++) any = any || isfinite(x[i]);
    if (!any) return;
    fprintf(s->f, "<tr><th scope=\"row\">%s</th>", what);
    for (size_t i = 0; i < s->report->runs.count; i++) html_number(s->f, x[i], digits);
    fputs("</tr>\n", s->f);
}

static void overview(const struct section *s) {
    const struct report *r = s->report;
    double x[CHART_MAX_RUNS];
    char what[96];
    begin_side_by_side(s, "The runs");
    run_header(s, "What");
    fputs("<tr><th scope=\"row\">Machine</th>", s->f);
    for (size_t i = 0; i < r->runs.count; i++) {
        fputs("<td class=\"n wrap\">", s->f);
        html_text(s->f, model_of(r, i));
        fputs("</td>", s->f);
    }
    fputs("</tr>\n<tr><th scope=\"row\">Date</th>", s->f);
    for (size_t i = 0; i < r->runs.count; i++) {
        fputs("<td class=\"n\">", s->f);
        html_text(s->f, r->runs.run[i].when);
        fputs("</td>", s->f);
    }
    fputs("</tr>\n", s->f);
    text_line(s, "Commit", "program.commit");
    text_line(s, "Instruction set", "machine.instruction_set");
    for (size_t i = 0; i < r->runs.count; i++) x[i] = (double)chart_threads(&r->runs.run[i]);
    number_line(s, "Threads", x, 6);
    for (size_t i = 0; i < r->runs.count; i++) {
        const struct ceiling *c = finding_dram(&r->runs.run[i]);
        x[i] = c && strcmp(c->pattern, "read") == 0 ? c->rate : NAN;
    }
    number_line(s, "DRAM, read, GB/s", x, 3);
    for (size_t i = 0; i < r->runs.count; i++) {
        const struct chart_run *run = &r->runs.run[i];
        const struct ceiling *c = ceilings_bandwidth(&run->roofs, "DRAM", chart_threads(run), NULL);
        x[i] = c ? c->rate : NAN;
    }
    number_line(s, "DRAM, best pattern, GB/s", x, 3);
    for (int t = 0; t < DTYPE_COUNT; t++) {
        for (size_t i = 0; i < r->runs.count; i++) {
            const struct chart_run *run = &r->runs.run[i];
            const struct ceiling *c =
                ceilings_compute(&run->roofs, dtypes[t].name, chart_threads(run));
            x[i] = c ? c->rate : NAN;
        }
        snprintf(what, sizeof what, "Multiply-adds in %s, GFLOP/s", dtypes[t].name);
        number_line(s, what, x, 4);
    }
    static const char *const status[] = {"Rows ok", "Rows refused", "Rows wrong or failed"};
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < r->runs.count; i++) {
            const struct row_counts c = finding_counts(&r->runs.run[i].bench);
            x[i] = (double)(k == 0 ? c.ok : k == 1 ? c.refused : c.bad);
        }
        number_line(s, status[k], x, 9);
    }
    html_table_end(s->f);
    fputs(
        "<p class=\"note\">Only proven ceilings are in this table; an empty field is unknown, not "
        "zero.</p>\n",
        s->f);
}

/* What the environments do not have in common explains most of what the numbers do not. */
static void differences(const struct section *s) {
    const struct report *r = s->report;
    const struct infos *first = NULL;
    size_t lines = 0;
    for (size_t i = 0; i < r->runs.count && !first; i++)
        if (folder_of(r, i)->infos.count) first = &folder_of(r, i)->infos;
    if (!first) return;
    begin_side_by_side(s, "Where the environments differ (run.json)");
    run_header(s, "What");
    for (size_t k = 0; k < first->info[0].count; k++) {
        const char *key = first->info[0].pair[k].key;
        bool same = true;
        for (size_t i = 0; i < r->runs.count; i++)
            same = same &&
                   (!folder_of(r, i)->infos.count || strcmp(infos_get(&folder_of(r, i)->infos, key),
                                                            first->info[0].pair[k].value) == 0);
        if (same || strcmp(key, "started") == 0) continue;
        fputs("<tr><th scope=\"row\">", s->f);
        html_name(s->f, key);
        fputs("</th>", s->f);
        for (size_t i = 0; i < r->runs.count; i++) {
            const char *value = infos_get(&folder_of(r, i)->infos, key);
            fputs("<td class=\"n wrap\">", s->f);
            html_text(s->f, *value ? value : folder_of(r, i)->infos.count ? "" : "no run.json");
            fputs("</td>", s->f);
        }
        fputs("</tr>\n", s->f);
        lines++;
    }
    if (!lines) fprintf(s->f, "<tr><td colspan=\"%zu\">Nowhere.</td></tr>\n", r->runs.count + 1);
    html_table_end(s->f);
}

static int charts_of_all(const struct section *s, const char *prefix, const char *title,
                         const char *says) {
    const size_t all = s->report->runs.count;
    char name[64];
    for (int t = 0; t < DTYPE_COUNT; t++) {
        snprintf(name, sizeof name, "%s%s", prefix, dtypes[t].name);
        if (!section_has_chart(s, all, name)) continue;
        fprintf(s->f, "<h3>%s</h3>\n<p>%s</p>\n", title, says);
        return section_charts_by_dtype(s, all, prefix);
    }
    return 0;
}

int section_comparison(const struct section *s) {
    const struct report *r = s->report;
    const size_t all = r->runs.count;
    char prefix[64], title[96];
    section_begin(s, "comparison", "Side by side");
    overview(s);
    differences(s);
    for (size_t i = 1; i < r->runs.count; i++) {
        struct findings found;
        if (findings_of_pair(&found, &r->runs.run[0], &r->runs.run[i])) return -1;
        fputs("<h3>", s->f);
        html_textf(s->f, "%s against %s", r->runs.run[i].label, r->runs.run[0].label);
        fputs("</h3>\n", s->f);
        print_findings(s->f, &found);
    }
    if (charts_of_all(
            s, "overlay_", "Rooflines in one",
            "DRAM bandwidth and the fastest arithmetic of each run, and what operations "
            "reach. A device has one colour everywhere; runs of one device differ in their "
            "dashes."))
        return -1;
    if (section_has_chart(s, all, "sweep_read") || section_has_chart(s, all, "ladder_devices")) {
        fputs("<h3>Ceilings</h3>\n<div class=\"pair\">\n", s->f);
        if (section_chart(s, all, "sweep_read") || section_chart(s, all, "ladder_devices"))
            return -1;
        fputs("</div>\n", s->f);
    }
    for (int i = 0; i < OP_COUNT; i++) {
        if (ops[i].sweep != SWEEP_cubes) continue;
        snprintf(prefix, sizeof prefix, "sweep_%s_", ops[i].name);
        snprintf(title, sizeof title, "%s over size", ops[i].name);
        if (charts_of_all(s, prefix, title, "The fastest implementation of each run.")) return -1;
    }
    if (charts_of_all(
            s, "ratio_", "Ratios of the first two",
            "Equal problems, the fastest implementation of each; right of 1 the second run "
            "is faster. An error bar spans the intervals of both medians."))
        return -1;
    section_end(s);
    return 0;
}

/* ---- the page ---- */

static void print_head(FILE *f, const struct report *r) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
          "<meta name=\"generator\" content=\"roofline " ROOFLINE_VERSION "\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>Roofline report: ",
          f);
    for (size_t i = 0; i < r->runs.count; i++) {
        fputs(i ? ", " : "", f);
        html_text(f, r->runs.run[i].label);
    }
    fprintf(f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", embedded_file("report.css"));
}

static void print_places(FILE *f, const struct report *r, const char *label, const char *class) {
    fprintf(f, "<nav class=\"%s\" aria-label=\"%s\"><ul>\n", class, label);
    for (size_t i = 0; i < r->places; i++) {
        fprintf(f, "<li><a href=\"#%s\">", r->place[i].id);
        html_text(f, r->place[i].title);
        fputs("</a></li>\n", f);
    }
    fputs("</ul></nav>\n", f);
}

static void add_place(struct report *r, const char *id, const char *title) {
    if (r->places == REPORT_MAX_PLACES) return;
    snprintf(r->place[r->places].id, sizeof r->place->id, "%s", id);
    snprintf(r->place[r->places++].title, sizeof r->place->title, "%s", title);
}

static void fact(FILE *f, const char *what, const char *value) {
    if (!*value) return;
    fprintf(f, "<div><dt>%s</dt><dd>", what);
    html_text(f, value);
    fputs("</dd></div>\n", f);
}

static void print_facts(FILE *f, const struct report *r, size_t run) {
    const struct infos *x = &folder_of(r, run)->infos;
    const struct chart_run *c = &r->runs.run[run];
    char threads[48] = "";
    if (chart_threads(c) > 0) snprintf(threads, sizeof threads, "%" PRId64, chart_threads(c));
    fputs("<dl class=\"facts\">\n", f);
    fact(f, "Device", c->device);
    fact(f, "Date", c->when);
    fact(f, "Commit", *infos_get(x, "program.commit") ? infos_get(x, "program.commit") : c->commit);
    fact(f, "Threads", threads);
    fact(f, "Instruction set", infos_get(x, "machine.instruction_set"));
    fact(f, "Driver", infos_get(x, "machine.driver"));
    fact(f, "System", infos_get(x, "machine.system"));
    fact(f, "Compiler", infos_get(x, "program.compiler"));
    if (strcmp(infos_get(x, "machine.virtual_machine"), "yes") == 0)
        fact(f, "Virtual machine", "yes: the host may move its CPUs");
    fputs("</dl>\n", f);
}

/* One run of several: its own list of places comes before what it lists. */
static int print_run(FILE *f, struct report *r, size_t run) {
    char id[32], *body = NULL;
    size_t size = 0;
    int status = -1;
    snprintf(id, sizeof id, "r%zu-", run + 1);
    FILE *text = open_memstream(&body, &size);
    if (!text) {
        fprintf(stderr, "roofline: no memory for a report\n");
        return -1;
    }
    const struct section s = {text, r, run, id, 3};
    r->places = 0;
    status = sections_of_run(&s);
    fclose(text);
    fprintf(f, "<section class=\"run\" id=\"r%zu\">\n<h2>", run + 1);
    swatch(f, &r->runs.run[run]);
    html_text(f, r->runs.run[run].label);
    fputs("</h2>\n", f);
    print_facts(f, r, run);
    print_places(f, r, "Parts of this run", "inner");
    fwrite(body, 1, size, f);
    fputs("</section>\n", f);
    free(body);
    return status;
}

static int print_several(FILE *f, struct report *r) {
    const struct section s = {f, r, 0, "", 2};
    fprintf(f, "<header><h1>Roofline report: %zu runs</h1></header>\n", r->runs.count);
    r->places = 0;
    add_place(r, "comparison", "Side by side");
    for (size_t i = 0; i < r->runs.count; i++) {
        char id[32];
        snprintf(id, sizeof id, "r%zu", i + 1);
        add_place(r, id, r->runs.run[i].label);
    }
    print_places(f, r, "Contents", "outer");
    fputs("<main>\n", f);
    if (section_comparison(&s)) return -1;
    for (size_t i = 0; i < r->runs.count; i++)
        if (print_run(f, r, i)) return -1;
    return 0;
}

static int print_single(FILE *f, struct report *r) {
    char *body = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&body, &size);
    if (!text) {
        fprintf(stderr, "roofline: no memory for a report\n");
        return -1;
    }
    const struct section s = {text, r, 0, "", 2};
    r->places = 0;
    const int status = sections_of_run(&s);
    fclose(text);
    fputs("<header><p class=\"kind\">Roofline report</p><h1>", f);
    html_text(f, model_of(r, 0));
    fputs("</h1>\n", f);
    print_facts(f, r, 0);
    fputs("</header>\n", f);
    print_places(f, r, "Contents", "outer");
    fputs("<main>\n", f);
    fwrite(body, 1, size, f);
    free(body);
    return status;
}

int report_print(FILE *f, struct report *r) {
    print_head(f, r);
    if (r->runs.count > 1 ? print_several(f, r) : print_single(f, r)) return -1;
    fputs("</main>\n<footer><p>Made by roofline " ROOFLINE_VERSION " (" ROOFLINE_COMMIT
          "). G is 1e9; a multiply-add is 2 FLOPs; bytes are compulsory traffic. Every figure is "
          "worked out from the run's files.</p></footer>\n<script>\n",
          f);
    fputs(embedded_file("report.js"), f);
    fputs("</script>\n</body>\n</html>\n", f);
    return 0;
}
