/* cmd_compare.c - two runs become a verdict; a run and a data sheet, a diagnosis; the harness and itself, a rate of error. */
#define _GNU_SOURCE
#include "commands.h"
#include "options.h"

#include "compare/fleet.h"
#include "compare/print.h"
#include "compare/self_test.h"
#include "compare/spec.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void help(void) {
    puts("Usage: roofline compare A B [C...] [options]\n"
         "       roofline compare --against-spec RUN [--spec NAME]\n"
         "       roofline compare --fleet DIR\n"
         "       roofline compare --self-test [--repeat N] [--device NAME]\n"
         "\n"
         "Compares B (C ...) with A: rows of the same key columns, the ratio of their times with "
         "its interval, a verdict. "
         "1.05\n"
         "or +5 % means that B is 5 % faster. A is the folder of a run, a CSV file, or several of "
         "either between commas, "
         "which\n"
         "stand for one side: RUN1,RUN2,RUN3. spec:NAME, such as spec:h100-sxm, is a data sheet.\n"
         "\n"
         "Noise is what rounds of a run (bench --rounds) or runs of a side differ by, not what "
         "samples of one run do. A row "
         "is\n"
         "slower or faster when it changed by more than the threshold beyond doubt, all rows "
         "considered together (Holm); "
         "same\n"
         "when it did not change by 5 % or more; else undecidable, as it is when the threads lay "
         "differently or other work\n"
         "disturbed one side only.\n"
         "\n"
         "  --threshold PERCENT   slower and faster: by more than this (default: 2)\n"
         "  --same PERCENT        same: by less than this (default: 5, or the threshold)\n"
         "  --confidence PERCENT  of no false verdict among all rows, and of the intervals "
         "(default: 95)\n"
         "  --noise PERCENT       standard deviation between runs, where neither rounds nor many "
         "rows show it (default: 3)\n"
         "  --strict              exit 2 when any row is undecidable, not only when most are\n"
         "  --ignore LIST         key columns left out, such as impl,threads; of rows that then "
         "coincide the fastest stands\n"
         "  --peaks               the rows of peaks.csv, not of bench.csv\n"
         "  --all                 every row, not only what differs or is undecidable\n"
         "  --unmatched           list the rows that only one side has\n"
         "  --format NAME         table, csv, md (for a pull request), json (default: table)\n"
         "  -o FILE               there, not to stdout\n"
         "  --against-spec        a run beside its device's published peaks: healthy, low or "
         "impossible, and likely reasons\n"
         "  --spec NAME           the data sheet for it (default: the one of the run's device)\n"
         "  --fleet DIR           the runs in DIR's folders, a device each: their spread, and "
         "which one stands out\n"
         "  --self-test           measure one thing as two, in turns, --repeat times (default: "
         "10): the rate of false "
         "verdicts\n"
         "\n"
         "Exit status: 0 fine; 1 a row is slower or no longer works; 2 undecidable, nothing in "
         "common, or usage.\n"
         "\n"
         "Examples:\n"
         "  roofline bench --rounds 5 --out before; roofline bench --rounds 5 --out after; "
         "roofline compare before after\n"
         "  roofline compare a1,a2,a3 b1,b2,b3 --format md -o summary.md   # runs taken in turns: "
         "the best evidence\n"
         "  roofline compare spec:a100-sxm4-80gb spec:h100-sxm spec:b200");
}

struct options {
    struct doubt doubt;
    struct print_options how;
    uint64_t ignore;
    const char *out, *spec, *device, *fleet;
    bool peaks, against_spec, self_test;
    int repeat;
};

static int parse_columns(const char *list, uint64_t *columns) {
    char *copy = strdup(list), *rest = copy;
    int status = copy ? 0 : -1;
    for (const char *name; status == 0 && (name = strsep(&rest, ","));) {
        const int c = column_find(name);
        if (c >= 0 && key_columns() >> c & 1) {
            *columns |= UINT64_C(1) << c;
        } else {
            fprintf(stderr,
                    "roofline: --ignore '%s': no key column; they are device op impl dtype "
                    "layout b m n k threads copies cache fill\n",
                    name);
            status = -1;
        }
    }
    free(copy);
    return status;
}

