/* cblas.c - OpenBLAS and BLIS as rows: found at run time, each in a scope of its own, so that
 * one process holds both although they export the same names. Interface: BLAS Technical Forum
 * Standard (2001), appendix B, 32-bit integers. */
#include "tables.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* CBLAS_ORDER, CBLAS_TRANSPOSE */

/* The routines of one precision. */
#define T           float
#define ROUTINES(f) f##_single
#include "cblas_routines.inc"
#define T           double
#define ROUTINES(f) f##_double
#include "cblas_routines.inc"

struct library {
    const char *impl, *file, *other_file, *absent; /* other_file: Fedora's threaded build */
    struct routines_single single;
    struct routines_double twice;
    void (*set_threads_int)(int);      /* OpenBLAS */
    void (*set_threads_wide)(int64_t); /* BLIS: dim_t */
    int threads;                       /* last set; 0: never */
    bool loaded;
    char version[128];
};

/* Handles of what is loaded: there is one of each library in a process, as there is one device. */
static struct library libraries[] = {
    {.impl = "openblas",
     .file = "libopenblas.so.0",
     .other_file = "libopenblasp.so.0",
     .absent = "libopenblas.so.0 is not installed"},
    {.impl = "blis",
     .file = "libblis.so.4",
     .other_file = "libbliso.so.4",
     .absent = "libblis.so.4 is not installed"},
};
enum { OPENBLAS, BLIS, LIBRARIES };

/* *function = the address of a symbol, or NULL. ISO C has no cast from an object pointer to a
 * function's. */
static void find(void *handle, const char *name, void *function) {
    void *address = dlsym(handle, name);
    memcpy(function, &address, sizeof address);
}

static void describe_openblas(void *handle, struct library *l) {
    char *(*config)(void);
    find(handle, "openblas_get_config", &config);
    snprintf(l->version, sizeof l->version, "%s", config ? config() : "OpenBLAS");
}

static void describe_blis(void *handle, struct library *l) {
    const char *(*version)(void);
    int (*architecture)(void);
    const char *(*name)(int);
    find(handle, "bli_info_get_version_str", &version);
    find(handle, "bli_arch_query_id", &architecture);
    find(handle, "bli_arch_string", &name);
    snprintf(l->version, sizeof l->version, "BLIS %s %s", version ? version() : "",
             architecture && name ? name(architecture()) : "");
}

void cblas_open(void) {
    for (int i = 0; i < LIBRARIES; i++) {
        struct library *l = &libraries[i];
        if (l->loaded) continue;
        void *handle = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
        if (!handle) handle = dlopen(l->other_file, RTLD_NOW | RTLD_LOCAL);
        if (!handle) continue;
        find(handle, "cblas_sgemm", &l->single.gemm);
        find(handle, "cblas_sgemv", &l->single.gemv);
        find(handle, "cblas_sdot", &l->single.dot);
        find(handle, "cblas_saxpy", &l->single.axpy);
        find(handle, "cblas_scopy", &l->single.copy);
        find(handle, "cblas_dgemm", &l->twice.gemm);
        find(handle, "cblas_dgemv", &l->twice.gemv);
        find(handle, "cblas_ddot", &l->twice.dot);
        find(handle, "cblas_daxpy", &l->twice.axpy);
        find(handle, "cblas_dcopy", &l->twice.copy);
        find(handle, "openblas_set_num_threads", &l->set_threads_int);
        find(handle, "bli_thread_set_num_threads", &l->set_threads_wide);
        l->loaded = l->single.gemm && l->single.gemv && l->single.dot && l->single.axpy &&
                    l->single.copy && l->twice.gemm && l->twice.gemv && l->twice.dot &&
                    l->twice.axpy && l->twice.copy;
        if (!l->loaded) {
            dlclose(handle);
            continue;
        }
        if (i == OPENBLAS)
            describe_openblas(handle, l);
        else
            describe_blis(handle, l);
    }
}

const char *cblas_version(const char *impl) {
    for (int i = 0; i < LIBRARIES; i++)
        if (strcmp(impl, libraries[i].impl) == 0)
            return libraries[i].loaded ? libraries[i].version : NULL;
    return NULL;
}

static const char *refuses(const struct library *l, const struct args *a) {
    if (!l->loaded) return l->absent;
    const struct shape s = a->s;
    if (s.m > INT_MAX || s.n > INT_MAX || s.k > INT_MAX) return "this CBLAS counts in 32 bits";
    return NULL;
}
static const char *refuses_openblas(const struct args *a) {
    return refuses(&libraries[OPENBLAS], a);
}
static const char *refuses_blis(const struct args *a) { return refuses(&libraries[BLIS], a); }

/* Setting it costs a lock in OpenBLAS, so only when it changes. */
static void use_threads(struct library *l, int threads) {
    if (l->threads == threads) return;
    if (l->set_threads_int) l->set_threads_int(threads);
    if (l->set_threads_wide) l->set_threads_wide(threads);
    l->threads = threads;
}

#define LIBRARY OPENBLAS
#define T       float
#define OF      single
#define FN(f)   openblas_##f##_fp32
#include "cblas_rows.inc"
#define T     double
#define OF    twice
#define FN(f) openblas_##f##_fp64
#include "cblas_rows.inc"
#undef LIBRARY

#define LIBRARY BLIS
#define T       float
#define OF      single
#define FN(f)   blis_##f##_fp32
#include "cblas_rows.inc"
#define T     double
#define OF    twice
#define FN(f) blis_##f##_fp64
#include "cblas_rows.inc"
#undef LIBRARY

#define ROWS(library, dtype)                                                                    \
    {OP_copy, #library, DT_##dtype, library##_copy_##dtype, refuses_##library, NULL},           \
        {OP_axpy, #library, DT_##dtype, library##_axpy_##dtype, refuses_##library, NULL},       \
        {OP_dot, #library, DT_##dtype, library##_dot_##dtype, refuses_##library, NULL},         \
        {OP_matvec, #library, DT_##dtype, library##_matvec_##dtype, refuses_##library, NULL},   \
        {OP_matmul, #library, DT_##dtype, library##_matmul_##dtype, refuses_##library, NULL}, { \
        OP_bmm, #library, DT_##dtype, library##_matmul_##dtype, refuses_##library, NULL         \
    }

const struct impl openblas_cpu[] = {ROWS(openblas, fp64), ROWS(openblas, fp32), {.run = NULL}};
const struct impl blis_cpu[] = {ROWS(blis, fp64), ROWS(blis, fp32), {.run = NULL}};
