/* spec.c - rates against data sheets. What a run offers is the best of its rows of a kind; only ordinary data count. */
#define _GNU_SOURCE
#include "spec.h"

#include "../account/gpu.h"
#include "../commands.h"
#include "../device.h"
#include "../row.h"
#include "../run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { STREAMS, READS, ROWS, PRODUCTS, CHAINS, KINDS };

static const struct band {
    int capability;
    enum kind kind;
    const char *dtype; /* "": all */
    double of_peak, of_vendor;
} bands[] = {
#define BAND(...) {__VA_ARGS__},
#include "bands.def"
#undef BAND
};

static const double above = 1.02; /* measured this far over a peak is not noise */
static const char prefix[] = "spec:";

/* ---- data sheets ---- */

bool spec_is_name(const char *name) { return strncmp(name, prefix, sizeof prefix - 1) == 0; }

/* As gpu_named(), and by the beginning of a slug that fits one only: "h100-sxm". NULL after one line on stderr. */
static const struct gpu_spec *find_spec(const char *name) {
    struct complaint why = {""};
    const struct gpu_spec *found = gpu_named(name, &why);
    size_t count, fits = 0;
    const struct gpu_spec *specs = spec_gpus(&count);
    char wanted[64], slug[64];
    if (found) return found;
    device_make_slug(wanted, sizeof wanted, name);
    for (size_t i = 0; i < count && *wanted; i++) {
        device_make_slug(slug, sizeof slug, specs[i].name);
        if (strncmp(slug, wanted, strlen(wanted)) != 0) continue;
        found = &specs[i];
        fits++;
    }
    if (fits == 1) return found;
    fprintf(stderr, "roofline: %s\n", why.text);
    return NULL;
}

/* The highest peak that the chip's clock allows: data sheets may state one at a lower clock. NaN: unknown. */
static double fastest(const struct gpu_spec *g, enum dtype t) {
    const int cc = (int)(10 * strtod(g->compute_capability, NULL) + 0.5);
    const double by_clock = g->sms * g->boost_ghz * spec_flops_per_cycle_sm(cc, t);
    return fmax(g->gflop_s[t], by_clock);
}

/* ---- a run's best rows ---- */

/* What an operation's rate says: of its operands and shapes, whatever its name. */
static enum kind kind_of(const struct op *op) {
    bool writes_much = false;
    switch (op->sweep) {
    case SWEEP_cubes:
    case SWEEP_batches:
        return PRODUCTS;
    case SWEEP_chains:
        return CHAINS;
    case SWEEP_rows:
        return ROWS;
    case SWEEP_matrices:
        return READS;
    default:
        for (int i = 0; i < op_operand_count(op); i++)
            writes_much |=
                operand_is_written(&op->operand[i]) && op->operand[i].extent[0] != EXTENT_ONE;
        return writes_much ? STREAMS : READS;
    }
}

struct best {
    const struct row *ours, *vendor; /* the fastest; NULL: none */
};

struct offer {
    struct rows rows; /* of all files of the run */
    struct best memory[KINDS], compute[KINDS][DTYPE_COUNT];
};

static void consider(struct best *best, const struct row *r, bool memory) {
    const struct row **slot = impl_is_vendor(r->impl) ? &best->vendor : &best->ours;
    const double rate = memory ? r->gbyte_s : r->gflop_s;
    if (rate > 0 && (!*slot || rate > (memory ? (*slot)->gbyte_s : (*slot)->gflop_s))) *slot = r;
}

static void append(struct rows *all, const struct rows *more) {
    if (more->count == 0) return;
    all->row = realloc(all->row, (all->count + more->count) * sizeof *all->row);
    if (!all->row) abort();
    memcpy(all->row + all->count, more->row, more->count * sizeof *all->row);
    all->count += more->count;
}

