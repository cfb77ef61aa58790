/* answer.c - the three forms of an answer. Numbers in JSON and CSV are the shortest that read back the same. */
#include "answer.h"
#include "count.h"

#include "../runinfo.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 letter that a text begins with; 0: it begins with none. */
static int letter_bytes(const unsigned char *text) {
    const int bytes = text[0] < 0x80                      ? 1
                      : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                      : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                      : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                          : 0;
    for (int i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return bytes;
}

/* Terminals act on control characters, C1 ones (U+0080 to U+009F) included; readers stumble over half a letter. */
static void make_harmless(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c;) {
        const int bytes = letter_bytes(c);
        const bool control = *c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0);
        if (bytes == 0 || control) *c = '?';
        if (bytes == 2 && control) c[1] = '?';
        c += bytes ? bytes : 1;
    }
}

int complain(struct complaint *why, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(why->text, sizeof why->text, format, values);
    va_end(values);
    make_harmless(why->text);
    return -1;
}

void answer_begin(struct answer *a) {
    const enum answer_format format = a->format;
    const bool si = a->si;
    *a = (struct answer){.format = format, .si = si};
}

void answer_end(struct answer *a) {
    for (size_t i = 0; i < a->cells; i++) free(a->cell[i]);
    free(a->cell);
    a->cell = NULL;
    a->cells = a->capacity = 0;
}

static struct answer_item *new_item(struct answer *a, const char *name, const char *unit) {
    if (a->items == ANSWER_ITEMS) {
        a->failed = true;
        a->items--;
    }
    struct answer_item *item = &a->item[a->items++];
    *item = (struct answer_item){.kind = KIND_TEXT};
    snprintf(item->name, sizeof item->name, "%s", name);
    snprintf(item->unit, sizeof item->unit, "%s", unit);
    return item;
}

void answer_count(struct answer *a, const char *name, int64_t value, const char *unit,
                  const char *formula, ...) {
    struct answer_item *item = new_item(a, name, unit);
    item->kind = KIND_COUNT;
    item->count = value;
    if (!formula) return;
    va_list values;
    va_start(values, formula);
    vsnprintf(item->formula, sizeof item->formula, formula, values);
    va_end(values);
}

void answer_real(struct answer *a, const char *name, double value, const char *unit,
                 const char *formula, ...) {
    struct answer_item *item = new_item(a, name, unit);
    item->kind = KIND_REAL;
    item->real = value;
    if (!formula) return;
    va_list values;
    va_start(values, formula);
    vsnprintf(item->formula, sizeof item->formula, formula, values);
    va_end(values);
}

void answer_exact(struct answer *a, const char *name, double value, const char *unit,
                  const char *formula, ...) {
    struct answer_item *item = new_item(a, name, unit);
    item->kind = KIND_EXACT;
    item->real = value;
    if (!formula) return;
    va_list values;
    va_start(values, formula);
    vsnprintf(item->formula, sizeof item->formula, formula, values);
    va_end(values);
}

void answer_text(struct answer *a, const char *name, const char *format, ...) {
    struct answer_item *item = new_item(a, name, "");
    va_list values;
    va_start(values, format);
    vsnprintf(item->text, sizeof item->text, format, values);
    va_end(values);
}

void answer_table(struct answer *a, const char *name, const char *const *column, size_t columns) {
    a->table_name = name;
    a->column = column;
    a->columns = columns;
}

void answer_cell(struct answer *a, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(NULL, 0, format, values);
    va_end(values);
    if (a->cells == a->capacity) {
        const size_t capacity = a->capacity ? 2 * a->capacity : 64;
        char **cell = realloc(a->cell, capacity * sizeof *cell);
        if (cell) {
            a->cell = cell;
            a->capacity = capacity;
        }
    }
    char *text = length < 0 || a->cells == a->capacity ? NULL : malloc((size_t)length + 1);
    if (!text) {
        a->failed = true;
        return;
    }
    va_start(values, format);
    vsnprintf(text, (size_t)length + 1, format, values);
    va_end(values);
    a->cell[a->cells++] = text;
}

