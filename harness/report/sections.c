/* sections.c - ceilings, rooflines and the other charts of a run, each with the table of what it shows. */
#include "report.h"

#include "../chart_comparison.h"
#include "../sustain.h"
#include "html.h"
#include "svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- what sections are made of ---- */

void section_begin(const struct section *s, const char *name, const char *title) {
    if (s->report->places < REPORT_MAX_PLACES) {
        struct report_place *p = &s->report->place[s->report->places++];
        snprintf(p->id, sizeof p->id, "%.20s%.20s", s->id, name);
        snprintf(p->title, sizeof p->title, "%.170s", title);
    }
    fprintf(s->f, "<section id=\"%s%s\">\n<h%d>", s->id, name, s->level);
    html_text(s->f, title);
    fprintf(s->f, "</h%d>\n", s->level);
}

void section_end(const struct section *s) { fputs("</section>\n", s->f); }

static struct report_chart *find_chart(const struct section *s, size_t charts, const char *name) {
    struct report_charts *c = &s->report->charts[charts];
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->chart[i].name, name) == 0) return &c->chart[i];
    return NULL;
}

bool section_has_chart(const struct section *s, size_t charts, const char *name) {
    return find_chart(s, charts, name) != NULL;
}

/* What the numbers at the foot of an overlay stand for. */
static int overlay_key(const struct section *s, size_t charts, const char *name) {
    struct csv marks;
    char dir[4160], file[96];
    if (strncmp(name, "overlay_", 8) != 0) return 0;
    snprintf(dir, sizeof dir, "%s/data", s->report->charts[charts].dir);
    snprintf(file, sizeof file, "%s_marks.csv", name);
    if (csv_table_read(dir, file, &marks)) return -1;
    fputs(" <span class=\"key\">", s->f);
    for (size_t i = 0; i < marks.records; i++) {
        fprintf(s->f, "%s<b>%s</b> ", i ? " \xc2\xb7 " : "", csv_get(&marks, i, "number"));
        html_text(s->f, csv_get(&marks, i, "operations"));
    }
    fputs("</span>", s->f);
    csv_free(&marks);
    return 0;
}

int section_chart(const struct section *s, size_t charts, const char *name) {
    struct report_chart *c = find_chart(s, charts, name);
    char path[4300], prefix[32];
    if (!c || c->placed) return 0;
    c->placed = true;
    snprintf(path, sizeof path, "%s/%s.svg", s->report->charts[charts].dir, name);
    snprintf(prefix, sizeof prefix, "c%zuv%zu", charts,
             (size_t)(c - s->report->charts[charts].chart));
    fputs("<figure><div class=\"chart\" role=\"region\" tabindex=\"0\" aria-label=\"", s->f);
    html_text(s->f, c->title);
    fputs("\">\n", s->f);
    if (svg_inline(s->f, path, prefix, c->title)) return -1;
    fputs("</div><figcaption><b>", s->f);
    html_text(s->f, c->title);
    fputs("</b>", s->f);
    if (*c->subtitle) {
        fputs(" <span>", s->f);
        html_text(s->f, c->subtitle);
        fputs("</span>", s->f);
    }
    const int status = overlay_key(s, charts, name);
    fputs("</figcaption></figure>\n", s->f);
    return status;
}

static const struct chart_run *run_of(const struct section *s) {
    return &s->report->runs.run[s->run];
}

static const struct report_folder *folder_of(const struct section *s) {
    return &s->report->folder[s->report->of_run[s->run]];
}

/* Charts <prefix><dtype>, two beside each other where there is room; of more than two those of other formats than fp32
 * and bf16 are folded. */
