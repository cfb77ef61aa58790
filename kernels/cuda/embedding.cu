/* embedding.cu - Y[i] = T[index i], and the gradient dT[v] = sum of dY[i] with index i = v, + b dT[v]. Bytes are bytes in the
 * one; the other sums in the accumulator's type, in an order that the indices alone decide: the same bits each time.
 *   simple   Y: an element a thread; dT: a block a word, which looks through all indices
 *   vector   Y: 16-byte pieces of a row, or as wide ones as its length allows
 *   sorted   dT: tokens are sorted by word first (stable, by digits of 9 bits), then each word's are added. Words of few
 *            tokens fall to as many threads as a row has pieces, in the tokens' order. Of the frequent ones a list is made,
 *            and a block adds a band of 128 bytes of such a row: 32 groups of 8 threads take every 32nd token each. */
#include "pieces.cuh"

namespace embedding_kernels { /* a name of its own: the emulation finds kernels by their symbols */

enum {
    WARP = 32,
    THREADS = 256,
    WARPS = THREADS / WARP,
    ROWS_IN_FLIGHT = 4, /* of a thread, a piece of each */
    /* sorting */
    ROUNDS = 8, /* tokens a thread */
    TILE = THREADS * ROUNDS,
    DIGIT_BITS = 9, /* two digits are enough for 262144 words */
    DIGITS = 1 << DIGIT_BITS,
    /* adding */
    FREQUENT = 32, /* tokens; words of more have a block or several */
    BAND = 8,      /* pieces: a whole line of the cache */
    GROUPS = THREADS / BAND,
    LIST_BLOCKS_PER_SM = 2,
};

template <enum dtype D> using stored = typename element<D>::type;
template <enum dtype D> using wide = typename element<D>::acc;

static launch_config grid_of(const struct args *a, int64_t blocks) {
    launch_config c;
    c.grid = dim3(static_cast<unsigned>(blocks));
    c.block = dim3(THREADS);
    c.stream = stream_of(a);
    return c;
}

/* How a block shares out rows of `pieces`: several rows at once where they are short. */
struct row_share {
    int64_t pieces;
    int span; /* threads a row */
    int rows; /* rows at once */
    static row_share of(int64_t pieces) {
        const int span = pieces < THREADS ? static_cast<int>(pieces) : static_cast<int>(THREADS);
        return {pieces, span, THREADS / span};
    }
    int64_t blocks(int64_t all) const {
        return ceil_div(all, static_cast<int64_t>(rows) * ROWS_IN_FLIGHT);
    }
};

/* ---- rows by index ---- */

template <typename T>
__global__ void simple_gather(const T *table, const int32_t *index, T *y, int64_t elements,
                              int64_t k) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < elements) y[i] = table[index[i / k] * k + i % k];
}

template <typename T> /* a piece */
__global__ void __launch_bounds__(THREADS)
    gather(const T *table, const int32_t *index, T *y, int64_t m, row_share share) {
    const int row = static_cast<int>(threadIdx.x) / share.span,
              first = static_cast<int>(threadIdx.x) % share.span;
    if (row >= share.rows) return;
    int64_t token[ROWS_IN_FLIGHT], word[ROWS_IN_FLIGHT];
#pragma unroll
    for (int u = 0; u < ROWS_IN_FLIGHT; u++) {
        token[u] = (static_cast<int64_t>(blockIdx.x) * ROWS_IN_FLIGHT + u) * share.rows + row;
        word[u] = token[u] < m ? index[token[u]] : -1;
    }
    for (int64_t p = first; p < share.pieces; p += share.span) {
        T v[ROWS_IN_FLIGHT];
#pragma unroll
        for (int u = 0; u < ROWS_IN_FLIGHT; u++)
            if (word[u] >= 0) v[u] = table[word[u] * share.pieces + p];
#pragma unroll
        for (int u = 0; u < ROWS_IN_FLIGHT; u++)
            if (word[u] >= 0) y[token[u] * share.pieces + p] = v[u];
    }
}

template <typename T> static int launch_gather(const struct args *a, int64_t row_bytes) {
    const row_share share = row_share::of(row_bytes / static_cast<int64_t>(sizeof(T)));
    return gpu_launch(grid_of(a, share.blocks(a->s.m)), gather<T>, operand<const T>(a, 0),
                      operand<const int32_t>(a, 1), operand<T>(a, 2), a->s.m, share);
}

