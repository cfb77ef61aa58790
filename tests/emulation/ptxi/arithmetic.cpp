/* arithmetic.cpp - PTX arithmetic on raw bits. IEEE operations round as asked; .approx functions are the
 * correctly rounded ones, which hardware is not. Built with -frounding-math. */
#include "ptx.h"

#include "runtime.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <cfenv>
#include <cmath>
#include <cstring>

namespace ptxi {

template <class To, class From> static To as(From x) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To y;
    memcpy(static_cast<void *>(&y), &x, sizeof y);
    return y;
}

/* ---- representations ---- */

double float_of(uint64_t bits, type t) {
    const auto half = static_cast<unsigned short>(bits);
    const auto word = static_cast<uint32_t>(bits);
    switch (t) {
    case type::f16: {
        __half_raw h;
        h.x = half;
        return __half2float(__half(h));
    }
    case type::bf16:
        return as<float>(static_cast<uint32_t>(half) << 16);
    case type::f64:
        return as<double>(bits);
    case type::tf32: /* a multiplier reads 10 bits of mantissa */
        return as<float>(word & 0xffffe000u);
    case type::e4m3:
    case type::e5m2:
        return __half2float(__half(__nv_cvt_fp8_to_halfraw(
            static_cast<__nv_fp8_storage_t>(bits), t == type::e4m3 ? __NV_E4M3 : __NV_E5M2)));
    default:
        return as<float>(word);
    }
}

uint64_t bits_of(double x, type t) {
    switch (t) {
    case type::f16:
        return __half_as_ushort(__double2half(x));
    case type::bf16:
        return __bfloat16_as_ushort(__double2bfloat16(x));
    case type::f64:
        return as<uint64_t>(x);
    default:
        return as<uint32_t>(static_cast<float>(x));
    }
}

/* ---- rounding ---- */

/* The processor's rounding in this scope; nearest even unless the instruction says otherwise. */
struct rounding {
    const bool is_other;
    explicit rounding(const instruction &i) : is_other(i.has(m_rz) || i.has(m_rm) || i.has(m_rp)) {
        if (is_other)
            fesetround(i.has(m_rz) ? FE_TOWARDZERO : i.has(m_rm) ? FE_DOWNWARD : FE_UPWARD);
    }
    ~rounding() {
        if (is_other) fesetround(FE_TONEAREST);
    }
};

/* x to the 16-bit formats in the processor's rounding: to a multiple of the last bit's weight. */
static double rounded_to(double x, type t) {
    if (x == 0 || !std::isfinite(x)) return x;
    const int digits = t == type::f16 ? 11 : 8, least = t == type::f16 ? -14 : -126;
    const double most = t == type::f16 ? 65504 : 0x1.fep127;
    int e = std::ilogb(x);
    if (e < least) e = least;
    const double weight = std::ldexp(1.0, e - (digits - 1));
    const double y = std::nearbyint(x / weight) * weight;
    if (std::fabs(y) <= most) return y;
    const bool inward =
        fegetround() == FE_TOWARDZERO || fegetround() == (y > 0 ? FE_DOWNWARD : FE_UPWARD);
    return std::copysign(inward ? most : HUGE_VAL, y);
}

static double flushed(double x) { /* .ftz: a subnormal float is zero */
    return std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x;
}

static double saturated(double x) { return x > 1 ? 1 : x > 0 ? x : 0; } /* NaN is 0 */

static double finished(const instruction &i, double x, type t) {
    if (i.has(m_ftz) && t == type::f32) x = flushed(x);
    if (i.has(m_sat)) x = saturated(x);
    if (i.has(m_relu) && x < 0) x = 0;
    return x;
}

/* ---- floating point ---- */

static double least_of(const instruction &i, double x, double y, bool want_most) {
    if (std::isnan(x) || std::isnan(y)) return i.has(m_nan) ? NAN : std::isnan(x) ? y : x;
    if (x == y) return std::signbit(x) == want_most ? y : x; /* -0 is less than 0 */
    return (x < y) == want_most ? y : x;
}

