/* cmd_peaks.c - the roof, from ordinary rows: streams over working sets from L1 to DRAM, multiply-adds in registers. */
#define _GNU_SOURCE
#include "commands.h"
#include "ceilings.h"
#include "devices.h"
#include "fleet_run.h"
#include "options.h"
#include "probes.h"
#include "run.h"
#include "table.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void help(void) {
    puts(
        "Usage: roofline peaks [--out DIR] [options]\n"
        "\n"
        "Measures the ceilings of this machine: bandwidth (read, write, copy, triad, update; "
        "ordinary and "
        "non-temporal stores)\n"
        "of every cache level and of DRAM, and the multiply-add rate of every dtype and "
        "instruction set; with one\n"
        "thread and with all. In private caches each thread works on data of its own. A ceiling "
        "proves itself: DRAM by a\n"
        "working set of at least 4 x the last cache, arithmetic by an intensity of at least 4 x "
        "the kink.\n"
        "On a GPU its latencies, cache bandwidths, clocks, launches and copies are probed as "
        "well: DIR/probes.csv.\n"
        "\n"
        "  --out DIR          rows to DIR/peaks.csv, where `bench --out DIR` and `plot DIR` find "
        "them\n"
        "  --resume           keep the rows that DIR/peaks.csv has, measure what is missing\n"
        "  --effort NAME      smoke: one size a level; default: a sweep; full: a finer, longer "
        "sweep\n"
        "  --threads LIST     numbers or all (default: 1,all)\n"
        "  --time SECONDS     of sampling, per trial (default: 0.08; smoke 0.04; full 0.3)\n"
        "  --device NAME      cpu, gpu, cuda:0 ... (default: the GPU where there is one); all, or "
        "a "
        "list: each alone,\n"
        "                     then all at once, in folders below --out DIR, and their spread\n"
        "  --patience SECONDS under mpirun or srun, a rank a device: how long rank 0 waits for the "
        "others at the end\n"
        "  --quiet            no progress on stderr\n"
        "\n"
        "Example:\n"
        "  roofline peaks --effort smoke");
}

/* ---- which rows ---- */

/* n of a vector op so that its operands take `bytes`, a multiple of 64. */
static int64_t vector_length(const struct op *op, enum dtype t, double bytes) {
    const double a_lot = 1 << 20,
                 per_element = op_footprint(op, t, (struct shape){1, 1, 1 << 20, 1}) / a_lot;
    const int64_t n = (int64_t)(bytes / per_element) / 64 * 64;
    return n < 64 ? 64 : n;
}

static void add_stream(struct plan *p, struct device *d, enum op_id op, double bytes, int threads,
                       int round) {
    /* In caches of its own a thread streams its own data; there a team would measure its fork and join. */
    const struct level *shared = d->levels > 1 ? &d->level[d->levels - 2] : NULL;
    const bool own = threads > 1 && shared && bytes < (double)shared->bytes / 8;
    const enum dtype t = DT_fp32;
    struct trial trial = {.copies = own ? threads : 1,
                          .round = round,
                          .fill = FILL_normal,
                          .problem = {.s = {1, 1, vector_length(&ops[op], t, bytes), 1},
                                      .alpha = 0.5,
                                      .threads = own ? 1 : threads,
                                      .gpu = d->gpu}};
    trial.cold = !own && bytes >= 4 * device_last_cache(d, threads);
    size_t accepted = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t seen = 0;
        for (const struct impl *const *table = d->kernels; *table; table++) {
            for (const struct impl *row = *table; row->run; row++) {
                if (row->op != op || row->dtype != t ||
                    (row->refuses && row->refuses(&trial.problem)))
                    continue;
                accepted += pass == 0;
                trial.impl = row;
                /* The plainest one is not the roof where there are others. */
                if (pass == 1 && (accepted == 1 || seen++ > 0)) plan_add(p, &trial);
            }
        }
    }
}

