/* cmd_claims.c - what a lecture on resource accounting says, predicted and measured on this machine, with a verdict. */
#define _GNU_SOURCE
#include "commands.h"
#include "devices.h"
#include "options.h"
#include "run.h"
#include "runinfo.h"

#include "claims/claims.h"
#include "claims/device.h"
#include "claims/measure.h"
#include "claims/print.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLAIMS = 64 };

static void help(void) {
    puts("Usage: roofline claims [options]\n"
         "\n"
         "Tests on this machine what a lecture on resource accounting says of any: what the model "
         "predicts here, what was\n"
         "measured, and a verdict: holds, does not hold here (and why), can't be tested here (and "
         "why). Predictions come from\n"
         "ceilings that are measured first, or from formulas. Kernels are verified before they are "
         "timed; of each trial the\n"
         "fastest sample is compared, since what others do on the machine meanwhile only adds "
         "time. Under two minutes.\n"
         "\n"
         "  --only LIST        these claims, by the names below, comma-separated\n"
         "  --format NAME      table, csv or json (default: table)\n"
         "  --out DIR          also to DIR/claims.csv, which is replaced\n"
         "  --device NAME      cpu, gpu, cuda:0 ... (default: the GPU where there is one)\n"
         "  --threads N        CPU threads, a number or all (default: all; in a virtual machine "
         "1, since a host that moves\n"
         "                     several threads apart changes their bandwidth between two "
         "measurements)\n"
         "  --time SECONDS     of sampling, per trial (default: 0.15)\n"
         "  --quiet            no progress on stderr\n"
         "\n"
         "Claims:");
    for (int i = 0; i < claim_count; i++) printf("  %-14s %s\n", claims[i].id, claims[i].says);
    puts("\n"
         "Example:\n"
         "  roofline claims --only relu-gelu,backward,bf16-1.001");
}

struct options {
    const char *only, *threads, *device;
    enum claims_format format;
    double time_s;
    struct run run;
};

/* 0, 1 after --help, -1 after one line on stderr. */
static int read_options(int argc, char **argv, struct options *o) {
    static const struct option longs[] = {{"only", required_argument, NULL, 'l'},
                                          {"format", required_argument, NULL, 'f'},
                                          {"out", required_argument, NULL, 'o'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"time", required_argument, NULL, 's'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int choice = 0, c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (c) {
        case 'l':
            o->only = optarg;
            break;
        case 'f':
            if (option_choice("--format", optarg, claims_formats, 3, &choice)) return -1;
            o->format = (enum claims_format)choice;
            break;
        case 'o':
            o->run.dir = optarg;
            break;
        case 'd':
            o->device = optarg;
            break;
        case 't':
            o->threads = optarg;
            break;
        case 's':
            if (option_number("--time", optarg, 0.001, 3600, &o->time_s)) return -1;
            break;
        case 'q':
            o->run.progress = false;
            break;
        case 'h':
            help();
            return 1;
        default:
            return -1;
        }
    }
    return option_no_operands(argc, argv, optind);
}

/* The claims of the list; NULL: all. 0, or -1 after one line on stderr. */
static int choose(const char *list, bool which[MOST_CLAIMS]) {
    for (int i = 0; i < claim_count; i++) which[i] = !list;
    if (list && !*list) {
        fprintf(stderr, "roofline: --only needs a claim\n");
        return -1;
    }
    while (list && *list) {
        char id[64];
        const size_t length = strcspn(list, ",");
        snprintf(id, sizeof id, "%.*s", (int)length, list);
        const int claim = claim_find(id);
        if (claim < 0) {
            fprintf(stderr, "roofline: unknown claim '%s'; 'roofline claims --help' lists them\n",
                    id);
            return -1;
        }
        which[claim] = true;
        list += length + (list[length] == ',');
    }
    return 0;
}

/* Measures what the claims want. An exit status. */
static int measure(const struct options *o, struct device *d, const bool which[],
                   struct evidence *e) {
    const double enough_s = 75;
    bool copies = false, stored = false;
    for (int i = 0; i < claim_count; i++) {
        if (!which[i]) continue;
        if (claims[i].want) claims[i].want(e);
        copies = copies || claims[i].copies;
        stored = stored || claims[i].stored;
    }
    const int status = evidence_measure(e, d, &o->run, o->time_s, enough_s);
    if (status != STATUS_OK && status != STATUS_NO) return status;
    if (copies) evidence_copies(e, d);
    if (stored) evidence_stored(e, d);
    return status;
}

/* DIR/claims.csv; 0, or -1 after one line on stderr. */
static int write_file(const struct options *o, const struct device *d, int threads,
                      const bool which[], const struct finding found[]) {
    char *path = path_join(o->run.dir, "claims.csv");
    FILE *f = fopen(path, "w");
    int status = -1;
    if (f) {
        claims_print(f, CLAIMS_CSV, d->slug, threads, which, found);
        const bool bad = ferror(f) != 0;
        status = fclose(f) != 0 || bad ? -1 : 0;
    }
    if (status) fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
    free(path);
    return status;
}

int cmd_claims(int argc, char **argv) {
    static struct evidence e;
    static struct finding found[MOST_CLAIMS];
    bool which[MOST_CLAIMS] = {false};
    struct options o = {.time_s = 0.15,
                        .run = {.argc = argc, .argv = argv, .timeout_s = 120, .progress = true}};
    struct device d;
    const int bad = read_options(argc, argv, &o);
    if (bad) return bad > 0 ? STATUS_OK : STATUS_ERROR;
    if (choose(o.only, which) || device_pick(o.device, &d)) return STATUS_ERROR;
    int status = STATUS_ERROR;
    const int threads = evidence_threads(&d, o.threads);
    if (threads < 0) goto done;
    if (d.emulated) {
        fprintf(stderr,
                "roofline: claims: %s is emulated, and times of an emulated device mean nothing\n",
                d.name);
        goto done;
    }
    if (o.run.dir && (make_directory(o.run.dir) || run_info_write(o.run.dir, &d, argc, argv)))
        goto done;
    evidence_begin(&e, &d, threads);
    status = measure(&o, &d, which, &e);
    if (status != STATUS_OK && status != STATUS_NO) goto done;
    for (int i = 0; i < claim_count; i++)
        if (which[i]) claim_judge(&claims[i], &e, &found[i]);
    claims_print(stdout, o.format, d.slug, threads, which, found);
    if (o.run.dir && write_file(&o, &d, threads, which, found)) status = STATUS_ERROR;
done:
    evidence_end(&e);
    d.close(&d);
    return status;
}
