/* table.c - columns of fixed width; what is unknown stays blank. */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void format_time(double seconds, char *text, size_t size) {
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    text[0] = '\0';
    if (!isfinite(seconds)) return;
    size_t i = 0;
    while (i < 3 && seconds < units[i].unit) i++;
    const double value = seconds / units[i].unit;
    snprintf(text, size, "%.*f %s", value < 10 ? 3 : value < 100 ? 2 : 1, value, units[i].name);
}

void format_bytes(double bytes, char *text, size_t size) {
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    text[0] = '\0';
    if (!isfinite(bytes)) return;
    int i = 0;
    for (; bytes >= 1024 && i < 4; i++) bytes /= 1024;
    snprintf(text, size, "%.4g %s", bytes, names[i]);
}

void format_shape(const struct row *r, char *text, size_t size) {
    const int64_t dimension[] = {r->b, r->m, r->n, r->k};
    int first = 0, last = 3, used = 0;
    while (first < 2 && dimension[first] == 1) first++;
    while (last > 2 && dimension[last] == 1) last--;
    text[0] = '\0';
    for (int i = first; i <= last && used >= 0 && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%" PRId64, i > first ? "x" : "",
                         dimension[i]);
    if (r->layout[0] && strcmp(r->layout, "flat") != 0 && used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " %s", r->layout);
}

static void cell(FILE *f, int width, int precision, double x) {
    if (isfinite(x))
        fprintf(f, " %*.*f", width, precision, x);
    else
        fprintf(f, " %*s", width, "");
}

void table_header(FILE *f) {
    fprintf(f, "%-40s %-21s %3s %-4s %11s %7s %9s %8s %7s  %s\n", "op.impl.dtype", "shape", "thr",
            "at", "time", "+- %", "GFLOP/s", "GB/s", "% roof", "status");
}

/* What was timed, where, and its median. */
static void begin(FILE *f, const struct row *r) {
    char name[3 * ROW_TEXT], shape[96], time[32];
    snprintf(name, sizeof name, "%s.%s.%s", r->op, r->impl, r->dtype);
    format_shape(r, shape, sizeof shape);
    format_time(r->time_s, time, sizeof time);
    fprintf(f, "%-40s %-21s %3" PRId64 " %-4s %11s", name, shape, r->threads, r->level, time);
}

static void end(FILE *f, const struct row *r) {
    fprintf(f, "  %s%s%s%s\n", r->status, r->reason[0] ? ": " : "", r->reason,
            r->placement[0] && r->displaced > 0 ? " *" : "");
}

void table_row(FILE *f, const struct row *r) {
    begin(f, r);
    cell(f, 7, 2, 50 * (r->ci_high_s - r->ci_low_s) / r->time_s);
    cell(f, 9, 2, r->flops > 0 ? r->gflop_s : NAN);
    cell(f, 8, 2, r->gbyte_s);
    cell(f, 7, 1, 100 * r->roof_fraction);
    end(f, r);
}

void table_vs_header(FILE *f) {
    fprintf(f, "%-40s %-21s %3s %-4s %11s %7s  %-16s %11s %6s  %-15s  %s\n", "op.impl.dtype",
            "shape", "thr", "at", "time", "% roof", "against", "its time", "ratio", "95 % interval",
            "status");
}

void table_vs_row(FILE *f, const struct row *r) {
    char time[32], interval[48] = "";
    begin(f, r);
    cell(f, 7, 1, 100 * r->roof_fraction);
    format_time(r->vs_time_s, time, sizeof time);
    if (isfinite(r->vs_low) && isfinite(r->vs_high))
        snprintf(interval, sizeof interval, "%.3f ... %.3f", r->vs_low, r->vs_high);
    fprintf(f, "  %-16s %11s", r->vs, time);
    cell(f, 6, 3, r->vs_ratio);
    fprintf(f, "  %-15s", interval);
    end(f, r);
}
