/* sustain.c - a series becomes a file and two lines. */
#define _GNU_SOURCE
#include "sustain.h"

#include "csv_table.h"
#include "stats.h"
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the summary ---- */

bool sustain_by_flops(const struct sustain_series *s) {
    return s->point[0].gflop_s >= s->point[0].gbyte_s;
}

/* Points first ... end - 1. work: room for as many. */
static struct sustain_part part_of(const struct sustain_point point[], size_t first, size_t end,
                                   bool by_flops, double work[]) {
    struct sustain_part p = {.rate = NAN};
    double clock = 0, joules = 0, heat = 0, seconds = 0, gflop = 0, gbyte = 0;
    for (size_t i = first; i < end; i++) {
        const double lasted = point[i].at_s - (i ? point[i - 1].at_s : 0);
        work[i - first] = by_flops ? point[i].gflop_s : point[i].gbyte_s;
        clock += point[i].clock_ghz;
        heat += point[i].temperature_c;
        joules += point[i].power_w * lasted;
        gflop += point[i].gflop_s * lasted;
        gbyte += point[i].gbyte_s * lasted;
        seconds += lasted;
    }
    const double n = (double)(end - first);
    const struct stats s = stats_of(work, end - first);
    p.rate = s.median;
    p.low = s.ci_low;
    p.high = s.ci_high;
    p.clock_ghz = clock / n;
    p.temperature_c = heat / n;
    p.power_w = joules / seconds;
    p.pj_flop = 1e3 * joules / gflop; /* a joule for 1e9 of them is 1000 pJ each */
    p.pj_byte = 1e3 * joules / gbyte;
    return p;
}

int sustain_summarise(const struct sustain_series *s, struct sustain_summary *out) {
    const struct sustain_point *point = s->point;
    const size_t n = s->count;
    double *work = malloc(n * sizeof *work);
    if (!work) return -1;
    const double end_s = point[n - 1].at_s, burst_s = fmin(1, end_s / 3);
    size_t burst = 1, last = n - 1;
    while (burst < n && point[burst].at_s <= burst_s) burst++;
    while (last > 0 && point[last - 1].at_s > end_s * 2 / 3) last--;
    out->by_flops = sustain_by_flops(s);
    out->burst = part_of(point, 0, burst, out->by_flops, work);
    out->sustained = part_of(point, last, n, out->by_flops, work);
    free(work);
    return 0;
}

static double gflop_s(const struct row *r, double time_s) {
    return r->flops > 0 ? r->flops / time_s * 1e-9 : NAN;
}
static double gbyte_s(const struct row *r, double time_s) { return r->bytes / time_s * 1e-9; }

static struct sustain_point point_of(const struct row *r, const struct samples *s, size_t i) {
    const struct conditions *c = &s->reading[i].conditions;
    const double time_s = s->taken[i].time_s;
    return (struct sustain_point){.at_s = s->reading[i].at_s,
                                  .gflop_s = gflop_s(r, time_s),
                                  .gbyte_s = gbyte_s(r, time_s),
                                  .clock_ghz = c->clock_ghz,
                                  .power_w = c->power_w,
                                  .temperature_c = c->temperature_c};
}

static void print_part(FILE *f, const char *name, const struct sustain_part *p, bool by_flops) {
    fprintf(f, "  %-9s %10.4g %s  (%.4g ... %.4g)", name, p->rate, by_flops ? "GFLOP/s" : "GB/s",
            p->low, p->high);
    if (isfinite(p->clock_ghz)) fprintf(f, "  %.3f GHz", p->clock_ghz);
    if (isfinite(p->temperature_c)) fprintf(f, "  %.0f C", p->temperature_c);
    if (isfinite(p->power_w)) fprintf(f, "  %.1f W", p->power_w);
    if (isfinite(p->pj_flop)) fprintf(f, "  %.4g pJ/FLOP", p->pj_flop);
    if (isfinite(p->pj_byte)) fprintf(f, "  %.4g pJ/byte", p->pj_byte);
    fputc('\n', f);
}

void sustain_print(FILE *f, const struct row *r, const struct samples *s) {
    struct sustain_series series = {.count = s->count};
    struct sustain_summary sum;
    char shape[96];
    if (!s->reading || s->count == 0) return;
    if (!(series.point = malloc(s->count * sizeof *series.point))) return;
    for (size_t i = 0; i < s->count; i++) series.point[i] = point_of(r, s, i);
    if (sustain_summarise(&series, &sum) == 0) {
        format_shape(r, shape, sizeof shape);
        fprintf(f, "%s.%s.%s %s, %" PRId64 " thread%s, fill %s: %.4g s\n", r->op, r->impl, r->dtype,
                shape, r->threads, r->threads == 1 ? "" : "s", r->fill,
                s->reading[s->count - 1].at_s);
        print_part(f, "burst", &sum.burst, sum.by_flops);
        print_part(f, "sustained", &sum.sustained, sum.by_flops);
        fprintf(f, "  sustained / burst %.3f\n", sum.sustained.rate / sum.burst.rate);
    }
    free(series.point);
}

