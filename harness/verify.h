/* verify.h - correct before fast: a kernel against its oracle, on the buffers that it is timed on. */
#ifndef VERIFY_H
#define VERIFY_H
#include "operands.h"

struct verdict {
    const char *status; /* "ok", "wrong", "failed" */
    char reason[160];   /* what was wrong: operand, element, got, wanted, bound */
    double max_error;   /* worst |got - want| / bound; at most 1 when ok */
    int64_t checked;    /* output elements compared */
};

/* Runs impl once on the integers fill and once on the normal fill and compares outputs with the oracle: `terms` sums up
 * the oracle's terms to spend on an output, so small problems are compared whole and large ones at both ends, at the
 * borders between threads and at scattered places, at least 64; with
 *   |got - want| <= (depth u_acc + 2 u_store) sum|terms| + smallest subnormal of the stored dtype      (u: unit roundoff)
 * or to the last bit (but for the sign of zero) where ops.def says so. Guard bands and inputs must be untouched; NaN fails.
 * Leaves the operands holding the normal fill's results. */
struct verdict verify(struct operands *o, const struct impl *impl, double terms);
#endif
