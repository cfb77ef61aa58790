/* mma_problem.cuh - the host's half of a product on tensor cores: operands as the kernels need them, and the row's functions. */
#ifndef MMA_PROBLEM_CUH
#define MMA_PROBLEM_CUH
#include "mma_tile.cuh"
#include "nvfp4.cuh"
#include "pack.cuh"

struct mma_problem {
    matrix A, B;
    void *C;
    int64_t batch, m, n;
    int k;
    double alpha, beta;
    const float *a_scale, *b_scale; /* of nvfp4 tensors; or NULL */
    unsigned tiles_m, tiles_n;
    char *scratch; /* behind the packed operands */
};

/* ---- operands ---- */

/* How an operand, 0 A or 1 B, reaches the kernel. */
struct packing {
    int64_t rows, width; /* as stored, of one matrix */
    int size;            /* of an element that the kernel reads */
    bool k_major;
    bool direct;  /* from where it is; else packed */
    bool convert; /* to bf16 */
    bool turn;    /* so that it is K-major */
};

/* t as stored; `only_k_major`: the kernel has no other path. */
static inline packing packing_of(const struct args *a, int i, enum dtype t, int size,
                                 bool only_k_major) {
    packing x = {};
    const int64_t extent = i == 0 ? a->s.m : a->s.n;
    x.k_major = i == 0 ? a_is_k_major(a) : b_is_k_major(a);
    x.rows = x.k_major ? extent : a->s.k;
    x.width = x.k_major ? a->s.k : extent;
    x.size = size;
    x.convert = dtypes[t].bits != 8 * size;
    x.turn = only_k_major && !x.k_major;
    x.direct = !x.convert && !x.turn && x.width * size % 16 == 0;
    return x;
}
static inline size_t packing_bytes(const packing &x, int64_t batch) { /* 256-byte aligned */
    const int64_t rows = x.turn ? x.width : x.rows, width = x.turn ? x.rows : x.width;
    return x.direct ? 0
                    : static_cast<size_t>(
                          ceil_div(batch * rows * packed_pitch(width, x.size), 256) * 256);
}
/* The matrix to read; launches what makes it in `scratch`, which it moves on. */
static inline cudaError_t pack(matrix *to, const packing &x, const struct args *a, int i,
                               enum dtype t, char **scratch) {
    const int64_t rows = x.turn ? x.width : x.rows, width = x.turn ? x.rows : x.width;
    to->pitch = packed_pitch(width, x.size);
    to->stride = rows * to->pitch;
    to->data = x.direct ? operand<const char>(a, i) : *scratch;
    if (x.direct) return cudaSuccess;
    char *room = *scratch;
    *scratch += packing_bytes(x, a->s.b);
    if (x.turn)
        return pack_transposed(room, a->buf[i], a->s.b, x.rows, x.width, x.size, stream_of(a));
    if (x.convert) return pack_to_bf16(room, a->buf[i], t, a->s.b * x.rows, x.width, stream_of(a));
    return pack_rows(room, a->buf[i], a->s.b * x.rows, x.width, x.size, stream_of(a));
}

/* ---- rows ---- */

/* The functions of rows of dtype T. KERNELS has SIZE, bytes of an element that it reads; ONLY_K_MAJOR; and
 * launch<A is K-major, B is K-major>(a, problem). */
template <enum dtype T, class KERNELS> struct mma_rows {
    static packing of(const struct args *a, int i) {
        return packing_of(a, i, T, KERNELS::SIZE, KERNELS::ONLY_K_MAJOR);
    }
    static size_t scratch_bytes(const struct args *a) {
        return packing_bytes(of(a, 0), a->s.b) + packing_bytes(of(a, 1), a->s.b);
    }
    static int run(const struct args *a) {
        mma_problem p = {};
        char *scratch = static_cast<char *>(a->scratch);
        cudaError_t e = pack(&p.A, of(a, 0), a, 0, T, &scratch);
        if (e == cudaSuccess) e = pack(&p.B, of(a, 1), a, 1, T, &scratch);
        if (e != cudaSuccess) return e;
        p.scratch = scratch;
        p.C = a->buf[2];
        p.batch = a->s.b, p.m = a->s.m, p.n = a->s.n;
        p.k = static_cast<int>(a->s.k);
        p.alpha = a->alpha, p.beta = a->beta;
        if (T == DT_nvfp4) {
            const int64_t at_a = a->s.b * a->s.m * a->s.k, at_b = a->s.b * a->s.k * a->s.n;
            p.a_scale = nvfp4_tensor_at(a->buf[0], at_a).tensor_scale;
            p.b_scale = nvfp4_tensor_at(a->buf[1], at_b).tensor_scale;
        }
        if constexpr (KERNELS::ONLY_K_MAJOR)
            return KERNELS::template launch<true, true>(a, p);
        else
            return !a_is_k_major(a)  ? KERNELS::template launch<false, false>(a, p)
                   : b_is_k_major(a) ? KERNELS::template launch<true, true>(a, p)
                                     : KERNELS::template launch<true, false>(a, p);
    }
};

/* Shared memory of the largest tile. */
static constexpr int MMA_SMEM = 96 << 10;

static inline const char *refuses_mma(const struct args *a) {
    return a->s.k > 1 << 30                      ? "an inner extent beyond 2^30"
           : a->gpu->smem_block_bytes < MMA_SMEM ? "less than 96 KiB of shared memory a block"
                                                 : nullptr;
}
#endif
