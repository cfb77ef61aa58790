/* chart_groups.c - operations of about the same intensity. */
#include "chart_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *find_word(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ';' || at[length] == '\0')) return at;
    return NULL;
}

void chart_group_add(struct chart_group *group, size_t *count, double ai, const char *text) {
    size_t at = 0;
    while (at < *count && fabs(group[at].ai / ai - 1) > 0.03) at++;
    if (at == CHART_MAX_GROUPS) return;
    if (at == *count) group[(*count)++] = (struct chart_group){.ai = ai};
    if (find_word(group[at].ops, text)) return;
    const size_t used = strlen(group[at].ops);
    snprintf(group[at].ops + used, sizeof group->ops - used, "%s%s", used ? "; " : "", text);
}

static int by_intensity(const void *a, const void *b) {
    const double x = ((const struct chart_group *)a)->ai, y = ((const struct chart_group *)b)->ai;
    return (x > y) - (x < y);
}

void chart_groups_sort(struct chart_group *group, size_t count) {
    qsort(group, count, sizeof *group, by_intensity);
}

size_t chart_line_length(const char *words, size_t limit) {
    size_t length = strlen(words);
    if (length <= limit) return length;
    length = 0;
    for (size_t i = 0; words[i] && i <= limit; i++)
        if (words[i] == ';') length = i + 1;
    return length ? length : limit;
}
