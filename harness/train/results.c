/* results.c - counts, medians and files. */
#define _GNU_SOURCE
#include "results.h"

#include "../row.h"
#include "../run.h"
#include "../stats.h"
#include "../table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const row_phase_names[ROW_PHASES] = {"forward", "backward", "optimizer", "step"};

static enum row_phase row_of(enum phase p) {
    return p == PHASE_forward ? ROW_forward : p == PHASE_backward ? ROW_backward : ROW_optimizer;
}

/* ---- what a step costs ---- */

/* The level that holds a call's operands; between two levels the farther one serves part of it. */
static const char *level_of(const struct device *d, double bytes, int threads) {
    const char *level = device_level(d, bytes, threads);
    for (int i = 0; !*level && i < 8; i++) level = device_level(d, bytes *= 1.5, threads);
    return *level ? level : d->level[d->levels - 1].name;
}

static double roof_s(struct device *d, const struct ceilings *c, const struct call *call,
                     const char *placement) {
    const struct op *op = &ops[call->impl->op];
    const enum dtype t = call->impl->dtype;
    const int threads = call->a.threads;
    const struct traffic x = op_traffic(op, t, &call->a);
    const double bytes = x.read + x.written, flops = op->flops(call->a.s);
    const char *level = level_of(d, op_footprint(op, t, call->a.s), threads);
    double rate = ceilings_bandwidth_for(c, level, threads, placement,
                                         traffic_pattern(x.read, x.written, x.in_place));
    const struct ceiling *any = ceilings_bandwidth(c, level, threads, NULL);
    const struct ceiling *peak = ceilings_compute_for(c, t, threads);
    if (isnan(rate) && any) rate = any->rate;
    const double memory_s = bytes / (rate * 1e9);
    const double compute_s = flops > 0 ? flops / ((peak ? peak->rate : NAN) * 1e9) : 0;
    return isnan(memory_s) || isnan(compute_s) ? NAN : fmax(memory_s, compute_s);
}

static void add_cost(struct phase_cost *sum, const struct phase_cost *x) {
    sum->formula_flops += x->formula_flops;
    sum->flops += x->flops;
    sum->bytes += x->bytes;
    sum->recompute_flops += x->recompute_flops;
    sum->roof_s += x->roof_s;
    sum->read += x->read;
    sum->written += x->written;
    sum->in_place += x->in_place;
}

void results_cost(struct train_results *r, struct trainer *t, const struct ceilings *ceilings,
                  bool looked_at) {
    const struct model *m = &t->model;
    const struct model_flops formula = model_flops(&m->config);
    const struct placement where = t->device->placement(t->device);
    memset(r->cost, 0, sizeof r->cost);
    r->cost[ROW_forward].formula_flops = formula.forward;
    r->cost[ROW_backward].formula_flops = formula.backward;
    for (int i = 0; i < m->calls; i++) {
        const struct call *c = &m->call[i];
        const struct traffic x = op_traffic(&ops[c->impl->op], c->impl->dtype, &c->a);
        if (c->phase == PHASE_norm && !looked_at) continue;
        const double flops = model_call_flops(c);
        const struct phase_cost one = {
            .flops = flops,
            .bytes = x.read + x.written,
            .recompute_flops = c->again ? flops : 0,
            .roof_s = ceilings ? roof_s(t->device, ceilings, c, where.label) : NAN,
            .read = x.read,
            .written = x.written,
            .in_place = x.in_place};
        add_cost(&r->cost[row_of(c->phase)], &one);
    }
    for (int p = 0; p < ROW_step; p++) add_cost(&r->cost[ROW_step], &r->cost[p]);
}

void results_memory(struct train_results *r, struct trainer *t) {
    r->predicted = model_bytes(&t->spec.model);
    memcpy(r->measured, t->ledger.peak, sizeof r->measured);
    r->peak_bytes = t->ledger.peak_bytes;
    r->scratch_bytes = t->model.scratch_bytes;
    r->padding_bytes = t->ledger.padding_bytes;
    r->slack_bytes = ledger_slack(&t->ledger);
    r->before_bytes = t->ledger.in_use_before;
}