/* The rows of a CSV file, or of both files of a folder. 0, or -1 after one line on stderr. */
static int read_all(const char *name, struct rows *all) {
    static const char *const files[] = {"bench.csv", "peaks.csv"};
    struct stat st;
    const bool folder = stat(name, &st) == 0 && S_ISDIR(st.st_mode);
    bool torn;
    *all = (struct rows){0};
    if (!folder && rows_read(name, all, &torn)) return -1;
    for (int i = 0; folder && i < 2; i++) {
        struct rows rows = {0};
        char *path = path_join(name, files[i]);
        const int status = access(path, F_OK) == 0 ? rows_read(path, &rows, &torn) : 0;
        free(path);
        append(all, &rows);
        free(rows.row);
        if (status) return -1;
    }
    if (all->count) return 0;
    fprintf(stderr, "roofline: '%s' has no rows%s\n", name,
            folder ? ": no bench.csv, no peaks.csv" : "");
    return -1;
}

static int read_offer(const char *name, struct offer *o) {
    *o = (struct offer){.rows = {0}};
    if (read_all(name, &o->rows)) return -1;
    for (size_t i = 1; i < o->rows.count; i++) {
        if (strcmp(o->rows.row[i].device, o->rows.row[0].device) == 0) continue;
        fprintf(stderr, "roofline: '%s' has rows of several devices, '%s' and '%s': which one?\n",
                name, o->rows.row[0].device, o->rows.row[i].device);
        return -1;
    }
    for (size_t i = 0; i < o->rows.count; i++) {
        const struct row *r = &o->rows.row[i];
        const int op = op_find(r->op), t = dtype_find(r->dtype);
        if (op < 0 || t < 0 || strcmp(r->status, "ok") != 0) continue;
        if (r->fill[0] && strcmp(r->fill, "normal") != 0) continue; /* zeros are faster */
        const enum kind kind = kind_of(&ops[op]);
        if (strcmp(r->level, "DRAM") == 0 && kind < PRODUCTS) consider(&o->memory[kind], r, true);
        consider(&o->compute[kind][t], r, false);
    }
    return 0;
}

static void offer_release(struct offer *o) { free(o->rows.row); }

static const struct row *faster(const struct row *a, const struct row *b, bool memory) {
    if (!a || !b) return a ? a : b;
    return (memory ? a->gbyte_s > b->gbyte_s : a->gflop_s > b->gflop_s) ? a : b;
}

/* ---- side by side ---- */

struct party {
    const struct gpu_spec *spec; /* NULL: a run */
    struct offer offer;
};

static double bandwidth_of(const struct party *c) {
    const struct row *best = NULL;
    if (c->spec) return c->spec->gbyte_s;
    for (int k = 0; k < KINDS; k++)
        best = faster(best, faster(c->offer.memory[k].ours, c->offer.memory[k].vendor, true), true);
    return best ? best->gbyte_s : NAN;
}

static double rate_of(const struct party *c, enum dtype t) {
    const struct row *best = NULL;
    if (c->spec) return c->spec->gflop_s[t];
    for (int k = PRODUCTS; k <= CHAINS; k++)
        best = faster(
            best, faster(c->offer.compute[k][t].ours, c->offer.compute[k][t].vendor, false), false);
    return best ? best->gflop_s : NAN;
}

static void print_line(FILE *f, const char *what, const double *value, int columns, bool csv) {
    bool any = false;
    for (int i = 0; i < columns; i++) any |= !isnan(value[i]);
    if (!any) return;
    fprintf(f, csv ? "%s" : "%-18s", what);
    for (int i = 0; i < columns; i++) {
        if (csv) {
            fputc(',', f);
            csv_print_real(f, value[i]);
            fputc(',', f);
            csv_print_real(f, value[i] / value[0]);
        } else if (isnan(value[i])) {
            fprintf(f, "  %24s", "-");
        } else if (i == 0 || isnan(value[0])) {
            fprintf(f, "  %24.1f", value[i]);
        } else {
            fprintf(f, "  %13.1f (%6.3f x)", value[i], value[i] / value[0]);
        }
    }
    fputc('\n', f);
}

