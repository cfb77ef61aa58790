/* options.c - values of command-line options. A complaint names the option, the value, and what would be one. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int option_choice(const char *option, const char *text, const char *const *names, int count,
                  int *out) {
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    fprintf(stderr, "roofline: %s '%s': one of", option, text);
    for (int i = 0; i < count; i++) fprintf(stderr, " %s", names[i]);
    fputc('\n', stderr);
    return -1;
}

int option_number(const char *option, const char *text, double low, double high, double *out) {
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    if (end != text && !*end && !errno && *out >= low && *out <= high) return 0;
    fprintf(stderr, "roofline: %s '%s': a number from %g to %g\n", option, text, low, high);
    return -1;
}

int option_no_operands(int argc, char **argv, int first) {
    if (first >= argc) return 0;
    fprintf(stderr, "roofline: %s: unexpected argument '%s'\n", argv[0], argv[first]);
    return -1;
}