void results_peak(struct train_results *r, struct trainer *t) {
    struct device *d = t->device;
    const enum dtype product = t->model.product;
    r->peak_gflop_s = d->spec_gflop_s[product];
    r->peak_source = "published";
    if (!isnan(r->peak_gflop_s)) return;
    r->peak_source = "clock";
    if (d->flops_per_cycle)
        r->peak_gflop_s = fmax(d->flops_per_cycle(d, product, t->spec.threads),
                               d->flops_per_cycle(d, dtypes[product].acc, t->spec.threads)) *
                          d->conditions(d).clock_ghz;
    if (isnan(r->peak_gflop_s)) r->peak_source = "";
}

void results_time(struct train_results *r, enum row_phase phase, double *seconds, size_t n) {
    const struct stats s = stats_of(seconds, n);
    r->time[phase] = (struct phase_time){s.median, s.ci_low, s.ci_high, s.min};
    r->samples = (int64_t)n;
}

/* ---- text ---- */

static void print_bytes(FILE *f, int64_t bytes) {
    char text[32];
    if (bytes < 10000)
        snprintf(text, sizeof text, "%lld B", (long long)bytes);
    else
        format_bytes((double)bytes, text, sizeof text);
    fprintf(f, " %12s", text);
}

static void count_text(double x, char *text, size_t size) {
    static const char *const unit[] = {"", " K", " M", " G", " T", " P", " E"};
    int i = 0;
    if (x < 1e5)
        i = 0;
    else
        for (; x >= 1000 && i < 6; i++) x /= 1000;
    snprintf(text, size, i ? "%.4g%s" : "%.0f%s", x, unit[i]);
}

static void print_memory(FILE *f, const struct train_spec *spec, const struct train_results *r) {
    const struct model_config *c = &spec->model;
    const bool made = r->peak_bytes > 0;
    const int64_t n = model_parameters(c);
    int64_t predicted = 0, measured = 0;
    fprintf(f, "%-12s %12s %12s\n", "memory", "predicted", made ? "measured" : "");
    for (int k = 0; k < MEMORY_KINDS; k++) {
        if (k == MEMORY_temporaries) { /* MISSION's sum ends here */
            fprintf(f, "%-12s", "sum of these");
            print_bytes(f, predicted);
            if (made) print_bytes(f, measured);
            fputc('\n', f);
        }
        fprintf(f, "%-12s", memory_kind_names[k]);
        print_bytes(f, r->predicted.kind[k]);
        if (made) print_bytes(f, r->measured[k]);
        const double each = (double)r->predicted.kind[k] / (double)n;
        if (k <= MEMORY_optimizer) fprintf(f, "   %g B a parameter", each);
        if (k == MEMORY_temporaries && made && r->scratch_bytes) {
            char text[32];
            format_bytes((double)r->scratch_bytes, text, sizeof text);
            fprintf(f, "   kernels' scratch is %s of it", text);
        }
        fputc('\n', f);
        predicted += r->predicted.kind[k];
        measured += r->measured[k];
    }
    fprintf(f, "%-12s", "all");
    print_bytes(f, predicted);
    if (made) {
        char rest[32], padding[32];
        print_bytes(f, measured);
        format_bytes((double)(measured - predicted - r->scratch_bytes), rest, sizeof rest);
        format_bytes((double)r->padding_bytes, padding, sizeof padding);
        fprintf(f, "   unexplained: %s; padding beside it: %s", rest, padding);
        if (r->slack_bytes >= 0) {
            format_bytes((double)r->slack_bytes, rest, sizeof rest);
            fprintf(f,
                    "\n%-12s %25s   taken from the device beyond that: padding, pages, staging, "
                    "allocation units",
                    "slack", rest);
        }
        if (r->before_bytes >= 0) {
            format_bytes((double)r->before_bytes, rest, sizeof rest);
            fprintf(f, "\n%-12s %25s   in use before the first allocation: program, context",
                    "before", rest);
        }
    }
    fputc('\n', f);
}

