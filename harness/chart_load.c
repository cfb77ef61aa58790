/* chart_load.c - the rows of a result folder, one run a device; what runs are called and coloured; all charts of a run. */
#define _GNU_SOURCE
#include "chart.h"
#include "chart_layout.h"
#include "device.h"
#include "rounds.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 with no rows when the file is not there. */
static int read_rows(const char *dir, const char *file, struct rows *rows) {
    char path[4096];
    bool torn = false;
    *rows = (struct rows){0};
    snprintf(path, sizeof path, "%s/%s", dir, file);
    if (access(path, F_OK) != 0) return 0;
    if (rows_read(path, rows, &torn)) return -1;
    if (torn) fprintf(stderr, "roofline: '%s' ends in a torn line, which is left out\n", path);
    return 0;
}

/* The rows of one device, copied; 0, or -1 without memory. */
static int rows_of(const struct rows *all, const char *device, struct rows *out) {
    *out = (struct rows){.row = malloc((all->count + 1) * sizeof *out->row)};
    if (!out->row) return -1;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->row[i].device, device) == 0) out->row[out->count++] = all->row[i];
    return 0;
}

/* The text of "commit" in run.json, shortened to what people quote; empty when there is none. */
static void read_commit(const char *dir, char commit[16]) {
    char path[4096], text[65536];
    commit[0] = '\0';
    snprintf(path, sizeof path, "%s/run.json", dir);
    FILE *f = fopen(path, "r");
    if (!f) return;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const char *at = strstr(text, "\"commit\"");
    if (!at) return;
    at += strlen("\"commit\"");
    at += strspn(at, " \t\r\n:");
    if (*at == '"')
        snprintf(commit, 16, "%.*s",
                 (int)strspn(at + 1, "0123456789abcdef") > 9 ? 9 : (int)strcspn(at + 1, "\""),
                 at + 1);
}

/* What rows labelled with a cache level prove about the last cache's size. A DRAM row is labelled so only above four
 * times that size; this checks it again. */
static double last_cache_at_least(const struct rows *rows) {
    double size = 1;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->row[i].level[0] == 'L') size = fmax(size, rows->row[i].footprint_bytes);
    return size;
}

static bool has_device(const struct chart_runs *runs, size_t from, const char *device) {
    for (size_t i = from; i < runs->count; i++)
        if (strcmp(runs->run[i].device, device) == 0) return true;
    return false;
}

/* Appends the run of one device. 0, or -1 after one line on stderr. */
static int add_run(struct chart_runs *runs, const char *dir, const char *device,
                   const struct rows *bench, const struct rows *peaks) {
    struct chart_run run = {.dir = dir};
    struct chart_run *grown = realloc(runs->run, (runs->count + 1) * sizeof *grown);
    if (grown) runs->run = grown;
    if (!grown || rows_of(bench, device, &run.bench) || rows_of(peaks, device, &run.peaks) ||
        ceilings_of(&run.peaks, last_cache_at_least(&run.peaks), &run.roofs)) {
        fprintf(stderr, "roofline: no memory for the rows of '%s'\n", dir);
        free(run.bench.row), free(run.peaks.row);
        return -1;
    }
    const size_t rows = run.bench.count;
    if (rounds_fold(&run.bench))
        fprintf(stderr, "roofline: no memory to fold the rounds of '%s'\n", dir);
    run.folded = rows - run.bench.count;
    const struct rows *any = run.bench.count ? &run.bench : &run.peaks;
    row_set_text(run.device, device);
    snprintf(run.when, sizeof run.when, "%.10s", any->count ? any->row[0].when : "");
    read_commit(dir, run.commit);
    for (size_t i = 0; i < run.bench.count; i++)
        if (strcmp(run.bench.row[i].status, "ok") == 0 && run.bench.row[i].threads > run.threads)
            run.threads = run.bench.row[i].threads;
    runs->run[runs->count++] = run;
    return 0;
}

int chart_runs_load(struct chart_runs *runs, const char *dir) {
    struct rows bench = {0}, peaks = {0}, series = {0};
    struct stat st;
    const size_t before = runs->count;
    const char *emulated = NULL;
    int status = -1;
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
        fprintf(stderr, "roofline: '%s' is not a folder\n", dir);
        return -1;
    }
    if (read_rows(dir, "bench.csv", &bench) || read_rows(dir, "peaks.csv", &peaks) ||
        read_rows(dir, "sustain.csv", &series))
        goto done;
    const size_t rows = bench.count + peaks.count;
    if (rows + series.count == 0) {
        fprintf(stderr, "roofline: '%s' holds no rows in bench.csv, peaks.csv or sustain.csv\n",
                dir);
        goto done;
    }
    for (size_t i = 0; i < rows + series.count; i++) {
        const char *device = i < bench.count ? bench.row[i].device
                             : i < rows      ? peaks.row[i - bench.count].device
                                             : series.row[i - rows].device;
        if (device_slug_is_emulated(device))
            emulated = device;
        else if (!has_device(runs, before, device) && add_run(runs, dir, device, &bench, &peaks))
            goto done;
    }
    if (emulated) {
        fprintf(stderr,
                "roofline: '%s' is of an emulated device: its times are no measurements, and "
                "they are not shown\n",
                dir);
        if (runs->count == before) goto done;
    }
    status = 0;
done:
    free(bench.row);
    free(peaks.row);
    free(series.row);
    return status;
}

