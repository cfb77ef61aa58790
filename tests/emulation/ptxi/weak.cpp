/* weak.cpp - global memory as weak as CUDA has it between blocks, for kernels that take tickets there. What a thread stores
 * is in memory once it has fenced and then carried out an atomic; until then its own block alone sees it. What others
 * bring there a thread sees from a fence on that follows an atomic of its own; until then memory is to it as the launch
 * found it. Barriers of the block pass both on. PTX ISA 9.0, 8: release and acquire patterns, causality order. */
#include "ptx.h"

#include "runtime.h"

#include <cstring>
#include <map>
#include <unordered_map>

namespace ptxi {

struct weak_block {
    struct stored {
        char value;
        uint32_t thread, barriers; /* whose it is, after so many barriers */
        uint64_t number;           /* in the order of the block's stores */
        uint64_t published;        /* when; 0: not yet */
    };
    std::unordered_map<char *, stored> own;
    uint64_t stores = 0, seen = 0; /* seen: by threads that have come to a barrier */
};
struct weak_thread {
    weak_block *block;
    uint32_t number, barriers;
    uint64_t seen, atomic_at; /* times: what was published until then it sees, could see */
    bool fenced;              /* and no atomic has followed */
    uint32_t fenced_barriers;
    uint64_t fenced_stores;
};

/* Of the launch: the last time, what bytes were before each, and between which addresses there are any. */
struct change {
    uint64_t at;
    char old;
};
static uint64_t time_now;
static std::unordered_map<const char *, std::vector<change>> past;
static const char *lowest, *highest;
static std::map<std::vector<unsigned>, weak_block> blocks;

weak_thread *weak_begin() {
    const simt::thread &t = *simt::cur;
    auto *w = new weak_thread{};
    w->block = &blocks[{t.bid.x, t.bid.y, t.bid.z}];
    w->number = t.linear;
    return w;
}
void weak_end(weak_thread *w) { delete w; }

void weak_store(weak_thread *w, char *p, const void *from, size_t n) {
    if (!lowest || p < lowest) lowest = p;
    if (p + n > highest) highest = p + n;
    for (size_t i = 0; i < n; i++)
        w->block->own[p + i] = {static_cast<const char *>(from)[i], w->number, w->barriers,
                                w->block->stores, 0};
    w->block->stores++;
}

static char byte_at(const weak_thread *w, char *p) {
    const auto own = w->block->own.find(p);
    const auto changes = past.find(p);
    const bool changed = changes != past.end();
    if (own != w->block->own.end()) {
        const uint64_t published = own->second.published,
                       last = changed ? changes->second.back().at : 0;
        if (!published || last == published || w->seen < last) return own->second.value;
    }
    if (changed)
        for (const auto &c : changes->second)
            if (c.at > w->seen) return c.old;
    return *p;
}

void weak_load(const weak_thread *w, const char *p, void *to, size_t n) {
    if (p >= highest || p + n <= lowest) {
        memcpy(to, p, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        static_cast<char *>(to)[i] = byte_at(w, const_cast<char *>(p + i));
}

void weak_fence(weak_thread *w) {
    w->fenced = true;
    w->fenced_barriers = w->barriers;
    w->fenced_stores = w->block->stores;
    if (w->atomic_at > w->seen) w->seen = w->atomic_at;
}

void weak_atomic(weak_thread *w) {
    if (w->fenced) {
        time_now++;
        for (auto &[p, s] : w->block->own)
            if (!s.published && s.number < w->fenced_stores &&
                (s.thread == w->number || s.barriers < w->fenced_barriers)) {
                past[p].push_back({time_now, *p});
                *p = s.value;
                s.published = time_now;
            }
    }
    w->fenced = false;
    w->atomic_at = time_now;
}

void weak_arrive(weak_thread *w) {
    if (w->seen > w->block->seen) w->block->seen = w->seen;
}
void weak_leave(weak_thread *w) {
    w->barriers++;
    w->seen = w->block->seen;
}

void weak_launch_end() {
    for (auto &b : blocks)
        for (auto &[p, s] : b.second.own)
            if (!s.published) *p = s.value;
    blocks.clear();
    past.clear();
    lowest = highest = nullptr;
    time_now = 0;
}

} // namespace ptxi