/* volatile keeps operations inside of their rounding. */
template <class F> static F float_operation(const instruction &i, F a, F b, F c) {
    const rounding r(i);
    volatile F x = a, y = b, z = c, result;
    switch (i.code) {
    case opcode::add:
        result = x + y;
        break;
    case opcode::sub:
        result = x - y;
        break;
    case opcode::mul:
        result = x * y;
        break;
    case opcode::div:
        result = x / y;
        break;
    case opcode::mad:
    case opcode::fma:
        result = std::fma(static_cast<F>(x), static_cast<F>(y), static_cast<F>(z));
        break;
    case opcode::min:
    case opcode::max:
        result = static_cast<F>(least_of(i, x, y, i.code == opcode::max));
        break;
    case opcode::copysign:
        result = std::copysign(static_cast<F>(y), static_cast<F>(x));
        break;
    default:
        refuse(i, "not an operation on floats");
    }
    return result;
}

static uint64_t float_arithmetic(const instruction &i, type t, uint64_t a, uint64_t b, uint64_t c) {
    double x = float_of(a, t), y = float_of(b, t), z = float_of(c, t);
    if (i.has(m_ftz) && t == type::f32) {
        x = flushed(x);
        y = flushed(y);
        z = flushed(z);
    }
    const double r =
        t == type::f32
            ? static_cast<double>(float_operation(i, static_cast<float>(x), static_cast<float>(y),
                                                  static_cast<float>(z)))
            : float_operation(i, x, y, z);
    return bits_of(finished(i, r, t), t);
}

/* ---- integers ---- */

static uint64_t integer_arithmetic(const instruction &i, type t, uint64_t a, uint64_t b,
                                   uint64_t c) {
    const auto bits = static_cast<unsigned>(bytes_of(t) * 8);
    const auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
    const bool sign = is_signed(t);
    switch (i.code) {
    case opcode::add:
        return a + b;
    case opcode::sub:
        return a - b;
    case opcode::mul:
    case opcode::mad: {
        const uint64_t add = i.code == opcode::mad ? c : 0;
        if (!i.has(m_hi)) return a * b + add; /* .lo; .wide of extended operands */
        if (sign) return static_cast<uint64_t>(static_cast<__int128>(sa) * sb >> bits) + add;
        return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> bits) + add;
    }
    case opcode::div: /* by zero: all ones, as hardware gives and PTX leaves open */
        if (b == 0) return ~0ull;
        if (sign && sb == -1) return 0 - a;
        return sign ? static_cast<uint64_t>(sa / sb) : a / b;
    case opcode::rem:
        if (b == 0) return a;
        if (sign && sb == -1) return 0;
        return sign ? static_cast<uint64_t>(sa % sb) : a % b;
    case opcode::min:
        return (sign ? sa < sb : a < b) ? a : b;
    case opcode::max:
        return (sign ? sa < sb : a < b) ? b : a;
    case opcode::and_:
        return a & b;
    case opcode::or_:
        return a | b;
    case opcode::xor_:
        return a ^ b;
    case opcode::shl:
        return b >= bits ? 0 : a << b;
    case opcode::shr:
        if (sign) return static_cast<uint64_t>(sa >> (b < bits ? b : bits - 1));
        return b >= bits ? 0 : a >> b;
    default:
        refuse(i, "not an operation on integers");
    }
}

uint64_t arithmetic(const instruction &i, uint64_t a, uint64_t b, uint64_t c) {
    const type t = i.t[0];
    if (is_float(t)) return float_arithmetic(i, t, a, b, c);
    if (!is_packed(t)) return integer_arithmetic(i, t, a, b, c);
    const type half = t == type::f16x2 ? type::f16 : type::bf16;
    const auto part = [&](int shift) {
        return float_arithmetic(i, half, a >> shift & 0xffff, b >> shift & 0xffff,
                                c >> shift & 0xffff)
               << shift;
    };
    return part(0) | part(16);
}

