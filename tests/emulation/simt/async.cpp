/* async.cpp - copies that end after they were issued: cp.async, mbarriers, the tensor memory accelerator. Their
 * targets are NaN from the issue on, unless copies are eager, and are written as late as the rules allow. */
#include "state.h"

#include <algorithm>

namespace simt {

/* ---- cp.async ---- */

struct copy16 {
    void *smem;
    int bytes;
    char data[16];
};
struct pending_copies {
    std::vector<std::vector<copy16>> groups{1}; /* committed ..., open */
};

static pending_copies *copies_of(thread *t) {
    if (!t->copies) t->copies = new pending_copies;
    return t->copies;
}

static void finish(std::vector<copy16> &group) {
    for (auto &c : group) memcpy(c.smem, c.data, static_cast<size_t>(c.bytes));
    group.clear();
}

void copies_after_exit(thread *t) {
    if (t->copies) {
        for (auto &g : t->copies->groups)
            if (!g.empty()) fail("it ends with cp.async copies that it never waited for");
        t->copies->groups.resize(1);
    }
    for (auto &c : now->bulk)
        if (c.store && c.by == t) fail("it ends with bulk stores that it never waited for");
}

void copies_drop(thread *t) {
    delete t->copies;
    t->copies = nullptr;
}

void cp_async(void *smem, const void *gmem, int bytes, int src_bytes) {
    need_cc(80, "cp.async");
    if (bytes != 4 && bytes != 8 && bytes != 16) fail("cp.async of %d bytes", bytes);
    if (src_bytes < 0 || src_bytes > bytes) fail("cp.async: %d bytes of %d", src_bytes, bytes);
    if (owner_of(smem) != cur->block) fail("cp.async: its target is another block's");
    const auto n = static_cast<uintptr_t>(bytes);
    if (reinterpret_cast<uintptr_t>(smem) % n || reinterpret_cast<uintptr_t>(gmem) % n)
        fail("cp.async of %d bytes is misaligned: from %p to shared +%u", bytes, gmem,
             smem_u32(smem));
    const auto size = static_cast<size_t>(bytes), from = static_cast<size_t>(src_bytes);
    if (from) note_read(gmem, from);
    note_write(smem, size);
    const quiet q;
    copy16 c = {smem, bytes, {}};
    if (from) memcpy(c.data, gmem, from);
    if (at_random(schedule.async)) {
        memcpy(smem, c.data, size);
    } else {
        memset(smem, 0xff, size);
        copies_of(cur)->groups.back().push_back(c);
    }
}

void cp_async_commit() {
    const quiet q;
    copies_of(cur)->groups.emplace_back();
}

void cp_async_wait(int keep) {
    const quiet q;
    auto &groups = copies_of(cur)->groups;
    while (static_cast<int>(groups.size()) - 1 > keep) {
        finish(groups.front());
        groups.erase(groups.begin());
    }
}

/* ---- mbarriers ---- */

static phase_barrier &mbar_of(uint64_t *bar, const char *op) {
    need_cc(90, op);
    block *b = owner_of(bar);
    const auto it = b->mbarriers.find(smem_u32(bar));
    if (it == b->mbarriers.end())
        fail("%s on an mbarrier that was never initialised (shared +%u)", op, smem_u32(bar));
    if (*bar != MAGIC) fail("%s: the mbarrier at shared +%u was overwritten", op, smem_u32(bar));
    return it->second;
}

/* Waiting and initialising are for the block that holds the barrier. */
static phase_barrier &own_mbar_of(uint64_t *bar, const char *op) {
    if (owner_of(bar) != cur->block) fail("%s on another block's mbarrier", op);
    return mbar_of(bar, op);
}

static void check(phase_barrier &m) {
    if (m.pending || m.tx) return;
    m.phase++;
    m.pending = m.expected;
    for (auto *t : m.waiting) make_ready(t);
    m.waiting.clear();
}

void mbar_init(uint64_t *bar, uint32_t count) {
    need_cc(90, "mbarrier.init");
    if (reinterpret_cast<uintptr_t>(bar) % 8) fail("mbarrier.init: misaligned");
    if (count == 0 || count >= 1u << 20) fail("mbarrier.init: count %u", count);
    if (owner_of(bar) != cur->block) fail("mbarrier.init on another block's memory");
    note_write(bar, sizeof *bar);
    const quiet q;
    *bar = MAGIC;
    phase_barrier &m = cur->block->mbarriers[smem_u32(bar)];
    if (!m.waiting.empty()) fail("mbarrier.init while threads wait on it");
    m = {count, count, 0, 0, {}, {}, cur};
}

/* ---- fences for what is asynchronous ---- */

void mbar_fence_init() {
    const quiet q;
    for (auto &m : cur->block->mbarriers)
        if (m.second.unfenced == cur) m.second.unfenced = nullptr;
}

void note_ordinary_write(const void *p, size_t n) {
    const quiet q;
    block *b = owner_of(p);
    if (b->unfenced.empty()) b->unfenced.resize(WINDOW / 4);
    const uint32_t first = smem_u32(p) / 4, end = (smem_u32(p) + static_cast<uint32_t>(n) + 3) / 4;
    for (uint32_t i = first; i < end; i++) b->unfenced[i] = static_cast<uint16_t>(cur->linear + 1);
    b->written[cur->linear].push_back({first, end});
}

void proxy_fence() {
    const quiet q;
    mbar_fence_init();
    block *b = cur->block;
    for (const auto &[first, end] : b->written[cur->linear])
        for (uint32_t i = first; i < end; i++)
            if (b->unfenced[i] == cur->linear + 1) b->unfenced[i] = 0;
    b->written[cur->linear].clear();
}

void check_fenced(const block *b, uint32_t offset, size_t bytes, const char *op) {
    if (b->unfenced.empty()) return;
    for (size_t i = offset / 4; i < (offset + bytes + 3) / 4; i++)
        if (b->unfenced[i])
            fail("%s reads shared +%zu, which thread %d has written without fence.proxy.async", op,
                 4 * i, b->unfenced[i] - 1);
}

void mbar_inval(uint64_t *bar) {
    own_mbar_of(bar, "mbarrier.inval");
    note_write(bar, sizeof *bar);
    const quiet q;
    cur->block->mbarriers.erase(smem_u32(bar));
    *bar = 0;
}

void mbar_expect_tx(uint64_t *bar, uint32_t bytes) {
    const quiet q;
    phase_barrier &m = mbar_of(bar, "mbarrier.expect_tx");
    m.tx += bytes;
    if (m.tx >= 1 << 20) fail("mbarrier.expect_tx: %lld bytes", static_cast<long long>(m.tx));
}

void mbar_arrive_now(uint64_t *bar, uint32_t arrivals) {
    phase_barrier &m = mbar_of(bar, "mbarrier.arrive");
    if (owner_of(bar)->alive == 0) fail("mbarrier.arrive in a block that has ended");
    if (arrivals > m.pending)
        fail("mbarrier at shared +%u: more arrivals than its count of %u", smem_u32(bar),
             m.expected);
    m.pending -= arrivals;
    check(m);
}

void mbar_released(uint64_t *bar, const char *op) {
    TSAN(__tsan_read_range(bar, sizeof *bar)); /* after the initialisation */
    const quiet q;
    phase_barrier &m = mbar_of(bar, op);
    if (m.unfenced && (m.unfenced->block != cur->block || strcmp(op, "mbarrier.arrive") != 0))
        fail("%s: the mbarrier was initialised and not fenced", op);
    TSAN(__tsan_release(&m.sync[m.phase & 1]));
}

/* On another block's mbarrier it arrives late, at the latest before this thread's part in a barrier of the cluster. */
void mbar_arrive(uint64_t *bar, uint32_t arrivals, uint32_t expect_tx) {
    tells("mbarrier.arrive");
    mbar_released(bar, "mbarrier.arrive");
    const quiet q;
    if (expect_tx) mbar_expect_tx(bar, expect_tx);
    if (owner_of(bar) != cur->block && schedule.async != async_kind::eager) { /* on its way */
        bulk_copy c = {};
        c.arrives_at = bar;
        c.arrivals = arrivals;
        c.by = cur;
        now->bulk.push_back(c);
        return;
    }
    mbar_arrive_now(bar, arrivals);
}

void arrivals_end() {
    auto &all = now->bulk;
    for (size_t i = 0; i < all.size();) {
        const bulk_copy c = all[i];
        if (!c.arrives_at || c.by != cur) {
            i++;
            continue;
        }
        all.erase(all.begin() + static_cast<ptrdiff_t>(i));
        mbar_arrive_now(c.arrives_at, c.arrivals);
    }
}

bool mbar_test(uint64_t *bar, uint32_t parity) {
    TSAN(__tsan_read_range(bar, sizeof *bar));
    const quiet q;
    phase_barrier &m = own_mbar_of(bar, "mbarrier.test_wait");
    if ((m.phase & 1) == parity) {
        yield();
        return false;
    }
    cur->tensor_told = true;
    TSAN(__tsan_acquire(&m.sync[parity]));
    return true;
}

void mbar_wait(uint64_t *bar, uint32_t parity) {
    TSAN(__tsan_read_range(bar, sizeof *bar));
    const quiet q;
    phase_barrier &m = own_mbar_of(bar, "mbarrier.try_wait");
    while ((m.phase & 1) == parity) {
        m.waiting.push_back(cur);
        block_on("a phase of an mbarrier");
    }
    cur->tensor_told = true;
    TSAN(__tsan_acquire(&m.sync[parity]));
}

/* ---- tensor maps ---- */

/* The swizzle is on addresses of shared memory: 16-byte chunks, XOR with the row of 128 bytes they lie in. */
static uint32_t swizzled(uint32_t address, int mode) {
    const uint32_t rows = mode == 128 ? 7 : mode == 64 ? 3 : mode == 32 ? 1 : 0;
    return address ^ (address >> 7 & rows) << 4;
}

static uint32_t box_bytes(const tensor_map &m) {
    uint32_t n = m.element_bytes;
    for (int i = 0; i < m.rank; i++) n *= m.box[i];
    return n;
}
static uint32_t bytes_of(const bulk_copy &c) { return c.gmem ? c.bytes : box_bytes(c.map); }

/* Moves the box between the tensor and a block's window; what is outside the tensor reads as zero and is not written.
 * */
static void move_box(const bulk_copy &c, char *window) {
    const tensor_map &m = c.map;
    if (c.gmem) { /* no box: bytes */
        char *s = window + smem_u32(c.smem);
        memcpy(c.store ? c.gmem : s, c.store ? s : c.gmem, c.bytes);
        return;
    }
    const uint32_t row = static_cast<uint32_t>(m.box[0]) * m.element_bytes,
                   rows = box_bytes(m) / row, base = smem_u32(c.smem);
    for (uint32_t y = 0; y < rows; y++) {
        uint32_t rest = y;
        bool inside = true;
        int64_t offset = 0;
        for (int d = 1; d < m.rank; d++) {
            const int64_t i = c.at[d] + static_cast<int64_t>(rest % m.box[d]);
            rest /= m.box[d];
            inside = inside && i >= 0 && static_cast<uint64_t>(i) < m.dim[d];
            offset += i * static_cast<int64_t>(m.stride[d - 1]);
        }
        for (uint32_t x = 0; x < row; x += m.element_bytes) {
            const int64_t i = c.at[0] + static_cast<int64_t>(x / m.element_bytes);
            const bool is_in = inside && i >= 0 && static_cast<uint64_t>(i) < m.dim[0];
            char *s = window + swizzled(base + y * row + (x & ~15u), m.swizzle) + (x & 15);
            char *g = m.base + offset + i * m.element_bytes;
            if (c.store && is_in)
                memcpy(g, s, m.element_bytes);
            else if (!c.store && is_in)
                memcpy(s, g, m.element_bytes);
            else if (!c.store)
                memset(s, 0, m.element_bytes);
        }
    }
}

static void carry_out(const bulk_copy &c) {
    if (c.arrives_at) {
        mbar_arrive_now(c.arrives_at, c.arrivals);
        return;
    }
    if (c.store) {
        if (memcmp(c.smem, c.source.data(), c.source.size()) != 0)
            fail("shared +%u was written while a TMA store reads it", smem_u32(c.smem));
        move_box(c, c.block->window);
        return;
    }
    for (unsigned r = 0; r < now->blocks.size(); r++) {
        block &b = now->blocks[r];
        if (!(c.blocks >> r & 1)) continue;
        if (b.alive == 0) fail("a TMA load arrives in a block that has ended");
        move_box(c, b.window);
        char *window = (c.bar_block ? c.bar_block : &b)->window;
        phase_barrier &m = mbar_of(reinterpret_cast<uint64_t *>(window + c.bar), "a TMA load");
        m.tx -= bytes_of(c);
        check(m);
    }
}

void bulk_step() {
    auto &all = now->bulk;
    const size_t i = schedule.async == async_kind::random ? random_bits() % all.size() : 0;
    const bulk_copy c = all[i];
    all.erase(all.begin() + static_cast<ptrdiff_t>(i));
    carry_out(c);
}

static void issue(const bulk_copy &c) {
    if (schedule.async == async_kind::eager)
        carry_out(c);
    else
        now->bulk.push_back(c);
}

static bulk_copy bulk_copy_of(const void *map, const void *smem, const int *at, int rank,
                              const char *op) {
    need_cc(90, op);
    bulk_copy c = {};
    c.map = *static_cast<const tensor_map *>(map);
    if (c.map.magic != MAGIC) fail("%s: not a tensor map", op);
    if (reinterpret_cast<uintptr_t>(map) % 64) fail("%s: a misaligned tensor map", op);
    if (rank != c.map.rank) fail("%s: %d coordinates, %d dimensions", op, rank, c.map.rank);
    c.smem = static_cast<char *>(const_cast<void *>(smem));
    if (smem_u32(smem) % (c.map.swizzle == 128 ? 1024u : 128u))
        fail("%s: shared +%u is misaligned for a swizzle of %d bytes", op, smem_u32(smem),
             c.map.swizzle);
    c.block = owner_of(smem);
    c.by = cur;
    for (int i = 0; i < rank; i++) c.at[i] = at[i];
    return c;
}

static void load(bulk_copy c, void *smem, uint64_t *bar, uint16_t blocks, bool of_pair) {
    c.bar = smem_u32(bar);
    if (of_pair) {
        need_cc(100, "a TMA load with cta_group::2", true);
        c.bar_block = owner_of(bar);
        if (c.bar_block->rank / 2 != c.block->rank / 2)
            fail("a TMA load: its mbarrier is in another pair of blocks");
    } else if (!blocks && owner_of(bar) != c.block) {
        fail("a TMA load: its mbarrier is another block's");
    }
    c.blocks = blocks ? blocks : static_cast<uint16_t>(1u << c.block->rank);
    if (c.blocks >> now->blocks.size())
        fail("a TMA load for blocks %x of a cluster of %zu", c.blocks, now->blocks.size());
    for (unsigned r = 0; r < now->blocks.size(); r++) {
        if (!(c.blocks >> r & 1)) continue;
        char *window = now->blocks[r].window,
             *bar_window = c.bar_block ? c.bar_block->window : window;
        phase_barrier &m = mbar_of(reinterpret_cast<uint64_t *>(bar_window + c.bar), "a TMA load");
        if (m.unfenced) fail("a TMA load: its mbarrier was initialised and not fenced");
        note_write(window + smem_u32(smem), bytes_of(c));
        TSAN(__tsan_release(&m.sync[m.phase & 1])); /* the phase's end shows the tile */
        const quiet q;
        auto &unfenced = now->blocks[r].unfenced; /* it is written anew */
        if (!unfenced.empty())
            std::fill_n(unfenced.begin() + smem_u32(smem) / 4, bytes_of(c) / 4, uint16_t(0));
        if (schedule.async != async_kind::eager) memset(window + smem_u32(smem), 0xff, bytes_of(c));
    }
    const quiet q;
    issue(c);
}

static void store(bulk_copy c, const void *smem) {
    c.store = true;
    c.group = cur->bulk_group;
    note_read(smem, bytes_of(c));
    const quiet q;
    check_fenced(c.block, smem_u32(smem), bytes_of(c), "a bulk store");
    c.source.assign(c.smem, c.smem + bytes_of(c));
    issue(c);
}

void tma_load(void *smem, const void *map, uint64_t *bar, const int *at, int rank, uint16_t blocks,
              bool of_pair) {
    load(bulk_copy_of(map, smem, at, rank, "a TMA load"), smem, bar, blocks, of_pair);
}

void tma_store(const void *map, const void *smem, const int *at, int rank) {
    store(bulk_copy_of(map, smem, at, rank, "a TMA store"), smem);
}

static bulk_copy flat_copy_of(const void *gmem, const void *smem, uint32_t bytes, const char *op) {
    need_cc(90, op);
    bulk_copy c = {};
    c.gmem = static_cast<char *>(const_cast<void *>(gmem));
    c.bytes = bytes;
    c.smem = static_cast<char *>(const_cast<void *>(smem));
    if (bytes == 0 || bytes % 16) fail("%s of %u bytes", op, bytes);
    if (reinterpret_cast<uintptr_t>(gmem) % 16 || smem_u32(smem) % 16)
        fail("%s is misaligned: %p, shared +%u", op, gmem, smem_u32(smem));
    c.block = owner_of(smem);
    c.by = cur;
    return c;
}

void bulk_load(void *smem, const void *gmem, uint32_t bytes, uint64_t *bar) {
    const bulk_copy c = flat_copy_of(gmem, smem, bytes, "a bulk load");
    note_read(gmem, bytes);
    load(c, smem, bar, 0, false);
}

void bulk_store(void *gmem, const void *smem, uint32_t bytes) {
    const bulk_copy c = flat_copy_of(gmem, smem, bytes, "a bulk store");
    note_write(gmem, bytes);
    store(c, smem);
}

void bulk_commit() { cur->bulk_group++; }

void bulk_wait(int keep) {
    const quiet q;
    auto &all = now->bulk;
    for (size_t i = 0; i < all.size();) {
        const bulk_copy c = all[i];
        if (c.store && c.by == cur && c.group + static_cast<unsigned>(keep) < cur->bulk_group) {
            all.erase(all.begin() + static_cast<ptrdiff_t>(i));
            carry_out(c);
        } else {
            i++;
        }
    }
}

} // namespace simt
