/* chart.c - data files, script variables and the gnuplot process. No shell is involved. */
#define _GNU_SOURCE
#include "chart.h"
#include "embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- data files ---- */

static void data_path(const struct chart_out *out, const char *name, char path[static 4096]) {
    snprintf(path, 4096, "%s/data/%s.csv", out->dir, name);
}

FILE *chart_data(const struct chart_out *out, const char *name, const char *header) {
    char path[4096];
    data_path(out, name, path);
    FILE *f = fopen(path, "w");
    if (!f)
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
    else
        fprintf(f, "%s\n", header);
    return f;
}

int chart_data_close(const struct chart_out *out, FILE *f, const char *name) {
    char path[4096];
    data_path(out, name, path);
    const bool bad = ferror(f);
    if (fclose(f) == 0 && !bad) return 0;
    fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
    return -1;
}

/* gnuplot ends a record at any newline, and a field at a quote within it, whatever quotes are around. */
void chart_csv_text(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text; text++) fputc((unsigned char)*text < ' ' ? ' ' : *text == '"' ? '\'' : *text, f);
    fputs("\",", f);
}

void chart_csv_number(FILE *f, double x) {
    char text[32] = "";
    if (isfinite(x)) snprintf(text, sizeof text, "%.9g", x);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.';
    fprintf(f, "%s,", text);
}

void chart_csv_end(FILE *f, int last) { fprintf(f, "%d\n", last); }

/* ---- variables ---- */

int chart_vars_open(struct chart_vars *v) {
    *v = (struct chart_vars){0};
    v->f = open_memstream(&v->text, &v->size);
    if (v->f) return 0;
    fprintf(stderr, "roofline: no memory for a chart\n");
    return -1;
}

/* A gnuplot string in single quotes knows one escape, the doubled quote; no line may break it. */
static void print_quoted(FILE *f, const char *name, const char *text) {
    fprintf(f, "%s = '", name);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', f);
        fputc(*text == '\n' ? ' ' : *text, f);
    }
    fputs("'\n", f);
}

void chart_set_text(struct chart_vars *v, const char *name, const char *format, ...) {
    char text[4352];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    /* gnuplot 5.4 takes a doubled quote for one neither at the start of a string nor behind another */
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    print_quoted(v->f, name, text);
    if (strcmp(name, "title_text") == 0) snprintf(v->title, sizeof v->title, "%.159s", text);
    if (strcmp(name, "subtitle_text") == 0)
        snprintf(v->subtitle, sizeof v->subtitle, "%.511s", text);
}

void chart_set_number(struct chart_vars *v, const char *name, double x) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", x);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.';
    fprintf(v->f, "%s = %s\n", name, isfinite(x) ? text : "NaN");
}

void chart_set_data(struct chart_vars *v, const struct chart_out *out, const char *name,
                    const char *file) {
    char path[4096];
    data_path(out, file, path);
    print_quoted(v->f, name, path);
}

/* ---- gnuplot ---- */

/* The environment with numbers printed and read with a point. */
static char **plain_locale(void) {
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **env = calloc(count + 2, sizeof *env);
    if (!env) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LC_", 3) != 0 && strncmp(environ[i], "LANG", 4) != 0)
            env[kept++] = environ[i];
    env[kept] = "LC_ALL=C";
    return env;
}

/* Runs gnuplot on script; its complaints go to log. Returns its exit status, -1 with errno when it cannot be started. */
static int run_gnuplot(FILE *script, FILE *log) {
    char *argv[] = {"gnuplot", NULL};
    char **env = plain_locale();
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0, error = ENOMEM;
    if (!env || posix_spawn_file_actions_init(&actions) != 0) goto done;
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(log), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(log), STDERR_FILENO);
    error = posix_spawnp(&child, "gnuplot", &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    if (error) goto done;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
done:
    free(env);
    errno = error;
    if (error) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The line of a log that says what was wrong: the last one with words that is no mere warning. */
static void last_words(FILE *log, char *words, size_t size) {
    char line[512];
    snprintf(words, size, "the picture is incomplete; is the disk full?");
    rewind(log);
    while (fgets(line, sizeof line, log)) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *text = line + strspn(line, " \t^");
        if (*text && (!strstr(text, "warning:") || strstr(text, "no column with header")))
            snprintf(words, size, "%s", text);
    }
}

/* gnuplot only warns of a column that a script asks for and the data lack. */
static bool lacks_column(FILE *log) {
    char line[512];
    rewind(log);
    while (fgets(line, sizeof line, log))
        if (strstr(line, "no column with header")) return true;
    return false;
}

/* gnuplot exits with 0 even where the disk filled up: the end of the picture has to be there. */
static bool is_complete(const char *path, const char *format) {
    char tail[65] = "";
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t length = 0;
    if (fseek(f, -64, SEEK_END) == 0) length = fread(tail, 1, 64, f);
    fclose(f);
    if (strcmp(format, "svg") == 0) return strstr(tail, "</svg>") != NULL;
    return length == 64 && memcmp(tail + length - 8, "IEND", 4) == 0;
}

