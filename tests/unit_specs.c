/* unit_specs.c - published peaks: the lecture's figures, lookups by name and CPUID, and that unknown stays unknown. */
#include "../harness/specs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(bool ok, const char *what) {
    if (ok) return;
    printf("FAILED: %s\n", what);
    failures++;
}

static void near(double got, double want, double tolerance, const char *what) {
    if (fabs(got - want) <= tolerance) return;
    printf("FAILED: %s is %.6g, not %.6g\n", what, got, want);
    failures++;
}

static void gpus(void) {
    const struct gpu_spec *a100 = spec_gpu("A100 SXM4 80GB"),
                          *h100 = spec_gpu("NVIDIA H100 80GB HBM3");
    const struct gpu_spec *b200 = spec_gpu("nvidia b200");
    check(a100 && h100 && b200, "A100, H100 and B200 are known");
    if (!a100 || !h100 || !b200) return;
    near(a100->gflop_s[DT_fp32], 19.5e3, 0, "A100 fp32");
    near(a100->gflop_s[DT_bf16], 312e3, 0, "A100 bf16");
    near(a100->gflop_s[DT_fp16], 312e3, 0, "A100 fp16");
    near(a100->gflop_s[DT_fp64], 19.5e3, 0, "A100 fp64 on tensor cores");
    near(a100->vector_fp64_gflop_s, 9.7e3, 1e-9, "A100 fp64 on vector units");
    near(h100->gflop_s[DT_fp32], 67e3, 0, "H100 fp32");
    near(h100->gflop_s[DT_bf16], 989.5e3, 0, "H100 bf16");
    near(h100->gbyte_s, 3350, 0, "H100 bandwidth");
    near(spec_intensity(h100, DT_bf16), 295.4, 0.05, "H100 accelerator intensity, bf16");
    near(spec_intensity(h100, DT_fp32), 20, 1e-9, "H100 accelerator intensity, fp32");
    near(spec_intensity(h100, DT_fp8_e4m3), 591, 0.5, "H100 accelerator intensity, fp8");
    near(h100->gflop_s[DT_fp8_e5m2], 1979e3, 0, "H100 fp8 is the dense half of 3958");
    near(b200->gflop_s[DT_fp32], 75e3, 0, "B200 fp32");
    near(b200->gflop_s[DT_bf16], 2250e3, 0, "B200 bf16");
    near(b200->gflop_s[DT_nvfp4], 9000e3, 0, "B200 nvfp4");
    check(isnan(a100->gflop_s[DT_fp8_e4m3]), "A100 has no fp8 peak");
    check(isnan(h100->gflop_s[DT_nvfp4]), "H100 has no nvfp4 peak");
    check(!spec_gpu("NVIDIA H100 80GB HBM3 MIG 1g.10gb"),
          "a slice of a card has not the card's peak");
    check(!spec_gpu("NVIDIA H100"), "half a name is no name");
    check(!spec_gpu("NVIDIA Z999") && !spec_gpu(""), "an unknown card is not found");
}

static void every_row(void) {
    size_t count;
    const struct gpu_spec *gpu = spec_gpus(&count);
    check(count >= 12, "a dozen GPUs");
    for (size_t i = 0; i < count; i++) {
        check(strncmp(gpu[i].url, "https://", 8) == 0 && strlen(gpu[i].source) > 20, gpu[i].name);
        check(gpu[i].gbyte_s > 100 && gpu[i].gflop_s[DT_fp32] > 1e3 && gpu[i].memory_gbyte > 1,
              gpu[i].name);
        check(gpu[i].sms > 0 && gpu[i].boost_ghz > 1 && gpu[i].boost_ghz < 3, gpu[i].name);
        check(spec_gpu(gpu[i].name) == &gpu[i], gpu[i].name);
        check(!*gpu[i].driver_name || spec_gpu(gpu[i].driver_name) == &gpu[i], gpu[i].driver_name);
        if (!isnan(gpu[i].gflop_s[DT_fp8_e4m3]))
            check(gpu[i].gflop_s[DT_fp8_e4m3] >= 1.9 * gpu[i].gflop_s[DT_bf16], gpu[i].name);
    }
}

static void cpu(const char *vendor, int family, int model, enum dtype t, double want) {
    double rate = NAN;
    const char *name = "", *source = "";
    char what[96];
    const bool known = spec_cpu(vendor, family, model, t, &rate, &name, &source);
    snprintf(what, sizeof what, "%s family %d model 0x%x %s (%s)", vendor, family, (unsigned)model,
             dtypes[t].name, name);
    if (isnan(want)) {
        check(!known, what);
        return;
    }
    check(known && *name && strlen(source) > 20, what);
    near(rate, want, 0, what);
}

int main(void) {
    gpus();
    every_row();
    const int zen4[] = {0x10, 0x11, 0x1f, 0x60, 0x7f, 0xa0, 0xaf};
    for (size_t i = 0; i < sizeof zen4 / sizeof *zen4; i++) {
        cpu("AuthenticAMD", 25, zen4[i], DT_fp64, 16);
        cpu("AuthenticAMD", 25, zen4[i], DT_fp32, 32);
        cpu("AuthenticAMD", 25, zen4[i], DT_bf16, 64);
    }
    cpu("AuthenticAMD", 25, 0x01, DT_fp32, 32);
    cpu("AuthenticAMD", 25, 0x01, DT_bf16, NAN);
    cpu("AuthenticAMD", 23, 0x08, DT_fp32, 16);
    cpu("AuthenticAMD", 26, 0x02, DT_fp64, 32);
    cpu("AuthenticAMD", 26, 0x24, DT_fp64, NAN);
    cpu("GenuineIntel", 6, 0x3f, DT_fp64, 16);
    cpu("GenuineIntel", 6, 0x6a, DT_fp32, 64);
    cpu("GenuineIntel", 6, 0x8f, DT_bf16, 1024);
    cpu("GenuineIntel", 6, 0x55, DT_fp64, NAN);
    cpu("GenuineIntel", 25, 0x11, DT_fp64, NAN);
    cpu("AuthenticAMD", 25, 0xb0, DT_fp64, NAN);
    cpu("CentaurHauls", 6, 0x3f, DT_fp64, NAN);
    if (!failures) printf("specs: ok\n");
    return failures != 0;
}
