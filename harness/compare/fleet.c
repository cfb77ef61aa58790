/* fleet.c - each row against the middle of the fleet at that row; what a device is, is the mean over its rows. */
#define _GNU_SOURCE
#include "fleet.h"

#include "../commands.h"
#include "../device.h"
#include "../run.h"
#include "effect.h"
#include "environment.h"
#include "subject.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *no_less(void *p) {
    if (p) return p;
    perror("roofline");
    abort();
}

/* ---- reading ---- */

static int by_name(const void *a, const void *b) {
    return strverscmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

/* What a rank wrote of its machine; "" without. */
static void read_host(const char *folder, char host[64]) {
    char *path = path_join(folder, "host");
    FILE *f = fopen(path, "r");
    if (!f || !fgets(host, 64, f)) host[0] = '\0';
    host[strcspn(host, "\r\n")] = '\0';
    if (f) fclose(f);
    free(path);
}

static void read_member(struct fleet *f, const char *name, const char *folder, const char *path) {
    struct member *m;
    struct environment e;
    bool torn;
    f->member = no_less(realloc(f->member, ((size_t)f->count + 1) * sizeof *f->member));
    m = &f->member[f->count];
    *m = (struct member){.rows = {0}};
    if (rows_read(path, &m->rows, &torn)) return;
    if (environment_read(path, &e) == 0) {
        snprintf(m->gpu, sizeof m->gpu, "%.95s", environment_fact(&e, "machine.gpu_uuid"));
    }
    environment_release(&e);
    read_host(folder, m->host);
    snprintf(m->name, sizeof m->name, "%.63s", name);
    f->count++;
}

int fleet_read(const char *dir, const char *file, struct fleet *out) {
    DIR *d = opendir(dir);
    *out = (struct fleet){0};
    if (!d) {
        fprintf(stderr, "roofline: cannot read '%s': %s\n", dir, strerror(errno));
        return -1;
    }
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        char *folder = path_join(dir, e->d_name), *path = path_join(folder, file);
        if (access(path, F_OK) == 0) read_member(out, e->d_name, folder, path);
        free(folder);
        free(path);
    }
    closedir(d);
    if (out->count) qsort(out->member, (size_t)out->count, sizeof *out->member, by_name);
    return 0;
}

void fleet_release(struct fleet *f) {
    for (int i = 0; i < f->count; i++) free(f->member[i].rows.row);
    free(f->member);
    *f = (struct fleet){0};
}

/* ---- rows side by side ---- */

struct grid {
    struct text_index key;
    double *log_time;        /* [key.count][members]: mean over rounds; NaN: none */
    const struct row **like; /* [key.count] */
};

static bool is_timed(const struct row *r) { return strcmp(r->status, "ok") == 0 && r->time_s > 0; }

static void grid_of(const struct fleet *f, struct grid *g) {
    char text[KEY_TEXT];
    bool is_new;
    const uint64_t columns =
        key_columns() & ~(UINT64_C(1) << COLUMN_device) & ~(UINT64_C(1) << COLUMN_round);
    const size_t members = (size_t)f->count;
    size_t most = 1, at = 0;
    for (size_t i = 0; i < members; i++) most += f->member[i].rows.count;
    *g = (struct grid){.like = no_less(calloc(most, sizeof *g->like))};
    size_t *key = no_less(calloc(most, sizeof *key)); /* of each timed row, in order */
    for (size_t i = 0; i < members; i++)
        for (size_t j = 0; f->member[i].rows.row && j < f->member[i].rows.count; j++) {
            const struct row *r = &f->member[i].rows.row[j];
            if (!is_timed(r)) continue;
            key_text(r, columns, text, sizeof text);
            const size_t k = key[at++] = text_index_add(&g->key, text, &is_new);
            if (is_new) g->like[k] = r;
        }
    g->log_time = no_less(calloc(g->key.count * members + 1, sizeof *g->log_time));
    double *count = no_less(calloc(g->key.count * members + 1, sizeof *count));
    at = 0;
    for (size_t i = 0; i < members; i++)
        for (size_t j = 0; f->member[i].rows.row && j < f->member[i].rows.count; j++) {
            const struct row *r = &f->member[i].rows.row[j];
            if (!is_timed(r)) continue;
            const size_t cell = key[at++] * members + i;
            g->log_time[cell] += log(r->time_s);
            count[cell]++;
        }
    for (size_t i = 0; i < g->key.count * members; i++)
        g->log_time[i] = count[i] > 0 ? g->log_time[i] / count[i] : NAN;
    free(count);
    free(key);
}

static void grid_release(struct grid *g) {
    text_index_release(&g->key);
    free(g->log_time);
    free(g->like);
}

/* The middle of what the members have; how many that are. */
static size_t middle(const double *row, size_t members, double *work, double *out) {
    size_t n = 0;
    for (size_t i = 0; i < members; i++)
        if (!isnan(row[i])) work[n++] = row[i];
    *out = n ? effect_location(work, n) : NAN;
    return n;
}

