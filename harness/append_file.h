/* append_file.h - a CSV file that only grows: what is written is all there or not at all, and on the disk. */
#ifndef APPEND_FILE_H
#define APPEND_FILE_H
#include <stdbool.h>
#include <stddef.h>

struct append_file {
    int fd;
    char *path;
    bool shared;
};

/* Opens or creates path; writes the header, a line, if it is new; cuts a torn last line. Holds a lock: a second run on
 * the same file is refused; a shared file is locked only while it is written. Returns 0, or -1 after one line on
 * stderr; then it is closed. */
int append_file_open(struct append_file *f, const char *path, const char *header, bool alone);
int append_file_write(struct append_file *f, const char *text,
                      size_t length); /* 0, or -1 after one line on stderr; nothing torn stays */
void append_file_close(struct append_file *f);
#endif