int section_charts_by_dtype(const struct section *s, size_t charts, const char *prefix) {
    const char *folded[DTYPE_COUNT], *open[DTYPE_COUNT];
    size_t folds = 0, opens = 0;
    char name[64];
    for (int t = 0; t < DTYPE_COUNT; t++) {
        snprintf(name, sizeof name, "%s%s", prefix, dtypes[t].name);
        if (!section_has_chart(s, charts, name)) continue;
        if (t == DT_fp32 || t == DT_bf16)
            open[opens++] = dtypes[t].name;
        else
            folded[folds++] = dtypes[t].name;
    }
    while (opens < 2 && folds > 0) {
        open[opens++] = folded[0];
        memmove(folded, folded + 1, --folds * sizeof *folded);
    }
    if (opens) fputs("<div class=\"pair\">\n", s->f);
    for (size_t i = 0; i < opens; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, open[i]);
        if (section_chart(s, charts, name)) return -1;
    }
    if (opens) fputs("</div>\n", s->f);
    if (!folds) return 0;
    fputs("<details><summary>", s->f);
    for (size_t i = 0; i < folds; i++) fprintf(s->f, "%s%s", i ? ", " : "", folded[i]);
    fputs("</summary>\n<div class=\"pair\">\n", s->f);
    for (size_t i = 0; i < folds; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, folded[i]);
        if (section_chart(s, charts, name)) return -1;
    }
    fputs("</div></details>\n", s->f);
    return 0;
}

static bool any_chart(const struct section *s, const char *prefix) {
    char name[64];
    for (int t = 0; t < DTYPE_COUNT; t++) {
        snprintf(name, sizeof name, "%s%s", prefix, dtypes[t].name);
        if (section_has_chart(s, s->run, name)) return true;
    }
    return false;
}

/* ---- ceilings ---- */

static const char *const patterns[] = {"read", "write", "copy", "triad", "update"};

static const struct ceiling *memory_ceiling(const struct ceilings *c, const struct ceiling *like,
                                            const char *pattern) {
    const struct ceiling *found = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        if (x->kind == CEILING_MEMORY && x->threads == like->threads &&
            strcmp(x->name, like->name) == 0 && strcmp(x->placement, like->placement) == 0 &&
            strcmp(x->pattern, pattern) == 0 && (!found || x->rate > found->rate))
            found = x;
    }
    return found;
}

static bool is_first_memory(const struct ceilings *c, size_t i) {
    const struct ceiling *x = &c->ceiling[i];
    for (size_t k = 0; k < i; k++)
        if (c->ceiling[k].kind == CEILING_MEMORY && c->ceiling[k].threads == x->threads &&
            strcmp(c->ceiling[k].name, x->name) == 0 &&
            strcmp(c->ceiling[k].placement, x->placement) == 0)
            return false;
    return x->kind == CEILING_MEMORY;
}

/* Capacity of a level as run.json has it. */
static const char *capacity_text(const struct section *s, const char *level, char text[64]) {
    char key[ROW_TEXT + 32];
    snprintf(key, sizeof key, "machine.%s_bytes", level);
    const double bytes = strtod(infos_get(&folder_of(s)->infos, key), NULL);
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    double value = bytes;
    for (; value >= 1024 && i < 4; i++) value /= 1024;
    snprintf(text, 64, "%.4g %s", value, unit[i]);
    return bytes > 0 ? text : "";
}

static void memory_table(const struct section *s) {
    static const char *const header[] = {"Level",  "#Capacity", "#Threads", "Placement", "#read",
                                         "#write", "#copy",     "#triad",   "#update"};
    const struct ceilings *c = &run_of(s)->roofs;
    size_t rows = 0;
    for (size_t i = 0; i < c->count; i++) rows += is_first_memory(c, i);
    if (!rows) return;
    html_table(s->f, "", "Measured bandwidth, GB/s; ? is not proven, and why stands in its title",
               header, COUNT(header));
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        char text[64];
        if (!is_first_memory(c, i)) continue;
        fputs("<tr><th scope=\"row\">", s->f);
        html_text(s->f, x->name);
        fprintf(s->f, "</th><td class=\"n\">%s</td><td class=\"n\">%" PRId64 "</td>",
                capacity_text(s, x->name, text), x->threads);
        html_cell(s->f, x->placement);
        for (int p = 0; p < COUNT(patterns); p++) {
            const struct ceiling *y = memory_ceiling(c, x, patterns[p]);
            char number[48];
            if (y && !y->proven) {
                fputs("<td class=\"n doubt\" title=\"", s->f);
                html_text(s->f, y->why);
                fprintf(s->f, "\">%s ?</td>", number_text(y->rate, 3, number));
            } else {
                html_number(s->f, y ? y->rate : NAN, 3);
            }
        }
        fputs("</tr>\n", s->f);
    }
    html_table_end(s->f);
}

