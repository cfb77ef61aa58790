/* unit_catalogue.c - the lecture's FLOP and byte counts, bytes of every operand role by hand, and a well-formed table. */
#include "../kernels/catalogue.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct args args_of(int64_t b, int64_t m, int64_t n, int64_t k) {
    return (struct args){.s = {b, m, n, k}, .layout = LAYOUT_FLAT, .alpha = 1, .threads = 1};
}

static double bytes_of(enum op_id op, enum dtype t, struct args a) {
    return op_bytes(&ops[op], t, &a);
}
static double flops_of(enum op_id op, struct args a) { return ops[op].flops(a.s); }
static double ai_of(enum op_id op, enum dtype t, struct args a) {
    return flops_of(op, a) / bytes_of(op, t, a);
}

/* ---- the lecture's table, bf16 ---- */

static void test_lecture(void) {
    const double n = 1 << 20;
    const struct args vector = args_of(1, 1, 1 << 20, 1);
    CHECK(bytes_of(OP_relu, DT_bf16, vector) == 4 * n, "%.17g", bytes_of(OP_relu, DT_bf16, vector));
    CHECK(flops_of(OP_relu, vector) == n, "%.17g", flops_of(OP_relu, vector));
    CHECK(ai_of(OP_relu, DT_bf16, vector) == 0.25, "%.17g", ai_of(OP_relu, DT_bf16, vector));
    CHECK(flops_of(OP_gelu, vector) == 20 * n, "%.17g", flops_of(OP_gelu, vector));
    CHECK(ai_of(OP_gelu, DT_bf16, vector) == 5, "%.17g", ai_of(OP_gelu, DT_bf16, vector));
    /* dot: the lecture's 4n + 2 bytes with a bf16 result; ours is kept in fp32 */
    CHECK(bytes_of(OP_dot, DT_bf16, vector) == 4 * n + 4, "%.17g",
          bytes_of(OP_dot, DT_bf16, vector));
    CHECK(flops_of(OP_dot, vector) == 2 * n, "%.17g", flops_of(OP_dot, vector));

    struct args square = args_of(1, 1024, 1024, 1);
    square.layout = LAYOUT_N;
    CHECK(bytes_of(OP_matvec, DT_bf16, square) == 2.0 * 1024 * 1024 + 4 * 1024, "%.17g",
          bytes_of(OP_matvec, DT_bf16, square));
    CHECK(flops_of(OP_matvec, square) == 2.0 * 1024 * 1024, "%.17g", flops_of(OP_matvec, square));

    struct args cube = args_of(1, 1024, 1024, 1024);
    cube.layout = LAYOUT_NN;
    CHECK(bytes_of(OP_matmul, DT_bf16, cube) == 6.0 * 1024 * 1024, "%.17g",
          bytes_of(OP_matmul, DT_bf16, cube));
    CHECK(fabs(ai_of(OP_matmul, DT_bf16, cube) - 1024 / 3.0) < 1e-9, "%.17g",
          ai_of(OP_matmul, DT_bf16, cube));
    /* (m x k)(k x n) = (16384 x 32768)(32768 x 8192) */
    const double flops = flops_of(OP_matmul, args_of(1, 16384, 8192, 32768));
    CHECK(flops == 8796093022208.0, "%.17g", flops);
}

/* ---- bytes by hand, one op for each role ---- */

