/* wgmma.cpp - the asynchronous matrix multiply of sm_90a, done at its wait unless work is eager. The four warps of a
 * warpgroup all give it and none waits for another: .sync is of a warp, and each has the 16 rows of its own quarter of a
 * multiprocessor. Layouts: PTX ISA 9.0, 9.7.15 (wgmma) and 9.7.15.5.1.2 (descriptors and swizzles). */
#include "state.h"

#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <algorithm>

namespace simt {

float value_of(element t, const char *p) {
    uint16_t half;
    uint32_t word;
    float f;
    __half_raw h;
    switch (t) {
    case element::bf16:
        memcpy(&half, p, sizeof half);
        word = static_cast<uint32_t>(half) << 16;
        break;
    case element::tf32: /* 10 bits of mantissa; the rest is ignored */
        memcpy(&word, p, sizeof word);
        word &= 0xffffe000u;
        break;
    case element::f16:
        memcpy(&h, p, sizeof h);
        return __half2float(__half(h));
    default:
        h = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(*p),
                                    t == element::e4m3 ? __NV_E4M3 : __NV_E5M2);
        return __half2float(__half(h));
    }
    memcpy(&f, &word, sizeof f);
    return f;
}

static uint32_t bytes_of(element t) {
    return t == element::tf32 ? 4 : t == element::bf16 || t == element::f16 ? 2 : 1;
}

/* The elements in the 16 bytes of an operand that hold element (i along M or N, k), the first in them, to to[0],
 * to[step], ... Fields of a descriptor, in 16 bytes: start [0,14), leading offset [16,30), stride offset [32,46);
 * swizzle [62,64): none, 128, 64, 32 bytes. */
static void read16(const block *b, element t, uint64_t desc, bool mn_major, int i, int k, float *to,
                   int step) {
    static const uint32_t widths[] = {16, 128, 64, 32}, rows[] = {0, 7, 3, 1};
    const auto field = [desc](int shift) {
        return static_cast<uint32_t>(desc >> shift & 0x3fff) << 4;
    };
    const auto mode = desc >> 62;
    const uint32_t start = field(0), leading = field(16), stride = field(32), width = widths[mode],
                   size = bytes_of(t), row = static_cast<uint32_t>(i),
                   col = static_cast<uint32_t>(k);
    uint32_t at;
    if (mn_major) {
        const uint32_t along = row * size;
        at = start + along / width * leading + along % width + col / 8 * stride + col % 8 * width;
    } else {
        const uint32_t along = col * size;
        at = start + row / 8 * stride + row % 8 * width + (mode ? along : along / 16 * leading);
    }
    if (mode) at ^= (at >> 7 & rows[mode]) << 4;
    if (at + 16 > WINDOW) fail("wgmma: an operand outside shared memory");
    check_fenced(b, at, 16, "wgmma");
    for (uint32_t e = 0; e < 16 / size; e++)
        to[static_cast<int>(e) * step] = value_of(t, b->window + at + e * size);
}

/* An operand's `extent` rows or columns from `first` on, of K: to[k][extent]. */
static void read_operand(const block *b, element t, uint64_t desc, bool mn_major, int first,
                         int extent, int K, float *to) {
    const int each = static_cast<int>(16 / bytes_of(t));
    if (mn_major) {
        for (int k = 0; k < K; k++)
            for (int i = 0; i < extent; i += each)
                read16(b, t, desc, true, first + i, k, to + k * extent + i, 1);
    } else {
        for (int i = 0; i < extent; i++)
            for (int k = 0; k < K; k += each)
                read16(b, t, desc, false, first + i, k, to + k * extent + i, extent);
    }
}

/* The warp's 16 rows. D[m][n] is in lane 4 (m % 8) + n % 8 / 2, register 4 (n / 8) + 2 (m / 8) + n % 2. */
static void multiply(const block *b, const wgmma_op &o) {
    const int K = static_cast<int>(32 / bytes_of(o.a)), N = o.N;
    static float A[16 * 32], B[256 * 32], sums[256];
    read_operand(b, o.a, o.desc_a, o.transpose_a, 16 * o.warp, 16, K, A);
    read_operand(b, o.b, o.desc_b, o.transpose_b, 0, N, K, B);
    for (int m = 0; m < 16; m++) {
        std::fill_n(sums, N, 0.0f);
        for (int k = 0; k < K; k++) {
            const float a = A[k * 16 + m], *row = B + k * N;
            for (int n = 0; n < N; n += 8) /* of a known length, so that it is done at once */
                for (int i = 0; i < 8; i++) sums[n + i] += a * row[n + i];
        }
        for (int n = 0; n < N; n++) {
            const int lane = m % 8 * 4 + n % 8 / 2, r = n / 8 * 4 + m / 8 * 2 + n % 2;
            float &d = *o.d[static_cast<size_t>(lane * (N / 2) + r)];
            d = (o.accumulate ? d : 0.0f) + sums[n];
        }
    }
}

