/* runinfo.h - run.json: on what machine, with what program, by which command the rows beside it were made. */
#ifndef RUNINFO_H
#define RUNINFO_H
#include "device.h"

#include <stdio.h>

/* Writes dir/run.json by way of a temporary file; 0, or -1 after one line on stderr. */
int run_info_write(const char *dir, const struct device *d, int argc, char **argv);

/* The same as JSON on f. */
void run_info_print(FILE *f, const struct device *d, int argc, char **argv);

/* text as a JSON string, quotes included. */
void json_text(FILE *f, const char *text);
#endif
