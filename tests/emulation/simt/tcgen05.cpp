/* tcgen05.cpp - tensor memory and the tensor cores of sm_100a. Multiplies, copies and commits of a block are done in order, as
 * late as the rules allow unless work is eager: when no thread can run, before bulk copies. What a multiply will write reads as
 * NaN until it is done, and registers are NaN from tcgen05.ld to its wait. Fences are checked thread by thread: one that was
 * told something (by an mbarrier or a barrier) needs fence::after_thread_sync before it touches tensor memory, one that has
 * read it fence::before_thread_sync before it tells anybody. Hardware may be laxer. Layouts: PTX ISA 9.0, 9.7.16. */
#include "state.h"

#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <algorithm>
#include <deque>

namespace simt {

constexpr int LANES = 128, COLUMNS = 512;

struct tensor_work {
    enum { multiply, copy, commit } what;
    const thread *by;
    tcgen05_operands o; /* multiply; ctas of a copy too */
    uint32_t to;        /* copy: its first column */
    uint64_t desc;
    uint64_t *bar; /* commit */
    uint16_t blocks;
};
struct tensor_load {
    const thread *by;
    std::vector<uint32_t *> r;
    int lane, column;
};
struct tensor_memory {
    uint32_t word[LANES][COLUMNS];
    int owner[COLUMNS];  /* the first column of the allocation + 1; 0: free */
    int writes[COLUMNS]; /* multiplies and copies that are under way */
    int ctas;            /* what the kernel's instructions say; 0: none yet */
    bool relinquished;
    std::deque<tensor_work> work;
    std::vector<tensor_load> loads;
};

static tensor_memory &memory_of(block *b) {
    const quiet q;
    if (!b->tensor) {
        b->tensor = new tensor_memory();
        memset(b->tensor->word, 0xff, sizeof b->tensor->word);
    }
    return *b->tensor;
}

void tensor_memory_drop(block *b) {
    if (!b->tensor) return;
    const quiet q;
    for (const int owner : b->tensor->owner)
        if (owner) fail("a block ends with tensor memory that it never freed");
    if (!b->tensor->work.empty()) fail("a block ends with tcgen05 work that nobody waited for");
    delete b->tensor;
    b->tensor = nullptr;
}

static block *peer_of(block *b) {
    if (!now->is_cluster || now->blocks.size() % 2)
        fail("cta_group::2 in a cluster of %zu blocks", now->blocks.size());
    return &now->blocks[b->rank ^ 1];
}

static tensor_memory &memory_for(int ctas, const char *op) {
    need_cc(100, op, true);
    tensor_memory &m = memory_of(cur->block);
    if (ctas && m.ctas && m.ctas != ctas) fail("%s: cta_group::%d and ::%d meet", op, m.ctas, ctas);
    if (ctas) m.ctas = ctas;
    if (ctas == 2) peer_of(cur->block);
    return m;
}

/* ---- allocation ---- */

struct alloc_io {
    uint32_t *to;
    int columns;
    uint32_t address;
};

static void check_columns(const char *op, int columns) {
    if (columns < 32 || columns > COLUMNS || columns & (columns - 1))
        fail("%s of %d columns: a power of two from 32 to 512", op, columns);
}

/* From the end of the memory: 0 is no address that anybody may assume. */
static void allocate(void *const *io, uint32_t, const void *) {
    const auto *first = static_cast<const alloc_io *>(io[0]);
    for (int l = 0; l < 32; l++) {
        const auto *x = static_cast<const alloc_io *>(io[l]);
        if (x->to != first->to || x->columns != first->columns)
            fail("tcgen05.alloc: lanes of the warp give different operands");
    }
    tensor_memory &m = memory_of(cur->block);
    if (m.relinquished) fail("tcgen05.alloc after tcgen05.relinquish_alloc_permit");
    if (owner_of(first->to) != cur->block) fail("tcgen05.alloc into another block's memory");
    int at = COLUMNS - first->columns;
    const auto is_free = [&](int from) {
        return std::all_of(m.owner + from, m.owner + from + first->columns,
                           [](int owner) { return owner == 0; });
    };
    while (at >= 0 && !is_free(at)) at -= 32;
    if (at < 0) fail("tcgen05.alloc: %d columns are not left: it would wait", first->columns);
    std::fill_n(m.owner + at, first->columns, at + 1);
    *first->to = static_cast<uint32_t>(at);
}

void tmem_alloc(int ctas, uint32_t *to, int columns) {
    memory_for(ctas, "tcgen05.alloc");
    check_columns("tcgen05.alloc", columns);
    if (cur->lane == 0) note_write(to, sizeof *to);
    const quiet q;
    alloc_io io = {to, columns, 0};
    warp_collective(~0u, "tcgen05.alloc", &io, allocate, nullptr);
}

void tmem_relinquish(int ctas) {
    memory_for(ctas, "tcgen05.relinquish_alloc_permit").relinquished = true;
    warp_collective(~0u, "tcgen05.relinquish_alloc_permit", nullptr, nullptr, nullptr);
}

static void touches(const char *op) {
    if (cur->tensor_told) fail("%s after a wait without tcgen05.fence::after_thread_sync", op);
}

void tmem_dealloc(int ctas, uint32_t address, int columns) {
    const quiet q;
    tensor_memory &m = memory_for(ctas, "tcgen05.dealloc");
    check_columns("tcgen05.dealloc", columns);
    touches("tcgen05.dealloc");
    warp_collective(~0u, "tcgen05.dealloc", nullptr, nullptr, nullptr);
    if (cur->lane) return;
    if (address >= COLUMNS || m.owner[address] != static_cast<int>(address) + 1 ||
        std::count(m.owner, m.owner + COLUMNS, m.owner[address]) != columns)
        fail("tcgen05.dealloc: %d columns at %x were not allocated", columns, address);
    for (int c = 0; c < columns; c++) {
        if (m.writes[address + static_cast<unsigned>(c)])
            fail("tcgen05.dealloc of columns that are being written");
        m.owner[address + static_cast<unsigned>(c)] = 0;
    }
    for (auto &load : m.loads)
        if (load.column >= static_cast<int>(address) &&
            load.column < static_cast<int>(address) + columns)
            fail("tcgen05.dealloc of columns that are being read");
}

/* Columns of one allocation, from an address that names lane `lane`. */
static int columns_at(const tensor_memory &m, uint32_t address, int columns, int lane,
                      const char *op) {
    const int column = static_cast<int>(address & 0xffff), at = static_cast<int>(address >> 16);
    if (at != lane) fail("%s: lane %d of tensor memory, not %d", op, at, lane);
    if (column + columns > COLUMNS || !m.owner[column] ||
        m.owner[column + columns - 1] != m.owner[column])
        fail("%s: columns %d to %d are not allocated", op, column, column + columns - 1);
    return column;
}

/* ---- fences ---- */

void tcgen05_fence_before() {
    need_cc(100, "tcgen05.fence", true);
    const quiet q;
    for (auto &load : memory_of(cur->block).loads)
        if (load.by == cur) return; /* it does not wait for what has not come */
    cur->tensor_read = false;
}
void tcgen05_fence_after() {
    need_cc(100, "tcgen05.fence", true);
    cur->tensor_told = false;
}

/* ---- operands in shared memory ---- */

/* Fields of a descriptor, in 16 bytes: start [0,14), leading offset [16,30), stride offset [32,46); version [46,48): 1; base
 * offset [49,52) and leading mode 52: 0; swizzle [61,64): none 0, 128 bytes 2, 64 4, 32 6. */
struct smem_operand {
    uint32_t start, leading, stride, width, rows;
};
static smem_operand operand_of(uint64_t desc) {
    const auto field = [desc](int shift) {
        return static_cast<uint32_t>(desc >> shift & 0x3fff) << 4;
    };
    const auto mode = static_cast<int>(desc >> 61);
    if ((desc >> 46 & 3) != 1) fail("tcgen05: a descriptor of another version");
    if (desc >> 48 & 0x1fff || desc >> 14 & 3 || desc >> 30 & 3)
        fail("tcgen05: a descriptor with bits that are not emulated: %llx",
             static_cast<unsigned long long>(desc));
    if (mode % 2) fail("tcgen05: a descriptor's swizzle is %d", mode);
    static const uint32_t widths[] = {16, 128, 64, 32}, rows[] = {0, 7, 3, 1};
    return {field(0), field(16), field(32), widths[mode / 2], rows[mode / 2]};
}

/* Of element (i along M or N, k), `bits` each: its byte in the block's shared memory. */
static const char *element_at(const block *b, const smem_operand &x, uint32_t bits, bool mn_major,
                              int i, int k) {
    const auto row = static_cast<uint32_t>(i), col = static_cast<uint32_t>(k);
    uint32_t at;
    if (mn_major) {
        const uint32_t along = row * bits / 8;
        at = x.start + along / x.width * x.leading + along % x.width + col / 8 * x.stride +
             col % 8 * x.width;
    } else {
        const uint32_t along = col * bits / 8;
        at = x.start + row / 8 * x.stride + row % 8 * x.width +
             (x.rows ? along : along % 16 + along / 16 * x.leading);
    }
    at ^= (at >> 7 & x.rows) << 4;
    if (at + 4 > WINDOW) fail("tcgen05: an operand outside shared memory");
    check_fenced(b, at, (bits + 7) / 8, "tcgen05");
    return b->window + at;
}

static float e2m1(int code) {
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return code & 8 ? -values[code & 7] : values[code & 7];
}

/* ---- multiplies ---- */

struct tcgen05_form {
    int M, N, K;
    element t;
    bool is_fp4, a_mn_major, b_mn_major;
    uint32_t bits;
};

static element element_of(tcgen05_kind kind, uint32_t format) {
    if (kind == tcgen05_kind::f16 && format < 2) return format ? element::bf16 : element::f16;
    if (kind == tcgen05_kind::tf32 && format == 2) return element::tf32;
    if (kind == tcgen05_kind::f8f6f4 && format < 2) return format ? element::e5m2 : element::e4m3;
    fail("tcgen05.mma: format %u of this kind is not emulated", format);
}

static tcgen05_form form_of(const tcgen05_operands &o) {
    const auto bits = [&](int from, int count) { return o.shape >> from & ((1u << count) - 1); };
    tcgen05_form f = {};
    f.N = static_cast<int>(bits(17, 6)) * 8;
    f.M = static_cast<int>(bits(24, 5)) * 16;
    f.is_fp4 = o.kind == tcgen05_kind::mxf4nvf4;
    if (f.is_fp4) {
        if (bits(7, 3) != 1 || bits(10, 3) != 1)
            fail("tcgen05.mma: nvfp4 of other formats than E2M1");
        if (bits(23, 1)) fail("tcgen05.mma: scales of powers of two are not emulated");
        if (bits(0, 7) || bits(13, 4) || bits(29, 3))
            fail("tcgen05.mma: bits of the shape that are not emulated: %x", o.shape);
        f.bits = 4;
    } else {
        f.t = element_of(o.kind, bits(7, 3));
        if (bits(7, 3) != bits(10, 3)) fail("tcgen05.mma: A and B of two formats are not emulated");
        if (bits(4, 2) != 1) fail("tcgen05.mma: accumulators that are not fp32");
        if (bits(0, 4) || bits(6, 1) || bits(13, 2) || bits(23, 1) || bits(29, 3))
            fail("tcgen05.mma: bits of the shape that are not emulated: %x", o.shape);
        f.bits = f.t == element::tf32 ? 32 : f.t == element::f16 || f.t == element::bf16 ? 16 : 8;
        f.a_mn_major = bits(15, 1), f.b_mn_major = bits(16, 1);
        if ((f.a_mn_major || f.b_mn_major) && f.bits != 16)
            fail("tcgen05.mma: only operands of 16 bits are emulated MN-major");
    }
    f.K = static_cast<int>(256 / f.bits);
    if (f.M != 128 * o.ctas) fail("tcgen05.mma: M is %d", f.M);
    if (f.N < 16 * o.ctas || f.N > 256 || f.N % (16 * o.ctas)) fail("tcgen05.mma: N is %d", f.N);
    return f;
}

/* Rows of an operand, [rows][K]. */
static void gather(std::vector<float> &to, const block *b, uint64_t desc, const tcgen05_form &f,
                   bool mn_major, int rows) {
    const smem_operand x = operand_of(desc);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < f.K; k++) {
            const char *p = element_at(b, x, f.bits, mn_major, i, k);
            to.push_back(f.is_fp4 ? e2m1(*p >> (k % 2 * 4) & 15) : value_of(f.t, p));
        }
}

