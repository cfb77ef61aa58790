/* device.h - evidence that is no row: what the device stores, how fast its memory is filled. */
#ifndef CLAIMS_DEVICE_H
#define CLAIMS_DEVICE_H
#include "claims.h"

/* Opens the device in this process, which must fork no worker afterwards. */
void evidence_stored(struct evidence *e, struct device *d);

/* By the probes of a GPU, in a child process. Before evidence_stored(). */
void evidence_copies(struct evidence *e, struct device *d);
#endif
