/* runtime.cpp - options, messages, the scheduler and launches. */
#include "state.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <string>

namespace simt {

/* ---- options ---- */

/* values: up to NULL */
static int choice_of(const char *name, const char *const *values) {
    const char *given = getenv(name);
    if (!given || !*given) return 0;
    std::string all;
    for (int i = 0; values[i]; i++) {
        if (strcmp(given, values[i]) == 0) return i;
        all += std::string(i == 0 ? "" : values[i + 1] ? ", " : " or ") + values[i];
    }
    fprintf(stderr, "roofline: %s='%s': it is %s\n", name, given, all.c_str());
    exit(2);
}

static uint64_t number_of(const char *name, uint64_t absent, uint64_t least, uint64_t most) {
    const char *given = getenv(name);
    if (!given) return absent;
    char *end;
    const uint64_t value = strtoull(given, &end, 10);
    if (*given >= '0' && *given <= '9' && !*end && value >= least && value <= most) return value;
    fprintf(stderr, "roofline: %s='%s': it is a number from %llu on\n", name, given,
            static_cast<unsigned long long>(least));
    exit(2);
}

static options options_of_environment() {
    static const char *const orders[] = {"asc", "desc", "rand", "ahead", nullptr},
                             *const asyncs[] = {"lazy", "eager", "rand", nullptr};
    options o;
    o.order = static_cast<order_kind>(choice_of("SIMT_ORDER", orders));
    o.async = static_cast<async_kind>(choice_of("SIMT_ASYNC", asyncs));
    o.seed = number_of("SIMT_SEED", 1, 0, UINT64_MAX);
    o.sms = static_cast<int>(number_of("SIMT_SMS", 4, 1, 1024));
    return o;
}

const options schedule = options_of_environment();
device_limits device = {90, 227 << 10};
thread *cur;
gang *now;
const launch_shape *shape;
interpreter_fn interpreter;

/* ---- messages ---- */

static const void *kernel_now;

const char *symbol_of(const void *kernel) {
    Dl_info info;
    return dladdr(kernel, &info) && info.dli_sname && info.dli_saddr == kernel ? info.dli_sname
                                                                               : nullptr;
}

static std::string name_of(const void *kernel) {
    const char *symbol = symbol_of(kernel);
    if (!symbol) return "a kernel without external linkage";
    int status;
    char *plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    const std::string name = plain ? plain : symbol;
    free(plain);
    return name;
}

void fail(const char *format, ...) {
    const quiet q;
    va_list values;
    char text[512];
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fprintf(stderr, "simt: %s", now ? name_of(kernel_now).c_str() : "no kernel");
    if (cur)
        fprintf(stderr, ", block (%u,%u,%u) thread (%u,%u,%u)", cur->bid.x, cur->bid.y, cur->bid.z,
                cur->tid.x, cur->tid.y, cur->tid.z);
    fprintf(stderr, ": %s\n", text);
    fflush(nullptr);
    abort();
}

void need_cc(int cc, const char *instruction, bool only) {
    if (device.cc < cc || (only && device.cc != cc))
        fail("%s needs sm_%d%s; this device is sm_%d", instruction, cc, only ? "a" : "", device.cc);
}

[[noreturn]] static void deadlock() {
    std::map<std::string, int> waiting;
    for (auto &b : now->blocks)
        for (auto &t : b.threads)
            if (t.state != state::done) {
                char text[160];
                snprintf(text, sizeof text, "of block (%u,%u,%u) warp %u wait for %s", t.bid.x,
                         t.bid.y, t.bid.z, t.linear / 32, t.why ? t.why : "their turn");
                waiting[text]++;
            }
    int lines = 0;
    for (auto &[text, threads] : waiting)
        if (lines++ < 16) fprintf(stderr, "simt: %d threads %s\n", threads, text.c_str());
    cur = nullptr;
    fail("deadlock: no thread can run");
}

/* ---- scheduler ---- */

static std::vector<thread *> ready; /* from ready_first on */
static size_t ready_first;
static int running; /* threads that have not ended */
static uint64_t random_state;

uint32_t random_bits() { /* xorshift64: Marsaglia, Xorshift RNGs, 2003 */
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return static_cast<uint32_t>(random_state >> 16);
}

bool at_random(async_kind when) {
    return when == async_kind::eager || (when == async_kind::random && random_bits() & 1);
}

void make_ready(thread *t) {
    if (t->state == state::blocked) t->state = state::ready;
    ready.push_back(t);
}

/* The next to run. Bulk copies wait until nobody can (lazy), or happen now and then (random). NULL: nothing is left.
 * */
static thread *pick() {
    for (;;) {
        if (schedule.async == async_kind::random && !now->bulk.empty() && random_bits() % 8 == 0)
            bulk_step();
        if (schedule.async == async_kind::random && now->tensor_work && random_bits() % 8 == 0)
            tensor_step();
        const size_t left = ready.size() - ready_first;
        if (left == 0) {
            ready.clear();
            ready_first = 0;
            if (now->tensor_work) { /* before copies: operands that were not waited for are NaN */
                tensor_step();
                continue;
            }
            if (now->bulk.empty()) return nullptr;
            bulk_step();
            continue;
        }
        if (ready_first > 4096) { /* keeps the queue short at a constant cost a thread */
            ready.erase(ready.begin(), ready.begin() + static_cast<ptrdiff_t>(ready_first));
            ready_first = 0;
        }
        if (schedule.order == order_kind::random) {
            size_t i = random_bits() % left;
            for (int tries = 0; tries < 16 && ready[ready_first + i]->warp->slow; tries++)
                i = random_bits() % left;
            std::swap(ready[ready_first], ready[ready_first + i]);
        }
        if (schedule.order == order_kind::ahead) {
            thread *last = ready.back();
            ready.pop_back();
            return last;
        }
        return ready[ready_first++];
    }
}

static void resume(thread *t, bool dying) {
    cur = t;
    if (!t->fiber) t->fiber = fiber_take();
    fiber_switch(t->fiber, t->tsan, dying);
}

void block_on(const char *why) {
    thread *me = cur;
    me->state = state::blocked;
    me->why = why;
    thread *t = pick();
    if (!t) deadlock();
    if (t != me) resume(t, false);
    me->state = state::ready;
    me->why = nullptr;
}

void yield() {
    const quiet q;
    cur->state = state::blocked;
    make_ready(cur);
    if (schedule.order == order_kind::ahead)
        std::rotate(ready.begin(), ready.end() - 1, ready.end());
    block_on("its turn");
}

/* ---- threads ---- */

static void (*body)(const void *);
static const void *body_context;
[[maybe_unused]] static char ended_sync; /* what threads did comes before what the host does next */
static void *launcher_tsan;              /* NULL without that sanitizer */

static void thread_exit(thread *t) {
    copies_after_exit(t);
    tensor_after_exit(t);
    t->state = state::done;
    running--;
    t->warp->alive &= ~(1u << t->lane);
    t->block->alive--;
    collectives_after_exit(t->warp);
    barriers_after_exit(t->block);
}

/* Runs a thread, then the next fresh one on the same stack; never returns. */
void thread_main() {
#if SIMT_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    for (;;) {
        cur->block->begun = true;
        body(body_context);
        thread *me = cur, *next;
        fiber *mine = me->fiber;
        TSAN(__tsan_release(&ended_sync));
        {
            const quiet q;
            thread_exit(me);
            next = pick();
            if (!next && running) deadlock();
#if !SIMT_WITH_TSAN /* which wants a fiber of its own for each thread */
            if (next && !next->fiber) {
                next->fiber = mine;
                cur = next;
                continue;
            }
#endif
            if (next && !next->fiber) next->fiber = fiber_take();
            fiber_give(mine);
        }
        if (next) {
            resume(next, true);
        } else {
            cur = nullptr;
            fiber_switch(fiber_of_launcher(), launcher_tsan, true);
        }
    }
}

