/* chart_train.c - training steps: phases under their roofs, the time of a step and its memory beside what was predicted, the
 * loss. From train.csv, memory.csv and loss.csv of the run's folder. */
#include "chart_comparison.h"
#include "chart_points.h"

#include "csv_table.h"

#include "../kernels/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODELS = 16, STACKS = 2 };

struct training {
    struct csv train, memory, loss;
    const char *model[MAX_MODELS]; /* of this device, in the order of train.csv */
    int models;
};

static double number(const struct csv *c, size_t record, const char *column) {
    const char *text = csv_get(c, record, column);
    char *end;
    const double x = strtod(text, &end);
    return *text && !*end ? x : NAN;
}

static bool is(const struct csv *c, size_t record, const char *column, const char *text) {
    return strcmp(csv_get(c, record, column), text) == 0;
}

static int model_index(const struct training *t, const char *name) {
    for (int i = 0; i < t->models; i++)
        if (strcmp(t->model[i], name) == 0) return i;
    return -1;
}

static int load(struct training *t, const struct chart_run *run) {
    *t = (struct training){.models = 0};
    if (!run->dir) return 0;
    if (csv_table_read(run->dir, "train.csv", &t->train) ||
        csv_table_read(run->dir, "memory.csv", &t->memory) ||
        csv_table_read(run->dir, "loss.csv", &t->loss))
        return -1;
    for (size_t i = 0; i < t->train.records; i++) {
        const char *name = csv_get(&t->train, i, "model");
        if (is(&t->train, i, "device", run->device) && model_index(t, name) < 0 &&
            t->models < MAX_MODELS)
            t->model[t->models++] = name;
    }
    return 0;
}

static void release(struct training *t) {
    csv_free(&t->train);
    csv_free(&t->memory);
    csv_free(&t->loss);
}

/* ---- the roofline ---- */

/* "adamw", "adamw micro 4", "adamw keep 3", "adamw tokens": what the table has room for. */
static void short_name(const struct csv *c, size_t i, char *text, size_t size) {
    const char *kept = csv_get(c, i, "keep"), *number_of = strrchr(kept, ' ');
    const bool micro = number(c, i, "micro_batches") > 1, keeps = strcmp(kept, "all") != 0;
    const bool tokens = number(c, i, "vocab") > 0;
    snprintf(text, size, "%s%s%s%s%s%s", csv_get(c, i, "optimizer"), tokens ? " tokens" : "",
             micro ? " micro " : "", micro ? csv_get(c, i, "micro_batches") : "",
             keeps ? " keep " : "",
             !keeps      ? ""
             : number_of ? number_of + 1
                         : kept);
}

static int phases_under_roofs(struct chart_out *out, const struct chart_run *run,
                              const struct training *t, enum precision p) {
    static struct row row[CHART_MAX_POINTS];
    struct chart_point point[CHART_MAX_POINTS];
    char name[64], title[96];
    size_t count = 0;
    const enum dtype product = precision_product(p);
    const double threads = (double)chart_threads(run);
    for (size_t i = 0; i < t->train.records && count < CHART_MAX_POINTS; i++) {
        const struct csv *c = &t->train;
        struct row *r = &row[count];
        if (!is(c, i, "device", run->device) || !is(c, i, "precision", precision_names[p]) ||
            !(number(c, i, "gflop_s") > 0) || number(c, i, "threads") != threads)
            continue; /* the roofs drawn are those of `threads` threads */
        row_init(r);
        row_set_text(r->op, csv_get(c, i, "phase"));
        short_name(c, i, r->impl, sizeof r->impl);
        row_set_text(r->dtype, precision_names[p]);
        r->b = r->k = 1;
        r->m = (int64_t)number(c, i, "rows");
        r->n = (int64_t)number(c, i, "dim");
        r->ai = number(c, i, "ai");
        r->flops = number(c, i, "flops");
        r->gflop_s = number(c, i, "gflop_s");
        r->gbyte_s = number(c, i, "gbyte_s");
        point[count++] = (struct chart_point){r, number(c, i, "roof_fraction")};
    }
    snprintf(name, sizeof name, "train_roofline_%s", precision_names[p]);
    snprintf(title, sizeof title, "Training steps under the roof, %s", precision_names[p]);
    return chart_roofline_draw(out, run, product, name, title, point, count, count);
}