/* ---- the file ---- */

int sustain_file_open(struct append_file *f, const char *path) {
    char *header = NULL;
    size_t length;
    int status = -1;
    FILE *text = open_memstream(&header, &length);
    *f = (struct append_file){.fd = -1};
    if (text) {
        row_print_key_header(text);
        fputs(",sample,at_s,placement,disturbed,time_s,gflop_s,gbyte_s,clock_ghz,power_w,"
              "temperature_c,throttle\n",
              text);
        if (fclose(text) == 0) status = append_file_open(f, path, header, true);
    } else {
        perror("roofline");
    }
    free(header);
    return status;
}

int sustain_file_append(struct append_file *f, const struct row *r, const struct samples *s) {
    char *lines = NULL;
    size_t length;
    int status = -1;
    if (!s->reading || s->count == 0) return 0;
    FILE *text = open_memstream(&lines, &length);
    if (!text) {
        perror("roofline");
        return -1;
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct sample *x = &s->taken[i];
        const struct sustain_point p = point_of(r, s, i);
        const double number[] = {x->time_s,   p.gflop_s, p.gbyte_s,
                                 p.clock_ghz, p.power_w, p.temperature_c};
        row_print_key(text, r);
        fprintf(text, ",%zu,", i + 1);
        csv_print_real(text, p.at_s);
        fprintf(text, ",%s,%d", x->placement, x->disturbed);
        for (size_t k = 0; k < sizeof number / sizeof *number; k++) {
            fputc(',', text);
            csv_print_real(text, number[k]);
        }
        fputc(',', text);
        csv_print_text(text, s->reading[i].conditions.throttle);
        fputc('\n', text);
    }
    if (fclose(text) == 0) status = append_file_write(f, lines, length);
    free(lines);
    return status;
}

/* ---- reading ---- */

static double number(const struct csv *c, size_t record, const char *column) {
    double x;
    return parse_real(&x, csv_get(c, record, column)) ? NAN : x;
}

static int64_t integer(const struct csv *c, size_t record, const char *column) {
    int64_t x;
    return parse_integer(&x, csv_get(c, record, column)) ? -1 : x;
}

#define READ_STR(field, column) row_set_text(field, csv_get(c, i, column))
#define READ_INT(field, column) field = integer(c, i, column)
#define KEY_ONLY_KEY(statement) statement;
#define KEY_ONLY_VAL(statement)

static void read_key(const struct csv *c, size_t i, struct row *r) {
    row_init(r);
#define COL(kind, type, name) KEY_ONLY_##kind(READ_##type(r->name, #name))
#include "columns.def"
#undef COL
}

/* A series begins at sample 1. 0, or -1 without memory. */
static int add_line(const struct csv *c, size_t i, struct sustain_list *list) {
    struct sustain_series *s;
    if (list->count == 0 || integer(c, i, "sample") == 1) {
        s = realloc(list->series, (list->count + 1) * sizeof *s);
        if (!s) return -1;
        list->series = s;
        list->series[list->count++] = (struct sustain_series){.count = 0};
        read_key(c, i, &list->series[list->count - 1].key);
    }
    s = &list->series[list->count - 1];
    if ((s->count & (s->count - 1)) == 0) {
        struct sustain_point *grown =
            realloc(s->point, (s->count ? 2 * s->count : 1) * sizeof *grown);
        if (!grown) return -1;
        s->point = grown;
    }
    s->point[s->count++] = (struct sustain_point){.at_s = number(c, i, "at_s"),
                                                  .gflop_s = number(c, i, "gflop_s"),
                                                  .gbyte_s = number(c, i, "gbyte_s"),
                                                  .clock_ghz = number(c, i, "clock_ghz"),
                                                  .power_w = number(c, i, "power_w"),
                                                  .temperature_c = number(c, i, "temperature_c")};
    return 0;
}

int sustain_read(const char *dir, const char *device, struct sustain_list *out) {
    struct csv c = {0};
    *out = (struct sustain_list){0};
    int status = csv_table_read(dir, "sustain.csv", &c);
    for (size_t i = 0; i < c.records && !status; i++) {
        if (strcmp(csv_get(&c, i, "device"), device) != 0 ||
            !(number(&c, i, "at_s") > 0 && number(&c, i, "gbyte_s") > 0))
            continue;
        status = add_line(&c, i, out);
        if (status) fprintf(stderr, "roofline: no memory for '%s/sustain.csv'\n", dir);
    }
    csv_free(&c);
    return status;
}

void sustain_release(struct sustain_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->series[i].point);
    free(list->series);
    *list = (struct sustain_list){0};
}
