/* measure.h - evidence from a device: its trials in a worker process, as `bench` runs them. */
#ifndef CLAIMS_MEASURE_H
#define CLAIMS_MEASURE_H
#include "claims.h"

#include "../run.h"

/* Threads by default: all; in a virtual machine one, since a host that moves several apart changes their bandwidth between
 * two measurements. text NULL: the default. -1 after one line on stderr. */
int evidence_threads(const struct device *d, const char *text);

/* Nothing wanted yet. */
void evidence_begin(struct evidence *e, const struct device *d, int threads);
void evidence_end(struct evidence *e);

/* Measures what is wanted: two rounds of all, further ones of what the machine has not said twice, until enough_s have gone
 * by; time_s of sampling a trial. how: progress and the like; rows go nowhere else. An exit status of commands.h. */
int evidence_measure(struct evidence *e, struct device *d, const struct run *how, double time_s,
                     double enough_s);
#endif
