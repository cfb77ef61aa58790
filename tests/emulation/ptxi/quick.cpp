/* quick.cpp - which instructions have a quick form, and their registers. One that does not fit stays slow; both give
 * the same bits. A register holds its last value extended to 64 bits as that value's type says. */
#include "ptx.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace ptxi {

constexpr uint64_t UNWRITTEN =
    0xfff7fff7fff7fff7ull; /* NaN in every format, an odd integer in all */

struct maker {
    kernel &k;
    std::map<uint64_t, int> constants;

    int constant(uint64_t v) {
        const auto known = constants.find(v);
        if (known != constants.end()) return known->second;
        const int r = static_cast<int>(k.initial.size());
        k.initial.push_back(v);
        constants[v] = r;
        return r;
    }

    /* A register or a number; -1: something else. */
    int plain(const operand &o, type t) {
        if (o.is_not || !o.items.empty()) return -1;
        if (o.kind == operand::reg) return o.r;
        if (o.kind != operand::imm) return -1;
        if (is_float(t) && t == type::f32 && o.is_double) return -1;
        return constant(extended(o.value, t));
    }
};

/* The quick form of the same operation on 32 and 64 bits. */
static quick by_width(type t, quick of32, quick of64) {
    return is_float(t) || is_packed(t) || t == type::pred ? quick::slow
           : bytes_of(t) == 4                             ? of32
           : bytes_of(t) == 8                             ? of64
                                                          : quick::slow;
}

static quick float_or(type t, quick f32, quick f64, quick other) {
    return t == type::f32 ? f32 : t == type::f64 ? f64 : other;
}

/* Integers: results of 32 bits are stored without their sign, as write() would for unsigned types; signed 32-bit
 * results are extended there, so they stay slow unless nothing can tell: each reader extends again. */
static quick code_of(const instruction &i) {
    const type t = i.t[0];
    const bool is_plain =
        i.modifiers == 0 || i.modifiers == 1ull << m_rn || i.modifiers == 1ull << m_lo;
    const bool is_wide = i.modifiers == 1ull << m_wide;
    switch (i.code) {
    case opcode::add:
        return !is_plain ? quick::slow
                         : float_or(t, quick::add_f32, quick::add_f64,
                                    by_width(t, quick::add32, quick::add64));
    case opcode::sub:
        return !is_plain ? quick::slow
                         : float_or(t, quick::sub_f32, quick::sub_f64,
                                    by_width(t, quick::sub32, quick::sub64));
    case opcode::mul:
        if (is_wide)
            return t == type::u32   ? quick::wide_u32
                   : t == type::s32 ? quick::wide_s32
                                    : quick::slow;
        return !is_plain ? quick::slow
                         : float_or(t, quick::mul_f32, quick::mul_f64,
                                    by_width(t, quick::mul32, quick::mul64));
    case opcode::mad:
        if (is_wide)
            return t == type::u32   ? quick::mad_wide_u32
                   : t == type::s32 ? quick::mad_wide_s32
                                    : quick::slow;
        return is_plain ? by_width(t, quick::mad32, quick::mad64) : quick::slow;
    case opcode::fma:
        return is_plain ? float_or(t, quick::fma_f32, quick::fma_f64, quick::slow) : quick::slow;
    case opcode::and_:
        return by_width(t, quick::and32, quick::and64);
    case opcode::or_:
        return by_width(t, quick::or32, quick::or64);
    case opcode::xor_:
        return by_width(t, quick::xor32, quick::xor64);
    case opcode::shl:
        return by_width(t, quick::shl32, quick::shl64);
    case opcode::shr:
        return is_signed(t) ? by_width(t, quick::shr_s32, quick::shr_s64)
                            : by_width(t, quick::shr32, quick::shr64);
    case opcode::setp:
        if (i.modifiers || i.o.size() != 3) return quick::slow;
        if (t == type::f32) return quick::compare_f32;
        return is_signed(t) ? by_width(t, quick::compare_s32, quick::compare_s64)
                            : by_width(t, quick::compare32, quick::compare64);
    case opcode::selp:
        return bytes_of(t) >= 4 ? quick::select : quick::slow;
    case opcode::mov:
        return bytes_of(t) == 4 || bytes_of(t) == 8 ? quick::move : quick::slow;
    case opcode::cvt: {
        const type from = i.t[1];
        if (i.modifiers || is_float(t) || is_float(from) || is_packed(t) || is_packed(from))
            return quick::slow;
        const int narrow = bytes_of(from) < bytes_of(t) ? bytes_of(from) : bytes_of(t);
        if (bytes_of(from) < bytes_of(t) && is_signed(from))
            return bytes_of(t) < 8 ? quick::slow
                   : narrow == 4   ? quick::sign32
                   : narrow == 2   ? quick::sign16
                                   : quick::sign8;
        if (is_signed(t) && bytes_of(t) < 4) return quick::slow;
        return narrow == 8   ? quick::move
               : narrow == 4 ? quick::low32
               : narrow == 2 ? quick::low16
                             : quick::low8;
    }
    default:
        return quick::slow;
    }
}