/* The scale of row i and a block of 16 of k. */
static float scale_at(const tensor_memory &m, uint32_t scales, int i, int of) {
    const uint32_t column = scales + static_cast<uint32_t>(i / 32);
    const uint32_t word = m.word[i % 32][column];
    for (int quarter = 1; quarter < 4; quarter++)
        if (m.word[32 * quarter + i % 32][column] != word)
            fail("tcgen05.mma: scales differ between quarters of tensor memory");
    const auto byte = static_cast<__nv_fp8_storage_t>(word >> 8 * of);
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3)));
}

static void check_scales(const tensor_memory &m, const tcgen05_operands &o, const tcgen05_form &f) {
    columns_at(m, o.scales_a, 4, 0, "tcgen05.mma: scales of A");
    columns_at(m, o.scales_b, (f.N + 31) / 32, 0, "tcgen05.mma: scales of B");
}

static void multiply(const std::vector<block *> &blocks, const tcgen05_operands &o) {
    const tcgen05_form f = form_of(o);
    const int of_each = f.N / static_cast<int>(blocks.size());
    std::vector<float> B;
    for (const auto *b : blocks) gather(B, b, o.desc_b, f, f.b_mn_major, of_each);
    for (auto *b : blocks) {
        tensor_memory &m = memory_of(b);
        const auto d = static_cast<size_t>(columns_at(m, o.d, f.N, 0, "tcgen05.mma"));
        std::vector<float> A;
        gather(A, b, o.desc_a, f, f.a_mn_major, LANES);
        if (f.is_fp4) check_scales(m, o, f);
        const auto N = static_cast<size_t>(f.N), K = static_cast<size_t>(f.K);
        std::vector<float> sums(N), turned(N * K), scales(N);
        for (size_t n = 0; n < N; n++)
            for (size_t k = 0; k < K; k++) turned[k * N + n] = B[n * K + k];
        const size_t step = f.is_fp4 ? 16 : K; /* of k with one scale */
        std::vector<float> scales_b(N * 4, 1.0f);
        for (size_t n = 0; f.is_fp4 && n < N; n++)
            for (int i = 0; i < 4; i++)
                scales_b[static_cast<size_t>(i) * N + n] =
                    scale_at(m, o.scales_b, static_cast<int>(n), i);
        for (int row = 0; row < LANES; row++) {
            std::fill(sums.begin(), sums.end(), 0.0f);
            for (size_t first = 0; first < K; first += step) {
                std::vector<float> part(N, 0.0f);
                for (size_t k = first; k < first + step; k++) {
                    const float a = A[static_cast<size_t>(row) * K + k];
                    const float *b_row = &turned[k * N];
                    for (size_t n = 0; n < N; n++) part[n] += a * b_row[n];
                }
                const auto which = first / step;
                const float scale =
                    f.is_fp4 ? scale_at(m, o.scales_a, row, static_cast<int>(which)) : 1;
                for (size_t n = 0; n < N; n++)
                    sums[n] += part[n] * (scale * scales_b[which * N + n]);
            }
            for (size_t n = 0; n < N; n++) {
                uint32_t &word = m.word[row][d + n];
                float old = 0;
                if (o.accumulate) memcpy(&old, &word, sizeof old);
                const float sum = old + sums[n];
                memcpy(&word, &sum, sizeof sum);
            }
        }
    }
}