/* 0 go on, 1 help was given, -1 complained. */
static int parse(int argc, char **argv, struct options *o) {
    enum {
        THRESHOLD = 256,
        SAME,
        CONFIDENCE,
        NOISE,
        STRICT,
        IGNORE,
        PEAKS,
        ALL,
        UNMATCHED,
        FORMAT,
        AGAINST_SPEC,
        SPEC,
        FLEET,
        SELF_TEST,
        REPEAT,
        DEVICE
    };
    static const struct option longs[] = {{"threshold", required_argument, NULL, THRESHOLD},
                                          {"same", required_argument, NULL, SAME},
                                          {"confidence", required_argument, NULL, CONFIDENCE},
                                          {"noise", required_argument, NULL, NOISE},
                                          {"strict", no_argument, NULL, STRICT},
                                          {"ignore", required_argument, NULL, IGNORE},
                                          {"peaks", no_argument, NULL, PEAKS},
                                          {"all", no_argument, NULL, ALL},
                                          {"unmatched", no_argument, NULL, UNMATCHED},
                                          {"format", required_argument, NULL, FORMAT},
                                          {"out", required_argument, NULL, 'o'},
                                          {"against-spec", no_argument, NULL, AGAINST_SPEC},
                                          {"spec", required_argument, NULL, SPEC},
                                          {"fleet", required_argument, NULL, FLEET},
                                          {"self-test", no_argument, NULL, SELF_TEST},
                                          {"repeat", required_argument, NULL, REPEAT},
                                          {"device", required_argument, NULL, DEVICE},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    double percent = 0;
    int choice = 0, c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "ho:", longs, NULL)) != -1) {
        int bad = 0;
        switch (c) {
        case THRESHOLD:
            bad = option_number("--threshold", optarg, 0, 100, &percent);
            o->doubt.threshold = percent / 100;
            break;
        case SAME:
            bad = option_number("--same", optarg, 0, 100, &percent);
            o->doubt.same = percent / 100;
            break;
        case CONFIDENCE:
            bad = option_number("--confidence", optarg, 50, 99.999, &percent);
            o->doubt.confidence = percent / 100;
            break;
        case NOISE:
            bad = option_number("--noise", optarg, 0, 100, &percent);
            o->doubt.noise = percent / 100;
            break;
        case STRICT:
            o->how.strict = true;
            break;
        case IGNORE:
            bad = parse_columns(optarg, &o->ignore);
            break;
        case PEAKS:
            o->peaks = true;
            break;
        case ALL:
            o->how.all = true;
            break;
        case UNMATCHED:
            o->how.unmatched = true;
            break;
        case FORMAT:
            bad = option_choice("--format", optarg, print_format_names, PRINT_FORMATS, &choice);
            o->how.format = (enum print_format)choice;
            break;
        case 'o':
            o->out = optarg;
            break;
        case AGAINST_SPEC:
            o->against_spec = true;
            break;
        case SPEC:
            o->spec = optarg;
            break;
        case FLEET:
            o->fleet = optarg;
            break;
        case SELF_TEST:
            o->self_test = true;
            break;
        case REPEAT:
            bad = option_number("--repeat", optarg, 1, 10000, &percent);
            o->repeat = (int)percent;
            break;
        case DEVICE:
            o->device = optarg;
            break;
        case 'h':
            help();
            return 1;
        default:
            return -1;
        }
        if (bad) return -1;
    }
    return 0;
}

