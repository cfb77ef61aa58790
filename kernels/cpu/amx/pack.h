/* pack.h - operands as panels of AMX tiles.
 *
 * A panel is PANEL lanes (rows of A, columns of B) by steps of k, 2 KiB a step. What the tiles
 * multiply are pairs, two neighbours along k in 32 bits, 16 pairs a step:
 *   of A [step][PANEL][16 pairs], of B [step][2 tiles][16 pairs][16 lanes].
 * bf16 is stored as it is; fp8, and nvfp4 without its tensor scale (2 + 4 significant bits), are
 * exact in bf16. An fp16 is the sum of two bf16, its upper 8 significant bits and the lower 3,
 * which are a pair by themselves: B has a step of upper and one of lower parts for a step of A, so
 * that all four products are added, each exact. An infinity has no lower part: its products are
 * NaN. */
#ifndef AMX_PACK_H
#define AMX_PACK_H
#include "../packed/packed.h"

/* Lanes lane0 ... lane0 + lanes - 1 of p0 <= p < p0 + kc to panels one after the other; what lies
 * beyond in the last ones is 0. The operand is read in runs as long as it has them. */
typedef void panels_fn(const struct panel_source *x, int64_t lane0, int64_t lanes, int64_t p0,
                       int64_t kc, char *panels);

struct panel_format {
    int k_step;   /* elements of k in a step of A */
    int b_copies; /* steps of B for one of A */
    int bits;     /* of an element as stored */
    panels_fn *pack_a, *pack_b;
};

extern const struct panel_format panels_bf16, panels_fp16, panels_fp8_e4m3, panels_fp8_e5m2,
    panels_nvfp4;
#endif
