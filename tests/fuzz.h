/* fuzz.h - one input of a fuzzer; 0. Aborts where a promise is broken. */
#ifndef FUZZ_H
#define FUZZ_H
#include <stddef.h>
#include <stdint.h>

int fuzz_one(const uint8_t *data, size_t length);
#endif
