// simt.cpp - runtime of the host emulation: fibers, scheduler, barriers, async engines.
// Compile WITHOUT -fsanitize=thread (the fiber API below tells TSan what it must know).
#include "simt.h"
#include <cstdarg>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <pthread.h>
#include <sys/mman.h>
#if SIMT_FIBER_UCONTEXT
#include <ucontext.h>
#endif
#if SIMT_FIBER_BOOST
#include <boost/context/detail/fcontext.hpp>
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#if SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if SIMT_WITH_TSAN  // the rest of the program is built with -fsanitize=thread
extern "C" {
void* __tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void*);
void __tsan_switch_to_fiber(void*, unsigned);
void* __tsan_get_current_fiber(void);
void __tsan_acquire(void*);
void __tsan_release(void*);
void __tsan_write_range(void*, unsigned long);
void __tsan_read_range(void*, unsigned long);
}
extern "C" {
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#define TS(x) x
struct Quiet {
    Quiet() { __tsan_ignore_thread_begin(); }
    ~Quiet() { __tsan_ignore_thread_end(); }
};
#define QUIET Quiet quiet_
#else
#define TS(x) (void)0
#define QUIET (void)0
#endif

namespace simt {
// ---------------------------------------------------------------- fibers
struct Fiber {
    void* sp = nullptr;
    char* stack = nullptr;
    size_t size = 0;
    void* fake = nullptr;
#if SIMT_FIBER_UCONTEXT
    ucontext_t uc;
#endif
};
Recording* recording = nullptr;
Thread* cur;
Stats stats;
static Options g_opt;
Options& options() {
    return g_opt;
}
static Fiber main_fiber;
static Fiber* cur_fiber = &main_fiber;
static std::vector<Fiber*>& pool = *new std::vector<Fiber*>;
static void fiber_main();

#if SIMT_FIBER_UCONTEXT
static void raw_switch(Fiber* a, Fiber* b) {
    swapcontext(&a->uc, &b->uc);
}
static void fiber_init(Fiber* f) {
    getcontext(&f->uc);
    f->uc.uc_stack.ss_sp = f->stack;
    f->uc.uc_stack.ss_size = f->size;
    f->uc.uc_link = nullptr;
    makecontext(&f->uc, fiber_main, 0);
}
#elif SIMT_FIBER_BOOST
using namespace boost::context::detail;
static void raw_switch(Fiber* a, Fiber* b) {
    transfer_t t = jump_fcontext(b->sp, a);
    static_cast<Fiber*>(t.data)->sp = t.fctx;
}
static void fiber_init(Fiber* f) {
    f->sp = make_fcontext(f->stack + f->size, f->size, [](transfer_t t) {
        static_cast<Fiber*>(t.data)->sp = t.fctx;
        fiber_main();
    });
}
#else
extern "C" void simt_switch(void** save, void* to);
#if defined(__x86_64__)
asm(R"(.text
.globl simt_switch
.type simt_switch,@function
simt_switch:
  endbr64
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
.size simt_switch,.-simt_switch
)");
static void fiber_init(Fiber* f) {
    auto top = (void**)((uintptr_t)(f->stack + f->size) & ~15ull);
    *--top = nullptr;  // fake return address: entry sees rsp % 16 == 8
    *--top = (void*)fiber_main;
    for (int i = 0; i < 6; i++) *--top = nullptr;
    f->sp = top;
}
#elif defined(__aarch64__)
#error "add the aarch64 switch (save x19-x30, d8-d15) or build with SIMT_FIBER_UCONTEXT"
#endif
static void raw_switch(Fiber* a, Fiber* b) {
    simt_switch(&a->sp, b->sp);
}
#endif

static void switch_to(Fiber* f, bool dying = false) {
    (void)dying;
    Fiber* me = cur_fiber;
    stats.switches++;
    cur_fiber = f;
#if SIMT_ASAN
    __sanitizer_start_switch_fiber(dying ? nullptr : &me->fake, f->stack, f->size);
#endif
    TS(__tsan_switch_to_fiber(f == &main_fiber ? main_fiber.fake : cur->tsan, 1 /*no sync*/));
    raw_switch(me, f);
#if SIMT_ASAN
    __sanitizer_finish_switch_fiber(me->fake, nullptr, nullptr);
#endif
}
static Fiber* get_fiber() {
    Fiber* f;
    if (!pool.empty()) {
        f = pool.back();
        pool.pop_back();
    } else {
        f = new Fiber;
        f->size = g_opt.stack ? g_opt.stack :
#if SIMT_ASAN || SIMT_WITH_TSAN
                              256 << 10;
#else
                              64 << 10;
#endif
        f->stack = (char*)mmap(nullptr, f->size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        mprotect(f->stack, 4096, PROT_NONE);
    }
#if SIMT_ASAN
    ASAN_UNPOISON_MEMORY_REGION(f->stack + 4096, f->size - 4096);
#endif
#if SIMT_WITH_TSAN  // forget what earlier threads did on this stack (the interceptor resets the
                    // shadow)
    mmap(f->stack + 4096, f->size - 4096, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#endif
    f->fake = nullptr;
    fiber_init(f);
    return f;
}

// ---------------------------------------------------------------- blocks
struct Group {
    const char* op;
    uint32_t mask, arrived;
    int par;
    WarpFn fn;
    const void* env;
    void* io[32];
};
struct Warp {
    std::vector<Group> groups;
    uint32_t alive = 0;
    Thread* t[32] = {};
    int gen = 0;
    char sync[4];
};
struct Bar {
    int arrived = 0, count = 0, red = 0;
    int rv = 0, out = 0;
    std::vector<Thread*> wait;
    unsigned gen = 0;
    char sync[2];
};
struct WgGroup {
    const char* op = nullptr;
    int arrived = 0;
    void* io[128];
    std::vector<Thread*> wait;
};
struct MBar {
    uint32_t expected, pending;
    int64_t tx;
    uint32_t phase;
    std::vector<Thread*> wait;
    char sync[2];
};
struct BulkOp {
    bool store;
    TensorMap m;
    void* dst;
    int c[5];
    Block* blk;
    uint16_t mask;
    uint32_t bar_off;
    Thread* by;
    int group;
};
struct WgOp {
    El a, b;
    int N;
    std::vector<float*> d;
    uint64_t da, db;
    int scale;
    bool ta, tb;
};  // d[thread * N/2 + i]
struct Wgmma {
    std::vector<std::vector<WgOp>> groups{1};
};
struct Block {
    uint3 idx;
    char* win = nullptr;
    Gang* gang;
    unsigned rank = 0;
    int alive = 0;
    std::vector<Thread> th;
    std::vector<Warp> wp;
    Bar bar[16];
    std::vector<WgGroup> wgc;
    std::vector<Wgmma> wg;
    std::unordered_map<uint32_t, MBar> mbar;
    std::vector<char> zeroed;
    bool dyn_zeroed = false;
};
struct Gang {
    std::vector<Block> b;
    Bar cluster, grid;
    std::vector<BulkOp> bulk;
};

struct Key {
    const char* name;
    size_t size, align;
};
static std::vector<Key>& keys() {
    static std::vector<Key> k;
    return k;
}
static const Launch* L;
static void (*L_invoke)(const void*);
static const void* L_args;
static std::vector<long> key_off;
static size_t static_top, dyn_off;
static Gang* gang;
static std::vector<Thread*> ready;
static size_t ready_head;
static int running;
static uint64_t rng_state;
static uint32_t rnd() {
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return uint32_t(rng_state >> 16);
}

static void report() {
    if (cur)
        fprintf(stderr, "  in %s, block (%u,%u,%u) thread (%u,%u,%u)\n", L ? L->name : "?",
                cur->bid.x, cur->bid.y, cur->bid.z, cur->tid.x, cur->tid.y, cur->tid.z);
}
void fail(const char* fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "simt: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    report();
    fflush(stderr);
    abort();
}

static void make_ready(Thread* t) {
    if (t->state == 2) t->state = 1;
    ready.push_back(t);
}
static void engine_step(bool idle);
static Thread* pick() {
    for (;;) {
        if (g_opt.async == Async::random && !gang->bulk.empty() && rnd() % 8 == 0)
            engine_step(false);
        if (ready_head == ready.size()) {
            ready.clear();
            ready_head = 0;
            if (!gang->bulk.empty()) {
                engine_step(true);
                continue;
            }
            return nullptr;
        }
        if (ready_head > 4096) {
            ready.erase(ready.begin(), ready.begin() + ready_head);
            ready_head = 0;
        }
        if (g_opt.order == Order::random)
            std::swap(ready[ready_head], ready[ready_head + rnd() % (ready.size() - ready_head)]);
        return ready[ready_head++];
    }
}
static void deadlock() {
    fprintf(stderr, "simt: deadlock in %s: no thread can run\n", L->name);
    std::map<std::string, int> n;
    for (auto& b : gang->b)
        for (auto& t : b.th)
            if (t.state != 3) {
                char s[160];
                snprintf(s, sizeof s, "block (%u,%u,%u) warp %u waits for %s", t.bid.x, t.bid.y,
                         t.bid.z, t.linear / 32, t.why ? t.why : "?");
                n[s]++;
            }
    for (auto& [k, v] : n) fprintf(stderr, "  %3d threads of %s\n", v, k.c_str());
    fflush(stderr);
    abort();
}
// leave the current thread (blocked, ready or done) and run another one
static void resume(Thread* t, bool dying) {
    cur = t;
    if (!t->fiber) t->fiber = get_fiber();
    switch_to(t->fiber, dying);
}
static void block_on(const char* why) {
    Thread* me = cur;
    me->state = 2;
    me->why = why;
    Thread* t = pick();
    if (!t) deadlock();
    if (t == me) {
        me->state = 1;
        return;
    }
    resume(t, false);
    me->state = 1;
    me->why = nullptr;
}
void yield(const char* why) {
    QUIET;
    Thread* me = cur;
    me->state = 2;
    make_ready(me);
    block_on(why);
}

static void complete_group(Warp* w, size_t i);
static void bar_check(Block* b, Bar& r, int need);
static void thread_exit(Thread* t) {
    QUIET;
    t->state = 3;
    running--;
    if (t->cpasync)
        for (auto& g : *t->cpasync)
            if (!g.empty()) fail("thread exits with cp.async copies it never waited for");
    Warp* w = t->warp;
    w->alive &= ~(1u << t->lane);
    for (size_t i = 0; i < w->groups.size();) {
        if (((w->groups[i].mask & w->alive) & ~w->groups[i].arrived) == 0) {
            complete_group(w, i);
            i = 0;
        } else
            i++;
    }
    Block* b = t->block;
    b->alive--;
    if (b->bar[0].arrived && b->alive) bar_check(b, b->bar[0], b->alive);
}
#if SIMT_WITH_TSAN
static char launch_sync;
#endif
static void fiber_main() {
#if SIMT_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    for (;;) {
        L_invoke(L_args);
        Thread* me = cur;
        Fiber* mine = me->fiber;
        Thread* t;
        TS(__tsan_release(&launch_sync));
        thread_exit(me);
        {
            QUIET;
            t = pick();
        }
        if (!t) {
            if (running) deadlock();
            {
                QUIET;
                pool.push_back(mine);
            }
            cur = nullptr;
            switch_to(&main_fiber, true);
        }
#if !SIMT_WITH_TSAN
        else if (!t->fiber) {
            t->fiber = mine;
            cur = t;
        }  // fresh thread: reuse this stack, no switch
#endif
        else {
            {
                QUIET;
                if (!t->fiber) t->fiber = get_fiber();
                pool.push_back(mine);
            }
            resume(t, true);
        }
    }
}

// ---------------------------------------------------------------- warp collectives
static void complete_group(Warp* w, size_t i) {
    Group g = w->groups[i];
    w->groups.erase(w->groups.begin() + i);
    stats.collectives++;
    if (g.fn) g.fn(g.io, g.arrived, g.env);
    for (int l = 0; l < 32; l++)
        if (g.arrived >> l & 1 && w->t[l] != cur) make_ready(w->t[l]);
}
void warp_collective(uint32_t mask, const char* op, void* io, WarpFn fn, const void* env) {
    QUIET;
    Warp* w = cur->warp;
    uint32_t me = 1u << cur->lane;
    if (!(mask & me)) fail("%s: calling lane %u is not in mask %08x", op, cur->lane, mask);
    bool is_sync = fn == nullptr;
    (void)is_sync;
    size_t i = 0;
    for (; i < w->groups.size(); i++)
        if (w->groups[i].mask & mask) break;
    if (i == w->groups.size()) w->groups.push_back(Group{op, mask, 0, w->gen++ % 4, fn, env, {}});
    Group& g = w->groups[i];
    if (g.mask != mask || strcmp(g.op, op))
        fail(
            "warp divergence: lane %u executes %s(mask %08x) while lanes %08x wait in %s(mask "
            "%08x)",
            cur->lane, op, mask, g.arrived, g.op, g.mask);
    g.io[cur->lane] = io;
    g.arrived |= me;
    int par = g.par;
    (void)par;
    TS(if (is_sync) __tsan_release(&w->sync[par]));
    if (((mask & w->alive) & ~g.arrived) == 0)
        complete_group(w, i);
    else
        block_on(op);
    TS(if (is_sync) __tsan_acquire(&w->sync[par]));
}
void wg_collective(const char* op, void* io, WarpFn fn, const void* env) {
    QUIET;
    Block* b = cur->block;
    WgGroup& g = b->wgc[cur->linear / 128];
    if (g.op && strcmp(g.op, op))
        fail("warpgroup divergence: %s while others wait in %s", op, g.op);
    g.op = op;
    g.io[cur->linear % 128] = io;
    if (++g.arrived < 128) {
        g.wait.push_back(cur);
        block_on(op);
        return;
    }
    if (fn) fn(g.io, ~0u, env);
    g.op = nullptr;
    g.arrived = 0;
    auto w = std::move(g.wait);
    g.wait.clear();
    for (auto* t : w) make_ready(t);
}
// ---------------------------------------------------------------- block barriers
static void bar_check(Block*, Bar& r, int need) {
    if (r.arrived < need) return;
    stats.barriers++;
    r.out = r.rv;
    r.arrived = 0;
    r.count = 0;
    r.gen++;
    auto w = std::move(r.wait);
    r.wait.clear();
    for (auto* t : w) {
        t->slot[0] = r.out;
        if (t != cur) make_ready(t);
    }
}
int barrier(int id, int n, bool wait, int red, int pred) {
    QUIET;
    Block* b = cur->block;
    Bar& r = b->bar[id];
    int need = n ? n : b->alive;
    if (n % 32) fail("bar.sync: thread count %d is not a multiple of 32", n);
    if (r.arrived && r.count != n)
        fail("barrier %d: thread counts differ (%d and %d)", id, r.count, n);
    if (r.arrived && r.red != red) fail("barrier %d: different kinds of __syncthreads meet", id);
    if (!r.arrived) {
        r.count = n;
        r.red = red;
        r.rv = red == 2;
    }
    r.rv = red == 1 ? r.rv + pred : red == 2 ? (r.rv & pred) : (r.rv | pred);
    unsigned par = r.gen & 1;
    (void)par;
    TS(__tsan_release(&r.sync[par]));
    r.arrived++;
    Thread* me = cur;
    if (wait) r.wait.push_back(me);
    bool last = r.arrived >= need;
    bar_check(b, r, need);
    if (wait && !last) block_on(id ? "named barrier" : "__syncthreads");
    if (wait) TS(__tsan_acquire(&r.sync[par]));
    return (int)me->slot[0];
}
static void wide_barrier(Bar& r, bool arrive, bool wait, const char* why) {
    QUIET;
    int need = 0;
    for (auto& b : gang->b) need += b.alive;
    if (arrive) {
        TS(__tsan_release(&r.sync[r.count & 1]));
        r.arrived++;
        cur->slot[1] = (uint64_t)r.count;
        if (r.arrived >= need) {
            r.arrived = 0;
            r.count++;
            auto w = std::move(r.wait);
            r.wait.clear();
            for (auto* t : w) make_ready(t);
        }
    }
    if (wait) {
        if ((uint64_t)r.count == cur->slot[1]) {
            r.wait.push_back(cur);
            block_on(why);
        }
        TS(__tsan_acquire(&r.sync[cur->slot[1] & 1]));
    }
}
void cluster_barrier(bool a, bool w) {
    wide_barrier(gang->cluster, a, w, "cluster barrier");
}
void grid_barrier() {
    if (!L->cooperative) fail("grid sync in a launch that is not cooperative");
    wide_barrier(gang->grid, true, true, "grid barrier");
}
unsigned cluster_rank() {
    return cur->block->rank;
}
unsigned cluster_id_x() {
    return cur->bid.x / L->cluster.x;
}
unsigned cluster_size() {
    return (unsigned)gang->b.size();
}

// ---------------------------------------------------------------- shared memory
int shared_key(const char* name, size_t size, size_t align) {
    QUIET;
    keys().push_back({name, size, align});
    return (int)keys().size() - 1;
}
static void fresh(Block* b, size_t off, size_t size) {
#if SIMT_ASAN
    ASAN_UNPOISON_MEMORY_REGION(b->win + off, size);
#endif
    if (g_opt.poison && gang->b.size() == 1) memset(b->win + off, 0xff, size);
}
void* shared_static(int k) {
    QUIET;
    if ((size_t)k >= key_off.size()) key_off.resize(keys().size(), -1);
    if (key_off[k] < 0) {
        Key& q = keys()[k];
        size_t off = (static_top + 16 + q.align - 1) / q.align * q.align;  // 16+ byte red zone
        if ((off / q.align) % 2 == 0) off += q.align;  // aligned to q.align and no further
        if (off + q.size > 0xC000 + 4096) fail("static shared memory over 48 KiB (%s)", q.name);
        key_off[k] = (long)off;
        static_top = off + q.size;
    }
    Block* b = cur->block;
    if ((size_t)k >= b->zeroed.size()) b->zeroed.resize(keys().size(), 0);
    if (!b->zeroed[k]) {
        b->zeroed[k] = 1;
        fresh(b, key_off[k], keys()[k].size);
    }
    return b->win + key_off[k];
}
void* shared_dynamic(size_t align) {
    QUIET;
    if (g_opt.dyn_align) align = g_opt.dyn_align;
    if (!dyn_off) {
        dyn_off = (0xD400 + align - 1) / align * align;
        if (align < 1024 && (dyn_off / align) % 2 == 0) dyn_off += align;
    }
    if (dyn_off % align) fail("dynamic shared memory asked for with two alignments");
    Block* b = cur->block;
    if (!b->dyn_zeroed) {
        b->dyn_zeroed = true;
        fresh(b, dyn_off, L->smem);
    }
    return b->win + dyn_off;
}
void* smem_ptr(uint32_t off) {
    return cur->block->win + off;
}
bool is_shared(const void* p) {
    for (auto& b : gang->b)
        if ((char*)p >= b.win && (char*)p < b.win + WINDOW) return true;
    return false;
}
void note_read(const void* p, size_t n) {
    TS(__tsan_read_range((void*)p, n));
    (void)p;
    (void)n;
#if SIMT_ASAN
    if (void* bad = __asan_region_is_poisoned((void*)p, n)) {
        volatile char c = *(char*)bad;
        (void)c;
    }
#endif
}
static Block* owner(const void* p) {
    for (auto& b : gang->b)
        if ((char*)p >= b.win && (char*)p < b.win + WINDOW) return &b;
    fail("%p is not in shared memory", p);
}
void* map_rank(void* p, unsigned r) {
    if (r >= gang->b.size()) fail("mapa: rank %u of %zu", r, gang->b.size());
    return gang->b[r].win + smem_u32(p);
}

// ---------------------------------------------------------------- cp.async
void cp_async(void* s, const void* g, int n, int src) {
    if (!is_shared(s)) fail("cp.async: destination is not shared memory");
    if ((uintptr_t)s % n || (uintptr_t)g % n)
        fail("cp.async: %d-byte copy misaligned (dst +%u, src %p)", n, smem_u32(s), g);
    {
        QUIET;
        if (!cur->cpasync) cur->cpasync = new std::vector<std::vector<PendingCopy>>(1);
    }
    PendingCopy p;
    p.dst = s;
    p.n = n;
    TS(if (src) __tsan_read_range((void*)g, src));
    TS(__tsan_write_range(s, n));
    {
        QUIET;
        memset(p.data, 0, 16);
        if (src) memcpy(p.data, g, src);
    }
    QUIET;
    bool now = g_opt.async == Async::eager || (g_opt.async == Async::random && rnd() & 1);
    if (now)
        memcpy(s, p.data, n);
    else {
        memset(s, 0xff, n);
        cur->cpasync->back().push_back(p);
    }  // undefined until waited for
}
void cp_async_commit() {
    QUIET;
    if (!cur->cpasync) cur->cpasync = new std::vector<std::vector<PendingCopy>>(1);
    cur->cpasync->emplace_back();
}
void cp_async_wait(int keep) {
    QUIET;
    auto* q = cur->cpasync;
    if (!q) return;
    while ((int)q->size() - 1 > keep) {
        for (auto& p : q->front()) memcpy(p.dst, p.data, p.n);
        q->erase(q->begin());
    }
    if (keep < 0) {
        for (auto& p : q->front()) memcpy(p.dst, p.data, p.n);
        q->front().clear();
    }
}
// ---------------------------------------------------------------- mbarrier
static MBar& mb(uint64_t* b, const char* op) {
    Block* o = owner(b);
    auto it = o->mbar.find(smem_u32(b));
    if (it == o->mbar.end())
        fail("%s on an mbarrier that was never initialised (shared +%u)", op, smem_u32(b));
    if (*b != MAGIC) fail("%s: mbarrier at shared +%u was overwritten", op, smem_u32(b));
    return it->second;
}
void mbar_init(uint64_t* b, uint32_t n) {
    TS(__tsan_write_range(b, 8));
    QUIET;
    if ((uintptr_t)b % 8) fail("mbarrier.init: misaligned");
    if (!n || n >= 1u << 20) fail("mbarrier.init: count %u", n);
    Block* o = owner(b);
    *b = MAGIC;
    MBar& m = o->mbar[smem_u32(b)];
    m.expected = m.pending = n;
    m.tx = 0;
    m.phase = 0;
}
void mbar_inval(uint64_t* b) {
    mb(b, "mbarrier.inval");
    owner(b)->mbar.erase(smem_u32(b));
    *b = 0;
}
static void mb_check(MBar& m) {
    if (m.pending || m.tx) return;
    m.phase++;
    m.pending = m.expected;
    auto w = std::move(m.wait);
    m.wait.clear();
    for (auto* t : w) make_ready(t);
}
void mbar_expect_tx(uint64_t* b, uint32_t n) {
    MBar& m = mb(b, "expect_tx");
    m.tx += n;
    if (m.tx >= 1 << 20) fail("mbarrier: tx-count overflow");
}
void mbar_arrive(uint64_t* b, uint32_t n, uint32_t tx) {
    TS(__tsan_read_range(b, 8));
    QUIET;
    MBar& m = mb(b, "mbarrier.arrive");
    m.tx += tx;
    TS(__tsan_release(&m.sync[m.phase & 1]));
    if (n > m.pending)
        fail("mbarrier at +%u: more arrivals than its count %u", smem_u32(b), m.expected);
    m.pending -= n;
    mb_check(m);
}
bool mbar_test(uint64_t* b, uint32_t parity) {
    MBar& m = mb(b, "mbarrier.try_wait");
    bool ok = (m.phase & 1) != parity;
    if (ok)
        TS(__tsan_acquire(&m.sync[parity]));
    else
        yield("mbarrier.try_wait");
    return ok;
}
void mbar_wait(uint64_t* b, uint32_t parity) {
    TS(__tsan_read_range(b, 8));
    QUIET;
    MBar& m = mb(b, "mbarrier.try_wait");
    while ((m.phase & 1) == parity) {
        m.wait.push_back(cur);
        block_on("mbarrier phase");
    }
    TS(__tsan_acquire(&m.sync[parity]));
}
// ---------------------------------------------------------------- TMA
static uint32_t swz(uint32_t a,
                    uint32_t mode) {  // XOR on shared byte addresses, as the hardware does
    if (mode == 128) return a ^ ((a >> 7 & 7) << 4);
    if (mode == 64) return a ^ ((a >> 7 & 3) << 4);
    if (mode == 32) return a ^ ((a >> 7 & 1) << 4);
    return a;
}
static uint32_t box_bytes(const TensorMap& m) {
    uint32_t n = m.elem;
    for (int i = 0; i < m.rank; i++) n *= m.box[i];
    return n;
}
static void bulk_do(const BulkOp& o) {
    const TensorMap& m = o.m;
    uint32_t row = m.box[0] * m.elem, bytes = box_bytes(m), base = smem_u32(o.dst);
    for (unsigned r = 0; r < 16; r++)
        if (o.mask >> r & 1) {
            Block& b = gang->b[r];
            for (uint32_t y = 0; y < bytes / row; y++) {
                uint32_t q = y;
                bool in = true;
                char* g = m.base;
                for (int d = 1; d < m.rank; d++) {
                    long i = (long)o.c[d] + q % m.box[d];
                    q /= m.box[d];
                    in &= i >= 0 && i < (long)m.dim[d];
                    g += i * (long)m.stride[d - 1];
                }
                for (uint32_t x = 0; x < row; x += m.elem) {
                    long gx = (long)o.c[0] + x / m.elem;
                    bool ok = in && gx >= 0 && gx < (long)m.dim[0];
                    char* s = b.win + swz(base + y * row + (x & ~15u), m.swizzle) + (x & 15);
                    if (o.store) {
                        if (ok) memcpy(g + gx * m.elem, s, m.elem);
                    } else if (ok)
                        memcpy(s, g + gx * m.elem, m.elem);
                    else
                        memset(s, 0, m.elem);
                }
            }
            if (!o.store) {
                uint64_t* bp = (uint64_t*)(b.win + o.bar_off);
                MBar& q = mb(bp, "TMA complete_tx");
                q.tx -= bytes;
                mb_check(q);
            }
        }
}
static void engine_step(bool) {
    auto& q = gang->bulk;
    size_t i = g_opt.async == Async::random ? rnd() % q.size() : 0;
    BulkOp o = q[i];
    q.erase(q.begin() + i);
    bulk_do(o);
}
static const TensorMap& tmap(const void* map) {
    auto* m = (const TensorMap*)map;
    if (m->magic != MAGIC) fail("TMA: not a tensor map");
    if ((uintptr_t)map % 64) fail("TMA: tensor map not 64-byte aligned");
    return *m;
}
void tma_load(void* s, const void* map, uint64_t* bar, const int* c, int rank, uint16_t mask) {
    const TensorMap m = tmap(map);
    if (!is_shared(s)) fail("TMA: destination is not shared memory");
    if (rank != m.rank) fail("TMA: %dd instruction on a rank-%d tensor map", rank, m.rank);
    if (smem_u32(s) % (m.swizzle == 128 ? 1024 : 128))
        fail("TMA: shared address +%u not aligned for swizzle %u", smem_u32(s), m.swizzle);
    mb(bar, "TMA load");
    if (!mask) mask = uint16_t(1u << owner(s)->rank);
    if (mask >> gang->b.size())
        fail("TMA multicast mask %x with %zu CTAs in the cluster", mask, gang->b.size());
    BulkOp o{false, m, s, {}, cur->block, mask, smem_u32(bar), cur, 0};
    for (int i = 0; i < rank; i++) o.c[i] = c[i];
    uint32_t bytes = box_bytes(m);
    for (unsigned r = 0; r < 16; r++)
        if (mask >> r & 1) {
            char* d = gang->b[r].win + smem_u32(s);
            TS(__tsan_write_range(d, bytes));
            QUIET;
            if (g_opt.async != Async::eager) memset(d, 0xff, bytes);
        }
    QUIET;
    if (g_opt.async == Async::eager)
        bulk_do(o);
    else
        gang->bulk.push_back(o);
}
void tma_store(const void* map, const void* s, const int* c, int rank) {
    BulkOp o{true, tmap(map), (void*)s, {}, cur->block, uint16_t(1u << cur->block->rank),
             0,    cur,       0};
    for (int i = 0; i < rank; i++) o.c[i] = c[i];
    TS(__tsan_read_range((void*)s, box_bytes(o.m)));
    QUIET;
    if (g_opt.async == Async::eager)
        bulk_do(o);
    else
        gang->bulk.push_back(o);
}
void bulk_commit() {}
void bulk_wait(int) {
    QUIET;
    auto& q = gang->bulk;
    for (size_t i = 0; i < q.size();)
        if (q[i].store && q[i].by == cur) {
            bulk_do(q[i]);
            q.erase(q.begin() + i);
        } else
            i++;
}

// ---------------------------------------------------------------- wgmma
static float el(El t, const char* p) {
    switch (t) {
        case El::bf16: {
            uint16_t u;
            memcpy(&u, p, 2);
            return __uint_as_float((uint32_t)u << 16);
        }
        case El::f16: {
            __half_raw u;
            memcpy(&u, p, 2);
            return __half2float(__half(u));
        }
        case El::tf32: {
            uint32_t u;
            memcpy(&u, p, 4);
            return __uint_as_float(u & 0xffffe000u);
        }
        case El::e4m3: {
            return __half2float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)*p, __NV_E4M3)));
        }
        default: {
            return __half2float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)*p, __NV_E5M2)));
        }
    }
}
static int el_size(El t) {
    return t == El::tf32 ? 4 : t == El::bf16 || t == El::f16 ? 2 : 1;
}
// element (i along M or N, k) of an operand described by a 64-bit matrix descriptor
static float desc_el(Block* b, El t, uint64_t d, bool mn_major, int i, int k) {
    uint32_t start = (d & 0x3fff) << 4, lbo = (d >> 16 & 0x3fff) << 4,
             sbo = (d >> 32 & 0x3fff) << 4, mode = d >> 62 & 3, es = el_size(t);
    uint32_t w = mode == 0 ? 16 : mode == 1 ? 128 : mode == 2 ? 64 : 32, a;
    if (!mn_major) {
        uint32_t kb = k * es;
        a = start + (i / 8) * sbo + (i % 8) * w + (mode ? kb : kb % 16 + kb / 16 * lbo);
    } else {
        uint32_t ib = i * es;
        a = start + ib / w * lbo + ib % w + (k / 8) * sbo + (k % 8) * w;
    }
    if (mode) a = swz(a, w);
    return el(t, b->win + a);
}
static void wg_exec(Block* b, const WgOp& o) {
    int K = 32 / el_size(o.a);
    static thread_local std::vector<float> A, B, BT;
    A.resize(64 * 32);
    B.resize(256 * 32);
    BT.resize(256 * 32);
    for (int m = 0; m < 64; m++)
        for (int k = 0; k < K; k++) A[m * K + k] = desc_el(b, o.a, o.da, o.ta, m, k);
    for (int n = 0; n < o.N; n++)
        for (int k = 0; k < K; k++) BT[k * o.N + n] = desc_el(b, o.b, o.db, o.tb, n, k);
    float acc[256];
    for (int m = 0; m < 64; m++) {
        for (int n = 0; n < o.N; n++) acc[n] = 0;
        for (int k = 0; k < K; k++) {
            float a = A[m * K + k];
            const float* br = &BT[k * o.N];
            for (int n = 0; n < o.N; n++) acc[n] += a * br[n];
        }
        int w = m / 16, r = m % 16;
        for (int n = 0; n < o.N; n++) {
            float& d = *o.d[(w * 32 + (r % 8) * 4 + n % 8 / 2) * (o.N / 2) + n / 8 * 4 +
                            (r / 8) * 2 + n % 2];
            d = (o.scale ? d : 0.f) + acc[n];
        }
    }
}
struct WgIO {
    float* d;
    float* const* dp;
    uint64_t da, db;
    int scale;
};
void wgmma_fence() {
    wg_collective("wgmma.fence", nullptr, nullptr, nullptr);
}
void wgmma(El a, El b, int N, float* d, uint64_t da, uint64_t db, int scale, bool ta, bool tb) {
    wgmma_ptrs(a, b, N, d, nullptr, da, db, scale, ta, tb);
}
void wgmma_ptrs(El a, El b, int N, float* d, float* const* dp, uint64_t da, uint64_t db, int scale,
                bool ta, bool tb) {
    struct Env {
        El a, b;
        int N;
        bool ta, tb;
    } env{a, b, N, ta, tb};
    WgIO io{d, dp, da, db, scale};
    if (N % 8 || N > 256 || N < 8) fail("wgmma: N = %d", N);
    if (((ta || tb) && el_size(a) != 2)) fail("wgmma: transposed operands need a 16-bit type");
    wg_collective(
        "wgmma.mma_async", &io,
        [](void* const* in, uint32_t, const void* e) {
            auto* v = (const Env*)e;
            WgOp o{v->a, v->b, v->N, {}, 0, 0, 0, v->ta, v->tb};
            o.d.resize(64 * v->N);
            for (int i = 0; i < 128; i++) {
                auto* x = (WgIO*)in[i];
                auto* f = (WgIO*)in[0];
                if (x->da != f->da || x->db != f->db || x->scale != f->scale)
                    fail("wgmma: descriptors or scale differ between threads of the warpgroup");
                for (int j = 0; j < v->N / 2; j++)
                    o.d[i * (v->N / 2) + j] = x->dp ? x->dp[j] : x->d + j;
            }
            o.da = ((WgIO*)in[0])->da;
            o.db = ((WgIO*)in[0])->db;
            o.scale = ((WgIO*)in[0])->scale;
            Block* blk = cur->block;
            auto& q = blk->wg[cur->linear / 128];
            bool now = g_opt.async == Async::eager ||
                       (g_opt.async == Async::random && q.groups.back().empty() &&
                        q.groups.size() == 1 && rnd() & 1);
            if (now)
                wg_exec(blk, o);
            else
                q.groups.back().push_back(o);
        },
        &env);
}
void wgmma_commit() {
    wg_collective(
        "wgmma.commit_group", nullptr,
        [](void* const*, uint32_t, const void*) {
            cur->block->wg[cur->linear / 128].groups.emplace_back();
        },
        nullptr);
}
void wgmma_wait(int keep) {
    wg_collective(
        "wgmma.wait_group", nullptr,
        [](void* const*, uint32_t, const void* e) {
            auto& g = cur->block->wg[cur->linear / 128].groups;
            int keep = *(const int*)e;
            while ((int)g.size() - 1 > keep) {
                for (auto& o : g.front()) wg_exec(cur->block, o);
                g.erase(g.begin());
            }
        },
        &keep);
}