static quick_instruction memory_access(maker &to, const instruction &i) {
    quick_instruction q;
    const bool is_load = i.code == opcode::ld;
    const operand &at = i.o[is_load ? 1 : 0], &what = i.o[is_load ? 0 : 1];
    const std::vector<operand> one = {what}, &items = what.kind == operand::list ? what.items : one;
    if (at.r < 0 || !at.items.empty() || i.has(m_param)) return q;
    std::vector<int> registers;
    for (auto &o : items) {
        registers.push_back(is_load && o.kind != operand::reg ? -1 : to.plain(o, i.t[0]));
        if (registers.back() < 0) return q;
    }
    q.code = is_load ? (i.has(m_shared) ? quick::load_shared : quick::load)
                     : (i.has(m_shared) ? quick::store_shared : quick::store);
    q.bytes = static_cast<uint8_t>(bytes_of(i.t[0]));
    q.items = static_cast<uint8_t>(items.size());
    q.sign = is_signed(i.t[0]);
    q.a = at.r;
    q.b = to.constant(at.value);
    q.d = static_cast<int>(to.k.lists.size());
    to.k.lists.insert(to.k.lists.end(), registers.begin(), registers.end());
    return q;
}

static quick_instruction quick_of(maker &to, const instruction &i) {
    quick_instruction q;
    if (i.code == opcode::bra) {
        q.code = quick::bra;
        q.d = i.targets[0];
        return q;
    }
    if ((i.code == opcode::ld || i.code == opcode::st) && i.o.size() == 2)
        return memory_access(to, i);
    q.code = code_of(i);
    if (q.code == quick::slow) return q;
    q.cmp = i.cmp;
    int *const fields[] = {&q.d, &q.a, &q.b, &q.c};
    for (size_t o = 0; o < i.o.size(); o++) {
        const bool is_amount = (i.code == opcode::shl || i.code == opcode::shr) && o == 2;
        const bool is_predicate = i.code == opcode::selp && o == 3;
        const type t = is_amount                 ? type::u32
                       : is_predicate            ? type::pred
                       : i.code == opcode::cvt   ? i.t[1]
                       : o == 3 && i.has(m_wide) ? type::u64
                                                 : i.t[0];
        *fields[o] = o == 0 && i.o[0].kind != operand::reg ? -1 : to.plain(i.o[o], t);
        if (*fields[o] < 0) return quick_instruction();
    }
    return q;
}

/* ROOFLINE_EMULATE_SLOW=1: branches alone, which have no other form, are quick; for tests of the others. */
static bool only_slow() {
    const char *given = getenv("ROOFLINE_EMULATE_SLOW");
    return given && strcmp(given, "1") == 0;
}

void make_quick(kernel &k) {
    k.initial.assign(static_cast<size_t>(k.registers), UNWRITTEN);
    maker to = {k, {}};
    const bool slow = only_slow();
    for (auto &i : k.code) {
        quick_instruction q = quick_of(to, i);
        if (slow && q.code != quick::bra) q = quick_instruction();
        q.guard = i.guard;
        q.guard_not = i.guard_not;
        k.quick.push_back(q);
    }
}

} // namespace ptxi
