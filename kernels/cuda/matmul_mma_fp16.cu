/* matmul_mma_fp16.cu - products in fp16 on tensor cores by mma.sync. */
#include "matmul_mma.cuh"

using rows = mma_rows<DT_fp16, operand_fp16>;

extern "C" const struct impl matmul_mma_fp16_cuda[];
const struct impl matmul_mma_fp16_cuda[] = {
    {OP_matmul, "mma_sync", DT_fp16, rows::run, refuses_mma, rows::scratch_bytes},
    {OP_bmm, "mma_sync", DT_fp16, rows::run, refuses_mma, rows::scratch_bytes},
    {},
};
