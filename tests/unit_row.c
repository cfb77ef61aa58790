/* unit_row.c - the CSV: round trips, foreign and damaged files, a full disk, two writers. */
#define _GNU_SOURCE
#include "../harness/rounds.h"
#include "../harness/row.h"
#include "test.h"

#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 256 };

static void write_file(const char *path, const char *text, size_t size) {
    FILE *f = fopen(path, "wb");
    const bool ok = f && fwrite(text, 1, size, f) == size && fclose(f) == 0;
    if (!ok) {
        perror(path);
        exit(1);
    }
}

static long size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

/* Each field gets a value of its own. */
static struct row sample_row(int seed) {
    struct row r;
    int column = 0;
    row_init(&r);
#define SET_STR(field)        snprintf(field, ROW_TEXT, "%s %d", #field, seed + column++)
#define SET_INT(field)        field = (int64_t)seed * 1000 + column++
#define SET_REAL(field)       field = (seed + column++) * 1.25e-7
#define COL(kind, type, name) SET_##type(r.name);
#include "../harness/columns.def"
#undef COL
    return r;
}

static bool real_equal(double x, double y) {
    return (isnan(x) && isnan(y)) || x == y || fabs(x - y) <= 1e-8 * fabs(y);
}

#define CHECK_STR(x, y, name) CHECK(strcmp(x, y) == 0, "%s: '%s', wrote '%s'", name, x, y)
#define CHECK_INT(x, y, name) \
    CHECK((x) == (y), "%s: %lld, wrote %lld", name, (long long)(x), (long long)(y))
#define CHECK_REAL(x, y, name) CHECK(real_equal(x, y), "%s: %.17g, wrote %.17g", name, x, y)

static void check_equal(const struct row *got, const struct row *wrote) {
#define COL(kind, type, name) CHECK_##type(got->name, wrote->name, #name);
#include "../harness/columns.def"
#undef COL
}

static void write_rows(const char *path, const struct row *row, int count) {
    struct append_file f;
    unlink(path);
    CHECK(row_file_open(&f, path) == 0, "%s", path);
    for (int i = 0; i < count; i++) CHECK(row_file_append(&f, &row[i], 1) == 0, "row %d", i);
    append_file_close(&f);
}

/* ---- round trips ---- */

static void test_round_trip(const char *path) {
    struct row wrote[4] = {sample_row(0), sample_row(7), sample_row(8), sample_row(9)};
    struct rows got;
    bool torn;
    row_init(&wrote[1]); /* nothing known */
    row_set_text(wrote[2].reason, "quotes \" and \"\", commas, and\na line break\r\n");
    row_set_text(wrote[2].impl, "\"");
    row_set_text(wrote[2].device, ",");
    wrote[3].flops = 8796093022208.0; /* counts keep every digit */
    wrote[3].bytes = 2415919104.0;
    wrote[3].time_s = 1.0 / 3;
    wrote[3].power_w = INFINITY; /* not a measurement */
    write_rows(path, wrote, 4);
    wrote[3].power_w = NAN;

    CHECK(rows_read(path, &got, &torn) == 0 && !torn, "%s", path);
    if (!CHECK(got.count == 4, "%zu rows", got.count)) return;
    for (int i = 0; i < 4; i++) check_equal(&got.row[i], &wrote[i]);
    CHECK(got.row[3].flops == 8796093022208.0, "%.17g", got.row[3].flops);
    CHECK(got.row[3].bytes == 2415919104.0, "%.17g", got.row[3].bytes);
    CHECK(isnan(got.row[1].time_s) && got.row[1].m == -1 && got.row[1].op[0] == '\0', "unknown");
    free(got.row);
}

static void test_long_text(void) {
    struct row r;
    char text[2 * ROW_TEXT];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    row_init(&r);
    row_set_text(r.reason, text);
    CHECK(strlen(r.reason) == ROW_TEXT - 1, "%zu", strlen(r.reason));
}

static void test_key(void) {
    const struct row a = sample_row(3);
    struct row b = a;
    b.time_s = 1, b.status[0] = 'X';
    CHECK(row_same_key(&a, &b), "values do not matter");
    b.k++;
    CHECK(!row_same_key(&a, &b), "k matters");
    b = a, row_set_text(b.cache, "other");
    CHECK(!row_same_key(&a, &b), "cache matters");
}

