/* cmd_bench.c - trials -> rows, as a table for people, as CSV for tools, into a run's folder. */
#define _GNU_SOURCE
#include "commands.h"
#include "ceilings_file.h"
#include "devices.h"
#include "fleet_run.h"
#include "options.h"
#include "run.h"
#include "sustain.h"
#include "table.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const efforts[] = {"smoke", "default", "full"};
static const char *const caches[] = {"auto", "warm", "cold", "both"};

static void help(void) {
    puts(
        "Usage: roofline bench [options]\n"
        "\n"
        "Verifies each selected kernel against its oracle, then times it until the 95 % interval "
        "of the median is\n"
        "narrow. Without --out a table goes to stdout; with it rows go to DIR/bench.csv as they "
        "are made.\n"
        "\n"
        "What (comma-separated names or globs):\n"
        "  --op LIST          operations: matmul, 'cast*' ... (default: all)\n"
        "  --dtype LIST       fp64 fp32 fp16 bf16 fp8_e4m3 fp8_e5m2 nvfp4 (default: all an op "
        "has)\n"
        "  --impl LIST        best, vendor, all, or names (default: best,vendor; with --vs: best)\n"
        "  --vs LIST          time them in turns with these, on the same buffers: names or as "
        "--impl; "
        "vendor: the\n"
        "                     fastest library. ratio = its time / ours, above 1 ours is faster\n"
        "  --shape LIST       in the op's own dimensions: 4096, MxN, MxNxK, BxMxNxK (default: its "
        "sweep)\n"
        "  --layout LIST      nn nt tn of products, n t of matvec (default: the first; more with "
        "more effort)\n"
        "  --threads LIST     numbers or all (default: all; full: 1,all)\n"
        "  --cache MODE       warm, cold, both; auto: cold from 32 MiB on (default)\n"
        "  --fill LIST        normal uniform integers constant zeros: what inputs hold while "
        "timed (default: normal)\n"
        "  --effort NAME      smoke, default, full: how many shapes, how long\n"
        "  --device NAME      cpu, gpu, cuda:0 ... (default: the GPU where there is one); all, or "
        "a "
        "list: each alone,\n"
        "                     then all at once, in folders below --out DIR, and their spread\n"
        "  --patience SECONDS under mpirun or srun, a rank a device: how long rank 0 waits for the "
        "others at the end\n"
        "How:\n"
        "  --check            verify small odd shapes of every implementation, time nothing\n"
        "  --counters         count bytes and FLOPs as well, by the GPU's own counters, in a pass "
        "after the timing\n"
        "  --interval PERCENT stop when the interval of the median is within +- this (default: "
        "0.5)\n"
        "  --time SECONDS     or after this long a trial (default: 0.3; smoke 0.045, full 2)\n"
        "  --timeout SECONDS  give a trial up, verification included (default: 120, longer with a "
        "long --time)\n"
        "  --rounds N         all of it N times over, so that `compare` knows how rounds differ "
        "(default: 1)\n"
        "  --sustain SECONDS  each kernel for that long: rate, clock, power and temperature over "
        "time to "
        "DIR/sustain.csv,\n"
        "                     and the first second against the last third\n"
        "  --launch FORM      how GPU kernels that leave it open are launched. tuned: eight forms "
        "are "
        "tried for some ms each,\n"
        "                     once a trial (default); own: each kernel's own choice; 256: blocks "
        "of "
        "256 threads, one a tile;\n"
        "                     256x4: 4 of them a multiprocessor, which walk over the tiles. Column "
        "`launch` has what it was\n"
        "  --in-process       no worker process: for debuggers\n"
        "Where to:\n"
        "  --out DIR          rows to DIR/bench.csv, their samples to DIR/samples.csv, the "
        "environment to DIR/run.json;\n"
        "                     ceilings from DIR/peaks.csv\n"
        "  --resume           keep the rows that DIR/bench.csv has, measure what is missing\n"
        "  --peaks FILE       ceilings from another run's peaks.csv\n"
        "  --tuning FILE      launch forms from another run's bench.csv, of the trials that it "
        "has\n"
        "  --csv              CSV rows on stdout in place of the table\n"
        "  --quiet            no progress on stderr\n"
        "\n"
        "Examples:\n"
        "  roofline bench --op matmul --dtype fp32,bf16 --impl all --shape 1024x1024x1024\n"
        "  roofline bench --op 'cast*',relu --dtype bf16 --threads 1,all\n"
        "  roofline bench --op copy --shape 67108864 --fill zeros,normal   # what zeros do to a "
        "memory bus\n"
        "  roofline bench --sustain 60 --op matmul --dtype bf16 --shape 4096x4096x4096 --layout nn "
        "--out run\n"
        "  roofline bench --vs vendor --op matmul --dtype fp32 --threads 1,all\n"
        "  roofline bench --vs portable --impl all --op gelu --dtype fp32\n"
        "  roofline peaks --out run && roofline bench --out run");
}

