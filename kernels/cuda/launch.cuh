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
    simt::Launch l;
    l.grid = c.grid;
    l.block = c.block;
    l.cluster = c.cluster;
    l.smem = c.smem;
    l.cooperative = c.cooperative;
    simt::launch(l, kernel, static_cast<P>(a)...);
    return cudaSuccess;
#endif
}
#endif
