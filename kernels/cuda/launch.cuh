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

#ifdef __CUDACC__
/* The same for the runtime; it points into itself. */
struct runtime_config {
    cudaLaunchAttribute attribute[2] = {};
    cudaLaunchConfig_t config = {};
    explicit runtime_config(const launch_config &c) {
        config.gridDim = c.grid;
        config.blockDim = c.block;
        config.dynamicSmemBytes = c.smem;
        config.stream = c.stream;
        config.attrs = attribute;
        if (c.cluster.x * c.cluster.y * c.cluster.z > 1) {
            attribute[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
            attribute[config.numAttrs].val.clusterDim.x = c.cluster.x;
            attribute[config.numAttrs].val.clusterDim.y = c.cluster.y;
            attribute[config.numAttrs++].val.clusterDim.z = c.cluster.z;
        }
        if (c.cooperative) {
            attribute[config.numAttrs].id = cudaLaunchAttributeCooperative;
            attribute[config.numAttrs++].val.cooperative = 1;
        }
    }
    runtime_config(const runtime_config &) = delete;
    runtime_config &operator=(const runtime_config &) = delete;
};
#else
static inline simt::launch_shape shape_of(const launch_config &c) {
    return {c.grid, c.block, c.cluster, c.smem, c.stream, c.cooperative};
}
#endif

template <class... P> static inline cudaError_t allow_smem(void (*kernel)(P...), size_t bytes) {
    return bytes <= 48 * 1024 ? cudaSuccess
                              : cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(bytes));
}

/* cudaSuccess or the launch's error. */
template <class... P, class... A>
static inline cudaError_t gpu_launch(const launch_config &c, void (*kernel)(P...), A &&...a) {
#ifdef __CUDACC__
    const cudaError_t e = allow_smem(kernel, c.smem);
    if (e != cudaSuccess) return e;
    const runtime_config config(c);
    return cudaLaunchKernelEx(&config.config, kernel, static_cast<P>(a)...);
#else
    return simt::launch(shape_of(c), kernel, static_cast<P>(a)...);
#endif
}

/* How many clusters of such a launch the device runs at a time. */
template <class... P>
static inline cudaError_t gpu_clusters_at_once(int *clusters, const launch_config &c,
                                               void (*kernel)(P...)) {
    const cudaError_t e = allow_smem(kernel, c.smem);
    if (e != cudaSuccess) return e;
#ifdef __CUDACC__
    const runtime_config config(c);
    return cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void *>(kernel),
                                          &config.config);
#else
    return simt::clusters_at_once(clusters, shape_of(c), reinterpret_cast<const void *>(kernel));
#endif
}

/* `matrices` of one shape in global memory, contiguous along their rows: their base, and bytes from one row or matrix to
 * the next, are multiples of 16. */
struct tensor {
    const void *base;
    CUtensorMapDataType type;
    uint64_t cols, rows, row_bytes;
    uint64_t matrices, matrix_bytes;
};

/* Describes them for the tensor memory accelerator, which copies boxes, each of one matrix; zero outside. *out has to be
 * 64-byte aligned; the width of a box is at most the swizzle's. dimensions: 3, or 2 for one matrix. The driver's function
 * is asked for by name, so that nothing links to the driver. */
static inline cudaError_t gpu_tensor_map(CUtensorMap *out, const tensor &x, uint32_t dimensions,
                                         uint32_t box_cols, uint32_t box_rows,
                                         CUtensorMapSwizzle swizzle) {
    using encode_fn = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                   const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                   const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                   CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    const cuuint64_t dim[3] = {x.cols, x.rows, x.matrices},
                     stride[2] = {x.row_bytes, x.matrix_bytes};
    const cuuint32_t box[3] = {box_cols, box_rows, 1}, every[3] = {1, 1, 1};
    static void *encode = nullptr; /* asking takes longer than encoding */
    if (!encode) {
        void *address = nullptr;
        cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
        const cudaError_t e = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address,
                                                               12000, cudaEnableDefault, &found);
#else
        const cudaError_t e =
            cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &address, cudaEnableDefault, &found);
#endif
        if (e != cudaSuccess) return e;
        if (!address || found != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
        encode = address;
    }
    const CUresult r = reinterpret_cast<encode_fn>(encode)(
        out, x.type, dimensions, const_cast<void *>(x.base), dim, stride, box, every,
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return r == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}
#endif
