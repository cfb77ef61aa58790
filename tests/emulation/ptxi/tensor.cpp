/* tensor.cpp - matrix instructions, asynchronous copies and mbarriers of PTX on the runtime. Fragments: PTX ISA 9.0,
 * 9.7.14.5 (mma) and 9.7.15 (wgmma). */
#include "ptx.h"

#include "emulated_ptx.h"

#include <cstring>

namespace ptxi {

/* ---- mma.sync ---- */

/* Fragments of a warp: lane 4 g + t. With e elements in a register (1 of 64 or 32 bits, 2, 4), register j of A holds
 * row g + 8 (j % 2), of an M of 8 row g, and columns e (t + 4 (j / 2)) and on; register j of B rows e (t + 4 j) and on
 * of column g; accumulator j row g + 8 (j / 2) and column 2 t + j % 2. */
struct mma_shape {
    int M, K, each; /* each: elements a register */
    type a, b;
    bool is_double;
};
struct mma_io {
    uint64_t a[8], b[4];
    double c[4], d[4];
};

static double element_of(uint64_t reg, type t, int e) {
    return float_of(reg >> (e * 8 * bytes_of(t)), t);
}

static void multiply(void *const *io, uint32_t, const void *context) {
    const auto &s = *static_cast<const mma_shape *>(context);
    static double A[16][64], B[64][8]; /* one collective at a time */
    for (int l = 0; l < 32; l++) {
        const auto *x = static_cast<const mma_io *>(io[l]);
        const int g = l / 4, t = l % 4, halves = s.M / 8;
        for (int k = 0; k < s.K; k++) {
            const int j = k / (4 * s.each), e = k % s.each;
            if (k / s.each % 4 != t) continue;
            for (int h = 0; h < halves; h++)
                A[g + 8 * h][k] = element_of(x->a[halves * j + h], s.a, e);
            B[k][g] = element_of(x->b[j], s.b, e);
        }
    }
    for (int l = 0; l < 32; l++) {
        auto *x = static_cast<mma_io *>(io[l]);
        for (int j = 0; j < s.M / 4; j++) {
            const int row = l / 4 + 8 * (j / 2), col = 2 * (l % 4) + j % 2;
            double sum = s.is_double ? x->c[j] : 0;
            for (int k = 0; k < s.K; k++)
                sum = s.is_double ? __builtin_fma(A[row][k], B[k][col], sum)
                                  : sum + A[row][k] * B[k][col];
            x->d[j] =
                s.is_double
                    ? sum
                    : static_cast<double>(static_cast<float>(x->c[j]) + static_cast<float>(sum));
        }
    }
}

static uint64_t item(const machine &m, const operand &o, int i, type t) {
    return o.kind == operand::list ? read(m, o.items[static_cast<size_t>(i)], t) : read(m, o, t);
}
static int items(const operand &o) {
    return o.kind == operand::list ? static_cast<int>(o.items.size()) : 1;
}

/* d, a, b, c, scales of a, {byte, thread}, of b, {byte, thread}: which threads of four give the scales, always the first two of
 * a, and the first of b. */
static void scaled_multiply(machine &m, const instruction &i) {
    const bool is_nvfp4 = i.M == 16 && i.N == 8 && i.K == 64 && i.has("kind::mxf4nvf4") &&
                          i.has("scale_vec::4X") && i.has("ue4m3") && i.t[0] == type::f32 &&
                          i.t[1] == type::e2m1 && i.t[2] == type::e2m1 && i.t[3] == type::f32;
    if (!is_nvfp4 || !i.has(m_row) || !i.has(m_col) || i.o.size() != 8)
        refuse(i, "this block-scaled mma is not emulated");
    if (items(i.o[0]) != 4 || items(i.o[1]) != 4 || items(i.o[2]) != 2 || items(i.o[3]) != 4)
        refuse(i, "wrong numbers of registers");
    for (const size_t o : {size_t(5), size_t(7)})
        for (int j = 0; j < 2; j++)
            if (item(m, i.o[o], j, type::u16) != 0) refuse(i, "these selectors are not emulated");
    uint32_t a[4], b[2];
    float d[4];
    for (int j = 0; j < 4; j++) a[j] = static_cast<uint32_t>(item(m, i.o[1], j, type::b32));
    for (int j = 0; j < 2; j++) b[j] = static_cast<uint32_t>(item(m, i.o[2], j, type::b32));
    for (int j = 0; j < 4; j++)
        d[j] = static_cast<float>(float_of(item(m, i.o[3], j, type::b32), type::f32));
    gpu::mma_m16n8k64_nvfp4(d, a, b, static_cast<uint32_t>(read(m, i.o[4], type::b32)),
                            static_cast<uint32_t>(read(m, i.o[6], type::b32)));
    for (int j = 0; j < 4; j++)
        write(m, i.o[0].items[static_cast<size_t>(j)],
              bits_of(static_cast<double>(d[j]), type::f32), type::b32);
}

void matrix_multiply(machine &m, const instruction &i) {
    if (i.has("block_scale")) {
        scaled_multiply(m, i);
        return;
    }
    const type d = i.t[0], a = i.t[1], b = i.t[2], c = i.t[3];
    const bool is_double = a == type::f64, is_half = d == type::f16;
    const int width = is_double ? 8 : 4;
    const int size = a == type::tf32 ? 4 : bytes_of(a);
    const mma_shape s = {i.M, i.K, width / size, a, b, is_double};
    const int na = s.M * s.K / 32 / s.each, nb = 8 * s.K / 32 / s.each, d_count = s.M / 4,
              nd_registers = is_half ? d_count / 2 : d_count;
    if (!i.has(m_row) || !i.has(m_col) || i.N != 8 || (s.M != 16 && !(s.M == 8 && is_double)))
        refuse(i, "this shape of mma is not emulated");
    const bool types_fit = is_double ? b == type::f64 && c == type::f64 && d == type::f64
                                     : size == bytes_of(b) && c == d && (d == type::f32 || is_half);
    if (!types_fit) refuse(i, "these types of mma are not emulated");
    if (items(i.o[0]) != nd_registers || items(i.o[1]) != na || items(i.o[2]) != nb ||
        items(i.o[3]) != nd_registers || na > 8 || nb > 4)
        refuse(i, "wrong numbers of registers");
    simt::need_cc(size == 1 ? 89 : is_double && s.M == 16 ? 90 : 80, i.text.c_str());
    const type reg = is_double ? type::b64 : type::b32;
    mma_io io = {};
    for (int j = 0; j < na; j++) io.a[j] = item(m, i.o[1], j, reg);
    for (int j = 0; j < nb; j++) io.b[j] = item(m, i.o[2], j, reg);
    for (int j = 0; j < d_count; j++)
        io.c[j] = is_half ? element_of(item(m, i.o[3], j / 2, reg), d, j % 2)
                          : float_of(item(m, i.o[3], j, reg), d);
    simt::warp_collective(~0u, "mma", &io, multiply, &s);
    for (int j = 0; j < nd_registers; j++)
        write(m, i.o[0].items[static_cast<size_t>(j)],
              is_half ? bits_of(io.d[2 * j], d) | bits_of(io.d[2 * j + 1], d) << 16
                      : bits_of(io.d[j], d),
              reg);
}

void matrix_load(machine &m, const instruction &i) {
    const char *row = shared_address(m, i.o[1]);
    uint32_t r[4];
    if (i.t[0] != type::b16 || !i.has("m8n8")) refuse(i, "this ldmatrix is not emulated");
    const int n = i.has(m_x4) ? 4 : i.has(m_x2) ? 2 : 1;
    if (items(i.o[0]) != n) refuse(i, "wrong number of registers");
    if (i.has(m_trans))
        n == 4   ? gpu::ldm_emu<4, true>(r, row)
        : n == 2 ? gpu::ldm_emu<2, true>(r, row)
                 : gpu::ldm_emu<1, true>(r, row);
    else
        n == 4   ? gpu::ldm_emu<4, false>(r, row)
        : n == 2 ? gpu::ldm_emu<2, false>(r, row)
                 : gpu::ldm_emu<1, false>(r, row);
    for (int j = 0; j < n; j++)
        write(m,
              n == 1 && i.o[0].kind != operand::list ? i.o[0]
                                                     : i.o[0].items[static_cast<size_t>(j)],
              r[j], type::b32);
}

void matrix_store(machine &m, const instruction &i) {
    char *row = shared_address(m, i.o[0]);
    uint32_t r[4] = {};
    if (i.t[0] != type::b16 || !i.has("m8n8")) refuse(i, "this stmatrix is not emulated");
    const int n = i.has(m_x4) ? 4 : i.has(m_x2) ? 2 : 1;
    if (items(i.o[1]) != n) refuse(i, "wrong number of registers");
    for (int j = 0; j < n; j++) r[j] = static_cast<uint32_t>(item(m, i.o[1], j, type::b32));
    if (i.has(m_trans))
        n == 4   ? gpu::stm_emu<4, true>(row, r)
        : n == 2 ? gpu::stm_emu<2, true>(row, r)
                 : gpu::stm_emu<1, true>(row, r);
    else
        n == 4   ? gpu::stm_emu<4, false>(row, r)
        : n == 2 ? gpu::stm_emu<2, false>(row, r)
                 : gpu::stm_emu<1, false>(row, r);
}

/* ---- wgmma ---- */

static simt::element element_named(const instruction &i, type t) {
    switch (t) {
    case type::bf16:
        return simt::element::bf16;
    case type::f16:
        return simt::element::f16;
    case type::tf32:
        return simt::element::tf32;
    case type::e4m3:
        return simt::element::e4m3;
    case type::e5m2:
        return simt::element::e5m2;
    default:
        refuse(i, "this type of wgmma is not emulated");
    }
}

void warpgroup_multiply(machine &m, const instruction &i) {
    if (i.has("fence")) {
        simt::wgmma_fence();
        return;
    }
    if (i.has("commit_group")) {
        simt::wgmma_commit();
        return;
    }
    if (i.has("wait_group")) {
        simt::wgmma_wait(static_cast<int>(i.o[0].value));
        return;
    }
    /* d, descriptor of a, of b, accumulate, sign of a, of b, transpose a, b */
    if (i.M != 64 || i.t[0] != type::f32 || items(i.o[0]) != i.N / 2 ||
        i.K * bytes_of(i.t[1]) != 32 || i.o.size() < 6)
        refuse(i, "this wgmma is not emulated");
    if (i.o[1].kind == operand::list) refuse(i, "wgmma with A in registers is not emulated");
    if (i.o[4].value != 1 || i.o[5].value != 1) refuse(i, "negated operands are not emulated");
    std::vector<float *> d; /* the registers themselves: they are written when the work is done */
    for (auto &o : i.o[0].items) d.push_back(reinterpret_cast<float *>(&m.r[o.r]));
    simt::wgmma(element_named(i, i.t[1]), element_named(i, i.t[2]), i.N, d.data(),
                read(m, i.o[1], type::b64), read(m, i.o[2], type::b64),
                read(m, i.o[3], type::pred) != 0, i.o.size() > 6 && i.o[6].value,
                i.o.size() > 7 && i.o[7].value);
}

/* ---- tcgen05 ---- */

/* "[%r1]": an address of tensor memory, which is no pointer. */
static uint32_t tensor_address(const machine &m, const instruction &i, size_t o) {
    const operand &x = i.o[o];
    if (x.kind != operand::memory || x.r < 0) refuse(i, "no address of tensor memory");
    return static_cast<uint32_t>(m.r[x.r] + x.value);
}

static void tensor_multiply(machine &m, const instruction &i, int ctas) {
    simt::tcgen05_operands o = {};
    o.ctas = ctas;
    const bool is_scaled = i.has("kind::mxf4nvf4");
    if (i.has("kind::f16"))
        o.kind = simt::tcgen05_kind::f16;
    else if (i.has("kind::tf32"))
        o.kind = simt::tcgen05_kind::tf32;
    else if (i.has("kind::f8f6f4"))
        o.kind = simt::tcgen05_kind::f8f6f4;
    else if (is_scaled && i.has("block_scale") && i.has("scale_vec::4X"))
        o.kind = simt::tcgen05_kind::mxf4nvf4;
    else
        refuse(i, "this kind is not emulated");
    if (i.o.size() != (is_scaled ? 7u : 5u) || i.o[1].kind == operand::memory)
        refuse(i, "these operands of tcgen05.mma are not emulated");
    o.d = tensor_address(m, i, 0);
    o.desc_a = read(m, i.o[1], type::b64);
    o.desc_b = read(m, i.o[2], type::b64);
    o.shape = static_cast<uint32_t>(read(m, i.o[3], type::b32));
    if (is_scaled) {
        o.scales_a = tensor_address(m, i, 4);
        o.scales_b = tensor_address(m, i, 5);
    }
    o.accumulate = read(m, i.o.back(), type::pred) != 0;
    simt::tcgen05_mma(o);
}

void tensor_core(machine &m, const instruction &i) {
    const int ctas = i.has("cta_group::1") ? 1 : i.has("cta_group::2") ? 2 : 0;
    const auto number = [&](size_t o) { return static_cast<uint32_t>(read(m, i.o[o], type::b32)); };
    if (i.has("fence::before_thread_sync")) {
        simt::tcgen05_fence_before();
    } else if (i.has("fence::after_thread_sync")) {
        simt::tcgen05_fence_after();
    } else if (i.has("wait::ld")) {
        simt::tcgen05_wait_ld();
    } else if (i.has("ld")) {
        if (!i.has("32x32b") || !i.has("x32") || items(i.o[0]) != 32)
            refuse(i, "this tcgen05.ld is not emulated");
        uint32_t *r[32];
        for (size_t j = 0; j < 32; j++)
            r[j] = reinterpret_cast<uint32_t *>(&m.r[i.o[0].items[j].r]);
        simt::tcgen05_ld(r, 32, tensor_address(m, i, 1));
    } else if (!ctas) {
        refuse(i, "no cta_group");
    } else if (i.has("alloc")) {
        simt::tmem_alloc(ctas, reinterpret_cast<uint32_t *>(shared_address(m, i.o[0])),
                         static_cast<int>(number(1)));
    } else if (i.has("relinquish_alloc_permit")) {
        simt::tmem_relinquish(ctas);
    } else if (i.has("dealloc")) {
        simt::tmem_dealloc(ctas, number(0), static_cast<int>(number(1)));
    } else if (i.has("mma")) {
        tensor_multiply(m, i, ctas);
    } else if (i.has("cp")) {
        if (!i.has("32x128b") || !i.has("warpx4")) refuse(i, "this tcgen05.cp is not emulated");
        simt::tcgen05_cp_scales(ctas, tensor_address(m, i, 0), read(m, i.o[1], type::b64));
    } else if (i.has("commit")) {
        auto *bar = reinterpret_cast<uint64_t *>(shared_address(m, i.o[0]));
        if (!i.has("mbarrier::arrive::one")) refuse(i, "a commit without an arrival");
        simt::tcgen05_commit(ctas, bar,
                             i.has("multicast::cluster")
                                 ? static_cast<uint16_t>(read(m, i.o[1], type::u16))
                                 : static_cast<uint16_t>(1u << simt::cluster_rank()));
    } else {
        refuse(i, "this tcgen05 instruction is not emulated");
    }
}

/* ---- asynchronous copies ---- */

static int integer(const machine &m, const operand &o) {
    return static_cast<int>(read(m, o, type::s32));
}

static void copy_tensor(machine &m, const instruction &i) {
    const bool is_load =
        i.words[4].compare(0, 6, "shared") == 0; /* async.bulk.tensor.2d.<target> */
    const operand &tensor = i.o[is_load ? 1 : 0];
    if (tensor.items.empty()) refuse(i, "no coordinates");
    const operand &at = tensor.items[0];
    int c[5];
    const int rank = items(at);
    if (rank > 5 || i.words[3][0] - '0' != rank) refuse(i, "wrong number of coordinates");
    for (int j = 0; j < rank; j++) c[j] = static_cast<int>(item(m, at, j, type::s32));
    operand base = tensor;
    base.items.clear();
    const auto *map = reinterpret_cast<const void *>(
        base.symbol ? reinterpret_cast<uint64_t>(m.parameters) + base.symbol->at + base.value
                    : m.r[base.r] + base.value);
    if (is_load)
        simt::tma_load(shared_address(m, i.o[0]), map,
                       reinterpret_cast<uint64_t *>(shared_address(m, i.o[2])), c, rank,
                       i.has("multicast::cluster")
                           ? static_cast<uint16_t>(read(m, i.o[3], type::u16))
                           : static_cast<uint16_t>(0),
                       i.has("cta_group::2"));
    else
        simt::tma_store(map, shared_address(m, i.o[1]), c, rank);
}

static void copy_bytes(machine &m, const instruction &i) { /* async.bulk.<target>.<source> */
    const bool is_load = i.words[2].compare(0, 6, "shared") == 0;
    const operand &global = i.o[is_load ? 1 : 0];
    if (global.r < 0 || i.has("multicast::cluster") ||
        i.words[3] != (is_load ? "global" : "shared::cta"))
        refuse(i, "this bulk copy is not emulated");
    auto *gmem = reinterpret_cast<void *>(m.r[global.r] + global.value);
    const auto bytes = static_cast<uint32_t>(read(m, i.o[2], type::u32));
    if (is_load)
        simt::bulk_load(shared_address(m, i.o[0]), gmem, bytes,
                        reinterpret_cast<uint64_t *>(shared_address(m, i.o[3])));
    else
        simt::bulk_store(gmem, shared_address(m, i.o[1]), bytes);
}

void copy_async(machine &m, const instruction &i) {
    if (!i.has(m_async)) refuse(i, "not asynchronous");
    if (i.has("bulk")) {
        if (i.has("commit_group"))
            simt::bulk_commit();
        else if (i.has("wait_group"))
            simt::bulk_wait(static_cast<int>(i.o[0].value));
        else if (i.has("tensor"))
            copy_tensor(m, i);
        else
            copy_bytes(m, i);
        return;
    }
    if (i.has("commit_group")) {
        simt::cp_async_commit();
    } else if (i.has("wait_group")) {
        simt::cp_async_wait(static_cast<int>(i.o[0].value));
    } else if (i.has("wait_all")) {
        simt::cp_async_commit();
        simt::cp_async_wait(0);
    } else {
        const int bytes = static_cast<int>(i.o[2].value);
        if (!i.has(m_global) || i.o[1].r < 0) refuse(i, "this cp.async is not emulated");
        if (i.has("cg") && bytes != 16) refuse(i, "cp.async.cg copies 16 bytes");
        simt::cp_async(shared_address(m, i.o[0]),
                       reinterpret_cast<const void *>(m.r[i.o[1].r] + i.o[1].value), bytes,
                       i.o.size() > 3 ? integer(m, i.o[3]) : bytes);
    }
}

/* ---- mbarriers ---- */

void mbarrier(machine &m, const instruction &i) {
    const auto bar = [&](size_t o) {
        return reinterpret_cast<uint64_t *>(shared_address(m, i.o[o]));
    };
    const auto number = [&](size_t o) { return static_cast<uint32_t>(read(m, i.o[o], type::u32)); };
    if (i.has("init")) {
        simt::mbar_init(bar(0), number(1));
    } else if (i.has("inval")) {
        simt::mbar_inval(bar(0));
    } else if (i.has(m_arrive)) {
        if (i.o[0].kind != operand::none) refuse(i, "the state of an mbarrier is not emulated");
        const bool expects = i.has("expect_tx");
        const uint32_t n = i.o.size() > 2 ? number(2) : 1;
        simt::mbar_arrive(bar(1), expects ? 1 : n, expects ? n : 0);
    } else if (i.has("expect_tx")) {
        simt::mbar_expect_tx(bar(0), number(1));
    } else if (i.has("parity") && i.has("try_wait")) {
        simt::mbar_wait(bar(1), number(2)); /* hardware gives up after a while, which loops hide */
        write(m, i.o[0], 1, type::pred);
    } else if (i.has("parity") && i.has("test_wait")) {
        write(m, i.o[0], simt::mbar_test(bar(1), number(2)), type::pred);
    } else {
        refuse(i, "this mbarrier instruction is not emulated");
    }
}

} // namespace ptxi
