# cli_einsum_run.sh - account einsum --run on the CPU: calls, verification, times that are there, refusals. No time is judged.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
einsum=("$roofline" account einsum)
on=(--run --device cpu)

# runs CALL PATTERN...: the pattern is lowered to CALL, is right, and has times above 0.
# shellcheck disable=SC2317,SC2329
runs() {
    run "${einsum[@]}" "${@:2}" "${on[@]}" --json
    pass_if "${*:2}: status $status" [ "$status" -eq 0 ]
    pass_if "${*:2}: lowered to $1" grep -qE "\"call_1\".*\"$1" out
    pass_if "${*:2}: verified" grep -q 'outputs are those of the definition' out
    pass_if "${*:2}: measured" grep -qE '"measured"[^}]*[1-9]' out
}

runs 'bmm\.[a-z0-9_]*\.fp32 2x24x40x16 nt' 'batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2' batch=2 seq1=24 \
    seq2=40 hidden=16 --dtype fp32
runs 'bmm\.[a-z0-9_]*\.bf16 2x24x40x16 nt' 'batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2' batch=2 seq1=24 \
    seq2=40 hidden=16
runs 'matmul\.[a-z0-9_]*\.bf16' 'm k, k n -> n m' m=32 k=48 n=16 --dtype bf16
pass_if "a transpose after it" grep -qE '"call_2".*transpose' out
runs 'matmul\.[a-z0-9_]*\.fp32 200x200x200' 'm k, k n -> m n' m=200 k=200 n=200 --dtype fp32
pass_if "compared at sizes that loops can do" grep -q 'at m=100 k=200 n=200' out
runs 'matvec\.[a-z0-9_]*\.fp8_e4m3' 'm n, n -> m' m=64 n=128 --dtype fp8_e4m3
runs 'dot\.[a-z0-9_]*\.fp16' 'i, i ->' i=4096 --dtype fp16
runs 'mean\.[a-z0-9_]*\.fp64' --reduce mean '... ->' ...=8x33 --dtype fp64
runs 'transpose\.[a-z0-9_]*\.bf16 24x40' --rearrange 'a b -> (b a)' --shape 24x40
run "${einsum[@]}" 'i, i ->' i=4096 "${on[@]}"
pass_if "text: predicted, or why not" grep -qE '^predicted ' out
pass_if "text: stderr is empty" [ ! -s err ]

refused "cannot run: a view" "${einsum[@]}" --rearrange 'a b -> b a' --shape 24x40 "${on[@]}"
refused "cannot run: 'd' is in operand 2 alone" "${einsum[@]}" 'a b, b d -> a' a=2 b=3 d=4 "${on[@]}"
refused "cannot run: a product of 3 operands" "${einsum[@]}" 'a, b, c -> a b c' a=2 b=3 c=4 "${on[@]}"
refused "cannot run: the catalogue has no minimum" "${einsum[@]}" --reduce min 'a ->' a=9 "${on[@]}"
refused "nvfp4" "${einsum[@]}" 'i, i ->' i=4096 --dtype nvfp4 "${on[@]}"
refused "cannot run matmul in tf32: no implementation" "${einsum[@]}" 'm k, k n -> m n' m=32 k=48 n=16 --dtype tf32 "${on[@]}"
refused "'abacus'" "${einsum[@]}" 'i, i ->' i=4096 --run --device abacus
refused "where to --run" "${einsum[@]}" 'i, i ->' i=4096 --device cpu
finish