static void print_columns(FILE *f, const struct party *c, char **name, int names, bool csv) {
    double *value = malloc((size_t)names * sizeof *value);
    char what[40];
    if (!value) abort();
    fprintf(f, csv ? "quantity" : "%-18s", "");
    for (int i = 0; i < names; i++) {
        const char *title = c[i].spec ? c[i].spec->name : name[i];
        if (csv) {
            fputc(',', f);
            csv_print_text(f, title);
            fputc(',', f);
            fprintf(f, "ratio_%d", i + 1);
        } else {
            const size_t n = strlen(title);
            fprintf(f, "  %24s", n > 24 ? title + n - 24 : title);
        }
    }
    fputc('\n', f);
    for (int i = 0; !csv && i < names; i++)
        fprintf(f, i ? "  %24s" : "%-18s  %24s",
                i ? (c[i].spec ? "published" : "best measured") : "",
                c[i].spec ? "published" : "best measured");
    if (!csv) fputc('\n', f);
    for (int i = 0; i < names; i++) value[i] = bandwidth_of(&c[i]);
    print_line(f, "DRAM GB/s", value, names, csv);
    for (int t = 0; t < DTYPE_COUNT; t++) {
        snprintf(what, sizeof what, "%s GFLOP/s", dtypes[t].name);
        for (int i = 0; i < names; i++) value[i] = rate_of(&c[i], (enum dtype)t);
        print_line(f, what, value, names, csv);
    }
    free(value);
    if (csv) return;
    fputs("\nPublished figures are dense peaks; a run's are the best of its rows on normal data.\n",
          f);
    for (int i = 0; i < names; i++)
        if (c[i].spec)
            fprintf(f, "%s: %s%s%s\n", c[i].spec->name, c[i].spec->source,
                    *c[i].spec->note ? "; " : "", c[i].spec->note);
}

int spec_compare(FILE *f, char **name, int names, bool csv) {
    struct party *c = calloc((size_t)names, sizeof *c);
    int status = STATUS_OK;
    if (!c) abort();
    for (int i = 0; i < names && status == STATUS_OK; i++) {
        if (spec_is_name(name[i])) {
            c[i].spec = find_spec(name[i] + sizeof prefix - 1);
            if (!c[i].spec) status = STATUS_ERROR;
        } else if (read_offer(name[i], &c[i].offer)) {
            status = STATUS_ERROR;
        } else if (device_slug_is_emulated(c[i].offer.rows.row[0].device)) {
            fprintf(stderr, "roofline: '%s': times of an emulated device mean nothing\n", name[i]);
            status = STATUS_ERROR;
        }
    }
    if (status == STATUS_OK) print_columns(f, c, name, names, csv);
    for (int i = 0; i < names; i++) offer_release(&c[i].offer);
    free(c);
    return status;
}

/* ---- a diagnosis ---- */

static const struct band *band_of(int capability, enum kind kind, const char *dtype) {
    for (size_t i = 0; i < sizeof bands / sizeof *bands; i++)
        if (bands[i].capability == capability && bands[i].kind == kind &&
            (!*bands[i].dtype || strcmp(bands[i].dtype, dtype) == 0))
            return &bands[i];
    return NULL;
}

struct finding {
    char what[48];
    const struct row *row, *vendor;
    double measured, peak, most; /* peak: what it is judged by; most: what can't be exceeded */
    const char *unit, *peak_name;
    double of_peak, of_vendor; /* floors; NaN: none */
    double boost_ghz;
    bool memory;
};

static double vendor_share(const struct finding *x) {
    return x->vendor ? x->measured / (x->memory ? x->vendor->gbyte_s : x->vendor->gflop_s) : NAN;
}

static const char *judge(const struct finding *x) {
    if (x->measured > above * x->most) return "impossible";
    if (x->measured / x->peak < x->of_peak || vendor_share(x) < x->of_vendor) return "low";
    if (isnan(x->of_peak) && (isnan(x->of_vendor) || !x->vendor)) return "no band";
    return "healthy";
}

static void why_low(FILE *f, const struct finding *x) {
    const struct row *r = x->row;
    const double held = r->clock_ghz / x->boost_ghz;
    bool any = false;
    if (r->throttle[0]) any |= fprintf(f, "  the clock is held back: %s\n", r->throttle) > 0;
    if (held < 0.95)
        any |= fprintf(f, "  it ran at %.2f GHz, of %.2f\n", r->clock_ghz, x->boost_ghz) > 0;
    if (!x->memory && r->m > 0 && r->n > 0 &&
        r->m * r->n * (r->b > 0 ? r->b : 1) < INT64_C(4096) * 4096)
        any |= fprintf(f, "  the largest problem is small for a GPU: %lld x %lld x %lld\n",
                       (long long)r->m, (long long)r->n, (long long)r->k) > 0;
    if (r->disturbed > 0 && 2 * r->disturbed > r->samples)
        any |= fprintf(f, "  other work disturbed most samples\n") > 0;
    if (vendor_share(x) >= 0.95)
        any |=
            fprintf(f,
                    "  the vendor's library reaches no more here: the machine, not the kernel\n") >
            0;
    else if (vendor_share(x) < 0.9)
        any |= fprintf(f, "  the vendor's library reaches %.0f: the kernel, not the machine\n",
                       x->memory ? x->vendor->gbyte_s : x->vendor->gflop_s) > 0;
    if (!x->vendor && !any)
        fprintf(
            f,
            "  nothing in the row explains it; ask nvidia-smi for power limit, ECC, MIG and other "
            "processes\n");
}

