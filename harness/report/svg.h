/* svg.h - a chart of gnuplot's as a part of a page. */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H
#include <stdio.h>

/* Copies the <svg> of a file: ids begin with `prefix` (letters and digits, unique in the page), label is what a screen
 * reader says, the font is the page's, explanations of points are <title>s instead of calls of gnuplot's script.
 * 0, or -1 after one line on stderr. */
int svg_inline(FILE *f, const char *path, const char *prefix, const char *label);
#endif
