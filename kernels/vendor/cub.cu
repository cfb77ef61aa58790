/* cub.cu - s = sum x by CUB's DeviceReduce, which comes with the toolkit as headers. 16-bit inputs are widened on the fly. */
#include "cub.h"

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdio>

struct widen_half {
    __host__ __device__ float operator()(__half x) const { return __half2float(x); }
};
struct widen_bfloat {
    __host__ __device__ float operator()(__nv_bfloat16 x) const { return __bfloat162float(x); }
};

static auto input(const double *x) { return x; }
static auto input(const float *x) { return x; }
static auto input(const __half *x) { return thrust::make_transform_iterator(x, widen_half()); }
static auto input(const __nv_bfloat16 *x) {
    return thrust::make_transform_iterator(x, widen_bfloat());
}

template <typename T, typename S> static size_t scratch(const struct args *a) {
    size_t bytes = 0;
    return cub::DeviceReduce::Sum(nullptr, bytes, input(static_cast<const T *>(nullptr)),
                                  static_cast<S *>(nullptr), a->s.n) == cudaSuccess
               ? bytes
               : 0;
}

template <typename T, typename S> static int sum(const struct args *a) {
    size_t bytes = scratch<T, S>(a);
    return cub::DeviceReduce::Sum(a->scratch, bytes, input(static_cast<const T *>(a->buf[0])),
                                  static_cast<S *>(a->buf[1]), a->s.n,
                                  static_cast<cudaStream_t>(a->stream));
}

extern "C" const struct impl cub_cuda[];
const struct impl cub_cuda[] = {
    {OP_sum, "cub", DT_fp64, sum<double, double>, nullptr, scratch<double, double>},
    {OP_sum, "cub", DT_fp32, sum<float, float>, nullptr, scratch<float, float>},
    {OP_sum, "cub", DT_fp16, sum<__half, float>, nullptr, scratch<__half, float>},
    {OP_sum, "cub", DT_bf16, sum<__nv_bfloat16, float>, nullptr, scratch<__nv_bfloat16, float>},
    {},
};

extern "C" const char *cub_version(void) {
    static char text[32]; /* written once with a constant */
    snprintf(text, sizeof text, "CUB %d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION,
             CUB_SUBMINOR_VERSION);
    return text;
}