template <enum dtype D> static int embedding_vector(const struct args *a) {
    const int64_t row_bytes = a->s.k * static_cast<int64_t>(sizeof(stored<D>));
    if (row_bytes % 16 == 0) return launch_gather<uint4>(a, row_bytes);
    if (row_bytes % 8 == 0) return launch_gather<uint2>(a, row_bytes);
    if (row_bytes % 4 == 0) return launch_gather<unsigned>(a, row_bytes);
    return launch_gather<unsigned short>(a, row_bytes);
}

template <enum dtype D> static int embedding_simple(const struct args *a) {
    using T = typename word<sizeof(stored<D>)>::type;
    const int64_t elements = a->s.m * a->s.k;
    return gpu_launch(grid_of(a, ceil_div(elements, THREADS)), simple_gather<T>,
                      operand<const T>(a, 0), operand<const int32_t>(a, 1), operand<T>(a, 2),
                      elements, a->s.k);
}

/* ---- the gradient, simply ---- */

template <enum dtype D>
__global__ void __launch_bounds__(THREADS)
    simple_gradient(const stored<D> *dY, const int32_t *index, stored<D> *dT, int64_t m, int64_t k,
                    wide<D> beta) {
    SMEM(bool, mine, [THREADS]);
    const int64_t v = blockIdx.x;
    const int thread = static_cast<int>(threadIdx.x);
    for (int64_t first = 0; first < k; first += THREADS) {
        const int64_t col = first + thread;
        wide<D> sum = beta != 0 && col < k ? beta * widen(dT[v * k + col]) : 0;
        for (int64_t tile = 0; tile < m; tile += THREADS) {
            const bool found = tile + thread < m && index[tile + thread] == v;
            mine[thread] = found;
            /* all of mine[] is written before it is read */
            if (__syncthreads_or(found) && col < k)
                for (int j = 0; j < THREADS; j++)
                    if (mine[j]) sum += widen(dY[(tile + j) * k + col]);
            __syncthreads(); /* all have read: the next tile may be written */
        }
        if (col < k) narrow(dT[v * k + col], sum);
    }
}

template <enum dtype D> static int embedding_backward_simple(const struct args *a) {
    return gpu_launch(grid_of(a, a->s.n), simple_gradient<D>, operand<const stored<D>>(a, 0),
                      operand<const int32_t>(a, 1), operand<stored<D>>(a, 2), a->s.m, a->s.k,
                      a->beta);
}

/* ---- sorting: a pass a digit from the lowest, of which each block has a tile of tokens ---- */

struct pair {
    uint32_t word, token;
};
/* Of a word: where its tokens end among the sorted ones, and the complement of where they begin; zeros: it has none. Both
 * grow, so that atomics find them in any order. */
struct extent_of_word {
    uint32_t end, not_begin;
};
struct sort_space {
    extent_of_word *extents; /* [words] */
    uint32_t *listed;        /* frequent words in list[] */
    uint32_t *list;
    uint32_t *counts; /* [tiles][DIGITS] */
    pair *pairs[2];   /* [tokens] */
};

static int64_t tiles_of(const struct args *a) { return ceil_div(a->s.m, TILE); }
static int64_t places_of(const struct args *a) { return ceil_div(a->s.m, FREQUENT); }
static size_t rounded(int64_t bytes) { return static_cast<size_t>(ceil_div(bytes, 256) * 256); }
static size_t sort_bytes(const struct args *a, sort_space *s) {
    char *const base = static_cast<char *>(a->scratch);
    size_t at = 0;
    const auto take = [&](int64_t bytes) {
        char *const p = base ? base + at : nullptr; /* only the size is asked for */
        at += rounded(bytes);
        return static_cast<void *>(p);
    };
    s->extents = static_cast<extent_of_word *>(take(a->s.n * 8));
    s->listed = static_cast<uint32_t *>(take(4));
    s->list = static_cast<uint32_t *>(take(places_of(a) * 4));
    s->counts = static_cast<uint32_t *>(take(tiles_of(a) * DIGITS * 4));
    for (int i = 0; i < 2; i++) s->pairs[i] = static_cast<pair *>(take(a->s.m * 8));
    return at;
}
static size_t scratch_bytes(const struct args *a) {
    sort_space unused;
    return sort_bytes(a, &unused);
}

