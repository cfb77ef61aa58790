/* launch.cuh - kernel launches and tensor maps; one call for nvcc and for the emulation, in place of <<< >>>. */
#ifndef LAUNCH_CUH
#define LAUNCH_CUH
#include "ptx.cuh"

struct launch_config {
    dim3 grid{1, 1, 1}, block{1, 1, 1};
    size_t smem = 0; /* dynamic shared memory a block, bytes; above 48 KiB it is asked for */
    cudaStream_t stream = nullptr;
    dim3 cluster{1, 1, 1};
    bool cooperative = false;
};

/* cudaSuccess or the launch's error. */
template <class... P, class... A>
static inline cudaError_t gpu_launch(const launch_config &c, void (*kernel)(P...), A &&...a) {
#ifdef __CUDACC__
    if (c.smem > 48 * 1024) {
        const cudaError_t e = cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(c.smem));
        if (e != cudaSuccess) return e;
    }
    cudaLaunchAttribute attribute[2] = {};
    unsigned attributes = 0;
    if (c.cluster.x * c.cluster.y * c.cluster.z > 1) {
        attribute[attributes].id = cudaLaunchAttributeClusterDimension;
        attribute[attributes].val.clusterDim.x = c.cluster.x;
        attribute[attributes].val.clusterDim.y = c.cluster.y;
        attribute[attributes++].val.clusterDim.z = c.cluster.z;
    }
    if (c.cooperative) {
        attribute[attributes].id = cudaLaunchAttributeCooperative;
        attribute[attributes++].val.cooperative = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = c.grid;
    config.blockDim = c.block;
    config.dynamicSmemBytes = c.smem;
    config.stream = c.stream;
    config.attrs = attribute;
    config.numAttrs = attributes;
    return cudaLaunchKernelEx(&config, kernel, static_cast<P>(a)...);
#else
    const simt::launch_shape l = {c.grid, c.block, c.cluster, c.smem, c.stream, c.cooperative};
    return simt::launch(l, kernel, static_cast<P>(a)...);
#endif
}

/* Describes a row-major matrix in global memory for the tensor memory accelerator, which copies boxes of it; zero outside.
 * *out has to be 64-byte aligned; base and row_bytes are multiples of 16, the width of a box at most the swizzle's. The
 * driver's function is asked for by name, so that nothing links to the driver. */
static inline cudaError_t gpu_tensor_map_2d(CUtensorMap *out, const void *base,
                                            CUtensorMapDataType type, uint64_t rows, uint64_t cols,
                                            uint64_t row_bytes, uint32_t box_rows,
                                            uint32_t box_cols, CUtensorMapSwizzle swizzle) {
    using encode_fn = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                   const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                   const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                   CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    const cuuint64_t dim[2] = {cols, rows}, stride[1] = {row_bytes};
    const cuuint32_t box[2] = {box_cols, box_rows}, every[2] = {1, 1};
    void *encode = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    const cudaError_t e = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000,
                                                           cudaEnableDefault, &found);
#else
    const cudaError_t e =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault, &found);
#endif
    if (e != cudaSuccess) return e;
    if (!encode || found != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
    const CUresult r = reinterpret_cast<encode_fn>(encode)(
        out, type, 2, const_cast<void *>(base), dim, stride, box, every,
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return r == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}
#endif
