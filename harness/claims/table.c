/* table.c - every claim in one place: what it says, what is compared, from when on it holds. Thresholds leave room for a
 * machine that others use as well. */
#include "claims.h"

#include <string.h>

const struct claim claims[] = {
    {"relu-gelu", "relu is no faster than gelu, for all its fewer FLOPs: both wait for memory",
     "time of relu / time of gelu", "at least 0.9", want_relu_gelu, judge_relu_gelu, false, false},
    {"dot", "a dot product is memory-bound", "bandwidth of dot / measured read bandwidth",
     "at least 0.6, and its intensity is below the accelerator's", want_dot, judge_dot, false,
     false},
    {"matvec", "a matrix-vector product is memory-bound: why inference is slow",
     "bandwidth of matvec / measured read bandwidth",
     "at least 0.6, and its intensity is below the accelerator's", want_matvec, judge_matvec, false,
     false},
    {"matmul-turn",
     "an n x n product turns compute-bound where its intensity passes the "
     "accelerator's",
     "n of the turn", "within a factor 4 of the prediction", want_turn, judge_turn, false, false},
    {"mfu-bound", "intensity bounds MFU: MFU <= min(1, intensity / accelerator intensity)",
     "largest MFU / bound over the rows", "at most 1.1", want_mfu, judge_mfu, false, false},
    {"2mnk", "a product takes 2mnk FLOPs, and its time follows them whatever its form",
     "longest / shortest time a FLOP over 4 shapes",
     "at most 1.4, and counters, where there are any, agree within 5 %", want_flops, judge_flops,
     false, false},
    {"backward", "backward takes twice as long as forward", "time of backward / forward, one layer",
     "1.6 to 2.5", want_backward, judge_backward, false, false},
    {"6nd", "training takes 6ND FLOPs: 2ND forward and 4ND backward",
     "ms of forward and backward through 3 layers", "0.75 to 1.35 times the prediction", want_stack,
     judge_6nd, false, false},
    {"checkpointing", "activation checkpointing costs a third more",
     "time with one more forward pass / without", "1.25 to 1.42", want_stack, judge_checkpointing,
     false, false},
    {"accumulation", "accumulating over k micro-batches divides activation memory by k",
     "activation bytes of a batch / of a micro-batch, k = 4", "equal", NULL, judge_accumulation,
     false, false},
    {"adamw-bytes", "AdamW in mixed precision takes 12 bytes a parameter", "bytes a parameter",
     "equal", NULL, judge_adamw_bytes, false, false},
    {"adamw-update", "AdamW's update is memory-bound", "its bandwidth / measured bandwidth",
     "at least 0.6, and its intensity is below the accelerator's", want_adamw, judge_adamw, false,
     false},
    {"view", "a view is free: it moves no bytes and takes none",
     "bytes that a transposed view adds", "equal, and a flat view of it is refused", NULL,
     judge_view, false, false},
    {"contiguous", "making a transposed view contiguous moves 2 x its bytes",
     "time / time of a copy of as many bytes",
     "0.7 to 2; where there are counters, their bytes are within 25 %", want_contiguous,
     judge_contiguous, false, false},
    {"fp16-1e-8", "fp16 loses 1e-8: it becomes 0", "1e-8 cast to fp16 by the device",
     "0, as the software conversion says", NULL, judge_fp16, false, true},
    {"bf16-1e-8", "bf16 keeps 1e-8", "1e-8 cast to bf16 by the device",
     "1e-8 within 2^-8, as the software conversion says", NULL, judge_bf16, false, true},
    {"bf16-1.001", "1.0 + 0.001 = 1.0 in bf16", "1.0 + 0.001 in bf16, added by the device",
     "1, as the software conversion says", NULL, judge_bf16_sum, false, true},
    {"fp32-10x", "fp32 is at least 10 x slower than bf16 on tensor cores",
     "rate of bf16 / rate of fp32, products", "at least 10", want_tensor_cores, judge_tensor_cores,
     false, false},
    {"pinned", "pinned memory is copied to the device faster than pageable memory",
     "pinned GB/s / pageable GB/s", "at least 1.1", NULL, judge_pinned, true, false},
};
const int claim_count = sizeof claims / sizeof *claims;

int claim_find(const char *id) {
    for (int i = 0; i < claim_count; i++)
        if (strcmp(claims[i].id, id) == 0) return i;
    return -1;
}
