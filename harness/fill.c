/* fill.c - operands from a pool of 4096 encoded blocks: as fast as a copy, for any dtype, and incompressible. */
#include "fill.h"

#include "../kernels/cpu/parallel.h"
#include "../kernels/numerics.h"

#include <stdlib.h>

enum { BLOCK = NVFP4_BLOCK, BLOCKS = 4096 }; /* so that a pool block carries one nvfp4 scale */

const char *const fill_names[FILL_COUNT] = {"normal", "uniform", "integers", "constant", "zeros"};

const double hyper_defaults[HYPER_COUNT] = {
    [HYPER_LR] = 0.5,     [HYPER_BETA1] = 0.75,      [HYPER_BETA2] = 0.875,
    [HYPER_EPS] = 0x1p-7, [HYPER_DECAY] = 0x1p-16,   [HYPER_CORRECT1] = 4, /* t = 1 */
    [HYPER_CORRECT2] = 8, [HYPER_GRAD_SCALE] = 0.25,
};

void fill_hyper(enum dtype t, void *vector) {
    for (int i = 0; i < HYPER_COUNT; i++)
        value_put(t, vector, HYPER_COUNT, i, (long double)hyper_defaults[i]);
}

static uint64_t mix(uint64_t z) { /* splitmix64, Steele, Lea, Flood 2014 */
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform01(uint64_t counter) { return ((double)(mix(counter) >> 11) + 0.5) * 0x1p-53; }

static double draw(enum fill fill, enum domain domain, uint64_t i) {
    static const double integers[] = {-2, -1, 1, 2}, two_pi = 6.28318530717958647692;
    double x = 0;
    switch (fill) {
    case FILL_normal:
        x = sqrt(-2 * log(uniform01(2 * i))) * cos(two_pi * uniform01(2 * i + 1));
        break;
    case FILL_uniform:
        x = 2 * uniform01(i) - 1;
        break;
    case FILL_integers:
        x = integers[mix(i) & 3];
        break;
    case FILL_constant:
        x = 0.5;
        break;
    case FILL_zeros:
    case FILL_COUNT:
        break;
    }
    if (domain == DOMAIN_POSITIVE && fill != FILL_zeros)
        return fabs(x) + (fill == FILL_integers ? 0 : 0.25);
    if (domain == DOMAIN_UNIT && fill == FILL_normal) return x - 2 * rint(x / 2);
    return x;
}

/* Integers keep their codes and take scales that are powers of two; the rest is quantised. */
static void draw_nvfp4_block(struct fill_pool *p, enum fill fill, int block, const float x[BLOCK]) {
    uint8_t *codes = (uint8_t *)p->blocks + (size_t)block * BLOCK / 2;
    if (fill == FILL_integers) {
        static const float scale[] = {0.5f, 1, 2, 1};
        for (int i = 0; i < BLOCK; i += 2)
            codes[i / 2] = (uint8_t)(e2m1_of_float(x[i]) | e2m1_of_float(x[i + 1]) << 4);
        p->scales[block] = e4m3_of_float(scale[block & 3]);
        return;
    }
    nvfp4_quantize_block(x, p->tensor_scale, codes, &p->scales[block]);
}

static int make_pool(struct fill_pool *p, enum fill fill, enum dtype t, enum domain domain) {
    p->dtype = t;
    p->tensor_scale = fill == FILL_integers ? 1 : 0x1p-9f;
    p->blocks = malloc((size_t)BLOCKS * BLOCK * (size_t)dtypes[t].bits / 8);
    p->scales = malloc(BLOCKS);
    if (!p->blocks || !p->scales) {
        free(p->blocks);
        free(p->scales);
        p->blocks = NULL;
        return -1;
    }
    for (int block = 0; block < BLOCKS; block++) {
        float x[BLOCK];
        for (int i = 0; i < BLOCK; i++) {
            const int64_t at = (int64_t)block * BLOCK + i;
            const double value = draw(fill, domain, (uint64_t)at);
            x[i] = (float)value;
            if (t != DT_nvfp4)
                value_put(t, p->blocks, (int64_t)BLOCKS * BLOCK, at, (long double)value);
        }
        if (t == DT_nvfp4) draw_nvfp4_block(p, fill, block, x);
    }
    return 0;
}

const struct fill_pool *fill_pool_get(enum fill fill, enum dtype t, enum domain domain) {
    static struct fill_pool made[FILL_COUNT][DTYPE_COUNT][DOMAIN_UNIT + 1];
    struct fill_pool *p = &made[fill][t][domain];
    return p->blocks || make_pool(p, fill, t, domain) == 0 ? p : NULL;
}

static size_t pick_block(uint64_t seed, int64_t i) {
    return mix(seed << 48 ^ (uint64_t)(i / BLOCK)) % BLOCKS;
}

static bool block_is_intact(const struct fill_pool *p, const void *tensor, int64_t elements,
                            uint64_t seed, int64_t block) {
    const size_t block_bytes = BLOCK * (size_t)dtypes[p->dtype].bits / 8;
    const size_t pick = pick_block(seed, block * BLOCK);
    const int64_t left = elements - block * BLOCK;
    const size_t bytes = left < BLOCK ? (size_t)left * (block_bytes / BLOCK) : block_bytes;
    if (memcmp((const uint8_t *)tensor + (size_t)block * block_bytes,
               (const uint8_t *)p->blocks + pick * block_bytes, bytes) != 0)
        return false;
    return p->dtype != DT_nvfp4 || nvfp4_scales_const(tensor, elements)[block] == p->scales[pick];
}

bool fill_is_intact(const struct fill_pool *p, const void *tensor, int64_t elements,
                    uint64_t seed) {
    enum { ENDS = 4096, STRIDE = 61 };
    const int64_t blocks = (elements + BLOCK - 1) / BLOCK;
    for (int64_t block = 0; block < blocks; block++) {
        if (!block_is_intact(p, tensor, elements, seed, block)) return false;
        if (block >= ENDS && block + STRIDE < blocks - ENDS) block += STRIDE - 1;
    }
    return p->dtype != DT_nvfp4 || nvfp4_tensor_scale(tensor, elements) == p->tensor_scale;
}

void fill_tensor(const struct fill_pool *p, void *tensor, int64_t elements, uint64_t seed,
                 int threads) {
    const size_t block_bytes = BLOCK * (size_t)dtypes[p->dtype].bits / 8;
    const size_t element_bytes = block_bytes / BLOCK; /* 0 for nvfp4, which has whole blocks only */
    uint8_t *out = tensor, *scales = p->dtype == DT_nvfp4 ? nvfp4_scales(tensor, elements) : NULL;
#pragma omp parallel num_threads(threads)
    {
        const struct range r = my_slice(elements, 64);
        for (int64_t i = r.begin; i < r.end; i += BLOCK) {
            const size_t pick = pick_block(seed, i);
            const int64_t count = r.end - i < BLOCK ? r.end - i : BLOCK;
            memcpy(out + (size_t)(i / BLOCK) * block_bytes,
                   (const uint8_t *)p->blocks + pick * block_bytes,
                   count == BLOCK ? block_bytes : (size_t)count * element_bytes);
            if (scales) scales[i / BLOCK] = p->scales[pick];
        }
    }
    if (!scales) return;
    memset(scales + elements / BLOCK, 0,
           nvfp4_tensor_scale_offset(elements) - (size_t)(elements / 2 + elements / BLOCK));
    nvfp4_set_tensor_scale(tensor, elements, p->tensor_scale);
}

/* (n + 1)^u with u even over [0, 1) has density 1/x. */
static int32_t draw_index(enum fill fill, int64_t n, uint64_t seed, int64_t i) {
    const double u = uniform01(seed << 48 ^ (uint64_t)i);
    double x = 0;
    switch (fill) {
    case FILL_normal:
    case FILL_integers:
        x = exp(u * log((double)n + 1)) - 1;
        break;
    case FILL_uniform:
        x = u * (double)n;
        break;
    case FILL_constant:
        x = (double)n / 2;
        break;
    case FILL_zeros:
    case FILL_COUNT:
        break;
    }
    const int64_t whole = (int64_t)x;
    return (int32_t)(whole < n ? whole : n - 1);
}

void fill_indices(enum fill fill, int32_t *index, int64_t elements, int64_t n, uint64_t seed,
                  int threads) {
#pragma omp parallel num_threads(threads)
    {
        const struct range r = my_slice(elements, 64);
        for (int64_t i = r.begin; i < r.end; i++) index[i] = draw_index(fill, n, seed, i);
    }
}

bool indices_are_intact(enum fill fill, const int32_t *index, int64_t elements, int64_t n,
                        uint64_t seed) {
    for (int64_t i = 0; i < elements; i++)
        if (index[i] != draw_index(fill, n, seed, i)) return false;
    return true;
}
