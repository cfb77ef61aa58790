/* runinfo.c - facts that explain differences between runs. */
#define _GNU_SOURCE
#include "runinfo.h"

#include "os.h"
#include "row.h"
#include "vendors.h"
#include "run.h"
#include "version.h"

#include "../kernels/cpu/isa.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

void json_text(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void member(FILE *f, const char *name, const char *text) {
    fprintf(f, "    \"%s\": ", name);
    json_text(f, text);
    fputs(",\n", f);
}

static void number(FILE *f, const char *name, double x) {
    if (isfinite(x))
        fprintf(f, "    \"%s\": %.6g,\n", name, x);
    else
        fprintf(f, "    \"%s\": null,\n", name);
}

/* The choice within [brackets] of a sysfs file, or the whole line; "" when there is none. */
static void read_choice(const char *path, char text[128]) {
    FILE *f = fopen(path, "r");
    text[0] = '\0';
    if (!f) return;
    if (!fgets(text, 128, f)) text[0] = '\0';
    fclose(f);
    text[strcspn(text, "\n")] = '\0';
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (!close) return;
    *close = '\0';
    memmove(text, open + 1, strlen(open + 1) + 1);
}

void run_info_print(FILE *f, struct device *d, int argc, char **argv) {
    const struct vendors vendors = vendors_ask(d->vendors);
    char text[128], when[32] = "";
    struct utsname system;
    struct cpu_facts facts;
    struct tm utc;
    const time_t now = time(NULL);
    os_cpu_facts(&facts);
    const struct conditions now_here = d->conditions(d);
    if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);

    fprintf(f, "{\n  \"schema\": %d,\n  \"program\": {\n", ROW_SCHEMA);
    member(f, "version", ROOFLINE_VERSION);
    member(f, "commit", ROOFLINE_COMMIT);
    member(f, "compiler", ROOFLINE_COMPILER);
    fputs("    \"flags\": ", f);
    json_text(f, ROOFLINE_FLAGS);
    fputs("\n  },\n  \"command\": [", f);
    for (int i = 0; i < argc; i++) {
        if (i) fputs(", ", f);
        json_text(f, argv[i]);
    }
    fputs("],\n  \"machine\": {\n", f);
    member(f, "device", d->slug);
    member(f, "model", d->model);
    member(f, "instruction_set", isa_names[isa_level()]);
    if (uname(&system) == 0) {
        member(f, "system", system.sysname);
        member(f, "release", system.release);
        member(f, "architecture", system.machine);
    }
    read_choice("/sys/kernel/mm/transparent_hugepage/enabled", text);
    member(f, "transparent_huge_pages", text);
    read_choice("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text);
    member(f, "frequency_governor", text);
    for (int i = 0; i < MAX_VENDORS && d->vendors->name[i]; i++)
        if (vendors.version[i][0]) member(f, d->vendors->name[i], vendors.version[i]);
    if (d->print_facts) d->print_facts(d, f);
    for (int i = 0; i < d->levels; i++)
        fprintf(f, "    \"%s_bytes\": %lld,\n", d->level[i].name, (long long)d->level[i].bytes);
    fprintf(f, "    \"last_cache_bytes\": %.0f,\n", device_last_cache(d, d->max_threads));
    number(f, "clock_ghz", now_here.clock_ghz);
    number(f, "temperature_c", now_here.temperature_c);
    fprintf(f, "    \"virtual_machine\": %s,\n", facts.virtual_machine ? "true" : "false");
    fprintf(f, "    \"logical_cpus\": %d,\n    \"usable_threads\": %d\n  },\n", facts.logical_cpus,
            d->max_threads);
    fprintf(f, "  \"started\": \"%s\"\n}\n", when);
}

/* Gives the file a name that no file has: run.json, run.2.json ... 0, or -1 with errno. */
static int take_free_name(const char *dir, const char *temporary) {
    enum { MOST = 100000 };
    char name[32] = "run.json";
    for (int i = 2; i < MOST; i++) {
        char *path = path_join(dir, name);
        int status = link(temporary, path); /* unlike rename(), it never replaces */
        if (status && errno != EEXIST) {    /* a file system without links */
            const bool taken = access(path, F_OK) == 0;
            status = taken ? -1 : rename(temporary, path);
            if (taken) errno = EEXIST;
        }
        free(path);
        if (status == 0 || errno != EEXIST) return status;
        snprintf(name, sizeof name, "run.%d.json", i);
    }
    return -1;
}

int run_info_write(const char *dir, struct device *d, int argc, char **argv) {
    char name[64];
    snprintf(name, sizeof name, "run.json.%ld.tmp", (long)getpid());
    char *temporary = path_join(dir, name);
    FILE *f = fopen(temporary, "w");
    int status = -1;
    if (f) {
        run_info_print(f, d, argc, argv);
        const bool written = fflush(f) == 0 && fsync(fileno(f)) == 0;
        if (fclose(f) == 0 && written) status = take_free_name(dir, temporary);
    }
    if (status) fprintf(stderr, "roofline: cannot write '%s/run.json': %s\n", dir, strerror(errno));
    unlink(temporary);
    free(temporary);
    return status;
}
