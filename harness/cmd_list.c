/* cmd_list.c - the catalogue, and what of it runs here. */
#include "commands.h"
#include "devices.h"
#include "options.h"
#include "runinfo.h"

#include "../kernels/catalogue.h"
#include "../kernels/vendor/vendor.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE, CSV, JSON, NAMES };

static void help(void) {
    puts("Usage: roofline list [--op NAME] [--format table|csv|json] [--names]\n"
         "\n"
         "Lists operations with their formula, dtypes and implementations. CSV and JSON have a "
         "record for each\n"
         "operation, implementation and dtype, with whether it runs here and, if not, why; also "
         "for the dtypes that an\n"
         "operation does not have or nothing here implements.\n"
         "\n"
         "  --op NAME         only this operation, with its shapes\n"
         "  --format FORMAT   table (default), csv, json\n"
         "  --names           only the names of the operations\n"
         "  --device NAME     of this device: cpu, gpu, cuda:0 ... (default: the GPU where there "
         "is one)\n"
         "\n"
         "Example:\n"
         "  roofline list --op matmul");
}

static struct device device; /* whose rows are listed */

/* Calls visit for every row of an op and dtype, ours first. */
static void each_impl(enum op_id op, enum dtype t, void (*visit)(const struct impl *, void *),
                      void *context) {
    const struct impl *const *const groups[] = {device.kernels, device.vendors->kernels};
    for (int g = 0; g < 2; g++)
        for (const struct impl *const *table = groups[g]; *table; table++)
            for (const struct impl *row = *table; row->run; row++)
                if (row->op == op && row->dtype == t) visit(row, context);
}

/* Why a row cannot run its op's first default shape here; NULL when it can. */
static const char *refusal(const struct impl *row) {
    const struct shape *shape = sweep_shapes(ops[row->op].sweep, 1, device.gpu != NULL);
    struct args problem = {.s = *shape, .alpha = 1, .threads = 1, .gpu = device.gpu};
    while (!(ops[row->op].layouts >> problem.layout & 1)) problem.layout++;
    const char *reason = NULL;
    for (; shape->m; shape++) { /* some rows are for large or small problems only */
        problem.s = *shape;
        reason = row->refuses ? row->refuses(&problem) : NULL;
        if (!reason) break;
    }
    return reason;
}

static const char *no_row(enum op_id op, enum dtype t) {
    return tables_refuse_dtype(device.kernels, device.vendors->kernels, &ops[op], t);
}

/* ---- table ---- */

struct names {
    char text[1024];
    size_t used;
};