/* ---- functions of one operand ---- */

static double float_function(const instruction &i, double x, type t) {
    const rounding r(i);
    const bool is_float32 = t == type::f32;
    volatile float f = static_cast<float>(x);
    volatile double d = x;
    switch (i.code) {
    case opcode::sqrt:
        return is_float32 ? static_cast<double>(sqrtf(f)) : std::sqrt(static_cast<double>(d));
    case opcode::rcp:
        if (is_float32) {
            f = 1.0f / f;
            return f;
        }
        d = 1.0 / d;
        return d;
    case opcode::rsqrt:
        return 1 / std::sqrt(x);
    case opcode::ex2:
        return std::exp2(x);
    case opcode::lg2:
        return std::log2(x);
    case opcode::sin:
        return std::sin(x);
    case opcode::cos:
        return std::cos(x);
    case opcode::tanh:
        return std::tanh(x);
    default:
        refuse(i, "not a function of a float");
    }
}

static uint64_t one_part(const instruction &i, uint64_t a, type t) {
    const uint64_t sign = 1ull << (bytes_of(t) * 8 - 1);
    double x = float_of(a, t);
    if (i.has(m_ftz) && t == type::f32) {
        x = flushed(x);
        a = bits_of(x, t);
    }
    if (i.code == opcode::neg) return a ^ sign;
    if (i.code == opcode::abs) return a & ~sign;
    return bits_of(finished(i, float_function(i, x, t), t), t);
}

uint64_t function(const instruction &i, uint64_t a) {
    const type t = i.t[0];
    if (is_float(t)) return one_part(i, a, t);
    if (is_packed(t)) {
        const type half = t == type::f16x2 ? type::f16 : type::bf16;
        return one_part(i, a & 0xffff, half) | one_part(i, a >> 16 & 0xffff, half) << 16;
    }
    const int bits = bytes_of(t) * 8;
    switch (i.code) {
    case opcode::neg:
        return 0 - a;
    case opcode::abs:
        return static_cast<int64_t>(a) < 0 ? 0 - a : a;
    case opcode::not_:
        return t == type::pred ? !a : ~a;
    case opcode::cnot:
        return a == 0;
    case opcode::popc:
        return static_cast<uint64_t>(__builtin_popcountll(a));
    case opcode::clz:
        return static_cast<uint64_t>(a ? __builtin_clzll(a) - (64 - bits) : bits);
    case opcode::bfind: { /* the highest bit that differs from the sign */
        const uint64_t v = is_signed(t) && static_cast<int64_t>(a) < 0 ? ~a : a;
        return v ? static_cast<uint64_t>(63 - __builtin_clzll(v)) : 0xffffffffu;
    }
    case opcode::brev: {
        uint64_t r = 0;
        for (int b = 0; b < bits; b++) r |= (a >> b & 1) << (bits - 1 - b);
        return r;
    }
    default:
        refuse(i, "not a function of an integer");
    }
}

/* ---- conversions ---- */

static double to_integral(const instruction &i, double x) {
    return i.has(m_rni)   ? std::nearbyint(x)
           : i.has(m_rmi) ? std::floor(x)
           : i.has(m_rpi) ? std::ceil(x)
                          : std::trunc(x);
}

static uint64_t float_to_float(const instruction &i, double x, type to) {
    const bool to_whole = i.has(m_rni) || i.has(m_rzi) || i.has(m_rmi) || i.has(m_rpi);
    if (to_whole) x = to_integral(i, x);
    if (i.has(m_relu)) x = x > 0 ? x : std::isnan(x) ? x : 0;
    if (i.has(m_sat)) x = saturated(x);
    if (to == type::tf32) {
        const auto word = static_cast<uint32_t>(bits_of(x, type::f32));
        if (i.has(m_rz)) return word & 0xffffe000u;
        if (i.has(m_rna)) return (word + 0x1000u) & 0xffffe000u;
        return (word + 0xfffu + (word >> 13 & 1)) & 0xffffe000u;
    }
    const rounding r(i);
    if (to == type::f16 || to == type::bf16) {
        x = rounded_to(x, to);
        const double most = to == type::f16 ? 65504 : 0x1.fep127;
        if (i.has(m_satfinite) && std::fabs(x) > most) x = std::copysign(most, x);
        return bits_of(x, to); /* exact now */
    }
    volatile float f = static_cast<float>(x);
    return to == type::f32 ? bits_of(i.has(m_ftz) ? flushed(f) : static_cast<double>(f), to)
                           : bits_of(x, to);
}

