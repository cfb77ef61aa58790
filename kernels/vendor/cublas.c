/* cublas.c - cuBLAS and cuBLASLt as rows, found at run time: the program starts without them.
 *
 * cuBLAS is column-major: a row-major C = A B is its C' = B' A', so B comes first and n before m. The arithmetic is
 * pinned: fp32 by CUBLAS_COMPUTE_32F_PEDANTIC, tf32 by 32F_FAST_TF32; and the variables that make version 13 emulate fp32
 * by bf16 or fp64 by int8 are taken out of the environment. cuBLASLt times its heuristics' first algorithms once a problem
 * and keeps the fastest, which a caller who cares would do. */
#define _GNU_SOURCE
#include "cublas.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHMS = 8, TRIES = 3 };

/* clang-format off */
#define BLAS_FUNCTIONS(X) \
    X(cublasCreate_v2) X(cublasSetStream_v2) X(cublasSetWorkspace_v2) X(cublasSetPointerMode_v2) \
    X(cublasGetProperty) X(cublasGemmEx) X(cublasGemmStridedBatchedEx) X(cublasDgemv_v2) \
    X(cublasSgemv_v2) X(cublasDdot_v2) X(cublasSdot_v2)
#define LT_FUNCTIONS(X) \
    X(cublasLtCreate) X(cublasLtGetVersion) X(cublasLtMatmulDescCreate) \
    X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) X(cublasLtMatrixLayoutCreate) \
    X(cublasLtMatrixLayoutDestroy) X(cublasLtMatrixLayoutSetAttribute) \
    X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) \
    X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmul)
/* clang-format on */

/* One of each library in a process, as there is one device. */
static struct {
#define POINTER(f) __typeof__(f) *f; /* NOLINT(bugprone-macro-parentheses): a declarator */
    BLAS_FUNCTIONS(POINTER)
    LT_FUNCTIONS(POINTER)
#undef POINTER
    cublasHandle_t handle;
    cublasLtHandle_t lt_handle;
    bool has_blas, has_lt;
    char blas_version[64], lt_version[64];
} lib;

/* ---- loading ---- */

