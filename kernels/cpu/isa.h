/* isa.h - which instruction sets this CPU has, and rows that refuse where one is missing. */
#ifndef ISA_H
#define ISA_H
#include "../catalogue.h"

/* Each level has all before it. avx2: AVX2, FMA, F16C. avx512: F, BW, DQ, VL. amx_bf16: AMX tiles,
 * which the kernel lets this process use, and their bf16 products. */
enum isa { ISA_portable, ISA_avx2, ISA_avx512, ISA_avx512_bf16, ISA_amx_bf16, ISA_COUNT };

extern const char *const isa_names[ISA_COUNT];

/* The highest level that CPU and operating system support; ROOFLINE_ISA=<name> in the environment lowers it. */
enum isa isa_level(void);

/* The value of ROOFLINE_ISA when it names no level; NULL: it does, or is empty or not set. */
const char *isa_bad_request(void);

/* Whether this CPU is slower at a row than at one that its table puts before it. */
bool isa_outdone(const struct impl *row, const struct args *problem);

/* impl.refuses for rows that need a level: "this CPU has no AVX2, FMA and F16C", or NULL. */
const char *refuses_without_avx2(const struct args *a);
const char *refuses_without_avx512(const struct args *a);
const char *refuses_without_avx512_bf16(const struct args *a);
const char *refuses_without_amx_bf16(const struct args *a);
#endif
