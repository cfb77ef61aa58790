/* main.c - roofline <command> [options]. */
#include "commands.h"
#include "version.h"

#include "../kernels/cpu/isa.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *does;
} commands[] = {
    {"devices", cmd_devices, "what is here: CPU, caches, instruction sets, what can be read"},
    {"list", cmd_list, "operations, dtypes, implementations, shapes"},
    {"peaks", cmd_peaks,
     "measured ceilings: bandwidth of every memory level, FMA rate of every dtype"},
    {"bench", cmd_bench, "verify and time kernels; rows to a table or a CSV file"},
    {"train", cmd_train,
     "whole training steps: memory by kind, phases beside their roofs, MFU, losses, checkpoints"},
    {"tokens", cmd_tokens, "text to the file of tokens that train --data reads"},
    {"plot", cmd_plot, "charts (PNG, SVG) from a run's CSV files, or from published peaks alone"},
    {"report", cmd_report, "one self-contained HTML page about a run, or several side by side"},
    {"summary", cmd_summary, "a run's findings as a table"},
    {"compare", cmd_compare,
     "runs beside each other or beside data sheets, row by row, with a verdict"},
    {"account", cmd_account,
     "calculators: time, memory, tensors, number formats, transformers, checkpoints, einsum"},
    {"claims", cmd_claims,
     "what is said of training's costs, predicted and measured here, with a verdict"},
};

/* Whether the environment asks for what there is; else after one line on stderr. */
static bool environment_is_good(void) {
    const char *isa = isa_bad_request();
    if (!isa) return true;
    fprintf(stderr, "roofline: ROOFLINE_ISA '%s': one of", isa);
    for (int i = 0; i < ISA_COUNT; i++) fprintf(stderr, " %s", isa_names[i]);
    fputc('\n', stderr);
    return false;
}

static void help(FILE *f) {
    fputs("Usage: roofline <command> [options]\n"
          "\n"
          "Measures what this machine delivers for the operations that training a model is made "
          "of, next to what\n"
          "its memory and arithmetic allow. Every kernel is verified before it is timed.\n"
          "\n"
          "Commands:\n",
          f);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(f, "  %-8s  %s\n", commands[i].name, commands[i].does);
    fputs("\n"
          "'roofline <command> --help' describes a command. A first tour:\n"
          "  roofline devices\n"
          "  roofline bench --op matmul --dtype fp32\n"
          "  roofline peaks --out run && roofline bench --out run && roofline plot run && roofline "
          "summary run\n"
          "\n"
          "ROOFLINE_ISA=portable, avx2, avx512, avx512_bf16 or amx_bf16 in the environment: no "
          "instruction sets above this one.\n"
          "Exit status: 0 fine; 1 the answer is no (a wrong kernel); 2 usage or environment; 130 "
          "interrupted.\n",
          f);
}

int main(int argc, char **argv) {
    int status = STATUS_ERROR;
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 ||
        strcmp(command, "help") == 0) {
        help(stdout);
        status = STATUS_OK;
    } else if (strcmp(command, "--version") == 0) {
        printf("roofline %s (%s)\n", ROOFLINE_VERSION, ROOFLINE_COMMIT);
        status = STATUS_OK;
    } else if (!*command) {
        help(stderr);
    } else if (environment_is_good()) {
        size_t i = 0;
        const size_t count = sizeof commands / sizeof *commands;
        while (i < count && strcmp(command, commands[i].name) != 0) i++;
        if (i < count)
            status = commands[i].run(argc - 1, argv + 1);
        else
            fprintf(stderr, "roofline: unknown command '%s'; 'roofline --help' lists them\n",
                    command);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (status == STATUS_OK) status = STATUS_ERROR;
        perror("roofline: stdout");
    }
    return status;
}