/* ---- files that others wrote ---- */

static void test_foreign(const char *path) {
    struct rows got;
    bool torn;
    static const char *const same_table[] = {
        "n,op,dtype,impl,time_s\n7,copy,fp32,a b,1.5e-3\n8,add,fp64,,\n", /* reordered */
        "n,op,new_column,dtype,impl,time_s\n7,copy,\"x,y\",fp32,a b,0.0015\n8,add,1,fp64,,\n", /* and one more */
        "n,op,dtype,impl,time_s\r\n7,copy,fp32,a b,1.5e-3\r\n8,add,fp64,,\r\n", /* CRLF */
        "\xef\xbb\xbfn,op,dtype,impl,time_s\n7,copy,fp32,a b,1.5e-3\n8,add,fp64,,\n", /* byte order mark */
        "n,op,dtype,impl,time_s\n\n7,copy,fp32,a b,1.5e-3\n\n8,add,fp64,,\n\n", /* empty lines */
        "\"n\",\"op\",dtype,impl,time_s\n\"7\",copy,fp32,\"a b\",\"1.5e-3\"\n8,add,fp64,\"\",\n",
    };
    for (size_t i = 0; i < sizeof same_table / sizeof same_table[0]; i++) {
        write_file(path, same_table[i], strlen(same_table[i]));
        CHECK(rows_read(path, &got, &torn) == 0 && !torn, "file %zu", i);
        if (!CHECK(got.count == 2, "file %zu: %zu rows", i, got.count)) continue;
        CHECK(got.row[0].n == 7 && got.row[1].n == 8, "file %zu: %lld", i, (long long)got.row[0].n);
        CHECK(strcmp(got.row[0].op, "copy") == 0 && strcmp(got.row[0].impl, "a b") == 0, "file %zu",
              i);
        CHECK(got.row[0].time_s == 1.5e-3 && isnan(got.row[1].time_s), "file %zu: %.9g", i,
              got.row[0].time_s);
        CHECK(strcmp(got.row[1].dtype, "fp64") == 0 && got.row[1].m == -1,
              "file %zu: missing columns", i);
        free(got.row);
    }
}

/* rows_read() fails with exactly one line on stderr, which holds `words`. */
static void check_refused(const char *path, const char *text, size_t size, const char *words) {
    char log_path[PATH_BYTES + 8], log[1024] = "";
    struct rows got;
    bool torn;
    write_file(path, text, size);
    snprintf(log_path, sizeof log_path, "%s.log", path);
    const int kept = dup(STDERR_FILENO);
    if (!freopen(log_path, "w", stderr)) exit(1);
    const int status = rows_read(path, &got, &torn);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    FILE *f = fopen(log_path, "r");
    const size_t length = f ? fread(log, 1, sizeof log - 1, f) : 0;
    if (f) fclose(f);
    CHECK(status == -1 && got.row == NULL && got.count == 0, "status %d for '%.60s'", status, text);
    CHECK(length > 0 && strchr(log, '\n') == log + length - 1, "not one line: '%s'", log);
    CHECK(strstr(log, words) != NULL, "'%s' is not in '%s'", words, log);
}

#define REFUSED(path, text, words) check_refused(path, text, sizeof(text) - 1, words)

