/* casts.cu - between fp32 and every other dtype, and from bf16, scaled, to fp8, rounding to nearest even. The wider side is accessed as stream.cuh
 * says, the narrower in as many elements, so that both are contiguous over a warp. nvfp4: four lanes (two, with 32-byte
 * accesses) share a block of 16, the maximum goes round by shuffles. "simple" is one element a thread, or one block. */
#include "convert.cuh"
#include "stream.cuh"

/* ---- formats with elements that stand alone ---- */

/* Of bf16 and fp8, neither is fp32: the cast that scales by alpha, in fp32. */
template <typename X> constexpr bool is_scaled = std::is_same<X, __nv_bfloat16>::value;
template <typename X, typename Z, typename A> DEV A scaled(A x, float alpha) {
    return is_scaled<X> && sizeof(Z) == 1 ? alpha * x : x;
}

/* Rounds once otherwise: one of X and Z is fp32, and widening is exact. */
template <typename X, typename Z> DEV Z cast_of(X x, float alpha) {
    Z z;
    using A = decltype(widen(Z()));
    narrow(z, static_cast<A>(scaled<X, Z>(widen(x), alpha)));
    return z;
}

template <typename X, typename Z>
__global__ void simple_cast(const X *x, Z *z, int64_t n, float alpha) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) z[i] = cast_of<X, Z>(x[i], alpha);
}

template <typename X, typename Z, int BYTES>
DEV void cast_tile(const X *x, Z *z, int count, float alpha) {
    constexpr int WIDER = sizeof(X) > sizeof(Z) ? sizeof(X) : sizeof(Z);
    constexpr int N = BYTES / WIDER, UNROLL = STREAM_BYTES / BYTES;
    const int vectors = count / N, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<X, N * sizeof(X)> in[UNROLL];
    if (thread < vectors) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) load<false>(in[u], x + vector_or_own(u, vectors) * N);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        vec<Z, N * sizeof(Z)> out;
        if (thread + u * threads >= vectors) continue;
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            decltype(widen(X())) wide[2];
            decltype(widen(Z())) between[2];
            widen_pair(in[u].at + i, wide);
            between[0] = static_cast<decltype(widen(Z()))>(scaled<X, Z>(wide[0], alpha));
            between[1] = static_cast<decltype(widen(Z()))>(scaled<X, Z>(wide[1], alpha));
            narrow_pair(out.at + i, between);
        }
        store<false>(z + (thread + u * threads) * N, out);
    }
    const int i = vectors * N + thread;
    if (i < count) z[i] = cast_of<X, Z>(x[i], alpha);
}

template <typename X, typename Z>
__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    cast_kernel(const X *x, Z *z, int64_t n, float alpha) {
    constexpr int WIDER = sizeof(X) > sizeof(Z) ? sizeof(X) : sizeof(Z);
    const int64_t tile = static_cast<int64_t>(blockDim.x) * (STREAM_BYTES / WIDER),
                  first = blockIdx.x * tile;
    const int count = static_cast<int>(n - first < tile ? n - first : tile);
    if (gpu::has_access32())
        cast_tile<X, Z, 32>(x + first, z + first, count, alpha);
    else
        cast_tile<X, Z, 16>(x + first, z + first, count, alpha);
}

/* ---- nvfp4; the rule of quantisation is nvfp4_quantize_block()'s in numerics.h, to the bit ---- */

DEV uint32_t fp4_block_scale(float largest, float tensor_scale) {
    return e4m3_of_floats(largest / 6.0f / tensor_scale, 0) & 0xff;
}

/* What follows the blocks' own codes and scales: padding and the tensor scale. */
DEV void finish_fp4(unsigned char *tensor, int64_t n, float tensor_scale) {
    const int64_t end = n / 2 + n / FP4_BLOCK, scale_at = n / 2 + (n / FP4_BLOCK + 3) / 4 * 4;
    if (blockIdx.x != 0) return;
    if (threadIdx.x < scale_at - end) tensor[end + threadIdx.x] = 0;
    if (threadIdx.x == 0) *reinterpret_cast<float *>(tensor + scale_at) = tensor_scale;
}

