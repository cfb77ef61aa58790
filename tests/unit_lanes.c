/* unit_lanes.c - an instruction set's vector loads, stores and transposes against numerics.h:
 * every pattern of the 8- and 16-bit formats, every length of a part, and floats around every
 * rounding boundary of a 16-bit store. */
#include LANES_FILE

#include <stdio.h>

static int failures;

static void expect(const char *what, uint32_t at, float got, float want) {
    if (bits_of_float(got) == bits_of_float(want) || (isnan(got) && isnan(want))) return;
    if (failures++ < 20) printf("%s(0x%x): %a, not %a\n", what, at, (double)got, (double)want);
}

static void check_loads(void) {
    float got[F32_LANES];
    uint8_t bytes[F32_LANES];
    uint16_t words[F32_LANES];
    for (uint32_t first = 0; first < 65536; first += F32_LANES) {
        for (int i = 0; i < F32_LANES; i++) words[i] = (uint16_t)(first + (uint32_t)i);
        fp32_store(got, fp16_load(words));
        for (int i = 0; i < F32_LANES; i++)
            expect("fp16_load", words[i], got[i], fp16_to_float(words[i]));
        fp32_store(got, bf16_load(words));
        for (int i = 0; i < F32_LANES; i++)
            expect("bf16_load", words[i], got[i], bf16_to_float(words[i]));
        if (first >= 256) continue;
        for (int i = 0; i < F32_LANES; i++) bytes[i] = (uint8_t)(first + (uint32_t)i);
        fp32_store(got, fp8_e4m3_load(bytes));
        for (int i = 0; i < F32_LANES; i++)
            expect("fp8_e4m3_load", bytes[i], got[i], e4m3_to_float(bytes[i]));
        fp32_store(got, fp8_e5m2_load(bytes));
        for (int i = 0; i < F32_LANES; i++)
            expect("fp8_e5m2_load", bytes[i], got[i], e5m2_to_float(bytes[i]));
    }
}

/* Every upper half of a float with lower halves at, below and above the ties of bf16, then of
 * fp16. */
static void check_stores(void) {
    static const uint32_t lower[] = {0,      1,      0x7fff, 0x8000, 0x8001, 0xffff,
                                     0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001};
    for (uint32_t upper = 0; upper < 65536; upper += F32_LANES)
        for (size_t l = 0; l < sizeof lower / sizeof *lower; l++) {
            float x[F32_LANES];
            uint16_t half[F32_LANES], brain[F32_LANES];
            for (int i = 0; i < F32_LANES; i++)
                x[i] = float_of_bits((upper + (uint32_t)i) << 16 | lower[l]);
            fp16_store(half, fp32_load(x));
            bf16_store(brain, fp32_load(x));
            for (int i = 0; i < F32_LANES; i++) {
                const uint32_t at = bits_of_float(x[i]);
                expect("fp16_store", at, fp16_to_float(half[i]),
                       fp16_to_float(fp16_of_float(x[i])));
                expect("bf16_store", at, bf16_to_float(brain[i]),
                       bf16_to_float(bf16_of_float(x[i])));
            }
        }
}

/* Parts: the first n lanes are loaded and the rest are 0; the first n elements are stored and
 * the rest stay. */
