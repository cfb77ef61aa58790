/* fake_cublas.c - cuBLAS and cuBLASLt as plain loops on host memory, by the libraries' documented, column-major meaning:
 * C[m,n] = alpha op(A)[m,k] op(B)[k,n] + beta C, element (i, j) of a stored matrix at i + j ld. Loaded by
 * ROOFLINE_CUBLAS and ROOFLINE_CUBLASLT, it tests that the rows of kernels/vendor/cublas.c describe their problems right.
 * Arguments that the real libraries refuse end in their error codes. */
#include "../../kernels/numerics.h"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <stdlib.h>
#include <string.h>

/* ---- elements ---- */

static double get(const void *p, cudaDataType type, int64_t i) {
    switch (type) {
    case CUDA_R_64F:
        return ((const double *)p)[i];
    case CUDA_R_32F:
        return (double)((const float *)p)[i];
    case CUDA_R_16F:
        return (double)fp16_to_float(((const uint16_t *)p)[i]);
    case CUDA_R_16BF:
        return (double)bf16_to_float(((const uint16_t *)p)[i]);
    case CUDA_R_8F_E4M3:
        return (double)e4m3_to_float(((const uint8_t *)p)[i]);
    default:
        abort();
    }
}

static void put(void *p, cudaDataType type, int64_t i, double x) {
    switch (type) {
    case CUDA_R_64F:
        ((double *)p)[i] = x;
        break;
    case CUDA_R_32F:
        ((float *)p)[i] = (float)x;
        break;
    case CUDA_R_16F:
        ((uint16_t *)p)[i] = fp16_of_float((float)x);
        break;
    case CUDA_R_16BF:
        ((uint16_t *)p)[i] = bf16_of_float((float)x);
        break;
    default:
        abort();
    }
}

struct matrix {
    const void *at;
    cudaDataType type;
    cublasOperation_t op;
    int64_t ld, offset; /* offset: of this matrix within its batch, elements */
};

static double element(const struct matrix *x, int64_t i, int64_t j) {
    const int64_t row = x->op == CUBLAS_OP_N ? i : j, column = x->op == CUBLAS_OP_N ? j : i;
    return get(x->at, x->type, x->offset + row + column * x->ld);
}

/* A matrix of so many rows, as op() sees it, needs this leading dimension at least. */
static bool fits(const struct matrix *x, int64_t rows, int64_t columns) {
    return x->ld >= (x->op == CUBLAS_OP_N ? rows : columns);
}

static cublasStatus_t multiply(int64_t m, int64_t n, int64_t k, double alpha, struct matrix A,
                               struct matrix B, double beta, void *C, cudaDataType type,
                               int64_t ldc, int64_t offset) {
    if (m < 0 || n < 0 || k < 0 || ldc < m || !fits(&A, m, k) || !fits(&B, k, n))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            const int64_t at = offset + i + j * ldc;
            double sum = 0;
            for (int64_t p = 0; p < k; p++) sum += element(&A, i, p) * element(&B, p, j);
            put(C, type, at, alpha * sum + (beta != 0 ? beta * get(C, type, at) : 0));
        }
    return CUBLAS_STATUS_SUCCESS;
}

static double scalar(const void *p, bool twice) {
    return twice ? *(const double *)p : (double)*(const float *)p;
}

/* ---- cuBLAS ---- */

struct cublasContext {
    cublasPointerMode_t mode;
    bool has_workspace;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t *h) {
    *h = calloc(1, sizeof **h);
    return *h ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t stream) {
    (void)stream;
    h->has_workspace = false; /* as documented: back to the default one */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *workspace, size_t bytes) {
    if ((uintptr_t)workspace % 256) return CUBLAS_STATUS_INVALID_VALUE;
    h->has_workspace = workspace && bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t mode) {
    h->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION ? 0 : 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t opa,
                                          cublasOperation_t opb, int m, int n, int k,
                                          const void *alpha, const void *A, cudaDataType ta,
                                          int lda, long long int sa, const void *B, cudaDataType tb,
                                          int ldb, long long int sb, const void *beta, void *C,
                                          cudaDataType tc, int ldc, long long int sc, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    const bool twice = compute == CUBLAS_COMPUTE_64F;
    (void)algorithm;
    if (h->mode != CUBLAS_POINTER_MODE_HOST || !h->has_workspace || twice != (ta == CUDA_R_64F) ||
        ta != tb)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t s = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < batch && s == CUBLAS_STATUS_SUCCESS; i++)
        s = multiply(m, n, k, scalar(alpha, twice), (struct matrix){A, ta, opa, lda, i * sa},
                     (struct matrix){B, tb, opb, ldb, i * sb}, scalar(beta, twice), C, tc, ldc,
                     i * sc);
    return s;
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t opa, cublasOperation_t opb, int m,
                            int n, int k, const void *alpha, const void *A, cudaDataType ta,
                            int lda, const void *B, cudaDataType tb, int ldb, const void *beta,
                            void *C, cudaDataType tc, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm) {
    return cublasGemmStridedBatchedEx(h, opa, opb, m, n, k, alpha, A, ta, lda, 0, B, tb, ldb, 0,
                                      beta, C, tc, ldc, 0, 1, compute, algorithm);
}