void results_print_plan(FILE *f, const struct train_spec *spec, const struct train_results *r) {
    const struct model_config *c = &spec->model;
    const struct model_flops flops = model_flops(c);
    char name[160], a[32], b[32], sum[32];
    train_name(spec, name, sizeof name);
    fprintf(f, "%s: N = D^2 L%s = %lld parameters%s", name, c->vocab ? " + D V" : "",
            (long long)model_multiplied(c), c->vocab ? " in products" : "");
    if (c->vocab) fprintf(f, ", %lld with the embedding", (long long)model_parameters(c));
    fprintf(f, "; %lld %s a step\n\n", (long long)c->rows, c->vocab ? "tokens" : "rows");
    print_memory(f, spec, r);
    count_text(flops.forward, a, sizeof a);
    count_text(flops.backward, b, sizeof b);
    count_text(flops.forward + flops.backward, sum, sizeof sum);
    fprintf(f, "\nFLOPs a step  2 N rows = %s forward, 4 N rows = %s backward: 6 N rows = %s\n", a,
            b, sum);
    if (flops.recompute > 0) {
        count_text(flops.recompute, a, sizeof a);
        count_text(flops.forward + flops.backward + flops.recompute, sum, sizeof sum);
        fprintf(f, "              %s recomputed, %.3g N rows = %s in all\n", a,
                6 * (1 + flops.recompute / (flops.forward + flops.backward)), sum);
    }
}

static double mfu(double flops, double seconds, double peak_gflop_s) {
    return flops / seconds / (peak_gflop_s * 1e9);
}

void results_print_phases(FILE *f, const struct train_spec *spec, const struct train_results *r) {
    const struct phase_cost *step = &r->cost[ROW_step];
    const double seconds = r->time[ROW_step].time_s;
    fprintf(f, "\n%-10s %10s %10s %8s  %11s %11s  %-24s %8s %7s\n", "phase", "FLOPs", "bytes",
            "FLOP/B", "roof", "measured", "[95 % of the median]", "GFLOP/s", "of roof");
    for (int p = 0; p < ROW_PHASES; p++) {
        const struct phase_cost *c = &r->cost[p];
        const struct phase_time *t = &r->time[p];
        char flops[32], bytes[32], roof[32], time[32], low[32], high[32], interval[72];
        count_text(c->flops, flops, sizeof flops);
        count_text(c->bytes, bytes, sizeof bytes);
        format_time(c->roof_s, roof, sizeof roof);
        format_time(t->time_s, time, sizeof time);
        format_time(t->ci_low_s, low, sizeof low);
        format_time(t->ci_high_s, high, sizeof high);
        snprintf(interval, sizeof interval, "[%s, %s]", low, high);
        fprintf(f, "%-10s %10s %10s %8.3g  %11s %11s  %-24s %8.4g", row_phase_names[p], flops,
                bytes, c->flops / c->bytes, roof, time, interval, c->flops / t->time_s * 1e-9);
        if (!isnan(c->roof_s)) fprintf(f, " %5.1f %%", 100 * c->roof_s / t->time_s);
        fputc('\n', f);
    }
    fputs("a phase is timed on the device, the step on the host: from its batch to its loss\n", f);
    fprintf(f, "backward / forward: %.3g by products, %.3g by all FLOPs, %.3g measured",
            r->cost[ROW_backward].formula_flops / r->cost[ROW_forward].formula_flops,
            (r->cost[ROW_backward].flops - r->cost[ROW_backward].recompute_flops) /
                r->cost[ROW_forward].flops,
            r->time[ROW_backward].time_s / r->time[ROW_forward].time_s);
    if (step->recompute_flops > 0) fputs(" (recomputation in it)", f);
    fprintf(f, "; %.4g %s/s\n", (double)spec->model.rows / seconds,
            spec->model.vocab ? "tokens" : "rows");
    if (!isnan(r->peak_gflop_s))
        fprintf(
            f,
            "MFU %.3g %% (6 N rows / time / peak), %.3g %% counting every FLOP once, HFU %.3g %% "
            "counting recomputed ones too; peak %.4g GFLOP/s %s\n",
            100 * mfu(step->formula_flops, seconds, r->peak_gflop_s),
            100 * mfu(step->flops - step->recompute_flops, seconds, r->peak_gflop_s),
            100 * mfu(step->flops, seconds, r->peak_gflop_s), r->peak_gflop_s,
            strcmp(r->peak_source, "published") == 0 ? "as published" : "at the clock seen");
}

