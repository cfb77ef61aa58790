/* stream.c - rows of STREAM's loop: what a compiler makes of a triad, to stand beside ours. */
#include "tables.h"

#include "../cpu/isa.h"
#include "stream_loop.h"

static const char *refuses(const struct args *a) {
    switch (stream_loop_needs) {
    case STREAM_needs_avx512:
        return refuses_without_avx512(a);
    case STREAM_needs_avx2:
        return refuses_without_avx2(a);
    default:
        return NULL;
    }
}

const struct impl stream_loop_cpu[] = {
    {OP_triad, "stream_loop", DT_fp32, stream_triad_fp32, refuses, NULL},
    {OP_triad, "stream_loop", DT_fp64, stream_triad_fp64, refuses, NULL},
    {.run = NULL},
};

#if defined(__clang__)
static const char compiler[] = "clang " __clang_version__;
#elif defined(__GNUC__)
static const char compiler[] = "GCC " __VERSION__;
#else
static const char compiler[] = "this build's compiler";
#endif

const char *stream_loop_version(void) { return compiler; }
