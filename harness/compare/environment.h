/* environment.h - on what machine, with what program, by which command a run was made: its run.json files, flattened. */
#ifndef COMPARE_ENVIRONMENT_H
#define COMPARE_ENVIRONMENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct fact {
    char *name, *value; /* "machine.cuda_driver", "13000" */
};

struct environment {
    struct fact *
        fact; /* by name; one a name: what several commands say differently stands as "one | other" */
    size_t count;
    int schema; /* the highest; 0: there is no run.json */
};

/* Of the folder that has `csv`: run.json, run.2.json ... None: none is known. 0, or -1 after one line on stderr. */
int environment_read(const char *csv, struct environment *out);
void environment_release(struct environment *e);

/* The value, or "". */
const char *environment_fact(const struct environment *e, const char *name);

/* A difference that may explain others; what explains most comes first. */
struct difference {
    char name[64];
    char a[160], b[160]; /* "" where it is not known */
};

/* Returns how many there are (at most `most` are stored). Sensors and clocks that hardly differ, times and output folders are
 * left out. */
size_t environment_differences(const struct environment *a, const struct environment *b,
                               struct difference *out, size_t most);
#endif
