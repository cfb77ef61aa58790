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

/* Runs impl once on the integers fill and once on the normal fill and compares up to `checks` elements of each output (fewer
 * where one takes many terms), both ends always, with
 *   |got - want| <= (depth u_acc + 2 u_store) sum|terms| + smallest subnormal of the stored dtype      (u: unit roundoff)
 * or to the last bit where ops.def says so. Guard bands and inputs must be untouched; NaN fails.
 * Leaves the operands holding the normal fill's results. */
struct verdict verify(struct operands *o, const struct impl *impl, int64_t checks);
#endif
