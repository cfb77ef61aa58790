/* cmd_devices.c - what is here, and what can be read from it. */
#include "commands.h"
#include "device.h"
#include "options.h"
#include "os.h"
#include "runinfo.h"
#include "specs.h"
#include "table.h"
#include "vendors.h"

#include "../kernels/cpu/isa.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void help(void) {
    puts("Usage: roofline devices [--format table|json] [--slug]\n"
         "\n"
         "Describes the devices of this machine: model, caches, threads that may be used, "
         "instruction sets, peaks by\n"
         "specification, vendor libraries, sensors.\n"
         "\n"
         "  --format json   as one JSON object, what run.json of a run holds\n"
         "  --slug          only the device's short name, as used in result paths\n"
         "\n"
         "Example:\n"
         "  roofline bench --out results/$(roofline devices --slug)/today");
}

static void line(const char *what, const char *value) { printf("  %-22s %s\n", what, value); }

static void print_levels(const struct device *d) {
    char text[96], bytes[32];
    for (int i = 0; i < d->levels; i++) {
        const struct level *level = &d->level[i];
        format_bytes((double)level->bytes, bytes, sizeof bytes);
        if (i + 1 < d->levels && level->shared_by > 1)
            snprintf(text, sizeof text, "%s, shared by %d CPUs", bytes, level->shared_by);
        else
            snprintf(text, sizeof text, "%s", bytes);
        line(level->name, text);
    }
}

static void print_peaks(const struct cpu_facts *facts) {
    const char *name = NULL, *source = NULL;
    char text[160] = "";
    for (int t = 0; t < DTYPE_COUNT; t++) {
        double flops;
        if (!spec_cpu(facts->vendor, facts->family, facts->model_number, (enum dtype)t, &flops,
                      &name, &source))
            continue;
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %g", used ? ", " : "", dtypes[t].name,
                 flops);
    }
    if (!name) {
        line("FLOP a cycle a core", "unknown for this model");
        return;
    }
    line("microarchitecture", name);
    line("FLOP a cycle a core", text);
    line("  source", source);
}

int cmd_devices(int argc, char **argv) {
    static const struct option longs[] = {{"format", required_argument, NULL, 'f'},
                                          {"slug", no_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    static const char *const formats[] = {"table", "json"};
    int format = 0, slug = 0, c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (c) {
        case 'f':
            if (option_choice("--format", optarg, formats, 2, &format)) return STATUS_ERROR;
            break;
        case 's':
            slug = 1;
            break;
        case 'h':
            help();
            return STATUS_OK;
        default:
            return STATUS_ERROR;
        }
    }
    if (option_no_operands(argc, argv, optind)) return STATUS_ERROR;

    struct device d;
    struct cpu_facts facts;
    char text[160];
    device_cpu_init(&d);
    os_cpu_facts(&facts);
    const struct vendors vendors = vendors_ask();
    if (slug) {
        puts(d.slug);
    } else if (format == 1) {
        run_info_print(stdout, &d, argc, argv);
    } else {
        printf("cpu: %s\n", d.model);
        line("slug", d.slug);
        snprintf(text, sizeof text, "%s", facts.vendor[0] ? facts.vendor : "unknown");
        if (facts.family >= 0)
            snprintf(text, sizeof text, "%s family %d model %d", facts.vendor, facts.family,
                     facts.model_number);
        line("CPUID", text);
        snprintf(text, sizeof text, "%d of %d CPUs%s", d.max_threads, facts.logical_cpus,
                 facts.quota_cpus < facts.logical_cpus ? " (cgroup quota)"
                 : d.max_threads < facts.logical_cpus  ? " (affinity mask)"
                                                       : "");
        line("threads", text);
        if (facts.virtual_machine)
            line("virtual machine", "yes: the host may move the CPUs and share their caches");
        print_levels(&d);
        line("instruction set", isa_names[isa_level()]);
        print_peaks(&facts);
        for (int i = 0; i < VENDORS; i++)
            line(vendor_names[i], vendors.version[i][0] ? vendors.version[i] : "not installed");
        snprintf(text, sizeof text, "%.2f GHz, measured now", d.conditions(&d).clock_ghz);
        line("clock", text);
        line("temperature", isnan(os_temperature_c()) ? "not readable" : "readable");
        line("energy counter", isnan(os_energy_j()) ? "not readable" : "readable");
    }
    d.close(&d);
    return STATUS_OK;
}
