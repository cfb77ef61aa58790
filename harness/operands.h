/* operands.h - the buffers of one trial: on the device with guard bands, on the host as the oracle wants them. */
#ifndef OPERANDS_H
#define OPERANDS_H
#include "device.h"
#include "fill.h"

struct operands {
    struct device *device;
    const struct op *op;
    enum dtype dtype;
    int count, sets;
    struct args *args;        /* [sets]: one a set of buffers; set 0 is the one that is verified */
    struct args truth;        /* of set 0: host copies from before the call */
    void *slab[MAX_OPERANDS]; /* device memory: all sets of one operand */
    size_t slab_bytes[MAX_OPERANDS], stride[MAX_OPERANDS], bytes[MAX_OPERANDS];
    void *copy[MAX_OPERANDS]; /* host copies, where truth needs its own */
    void *scratch;
    size_t scratch_bytes;
    void *staging;
    size_t staging_bytes;
    enum fill fill; /* of the last operands_fill() */
    bool borrowed;  /* of operands_share(): only args and scratch are its own */
};

/* Allocates for `sets` copies of the problem. 0, or -1: it does not fit in memory. Free in both cases. */
int operands_make(struct operands *o, struct device *d, const struct impl *impl,
                  const struct args *problem, int sets);
/* The same buffers, and scratch of its own, for another implementation of the problem; valid as long as `of` is. 0, or
 * -1: its scratch does not fit. Free in both cases, before `of`. */
int operands_share(struct operands *o, const struct operands *of, const struct impl *impl,
                   const struct args *problem);
void operands_free(struct operands *o);

/* Inputs from the fill, outputs and guard bands to patterns that read as NaN. 0, or a device error. */
int operands_fill(struct operands *o, enum fill fill);

/* Output operand i of set 0 on the host, valid until the next call; NULL on a device error. */
const void *operands_download(struct operands *o, int i);

/* NULL, or a sentence: a guard band or an input was written to. */
const char *operands_damage(struct operands *o);
#endif
