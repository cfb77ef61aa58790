/* onednn.c - oneDNN 2 as rows. Primitives are made at the first call for a problem, which is the
 * untimed one that is verified, and kept. layernorm takes weights in fp32 only: narrower ones
 * are widened in every call.
 * Source: oneDNN Developer Guide 2.6, "Primitives" and "C API". */
#include "../cpu/isa.h"
#include "../numerics.h"
#include "tables.h"

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>

enum { MAX_ARGS = 4, KEPT = 32 };

struct key {
    enum op_id op;
    enum dtype dtype;
    enum layout layout;
    int threads; /* a primitive divides its work when it is made */
    struct shape s;
    double alpha, beta;
};

struct entry {
    struct key key;
    dnnl_primitive_t primitive; /* NULL: free */
    int args;
    dnnl_exec_arg_t arg[MAX_ARGS];
};

/* One engine a process, and the last primitives made. */
static struct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct entry entry[KEPT];
    int next;
} onednn;

static dnnl_data_type_t storage_of(enum dtype t) { return t == DT_bf16 ? dnnl_bf16 : dnnl_f32; }

static bool same_key(const struct key *x, const struct key *y) {
    return x->op == y->op && x->dtype == y->dtype && x->layout == y->layout &&
           x->threads == y->threads && x->s.b == y->s.b && x->s.m == y->s.m && x->s.n == y->s.n &&
           x->s.k == y->s.k && x->alpha == y->alpha && x->beta == y->beta;
}

/* A tensor [b,rows,cols], or [rows,cols] when b is 0, stored as [cols,rows] when transposed. */
static dnnl_status_t matrix(dnnl_memory_desc_t *desc, int64_t b, int64_t rows, int64_t cols,
                            bool transposed, dnnl_data_type_t type) {
    const int64_t step = transposed ? 1 : cols, along = transposed ? rows : 1;
    const dnnl_dims_t dims = {rows, cols}, strides = {step, along};
    const dnnl_dims_t batch_dims = {b, rows, cols}, batch_strides = {rows * cols, step, along};
    return b == 0 ? dnnl_memory_desc_init_by_strides(desc, 2, dims, type, strides)
                  : dnnl_memory_desc_init_by_strides(desc, 3, batch_dims, type, batch_strides);
}

static dnnl_status_t vector(dnnl_memory_desc_t *desc, int64_t n, dnnl_data_type_t type) {
    const dnnl_dims_t dims = {n}, strides = {1};
    return dnnl_memory_desc_init_by_strides(desc, 1, dims, type, strides);
}

static dnnl_status_t add_arg(struct entry *e, int name, const dnnl_memory_desc_t *desc) {
    dnnl_exec_arg_t *arg = &e->arg[e->args++];
    arg->arg = name;
    return dnnl_memory_create(&arg->memory, desc, onednn.engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t make(struct entry *e, const_dnnl_op_desc_t op,
                          const_dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_primitive_desc_create(&pd, op, attr, onednn.engine, NULL);
    if (status) return status;
    status = dnnl_primitive_create(&e->primitive, pd);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static dnnl_status_t make_eltwise(struct entry *e) {
    const dnnl_alg_kind_t kind = e->key.op == OP_relu  ? dnnl_eltwise_relu
                                 : e->key.op == OP_exp ? dnnl_eltwise_exp
                                                       : dnnl_eltwise_gelu_tanh;
    dnnl_memory_desc_t x;
    dnnl_eltwise_desc_t op;
    dnnl_status_t status = vector(&x, e->key.s.n, storage_of(e->key.dtype));
    if (!status)
        status = dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, kind, &x, 0, 0);
    if (!status) status = make(e, &op, NULL);
    if (!status) status = add_arg(e, DNNL_ARG_SRC, &x);
    if (!status) status = add_arg(e, DNNL_ARG_DST, &x);
    return status;
}

static dnnl_status_t make_softmax(struct entry *e) {
    dnnl_memory_desc_t x;
    dnnl_softmax_desc_t op;
    dnnl_status_t status = matrix(&x, 0, e->key.s.m, e->key.s.n, false, storage_of(e->key.dtype));
    if (!status) status = dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &x, 1);
    if (!status) status = make(e, &op, NULL);
    if (!status) status = add_arg(e, DNNL_ARG_SRC, &x);
    if (!status) status = add_arg(e, DNNL_ARG_DST, &x);
    return status;
}

static dnnl_status_t make_layernorm(struct entry *e) {
    dnnl_memory_desc_t x, stat, w;
    dnnl_layer_normalization_desc_t op;
    dnnl_status_t status = matrix(&x, 0, e->key.s.m, e->key.s.n, false, storage_of(e->key.dtype));
    if (!status) status = vector(&stat, e->key.s.m, dnnl_f32);
    if (!status) status = vector(&w, e->key.s.n, dnnl_f32);
    if (!status)
        status = dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_inference, &x, &stat,
                                                            1e-5f, dnnl_use_scale | dnnl_use_shift);
    if (!status) status = make(e, &op, NULL);
    if (!status) status = add_arg(e, DNNL_ARG_SRC, &x);
    if (!status) status = add_arg(e, DNNL_ARG_SCALE, &w);
    if (!status) status = add_arg(e, DNNL_ARG_SHIFT, &w);
    if (!status) status = add_arg(e, DNNL_ARG_DST, &x);
    return status;
}

