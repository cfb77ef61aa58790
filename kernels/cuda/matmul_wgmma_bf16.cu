/* matmul_wgmma_bf16.cu - products in bf16 on Hopper's tensor cores; and in nvfp4 as bf16, into which it converts exactly.
 * Not run on a GPU yet. */
#include "wgmma_launch.cuh"

struct wgmma_bf16 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 2;
    static constexpr gpu::wgmma_type TYPE = gpu::wgmma_type::bf16;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    static constexpr bool PROMOTED = false;
};

template <enum dtype T> using rows = wgmma_rows<T, wgmma_bf16>;

#define ROWS(op, idea, dtype) \
    { op, idea, dtype, rows<dtype>::run, refuses_wgmma, rows<dtype>::scratch_bytes }

extern "C" const struct impl matmul_wgmma_bf16_cuda[];
const struct impl matmul_wgmma_bf16_cuda[] = {
    ROWS(OP_matmul, "wgmma_tma", DT_bf16),
    ROWS(OP_bmm, "wgmma_tma", DT_bf16),
    ROWS(OP_matmul, "wgmma_tma_bf16", DT_nvfp4),
    ROWS(OP_bmm, "wgmma_tma_bf16", DT_nvfp4),
    {},
};
