/* tables.c - what a run's files say, as tables: rows, claims, probes, training, memory, environment. */
#define _GNU_SOURCE
#include "report.h"

#include "../../kernels/model/model.h"

#include "../table.h"
#include "html.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Rows of a table that a phone can still open; beyond that, what is not ok comes first. */
enum { MOST_ROWS = 3000, MOST_RECORDS = 500 };

static const struct chart_run *run_of(const struct section *s) {
    return &s->report->runs.run[s->run];
}

static const struct report_folder *folder_of(const struct section *s) {
    return &s->report->folder[s->report->of_run[s->run]];
}

/* ---- rows ---- */

static bool is_ok(const struct row *r) { return strcmp(r->status, "ok") == 0; }

/* Columns that are there only where rows have something to say in them. */
struct shown {
    bool fill, placement, power, temperature, throttle, counted, vs;
};

static struct shown columns_of(const struct rows *rows) {
    struct shown c = {0};
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->row[i];
        c.fill = c.fill || (*r->fill && strcmp(r->fill, "normal") != 0);
        c.placement = c.placement || *r->placement;
        c.power = c.power || isfinite(r->power_w);
        c.temperature = c.temperature || isfinite(r->temperature_c);
        c.throttle = c.throttle || *r->throttle;
        c.counted = c.counted || isfinite(r->counted_bytes);
        c.vs = c.vs || *r->vs;
    }
    return c;
}

static void print_row(FILE *f, const struct row *r, const struct shown *c) {
    char text[96], number[48];
    const bool refused = strcmp(r->status, "refused") == 0 || strcmp(r->status, "no_memory") == 0;
    fputs("<tr><th scope=\"row\">", f);
    html_text(f, r->op);
    fputs("</th>", f);
    html_cell(f, r->impl);
    html_cell(f, r->dtype);
    chart_shape_text(r, text, sizeof text);
    fprintf(f, "<td data-v=\"%s\">", number_text(r->footprint_bytes, 15, number));
    html_text(f, text);
    fputs("</td>", f);
    fputs(*r->reason ? "<td class=\"wrap\" data-v=\"" : "<td data-v=\"", f);
    html_text(f, r->status);
    fprintf(f, "\"><span class=\"status%s\">", is_ok(r) ? " ok" : refused ? "" : " bad");
    html_text(f, r->status);
    fputs("</span> ", f);
    html_text(f, r->reason);
    fputs("</td>", f);
    format_time(r->time_s, text, sizeof text);
    fprintf(f, "<td class=\"n\" data-v=\"%s\">", number_text(r->time_s * 1e9, 6, number));
    html_text(f, text);
    fputs("</td>", f);
    html_number(f, 50 * (r->ci_high_s - r->ci_low_s) / r->time_s, 2);
    html_number(f, r->flops > 0 ? r->gflop_s : NAN, 4);
    html_number(f, r->gbyte_s, 4);
    html_number(f, 100 * r->roof_fraction, 3);
    html_cell(f, r->bound);
    html_cell(f, r->level);
    html_cell(f, r->cache);
    if (c->fill) html_cell(f, r->fill);
    html_number(f, r->threads > 0 ? (double)r->threads : NAN, 4);
    if (c->placement) html_cell(f, r->placement);
    if (c->counted) html_number(f, r->counted_bytes / r->bytes, 3);
    if (c->power) html_number(f, r->power_w, 3);
    if (c->temperature) html_number(f, r->temperature_c, 3);
    if (c->throttle) html_cell(f, r->throttle);
    if (c->vs) {
        html_cell(f, r->vs);
        html_number(f, r->vs_ratio, 4);
        if (isfinite(r->vs_ratio))
            html_cellf(f, "%.3f ... %.3f", r->vs_low, r->vs_high);
        else
            html_cell(f, "");
    }
    fputs("</tr>\n", f);
}