void fleet_stand(const struct fleet *f, double threshold, struct standing *out) {
    struct grid g;
    const size_t members = (size_t)f->count;
    double *work = no_less(malloc((members + 1) * sizeof *work)), center, deviation = INFINITY;
    grid_of(f, &g);
    memset(out, 0, members * sizeof *out);
    for (size_t k = 0; k < g.key.count; k++) {
        const double *row = &g.log_time[k * members];
        if (middle(row, members, work, &center) < 2) continue;
        for (size_t i = 0; i < members; i++) {
            if (isnan(row[i])) continue;
            out[i].speed += center - row[i]; /* a sum of logs until the end */
            out[i].slow += row[i] - center > log1p(threshold);
            out[i].rows++;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < members; i++) {
        out[i].speed = out[i].rows ? out[i].speed / (double)out[i].rows : NAN;
        if (out[i].rows) work[n++] = out[i].speed;
    }
    center = n ? effect_location(work, n) : NAN;
    for (size_t i = 0; i < n; i++) work[i] = fabs(work[i] - center);
    if (n > 2) deviation = 1.4826 * effect_location(work, n);
    for (size_t i = 0; i < members; i++) {
        const double off = fabs(out[i].speed - center);
        out[i].outlier = off > log1p(threshold) && off > 3 * deviation;
        out[i].speed = exp(out[i].speed);
    }
    free(work);
    grid_release(&g);
}

/* ---- what is printed ---- */

static const struct row *a_row(const struct member *m) {
    return m->rows.count ? &m->rows.row[0] : NULL;
}

static size_t timed_rows(const struct member *m) {
    size_t n = 0;
    const struct row *r = m->rows.row;
    for (size_t i = 0; r && i < m->rows.count; i++) n += strcmp(r[i].status, "ok") == 0;
    return n;
}

/* Wrong results are a device's worst way to stand out. */
static size_t failed_rows(const struct member *m) {
    size_t n = 0;
    const struct row *r = m->rows.row;
    for (size_t i = 0; r && i < m->rows.count; i++)
        n += strcmp(r[i].status, "wrong") == 0 || strcmp(r[i].status, "failed") == 0;
    return n;
}

static size_t print_failures(FILE *f, const struct fleet *fleet, const char *when) {
    size_t all = 0;
    for (int i = 0; i < fleet->count; i++) {
        const struct member *m = &fleet->member[i];
        const size_t n = failed_rows(m);
        all += n;
        if (n)
            fprintf(f, "%s%s%s%s: %zu of %zu rows wrong or failed%s.\n", m->name,
                    m->gpu[0] ? " (" : "", m->gpu, m->gpu[0] ? ")" : "", n, m->rows.count, when);
    }
    return all;
}

/* The speed of a device with the others at work, of its own alone; NaN: not measured so. */
static double together_speed(const struct member *alone, const struct fleet *together) {
    for (int i = 0; i < together->count; i++) {
        if (strcmp(together->member[i].name, alone->name) != 0) continue;
        struct member both[2] = {*alone, together->member[i]};
        struct fleet pair = {both, 2};
        struct standing s[2];
        fleet_stand(&pair, 0, s);
        return s[1].speed / s[0].speed;
    }
    return NAN;
}

static bool print_members(FILE *f, const struct fleet *fleet, const struct fleet *together,
                          double threshold) {
    struct standing *s = no_less(calloc((size_t)fleet->count + 1, sizeof *s));
    double least = INFINITY, most = 0;
    int outliers = 0;
    fleet_stand(fleet, threshold, s);
    fprintf(f, "%-14s %-16s %-24s %6s %7s %9s %9s\n", "device", "host", "model", "rows", "speed",
            "slow rows", together->count ? "together" : "");
    for (int i = 0; i < fleet->count; i++) {
        const struct member *m = &fleet->member[i];
        const struct row *r = a_row(m);
        fprintf(f, "%-14s %-16.16s %-24.24s %6zu", m->name, m->host, r ? r->device : "-",
                timed_rows(m));
        if (isnan(s[i].speed))
            fprintf(f, " %7s %9s", "-", "-");
        else
            fprintf(f, " %7.3f %9zu", s[i].speed, s[i].slow);
        const double shared = together_speed(m, together);
        if (isnan(shared))
            fprintf(f, " %9s", "");
        else
            fprintf(f, " %9.3f", shared);
        fprintf(f, "%s\n", s[i].outlier ? "  <- stands out" : "");
        outliers += s[i].outlier;
        if (isnan(s[i].speed)) continue;
        least = fmin(least, s[i].speed);
        most = fmax(most, s[i].speed);
    }
    fputs("speed: of a device's rows beside the median of all devices, geometric mean; "
          "slow rows: behind it by more than the threshold\n",
          f);
    if (together->count)
        fputs("together: speed while all devices are at work, 1 is its speed alone\n", f);
    if (most > 0) fprintf(f, "\nThe devices spread by %.1f %%.", 100 * (most / least - 1));
    for (int i = 0; i < fleet->count; i++)
        if (s[i].outlier)
            fprintf(f, " %s%s%s%s stands out, %.1f %% %s than the middle.", fleet->member[i].name,
                    fleet->member[i].gpu[0] ? " (" : "", fleet->member[i].gpu,
                    fleet->member[i].gpu[0] ? ")" : "", 100 * fabs(s[i].speed - 1),
                    s[i].speed < 1 ? "slower" : "faster");
    if (!outliers && fleet->count == 2 && most / least - 1 > threshold)
        fputs(" With two, none can be called the odd one.", f);
    if (!outliers && fleet->count > 2) fputs(" None stands out.", f);
    fputc('\n', f);
    free(s);
    const size_t failures =
        print_failures(f, fleet, "") + print_failures(f, together, " with all at work");
    return outliers > 0 || failures > 0;
}

struct spread {
    double width;
    size_t key;
};

static int by_width(const void *a, const void *b) {
    const struct spread *x = a, *y = b;
    return (x->width < y->width) - (x->width > y->width);
}

static void print_widest(FILE *f, const struct fleet *fleet) {
    enum { SHOWN = 10 };
    struct grid g;
    const size_t members = (size_t)fleet->count;
    grid_of(fleet, &g);
    struct spread *s = no_less(calloc(g.key.count + 1, sizeof *s));
    size_t n = 0;
    for (size_t k = 0; k < g.key.count; k++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < members; i++) {
            low = fmin(low, g.log_time[k * members + i]);
            high = fmax(high, g.log_time[k * members + i]);
        }
        if (high > low) s[n++] = (struct spread){high - low, k};
    }
    qsort(s, n, sizeof *s, by_width);
    if (n) fputs("\nWidest rows                                              spread  slowest\n", f);
    for (size_t j = 0; j < n && j < SHOWN; j++) {
        const double *row = &g.log_time[s[j].key * members];
        const struct row *r = g.like[s[j].key];
        size_t slowest = 0;
        char name[128];
        for (size_t i = 0; i < members; i++)
            if (isnan(row[slowest]) || row[i] > row[slowest]) slowest = i;
        snprintf(name, sizeof name, "%.24s.%.32s.%.12s %lldx%lldx%lld", r->op, r->impl, r->dtype,
                 (long long)r->m, (long long)r->n, (long long)r->k);
        fprintf(f, "  %-52s %7.1f %%  %s\n", name, 100 * expm1(s[j].width),
                fleet->member[slowest].name);
    }
    free(s);
    grid_release(&g);
}