static void *load(const char *variable, const char *const names[]) {
    const char *override = getenv(variable);
    if (override) return dlopen(override, RTLD_NOW | RTLD_LOCAL);
    void *handle = NULL;
    for (int i = 0; !handle && names[i]; i++) handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static bool find(void *handle, const char *name, void *function) {
    void *address = dlsym(handle, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

void cublas_open(void) {
    static const char *const blas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                             NULL},
                             *const lt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                                  "libcublasLt.so", NULL},
                             *const emulating[] = {
                                 "CUBLAS_EMULATE_SINGLE_PRECISION",
                                 "CUBLAS_EMULATE_DOUBLE_PRECISION", "CUBLAS_EMULATION_STRATEGY",
                                 "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT", NULL};
    if (lib.has_blas || lib.has_lt) return;
    for (int i = 0; emulating[i]; i++) unsetenv(emulating[i]);
    void *blas = load("ROOFLINE_CUBLAS", blas_names), *lt = load("ROOFLINE_CUBLASLT", lt_names);
    lib.has_blas = blas != NULL;
    lib.has_lt = lt != NULL;
#define FIND_BLAS(f) lib.has_blas = lib.has_blas && find(blas, #f, &lib.f);
#define FIND_LT(f)   lib.has_lt = lib.has_lt && find(lt, #f, &lib.f);
    BLAS_FUNCTIONS(FIND_BLAS)
    LT_FUNCTIONS(FIND_LT)
    if (lib.has_blas) {
        int part[3] = {0, 0, 0};
        for (int i = 0; i < 3; i++) lib.cublasGetProperty((libraryPropertyType)i, &part[i]);
        snprintf(lib.blas_version, sizeof lib.blas_version, "cuBLAS %d.%d.%d", part[0], part[1],
                 part[2]);
    }
    if (lib.has_lt) {
        const size_t v = lib.cublasLtGetVersion(); /* 130100 is 13.1.0 */
        snprintf(lib.lt_version, sizeof lib.lt_version, "cuBLASLt %zu.%zu.%zu", v / 10000,
                 v / 100 % 100, v % 100);
    }
}

const char *cublas_version(const char *name) {
    if (strcmp(name, "cublas") == 0) return lib.has_blas ? lib.blas_version : NULL;
    return lib.has_lt ? lib.lt_version : NULL;
}

/* The runtime's name of a cuBLAS error, so that a row has one kind of code. */
static int code(cublasStatus_t s) {
    switch (s) {
    case CUBLAS_STATUS_SUCCESS:
        return cudaSuccess;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_INVALID_VALUE:
        return cudaErrorInvalidValue;
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return cudaErrorNoKernelImageForDevice;
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return cudaErrorNotSupported;
    default:
        return cudaErrorUnknown;
    }
}
#define CHECK(call)                                       \
    do {                                                  \
        const cublasStatus_t s_ = (call);                 \
        if (s_ != CUBLAS_STATUS_SUCCESS) return code(s_); \
    } while (0)

/* cuBLAS's own defaults: 32 MiB from Hopper on, 4 MiB before. */
static size_t workspace(const struct args *a) {
    return (size_t)(a->gpu && a->gpu->cc >= 90 ? 32 : 4) << 20;
}

/* The handle, set to this call's stream and workspace. */
static int prepare(const struct args *a) {
    if (!lib.handle) CHECK(lib.cublasCreate_v2(&lib.handle));
    CHECK(lib.cublasSetStream_v2(lib.handle, a->stream));
    CHECK(lib.cublasSetWorkspace_v2(lib.handle, a->scratch, workspace(a)));
    return 0;
}

/* ---- what a product looks like to a column-major library ---- */

struct types {
    cudaDataType in, out;
    cublasComputeType_t compute;
    cudaDataType scale; /* of alpha and beta */
};

static const struct types types[DTYPE_COUNT] = {
    [DT_fp64] = {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F},
    [DT_fp32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F},
    [DT_tf32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
    [DT_fp16] = {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    [DT_bf16] = {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    [DT_fp8_e4m3] = {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F},
};

struct side {
    cublasOperation_t op;
    int rows, columns, ld; /* as stored, column-major */
    int64_t stride;        /* elements from one matrix of a batch to the next */
};

static struct side left(const struct args *a) { /* B */
    const int n = (int)a->s.n, k = (int)a->s.k;
    return a->layout == LAYOUT_NT ? (struct side){CUBLAS_OP_T, k, n, k, a->s.n * a->s.k}
                                  : (struct side){CUBLAS_OP_N, n, k, n, a->s.n * a->s.k};
}

static struct side right(const struct args *a) { /* A */
    const int m = (int)a->s.m, k = (int)a->s.k;
    return a->layout == LAYOUT_TN ? (struct side){CUBLAS_OP_T, m, k, m, a->s.m * a->s.k}
                                  : (struct side){CUBLAS_OP_N, k, m, k, a->s.m * a->s.k};
}

/* alpha or beta in the type that the library wants it in. */
union scalar {
    float single;
    double twice;
};

static union scalar scalar(double x, enum dtype t) {
    return t == DT_fp64 ? (union scalar){.twice = x} : (union scalar){.single = (float)x};
}

/* ---- refusals ---- */

static const char *extents(const struct args *a) {
    const int64_t most = INT_MAX;
    return a->s.b > most || a->s.m > most || a->s.n > most || a->s.k > most
               ? "an extent exceeds a 32-bit int"
               : NULL;
}

static const char *no_cublas(const struct args *a) {
    return lib.has_blas ? extents(a) : "libcublas is not installed";
}

static const char *no_lt(const struct args *a) {
    return lib.has_lt ? extents(a) : "libcublasLt is not installed";
}

static const char *no_lt_fp8(const struct args *a) {
    if (!a->gpu || a->gpu->cc < 89) return "cuBLASLt multiplies fp8 from sm_89 on";
    if (a->layout != LAYOUT_NT) return "cuBLASLt multiplies fp8 in the layout nt only";
    if (a->s.m % 16 || a->s.n % 16 || a->s.k % 16) return "cuBLASLt wants multiples of 16 for fp8";
    return no_lt(a);
}

/* ---- cuBLAS ---- */

static int gemm(const struct args *a, enum dtype t) {
    const struct types *x = &types[t];
    const struct side l = left(a), r = right(a);
    const union scalar alpha = scalar(a->alpha, t), beta = scalar(a->beta, t);
    const int n = (int)a->s.n, m = (int)a->s.m, k = (int)a->s.k, error = prepare(a);
    if (error) return error;
    CHECK(lib.cublasSetPointerMode_v2(lib.handle, CUBLAS_POINTER_MODE_HOST));
    if (a->s.b == 1)
        CHECK(lib.cublasGemmEx(lib.handle, l.op, r.op, n, m, k, &alpha, a->buf[1], x->in, l.ld,
                               a->buf[0], x->in, r.ld, &beta, a->buf[2], x->out, n, x->compute,
                               CUBLAS_GEMM_DEFAULT));
    else
        CHECK(lib.cublasGemmStridedBatchedEx(lib.handle, l.op, r.op, n, m, k, &alpha, a->buf[1],
                                             x->in, l.ld, l.stride, a->buf[0], x->in, r.ld,
                                             r.stride, &beta, a->buf[2], x->out, n, a->s.m * a->s.n,
                                             (int)a->s.b, x->compute, CUBLAS_GEMM_DEFAULT));
    return 0;
}

/* y = A x. n: A[m,n] is its transpose n x m; t: A[n,m] is m x n as stored. */
static int gemv(const struct args *a, enum dtype t) {
    const bool transposed = a->layout == LAYOUT_N;
    const cublasOperation_t op = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int rows = (int)(transposed ? a->s.n : a->s.m),
              columns = (int)(transposed ? a->s.m : a->s.n);
    const float one = 1, zero = 0;
    const double one_twice = 1, zero_twice = 0;
    const int error = prepare(a);
    if (error) return error;
    CHECK(lib.cublasSetPointerMode_v2(lib.handle, CUBLAS_POINTER_MODE_HOST));
    switch (t) {
    case DT_fp64:
        CHECK(lib.cublasDgemv_v2(lib.handle, op, rows, columns, &one_twice, a->buf[0], rows,
                                 a->buf[1], 1, &zero_twice, a->buf[2], 1));
        return 0;
    case DT_fp32:
        CHECK(lib.cublasSgemv_v2(lib.handle, op, rows, columns, &one, a->buf[0], rows, a->buf[1], 1,
                                 &zero, a->buf[2], 1));
        return 0;
    default: /* a product with one column; gemv in 16 bits has a C++ interface only */
        CHECK(lib.cublasGemmEx(lib.handle, op, CUBLAS_OP_N, (int)a->s.m, 1, (int)a->s.n, &one,
                               a->buf[0], types[t].in, rows, a->buf[1], types[t].in, (int)a->s.n,
                               &zero, a->buf[2], types[t].out, (int)a->s.m, types[t].compute,
                               CUBLAS_GEMM_DEFAULT));
        return 0;
    }
}

static int dot(const struct args *a, enum dtype t) {
    const int n = (int)a->s.n, error = prepare(a);
    if (error) return error;
    CHECK(lib.cublasSetPointerMode_v2(lib.handle, CUBLAS_POINTER_MODE_DEVICE));
    if (t == DT_fp64)
        CHECK(lib.cublasDdot_v2(lib.handle, n, a->buf[0], 1, a->buf[1], 1, a->buf[2]));
    else
        CHECK(lib.cublasSdot_v2(lib.handle, n, a->buf[0], 1, a->buf[1], 1, a->buf[2]));
    return 0;
}

/* ---- cuBLASLt ---- */

/* What the last problem was, described to the library, and the algorithm that was fastest for it. */
struct lt_plan {
    struct shape s;
    enum layout layout;
    enum dtype dtype;
    bool with_c, made;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t left, right, out;
    cublasLtMatmulAlgo_t algorithm;
};

static void lt_forget(struct lt_plan *p) {
    if (p->product) lib.cublasLtMatmulDescDestroy(p->product);
    if (p->left) lib.cublasLtMatrixLayoutDestroy(p->left);
    if (p->right) lib.cublasLtMatrixLayoutDestroy(p->right);
    if (p->out) lib.cublasLtMatrixLayoutDestroy(p->out);
    *p = (struct lt_plan){.made = false};
}

static int lt_matrix(cublasLtMatrixLayout_t *out, cudaDataType type, int rows, int columns, int ld,
                     int64_t batch, int64_t stride) {
    const int32_t count = (int32_t)batch;
    CHECK(lib.cublasLtMatrixLayoutCreate(out, type, (uint64_t)rows, (uint64_t)columns, ld));
    if (batch == 1) return 0;
    CHECK(lib.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                               sizeof count));
    CHECK(lib.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                               &stride, sizeof stride));
    return 0;
}

static int lt_describe(struct lt_plan *p, const struct args *a, enum dtype t) {
    const struct types *x = &types[t];
    const struct side l = left(a), r = right(a);
    CHECK(lib.cublasLtMatmulDescCreate(&p->product, x->compute, x->scale));
    CHECK(lib.cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSA, &l.op,
                                             sizeof l.op));
    CHECK(lib.cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSB, &r.op,
                                             sizeof r.op));
    int error = lt_matrix(&p->left, x->in, l.rows, l.columns, l.ld, a->s.b, l.stride);
    if (!error) error = lt_matrix(&p->right, x->in, r.rows, r.columns, r.ld, a->s.b, r.stride);
    if (!error)
        error = lt_matrix(&p->out, x->out, (int)a->s.n, (int)a->s.m, (int)a->s.n, a->s.b,
                          a->s.m * a->s.n);
    return error;
}

