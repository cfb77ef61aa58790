/* matmul_mma_bf16.cu - products in bf16 on tensor cores by mma.sync; and in fp8 and nvfp4 as bf16, into which both convert
 * exactly: fp8 for GPUs without an fp8 mma.sync. */
#include "matmul_mma.cuh"

struct operand_bf16 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 2;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        gpu::mma_m16n8k16_bf16(d, a, b);
    }
};

template <enum dtype T> using rows = mma_rows<T, mma_kernels<operand_bf16>>;

#define ROWS(op, idea, dtype) \
    { op, idea, dtype, rows<dtype>::run, refuses_mma, rows<dtype>::scratch_bytes }

extern "C" const struct impl matmul_mma_bf16_cuda[];
const struct impl matmul_mma_bf16_cuda[] = {
    ROWS(OP_matmul, "mma_sync", DT_bf16),
    ROWS(OP_bmm, "mma_sync", DT_bf16),
    ROWS(OP_matmul, "mma_sync_bf16", DT_fp8_e4m3),
    ROWS(OP_bmm, "mma_sync_bf16", DT_fp8_e4m3),
    ROWS(OP_matmul, "mma_sync_bf16", DT_fp8_e5m2),
    ROWS(OP_bmm, "mma_sync_bf16", DT_fp8_e5m2),
    ROWS(OP_matmul, "mma_sync_bf16", DT_nvfp4),
    ROWS(OP_bmm, "mma_sync_bf16", DT_nvfp4),
    {},
};
