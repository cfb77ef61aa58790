/* matmul_mma_tf32.cu - products of fp32 operands in tf32 on tensor cores by mma.sync, which reads the upper 19 bits. */
#include "matmul_mma.cuh"

struct operand_tf32 {
    using product = float;
    static constexpr int SIZE = 4;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k8_tf32(d, a, b);
    }
};

using rows = mma_rows<DT_tf32, mma_kernels<operand_tf32>>;

extern "C" const struct impl matmul_mma_tf32_cuda[];
const struct impl matmul_mma_tf32_cuda[] = {
    {OP_matmul, "mma_sync", DT_tf32, rows::run, refuses_mma, rows::scratch_bytes},
    {OP_bmm, "mma_sync", DT_tf32, rows::run, refuses_mma, rows::scratch_bytes},
    {},
};
