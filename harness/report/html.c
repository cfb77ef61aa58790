/* html.c - text that goes into a page. */
#define _GNU_SOURCE
#include "html.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 character at `s`; 0 for what is none: overlong forms, surrogates, beyond U+10FFFF. */
static int utf8_length(const unsigned char *s) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = s[0] < 0x80             ? 1
                       : (s[0] & 0xe0) == 0xc0 ? 2
                       : (s[0] & 0xf0) == 0xe0 ? 3
                       : (s[0] & 0xf8) == 0xf0 ? 4
                                               : 0;
    if (length < 2) return length;
    uint32_t code = s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    if (code < 0xa0 || (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code < 0xfdf0)) return 0;
    return length;
}

void html_text(FILE *f, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int length = utf8_length(s);
        switch (*s) {
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '&':
            fputs("&amp;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        case '\'':
            fputs("&#39;", f);
            break;
        case '\t':
        case '\n':
        case '\r':
            fputc(' ', f);
            break;
        default:
            if (length == 0 || *s < ' ' || *s == 0x7f)
                fputs("\xef\xbf\xbd", f);
            else
                fwrite(s, 1, (size_t)length, f);
        }
        s += length ? length : 1;
    }
}

static void print_escaped(FILE *f, const char *format, va_list list) {
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0) abort();
    html_text(f, text);
    free(text);
}

void html_textf(FILE *f, const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_escaped(f, format, list);
    va_end(list);
}

void html_cell(FILE *f, const char *text) {
    fputs("<td>", f);
    html_text(f, text);
    fputs("</td>", f);
}

void html_cellf(FILE *f, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("<td>", f);
    print_escaped(f, format, list);
    fputs("</td>", f);
    va_end(list);
}

const char *number_text(double x, int digits, char text[48]) {
    text[0] = '\0';
    if (!isfinite(x)) return text;
    const double size = fabs(x);
    if (size >= 1e15 || (size > 0 && size < 1e-4)) {
        snprintf(text, 48, "%.*e", digits - 1, x);
        return text;
    }
    const int whole = size < 1 ? 1 : (int)floor(log10(size) + 1e-12) + 1;
    int decimals = digits > whole ? digits - whole : 0;
    if (size > 0 && size < 1) decimals = digits - 1 - (int)floor(log10(size));
    if (x == floor(x)) decimals = 0;
    snprintf(text, 48, "%.*f", decimals, x);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.';
    return text;
}

void html_name(FILE *f, const char *name) {
    char part[256];
    while (*name) {
        size_t length = strcspn(name, "._");
        length += name[length] != '\0';
        snprintf(part, sizeof part, "%.*s", (int)length, name);
        html_text(f, part);
        name += length;
        if (*name) fputs("<wbr>", f);
    }
}

void html_number(FILE *f, double x, int digits) {
    char text[48];
    fprintf(f, "<td class=\"n\">%s</td>", number_text(x, digits, text));
}

void html_table(FILE *f, const char *class, const char *caption, const char *const *header,
                int columns) {
    fprintf(f, "<div class=\"scroll%s\" role=\"region\" tabindex=\"0\" aria-label=\"",
            strstr(class, "filter") ? " tall" : "");
    html_text(f, caption);
    fprintf(f, "\"><table%s%s%s><caption><span>", *class ? " class=\"" : "", class,
            *class ? "\"" : "");
    html_text(f, caption);
    fputs("</span></caption><thead><tr>", f);
    for (int i = 0; i < columns; i++) {
        const int number = header[i][0] == '#';
        fprintf(f, "<th scope=\"col\"%s>", number ? " class=\"n\"" : "");
        html_text(f, header[i] + number);
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
}

void html_table_end(FILE *f) { fputs("</tbody></table></div>\n", f); }
