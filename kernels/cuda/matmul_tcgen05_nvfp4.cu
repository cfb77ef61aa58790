/* matmul_tcgen05_nvfp4.cu - products in nvfp4 on sm_100a's tensor cores: codes as they are, and a scale for every 16 of k. Not run
 * on hardware. Codes are read in place where rows have a multiple of 32, else through a padded copy. Scales are brought into the
 * order of tensor memory by pack_scales_kernel, in the row's time; tensors' scales go into alpha. Only layout nt has both
 * operands' scales along k. */
#include "tcgen05_launch.cuh"

struct tcgen05_nvfp4 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 1; /* of two codes */
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    static constexpr bool SCALED = true;
};

/* ---- scales ---- */

/* to[matrix][group of 128 rows][line of 64 of k][r][j][4]: the four scales of row 32 j + r; zero outside. A block makes LINES
 * lines of a group. */
static constexpr int PACK_THREADS = 256, PACK_LINES = 16;
__global__ void __launch_bounds__(PACK_THREADS)
    pack_scales_kernel(uint32_t *to, const uint8_t *from, int64_t batch, int64_t rows,
                       int64_t width, int64_t groups, int64_t lines, int64_t across) {
    SMEM(uint32_t,
         words, [128][PACK_LINES + 1]); /* rows a word further: a column meets all banks */
    const int64_t group = blockIdx.x / across, line0 = blockIdx.x % across * PACK_LINES;
    const int64_t i = batch_index();
    if (i >= batch) return; /* the whole block */
    for (int w = threadIdx.x; w < 128 * PACK_LINES; w += PACK_THREADS) {
        const int64_t row = group * 128 + w / PACK_LINES, col = 4 * (line0 + w % PACK_LINES);
        const uint8_t *x = from + (i * rows + row) * width + col;
        uint32_t four = 0;
        if (row < rows && col + 4 <= width && width % 4 == 0)
            four = *reinterpret_cast<const uint32_t *>(x);
        else if (row < rows)
            for (int e = 0; e < 4; e++)
                if (col + e < width) four |= static_cast<uint32_t>(x[e]) << 8 * e;
        words[w / PACK_LINES][w % PACK_LINES] = four;
    }
    __syncthreads(); /* all is written before it is read */

    for (int w = threadIdx.x; w < 128 * PACK_LINES; w += PACK_THREADS) {
        const int64_t line = line0 + w / 128;
        const int at = w % 128;
        if (line < lines)
            to[((i * groups + group) * lines + line) * 128 + at] =
                words[32 * (at % 4) + at / 4][w / 128];
    }
}

static int64_t scale_lines(const struct args *a) {
    return ceil_div(a->s.k / 2, tcgen05::ROW) * tcgen05::STEPS;
}
static int64_t scale_rows(const struct args *a, int i) { return i == 0 ? a->s.m : a->s.n; }
static size_t scale_bytes(const struct args *a, int i) {
    return static_cast<size_t>(a->s.b * ceil_div(scale_rows(a, i), 128) * scale_lines(a) *
                               tcgen05::SCALES);
}
static cudaError_t pack_scales(void *to, const struct args *a, int i) {
    const int64_t rows = scale_rows(a, i), groups = ceil_div(rows, 128), lines = scale_lines(a);
    const int64_t across = ceil_div(lines, PACK_LINES);
    const nvfp4_tensor x = nvfp4_tensor_at(a->buf[i], a->s.b * rows * a->s.k);
    launch_config c;
    c.block = dim3(PACK_THREADS);
    c.grid = product_grid(groups * across, a->s.b);
    c.stream = stream_of(a);
    return gpu_launch(c, pack_scales_kernel, static_cast<uint32_t *>(to),
                      reinterpret_cast<const uint8_t *>(x.scales), a->s.b, rows,
                      a->s.k / NVFP4_BLOCK, groups, lines, across);
}

/* ---- rows ---- */

static packing codes_of(const struct args *a, int i) {
    packing x = {};
    x.k_major = true;
    x.rows = scale_rows(a, i), x.width = a->s.k / 2, x.size = 1;
    x.direct = x.width % 16 == 0;
    return x;
}
static tma_form form_of(const struct args *a) {
    return tcgen05_best_form(a, a->s.k / 2, true, false);
}
static size_t scratch_bytes(const struct args *a) {
    return packing_bytes(codes_of(a, 0), a->s.b) + packing_bytes(codes_of(a, 1), a->s.b) +
           scale_bytes(a, 0) + scale_bytes(a, 1) + parts_bytes(a, form_of(a));
}
static int run(const struct args *a) {
    mma_problem p = {};
    char *scratch = static_cast<char *>(a->scratch);
    tcgen05_scales scales = {};
    cudaError_t e = pack(&p.A, codes_of(a, 0), a, 0, DT_nvfp4, &scratch);
    if (e == cudaSuccess) e = pack(&p.B, codes_of(a, 1), a, 1, DT_nvfp4, &scratch);
    for (int i = 0; i < 2 && e == cudaSuccess; i++) {
        (i == 0 ? scales.a : scales.b) = scratch;
        e = pack_scales(scratch, a, i);
        scratch += scale_bytes(a, i);
    }
    if (e != cudaSuccess) return e;
    p.scratch = scratch;
    p.C = a->buf[2];
    p.batch = a->s.b, p.m = a->s.m, p.n = a->s.n;
    p.k = static_cast<int>(a->s.k / 2);
    p.alpha = a->alpha, p.beta = a->beta;
    p.a_scale = nvfp4_tensor_at(a->buf[0], a->s.b * a->s.m * a->s.k).tensor_scale;
    p.b_scale = nvfp4_tensor_at(a->buf[1], a->s.b * a->s.k * a->s.n).tensor_scale;
    return tcgen05_kernels<tcgen05_nvfp4>::launch_form<true, true>(a, p, form_of(a), scales);
}

static const char *refuses(const struct args *a) {
    const char *why = refuses_tcgen05(a);
    return why ? why : a->layout != LAYOUT_NT ? "scales run along k in layout nt alone" : nullptr;
}

extern "C" const struct impl matmul_tcgen05_nvfp4_cuda[];
const struct impl matmul_tcgen05_nvfp4_cuda[] = {
    {OP_matmul, "tcgen05_tma", DT_nvfp4, run, refuses, scratch_bytes},
    {OP_bmm, "tcgen05_tma", DT_nvfp4, run, refuses, scratch_bytes},
    {},
};
