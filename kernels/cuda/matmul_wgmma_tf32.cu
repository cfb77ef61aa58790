/* matmul_wgmma_tf32.cu - products of fp32 operands in tf32 on Hopper's tensor cores, which read the upper 19 bits. Not run on a
 * GPU yet. wgmma wants k contiguous: other layouts are turned by a pre-pass, in the row's time. */
#include "wgmma_launch.cuh"

struct wgmma_tf32 {
    using product = float;
    static constexpr int SIZE = 4;
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::tf32;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    static constexpr bool PROMOTED = false;
};

using rows = wgmma_rows<DT_tf32, wgmma_tf32>;

extern "C" const struct impl matmul_wgmma_tf32_cuda[];
const struct impl matmul_wgmma_tf32_cuda[] = {
    {OP_matmul, "wgmma_tma", DT_tf32, rows::run, refuses_wgmma, rows::scratch_bytes},
    {OP_bmm, "wgmma_tma", DT_tf32, rows::run, refuses_wgmma, rows::scratch_bytes},
    {},
};
