/* reduce.cu - s = x . y, sum x, max x, max |x|, (sum x) / n, (sum (x - y)^2) / n; in the accumulator's type. A persistent grid reads in vectors, a block
 * joins by shuffles, and the block that finishes last joins the blocks' results in their order: the same bits each time on
 * the same GPU. nvfp4: codes are joined a block of 16 at a time in fp16, where they are exact, then scaled. */
#include "bulk.cuh"
#include "convert.cuh"
#include "stream.cuh"

/* THREAD_BYTES in flight a thread: 128 KiB in the 1024 threads of a multiprocessor; with two inputs, whose pointers and
 * scales take registers, 96 KiB in 768. */
enum { THREADS = STREAM_THREADS, WARPS = THREADS / 32, THREAD_BYTES = 128, MOST_BLOCKS_PER_SM = 8 };

/* Additions go to several sums in turn: one takes 4 cycles (of fp64 8), and sums of fewer terms round less. In fp64, where a
 * packet has few elements, more would take registers from the loads. */
template <typename A> constexpr int chains = sizeof(A) == 8 ? 2 : 4;

/* ---- operations; fp4_block() joins a block's eight pairs of codes ---- */

struct sum_of {
    enum { INPUTS = 1 };
    template <typename A> DEV static A identity() { return 0; }
    template <typename A> DEV static A step(A s, A x, A) { return s + x; }
    template <typename A> DEV static A join(A s, A t) { return s + t; }
};
struct dot_of {
    enum { INPUTS = 2 };
    template <typename A> DEV static A identity() { return 0; }
    template <typename A> DEV static A step(A s, A x, A y) { return fma(x, y, s); }
    template <typename A> DEV static A join(A s, A t) { return s + t; }
};
struct max_of { /* NaN is passed over */
    enum { INPUTS = 1 };
    template <typename A> DEV static A identity() { return static_cast<A>(-INFINITY); }
    template <typename A> DEV static A step(A s, A x, A) { return fmax(s, x); }
    template <typename A> DEV static A join(A s, A t) { return fmax(s, t); }
};

struct amax_of { /* the same */
    enum { INPUTS = 1 };
    template <typename A> DEV static A identity() { return 0; }
    template <typename A> DEV static A step(A s, A x, A) { return fmax(s, fabs(x)); }
    template <typename A> DEV static A join(A s, A t) { return fmax(s, t); }
};
struct mse_of {
    enum { INPUTS = 2 };
    template <typename A> DEV static A identity() { return 0; }
    template <typename A> DEV static A step(A s, A x, A y) { return fma(x - y, x - y, s); }
    template <typename A> DEV static A join(A s, A t) { return s + t; }
};

/* What threads' results are joined in. Squares do not cancel: a thread's share is small enough for fp32, all are not. */
template <class OP, typename A> struct joined { using type = A; };
template <typename A> struct joined<mse_of, A> { using type = double; };

template <enum dtype D> /* dtypes.def's accumulator */
using acc_type = typename std::conditional<D == DT_fp64, double, float>::type;
template <class OP, enum dtype D> using joined_type = typename joined<OP, acc_type<D>>::type;

template <class OP> constexpr int blocks_per_sm = OP::INPUTS == 2 ? 3 : STREAM_BLOCKS_PER_SM;

/* ---- operands: element_at(), and packets of BYTES that a thread loads at once ---- */

template <enum dtype D> struct source {
    using T = typename element<D>::type;
    using A = acc_type<D>;
    const T *x;
    DEV source(const void *operand, int64_t) : x(static_cast<const T *>(operand)) {}
    DEV A element_at(int64_t i) const { return widen(x[i]); }
    DEV A unit() const { return 1; }
};

