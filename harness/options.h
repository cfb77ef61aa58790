/* options.h - values of command-line options: one line on stderr and -1 for what cannot be meant. */
#ifndef OPTIONS_H
#define OPTIONS_H
#include <stdbool.h>

/* Index of text among count names. `option` is named in the complaint: "--effort". */
int option_choice(const char *option, const char *text, const char *const *names, int count,
                  int *out);

/* A finite number within [low, high]. */
int option_number(const char *option, const char *text, double low, double high, double *out);

/* Complains of the first argument that is no option; -1 if there is one. */
int option_no_operands(int argc, char **argv, int first);
#endif
