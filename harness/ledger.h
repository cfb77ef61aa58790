/* ledger.h - who holds which bytes of device memory. Every allocation of a training run goes through it. */
#ifndef LEDGER_H
#define LEDGER_H
#include "device.h"

#include "../kernels/model/model.h"

struct ledger_entry {
    void *block; /* as the device gave it */
    size_t block_bytes;
    enum memory_kind kind;
    int64_t bytes; /* as asked for */
    char name[24];
};

struct ledger {
    struct device *device;
    struct ledger_entry *entry;
    size_t count, room;
    int64_t live[MEMORY_KINDS], peak[MEMORY_KINDS]; /* bytes asked for; each kind's own peak */
    int64_t live_bytes, peak_bytes;                 /* of all kinds together, at one time */
    int64_t padding_bytes; /* beside them, so that no two buffers share their low address bits */
    int64_t in_use_before; /* on the device by everybody, before the first allocation; -1 unknown */
};

void ledger_begin(struct ledger *l, struct device *d);

/* Cleared memory, 256-byte aligned; NULL when the device has none. */
void *ledger_take(struct ledger *l, enum memory_kind kind, const char *name, size_t bytes);

/* Releases everything. */
void ledger_end(struct ledger *l);

/* What the device gave out beyond what was asked for: contexts, padding, allocation units, and whatever other processes
 * did meanwhile. -1 unknown. */
int64_t ledger_slack(const struct ledger *l);
#endif