/* The i-th token in the order of the last pass; before the first, in its own. */
DEV pair pair_at(const int32_t *index, const pair *from, int64_t i) {
    return from ? from[i] : pair{static_cast<uint32_t>(index[i]), static_cast<uint32_t>(i)};
}

/* Tokens of each digit in a tile; the first time, what the last pass adds to is cleared. */
__global__ void __launch_bounds__(THREADS)
    count_digits(const int32_t *index, const pair *from, uint32_t *counts, int64_t m, int shift,
                 extent_of_word *extents, uint32_t *listed, int64_t words) {
    SMEM(uint32_t, count, [DIGITS]);
    const int thread = static_cast<int>(threadIdx.x);
    for (int d = thread; d < DIGITS; d += THREADS) count[d] = 0;
    __syncthreads(); /* cleared before it is added to */
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int64_t i = static_cast<int64_t>(blockIdx.x) * TILE + r * THREADS + thread;
        if (i < m) atomicAdd(&count[pair_at(index, from, i).word >> shift & (DIGITS - 1)], 1u);
    }
    __syncthreads(); /* added up before it is read */
    for (int d = thread; d < DIGITS; d += THREADS)
        counts[static_cast<int64_t>(blockIdx.x) * DIGITS + d] = count[d];
    if (from) return;
    const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t v = static_cast<int64_t>(blockIdx.x) * THREADS + thread; v < words; v += step)
        extents[v] = extent_of_word{0, 0};
    if (blockIdx.x == 0 && thread == 0) *listed = 0;
}

/* v of the lower-numbered threads of the block added up */
DEV uint32_t sum_before(uint32_t v, uint32_t *of_warp) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    uint32_t sum = v;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const uint32_t lower = __shfl_up_sync(~0u, sum, d);
        if (lane >= d) sum += lower;
    }
    if (lane == WARP - 1) of_warp[warp] = sum;
    __syncthreads(); /* the warps' sums are there */
    for (int w = 0; w < warp; w++) sum += of_warp[w];
    return sum - v;
}

/* Puts a tile's tokens where the digit sends them, behind those of the same digit that came before. A warp has 256
 * consecutive tokens of the tile, 32 a round. */
__global__ void __launch_bounds__(THREADS, 1)
    scatter_by_digit(const int32_t *index, const pair *from, pair *to, const uint32_t *counts,
                     int64_t m, int shift, extent_of_word *extents) {
    SMEM(uint32_t, count, [WARPS][DIGITS]); /* of a warp so far; then of the warps before it */
    SMEM(uint32_t, base, [DIGITS]);
    SMEM(uint32_t, of_warp, [WARPS]);
    const int thread = static_cast<int>(threadIdx.x), lane = thread % WARP, warp = thread / WARP;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * TILE + warp * (TILE / WARPS) + lane;
    for (int d = lane; d < DIGITS; d += WARP) count[warp][d] = 0;
    __syncwarp(); /* cleared before it is added to */

    pair mine[ROUNDS];
    uint32_t rank[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int64_t i = first + r * WARP;
        const bool valid = i < m;
        mine[r] = valid ? pair_at(index, from, i) : pair{0, 0};
        const uint32_t digit = mine[r].word >> shift & (DIGITS - 1);
        uint32_t peers = __ballot_sync(~0u, valid); /* lanes of the same digit */
#pragma unroll
        for (int b = 0; b < DIGIT_BITS; b++) {
            const uint32_t ones = __ballot_sync(~0u, digit >> b & 1);
            peers &= digit >> b & 1 ? ones : ~ones;
        }
        const uint32_t lower = __popc(peers & ((1u << lane) - 1));
        rank[r] = count[warp][digit] + lower;
        __syncwarp(); /* all have read the counts before they grow */
        if (valid && lower == 0) count[warp][digit] += __popc(peers);
        __syncwarp(); /* and they have grown before the next round reads them */
    }
    __syncthreads(); /* all warps' counts are there */

    /* a thread has two neighbouring digits */
    uint32_t all[2] = {0, 0}, before[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < 2; j++) {
        const int d = 2 * thread + j;
        uint32_t sum = 0;
        for (int w = 0; w < WARPS; w++) {
            const uint32_t of_this = count[w][d];
            count[w][d] = sum;
            sum += of_this;
        }
        for (int64_t tile = 0; tile < gridDim.x; tile++) {
            const uint32_t c = counts[tile * DIGITS + d];
            all[j] += c;
            if (tile < blockIdx.x) before[j] += c;
        }
    }
    static_assert(DIGITS == 2 * THREADS, "a thread has two digits");
    const uint32_t smaller = sum_before(all[0] + all[1], of_warp);
    base[2 * thread] = smaller + before[0];
    base[2 * thread + 1] = smaller + all[0] + before[1];
    __syncthreads(); /* counts and bases are there */

#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        if (first + r * WARP >= m) continue;
        const uint32_t digit = mine[r].word >> shift & (DIGITS - 1),
                       at = base[digit] + count[warp][digit] + rank[r];
        to[at] = mine[r];
        if (!extents) continue;
        atomicMax(&extents[mine[r].word].end, at + 1);
        atomicMax(&extents[mine[r].word].not_begin, ~at);
    }
}