/* ---- for scripts ---- */

static struct text shortest(double x) {
    struct text t;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(t.text, sizeof t.text, "%.*g", digits, x);
        if (strtod(t.text, NULL) == x) break;
    }
    return t;
}

static void print_real(FILE *f, double x, const char *unknown) {
    fputs(isfinite(x) ? shortest(x).text : unknown, f);
}

/* A number as JSON writes numbers. */
static bool is_number(const char *text) {
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text) || *text == '+' || *text == '.')
        return false;
    const char *digits = text + (*text == '-');
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return false;
    strtod(text, &end);
    return !*end && end[-1] != '.';
}

static void print_json(const struct answer *a, FILE *f) {
    fputc('{', f);
    for (size_t i = 0; i < a->items; i++) {
        const struct answer_item *item = &a->item[i];
        fputs(i ? ",\n  " : "\n  ", f);
        json_text(f, item->name);
        fputs(": ", f);
        if (item->kind == KIND_TEXT) {
            json_text(f, item->text);
            continue;
        }
        fputs("{\"value\": ", f);
        if (item->kind == KIND_COUNT)
            fprintf(f, "%" PRId64, item->count);
        else
            print_real(f, item->real, "null");
        fputs(", \"unit\": ", f);
        json_text(f, item->unit);
        if (item->formula[0]) {
            fputs(", \"formula\": ", f);
            json_text(f, item->formula);
        }
        fputc('}', f);
    }
    if (a->columns) {
        fputs(a->items ? ",\n  " : "\n  ", f);
        json_text(f, a->table_name);
        fputs(": [", f);
        for (size_t i = 0; i < a->cells; i++) {
            const size_t column = i % a->columns;
            fputs(column ? ", " : i ? ",\n    {" : "\n    {", f);
            json_text(f, a->column[column]);
            fputs(": ", f);
            if (!*a->cell[i])
                fputs("null", f);
            else if (is_number(a->cell[i]))
                fputs(a->cell[i], f);
            else
                json_text(f, a->cell[i]);
            if (column + 1 == a->columns) fputc('}', f);
        }
        fputs("\n  ]", f);
    }
    fputs("\n}\n", f);
}

static void csv_field(FILE *f, const char *text, char end) {
    if (strpbrk(text, ",\"\n\r")) {
        fputc('"', f);
        for (; *text; text++) {
            if (*text == '"') fputc('"', f);
            fputc(*text, f);
        }
        fputc('"', f);
    } else {
        fputs(text, f);
    }
    fputc(end, f);
}

static void print_csv(const struct answer *a, FILE *f) {
    if (a->columns) {
        for (size_t i = 0; i < a->columns; i++)
            csv_field(f, a->column[i], i + 1 == a->columns ? '\n' : ',');
        for (size_t i = 0; i < a->cells; i++)
            csv_field(f, a->cell[i], (i + 1) % a->columns == 0 ? '\n' : ',');
        return;
    }
    fputs("name,value,unit,formula\n", f);
    for (size_t i = 0; i < a->items; i++) {
        const struct answer_item *item = &a->item[i];
        csv_field(f, item->name, ',');
        if (item->kind == KIND_TEXT) {
            csv_field(f, item->text, ',');
        } else {
            if (item->kind == KIND_COUNT)
                fprintf(f, "%" PRId64, item->count);
            else
                print_real(f, item->real, "");
            fputc(',', f);
        }
        csv_field(f, item->unit, ',');
        csv_field(f, item->formula, '\n');
    }
}

/* ---- for people ---- */

