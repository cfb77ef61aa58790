/* row.c - columns.def as a CSV writer, a CSV reader and a comparison. */
#define _GNU_SOURCE
#include "row.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 8192, MAX_FIELDS = 512 };

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

static int parse_integer(int64_t *target, const char *text) {
    char *end;
    *target = -1;
    if (!*text) return 0;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (*end || errno) return -1;
    *target = value;
    return 0;
}

static int parse_real(double *target, const char *text) {
    char local[64], *end;
    const char *point = foreign_point(), *dot = strchr(text, '.');
    *target = NAN;
    if (!*text) return 0;
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

static int set_field(struct row *r, const char *column, const char *text) {
#define COL(kind, type, name) \
    if (strcmp(column, #name) == 0) return PARSE_##type(r, name, text);
#include "columns.def"
#undef COL
    return 0; /* a column of a newer version */
}

static bool is_column(const char *name) {
#define COL(kind, type, column) \
    if (strcmp(name, #column) == 0) return true;
#include "columns.def"
#undef COL
    return false;
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

int rows_read(const char *path, struct rows *out, bool *torn) {
    int status = -1, columns = 0, known = 0;
    size_t size = 0, capacity = 0, line_number = 0;
    char *header[MAX_FIELDS], *field[MAX_FIELDS];
    *out = (struct rows){0};
    *torn = false;
    char *text = read_all(path, &size);
    if (!text) return -1;
    const char *nul = memchr(text, '\0', size); /* a crashed machine leaves blocks of them */
    if (nul && memchr(nul, '\n', (size_t)(text + size - nul))) {
        fprintf(stderr, "roofline: '%s' is damaged: NUL bytes before its last line\n", path);
        goto done;
    }
    *torn = nul != NULL;

    char *line = text;
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3; /* byte order mark of a spreadsheet */
    while (*line) {
        char *next = end_record(line);
        line_number++;
        if (!next) {
            *torn = true;
            break;
        }
        if (line_number == 1) {
            columns = csv_split(line, header, MAX_FIELDS);
            for (int i = 0; i < columns; i++) known += is_column(header[i]);
        } else if (*line) {
            const int fields = csv_split(line, field, MAX_FIELDS);
            if (fields != columns) {
                fprintf(stderr, "roofline: '%s' line %zu: %d fields where the header has %d\n",
                        path, line_number, fields, columns);
                goto done;
            }
            if (out->count == capacity) {
                capacity = capacity ? 2 * capacity : 256;
                struct row *grown = realloc(out->row, capacity * sizeof *grown);
                if (!grown) {
                    fprintf(stderr, "roofline: no memory for the rows of '%s'\n", path);
                    goto done;
                }
                out->row = grown;
            }
            struct row *r = &out->row[out->count];
            row_init(r);
            for (int i = 0; i < fields; i++) {
                if (set_field(r, header[i], field[i]) == 0) continue;
                fprintf(stderr, "roofline: '%s' line %zu: %s is not a number: '%.40s'\n", path,
                        line_number, header[i], field[i]);
                goto done;
            }
            out->count++;
        }
        if (line_number == 1 && (columns < 0 || known < 3)) break;
        line = next;
    }
    if (size > 0 && (columns <= 0 || known < 3) && !(*torn && line_number == 1)) {
        fprintf(stderr, "roofline: '%s' is not a result file: its first line names no columns\n",
                path);
        goto done;
    }
    status = 0;
done:
    if (status) {
        free(out->row);
        *out = (struct rows){0};
    }
    free(text);
    return status;
}

void rows_keep_device(struct rows *rows, const char *device) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].device, device) == 0) rows->row[kept++] = rows->row[i];
    rows->count = kept;
}

/* ---- an append-only file ---- */

/* The row, or the header for NULL, as it stands in a file. Returns its length; 0 after one line on stderr. */
static size_t print_line(char line[LINE_MAX_BYTES], const struct row *r) {
    FILE *text = fmemopen(line, LINE_MAX_BYTES, "w");
    if (!text) {
        fprintf(stderr, "roofline: cannot format a row: %s\n", strerror(errno));
        return 0;
    }
    if (r)
        row_print(text, r);
    else
        row_print_header(text);
    const long length = ftell(text);
    fclose(text);
    return (size_t)length;
}

/* All of it or nothing: what a full disk cuts short is taken back. */
static int append(struct row_file *f, const char *text, size_t length) {
    const off_t before = lseek(f->fd, 0, SEEK_END);
    size_t written = 0;
    while (before >= 0 && written < length) {
        const ssize_t n = write(f->fd, text + written, length - written);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        written += (size_t)n;
    }
    if (written == length && fdatasync(f->fd) == 0) return 0;
    if (written == length && errno == EINVAL) return 0; /* a file system without sync */
    fprintf(stderr, "roofline: cannot write '%s': %s\n", f->path, strerror(errno));
    if (before >= 0 && written > 0 && ftruncate(f->fd, before) != 0)
        fprintf(stderr, "roofline: '%s' may end in a torn line\n", f->path);
    return -1;
}

static int append_printed(struct row_file *f, const struct row *r) {
    char line[LINE_MAX_BYTES];
    const size_t length = print_line(line, r);
    return length ? append(f, line, length) : -1;
}

/* Where the last whole record ends; newlines within quotes do not end one. */
static off_t end_of_records(int fd) {
    char buffer[65536];
    off_t at = 0, end = 0;
    bool quoted = false;
    ssize_t n;
    while ((n = pread(fd, buffer, sizeof buffer, at)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (buffer[i] == '"') quoted = !quoted;
            if (buffer[i] == '\n' && !quoted) end = at + i + 1;
        }
        at += n;
    }
    return n < 0 ? -1 : end;
}

/* Whether the file starts with the header that this program writes, or ends within it. */
static bool has_our_header(int fd) {
    char header[LINE_MAX_BYTES], found[LINE_MAX_BYTES];
    const size_t length = print_line(header, NULL);
    const ssize_t n = pread(fd, found, length + 1, 0);
    if (length == 0 || n < 0) return false;
    if (n > (ssize_t)length && found[length - 1] == '\r' && found[length] == '\n')
        found[length - 1] = '\n';
    return memcmp(header, found, (size_t)n < length ? (size_t)n : length) == 0;
}

int row_file_open(struct row_file *f, const char *path) {
    *f = (struct row_file){.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644),
                           .path = strdup(path)};
    if (f->fd < 0 || !f->path) {
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
        goto failed;
    }
    if (flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fprintf(stderr, "roofline: '%s' is being written by another run\n", path);
        goto failed;
    }
    struct stat st;
    if (fstat(f->fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        fprintf(stderr, "roofline: '%s' is not a regular file\n", path);
        goto failed;
    }
    const off_t whole = end_of_records(f->fd);
    if (whole < 0 || fstat(f->fd, &st) != 0) {
        fprintf(stderr, "roofline: cannot read '%s': %s\n", path, strerror(errno));
        goto failed;
    }
    if (!has_our_header(f->fd)) {
        fprintf(stderr,
                "roofline: '%s' has other columns than this version writes; start a new one\n",
                path);
        goto failed;
    }
    if (st.st_size - whole > LINE_MAX_BYTES) {
        fprintf(stderr, "roofline: '%s' is damaged: more than a torn line after byte %lld\n", path,
                (long long)whole);
        goto failed;
    }
    if (whole < st.st_size && ftruncate(f->fd, whole) != 0) {
        fprintf(stderr, "roofline: cannot cut the torn last line of '%s': %s\n", path,
                strerror(errno));
        goto failed;
    }
    if (whole == 0 && append_printed(f, NULL) != 0) goto failed;
    return 0;
failed:
    row_file_close(f);
    return -1;
}

int row_file_append(struct row_file *f, const struct row *r) { return append_printed(f, r); }

void row_file_close(struct row_file *f) {
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    *f = (struct row_file){.fd = -1};
}
