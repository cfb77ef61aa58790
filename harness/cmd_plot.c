/* cmd_plot.c - charts of a result folder, and of published peaks. */
#define _GNU_SOURCE
#include "chart.h"
#include "commands.h"
#include "run.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_OK = 0, EXIT_USAGE = 2 };

static const char help[] =
    "Usage: roofline plot DIR [options]\n"
    "       roofline plot --specs -o OUT [options]\n"
    "\n"
    "Draws charts from DIR/bench.csv and DIR/peaks.csv with gnuplot, and writes the data of each\n"
    "chart as CSV beside them. Prints the path of every chart. Charts whose rows are missing are\n"
    "left out; without gnuplot the data are written all the same.\n"
    "\n"
    "  -o, --out OUT          where to (default: DIR/charts); the data go to OUT/data\n"
    "  -f, --format LIST      png, svg or png,svg (default: png,svg)\n"
    "      --specs            only the published rooflines with the catalogue's intensities: needs "
    "no run\n"
    "  -h, --help             this text\n"
    "\n"
    "Charts: roofline_<dtype>, roofline_all, bandwidth, ladder, <product>_<dtype>, "
    "vendor_<dtype>,\n"
    "streams_<dtype>, published_<dtype>.\n"
    "\n"
    "Examples:\n"
    "  roofline plot results/my-cpu/2026-11-29-abc1234\n"
    "  roofline plot results/latest -o /tmp/charts --format svg\n"
    "  roofline plot --specs -o charts\n";

static int usage_error(const char *what, const char *word) {
    fprintf(stderr, "roofline: plot: %s%s%s%s (see 'roofline plot --help')\n", what,
            word ? " '" : "", word ? word : "", word ? "'" : "");
    return EXIT_USAGE;
}

static bool parse_formats(const char *list, struct chart_out *out) {
    out->png = out->svg = false;
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        if (length == 3 && strncmp(at, "png", 3) == 0)
            out->png = true;
        else if (length == 3 && strncmp(at, "svg", 3) == 0)
            out->svg = true;
        else
            return false;
        at += length + (at[length] == ',');
    }
    return out->png || out->svg;
}

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

/* Keeps the rows of one device. Returns how many went. */
static size_t keep_device(struct rows *rows, const char *device) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].device, device) == 0) rows->row[kept++] = rows->row[i];
    const size_t gone = rows->count - kept;
    rows->count = kept;
    return gone;
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

static int load(const char *dir, struct chart_run *run) {
    struct stat st;
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
        fprintf(stderr, "roofline: '%s' is not a folder\n", dir);
        return -1;
    }
    if (read_rows(dir, "bench.csv", &run->bench) || read_rows(dir, "peaks.csv", &run->peaks))
        return -1;
    const struct rows *any = run->bench.count ? &run->bench : &run->peaks;
    if (any->count == 0) {
        fprintf(stderr, "roofline: '%s' holds no rows in bench.csv or peaks.csv\n", dir);
        return -1;
    }
    row_set_text(run->device, any->row[0].device);
    if (device_slug_is_emulated(run->device)) {
        fprintf(stderr,
                "roofline: '%s' is of an emulated device: its times are no measurements, and there "
                "is no chart of them\n",
                dir);
        return -1;
    }
    snprintf(run->when, sizeof run->when, "%.10s", any->row[0].when);
    read_commit(dir, run->commit);
    const size_t others =
        keep_device(&run->bench, run->device) + keep_device(&run->peaks, run->device);
    if (others)
        fprintf(stderr, "roofline: %zu rows of devices other than '%s' are left out\n", others,
                run->device);
    for (size_t i = 0; i < run->bench.count; i++)
        if (strcmp(run->bench.row[i].status, "ok") == 0 && run->bench.row[i].threads > run->threads)
            run->threads = run->bench.row[i].threads;
    if (ceilings_of(&run->peaks, last_cache_at_least(&run->peaks), &run->roofs)) {
        fprintf(stderr, "roofline: no memory for the ceilings\n");
        return -1;
    }
    return 0;
}

static bool any_proven(const struct ceilings *c) {
    for (size_t i = 0; i < c->count; i++)
        if (c->ceiling[i].proven) return true;
    return false;
}

static int draw_run(struct chart_out *out, const struct chart_run *run) {
    if (!run->bench.count)
        fprintf(stderr, "roofline: no bench.csv: only the charts of ceilings are drawn\n");
    if (!run->peaks.count)
        fprintf(stderr, "roofline: no peaks.csv: charts without ceilings, and no rooflines\n");
    if (run->peaks.count && !any_proven(&run->roofs))
        fprintf(stderr, "roofline: no ceiling of peaks.csv is proven (was the machine busy?): the "
                        "charts have no roofs\n");
    if (run->bench.count && run->peaks.count && chart_rooflines(out, run)) return -1;
    if (chart_bandwidth(out, run) || chart_ladder(out, run)) return -1;
    return chart_products(out, run) || chart_vendors(out, run) || chart_streams(out, run) ? -1 : 0;
}

int cmd_plot(int argc, char **argv) {
    static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"specs", no_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct chart_out out = {.png = true, .svg = true};
    struct chart_run run = {0};
    const char *dir = NULL, *target = NULL;
    char path[4096], data[4160];
    bool specs = false;
    int status = EXIT_USAGE, letter;
    optind = 1;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "o:f:h", options, NULL)) != -1) {
        switch (letter) {
        case 'o':
            target = optarg;
            break;
        case 'f':
            if (!parse_formats(optarg, &out))
                return usage_error("the format is png, svg or png,svg, not", optarg);
            break;
        case 's':
            specs = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_OK;
        default:
            return usage_error("unknown option or missing value:", argv[optind - 1]);
        }
    }
    if (optind < argc) dir = argv[optind++];
    if (optind < argc) return usage_error("one folder, please; what is", argv[optind]);
    if (specs && dir) return usage_error("--specs needs no folder such as", dir);
    if (specs ? !target : !dir)
        return usage_error(specs ? "--specs needs -o OUT" : "no folder given", NULL);
    if (target && !*target) return usage_error("an empty OUT", NULL);
    if (!specs && load(dir, &run)) goto done;
    snprintf(path, sizeof path, "%s%s", target ? target : dir, target ? "" : "/charts");
    snprintf(data, sizeof data, "%s/data", path);
    out.dir = path;
    if (make_directory(data)) goto done;
    if (!specs && draw_run(&out, &run)) goto done;
    if (chart_published(&out)) goto done;
    if (out.no_gnuplot) printf("%s\n", data);
    status = out.failed ? EXIT_USAGE : EXIT_OK;
done:
    free(run.bench.row);
    free(run.peaks.row);
    free(run.roofs.ceiling);
    return status;
}
