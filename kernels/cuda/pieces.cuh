/* pieces.cuh - pieces of W consecutive elements: one access of up to 16 bytes, widened to the accumulator's type in
 * registers and narrowed back. W is 1 where rows are not aligned, else what 16 bytes hold. */
#ifndef PIECES_CUH
#define PIECES_CUH
#include "cuda_kernel.cuh"

/* The integers that one access moves. */
template <int BYTES> struct word;
template <> struct word<1> { using type = unsigned char; };
template <> struct word<2> { using type = unsigned short; };
template <> struct word<4> { using type = unsigned int; };
template <> struct word<8> { using type = uint2; };
template <> struct word<16> { using type = uint4; };

/* Elements of D in 16 bytes. */
template <enum dtype D>
constexpr int PIECE = 16 / static_cast<int>(sizeof(typename element<D>::type));

template <enum dtype D, int W>
using piece =
    vec<typename element<D>::type, W *static_cast<int>(sizeof(typename element<D>::type))>;

/* Data that is used once: evicted first. */
template <enum dtype D, int W> DEV piece<D, W> load_once(const typename element<D>::type *p) {
    using bits = typename word<sizeof(piece<D, W>)>::type;
    piece<D, W> v;
    *reinterpret_cast<bits *>(&v) = __ldcs(reinterpret_cast<const bits *>(p));
    return v;
}
/* Data that others read as well. */
template <enum dtype D, int W>
DEV piece<D, W> load_shared_by_all(const typename element<D>::type *p) {
    using bits = typename word<sizeof(piece<D, W>)>::type;
    piece<D, W> v;
    *reinterpret_cast<bits *>(&v) = __ldg(reinterpret_cast<const bits *>(p));
    return v;
}
template <enum dtype D, int W>
DEV void store_once(typename element<D>::type *p, const piece<D, W> &v) {
    using bits = typename word<sizeof(piece<D, W>)>::type;
    __stcs(reinterpret_cast<bits *>(p), *reinterpret_cast<const bits *>(&v));
}

/* Two E4M3 codes, exactly. Before sm_89 there is no instruction: the code's exponent and fraction are put where those of
 * an fp16 are and its bias is made up for by 2^8, subnormals included; magnitude 0x7f is the NaN. */
DEV float2 widen_e4m3x2(unsigned codes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    return __half22float2(
        __half2(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(codes), __NV_E4M3)));
#else
    const unsigned apart =
        __byte_perm(codes, 0, 0x1404); /* a code in the upper byte of each half */
    const unsigned magnitude = (apart >> 1) & 0x3f803f80u;
    const unsigned nan = (magnitude + 0x00800080u) & 0x40004000u;
    unsigned bits = (apart & 0x80008000u) | magnitude;
    const __half2 value = __hmul2(*reinterpret_cast<const __half2 *>(&bits), __float2half2_rn(256));
    bits = *reinterpret_cast<const unsigned *>(&value) | ((nan << 1) - (nan >> 14));
    return __half22float2(*reinterpret_cast<const __half2 *>(&bits));
#endif
}
/* Two E5M2 codes: the upper bytes of two fp16. */
DEV float2 widen_e5m2x2(unsigned codes) {
    const unsigned bits = __byte_perm(codes, 0, 0x1404);
    return __half22float2(*reinterpret_cast<const __half2 *>(&bits));
}

/* Two codes of x and y, rounded to nearest even, saturating. Before sm_89 by integers, as numerics.h does: beyond the
 * subnormals half a unit in the last place (less one, plus the last bit kept) is added and carries run into the exponent;
 * of those the FPU rounds, when a number is added whose last place is theirs. */
template <enum dtype D> DEV unsigned narrow_fp8(float f) {
    constexpr int MAN = D == DT_fp8_e4m3 ? 3 : 2, BIAS = D == DT_fp8_e4m3 ? 7 : 15, DROP = 23 - MAN;
    constexpr unsigned LARGEST = D == DT_fp8_e4m3 ? 0x7e : 0x7b, QUIET_NAN = 0x7f;
    constexpr unsigned LEAST_NORMAL = static_cast<unsigned>(127 - BIAS + 1) << 23,
                       ANCHOR = static_cast<unsigned>(127 - BIAS + 1 + DROP) << 23;
    const unsigned bits = __float_as_uint(f), magnitude = bits & 0x7fffffffu;
    const unsigned subnormal =
        __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(ANCHOR)) - ANCHOR;
    const unsigned rounded = magnitude + ((1u << (DROP - 1)) - 1) + (magnitude >> DROP & 1);
    const unsigned normal = (rounded >> DROP) - (static_cast<unsigned>(127 - BIAS) << MAN);
    unsigned code = magnitude < LEAST_NORMAL ? subnormal : normal;
    code = code < LARGEST ? code : LARGEST;
    return (magnitude > 0x7f800000u ? QUIET_NAN : code) | (bits >> 24 & 0x80);
}
template <enum dtype D> DEV unsigned narrow_fp8x2(float x, float y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    return __nv_cvt_float2_to_fp8x2(make_float2(x, y), __NV_SATFINITE,
                                    D == DT_fp8_e4m3 ? __NV_E4M3 : __NV_E5M2);
#else
    return narrow_fp8<D>(x) | narrow_fp8<D>(y) << 8;
#endif
}

template <enum dtype D, int W>
DEV void widen_piece(const piece<D, W> &v, typename element<D>::acc (&x)[W]) {
    if constexpr (sizeof(typename element<D>::type) == 1) {
        const unsigned char *codes = reinterpret_cast<const unsigned char *>(&v);
        if constexpr (W == 1) {
            x[0] = (D == DT_fp8_e4m3 ? widen_e4m3x2(*codes) : widen_e5m2x2(*codes)).x;
        } else {
#pragma unroll
            for (int e = 0; e < W; e += 2) {
                const unsigned two = *reinterpret_cast<const unsigned short *>(codes + e);
                const float2 pair = D == DT_fp8_e4m3 ? widen_e4m3x2(two) : widen_e5m2x2(two);
                x[e] = pair.x;
                x[e + 1] = pair.y;
            }
        }
    } else {
#pragma unroll
        for (int e = 0; e < W; e++) x[e] = widen(v.at[e]);
    }
}

template <enum dtype D, int W>
DEV piece<D, W> narrow_piece(const typename element<D>::acc (&x)[W]) {
    piece<D, W> v;
    if constexpr (sizeof(typename element<D>::type) == 1) {
        unsigned char *codes = reinterpret_cast<unsigned char *>(&v);
        if constexpr (W == 1) {
            *codes = static_cast<unsigned char>(narrow_fp8x2<D>(x[0], 0));
        } else {
#pragma unroll
            for (int e = 0; e < W; e += 2)
                *reinterpret_cast<unsigned short *>(codes + e) =
                    static_cast<unsigned short>(narrow_fp8x2<D>(x[e], x[e + 1]));
        }
    } else {
#pragma unroll
        for (int e = 0; e < W; e++) narrow(v.at[e], x[e]);
    }
    return v;
}
#endif