/* Words of more than FREQUENT tokens: each is found by the first multiple of FREQUENT among its places. */
__global__ void __launch_bounds__(THREADS)
    list_frequent(const pair *sorted, const extent_of_word *extents, uint32_t *listed,
                  uint32_t *list, int64_t places) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= places) return;
    const uint32_t at = static_cast<uint32_t>(i * FREQUENT), v = sorted[at].word,
                   begin = ~extents[v].not_begin;
    if (extents[v].end - begin > FREQUENT && at - begin < FREQUENT) list[atomicAdd(listed, 1u)] = v;
}

/* ---- adding ---- */

/* Tokens begin, begin + step, ... below end of column x added to sum, ROWS_IN_FLIGHT loads at once. */
template <enum dtype D, int W>
DEV void add_tokens(wide<D> (&sum)[W], const stored<D> *x, int64_t k, const pair *sorted,
                    uint32_t begin, uint32_t end, uint32_t step) {
    for (int64_t p = begin; p < end; p += ROWS_IN_FLIGHT * step) {
        piece<D, W> raw[ROWS_IN_FLIGHT];
#pragma unroll
        for (int u = 0; u < ROWS_IN_FLIGHT; u++) { /* past the end the first again */
            const int64_t q = p + u * step < end ? p + u * step : p;
            raw[u] = load_shared_by_all<D, W>(x + sorted[q].token * k);
        }
#pragma unroll
        for (int u = 0; u < ROWS_IN_FLIGHT; u++) {
            wide<D> v[W];
            widen_piece<D, W>(raw[u], v);
            if (p + u * step < end) {
#pragma unroll
                for (int e = 0; e < W; e++) sum[e] += v[e];
            }
        }
    }
}

/* A band of a frequent word's row. */
template <enum dtype D, int W>
DEV void add_frequent(const stored<D> *dY, const pair *sorted, extent_of_word extent,
                      stored<D> *row, int64_t band, int64_t k, wide<D> beta) {
    using A = wide<D>;
    SMEM(A, parts, [GROUPS][BAND * W]);
    const int thread = static_cast<int>(threadIdx.x), group = thread / BAND,
              column = thread % BAND * W;
    const int64_t first = band * BAND * W; /* column of the band */
    A sum[W] = {};
    if (first + column < k)
        add_tokens<D, W>(sum, dY + first + column, k, sorted, ~extent.not_begin + group, extent.end,
                         GROUPS);
    __syncthreads(); /* the last band's parts have been read */
#pragma unroll
    for (int e = 0; e < W; e++) parts[group][column + e] = sum[e];
    __syncthreads(); /* all parts are there */
    if (thread >= BAND * W || first + thread >= k) return;
    A total = parts[0][thread];
    for (int g = 1; g < GROUPS; g++) total += parts[g][thread];
    stored<D> &y = row[first + thread];
    narrow(y, beta != 0 ? fma(beta, widen(y), total) : total);
}

