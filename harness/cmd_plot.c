/* cmd_plot.c - charts of a result folder, and of published peaks. */
#define _GNU_SOURCE
#include "chart.h"
#include "commands.h"
#include "run.h"

#include <getopt.h>
#include <string.h>

enum { EXIT_OK = 0, EXIT_USAGE = 2 };

static const char help[] =
    "Usage: roofline plot DIR [options]\n"
    "       roofline plot DIR DIR... -o OUT [options]\n"
    "       roofline plot --specs -o OUT [options]\n"
    "\n"
    "Draws charts from DIR/bench.csv and DIR/peaks.csv with gnuplot, and writes the data of each\n"
    "chart as CSV beside them. Prints the path of every chart. Charts whose rows are missing are\n"
    "left out; without gnuplot the data are written all the same. Several folders, or a folder "
    "with\n"
    "rows of several devices, are drawn into common charts; a device has one colour everywhere.\n"
    "\n"
    "  -o, --out OUT          where to (default for one folder: DIR/charts); the data go to "
    "OUT/data;\n"
    "                         of further devices of one folder to OUT/<device>\n"
    "  -f, --format LIST      png, svg or png,svg (default: png,svg)\n"
    "      --specs            only the published rooflines with the catalogue's intensities: needs "
    "no run\n"
    "  -h, --help             this text\n"
    "\n"
    "Charts of a run: roofline_<dtype>, roofline_all, bandwidth, ladder, <product>_<dtype>,\n"
    "vendor_<dtype>, streams_<dtype>; cold_warm and fill where rows differ in nothing else;\n"
    "published_<dtype>; sustained, of bench --sustain. Of several: overlay_<dtype>, sweep_read, "
    "sweep_<product>_<dtype>,\n"
    "ladder_devices, and ratio_<dtype>, the second over the first.\n"
    "\n"
    "Examples:\n"
    "  roofline plot results/my-cpu/2026-11-29-abc1234\n"
    "  roofline plot results/latest -o /tmp/charts --format svg\n"
    "  roofline plot results/a100/first results/h100/first -o both\n"
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

/* out/<device>, where the device's name is one of a folder; else out/device-<number>. */
static void device_folder(const char *out, const char *device, size_t number, char path[4096]) {
    const size_t plain = strspn(device, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789-_.");
    if (*device && *device != '.' && device[plain] == '\0')
        snprintf(path, 4096, "%.3900s/%s", out, device);
    else
        snprintf(path, 4096, "%.3900s/device-%zu", out, number);
}

static int make_folders(struct chart_out *out, const char *path) {
    char data[4200];
    snprintf(data, sizeof data, "%s/data", path);
    out->dir = path;
    return make_directory(data);
}

/* Of one folder the charts of each device; of several devices or folders those that compare. */
static int draw(struct chart_out *out, const struct chart_runs *runs, const char *path,
                int folders) {
    char below[4096];
    for (size_t i = 0; i < runs->count && folders == 1; i++) {
        snprintf(below, sizeof below, "%s", path);
        if (i > 0) device_folder(path, runs->run[i].device, i + 1, below);
        const int status = make_folders(out, below) || chart_all(out, &runs->run[i]) ? -1 : 0;
        out->dir = path;
        if (status) return -1;
    }
    if (make_folders(out, path) || chart_comparison(out, runs)) return -1;
    return folders == 1 ? chart_published(out) : 0;
}

int cmd_plot(int argc, char **argv) {
    static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"specs", no_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct chart_out out = {.png = true, .svg = true};
    struct chart_runs runs = {0};
    const char *target = NULL;
    char path[4096];
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
    const int folders = argc - optind;
    if (specs && folders) return usage_error("--specs needs no folder such as", argv[optind]);
    if (!specs && !folders) return usage_error("no folder given", NULL);
    if (specs && !target) return usage_error("--specs needs -o OUT", NULL);
    if (folders > 1 && !target) return usage_error("several folders need -o OUT", NULL);
    if (folders > CHART_MAX_RUNS) return usage_error("that many folders make no chart", NULL);
    if (target && !*target) return usage_error("an empty OUT", NULL);
    if (folders == 1 &&
        chart_is_fleet(argv[optind])) { /* its devices' runs lie in folders of their own */
        snprintf(path, sizeof path, "%s%s", target ? target : argv[optind],
                 target ? "" : "/charts");
        if (make_folders(&out, path) || chart_fleet(&out, argv[optind])) goto done;
        status = out.failed ? EXIT_USAGE : EXIT_OK;
        goto done;
    }
    for (int i = 0; i < folders; i++)
        if (chart_runs_load(&runs, argv[optind + i])) goto done;
    if (runs.count > CHART_MAX_RUNS) {
        fprintf(stderr, "roofline: plot: %zu runs make no chart: at most %d\n", runs.count,
                CHART_MAX_RUNS);
        goto done;
    }
    chart_runs_name(&runs);
    if (target)
        snprintf(path, sizeof path, "%s", target);
    else
        snprintf(path, sizeof path, "%s/charts", argv[optind]);
    if (specs) {
        if (make_folders(&out, path) || chart_published(&out)) goto done;
    } else if (draw(&out, &runs, path, folders)) {
        goto done;
    }
    if (out.no_gnuplot) printf("%s/data\n", path);
    status = out.failed ? EXIT_USAGE : EXIT_OK;
done:
    chart_runs_free(&runs);
    return status;
}