static void add_streams(struct plan *p, struct device *d, enum effort effort, int threads,
                        int round) {
    const double last = device_last_cache(d, threads);
    for (int op = 0; op < OP_COUNT; op++) {
        if (!roof_pattern(ops[op].name)) continue;
        if (effort == EFFORT_smoke) {
            for (int i = 0; i + 1 < d->levels; i++) {
                const double outer = (double)d->level[i].bytes,
                             inner = i ? (double)d->level[i - 1].bytes : 0;
                add_stream(p, d, (enum op_id)op, fmin(0.7 * outer, fmax(4 * inner, outer / 4)),
                           threads, round);
            }
        } else {
            const double factor = effort == EFFORT_full ? sqrt(2) : 2;
            for (double bytes = d->gpu ? last / 32 : 8 << 10; bytes < 4.2 * last; bytes *= factor)
                add_stream(p, d, (enum op_id)op, bytes, threads, round);
        }
        add_stream(p, d, (enum op_id)op, fmax(4.2 * last, d->emulated ? 0 : 128 << 20), threads,
                   round);
    }
}

static void add_arithmetic(struct plan *p, const struct device *d, int threads, int round) {
    for (const struct impl *const *table = d->kernels; *table; table++) {
        for (const struct impl *row = *table; row->run; row++) {
            struct trial t = {
                .impl = row,
                .copies = threads,
                .round = round,
                .fill = FILL_normal,
                .problem = {.s = d->emulated ? *check_shapes(ops[row->op].sweep)
                                             : *sweep_shapes(ops[row->op].sweep, 1, d->gpu != NULL),
                            .alpha = 1,
                            .threads = 1,
                            .gpu = d->gpu}};
            if (!roof_is_compute(ops[row->op].name) || (row->refuses && row->refuses(&t.problem)))
                continue;
            /* What multiplies 4 bits has its kink beyond 1000 FLOP/byte, and ends too soon to be timed. */
            if (dtypes[row->dtype].bits < 8) t.problem.s.k *= 4;
            plan_add(p, &t);
        }
    }
}

/* ---- what is printed ---- */

static void print_ceilings(FILE *f, const struct ceilings *c) {
    fprintf(f, "%-8s %-8s %-7s %-20s %7s %-5s %12s  %s\n", "ceiling", "of", "pattern",
            "implementation", "threads", "place", "rate", "proven");
    for (size_t i = 0; i < c->count; i++) {
        const struct ceiling *x = &c->ceiling[i];
        fprintf(f, "%-8s %-8s %-7s %-20s %7d %-5s %8.1f %s  %s\n",
                x->kind == CEILING_MEMORY ? "memory" : "compute", x->name, x->pattern, x->impl,
                (int)x->threads, x->placement, x->rate, x->kind == CEILING_MEMORY ? "GB/s" : "GF/s",
                x->proven ? "yes" : x->why);
    }
}

struct collected {
    struct rows rows;
    size_t capacity;
};

static void collect(const struct row *r, void *context) {
    struct collected *c = context;
    if (c->rows.count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 256;
        struct row *grown = realloc(c->rows.row, c->capacity * sizeof *grown);
        if (!grown) {
            perror("roofline");
            abort();
        }
        c->rows.row = grown;
    }
    c->rows.row[c->rows.count++] = *r;
}

/* All rows of the run: those of the file when there is one, kept ones included. */
static int print_result(const struct run *run, struct device *d, struct collected *collected) {
    struct ceilings ceilings = {0};
    struct rows rows = collected->rows;
    bool torn;
    char *path = run->dir ? path_join(run->dir, run->file) : NULL;
    int status = path ? rows_read(path, &rows, &torn) : 0;
    if (status == 0) status = ceilings_of(&rows, device_last_cache(d, d->max_threads), &ceilings);
    if (status == 0) print_ceilings(stdout, &ceilings);
    if (status == 0 && path) printf("%zu rows: %s\n", rows.count, path);
    if (path) free(rows.row);
    free(ceilings.ceiling);
    free(path);
    return status;
}

