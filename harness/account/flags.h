/* flags.h - options of a calculator, from a table. "--name value" or "--name=value"; what begins with a single dash
 * and is not -h is an operand, so that negative numbers need no quoting. */
#ifndef ACCOUNT_FLAGS_H
#define ACCOUNT_FLAGS_H
#include "answer.h"

enum flag_kind {
    FLAG_SET,      /* bool: true when given */
    FLAG_COUNT,    /* int64_t from 1 on */
    FLAG_BYTES,    /* int64_t from 1 on */
    FLAG_QUANTITY, /* double above 0 */
    FLAG_FRACTION, /* double above 0, at most 1 */
    FLAG_DTYPE,    /* int: enum dtype */
    FLAG_CHOICE,   /* int: index into choices */
    FLAG_TEXT,     /* const char * */
    FLAG_STEP,     /* a struct flag_steps: each one kept, in order, with its name */
    FLAG_LONE_STEP /* the same, without a value: "" */
};

struct flag {
    const char *name; /* without the dashes; NULL ends a table */
    enum flag_kind kind;
    void *value;
    const char *const *choices; /* ends at NULL */
};

enum { FLAG_STEPS = 64 };

struct flag_steps {
    int count;
    const char *name[FLAG_STEPS], *value[FLAG_STEPS];
};

enum flags_result { FLAGS_OK, FLAGS_HELP, FLAGS_BAD };

/* Reads the options into their values, and --json, --csv, --units into the answer. Operands move to argv[1] and on, the
 * count of them to *operands. FLAGS_HELP: the help was printed. FLAGS_BAD: a line on stderr says why. */
enum flags_result flags_read(int argc, char **argv, const struct flag *flags, struct answer *a,
                             const char *help, int *operands);

/* Complains of the first operand; -1 if there is one. */
int account_no_operands(char **argv, int operands);

/* "roofline: <text>" on stderr; returns the exit status for it. */
int account_refuse(const struct complaint *why);

/* Prints and releases the answer; returns the exit status. */
int account_print(struct answer *a);
#endif
