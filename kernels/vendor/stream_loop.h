/* stream_loop.h - a loop compiled for the machine that the program was built on, and what it needs of another one. */
#ifndef VENDOR_STREAM_LOOP_H
#define VENDOR_STREAM_LOOP_H
#include "../catalogue.h"

enum stream_needs { STREAM_needs_nothing, STREAM_needs_avx2, STREAM_needs_avx512 };
extern const enum stream_needs stream_loop_needs;

int stream_triad_fp32(const struct args *a);
int stream_triad_fp64(const struct args *a);
#endif
