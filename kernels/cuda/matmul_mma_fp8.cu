/* matmul_mma_fp8.cu - products in fp8 on tensor cores by mma.sync, where that is an instruction of the hardware: sm_89 and
 * sm_120. Elsewhere the assembler converts to fp16, slower than converting once (matmul_mma_bf16.cu); Hopper's and
 * Blackwell's fp8 is in wgmma and tcgen05. Fragments want k contiguous: other layouts are turned by a pre-pass. */
#include "matmul_mma.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ == 1200
#define FP8_MMA(instruction) instruction(d, a, b)
#else
#define FP8_MMA(instruction) \
    ((void)d, (void)a, (void)b, __trap()) /* refuses() keeps everybody away */
#endif

struct operand_e4m3 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 1;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        FP8_MMA(gpu::mma_m16n8k32_e4m3);
    }
};
struct operand_e5m2 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 1;
    static DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        FP8_MMA(gpu::mma_m16n8k32_e5m2);
    }
};

static const char *refuses(const struct args *a) {
    if (a->gpu->cc != 89 && a->gpu->cc != 120)
        return "fp8 mma.sync is an instruction of sm_89 and sm_120 only; elsewhere it is emulated";
    return refuses_mma(a);
}

using e4m3 = mma_rows<DT_fp8_e4m3, mma_kernels<operand_e4m3, true>>;
using e5m2 = mma_rows<DT_fp8_e5m2, mma_kernels<operand_e5m2, true>>;

extern "C" const struct impl matmul_mma_fp8_cuda[];
const struct impl matmul_mma_fp8_cuda[] = {
    {OP_matmul, "mma_sync", DT_fp8_e4m3, e4m3::run, refuses, e4m3::scratch_bytes},
    {OP_matmul, "mma_sync", DT_fp8_e5m2, e5m2::run, refuses, e5m2::scratch_bytes},
    {OP_bmm, "mma_sync", DT_fp8_e4m3, e4m3::run, refuses, e4m3::scratch_bytes},
    {OP_bmm, "mma_sync", DT_fp8_e5m2, e5m2::run, refuses, e5m2::scratch_bytes},
    {},
};
