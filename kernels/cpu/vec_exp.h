/* vec_exp.h - e^x for any x, and what gelu needs. Errors seen by tests/unit_kernels_math.c, in ulp: fp32 0.85 with fused
 * multiply-adds, 1.2 without; fp64 1.0 and 1.3.
 *
 * x = n ln 2 + r, |r| <= ln(2)/2, ln 2 in two parts of which the first times n is exact; e^r by a minimax polynomial
 * (relative error 3e-9 and 3e-17); times 2^n in two factors, so that subnormal results round once and large n overflow
 * to infinity by themselves. x is clamped to where the result is 0 or infinity; NaN passes through. */
#ifndef VEC_EXP_H
#define VEC_EXP_H

#ifndef OWN_EXP_FP32
/* 2^n e^r for shifted = anchor + n */
static inline vec_fp32 exp_scaled_fp32(vec_fp32 shifted, vec_fp32 r) {
    vec_fp32 p = splat_fp32(0x1.6a2434p-10f);
    p = madd_fp32(p, r, splat_fp32(0x1.1239e2p-7f));
    p = madd_fp32(p, r, splat_fp32(0x1.5558f2p-5f));
    p = madd_fp32(p, r, splat_fp32(0x1.555492p-3f));
    p = madd_fp32(p, r, splat_fp32(0x1.fffffcp-2f));
    p = madd_fp32(p, r, splat_fp32(1.0f));
    p = madd_fp32(p, r, splat_fp32(1.0f));

    /* n + 254 = first + second, each the biased exponent of a normal number */
    const uvec_fp32 both = bits_fp32(shifted) - (0x4b400000u - 254u);
    const uvec_fp32 first = both >> 1, second = both - first;
    return p * from_bits_fp32(first << 23) * from_bits_fp32(second << 23);
}

static inline vec_fp32 exp_of_fp32(vec_fp32 x) {
    x = smaller_fp32(splat_fp32(89.0f), larger_fp32(splat_fp32(-104.0f), x));

    const vec_fp32 anchor =
        splat_fp32(0x1.8p23f); /* adding it rounds to an integer, held in the low bits */
    const vec_fp32 shifted = madd_fp32(x, splat_fp32(0x1.715476p0f), anchor);
    const vec_fp32 n = shifted - anchor;
    vec_fp32 r = madd_fp32(n, splat_fp32(-0x1.62e400p-1f), x);
    r = madd_fp32(n, splat_fp32(-0x1.7f7d1cp-20f), r);
    return exp_scaled_fp32(shifted, r);
}

/* x / (1 + 2^(x (linear + cubic x^2))), -0 where x < -30; NaN passes through. */
static inline vec_fp32 gated_of_fp32(vec_fp32 x, vec_fp32 linear, vec_fp32 cubic) {
    const vec_fp32 anchor = splat_fp32(0x1.8p23f);
    x = larger_fp32(splat_fp32(-30), x); /* keeps -infinity from becoming NaN */
    const vec_fp32 w = madd_fp32(x * x, cubic, linear);
    const vec_fp32 v = smaller_fp32(splat_fp32(129.0f), larger_fp32(splat_fp32(-151.0f), x * w)),
                   shifted = v + anchor;
    const vec_fp32 r = (v - (shifted - anchor)) * splat_fp32(0x1.62e430p-1f);
    return x / (splat_fp32(1) + exp_scaled_fp32(shifted, r));
}
#endif

static inline vec_fp64 exp_scaled_fp64(vec_fp64 shifted, vec_fp64 r) {
    vec_fp64 p = splat_fp64(0x1.2545e6a7b5df4p-29);
    p = madd_fp64(p, r, splat_fp64(0x1.aefd908d4c47cp-26));
    p = madd_fp64(p, r, splat_fp64(0x1.27e2aadfb818fp-22));
    p = madd_fp64(p, r, splat_fp64(0x1.71de22b7f59cep-19));
    p = madd_fp64(p, r, splat_fp64(0x1.a01a0230fb58cp-16));
    p = madd_fp64(p, r, splat_fp64(0x1.a01a01a32cd4cp-13));
    p = madd_fp64(p, r, splat_fp64(0x1.6c16c16c097e9p-10));
    p = madd_fp64(p, r, splat_fp64(0x1.1111111110e9fp-7));
    p = madd_fp64(p, r, splat_fp64(0x1.5555555555561p-5));
    p = madd_fp64(p, r, splat_fp64(0x1.5555555555555p-3));
    p = madd_fp64(p, r, splat_fp64(0.5));
    p = madd_fp64(p, r, splat_fp64(1.0));
    p = madd_fp64(p, r, splat_fp64(1.0));

    const uvec_fp64 both = bits_fp64(shifted) - (0x4338000000000000u - 2046u);
    const uvec_fp64 first = both >> 1, second = both - first;
    return p * from_bits_fp64(first << 52) * from_bits_fp64(second << 52);
}

static inline vec_fp64 exp_of_fp64(vec_fp64 x) {
    x = smaller_fp64(splat_fp64(710.0), larger_fp64(splat_fp64(-746.0), x));

    const vec_fp64 anchor = splat_fp64(0x1.8p52);
    const vec_fp64 shifted = madd_fp64(x, splat_fp64(0x1.71547652b82fep0), anchor);
    const vec_fp64 n = shifted - anchor;
    vec_fp64 r = madd_fp64(n, splat_fp64(-0x1.62e42fee00000p-1), x);
    r = madd_fp64(n, splat_fp64(-0x1.a39ef35793c76p-33), r);
    return exp_scaled_fp64(shifted, r);
}

static inline vec_fp64 gated_of_fp64(vec_fp64 x, vec_fp64 linear, vec_fp64 cubic) {
    const vec_fp64 anchor = splat_fp64(0x1.8p52);
    x = larger_fp64(splat_fp64(-30), x); /* keeps -infinity from becoming NaN */
    const vec_fp64 w = madd_fp64(x * x, cubic, linear);
    const vec_fp64 v = smaller_fp64(splat_fp64(1025.0), larger_fp64(splat_fp64(-1076.0), x * w)),
                   shifted = v + anchor;
    const vec_fp64 r = (v - (shifted - anchor)) * splat_fp64(0x1.62e42fefa39efp-1);
    return x / (splat_fp64(1) + exp_scaled_fp64(shifted, r));
}
#endif
