/* nvfp4.cuh - an nvfp4 tensor on the GPU (layout: numerics.h). Element i is e2m1(code i) e4m3(scale i/16) times the
 * tensor's scale; the product of the first two has at most 6 significant bits and is exact in bf16, fp16 and fp32. */
#ifndef NVFP4_CUH
#define NVFP4_CUH
#include "../numerics.h"
#include "cuda_kernel.cuh"

struct nvfp4_tensor {
    const uint8_t *codes;
    const __nv_fp8_e4m3 *scales;
    const float *tensor_scale;
};

static inline nvfp4_tensor nvfp4_tensor_at(const void *tensor, int64_t elements) {
    const uint8_t *codes = static_cast<const uint8_t *>(tensor);
    return {codes, reinterpret_cast<const __nv_fp8_e4m3 *>(nvfp4_scales_const(tensor, elements)),
            reinterpret_cast<const float *>(codes + nvfp4_tensor_scale_offset(elements))};
}

/* The low four bits as a number: placed at the top of an fp32's exponent and fraction they are it times 2^-126,
 * subnormals included. */
DEV float e2m1_widen(unsigned code) {
    return __uint_as_float((code & 8) << 28 | (code & 7) << 22) * 0x1p126f;
}

/* Element i without the tensor's scale, which belongs into a product's alpha. */
DEV float nvfp4_element(const nvfp4_tensor &x, int64_t i) {
    const unsigned pair = x.codes[i / 2];
    return e2m1_widen(i % 2 ? pair >> 4 : pair) * widen(x.scales[i / NVFP4_BLOCK]);
}
#endif
