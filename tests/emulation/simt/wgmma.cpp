/* wgmma.cpp - the asynchronous matrix multiply of sm_90a, done at its wait unless work is eager. Layouts: PTX ISA 9.0,
 * 9.7.15 (wgmma) and 9.7.15.5.1.2 (descriptors and swizzles). */
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

/* Element (i along M or N, k) of the operand that a descriptor describes. Its fields, in 16 bytes: start [0,14),
 * leading offset [16,30), stride offset [32,46); swizzle [62,64): none, 128, 64, 32 bytes. */
static float operand_at(const block *b, element t, uint64_t desc, bool mn_major, int i, int k) {
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
        at = start + row / 8 * stride + row % 8 * width +
             (mode ? along : along % 16 + along / 16 * leading);
    }
    if (mode) at ^= (at >> 7 & rows[mode]) << 4;
    if (at + size > WINDOW) fail("wgmma: an operand outside shared memory");
    return value_of(t, b->window + at);
}

/* D[m][n] of the warpgroup is in thread 32 (m / 16) + 4 (m % 8) + n % 8 / 2, register 4 (n / 8) + 2 (m / 8 % 2) + n %
 * 2. */
static void multiply(const block *b, const wgmma_op &o) {
    const int K = static_cast<int>(32 / bytes_of(o.a)), N = o.N;
    std::vector<float> A(static_cast<size_t>(64 * K)), B(static_cast<size_t>(K * N));
    for (int k = 0; k < K; k++) {
        for (int m = 0; m < 64; m++)
            A[static_cast<size_t>(m * K + k)] = operand_at(b, o.a, o.desc_a, o.transpose_a, m, k);
        for (int n = 0; n < N; n++)
            B[static_cast<size_t>(k * N + n)] = operand_at(b, o.b, o.desc_b, o.transpose_b, n, k);
    }
    std::vector<float> sums(static_cast<size_t>(N));
    for (int m = 0; m < 64; m++) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int k = 0; k < K; k++) {
            const float a = A[static_cast<size_t>(m * K + k)],
                        *row = &B[static_cast<size_t>(k * N)];
            for (size_t n = 0; n < sums.size(); n++) sums[n] += a * row[n];
        }
        for (int n = 0; n < N; n++) {
            const int t = m / 16 * 32 + m % 8 * 4 + n % 8 / 2,
                      r = n / 8 * 4 + m / 8 % 2 * 2 + n % 2;
            float &d = *o.d[static_cast<size_t>(t * (N / 2) + r)];
            d = (o.accumulate ? d : 0.0f) + sums[static_cast<size_t>(n)];
        }
    }
}

struct wgmma_io {
    element a, b;
    int N;
    float *const *d;
    uint64_t desc_a, desc_b;
    bool accumulate, transpose_a, transpose_b;
};

static bool same(const wgmma_io *x, const wgmma_io *y) {
    return x->desc_a == y->desc_a && x->desc_b == y->desc_b && x->accumulate == y->accumulate;
}

static wgmma_groups &groups_of_this() { return cur->block->wgmmas[cur->linear / 128]; }

static void issue(void *const *io, uint32_t, const void *) {
    const auto *first = static_cast<const wgmma_io *>(io[0]);
    wgmma_op o = {first->a,          first->b,      first->N,          {},
                  first->desc_a,     first->desc_b, first->accumulate, first->transpose_a,
                  first->transpose_b};
    for (int t = 0; t < 128; t++) {
        const auto *x = static_cast<const wgmma_io *>(io[t]);
        if (!same(x, first)) fail("wgmma: threads of the warpgroup give different operands");
        o.d.insert(o.d.end(), x->d, x->d + o.N / 2);
    }
    auto &groups = groups_of_this();
    const bool is_first = groups.size() == 1 && groups[0].empty(); /* they are done in order */
    if (schedule.async == async_kind::eager || (is_first && at_random(schedule.async)))
        multiply(cur->block, o);
    else
        groups.back().push_back(o);
}

void wgmma(element a, element b, int N, float *const *d, uint64_t desc_a, uint64_t desc_b,
           bool accumulate, bool transpose_a, bool transpose_b) {
    need_cc(90, "wgmma", true);
    if (N < 8 || N > 256 || N % 8) fail("wgmma: N is %d", N);
    if ((transpose_a || transpose_b) && bytes_of(a) != 2)
        fail("wgmma: only operands of 16 bits can be transposed");
    wgmma_io io = {a, b, N, d, desc_a, desc_b, accumulate, transpose_a, transpose_b};
    warpgroup_collective("wgmma.mma_async", &io, issue, nullptr);
}

void wgmma_fence() {
    need_cc(90, "wgmma.fence", true);
    warpgroup_collective("wgmma.fence", nullptr, nullptr, nullptr);
}

void wgmma_commit() {
    need_cc(90, "wgmma.commit_group", true);
    warpgroup_collective(
        "wgmma.commit_group", nullptr,
        [](void *const *, uint32_t, const void *) { groups_of_this().emplace_back(); }, nullptr);
}

void wgmma_wait(int keep) {
    need_cc(90, "wgmma.wait_group", true);
    warpgroup_collective(
        "wgmma.wait_group", nullptr,
        [](void *const *, uint32_t, const void *context) {
            auto &groups = groups_of_this();
            while (static_cast<int>(groups.size()) - 1 > *static_cast<const int *>(context)) {
                for (auto &o : groups.front()) multiply(cur->block, o);
                groups.erase(groups.begin());
            }
        },
        &keep);
}

} // namespace simt