static double most(const struct rows *rows, const struct ceiling *x, size_t offset) {
    double found = NAN;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->row[i].threads == x->threads && strcmp(rows->row[i].dtype, x->name) == 0)
            found = fmax(found, *(const double *)((const char *)&rows->row[i] + offset));
    return found;
}

static void compute_table(const struct section *s) {
    static const char *const header[] = {"Number format", "Implementation",         "#Threads",
                                         "#GFLOP/s",      "#FLOPs a cycle x clock", "#Published",
                                         "Proven"};
    const struct chart_run *run = run_of(s);
    size_t rows = 0;
    for (size_t i = 0; i < run->roofs.count; i++)
        rows += run->roofs.ceiling[i].kind == CEILING_COMPUTE;
    if (!rows) return;
    html_table(s->f, "sortable", "Measured rate of multiply-adds", header, COUNT(header));
    for (size_t i = 0; i < run->roofs.count; i++) {
        const struct ceiling *x = &run->roofs.ceiling[i];
        if (x->kind != CEILING_COMPUTE) continue;
        fputs("<tr><th scope=\"row\">", s->f);
        html_text(s->f, x->name);
        fputs("</th>", s->f);
        html_cell(s->f, x->impl);
        fprintf(s->f, "<td class=\"n\">%" PRId64 "</td>", x->threads);
        html_number(s->f, x->rate, 4);
        html_number(s->f, most(&run->peaks, x, offsetof(struct row, clock_gflop_s)), 4);
        html_number(s->f, most(&run->peaks, x, offsetof(struct row, spec_gflop_s)), 4);
        html_cellf(s->f, "%s%s", x->proven ? "yes" : "no: ", x->proven ? "" : x->why);
        fputs("</tr>\n", s->f);
    }
    html_table_end(s->f);
}

int section_ceilings(const struct section *s) {
    const struct chart_run *run = run_of(s);
    if (!run->roofs.count) return 0;
    section_begin(s, "ceilings", "Ceilings");
    fputs("<p>What this machine can do at most, measured: bandwidth of each memory level by access "
          "pattern, and multiply-adds of each number format.</p>\n<div class=\"pair\">\n",
          s->f);
    if (section_chart(s, s->run, "bandwidth") || section_chart(s, s->run, "ladder")) return -1;
    fputs("</div>\n", s->f);
    memory_table(s);
    compute_table(s);
    section_end(s);
    return 0;
}

/* ---- rooflines ---- */

/* The numbered points of a chart, from the data it was drawn from. */
static int points_table(const struct section *s, const char *dtype) {
    static const char *const header[] = {"#Point", "Operation", "Implementation",
                                         "Shape",  "#GFLOP/s",  "#% of roof"};
    struct csv points;
    char dir[4160], name[96], caption[160];
    snprintf(dir, sizeof dir, "%s/data", s->report->charts[s->run].dir);
    snprintf(name, sizeof name, "roofline_%s_points.csv", dtype);
    if (csv_table_read(dir, name, &points)) return -1;
    snprintf(caption, sizeof caption, "Operations in %s, the fastest implementation of each",
             dtype);
    if (points.records) {
        html_table(s->f, "sortable", caption, header, COUNT(header));
        for (size_t i = 0; i < points.records; i++) {
            const bool flops = *csv_get(&points, i, "ai") != '\0';
            const bool above = strcmp(csv_get(&points, i, "above"), "1") == 0;
            fprintf(s->f, "<tr%s>", above ? " class=\"doubt\"" : "");
            fprintf(s->f, "<td class=\"n\">%s</td>", flops ? csv_get(&points, i, "number") : "");
            fputs("<th scope=\"row\">", s->f);
            html_text(s->f, csv_get(&points, i, "op"));
            fputs("</th>", s->f);
            html_cell(s->f, csv_get(&points, i, "impl"));
            html_cell(s->f, csv_get(&points, i, "shape"));
            fprintf(s->f, "<td class=\"n\" data-v=\"%s\">%s%s</td><td class=\"n\">",
                    csv_get(&points, i, flops ? "gflop_s" : "gbyte_s"), csv_get(&points, i, "rate"),
                    flops ? "" : " GB/s");
            const char *share = csv_get(&points, i, "share");
            html_textf(s->f, "%.*s", (int)strcspn(share, " -"), share);
            fputs("</td></tr>\n", s->f);
        }
        html_table_end(s->f);
    }
    csv_free(&points);
    return 0;
}

