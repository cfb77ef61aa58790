# cli_einsum_run.sh - account einsum --run on the CPU: calls, verification, times that are there, refusals. No time is judged.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
einsum=("$roofline" account einsum)
on=(--run --device cpu)
untimed=("${on[@]}" --untimed)

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
run "${einsum[@]}" 'i, i ->' i=4096 "${on[@]}"
pass_if "text: predicted, or why not" grep -qE '^predicted ' out
pass_if "text: stderr is empty" [ ! -s err ]

# What is not timed.
# calls CALLS PATTERN...: the calls are these, in this order, and the result is right.
calls() {
    run "${einsum[@]}" "${@:2}" "${untimed[@]}"
    pass_if "${*:2}: status $status" [ "$status" -eq 0 ]
    local said
    said=$(sed -nE 's/^call [0-9]+ +//p' out | sed -E 's/\.[a-z0-9_]+(\.[a-z0-9_]+) .*/\1/' | tr '\n' ',')
    pass_if "${*:2}: calls $1" [ "$said" = "$1," ]
    pass_if "${*:2}: verified" grep -qE '^verified +[0-9,]+ outputs are those of the definition' out
}
calls 'matmul.fp32' 'm k, k n -> m n' m=200 k=200 n=200 --dtype fp32
pass_if "compared at sizes that loops can do" grep -q 'at m=100 k=200 n=200' out
calls 'matvec.fp8_e4m3' 'm n, n -> m' m=64 n=128 --dtype fp8_e4m3
calls 'dot.fp16' 'i, i ->' i=4096 --dtype fp16
calls 'mean.fp64' --reduce mean '... ->' ...=8x33 --dtype fp64
calls 'transpose.bf16' --rearrange 'a b -> (b a)' --shape 24x40
calls '5 x transpose.fp32,transpose.fp32' --rearrange 'a b c -> (c b a)' a=5 b=20 c=30 --dtype fp32
calls 'fill.bf16,matvec.bf16' --reduce sum 'a b -> b' a=33 b=65
calls 'fill.bf16,matvec.bf16,scale.bf16' --reduce mean '... a -> ...' ...=7x9 a=33
calls '63 x mean.fp16' --reduce mean '... a -> ...' ...=7x9 a=33 --dtype fp16
calls '9 x max.fp64' --reduce max 'a b c -> a' a=9 b=3 c=11 --dtype fp64
calls 'transpose.fp8_e5m2,9 x max.fp8_e5m2' --reduce max 'a b -> b' a=7 b=9 --dtype fp8_e5m2
calls 'scale.bf16,max.bf16,scale.fp32' --reduce min 'a ->' a=99
calls 'scale.fp16,5 x max.fp16,scale.fp32' --reduce min '(a 2) -> a' a=5 --dtype fp16
calls '31 x copy.fp32,fill.fp32,matvec.fp32' 'a a b -> b' a=31 b=17 --dtype fp32
calls '31 x copy.fp32,sum.fp32' 'a a ->' a=31 --dtype fp32
calls 'fill.fp32,matvec.fp32,matvec.fp32' 'a b, b d -> a' a=21 b=30 d=41 --dtype fp32
calls 'matmul.bf16,matmul.bf16' 'a b, b c, c d -> a d' a=30 b=41 c=5 d=21
pass_if "the order of the products" grep -qE '^order +\(1 2\) 3:' out
pass_if "FLOPs of the order" grep -qE '^flops +18,600 FLOP' out
pass_if "FLOPs of one loop over all" grep -qE '^flops in one loop +387,450 FLOP' out
calls 'matmul.fp8_e4m3,cast_to_fp32.fp8_e4m3,cast_from_fp32.bf16,matmul.bf16' 'a b, b c, c d -> a d' a=30 b=41 c=5 d=21 \
    --dtype fp8_e4m3
calls 'mul.fp32,matvec.fp32' 'a b, b, b -> a' a=7 b=9 --dtype fp32
run "${einsum[@]}" 'a b, b c, c d -> a d' a=30 b=4100 c=5 d=21 "${untimed[@]}"
pass_if "rounded in between: $status" [ "$status" -eq 0 ]
pass_if "within a bound" grep -qE "^verified +.* within the roundings' bound, at" out

run "${einsum[@]}" 'a b, b c, c d -> a d' a=30 b=41 c=5 d=21 "${on[@]}"
pass_if "several steps are timed" grep -qE '^measured +[1-9]' out

# random patterns
RANDOM=${SEED:-7}
types=(fp64 fp32 fp16 bf16 fp8_e4m3 fp8_e5m2)
hows=(sum mean max min)
# in_random_order WORD...
in_random_order() {
    local words=("$@") order=() i
    while [ ${#words[@]} -gt 0 ]; do
        i=$((RANDOM % ${#words[@]}))
        order+=("${words[i]}")
        unset "words[i]"
        words=("${words[@]}")
    done
    echo "${order[*]}"
}
for ((i = 0; i < 40; i++)); do
    sizes=() kept=() tensor='' operands=$((1 + RANDOM % 3))
    for axis in a b c d; do
        sizes+=("$axis=$((1 + RANDOM % 9))")
        [ $((RANDOM % 2)) -eq 1 ] || kept+=("$axis")
    done
    for ((o = 0; o < operands; o++)); do
        tensor+="${tensor:+, }$(in_random_order a b c d)"
    done
    how=()
    [ $operands -gt 1 ] || how=(--reduce "${hows[RANDOM % 4]}")
    pattern="$tensor -> $(in_random_order "${kept[@]}")"
    run "${einsum[@]}" "${how[@]}" "$pattern" "${sizes[@]}" --dtype "${types[RANDOM % 6]}" "${untimed[@]}"
    pass_if "${how[*]} $pattern ${sizes[*]}: status $status: $(cat err)" [ "$status" -eq 0 ]
    pass_if "${how[*]} $pattern ${sizes[*]}: verified" grep -q 'outputs are those of the definition' out
done

refused "cannot run: a view" "${einsum[@]}" --rearrange 'a b -> b a' --shape 24x40 "${on[@]}"
refused "nvfp4" "${einsum[@]}" 'i, i ->' i=4096 --dtype nvfp4 "${on[@]}"
refused "cannot run matmul in tf32: no implementation" "${einsum[@]}" 'm k, k n -> m n' m=32 k=48 n=16 --dtype tf32 "${on[@]}"
refused "'abacus'" "${einsum[@]}" 'i, i ->' i=4096 --run --device abacus
refused "how to --run" "${einsum[@]}" 'i, i ->' i=4096 --untimed
refused "where to --run" "${einsum[@]}" 'i, i ->' i=4096 --device cpu
finish
