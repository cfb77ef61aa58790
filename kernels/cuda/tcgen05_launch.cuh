/* tcgen05_launch.cuh - the host's half of products by tcgen05 (matmul_tcgen05.cuh): which form of it, descriptors, the rows'
 * functions. */
#ifndef TCGEN05_LAUNCH_CUH
#define TCGEN05_LAUNCH_CUH
#include "matmul_tcgen05.cuh"

/* ---- forms: which tile, one block or a pair, splits ---- */

/* Clocks of the whole problem on all multiprocessors; the last round counts whole. The L2 gives 44 bytes a clock and
 * multiprocessor, what published kernels drew; of a k-tile that asks for more it is the measure. One accumulator: its way out is
 * not hidden. Parts are written and read; their kernel's launch is 4000 clocks. Estimates, all of them. */
struct tcgen05_form {
    int bn, ctas, splits, k_each;
    double clocks;
};
static inline tcgen05_form tcgen05_form_of(const struct args *a, int bn, int ctas, int64_t k_tiles,
                                           int64_t splits, bool is_scaled) {
    const double L2 = 44, LAUNCH = 4000, sms = a->gpu->sms;
    const int64_t k_each = ceil_div(k_tiles, splits), at_once = sms < ctas ? 1 : a->gpu->sms / ctas;
    splits = ceil_div(k_tiles, k_each); /* none is empty */
    const int64_t units =
        a->s.b * ceil_div(a->s.m, tcgen05::BM * ctas) * ceil_div(a->s.n, bn) * splits;
    const double scales = is_scaled ? 16 * (tcgen05::BM + bn) : 0;
    const double bytes = tcgen05::ROW * (tcgen05::BM + static_cast<double>(bn) / ctas) + scales;
    const double k_tile = fmax(2.0 * bn, bytes / L2), out = is_scaled && bn == 256 ? 4.0 * bn : 0;
    const double parts = 8.0 * static_cast<double>(splits * a->s.b * a->s.m * a->s.n);
    return {bn, ctas, static_cast<int>(splits), static_cast<int>(k_each),
            static_cast<double>(ceil_div(units, at_once)) *
                    (static_cast<double>(k_each) * k_tile + out) +
                (splits > 1 ? parts / (L2 * sms) + LAUNCH : 0)};
}
/* The quickest; of those that are equally quick the plainest. row_bytes: of k in a row of an operand. */
static inline tcgen05_form tcgen05_best_form(const struct args *a, int64_t row_bytes,
                                             bool is_scaled) {
    const int64_t k_tiles = ceil_div(row_bytes, tcgen05::ROW);
    tcgen05_form best = {};
    for (int64_t splits = 1; splits <= 16 && (splits == 1 || k_tiles / splits >= 4); splits *= 2)
        for (const int bn : {256, 128})
            for (const int ctas : {2, 1}) {
                const tcgen05_form x = tcgen05_form_of(a, bn, ctas, k_tiles, splits, is_scaled);
                if (!best.bn || x.clocks < best.clocks) best = x;
            }
    return best;
}
static inline size_t tcgen05_parts_bytes(const struct args *a, const tcgen05_form &form) {
    return form.splits == 1
               ? 0
               : static_cast<size_t>(form.splits * a->s.b * a->s.m * a->s.n) * sizeof(float);
}

/* ---- launchers ---- */

template <class P> struct tcgen05_map_type;
template <> struct tcgen05_map_type<__nv_bfloat16> {
    static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
};
template <> struct tcgen05_map_type<__half> {
    static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
};
template <> struct tcgen05_map_type<float> {
    static constexpr CUtensorMapDataType value = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
};