void chart_runs_free(struct chart_runs *runs) {
    for (size_t i = 0; i < runs->count; i++) {
        free(runs->run[i].bench.row);
        free(runs->run[i].peaks.row);
        free(runs->run[i].roofs.ceiling);
    }
    free(runs->run);
    *runs = (struct chart_runs){0};
}

/* ---- names and colours ---- */

static bool label_is_taken(const struct chart_runs *runs, size_t before, const char *label) {
    for (size_t i = 0; i < before; i++)
        if (strcmp(runs->run[i].label, label) == 0) return true;
    return false;
}

static size_t runs_of_device(const struct chart_runs *runs, const char *device) {
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++) count += strcmp(runs->run[i].device, device) == 0;
    return count;
}

/* The device where that tells the runs apart, else with date and commit, else numbered. */
static void name_run(struct chart_runs *runs, size_t i) {
    struct chart_run *run = &runs->run[i];
    char first[sizeof run->label];
    snprintf(run->label, sizeof run->label, "%s", run->device);
    if (runs_of_device(runs, run->device) > 1)
        snprintf(run->label, sizeof run->label, "%s%s%s%s%s", run->device, *run->when ? " " : "",
                 run->when, *run->commit ? " " : "", run->commit);
    snprintf(first, sizeof first, "%s", run->label);
    for (int n = 2; label_is_taken(runs, i, run->label); n++)
        snprintf(run->label, sizeof run->label, "%.*s (%d)", (int)sizeof first - 16, first, n);
}

/* Any other device than the GPUs of the published chart has the colour that its name gives, and the next free one where
 * two in a chart would share it. Devices choose in the order of their names: that of the runs makes no difference. */
static unsigned free_colour(const struct chart_runs *runs, const char *device) {
    static const unsigned palette[] = {0xd55e00, 0x009e73, 0x0072b2, 0xcc79a7,
                                       0x000000, 0x56b4e9, 0xe69f00};
    enum { COLOURS = sizeof palette / sizeof *palette, STRONG = 5 }; /* the rest is pale on paper */
    unsigned hash = 2166136261u;                                     /* FNV-1a */
    for (const char *c = device; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (unsigned k = 0; k < COLOURS; k++) {
        const unsigned colour = palette[k < STRONG ? (hash + k) % STRONG : k];
        bool taken = false;
        for (size_t i = 0; i < runs->count; i++) taken = taken || runs->run[i].colour == colour;
        if (!taken) return colour;
    }
    return palette[hash % STRONG];
}

static void colour_runs(struct chart_runs *runs) {
    for (size_t i = 0; i < runs->count; i++)
        runs->run[i].colour = chart_gpu_colour(runs->run[i].device);
    for (;;) {
        const char *next = NULL;
        for (size_t i = 0; i < runs->count; i++)
            if (runs->run[i].colour == CHART_NO_COLOUR &&
                (!next || strcmp(runs->run[i].device, next) < 0))
                next = runs->run[i].device;
        if (!next) return;
        const unsigned colour = free_colour(runs, next);
        for (size_t i = 0; i < runs->count; i++)
            if (strcmp(runs->run[i].device, next) == 0) runs->run[i].colour = colour;
    }
}

/* `word` as a part of a name: "h100" of "nvidia-h100-80gb", not of "h1000". */
static bool names(const char *device, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = device; (at = strcasestr(at, word)); at++)
        if ((at == device || !isalnum((unsigned char)at[-1])) &&
            !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

unsigned chart_gpu_colour(const char *name) {
    static const struct {
        const char *gpu;
        unsigned colour;
    } fixed[] = {{"A100", 0xe69f00}, {"H100", 0x0072b2}, {"H200", 0x56b4e9}, {"B200", 0x000000}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (names(name, fixed[i].gpu)) return fixed[i].colour;
    return CHART_NO_COLOUR;
}

void chart_runs_name(struct chart_runs *runs) {
    colour_runs(runs);
    for (size_t i = 0; i < runs->count; i++) {
        name_run(runs, i);
        for (size_t k = 0; k < i; k++)
            if (runs->run[k].colour == runs->run[i].colour) runs->run[i].dash++;
    }
}

/* ---- all charts ---- */

static bool any_proven(const struct ceilings *c) {
    for (size_t i = 0; i < c->count; i++)
        if (c->ceiling[i].proven) return true;
    return false;
}

int chart_all(struct chart_out *out, const struct chart_run *run) {
    if (!run->bench.count && run->peaks.count)
        fprintf(stderr, "roofline: no bench.csv: only the charts of ceilings are drawn\n");
    if (!run->peaks.count && run->bench.count)
        fprintf(stderr, "roofline: no peaks.csv: charts without ceilings, and no rooflines\n");
    if (run->peaks.count && !any_proven(&run->roofs))
        fprintf(stderr, "roofline: no ceiling of peaks.csv is proven (was the machine busy?): the "
                        "charts have no roofs\n");
    if (run->bench.count && run->peaks.count && chart_rooflines(out, run)) return -1;
    if (chart_bandwidth(out, run) || chart_ladder(out, run)) return -1;
    if (chart_products(out, run) || chart_vendors(out, run) || chart_streams(out, run)) return -1;
    return chart_training(out, run) || chart_effects(out, run) || chart_sustained(out, run) ? -1
                                                                                            : 0;
}
