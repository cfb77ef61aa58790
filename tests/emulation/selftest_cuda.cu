/* selftest_cuda.cu - selftest.cu for nvcc; CMake lets a file have one language. */
#include "selftest.cu"