/* ---- copies of scales ---- */

static void copy_scales(const std::vector<block *> &blocks, const tensor_work &w) {
    const smem_operand x = operand_of(w.desc);
    if (x.rows) fail("tcgen05.cp: swizzled sources are not emulated");
    for (auto *b : blocks) {
        tensor_memory &m = memory_of(b);
        const int column = columns_at(m, w.to, 4, 0, "tcgen05.cp");
        for (int row = 0; row < 32; row++) {
            const char *p = element_at(b, x, 8, false, row, 0);
            for (int quarter = 0; quarter < 4; quarter++)
                memcpy(&m.word[32 * quarter + row][column], p, 16);
        }
    }
}

/* ---- the queue ---- */

static std::vector<block *> blocks_of(block *b, int ctas) {
    return ctas == 2 ? std::vector<block *>{b, peer_of(b)} : std::vector<block *>{b};
}

/* What a multiply or copy writes, as columns that are not ready (by +1 or -1). */
static void mark(block *b, const tensor_work &w, int by) {
    const int columns = w.what == tensor_work::copy ? 4 : form_of(w.o).N;
    const uint32_t to = w.what == tensor_work::copy ? w.to : w.o.d;
    for (auto *each : blocks_of(b, w.o.ctas)) {
        tensor_memory &m = memory_of(each);
        const int column = columns_at(m, to, columns, 0, "tcgen05");
        for (int c = 0; c < columns; c++) m.writes[column + c] += by;
    }
}

