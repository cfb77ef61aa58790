/* device.c - casts and a sum by the device's own kernels; pinned and pageable copies by its probes. */
#include "device.h"

#include "../execute.h"
#include "../probes.h"

#include "../../kernels/numerics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sixteen elements: what every implementation takes; the numbers sit in the last one. */
enum { ELEMENTS = 16 };

/* The value that op makes of x (and y) as its output operand `out`. */
static void store(struct claim_stored *s, struct device *d, int threads, enum op_id op,
                  enum dtype t, long double x, long double y) {
    const int out = op == OP_add ? 2 : 1;
    const struct args problem = {
        .s = {1, 1, ELEMENTS, 1}, .alpha = 1, .threads = threads, .gpu = d->gpu};
    const struct impl *impl = best_impl(d, op, t, &problem);
    unsigned char buffer[3][4 * ELEMENTS] = {{0}};
    const void *in[MAX_OPERANDS] = {NULL};
    void *result[MAX_OPERANDS] = {NULL};
    if (!impl) {
        snprintf(s->why, sizeof s->why, "no implementation of %s in %s here", ops[op].name,
                 dtypes[t].name);
        return;
    }
    for (int i = 0; i < out; i++) {
        value_put(operand_dtype(&ops[op].operand[i], t), buffer[i], ELEMENTS, ELEMENTS - 1,
                  i ? y : x);
        in[i] = buffer[i];
    }
    result[out] = buffer[2];
    const int error = execute(d, impl, &problem, in, result);
    if (error)
        snprintf(s->why, sizeof s->why, "%s in %s returned error %d", ops[op].name, dtypes[t].name,
                 error);
    else
        s->value = (double)value_get(operand_dtype(&ops[op].operand[out], t), buffer[2], ELEMENTS,
                                     ELEMENTS - 1);
}

void evidence_stored(struct evidence *e, struct device *d) {
    for (int i = 0; i < CLAIM_VALUES; i++)
        e->stored[i] = (struct claim_stored){NAN, "the device could not be opened"};
    if (d->open(d)) return;
    store(&e->stored[FP16_OF_1E_8], d, e->threads, OP_cast_from_fp32, DT_fp16, 1e-8L, 0);
    store(&e->stored[BF16_OF_1E_8], d, e->threads, OP_cast_from_fp32, DT_bf16, 1e-8L, 0);
    store(&e->stored[BF16_SUM], d, e->threads, OP_add, DT_bf16, 1, 0.001L);
}

/* "bandwidth host to device", "256 MiB pinned" */
static void take_copy(struct evidence *e, char *line) {
    enum { DEVICE, PROBE, SETTING, VALUE, UNIT, STATUS, NOTE, FIELDS };
    char *field[FIELDS];
    line[strcspn(line, "\n")] = '\0';
    if (csv_split(line, field, FIELDS) != FIELDS ||
        strcmp(field[PROBE], "bandwidth host to device") != 0)
        return;
    if (strcmp(field[STATUS], "ok") != 0) {
        snprintf(e->why_no_copies, sizeof e->why_no_copies, "%s: %s", field[STATUS], field[NOTE]);
        return;
    }
    const double value = strtod(field[VALUE], NULL);
    if (strstr(field[SETTING], "pinned")) e->pinned_gbyte_s = value;
    if (strstr(field[SETTING], "pageable")) e->pageable_gbyte_s = value;
}

void evidence_copies(struct evidence *e, struct device *d) {
    char line[1024];
    e->pinned_gbyte_s = e->pageable_gbyte_s = NAN;
    snprintf(e->why_no_copies, sizeof e->why_no_copies, "the probes gave no such line");
    if (!e->gpu) return;
    FILE *f = tmpfile(); /* the probes' child writes to it, a line at a time */
    if (!f) {
        snprintf(e->why_no_copies, sizeof e->why_no_copies, "no temporary file: %s",
                 strerror(errno));
        return;
    }
    probes_run(d, f, NULL);
    rewind(f);
    while (fgets(line, sizeof line, f)) take_copy(e, line);
    fclose(f);
}
