/* cmd_report.c - one self-contained page about one run or several. */
#define _GNU_SOURCE
#include "commands.h"

#include "report/report.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: roofline report DIR... [-o FILE]\n"
    "\n"
    "Writes one self-contained HTML file about the run in DIR, or about several side by side: "
    "what\n"
    "machine, findings in sentences, ceilings, charts, every row with its status, claims, "
    "training,\n"
    "memory, the environment, how to reproduce. It loads nothing from anywhere, reads without\n"
    "script, on a phone and on paper. Prints the path of the file.\n"
    "\n"
    "It is made from what DIR holds: bench.csv, peaks.csv (one of them at least), run.json,\n"
    "run.2.json ..., claims.csv, probes.csv, train.csv, memory.csv, loss.csv. Charts are drawn by\n"
    "gnuplot; without it the tables still come.\n"
    "\n"
    "  -o, --out FILE         where to; - is stdout (default: DIR/report.html of the first DIR)\n"
    "  -h, --help             this text\n"
    "\n"
    "Examples:\n"
    "  roofline report results/my-cpu/2026-11-29-abc1234\n"
    "  roofline report results/a100/first results/h100/first -o both.html\n";

static int usage_error(const char *what, const char *word) {
    fprintf(stderr, "roofline: report: %s%s%s%s (see 'roofline report --help')\n", what,
            word ? " '" : "", word ? word : "", word ? "'" : "");
    return STATUS_ERROR;
}

/* The file appears whole or not at all. 0, or -1 after one line on stderr. */
static int write_file(const char *path, struct report *r) {
    char partial[4200];
    snprintf(partial, sizeof partial, "%.4096s.partial", path);
    FILE *f = fopen(partial, "w");
    if (!f) {
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
        return -1;
    }
    const int status = report_print(f, r);
    const bool bad = ferror(f) != 0;
    if (fclose(f) == 0 && !bad && status == 0 && rename(partial, path) == 0) return 0;
    if (status == 0) fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
    unlink(partial);
    return -1;
}

int cmd_report(int argc, char **argv) {
    static const struct option options[] = {
        {"out", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {0}};
    struct report r = {0};
    const char *target = NULL;
    char path[4096];
    int status = STATUS_ERROR, letter;
    optind = 1;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        switch (letter) {
        case 'o':
            target = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return STATUS_OK;
        default:
            return usage_error("unknown option or missing value:", argv[optind - 1]);
        }
    }
    const int folders = argc - optind;
    if (folders == 0) return usage_error("no folder given", NULL);
    if (target && !*target) return usage_error("an empty FILE", NULL);
    if (report_load(&r, argv + optind, folders)) goto done;
    if (r.runs.count > CHART_MAX_RUNS) {
        fprintf(stderr, "roofline: report: %zu runs are too many for a page: at most %d\n",
                r.runs.count, CHART_MAX_RUNS);
        goto done;
    }
    if (report_draw(&r)) goto done;
    snprintf(path, sizeof path, "%.4000s%s", target ? target : argv[optind],
             target ? "" : "/report.html");
    if (target && strcmp(target, "-") == 0) {
        status = report_print(stdout, &r) ? STATUS_ERROR : STATUS_OK;
    } else if (write_file(path, &r) == 0) {
        printf("%s\n", path);
        status = STATUS_OK;
    }
done:
    report_free(&r);
    return status;
}