static void rows_table(const struct section *s, const struct rows *rows, const char *caption) {
    const struct shown c = columns_of(rows);
    const char *header[24] = {"Operation", "Implementation", "Format",   "Shape", "Status",
                              "#Time",     "#\xc2\xb1 %",    "#GFLOP/s", "#GB/s", "#% of roof",
                              "Bound by",  "Level",          "Cache"};
    int columns = 13;
    size_t printed = 0;
    if (c.fill) header[columns++] = "Fill";
    header[columns++] = "#Threads";
    if (c.placement) header[columns++] = "Placement";
    if (c.counted) header[columns++] = "#Counted / model bytes";
    if (c.power) header[columns++] = "#W";
    if (c.temperature)
        header[columns++] = "#\xc2\xb0"
                            "C";
    if (c.throttle) header[columns++] = "Throttle";
    if (c.vs) {
        header[columns++] = "In turns with";
        header[columns++] = "#Its time / this";
        header[columns++] = "95 % interval";
    }
    html_table(s->f, "sortable filter", caption, header, columns);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < rows->count && printed < MOST_ROWS; i++) {
            const bool first = rows->count <= MOST_ROWS || !is_ok(&rows->row[i]);
            if (first != (pass == 0)) continue;
            print_row(s->f, &rows->row[i], &c);
            printed++;
        }
    html_table_end(s->f);
    if (printed < rows->count)
        fprintf(
            s->f,
            "<p class=\"note\">%zu of %zu rows, those that are not ok first; the rest is in the "
            "run's CSV files.</p>\n",
            printed, rows->count);
}

void section_rows(const struct section *s) {
    const struct chart_run *run = run_of(s);
    section_begin(s, "rows", "All rows");
    fputs(
        "<p>A row is a trial: verified, then timed until the 95 % interval of the median "
        "(\xc2\xb1) is narrow. The rate is at the median; <i>% of roof</i> compares with what the "
        "measured ceilings allow.</p>\n",
        s->f);
    if (run->bench.count) rows_table(s, &run->bench, "Operations (bench.csv)");
    if (run->folded)
        fprintf(
            s->f,
            "<p class=\"note\">Trials were measured in several rounds: here, in the findings and "
            "in the charts each is the round of the middle time. The %zu others are in "
            "bench.csv, and <code>roofline compare</code> counts them all.</p>\n",
            run->folded);
    if (run->peaks.count) {
        fprintf(s->f, "<details><summary>The %zu rows that the ceilings come from</summary>\n",
                run->peaks.count);
        rows_table(s, &run->peaks, "Ceilings (peaks.csv)");
        fputs("</details>\n", s->f);
    }
    section_end(s);
}

/* ---- files of free columns ---- */

static bool is_number(const char *text) {
    char *end;
    if (!*text) return true;
    const double x = strtod(text, &end);
    return !*end && isfinite(x);
}