/* The first `list_blocks` blocks take turns with bands of the frequent words; each of the others has a few words. */
template <enum dtype D, int W>
__global__ void __launch_bounds__(THREADS, 1)
    add_sorted(const stored<D> *dY, const pair *sorted, const extent_of_word *extents,
               const uint32_t *listed, const uint32_t *list, stored<D> *dT, int64_t words,
               int64_t k, wide<D> beta, row_share share, unsigned list_blocks) {
    if (blockIdx.x < list_blocks) {
        const int64_t bands = (share.pieces + BAND - 1) / BAND, items = *listed * bands;
        for (int64_t i = blockIdx.x; i < items; i += list_blocks) {
            const int64_t v = list[i / bands];
            add_frequent<D, W>(dY, sorted, extents[v], dT + v * k, i % bands, k, beta);
        }
        return;
    }
    const int row = static_cast<int>(threadIdx.x) / share.span,
              first = static_cast<int>(threadIdx.x) % share.span;
    if (row >= share.rows) return;
    extent_of_word extent[ROWS_IN_FLIGHT];
    const int64_t v0 =
        static_cast<int64_t>(blockIdx.x - list_blocks) * ROWS_IN_FLIGHT * share.rows + row;
#pragma unroll
    for (int u = 0; u < ROWS_IN_FLIGHT; u++)
        if (v0 + u * share.rows < words) extent[u] = extents[v0 + u * share.rows];
#pragma unroll 1
    for (int64_t p = first; p < share.pieces; p += share.span) {
#pragma unroll
        for (int u = 0; u < ROWS_IN_FLIGHT; u++) {
            const int64_t v = v0 + u * share.rows;
            if (v >= words) continue;
            const uint32_t end = extent[u].end, begin = end ? ~extent[u].not_begin : 0;
            if (end - begin > FREQUENT || (end == 0 && beta == 1)) continue;
            stored<D> *y = dT + v * k + p * W;
            wide<D> sum[W] = {};
            if (beta != 0) {
                widen_piece<D, W>(*reinterpret_cast<const piece<D, W> *>(y), sum);
#pragma unroll
                for (int e = 0; e < W; e++) sum[e] *= beta;
            }
            if (end) add_tokens<D, W>(sum, dY + p * W, k, sorted, begin, end, 1);
            *reinterpret_cast<piece<D, W> *>(y) = narrow_piece<D, W>(sum);
        }
    }
}

template <enum dtype D, int W>
static int launch_adding(const struct args *a, const sort_space &s, const pair *sorted) {
    const row_share share = row_share::of(a->s.k / W);
    const unsigned list_blocks = static_cast<unsigned>(a->gpu->sms) * LIST_BLOCKS_PER_SM;
    return gpu_launch(grid_of(a, list_blocks + share.blocks(a->s.n)), add_sorted<D, W>,
                      operand<const stored<D>>(a, 0), sorted, s.extents, s.listed, s.list,
                      operand<stored<D>>(a, 2), a->s.n, a->s.k, a->beta, share, list_blocks);
}

template <enum dtype D> static int embedding_backward_sorted(const struct args *a) {
    sort_space s;
    sort_bytes(a, &s);
    const int32_t *index = operand<const int32_t>(a, 1);
    const pair *from = nullptr;
    int shift = 0;
    do {
        const bool last = a->s.n - 1 < INT64_C(1) << (shift + DIGIT_BITS);
        pair *to = s.pairs[shift / DIGIT_BITS % 2];
        int error = gpu_launch(grid_of(a, tiles_of(a)), count_digits, index, from, s.counts, a->s.m,
                               shift, s.extents, s.listed, a->s.n);
        if (error) return error;
        error = gpu_launch(grid_of(a, tiles_of(a)), scatter_by_digit, index, from, to, s.counts,
                           a->s.m, shift, last ? s.extents : nullptr);
        if (error) return error;
        from = to;
        shift += DIGIT_BITS;
    } while (a->s.n - 1 >= INT64_C(1) << shift);
    const int error = gpu_launch(grid_of(a, ceil_div(places_of(a), THREADS)), list_frequent, from,
                                 s.extents, s.listed, s.list, places_of(a));
    if (error) return error;
    return a->s.k % PIECE<D> == 0 ? launch_adding<D, PIECE<D>>(a, s, from)
                                  : launch_adding<D, 1>(a, s, from);
}

} // namespace embedding_kernels

using namespace embedding_kernels;

#define ROW(op, name, t, scratch) \
    { OP_##op, #name, DT_##t, op##_##name<DT_##t>, nullptr, scratch }
#define ROWS(op, name, scratch)                                                               \
    ROW(op, name, fp64, scratch), ROW(op, name, fp32, scratch), ROW(op, name, fp16, scratch), \
        ROW(op, name, bf16, scratch)

extern "C" const struct impl embedding_cuda[];
const struct impl embedding_cuda[] = {
    ROWS(embedding, simple, nullptr),
    ROWS(embedding, vector, nullptr),
    ROWS(embedding_backward, simple, nullptr),
    ROWS(embedding_backward, sorted, scratch_bytes),
    {},
};
