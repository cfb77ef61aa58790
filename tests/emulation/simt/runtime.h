/* runtime.h - CUDA threads as fibers of one CPU thread: launches, barriers, warp collectives, shared memory,
 * asynchronous copies. Kernels reach it through simt.h and emulated_ptx.h, the PTX interpreter calls it directly. Each
 * rule that a call breaks ends the process with one line that names the kernel: fail(). */
#ifndef SIMT_RUNTIME_H
#define SIMT_RUNTIME_H
#include <cuda_runtime_api.h>
#include <vector_types.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#define SIMT_NOTSAN __attribute__((no_sanitize("thread")))

namespace simt {

/* ---- schedules, by environment; what is malformed ends the program before main() ---- */

enum class order_kind { ascending, descending, random, ahead };
enum class async_kind { lazy, eager, random };
struct options {
    /* SIMT_ORDER=asc|desc|rand|ahead: which thread or block goes first; ahead: a warp goes on as far as it can before others begin */
    order_kind order;
    async_kind
        async; /* SIMT_ASYNC=lazy|eager|rand: asynchronous work is done at its wait, at its issue, or between */
    uint64_t seed; /* SIMT_SEED=n: of what is random */
    int sms; /* SIMT_SMS=n: multiprocessors of a device; of fewer, smaller problems go round its grids twice */
};
extern const options schedule;

/* What kernels may use of the device that is current; the CUDA runtime in fakecudart.cpp sets it. */
struct device_limits {
    int cc;
    size_t smem_block_bytes;
};
extern device_limits device;

/* One line on stderr with the kernel, block and thread; then abort(). */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* fail() on a device that lacks an instruction. `only`: a feature of that architecture alone (sm_90a). */
void need_cc(int cc, const char *instruction, bool only = false);

/* ---- threads ---- */

struct warp;
struct block;
struct fiber;
struct pending_copies;
enum class state : uint8_t { fresh, ready, blocked, done };

struct thread {
    uint3 tid, bid;  /* threadIdx, blockIdx */
    dim3 bdim, gdim; /* blockDim, gridDim */
    uint32_t lane, linear;
    struct warp *warp;
    struct block *block;
    struct fiber *fiber;
    enum state state;
    const char *why;        /* what it waits for */
    void *tsan;             /* its fiber in the thread sanitizer's books */
    int vote;               /* the result of its last block barrier */
    unsigned generation;    /* of the wide barrier it arrived at */
    bool has_arrived;       /* there, and has not waited since */
    pending_copies *copies; /* cp.async; NULL before the first */
    unsigned bulk_group;    /* cp.async.bulk groups it has committed */
    bool tensor_told;       /* it waited, and no tcgen05.fence::after_thread_sync followed */
    bool tensor_read;       /* it read tensor memory, and no fence::before_thread_sync followed */
    void *
        last_atomic; /* for the thread sanitizer: where its fences look for what others have passed on */
    bool fenced; /* and whether its atomics pass anything on */
};
extern thread *cur; /* the running one; NULL outside a launch */

/* ---- barriers and collectives ---- */

/* Called once with the operands `io` of all lanes that take part, bit by bit of mask. */
using collective_fn = void (*)(void *const *io, uint32_t mask, const void *context);
/* The lanes of mask meet, all with the same op. fn NULL: a barrier that orders memory. */
void warp_collective(uint32_t mask, const char *op, void *io, collective_fn fn,
                     const void *context);
/* The 128 threads of a warpgroup meet. */
void warpgroup_collective(const char *op, void *io, collective_fn fn, const void *context);
enum class reduction { none, count, all, any };
/* Barrier `id` of the block, for `threads` of it (0: all); returns the reduction of predicate. wait false: arrives
 * only. */
int barrier(int id, int threads, bool wait, reduction what, bool predicate);
void cluster_barrier(bool arrive, bool wait);
void grid_barrier();
void thread_fence();       /* __threadfence(): orders what other threads that pass one see */
void atomic_done(void *p); /* the thread has carried out an atomic at p */
void yield();              /* lets every other thread that can run go first */
/* The warpgroup gives registers back to the block's pool, or waits until the pool has what it wants. */
void setmaxnreg(int registers, bool more);

/* ---- shared memory: one window a block; smem_u32() of a generic pointer is its offset in it ---- */

constexpr uint32_t WINDOW = 1u << 18; /* what the 18-bit addresses of wgmma descriptors reach */
/* A static variable of shared memory, once a declaration; its address in the current block. */
int shared_key(const char *name, size_t size, size_t align);
void *shared_static(int key);
void *shared_dynamic(size_t align);
inline uint32_t smem_u32(const void *p) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p) & (WINDOW - 1));
}
void *smem_ptr(uint32_t offset);              /* in the current block's window */
void *map_rank(const void *p, unsigned rank); /* the same offset in another block of the cluster */
bool is_shared(const void *p);
void note_read(const void *p,
               size_t n); /* tells the sanitizers of a read on this thread's behalf */
void note_write(void *p, size_t n);
unsigned cluster_rank();
unsigned cluster_size();

/* ---- asynchronous copies ---- */

void cp_async(void *smem, const void *gmem, int bytes, int src_bytes);
void cp_async_commit();
void cp_async_wait(int keep);
void mbar_init(uint64_t *bar, uint32_t count);
void mbar_inval(uint64_t *bar);
void mbar_fence_init(); /* for the tensor memory accelerator and other blocks */
/* What this thread writes to shared memory by ordinary stores (of those that are noted: PTX's and stmatrix'), until its proxy_fence()
 * no asynchronous copy or multiply may read. Strict: another thread's fence, behind a barrier, would do. */