static uint64_t float_to_integer(const instruction &i, double x, type to) {
    const int bits = bytes_of(to) * 8;
    const double most = std::ldexp(1.0, is_signed(to) ? bits - 1 : bits);
    x = to_integral(i, x);
    if (std::isnan(x)) return 0;
    if (is_signed(to)) {
        if (x >= most) return (1ull << (bits - 1)) - 1;
        return x < -most ? 0 - (1ull << (bits - 1))
                         : static_cast<uint64_t>(static_cast<int64_t>(x));
    }
    if (x >= most) return bits == 64 ? ~0ull : (1ull << bits) - 1;
    return x <= 0 ? 0 : static_cast<uint64_t>(x);
}

static uint64_t integer_to_float(const instruction &i, uint64_t a, type from, type to) {
    const rounding r(i);
    const auto s = static_cast<int64_t>(a);
    if (to == type::f32) { /* one rounding, not by way of double */
        volatile float f = is_signed(from) ? static_cast<float>(s) : static_cast<float>(a);
        return bits_of(static_cast<double>(f), to);
    }
    volatile double d = is_signed(from) ? static_cast<double>(s) : static_cast<double>(a);
    return bits_of(to == type::f64 ? static_cast<double>(d) : rounded_to(d, to), to);
}

static uint64_t integer_to_integer(const instruction &i, uint64_t a, type from, type to) {
    if (!i.has(m_sat)) return a;
    const int bits = bytes_of(to) * 8;
    const __int128 x = is_signed(from) ? static_cast<__int128>(static_cast<int64_t>(a))
                                       : static_cast<__int128>(a),
                   one = 1, most = (one << (is_signed(to) ? bits - 1 : bits)) - 1,
                   least = is_signed(to) ? -most - 1 : 0;
    return static_cast<uint64_t>(x > most ? most : x < least ? least : x);
}

/* Two small floats to f16x2 or bf16x2, exactly. */
static uint64_t unpack(const instruction &i, uint64_t a, type from) {
    if (i.t[0] != type::f16x2) refuse(i, "only to f16x2");
    const auto pair = static_cast<unsigned short>(a);
    __half2_raw h;
    if (from == type::e2m1x2)
        h = __nv_cvt_fp4x2_to_halfraw2(static_cast<__nv_fp4x2_storage_t>(pair & 0xff), __NV_E2M1);
    else
        h = __nv_cvt_fp8x2_to_halfraw2(pair, from == type::e4m3x2 ? __NV_E4M3 : __NV_E5M2);
    if (i.has(m_relu)) refuse(i, ".relu is not emulated here");
    return static_cast<uint64_t>(h.x) | static_cast<uint64_t>(h.y) << 16;
}

static uint64_t pack_small(const instruction &i, double high, double low) {
    const float2 v = {static_cast<float>(low), static_cast<float>(high)};
    if (i.has(m_relu)) refuse(i, ".relu is not emulated here");
    if (i.t[0] == type::e2m1x2) return __nv_cvt_float2_to_fp4x2(v, __NV_E2M1, cudaRoundNearest);
    if (!i.has(m_satfinite)) refuse(i, "small floats saturate");
    return __nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE,
                                    i.t[0] == type::e4m3x2 ? __NV_E4M3 : __NV_E5M2);
}

static bool is_small(type t) { return t == type::e4m3x2 || t == type::e5m2x2 || t == type::e2m1x2; }

