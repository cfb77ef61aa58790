/* load.c - what a report is made from: rows, files beside them, charts in a temporary folder. */
#define _GNU_SOURCE
#include "report.h"

#include "../run.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_folder(struct report_folder *x, const char *dir) {
    const struct {
        const char *name;
        struct csv *to;
    } file[] = {{"claims.csv", &x->claims},
                {"probes.csv", &x->probes},
                {"train.csv", &x->train},
                {"memory.csv", &x->memory},
                {"loss.csv", &x->loss}};
    x->dir = dir;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        csv_table_read(dir, file[i].name, file[i].to);
    infos_read(dir, &x->infos);
}

int report_load(struct report *r, char **dirs, int count) {
    r->folder = calloc((size_t)count, sizeof *r->folder);
    if (!r->folder) goto no_memory;
    for (int i = 0; i < count; i++) {
        const size_t before = r->runs.count;
        if (chart_runs_load(&r->runs, dirs[i])) return -1;
        size_t *grown = realloc(r->of_run, r->runs.count * sizeof *grown);
        if (!grown) goto no_memory;
        r->of_run = grown;
        for (size_t k = before; k < r->runs.count; k++) r->of_run[k] = (size_t)i;
        r->folders++;
        read_folder(&r->folder[i], dirs[i]);
    }
    chart_runs_name(&r->runs);
    r->charts = calloc(r->runs.count + 1, sizeof *r->charts);
    if (r->charts) return 0;
no_memory:
    fprintf(stderr, "roofline: no memory for a report\n");
    return -1;
}

static void on_chart(void *context, const char *name, const char *title, const char *subtitle) {
    struct report_charts *c = context;
    struct report_chart *grown = realloc(c->chart, (c->count + 1) * sizeof *grown);
    if (!grown) return;
    c->chart = grown;
    struct report_chart *x = &grown[c->count++];
    *x = (struct report_chart){0};
    snprintf(x->name, sizeof x->name, "%s", name);
    snprintf(x->title, sizeof x->title, "%s", title);
    snprintf(x->subtitle, sizeof x->subtitle, "%s", subtitle);
}

int report_draw(struct report *r) {
    const char *temporary = getenv("TMPDIR");
    snprintf(r->work, sizeof r->work, "%.4000s/roofline-report-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(r->work)) {
        fprintf(stderr, "roofline: cannot make a temporary folder '%s': %s\n", r->work,
                strerror(errno));
        r->work[0] = '\0';
        return -1;
    }
    for (size_t i = 0; i <= r->runs.count; i++) {
        struct report_charts *c = &r->charts[i];
        char data[4160];
        struct chart_out out = {.dir = c->dir,
                                .svg = true,
                                .compact = true,
                                .quiet = true,
                                .no_gnuplot = r->no_gnuplot,
                                .on_chart = on_chart,
                                .context = c};
        snprintf(c->dir, sizeof c->dir, "%.4050s/%zu", r->work, i);
        snprintf(data, sizeof data, "%s/data", c->dir);
        if (make_directory(data)) return -1;
        if (i < r->runs.count ? chart_all(&out, &r->runs.run[i]) : chart_comparison(&out, &r->runs))
            return -1;
        if (out.no_gnuplot && !r->no_gnuplot)
            fprintf(stderr, "roofline: no gnuplot here: the report has tables, and no charts\n");
        r->no_gnuplot = out.no_gnuplot;
        if (out.failed) return -1;
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

void report_free(struct report *r) {
    if (*r->work && nftw(r->work, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "roofline: cannot remove '%s': %s\n", r->work, strerror(errno));
    for (size_t i = 0; r->charts && i <= r->runs.count; i++) free(r->charts[i].chart);
    for (size_t i = 0; i < r->folders; i++) {
        csv_free(&r->folder[i].claims), csv_free(&r->folder[i].probes);
        csv_free(&r->folder[i].train), csv_free(&r->folder[i].memory);
        csv_free(&r->folder[i].loss), infos_free(&r->folder[i].infos);
    }
    free(r->charts);
    free(r->folder);
    free(r->of_run);
    chart_runs_free(&r->runs);
}