struct options {
    struct selection selection;
    struct bench_settings settings;
    struct run run;
    const char *peaks, *device, *tuning;
    bool csv, quiet, count;
    int rounds;
    double patience_s;
};

/* A series is of one kernel on one device. */
static int refuse_beside_sustain(const struct options *o, double rounds) {
    const char *other = o->selection.vs      ? "--vs"
                        : o->selection.check ? "--check"
                        : o->count           ? "--counters"
                        : o->csv             ? "--csv"
                        : rounds > 1         ? "--rounds"
                        : o->device && (strchr(o->device, ',') || strcmp(o->device, "all") == 0)
                            ? "several devices"
                            : NULL;
    if (other) fprintf(stderr, "roofline: --sustain: not with %s\n", other);
    return other ? -1 : 0;
}

static int parse_launch(const char *text, struct tuning *out) {
    *out = (struct tuning){.off = strcmp(text, "own") == 0};
    if (out->off || strcmp(text, "tuned") == 0 || launch_parse(text, &out->form) == 0) return 0;
    fprintf(stderr,
            "roofline: --launch '%s': tuned, own, THREADS or THREADSxBLOCKS; threads are multiples "
            "of 32 up to 1024\n",
            text);
    return -1;
}

/* 0 go on, 1 help was given, -1 complained. */
static int parse(int argc, char **argv, struct options *o) {
    enum {
        OP = 256,
        DTYPE,
        IMPL,
        SHAPE,
        LAYOUT,
        THREADS,
        CACHE,
        FILL,
        EFFORT,
        DEVICE,
        CHECK,
        COUNTERS,
        INTERVAL,
        TIME,
        TIMEOUT,
        ROUNDS,
        PATIENCE,
        LAUNCH,
        IN_PROCESS,
        OUT,
        RESUME,
        VS,
        SUSTAIN,
        PEAKS,
        TUNING,
        CSV,
        QUIET
    };
    static const struct option longs[] = {{"op", required_argument, NULL, OP},
                                          {"dtype", required_argument, NULL, DTYPE},
                                          {"impl", required_argument, NULL, IMPL},
                                          {"vs", required_argument, NULL, VS},
                                          {"sustain", required_argument, NULL, SUSTAIN},
                                          {"shape", required_argument, NULL, SHAPE},
                                          {"layout", required_argument, NULL, LAYOUT},
                                          {"threads", required_argument, NULL, THREADS},
                                          {"cache", required_argument, NULL, CACHE},
                                          {"fill", required_argument, NULL, FILL},
                                          {"effort", required_argument, NULL, EFFORT},
                                          {"device", required_argument, NULL, DEVICE},
                                          {"check", no_argument, NULL, CHECK},
                                          {"counters", no_argument, NULL, COUNTERS},
                                          {"interval", required_argument, NULL, INTERVAL},
                                          {"time", required_argument, NULL, TIME},
                                          {"timeout", required_argument, NULL, TIMEOUT},
                                          {"rounds", required_argument, NULL, ROUNDS},
                                          {"patience", required_argument, NULL, PATIENCE},
                                          {"launch", required_argument, NULL, LAUNCH},
                                          {"in-process", no_argument, NULL, IN_PROCESS},
                                          {"out", required_argument, NULL, OUT},
                                          {"resume", no_argument, NULL, RESUME},
                                          {"peaks", required_argument, NULL, PEAKS},
                                          {"tuning", required_argument, NULL, TUNING},
                                          {"csv", no_argument, NULL, CSV},
                                          {"quiet", no_argument, NULL, QUIET},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    double interval = 0, time_cap = 0, rounds = 1, sustain = 0;
    struct tuning tuning = {0};
    int choice = 0, c;
    o->selection.effort = EFFORT_default;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        int bad = 0;
        switch (c) {
        case OP:
            o->selection.op = optarg;
            break;
        case DTYPE:
            o->selection.dtype = optarg;
            break;
        case IMPL:
            o->selection.impl = optarg;
            break;
        case VS:
            o->selection.vs = optarg;
            break;
        case SUSTAIN:
            bad = option_number("--sustain", optarg, 0.1, 604800, &sustain);
            break;
        case SHAPE:
            o->selection.shape = optarg;
            break;
        case LAYOUT:
            o->selection.layout = optarg;
            break;
        case THREADS:
            o->selection.threads = optarg;
            break;
        case CACHE:
            bad = option_choice("--cache", optarg, caches, 4, &choice);
            o->selection.cache = (enum cache_mode)choice;
            break;
        case FILL:
            o->selection.fill = optarg;
            break;
        case EFFORT:
            bad = option_choice("--effort", optarg, efforts, 3, &choice);
            o->selection.effort = (enum effort)choice;
            break;
        case DEVICE:
            o->device = optarg;
            break;
        case CHECK:
            o->selection.check = true;
            break;
        case COUNTERS:
            o->count = true;
            break;
        case INTERVAL:
            bad = option_number("--interval", optarg, 0.01, 50, &interval);
            break;
        case TIME:
            bad = option_number("--time", optarg, 0.001, 3600, &time_cap);
            break;
        case TIMEOUT:
            bad = option_number("--timeout", optarg, 0.1, 86400, &o->run.timeout_s);
            break;
        case ROUNDS:
            bad = option_number("--rounds", optarg, 1, 1000, &rounds);
            break;
        case PATIENCE:
            bad = option_number("--patience", optarg, 0.1, 1e6, &o->patience_s);
            break;
        case LAUNCH:
            bad = parse_launch(optarg, &tuning);
            break;
        case IN_PROCESS:
            o->run.in_process = true;
            break;
        case OUT:
            o->run.dir = optarg;
            break;
        case RESUME:
            o->run.resume = true;
            break;
        case PEAKS:
            o->peaks = optarg;
            break;
        case TUNING:
            o->tuning = optarg;
            break;
        case CSV:
            o->csv = true;
            break;
        case QUIET:
            o->quiet = true;
            break;
        case 'h':
            help();
            return 1;
        default:
            return -1;
        }
        if (bad) return -1;
    }
    if (option_no_operands(argc, argv, optind)) return -1;
    if (o->run.resume && !o->run.dir) {
        fprintf(stderr, "roofline: --resume needs --out DIR\n");
        return -1;
    }
    if (o->selection.vs && !*o->selection.vs) {
        fprintf(stderr, "roofline: --vs needs a name, vendor, best or all\n");
        return -1;
    }
    if (o->selection.vs && o->selection.check) {
        fprintf(stderr, "roofline: --check times nothing: not with --vs\n");
        return -1;
    }
    if (o->tuning && (tuning.off || tuning.form.threads)) {
        fprintf(stderr, "roofline: --tuning brings the launch forms: not with --launch\n");
        return -1;
    }
    if (sustain > 0 && refuse_beside_sustain(o, rounds)) return -1;
    o->settings = bench_settings_for(o->selection.effort, time_cap);
    o->settings.tuning = tuning;
    o->settings.sampling.sustain_s = sustain;
    if (sustain > 0) o->run.file = "sustain.csv";
    if (interval > 0) o->settings.sampling.interval = interval / 100;
    if (o->run.timeout_s <= 0) o->run.timeout_s = fmax(120, 4 * time_cap + 2 * sustain + 60);
    o->settings.count = o->count;
    o->rounds = (int)rounds;
    o->settings.check_only = o->selection.check;
    if (o->selection.check) o->settings.terms = 0x1p17;
    if (o->selection.check && o->run.dir) {
        fprintf(stderr, "roofline: --check times nothing and writes no rows: not with --out\n");
        return -1;
    }
    return 0;
}