static bool ends_in(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A number out of a file: as it stands there when it is short, else rounded. */
static void measured_cell(FILE *f, const char *text) {
    fputs("<td class=\"n\">", f);
    if (strlen(text) > 8 && is_number(text))
        html_textf(f, "%.5g", strtod(text, NULL));
    else
        html_text(f, text);
    fputs("</td>", f);
}

/* Every column that is not empty; bytes as people write them. */
static void csv_table(const struct section *s, const struct csv *c, const char *caption) {
    const char *header[CSV_MAX_COLUMNS];
    char name[CSV_MAX_COLUMNS][64];
    int column[CSV_MAX_COLUMNS], columns = 0;
    bool number[CSV_MAX_COLUMNS];
    for (int k = 0; k < c->columns && c->records; k++) {
        bool any = false;
        number[columns] = true;
        for (size_t i = 0; i < c->records; i++) {
            const char *text = c->cell[i * (size_t)c->columns + (size_t)k];
            any = any || *text;
            number[columns] = number[columns] && is_number(text);
        }
        if (!any || strcmp(c->header[k], "device") == 0) continue;
        snprintf(name[columns], sizeof name[columns], "%s%.60s", number[columns] ? "#" : "",
                 c->header[k] + (c->header[k][0] == '#'));
        header[columns] = name[columns];
        column[columns++] = k;
    }
    if (!columns) return;
    html_table(s->f, "sortable filter", caption, header, columns);
    for (size_t i = 0; i < c->records && i < MOST_RECORDS; i++) {
        fputs("<tr>", s->f);
        for (int k = 0; k < columns; k++) {
            const char *text = c->cell[i * (size_t)c->columns + (size_t)column[k]];
            if (number[k] && *text && ends_in(c->header[column[k]], "bytes")) {
                char words[48], exact[48];
                const double x = strtod(text, NULL);
                format_bytes(x, words, sizeof words);
                fprintf(s->f, "<td class=\"n\" data-v=\"%s\">%s</td>", number_text(x, 16, exact),
                        words);
            } else if (number[k]) {
                measured_cell(s->f, text);
            } else {
                fputs("<td class=\"wrap\">", s->f);
                html_text(s->f, text);
                fputs("</td>", s->f);
            }
        }
        fputs("</tr>\n", s->f);
    }
    html_table_end(s->f);
    if (c->records > MOST_RECORDS)
        fprintf(s->f, "<p class=\"note\">The first %d of %zu records.</p>\n", MOST_RECORDS,
                c->records);
}

static const char *verdict_class(const char *verdict) {
    return strcmp(verdict, "holds") == 0                ? " ok"
           : strncmp(verdict, "does not hold", 13) == 0 ? " bad"
                                                        : "";
}

void section_claims(const struct section *s) {
    static const char *const header[] = {"Claim",     "Says",     "Verdict", "#Predicted",
                                         "#Measured", "Holds if", "Why"};
    const struct csv *c = &folder_of(s)->claims;
    if (csv_column(c, "verdict") < 0 || !c->records) return;
    section_begin(s, "claims", "Claims");
    fputs("<p>What is said of training's costs, predicted and measured here.</p>\n", s->f);
    html_table(s->f, "sortable", "Claims and their verdicts (claims.csv)", header, COUNT(header));
    for (size_t i = 0; i < c->records && i < MOST_RECORDS; i++) {
        const char *verdict = csv_get(c, i, "verdict"), *why = csv_get(c, i, "why");
        const char *predicted = csv_get(c, i, "predicted"), *measured = csv_get(c, i, "measured");
        fputs("<tr><th scope=\"row\">", s->f);
        html_text(s->f, csv_get(c, i, "claim"));
        fputs("</th><td class=\"wrap\">", s->f);
        html_text(s->f, csv_get(c, i, "says"));
        fprintf(s->f, "</td><td><span class=\"status%s\">", verdict_class(verdict));
        html_text(s->f, verdict);
        fputs("</span></td>", s->f);
        measured_cell(s->f, predicted);
        measured_cell(s->f, measured);
        fputs("<td class=\"wrap\">", s->f);
        html_text(s->f, csv_get(c, i, "holds_if"));
        fputs("</td><td class=\"wrap\">", s->f);
        html_text(s->f, *why ? why : csv_get(c, i, "model"));
        fputs("</td></tr>\n", s->f);
    }
    html_table_end(s->f);
    section_end(s);
}

void section_probes(const struct section *s) {
    const struct csv *c = &folder_of(s)->probes;
    if (!c->records) return;
    section_begin(s, "probes", "Probes");
    fputs(
        "<p>Facts of the device that are no operation: latencies, clocks, launches, copies.</p>\n",
        s->f);
    csv_table(s, c, "Probes (probes.csv)");
    section_end(s);
}

/* ---- training ---- */

enum { LOSS_WIDTH = 800, LOSS_HEIGHT = 300, LOSS_LEFT = 70, LOSS_FOOT = 40, LOSS_POINTS = 600 };

struct curve {
    double *x, *y;
    size_t count;
    double x_min, x_max, y_min, y_max;
};

/* The finite points of two columns; 0, or -1 without memory. */
static int curve_of(const struct csv *c, const char *x, const char *y, struct curve *out) {
    *out = (struct curve){.x = malloc((c->records + 1) * sizeof *out->x),
                          .y = malloc((c->records + 1) * sizeof *out->y),
                          .x_min = INFINITY,
                          .x_max = -INFINITY,
                          .y_min = INFINITY,
                          .y_max = -INFINITY};
    if (!out->x || !out->y) return -1;
    for (size_t i = 0; i < c->records; i++) {
        const char *u = csv_get(c, i, x), *v = csv_get(c, i, y);
        if (!*u || !*v || !is_number(u) || !is_number(v)) continue;
        const double a = strtod(u, NULL), b = strtod(v, NULL);
        out->x[out->count] = a;
        out->y[out->count++] = b;
        out->x_min = fmin(out->x_min, a), out->x_max = fmax(out->x_max, a);
        out->y_min = fmin(out->y_min, b), out->y_max = fmax(out->y_max, b);
    }
    return 0;
}

static void loss_label(FILE *f, double x, double y, const char *anchor, double value) {
    char text[48];
    fprintf(
        f,
        "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\" fill=\"#333\" font-size=\"14\">%s</text>\n",
        x, y, anchor, number_text(value, 3, text));
}

static void loss_chart(const struct section *s, const struct curve *c, const char *x,
                       const char *y) {
    const double width = LOSS_WIDTH - LOSS_LEFT - 20, height = LOSS_HEIGHT - LOSS_FOOT - 20;
    const double span_x = c->x_max > c->x_min ? c->x_max - c->x_min : 1;
    const double span_y = c->y_max > c->y_min ? c->y_max - c->y_min : 1;
    const size_t stride = c->count / LOSS_POINTS + 1;
    fprintf(s->f,
            "<figure><div class=\"chart\" role=\"region\" tabindex=\"0\" aria-label=\"Loss\">"
            "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"",
            LOSS_WIDTH, LOSS_HEIGHT, LOSS_WIDTH, LOSS_HEIGHT);
    html_textf(s->f, "%s over %s", y, x);
    fprintf(s->f, "\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", LOSS_WIDTH,
            LOSS_HEIGHT);
    fprintf(s->f,
            "<path d=\"M%d 20V%dH%d\" fill=\"none\" stroke=\"#333\"/>\n<polyline fill=\"none\" "
            "stroke=\"#0072b2\" stroke-width=\"2\" points=\"",
            LOSS_LEFT, LOSS_HEIGHT - LOSS_FOOT, LOSS_WIDTH - 20);
    for (size_t i = 0; i < c->count; i += stride)
        fprintf(s->f, "%.1f,%.1f ", LOSS_LEFT + width * (c->x[i] - c->x_min) / span_x,
                20 + height * (c->y_max - c->y[i]) / span_y);
    fputs("\"/>\n", s->f);
    loss_label(s->f, LOSS_LEFT - 8, 26, "end", c->y_max);
    loss_label(s->f, LOSS_LEFT - 8, LOSS_HEIGHT - LOSS_FOOT, "end", c->y_min);
    loss_label(s->f, LOSS_LEFT, LOSS_HEIGHT - 16, "middle", c->x_min);
    loss_label(s->f, LOSS_WIDTH - 24, LOSS_HEIGHT - 16, "middle", c->x_max);
    fputs("</svg></div><figcaption><b>", s->f);
    html_textf(s->f, "%s over %s", y, x);
    fputs("</b></figcaption></figure>\n", s->f);
}

static void loss_part(const struct section *s, const struct csv *c) {
    const char *x = csv_column(c, "step") >= 0 ? "step" : c->header[0];
    const char *y = csv_column(c, "loss") >= 0 ? "loss" : c->header[c->columns > 1];
    struct curve curve;
    if (curve_of(c, x, y, &curve) == 0 && curve.count > 1) {
        fputs("<p>", s->f);
        html_textf(s->f,
                   "%s is %.4g at first, %.4g at last and %.4g at its least, over %zu records.", y,
                   curve.y[0], curve.y[curve.count - 1], curve.y_min, curve.count);
        fputs("</p>\n", s->f);
        loss_chart(s, &curve, x, y);
    }
    free(curve.x);
    free(curve.y);
}

/* A record a phase; what all phases of a model share stands in its name. Numbers are those of the roofline of its
 * precision. */
static void phase_table(const struct section *s, const struct csv *c) {
    static const char *const header[] = {"#No.",        "Model",    "Phase",     "#FLOPs",
                                         "#Bytes",      "#FLOP/B",  "#Roof, ms", "#Time, ms",
                                         "#Of roof, %", "#GFLOP/s", "#MFU, %"};
    static const struct {
        const char *column;
        double scale;
    } number[] = {{"flops", 1},    {"bytes", 1},           {"ai", 1},      {"roof_time_s", 1e3},
                  {"time_s", 1e3}, {"roof_fraction", 100}, {"gflop_s", 1}, {"mfu_6nd", 100}};
    html_table(s->f, "sortable filter", "Phases of a training step (train.csv)", header,
               COUNT(header));
    for (size_t i = 0; i < c->records && i < MOST_RECORDS; i++) {
        const char *precision = csv_get(c, i, "precision");
        int no = 1;
        for (size_t k = 0; k < i; k++) no += strcmp(csv_get(c, k, "precision"), precision) == 0;
        fputs("<tr>", s->f);
        html_number(s->f, no, 4);
        fputs("<th scope=\"row\">", s->f);
        html_text(s->f, csv_get(c, i, "model"));
        fputs("</th>", s->f);
        html_cell(s->f, csv_get(c, i, "phase"));
        for (size_t k = 0; k < COUNT(number); k++) {
            const char *text = csv_get(c, i, number[k].column);
            html_number(s->f, *text ? number[k].scale * strtod(text, NULL) : NAN, 4);
        }
        fputs("</tr>\n", s->f);
    }
    html_table_end(s->f);
}

int section_training(const struct section *s) {
    const struct report_folder *x = folder_of(s);
    if (!x->train.records && !x->loss.records) return 0;
    section_begin(s, "training", "Training");
    fputs("<p>Whole steps of a network of linear layers: forward, backward and the optimizer's "
          "update, each "
          "beside the least time that the measured ceilings allow for its operations. MFU counts 6 "
          "FLOPs a "
          "parameter and row.</p>\n",
          s->f);
    fputs("<div class=\"pair\">\n", s->f);
    if (section_chart(s, s->run, "train_steps")) return -1;
    for (int p = 0; p < PRECISIONS; p++) {
        char name[64];
        snprintf(name, sizeof name, "train_roofline_%s", precision_names[p]);
        if (section_chart(s, s->run, name)) return -1;
    }
    if (section_has_chart(s, s->run, "train_loss")) {
        if (section_chart(s, s->run, "train_loss")) return -1;
    } else if (x->loss.records) {
        loss_part(s, &x->loss);
    }
    fputs("</div>\n", s->f);
    if (csv_column(&x->train, "phase") >= 0) phase_table(s, &x->train);
    section_end(s);
    return 0;
}

int section_memory(const struct section *s) {
    const struct report_folder *x = folder_of(s);
    if (!x->memory.records) return 0;
    section_begin(s, "memory", "Memory");
    fputs("<p>Who holds which bytes while training: what the formulas say, above what was "
          "allocated.</p>\n",
          s->f);
    if (section_chart(s, s->run, "train_memory")) return -1;
    csv_table(s, &x->memory, "Memory by kind (memory.csv)");
    section_end(s);
    return 0;
}

/* ---- environment ---- */

static void print_value(FILE *f, const struct info_pair *p) {
    char words[48];
    if (ends_in(p->key, "_bytes") && is_number(p->value)) {
        format_bytes(strtod(p->value, NULL), words, sizeof words);
        html_textf(f, "%s (%s)", words, p->value);
    } else {
        html_text(f, p->value);
    }
}

static bool differs(const struct info *a, const struct info *b) {
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->pair[i].key, "started") != 0 &&
            strcmp(a->pair[i].value, info_get(b, a->pair[i].key)) != 0)
            return true;
    return a->count != b->count;
}

