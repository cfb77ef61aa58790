/* isa.c - CPUID by way of the compiler, which also asks the operating system about the wide registers. Not every
 * compiler has a name for F16C: that bit is read here. */
#include "isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <stdlib.h>
#include <string.h>

const char *const isa_names[ISA_COUNT] = {"portable", "avx2", "avx512", "avx512_bf16"};

#if defined(__x86_64__)
static bool has_f16c(void) {
    enum { LEAF_FEATURES = 1, F16C_IN_ECX = 29 };
    unsigned a, b, c, d;
    return __get_cpuid(LEAF_FEATURES, &a, &b, &c, &d) && (c >> F16C_IN_ECX & 1);
}
#endif

static enum isa detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c())
        return ISA_portable;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return ISA_avx2;
    return __builtin_cpu_supports("avx512bf16") ? ISA_avx512_bf16 : ISA_avx512;
#else
    return ISA_portable;
#endif
}

/* The level that the environment asks for; ISA_COUNT when it asks for none, or for what is none. */
static enum isa request(const char *name) {
    int i = 0;
    while (i < ISA_COUNT && !(name && strcmp(name, isa_names[i]) == 0)) i++;
    return (enum isa)i;
}

enum isa isa_level(void) {
    const enum isa level = detect(), cap = request(getenv("ROOFLINE_ISA"));
    return cap < level ? cap : level;
}

const char *isa_bad_request(void) {
    const char *name = getenv("ROOFLINE_ISA");
    return name && *name && request(name) == ISA_COUNT ? name : NULL;
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