template <enum dtype D, int BYTES> struct packet {
    using T = typename element<D>::type;
    using A = acc_type<D>;
    static constexpr int N = vec<T, BYTES>::N;
    vec<T, BYTES> v;
    template <bool STREAMING> DEV void fetch(const source<D> &from, int64_t i, unsigned ahead) {
        load<STREAMING>(v, from.x + i * N + ahead * N);
    }
    template <class OP> DEV static void step(A (&s)[chains<A>], const packet &x, const packet &y) {
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            A a[2], b[2] = {0, 0};
            widen_pair(x.v.at + i, a);
            if (OP::INPUTS == 2) widen_pair(y.v.at + i, b);
            s[i % chains<A>] = OP::step(s[i % chains<A>], a[0], b[0]);
            s[(i + 1) % chains<A>] = OP::step(s[(i + 1) % chains<A>], a[1], b[1]);
        }
    }
};

/* Elements come without the size of the tensor scale, which is multiplied in at the end; its sign decides what the largest
 * is. Without it they are exact. */
template <> struct source<DT_nvfp4> {
    fp4_view x;
    DEV source(const void *operand, int64_t n) : x(fp4_of(operand, n)) {}
    DEV float element_at(int64_t i) const {
        __half2 first, second;
        half2_of_fp4(i % 2 ? x.codes[i / 2] >> 4 : x.codes[i / 2], first, second);
        return __low2float(first) * block_scale(x.scales[i / FP4_BLOCK]);
    }
    DEV float block_scale(unsigned char e4m3) const {
        return fp4_scale(e4m3) * copysignf(1, x.tensor_scale);
    }
    DEV float unit() const { return fabsf(x.tensor_scale); }
};

/* s joined with a block: two words of codes and their scale, of x and of y. Sums of 16 codes are multiples of 1/2 up to
 * 96, of the products in one half of a pair multiples of 1/4 up to 288: fp16 holds both. */
DEV float fp4_step(sum_of, float s, const uint32_t *x, float scale, const uint32_t *, float) {
    __half2 sum = half2_of_bits(0), first, second;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        half2_of_fp4(x[q / 2] >> q % 2 * 16, first, second);
        sum = __hadd2(sum, __hadd2(first, second));
    }
    return fmaf(__low2float(sum) + __high2float(sum), scale, s);
}
DEV float fp4_step(dot_of, float s, const uint32_t *x, float x_scale, const uint32_t *y,
                   float y_scale) {
    __half2 sum = half2_of_bits(0), a, b, c, d;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        half2_of_fp4(x[q / 2] >> q % 2 * 16, a, b);
        half2_of_fp4(y[q / 2] >> q % 2 * 16, c, d);
        sum = __hfma2(b, d, __hfma2(a, c, sum));
    }
    return fmaf(__low2float(sum) + __high2float(sum), x_scale * y_scale, s);
}
DEV float fp4_step(max_of, float s, const uint32_t *x, float scale, const uint32_t *, float) {
    const uint32_t flip = scale < 0 ? 0x88888888u : 0;
    __half2 most = half2_of_bits(0xfc00fc00u), first, second; /* -infinity */
#pragma unroll
    for (int q = 0; q < 4; q++) {
        half2_of_fp4((x[q / 2] ^ flip) >> q % 2 * 16, first, second);
        most = __hmax2(most, __hmax2(first, second));
    }
    return fmaxf(s, fmaxf(__low2float(most), __high2float(most)) * fabsf(scale));
}

template <int BYTES> struct packet<DT_nvfp4, BYTES> {
    static constexpr int N = 2 * BYTES, BLOCKS = N / FP4_BLOCK;
    vec<uint32_t, BYTES> codes;
    vec<unsigned char, BLOCKS> scale_codes;
    float sign;
    template <bool STREAMING>
    DEV void fetch(const source<DT_nvfp4> &from, int64_t i, unsigned ahead) {
        load<STREAMING>(
            codes, reinterpret_cast<const uint32_t *>(from.x.codes + i * BYTES + ahead * BYTES));
        load<STREAMING>(scale_codes, from.x.scales + i * BLOCKS + ahead * BLOCKS);
        sign = copysignf(1, from.x.tensor_scale);
    }
    DEV float scale(int block) const { return fp4_scale(scale_codes.at[block]) * sign; }
    template <class OP>
    DEV static void step(float (&s)[chains<float>], const packet &x, const packet &y) {
#pragma unroll
        for (int block = 0; block < BLOCKS; block++)
            s[block % chains<float>] =
                fp4_step(OP(), s[block % chains<float>], x.codes.at + 2 * block, x.scale(block),
                         OP::INPUTS == 2 ? y.codes.at + 2 * block : nullptr,
                         OP::INPUTS == 2 ? y.scale(block) : 0);
    }
};