/* alpha is an output scale, beta a sum with what C holds. */
static dnnl_status_t make_product(struct entry *e) {
    const struct key *key = &e->key;
    const struct shape s = key->s;
    const int64_t batch = key->op == OP_bmm ? s.b : 0;
    const dnnl_data_type_t type = storage_of(key->dtype);
    const float alpha = (float)key->alpha;
    dnnl_memory_desc_t A, B, C;
    dnnl_matmul_desc_t op;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t after = NULL;
    dnnl_status_t status = matrix(&A, batch, s.m, s.k, key->layout == LAYOUT_TN, type);
    if (!status) status = matrix(&B, batch, s.k, s.n, key->layout == LAYOUT_NT, type);
    if (!status) status = matrix(&C, batch, s.m, s.n, false, type);
    if (!status) status = dnnl_matmul_desc_init(&op, &A, &B, NULL, &C);
    if (!status) status = dnnl_primitive_attr_create(&attr);
    if (!status && alpha != 1) status = dnnl_primitive_attr_set_output_scales(attr, 1, 0, &alpha);
    if (!status && key->beta != 0) {
        status = dnnl_post_ops_create(&after);
        if (!status) status = dnnl_post_ops_append_sum(after, (float)key->beta);
        if (!status) status = dnnl_primitive_attr_set_post_ops(attr, after);
    }
    if (!status) status = make(e, &op, attr);
    if (!status) status = add_arg(e, DNNL_ARG_SRC, &A);
    if (!status) status = add_arg(e, DNNL_ARG_WEIGHTS, &B);
    if (!status) status = add_arg(e, DNNL_ARG_DST, &C);
    if (after) dnnl_post_ops_destroy(after);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return status;
}

static void release(struct entry *e) {
    for (int i = 0; i < e->args; i++) dnnl_memory_destroy(e->arg[i].memory);
    if (e->primitive) dnnl_primitive_destroy(e->primitive);
    *e = (struct entry){0};
}

/* The kept primitive for a problem, made if need be; NULL with *status set when the library
 * refuses. */
static struct entry *entry_for(const struct key *key, dnnl_status_t *status) {
    for (int i = 0; i < KEPT; i++)
        if (onednn.entry[i].primitive && same_key(&onednn.entry[i].key, key))
            return &onednn.entry[i];
    struct entry *e = &onednn.entry[onednn.next++ % KEPT];
    release(e);
    e->key = *key;
    *status = dnnl_success;
    if (!onednn.engine) *status = dnnl_engine_create(&onednn.engine, dnnl_cpu, 0);
    if (!*status && !onednn.stream)
        *status = dnnl_stream_create(&onednn.stream, onednn.engine, dnnl_stream_default_flags);
    if (*status) return NULL;
    switch (key->op) {
    case OP_softmax:
        *status = make_softmax(e);
        break;
    case OP_layernorm:
        *status = make_layernorm(e);
        break;
    case OP_matmul:
    case OP_bmm:
        *status = make_product(e);
        break;
    default:
        *status = make_eltwise(e);
        break;
    }
    if (!*status) return e;
    release(e);
    return NULL;
}

/* Runs one op on buf, in the order of add_arg(). The library takes its threads from OpenMP's
 * default. */
static int run(enum op_id op, enum dtype t, const struct args *a, void *const buf[MAX_ARGS]) {
    const struct key key = {op, t, a->layout, a->threads, a->s, a->alpha, a->beta};
    dnnl_status_t status = dnnl_success;
    omp_set_num_threads(a->threads);
    struct entry *e = entry_for(&key, &status);
    if (!e) return (int)status;
    for (int i = 0; i < e->args && !status; i++)
        status = dnnl_memory_set_data_handle(e->arg[i].memory, buf[i]);
    if (!status) status = dnnl_primitive_execute(e->primitive, onednn.stream, e->args, e->arg);
    if (!status) status = dnnl_stream_wait(onednn.stream);
    return (int)status;
}

/* x, weights, bias, y in our order of operands; weights widened into scratch [2,n] where they
 * are bf16. */
static int layernorm(enum dtype t, const struct args *a) {
    void *buf[MAX_ARGS] = {a->buf[0], a->buf[1], a->buf[2], a->buf[3]};
    if (t == DT_bf16) {
        float *wide = a->scratch;
        for (int64_t i = 0; i < 2 * a->s.n; i++) {
            const uint16_t *from = a->buf[i < a->s.n ? 1 : 2];
            wide[i] = bf16_to_float(from[i % a->s.n]);
        }
        buf[1] = wide;
        buf[2] = wide + a->s.n;
    }
    return run(OP_layernorm, t, a, buf);
}

static size_t wide_weights(const struct args *a) { return 2 * (size_t)a->s.n * sizeof(float); }

static const char *refuses_fp32(const struct args *a) {
    (void)a;
    return NULL;
}
static const char *refuses_bf16(const struct args *a) {
    (void)a;
    return isa_level() >= ISA_avx512 ? NULL : "oneDNN computes in bf16 with AVX-512 only";
}

#define FN(f) f##_fp32
#define TYPE  DT_fp32
#include "onednn_functions.inc"
#define FN(f) f##_bf16
#define TYPE  DT_bf16
#include "onednn_functions.inc"

#define ROW(op, dtype, scratch) \
    { OP_##op, "onednn", DT_##dtype, op##_##dtype, refuses_##dtype, scratch }
const struct impl onednn_cpu[] = {
#include "onednn_rows.inc"
    {.run = NULL},
};

const char *onednn_version(void) {
    static char text[64];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return text;
}