/* ---- launches ---- */

cudaError_t check_shape(const launch_shape &l) {
    const dim3 &g = l.grid, &b = l.block, &c = l.cluster;
    const uint64_t threads = static_cast<uint64_t>(b.x) * b.y * b.z,
                   cluster = static_cast<uint64_t>(c.x) * c.y * c.z;
    if (!g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (threads == 0 || threads > 1024 || b.z > 64) return cudaErrorInvalidConfiguration;
    if (l.smem > device.smem_block_bytes) return cudaErrorInvalidValue;
    if (cluster == 0 || g.x % c.x || g.y % c.y || g.z % c.z) return cudaErrorInvalidConfiguration;
    if (cluster > 1 && device.cc < 90) return cudaErrorNotSupported;
    if (cluster > 8) return cudaErrorInvalidClusterSize; /* the portable limit */
    return cudaSuccess;
}

/* SIMT_LAUNCHES=path: symbols of the kernels that run are added to that file, each once a process. */
static void note_launch(const void *kernel) {
    static const char *const path = getenv("SIMT_LAUNCHES");
    static std::set<const void *> noted;
    if (!path || !noted.insert(kernel).second) return;
    const char *symbol = symbol_of(kernel);
    FILE *f = fopen(path, "a");
    if (!f) fail("SIMT_LAUNCHES='%s': it cannot be written", path);
    fprintf(f, "sm_%d %s\n", device.cc, symbol ? symbol : "?");
    fclose(f);
}

void execute(const launch_shape &l, const kernel_call &call) {
    note_launch(call.kernel);
    if (!interpreter) {
        run(l, call.kernel, call.invoke, call.pack);
        return;
    }
    const char *symbol = symbol_of(call.kernel);
    if (!symbol) fail("a kernel without external linkage has another name in nvcc's PTX");
    interpreter(l, symbol, call);
}

/* Coordinates of number i in a box. */
static uint3 place(uint64_t i, const dim3 &box) {
    return {static_cast<unsigned>(i % box.x), static_cast<unsigned>(i / box.x % box.y),
            static_cast<unsigned>(i / box.x / box.y)};
}

static void start_thread(block &b, unsigned i, const launch_shape &l) {
    thread &t = b.threads[i];
    pending_copies *copies = t.copies;
    t = {};
    t.copies = copies; /* empty: the thread before it has ended */
    t.tid = place(i, l.block);
    t.bid = b.idx;
    t.bdim = l.block;
    t.gdim = l.grid;
    t.linear = i;
    t.lane = i % 32;
    t.warp = &b.warps[i / 32];
    t.block = &b;
    t.warp->alive |= 1u << t.lane;
    t.warp->lane[t.lane] = &t;
    TSAN(t.tsan = __tsan_create_fiber(0));
    ready.push_back(&t);
}

static void start_block(block &b, uint3 idx, const launch_shape &l, bool whole) {
    b.idx = idx;
    b.window = window_fresh(static_cast<size_t>(&b - now->blocks.data()), whole);
    b.alive = static_cast<int>(b.threads.size());
    b.begun = false;
    b.mbarriers.clear();
    b.unfenced.clear();
    b.written.assign(b.threads.size(), {});
    b.seen.clear();
    b.dynamic_seen = false;
    for (auto &g : b.warpgroups) g.registers = 0;
    for (auto &w : b.warps) {
        w.pending.clear();
        w.alive = 0;
        w.slow = false;
    }
    if (schedule.order == order_kind::random && random_bits() & 1)
        b.warps[random_bits() % b.warps.size()].slow = true;
    for (unsigned i = 0; i < b.threads.size(); i++) start_thread(b, i, l);
}

/* The thread sanitizer gives the number of a fiber that is destroyed to a new one, and then takes what the old one did for
 * the new one's past. So the last ones stay for a while; more than these make its clocks slow. */
static void bury(void *tsan) {
    static std::deque<void *> ended;
    ended.push_back(tsan);
    if (ended.size() <= 1024) return;
    TSAN(__tsan_destroy_fiber(ended.front()));
    ended.pop_front();
}

/* Gangs one after the other: an order that hardware may choose too. In random order four blocks are at work at a time, whose
 * threads take turns, those of a warp of every other block seldom; on devices without clusters, which would have to be told apart. */
void run(const launch_shape &l, const void *kernel, void (*invoke)(const void *),
         const void *context) {
    const dim3 c = l.cooperative ? l.grid : l.cluster;
    const dim3 gangs(l.grid.x / c.x, l.grid.y / c.y, l.grid.z / c.z);
    const uint64_t count = static_cast<uint64_t>(gangs.x) * gangs.y * gangs.z;
    const bool several = schedule.order == order_kind::random && !l.cooperative && device.cc < 90;
    const size_t blocks =
                     several ? std::min<size_t>(4, count) : static_cast<size_t>(c.x) * c.y * c.z,
                 threads = static_cast<size_t>(l.block.x) * l.block.y * l.block.z;
    gang g = {};
    kernel_now = kernel;
    now = &g;
    if (l.cooperative && l.cluster.x * l.cluster.y * l.cluster.z > 1)
        fail("a cooperative launch with clusters is not emulated");
#if SIMT_WITH_TSAN
    if (blocks * threads > 7000) fail("the thread sanitizer knows 7000 threads at a time");
#endif
    shape = &l;
    body = invoke;
    body_context = context;
    random_state = schedule.seed * 0x9E3779B97F4A7C15ull + 88172645463325252ull;
    windows_layout();
    fences_begin();
    TSAN(launcher_tsan = __tsan_get_current_fiber());
    g.is_cluster = !l.cooperative && !several;
    g.blocks.resize(blocks);
    for (size_t i = 0; i < blocks; i++) {
        block &b = g.blocks[i];
        b.rank = static_cast<unsigned>(i);
        b.threads.resize(threads);
        b.warps.resize((threads + 31) / 32);
        b.warpgroups.resize((threads + 127) / 128);
        b.wgmmas.resize((threads + 31) / 32);
    }
    for (uint64_t i = 0; i < count; i += several ? blocks : 1) {
        running = 0;
        for (auto &b : g.blocks) {
            const uint64_t gang_number = several ? i + b.rank : i;
            if (gang_number >= count) continue;
            const uint3 at = place(
                schedule.order == order_kind::descending ? count - 1 - gang_number : gang_number,
                gangs);
            const uint3 in = several ? uint3{0, 0, 0} : place(b.rank, c);
            start_block(b, {at.x * c.x + in.x, at.y * c.y + in.y, at.z * c.z + in.z}, l,
                        blocks > 1);
            running += static_cast<int>(threads);
        }
        if (schedule.order == order_kind::descending) std::reverse(ready.begin(), ready.end());
        resume(pick(), false); /* comes back when all have ended */
        for (auto &b : g.blocks) {
            wgmma_after_block(b);
            tensor_memory_drop(&b);
            for (auto &t : b.threads) {
                if (t.tsan) bury(t.tsan);
                t.tsan = nullptr;
            }
        }
    }
    TSAN(__tsan_acquire(&ended_sync));
    for (auto &b : g.blocks)
        for (auto &t : b.threads) copies_drop(&t);
    now = nullptr;
    shape = nullptr;
}

} // namespace simt