__global__ void simple_to_fp4(const float *x, unsigned char *z, int64_t n, float tensor_scale) {
    const int64_t block = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    finish_fp4(z, n, tensor_scale);
    if (block >= n / FP4_BLOCK) return;
    float largest = 0;
    for (int i = 0; i < FP4_BLOCK; i++) largest = fmaxf(largest, fabsf(x[block * FP4_BLOCK + i]));
    const uint32_t scale = fp4_block_scale(largest, tensor_scale);
    const float step = fp4_scale(scale) * tensor_scale;
    for (int i = 0; i < FP4_BLOCK; i += 2) {
        const float *pair = x + block * FP4_BLOCK + i;
        const uint32_t low = step > 0 ? fp4_of_float(pair[0] / step) : 0,
                       high = step > 0 ? fp4_of_float(pair[1] / step) : 0;
        z[block * (FP4_BLOCK / 2) + i / 2] = static_cast<unsigned char>(low | high << 4);
    }
    z[n / 2 + block] = static_cast<unsigned char>(scale);
}

/* Tiles hold whole blocks. Every lane takes part in the shuffles, also those past the end, with the first vector. */
template <int BYTES>
DEV void to_fp4_tile(const float *x, unsigned char *codes, unsigned char *scales, int count,
                     float tensor_scale) {
    constexpr int N = BYTES / 4, UNROLL = STREAM_BYTES / BYTES, LANES = FP4_BLOCK / N;
    const int vectors = count / N, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<float, BYTES> in[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const int v = thread + u * threads;
        load<false>(in[u], x + (v < vectors ? v : 0) * N);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        float largest = 0;
#pragma unroll
        for (int i = 0; i < N; i++) largest = fmaxf(largest, fabsf(in[u].at[i]));
#pragma unroll
        for (int lane = 1; lane < LANES; lane *= 2)
            largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, lane));
        const uint32_t scale = fp4_block_scale(largest, tensor_scale);
        const float step = fp4_scale(scale) * tensor_scale;

        vec<uint16_t, N / 2> out;
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            const float *f = in[u].at + i;
            out.at[i / 4] = static_cast<uint16_t>(
                step > 0 ? fp4_of_floats(f[0] / step, f[1] / step, f[2] / step, f[3] / step) : 0);
        }
        const int v = thread + u * threads;
        if (v >= vectors) continue;
        store<false>(reinterpret_cast<uint16_t *>(codes + v * (N / 2)), out);
        if (v % LANES == 0) scales[v / LANES] = static_cast<unsigned char>(scale);
    }
}

__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    to_fp4_kernel(const float *x, unsigned char *z, int64_t n, float tensor_scale) {
    const int64_t tile = static_cast<int64_t>(blockDim.x) * (STREAM_BYTES / 4),
                  first = blockIdx.x * tile;
    const int count = static_cast<int>(n - first < tile ? n - first : tile);
    unsigned char *codes = z + first / 2, *scales = z + n / 2 + first / FP4_BLOCK;
    finish_fp4(z, n, tensor_scale);
    if (gpu::has_access32())
        to_fp4_tile<32>(x + first, codes, scales, count, tensor_scale);
    else
        to_fp4_tile<16>(x + first, codes, scales, count, tensor_scale);
}

__global__ void simple_of_fp4(const void *x, float *z, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const fp4_view view = fp4_of(x, n);
    __half2 first, second;
    half2_of_fp4(i % 2 ? view.codes[i / 2] >> 4 : view.codes[i / 2], first, second);
    z[i] = __low2float(first) * fp4_scale(view.scales[i / FP4_BLOCK]) * view.tensor_scale;
}

template <int BYTES>
DEV void of_fp4_tile(const unsigned char *codes, const unsigned char *scales, float tensor_scale,
                     float *z, int count) {
    constexpr int N = BYTES / 4, UNROLL = STREAM_BYTES / BYTES, LANES = FP4_BLOCK / N;
    const int vectors = count / N, threads = static_cast<int>(blockDim.x),
              thread = static_cast<int>(threadIdx.x);
    vec<uint16_t, N / 2> in[UNROLL];
    unsigned char scale[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const int v = thread + u * threads < vectors ? thread + u * threads : 0;
        load<false>(in[u], reinterpret_cast<const uint16_t *>(codes + v * (N / 2)));
        scale[u] = scales[v / LANES];
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const int v = thread + u * threads;
        if (v >= vectors) continue;
        const float block_scale = fp4_scale(scale[u]);
        vec<float, BYTES> out;
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            __half2 first, second;
            half2_of_fp4(in[u].at[i / 4], first, second);
            const float2 low = __half22float2(first), high = __half22float2(second);
            out.at[i] = low.x * block_scale * tensor_scale;
            out.at[i + 1] = low.y * block_scale * tensor_scale;
            out.at[i + 2] = high.x * block_scale * tensor_scale;
            out.at[i + 3] = high.y * block_scale * tensor_scale;
        }
        store<false>(z + v * N, out);
    }
}

