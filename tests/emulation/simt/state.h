/* state.h - what the parts of the runtime share: fibers, blocks and the sanitizers. */
#ifndef SIMT_STATE_H
#define SIMT_STATE_H
#include "runtime.h"
#include <cstring>
#include <deque>
#include <unordered_map>

/* The runtime itself is never built with -fsanitize=thread: SIMT_WITH_TSAN says that the kernels are. It tells the
 * sanitizer which CUDA thread runs and what a barrier orders, and silences it about the runtime's own memory. */
#if SIMT_WITH_TSAN
extern "C" {
void *__tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void *);
void __tsan_switch_to_fiber(void *, unsigned);
void *__tsan_get_current_fiber(void);
void __tsan_acquire(void *);
void __tsan_release(void *);
void __tsan_write_range(void *, unsigned long);
void __tsan_read_range(void *, unsigned long);
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#define TSAN(call) (call)
#else
#define TSAN(call) static_cast<void>(0)
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
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) static_cast<void>(0)
#endif

namespace simt {

struct quiet { /* the thread sanitizer looks away in this scope */
#if SIMT_WITH_TSAN
    quiet() { __tsan_ignore_thread_begin(); }
    ~quiet() { __tsan_ignore_thread_end(); }
#else
    quiet() {}
    ~quiet() {}
#endif
};

/* ---- fibers: fiber.cpp ---- */

fiber *fiber_take();        /* one that will run thread_main() from its start */
void fiber_give(fiber *f);  /* back to the pool; may be the running one on its last switch */
fiber *fiber_of_launcher(); /* the stack that called run() */
/* Leaves the current fiber for f. dying: for good. */
void fiber_switch(fiber *f, void *tsan, bool dying);
void thread_main(); /* runtime.cpp */

/* ---- scheduling: runtime.cpp ---- */

void make_ready(thread *t);
void block_on(const char *why);
uint32_t random_bits();
bool at_random(
    async_kind when); /* whether asynchronous work is done now: eager yes, lazy no, random maybe */

/* ---- barriers ---- */

struct collective {
    const char *op;
    uint32_t mask, arrived;
    unsigned generation;
    collective_fn fn;
    const void *context;
    void *io[32];
};
struct warp {
    std::vector<collective> pending;
    uint32_t alive;
    thread *lane[32];
    unsigned generation;
    bool slow; /* in random order: others go first, nearly always */
};
struct block_barrier {
    int arrived, threads;
    reduction what;
    int value;
    unsigned generation;
    std::vector<thread *> waiting;
};
struct wide_barrier { /* of a cluster or a grid */
    int arrived;
    unsigned generation;
    std::vector<thread *> waiting;
    char sync[2]; /* an address a generation for the thread sanitizer, here and below */
};
struct wgmma_step { /* what the warps of a warpgroup give one after the other, all the same */
    const char *op;
    element a, b;
    int N, keep;
    uint64_t desc_a, desc_b;
    bool accumulate, transpose_a, transpose_b;
    bool operator==(const wgmma_step &x) const {
        return strcmp(op, x.op) == 0 && a == x.a && b == x.b && N == x.N && keep == x.keep &&
               desc_a == x.desc_a && desc_b == x.desc_b && accumulate == x.accumulate &&
               transpose_a == x.transpose_a && transpose_b == x.transpose_b;
    }
};
struct warpgroup {
    const char *op;
    int arrived;
    void *io[128];
    std::vector<thread *> waiting;
    int registers;                /* of a thread; 0 until the block's first setmaxnreg */
    std::deque<wgmma_step> steps; /* that a warp has given and not every other yet */
    size_t taken[4];              /* of them, by each warp */
};
void collectives_after_exit(warp *w);
void barriers_after_exit(block *b);
void fences_begin(); /* before the first launch */

/* ---- asynchronous work ---- */

struct phase_barrier { /* an mbarrier */
    uint32_t expected, pending;
    int64_t tx;
    uint32_t phase;
    std::vector<thread *> waiting;
    char sync[2];
    const thread *unfenced; /* who initialised it, and has not fenced since; or NULL */
};
struct bulk_copy {
    bool store;
    tensor_map map;
    char *gmem; /* of one dimension: from or to here, so many bytes; else NULL and 0 */
    uint32_t bytes;
    char *smem;
    int at[5];
    struct block *block;
    uint16_t blocks;
    uint32_t bar;            /* offset of its mbarrier */
    struct block *bar_block; /* that holds it; NULL: each receiving block its own */
    thread *by;
    unsigned group;
    std::vector<char> source; /* of a store, as it was issued */
    uint64_t *arrives_at;     /* no copy but an arrival on another block's mbarrier; or NULL */
    uint32_t arrivals;
};
struct wgmma_op { /* a warp's part */
    element a, b;
    int N, warp;            /* of the four */
    std::vector<float *> d; /* [32][N/2] */
    uint64_t desc_a, desc_b;
    bool accumulate, transpose_a, transpose_b;
};
struct warp_wgmmas {
    std::vector<std::vector<wgmma_op>> groups{1}; /* committed ..., open */
    bool fenced = false;                          /* since its registers were free to be touched */
};
void wgmma_after_block(block &b); /* fails where work is left */
void copies_after_exit(thread *t);
void copies_drop(thread *t);
void bulk_step();    /* does one of the pending bulk copies */
void arrivals_end(); /* of the running thread on other blocks' mbarriers */
void mbar_arrive_now(uint64_t *bar, uint32_t arrivals);
void mbar_released(uint64_t *bar,
                   const char *op); /* the phase's end will show what this thread has done */
void check_fenced(const block *b, uint32_t offset, size_t bytes, const char *op);
float value_of(element t, const char *p);

/* tcgen05.cpp */
struct tensor_memory;
void tensor_step(); /* does the next piece of the pending work of a block's tensor cores */
void tensor_memory_drop(block *b);
void tensor_after_exit(const thread *t);
void tells(const char *op); /* fails where this thread has read tensor memory and not fenced */

/* ---- blocks ---- */

struct block {
    uint3 idx;
    char *window;
    unsigned rank; /* in its cluster */
    int alive;
    bool begun; /* one of its threads has run */
    std::vector<thread> threads;
    std::vector<warp> warps;
    block_barrier barriers[16];
    std::vector<warpgroup> warpgroups;
    std::vector<warp_wgmmas> wgmmas; /* one a warp */
    std::vector<thread *> want_registers;
    std::unordered_map<uint32_t, phase_barrier> mbarriers; /* by offset */
    /* Of each word of the window, which thread has written it by an ordinary store and not fenced since: its number + 1. Empty: none. */
    std::vector<uint16_t> unfenced;
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> written; /* those words, by thread */
    std::vector<bool> seen; /* static variables touched, by key */
    bool dynamic_seen;
    struct tensor_memory *tensor; /* NULL: not used yet */
};
/* Blocks that run at the same time: a cluster, or the grid of a cooperative launch. */
struct gang {
    std::vector<block> blocks;
    bool is_cluster;
    wide_barrier cluster, grid;
    std::vector<bulk_copy> bulk;
    int tensor_work; /* pieces of it that are pending */
};
extern gang *now; /* NULL outside a launch */
extern const launch_shape *shape;
block *owner_of(const void *p); /* fails where p is not in shared memory */
void windows_layout();          /* a launch begins */
char *window_fresh(size_t i, bool whole);

} // namespace simt
#endif