static void draw(struct chart_out *out, const char *vars, const char *script, const char *name,
                 const char *format) {
    char path[4096], partial[4160], words[512];
    snprintf(path, sizeof path, "%s/%s.%s", out->dir, name, format);
    snprintf(partial, sizeof partial, "%s.partial", path);
    FILE *f = tmpfile(), *log = tmpfile();
    if (!f || !log) {
        fprintf(stderr, "roofline: cannot make a temporary file: %s\n", strerror(errno));
        out->failed = true;
        goto done;
    }
    char source[64];
    snprintf(source, sizeof source, "%s.gp", script);
    print_quoted(f, "format", format);
    print_quoted(f, "output_file", partial);
    fprintf(f, "compact = %d\n", out->compact);
    fprintf(f, "%s%s%s\nunset output\n", vars, embedded_file("style.gp"), embedded_file(source));
    if (fflush(f) != 0 || fseek(f, 0, SEEK_SET) != 0) {
        fprintf(stderr, "roofline: cannot write a temporary file: %s\n", strerror(errno));
        out->failed = true;
        goto done;
    }
    const int status = run_gnuplot(f, log);
    if (status < 0 && (errno == ENOENT || errno == EACCES)) {
        out->no_gnuplot = true;
        if (!out->quiet)
            fprintf(stderr, "roofline: no gnuplot here, so no charts; their data are in %s/data\n",
                    out->dir);
    } else if (status != 0 || lacks_column(log) || !is_complete(partial, format)) {
        out->failed = true;
        last_words(log, words, sizeof words);
        fprintf(stderr, "roofline: gnuplot could not draw %s: %s\n", path, words);
        unlink(partial);
    } else if (rename(partial, path) != 0) {
        out->failed = true;
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
    } else {
        if (!out->quiet) printf("%s\n", path);
        out->made++;
    }
done:
    if (f) fclose(f);
    if (log) fclose(log);
}

void chart_draw(struct chart_out *out, struct chart_vars *v, const char *script, const char *name) {
    const int before = out->made;
    if (fclose(v->f) != 0) out->failed = true;
    if (out->png && !out->no_gnuplot) draw(out, v->text, script, name, "png");
    if (out->svg && !out->no_gnuplot) draw(out, v->text, script, name, "svg");
    if (out->on_chart && out->made > before)
        out->on_chart(out->context, name, v->title, v->subtitle);
    free(v->text);
}

double chart_height(const struct chart_out *out, double pixels) {
    return fmax(pixels, 300) - (out->compact ? 64 : 0);
}

/* ---- words ---- */

void chart_subtitle(const struct chart_run *run, int64_t threads, char *text, size_t size) {
    char count[32] = "";
    if (threads > 0)
        snprintf(count, sizeof count, ", %" PRId64 " thread%s", threads, threads == 1 ? "" : "s");
    snprintf(text, size, "%s%s%s%s%s%s", run->device, count, *run->when ? ", " : "", run->when,
             *run->commit ? ", " : "", run->commit);
}

static void extent_text(int64_t x, char text[24]) {
    if (x >= 4096 && (x & (x - 1)) == 0)
        snprintf(text, 24, "2^%d", __builtin_ctzll((unsigned long long)x));
    else
        snprintf(text, 24, "%" PRId64, x);
}

void chart_shape_text(const struct row *r, char *text, size_t size) {
    const int64_t extent[] = {r->b, r->m, r->n, r->k};
    size_t used = 0;
    snprintf(text, size, "1");
    if (r->b == 1 && r->m > 1 && r->m == r->n && (r->k == r->n || r->k == 1)) {
        snprintf(text, size, "%" PRId64 "^%d", r->n, r->k == 1 ? 2 : 3);
        used = strlen(text);
    } else {
        for (int i = 0; i < 4; i++) {
            char one[24];
            if (extent[i] <= 1) continue;
            extent_text(extent[i], one);
            used += (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%s",
                                     used ? "x" : "", one);
        }
    }
    if (*r->layout && strcmp(r->layout, "flat") != 0 && used < size)
        snprintf(text + used, size - used, " %s", r->layout);
}

bool chart_shows(const struct chart_run *run, const struct row *r, const char *dtype) {
    return strcmp(r->status, "ok") == 0 && r->threads == run->threads &&
           strcmp(r->dtype, dtype) == 0 && strcmp(r->device, run->device) == 0 && r->time_s > 0 &&
           (r->flops == 0 || r->gflop_s > 0) && r->bytes > 0;
}

double chart_roof(const struct chart_run *run, const struct row *r) {
    if (r->roof_fraction > 0) return (r->flops == 0 ? r->gbyte_s : r->gflop_s) / r->roof_fraction;
    const struct ceiling *memory =
        ceilings_bandwidth(&run->roofs, r->level, r->threads, r->placement);
    const int dtype = dtype_find(r->dtype);
    const struct ceiling *compute =
        dtype < 0 ? NULL : ceilings_compute_for(&run->roofs, (enum dtype)dtype, r->threads);
    /* Of caches each thread has its own or the same; what it gets of DRAM depends on the placement. */
    if (!memory && strcmp(r->level, "DRAM") != 0)
        memory = ceilings_bandwidth(&run->roofs, r->level, r->threads, NULL);
    if (r->flops == 0) return memory ? memory->rate : NAN;
    if (memory && compute) return fmin(memory->rate * r->ai, compute->rate);
    /* Between two levels the bandwidth is unknown; where even DRAM would keep up, it does not matter. */
    const struct ceiling *dram = ceilings_bandwidth(&run->roofs, "DRAM", r->threads, NULL);
    return compute && dram && dram->rate * r->ai >= compute->rate ? compute->rate : NAN;
}
