/* catalogue.c - turns the .def tables into data. No operation is named outside ops.def. */
#include "catalogue.h"
#include "oracles.h"

#include <string.h>

const struct dtype_info dtypes[DTYPE_COUNT] = {
#define DTYPE(name, bits, exp, man, max, product, acc) \
    [DT_##name] = {#name, bits, exp, man, max, DT_##product, DT_##acc},
#include "dtypes.def"
#undef DTYPE
};

#define EXPRESSION(function, expression)                                                 \
    static double function(struct shape s) {                                             \
        const double b = (double)s.b, m = (double)s.m, n = (double)s.n, k = (double)s.k; \
        (void)b, (void)m, (void)n, (void)k;                                              \
        return expression;                                                               \
    }
#define OP(name, formula, operands, flops, depth, check, domain, layouts, dtypes, sweep) \
    EXPRESSION(flops_of_##name, flops) EXPRESSION(depth_of_##name, depth)
#include "ops.def"
#undef OP

/* The words that ops.def uses in its cells. */
enum {
    FLAT = 1 << LAYOUT_FLAT,
    PRODUCTS = 1 << LAYOUT_NN | 1 << LAYOUT_NT | 1 << LAYOUT_TN,
    ORDERS = 1 << LAYOUT_N | 1 << LAYOUT_T,
    PRODUCTS_T = (1 << DTYPE_COUNT) - 1,
    EVERY = PRODUCTS_T & ~(1 << DT_tf32),
    VALUES = EVERY & ~(1 << DT_nvfp4),
    CASTS = EVERY & ~(1 << DT_fp32),
    MASTERED = 1 << DT_fp16 | 1 << DT_bf16,
    TRAINED = MASTERED | 1 << DT_fp64 | 1 << DT_fp32,
    FP8 = 1 << DT_fp8_e4m3 | 1 << DT_fp8_e5m2,
};
#define B              EXTENT_B
#define M              EXTENT_M
#define N              EXTENT_N
#define K              EXTENT_K
#define ONE            EXTENT_ONE
#define TWO            EXTENT_TWO
#define IN(...)        {ROLE_IN, {__VA_ARGS__}},
#define OUT(...)       {ROLE_OUT, {__VA_ARGS__}},
#define INOUT(...)     {ROLE_INOUT, {__VA_ARGS__}},
#define PROD(...)      {ROLE_PROD, {__VA_ARGS__}},
#define ACC(...)       {ROLE_ACC, {__VA_ARGS__}},
#define ACC_INOUT(...) {ROLE_ACC_INOUT, {__VA_ARGS__}},
#define IN_FP32(...)   {ROLE_IN_FP32, {__VA_ARGS__}},
#define OUT_FP32(...)  {ROLE_OUT_FP32, {__VA_ARGS__}},
#define IN_UPPER(...)  {ROLE_IN_UPPER, {__VA_ARGS__}},
#define SQUARES(...)   {ROLE_SQUARES, {__VA_ARGS__}},
#define HYPER          {ROLE_HYPER, {EXTENT_HYPER}},
#define IN_ACC(...)    {ROLE_IN_ACC, {__VA_ARGS__}},
#define IN_BF16(...)   {ROLE_IN_BF16, {__VA_ARGS__}},
#define INDEX(...)     {ROLE_INDEX, {__VA_ARGS__}},
#define GATHERED(...)  {ROLE_GATHERED, {__VA_ARGS__}},
#define OP(name, formula, operands, flops, depth, check, domain, layouts, dtypes, sweep) \
    [OP_##name] = {#name,           formula,       {operands},      flops_of_##name,     \
                   depth_of_##name, CHECK_##check, DOMAIN_##domain, layouts,             \
                   dtypes,          SWEEP_##sweep, oracle_##name},
const struct op ops[OP_COUNT] = {
#include "ops.def"
};
#undef OP

const char *const layout_names[LAYOUT_COUNT] = {"flat", "nn", "nt", "tn", "n", "t"};

bool impl_is_vendor(const char *impl) {
    static const char *const names[] = {"openblas", "blis",   "aocl", "mkl",
                                        "onednn",   "cublas", "cub",  "stream_loop"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(impl, names[i], strlen(names[i])) == 0) return true;
    return false;
}

int dtype_find(const char *name) {
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0) return i;
    return -1;
}

int op_find(const char *name) {
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(name, ops[i].name) == 0) return i;
    return -1;
}

int layout_find(const char *name) {
    for (int i = 0; i < LAYOUT_COUNT; i++)
        if (strcmp(name, layout_names[i]) == 0) return i;
    return -1;
}

const char *op_refuses_dtype(const struct op *op, enum dtype t) {
    if (op->dtypes >> t & 1) return NULL;
    if (t == DT_tf32) return "tf32 is a mode of fp32 products on tensor cores";
    if (op->dtypes == TRAINED) return "training keeps losses and gradients in 16 bits or more";
    if (op->dtypes == FP8) return "its scale is for the range of fp8; others are cast through fp32";
    if (t == DT_nvfp4) return "an nvfp4 result would need new block scales: that is cast_from_fp32";
    if (op->dtypes == MASTERED && t <= DT_fp32)
        return "a master copy is for parameters in 16 bits: here it would be a second of the same";
    if (t == DT_fp8_e4m3 || t == DT_fp8_e5m2)
        return "parameters and gradients are kept in 16 bits or more: 8 are for products";
    return "fp32 to fp32 is a copy";
}

const char *tables_refuse_dtype(const struct impl *const *kernels,
                                const struct impl *const *vendors, const struct op *op,
                                enum dtype t) {
    const struct impl *const *const groups[] = {kernels, vendors};
    for (int g = 0; g < 2; g++)
        for (const struct impl *const *table = groups[g]; *table; table++)
            for (const struct impl *row = *table; row->run; row++)
                if (&ops[row->op] == op && row->dtype == t) return NULL;
    if (t == DT_tf32) return "no implementation on this device: tf32 is a mode of tensor cores";
    return "no implementation on this device: the kernels here compute this dtype in fp32";
}

int op_operand_count(const struct op *op) {
    int count = 0;
    while (count < MAX_OPERANDS && op->operand[count].role != ROLE_NONE) count++;
    return count;
}

/* A matvec's result is a PROD for its dtype alone. */
bool op_takes_beta(const struct op *op) {
    bool has_product = false;
    for (int i = 0; i < MAX_OPERANDS; i++) has_product |= op->operand[i].role == ROLE_PROD;
    return has_product && op->layouts != ORDERS;
}

enum dtype operand_dtype(const struct operand *o, enum dtype t) {
    switch (o->role) {
    case ROLE_PROD:
        return dtypes[t].product;
    case ROLE_ACC:
    case ROLE_ACC_INOUT:
    case ROLE_SQUARES:
    case ROLE_HYPER:
    case ROLE_IN_ACC:
        return dtypes[t].acc;
    case ROLE_IN_FP32:
    case ROLE_OUT_FP32:
    case ROLE_INDEX:
        return DT_fp32;
    case ROLE_IN_BF16:
        return DT_bf16;
    default: /* two numbers are no block of nvfp4: their scales are kept, of codes of 1 */
        return t == DT_nvfp4 && o->extent[0] == EXTENT_TWO ? DT_fp8_e4m3 : t;
    }
}

bool operand_is_read(const struct operand *o, double beta) {
    switch (o->role) {
    case ROLE_IN:
    case ROLE_IN_FP32:
    case ROLE_IN_UPPER:
    case ROLE_IN_ACC:
    case ROLE_IN_BF16:
    case ROLE_INDEX:
    case ROLE_GATHERED:
    case ROLE_INOUT:
    case ROLE_ACC_INOUT:
    case ROLE_SQUARES:
    case ROLE_HYPER:
        return true;
    case ROLE_PROD:
        return beta != 0;
    default:
        return false;
    }
}

bool operand_is_written(const struct operand *o) {
    switch (o->role) {
    case ROLE_OUT:
    case ROLE_INOUT:
    case ROLE_PROD:
    case ROLE_ACC:
    case ROLE_ACC_INOUT:
    case ROLE_SQUARES:
    case ROLE_OUT_FP32:
        return true;
    default:
        return false;
    }
}

static int64_t extent_of(enum extent e, struct shape s) {
    switch (e) {
    case EXTENT_B:
        return s.b;
    case EXTENT_M:
        return s.m;
    case EXTENT_N:
        return s.n;
    case EXTENT_K:
        return s.k;
    case EXTENT_TWO:
        return 2;
    case EXTENT_HYPER:
        return HYPER_COUNT;
    default:
        return 1;
    }
}

int64_t operand_elements(const struct operand *o, struct shape s) {
    int64_t elements = 1;
    for (int i = 0; i < MAX_EXTENTS; i++)
        if (__builtin_mul_overflow(elements, extent_of(o->extent[i], s), &elements)) return -1;
    return elements;
}

size_t storage_bytes(enum dtype t, int64_t elements) {
    enum { BLOCK = 16, SCALE_ALIGN = 4 };
    if (elements < 0) return 0;
    const size_t n = (size_t)elements;
    if (t == DT_nvfp4) {
        if (n % BLOCK != 0) return 0;
        const size_t scales = (n / BLOCK + SCALE_ALIGN - 1) / SCALE_ALIGN * SCALE_ALIGN;
        return n / 2 + scales + sizeof(float);
    }
    size_t bytes;
    return __builtin_mul_overflow(n, (size_t)dtypes[t].bits / 8, &bytes) ? 0 : bytes;
}

/* Elements of an m x n matrix on and above the diagonal. */
static double upper_elements(struct shape s) {
    const double m = (double)s.m, n = (double)s.n, rows = m < n ? m : n;
    return rows * n - rows * (rows - 1) / 2;
}

/* Elements that a call has to touch: of a gathered table no more rows than there are indices. */
static double touched_elements(const struct operand *o, struct shape s) {
    if (o->role == ROLE_IN_UPPER) return upper_elements(s);
    const double elements = (double)operand_elements(o, s);
    return o->role == ROLE_GATHERED && s.m < s.n ? elements / (double)s.n * (double)s.m : elements;
}

static double traffic_bytes(enum dtype t, double elements) {
    const double scales = t == DT_nvfp4 ? elements / 16 + 4 : 0;
    return elements * dtypes[t].bits / 8 + scales;
}

struct traffic op_traffic(const struct op *op, enum dtype t, const struct args *a) {
    struct traffic sum = {0};
    for (int i = 0; i < op_operand_count(op); i++) {
        const struct operand *o = &op->operand[i];
        const double bytes = traffic_bytes(operand_dtype(o, t), touched_elements(o, a->s));
        const bool read = operand_is_read(o, a->beta), written = operand_is_written(o);
        if (read) sum.read += bytes;
        if (written) sum.written += bytes;
        if (read && written) sum.in_place += 2 * bytes;
    }
    return sum;
}

double op_bytes(const struct op *op, enum dtype t, const struct args *a) {
    const struct traffic sum = op_traffic(op, t, a);
    return sum.read + sum.written;
}

double op_footprint(const struct op *op, enum dtype t, struct shape s) {
    double bytes = 0;
    for (int i = 0; i < op_operand_count(op); i++) {
        const struct operand *o = &op->operand[i];
        bytes += traffic_bytes(operand_dtype(o, t), (double)operand_elements(o, s));
    }
    return bytes;
}

/* The extent along which an operand is contiguous, as this layout stores it. */
static int64_t contiguous_extent(const struct operand *o, int index, const struct args *a) {
    int last = 0;
    while (last + 1 < MAX_EXTENTS && o->extent[last + 1] != EXTENT_NONE) last++;
    const bool transposed =
        last > 0 && ((index == 0 && (a->layout == LAYOUT_TN || a->layout == LAYOUT_T)) ||
                     (index == 1 && a->layout == LAYOUT_NT));
    return extent_of(o->extent[transposed ? last - 1 : last], a->s);
}

const char *op_refuses_shape(const struct op *op, enum dtype t, const struct args *a) {
    for (int i = 0; i < op_operand_count(op); i++) {
        const struct operand *o = &op->operand[i];
        const enum dtype stored = operand_dtype(o, t);
        const int64_t elements = operand_elements(o, a->s);
        if (elements < 0 || elements > INT64_MAX / 16)
            return "more elements than 64 bits can count";
        if (o->role == ROLE_INDEX && (elements > INT32_MAX || a->s.n > INT32_MAX))
            return "indices are 32-bit numbers";
        if (stored == DT_nvfp4 && contiguous_extent(o, i, a) % 16 != 0)
            return "nvfp4 blocks are 16 elements of a row: the contiguous extent must be a "
                   "multiple of 16";
    }
    return NULL;
}
