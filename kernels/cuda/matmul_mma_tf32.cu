/* matmul_mma_tf32.cu - products of fp32 operands in tf32 on tensor cores by mma.sync, which reads the upper 19 bits. */
#include "matmul_mma.cuh"

using rows = mma_rows<DT_tf32, operand_tf32>;

extern "C" const struct impl matmul_mma_tf32_cuda[];
const struct impl matmul_mma_tf32_cuda[] = {
    {OP_matmul, "mma_sync", DT_tf32, rows::run, refuses_mma, rows::scratch_bytes},
    {OP_bmm, "mma_sync", DT_tf32, rows::run, refuses_mma, rows::scratch_bytes},
    {},
};
