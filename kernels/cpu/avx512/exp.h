/* exp.h - e^x of fp32, and what gelu needs of it, where a permutation looks up 16 floats and vscalefps multiplies by a
 * power of two: 12 operations in place of vec_exp.h's 19. Errors seen by tests/unit_kernels_math.c: 1.1 ulp.
 *
 * x = n ln 2 + r, n a multiple of 1/16, |r| <= ln(2)/32; e^r - 1 by a polynomial (relative error of e^r 2e-9); 2^n by
 * its fraction's place in the table and its integer part. */
#ifndef AVX512_EXP_H
#define AVX512_EXP_H

#define OWN_EXP_FP32

/* adding it rounds to a multiple of 1/16, held in the low bits */
static const float exp_anchor = 0x1.8p19f;

/* 2^n (1 + p) for shifted = exp_anchor + n; 0 or infinity where n is large */
static inline vec_fp32 exp_scaled(vec_fp32 shifted, vec_fp32 n, vec_fp32 p) {
    const __m512 sixteenths =
        _mm512_setr_ps(0x1.000000p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
                       0x1.306fe0p+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
                       0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
                       0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f);
    const __m512 root = _mm512_permutexvar_ps(_mm512_castps_si512(shifted), sixteenths);
    return _mm512_scalef_ps(madd_fp32(root, p, root), n); /* by 2^floor(n) */
}

/* x is clamped to where the result is 0 or infinity; NaN passes through. */
static inline vec_fp32 exp_of_fp32(vec_fp32 x) {
    x = smaller_fp32(splat_fp32(89.0f), larger_fp32(splat_fp32(-104.0f), x));
    const vec_fp32 shifted = madd_fp32(x, splat_fp32(0x1.715476p0f), splat_fp32(exp_anchor));
    const vec_fp32 n = shifted - splat_fp32(exp_anchor);
    vec_fp32 r = madd_fp32(n, splat_fp32(-0x1.62ep-1f), x);
    r = madd_fp32(n, splat_fp32(-0x1.0bfbe8p-15f), r);
    vec_fp32 p = madd_fp32(r, splat_fp32(0.16667605f), splat_fp32(0.50001662f));
    p = madd_fp32(p, r * r, r);
    return exp_scaled(shifted, n, p);
}

/* x / (1 + 2^(x (linear + cubic x^2))), and 0 where that power would overflow; NaN passes through. The division is an approximate reciprocal,
 * refined once to 1 ulp: vdivps blocks its unit for 10 cycles, as long as all of this takes. */
static inline vec_fp32 gated_of_fp32(vec_fp32 x, vec_fp32 linear, vec_fp32 cubic) {
    const vec_fp32 anchor = splat_fp32(exp_anchor), one = splat_fp32(1);
    const vec_fp32 finite = smaller_fp32(splat_fp32(16), x);
    const vec_fp32 w = madd_fp32(finite * finite, cubic, linear);
    const vec_fp32 shifted = madd_fp32(finite, w, anchor), n = shifted - anchor;
    const vec_fp32 r = _mm512_fmsub_ps(finite, w, n);
    vec_fp32 p = madd_fp32(r, splat_fp32(0.05550723f), splat_fp32(0.24023449f));
    p = madd_fp32(p, r, splat_fp32(0x1.62e430p-1f));
    const vec_fp32 d = one + exp_scaled(shifted, n, p * r), near = _mm512_rcp14_ps(d);
    const __mmask16 small = _mm512_cmp_ps_mask(n, splat_fp32(126), _CMP_NGE_UQ);
    return _mm512_maskz_mul_ps(small, x, madd_fp32(_mm512_fnmadd_ps(d, near, one), near, near));
}
#endif
