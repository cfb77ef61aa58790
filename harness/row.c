/* row.c - columns.def as a CSV writer, a CSV reader and a comparison. */
#define _GNU_SOURCE
#include "row.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { LINE_MAX_BYTES = 8192 };

_Static_assert(COLUMN_COUNT <= 64, "struct rows has a bit for each column");

/* ---- one row ---- */

#define INIT_STR(field)  field[0] = '\0'
#define INIT_INT(field)  field = -1
#define INIT_REAL(field) field = NAN

void row_init(struct row *r) {
#define COL(kind, type, name) INIT_##type(r->name);
#include "columns.def"
#undef COL
}

void row_set_text(char field[ROW_TEXT], const char *text) { snprintf(field, ROW_TEXT, "%s", text); }

void row_set_now(char field[ROW_TEXT]) {
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(field, ROW_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

#define SAME_STR(x, y)  (strcmp(x, y) == 0)
#define SAME_INT(x, y)  ((x) == (y))
#define SAME_REAL(x, y) ((x) == (y))
#define MATCH_KEY(same) same
#define MATCH_VAL(same) true

bool row_same_key(const struct row *a, const struct row *b) {
#define COL(kind, type, name) MATCH_##kind(SAME_##type(a->name, b->name)) &&
    return
#include "columns.def"
        true;
#undef COL
}

/* ---- writing ---- */

static void print_text(FILE *f, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

static void print_integer(FILE *f, int64_t x) {
    if (x >= 0) fprintf(f, "%" PRId64, x);
}

/* printf and strtod follow the locale; the file must not. The program never calls setlocale(), but a library might.
 * NULL in a locale with decimal points. */
static const char *foreign_point(void) {
    const char *point = localeconv()->decimal_point;
    return strcmp(point, ".") == 0 ? NULL : point;
}

static void print_real(FILE *f, double x) {
    char text[32];
    if (!isfinite(x)) return;
    const bool count = fabs(x) < 0x1p53 && x == floor(x); /* of flops or bytes: all its digits */
    snprintf(text, sizeof text, count ? "%.0f" : "%.9g", x);
    const char *point = foreign_point(), *at = point ? strstr(text, point) : NULL;
    if (at)
        fprintf(f, "%.*s.%s", (int)(at - text), text, at + strlen(point));
    else
        fputs(text, f);
}

#define PRINT_STR  print_text
#define PRINT_INT  print_integer
#define PRINT_REAL print_real

void row_print_header(FILE *f) {
    const char *comma = "";
#define COL(kind, type, name)         \
    fprintf(f, "%s%s", comma, #name); \
    comma = ",";
#include "columns.def"
#undef COL
    fputc('\n', f);
}

void row_print(FILE *f, const struct row *r) {
    const char *comma = "";
#define COL(kind, type, name) \
    fputs(comma, f);          \
    PRINT_##type(f, r->name); \
    comma = ",";
#include "columns.def"
#undef COL
    fputc('\n', f);
}

#define IF_KEY(statement) statement
#define IF_VAL(statement)

void row_print_key_header(FILE *f) {
    const char *comma = "";
#define COL(kind, type, name) IF_##kind(fprintf(f, "%s%s", comma, #name); comma = ",";)
#include "columns.def"
#undef COL
}

void row_print_key(FILE *f, const struct row *r) {
    const char *comma = "";
#define COL(kind, type, name) IF_##kind(fputs(comma, f); PRINT_##type(f, r->name); comma = ",";)
#include "columns.def"
#undef COL
}

void csv_print_text(FILE *f, const char *text) { print_text(f, text); }
void csv_print_real(FILE *f, double x) { print_real(f, x); }

/* ---- reading ---- */

int csv_split(char *line, char *field[], int max) {
    int count = 0;
    char *in = line;
    for (;;) {
        if (count == max) return -1;
        char *out = in;
        field[count++] = out;
        if (*in == '"') {
            for (in++; *in; in++) {
                if (*in == '"' && in[1] != '"') break;
                if (*in == '"') in++;
                *out++ = *in;
            }
            if (*in != '"') return -1;
            in++;
            if (*in != ',' && *in != '\0') return -1;
        } else {
            while (*in && *in != ',') *out++ = *in++;
        }
        const bool more = *in == ',';
        *out = '\0';
        if (!more) return count;
        in++;
    }
}

static int parse_text(char target[ROW_TEXT], const char *text) {
    row_set_text(target, text);
    return 0;
}

int parse_integer(int64_t *target, const char *text) {
    char *end;
    *target = -1;
    if (!*text) return 0;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (*end || errno) return -1;
    *target = value;
    return 0;
}

/* Decimals as rows have them, several times as fast as strtod and the same to the last bit: up to 15 digits and
 * powers of ten up to 22 are doubles, so that one division or multiplication rounds once (Clinger, "How to Read
 * Floating Point Numbers Accurately", PLDI 1990). False: something else, perhaps no number. */
static bool parse_short_decimal(double *target, const char *text) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int64_t digits = 0;
    int count = 0, exponent = 0;
    bool fraction = false;
    const bool negative = *text == '-';
    if (negative) text++;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !fraction); text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        if (++count > 15) return false;
        digits = 10 * digits + (*text - '0');
        exponent -= fraction;
    }
    if (count == 0) return false;
    if (*text == 'e' && text[1] != '\0') {
        const bool below_one = text[1] == '-';
        text += below_one || text[1] == '+' ? 2 : 1;
        int value = 0, length = 0;
        for (; *text >= '0' && *text <= '9' && length < 3; text++, length++)
            value = 10 * value + (*text - '0');
        if (length == 0) return false;
        exponent += below_one ? -value : value;
    }
    if (*text || exponent < -22 || exponent > 22) return false;
    const double whole = (double)(negative ? -digits : digits);
    if (digits == 0 && negative) return false; /* -0 */
    *target = exponent < 0 ? whole / power[-exponent] : whole * power[exponent];
    return true;
}

int parse_real(double *target, const char *text) {
    *target = NAN;
    if (!*text || parse_short_decimal(target, text)) return 0;
    char local[64], *end;
    const char *point = foreign_point(), *dot = strchr(text, '.');
    if (point && strstr(text, point)) return -1;
    if (point && dot) {
        const int length =
            snprintf(local, sizeof local, "%.*s%s%s", (int)(dot - text), text, point, dot + 1);
        if (length >= (int)sizeof local) return -1;
        text = local;
    }
    *target = strtod(text, &end);
    return *end ? -1 : 0;
}

#define PARSE_STR(r, name, text)  parse_text((r)->name, text)
#define PARSE_INT(r, name, text)  parse_integer(&(r)->name, text)
#define PARSE_REAL(r, name, text) parse_real(&(r)->name, text)

static int set_field(struct row *r, int column, const char *text) {
    switch (column) {
#define COL(kind, type, name) \
    case COLUMN_##name:       \
        return PARSE_##type(r, name, text);
#include "columns.def"
#undef COL
    default:
        return 0; /* a column of a newer version */
    }
}

int column_find(const char *name) {
    static const char *const names[] = {
#define COL(kind, type, name) #name,
#include "columns.def"
#undef COL
    };
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (strcmp(name, names[i]) == 0) return i;
    return -1;
}

/* The whole file as text, NUL-terminated; NULL after one line on stderr. */
static char *read_all(const char *path, size_t *size) {
    char *text = NULL;
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0) {
        fprintf(stderr, "roofline: cannot read '%s': %s\n", path, strerror(errno));
        goto done;
    }
    if (!S_ISREG(st.st_mode)) {
        fprintf(stderr, "roofline: '%s' is not a regular file\n", path);
        goto done;
    }
    text = malloc((size_t)st.st_size + 1);
    if (!text) {
        fprintf(stderr, "roofline: no memory to read '%s'\n", path);
        goto done;
    }
    *size = fread(text, 1, (size_t)st.st_size, f);
    text[*size] = '\0';
done:
    if (f) fclose(f);
    return text;
}

