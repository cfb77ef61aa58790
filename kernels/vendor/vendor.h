/* vendor.h - libraries whose routines stand beside ours as further implementations. */
#ifndef VENDOR_H
#define VENDOR_H
#include "../catalogue.h"

enum { MAX_VENDORS = 4 };

/* The libraries of one kind of device. Their rows stand in tables of their own: never "the best of ours". */
struct vendor_set {
    const char *name[MAX_VENDORS]; /* of their rows; ends at NULL or at MAX_VENDORS */
    const struct impl *const *kernels;

    /* NULL: there is nothing to load. Loads what is installed. Called once, before threads are pinned: a library's threads inherit the affinity mask. */
    void (*open)(void);
    /* "OpenBLAS 0.3.21 ..."; NULL when it is not there. After open(). */
    const char *(*version)(const char *name);
};

extern const struct vendor_set cpu_vendors, cuda_vendors;

/* Whether it works with threads of its own; the others use the OpenMP pool that our kernels use. */
bool vendor_has_own_threads(const char *name);
#endif