static void check_parts(void) {
    uint16_t words[F32_LANES], stored[F32_LANES];
    uint8_t bytes[F32_LANES];
    float x[F32_LANES], got[F32_LANES];
    double wide[F64_LANES], wide_got[F64_LANES];
    for (int i = 0; i < F32_LANES; i++) {
        x[i] = (float)(i + 1);
        words[i] = bf16_of_float(x[i]);
        bytes[i] = e4m3_of_float(x[i]);
    }
    for (int i = 0; i < F64_LANES; i++) wide[i] = i + 1;
    for (int n = 0; n <= F32_LANES; n++) {
        for (int i = 0; i < F32_LANES; i++) stored[i] = 7;
        bf16_store_part(stored, fp32_load(x), n);
        for (int i = 0; i < F32_LANES; i++)
            expect("bf16_store_part", (uint32_t)n, (float)stored[i], i < n ? (float)words[i] : 7);
        fp32_store(got, bf16_load_part(words, n));
        for (int i = 0; i < F32_LANES; i++)
            expect("bf16_load_part", (uint32_t)n, got[i], i < n ? x[i] : 0);
        fp32_store(got, fp8_e4m3_load_part(bytes, n));
        for (int i = 0; i < F32_LANES; i++)
            expect("fp8_e4m3_load_part", (uint32_t)n, got[i], i < n ? e4m3_to_float(bytes[i]) : 0);
        fp32_store(got, fp32_load_part(x, n));
        for (int i = 0; i < F32_LANES; i++)
            expect("fp32_load_part", (uint32_t)n, got[i], i < n ? x[i] : 0);
        for (int i = 0; i < F32_LANES; i++) got[i] = -1;
        fp32_store_part(got, fp32_load(x), n);
        for (int i = 0; i < F32_LANES; i++)
            expect("fp32_store_part", (uint32_t)n, got[i], i < n ? x[i] : -1);
    }
    for (int n = 0; n <= F64_LANES; n++) {
        for (int i = 0; i < F64_LANES; i++) wide_got[i] = -1;
        fp64_store_part(wide_got, fp64_load_part(wide, n), n);
        for (int i = 0; i < F64_LANES; i++)
            expect("fp64_store_part", (uint32_t)n, (float)wide_got[i], i < n ? (float)wide[i] : -1);
    }
}

static void check_transposes(void) {
    f32s r[F32_LANES];
    f64s d[F64_LANES];
    float x[F32_LANES];
    for (int i = 0; i < F32_LANES; i++) {
        for (int j = 0; j < F32_LANES; j++) x[j] = (float)(100 * i + j);
        r[i] = fp32_load(x);
    }
    f32_transpose(r);
    for (int i = 0; i < F32_LANES; i++) {
        fp32_store(x, r[i]);
        for (int j = 0; j < F32_LANES; j++)
            expect("f32_transpose", (uint32_t)i, x[j], (float)(100 * j + i));
    }
    double y[F64_LANES];
    for (int i = 0; i < F64_LANES; i++) {
        for (int j = 0; j < F64_LANES; j++) y[j] = 100 * i + j;
        d[i] = fp64_load(y);
    }
    f64_transpose(d);
    for (int i = 0; i < F64_LANES; i++) {
        fp64_store(y, d[i]);
        for (int j = 0; j < F64_LANES; j++)
            expect("f64_transpose", (uint32_t)i, (float)y[j], (float)(100 * j + i));
    }
}

/* Every pair of codes under every scale. */
static void check_nvfp4(void) {
    _Alignas(64) uint8_t tensor[64] = {0};
    enum { ELEMENTS = 32 };
    nvfp4_set_tensor_scale(tensor, ELEMENTS, 0.37f);
    for (int scale = 0; scale < 256; scale++)
        for (int pair = 0; pair < 256; pair++) {
            float got[NVFP4_BLOCK];
            for (int i = 0; i < NVFP4_BLOCK / 2; i++)
                tensor[NVFP4_BLOCK / 2 + i] = (uint8_t)(pair + 37 * i);
            nvfp4_scales(tensor, ELEMENTS)[1] = (uint8_t)scale;
            nvfp4_decode(tensor, ELEMENTS, 1, got);
            for (int i = 0; i < NVFP4_BLOCK; i++)
                expect("nvfp4_decode", (uint32_t)pair, got[i],
                       nvfp4_get(tensor, ELEMENTS, NVFP4_BLOCK + i));
        }
}

int lanes_test(void); /* of unit_lanes_main.c */
int lanes_test(void) {
    check_loads();
    check_stores();
    check_parts();
    check_transposes();
    check_nvfp4();
    return failures > 0;
}
