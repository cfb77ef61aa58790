/* cmd_account.c - roofline account <what>: calculators, from numbers or from a model's files. */
#include "account/calculators.h"
#include "commands.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *does;
} calculators[] = {
    {"time", account_time, "FLOPs, days, GPU-hours and MFU of a training run"},
    {"memory", account_memory,
     "bytes that training takes, what fits on so many cards, ZeRO, parallelism"},
    {"tensor", account_tensor, "elements, bytes, strides; what is a view and what a copy"},
    {"dtype", account_dtype, "number formats: bits, range, what becomes of a value"},
    {"transformer", account_transformer,
     "parameters, FLOPs a token, KV cache, activations of a model"},
    {"inspect", account_inspect,
     "a checkpoint's tensors from its headers: .safetensors, index.json"},
    {"einsum", account_einsum,
     "FLOPs, bytes and time of products and reductions over named dimensions"},
};
enum { CALCULATORS = sizeof calculators / sizeof *calculators };

static void help(void) {
    puts("Usage: roofline account <what> [options]\n"
         "\n"
         "Resource accounting: answers from numbers or from a model's files, without a device. "
         "Every answer shows the\n"
         "formula with the figures put in.\n");
    for (int i = 0; i < CALCULATORS; i++)
        printf("  %-11s  %s\n", calculators[i].name, calculators[i].does);
    puts("\n"
         "Each describes itself with 'roofline account <what> --help' and takes:\n"
         "  --json         one JSON object: texts, and {\"value\", \"unit\", \"formula\"} for "
         "figures\n"
         "  --csv          one record a value, with a header\n"
         "  --units UNITS  bytes in KiB, MiB, GiB (binary, the default) or kB, MB, GB (si)\n"
         "\n"
         "Example:\n"
         "  roofline account time --params 70e9 --tokens 15e12 --gpu h100 --count 1024 --mfu 0.5");
}

int cmd_account(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        help();
        return STATUS_OK;
    }
    for (int i = 0; i < CALCULATORS; i++)
        if (strcmp(what, calculators[i].name) == 0) return calculators[i].run(argc - 1, argv + 1);
    if (!*what)
        fputs("roofline: account: say what: one of", stderr);
    else if (*what == '-')
        fprintf(stderr, "roofline: account: unknown option '%s'; first say one of", what);
    else
        fprintf(stderr, "roofline: account: unknown '%s'; one of", what);
    for (int i = 0; i < CALCULATORS; i++) fprintf(stderr, " %s", calculators[i].name);
    fputc('\n', stderr);
    return STATUS_ERROR;
}
