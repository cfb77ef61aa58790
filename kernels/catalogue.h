/* catalogue.h - what can be measured: dtypes, operations, implementations.
 *
 * The only header that a kernel needs besides numerics.h. Read by C11 and by CUDA C++.
 * Matrices are row-major and contiguous; a dimension that an operation lacks is 1. */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_OPERANDS = 6, MAX_EXTENTS = 3 };

enum dtype {
#define DTYPE(name, ...) DT_##name,
#include "dtypes.def"
#undef DTYPE
    DTYPE_COUNT
};

enum op_id {
#define OP(name, ...) OP_##name,
#include "ops.def"
#undef OP
    OP_COUNT
};

struct dtype_info {
    const char *name;
    int bits; /* of storage an element, scales not counted */
    int exponent_bits, fraction_bits;
    double max; /* largest finite value */
    enum dtype product, acc;
};

struct shape {
    int64_t b, m, n, k; /* batch, rows of C, columns of C, inner */
};

/* FLAT operations have one layout. A product's letters say whether A and B are stored transposed:
 * nn: A[m,k] B[k,n]   nt: A[m,k] B[n,k]   tn: A[k,m] B[k,n].  matvec: n: A[m,n], t: A[n,m]. */
enum layout { LAYOUT_FLAT, LAYOUT_NN, LAYOUT_NT, LAYOUT_TN, LAYOUT_N, LAYOUT_T, LAYOUT_COUNT };

enum role {
    ROLE_NONE,
    ROLE_IN,
    ROLE_OUT,
    ROLE_INOUT,
    ROLE_PROD,
    ROLE_ACC,
    ROLE_ACC_INOUT,
    ROLE_IN_FP32,
    ROLE_OUT_FP32,
    ROLE_IN_UPPER,
    ROLE_IN_ACC,
    ROLE_IN_BF16,
    ROLE_INDEX,
    ROLE_GATHERED,
    ROLE_SQUARES,
    ROLE_HYPER
};
enum extent {
    EXTENT_NONE,
    EXTENT_B,
    EXTENT_M,
    EXTENT_N,
    EXTENT_K,
    EXTENT_ONE,
    EXTENT_TWO,
    EXTENT_HYPER
};
enum check { CHECK_BITWISE, CHECK_SUMS, CHECK_SCALED, CHECK_ROUNDED };
enum domain { DOMAIN_REAL, DOMAIN_POSITIVE, DOMAIN_UNIT };
enum sweep {
    SWEEP_vectors,
    SWEEP_squares,
    SWEEP_rows,
    SWEEP_matrices,
    SWEEP_cubes,
    SWEEP_batches,
    SWEEP_chains,
    SWEEP_tables
};

/* Elements of a HYPER operand. t is the number of the step, from 1. */
enum hyper {
    HYPER_LR,
    HYPER_BETA1,
    HYPER_BETA2,
    HYPER_EPS,
    HYPER_DECAY,
    HYPER_CORRECT1,   /* 1 / (1 - beta1^t) */
    HYPER_CORRECT2,   /* 1 / (1 - beta2^t) */
    HYPER_GRAD_SCALE, /* 0, infinite or NaN: the step is skipped, nothing is written */
    HYPER_COUNT
};

struct operand {
    enum role role;
    enum extent extent[MAX_EXTENTS]; /* ends at EXTENT_NONE */
};

/* What kernels size themselves by on a GPU; read off the device when it is opened. */
struct gpu_facts {
    int cc;               /* compute capability: 90 is sm_90 */
    int sms;              /* multiprocessors */
    int smem_block_bytes; /* shared memory that a block may have, asked for (opt-in) */
    int64_t l2_bytes;
};

/* How a GPU kernel spreads over the chip, where it leaves that open. */
struct launch_form {
    int threads; /* a block; 0: the kernel's own choice of both */
    int blocks_per_sm; /* as many on each multiprocessor, which walk over the work; 0: a block for each tile of it */
};

/* Everything a kernel is given. buf[] follows the operand order of ops.def; a buffer starts at a multiple of
 * 64 bytes on the CPU and of 256 on a GPU. Inputs are only read; with beta == 0 a PROD operand is not read. */
struct args {
    struct shape s;
    enum layout layout;
    double alpha, beta;
    int threads; /* CPU threads to use, at least 1; a GPU ignores it */
    void *buf[MAX_OPERANDS];
    void *
        scratch; /* of impl.scratch_bytes(), 256-byte aligned; zeros before the first call, then as calls leave it */
    const struct gpu_facts *gpu; /* NULL on the CPU */
    void *stream;                /* cudaStream_t; NULL on the CPU */
    struct launch_form launch;   /* wished for on a GPU; zeros: nothing is */
    struct launch_form
        *launched; /* where a kernel that leaves it open says what it took; or NULL */
};

