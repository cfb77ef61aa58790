/* chart_groups.h - operations of about the same intensity: one number on the axis, one entry in the list beside it. */
#ifndef CHART_GROUPS_H
#define CHART_GROUPS_H
#include <stddef.h>

enum { CHART_MAX_GROUPS = 48, CHART_KEY_CHARACTERS = 34 };

struct chart_group {
    double ai;
    char ops[512]; /* "add; mul; div" */
};

/* Adds an operation where it belongs, once; without room it is left out. */
void chart_group_add(struct chart_group *group, size_t *count, double ai, const char *text);
void chart_groups_sort(struct chart_group *group, size_t count); /* by intensity */

/* Where a list of words breaks so that a line has at most `limit` characters. */
size_t chart_line_length(const char *words, size_t limit);
#endif