static cublasStatus_t lt_call(const struct lt_plan *p, const struct args *a, enum dtype t,
                              const cublasLtMatmulAlgo_t *algorithm) {
    const union scalar alpha = scalar(a->alpha, t), beta = scalar(a->beta, t);
    return lib.cublasLtMatmul(lib.lt_handle, p->product, &alpha, a->buf[1], p->left, a->buf[0],
                              p->right, &beta, a->buf[2], p->out, a->buf[2], p->out, algorithm,
                              a->scratch, workspace(a), a->stream);
}

/* Seconds of a few calls; infinite when the algorithm does not run. */
static double lt_time(const struct lt_plan *p, const struct args *a, enum dtype t,
                      const cublasLtMatmulAlgo_t *algorithm) {
    cudaEvent_t begin = NULL, end = NULL;
    float ms = INFINITY;
    bool ran = cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess &&
               lt_call(p, a, t, algorithm) == CUBLAS_STATUS_SUCCESS && /* warm */
               cudaEventRecord(begin, a->stream) == cudaSuccess;
    for (int i = 0; i < TRIES && ran; i++)
        ran = lt_call(p, a, t, algorithm) == CUBLAS_STATUS_SUCCESS;
    ran = ran && cudaEventRecord(end, a->stream) == cudaSuccess &&
          cudaEventSynchronize(end) == cudaSuccess &&
          cudaEventElapsedTime(&ms, begin, end) == cudaSuccess;
    if (begin) cudaEventDestroy(begin);
    if (end) cudaEventDestroy(end);
    return ran ? (double)ms : INFINITY;
}

