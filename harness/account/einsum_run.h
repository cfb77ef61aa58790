/* einsum_run.h - a pattern executed on a device: verified against its definition, timed, compared with the model. */
#ifndef ACCOUNT_EINSUM_RUN_H
#define ACCOUNT_EINSUM_RUN_H
#include "einsum.h"

/* Adds to the answer how the pattern is lowered, that its result is right and, timed, its measured and its predicted time.
 * `device` as --device names it, NULL: the first GPU or the CPU. 0, -1 after a complaint, or an exit status of commands.h, from
 * 1 on, after a line on stderr. */
int einsum_run(struct answer *a, const struct einsum *e, enum dtype t, const char *device,
               bool timed, struct complaint *why);
#endif
