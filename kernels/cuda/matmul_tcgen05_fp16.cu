/* matmul_tcgen05_fp16.cu - products in fp16 on sm_100a's tensor cores. Not run on hardware. */
#include "tcgen05_launch.cuh"

struct tcgen05_fp16 {
    using product = __half;
    static constexpr int SIZE = 2;
    static constexpr gpu::tcgen05_kind KIND = gpu::tcgen05_kind::f16;
    static constexpr uint32_t FORMAT = 0;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    static constexpr bool SCALED = false;
};

using rows = tcgen05_rows<DT_fp16, tcgen05_fp16>;

extern "C" const struct impl matmul_tcgen05_fp16_cuda[];
const struct impl matmul_tcgen05_fp16_cuda[] = {
    {OP_matmul, "tcgen05_tma", DT_fp16, rows::run, refuses_tcgen05, rows::scratch_bytes},
    {OP_bmm, "tcgen05_tma", DT_fp16, rows::run, refuses_tcgen05, rows::scratch_bytes},
    {},
};