static void append_name(struct names *n, const char *name) {
    const char *at = n->text;
    const size_t length = strlen(name);
    while ((at = strstr(at, name)) != NULL) { /* once each */
        if ((at == n->text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return;
        at += length;
    }
    const int written =
        snprintf(n->text + n->used, sizeof n->text - n->used, "%s%s", n->used ? " " : "", name);
    if (written > 0 && n->used + (size_t)written < sizeof n->text) n->used += (size_t)written;
}

static void collect(const struct impl *row, void *context) {
    if (!refusal(row)) append_name(context, row->name);
}

static void wrap(const char *label, const char *text) {
    enum { WIDTH = 100, INDENT = 21 };
    int column = printf("    %-*s", INDENT - 4, label);
    for (const char *word = text; *word;) {
        const int length = (int)strcspn(word, " ");
        if (column + length > WIDTH) column = printf("\n%*s", INDENT, "") - 1;
        column += printf("%.*s ", length, word);
        word += length + (word[length] == ' ');
    }
    putchar('\n');
}

static void print_op(enum op_id op, bool shapes) {
    struct names dtypes_here = {.used = 0}, impls = {.used = 0};
    for (int t = 0; t < DTYPE_COUNT; t++) {
        struct names here = {.used = 0};
        each_impl(op, (enum dtype)t, collect, &here);
        each_impl(op, (enum dtype)t, collect, &impls);
        if (here.used) append_name(&dtypes_here, dtypes[t].name);
    }
    printf("%-15s %s\n", ops[op].name, ops[op].formula);
    wrap("dtypes", dtypes_here.text);
    wrap("implementations", impls.text);
    if (!shapes) return;
    for (int effort = 0; effort < 3; effort++) {
        static const char *const names[] = {"smoke", "default", "full"};
        struct names text = {.used = 0};
        for (const struct shape *s = sweep_shapes(ops[op].sweep, effort, device.gpu != NULL); s->m;
             s++) {
            char one[96];
            snprintf(one, sizeof one, "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64, s->b, s->m,
                     s->n, s->k);
            append_name(&text, one);
        }
        wrap(names[effort], text.text);
    }
    puts("    (shapes are batch x m x n x k)");
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const char *reason = op_refuses_dtype(&ops[op], (enum dtype)t);
        if (!reason) reason = no_row(op, (enum dtype)t);
        if (reason) printf("    no %-12s %s\n", dtypes[t].name, reason);
    }
}

/* ---- records ---- */

struct records {
    int format;
    bool first;
};

static void print_record(struct records *r, const char *op, const char *impl, const char *dtype,
                         const char *reason) {
    if (r->format == CSV) {
        printf("%s,%s,%s,%s,%s,\"%s\"\n", op, impl, dtype, device.name, reason ? "no" : "yes",
               reason ? reason : "");
        return;
    }
    printf("%s\n  {\"op\": \"%s\", \"impl\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", "
           "\"runs\": %s, \"reason\": ",
           r->first ? "" : ",", op, impl, dtype, device.name, reason ? "false" : "true");
    json_text(stdout, reason ? reason : "");
    putchar('}');
    r->first = false;
}

static void record_impl(const struct impl *row, void *context) {
    print_record(context, ops[row->op].name, row->name, dtypes[row->dtype].name, refusal(row));
}

static void print_records(int only, int format) {
    struct records r = {format, true};
    fputs(format == CSV ? "op,impl,dtype,device,runs,reason\n" : "[", stdout);
    for (int op = 0; op < OP_COUNT; op++) {
        if (only >= 0 && op != only) continue;
        for (int t = 0; t < DTYPE_COUNT; t++) {
            const char *reason = op_refuses_dtype(&ops[op], (enum dtype)t);
            if (!reason) reason = no_row((enum op_id)op, (enum dtype)t);
            if (reason)
                print_record(&r, ops[op].name, "", dtypes[t].name, reason);
            else
                each_impl((enum op_id)op, (enum dtype)t, record_impl, &r);
        }
    }
    if (format == JSON) puts("\n]");
}

int cmd_list(int argc, char **argv) {
    static const struct option longs[] = {
        {"op", required_argument, NULL, 'o'}, {"format", required_argument, NULL, 'f'},
        {"names", no_argument, NULL, 'n'},    {"device", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},     {NULL, 0, NULL, 0}};
    static const char *const formats[] = {"table", "csv", "json"};
    const char *on = NULL;
    int format = TABLE, only = -1, c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (c) {
        case 'o':
            only = op_find(optarg);
            if (only >= 0) break;
            fprintf(stderr, "roofline: unknown op '%s'; 'roofline list --names' names them\n",
                    optarg);
            return STATUS_ERROR;
        case 'f':
            if (option_choice("--format", optarg, formats, 3, &format)) return STATUS_ERROR;
            break;
        case 'd':
            on = optarg;
            break;
        case 'n':
            format = NAMES;
            break;
        case 'h':
            help();
            return STATUS_OK;
        default:
            return STATUS_ERROR;
        }
    }
    if (option_no_operands(argc, argv, optind)) return STATUS_ERROR;
    if (format == NAMES) {
        for (int op = 0; op < OP_COUNT; op++)
            if (only < 0 || only == op) puts(ops[op].name);
        return STATUS_OK;
    }
    if (device_pick(on, &device)) return STATUS_ERROR;
    if (device.vendors->open) device.vendors->open();
    if (format != TABLE) {
        print_records(only, format);
        return STATUS_OK;
    }
    for (int op = 0; op < OP_COUNT; op++)
        if (only < 0 || only == op) print_op((enum op_id)op, only >= 0);
    return STATUS_OK;
}
