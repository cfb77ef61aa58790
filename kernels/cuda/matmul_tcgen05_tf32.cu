/* matmul_tcgen05_tf32.cu - products of fp32 operands in tf32 on sm_100a's tensor cores, which read the upper 19 bits. Not run on
 * hardware. The kernel wants k contiguous: other layouts are turned by a pre-pass, in the row's time. */
#include "tcgen05_launch.cuh"

struct tcgen05_tf32 {
    using product = float;
    static constexpr int SIZE = 4;
    static constexpr gpu::tcgen05_kind KIND = gpu::tcgen05_kind::tf32;
    static constexpr uint32_t FORMAT = 2;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    static constexpr bool SCALED = false;
};

using rows = tcgen05_rows<DT_tf32, tcgen05_tf32>;

extern "C" const struct impl matmul_tcgen05_tf32_cuda[];
const struct impl matmul_tcgen05_tf32_cuda[] = {
    {OP_matmul, "tcgen05_tma", DT_tf32, rows::run, refuses_tcgen05, rows::scratch_bytes},
    {OP_bmm, "tcgen05_tma", DT_tf32, rows::run, refuses_tcgen05, rows::scratch_bytes},
    {},
};