void note_ordinary_write(const void *p, size_t n);
void proxy_fence();
void mbar_arrive(uint64_t *bar, uint32_t arrivals, uint32_t expect_tx);
void mbar_expect_tx(uint64_t *bar, uint32_t bytes);
bool mbar_test(uint64_t *bar, uint32_t parity);
void mbar_wait(uint64_t *bar, uint32_t parity); /* until the phase of that parity is over */

/* What the emulation keeps in the 128 bytes of a CUtensorMap. Dimension 0 is contiguous. */
struct tensor_map {
    uint64_t magic;
    char *base;
    uint64_t stride[4]; /* bytes, of dimensions 1 to 4 */
    uint64_t dim[5];
    uint16_t box[5];
    uint8_t rank, element_bytes, swizzle; /* swizzle: 0, 32, 64 or 128 bytes */
};
constexpr uint64_t MAGIC = 0x6d62617272696572ull;
/* blocks: one bit a block of the cluster that receives the tile at the same offset; 0: the one that holds smem. */
void tma_load(void *smem, const void *map, uint64_t *bar, const int *at, int rank, uint16_t blocks,
              bool of_pair = false); /* bar may be the even block's */
void tma_store(const void *map, const void *smem, const int *at, int rank);
/* Of one dimension: multiples of 16 bytes at multiples of 16. */
void bulk_load(void *smem, const void *gmem, uint32_t bytes, uint64_t *bar);
void bulk_store(void *gmem, const void *smem, uint32_t bytes);
void bulk_commit();
void bulk_wait(int keep);

enum class element { bf16, f16, tf32, e4m3, e5m2 };
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(int keep);
/* D[64,N] (+)= A B, both in shared memory; d: N/2 pointers to this thread's accumulators, written when the work is
 * done. */
void wgmma(element a, element b, int N, float *const *d, uint64_t desc_a, uint64_t desc_b,
           bool accumulate, bool transpose_a, bool transpose_b);

/* ---- tensor memory of sm_100a: tcgen05.cpp ---- */

void tmem_alloc(int ctas, uint32_t *to, int columns);
void tmem_relinquish(int ctas);
void tmem_dealloc(int ctas, uint32_t address, int columns);
void tcgen05_fence_before();
void tcgen05_fence_after();
enum class tcgen05_kind { f16, tf32, f8f6f4, mxf4nvf4 };
struct tcgen05_operands {
    tcgen05_kind kind;
    int ctas; /* 1, or 2: of a pair of blocks */
    uint32_t d;
    uint64_t desc_a, desc_b;
    uint32_t shape; /* the instruction descriptor */
    bool accumulate;
    uint32_t scales_a, scales_b; /* of nvfp4 */
};
void tcgen05_mma(const tcgen05_operands &o);
void tcgen05_cp_scales(int ctas, uint32_t to, uint64_t desc);
void tcgen05_commit(int ctas, uint64_t *bar, uint16_t blocks);
/* n columns of this thread's lane; r: pointers to its registers, written at the wait. */
void tcgen05_ld(uint32_t *const *r, int n, uint32_t address);
void tcgen05_wait_ld();

/* ---- launches ---- */

struct launch_shape {
    dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
    size_t smem = 0;
    cudaStream_t stream = nullptr;
    bool cooperative = false;
};

/* A kernel with its arguments: as a C++ call, and one by one for the interpreter. */
struct kernel_call {
    const void *kernel;
    void (*invoke)(const void *pack);
    const void *pack;
    const void *const *argument;
    const size_t *argument_bytes;
    int arguments;
};

/* An error of the shape that a device reports itself. */
cudaError_t check_shape(const launch_shape &l);
/* cudaOccupancyMaxActiveClusters(), whose cudaLaunchConfig_t has members that simt.h's macros hide (fakecudart.cpp). */
cudaError_t clusters_at_once(int *n, const launch_shape &l, const void *kernel);
/* The CUDA runtime's part of a launch (fakecudart.cpp): its error, or the call is run or recorded. */
cudaError_t submit(const launch_shape &l, const std::function<void()> &call);
/* The call, or its PTX where an interpreter is installed. */
void execute(const launch_shape &l, const kernel_call &call);
using interpreter_fn = void (*)(const launch_shape &l, const char *symbol, const kernel_call &call);
extern interpreter_fn interpreter;
/* Runs body(context) once a thread. kernel names it in messages. */
void run(const launch_shape &l, const void *kernel, void (*body)(const void *),
         const void *context);
/* The kernel's symbol as the linker knows it; NULL when it has none of external linkage. */
const char *symbol_of(const void *kernel);

template <class... P, class... A>
cudaError_t launch(const launch_shape &l, void (*kernel)(P...), A &&...a) {
    struct pack {
        void (*kernel)(P...);
        std::tuple<std::decay_t<P>...> arguments;
    };
    return submit(l, [l, p = pack{kernel, {std::forward<A>(a)...}}] {
        std::apply(
            [&](auto &...argument) {
                const void *const at[] = {&argument..., nullptr};
                const size_t bytes[] = {sizeof argument..., 0};
                execute(l, {reinterpret_cast<const void *>(p.kernel),
                            [](const void *raw) {
                                auto *q = static_cast<const pack *>(raw);
                                std::apply(q->kernel, q->arguments);
                            },
                            &p, at, bytes, sizeof...(P)});
            },
            p.arguments);
    });
}

} // namespace simt
#endif
