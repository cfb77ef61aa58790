/* vendor.h - libraries whose routines stand beside ours as further implementations. */
#ifndef VENDOR_H
#define VENDOR_H
#include <stdbool.h>

enum { VENDORS = 3 };
extern const char *const vendor_names[VENDORS]; /* their rows' names */

/* Loads what is installed. Called once, before threads are pinned: a library's threads inherit
 * the affinity mask. */
void vendor_open(void);

/* "OpenBLAS 0.3.21 ..." of a vendor row's implementation; NULL when it is not there. */
const char *vendor_version(const char *impl);

/* Whether it works with threads of its own; the others use the OpenMP pool that our kernels use. */
bool vendor_has_own_threads(const char *impl);
#endif
