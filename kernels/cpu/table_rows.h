/* table_rows.h - rows of one implementation: NAME is its name, REFUSES(t) its refusal in dtype t. */
#ifndef TABLE_ROWS_H
#define TABLE_ROWS_H

#define ROW(op, t, scratch) \
    { OP_##op, NAME, DT_##t, op##_##t, REFUSES(t), scratch }

/* of an op in every dtype of each_dtype.inc; in these but for fp32 */
#define ROWS(op, scratch) ROWS_BUT_FP32(op, scratch), ROW(op, fp32, scratch)
#define ROWS_BUT_FP32(op, scratch)                                          \
    ROW(op, fp64, scratch), ROW(op, fp16, scratch), ROW(op, bf16, scratch), \
        ROW(op, fp8_e4m3, scratch), ROW(op, fp8_e5m2, scratch)

/* in two halves: the dtypes that hardware loads and stores as such; those that integer code converts */
#define ROWS_OF_HARDWARE(op, scratch) \
    ROW(op, fp64, scratch), ROW(op, fp32, scratch), ROW(op, fp16, scratch)
#define ROWS_OF_SOFTWARE(op, scratch) \
    ROW(op, bf16, scratch), ROW(op, fp8_e4m3, scratch), ROW(op, fp8_e5m2, scratch)
#endif