static void test_damaged(const char *path) {
    struct rows got;
    bool torn;
    REFUSED(path, "n,op,dtype,time_s\n7,copy,fp32,1,5\n", "5 fields where the header has 4");
    REFUSED(path, "n,op,dtype,time_s\n7,copy,fp32,\"1,5\"\n", "time_s is not a number: '1,5'");
    REFUSED(path, "n;op;dtype;time_s\n7;copy;fp32;1,5\n", "names no columns");
    REFUSED(path, "n,op,dtype,time_s\n7.5,copy,fp32,1\n", "n is not a number");
    REFUSED(path, "n,op,dtype,time_s\n99999999999999999999,copy,fp32,1\n", "n is not a number");
    REFUSED(path, "n,op,dtype,time_s\n7,copy,fp32\n", "3 fields");
    REFUSED(path, "hello\nworld\n", "names no columns");
    REFUSED(path, "\xef\n", "names no columns");
    REFUSED(path, "n,op,dtype,time_s\n7,co\0py,fp32,1\n8,copy,fp32,1\n", "damaged");
    REFUSED(path, "n,op,dtype,time_s\n7,\"copy\"x,fp32,1\n", "quotes do not match");
    CHECK(rows_read("/nonexistent/x.csv", &got, &torn) == -1, "a file that is not there");
    CHECK(rows_read("/", &got, &torn) == -1, "a directory");

    write_file(path, "", 0);
    CHECK(rows_read(path, &got, &torn) == 0 && got.count == 0 && !torn, "an empty file");

    static const char *const ends[] = {"8,copy,fp32,2", "8,copy", "8,\"a\nb", "8", "8,co\0\0\0"};
    static const size_t lengths[] = {13, 6, 6, 1, 7};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char text[200] = "n,op,dtype,time_s\n7,copy,fp32,1\n";
        const size_t whole = strlen(text);
        memcpy(text + whole, ends[i], lengths[i]);
        write_file(path, text, whole + lengths[i]);
        CHECK(rows_read(path, &got, &torn) == 0 && torn, "end %zu: torn %d", i, torn);
        CHECK(got.count == 1 && got.row[0].n == 7, "end %zu: %zu rows", i, got.count);
        free(got.row);
    }
}

/* A kill can end the file at any byte: reading gives the whole rows, appending goes on after them. */
static void test_every_cut(const char *path) {
    struct row wrote[2] = {sample_row(1), sample_row(2)};
    char text[8192];
    row_set_text(wrote[1].reason, "a, \"b\"\nc");
    write_rows(path, wrote, 2);
    FILE *f = fopen(path, "rb");
    const size_t size = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    const size_t header = (size_t)(strchr(text, '\n') - text) + 1;
    const size_t first = (size_t)(strchr(text + header, '\n') - text) + 1;
    for (size_t cut = 0; cut < size; cut++) {
        const size_t expected = (cut >= first) + 1u;
        struct append_file file;
        struct rows got;
        bool torn;
        write_file(path, text, cut);
        CHECK(rows_read(path, &got, &torn) == 0 && got.count == expected - 1,
              "cut at %zu: %zu rows", cut, got.count);
        CHECK(torn == (cut != 0 && cut != header && cut != first), "cut at %zu: torn %d", cut,
              torn);
        free(got.row);
        CHECK(row_file_open(&file, path) == 0, "cut at %zu", cut);
        CHECK(row_file_append(&file, &wrote[1], 1) == 0, "cut at %zu", cut);
        append_file_close(&file);
        CHECK(rows_read(path, &got, &torn) == 0 && !torn, "cut at %zu", cut);
        if (CHECK(got.count == expected, "cut at %zu: %zu rows", cut, got.count))
            check_equal(&got.row[expected - 1], &wrote[1]);
        free(got.row);
    }
}

/* ---- writers ---- */

static void test_refused_to_write(const char *path) {
    struct append_file f, second;
    unlink(path);
    CHECK(row_file_open(&f, path) == 0, "%s", path);
    CHECK(row_file_open(&second, path) == -1, "a second writer");
    append_file_close(&f);
    CHECK(row_file_open(&f, path) == 0, "after the first has closed");
    append_file_close(&f);

    static const char others[] = "op,n,dtype,time_s\ncopy,7,fp32,1\n";
    write_file(path, others, sizeof others - 1);
    CHECK(row_file_open(&f, path) == -1, "other columns");
    CHECK(size_of(path) == (long)sizeof others - 1, "left as it was: %ld", size_of(path));
    write_file(path, "my notes", 8);
    CHECK(row_file_open(&f, path) == -1 && size_of(path) == 8, "not a result file: %ld bytes",
          size_of(path));
    CHECK(row_file_open(&f, "/nonexistent/x.csv") == -1, "no folder");
    CHECK(row_file_open(&f, "/") == -1, "a directory");
    CHECK(row_file_open(&f, "/dev/null") == -1, "a device");
}