/* The map of an operand with `extent` rows or columns besides k; boxes of `box` of them, or of 64 by 64. */
template <class OPERAND>
static cudaError_t tcgen05_map(CUtensorMap *map, bool k_major, const matrix &x, int64_t extent,
                               const mma_problem &p, int box) {
    tensor t = {};
    t.base = x.data;
    t.type = OPERAND::MAP;
    t.cols = static_cast<uint64_t>(k_major ? p.k : extent);
    t.rows = static_cast<uint64_t>(k_major ? extent : p.k);
    t.row_bytes = static_cast<uint64_t>(x.pitch);
    t.matrices = static_cast<uint64_t>(p.batch);
    t.matrix_bytes = static_cast<uint64_t>(x.stride);
    return gpu_tensor_map(map, t, 3, static_cast<uint32_t>(tcgen05::ROW / OPERAND::SIZE),
                          static_cast<uint32_t>(k_major ? box : 64), CU_TENSOR_MAP_SWIZZLE_128B);
}
/* Scales in the order of pack_scales(): words, one 512 bytes a line, lines of 64 of k. */
static inline cudaError_t tcgen05_map_scales(CUtensorMap *map, const void *scales, int64_t groups,
                                             int64_t k_tiles) {
    const uint64_t lines = static_cast<uint64_t>(k_tiles * tcgen05::STEPS);
    const tensor t = {
        scales,          CU_TENSOR_MAP_DATA_TYPE_UINT32, tcgen05::SCALES / 4,    lines,
        tcgen05::SCALES, static_cast<uint64_t>(groups),  lines * tcgen05::SCALES};
    return gpu_tensor_map(map, t, 3, tcgen05::SCALES / 4, tcgen05::STEPS,
                          CU_TENSOR_MAP_SWIZZLE_NONE);
}

struct tcgen05_scales { /* of nvfp4, in the order of tensor memory */
    const void *a, *b;
};

template <class OPERAND, int BN, int CTAS, bool A_K_MAJOR, bool B_K_MAJOR>
static cudaError_t launch_tcgen05(const struct args *a, const mma_problem &p,
                                  const tcgen05_form &form, const tcgen05_scales &scales) {
    using TILE = tcgen05::tile_form<BN, CTAS, OPERAND::SCALED>;
    using P = typename OPERAND::product;
    const auto kernel = matmul_tcgen05<OPERAND, TILE, A_K_MAJOR, B_K_MAJOR>;
    tcgen05::problem q = {};
    q.C = p.C;
    q.parts = reinterpret_cast<float *>(p.scratch);
    q.batch = p.batch, q.m = p.m, q.n = p.n;
    q.units_m = static_cast<unsigned>(ceil_div(p.m, tcgen05::BM * CTAS));
    q.tiles_n = static_cast<unsigned>(ceil_div(p.n, BN));
    q.units = p.batch * form.splits * q.units_m * q.tiles_n;
    q.k_tiles = static_cast<int>(ceil_div(static_cast<int64_t>(p.k) * OPERAND::SIZE, tcgen05::ROW));
    q.splits = form.splits, q.k_each = form.k_each;
    q.scales_m = static_cast<int>(ceil_div(p.m, 128));
    q.scales_n = static_cast<int>(ceil_div(p.n, 128));
    q.alpha = static_cast<float>(p.alpha), q.beta = static_cast<float>(p.beta);
    q.a_scale = p.a_scale, q.b_scale = p.b_scale;
    const int64_t row_bytes = p.n * static_cast<int64_t>(sizeof(P));
    q.bulk = q.beta == 0 && row_bytes % 16 == 0 && q.splits == 1;

    tcgen05::maps map = {};
    cudaError_t e = tcgen05_map<OPERAND>(&map.a, A_K_MAJOR, p.A, p.m, p, tcgen05::BM);
    if (e == cudaSuccess) e = tcgen05_map<OPERAND>(&map.b, B_K_MAJOR, p.B, p.n, p, TILE::B_ROWS);
    if (e == cudaSuccess && q.bulk) {
        const tensor c = {p.C,
                          tcgen05_map_type<P>::value,
                          static_cast<uint64_t>(p.n),
                          static_cast<uint64_t>(p.m),
                          static_cast<uint64_t>(row_bytes),
                          static_cast<uint64_t>(p.batch),
                          static_cast<uint64_t>(p.m * row_bytes)};
        e = gpu_tensor_map(&map.c, c, 3, tcgen05::ROW / static_cast<uint32_t>(sizeof(P)), 32,
                           CU_TENSOR_MAP_SWIZZLE_128B);
    }
    if constexpr (OPERAND::SCALED) {
        if (e == cudaSuccess)
            e = tcgen05_map_scales(&map.scales_a, scales.a, p.batch * q.scales_m, q.k_tiles);
        if (e == cudaSuccess)
            e = tcgen05_map_scales(&map.scales_b, scales.b, p.batch * q.scales_n, q.k_tiles);
    }
    if (e != cudaSuccess) return e;

    launch_config c;
    c.block = dim3(tcgen05::THREADS);
    c.cluster = dim3(CTAS);
    c.grid = c.cluster;
    c.smem = tcgen05::SMEM_BYTES;
    c.stream = stream_of(a);
    int at_once = a->gpu->sms; /* a block fills its multiprocessor's shared memory */
    if (CTAS > 1) {            /* clusters may not reach all of them */
        e = gpu_clusters_at_once(&at_once, c, kernel);
        if (e != cudaSuccess) return e;
        if (at_once < 1) return cudaErrorInvalidClusterSize;
    }
    c.grid = dim3(static_cast<unsigned>(q.units < at_once ? q.units : at_once) * CTAS);
    e = gpu_launch(c, kernel, map, q);
    if (e != cudaSuccess || q.splits == 1) return e;

    launch_config add;
    add.block = dim3(TCGEN05_PARTS_THREADS);
    add.grid = dim3(static_cast<unsigned>(ceil_div(q.batch * q.m * q.n, TCGEN05_PARTS_THREADS)));
    add.stream = c.stream;
    return gpu_launch(add, matmul_tcgen05_parts<P>, q);
}

