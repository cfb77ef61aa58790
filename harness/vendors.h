/* vendors.h - which vendor libraries are installed, asked in a child process: loading them starts threads, and a process
 * with threads must not fork workers. */
#ifndef VENDORS_H
#define VENDORS_H
#include "../kernels/vendor/vendor.h"

struct vendors {
    const struct vendor_set *set;   /* NULL: none */
    char version[MAX_VENDORS][128]; /* by index of set->name[]; "" where the library is absent */
};

/* Absent ones, and all where no child can be had, have empty versions. */
struct vendors vendors_ask(const struct vendor_set *set);

/* Whether impl is the name of a library that is there. */
int vendors_have(const struct vendors *v, const char *impl);
#endif