uint64_t convert(const instruction &i, uint64_t a) {
    const type to = i.t[0], from = i.t[1];
    if (is_small(from)) return unpack(i, a, from);
    if (is_small(to)) { /* from f16x2 or bf16x2 */
        if (!is_packed(from)) refuse(i, "unknown conversion");
        const type half = from == type::f16x2 ? type::f16 : type::bf16;
        return pack_small(i, float_of(a >> 16 & 0xffff, half), float_of(a & 0xffff, half));
    }
    if (is_float(from)) {
        double x = float_of(a, from);
        if (i.has(m_ftz) && from == type::f32) x = flushed(x);
        return is_float(to) ? float_to_float(i, x, to) : float_to_integer(i, x, to);
    }
    return is_float(to) ? integer_to_float(i, a, from, to) : integer_to_integer(i, a, from, to);
}

uint64_t convert_two(const instruction &i, uint64_t high, uint64_t low) {
    if (i.t[1] != type::f32) refuse(i, "unknown conversion");
    const double h = float_of(high, type::f32), l = float_of(low, type::f32);
    if (is_small(i.t[0])) return pack_small(i, h, l);
    if (!is_packed(i.t[0])) refuse(i, "unknown conversion");
    const type half = i.t[0] == type::f16x2 ? type::f16 : type::bf16;
    return float_to_float(i, h, half) << 16 | float_to_float(i, l, half);
}

/* ---- comparisons ---- */

bool compare(comparison c, uint64_t a, uint64_t b, type t) {
    if (is_float(t)) {
        const double x = float_of(a, t), y = float_of(b, t);
        const bool unordered = std::isnan(x) || std::isnan(y);
        switch (c) {
        case comparison::eq:
            return x == y;
        case comparison::ne:
            return !unordered && x != y;
        case comparison::lt:
            return x < y;
        case comparison::le:
            return x <= y;
        case comparison::gt:
            return x > y;
        case comparison::ge:
            return x >= y;
        case comparison::equ:
            return unordered || x == y;
        case comparison::neu:
            return unordered || x != y;
        case comparison::ltu:
            return unordered || x < y;
        case comparison::leu:
            return unordered || x <= y;
        case comparison::gtu:
            return unordered || x > y;
        case comparison::geu:
            return unordered || x >= y;
        case comparison::num:
            return !unordered;
        case comparison::nan:
            return unordered;
        default:
            simt::fail("PTX: a comparison of floats without order");
        }
    }
    const bool less = is_signed(t) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
    switch (c) {
    case comparison::eq:
        return a == b;
    case comparison::ne:
        return a != b;
    case comparison::lt:
    case comparison::lo:
        return less;
    case comparison::le:
    case comparison::ls:
        return less || a == b;
    case comparison::gt:
    case comparison::hi:
        return !less && a != b;
    case comparison::ge:
    case comparison::hs:
        return !less;
    default:
        simt::fail("PTX: a comparison of integers with NaN in it");
    }
}

/* ---- atomics ---- */

uint64_t atomic_result(const instruction &i, type t, uint64_t old, uint64_t b, uint64_t c) {
    instruction plain = {};
    plain.code = opcode::add;
    plain.t[0] = t;
    plain.line = i.line;
    plain.text = i.text;
    if (i.has(m_exch)) return b;
    if (i.has(m_cas)) return old == b ? c : old;
    if (i.has(m_inc)) return old >= b ? 0 : old + 1;
    if (i.has(m_dec)) return old == 0 || old > b ? b : old - 1;
    if (i.has(m_min))
        plain.code = opcode::min;
    else if (i.has(m_max))
        plain.code = opcode::max;
    else if (i.has(m_and))
        plain.code = opcode::and_;
    else if (i.has(m_or))
        plain.code = opcode::or_;
    else if (i.has(m_xor))
        plain.code = opcode::xor_;
    else if (!i.has(m_add))
        refuse(i, "unknown atomic");
    return arithmetic(plain, old, b, 0);
}

} // namespace ptxi