static void carry_out(block *b, const tensor_work &w) {
    if (w.what == tensor_work::commit) {
        for (unsigned r = 0; r < now->blocks.size(); r++)
            if (w.blocks >> r & 1)
                mbar_arrive_now(
                    reinterpret_cast<uint64_t *>(now->blocks[r].window + smem_u32(w.bar)), 1);
        return;
    }
    const auto blocks = blocks_of(b, w.o.ctas);
    for (const auto *each : blocks)
        if (each->alive == 0) fail("tcgen05 work in a block that has ended");
    if (w.what == tensor_work::multiply)
        multiply(blocks, w.o);
    else
        copy_scales(blocks, w);
    mark(b, w, -1);
}

static void begin(const tensor_work &w) {
    auto &work = memory_of(cur->block).work;
    if (w.what != tensor_work::commit) mark(cur->block, w, 1);
    const bool follows =
        std::any_of(work.begin(), work.end(), [&](const tensor_work &x) { return x.by == w.by; });
    if (!follows && (w.what == tensor_work::commit || at_random(schedule.async))) {
        carry_out(cur->block, w); /* a commit has nothing to wait for */
    } else {
        work.push_back(w);
        now->tensor_work++;
    }
}

void tensor_step() {
    std::vector<block *> busy;
    for (auto &b : now->blocks)
        if (b.tensor && !b.tensor->work.empty()) busy.push_back(&b);
    block *b = busy[schedule.async == async_kind::random ? random_bits() % busy.size() : 0];
    const tensor_work w = b->tensor->work.front();
    b->tensor->work.pop_front();
    now->tensor_work--;
    carry_out(b, w);
}

