/* ceilings_file.h - the ceilings of an earlier `peaks`, for a device that is measured now. */
#ifndef CEILINGS_FILE_H
#define CEILINGS_FILE_H
#include "ceilings.h"
#include "device.h"

/* From `file`; NULL: from dir/peaks.csv where that is there. Without one there are none, which a line on stderr says when a
 * folder is named. 0, or -1 after one line on stderr. The caller frees out->ceiling. */
int ceilings_load(const char *file, const char *dir, const struct device *d, struct ceilings *out);
#endif