/* ---- what a warp gives, and the others of its warpgroup have to give as well ---- */

struct wgmma_io {
    wgmma_step step;
    float *const *d;
};

static warp_wgmmas &of_this_warp() { return cur->block->wgmmas[cur->linear / 32]; }

/* The next step of the running warp. */
static void take(const wgmma_step &s, uint32_t lanes) {
    const block *b = cur->block;
    if (lanes != ~0u || (cur->linear / 128 + 1) * 128 > b->threads.size())
        fail("%s: not by a whole warpgroup", s.op);
    warpgroup &g = cur->block->warpgroups[cur->linear / 128];
    size_t &at = g.taken[cur->linear / 32 % 4];
    if (at == g.steps.size())
        g.steps.push_back(s);
    else if (!(g.steps[at] == s))
        fail("%s where another warp of the warpgroup gives %s, or with other operands", s.op,
             g.steps[at].op);
    at++;
    const size_t all = *std::min_element(g.taken, g.taken + 4);
    g.steps.erase(g.steps.begin(), g.steps.begin() + static_cast<ptrdiff_t>(all));
    for (auto &n : g.taken) n -= all;
}

static void issue(void *const *io, uint32_t lanes, const void *) {
    const auto *first = static_cast<const wgmma_io *>(io[0]);
    const wgmma_step &s = first->step;
    take(s, lanes);
    wgmma_op o = {s.a,
                  s.b,
                  s.N,
                  static_cast<int>(cur->linear / 32 % 4),
                  {},
                  s.desc_a,
                  s.desc_b,
                  s.accumulate,
                  s.transpose_a,
                  s.transpose_b};
    for (int l = 0; l < 32; l++) {
        const auto *x = static_cast<const wgmma_io *>(io[l]);
        if (!(x->step == s)) fail("wgmma: threads of the warp give different operands");
        o.d.insert(o.d.end(), x->d, x->d + o.N / 2);
    }
    warp_wgmmas &w = of_this_warp();
    /* strict: between multiplies of one shape into the same registers hardware needs none */
    if (!w.fenced) fail("wgmma: no wgmma.fence after registers were free to be touched");
    const bool is_first = w.groups.size() == 1 && w.groups[0].empty(); /* they are done in order */
    if (schedule.async == async_kind::eager || (is_first && at_random(schedule.async)))
        multiply(cur->block, o);
    else
        w.groups.back().push_back(o);
}

void wgmma(element a, element b, int N, float *const *d, uint64_t desc_a, uint64_t desc_b,
           bool accumulate, bool transpose_a, bool transpose_b) {
    need_cc(90, "wgmma", true);
    if (N < 8 || N > 256 || N % 8) fail("wgmma: N is %d", N);
    if ((transpose_a || transpose_b) && bytes_of(a) != 2)
        fail("wgmma: only operands of 16 bits can be transposed");
    wgmma_io io = {
        {"wgmma.mma_async", a, b, N, 0, desc_a, desc_b, accumulate, transpose_a, transpose_b}, d};
    warp_collective(~0u, io.step.op, &io, issue, nullptr);
}

/* A step without operands: what it does to the warp. */
static void give(const char *op, int keep, void (*then)(warp_wgmmas &w, int keep)) {
    need_cc(90, op, true);
    struct context {
        wgmma_step step;
        void (*then)(warp_wgmmas &w, int keep);
    } c = {{}, then};
    c.step.op = op;
    c.step.keep = keep;
    warp_collective(
        ~0u, op, nullptr,
        [](void *const *, uint32_t lanes, const void *raw) {
            const auto *x = static_cast<const context *>(raw);
            take(x->step, lanes);
            x->then(of_this_warp(), x->step.keep);
        },
        &c);
}

void wgmma_fence() {
    give("wgmma.fence", 0, [](warp_wgmmas &w, int) { w.fenced = true; });
}

void wgmma_commit() {
    give("wgmma.commit_group", 0, [](warp_wgmmas &w, int) { w.groups.emplace_back(); });
}

void wgmma_wait(int keep) {
    give("wgmma.wait_group", keep, [](warp_wgmmas &w, int most) {
        while (static_cast<int>(w.groups.size()) - 1 > most) {
            for (auto &o : w.groups.front()) multiply(cur->block, o);
            w.groups.erase(w.groups.begin());
        }
        if (w.groups.size() == 1 && w.groups[0].empty()) w.fenced = false;
    });
}

void wgmma_after_block(block &b) {
    for (auto &w : b.wgmmas) {
        if (w.groups.size() > 1 || !w.groups[0].empty())
            fail("it ends with wgmma work that was never waited for");
        w.fenced = false;
    }
    for (const auto &g : b.warpgroups)
        if (!g.steps.empty())
            fail("it ends with %s that not all warps of a warpgroup have given", g.steps[0].op);
}

} // namespace simt
