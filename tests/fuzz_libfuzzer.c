/* fuzz_libfuzzer.c - what libFuzzer calls. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) { return fuzz_one(data, length); }