/* ---- what is printed ---- */

static void print_csv(const struct row *r, void *context) {
    (void)context;
    row_print(stdout, r);
    fflush(stdout);
}

static void print_line(const struct row *r, void *context) {
    (void)context;
    table_row(stdout, r);
    fflush(stdout);
}

/* Of a contest ours get a line; a rival only where it is wrong or failed, for then it stands in nobody's. Rows come in the
 * order of their trials. */
struct contest_lines {
    const struct plan *plan;
    size_t next;
};

static void print_contest(const struct row *r, void *context) {
    struct contest_lines *lines = context;
    const struct trial *t = &lines->plan->trial[lines->next++];
    const bool quiet = strcmp(r->status, "ok") == 0 || strcmp(r->status, "refused") == 0;
    if (t->rival && quiet) return;
    table_vs_row(stdout, r);
    fflush(stdout);
}

static void print_series(const struct row *r, const struct samples *s, void *context) {
    (void)context;
    sustain_print(stdout, r, s);
    fflush(stdout);
}

/* A sustained trial that came to nothing; refused ones too. */
static void print_failure(const struct row *r, void *context) {
    (void)context;
    if (strcmp(r->status, "ok") != 0) table_row(stdout, r);
}

/* 0, or -1 after one line on stderr. */
static int refuse_series(const struct options *o, const struct fleet_part *part,
                         const struct device *d, const struct plan *p) {
    enum { MOST = 16 }; /* more are a mistake: each takes its time */
    if (part->rank.size > 1)
        fprintf(stderr, "roofline: --sustain: not in several ranks\n");
    else if (d->emulated)
        fprintf(stderr,
                "roofline: --sustain: %s is emulated, and times of an emulated device mean "
                "nothing\n",
                d->name);
    else if (p->count > MOST)
        fprintf(stderr,
                "roofline: --sustain: these options select %zu trials of %g s each; choose at "
                "most %d\n",
                p->count, o->settings.sampling.sustain_s, MOST);
    else
        return 0;
    return -1;
}