/* ---- joining ---- */

/* A block's ticket and the blocks' results; a grid has at most this many blocks. */
struct reduce_scratch {
    unsigned ticket; /* 0 between calls */
    alignas(256) double result[1];
};
static int64_t most_blocks(const struct args *a) {
    return static_cast<int64_t>(a->gpu->sms) * MOST_BLOCKS_PER_SM;
}
static size_t scratch_bytes(const struct args *a) {
    return sizeof(reduce_scratch) + static_cast<size_t>(most_blocks(a)) * sizeof(double);
}

/* s of all threads joined, in warp 0. */
template <class OP, typename A> DEV A join_block(A s, A *words) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) s = OP::join(s, __shfl_xor_sync(~0u, s, step));
    if (lane == 0) words[warp] = s;
    __syncthreads(); /* all words are written before warp 0 reads them */
    s = lane < WARPS ? words[lane] : OP::template identity<A>();
#pragma unroll
    for (int step = WARPS / 2; step > 0; step /= 2) s = OP::join(s, __shfl_xor_sync(~0u, s, step));
    return s;
}

/* *out = s of all threads of the grid joined, times unit, over divisor; by the block that takes the last ticket. */
template <class OP, typename R>
DEV void join_grid(R share, R unit, typename joined<OP, R>::type divisor, R *out,
                   reduce_scratch *scratch) {
    using A = typename joined<OP, R>::type;
    A s = share;
    SMEM(A, words, [2][WARPS]);
    SMEM(bool, is_last, [1]);
    s = join_block<OP>(s, words[0]);
    if (gridDim.x > 1) {
        A *results = reinterpret_cast<A *>(scratch->result);
        if (threadIdx.x == 0) {
            results[blockIdx.x] = s;
            __threadfence(); /* the result is there before the ticket is drawn */
            /* wraps to 0 at the last one, for the next call */
            is_last[0] = atomicInc(&scratch->ticket, gridDim.x - 1) == gridDim.x - 1;
            __threadfence(); /* results are read after the ticket, by all threads past the barrier */
        }
        __syncthreads(); /* is_last is written before it is read */
        if (!is_last[0]) return;
        s = OP::template identity<A>();
        for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS)
            s = OP::join(s, __ldcg(results + i));
        s = join_block<OP>(s, words[1]);
    }
    if (threadIdx.x == 0) *out = static_cast<R>(s * unit / divisor);
}

/* ---- kernels ---- */

template <class OP, enum dtype D>
__global__ void __launch_bounds__(THREADS)
    simple_reduce(const void *x, const void *y, acc_type<D> *out, reduce_scratch *scratch,
                  int64_t n, joined_type<OP, D> divisor) {
    using A = acc_type<D>;
    const source<D> xs(x, n), ys(OP::INPUTS == 2 ? y : x, n);
    const int64_t stride = static_cast<int64_t>(gridDim.x) * THREADS;
    A s = OP::template identity<A>();
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < n; i += stride)
        s = OP::step(s, xs.element_at(i), OP::INPUTS == 2 ? ys.element_at(i) : 0);
    join_grid<OP>(s, OP::INPUTS == 2 ? xs.unit() * ys.unit() : xs.unit(), divisor, out, scratch);
}

