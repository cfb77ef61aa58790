/* isa.c - CPUID by way of the compiler, which also asks the operating system about the wide registers. */
#include "isa.h"

#include <stdlib.h>
#include <string.h>

const char *const isa_names[ISA_COUNT] = {"portable", "avx2", "avx512", "avx512_bf16"};

static enum isa detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return ISA_portable;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return ISA_avx2;
    return __builtin_cpu_supports("avx512bf16") ? ISA_avx512_bf16 : ISA_avx512;
#else
    return ISA_portable;
#endif
}

enum isa isa_level(void) {
    enum isa level = detect();
    const char *cap = getenv("ROOFLINE_ISA");
    for (int i = 0; cap && i < ISA_COUNT; i++)
        if (strcmp(cap, isa_names[i]) == 0 && i < (int)level) level = (enum isa)i;
    return level;
}

const char *refuses_without_avx2(const struct args *a) {
    (void)a;
    return isa_level() >= ISA_avx2 ? NULL : "this CPU has no AVX2, FMA and F16C";
}

const char *refuses_without_avx512(const struct args *a) {
    (void)a;
    return isa_level() >= ISA_avx512 ? NULL : "this CPU has no AVX-512 (F, BW, DQ, VL)";
}

const char *refuses_without_avx512_bf16(const struct args *a) {
    (void)a;
    return isa_level() >= ISA_avx512_bf16 ? NULL : "this CPU has no AVX-512 BF16";
}
