/* html.h - text that goes into a page. Whatever comes from a file passes through here: nothing of it can become markup. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H
#include <stdio.h>

/* Escaped for text and for attributes in double quotes. Bytes that are no UTF-8 and control characters become U+FFFD. */
void html_text(FILE *f, const char *text);
void html_textf(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A name that may be broken behind its points and underscores. */
void html_name(FILE *f, const char *name);

/* <td>text</td>, escaped; empty text is an empty cell. */
void html_cell(FILE *f, const char *text);
void html_cellf(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* <td class="n">: a number of so many significant digits, empty for NaN. */
void html_number(FILE *f, double x, int digits);

/* A number as people write it: significant digits, no exponent below 1e15; empty for NaN. */
const char *number_text(double x, int digits, char text[48]);

/* Opens a scrolling table with its caption and column headers; of a header that begins with '#' the column holds
 * numbers. `class` may be empty. End with html_table_end(). */
void html_table(FILE *f, const char *class, const char *caption, const char *const *header,
                int columns);
void html_table_end(FILE *f);
#endif
