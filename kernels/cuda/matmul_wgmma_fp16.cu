/* matmul_wgmma_fp16.cu - products in fp16 on Hopper's tensor cores. Not run on a GPU yet. */
#include "wgmma_launch.cuh"

struct wgmma_fp16 {
    using product = __half;
    static constexpr int SIZE = 2;
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::f16;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    static constexpr bool PROMOTED = false;
};

using rows = wgmma_rows<DT_fp16, wgmma_fp16>;

extern "C" const struct impl matmul_wgmma_fp16_cuda[];
const struct impl matmul_wgmma_fp16_cuda[] = {
    {OP_matmul, "wgmma_tma", DT_fp16, rows::run, refuses_wgmma, rows::scratch_bytes},
    {OP_bmm, "wgmma_tma", DT_fp16, rows::run, refuses_wgmma, rows::scratch_bytes},
    {},
};
