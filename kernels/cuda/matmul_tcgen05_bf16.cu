/* matmul_tcgen05_bf16.cu - products in bf16 on sm_100a's tensor cores; and in nvfp4 as bf16, into which it converts exactly,
 * for layouts whose scales do not run along k. Not run on hardware. */
#include "tcgen05_launch.cuh"

struct tcgen05_bf16 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 2;
    static constexpr gpu::tcgen05_kind KIND = gpu::tcgen05_kind::f16;
    static constexpr uint32_t FORMAT = 1;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    static constexpr bool SCALED = false;
};

template <enum dtype T> using rows = tcgen05_rows<T, tcgen05_bf16>;

#define ROWS(op, idea, dtype) \
    { op, idea, dtype, rows<dtype>::run, refuses_tcgen05, rows<dtype>::scratch_bytes }

extern "C" const struct impl matmul_tcgen05_bf16_cuda[];
const struct impl matmul_tcgen05_bf16_cuda[] = {
    ROWS(OP_matmul, "tcgen05_tma", DT_bf16),
    ROWS(OP_bmm, "tcgen05_tma", DT_bf16),
    ROWS(OP_matmul, "tcgen05_tma_bf16", DT_nvfp4),
    ROWS(OP_bmm, "tcgen05_tma_bf16", DT_nvfp4),
    {},
};
