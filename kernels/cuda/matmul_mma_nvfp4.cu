/* matmul_mma_nvfp4.cu - products in nvfp4 on the tensor cores of sm_120 by mma.sync m16n8k64, which multiply e2m1 codes and apply the
 * e4m3 scale of every 16 of k. Not run on a GPU yet.
 *
 * Blocks have to follow k in both operands: layout nt, others are refused. A k-tile is 64 bytes of codes a row, 128 of k, as in the
 * other kernels of this form (matmul_mma.cuh), and 8 scales a row, which a pre-pass in the row's time puts in the order of tiles:
 * an eighth of the codes' bytes. The tensors' own scales go into alpha.
 * An instruction is 4 times the work of one in bf16; 128 x 256 ask the L2 for 27 KiB a k-tile. Expected: of 1676 TFLOP/s (RTX
 * 5090, dense) two thirds; published for kernels of this form: 972, 48 % of what that chip's clock gives. */
#include "matmul_mma.cuh"

struct operand_nvfp4 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 1; /* two codes */
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                        uint32_t a_scales, uint32_t b_scales) {
        gpu::mma_m16n8k64_nvfp4(d, a, b, a_scales, b_scales);
    }
};
template <> constexpr bool is_scaled<operand_nvfp4> = true;

/* 81, 54 and 36 KiB a block: sm_120 has 99 KiB for a block and 100 for all of a multiprocessor. */
using large_scaled_tile = block_tile<128, 256, 64, 64, 3, 1>;
using medium_scaled_tile = block_tile<128, 128, 64, 32, 3, 1>;
using small_scaled_tile = block_tile<64, 64, 32, 32, 4, 2>;
static constexpr int64_t K_TILE = 128, TILE_ROWS = 256; /* of k; rows of the widest tile */

/* ---- scales in the order of tiles ---- */

static constexpr int SCALE_THREADS = 256;

/* to[batch][k-tile][padded][8] = from[batch][rows][width], zero where there are none. */
__global__ void __launch_bounds__(SCALE_THREADS)
    pack_scales_kernel(unsigned char *to, const unsigned char *from, int64_t batch, int64_t rows,
                       int64_t width, int64_t padded, int64_t k_tiles) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * SCALE_THREADS + threadIdx.x,
                  row = i % padded, tile = i / padded % k_tiles, matrix = i / padded / k_tiles;
    if (matrix >= batch) return;
    const unsigned char *scale = from + (matrix * rows + row) * width + tile * SCALE_BYTES;
    vec<unsigned char, SCALE_BYTES> v;
#pragma unroll
    for (int j = 0; j < SCALE_BYTES; j++)
        v.at[j] = row < rows && tile * SCALE_BYTES + j < width ? scale[j] : 0;
    *reinterpret_cast<uint2 *>(to + i * SCALE_BYTES) = *reinterpret_cast<const uint2 *>(&v);
}

/* ---- operands ---- */

/* An operand of `extent` rows; codes whose rows are no multiple of 16 bytes are padded. */
struct scaled_packing {
    int64_t batch, extent, bytes, padded, k_tiles; /* bytes: of a row of codes */
    bool direct;
    scaled_packing(const struct args *a, int i)
        : batch(a->s.b), extent(i == 0 ? a->s.m : a->s.n), bytes(a->s.k / 2),
          padded(ceil_div(extent, TILE_ROWS) * TILE_ROWS), k_tiles(ceil_div(a->s.k, K_TILE)),
          direct(bytes % 16 == 0) {}
    int64_t codes_bytes() const {
        return direct ? 0 : ceil_div(batch * extent * packed_pitch(bytes, 1), 256) * 256;
    }
    int64_t scale_bytes() const { return batch * k_tiles * padded * SCALE_BYTES; }
};

/* The operand as the kernel reads it; launches what makes it in `scratch`, which it moves on. */
static cudaError_t pack_scaled(matrix *to, const struct args *a, int i, const float **tensor_scale,
                               char **scratch) {
    const scaled_packing x(a, i);
    const nvfp4_tensor from = nvfp4_tensor_at(a->buf[i], x.batch * x.extent * a->s.k);
    *tensor_scale = from.tensor_scale;
    to->pitch = packed_pitch(x.bytes, 1);
    to->stride = x.extent * to->pitch;
    to->data = x.direct ? reinterpret_cast<const char *>(from.codes) : *scratch;
    char *scales = *scratch + x.codes_bytes();
    to->scales = scales;
    to->scale_pitch = x.padded * SCALE_BYTES;
    to->scale_stride = x.k_tiles * to->scale_pitch;
    cudaError_t e =
        x.direct ? cudaSuccess
                 : pack_rows(*scratch, from.codes, x.batch * x.extent, x.bytes, 1, stream_of(a));
    if (e != cudaSuccess) return e;
    *scratch = scales + x.scale_bytes();
    launch_config c;
    c.block = dim3(SCALE_THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(x.batch * x.k_tiles * x.padded, SCALE_THREADS)));
    c.stream = stream_of(a);
    return gpu_launch(c, pack_scales_kernel, reinterpret_cast<unsigned char *>(scales),
                      reinterpret_cast<const unsigned char *>(from.scales), x.batch, x.extent,
                      ceil_div(a->s.k, NVFP4_BLOCK), x.padded, x.k_tiles);
}

/* ---- rows ---- */

static size_t scratch_bytes(const struct args *a) {
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        const scaled_packing x(a, i);
        bytes += static_cast<size_t>(x.codes_bytes() + x.scale_bytes());
    }
    return bytes;
}

static int run(const struct args *a) {
    mma_problem p = {};
    char *scratch = static_cast<char *>(a->scratch);
    cudaError_t e = pack_scaled(&p.A, a, 0, &p.a_scale, &scratch);
    if (e == cudaSuccess) e = pack_scaled(&p.B, a, 1, &p.b_scale, &scratch);
    if (e != cudaSuccess) return e;
    p.C = a->buf[2];
    p.batch = a->s.b, p.m = a->s.m, p.n = a->s.n;
    p.k = static_cast<int>(a->s.k / 2);
    p.alpha = a->alpha, p.beta = a->beta;
    const double large = cost<large_scaled_tile>(a, 1), medium = cost<medium_scaled_tile>(a, 0.8),
                 small = cost<small_scaled_tile>(a, 0.5);
    return large <= medium && large <= small
               ? launch_mma<operand_nvfp4, large_scaled_tile, true, true>(a, p)
           : medium <= small ? launch_mma<operand_nvfp4, medium_scaled_tile, true, true>(a, p)
                             : launch_mma<operand_nvfp4, small_scaled_tile, true, true>(a, p);
}

static const char *refuses(const struct args *a) {
    return a->gpu->cc != 120 ? "nvfp4 mma.sync is an instruction of sm_120 only"
           : a->layout != LAYOUT_NT
               ? "tensor cores want the blocks of both operands along k: layout nt"
               : refuses_mma(a);
}

extern "C" const struct impl matmul_mma_nvfp4_cuda[];
const struct impl matmul_mma_nvfp4_cuda[] = {
    {OP_matmul, "mma_sync", DT_nvfp4, run, refuses, scratch_bytes},
    {OP_bmm, "mma_sync", DT_nvfp4, run, refuses, scratch_bytes},
    {},
};
