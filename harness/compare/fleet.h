/* fleet.h - one measurement on many devices: how far they spread, and which one stands out. */
#ifndef COMPARE_FLEET_H
#define COMPARE_FLEET_H
#include "../row.h"

#include <stdio.h>

/* A device's run. */
struct member {
    char name[64];          /* of its folder: "rank-0003", "cuda1" */
    char host[64], gpu[96]; /* what its rank wrote; the UUID of its run.json; "" unknown */
    struct rows rows;
};

struct fleet {
    struct member *member;
    int count;
};

/* The folders below `dir` that have `file`, by name; an unreadable one is left out after one line on stderr. */
int fleet_read(const char *dir, const char *file, struct fleet *out);
void fleet_release(struct fleet *f);

struct standing {
    double
        speed; /* geometric mean over rows of median time / own time: 0.9 is 10 % slower than the middle of the fleet */
    size_t rows, slow; /* compared; slower than the middle by more than the threshold */
    bool outlier;
};

/* Speeds of all members; rows are partners when all key columns but the device are equal. An outlier is further from the
 * fleet's median speed than the threshold and than three deviations (by the median absolute one) of the others; two cannot
 * say which of them it is. */
void fleet_stand(const struct fleet *f, double threshold, struct standing *out);

/* A table of the members of DIR, or of DIR/alone and DIR/together where these are, on f, and their rows in
 * DIR/fleet.csv (fleet_peaks.csv), each with the folder and host it came from. STATUS_NO when one stands out or has wrong or failed rows, STATUS_ERROR when there are not two. */
int fleet_compare(FILE *f, const char *dir, const char *file, double threshold);
#endif