/* Whole numbers below 10^15 in full, with the short form beside them where that helps. */
static void value_text(const struct answer *a, const struct answer_item *item, char *text,
                       size_t size) {
    const bool bytes = strcmp(item->unit, "B") == 0;
    const double value = item->kind == KIND_COUNT ? (double)item->count : item->real;
    struct text number = figure(value), brief = {""};
    if (item->kind == KIND_COUNT || (value == floor(value) && fabs(value) < 1e15)) {
        number = grouped(item->kind == KIND_COUNT ? item->count : (int64_t)value);
        if (!bytes && fabs(value) >= 1e6) brief = figure(value);
        if (!strchr(brief.text, 'e')) brief.text[0] = '\0';
    }
    if (item->kind == KIND_EXACT) {
        snprintf(text, size, "%s%s%s", shortest(value).text, item->unit[0] ? " " : "", item->unit);
        return;
    }
    if (bytes) brief = in_units(value, a->si);
    if (!isfinite(value)) number = (struct text){"unknown"};
    snprintf(text, size, "%s%s%s%s%s%s", number.text, item->unit[0] ? " " : "", item->unit,
             brief.text[0] ? " (" : "", brief.text, brief.text[0] ? ")" : "");
}

/* Characters, not bytes, of UTF-8. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += (*text & 0xc0) != 0x80;
    return width;
}

static void print_padded(FILE *f, const char *text, int width, bool right) {
    char harmless[512];
    snprintf(harmless, sizeof harmless, "%s", text);
    make_harmless(harmless);
    const int pad = width - width_of(harmless);
    fprintf(f, "%*s%s%*s", right && pad > 0 ? pad : 0, "", harmless, !right && pad > 0 ? pad : 0,
            "");
}

static void print_table(const struct answer *a, FILE *f) {
    int width[ANSWER_COLUMNS] = {0};
    bool number[ANSWER_COLUMNS];
    for (size_t c = 0; c < a->columns; c++) {
        width[c] = width_of(a->column[c]);
        number[c] = true;
        for (size_t i = c; i < a->cells; i += a->columns) {
            const int cell = width_of(a->cell[i]);
            if (cell > width[c]) width[c] = cell;
            number[c] &= !*a->cell[i] || is_number(a->cell[i]);
        }
    }
    for (size_t i = 0; i < a->columns + a->cells; i++) {
        const size_t c = i % a->columns;
        const bool last = c + 1 == a->columns;
        print_padded(f, i < a->columns ? a->column[i] : a->cell[i - a->columns],
                     last && !number[c] ? 0 : width[c], number[c]);
        fputs(last ? "\n" : "  ", f);
    }
}

static void print_text(const struct answer *a, FILE *f) {
    int names = 0, values = 0;
    char text[300];
    for (size_t i = 0; i < a->items; i++) {
        const struct answer_item *item = &a->item[i];
        if ((int)strlen(item->name) > names) names = (int)strlen(item->name);
        if (item->kind == KIND_TEXT || !item->formula[0]) continue;
        value_text(a, item, text, sizeof text);
        if (width_of(text) > values) values = width_of(text);
    }
    for (size_t i = 0; i < a->items; i++) {
        const struct answer_item *item = &a->item[i];
        char name[sizeof item->name];
        snprintf(name, sizeof name, "%s", item->name);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = ' ';
        print_padded(f, name, names + 2, false);
        if (item->kind == KIND_TEXT) {
            print_padded(f, item->text, 0, false);
        } else {
            value_text(a, item, text, sizeof text);
            print_padded(f, text, item->formula[0] ? values + 2 : 0, false);
            if (item->formula[0]) fprintf(f, "= %s", item->formula);
        }
        fputc('\n', f);
    }
    if (a->columns) {
        if (a->items) fputc('\n', f);
        print_table(a, f);
    }
}

int answer_print(const struct answer *a, FILE *f) {
    if (a->failed) return -1;
    if (a->format == ANSWER_JSON)
        print_json(a, f);
    else if (a->format == ANSWER_CSV)
        print_csv(a, f);
    else
        print_text(a, f);
    return 0;
}