/* Ends the record at `line` and returns the start of the next; NULL when no newline ends it. Newlines within
 * quotes belong to the record. */
static char *end_record(char *line) {
    bool quoted = false;
    for (char *c = line; *c; c++) {
        if (*c == '"') quoted = !quoted;
        if (*c != '\n' || quoted) continue;
        *c = '\0';
        if (c > line && c[-1] == '\r') c[-1] = '\0';
        return c + 1;
    }
    return NULL;
}

/* A torn record is a line, or a few where its text had some; more is a quote that swallows what follows. */
enum { MOST_NEWLINES = 8 };

static int newlines(const char *text) {
    int count = 0;
    for (; *text && count <= MOST_NEWLINES; text++) count += *text == '\n';
    return count;
}

/* The first line of a file that another program has written anew: what is wrong with it, beyond "no columns". */
static const char *header_advice(const char *line) {
    return strchr(line, ';')
               ? "; it has semicolons for commas, as spreadsheets write where the comma is decimal"
           : strchr(line, '\t') ? "; it has tabs for commas"
                                : "";
}

int csv_read(const char *path, const struct csv_reader *reader, bool *torn) {
    size_t size = 0;
    char *text = read_all(path, &size);
    const int status = text ? csv_parse(text, size, path, reader, torn) : -1;
    free(text);
    return status;
}