/* ---- one file of all rows ---- */

static void print_rows(FILE *f, const struct fleet *fleet, const char *with) {
    for (int i = 0; i < fleet->count; i++)
        for (size_t j = 0; j < fleet->member[i].rows.count; j++) {
            csv_print_text(f, fleet->member[i].name);
            fputc(',', f);
            csv_print_text(f, fleet->member[i].host);
            fprintf(f, ",%s,", with);
            row_print(f, &fleet->member[i].rows.row[j]);
        }
}

/* Appears whole or not at all. */
static int write_rows(const char *dir, const char *file, const struct fleet *fleet,
                      const struct fleet *together) {
    const bool bench = strcmp(file, "bench.csv") == 0;
    char *path = path_join(dir, bench ? "fleet.csv" : "fleet_peaks.csv"),
         *temporary = path_join(dir, ".fleet.csv.tmp");
    FILE *f = fopen(temporary, "w");
    bool ok = f != NULL;
    if (f) {
        fputs("member,host,with,", f);
        row_print_header(f);
        print_rows(f, fleet, "");
        print_rows(f, together, "all");
        ok = fflush(f) == 0 && fsync(fileno(f)) == 0;
        ok = fclose(f) == 0 && ok && rename(temporary, path) == 0;
    }
    if (!ok) {
        fprintf(stderr, "roofline: cannot write '%s': %s\n", path, strerror(errno));
        unlink(temporary);
    }
    free(path);
    free(temporary);
    return ok ? 0 : -1;
}

int fleet_compare(FILE *f, const char *dir, const char *file, double threshold) {
    struct fleet fleet = {0}, together = {0};
    char *alone = path_join(dir, "alone"), *with_all = path_join(dir, "together");
    int status = STATUS_ERROR;
    const bool both = access(alone, F_OK) == 0;
    if (fleet_read(both ? alone : dir, file, &fleet)) goto done;
    if (access(with_all, F_OK) == 0 && fleet_read(with_all, file, &together)) goto done;
    if (fleet.count < 2) {
        fprintf(stderr, "roofline: '%s' has %s: a fleet is two folders with a %s or more\n", dir,
                fleet.count ? "one such folder" : "none", file);
        goto done;
    }
    bool emulated = false, odd;
    for (int i = 0; i < fleet.count; i++)
        emulated |=
            a_row(&fleet.member[i]) && device_slug_is_emulated(a_row(&fleet.member[i])->device);
    odd = print_members(f, &fleet, &together, threshold);
    print_widest(f, &fleet);
    if (emulated) fputs("\nThe times of an emulated device mean nothing.\n", f);
    fflush(f);
    if (write_rows(dir, file, &fleet, &together)) goto done;
    status = odd ? STATUS_NO : STATUS_OK;
done:
    fleet_release(&fleet);
    fleet_release(&together);
    free(alone);
    free(with_all);
    return status;
}