/* Picks the fastest algorithm. While a graph is recorded nothing may be timed: then the first one; and with beta the
 * result would pile up in C: then too. */
static int lt_choose(struct lt_plan *p, const struct args *a, enum dtype t) {
    cublasLtMatmulHeuristicResult_t found[ALGORITHMS];
    cublasLtMatmulPreference_t preference;
    const uint64_t bytes = workspace(a);
    int count = 0, best = 0;
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    CHECK(lib.cublasLtMatmulPreferenceCreate(&preference));
    cublasStatus_t s = lib.cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = lib.cublasLtMatmulAlgoGetHeuristic(lib.lt_handle, p->product, p->left, p->right, p->out,
                                               p->out, preference, ALGORITHMS, found, &count);
    lib.cublasLtMatmulPreferenceDestroy(preference);
    CHECK(s);
    if (count == 0) return cudaErrorNotSupported;
    cudaStreamIsCapturing(a->stream, &capturing);
    double least = INFINITY;
    for (int i = 0; i < count && a->beta == 0 && capturing == cudaStreamCaptureStatusNone; i++) {
        const double time = lt_time(p, a, t, &found[i].algo);
        if (time < least) {
            least = time;
            best = i;
        }
    }
    p->algorithm = found[best].algo;
    return 0;
}

static int lt(const struct args *a, enum dtype t) {
    static struct lt_plan plan;
    if (!lib.lt_handle) CHECK(lib.cublasLtCreate(&lib.lt_handle));
    const bool same = plan.made && memcmp(&plan.s, &a->s, sizeof a->s) == 0 &&
                      plan.layout == a->layout && plan.dtype == t && plan.with_c == (a->beta != 0);
    if (!same) {
        lt_forget(&plan);
        int error = lt_describe(&plan, a, t);
        if (!error) error = lt_choose(&plan, a, t);
        if (error) {
            lt_forget(&plan);
            return error;
        }
        plan.s = a->s;
        plan.layout = a->layout;
        plan.dtype = t;
        plan.with_c = a->beta != 0;
        plan.made = true;
    }
    CHECK(lt_call(&plan, a, t, &plan.algorithm));
    return 0;
}