template <class OPERAND> struct tcgen05_kernels {
    static constexpr int SIZE = OPERAND::SIZE;
    static constexpr bool ONLY_K_MAJOR = SIZE != 2;
    static tcgen05_form form(const struct args *a) {
        return tcgen05_best_form(a, a->s.k * SIZE, OPERAND::SCALED);
    }
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch_form(const struct args *a, const mma_problem &p,
                                   const tcgen05_form &f, const tcgen05_scales &s) {
        const bool is_wide = f.bn == 256;
        if (f.ctas == 2)
            return is_wide ? launch_tcgen05<OPERAND, 256, 2, A_K_MAJOR, B_K_MAJOR>(a, p, f, s)
                           : launch_tcgen05<OPERAND, 128, 2, A_K_MAJOR, B_K_MAJOR>(a, p, f, s);
        return is_wide ? launch_tcgen05<OPERAND, 256, 1, A_K_MAJOR, B_K_MAJOR>(a, p, f, s)
                       : launch_tcgen05<OPERAND, 128, 1, A_K_MAJOR, B_K_MAJOR>(a, p, f, s);
    }
    template <bool A_K_MAJOR, bool B_K_MAJOR>
    static cudaError_t launch(const struct args *a, const mma_problem &p) {
        return launch_form<A_K_MAJOR, B_K_MAJOR>(a, p, form(a), {});
    }
};

/* ---- rows ---- */

template <enum dtype T, class OPERAND> struct tcgen05_rows : mma_rows<T, tcgen05_kernels<OPERAND>> {
    static size_t scratch_bytes(const struct args *a) {
        return mma_rows<T, tcgen05_kernels<OPERAND>>::scratch_bytes(a) +
               tcgen05_parts_bytes(a, tcgen05_kernels<OPERAND>::form(a));
    }
};

static inline const char *refuses_tcgen05(const struct args *a) {
    return a->gpu->cc != 100 ? "tcgen05 is an instruction of sm_100a alone"
           : a->gpu->smem_block_bytes < tcgen05::SMEM_BYTES
               ? "less than 225 KiB of shared memory a block"
           : a->s.m > 1 << 30 || a->s.n > 1 << 30 || a->s.k > 1 << 30 || a->s.b > 1 << 30
               ? "an extent beyond 2^30"
               : nullptr;
}
#endif
