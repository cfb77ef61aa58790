/* cmd_tokens.c - text to the flat file of tokens that 'train --data' reads. */
#include "commands.h"
#include "train/tokens.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void help(void) {
    puts(
        "Usage: roofline tokens TEXT... -o FILE\n"
        "\n"
        "Writes the bytes of text files as tokens 0 to 255, two bytes each (little endian), one "
        "file "
        "after the other:\n"
        "what 'roofline train --data FILE' reads. Files of another tokenizer's uint16 tokens do as "
        "well, as they are.\n"
        "\n"
        "Example:\n"
        "  roofline tokens README.md DECISIONS.md -o corpus.bin && roofline train --data "
        "corpus.bin");
}

/* Whether both names are one file, which would be written over. */
static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int cmd_tokens(int argc, char **argv) {
    static const struct option longs[] = {{"out", required_argument, NULL, 'o'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char *out = NULL;
    struct token_file f;
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
        if (c == 'h') {
            help();
            return STATUS_OK;
        }
        if (c != 'o') return STATUS_ERROR;
        out = optarg;
    }
    if (!out || optind == argc) {
        fprintf(stderr, "roofline: tokens: %s\n",
                out ? "no text file is named" : "-o FILE is missing");
        return STATUS_ERROR;
    }
    for (int i = optind; i < argc; i++) {
        if (!same_file(argv[i], out)) continue;
        fprintf(stderr, "roofline: tokens: '%s' would be written over\n", argv[i]);
        return STATUS_ERROR;
    }
    if (tokens_from_text((const char *const *)argv + optind, argc - optind, out) ||
        token_file_open(&f, out))
        return STATUS_ERROR;
    printf("%s: %lld tokens, the largest %lld\n", out, (long long)f.count, (long long)f.largest);
    token_file_close(&f);
    return STATUS_OK;
}
