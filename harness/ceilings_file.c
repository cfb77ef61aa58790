/* ceilings_file.c - rows of other devices are no roof of this one. */
#include "ceilings_file.h"

#include "run.h"

#include <stdlib.h>
#include <unistd.h>

static int load(const char *path, const struct device *d, struct ceilings *out) {
    struct rows rows;
    bool torn;
    if (rows_read(path, &rows, &torn)) return -1;
    rows_keep_device(&rows, d->slug);
    if (rows.count == 0)
        fprintf(stderr, "roofline: '%s' has no rows of this device: the roof columns stay empty\n",
                path);
    const int status = ceilings_of(&rows, device_last_cache(d, d->max_threads), out);
    if (status) fprintf(stderr, "roofline: no memory for the ceilings\n");
    free(rows.row);
    return status;
}

int ceilings_load(const char *file, const char *dir, const struct device *d, struct ceilings *out) {
    *out = (struct ceilings){0};
    if (file) return load(file, d, out);
    if (!dir) return 0;
    char *path = path_join(dir, "peaks.csv");
    int status = 0;
    if (access(path, F_OK) == 0)
        status = load(path, d, out);
    else
        fprintf(
            stderr,
            "roofline: no '%s': the roof columns stay empty ('roofline peaks --out %s' makes it)\n",
            path, dir);
    free(path);
    return status;
}