static void test_roles(void) {
    const struct args v = args_of(1, 1, 100, 1);
    CHECK(bytes_of(OP_copy, DT_fp32, v) == 800, "IN OUT");
    CHECK(bytes_of(OP_fill, DT_fp32, v) == 400, "OUT");
    CHECK(bytes_of(OP_triad, DT_fp64, v) == 2400, "IN IN OUT");
    CHECK(bytes_of(OP_axpy, DT_fp32, v) == 1200, "IN INOUT: y is read and written");
    CHECK(bytes_of(OP_sum, DT_fp16, v) == 204, "ACC is fp32");
    CHECK(bytes_of(OP_sum, DT_fp64, v) == 808, "ACC is fp64");
    CHECK(bytes_of(OP_cast_from_fp32, DT_fp8_e4m3, v) == 500, "IN_FP32");
    CHECK(bytes_of(OP_cast_to_fp32, DT_fp64, v) == 1200, "OUT_FP32");
    CHECK(bytes_of(OP_fma, DT_bf16, args_of(1, 1, 100, 1000)) == 2 * 4 + 100 * 8,
          "ACC_INOUT, fp32, and TWO");
    CHECK(op_footprint(&ops[OP_axpy], DT_fp32, v.s) == 800, "footprint counts y once");
    /* p read and written, gradient, both states read and written, 8 numbers */
    CHECK(bytes_of(OP_adam, DT_fp32, v) == 100 * (8 + 4 + 8 + 8) + 32, "SQUARES, HYPER");
    CHECK(bytes_of(OP_adam, DT_fp64, v) == 2 * (100 * 28 + 32), "HYPER in fp64");
    CHECK(bytes_of(OP_adam, DT_bf16, v) == 100 * (4 + 2 + 8 + 8) + 32, "state of bf16 is fp32");
    CHECK(bytes_of(OP_adam_master, DT_bf16, v) == 100 * (2 + 8 + 2 + 8 + 8) + 32,
          "p is written only, the master copy read and written");
    CHECK(flops_of(OP_adam, v) == 1600, "adam");

    /* upper triangles: 4 x 4 has 10 elements; 2 x 4 has 4 + 3; 4 x 2 has 2 + 1 */
    CHECK(bytes_of(OP_triu, DT_fp32, args_of(1, 4, 4, 1)) == 4 * (10 + 16), "4 x 4");
    CHECK(bytes_of(OP_triu, DT_fp32, args_of(1, 2, 4, 1)) == 4 * (7 + 8), "2 x 4");
    CHECK(bytes_of(OP_triu, DT_fp32, args_of(1, 4, 2, 1)) == 4 * (3 + 8), "4 x 2");
    CHECK(op_footprint(&ops[OP_triu], DT_fp32, (struct shape){1, 4, 4, 1}) == 4 * 32,
          "all of X lies in memory");

    CHECK(bytes_of(OP_rmsnorm, DT_fp16, args_of(1, 3, 5, 1)) == 2 * (15 + 5 + 15),
          "w is read once");
    CHECK(bytes_of(OP_layernorm, DT_fp16, args_of(1, 3, 5, 1)) == 2 * (15 + 5 + 5 + 15), "w and b");

    struct args product = args_of(1, 32, 48, 64);
    product.layout = LAYOUT_NN;
    CHECK(bytes_of(OP_matmul, DT_fp8_e5m2, product) == 32 * 64 + 64 * 48 + 2 * 32 * 48,
          "PROD of fp8 is bf16");
    product.beta = 1;
    CHECK(bytes_of(OP_matmul, DT_fp8_e5m2, product) == 32 * 64 + 64 * 48 + 4 * 32 * 48,
          "beta reads C");
    product.beta = 0;
    /* codes, a scale byte a 16-block, an fp32 scale a tensor */
    CHECK(bytes_of(OP_matmul, DT_nvfp4, product) ==
              (1024 + 128 + 4) + (1536 + 192 + 4) + 2 * 32 * 48,
          "nvfp4: %.17g", bytes_of(OP_matmul, DT_nvfp4, product));
    product.s.b = 3;
    CHECK(bytes_of(OP_bmm, DT_fp32, product) == 3 * 4 * (32 * 64 + 64 * 48 + 32 * 48), "batch");
    CHECK(flops_of(OP_bmm, product) == 3 * 2.0 * 32 * 48 * 64, "batch");

    CHECK(bytes_of(OP_mean_loss_backward, DT_bf16, v) == 4 + 4 + 200, "IN_ACC is fp32");
    CHECK(bytes_of(OP_cast_from_bf16, DT_fp8_e4m3, v) == 300, "IN_BF16");
    CHECK(bytes_of(OP_cross_entropy, DT_fp64, args_of(1, 3, 5, 1)) == 8 * 15 + 4 * 3 + 8 * 3,
          "INDEX is int32");
    /* 3 tokens read 3 rows of a table, and 30 tokens all 5 of another */
    CHECK(bytes_of(OP_embedding, DT_fp32, args_of(1, 3, 100, 8)) == 4 * (24 + 3 + 24), "GATHERED");
    CHECK(bytes_of(OP_embedding, DT_fp32, args_of(1, 30, 5, 8)) == 4 * (40 + 30 + 240),
          "GATHERED, all of it");
    CHECK(op_footprint(&ops[OP_embedding], DT_fp32, (struct shape){1, 3, 100, 8}) ==
              4 * (800 + 3 + 24),
          "all of a table lies in memory");
    struct args gradient = args_of(1, 3, 100, 8);
    CHECK(bytes_of(OP_embedding_backward, DT_bf16, gradient) == 2 * 24 + 4 * 3 + 2 * 800,
          "all of a gradient is written");
    gradient.beta = 1;
    CHECK(bytes_of(OP_embedding_backward, DT_bf16, gradient) == 2 * 24 + 4 * 3 + 4 * 800, "beta");
    CHECK(op_takes_beta(&ops[OP_embedding_backward]) && op_takes_beta(&ops[OP_bmm]) &&
              !op_takes_beta(&ops[OP_matvec]) && !op_takes_beta(&ops[OP_embedding]),
          "beta");

    const struct operand *C = &ops[OP_matmul].operand[2];
    CHECK(operand_dtype(C, DT_nvfp4) == DT_bf16 && operand_dtype(C, DT_tf32) == DT_fp32,
          "product dtypes");
    CHECK(operand_is_written(C) && !operand_is_read(C, 0) && operand_is_read(C, 0.5), "C");
    CHECK(operand_dtype(&ops[OP_dot].operand[2], DT_bf16) == DT_fp32, "accumulator");
}

