/* sustain.h - one kernel for a long time: its rate, clock, power and temperature over time, and what is left of the first
 * second's rate at the end. */
#ifndef SUSTAIN_H
#define SUSTAIN_H
#include "sample.h"

/* What one sample came to; NaN where it could not be read. */
struct sustain_point {
    double at_s;             /* its end, since the beginning */
    double gflop_s, gbyte_s; /* gflop_s: NaN without FLOPs */
    double clock_ghz, power_w, temperature_c;
};

/* A part of the time. */
struct sustain_part {
    double rate, low, high;                   /* the median and its 95 % interval */
    double clock_ghz, power_w, temperature_c; /* means; power over time; NaN: not read throughout */
    double pj_flop, pj_byte;                  /* energy, by that power; NaN: unknown */
};

struct sustain_summary {
    bool by_flops;                        /* rates are GFLOP/s; else GB/s */
    struct sustain_part burst, sustained; /* the first second, at most a third; the last third */
};

/* One trial's lines of sustain.csv. */
struct sustain_series {
    struct row key; /* only its key columns are set */
    struct sustain_point *point;
    size_t count;
};

struct sustain_list {
    struct sustain_series *series;
    size_t count;
};

/* Whether a series is of arithmetic: at least one FLOP a byte. */
bool sustain_by_flops(const struct sustain_series *s);

/* Pure; s has points, in the order of time. The medians need memory: 0, or -1 without. */
int sustain_summarise(const struct sustain_series *s, struct sustain_summary *out);

/* The series of one device in dir/sustain.csv, if there is such a file. 0, or -1 after one line on stderr; release out in
 * both cases. */
int sustain_read(const char *dir, const char *device, struct sustain_list *out);
void sustain_release(struct sustain_list *list);

/* ---- sustain.csv: the key columns of columns.def, then these, a line a sample ----
 * sample (1, 2 ...), at_s (seconds from the start to its end), placement, disturbed (as in samples.csv), time_s (a call),
 * gflop_s, gbyte_s, clock_ghz, power_w (mean since the line before), temperature_c, throttle. Empty: not readable. */

/* 0, or -1 after one line on stderr. */
int sustain_file_open(struct append_file *f, const char *path);
int sustain_file_append(struct append_file *f, const struct row *r, const struct samples *s);

/* The summary of a row as lines for people; nothing where its samples have no readings. */
void sustain_print(FILE *f, const struct row *r, const struct samples *s);
#endif