/* What the colours of the chart of all formats are, and what each format comes to. */
static int formats_table(const struct section *s) {
    static const char *const header[] = {"Format", "#Ceiling", "#Kink", "#Best", "By"};
    struct csv key;
    char dir[4160];
    snprintf(dir, sizeof dir, "%s/data", s->report->charts[s->run].dir);
    if (csv_table_read(dir, "roofline_all_key.csv", &key)) return -1;
    if (key.records) {
        html_table(s->f, "sortable",
                   "Ceiling and best operation in GFLOP/s, kink at the DRAM bandwidth in FLOP/byte",
                   header, COUNT(header));
        for (size_t i = 0; i < key.records; i++) {
            static const char *const number[] = {"roof", "kink", "best"};
            fprintf(s->f,
                    "<tr><th scope=\"row\"><span class=\"swatch\" style=\"background:#%06x\">"
                    "</span>",
                    (unsigned)strtoul(csv_get(&key, i, "colour"), NULL, 10) & 0xffffff);
            html_text(s->f, csv_get(&key, i, "dtype"));
            fputs("</th>", s->f);
            for (int k = 0; k < 3; k++) {
                const char *text = csv_get(&key, i, number[k]);
                html_number(s->f, *text == '-' ? NAN : strtod(text, NULL), k == 1 ? 3 : 4);
            }
            html_cell(s->f, csv_get(&key, i, "best_op"));
            fputs("</tr>\n", s->f);
        }
        html_table_end(s->f);
    }
    csv_free(&key);
    return 0;
}

int section_rooflines(const struct section *s) {
    char name[64];
    size_t shown = 0;
    if (!section_has_chart(s, s->run, "roofline_all") && !any_chart(s, "roofline_")) return 0;
    section_begin(s, "rooflines", "Rooflines");
    fputs(
        "<p>Across: FLOPs a byte; up: FLOP/s reached. A point under the slanted line waits for "
        "memory, one under the flat line for arithmetic; the distance to the line is what is left "
        "to gain. Solid lines are measured, dashed ones published or computed.</p>\n",
        s->f);
    fputs("<div class=\"pair\">\n", s->f);
    if (section_chart(s, s->run, "roofline_all") || formats_table(s)) return -1;
    fputs("</div>\n", s->f);
    for (int t = 0; t < DTYPE_COUNT; t++) {
        snprintf(name, sizeof name, "roofline_%s", dtypes[t].name);
        if (!section_has_chart(s, s->run, name)) continue;
        const bool open =
            t == DT_fp32 || (t == 0 && !section_has_chart(s, s->run, "roofline_fp32"));
        fprintf(s->f, "<details%s><summary>%s</summary>\n<div class=\"pair\">\n",
                open ? " open" : "", dtypes[t].name);
        if (section_chart(s, s->run, name) || points_table(s, dtypes[t].name)) return -1;
        fputs("</div></details>\n", s->f);
        shown++;
    }
    section_end(s);
    return 0;
}

/* ---- the other charts ---- */

int section_products(const struct section *s) {
    char prefix[64];
    bool any = false;
    for (int i = 0; i < OP_COUNT; i++) {
        snprintf(prefix, sizeof prefix, "%s_", ops[i].name);
        any = any || (ops[i].sweep == SWEEP_cubes && any_chart(s, prefix));
    }
    if (!any) return 0;
    section_begin(s, "products", "Matrix products");
    fputs("<p>Rate over size. Left of the predicted kink a product waits for memory.</p>\n", s->f);
    for (int i = 0; i < OP_COUNT; i++) {
        snprintf(prefix, sizeof prefix, "%s_", ops[i].name);
        if (ops[i].sweep == SWEEP_cubes && section_charts_by_dtype(s, s->run, prefix)) return -1;
    }
    section_end(s);
    return 0;
}