/* ---- the table ---- */

static void test_well_formed(void) {
    const struct shape s = {2, 3, 5, 7};
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op *op = &ops[i];
        int written = 0, ended = 0;
        CHECK(op_find(op->name) == i, "%s", op->name);
        CHECK(op->oracle != NULL, "%s has no oracle", op->name);
        CHECK(op->formula && *op->formula, "%s has no formula", op->name);
        CHECK(op->flops(s) >= 0 && op->depth(s) >= 0, "%s", op->name);
        CHECK(op->layouts != 0 && op->dtypes != 0, "%s has no layout or dtype", op->name);
        CHECK((op->check == CHECK_BITWISE) <= (op->depth(s) == 0), "%s: bitwise, yet it rounds",
              op->name);
        for (int o = 0; o < MAX_OPERANDS; o++) {
            const struct operand *operand = &op->operand[o];
            ended |= operand->role == ROLE_NONE;
            CHECK(!ended || operand->role == ROLE_NONE, "%s: operand %d follows an empty one",
                  op->name, o);
            if (ended) continue;
            written += operand_is_written(operand);
            CHECK(operand->extent[0] != EXTENT_NONE, "%s operand %d", op->name, o);
            CHECK(operand_elements(operand, s) > 0, "%s operand %d", op->name, o);
            CHECK(operand_is_written(operand) || operand_is_read(operand, 0), "%s operand %d",
                  op->name, o);
        }
        CHECK(op_operand_count(op) >= 1 && written >= 1, "%s writes nothing", op->name);
        for (int t = 0; t < DTYPE_COUNT; t++) {
            const char *reason = op_refuses_dtype(op, (enum dtype)t);
            CHECK((reason == NULL) == (op->dtypes >> t & 1), "%s %s", op->name, dtypes[t].name);
            CHECK(!reason || *reason, "%s %s", op->name, dtypes[t].name);
        }
    }
    for (int t = 0; t < DTYPE_COUNT; t++)
        CHECK(dtype_find(dtypes[t].name) == t, "%s", dtypes[t].name);
    for (int l = 0; l < LAYOUT_COUNT; l++)
        CHECK(layout_find(layout_names[l]) == l, "%s", layout_names[l]);
    CHECK(op_find("") == -1 && op_find("Copy") == -1 && op_find("copy ") == -1, "unknown ops");
    CHECK(dtype_find("float") == -1 && layout_find("NN") == -1, "unknown names");
}

