/* matmul_mma_fp16.cu - products in fp16 on tensor cores by mma.sync. */
#include "matmul_mma.cuh"

struct operand_fp16 {
    using product = __half;
    static constexpr int SIZE = 2;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k16_f16(d, a, b);
    }
};

using rows = mma_rows<DT_fp16, mma_kernels<operand_fp16>>;

extern "C" const struct impl matmul_mma_fp16_cuda[];
const struct impl matmul_mma_fp16_cuda[] = {
    {OP_matmul, "mma_sync", DT_fp16, rows::run, refuses_mma, rows::scratch_bytes},
    {OP_bmm, "mma_sync", DT_fp16, rows::run, refuses_mma, rows::scratch_bytes},
    {},
};