static void why_impossible(FILE *f, const struct finding *x) {
    const struct row *r = x->row;
    if (x->memory && strcmp(r->cache, "cold") != 0)
        fputs("  its data may stay in a cache: measure with --cache cold\n", f);
    if (r->counted_bytes > 0 && r->counted_bytes < 0.9 * r->bytes)
        fprintf(f, "  counters saw %.3g bytes a call, the model has %.3g\n", r->counted_bytes,
                r->bytes);
    if (!x->memory)
        fputs("  a peak of sparse or half-precision sums, a wrong FLOP count, or work left out\n",
              f);
    fputs("  or the data sheet is not this board's: see 'roofline devices'\n", f);
}

static const char *print_finding(FILE *f, const struct finding *x, bool csv) {
    const char *verdict = judge(x);
    const double part = x->measured / x->peak, vendor = vendor_share(x);
    const struct row *r = x->row;
    if (csv) {
        csv_print_text(f, x->what);
        fprintf(f, ",%s,%s.%s.%s,", verdict, r->op, r->impl, r->dtype);
        csv_print_real(f, x->measured);
        fprintf(f, ",%s,", x->unit);
        csv_print_real(f, x->peak);
        fprintf(f, ",%s,", x->peak_name);
        csv_print_real(f, part);
        fputc(',', f);
        csv_print_real(f, x->of_peak);
        fputc(',', f);
        csv_print_real(f, vendor);
        fputc(',', f);
        csv_print_real(f, x->of_vendor);
        fputc('\n', f);
        return verdict;
    }
    fprintf(f, "%-11s %-22s %10.1f %-8s", verdict, x->what, x->measured, x->unit);
    if (isfinite(part)) fprintf(f, " %5.1f %% of %.1f (%s)", 100 * part, x->peak, x->peak_name);
    if (!isnan(x->of_peak)) fprintf(f, "; from %.0f %% on healthy", 100 * x->of_peak);
    if (!isnan(vendor)) fprintf(f, "; %.2f x %s", vendor, x->vendor->impl);
    if (!isnan(x->of_vendor) && x->vendor) fprintf(f, ", from %.2f on healthy", x->of_vendor);
    fprintf(f, "  [%s.%s.%s]\n", r->op, r->impl, r->dtype);
    if (strcmp(verdict, "low") == 0) why_low(f, x);
    if (strcmp(verdict, "impossible") == 0) why_impossible(f, x);
    return verdict;
}

static void set_band(struct finding *x, int capability, enum kind kind, const char *dtype) {
    const struct band *band = band_of(capability, kind, dtype);
    x->of_peak = band ? band->of_peak : NAN;
    x->of_vendor = band ? band->of_vendor : NAN;
}

static bool memory_finding(const struct offer *o, const struct gpu_spec *spec, int capability,
                           enum kind kind, struct finding *x) {
    static const char *const names[] = {"DRAM, streams", "DRAM, reads", "DRAM, row operations"};
    const struct best *best = &o->memory[kind];
    *x = (struct finding){.memory = true, .unit = "GB/s", .peak_name = "published"};
    x->row = best->ours ? best->ours : best->vendor;
    if (!x->row) return false;
    x->vendor = best->ours ? best->vendor : NULL;
    x->measured = x->row->gbyte_s;
    x->most = x->peak = spec ? spec->gbyte_s : x->row->spec_gbyte_s;
    x->boost_ghz = spec ? spec->boost_ghz : NAN;
    snprintf(x->what, sizeof x->what, "%s", names[kind]);
    set_band(x, capability, kind, "");
    return true;
}

