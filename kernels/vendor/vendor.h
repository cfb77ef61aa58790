/* vendor.h - libraries whose routines stand beside ours as further implementations. */
#ifndef VENDOR_H
#define VENDOR_H

/* Loads what is installed. Called once, before threads are pinned: a library's threads inherit
 * the affinity mask. */
void vendor_open(void);

/* "OpenBLAS 0.3.21 ..." of a vendor row's implementation; NULL when it is not there. */
const char *vendor_version(const char *impl);
#endif
