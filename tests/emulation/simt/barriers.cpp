/* barriers.cpp - where threads meet: lanes of a warp, warpgroups, blocks, clusters, grids. Threads that have ended do
 * not count. Only barriers order memory for the thread sanitizer; shuffles, votes and tensor instructions do not. */
#include "state.h"

namespace simt {

static void wake(std::vector<thread *> &waiting) {
    for (auto *t : waiting)
        if (t != cur) make_ready(t);
    waiting.clear();
}

/* ---- warps ---- */

static bool is_complete(const warp *w, const collective &c) {
    return (c.mask & w->alive & ~c.arrived) == 0;
}

static void complete(warp *w, size_t i) {
    const collective c = w->pending[i];
    w->pending.erase(w->pending.begin() + static_cast<ptrdiff_t>(i));
    if (c.fn) c.fn(c.io, c.arrived, c.context);
    for (int l = 0; l < 32; l++)
        if (c.arrived >> l & 1 && w->lane[l] != cur) make_ready(w->lane[l]);
}

void collectives_after_exit(warp *w) {
    for (size_t i = 0; i < w->pending.size();)
        if (is_complete(w, w->pending[i]))
            complete(w, i);
        else
            i++;
}

/* Addresses that stand for barriers in the thread sanitizer's books, one a generation: in the first 2 KiB of the
 * window, which no variable gets, so that they are forgotten with the block and order nothing of the next one. */
[[maybe_unused]] static char *barrier_sync(const block *b, int id, unsigned generation) {
    return b->window + 2 * id + (generation & 1);
}
[[maybe_unused]] static char *warp_sync(const warp *w, unsigned generation) {
    const block *b = cur->block;
    return b->window + 64 + 4 * (w - b->warps.data()) + generation;
}

[[maybe_unused]] static char *fence_sync(const thread *t) {
    return t->block->window + 1024 + t->linear;
}

void warp_collective(uint32_t mask, const char *op, void *io, collective_fn fn,
                     const void *context) {
    const quiet q;
    warp *w = cur->warp;
    const uint32_t me = 1u << cur->lane;
    if (!(mask & me)) fail("%s: lane %u is not in its own mask %08x", op, cur->lane, mask);
    size_t i = 0;
    while (i < w->pending.size() && !(w->pending[i].mask & mask)) i++;
    if (i == w->pending.size())
        w->pending.push_back({op, mask, 0, w->generation++ % 4, fn, context, {}});
    collective &c = w->pending[i];
    if (c.mask != mask || strcmp(c.op, op) != 0)
        fail("lane %u executes %s (mask %08x) while lanes %08x wait in %s (mask %08x)", cur->lane,
             op, mask, c.arrived, c.op, c.mask);
    c.io[cur->lane] = io;
    c.arrived |= me;
    [[maybe_unused]] char *sync = warp_sync(w, c.generation); /* c may move while this lane waits */
    if (!fn) TSAN(__tsan_release(sync));
    if (is_complete(w, c))
        complete(w, i);
    else
        block_on(op);
    if (!fn) TSAN(__tsan_acquire(sync));
}

/* ---- warpgroups ---- */

void warpgroup_collective(const char *op, void *io, collective_fn fn, const void *context) {
    const quiet q;
    warpgroup &g = cur->block->warpgroups[cur->linear / 128];
    if (g.arrived && strcmp(g.op, op) != 0)
        fail("%s while other threads of the warpgroup wait in %s", op, g.op);
    g.op = op;
    g.io[cur->linear % 128] = io;
    g.waiting.push_back(cur);
    if (++g.arrived < 128) {
        block_on(op);
        return;
    }
    if (fn) fn(g.io, ~0u, context);
    g.arrived = 0;
    wake(g.waiting);
}

/* A block starts with its threads' equal share of a multiprocessor's 65536 registers, in eights, as __launch_bounds__(n,
 * 1) has it: that is its pool. */
void setmaxnreg(int registers, bool more) {
    need_cc(90, "setmaxnreg", true);
    if (registers < 24 || registers > 256 || registers % 8)
        fail("setmaxnreg: %d registers: it takes multiples of 8 from 24 to 256", registers);
    block *b = cur->block;
    if (b->threads.size() % 128) fail("setmaxnreg in a block that is not all warpgroups");
    warpgroup_collective("setmaxnreg", nullptr, nullptr, nullptr);
    const quiet q;
    warpgroup &g = b->warpgroups[cur->linear / 128];
    const int groups = static_cast<int>(b->threads.size() / 128),
              share = 65536 / 128 / groups / 8 * 8, each = share < 248 ? share : 248;
    for (auto &any : b->warpgroups)
        if (any.registers == 0) any.registers = each;
    if (g.registers == registers) return; /* another thread of the warpgroup has been here */
    if (more ? registers < g.registers : registers > g.registers)
        fail("setmaxnreg.%s to %d registers from %d", more ? "inc" : "dec", registers, g.registers);
    for (;;) {
        int others = 0;
        for (auto &any : b->warpgroups)
            if (&any != &g) others += any.registers;
        if (others + registers <= each * groups) break;
        b->want_registers.push_back(cur);
        block_on("registers for setmaxnreg");
        if (g.registers == registers) return;
    }
    g.registers = registers;
    wake(b->want_registers);
}

/* ---- blocks ---- */

static void check(block *b, block_barrier &r) {
    if (r.arrived == 0 || r.arrived < (r.threads ? r.threads : b->alive)) return;
    r.arrived = 0;
    r.generation++;
    for (auto *t : r.waiting) t->vote = r.value;
    wake(r.waiting);
}

void barriers_after_exit(block *b) {
    if (b->alive == 0) return;
    for (auto &r : b->barriers)
        if (r.threads == 0) check(b, r);
}

int barrier(int id, int threads, bool wait, reduction what, bool predicate) {
    const quiet q;
    thread *me = cur;
    block *b = me->block;
    tells("a barrier");
    if (id < 0 || id > 15) fail("barrier %d: there are 0 to 15", id);
    block_barrier &r = b->barriers[id];
    if (threads % 32) fail("barrier %d: %d threads are not whole warps", id, threads);
    if (r.arrived && r.threads != threads)
        fail("barrier %d: for %d threads here and %d there", id, threads, r.threads);
    if (r.arrived && r.what != what) fail("barrier %d: different kinds of it meet", id);
    if (!r.arrived) {
        r.threads = threads;
        r.what = what;
        r.value = what == reduction::all;
    }
    if (what == reduction::count)
        r.value += predicate;
    else if (what == reduction::all)
        r.value &= predicate;
    else
        r.value |= predicate;
    const unsigned generation = r.generation;
    [[maybe_unused]] char *sync = barrier_sync(b, id, generation);
    TSAN(__tsan_release(sync));
    r.arrived++;
    if (wait) r.waiting.push_back(me);
    check(b, r);
    if (!wait) return 0;
    if (r.generation == generation) block_on(id ? "a named barrier" : "__syncthreads()");
    me->tensor_told = true;
    TSAN(__tsan_acquire(sync));
    return me->vote;
}

/* ---- clusters and grids ---- */

static void check(wide_barrier &r) {
    int alive = 0;
    for (auto &b : now->blocks) alive += b.alive;
    if (r.arrived == 0 || r.arrived < alive) return;
    r.arrived = 0;
    r.generation++;
    wake(r.waiting);
}

static void meet(wide_barrier &r, bool arrive, bool wait, const char *why) {
    const quiet q;
    /* what hardware would make of either is not said anywhere that we know of: strict by choice */
    if (arrive && cur->has_arrived) fail("it arrives a second time without a wait at %s", why);
    if (wait && !arrive && !cur->has_arrived) fail("it waits without an arrival at %s", why);
    cur->has_arrived = !wait;
    if (arrive) {
        tells("a barrier");
        cur->generation = r.generation;
        TSAN(__tsan_release(&r.sync[r.generation & 1]));
        r.arrived++;
        check(r);
    }
    if (!wait) return;
    if (r.generation == cur->generation) {
        r.waiting.push_back(cur);
        block_on(why);
    }
    cur->tensor_told = true;
    TSAN(__tsan_acquire(&r.sync[cur->generation & 1]));
}

void cluster_barrier(bool arrive, bool wait) {
    need_cc(90, "barrier.cluster");
    if (arrive) arrivals_end();
    meet(now->cluster, arrive, wait, "the cluster's barrier");
}

void grid_barrier() {
    if (!shape->cooperative) fail("a grid's barrier in a launch that is not cooperative");
    meet(now->grid, true, true, "the grid's barrier");
}

/* ---- fences ---- */

/* As fences of C++: what a thread did before a fence is passed on by its later atomics, and what others passed on to the
 * addresses of its earlier atomics it sees from a fence on. Atomics alone order nothing. */
void thread_fence() {
#if SIMT_WITH_TSAN
    const quiet q;
    if (cur->last_atomic) __tsan_acquire(cur->last_atomic);
    __tsan_release(fence_sync(cur));
    cur->fenced = true;
#endif
}

#if SIMT_WITH_TSAN
/* What is at `from` for the sanitizer is also at `to`. A fiber of its own carries it, made by one that knows of nothing. */
static void carry(char *from, void *to) {
    static void *ignorant =
        __tsan_create_fiber(0); /* made in fences_begin(), before the first launch */
    void *me = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(ignorant, 1);
    void *carrier = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(carrier, 1);
    if (from) {
        __tsan_acquire(from);
        __tsan_release(to);
    }
    __tsan_switch_to_fiber(me, 1);
    __tsan_destroy_fiber(carrier);
}
void fences_begin() { carry(nullptr, nullptr); }

void atomic_done(void *p) {
    const quiet q;
    if (!cur) return;
    cur->last_atomic = p;
    if (cur->fenced) carry(fence_sync(cur), p);
}
#else
void fences_begin() {}
void atomic_done(void *) {}
#endif

} // namespace simt