// ---------------------------------------------------------------- launch
static std::vector<char*> windows;
static char* window(size_t i, bool many) {
    while (windows.size() <= i) {
        char* p = (char*)mmap(nullptr, 2 * WINDOW, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        windows.push_back((char*)(((uintptr_t)p + WINDOW - 1) & ~(uintptr_t)(WINDOW - 1)));
    }
#if SIMT_WITH_TSAN
    mmap(windows[i], WINDOW, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#endif
#if SIMT_ASAN
    ASAN_UNPOISON_MEMORY_REGION(windows[i], WINDOW);
#endif
    // CTAs of a cluster write into each other's window before its owner first touches it: poison it
    // all now
    if (g_opt.poison && many) memset(windows[i], 0xff, WINDOW);
#if SIMT_ASAN
    ASAN_POISON_MEMORY_REGION(windows[i], WINDOW);
#endif
    return windows[i];
}
void run(const Launch& l, void (*invoke)(const void*), const void* args) {
    if (gang) fail("nested launch");
    unsigned bs = l.block.x * l.block.y * l.block.z, cs = l.cluster.x * l.cluster.y * l.cluster.z;
    uint64_t nb = (uint64_t)l.grid.x * l.grid.y * l.grid.z;
    if (!nb || !bs || bs > 1024 || l.block.z > 64)
        fail("bad launch: grid %lu blocks, block of %u threads", nb, bs);
    if (l.smem > 227 * 1024) fail("bad launch: %zu bytes of dynamic shared memory", l.smem);
    if (cs > 16 || l.grid.x % l.cluster.x || l.grid.y % l.cluster.y || l.grid.z % l.cluster.z)
        fail("bad launch: cluster");
    L = &l;
    L_invoke = invoke;
    L_args = args;
    key_off.assign(keys().size(), -1);
    static_top = 1024;
    dyn_off = 0;
    rng_state = g_opt.seed * 0x9E3779B97F4A7C15ull + 88172645463325252ull;
#if SIMT_ASAN
    {
        pthread_attr_t a;
        pthread_getattr_np(pthread_self(), &a);
        void* s;
        size_t n;
        pthread_attr_getstack(&a, &s, &n);
        main_fiber.stack = (char*)s;
        main_fiber.size = n;
        pthread_attr_destroy(&a);
    }
#endif
    TS(main_fiber.fake = __tsan_get_current_fiber());
    size_t per = l.cooperative ? nb : cs;
    Gang g;
    g.b = std::vector<Block>(per);
    gang = &g;
    for (size_t i = 0; i < per; i++) {
        Block& b = g.b[i];
        b.gang = &g;
        b.rank = (unsigned)(l.cooperative ? 0 : i);
        b.th.resize(bs);
        b.wp.resize((bs + 31) / 32);
        b.wgc.resize((bs + 127) / 128);
        b.wg.resize((bs + 127) / 128);
    }
    uint64_t ngang = nb / per;
    std::vector<uint64_t> perm;
    for (uint64_t gi = 0; gi < ngang; gi++) {
        uint64_t id = g_opt.order == Order::descending ? ngang - 1 - gi : gi;
        for (size_t i = 0; i < per; i++) {
            uint64_t lin = l.cooperative ? i : id;
            Block& b = g.b[i];
            unsigned gx = l.grid.x / l.cluster.x, gy = l.grid.y / l.cluster.y;
            unsigned cx = i % l.cluster.x, cy = i / l.cluster.x % l.cluster.y,
                     cz = i / (l.cluster.x * l.cluster.y);
            if (l.cooperative) {
                gx = l.grid.x;
                gy = l.grid.y;
                cx = cy = cz = 0;
            }
            unsigned mx = l.cooperative ? 1 : l.cluster.x, my = l.cooperative ? 1 : l.cluster.y,
                     mz = l.cooperative ? 1 : l.cluster.z;
            b.idx = {unsigned(lin % gx) * mx + cx, unsigned(lin / gx % gy) * my + cy,
                     unsigned(lin / gx / gy) * mz + cz};
            b.win = window(i, per > 1);
            b.alive = bs;
            b.mbar.clear();
            b.zeroed.clear();
            b.dyn_zeroed = false;
            stats.blocks++;
            for (auto& w : b.wp) {
                w.groups.clear();
                w.alive = 0;
            }
            for (unsigned t = 0; t < bs; t++) {
                unsigned k = g_opt.order == Order::descending ? bs - 1 - t : t;
                Thread& th = b.th[k];
                th.tid = {k % l.block.x, k / l.block.x % l.block.y, k / l.block.x / l.block.y};
                th.bid = b.idx;
                th.bdim = l.block;
                th.gdim = l.grid;
                th.linear = k;
                th.lane = k % 32;
                th.warp = &b.wp[k / 32];
                th.block = &b;
                th.fiber = nullptr;
                th.state = 0;
                th.why = nullptr;
                delete th.cpasync;
                th.cpasync = nullptr;
                th.warp->alive |= 1u << th.lane;
                th.warp->t[th.lane] = &th;
                stats.threads++;
                TS(th.tsan = __tsan_create_fiber(0));
                ready.push_back(&th);
            }
        }
        running = (int)(per * bs);
        Thread* t = pick();
        resume(t, false);
        for (auto& b : g.b)
            for (auto& w : b.wg)
                if (w.groups.size() > 1 || !w.groups[0].empty()) {
                    cur = nullptr;
                    fail("%s ends with wgmma work never waited for", l.name);
                }
        ready.clear();
        ready_head = 0;
#if SIMT_WITH_TSAN
        for (auto& b : g.b)
            for (auto& th : b.th) {
                __tsan_destroy_fiber(th.tsan);
            }
#endif
    }
    TS(__tsan_acquire(&launch_sync));
    for (auto& b : g.b)
        for (auto& th : b.th) delete th.cpasync;
    gang = nullptr;
    L = nullptr;
    cur = nullptr;
}
}  // namespace simt
