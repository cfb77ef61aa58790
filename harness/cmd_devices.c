/* cmd_devices.c - what is here, and what can be read from it. */
#include "commands.h"
#include "devices.h"
#include "nvml.h"
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
    puts("Usage: roofline devices [--device NAME] [--format table|json] [--slug]\n"
         "\n"
         "Describes the devices of this machine: model, caches, threads that may be used, "
         "instruction sets, peaks by\n"
         "specification, vendor libraries, sensors.\n"
         "\n"
         "  --device NAME   only this one: cpu, gpu (the first), cuda:0, a UUID, a PCI bus id\n"
         "  --format json   as one JSON object, what run.json of a run holds; of the GPU where "
         "there is one\n"
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

static void print_cpu_peaks(const struct cpu_facts *facts) {
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

static void print_vendors(const struct device *d) {
    const struct vendors vendors = vendors_ask(d->vendors);
    for (int i = 0; i < MAX_VENDORS && d->vendors->name[i]; i++)
        line(d->vendors->name[i], vendors.version[i][0] ? vendors.version[i] : "not installed");
}

static void print_cpu(struct device *d) {
    struct cpu_facts facts;
    char text[160];
    os_cpu_facts(&facts);
    printf("cpu: %s\n", d->model);
    line("slug", d->slug);
    snprintf(text, sizeof text, "%s", facts.vendor[0] ? facts.vendor : "unknown");
    if (facts.family >= 0)
        snprintf(text, sizeof text, "%s family %d model %d", facts.vendor, facts.family,
                 facts.model_number);
    line("CPUID", text);
    snprintf(text, sizeof text, "%d of %d CPUs%s", d->max_threads, facts.logical_cpus,
             facts.quota_cpus < facts.logical_cpus ? " (cgroup quota)"
             : d->max_threads < facts.logical_cpus ? " (affinity mask)"
                                                   : "");
    line("threads", text);
    if (facts.virtual_machine)
        line("virtual machine", "yes: the host may move the CPUs and share their caches");
    print_levels(d);
    line("instruction set", isa_names[isa_level()]);
    print_cpu_peaks(&facts);
    print_vendors(d);
    snprintf(text, sizeof text, "%.2f GHz, measured now", d->conditions(d).clock_ghz);
    line("clock", text);
    line("temperature", isnan(os_temperature_c()) ? "not readable" : "readable");
    line("energy counter", isnan(os_energy_j()) ? "not readable" : "readable");
}

/* "fp32 66.9, bf16 989" in TFLOP/s; rates in GFLOP/s, NaN where unknown. */
static void rates_text(const double gflop_s[DTYPE_COUNT], char *text, size_t size) {
    size_t used = 0;
    *text = '\0';
    for (int t = 0; t < DTYPE_COUNT; t++) {
        if (isnan(gflop_s[t])) continue;
        const int n = snprintf(text + used, size - used, "%s%s %.4g", used ? ", " : "",
                               dtypes[t].name, gflop_s[t] * 1e-3);
        if (n > 0 && used + (size_t)n < size) used += (size_t)n;
    }
    if (!used) snprintf(text, size, "unknown");
}

/* Whether the driver lets everyone read a GPU's counters: NVIDIA's module writes its parameters to a file. */
static const char *counters_permission(void) {
    FILE *f = fopen("/proc/driver/nvidia/params", "r");
    char text[128];
    int admin_only = -1;
    if (!f) return "unknown: no /proc/driver/nvidia/params";
    while (admin_only < 0 && fgets(text, sizeof text, f))
        if (sscanf(text, "RmProfilingAdminOnly: %d", &admin_only) != 1) admin_only = -1;
    fclose(f);
    return admin_only == 0   ? "for everyone"
           : admin_only == 1 ? "for root and CAP_SYS_ADMIN only (the module option "
                               "NVreg_RestrictProfilingToAdminUsers=0 changes it)"
                             : "unknown";
}

static void print_sensors(const struct gpu_info *g) {
    char text[256] = "";
    struct nvml_state state;
    struct nvml *n = nvml_open(g->pci_bus_id, text, sizeof text);
    if (!n) {
        line("clocks, power", text);
        return;
    }
    if (*nvml_driver_version(n)) line("driver", nvml_driver_version(n));
    if (nvml_read(n, &state) == 0) {
        snprintf(text, sizeof text, "%.2f GHz now, %.0f C, %.0f of %.0f W", state.sm_clock_ghz,
                 state.temperature_c, state.power_w, state.power_limit_w);
        line("clocks, power", text);
        char reasons[NVML_THROTTLE_BYTES];
        nvml_throttle_text(state.throttle, reasons, sizeof reasons);
        line("held back by", !state.throttle_known ? "unknown" : *reasons ? reasons : "nothing");
    }
    nvml_close(n);
}

static void print_gpu(struct device *d) {
    const struct gpu_info *g = device_cuda_info(d);
    char text[256], bytes[32];
    double computed[DTYPE_COUNT];
    const struct gpu_spec *spec = spec_gpu(g->name);
    printf("%s: %s\n", d->name, d->model);
    line("slug", d->slug);
    line(g->mig ? "UUID of the slice" : "UUID", g->uuid);
    line("PCI bus", g->pci_bus_id[0] ? g->pci_bus_id : "unknown");
    snprintf(text, sizeof text, "%d.%d, %d multiprocessors", g->facts.cc / 10, g->facts.cc % 10,
             g->facts.sms);
    line("compute capability", text);
    snprintf(text, sizeof text, "%.2f GHz at most", g->boost_ghz);
    line("clock", isnan(g->boost_ghz) ? "unknown" : text);
    format_bytes((double)g->memory_bytes, bytes, sizeof bytes);
    snprintf(text, sizeof text, "%s%s", bytes, g->ecc ? ", with ECC" : "");
    line("memory", text);
    if (g->bus_bits > 0 && !isnan(g->memory_ghz)) {
        snprintf(text, sizeof text, "%d bits x 2 x %.3f GHz = %.0f GB/s", g->bus_bits,
                 g->memory_ghz, 2 * g->memory_ghz * g->bus_bits / 8);
        line("memory bus", text);
    }
    format_bytes((double)g->facts.l2_bytes, bytes, sizeof bytes);
    line("L2", bytes);
    format_bytes((double)g->facts.smem_block_bytes, bytes, sizeof bytes);
    snprintf(text, sizeof text, "%s a block", bytes);
    line("shared memory", text);
    rates_text(d->spec_gflop_s, text, sizeof text);
    line("published TFLOP/s", text);
    if (spec) {
        snprintf(text, sizeof text, "%.0f GB/s", spec->gbyte_s);
        line("published bandwidth", text);
        line("  source", spec->source);
    }
    for (int t = 0; t < DTYPE_COUNT; t++)
        computed[t] = d->flops_per_cycle(d, (enum dtype)t, 1) * g->boost_ghz;
    rates_text(computed, text, sizeof text);
    line("at the highest clock", text);
    print_vendors(d);
    print_sensors(g);
    line("counters", counters_permission());
    snprintf(text, sizeof text, "%d.%d; this program's runtime %d.%d", g->driver_version / 1000,
             g->driver_version / 10 % 100, g->runtime_version / 1000,
             g->runtime_version / 10 % 100);
    line("driver's CUDA", text);
}

static void print_device(struct device *d) {
    if (d->gpu)
        print_gpu(d);
    else
        print_cpu(d);
}

int cmd_devices(int argc, char **argv) {
    static const struct option longs[] = {{"format", required_argument, NULL, 'f'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"slug", no_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    static const char *const formats[] = {"table", "json"};
    const char *only = NULL;
    int format = 0, slug = 0, c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (c) {
        case 'f':
            if (option_choice("--format", optarg, formats, 2, &format)) return STATUS_ERROR;
            break;
        case 'd':
            only = optarg;
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
    const struct gpus *gpus = devices_gpus();
    if (only || slug || format == 1) {
        if (device_pick(only, &d)) return STATUS_ERROR;
        if (slug)
            puts(d.slug);
        else if (format == 1)
            run_info_print(stdout, &d, argc, argv);
        else
            print_device(&d);
        d.close(&d);
        return STATUS_OK;
    }
    device_cpu_init(&d);
    print_device(&d);
    d.close(&d);
    for (int i = 0; i < gpus->count; i++) {
        putchar('\n');
        device_cuda_init(&d, &gpus->gpu[i]);
        print_device(&d);
        d.close(&d);
    }
    if (gpus->count == 0) printf("\nno GPU: %s\n", gpus->why_none);
    return STATUS_OK;
}
