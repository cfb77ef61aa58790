/* execute.h - one call of a kernel on given data, for its result; no time is taken of it. */
#ifndef EXECUTE_H
#define EXECUTE_H
#include "device.h"

/* Operand i is filled from in[i] (NULL: left undefined) and its contents after the call go to out[i] (NULL: not wanted),
 * both in host memory and as the catalogue stores them. The device is open. 0, the kernel's or the device's code, or -1
 * when the operands do not fit. */
int execute(struct device *d, const struct impl *impl, const struct args *problem,
            const void *const in[MAX_OPERANDS], void *const out[MAX_OPERANDS]);

/* The row that is taken to be the best for a problem: the last one of the device's own that accepts it
 * and is not outdone; NULL: none. */
const struct impl *best_impl(const struct device *d, enum op_id op, enum dtype t,
                             const struct args *problem);
#endif
