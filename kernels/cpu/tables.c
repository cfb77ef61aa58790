/* tables.c - the CPU's rows, from the plain to the fast.
 *
 * The wider vectors come last: on Granite Rapids 512-bit ones read L1 1.4 times as fast as 256-bit ones, L2 1.1 times,
 * DRAM as fast. A CPU that splits them (Zen 4) would have 256-bit ones ahead by up to 8 % in loads from DRAM, and in L1
 * where much is stored. */
#include "../catalogue.h"

extern const struct impl moves_cpu[], casts_cpu[], elementwise_cpu[], reduce_cpu[], rows_cpu[],
    fma_cpu[];
extern const struct impl transpose_cpu[], matvec_cpu[], matmul_cpu[], embedding_cpu[],
    optimizers_cpu[];
extern const struct impl moves_avx2[], casts_avx2[], elementwise_avx2[], elementwise_stream_avx2[],
    reduce_avx2[], reduce_stream_avx2[], rows_avx2[], fma_avx2[];
extern const struct impl transpose_avx2[], matvec_avx2[], matvec_nvfp4_avx2[], matmul_avx2[],
    embedding_avx2[], optimizers_avx2[];
extern const struct impl moves_avx512[], casts_avx512[], elementwise_avx512[],
    elementwise_stream_avx512[], reduce_avx512[], reduce_stream_avx512[], rows_avx512[],
    fma_avx512[], fma_avx512_bf16[];
extern const struct impl transpose_avx512[], matvec_avx512[], matvec_nvfp4_avx512[],
    matmul_avx512[], matmul_avx512_bf16[], embedding_avx512[], optimizers_avx512[], matmul_amx[],
    fma_amx[];
extern const struct impl rows_nt_avx2[], rows_nt_avx512[];
extern const struct impl elementwise_nt_avx2[], stream_nt_avx2[], elementwise_nt_avx512[],
    stream_nt_avx512[], embedding_nt_avx2[], embedding_nt_avx512[];

const struct impl *const cpu_kernels[] = {
    /* any CPU */
    moves_cpu,
    casts_cpu,
    elementwise_cpu,
    reduce_cpu,
    rows_cpu,
    fma_cpu,
    transpose_cpu,
    matvec_cpu,
    matmul_cpu,
    embedding_cpu,
    optimizers_cpu,
    /* AVX2 */
    casts_avx2,
    elementwise_avx2,
    reduce_avx2,
    rows_avx2,
    fma_avx2,
    transpose_avx2,
    matvec_avx2,
    matvec_nvfp4_avx2,
    matmul_avx2,
    embedding_avx2,
    optimizers_avx2,
    /* AVX-512 */
    casts_avx512,
    elementwise_avx512,
    reduce_avx512,
    rows_avx512,
    fma_avx512,
    fma_avx512_bf16,
    transpose_avx512,
    matvec_avx512,
    matvec_nvfp4_avx512,
    matmul_avx512,
    matmul_avx512_bf16,
    embedding_avx512,
    optimizers_avx512,
    /* AMX */
    fma_amx,
    matmul_amx,
    /* streams */
    moves_avx2,
    elementwise_stream_avx2,
    reduce_stream_avx2,
    moves_avx512,
    elementwise_stream_avx512,
    reduce_stream_avx512,
    /* streams past the caches */
    elementwise_nt_avx2,
    elementwise_nt_avx512,
    rows_nt_avx2,
    rows_nt_avx512,
    stream_nt_avx2,
    stream_nt_avx512,
    embedding_nt_avx2,
    embedding_nt_avx512,
    NULL,
};