/* s of this thread's share. Packets are dealt to the threads of the grid in turn, UNROLL rounds at once. */
template <class OP, enum dtype D, int BYTES, bool STREAMING>
DEV acc_type<D> share(const source<D> &x, const source<D> &y, int64_t n) {
    using A = acc_type<D>;
    using P = packet<D, BYTES>;
    constexpr int UNROLL = THREAD_BYTES / BYTES / OP::INPUTS;
    const unsigned stride = gridDim.x * THREADS; /* 32 bits, to leave registers to the loads */
    const int64_t packets = n / P::N, round = static_cast<int64_t>(stride) * UNROLL;
    int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    P xs[UNROLL], ys[UNROLL];
    A s[chains<A>];
#pragma unroll
    for (int c = 0; c < chains<A>; c++) s[c] = OP::template identity<A>();

        /* The last round is one of these too, since small problems have no other; there is time for the comparisons. Not
     * unrolled: UNROLL packets are enough in flight, and more take registers that spill. */
#pragma unroll 1
    for (; i < packets; i += round) {
        const unsigned left = static_cast<unsigned>(packets - i < round ? packets - i : round);
#pragma unroll
        for (unsigned u = 0; u < UNROLL; u++) {
            const unsigned ahead = u * stride < left ? u * stride : 0; /* as vector_or_own() */
            xs[u].template fetch<STREAMING>(x, i, ahead);
            if (OP::INPUTS == 2) ys[u].template fetch<STREAMING>(y, i, ahead);
        }
#pragma unroll
        for (unsigned u = 0; u < UNROLL; u++)
            if (u * stride < left) P::template step<OP>(s, xs[u], ys[u]);
    }
    /* what fills no packet */
    const int64_t last = packets * P::N + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && last < n)
        s[0] = OP::step(s[0], x.element_at(last), OP::INPUTS == 2 ? y.element_at(last) : 0);
#pragma unroll
    for (int c = chains<A> - 1; c > 0; c--) s[c / 2] = OP::join(s[c / 2], s[c]);
    return s[0];
}

template <class OP, enum dtype D, bool STREAMING>
__global__ void __launch_bounds__(THREADS, blocks_per_sm<OP>)
    reduce(const void *x, const void *y, acc_type<D> *out, reduce_scratch *scratch, int64_t n,
           joined_type<OP, D> divisor) {
    const source<D> xs(x, n), ys(OP::INPUTS == 2 ? y : x, n);
    const acc_type<D> s = gpu::has_access32() ? share<OP, D, 32, STREAMING>(xs, ys, n)
                                              : share<OP, D, 16, STREAMING>(xs, ys, n);
    join_grid<OP>(s, OP::INPUTS == 2 ? xs.unit() * ys.unit() : xs.unit(), divisor, out, scratch);
}

/* The sum in fp32 with bulk copies, beside the other as a roof of reading. */
__global__ void __launch_bounds__(THREADS)
    bulk_sum(const float *x, float *out, reduce_scratch *scratch, int64_t n, int stage_bytes) {
#if HAS_BULK_COPIES
    DYN_SMEM(128, char, ring);
    SMEM(uint64_t, full, [BULK_STAGES]);
    const int64_t last = n / 4 * 4 + threadIdx.x; /* fewer than 4 */
    float s[4] = {blockIdx.x == 0 && last < n ? x[last] : 0, 0, 0, 0};
    bulk_read(ring, full, reinterpret_cast<const char *>(x), n / 4 * 16, stage_bytes, 1,
              [&](const uint4 &v) {
                  s[0] += __uint_as_float(v.x);
                  s[1] += __uint_as_float(v.y);
                  s[2] += __uint_as_float(v.z);
                  s[3] += __uint_as_float(v.w);
              });
    join_grid<sum_of>((s[0] + s[1]) + (s[2] + s[3]), 1.0f, 1.0f, out, scratch);
#endif
}

/* ---- launches ---- */

static int sum_bulk(const struct args *a) {
    const int64_t bytes = a->s.n * static_cast<int64_t>(sizeof(float));
    const int stage = bulk_stage(a->gpu, bytes, BULK_RING);
    return gpu_launch(
        bulk_grid(a->gpu, ceil_div(bytes, stage), BULK_STAGES, stage, THREADS, stream_of(a)),
        bulk_sum, operand<const float>(a, 0), operand<float>(a, 1),
        static_cast<reduce_scratch *>(a->scratch), a->s.n, stage);
}