void section_environment(const struct section *s) {
    static const char *const header[] = {"What", "Value"};
    static const char *const further[] = {"File", "Command", "Started", "Environment"};
    const struct infos *x = &folder_of(s)->infos;
    section_begin(s, "environment", "Environment");
    if (!x->count) {
        fputs("<p class=\"note\">This run has no run.json: what its numbers depend on is not "
              "known.</p>\n",
              s->f);
        section_end(s);
        return;
    }
    html_table(s->f, "keys", "What the numbers depend on (run.json)", header, COUNT(header));
    for (size_t i = 0; i < x->info[0].count; i++) {
        fputs("<tr><th scope=\"row\">", s->f);
        html_name(s->f, x->info[0].pair[i].key);
        fputs("</th><td class=\"wrap\">", s->f);
        print_value(s->f, &x->info[0].pair[i]);
        fputs("</td></tr>\n", s->f);
    }
    html_table_end(s->f);
    html_table(s->f, "", "Commands that wrote into this run", further, COUNT(further));
    for (size_t i = 0; i < x->count; i++) {
        fputs("<tr><th scope=\"row\">", s->f);
        html_text(s->f, x->info[i].file);
        fputs("</th><td class=\"wrap\"><code>", s->f);
        html_text(s->f, x->info[i].command);
        fputs("</code></td>", s->f);
        html_cell(s->f, info_get(&x->info[i], "started"));
        html_cell(s->f, i == 0                              ? "as above"
                        : differs(&x->info[i], &x->info[0]) ? "differs"
                                                            : "the same");
        fputs("</tr>\n", s->f);
    }
    html_table_end(s->f);
    section_end(s);
}

void section_reproduce(const struct section *s) {
    const struct infos *x = &folder_of(s)->infos;
    const char *commit = infos_get(x, "program.commit");
    section_begin(s, "reproduce", "How to reproduce");
    fputs("<pre><code>", s->f);
    if (*commit) {
        const char *dirty = strstr(commit, "-dirty");
        html_textf(s->f, "git checkout %.*s", (int)(dirty ? dirty - commit : 64), commit);
        fputs(dirty ? "   # files differed from this commit\n" : "\n", s->f);
    }
    fputs("scripts/setup.sh &amp;&amp; scripts/build.sh release   # it was: ", s->f);
    html_textf(s->f, "%s, %s",
               *infos_get(x, "program.compiler") ? infos_get(x, "program.compiler")
                                                 : "compiler unknown",
               infos_get(x, "program.flags"));
    fputc('\n', s->f);
    for (size_t i = 0; i < x->count; i++) {
        html_text(s->f, x->info[i].command);
        if (*x->info[i].command) fputc('\n', s->f);
    }
    html_textf(s->f, "roofline report %s", folder_of(s)->dir);
    fputs("</code></pre>\n", s->f);
    section_end(s);
}