/* The limit on file size acts like a disk that fills up in the middle of a line. */
static void test_full_disk(const char *path) {
    const struct row r = sample_row(5);
    struct rlimit kept, limit;
    struct append_file f;
    struct rows got;
    bool torn;
    write_rows(path, &r, 1);
    const long size = size_of(path);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &kept);
    limit = kept;
    CHECK(row_file_open(&f, path) == 0, "%s", path);
    for (int spare = 0; spare < 400; spare += 57) {
        limit.rlim_cur = (rlim_t)(size + spare);
        setrlimit(RLIMIT_FSIZE, &limit);
        CHECK(row_file_append(&f, &r, 1) == -1, "%d bytes left", spare);
        CHECK(size_of(path) == size, "%d bytes left: %ld, before %ld", spare, size_of(path), size);
    }
    setrlimit(RLIMIT_FSIZE, &kept);
    CHECK(row_file_append(&f, &r, 1) == 0, "there is room again");
    append_file_close(&f);
    CHECK(rows_read(path, &got, &torn) == 0 && got.count == 2 && !torn, "%zu rows", got.count);
    free(got.row);
}

static void test_many(const char *path) {
    enum { ROWS = 100000 };
    struct row r = sample_row(6);
    struct rows got;
    bool torn;
    FILE *f = fopen(path, "w");
    if (!CHECK(f != NULL, "%s", path)) return;
    row_print_header(f);
    for (int i = 0; i < ROWS; i++) {
        r.m = i;
        row_print(f, &r);
    }
    fclose(f);
    CHECK(rows_read(path, &got, &torn) == 0 && !torn, "%s", path);
    if (CHECK(got.count == ROWS, "%zu rows", got.count))
        for (int i = 0; i < ROWS; i += 999) {
            r.m = i;
            check_equal(&got.row[i], &r);
        }
    free(got.row);
}

/* The same file in a locale that writes 1,5; skipped where none is installed. */
static void test_decimal_comma(const char *path) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "de_DE",       "de_DE@euro",
                                        "fr_FR.UTF-8", "fr_FR.utf8",  "fr_FR",       "es_ES.UTF-8",
                                        "it_IT.UTF-8", "pt_BR.UTF-8", "pl_PL.UTF-8", "ru_RU.UTF-8"};
    struct row r = sample_row(5);
    struct rows got;
    bool torn;
    size_t i = 0;
    const size_t count = sizeof names / sizeof *names;
    while (i < count && !setlocale(LC_ALL, names[i])) i++;
    if (i == count || strcmp(localeconv()->decimal_point, ",") != 0) {
        puts("skipped: no locale with decimal commas is installed");
        setlocale(LC_ALL, "C");
        return;
    }
    test_round_trip(path);
    test_foreign(path);
    test_damaged(path);

    /* byte for byte what another locale writes, and read there */
    static char here[65536], plain[65536];
    for (int pass = 0; pass < 2; pass++) {
        FILE *f = fmemopen(pass ? plain : here, sizeof plain, "w");
        if (!CHECK(f != NULL, "fmemopen")) break;
        row_print_header(f);
        row_print(f, &r);
        fclose(f);
        setlocale(LC_ALL, pass ? names[i] : "C");
    }
    CHECK(strcmp(here, plain) == 0, "'%s' where C writes '%s'", here, plain);
    write_file(path, plain, strlen(plain));
    CHECK(rows_read(path, &got, &torn) == 0 && got.count == 1, "%zu rows", got.count);
    if (got.count == 1) check_equal(&got.row[0], &r);
    free(got.row);
    static const char comma[] = "op,dtype,impl,time_s\ncopy,fp32,a,\"1,5\"\n";
    write_file(path, comma, strlen(comma));
    CHECK(rows_read(path, &got, &torn) != 0, "'1,5' is no number of a result file");
    free(got.row);
    setlocale(LC_ALL, "C");
}

/* A row of the trial `n`. */
static struct row timed_row(int64_t n, int64_t round, const char *status, const char *placement,
                            double time_s) {
    struct row r;
    row_init(&r);
    row_set_text(r.op, "copy");
    row_set_text(r.status, status);
    row_set_text(r.placement, placement);
    r.n = n;
    r.round = round;
    r.time_s = time_s;
    return r;
}