/* 0, or the device's error code. Never allocates. */
typedef int kernel_fn(const struct args *a);

/* One element of output operand `o` (index into op.operand), flat row-major index i, in extended precision; *mag is
 * the sum of |terms|, which scales the error bound. a->buf holds the operands as they were before the call. */
typedef long double oracle_fn(const struct args *a, enum dtype t, int o, int64_t i,
                              long double *mag);

struct op {
    const char *name, *formula;
    struct operand operand[MAX_OPERANDS];
    double (*flops)(struct shape s);
    double (*depth)(struct shape s);
    enum check check;
    enum domain domain;
    unsigned layouts, dtypes; /* bit sets of enum layout, enum dtype */
    enum sweep sweep;
    oracle_fn *oracle;
};

/* One runnable kernel: a row of a table at the foot of its own source file. Tables are listed, and rows within
 * one, from the plain to the fast: of those that accept a problem the last one is taken to be the best. */
struct impl {
    enum op_id op;
    const char *name; /* the idea: "portable", "packed_avx512"; vendor rows: "openblas" */
    enum dtype dtype;
    kernel_fn *run; /* NULL ends a table */
    const char *(*refuses)(
        const struct args *a); /* why it cannot run (buf may be NULL), or NULL; NULL: runs all */
    size_t (*scratch_bytes)(const struct args *a); /* NULL: none */
};

extern const struct dtype_info dtypes[DTYPE_COUNT];
extern const struct op ops[OP_COUNT];
extern const char *const layout_names[LAYOUT_COUNT]; /* "flat" "nn" "nt" "tn" "n" "t" */

/* Tables of rows, ending at NULL. The build picks the files behind them. */
extern const struct impl *const cpu_kernels[], *const vendor_cpu_kernels[];
extern const struct impl *const cuda_kernels[];

/* Whether an implementation is a vendor library's, by its name; for rows of any build and machine. */
bool impl_is_vendor(const char *impl);

/* -1 when the name is unknown. */
int dtype_find(const char *name);
int op_find(const char *name);
int layout_find(const char *name);

/* Why the catalogue has no such op in this dtype, as a sentence; NULL when it has. */
const char *op_refuses_dtype(const struct op *op, enum dtype t);

/* Why no row of these tables, refusing or not, implements an op in a dtype that the op has; NULL when one does. */
const char *tables_refuse_dtype(const struct impl *const *kernels,
                                const struct impl *const *vendors, const struct op *op,
                                enum dtype t);

int op_operand_count(const struct op *op);
bool op_takes_beta(const struct op *op); /* adds beta times what its result held */
/* What the operand is stored in. Indices are int32 and have no dtype: fp32, whose bytes are as many. */
enum dtype operand_dtype(const struct operand *o, enum dtype t);
bool operand_is_read(const struct operand *o, double beta);
bool operand_is_written(const struct operand *o);
int64_t operand_elements(const struct operand *o,
                         struct shape s); /* -1: more than fits in int64_t */

/* Bytes that n elements take in memory, scales included; layout of nvfp4: numerics.h. 0 when it overflows or,
 * for nvfp4, when n is not a multiple of 16. */
size_t storage_bytes(enum dtype t, int64_t elements);

/* Compulsory traffic of one call in bytes. in_place is the part of both that goes to operands read and written. */
struct traffic {
    double read, written, in_place;
};
struct traffic op_traffic(const struct op *op, enum dtype t, const struct args *a);

/* Read and written together. */
double op_bytes(const struct op *op, enum dtype t, const struct args *a);

/* Bytes of all operands together: the working set of one call. */
double op_footprint(const struct op *op, enum dtype t, struct shape s);

/* Why no implementation can run this shape in this dtype (size overflow, nvfp4 block limits, indices), or NULL. */
const char *op_refuses_shape(const struct op *op, enum dtype t, const struct args *a);

/* Default shapes of an op, on a CPU or a GPU. effort 0: smoke, 1: default, 2: full. Ends at m == 0. */
const struct shape *sweep_shapes(enum sweep s, int effort, bool gpu);
/* Small odd shapes that reach every edge path, for verification only. Ends at m == 0. */
const struct shape *check_shapes(enum sweep s);

#ifdef __cplusplus
}
#endif
#endif
