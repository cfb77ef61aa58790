/* matmul_tcgen05_fp8.cu - products in fp8 on sm_100a's tensor cores. Not run on hardware. The kernel wants k contiguous: other
 * layouts are turned by a pre-pass, in the row's time. Sums stay in tensor memory, in fp32: no `promoted` form as on Hopper. */
#include "tcgen05_launch.cuh"

template <bool IS_E4M3> struct tcgen05_fp8 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 1;
    static constexpr gpu::tcgen05_kind KIND = gpu::tcgen05_kind::f8f6f4;
    static constexpr uint32_t FORMAT = IS_E4M3 ? 0 : 1;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    static constexpr bool SCALED = false;
};

template <enum dtype T> using rows = tcgen05_rows<T, tcgen05_fp8<T == DT_fp8_e4m3>>;

#define ROWS(dtype)                                                      \
    {OP_matmul,        "tcgen05_tma",   dtype,                           \
     rows<dtype>::run, refuses_tcgen05, rows<dtype>::scratch_bytes},     \
    {                                                                    \
        OP_bmm, "tcgen05_tma", dtype, rows<dtype>::run, refuses_tcgen05, \
            rows<dtype>::scratch_bytes                                   \
    }

extern "C" const struct impl matmul_tcgen05_fp8_cuda[];
const struct impl matmul_tcgen05_fp8_cuda[] = {
    ROWS(DT_fp8_e4m3),
    ROWS(DT_fp8_e5m2),
    {},
};
