/* shared.cpp - the shared memory of blocks. A window holds static variables from its start on and dynamic memory at
 * its end; between variables lie red zones, all is NaN until a thread writes it. */
#include "state.h"

#include <sys/mman.h>

namespace simt {

constexpr size_t STATIC_MOST = 48 << 10, RED = 16;

struct variable {
    const char *name;
    size_t size, align;
};
static std::vector<variable> &variables() {
    static std::vector<variable> v;
    return v;
}

/* Of the launch: where variables and dynamic memory lie, the same in each block. */
static std::vector<size_t> offsets; /* 0: not yet touched */
static size_t static_end, static_bytes, dynamic_at;

void windows_layout() {
    offsets.assign(variables().size(), 0);
    static_end = 2048; /* address 0 stays invalid; barriers and fences have addresses there */
    static_bytes = 0;
    dynamic_at = 0;
}

static char *window_reserve() {
    void *p = mmap(nullptr, 2 * WINDOW, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fail("no memory for shared memory");
    return reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(p) + WINDOW - 1) &
                                    ~static_cast<uintptr_t>(WINDOW - 1));
}

/* Window i for a new block. whole: a peer may write before its owner touches it, so all of it is filled now; in random order
 * with zeros at times, since what is wrong with NaN or `true` may be right with them, and the other way round. */
char *window_fresh(size_t i, bool whole) {
    static auto &windows = *new std::vector<char *>;
    while (windows.size() <= i) windows.push_back(window_reserve());
    char *w = windows[i];
#if SIMT_WITH_TSAN /* forgets what the block before it did; what barriers ordered, only where nothing is mapped for a moment */
    munmap(w, 4096);
    mmap(w, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
#endif
    ASAN_UNPOISON_MEMORY_REGION(w, WINDOW);
    const bool zeros = schedule.order == order_kind::random && (random_bits() & 1);
    if (whole) memset(w, zeros ? 0 : 0xff, WINDOW);
    ASAN_POISON_MEMORY_REGION(w, WINDOW);
    return w;
}

static void open(block *b, size_t offset, size_t size) {
    ASAN_UNPOISON_MEMORY_REGION(b->window + offset, size);
    if (now->blocks.size() == 1) memset(b->window + offset, 0xff, size);
}

/* Aligned to `align` and to no more, so that code that needs more fails. */
static size_t barely_aligned(size_t at, size_t align) {
    at = (at + align - 1) / align * align;
    return at / align % 2 == 0 ? at + align : at;
}

int shared_key(const char *name, size_t size, size_t align) {
    const quiet q;
    variables().push_back({name, size, align});
    return static_cast<int>(variables().size()) - 1;
}

void *shared_static(int key) {
    const quiet q;
    const auto k = static_cast<size_t>(key);
    const variable v = variables()[k];
    if (k >= offsets.size()) offsets.resize(variables().size(), 0);
    if (!offsets[k]) {
        static_bytes = (static_bytes + v.align - 1) / v.align * v.align + v.size;
        if (static_bytes > STATIC_MOST)
            fail("'%s' takes static shared memory beyond 48 KiB", v.name);
        offsets[k] = barely_aligned(static_end + RED, v.align);
        static_end = offsets[k] + v.size;
        if (static_bytes + shape->smem > device.smem_block_bytes ||
            static_end + RED > (dynamic_at ? dynamic_at : WINDOW))
            fail("'%s' takes shared memory beyond the device's %zu bytes", v.name,
                 device.smem_block_bytes);
    }
    block *b = cur->block;
    if (k >= b->seen.size()) b->seen.resize(variables().size(), false);
    if (!b->seen[k]) {
        b->seen[k] = true;
        open(b, offsets[k], v.size);
    }
    return b->window + offsets[k];
}

void *shared_dynamic(size_t align) {
    const quiet q;
    if (!dynamic_at) {
        /* two alignments before the end, so that "barely" has room */
        dynamic_at = barely_aligned((WINDOW - RED - shape->smem) / align * align - align, align);
        if (dynamic_at < static_end + RED) fail("shared memory beyond what the window holds");
    }
    if (dynamic_at % align) fail("dynamic shared memory asked for with two alignments");
    block *b = cur->block;
    if (!b->dynamic_seen) {
        b->dynamic_seen = true;
        open(b, dynamic_at, shape->smem);
    }
    return b->window + dynamic_at;
}

void *smem_ptr(uint32_t offset) {
    if (offset >= WINDOW) fail("shared memory address %x", offset);
    return cur->block->window + offset;
}

static bool holds(const block &b, const void *p) { return p >= b.window && p < b.window + WINDOW; }
bool is_shared(const void *p) {
    for (auto &b : now->blocks)
        if (holds(b, p)) return true;
    return false;
}
block *owner_of(const void *p) {
    for (auto &b : now->blocks)
        if (holds(b, p)) return &b;
    fail("%p is not in shared memory", p);
}

unsigned cluster_rank() { return now->is_cluster ? cur->block->rank : 0; }
unsigned cluster_size() { return now->is_cluster ? static_cast<unsigned>(now->blocks.size()) : 1; }
void *map_rank(const void *p, unsigned rank) {
    need_cc(90, "mapa");
    if (rank >= cluster_size()) fail("mapa: block %u of a cluster of %u", rank, cluster_size());
    const block &b = now->is_cluster ? now->blocks[rank] : *cur->block;
    if (!b.begun || !b.alive)
        fail("mapa: block %u of the cluster %s", rank, b.begun ? "has ended" : "has not begun");
    return b.window + smem_u32(p);
}

#if SIMT_ASAN /* makes the sanitizer report what the runtime was about to touch */
static void touch(const void *p, size_t n) {
    void *bad = __asan_region_is_poisoned(const_cast<void *>(p), n);
    if (!bad) return;
    const volatile char c = *static_cast<char *>(bad);
    (void)c;
}
#else
static void touch(const void *, size_t) {}
#endif
void note_read(const void *p, size_t n) {
    touch(p, n);
    TSAN(__tsan_read_range(const_cast<void *>(p), n));
}
void note_write(void *p, size_t n) {
    touch(p, n);
    TSAN(__tsan_write_range(p, n));
}

} // namespace simt