/* m and n are those of A as stored. */
static cublasStatus_t gemv(cublasHandle_t h, cublasOperation_t op, int m, int n, double alpha,
                           const void *A, int lda, const void *x, int incx, double beta, void *y,
                           int incy, cudaDataType t) {
    if (h->mode != CUBLAS_POINTER_MODE_HOST || incx != 1 || incy != 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
    return multiply(rows, 1, columns, alpha, (struct matrix){A, t, op, lda, 0},
                    (struct matrix){x, t, CUBLAS_OP_N, columns, 0}, beta, y, t, rows, 0);
}

cublasStatus_t cublasDgemv_v2(cublasHandle_t h, cublasOperation_t op, int m, int n,
                              const double *alpha, const double *A, int lda, const double *x,
                              int incx, const double *beta, double *y, int incy) {
    return gemv(h, op, m, n, *alpha, A, lda, x, incx, *beta, y, incy, CUDA_R_64F);
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t h, cublasOperation_t op, int m, int n,
                              const float *alpha, const float *A, int lda, const float *x, int incx,
                              const float *beta, float *y, int incy) {
    return gemv(h, op, m, n, (double)*alpha, A, lda, x, incx, (double)*beta, y, incy, CUDA_R_32F);
}

static cublasStatus_t dot(cublasHandle_t h, int n, const void *x, const void *y, cudaDataType t,
                          void *result) {
    double sum = 0;
    if (h->mode != CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < n; i++) sum += get(x, t, i) * get(y, t, i);
    put(result, t, 0, sum);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDdot_v2(cublasHandle_t h, int n, const double *x, int incx, const double *y,
                             int incy, double *result) {
    return incx == 1 && incy == 1 ? dot(h, n, x, y, CUDA_R_64F, result)
                                  : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSdot_v2(cublasHandle_t h, int n, const float *x, int incx, const float *y,
                             int incy, float *result) {
    return incx == 1 && incy == 1 ? dot(h, n, x, y, CUDA_R_32F, result)
                                  : CUBLAS_STATUS_INVALID_VALUE;
}

/* ---- cuBLASLt: the opaque types hold what the attributes set ---- */

struct product {
    cublasComputeType_t compute;
    cublasOperation_t opa, opb;
};
struct stored {
    cudaDataType type;
    int64_t rows, columns, ld, stride;
    int32_t batch;
};

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) {
    static int there;
    *h = (cublasLtHandle_t)&there;
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void) { return 100; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
    struct product *p = calloc(1, sizeof *p);
    if (!p) return CUBLAS_STATUS_ALLOC_FAILED;
    p->compute = compute;
    p->opa = p->opb = CUBLAS_OP_N;
    *d = (cublasLtMatmulDesc_t)p;
    return (scale == CUDA_R_64F) == (compute == CUBLAS_COMPUTE_64F) ? CUBLAS_STATUS_SUCCESS
                                                                    : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
    free(d);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t size) {
    struct product *p = (struct product *)d;
    if (size != sizeof(cublasOperation_t)) return CUBLAS_STATUS_INVALID_VALUE;
    if (what == CUBLASLT_MATMUL_DESC_TRANSA)
        memcpy(&p->opa, value, size);
    else if (what == CUBLASLT_MATMUL_DESC_TRANSB)
        memcpy(&p->opb, value, size);
    else
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
    struct stored *p = calloc(1, sizeof *p);
    if (!p) return CUBLAS_STATUS_ALLOC_FAILED;
    *p = (struct stored){type, (int64_t)rows, (int64_t)columns, ld, 0, 1};
    *l = (cublasLtMatrixLayout_t)p;
    return ld >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
    free(l);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t what,
                                                const void *value, size_t size) {
    struct stored *p = (struct stored *)l;
    if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof p->batch)
        memcpy(&p->batch, value, size);
    else if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == sizeof p->stride)
        memcpy(&p->stride, value, size);
    else
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p) {
    *p = calloc(1, 1);
    return *p ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *value, size_t size) {
    (void)p, (void)value;
    return what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && size == sizeof(uint64_t)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

/* Two algorithms, of which the first does not run: callers have to try. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out,
                                              cublasLtMatmulPreference_t p, int most,
                                              cublasLtMatmulHeuristicResult_t found[], int *count) {
    (void)h, (void)d, (void)a, (void)b, (void)c, (void)out, (void)p;
    *count = most < 2 ? most : 2;
    for (int i = 0; i < *count; i++) {
        memset(&found[i], 0, sizeof found[i]);
        found[i].algo.data[0] = (uint64_t)i;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t la, const void *B,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *C,
                              cublasLtMatrixLayout_t lc, void *D, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes,
                              cudaStream_t stream) {
    const struct product *p = (const struct product *)d;
    const struct stored *a = (const struct stored *)la, *b = (const struct stored *)lb,
                        *c = (const struct stored *)ld;
    const bool twice = p->compute == CUBLAS_COMPUTE_64F;
    (void)h, (void)stream;
    if (C != D || lc != ld || (bytes && (uintptr_t)workspace % 256))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (algorithm->data[0] == 0 && scalar(beta, twice) == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    const int64_t m = p->opa == CUBLAS_OP_N ? a->rows : a->columns,
                  k = p->opa == CUBLAS_OP_N ? a->columns : a->rows,
                  n = p->opb == CUBLAS_OP_N ? b->columns : b->rows;
    if (k != (p->opb == CUBLAS_OP_N ? b->rows : b->columns) || c->rows != m || c->columns != n ||
        a->batch != c->batch || b->batch != c->batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t s = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < c->batch && s == CUBLAS_STATUS_SUCCESS; i++)
        s = multiply(m, n, k, scalar(alpha, twice),
                     (struct matrix){A, a->type, p->opa, a->ld, i * a->stride},
                     (struct matrix){B, b->type, p->opb, b->ld, i * b->stride}, scalar(beta, twice),
                     D, c->type, c->ld, i * c->stride);
    return s;
}
