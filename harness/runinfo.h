/* runinfo.h - run.json and its successors: on what machine, with what program, by which command the rows beside it were made. */
#ifndef RUNINFO_H
#define RUNINFO_H
#include "device.h"

#include <stdio.h>

/* Writes dir/run.json, or where that is taken dir/run.2.json, dir/run.3.json ...: one a command, none is ever replaced.
 * A file appears whole or not at all. 0, or -1 after one line on stderr. */
int run_info_write(const char *dir, struct device *d, int argc, char **argv);

/* The same as JSON on f. last_cache_bytes is what all threads reach together; what can't be read is null. */
void run_info_print(FILE *f, struct device *d, int argc, char **argv);

/* text as a JSON string, quotes included. */
void json_text(FILE *f, const char *text);
#endif