void tcgen05_mma(const tcgen05_operands &o) {
    const quiet q;
    memory_for(o.ctas, "tcgen05.mma");
    touches("tcgen05.mma");
    if (o.ctas == 2 && cur->block->rank % 2) fail("tcgen05.mma of a pair by its odd block");
    form_of(o);
    operand_of(o.desc_a);
    operand_of(o.desc_b);
    begin({tensor_work::multiply, cur, o, 0, 0, nullptr, 0});
}

void tcgen05_cp_scales(int ctas, uint32_t to, uint64_t desc) {
    const quiet q;
    memory_for(ctas, "tcgen05.cp");
    touches("tcgen05.cp");
    tensor_work w = {tensor_work::copy, cur, {}, to, desc, nullptr, 0};
    w.o.ctas = ctas;
    begin(w);
}

void tcgen05_commit(int ctas, uint64_t *bar, uint16_t blocks) {
    memory_for(ctas, "tcgen05.commit");
    if (!blocks || blocks >> now->blocks.size())
        fail("tcgen05.commit for blocks %x of a cluster of %zu", blocks, now->blocks.size());
    for (unsigned r = 0; r < now->blocks.size(); r++)
        if (blocks >> r & 1)
            mbar_released(reinterpret_cast<uint64_t *>(now->blocks[r].window + smem_u32(bar)),
                          "tcgen05.commit");
    const quiet q;
    begin({tensor_work::commit, cur, {}, 0, 0, bar, blocks});
}

void tells(const char *op) {
    if (cur->tensor_read) fail("%s after tcgen05.ld without fence::before_thread_sync", op);
}

/* ---- loads ---- */

static void load_now(const tensor_memory &m, const tensor_load &l) {
    for (size_t i = 0; i < l.r.size(); i++)
        *l.r[i] = m.writes[static_cast<size_t>(l.column) + i]
                      ? ~0u
                      : m.word[l.lane][static_cast<size_t>(l.column) + i];
}

void tcgen05_ld(uint32_t *const *r, int n, uint32_t address) {
    const quiet q;
    tensor_memory &m = memory_for(0, "tcgen05.ld");
    touches("tcgen05.ld");
    const int first = static_cast<int>(cur->linear / 32 % 4 * 32);
    const int column = columns_at(m, address, n, first, "tcgen05.ld");
    warp_collective(
        ~0u, "tcgen05.ld", &address,
        [](void *const *io, uint32_t, const void *) {
            for (int l = 1; l < 32; l++)
                if (*static_cast<uint32_t *>(io[l]) != *static_cast<uint32_t *>(io[0]))
                    fail("tcgen05.ld: lanes of the warp give different addresses");
        },
        nullptr);
    tensor_load l = {cur, {r, r + n}, first + static_cast<int>(cur->lane), column};
    cur->tensor_read = true;
    for (int i = 0; i < n; i++) *r[i] = ~0u;
    if (at_random(schedule.async))
        load_now(m, l);
    else
        m.loads.push_back(std::move(l));
}

void tcgen05_wait_ld() {
    const quiet q;
    tensor_memory &m = memory_for(0, "tcgen05.wait::ld");
    warp_collective(
        ~0u, "tcgen05.wait::ld", nullptr, [](void *const *, uint32_t, const void *) {}, nullptr);
    for (size_t i = 0; i < m.loads.size();)
        if (m.loads[i].by == cur) {
            load_now(m, m.loads[i]);
            m.loads.erase(m.loads.begin() + static_cast<ptrdiff_t>(i));
        } else {
            i++;
        }
}

void tensor_after_exit(const thread *t) {
    if (!t->block->tensor) return;
    for (auto &load : t->block->tensor->loads)
        if (load.by == t) fail("it ends with tcgen05.ld that it never waited for");
}

} // namespace simt
