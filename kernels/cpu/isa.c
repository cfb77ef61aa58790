/* isa.c - CPUID by way of the compiler, which also asks the operating system about the wide registers. Not every
 * compiler has names for F16C and AMX: those bits are read here. Linux gives a process AMX's tiles, 8 KiB of state a
 * thread, only when it asks (Documentation/arch/x86/xstate.rst). */
#define _GNU_SOURCE /* syscall */
#include "isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char *const isa_names[ISA_COUNT] = {"portable", "avx2", "avx512", "avx512_bf16", "amx_bf16"};

#if defined(__x86_64__)
static bool has_f16c(void) {
    enum { LEAF_FEATURES = 1, F16C_IN_ECX = 29 };
    unsigned a, b, c, d;
    return __get_cpuid(LEAF_FEATURES, &a, &b, &c, &d) && (c >> F16C_IN_ECX & 1);
}
#endif

/* AMX: the CPU lacks it; it has it and the kernel does not keep its registers or grant them; it can be used. */
enum amx { AMX_missing, AMX_denied, AMX_granted };

#if defined(__x86_64__) && defined(__linux__)
static bool has_amx_bf16(void) {
    enum { LEAF_FEATURES = 7, BF16_IN_EDX = 22, TILE_IN_EDX = 24 };
    unsigned a, b, c, d;
    return __get_cpuid_count(LEAF_FEATURES, 0, &a, &b, &c, &d) && (d >> BF16_IN_EDX & 1) &&
           (d >> TILE_IN_EDX & 1);
}

/* Only where AVX can be used, so that xgetbv exists. */
static bool kernel_keeps_tiles(void) {
    enum { LEAF_STATE = 13, CONFIG_AND_DATA = 3 << 17 }; /* bits of XCR0 */
    unsigned a, b, c, d;
    if (!__get_cpuid_count(LEAF_STATE, 0, &a, &b, &c, &d)) return false;
    if ((a & CONFIG_AND_DATA) != CONFIG_AND_DATA) return false;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (a & CONFIG_AND_DATA) == CONFIG_AND_DATA;
}

static enum amx ask_for_amx(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    if (!has_amx_bf16()) return AMX_missing;
    if (!kernel_keeps_tiles()) return AMX_denied;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 ? AMX_granted : AMX_denied;
}
#elif defined(__x86_64__)
static enum amx ask_for_amx(void) { return AMX_missing; }
#endif

static struct {
    enum isa level;
    enum amx amx;
    bool zen4;
} found = {ISA_portable, AMX_missing, false};

static void find(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return;
    found.level = ISA_avx2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return;
    found.level = ISA_avx512;
    found.zen4 = __builtin_cpu_is("amdfam19h"); /* Zen 3, of that family too, lacks AVX-512 */
    if (!__builtin_cpu_supports("avx512bf16")) return;
    found.amx = ask_for_amx();
    found.level = found.amx == AMX_granted ? ISA_amx_bf16 : ISA_avx512_bf16;
#endif
}

/* Once a process: a hypervisor takes microseconds to answer CPUID, and products of one row or column ask for the level
 * in every call. */
static void detect(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
}

/* The level that the environment asks for; ISA_COUNT when it asks for none, or for what is none. */
static enum isa request(const char *name) {
    int i = 0;
    while (i < ISA_COUNT && !(name && strcmp(name, isa_names[i]) == 0)) i++;
    return (enum isa)i;
}

enum isa isa_level(void) {
    detect();
    const enum isa cap = request(getenv("ROOFLINE_ISA"));
    return cap < found.level ? cap : found.level;
}

const char *isa_bad_request(void) {
    const char *name = getenv("ROOFLINE_ISA");
    return name && *name && request(name) == ISA_COUNT ? name : NULL;
}

/* Cores that have AMX spend as long on vdpbf16ps, of 64 FLOPs, as on four FMAs of 32 (measured on
 * Granite Rapids); AMD's as long as on one of 512 bits. Zen 4 reads its level 1 by 512 bits no faster than by 256, of
 * which it has two a cycle: dot there 3 to 5 % slower, with more to sum up at the end. */
bool isa_outdone(const struct impl *row, const struct args *problem) {
    enum { ZEN4_LEVEL1 = 32 << 10 };
    detect();
    /* Zen 4 halves vectors of 512 bits. Two operands within level 1 are read sooner without, and fp16 is widened at half the rate;
     * bf16, fp8 and nvfp4 are decoded in words that AVX-512 alone has, up to 1.8 times as fast. */
    if (found.zen4 && strcmp(row->name, "avx512") == 0) {
        const enum dtype t = row->dtype;
        if (t == DT_fp16) return row->op == OP_dot || row->op == OP_mse;
        return row->op == OP_dot && (t == DT_fp64 || t == DT_fp32) &&
               2 * problem->s.n * (dtypes[t].bits / 8) <= ZEN4_LEVEL1;
    }
    return strcmp(row->name, "packed_avx512_bf16") == 0 && found.amx != AMX_missing;
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

const char *refuses_without_amx_bf16(const struct args *a) {
    (void)a;
    if (isa_level() >= ISA_amx_bf16) return NULL;
    return found.amx == AMX_denied ? "the kernel denies this process the tiles of AMX"
                                   : "this CPU has no AMX BF16";
}