/* ---- stacks: predicted above measured ---- */

struct stacks {
    const char *name, *title, *axis;
    const char *const *part; /* names, in the order of the stack */
    int parts;
    double scale; /* of values to the axis */
    double value[MAX_MODELS][STACKS][MEMORY_KINDS];
    char text[MAX_MODELS][STACKS][64];
};

static int draw_stacks(struct chart_out *out, const struct chart_run *run, const struct training *t,
                       const struct stacks *s) {
    struct chart_vars v;
    char subtitle[256], variable[32];
    double most = 0;
    FILE *f = chart_data(out, s->name, "model,text,which,part,from,to,position");
    if (!f) return -1;
    for (int m = 0; m < t->models; m++) {
        for (int which = 0; which < STACKS; which++) {
            double at = 0;
            for (int p = 0; p < s->parts; p++) {
                const double x = s->value[m][which][p] * s->scale;
                chart_csv_text(f, t->model[m]), chart_csv_text(f, s->text[m][which]);
                chart_csv_number(f, which), chart_csv_number(f, p);
                chart_csv_number(f, at), chart_csv_number(f, at + x);
                chart_csv_end(f, 3 * m + which);
                if (!isnan(x)) at += x;
            }
            most = fmax(most, at);
        }
    }
    if (chart_data_close(out, f, s->name) || chart_vars_open(&v)) return -1;
    chart_subtitle(run, 0, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "%s", s->title);
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    chart_set_text(&v, "axis_text", "%s", s->axis);
    for (int p = 0; p < s->parts; p++) {
        snprintf(variable, sizeof variable, "part_%d", p);
        chart_set_text(&v, variable, "%s", s->part[p]);
    }
    chart_set_data(&v, out, "stacks_data", s->name);
    chart_set_number(&v, "parts", s->parts);
    chart_set_number(&v, "models", t->models);
    chart_set_number(&v, "most", most > 0 ? most : 1);
    chart_set_number(&v, "canvas_y", chart_height(out, 250 + 96 * t->models));
    chart_draw(out, &v, "stacks", s->name);
    return 0;
}

enum { TIME_TEXT = 32 };

static void time_text(double seconds, char text[TIME_TEXT]) {
    const int k = seconds < 1e-3 ? 2 : seconds < 1 ? 1 : 0;
    static const char *const unit[] = {"s", "ms", "us"};
    static const double scale[] = {1, 1e3, 1e6};
    if (isnan(seconds))
        snprintf(text, TIME_TEXT, "no ceilings");
    else
        snprintf(text, TIME_TEXT, "%.4g %s", seconds * scale[k], unit[k]);
}

/* Each step's bars as shares of its measured time, so that small models can be seen beside large ones. */
static int step_times(struct chart_out *out, const struct chart_run *run,
                      const struct training *t) {
    static const char *const phases[] = {"forward", "backward", "optimizer"};
    static struct stacks s;
    s = (struct stacks){.name = "train_steps",
                        .title = "Time of a training step",
                        .axis = "share of the measured step",
                        .part = phases,
                        .parts = 3,
                        .scale = 1};
    for (int m = 0; m < t->models; m++) {
        double step[STACKS] = {NAN, NAN};
        const char *const column[STACKS] = {"roof_time_s", "time_s"};
        for (size_t i = 0; i < t->train.records; i++) {
            if (!is(&t->train, i, "model", t->model[m]) || !is(&t->train, i, "device", run->device))
                continue;
            for (int which = 0; which < STACKS; which++) {
                const double x = number(&t->train, i, column[which]);
                if (is(&t->train, i, "phase", "step")) step[which] = x;
                for (int p = 0; p < 3; p++)
                    if (is(&t->train, i, "phase", phases[p])) s.value[m][which][p] = x;
            }
        }
        for (int which = 0; which < STACKS; which++) {
            char time[TIME_TEXT];
            time_text(step[which], time);
            snprintf(s.text[m][which], sizeof s.text[m][which], "%s %s",
                     which ? "measured" : "roof", time);
            for (int p = 0; p < 3; p++) s.value[m][which][p] /= step[1];
        }
    }
    return draw_stacks(out, run, t, &s);
}