static bool compute_finding(const struct offer *o, const struct gpu_spec *spec, int capability,
                            enum kind kind, enum dtype t, struct finding *x) {
    const struct best *best = &o->compute[kind][t];
    *x = (struct finding){.unit = "GFLOP/s", .peak_name = "published"};
    x->row = best->ours ? best->ours : best->vendor;
    if (!x->row) return false;
    x->vendor = best->ours ? best->vendor : NULL;
    x->measured = x->row->gflop_s;
    x->peak = spec ? spec->gflop_s[t] : x->row->spec_gflop_s;
    x->most = spec ? fastest(spec, t) : x->peak;
    x->boost_ghz = spec ? spec->boost_ghz : NAN;
    if (isnan(x->peak)) {
        x->most = x->peak = x->row->clock_gflop_s;
        x->peak_name = "peak at the clock seen";
    }
    snprintf(x->what, sizeof x->what, "%s, %.16s", kind == PRODUCTS ? "products" : "multiply-adds",
             dtypes[t].name);
    set_band(x, capability, kind, dtypes[t].name);
    return true;
}

/* The data sheet of the device that the rows are of; NULL: none. */
static const struct gpu_spec *spec_of_device(const char *slug) {
    size_t count;
    const struct gpu_spec *specs = spec_gpus(&count);
    char one[64];
    for (size_t i = 0; i < count; i++) {
        device_make_slug(one, sizeof one, specs[i].driver_name);
        if (*one && strcmp(one, slug) == 0) return &specs[i];
    }
    return NULL;
}

static void count_verdict(const char *verdict, size_t count[3]) {
    if (strcmp(verdict, "healthy") == 0) count[0]++;
    if (strcmp(verdict, "low") == 0) count[1]++;
    if (strcmp(verdict, "impossible") == 0) count[2]++;
}

int spec_check(FILE *f, const char *run, const char *name, bool csv) {
    struct offer o;
    struct finding x;
    size_t count[3] = {0}, compared = 0;
    int status = STATUS_ERROR;
    const struct gpu_spec *spec = NULL;
    if (name && !(spec = find_spec(spec_is_name(name) ? name + sizeof prefix - 1 : name)))
        return STATUS_ERROR;
    if (read_offer(run, &o)) goto done;
    const char *device = o.rows.row[0].device;
    if (device_slug_is_emulated(device)) {
        fprintf(stderr, "roofline: '%s': times of an emulated device mean nothing\n", run);
        goto done;
    }
    const struct gpu_spec *own = spec_of_device(device);
    if (!spec) spec = own;
    const int capability = spec ? (int)(10 * strtod(spec->compute_capability, NULL) + 0.5) : 0;
    if (csv)
        fputs("what,verdict,row,measured,unit,peak,peak_is,of_peak,of_peak_from,of_vendor,"
              "of_vendor_from\n",
              f);
    else
        fprintf(f, "%s: %s beside %s%s\n\n", run, device,
                spec ? spec->name : "what its rows know: no data sheet of this device is built in",
                spec && spec != own ? ", which is another device" : "");
    for (int kind = STREAMS; kind < PRODUCTS; kind++) {
        if (!memory_finding(&o, spec, capability, (enum kind)kind, &x)) continue;
        compared += isfinite(x.peak) ? 1 : 0;
        count_verdict(print_finding(f, &x, csv), count);
    }
    for (int kind = PRODUCTS; kind <= CHAINS; kind++)
        for (int t = 0; t < DTYPE_COUNT; t++) {
            if (!compute_finding(&o, spec, capability, (enum kind)kind, (enum dtype)t, &x))
                continue;
            compared += isfinite(x.peak) ? 1 : 0;
            count_verdict(print_finding(f, &x, csv), count);
        }
    if (compared == 0) {
        fprintf(stderr, "roofline: '%s': no row has a peak to be compared with\n", run);
        goto done;
    }
    if (!csv)
        fprintf(f, "\n%zu healthy, %zu low, %zu impossible%s\n", count[0], count[1], count[2],
                count[0] + count[1] + count[2] ? "" : ": no band is set for this device");
    status = count[1] + count[2] ? STATUS_NO : STATUS_OK;
done:
    offer_release(&o);
    return status;
}