/* ---- files ---- */

static const char train_header[] =
    "device,model,dim,layers,rows,vocab,precision,optimizer,master,micro_batches,keep,threads,"
    "phase,"
    "formula_flops,flops,recompute_flops,bytes,ai,roof_time_s,time_s,ci_low_s,ci_high_s,min_s,"
    "samples,gflop_s,gbyte_s,roof_fraction,peak_gflop_s,peak_source,mfu_6nd,mfu_exact,hfu,rows_s,"
    "steps,skipped,first_loss,last_loss,when\n";
static const char memory_header[] =
    "device,model,kind,predicted_bytes,measured_bytes,scratch_bytes,padding_bytes,slack_"
    "bytes,before_bytes\n";
static const char loss_header[] = "device,model,step,loss,grad_norm,loss_scale,skipped,step_s\n";

static void put(FILE *f, double x, const char *end) {
    if (isfinite(x)) fprintf(f, "%.17g", x);
    fputs(end, f);
}

static void keep_text(const struct model_config *c, char *text, size_t size) {
    if (c->keep == KEEP_segments)
        snprintf(text, size, "segments of %lld", (long long)c->segment);
    else
        snprintf(text, size, "%s", c->keep == KEEP_input ? "input" : "all");
}

static void write_train(FILE *f, const struct trainer *t, const struct train_results *r,
                        const char *name) {
    const struct model_config *c = &t->spec.model;
    char keep[40], when[ROW_TEXT];
    keep_text(c, keep, sizeof keep);
    row_set_now(when);
    for (int p = 0; p < ROW_PHASES; p++) {
        const struct phase_cost *x = &r->cost[p];
        const struct phase_time *s = &r->time[p];
        fprintf(f, "%s,%s,%lld,%lld,%lld,%lld,%s,%s,%d,%lld,%s,%d,%s,", t->device->slug, name,
                (long long)c->dim, (long long)c->layers, (long long)c->rows, (long long)c->vocab,
                precision_names[c->precision], update_names[c->update], c->master,
                (long long)c->micro_batches, keep, t->spec.threads, row_phase_names[p]);
        const double reals[] = {x->formula_flops,    x->flops,  x->recompute_flops, x->bytes,
                                x->flops / x->bytes, x->roof_s, s->time_s,          s->ci_low_s,
                                s->ci_high_s,        s->min_s};
        for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) put(f, reals[i], ",");
        fprintf(f, "%lld,", (long long)r->samples);
        put(f, x->flops / s->time_s * 1e-9, ",");
        put(f, x->bytes / s->time_s * 1e-9, ",");
        put(f, x->roof_s / s->time_s, ",");
        put(f, r->peak_gflop_s, ",");
        fprintf(f, "%s,", r->peak_source);
        put(f, mfu(x->formula_flops, s->time_s, r->peak_gflop_s), ",");
        put(f, mfu(x->flops - x->recompute_flops, s->time_s, r->peak_gflop_s), ",");
        put(f, mfu(x->flops, s->time_s, r->peak_gflop_s), ",");
        put(f, (double)c->rows / s->time_s, ",");
        fprintf(f, "%lld,%lld,", (long long)r->steps, (long long)r->skipped);
        put(f, r->first_loss, ",");
        put(f, r->last_loss, ",");
        fprintf(f, "%s\n", when);
    }
}

static void write_memory(FILE *f, const struct trainer *t, const struct train_results *r,
                         const char *name) {
    for (int k = 0; k < MEMORY_KINDS; k++) {
        fprintf(f, "%s,%s,%s,%lld,%lld,%lld,%lld,", t->device->slug, name, memory_kind_names[k],
                (long long)r->predicted.kind[k], (long long)r->measured[k],
                (long long)(k == MEMORY_temporaries ? r->scratch_bytes : 0),
                (long long)r->padding_bytes);
        if (r->slack_bytes >= 0) fprintf(f, "%lld", (long long)r->slack_bytes);
        fputc(',', f);
        if (r->before_bytes >= 0) fprintf(f, "%lld", (long long)r->before_bytes);
        fputc('\n', f);
    }
}