/* Checks: only what is wrong gets a line of its own. */
static void print_wrong(const struct row *r, void *context) {
    (void)context;
    if (strcmp(r->status, "ok") != 0 && strcmp(r->status, "refused") != 0) table_row(stdout, r);
}

static void print_totals(const struct run *run, bool check) {
    const size_t *n = run->count;
    FILE *f = check || run->dir ? stdout : stderr;
    fprintf(f, "%zu %s, %zu refused, %zu wrong, %zu failed", n[RUN_ok], check ? "verified" : "ok",
            n[RUN_refused], n[RUN_wrong], n[RUN_failed]);
    if (n[RUN_no_memory]) fprintf(f, ", %zu without memory", n[RUN_no_memory]);
    if (n[RUN_timeout]) fprintf(f, ", %zu timed out", n[RUN_timeout]);
    if (run->kept) fprintf(f, "; %zu of them kept", run->kept);
    if (run->dir) fprintf(f, ": %s/%s", run->dir, run->file);
    fputc('\n', f);
}

/* Of other rounds, on resume, the forms are in the file that is resumed. 0, or -1 after one line on stderr. */
static int load_tuning(struct options *o, const struct device *d) {
    char *own = o->run.resume ? path_join(o->run.dir, o->run.file) : NULL;
    const char *path = o->tuning ? o->tuning : own && access(own, F_OK) == 0 ? own : NULL;
    const int status = path ? tuning_load(&o->settings.tuning, path, d) : 0;
    free(own);
    return status;
}

int cmd_bench(int argc, char **argv) {
    struct options o = {.run = {.file = "bench.csv", .argc = argc, .argv = argv}};
    struct device device;
    struct plan plan = {0};
    struct ceilings ceilings = {0};
    struct rows known = {0};
    const int parsed = parse(argc, argv, &o);
    if (parsed) return parsed > 0 ? STATUS_OK : STATUS_ERROR;

    int status = STATUS_ERROR;
    struct contest_lines lines = {&plan, 0};
    struct fleet_part part;
    const int done =
        fleet_enter(&part, argc, argv, &o.device, &o.run.dir, o.run.file, o.patience_s);
    if (done >= 0) return done;
    if (part.rank.rank > 0) o.quiet = true;
    if (device_pick(o.device, &device)) return fleet_leave(&part, o.run.file, STATUS_ERROR);
    o.selection.vendors = vendors_ask(device.vendors);
    o.settings.tuning.known = &known;
    const char *peaks_dir = o.selection.check ? NULL : o.run.dir;
    if (plan_build(&device, &o.selection, &plan) || load_tuning(&o, &device) ||
        (o.settings.sampling.sustain_s <= 0 && /* a series has no roof */
         ceilings_load(o.peaks, peaks_dir, &device, &ceilings)))
        goto done;
    plan_repeat(&plan, o.rounds);
    if (ceilings.count) o.settings.ceilings = &ceilings;
    o.run.progress = !o.quiet;
    if (o.settings.sampling.sustain_s > 0) {
        if (refuse_series(&o, &part, &device, &plan)) goto done;
        o.run.on_row = print_failure;
        o.run.on_samples = print_series;
    } else if (o.csv) {
        row_print_header(stdout);
        o.run.on_row = print_csv;
    } else if (o.selection.check) {
        o.run.on_row = print_wrong;
    } else if (!o.run.dir || o.selection.vs) {
        (o.selection.vs ? table_vs_header : table_header)(stdout);
        o.run.on_row = o.selection.vs ? print_contest : print_line;
        o.run.context = &lines;
        o.run.progress = o.run.progress && !isatty(STDOUT_FILENO);
    }
    status = run_plan(&o.run, &device, &plan, &o.settings);
    if (status == STATUS_OK || status == STATUS_NO) print_totals(&o.run, o.selection.check);
done:
    free(ceilings.ceiling);
    free(known.row);
    free(plan.trial);
    device.close(&device);
    return fleet_leave(&part, o.run.file, status);
}
