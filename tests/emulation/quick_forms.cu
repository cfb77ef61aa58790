/* quick_forms.cu - operands for the PTX that quick_forms.sh writes, and its results in hexadecimal, a line a thread:
 * every pair of values at which integers and floats turn, with a third. There is no kernel but that PTX. */
#include "../../kernels/cuda/launch.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <vector>

extern "C" __global__ void quick_forms(const uint64_t *, uint64_t *) {}

static const uint64_t values[] = {
    0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x12345678, 0x7fffffff,
    0x80000000, 0x80000001, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
    0xffffffffffffffff, 0xfedcba9876543210,
    /* of fp32: 1, -1.5, 1 + 2^-23, the largest, the smallest, subnormals, infinities, NaN, -0 is above */
    0x3f800000, 0xbfc00000, 0x3f800001, 0x7f7fffff, 0x00800000, 0x007fffff, 0x7f800000, 0xff800000,
    0x7fc00000,
    /* of fp64 likewise */
    0x3ff0000000000000, 0xbff8000000000000, 0x3ff0000000000001, 0x7fefffffffffffff,
    0x0010000000000000, 0x000fffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000};

int main(int argc, char **argv) {
    enum { N = sizeof values / sizeof *values, THREADS = N * N };
    const int results = argc > 1 ? atoi(argv[1]) : 0;
    if (results < 1) {
        fprintf(stderr, "quick_forms: how many results has a thread?\n");
        return EXIT_FAILURE;
    }
    std::vector<uint64_t> in, out(static_cast<size_t>(THREADS * results));
    for (int i = 0; i < THREADS; i++) {
        in.push_back(values[i % N]);
        in.push_back(values[i / N]);
        in.push_back(values[(i % N + 2 * (i / N)) % N]);
    }
    const size_t in_bytes = in.size() * sizeof in[0], out_bytes = out.size() * sizeof out[0];
    uint64_t *from = nullptr, *to = nullptr;
    launch_config c;
    c.grid = dim3(N);
    c.block = dim3(N);
    if (cudaMalloc(reinterpret_cast<void **>(&from), in_bytes) != cudaSuccess ||
        cudaMalloc(reinterpret_cast<void **>(&to), out_bytes) != cudaSuccess ||
        cudaMemcpy(from, in.data(), in_bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
        cudaMemset(to, 0, out_bytes) != cudaSuccess ||
        gpu_launch(c, quick_forms, static_cast<const uint64_t *>(from), to) != cudaSuccess ||
        cudaMemcpy(out.data(), to, out_bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
        fprintf(stderr, "quick_forms: no device, or the launch failed\n");
        return EXIT_FAILURE;
    }
    cudaFree(from);
    cudaFree(to);
    for (int i = 0; i < THREADS; i++)
        for (int r = 0; r < results; r++)
            printf("%016llx%c",
                   static_cast<unsigned long long>(out[static_cast<size_t>(i * results + r)]),
                   r + 1 < results ? ' ' : '\n');
    return EXIT_SUCCESS;
}