template <class OP, enum dtype D>
static int launch(const struct args *a, bool vectors, double divisor) {
    const int64_t bytes = static_cast<int64_t>(storage_bytes(D, a->s.n)) * OP::INPUTS;
    const int64_t packet_elements = vectors ? 16 * 8 / dtypes[D].bits : 1;
    /* Past the caches only in fp32, whose sum is the measured roof of reading: instances take time to compile. */
    const bool past_l2 = D == DT_fp32 && streams_past_l2(a, bytes);
    const auto kernel = !vectors  ? simple_reduce<OP, D>
                        : past_l2 ? reduce<OP, D, D == DT_fp32>
                                  : reduce<OP, D, false>;
    const int each =
        form_of(a, {THREADS, blocks_per_sm<OP>}, {{THREADS, THREADS}, {1, MOST_BLOCKS_PER_SM}})
            .blocks_per_sm;
    launch_config c;
    c.block = dim3(THREADS);
    c.grid = dim3(persistent_blocks(a, ceil_div(a->s.n, THREADS * packet_elements), each));
    c.stream = stream_of(a);
    return gpu_launch(c, kernel, operand<const void>(a, 0), operand<const void>(a, 1),
                      operand<acc_type<D>>(a, OP::INPUTS),
                      static_cast<reduce_scratch *>(a->scratch), a->s.n, divisor);
}

template <enum dtype D> static int dot_simple(const struct args *a) {
    return launch<dot_of, D>(a, false, 1);
}
template <enum dtype D> static int dot_persistent(const struct args *a) {
    return launch<dot_of, D>(a, true, 1);
}
template <enum dtype D> static int sum_simple(const struct args *a) {
    return launch<sum_of, D>(a, false, 1);
}
template <enum dtype D> static int sum_persistent(const struct args *a) {
    return launch<sum_of, D>(a, true, 1);
}
template <enum dtype D> static int max_simple(const struct args *a) {
    return launch<max_of, D>(a, false, 1);
}
template <enum dtype D> static int max_persistent(const struct args *a) {
    return launch<max_of, D>(a, true, 1);
}
template <enum dtype D> static int amax_simple(const struct args *a) {
    return launch<amax_of, D>(a, false, 1);
}
template <enum dtype D> static int amax_persistent(const struct args *a) {
    return launch<amax_of, D>(a, true, 1);
}
template <enum dtype D> static int mse_simple(const struct args *a) {
    return launch<mse_of, D>(a, false, static_cast<double>(a->s.n));
}
template <enum dtype D> static int mse_persistent(const struct args *a) {
    return launch<mse_of, D>(a, true, static_cast<double>(a->s.n));
}
template <enum dtype D> static int mean_simple(const struct args *a) {
    return launch<sum_of, D>(a, false, static_cast<double>(a->s.n));
}
template <enum dtype D> static int mean_persistent(const struct args *a) {
    return launch<sum_of, D>(a, true, static_cast<double>(a->s.n));
}

#define ROW(op, name, t) \
    { OP_##op, #name, DT_##t, op##_##name<DT_##t>, nullptr, scratch_bytes }
#define TRAINED_ROWS(op, name) \
    ROW(op, name, fp64), ROW(op, name, fp32), ROW(op, name, fp16), ROW(op, name, bf16)
#define VALUE_ROWS(op, name) \
    TRAINED_ROWS(op, name), ROW(op, name, fp8_e4m3), ROW(op, name, fp8_e5m2)
#define ROWS(op, name) VALUE_ROWS(op, name), ROW(op, name, nvfp4)
#define OP_ROWS(op)    ROWS(op, simple), ROWS(op, persistent)

extern "C" const struct impl reduce_cuda[];
const struct impl reduce_cuda[] = {
    OP_ROWS(dot),
    ROWS(sum, simple),
    {OP_sum, "bulk", DT_fp32, sum_bulk, refuses_bulk, scratch_bytes},
    ROWS(sum, persistent),
    OP_ROWS(max),
    OP_ROWS(mean),
    VALUE_ROWS(amax, simple),
    VALUE_ROWS(amax, persistent),
    TRAINED_ROWS(mse, simple),
    TRAINED_ROWS(mse, persistent),
    {},
};