/* What is no ceiling of an op, to DIR/probes.csv and below the ceilings. 0, or -1 after one line on stderr. */
static int print_probes(const struct run *run, struct device *d) {
    char *path = run->dir ? path_join(run->dir, "probes.csv") : NULL;
    FILE *csv = path ? fopen(path, "w") : NULL;
    int status = -1;
    if (path && !csv) {
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
    } else {
        putchar('\n');
        status = probes_run(d, csv, stdout);
    }
    if (csv && fclose(csv) != 0) {
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
        status = -1;
    }
    free(path);
    return status;
}

int cmd_peaks(int argc, char **argv) {
    static const struct option longs[] = {
        {"out", required_argument, NULL, 'o'},    {"resume", no_argument, NULL, 'r'},
        {"effort", required_argument, NULL, 'e'}, {"threads", required_argument, NULL, 't'},
        {"quiet", no_argument, NULL, 'q'},        {"time", required_argument, NULL, 's'},
        {"device", required_argument, NULL, 'd'}, {"patience", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    static const char *const efforts[] = {"smoke", "default", "full"};
    struct collected collected = {{0}, 0};
    struct run run = {.file = "peaks.csv",
                      .argc = argc,
                      .argv = argv,
                      .timeout_s = 120,
                      .progress = true,
                      .on_row = collect,
                      .context = &collected};
    const char *threads = "1,all", *on = NULL;
    int effort = EFFORT_default, c;
    double time_cap = 0, patience = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (c) {
        case 'o':
            run.dir = optarg;
            break;
        case 'r':
            run.resume = true;
            break;
        case 'q':
            run.progress = false;
            break;
        case 't':
            threads = optarg;
            break;
        case 'e':
            if (option_choice("--effort", optarg, efforts, 3, &effort)) return STATUS_ERROR;
            break;
        case 's':
            if (option_number("--time", optarg, 0.001, 3600, &time_cap)) return STATUS_ERROR;
            break;
        case 'd':
            on = optarg;
            break;
        case 'p':
            if (option_number("--patience", optarg, 0.1, 1e6, &patience)) return STATUS_ERROR;
            break;
        case 'h':
            help();
            return STATUS_OK;
        default:
            return STATUS_ERROR;
        }
    }
    if (option_no_operands(argc, argv, optind)) return STATUS_ERROR;
    if (run.resume && !run.dir) {
        fprintf(stderr, "roofline: --resume needs --out DIR\n");
        return STATUS_ERROR;
    }

    struct device device;
    struct plan plan = {0};
    struct rows known = {0};
    int counts[MAX_THREAD_COUNTS], status = STATUS_ERROR;
    struct fleet_part part;
    const int done = fleet_enter(&part, argc, argv, &on, &run.dir, run.file, patience);
    if (done >= 0) return done;
    if (part.rank.rank > 0) run.progress = false;
    if (device_pick(on, &device)) return fleet_leave(&part, run.file, STATUS_ERROR);
    const int n = threads_parse(&device, threads, counts);
    /* A machine that others use is not the same all the time: the best of a few rounds is the ceiling. */
    static const int rounds[] = {2, 2, 3};
    static const double caps[] = {0.04, 0.08, 0.3};
    struct bench_settings settings =
        bench_settings_for((enum effort)effort, time_cap > 0 ? time_cap : caps[effort]);
    settings.tuning.known = &known; /* each round with the same launches */
    for (int round = 1; round <= rounds[effort]; round++) {
        for (int i = 0; i < n; i++) {
            add_streams(&plan, &device, (enum effort)effort, counts[i], round);
            add_arithmetic(&plan, &device, counts[i], round);
        }
    }
    if (n > 0) status = run_plan(&run, &device, &plan, &settings);
    if ((status == STATUS_OK || status == STATUS_NO) && print_result(&run, &device, &collected))
        status = STATUS_ERROR;
    if ((status == STATUS_OK || status == STATUS_NO) && device.gpu && print_probes(&run, &device))
        status = STATUS_ERROR;
    free(collected.rows.row);
    free(known.row);
    free(plan.trial);
    device.close(&device);
    return fleet_leave(&part, run.file, status);
}