static void test_rounds(void) {
    struct row row[] = {
        timed_row(1, 1, "ok", "near", 3),    timed_row(2, 1, "ok", "", 5),
        timed_row(1, 2, "ok", "far", 9),     timed_row(1, 3, "ok", "near", 1),
        timed_row(1, 4, "wrong", "", NAN),   timed_row(1, 5, "ok", "near", 2),
        timed_row(3, 1, "refused", "", NAN), timed_row(3, 2, "refused", "", NAN),
        timed_row(2, 1, "ok", "", 6), /* no round of its own: two files put together */
        timed_row(4, 2, "ok", "", 8),        timed_row(4, 1, "ok", "", 7),
    };
    struct rows rows = {.row = row, .count = sizeof row / sizeof *row};
    static const double want[] = {5, NAN, 2, NAN, 6, 7};
    const size_t count = sizeof want / sizeof *want;
    CHECK(rounds_fold(&rows) == 0, "folds");
    CHECK(rows.count == count, "%zu rows stay", rows.count);
    for (size_t i = 0; i < count && i < rows.count; i++)
        CHECK(row[i].time_s == want[i] || (isnan(row[i].time_s) && isnan(want[i])),
              "row %zu: %g, not %g", i, row[i].time_s, want[i]);
    CHECK(strcmp(row[1].status, "wrong") == 0, "a round that failed stays: %s", row[1].status);
    for (size_t i = 0; i < rows.count; i++)
        CHECK(row[i].round == 1, "row %zu: round %lld", i, (long long)row[i].round);
    rows.count = 0;
    CHECK(rounds_fold(&rows) == 0 && rows.count == 0, "no rows");
}

static bool same_bits(double x, double y) {
    uint64_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return a == b;
}

/* Numbers as rows have them, and others: each the double that strtod makes of it, or refused as by it. */
static void test_numbers(void) {
    static const char *const edges[] = {"0",
                                        "-0",
                                        "0.0",
                                        "1",
                                        "-1.5",
                                        ".5",
                                        "5.",
                                        "1e22",
                                        "1e23",
                                        "1e-22",
                                        "1e-23",
                                        "1e+05",
                                        "1e5",
                                        "9e15",
                                        "123456789012345",
                                        "1234567890123456",
                                        "0.1e-21",
                                        "4.9e-324",
                                        "1e999",
                                        "inf",
                                        "nan",
                                        "1e",
                                        "1e+",
                                        "-",
                                        ".",
                                        "1.2.3",
                                        "1 ",
                                        "0x10",
                                        "1,5",
                                        "--1",
                                        "1e0001",
                                        "1e-0005",
                                        "12345678901234.5e8"};
    enum { EDGES = sizeof edges / sizeof *edges };
    uint64_t state = 1;
    for (int i = 0; i < EDGES + 20000; i++) {
        char text[64], *end;
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double x = ldexp((double)(int64_t)state, (int)(state >> 20 & 127) - 126);
        snprintf(text, sizeof text, "%.*g", (int[]){9, 15, 16, 17}[state >> 60 & 3], x);
        if (i < EDGES) snprintf(text, sizeof text, "%s", edges[i]);
        const double want = strtod(text, &end);
        double got = 0;
        const int status = parse_real(&got, text);
        CHECK((status == 0) == (*end == '\0'), "'%s': status %d", text, status);
        if (status == 0) CHECK(same_bits(got, want), "'%s' is %.17g, not %.17g", text, got, want);
    }
}

int main(void) {
    char folder[] = "/tmp/roofline-unit-row-XXXXXX", path[PATH_BYTES], log_path[PATH_BYTES + 8];
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    snprintf(log_path, sizeof log_path, "%s.log", path);
    test_numbers();
    test_round_trip(path);
    test_long_text();
    test_key();
    test_rounds();
    test_foreign(path);
    test_damaged(path);
    test_every_cut(path);
    test_refused_to_write(path);
    test_full_disk(path);
    test_many(path);
    test_decimal_comma(path);
    unlink(path);
    unlink(log_path);
    rmdir(folder);
    return test_result();
}