int section_streams(const struct section *s) {
    if (!any_chart(s, "streams_")) return 0;
    section_begin(s, "streams", "Streams from DRAM");
    fputs("<p>Operations that memory bounds, at sizes that no cache holds: compulsory bytes over "
          "time, beside the measured DRAM bandwidth.</p>\n",
          s->f);
    if (section_charts_by_dtype(s, s->run, "streams_")) return -1;
    section_end(s);
    return 0;
}

int section_vendors(const struct section *s) {
    if (!any_chart(s, "vendor_")) return 0;
    section_begin(s, "vendors", "Beside vendor libraries");
    fputs("<p>Equal problems, the same placement of threads; above 1 ours is faster.</p>\n", s->f);
    if (section_charts_by_dtype(s, s->run, "vendor_")) return -1;
    section_end(s);
    return 0;
}

int section_effects(const struct section *s) {
    if (!section_has_chart(s, s->run, "cold_warm") && !section_has_chart(s, s->run, "fill"))
        return 0;
    section_begin(s, "effects", "What else matters");
    fputs(
        "<p>Pairs of trials that differ in one thing: whether the operands were in the caches, or "
        "what they held.</p>\n<div class=\"pair\">\n",
        s->f);
    if (section_chart(s, s->run, "cold_warm") || section_chart(s, s->run, "fill")) return -1;
    fputs("</div>\n", s->f);
    section_end(s);
    return 0;
}

static void sustained_row(FILE *f, const struct sustain_series *x, const char *part,
                          const struct sustain_part *p, bool by_flops, double of_burst) {
    char shape[64], low[48], high[48];
    chart_shape_text(&x->key, shape, sizeof shape);
    fputs("<tr>", f);
    html_cellf(f, "%s.%s.%s", x->key.op, x->key.impl, x->key.dtype);
    html_cell(f, shape);
    html_number(f, (double)x->key.threads, 6);
    html_cell(f, x->key.fill);
    html_cell(f, part);
    html_number(f, p->rate, 4);
    html_cellf(f, "%s ... %s", number_text(p->low, 4, low), number_text(p->high, 4, high));
    html_cell(f, by_flops ? "GFLOP/s" : "GB/s");
    html_number(f, of_burst, 4);
    html_number(f, p->clock_ghz, 4);
    html_number(f, p->temperature_c, 3);
    html_number(f, p->power_w, 4);
    html_number(f, p->pj_flop, 4);
    html_number(f, p->pj_byte, 4);
    fputs("</tr>\n", f);
}

int section_sustained(const struct section *s) {
    static const char *const header[] = {
        "What", "Shape",     "#Threads", "Fill", "Part", "#Rate",    "95 % interval",
        "Unit", "#Of burst", "#GHz",     "#C",   "#W",   "#pJ/FLOP", "#pJ/byte"};
    const struct chart_run *run = &s->report->runs.run[s->run];
    struct sustain_list list;
    int status = sustain_read(run->dir, run->device, &list);
    if (!status && list.count) {
        section_begin(s, "sustained", "Sustained");
        fputs("<p>One kernel for a long time. Burst is its first second, sustained the last third; "
              "the "
              "clock is measured between samples; power, where it can be read, is of the whole "
              "package or board.</p>\n",
              s->f);
        status = section_chart(s, s->run, "sustained");
        html_table(s->f, "", "Burst and sustained (sustain.csv)", header, COUNT(header));
        for (size_t i = 0; i < list.count && !status; i++) {
            struct sustain_summary sum;
            status = sustain_summarise(&list.series[i], &sum);
            if (status) break;
            sustained_row(s->f, &list.series[i], "burst", &sum.burst, sum.by_flops, NAN);
            sustained_row(s->f, &list.series[i], "sustained", &sum.sustained, sum.by_flops,
                          sum.sustained.rate / sum.burst.rate);
        }
        html_table_end(s->f);
        section_end(s);
    }
    sustain_release(&list);
    return status;
}