int csv_parse(char *text, size_t size, const char *path, const struct csv_reader *reader,
              bool *torn) {
    int columns = 0;
    size_t line_number = 0;
    char *header[CSV_FIELDS], *field[CSV_FIELDS];
    const char *nul = memchr(text, '\0', size); /* a crashed machine leaves blocks of them */
    if (nul && memchr(nul, '\n', (size_t)(text + size - nul))) {
        fprintf(stderr, "roofline: '%s' is damaged: NUL bytes before its last line\n", path);
        return -1;
    }
    *torn = nul != NULL;

    char *line = text;
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3; /* byte order mark of a spreadsheet */
    while (*line) {
        char *next = end_record(line);
        line_number++;
        if (!next) {
            if (newlines(line) > MOST_NEWLINES) {
                fprintf(stderr, "roofline: '%s': a quote of line %zu is never closed\n", path,
                        line_number);
                return -1;
            }
            *torn = true;
            break;
        }
        if (line_number == 1) {
            const char *advice = header_advice(line);
            columns = csv_split(line, header, CSV_FIELDS);
            const int known = columns > 0 ? reader->header(header, columns, reader->context) : 0;
            if (known == 0)
                fprintf(stderr,
                        "roofline: '%s' is not a result file: its first line names no columns%s\n",
                        path, advice);
            if (known < 0)
                fprintf(stderr, "roofline: '%s' names a column twice: %s\n", path,
                        header[-known - 1]);
            if (known <= 0) return -1;
        } else if (*line) {
            const int fields = csv_split(line, field, CSV_FIELDS);
            if (fields != columns) {
                if (fields < 0)
                    fprintf(stderr,
                            "roofline: '%s' line %zu: its quotes do not match, or it has too many "
                            "fields\n",
                            path, line_number);
                else
                    fprintf(stderr,
                            "roofline: '%s' line %zu: %d fields where the header has %d%s\n", path,
                            line_number, fields, columns,
                            fields > columns ? "; decimal commas?" : "");
                return -1;
            }
            const int bad = reader->record(field, fields, reader->context);
            if (bad == CSV_NO_MEMORY)
                fprintf(stderr, "roofline: no memory for the rows of '%s'\n", path);
            else if (bad >= 0)
                fprintf(stderr, "roofline: '%s' line %zu: %s is not a number: '%.40s'%s\n", path,
                        line_number, header[bad], field[bad],
                        strchr(field[bad], ',') ? " (a decimal comma?)" : "");
            if (bad != CSV_FINE) return -1;
        }
        line = next;
    }
    return 0;
}

/* ---- rows ---- */

struct row_reader {
    struct rows *rows;
    size_t capacity;
    int column[CSV_FIELDS];
};

static int row_header(char *field[], int fields, void *context) {
    struct row_reader *reader = context;
    int known = 0;
    for (int i = 0; i < fields; i++) {
        const int c = reader->column[i] = column_find(field[i]);
        if (c < 0) continue;
        if (reader->rows->columns >> c & 1) return -(i + 1);
        reader->rows->columns |= UINT64_C(1) << c;
        known++;
    }
    return known < 3 ? 0 : known;
}

static int row_record(char *field[], int fields, void *context) {
    struct row_reader *reader = context;
    struct rows *rows = reader->rows;
    if (rows->count == reader->capacity) {
        reader->capacity = reader->capacity ? 2 * reader->capacity : 256;
        struct row *grown = realloc(rows->row, reader->capacity * sizeof *grown);
        if (!grown) return CSV_NO_MEMORY;
        rows->row = grown;
    }
    struct row *r = &rows->row[rows->count];
    row_init(r);
    for (int i = 0; i < fields; i++)
        if (set_field(r, reader->column[i], field[i])) return i;
    rows->count++;
    return CSV_FINE;
}

/* What was read of it where status is 0. */
static int rows_or_none(int status, struct rows *rows) {
    if (status == 0) return 0;
    free(rows->row);
    *rows = (struct rows){0};
    return status;
}

int rows_read(const char *path, struct rows *out, bool *torn) {
    struct row_reader reader = {.rows = out};
    const struct csv_reader csv = {row_header, row_record, &reader};
    *out = (struct rows){0};
    return rows_or_none(csv_read(path, &csv, torn), out);
}

int rows_parse(char *text, size_t size, const char *name, struct rows *out, bool *torn) {
    struct row_reader reader = {.rows = out};
    const struct csv_reader csv = {row_header, row_record, &reader};
    *out = (struct rows){0};
    return rows_or_none(csv_parse(text, size, name, &csv, torn), out);
}

void rows_keep_device(struct rows *rows, const char *device) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].device, device) == 0) rows->row[kept++] = rows->row[i];
    rows->count = kept;
}

/* ---- an append-only file ---- */

int row_file_open(struct append_file *f, const char *path) {
    char header[LINE_MAX_BYTES] = "";
    *f = (struct append_file){.fd = -1};
    FILE *text = fmemopen(header, LINE_MAX_BYTES, "w");
    if (text) row_print_header(text);
    if (!text || fclose(text) != 0) {
        fprintf(stderr, "roofline: cannot format a row: %s\n", strerror(errno));
        return -1;
    }
    return append_file_open(f, path, header, true);
}

int row_file_append(struct append_file *f, const struct row r[], int count) {
    char *lines = NULL;
    size_t length;
    int status = -1;
    FILE *text = open_memstream(&lines, &length);
    if (text) {
        for (int i = 0; i < count; i++) row_print(text, &r[i]);
        if (fclose(text) == 0) status = append_file_write(f, lines, length);
    } else {
        fprintf(stderr, "roofline: cannot format a row: %s\n", strerror(errno));
    }
    free(lines);
    return status;
}
