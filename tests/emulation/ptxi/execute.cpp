/* execute.cpp - runs kernels from the PTX that nvcc wrote, in place of their C++: ROOFLINE_EMULATE_PTX names a .ptx
 * file or a folder of them. Everything that threads do together is the runtime's. */
#include "ptx.h"

#include "simt.h"

#include <dirent.h>
#include <time.h>
#include <cstdlib>
#include <cstring>

namespace ptxi {

/* ---- operands ---- */

static uint64_t now_ns() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

static uint64_t special_value(special s) {
    const simt::thread &t = *simt::cur;
    const uint32_t lane = t.lane;
    switch (s) {
    case special::tid_x:
        return t.tid.x;
    case special::tid_y:
        return t.tid.y;
    case special::tid_z:
        return t.tid.z;
    case special::ntid_x:
        return t.bdim.x;
    case special::ntid_y:
        return t.bdim.y;
    case special::ntid_z:
        return t.bdim.z;
    case special::ctaid_x:
        return t.bid.x;
    case special::ctaid_y:
        return t.bid.y;
    case special::ctaid_z:
        return t.bid.z;
    case special::nctaid_x:
        return t.gdim.x;
    case special::nctaid_y:
        return t.gdim.y;
    case special::nctaid_z:
        return t.gdim.z;
    case special::laneid:
        return lane;
    case special::warpid:
        return t.linear / 32;
    case special::nwarpid:
        return (t.bdim.x * t.bdim.y * t.bdim.z + 31) / 32;
    case special::smid:
        return 0;
    case special::clock:
        return now_ns() & 0xffffffffu;
    case special::clock_hi:
        return now_ns() >> 32;
    case special::clock64:
    case special::globaltimer:
        return now_ns();
    case special::lanemask_eq:
        return 1u << lane;
    case special::lanemask_lt:
        return (1u << lane) - 1;
    case special::lanemask_le:
        return (2u << lane) - 1;
    case special::lanemask_gt:
        return ~((2u << lane) - 1);
    case special::lanemask_ge:
        return ~((1u << lane) - 1);
    case special::cluster_ctarank:
        return simt::cluster_rank();
    default:
        return simt::cluster_size();
    }
}

static uint64_t symbol_address(const machine &m, const symbol &s) {
    switch (s.space) {
    case symbol::shared:
        return simt::smem_u32(simt::shared_static(s.key));
    case symbol::dynamic:
        return simt::smem_u32(simt::shared_dynamic(s.align));
    case symbol::local:
        return reinterpret_cast<uint64_t>(m.local) + s.at;
    case symbol::param:
        return reinterpret_cast<uint64_t>(m.parameters) + s.at;
    default:
        return s.at;
    }
}

/* Parts of a list, lowest first, in one value: mov.b32 r, {a, b}. */
static unsigned part_bits(const operand &o, type t) {
    return static_cast<unsigned>(bytes_of(t)) * 8 / static_cast<unsigned>(o.items.size());
}
static uint64_t part_mask(unsigned bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

uint64_t read_other(const machine &m, const operand &o, type t) {
    uint64_t v = 0;
    switch (o.kind) {
    case operand::reg:
        v = m.r[o.r];
        break;
    case operand::imm:
        v = o.value;
        if (o.is_double && t == type::f32) {
            double d;
            memcpy(&d, &v, sizeof d);
            v = bits_of(d, t);
        }
        break;
    case operand::special:
        v = special_value(o.what);
        break;
    case operand::list: {
        const unsigned bits = part_bits(o, t);
        for (size_t i = 0; i < o.items.size(); i++)
            v |= (read(m, o.items[i], type::b64) & part_mask(bits)) << (i * bits);
        break;
    }
    case operand::address:
        v = symbol_address(m, *o.symbol) + o.value;
        break;
    default:
        simt::fail("PTX: an operand without a value");
    }
    if (o.is_not) v = !v;
    return t == type::pred ? v != 0 : extended(v, t);
}

void write_other(machine &m, const operand &o, uint64_t value, type t) {
    if (o.kind == operand::reg) {
        m.r[o.r] = t == type::pred ? value != 0 : extended(value, t);
    } else if (o.kind == operand::list) {
        const unsigned bits = part_bits(o, t);
        for (size_t i = 0; i < o.items.size(); i++)
            write(m, o.items[i], value >> (i * bits) & part_mask(bits), type::b64);
    } else if (o.kind != operand::none) {
        simt::fail("PTX: a result that goes nowhere");
    }
}

static uint64_t address_bits(const machine &m, const operand &o) {
    if (o.kind != operand::memory) simt::fail("PTX: not an address");
    return (o.r >= 0 ? m.r[o.r] : o.symbol ? symbol_address(m, *o.symbol) : 0) + o.value;
}

/* An address of the shared space: an offset in this block's window, or in that of block r of the cluster from
 * (r + 1) WINDOW on, as mapa makes them. */
static char *shared_pointer(uint64_t bits) {
    const auto a = static_cast<uint32_t>(bits);
    if (a < simt::WINDOW) return static_cast<char *>(simt::smem_ptr(a));
    return static_cast<char *>(
        simt::map_rank(simt::smem_ptr(a % simt::WINDOW), a / simt::WINDOW - 1));
}
char *shared_address(const machine &m, const operand &o) {
    return shared_pointer(address_bits(m, o));
}

static char *address(const machine &m, const instruction &i, const operand &o) {
    return i.has(m_shared) ? shared_address(m, o) : reinterpret_cast<char *>(address_bits(m, o));
}

/* ---- groups of instructions ---- */

static void move(machine &m, const instruction &i) {
    write(m, i.o[0], read(m, i.o[1], i.t[0]), i.t[0]);
}

static void check_aligned(const instruction &i, const char *p, size_t bytes) {
    if (reinterpret_cast<uintptr_t>(p) % bytes) refuse(i, "misaligned");
}

/* Whether other blocks may look there, which of a kernel without tickets does not matter. */
static bool is_weak(const machine &m, const instruction &i, const char *p) {
    return m.weak && !i.has(m_shared) && !i.has(m_local) && !i.has(m_param) &&
           !simt::is_shared(p) && !(p >= m.local && p < m.local + m.kernel->local_bytes);
}

static void note_store(const machine &m, const instruction &i, char *p, size_t n) {
    simt::note_write(p, n);
    if (m.kernel->is_asynchronous && (i.has(m_shared) || simt::is_shared(p)))
        simt::note_ordinary_write(p, n);
}

static void load(machine &m, const instruction &i) {
    const char *p = address(m, i, i.o[1]);
    const auto size = static_cast<size_t>(bytes_of(i.t[0]));
    const bool is_list = i.o[0].kind == operand::list;
    const size_t n = is_list ? i.o[0].items.size() : 1;
    check_aligned(i, p, size * n);
    simt::note_read(p, size * n);
    char seen[32];
    if (is_weak(m, i, p)) {
        weak_load(m.weak, p, seen, size * n);
        p = seen;
    }
    for (size_t k = 0; k < n; k++) {
        uint64_t v = 0;
        memcpy(&v, p + k * size, size);
        v = extended(v, i.t[0]);
        const operand &to = is_list ? i.o[0].items[k] : i.o[0];
        if (to.kind == operand::reg) m.r[to.r] = v; /* a wider register gets the extension */
    }
}

static void store(machine &m, const instruction &i) {
    char *p = address(m, i, i.o[0]);
    const auto size = static_cast<size_t>(bytes_of(i.t[0]));
    const bool is_list = i.o[1].kind == operand::list;
    const size_t n = is_list ? i.o[1].items.size() : 1;
    check_aligned(i, p, size * n);
    note_store(m, i, p, size * n);
    const bool weak = is_weak(m, i, p);
    for (size_t k = 0; k < n; k++) {
        const uint64_t v = read(m, is_list ? i.o[1].items[k] : i.o[1], i.t[0]);
        if (weak)
            weak_store(m.weak, p + k * size, &v, size);
        else
            memcpy(p + k * size, &v, size);
    }
}

static void address_space(machine &m, const instruction &i) { /* cvta */
    uint64_t a = read(m, i.o[1], i.t[0]);
    if (i.has(m_shared) && i.has(m_to)) {
        const auto *p = reinterpret_cast<const void *>(a);
        if (!simt::is_shared(p)) refuse(i, "not an address of shared memory");
        a = simt::smem_u32(p);
    } else if (i.has(m_shared)) {
        a = reinterpret_cast<uint64_t>(simt::smem_ptr(static_cast<uint32_t>(a)));
    }
    write(m, i.o[0], a, i.t[0]);
}

/* The type of the result of mul.wide and mad.wide. */
static type twice(type t) {
    return t == type::u16   ? type::u32
           : t == type::s16 ? type::s32
           : t == type::u32 ? type::u64
                            : type::s64;
}

static void compute(machine &m, const instruction &i) {
    const type t = i.t[0], to = i.has(m_wide) ? twice(t) : t;
    const bool is_shift = i.code == opcode::shl || i.code == opcode::shr;
    write(m, i.o[0],
          arithmetic(i, read(m, i.o[1], t), read(m, i.o[2], is_shift ? type::u32 : t),
                     i.o.size() > 3 ? read(m, i.o[3], to) : 0),
          to);
}

static void compute_one(machine &m, const instruction &i) {
    const bool counts = i.code == opcode::popc || i.code == opcode::clz || i.code == opcode::bfind;
    write(m, i.o[0], function(i, read(m, i.o[1], i.t[0])), counts ? type::u32 : i.t[0]);
}

static void bits(machine &m, const instruction &i) {
    const auto word = [&](size_t o) { return static_cast<uint32_t>(read(m, i.o[o], type::u32)); };
    const type t = i.t[0];
    switch (i.code) {
    case opcode::shf: {
        const uint64_t pair = word(1) | static_cast<uint64_t>(word(2)) << 32;
        const uint32_t n = i.has(m_wrap) ? word(3) & 31 : word(3) < 32 ? word(3) : 32;
        write(m, i.o[0], i.has(m_l) ? pair << n >> 32 : pair >> n, type::b32);
        break;
    }
    case opcode::prmt:
        if (i.words.size() > 1) refuse(i, "this mode of prmt is not emulated");
        write(m, i.o[0], __byte_perm(word(1), word(2), word(3)), type::b32);
        break;
    case opcode::bfe: {
        const uint64_t v = read(m, i.o[1], t);
        const uint32_t at = word(2) & 255, n = word(3) & 255;
        const uint64_t mask = part_mask(n);
        uint64_t r = at > 63 ? 0 : v >> at & mask;
        if (is_signed(t) && n && n < 64 && r >> (n - 1) & 1) r |= ~mask;
        write(m, i.o[0], r, t);
        break;
    }
    case opcode::bfi: {
        const uint64_t a = read(m, i.o[1], t), b = read(m, i.o[2], t);
        const uint32_t at = word(3) & 255, n = word(4) & 255;
        const uint64_t mask = at > 63 ? 0 : part_mask(n) << at;
        write(m, i.o[0], (b & ~mask) | (at > 63 ? 0 : a << at & mask), t);
        break;
    }
    case opcode::lop3: {
        const uint32_t a = word(1), b = word(2), c = word(3), table = word(4);
        uint32_t r = 0;
        for (int k = 0; k < 8; k++)
            if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
        write(m, i.o[0], r, type::b32);
        break;
    }
    default: { /* dp4a */
        const uint32_t a = word(1), b = word(2);
        uint64_t sum = read(m, i.o[3], type::b32);
        for (int k = 0; k < 32; k += 8) {
            const auto part = [k](uint32_t v, type s) -> int {
                return s == type::s32 ? static_cast<int8_t>(v >> k)
                                      : static_cast<int>(v >> k & 255);
            };
            sum += static_cast<uint64_t>(static_cast<int64_t>(part(a, i.t[0]) * part(b, i.t[1])));
        }
        write(m, i.o[0], sum, type::b32);
    }
    }
}

static void conversion(machine &m, const instruction &i) {
    if (i.o.size() == 3)
        write(m, i.o[0], convert_two(i, read(m, i.o[1], i.t[1]), read(m, i.o[2], i.t[1])), i.t[0]);
    else
        write(m, i.o[0], convert(i, read(m, i.o[1], i.t[1])), i.t[0]);
}

static void comparison_of(machine &m, const instruction &i) { /* setp p|q, a, b{, c} */
    const type t = i.t[0];
    bool p, q;
    if (is_packed(t)) refuse(i, "setp of pairs is not emulated");
    p = compare(i.cmp, read(m, i.o[1], t), read(m, i.o[2], t), t);
    q = !p;
    if (i.o.size() > 3) {
        const bool c = read(m, i.o[3], type::pred) != 0;
        p = i.has(m_and) ? p && c : i.has(m_or) ? p || c : p != c;
        q = i.has(m_and) ? q && c : i.has(m_or) ? q || c : q != c;
    }
    write(m, i.o[0], p, type::pred);
    if (!i.o[0].items.empty()) write(m, i.o[0].items[0], q, type::pred);
}

static uint64_t truth(bool holds, type t) { /* set: all ones or zero, or 1.0 */
    return is_float(t) ? bits_of(holds, t) : holds ? ~0ull : 0;
}

static void comparison_value(machine &m, const instruction &i) { /* set */
    const type to = i.t[0], t = i.t[1];
    const uint64_t a = read(m, i.o[1], t), b = read(m, i.o[2], t);
    if (i.o.size() > 3) refuse(i, "set with a predicate is not emulated");
    if (!is_packed(t)) {
        write(m, i.o[0], truth(compare(i.cmp, a, b, t), to), to);
        return;
    }
    const type half = t == type::f16x2 ? type::f16 : type::bf16;
    uint64_t r = 0;
    for (int shift = 0; shift < 32; shift += 16) {
        const bool holds = compare(i.cmp, a >> shift & 0xffff, b >> shift & 0xffff, half);
        r |= (truth(holds, is_packed(to) ? half : type::b16) & 0xffff) << shift;
    }
    write(m, i.o[0], r, type::b32);
}

static void test_property(machine &m, const instruction &i) { /* testp */
    const double x = float_of(read(m, i.o[1], i.t[0]), i.t[0]);
    const bool is_normal =
        i.t[0] == type::f32 ? std::isnormal(static_cast<float>(x)) : std::isnormal(x);
    const bool r = i.has(m_finite)       ? std::isfinite(x)
                   : i.has(m_infinite)   ? std::isinf(x)
                   : i.has(m_notanumber) ? std::isnan(x)
                   : i.has(m_number)     ? !std::isnan(x)
                   : i.has(m_normal)     ? is_normal
                                         : std::isfinite(x) && x != 0 && !is_normal;
    write(m, i.o[0], r, type::pred);
}

/* ---- threads together ---- */

static void block_barrier(machine &m, const instruction &i) {
    const auto number = [&](size_t o) { return static_cast<int>(read(m, i.o[o], type::s32)); };
    if (i.has(m_warp)) {
        __syncwarp(static_cast<unsigned>(read(m, i.o[0], type::u32)));
    } else if (i.has(m_cluster)) {
        simt::cluster_barrier(i.has(m_arrive), i.has(m_wait));
    } else if (i.has(m_red)) { /* d, barrier{, threads}, predicate */
        const auto what = i.has(m_popc)  ? simt::reduction::count
                          : i.has(m_and) ? simt::reduction::all
                                         : simt::reduction::any;
        if (m.weak) weak_arrive(m.weak);
        const int r = simt::barrier(number(1), i.o.size() > 3 ? number(2) : 0, true, what,
                                    read(m, i.o.back(), type::pred) != 0);
        if (m.weak) weak_leave(m.weak);
        write(m, i.o[0], static_cast<uint64_t>(r), i.has(m_popc) ? type::u32 : type::pred);
    } else {
        if (m.weak) weak_arrive(m.weak);
        simt::barrier(number(0), i.o.size() > 1 ? number(1) : 0, !i.has(m_arrive),
                      simt::reduction::none, false);
        if (m.weak && !i.has(m_arrive)) weak_leave(m.weak);
    }
}

static void shuffle(machine &m, const instruction &i) { /* d|p, a, b, clamp and segment, mask */
    const auto word = [&](size_t o) { return static_cast<uint32_t>(read(m, i.o[o], type::u32)); };
    const int lane = static_cast<int>(simt::cur->lane), b = static_cast<int>(word(2) & 31),
              clamp = static_cast<int>(word(3) & 31), segment = static_cast<int>(word(3) >> 8 & 31),
              first = lane & segment, last = first | (clamp & ~segment);
    int from;
    bool valid;
    if (i.has(m_up)) {
        from = lane - b;
        valid = from >= last; /* clamp is 0: the first of the segment */
    } else {
        from = i.has(m_down) ? lane + b : i.has(m_bfly) ? lane ^ b : first | (b & ~segment);
        valid = from <= last;
    }
    const uint32_t r = simt::shuffle(word(4), word(1), valid ? from : lane, "shfl");
    write(m, i.o[0], r, type::b32);
    if (!i.o[0].items.empty()) write(m, i.o[0].items[0], valid, type::pred);
}

static void vote(machine &m, const instruction &i) {
    const int p = read(m, i.o[1], type::pred) != 0;
    const auto mask = static_cast<unsigned>(read(m, i.o[2], type::u32));
    if (i.has(m_ballot))
        write(m, i.o[0], __ballot_sync(mask, p), type::b32);
    else if (i.has(m_all))
        write(m, i.o[0], static_cast<uint64_t>(__all_sync(mask, p)), type::pred);
    else if (i.has(m_any))
        write(m, i.o[0], static_cast<uint64_t>(__any_sync(mask, p)), type::pred);
    else
        refuse(i, "this vote is not emulated");
}

template <class T> static T reduced(const instruction &i, unsigned mask, T v) {
    return i.has(m_add)   ? __reduce_add_sync(mask, v)
           : i.has(m_min) ? __reduce_min_sync(mask, v)
                          : __reduce_max_sync(mask, v);
}
static void reduce(machine &m, const instruction &i) { /* redux */
    const auto v = static_cast<uint32_t>(read(m, i.o[1], type::u32)),
               mask = static_cast<uint32_t>(read(m, i.o[2], type::u32));
    const uint32_t r = i.has(m_and)   ? __reduce_and_sync(mask, v)
                       : i.has(m_or)  ? __reduce_or_sync(mask, v)
                       : i.has(m_xor) ? __reduce_xor_sync(mask, v)
                       : i.t[0] == type::s32
                           ? static_cast<uint32_t>(reduced(i, mask, static_cast<int>(v)))
                           : reduced(i, mask, v);
    write(m, i.o[0], r, type::u32);
}

static void elect(machine &m, const instruction &i) { /* d|p, mask: the lowest lane leads */
    const auto mask = static_cast<uint32_t>(read(m, i.o[1], type::u32));
    const unsigned leader = __reduce_min_sync(mask, simt::cur->lane);
    write(m, i.o[0], leader, type::b32);
    if (!i.o[0].items.empty()) write(m, i.o[0].items[0], leader == simt::cur->lane, type::pred);
}

static void atomic(machine &m, const instruction &i) {
    const bool returns = i.code == opcode::atom;
    const size_t first = returns ? 1 : 0; /* of the operands: address, b{, c} */
    const type t = i.t[0];
    if (i.has(m_async) || i.o[first + 1].kind == operand::list)
        refuse(i, "this atomic is not emulated");
    char *p = address(m, i, i.o[first]);
    const auto size = static_cast<size_t>(bytes_of(t));
    check_aligned(i, p, size);
    simt::note_read(p, size);
    if (is_weak(m, i, p)) weak_atomic(m.weak);
    uint64_t old = 0;
    memcpy(&old, p, size);
    old = extended(old, t);
    const uint64_t next =
        atomic_result(i, t, old, read(m, i.o[first + 1], t),
                      i.o.size() > first + 2 && i.has(m_cas) ? read(m, i.o[first + 2], t) : 0);
    memcpy(p, &next, size);
    if (returns) write(m, i.o[0], old, t);
}

static void map_address(machine &m, const instruction &i) { /* mapa d, address, rank */
    const auto rank = static_cast<unsigned>(read(m, i.o[2], type::u32));
    if (i.has(m_shared)) {
        const auto a = static_cast<uint32_t>(read(m, i.o[1], type::u32)) % simt::WINDOW;
        simt::map_rank(simt::smem_ptr(a), rank); /* checks it */
        write(m, i.o[0], a + (rank + 1) * simt::WINDOW, i.t[0]);
    } else {
        write(m, i.o[0],
              reinterpret_cast<uint64_t>(
                  simt::map_rank(reinterpret_cast<const void *>(read(m, i.o[1], type::u64)), rank)),
              type::u64);
    }
}

/* ---- a thread ---- */

/* A loop that waits for memory would never let the writer run: one of so many backward branches does. */
constexpr unsigned PATIENCE = 1u << 16;

static void step(machine &m, const instruction &i) {
    switch (i.code) {
    case opcode::mov:
        move(m, i);
        break;
    case opcode::ld:
    case opcode::ldu:
        load(m, i);
        break;
    case opcode::st:
        store(m, i);
        break;
    case opcode::cvta:
        address_space(m, i);
        break;
    case opcode::add:
    case opcode::sub:
    case opcode::mul:
    case opcode::mad:
    case opcode::fma:
    case opcode::div:
    case opcode::rem:
    case opcode::min:
    case opcode::max:
    case opcode::and_:
    case opcode::or_:
    case opcode::xor_:
    case opcode::shl:
    case opcode::shr:
    case opcode::copysign:
        compute(m, i);
        break;
    case opcode::neg:
    case opcode::abs:
    case opcode::not_:
    case opcode::cnot:
    case opcode::popc:
    case opcode::clz:
    case opcode::bfind:
    case opcode::brev:
    case opcode::sqrt:
    case opcode::rsqrt:
    case opcode::rcp:
    case opcode::ex2:
    case opcode::lg2:
    case opcode::sin:
    case opcode::cos:
    case opcode::tanh:
        compute_one(m, i);
        break;
    case opcode::shf:
    case opcode::prmt:
    case opcode::bfe:
    case opcode::bfi:
    case opcode::lop3:
    case opcode::dp4a:
        bits(m, i);
        break;
    case opcode::cvt:
        conversion(m, i);
        break;
    case opcode::setp:
        comparison_of(m, i);
        break;
    case opcode::set:
        comparison_value(m, i);
        break;
    case opcode::selp:
        write(m, i.o[0], read(m, i.o[read(m, i.o[3], type::pred) ? 1 : 2], i.t[0]), i.t[0]);
        break;
    case opcode::testp:
        test_property(m, i);
        break;
    case opcode::isspacep: {
        const bool shared =
            simt::is_shared(reinterpret_cast<const void *>(read(m, i.o[1], type::u64)));
        if (!i.has(m_shared) && !i.has(m_global)) refuse(i, "this space is not emulated");
        write(m, i.o[0], shared == i.has(m_shared), type::pred);
        break;
    }
    case opcode::bar:
    case opcode::barrier:
        block_barrier(m, i);
        break;
    case opcode::shfl:
        shuffle(m, i);
        break;
    case opcode::vote:
        vote(m, i);
        break;
    case opcode::redux:
        reduce(m, i);
        break;
    case opcode::elect:
        elect(m, i);
        break;
    case opcode::activemask: /* lanes may have parted: this one is all that is certain */
        write(m, i.o[0], 1u << simt::cur->lane, type::b32);
        break;
    case opcode::atom:
    case opcode::red:
        atomic(m, i);
        break;
    case opcode::mapa:
        map_address(m, i);
        break;
    case opcode::cp:
        copy_async(m, i);
        break;
    case opcode::ldmatrix:
        matrix_load(m, i);
        break;
    case opcode::stmatrix:
        matrix_store(m, i);
        break;
    case opcode::mma:
        matrix_multiply(m, i);
        break;
    case opcode::wgmma:
        warpgroup_multiply(m, i);
        break;
    case opcode::tcgen05:
        tensor_core(m, i);
        break;
    case opcode::mbarrier:
        mbarrier(m, i);
        break;
    case opcode::setmaxnreg:
        simt::setmaxnreg(static_cast<int>(i.o[0].value), i.has(m_inc));
        break;
    case opcode::createpolicy:
        write(m, i.o[0], 0, type::b64);
        break;
    case opcode::nanosleep:
        simt::yield();
        break;
    case opcode::fence:
    case opcode::membar:
        if (i.has("mbarrier_init")) simt::mbar_fence_init();
        if (i.has("proxy") && i.has(m_async)) simt::proxy_fence();
        if (m.weak && (i.has("gl") || i.has("gpu") || i.has("sys")) && !i.has("proxy"))
            weak_fence(m.weak);
        break;
    case opcode::prefetch:
    case opcode::discard:
    case opcode::griddepcontrol:
        break;
    case opcode::trap:
        refuse(i, "trap");
    default:
        refuse(i, "the interpreter does not know this instruction");
    }
}

static float float_in(uint64_t r) {
    const auto word = static_cast<uint32_t>(r);
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}
static uint64_t float_bits(float f) {
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return word;
}
static double double_in(uint64_t r) {
    double d;
    memcpy(&d, &r, sizeof d);
    return d;
}
static uint64_t double_bits(double d) {
    uint64_t r;
    memcpy(&r, &d, sizeof r);
    return r;
}
static uint64_t low(uint64_t v) { return v & 0xffffffffu; }
static int32_t s32(uint64_t v) { return static_cast<int32_t>(v); }
static uint64_t from_s64(int64_t v) { return static_cast<uint64_t>(v); }

static void quick_load(const machine &m, const quick_instruction &q, const instruction &i,
                       const char *p) {
    const kernel &k = *m.kernel;
    uint64_t *r = m.r;
    const size_t bytes = q.bytes;
    check_aligned(i, p, bytes * q.items);
    simt::note_read(p, bytes * q.items);
    char seen[32];
    if (is_weak(m, i, p)) {
        weak_load(m.weak, p, seen, bytes * q.items);
        p = seen;
    }
    for (size_t n = 0; n < q.items; n++) {
        uint64_t v = 0;
        memcpy(&v, p + n * bytes, bytes);
        r[k.lists[static_cast<size_t>(q.d) + n]] = q.sign ? extended(v, i.t[0]) : v;
    }
}

static void quick_store(const machine &m, const quick_instruction &q, const instruction &i,
                        char *p) {
    const kernel &k = *m.kernel;
    const uint64_t *r = m.r;
    const size_t bytes = q.bytes;
    check_aligned(i, p, bytes * q.items);
    note_store(m, i, p, bytes * q.items);
    const bool weak = is_weak(m, i, p);
    for (size_t n = 0; n < q.items; n++) {
        const uint64_t *from = &r[k.lists[static_cast<size_t>(q.d) + n]];
        if (weak)
            weak_store(m.weak, p + n * bytes, from, bytes);
        else
            memcpy(p + n * bytes, from, bytes);
    }
}

static char *pointer(uint64_t a) { return reinterpret_cast<char *>(a); }

static void run_thread(const kernel &k, char *parameters) {
    std::vector<uint64_t> registers(k.initial);
    std::vector<uint64_t> local(2 * (k.local_bytes / 16 + 2), ~0ull);
    uint64_t *r = registers.data();
    machine m = {&k, r, reinterpret_cast<char *>(local.data()), parameters, nullptr};
    m.local += reinterpret_cast<uintptr_t>(m.local) % 16; /* 8 or 0 */
    /* a block has them from its start: others of its cluster may write there before it names them */
    for (auto *s : k.shared) symbol_address(m, *s);
    struct of_weak { /* ends with the thread */
        weak_thread *w;
        ~of_weak() { weak_end(w); }
    } weak = {k.is_weak ? weak_begin() : nullptr};
    m.weak = weak.w;
    unsigned patience = PATIENCE;
    const int end = static_cast<int>(k.code.size());
    const quick_instruction *code = k.quick.data();
    for (int pc = 0; pc < end;) {
        const quick_instruction &q = code[pc++];
        if (q.guard >= 0 && (r[q.guard] != 0) == q.guard_not) continue;
        switch (q.code) {
        case quick::bra:
            if (q.d < pc && --patience == 0) {
                patience = PATIENCE;
                simt::yield();
            }
            pc = q.d;
            break;
        case quick::move:
            r[q.d] = r[q.a];
            break;
        case quick::select:
            r[q.d] = r[r[q.c] ? q.a : q.b];
            break;
        case quick::compare32:
            r[q.d] = compare(q.cmp, low(r[q.a]), low(r[q.b]), type::u64);
            break;
        case quick::compare64:
            r[q.d] = compare(q.cmp, r[q.a], r[q.b], type::u64);
            break;
        case quick::compare_s32:
            r[q.d] = compare(q.cmp, from_s64(s32(r[q.a])), from_s64(s32(r[q.b])), type::s64);
            break;
        case quick::compare_s64:
            r[q.d] = compare(q.cmp, r[q.a], r[q.b], type::s64);
            break;
        case quick::compare_f32:
            r[q.d] = compare(q.cmp, r[q.a], r[q.b], type::f32);
            break;
        case quick::add32:
            r[q.d] = low(r[q.a] + r[q.b]);
            break;
        case quick::sub32:
            r[q.d] = low(r[q.a] - r[q.b]);
            break;
        case quick::mul32:
            r[q.d] = low(r[q.a] * r[q.b]);
            break;
        case quick::mad32:
            r[q.d] = low(r[q.a] * r[q.b] + r[q.c]);
            break;
        case quick::and32:
            r[q.d] = low(r[q.a] & r[q.b]);
            break;
        case quick::or32:
            r[q.d] = low(r[q.a] | r[q.b]);
            break;
        case quick::xor32:
            r[q.d] = low(r[q.a] ^ r[q.b]);
            break;
        case quick::shl32:
            r[q.d] = low(r[q.b]) < 32 ? low(r[q.a] << low(r[q.b])) : 0;
            break;
        case quick::shr32:
            r[q.d] = low(r[q.b]) < 32 ? low(r[q.a]) >> low(r[q.b]) : 0;
            break;
        case quick::shr_s32:
            r[q.d] = low(from_s64(s32(r[q.a]) >> (low(r[q.b]) < 32 ? low(r[q.b]) : 31)));
            break;
        case quick::add64:
            r[q.d] = r[q.a] + r[q.b];
            break;
        case quick::sub64:
            r[q.d] = r[q.a] - r[q.b];
            break;
        case quick::mul64:
            r[q.d] = r[q.a] * r[q.b];
            break;
        case quick::mad64:
            r[q.d] = r[q.a] * r[q.b] + r[q.c];
            break;
        case quick::and64:
            r[q.d] = r[q.a] & r[q.b];
            break;
        case quick::or64:
            r[q.d] = r[q.a] | r[q.b];
            break;
        case quick::xor64:
            r[q.d] = r[q.a] ^ r[q.b];
            break;
        case quick::shl64:
            r[q.d] = low(r[q.b]) < 64 ? r[q.a] << low(r[q.b]) : 0;
            break;
        case quick::shr64:
            r[q.d] = low(r[q.b]) < 64 ? r[q.a] >> low(r[q.b]) : 0;
            break;
        case quick::shr_s64:
            r[q.d] =
                from_s64(static_cast<int64_t>(r[q.a]) >> (low(r[q.b]) < 64 ? low(r[q.b]) : 63));
            break;
        case quick::wide_u32:
            r[q.d] = low(r[q.a]) * low(r[q.b]);
            break;
        case quick::wide_s32:
            r[q.d] = from_s64(static_cast<int64_t>(s32(r[q.a])) * s32(r[q.b]));
            break;
        case quick::mad_wide_u32:
            r[q.d] = low(r[q.a]) * low(r[q.b]) + r[q.c];
            break;
        case quick::mad_wide_s32:
            r[q.d] = from_s64(static_cast<int64_t>(s32(r[q.a])) * s32(r[q.b])) + r[q.c];
            break;
        case quick::low8:
            r[q.d] = r[q.a] & 0xff;
            break;
        case quick::low16:
            r[q.d] = r[q.a] & 0xffff;
            break;
        case quick::low32:
            r[q.d] = low(r[q.a]);
            break;
        case quick::sign8: /* from s8 to what has 64 bits; likewise below */
            r[q.d] = from_s64(static_cast<int8_t>(r[q.a]));
            break;
        case quick::sign16:
            r[q.d] = from_s64(static_cast<int16_t>(r[q.a]));
            break;
        case quick::sign32:
            r[q.d] = from_s64(s32(r[q.a]));
            break;
        case quick::add_f32:
            r[q.d] = float_bits(float_in(r[q.a]) + float_in(r[q.b]));
            break;
        case quick::sub_f32:
            r[q.d] = float_bits(float_in(r[q.a]) - float_in(r[q.b]));
            break;
        case quick::mul_f32:
            r[q.d] = float_bits(float_in(r[q.a]) * float_in(r[q.b]));
            break;
        case quick::fma_f32:
            r[q.d] = float_bits(fmaf(float_in(r[q.a]), float_in(r[q.b]), float_in(r[q.c])));
            break;
        case quick::add_f64:
            r[q.d] = double_bits(double_in(r[q.a]) + double_in(r[q.b]));
            break;
        case quick::sub_f64:
            r[q.d] = double_bits(double_in(r[q.a]) - double_in(r[q.b]));
            break;
        case quick::mul_f64:
            r[q.d] = double_bits(double_in(r[q.a]) * double_in(r[q.b]));
            break;
        case quick::fma_f64:
            r[q.d] = double_bits(fma(double_in(r[q.a]), double_in(r[q.b]), double_in(r[q.c])));
            break;
        case quick::load:
            quick_load(m, q, k.code[static_cast<size_t>(pc - 1)], pointer(r[q.a] + r[q.b]));
            break;
        case quick::load_shared:
            quick_load(m, q, k.code[static_cast<size_t>(pc - 1)], shared_pointer(r[q.a] + r[q.b]));
            break;
        case quick::store:
            quick_store(m, q, k.code[static_cast<size_t>(pc - 1)], pointer(r[q.a] + r[q.b]));
            break;
        case quick::store_shared:
            quick_store(m, q, k.code[static_cast<size_t>(pc - 1)], shared_pointer(r[q.a] + r[q.b]));
            break;
        case quick::slow: {
            const instruction &i = k.code[static_cast<size_t>(pc - 1)];
            if (i.code == opcode::ret || i.code == opcode::exit) return;
            if (i.code == opcode::brx) {
                const auto which = static_cast<size_t>(read(m, i.o[0], type::u32));
                if (which >= i.targets.size()) refuse(i, "beyond its table");
                pc = i.targets[which];
            } else {
                step(m, i);
            }
        }
        }
    }
}

/* ---- launches ---- */

static std::vector<module *> &modules() {
    static auto *all = new std::vector<module *>;
    return *all;
}

static void launch(const simt::launch_shape &l, const char *symbol, const simt::kernel_call &call) {
    module *m = nullptr;
    for (auto *each : modules())
        if (module_has(each, symbol)) m = each;
    if (!m) simt::fail("the loaded PTX has no '%s'", symbol);
    const kernel &k = *module_kernel(m, symbol);
    if (k.parameters.size() != static_cast<size_t>(call.arguments))
        simt::fail("'%s' takes %zu parameters in PTX, %d in C++", symbol, k.parameters.size(),
                   call.arguments);
    /* 128: tensor maps */
    auto *parameters =
        static_cast<char *>(aligned_alloc(128, (k.parameter_bytes + 128) / 128 * 128));
    if (!parameters) simt::fail("no memory for parameters");
    for (size_t i = 0; i < k.parameters.size(); i++) {
        if (k.parameters[i].size != call.argument_bytes[i])
            simt::fail("'%s': parameter %zu has %zu bytes in PTX, %zu in C++", symbol, i,
                       k.parameters[i].size, call.argument_bytes[i]);
        memcpy(parameters + k.parameters[i].at, call.argument[i], k.parameters[i].size);
    }
    struct context {
        const kernel &k;
        char *parameters;
    } c = {k, parameters};
    simt::run(
        l, call.kernel,
        [](const void *raw) {
            auto *x = static_cast<const context *>(raw);
            run_thread(x->k, x->parameters);
        },
        &c);
    if (k.is_weak) weak_launch_end();
    free(parameters);
}

static void add_file(const std::string &path) {
    module *m = module_load(path.c_str());
    if (!m) {
        fprintf(stderr, "roofline: ROOFLINE_EMULATE_PTX: '%s' cannot be read\n", path.c_str());
        exit(2);
    }
    modules().push_back(m);
}

/* Before main(): what cannot be loaded ends the program. */
static const bool installed = [] {
    const char *path = getenv("ROOFLINE_EMULATE_PTX");
    if (!path || !*path) return false;
    if (DIR *folder = opendir(path)) {
        while (const struct dirent *e = readdir(folder)) {
            const std::string name = e->d_name;
            if (name.size() > 4 && name.compare(name.size() - 4, 4, ".ptx") == 0)
                add_file(std::string(path) + "/" + name);
        }
        closedir(folder);
    } else {
        add_file(path);
    }
    if (modules().empty()) {
        fprintf(stderr, "roofline: ROOFLINE_EMULATE_PTX: no .ptx file in '%s'\n", path);
        exit(2);
    }
    simt::interpreter = launch;
    return true;
}();

} // namespace ptxi