static int memory(struct chart_out *out, const struct chart_run *run, const struct training *t) {
    static struct stacks s;
    s = (struct stacks){.name = "train_memory",
                        .title = "Memory of training, by kind",
                        .axis = "MiB",
                        .part = memory_kind_names,
                        .parts = MEMORY_KINDS,
                        .scale = 0x1p-20};
    for (int m = 0; m < t->models; m++) {
        const char *const column[STACKS] = {"predicted_bytes", "measured_bytes"};
        for (int which = 0; which < STACKS; which++) {
            double sum = 0;
            for (size_t i = 0; i < t->memory.records; i++) {
                const double x = number(&t->memory, i, column[which]);
                if (!is(&t->memory, i, "model", t->model[m]) ||
                    !is(&t->memory, i, "device", run->device) || isnan(x))
                    continue;
                for (int k = 0; k < MEMORY_KINDS; k++)
                    if (is(&t->memory, i, "kind", memory_kind_names[k])) s.value[m][which][k] = x;
                sum += x;
            }
            snprintf(s.text[m][which], sizeof s.text[m][which], "%s %.4g MiB",
                     which ? "measured" : "formulas", sum * s.scale);
        }
    }
    return draw_stacks(out, run, t, &s);
}

/* ---- the loss ---- */

/* A token model, which learns from real data; where there is one, it alone has a curve worth drawing. */
static bool is_tokens(const char *model) { return strncmp(model, "tokens-", 7) == 0; }

static int losses(struct chart_out *out, const struct chart_run *run, const struct training *t) {
    enum { LEAST = 10 }; /* fewer steps make no curve */
    double low = INFINITY, high = -INFINITY, last = 0;
    char subtitle[256], variable[32];
    int curves = 0, steps[MAX_MODELS] = {0}, curve[MAX_MODELS];
    bool learns = false;
    struct chart_vars v;
    for (size_t i = 0; i < t->loss.records; i++) {
        const int m = model_index(t, csv_get(&t->loss, i, "model"));
        if (m >= 0 && is(&t->loss, i, "device", run->device)) steps[m]++;
        learns = learns || (m >= 0 && is_tokens(t->model[m]));
    }
    for (int m = 0; m < t->models; m++)
        curve[m] = steps[m] >= LEAST && (!learns || is_tokens(t->model[m])) ? curves++ : -1;
    if (!curves) return 0;
    FILE *f = chart_data(out, "train_loss", "model,step,loss,curve");
    if (!f) return -1;
    for (size_t i = 0; i < t->loss.records; i++) {
        const int m = model_index(t, csv_get(&t->loss, i, "model"));
        const double x = number(&t->loss, i, "loss"), step = number(&t->loss, i, "step");
        if (m < 0 || curve[m] < 0 || !is(&t->loss, i, "device", run->device) || isnan(x)) continue;
        chart_csv_text(f, t->model[m]);
        chart_csv_number(f, step), chart_csv_number(f, x), chart_csv_end(f, curve[m]);
        low = fmin(low, x);
        high = fmax(high, x);
        last = fmax(last, step);
    }
    if (chart_data_close(out, f, "train_loss") || chart_vars_open(&v)) return -1;
    chart_subtitle(run, 0, subtitle, sizeof subtitle);
    chart_set_text(&v, "title_text", "Loss over training steps");
    chart_set_text(&v, "subtitle_text", "%s", subtitle);
    for (int m = 0; m < t->models; m++) {
        if (curve[m] < 0) continue;
        snprintf(variable, sizeof variable, "curve_%d", curve[m]);
        chart_set_text(&v, variable, "%s", t->model[m]);
    }
    chart_set_data(&v, out, "loss_data", "train_loss");
    chart_set_number(&v, "curves", curves);
    chart_set_number(&v, "low", low);
    chart_set_number(&v, "high", high);
    chart_set_number(&v, "last", last);
    chart_draw(out, &v, "loss", "train_loss");
    return 0;
}

int chart_training(struct chart_out *out, const struct chart_run *run) {
    struct training t;
    int status = load(&t, run);
    for (int p = 0; p < PRECISIONS && !status && run->peaks.count; p++)
        status = phases_under_roofs(out, run, &t, (enum precision)p);
    if (!status && t.models)
        status = step_times(out, run, &t) || memory(out, run, &t) || losses(out, run, &t) ? -1 : 0;
    release(&t);
    return status;
}