/* Whether an older record stays: it is of another device or model, or of a step before first_step. */
static bool stays(const char *line, const char *ours, int64_t first_step) {
    const size_t n = strlen(ours);
    return strncmp(line, ours, n) != 0 ||
           (first_step > 0 && strtoll(line + n, NULL, 10) < first_step);
}

static int copy_older(const char *path, const char *header, const char *ours, int64_t first_step,
                      FILE *to) {
    char *line = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "r");
    int bad = 0;
    if (!f) return errno == ENOENT ? 0 : -1;
    if (getline(&line, &size, f) > 0 && strcmp(line, header) != 0) {
        fprintf(stderr, "roofline: '%s' has other columns than this program writes\n", path);
        bad = -2;
    }
    while (!bad && getline(&line, &size, f) > 0)
        if (strchr(line, '\n') && stays(line, ours, first_step) && fputs(line, to) < 0) bad = -1;
    free(line);
    fclose(f);
    return bad;
}

/* dir/file with its older records and new ones; it appears whole or not at all. */
struct rewritten {
    char *path, *temporary;
    FILE *f;
};

static int rewrite_begin(struct rewritten *w, const char *dir, const char *file, const char *header,
                         const char *ours, int64_t first_step) {
    w->path = path_join(dir, file);
    w->temporary = path_join(dir, "train.tmp");
    w->f = fopen(w->temporary, "w");
    const int bad =
        !w->f || fputs(header, w->f) < 0 ? -1 : copy_older(w->path, header, ours, first_step, w->f);
    if (bad == -1) fprintf(stderr, "roofline: cannot write '%s': %s\n", w->path, strerror(errno));
    return bad ? -1 : 0;
}

static int rewrite_end(struct rewritten *w, int bad) {
    if (w->f) {
        const bool written = !ferror(w->f) && fflush(w->f) == 0 && fsync(fileno(w->f)) == 0;
        const bool closed = fclose(w->f) == 0;
        if (!bad && (!written || !closed || rename(w->temporary, w->path))) {
            fprintf(stderr, "roofline: cannot write '%s': %s\n", w->path, strerror(errno));
            bad = -1;
        }
        if (bad) unlink(w->temporary);
    }
    free(w->path);
    free(w->temporary);
    return bad;
}

enum { MODEL_NAME = 160, KEY = 256 };

/* What records of this device and model begin with. */
static void key_of(const struct trainer *t, char name[MODEL_NAME], char key[KEY]) {
    train_name(&t->spec, name, MODEL_NAME);
    snprintf(key, KEY, "%s,%s,", t->device->slug, name);
}

int results_write(const char *dir, const struct trainer *t, const struct train_results *r) {
    char name[MODEL_NAME], ours[KEY];
    struct rewritten w;
    key_of(t, name, ours);
    int bad = rewrite_begin(&w, dir, "train.csv", train_header, ours, 0);
    if (!bad) write_train(w.f, t, r, name);
    if (rewrite_end(&w, bad)) return -1;
    bad = rewrite_begin(&w, dir, "memory.csv", memory_header, ours, 0);
    if (!bad) write_memory(w.f, t, r, name);
    return rewrite_end(&w, bad);
}

int results_write_losses(const char *dir, const struct trainer *t, const struct loss_point *point,
                         size_t points, int64_t first_step) {
    char name[MODEL_NAME], ours[KEY];
    struct rewritten w;
    key_of(t, name, ours);
    const int bad = rewrite_begin(&w, dir, "loss.csv", loss_header, ours, first_step);
    for (size_t i = 0; i < points && !bad; i++) {
        fprintf(w.f, "%s%lld,", ours, (long long)point[i].step);
        put(w.f, point[i].loss, ",");
        put(w.f, point[i].grad_norm, ",");
        put(w.f, point[i].loss_scale, ",");
        fprintf(w.f, "%d,", point[i].skipped);
        put(w.f, point[i].step_s, "\n");
    }
    return rewrite_end(&w, bad);
}
