/* ledger.c - allocations, staggered like a trial's operands: buffers that share the low 12 bits of their addresses cost
 * false dependencies on x86. */
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALIGNMENT = 256, STEPS = 13 };

void ledger_begin(struct ledger *l, struct device *d) {
    *l = (struct ledger){.device = d, .in_use_before = d->memory_in_use ? d->memory_in_use(d) : -1};
}

void *ledger_take(struct ledger *l, enum memory_kind kind, const char *name, size_t bytes) {
    struct device *d = l->device;
    const size_t offset = l->count % STEPS * ALIGNMENT, block_bytes = bytes + offset;
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        struct ledger_entry *more = realloc(l->entry, l->room * sizeof *more);
        if (!more) return NULL;
        l->entry = more;
    }
    char *block = d->alloc(d, block_bytes);
    if (!block) return NULL;
    if (d->clear && d->clear(d, block, block_bytes)) {
        d->release(d, block, block_bytes);
        return NULL;
    }
    struct ledger_entry *e = &l->entry[l->count++];
    *e = (struct ledger_entry){
        .block = block, .block_bytes = block_bytes, .kind = kind, .bytes = (int64_t)bytes};
    snprintf(e->name, sizeof e->name, "%s", name);
    l->live[kind] += e->bytes;
    l->live_bytes += e->bytes;
    l->padding_bytes += (int64_t)offset;
    if (l->live[kind] > l->peak[kind]) l->peak[kind] = l->live[kind];
    if (l->live_bytes > l->peak_bytes) l->peak_bytes = l->live_bytes;
    return block + offset;
}

void ledger_end(struct ledger *l) {
    for (size_t i = 0; i < l->count; i++)
        l->device->release(l->device, l->entry[i].block, l->entry[i].block_bytes);
    free(l->entry);
    *l = (struct ledger){.in_use_before = -1};
}

int64_t ledger_slack(const struct ledger *l) {
    const int64_t now =
        l->device && l->device->memory_in_use ? l->device->memory_in_use(l->device) : -1;
    return now < 0 || l->in_use_before < 0 ? -1 : now - l->in_use_before - l->live_bytes;
}
