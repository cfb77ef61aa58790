/* tune.h - the launch form of a GPU kernel that leaves it open (struct launch_form): wished for, known from other rows, or
 * found by trying a few for some milliseconds each. */
#ifndef TUNE_H
#define TUNE_H
#include "operands.h"
#include "plan.h"
#include "row.h"

struct tuning {
    bool off;                /* kernels choose for themselves */
    struct launch_form form; /* for all of them; threads 0: none */
    struct rows *known; /* what other runs found, and this process; grows. NULL: nothing is kept */
};

/* "256": a block a tile; "256x4": 4 blocks a multiprocessor. */
void launch_print(struct launch_form f, char text[ROW_TEXT]);
int launch_parse(const char *text, struct launch_form *out); /* 0, or -1: it is none */

/* Adds the rows of this device in a result file that have a form. 0, or -1 after one line on stderr. */
int tuning_load(struct tuning *t, const char *path, const struct device *d);

/* What a trial is to be launched with; threads 0: nothing is known, the kernel chooses. */
struct launch_form tuning_wish(const struct tuning *t, const struct trial *trial,
                               const struct device *d);
void tuning_keep(const struct tuning *t, const struct row *r);

/* Asks for a launch of these calls; *took is what the kernel takes, untouched where it has no choice. */
void operands_launch(struct args *a, int sets, struct launch_form wish, struct launch_form *took);

/* Tries launch forms on operands that are filled, which is what they then are no longer, and asks for the fastest, the
 * kernel's own where none is clearly faster; on an emulated device, whose times mean nothing, for the last. 0, or a kernel's
 * code. */
int tune(struct device *d, const struct trial *t, const struct operands *o,
         struct launch_form *form);
#endif
