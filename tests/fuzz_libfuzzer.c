/* fuzz_libfuzzer.c - what libFuzzer calls. FUZZ_PARSER=e in the environment: only the parser of that letter (fuzz_account.c), which
 * mutations then leave in its place. */
#include "fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t length, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t length, size_t most); /* libFuzzer's */

/* '\0': all of them. */
static uint8_t only(void) {
    const char *parser = getenv("FUZZ_PARSER");
    return parser ? (uint8_t)*parser : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
    const uint8_t parser = only();
    return length == 0 || (parser && data[0] != parser) ? 0 : fuzz_one(data, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t length, size_t most, unsigned seed) {
    const uint8_t parser = only();
    (void)seed;
    if (!parser || most < 2) return LLVMFuzzerMutate(data, length, most);
    if (length < 2) length = 2;
    data[0] = parser;
    return 1 + LLVMFuzzerMutate(data + 1, length - 1, most - 1);
}