static void test_shapes(void) {
    for (int i = 0; i < OP_COUNT; i++) {
        const enum sweep sweep = ops[i].sweep;
        for (int effort = 0; effort < 6; effort++) {
            const struct shape *s = sweep_shapes(sweep, effort % 3, effort >= 3);
            CHECK(s->m > 0, "%s has no shape at effort %d", ops[i].name, effort);
            for (; s->m; s++) {
                CHECK(s->b > 0 && s->m > 0 && s->n > 0 && s->k > 0, "%s", ops[i].name);
                for (int t = 0; t < DTYPE_COUNT && effort % 3 < 2; t++) {
                    if (op_refuses_dtype(&ops[i], (enum dtype)t)) continue;
                    struct args a = {.s = *s};
                    const char *reason = op_refuses_shape(&ops[i], (enum dtype)t, &a);
                    CHECK(!reason, "%s %s: %s", ops[i].name, dtypes[t].name, reason);
                }
            }
        }
        CHECK(check_shapes(sweep)->m > 0, "%s has no check shape", ops[i].name);
        for (const struct shape *s = check_shapes(sweep); s->m; s++)
            CHECK(s->b > 0 && s->m > 0 && s->n > 0 && s->k > 0, "%s", ops[i].name);
    }
}

/* ---- what cannot be ---- */

static const char *refusal(enum op_id op, enum dtype t, enum layout layout, struct shape s) {
    const struct args a = {.s = s, .layout = layout};
    return op_refuses_shape(&ops[op], t, &a);
}

static void test_refusals(void) {
    const int64_t big = INT64_C(1) << 40;
    CHECK(operand_elements(&ops[OP_matmul].operand[0], (struct shape){1, big, 1, big}) == -1,
          "2^80 elements");
    CHECK(refusal(OP_matmul, DT_fp32, LAYOUT_NN, (struct shape){1, big, 1, big}) != NULL,
          "2^80 elements");
    CHECK(refusal(OP_bmm, DT_fp32, LAYOUT_NN, (struct shape){big, 4096, 4096, 1}) != NULL,
          "2^64 elements");
    CHECK(refusal(OP_copy, DT_fp64, LAYOUT_FLAT, (struct shape){1, 1, INT64_MAX, 1}) != NULL,
          "2^63 - 1 elements");
    CHECK(refusal(OP_copy, DT_fp64, LAYOUT_FLAT, (struct shape){1, 1, 1 << 20, 1}) == NULL,
          "2^20 elements");

    /* blocks run along the extent that is contiguous in this layout */
    CHECK(refusal(OP_matmul, DT_nvfp4, LAYOUT_NN, (struct shape){1, 3, 16, 32}) == NULL,
          "A[3,32] B[32,16]");
    CHECK(refusal(OP_matmul, DT_nvfp4, LAYOUT_NN, (struct shape){1, 3, 17, 32}) != NULL,
          "B[32,17]");
    CHECK(refusal(OP_matmul, DT_nvfp4, LAYOUT_NN, (struct shape){1, 3, 16, 8}) != NULL, "A[3,8]");
    CHECK(refusal(OP_matmul, DT_nvfp4, LAYOUT_NT, (struct shape){1, 3, 17, 32}) == NULL,
          "B[17,32]");
    CHECK(refusal(OP_matmul, DT_nvfp4, LAYOUT_TN, (struct shape){1, 3, 16, 32}) != NULL, "A[32,3]");
    CHECK(refusal(OP_matmul, DT_nvfp4, LAYOUT_TN, (struct shape){1, 16, 16, 3}) == NULL,
          "A[3,16] B[3,16]");
    CHECK(refusal(OP_matvec, DT_nvfp4, LAYOUT_N, (struct shape){1, 3, 32, 1}) == NULL,
          "A[3,32] x[32]");
    CHECK(refusal(OP_matvec, DT_nvfp4, LAYOUT_T, (struct shape){1, 3, 32, 1}) != NULL, "A[32,3]");
    CHECK(refusal(OP_dot, DT_nvfp4, LAYOUT_FLAT, (struct shape){1, 1, 24, 1}) != NULL, "x[24]");
    CHECK(refusal(OP_matmul, DT_fp8_e4m3, LAYOUT_NN, (struct shape){1, 3, 17, 5}) == NULL,
          "fp8 has no blocks");
    CHECK(refusal(OP_embedding, DT_fp32, LAYOUT_FLAT, (struct shape){1, 3, INT32_MAX, 1}) == NULL,
          "int32 indices");
    CHECK(refusal(OP_embedding, DT_fp32, LAYOUT_FLAT, (struct shape){1, 3, big, 1}) != NULL,
          "words past int32 indices");
    CHECK(refusal(OP_embedding, DT_fp32, LAYOUT_FLAT, (struct shape){1, big, 3, 1}) != NULL,
          "tokens past int32 counters");
}

