/* matmul_wgmma_fp8.cu - products in fp8 on Hopper's tensor cores, in two forms. Not run on a GPU yet.
 *   fast      sums stay in the tensor cores' accumulators, which keep about 14 bits of them (DeepSeek-V3 report, 3.3.2)
 *   promoted  every 128 of k they are added to sums in fp32
 * wgmma wants k contiguous: other layouts are turned by a pre-pass, in the row's time. */
#include "wgmma_launch.cuh"

template <bool IS_E4M3, bool PROMOTED_> struct wgmma_fp8 {
    using product = __nv_bfloat16;
    static constexpr int SIZE = 1;
    static constexpr gpu::wgmma_type TYPE = IS_E4M3 ? gpu::wgmma_type::e4m3 : gpu::wgmma_type::e5m2;
    static constexpr CUtensorMapDataType MAP = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    static constexpr bool PROMOTED = PROMOTED_;
};

template <enum dtype T, bool PROMOTED>
using rows = wgmma_rows<T, wgmma_fp8<T == DT_fp8_e4m3, PROMOTED>>;

#define ROWS(idea, dtype, promoted)                                     \
    {OP_matmul,     idea,                                               \
     dtype,         rows<dtype, promoted>::run,                         \
     refuses_wgmma, rows<dtype, promoted>::scratch_bytes},              \
    {                                                                   \
        OP_bmm, idea, dtype, rows<dtype, promoted>::run, refuses_wgmma, \
            rows<dtype, promoted>::scratch_bytes                        \
    }

extern "C" const struct impl matmul_wgmma_fp8_cuda[];
const struct impl matmul_wgmma_fp8_cuda[] = {
    ROWS("wgmma_tma_fast", DT_fp8_e4m3, false),    ROWS("wgmma_tma_fast", DT_fp8_e5m2, false),
    ROWS("wgmma_tma_promoted", DT_fp8_e4m3, true), /* the best: its sums are fp32's */
    ROWS("wgmma_tma_promoted", DT_fp8_e5m2, true), {},
};
