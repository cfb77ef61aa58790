/* svg.c - a chart of gnuplot's as a part of a page. gnuplot's SVG is read line by line: one element or the start of a group
 * a line. Its texts are escaped already; its ids are the same in every file, and its scripts are not for a page. */
#define _GNU_SOURCE
#include "svg.h"

#include "../account/json_file.h"
#include "html.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 16 << 20, SYMBOLS = 32 };

/* The number of the point symbol that "Pt<number>" or "Dot" behind "gp" names; -1: none, or beyond what is kept account of. */
static int symbol_at(const char *text) {
    if (strncmp(text, "Dot", 3) == 0) return SYMBOLS - 1;
    const int n = strncmp(text, "Pt", 2) == 0 ? atoi(text + 2) : -1;
    return n >= 0 && isdigit((unsigned char)text[2]) && n < SYMBOLS - 1 ? n : -1;
}

/* Which point symbols a piece of text refers to. */
static void mark_symbols(const char *text, bool used[SYMBOLS]) {
    for (const char *at = text; (at = strstr(at, "#gp")); at++)
        if (symbol_at(at + 3) >= 0) used[symbol_at(at + 3)] = true;
}

/* One line without its font, ids and references within this chart. */
static void copy_line(FILE *f, const char *line, const char *prefix) {
    static const struct {
        const char *from, *to;
        bool reference; /* the prefix goes between */
    } change[] = {{"xlink:href='#", "href='#", true}, {" id='", " id='", true}};
    while (*line) {
        bool done = false;
        for (size_t i = 0; i < sizeof change / sizeof *change && !done; i++) {
            const size_t length = strlen(change[i].from);
            if (strncmp(line, change[i].from, length) != 0) continue;
            fprintf(f, "%s%s", change[i].to, prefix);
            line += length;
            done = true;
        }
        if (!done && strncmp(line, " font-family=\"", 14) == 0) {
            line += 14 + strcspn(line + 14, "\"");
            line += *line == '"';
            done = true;
        }
        if (!done) fputc(*line++, f);
    }
    fputc('\n', f);
}

/* <g onmousemove="gnuplot_svg.showHypertext(evt,'text')" onmouseout="..."><title> </title>: the text as a title. */
static bool copy_explanation(FILE *f, const char *line) {
    static const char start[] = "showHypertext(evt,'", end[] = "')\" onmouseout=";
    const char *text = strstr(line, start);
    const char *last = text ? strstr(text, end) : NULL;
    if (!strstr(line, "onmousemove=")) return false;
    if (text && last) {
        text += sizeof start - 1;
        fprintf(f, "<g class=\"m\"><title>%.*s</title>\n", (int)(last - text), text);
    } else {
        fputs("<g>\n", f);
    }
    return true;
}

static char *next_line(char **at) {
    char *line = *at;
    if (!line || !*line) return NULL;
    char *end = strchr(line, '\n');
    if (end) *end = '\0';
    *at = end ? end + 1 : NULL;
    return line;
}

/* "<svg width=... viewBox=... >", which takes several lines. False: there is none. */
static bool copy_root(FILE *f, char **at, const char *label) {
    char box[96] = "", *line;
    bool found = false;
    while ((line = next_line(at))) {
        found = found || strstr(line, "<svg");
        const char *view = strstr(line, "viewBox=\"");
        if (found && view)
            snprintf(box, sizeof box, "%.*s", (int)strspn(view + 9, "0123456789. "), view + 9);
        if (found && strchr(line, '>')) break;
    }
    if (!line || !*box) return false;
    double x, y, width, height;
    if (sscanf(box, "%lf %lf %lf %lf", &x, &y, &width, &height) != 4) return false;
    fprintf(f, "<svg viewBox=\"%s\" width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"", box,
            width, height);
    html_text(f, label);
    fputs("\">\n", f);
    return true;
}

/* The definitions of those symbols that the chart uses, and of those that these refer to. */
static void copy_definitions(FILE *f, char **at, const char *body, const char *prefix) {
    char *line, *symbol[SYMBOLS] = {NULL};
    bool used[SYMBOLS] = {false}, any = false;
    while ((line = next_line(at)) && !strstr(line, "</defs>")) {
        const char *id = strstr(line, " id='gp");
        if (id && symbol_at(id + 7) >= 0) symbol[symbol_at(id + 7)] = line;
    }
    mark_symbols(body, used);
    for (int depth = 0; depth < 3; depth++)
        for (int i = 0; i < SYMBOLS; i++)
            if (used[i] && symbol[i]) mark_symbols(symbol[i], used);
    for (int i = 0; i < SYMBOLS; i++) {
        if (!used[i] || !symbol[i]) continue;
        if (!any) fputs("<defs>\n", f);
        any = true;
        copy_line(f, symbol[i] + strspn(symbol[i], " \t"), prefix);
    }
    if (any) fputs("</defs>\n", f);
}

static bool is_empty_group(const char *line, const char *rest) {
    return strncmp(line, "<g fill=", 8) == 0 && rest && strncmp(rest, "</g>", 4) == 0 &&
           (rest[4] == '\n' || rest[4] == '\0');
}

int svg_inline(FILE *f, const char *path, const char *prefix, const char *label) {
    struct complaint why;
    size_t length;
    int status = -1;
    char *text = read_whole_file(path, LARGEST, &length, &why), *line;
    char *ended = text ? realloc(text, length + 1) : NULL;
    if (ended) text = ended;
    if (!ended) {
        fprintf(stderr, "roofline: %s\n", text ? "no memory for a chart" : why.text);
        goto done;
    }
    text[length] = '\0';
    char *copy = strdup(text),
         *at = text; /* lines are cut where they end; symbols are looked up in the copy */
    if (!copy || strcasestr(copy, "<script") || !copy_root(f, &at, label)) {
        fprintf(stderr, "roofline: '%s' is no chart of gnuplot's\n", path);
        free(copy);
        goto done;
    }
    const char *body = strstr(copy, "</defs>");
    while ((line = next_line(&at))) {
        line += strspn(line, " \t");
        if (!*line || strncmp(line, "<title>", 7) == 0 || strncmp(line, "<desc>", 6) == 0) continue;
        if (strncmp(line, "<defs>", 6) == 0)
            copy_definitions(f, &at, body ? body : copy, prefix);
        else if (is_empty_group(line, at))
            next_line(&at);
        else if (strncmp(line, "<g id=", 6) == 0)
            fputs("<g>\n", f);
        else if (!copy_explanation(f, line))
            copy_line(f, line, prefix);
    }
    free(copy);
    status = 0;
done:
    free(text);
    return status;
}