/* ---- dtypes without a kernel: each has a reason, and not another's ---- */

static const char *cpu_refuses_dtype(const struct op *op, enum dtype t) {
    return tables_refuse_dtype(cpu_kernels, vendor_cpu_kernels, op, t);
}

static int rows_of(enum op_id op, enum dtype t) {
    int count = 0;
    for (const struct impl *const *table = cpu_kernels; *table; table++)
        for (const struct impl *row = *table; row->run; row++)
            count += row->op == op && row->dtype == t;
    for (const struct impl *const *table = vendor_cpu_kernels; *table; table++)
        for (const struct impl *row = *table; row->run; row++)
            count += row->op == op && row->dtype == t;
    return count;
}

static void test_dtypes(void) {
    for (int op = 0; op < OP_COUNT; op++)
        for (int t = 0; t < DTYPE_COUNT; t++) {
            const int rows = rows_of((enum op_id)op, (enum dtype)t);
            const char *no_op = op_refuses_dtype(&ops[op], (enum dtype)t),
                       *no_row = cpu_refuses_dtype(&ops[op], (enum dtype)t);
            CHECK((no_row == NULL) == (rows > 0), "%s %s has %d rows", ops[op].name, dtypes[t].name,
                  rows);
            CHECK(!no_op || rows == 0, "%s %s has rows and a reason for none: %s", ops[op].name,
                  dtypes[t].name, no_op);
        }
    for (int t = 0; t < DTYPE_COUNT;
         t++) /* what is no mode of tensor cores, every CPU multiplies */
        CHECK(t == DT_tf32 || !cpu_refuses_dtype(&ops[OP_matmul], (enum dtype)t), "matmul %s",
              dtypes[t].name);
    CHECK(strstr(cpu_refuses_dtype(&ops[OP_matmul], DT_tf32), "tensor cores"), "tf32");
    CHECK(strstr(cpu_refuses_dtype(&ops[OP_fma], DT_fp8_e4m3), "fp32"), "fp8");
    CHECK(!op_refuses_dtype(&ops[OP_fma], DT_tf32), "tensor cores multiply in tf32");
    CHECK(!op_refuses_dtype(&ops[OP_fma], DT_nvfp4) &&
              operand_dtype(&ops[OP_fma].operand[1], DT_nvfp4) == DT_fp8_e4m3 &&
              operand_dtype(&ops[OP_fma].operand[2], DT_nvfp4) == DT_fp32,
          "fma of nvfp4 multiplies scales");
    CHECK(strstr(op_refuses_dtype(&ops[OP_relu], DT_nvfp4), "block scales"), "relu of nvfp4");
    CHECK(strstr(op_refuses_dtype(&ops[OP_cast_to_fp32], DT_fp32), "copy"), "fp32 to fp32");
    CHECK(strstr(op_refuses_dtype(&ops[OP_adam], DT_fp8_e4m3), "16 bits or more"), "adam of fp8");
    CHECK(strstr(op_refuses_dtype(&ops[OP_adam_master], DT_fp32), "second"), "master of fp32");
    CHECK(strstr(op_refuses_dtype(&ops[OP_mse], DT_fp8_e4m3), "training"), "mse of fp8");
    CHECK(strstr(op_refuses_dtype(&ops[OP_cast_from_bf16], DT_fp32), "fp8"), "bf16 to fp32");
}

int main(void) {
    test_lecture();
    test_roles();
    test_well_formed();
    test_shapes();
    test_refusals();
    test_dtypes();
    return test_result();
}
