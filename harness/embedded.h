/* embedded.h - files of plots/ that are compiled into the binary. */
#ifndef EMBEDDED_H
#define EMBEDDED_H

/* NUL-terminated contents of plots/<name>; NULL when it is not embedded. */
const char *embedded_file(const char *name);
#endif