/* ---- rows ---- */

static int gemm_fp64(const struct args *a) { return gemm(a, DT_fp64); }
static int gemm_fp32(const struct args *a) { return gemm(a, DT_fp32); }
static int gemm_tf32(const struct args *a) { return gemm(a, DT_tf32); }
static int gemm_fp16(const struct args *a) { return gemm(a, DT_fp16); }
static int gemm_bf16(const struct args *a) { return gemm(a, DT_bf16); }
static int lt_fp64(const struct args *a) { return lt(a, DT_fp64); }
static int lt_fp32(const struct args *a) { return lt(a, DT_fp32); }
static int lt_tf32(const struct args *a) { return lt(a, DT_tf32); }
static int lt_fp16(const struct args *a) { return lt(a, DT_fp16); }
static int lt_bf16(const struct args *a) { return lt(a, DT_bf16); }
static int lt_e4m3(const struct args *a) { return lt(a, DT_fp8_e4m3); }
static int gemv_fp64(const struct args *a) { return gemv(a, DT_fp64); }
static int gemv_fp32(const struct args *a) { return gemv(a, DT_fp32); }
static int gemv_fp16(const struct args *a) { return gemv(a, DT_fp16); }
static int gemv_bf16(const struct args *a) { return gemv(a, DT_bf16); }
static int dot_fp64(const struct args *a) { return dot(a, DT_fp64); }
static int dot_fp32(const struct args *a) { return dot(a, DT_fp32); }

const struct impl cublas_cuda[] = {
    {OP_dot, "cublas", DT_fp64, dot_fp64, no_cublas, workspace},
    {OP_dot, "cublas", DT_fp32, dot_fp32, no_cublas, workspace},
    {OP_matvec, "cublas", DT_fp64, gemv_fp64, no_cublas, workspace},
    {OP_matvec, "cublas", DT_fp32, gemv_fp32, no_cublas, workspace},
    {OP_matvec, "cublas", DT_fp16, gemv_fp16, no_cublas, workspace},
    {OP_matvec, "cublas", DT_bf16, gemv_bf16, no_cublas, workspace},
    {OP_matmul, "cublas", DT_fp64, gemm_fp64, no_cublas, workspace},
    {OP_matmul, "cublas", DT_fp32, gemm_fp32, no_cublas, workspace},
    {OP_matmul, "cublas", DT_tf32, gemm_tf32, no_cublas, workspace},
    {OP_matmul, "cublas", DT_fp16, gemm_fp16, no_cublas, workspace},
    {OP_matmul, "cublas", DT_bf16, gemm_bf16, no_cublas, workspace},
    {OP_bmm, "cublas", DT_fp64, gemm_fp64, no_cublas, workspace},
    {OP_bmm, "cublas", DT_fp32, gemm_fp32, no_cublas, workspace},
    {OP_bmm, "cublas", DT_tf32, gemm_tf32, no_cublas, workspace},
    {OP_bmm, "cublas", DT_fp16, gemm_fp16, no_cublas, workspace},
    {OP_bmm, "cublas", DT_bf16, gemm_bf16, no_cublas, workspace},
    {OP_matmul, "cublaslt", DT_fp64, lt_fp64, no_lt, workspace},
    {OP_matmul, "cublaslt", DT_fp32, lt_fp32, no_lt, workspace},
    {OP_matmul, "cublaslt", DT_tf32, lt_tf32, no_lt, workspace},
    {OP_matmul, "cublaslt", DT_fp16, lt_fp16, no_lt, workspace},
    {OP_matmul, "cublaslt", DT_bf16, lt_bf16, no_lt, workspace},
    {OP_matmul, "cublaslt", DT_fp8_e4m3, lt_e4m3, no_lt_fp8, workspace},
    {OP_bmm, "cublaslt", DT_fp64, lt_fp64, no_lt, workspace},
    {OP_bmm, "cublaslt", DT_fp32, lt_fp32, no_lt, workspace},
    {OP_bmm, "cublaslt", DT_tf32, lt_tf32, no_lt, workspace},
    {OP_bmm, "cublaslt", DT_fp16, lt_fp16, no_lt, workspace},
    {OP_bmm, "cublaslt", DT_bf16, lt_bf16, no_lt, workspace},
    {OP_bmm, "cublaslt", DT_fp8_e4m3, lt_e4m3, no_lt_fp8, workspace},
    {.run = NULL},
};