__global__ void __launch_bounds__(STREAM_MOST_THREADS, STREAM_MOST_RESIDENT)
    of_fp4_kernel(const void *x, float *z, int64_t n) {
    const int64_t tile = static_cast<int64_t>(blockDim.x) * (STREAM_BYTES / 4),
                  first = blockIdx.x * tile;
    const int count = static_cast<int>(n - first < tile ? n - first : tile);
    const fp4_view view = fp4_of(x, n);
    const unsigned char *codes = view.codes + first / 2, *scales = view.scales + first / FP4_BLOCK;
    if (gpu::has_access32())
        of_fp4_tile<32>(codes, scales, view.tensor_scale, z + first, count);
    else
        of_fp4_tile<16>(codes, scales, view.tensor_scale, z + first, count);
}

/* ---- launches ---- */

static launch_config simple_grid(const struct args *a, int64_t threads) {
    launch_config c;
    c.block = dim3(STREAM_THREADS);
    c.grid = dim3(static_cast<unsigned>(ceil_div(threads, STREAM_THREADS)));
    c.stream = stream_of(a);
    return c;
}

template <typename X, typename Z> static int launch_simple(const struct args *a) {
    return gpu_launch(simple_grid(a, a->s.n), simple_cast<X, Z>, operand<const X>(a, 0),
                      operand<Z>(a, 1), a->s.n, a->alpha);
}
template <typename X, typename Z> static int launch_vector(const struct args *a) {
    const int64_t wider = sizeof(X) > sizeof(Z) ? sizeof(X) : sizeof(Z);
    return gpu_launch(stream_grid(a, a->s.n * wider, false), cast_kernel<X, Z>,
                      operand<const X>(a, 0), operand<Z>(a, 1), a->s.n, a->alpha);
}

template <enum dtype D> static int cast_from_fp32_simple(const struct args *a) {
    return launch_simple<float, typename element<D>::type>(a);
}
template <enum dtype D> static int cast_from_fp32_vector(const struct args *a) {
    return launch_vector<float, typename element<D>::type>(a);
}
template <enum dtype D> static int cast_to_fp32_simple(const struct args *a) {
    return launch_simple<typename element<D>::type, float>(a);
}
template <enum dtype D> static int cast_to_fp32_vector(const struct args *a) {
    return launch_vector<typename element<D>::type, float>(a);
}
template <enum dtype D> static int cast_from_bf16_simple(const struct args *a) {
    return launch_simple<__nv_bfloat16, typename element<D>::type>(a);
}
template <enum dtype D> static int cast_from_bf16_vector(const struct args *a) {
    return launch_vector<__nv_bfloat16, typename element<D>::type>(a);
}
template <> int cast_from_fp32_simple<DT_nvfp4>(const struct args *a) {
    return gpu_launch(simple_grid(a, a->s.n / FP4_BLOCK), simple_to_fp4, operand<const float>(a, 0),
                      operand<unsigned char>(a, 1), a->s.n, a->alpha);
}
template <> int cast_from_fp32_vector<DT_nvfp4>(const struct args *a) {
    return gpu_launch(stream_grid(a, a->s.n * 4, false), to_fp4_kernel, operand<const float>(a, 0),
                      operand<unsigned char>(a, 1), a->s.n, a->alpha);
}
template <> int cast_to_fp32_simple<DT_nvfp4>(const struct args *a) {
    return gpu_launch(simple_grid(a, a->s.n), simple_of_fp4, operand<const void>(a, 0),
                      operand<float>(a, 1), a->s.n);
}
template <> int cast_to_fp32_vector<DT_nvfp4>(const struct args *a) {
    return gpu_launch(stream_grid(a, a->s.n * 4, false), of_fp4_kernel, operand<const void>(a, 0),
                      operand<float>(a, 1), a->s.n);
}

#define ROW(op, name, t) \
    { OP_##op, #name, DT_##t, op##_##name<DT_##t>, nullptr, nullptr }
#define ROWS(op, name)                                                                      \
    ROW(op, name, fp64), ROW(op, name, fp16), ROW(op, name, bf16), ROW(op, name, fp8_e4m3), \
        ROW(op, name, fp8_e5m2), ROW(op, name, nvfp4)

extern "C" const struct impl casts_cuda[];
const struct impl casts_cuda[] = {
    ROWS(cast_from_fp32, simple),
    ROWS(cast_from_fp32, vector),
    ROWS(cast_to_fp32, simple),
    ROWS(cast_to_fp32, vector),
    ROW(cast_from_bf16, simple, fp8_e4m3),
    ROW(cast_from_bf16, simple, fp8_e5m2),
    ROW(cast_from_bf16, vector, fp8_e4m3),
    ROW(cast_from_bf16, vector, fp8_e5m2),
    {},
};