static int compare(FILE *f, const struct options *o, char **name, int names) {
    struct subject *subject = calloc((size_t)names, sizeof *subject);
    struct comparison *comparison = calloc((size_t)names, sizeof *comparison);
    int status = STATUS_ERROR, worst = STATUS_OK;
    const char *file = "peaks.csv";
    if (!subject || !comparison) abort();
    for (int i = 0; i < names && !o->peaks; i++)
        if (subject_has(name[i], "bench.csv") || !subject_has(name[i], "peaks.csv"))
            file = "bench.csv";
    for (int i = 0; i < names; i++)
        if (subject_read(name[i], file, &subject[i])) goto done;
    for (int i = 1; i < names; i++) {
        struct comparison *c = &comparison[i - 1];
        if (comparison_make(&subject[0], &subject[i], &o->doubt, o->ignore, c)) goto done;
        const int one = comparison_status(c, o->how.strict);
        if (worst == STATUS_OK || one == STATUS_NO) worst = one;
    }
    print_comparisons(f, comparison, (size_t)names - 1, &o->how);
    status = worst;
done:
    for (int i = 0; i < names; i++) {
        comparison_release(&comparison[i]);
        subject_release(&subject[i]);
    }
    free(comparison);
    free(subject);
    return status;
}

/* 0 where `what` has this format: a table, and CSV with `csv`. Else -1 after one line on stderr. */
static int check_format(const struct options *o, const char *what, bool csv) {
    if (o->how.format == PRINT_TABLE || (csv && o->how.format == PRINT_CSV)) return 0;
    fprintf(stderr, "roofline: compare: %s is a table%s, not %s\n", what, csv ? " or csv" : "",
            print_format_names[o->how.format]);
    return -1;
}

/* What the options and operands ask for; complains of what is missing. */
static int dispatch(FILE *f, const struct options *o, int argc, char **argv) {
    char **name = argv + optind;
    const int names = argc - optind;
    if (o->self_test)
        return check_format(o, "--self-test", false) || option_no_operands(argc, argv, optind)
                   ? STATUS_ERROR
                   : self_test(f, &o->doubt, o->repeat, o->device);
    if (o->fleet)
        return check_format(o, "--fleet", false) || option_no_operands(argc, argv, optind)
                   ? STATUS_ERROR
                   : fleet_compare(f, o->fleet, o->peaks ? "peaks.csv" : "bench.csv",
                                   o->doubt.threshold);
    if (o->against_spec) {
        if (check_format(o, "--against-spec", true)) return STATUS_ERROR;
        if (names == 1) return spec_check(f, name[0], o->spec, o->how.format == PRINT_CSV);
        fprintf(stderr, "roofline: compare --against-spec needs one run\n");
        return STATUS_ERROR;
    }
    if (names < 2) {
        fprintf(stderr, "roofline: compare needs two runs: folders or CSV files\n");
        return STATUS_ERROR;
    }
    for (int i = 0; i < names; i++)
        if (spec_is_name(name[i]))
            return check_format(o, "a comparison with data sheets", true)
                       ? STATUS_ERROR
                       : spec_compare(f, name, names, o->how.format == PRINT_CSV);
    return compare(f, o, name, names);
}

int cmd_compare(int argc, char **argv) {
    struct options o = {
        .doubt = {.threshold = 0.02, .same = NAN, .confidence = 0.95, .noise = 0.03}, .repeat = 10};
    const int parsed = parse(argc, argv, &o);
    if (parsed) return parsed > 0 ? STATUS_OK : STATUS_ERROR;
    if (isnan(o.doubt.same)) o.doubt.same = fmax(0.05, o.doubt.threshold);
    if (!o.out) return dispatch(stdout, &o, argc, argv);
    /* What is refused leaves the file as it was. */
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    int status = memory ? dispatch(memory, &o, argc, argv) : STATUS_ERROR;
    const bool whole = memory && fclose(memory) == 0;
    FILE *f = whole && length ? fopen(o.out, "w") : NULL;
    const bool written = f && fwrite(text, 1, length, f) == length;
    const bool closed = f && fclose(f) == 0;
    if (!whole || (length && !(written && closed))) {
        fprintf(stderr, "roofline: cannot write '%s': %s\n", o.out, strerror(errno));
        status = STATUS_ERROR;
    }
    free(text);
    return status;
}
