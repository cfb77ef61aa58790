/* ptx.h - PTX as the interpreter holds it: modules, kernels, decoded instructions. Source: PTX ISA 9.0. */
#ifndef PTXI_PTX_H
#define PTXI_PTX_H
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ptxi {

enum class type : uint8_t {
    none,
#define TYPE(id, name, bytes) id,
#include "names.def"
    count
};
constexpr uint8_t type_bytes[] = {
    0,
#define TYPE(id, name, bytes) bytes,
#include "names.def"
};
constexpr int bytes_of(type t) { return type_bytes[static_cast<int>(t)]; }
inline bool is_signed(type t) { return t >= type::s8 && t <= type::s64; }
inline bool is_float(type t) { return t >= type::f16 && t <= type::tf32; }
inline bool is_packed(type t) { return t == type::f16x2 || t == type::bf16x2; }

enum class opcode : uint8_t {
#define OPCODE(id, name) id,
#include "names.def"
    count
};

enum modifier : uint8_t {
#define MODIFIER(id) id,
#include "names.def"
};

enum class comparison : uint8_t {
    none,
#define COMPARISON(id) id,
#include "names.def"
};

enum class special : uint8_t {
#define SPECIAL(id, name) id,
#include "names.def"
    count
};

struct symbol {
    enum { shared, dynamic, local, global, param } space;
    size_t size, align;
    uint64_t at; /* global: its address; local and param: its offset */
    int key;     /* shared: its variable in the runtime */
};

struct operand {
    enum { none, reg, imm, special, list, memory, address } kind = none; /* none: "_" or a label */
    int r = -1;            /* reg; base of memory, -1 without one */
    uint64_t value = 0;    /* imm: its bits; offset of memory and address */
    bool is_float = false; /* imm: the bits are of a float or, is_double, a double */
    bool is_double = false;
    bool is_not = false; /* "!p" */
    enum special what = special::tid_x;
    const struct symbol *symbol = nullptr; /* of memory and address */
    std::vector<operand> items; /* of a list; the second of "d|p"; coordinates behind an address */
    std::string name;           /* as written, where it may be a label */
};

struct instruction {
    opcode code;
    comparison cmp = comparison::none;
    type t[4] = {type::none, type::none, type::none,
                 type::none}; /* in the order of the modifiers */
    uint64_t modifiers = 0;
    int M = 0, N = 0, K = 0; /* of a matrix shape */
    int guard = -1;          /* predicate register */
    bool guard_not = false;
    std::vector<operand> o;
    std::vector<int> targets;       /* of branches: places in the code */
    std::vector<std::string> words; /* all modifiers as written, for what is told apart by few */
    std::string text;
    int line = 0;
    bool has(modifier m) const { return modifiers >> m & 1; }
    bool has(const char *word) const;
};

struct parameter {
    size_t at, size;
};

/* The frequent instructions once more, small and ready to run: every operand is a register; constants have registers
 * of their own, which each thread starts with. quick.cpp */
enum class quick : uint8_t {
    slow, /* the instruction itself says what to do */
    bra,
    move,
    select,
    compare32,
    compare64,
    compare_s32,
    compare_s64,
    compare_f32,
    add32,
    sub32,
    mul32,
    mad32,
    and32,
    or32,
    xor32,
    shl32,
    shr32,
    shr_s32,
    add64,
    sub64,
    mul64,
    mad64,
    and64,
    or64,
    xor64,
    shl64,
    shr64,
    shr_s64,
    wide_u32,
    wide_s32,
    mad_wide_u32,
    mad_wide_s32,
    low8,
    low16,
    low32,
    sign8,
    sign16,
    sign32,
    add_f32,
    sub_f32,
    mul_f32,
    fma_f32,
    add_f64,
    sub_f64,
    mul_f64,
    fma_f64,
    load,
    load_shared,
    store,
    store_shared
};
struct quick_instruction {
    quick code = quick::slow;
    comparison cmp = comparison::none;
    bool guard_not = false, sign = false; /* sign: of what is loaded */
    uint8_t bytes = 0;                    /* loaded or stored, an item */
    uint8_t items = 1;
    int guard = -1;
    int d = -1, a = -1, b = -1,
        c = -1; /* registers; items of a load or store: kernel.lists from d on; bra: to d */
};
struct kernel {
    std::vector<instruction> code;
    std::vector<parameter> parameters;
    std::map<std::string, symbol> symbols;
    bool is_asynchronous = false;       /* bulk copies or multiplies read its shared memory */
    bool is_weak = false;               /* it has atomics outside of shared memory: weak.cpp */
    std::vector<const symbol *> shared; /* variables of shared memory that the code names */
    size_t parameter_bytes = 0, local_bytes = 0;
    int registers = 0;
    std::vector<quick_instruction> quick; /* one for one with code */
    std::vector<int> lists;
    std::vector<uint64_t> initial; /* registers of a thread that starts */
};
void make_quick(kernel &k);

/* One file, indexed; kernels are parsed when they are first asked for. */
struct module;
module *module_load(const char *path); /* NULL: not readable */
bool module_has(const module *m, const std::string &kernel);
const kernel *module_kernel(module *m, const std::string &name);

[[noreturn]] void refuse(const instruction &i, const char *why);

/* arithmetic.cpp: values are raw bits in the low end of 64. */
double float_of(uint64_t bits, type t);
uint64_t bits_of(double x, type t); /* one rounding, to nearest even */
uint64_t arithmetic(const instruction &i, uint64_t a, uint64_t b, uint64_t c);
uint64_t function(const instruction &i, uint64_t a);
uint64_t convert(const instruction &i, uint64_t a);
uint64_t convert_two(const instruction &i, uint64_t high, uint64_t low);
bool compare(comparison c, uint64_t a, uint64_t b, type t);
uint64_t atomic_result(const instruction &i, type t, uint64_t old, uint64_t b, uint64_t c);

/* A thread's registers and memory. */
struct weak_thread;
struct machine {
    const struct kernel *kernel;
    uint64_t *r;
    char *local;
    char *parameters;
    weak_thread *weak; /* NULL: global memory is one for all */
};
inline uint64_t extended(uint64_t v, type t) {
    switch (bytes_of(t)) {
    case 1:
        return t == type::s8 ? static_cast<uint64_t>(static_cast<int8_t>(v)) : v & 0xff;
    case 2:
        return t == type::s16 ? static_cast<uint64_t>(static_cast<int16_t>(v)) : v & 0xffff;
    case 4:
        return t == type::s32 ? static_cast<uint64_t>(static_cast<int32_t>(v)) : v & 0xffffffffu;
    default:
        return v;
    }
}
uint64_t read_other(const machine &m, const operand &o, type t);
void write_other(machine &m, const operand &o, uint64_t value, type t);
/* The value, extended to 64 bits as t says. */
inline uint64_t read(const machine &m, const operand &o, type t) {
    return o.kind == operand::reg && !o.is_not && t != type::pred ? extended(m.r[o.r], t)
                                                                  : read_other(m, o, t);
}
inline void write(machine &m, const operand &o, uint64_t value, type t) {
    if (o.kind == operand::reg && t != type::pred)
        m.r[o.r] = extended(value, t);
    else
        write_other(m, o, value, t);
}
char *shared_address(const machine &m, const operand &o);
/* tensor.cpp */
void matrix_multiply(machine &m, const instruction &i);
void warpgroup_multiply(machine &m, const instruction &i);
void matrix_load(machine &m, const instruction &i);
void matrix_store(machine &m, const instruction &i);
void tensor_core(machine &m, const instruction &i);
void copy_async(machine &m, const instruction &i);
void mbarrier(machine &m, const instruction &i);

/* weak.cpp, of the running thread and of the launch */
weak_thread *weak_begin();
void weak_end(weak_thread *w);
void weak_load(const weak_thread *w, const char *p, void *to, size_t n);
void weak_store(weak_thread *w, char *p, const void *from, size_t n);
void weak_fence(weak_thread *w);
void weak_atomic(weak_thread *w); /* before it */
void weak_arrive(weak_thread *w); /* at a barrier of the block */
void weak_leave(weak_thread *w);
void weak_launch_end();

} // namespace ptxi
#endif
