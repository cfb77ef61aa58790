# cli_account.sh - roofline account: the lecture's figures from the command line, its three forms, what it refuses.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}

account() { run "$roofline" account "$@"; }
has() { grep -qF -- "$1" out; }

# value NAME: the value of a name in CSV on stdout.
value() { sed -n "s/^$1,\([^,]*\),.*/\1/p" out; }

# gives NAME VALUE ARGUMENT...: the calculator's value, to the digit.
gives() {
    account "${@:3}" --csv
    pass_if "status $status, not 0: ${*:3}" [ "$status" -eq 0 ]
    pass_if "$1 is '$(value "$1")', not '$2': ${*:3}" [ "$(value "$1")" = "$2" ]
}

# about NAME LOW HIGH ARGUMENT...: the value lies between.
about() {
    account "${@:4}" --csv
    pass_if "status $status, not 0: ${*:4}" [ "$status" -eq 0 ]
    pass_if "$1 is '$(value "$1")', not within $2 and $3: ${*:4}" \
        awk -v x="$(value "$1")" -v low="$2" -v high="$3" 'BEGIN { exit !(x != "" && x >= low && x <= high) }'
}

# json FILE: whether it is JSON, by what is here to tell; without a tool nothing is claimed (a unit test parses it too).
json() {
    if command -v jq >/dev/null; then
        jq -e . "$1" >/dev/null
    elif command -v python3 >/dev/null; then
        python3 -m json.tool "$1" >/dev/null
    fi
}

# ---- every calculator describes itself, and its example runs ----
account --help
mapfile -t calculators < <(sed -n 's/^  \([a-z]*\)   *[A-Za-z].*/\1/p' out)
pass_if "--help names calculators" [ "${#calculators[@]}" -ge 1 ]
for what in "${calculators[@]}"; do
    for help in --help -h; do
        account "$what" $help
        pass_if "$what $help: status $status" [ "$status" -eq 0 ]
        pass_if "$what $help: usage" grep -q "^Usage: roofline account $what" out
        pass_if "$what $help: fits 120 columns" [ "$(awk 'length > 120' out | wc -l)" -eq 0 ]
        pass_if "$what $help: stderr is empty" [ ! -s err ]
    done
    mapfile -t examples < <(sed -n 's/^  roofline //p' out)
    pass_if "$what --help has an example" [ "${#examples[@]}" -ge 1 ]
    for example in "${examples[@]}"; do
        for form in '' --json --csv --units=si; do
            (cd "$SOURCE" && eval "\"$roofline\" $example $form") >out 2>err </dev/null
            status=$?
            pass_if "example, status $status: $example $form" [ "$status" -eq 0 ]
            pass_if "example says something: $example $form" [ -s out ]
            [ "$form" != --json ] || pass_if "JSON: $example" json out
            [ "$form" != --csv ] || pass_if "CSV has a header: $example" grep -q '^[a-z_]*\(,[a-z_]*\)*$' out
        done
    done
    refused 'unknown option.*--frobnicate' "$roofline" account "$what" --frobnicate
    refused 'json or --csv' "$roofline" account "$what" --json --csv
    refused "one of binary si" "$roofline" account "$what" --units metric
done
refused "unknown 'nonsense'; one of time" "$roofline" account nonsense
refused "say what" "$roofline" account

# ---- time ----
about days 143.92 143.94 time --params 70e9 --tokens 15e12 --gpu h100 --count 1024 --mfu 0.5
about days 143.92 143.94 time --params 70B --tokens 15T --peak 989.5e12 --count 1024
gives training_flops 6.3e+24 time --params 70e9 --tokens 15e12
about training_flops 9.574e21 9.576e21 time --gpu h100 --count 8 --days 14 --mfu 1
about share_of_gpt3 3.045 3.055 time --gpu h100 --count 8 --days 14 --mfu 1
about tokens 14.99e12 15.01e12 time --params 70e9 --days 143.927 --gpu h100 --count 1024 --mfu 0.5
about parameters 69.9e9 70.1e9 time --tokens 15e12 --days 143.927 --gpu h100 --count 1024 --mfu 0.5
about mfu 0.4999 0.5001 time --params 70e9 --tokens 15e12 --days 143.927 --gpu h100 --count 1024
about mfu 0.4206 0.4207 time --params 7e9 --tokens-per-second 400e3 --gpu a100 --count 128
gives share_of_gpt3 100 time --flops 3.14e23
account time --params 70e9 --tokens 15e12 --gpu h100 --count 1024 --mfu 0.5
pass_if "the formula has the figures" has '6 N D = 6 x 70e9 x 15e12'
pass_if "which card was taken is said" has 'H100 SXM5 80GB'
refused "say --params" "$roofline" account time
refused "say --params" "$roofline" account time --gpu h100
refused "unknown GPU 'h1000'" "$roofline" account time --params 1 --tokens 1 --gpu h1000
refused "no nvfp4 peak" "$roofline" account time --params 1 --tokens 1 --gpu h100 --dtype nvfp4
refused "a number above 0" "$roofline" account time --params -1
refused "a number above 0" "$roofline" account time --params 1e400
refused "at most 1" "$roofline" account time --mfu 1.5
refused "too large" "$roofline" account time --params 1e300 --tokens 1e300
refused "needs a value" "$roofline" account time --params
refused "takes no value" "$roofline" account time --json=1
refused "follows from" "$roofline" account time --params 1e9 --tokens 1e9 --days 1 --mfu 0.5 --gpu h100
refused "unexpected argument 'x'" "$roofline" account time x
refused "say --gpu" "$roofline" account time --params 1e9 --days 3

# ---- memory ----
about largest_model 53.33e9 53.34e9 memory --gpus 8 --gpu-memory 80e9 --dtype bf16 --optimizer adamw
gives bytes_a_parameter 12 memory --gpus 8 --gpu-memory 80e9 --dtype bf16 --optimizer adamw
gives largest_model 40000000000 memory --gpus 8 --gpu-memory 80e9 --dtype fp32 --optimizer adamw
gives largest_model 40000000000 memory --gpus 8 --gpu h100 --dtype bf16 --master
gives largest_model 320000000000 memory --gpus 8 --gpu-memory 80GB --inference
toy=(memory --layers 3 --hidden 4 --batch 2 --dtype bf16 --optimizer adagrad)
gives parameters 96 "${toy[@]}"
gives gradients 96 "${toy[@]}"
gives optimizer_state 192 "${toy[@]}"
gives activations 48 "${toy[@]}"
gives total 432 "${toy[@]}"
gives flops_a_step 576 "${toy[@]}"
gives activations 2097152 memory --layers 16 --hidden 1024 --batch 64
gives activations 524288 memory --layers 16 --hidden 1024 --batch 64 --accumulate 4
gives optimizer_state 10 memory --params 10 --optimizer momentum --optimizer-dtype fp8_e4m3
gives activations 1048576 memory --layers 16 --hidden 1024 --batch 64 --recompute sqrt
gives activations 262144 memory --layers 16 --hidden 1024 --batch 64 --recompute all
gives flops_a_step 6442450944 memory --layers 16 --hidden 1024 --batch 64
gives flops_a_step 8589934592 memory --layers 16 --hidden 1024 --batch 64 --recompute sqrt
gives total_a_device 120000000000 memory --params 7.5e9 --dp 64 --zero 0 --master
gives total_a_device 16640625000 memory --params 7.5e9 --dp 64 --zero 2 --master
account memory --layers 16 --hidden 1024 --batch 64
pass_if "binary units" has '(2 MiB)'
account memory --gpus 8 --gpu-memory 80e9 --params 50e9 --units si
pass_if "SI units" has '(600 GB)'
account memory --gpus 1 --gpu-memory 80e9 --params 50e9
pass_if "what does not fit is said" has 'does not fit'
gives layer_activations 2868903936 memory --params 175e9 --layers 96 --hidden 12288 --heads 96 --seq 2048 --batch 1
gives parameters 13476831232 memory --config "$SOURCE/tests/data/account/llama-2-7b.json"
gives activations_a_device 10267656192 memory --config "$SOURCE/tests/data/account/gpt2.json" --batch 32 --seq 1024 --recompute selective
gives logits_a_device 823410688 memory --config "$SOURCE/tests/data/account/gpt2.json" --batch 32 --seq 1024 --tp 8
account memory --config "$SOURCE/tests/data/account/deepseek-v3.json" --batch 8 --seq 4096 --gpus 256 --tp 4 --pp 8 --accumulate 8
pass_if "a model with dense and sparse layers: status $status" [ "$status" -eq 0 ]
refused "layers all alike" "$roofline" account memory --config "$SOURCE/tests/data/account/deepseek-v3.json" --batch 8 --seq 4096 --recompute sqrt
refused "need --batch and --seq" "$roofline" account memory --config "$SOURCE/tests/data/account/gpt2.json" --batch 8
refused "config, or --params" "$roofline" account memory --config "$SOURCE/tests/data/account/gpt2.json" --layers 8
refused "say --params" "$roofline" account memory
refused "2 x 1 x anything is not --gpus 3" "$roofline" account memory --params 1 --gpus 3 --tp 2
refused "is not --gpus 8" "$roofline" account memory --params 1 --gpus 8 --tp 2 --pp 2 --dp 3
refused "more than 2\^63 bytes" "$roofline" account memory --params 9e18
refused "too many parameters" "$roofline" account memory --layers 9e18 --hidden 9e18 --batch 1
refused "too many devices" "$roofline" account memory --params 1 --tp 4e9 --pp 4e9
refused "no multiple of --heads" "$roofline" account memory --params 1 --layers 1 --hidden 10 --batch 1 --seq 1 --heads 3
refused "does not divide --batch" "$roofline" account memory --layers 2 --hidden 2 --batch 3 --accumulate 2
refused "one of none sgd" "$roofline" account memory --optimizer lion
refused "one of fp64" "$roofline" account memory --dtype int8
refused "do not fit" "$roofline" account memory --gpu t4 --layers 9 --hidden 1e6 --batch 10 --seq 1e4 --heads 1

# ---- tensor ----
gives bytes 2415919104 tensor --shape 49152x12288 --dtype fp32
gives bytes 128 tensor --shape 4x8
gives bytes 1207959552 tensor --shape 49152x12288 --dtype bf16
gives bytes 16 tensor --shape 2x8 --dtype nvfp4 # 16 codes of 4 bits, a scale of 8 padded to 32, one of 32
account tensor --shape 49152x12288 --dtype fp32
pass_if "2304 MiB" has '2,415,919,104 B (2304 MiB)'
gives element_offset 19 tensor --shape 4x8 --at 2,3
gives element_offset 19 tensor --shape 4x8 --transpose 0,1 --at 3,2
gives bytes_moved 0 tensor --shape 4x8 --transpose 0,1 --select 0,2 --slice 0,1:3
gives bytes_moved 0 tensor --shape 4x8 --view 2,16
gives bytes_moved 256 tensor --shape 4x8 --transpose 0,1 --reshape 32
gives bytes_moved 256 tensor --shape 4x8 --transpose 0,1 --contiguous --view -1
gives offset 7 tensor --shape 4x8 --select 1,-1
gives numel 6 tensor --shape 4x8 --slice 0,1: --slice 1,:8:4
gives contiguous no tensor --shape 4x8 --strides 1x4
refused "not a view: dimension 0 has stride 1, not 4 x 8" "$roofline" account tensor --shape 4x8 --transpose 0,1 --view 32
refused "say --shape" "$roofline" account tensor
refused "at most 32 sizes" "$roofline" account tensor --shape 4xx8
refused "at most 32 sizes" "$roofline" account tensor --shape 4x0
refused "too many elements" "$roofline" account tensor --shape 4294967296x4294967296
refused "2 of them, from 0 on" "$roofline" account tensor --shape 4x8 --strides 9e18x1
refused "the storage is too large" "$roofline" account tensor --shape 4x8 --strides 4611686018427387904x1
refused "no whole blocks" "$roofline" account tensor --shape 3x5 --dtype nvfp4
refused "32 elements do not make" "$roofline" account tensor --shape 4x8 --view 5,-1
refused "index 4 of dimension 0" "$roofline" account tensor --shape 4x8 --select 0,4
refused "dimension 2 of a tensor of 2" "$roofline" account tensor --shape 4x8 --transpose 0,2
refused "is empty" "$roofline" account tensor --shape 4x8 --slice 0,3:3
refused "DIM,A:B" "$roofline" account tensor --shape 4x8 --slice 0,3
refused "two whole numbers" "$roofline" account tensor --shape 4x8 --transpose 0
refused "takes no value" "$roofline" account tensor --shape 4x8 --contiguous=1

# ---- dtype ----
gives stored 0 dtype fp16 1e-8
gives stored 1.0011717677116394e-08 dtype bf16 1e-8
gives stored 1 dtype bf16 1.001
gives next_above 1.0078125 dtype bf16 1.001
gives pattern 0x322c dtype bf16 1e-8
gives sign_exponent_fraction '0 01100100 0101100' dtype bf16 1e-8
gives sign_exponent_fraction '1 01111 0000000000' dtype fp16 -1
gives stored 448 dtype fp8_e4m3 500
gives stored inf dtype fp16 70000
gives stored 1.0009765625 dtype fp16 --bits 0x3c01
gives max 65504 dtype fp16
gives smallest_subnormal 0.5 dtype nvfp4
account dtype --csv
pass_if "a row a format" [ "$(wc -l <out)" -eq 9 ]
pass_if "bf16's row" grep -q '^bf16,16,1,8,7,3.3895e+38,1.175e-38,9.184e-41,0.003906,yes,' out
pass_if "fp8_e4m3 has no infinity" grep -q '^fp8_e4m3,8,1,4,3,448,0.01562,0.001953,0.0625,no,' out
refused "one of fp64 fp32" "$roofline" account dtype int8
refused "'one' is no number" "$roofline" account dtype bf16 one
refused "unexpected argument '2'" "$roofline" account dtype bf16 1 2
refused "a pattern of 16 bits" "$roofline" account dtype bf16 --bits 0x10000
refused "a pattern of 64 bits" "$roofline" account dtype fp64 --bits 0x10000000000000000
refused "a value or --bits" "$roofline" account dtype bf16 1 --bits 0
refused "of which type" "$roofline" account dtype --bits 0

# ---- transformer ----
models=$SOURCE/tests/data/account
gives parameters 124439808 transformer --config "$models/gpt2.json"
gives parameters 6738415616 transformer --config "$models/llama-2-7b.json"
gives parameters 8030261248 transformer --config "$models/llama-3-8b.json"
gives parameters 7241732096 transformer --config "$models/mistral-7b.json"
gives parameters 7615616512 transformer --config "$models/qwen2.5-7b.json"
gives parameters 671026419200 transformer --config "$models/deepseek-v3.json" --batch 8 --seq 4096
gives active_parameters 37552297472 transformer --config "$models/deepseek-v3.json"
gives kv_cache_a_token 70272 transformer --config "$models/deepseek-v3.json"
gives kv_cache 2147483648 transformer --config "$models/llama-2-7b.json" --seq 4096
gives parameters 6738415616 transformer --arch llama --vocab 32000 --hidden 4096 --layers 32 --heads 32 --ffn 11008
gives parameters 124439808 transformer --arch gpt --vocab 50257 --hidden 768 --layers 12 --heads 12 --positions 1024
about parameters 174.55e9 174.65e9 transformer --arch gpt --vocab 50257 --hidden 12288 --layers 96 --heads 96 --positions 2048
about days 40.31 40.33 transformer --config "$models/llama-3-8b.json" --tokens 15e12 --gpu h100 --count 448 --mfu 0.5 --seq 8192
account transformer --config "$models/mixtral-8x7b.json"
pass_if "experts are named" has '32 layers x 8 experts x 176,160,768'
refused "say --config" "$roofline" account transformer
refused "say --config" "$roofline" account transformer --vocab 10
refused "No such file" "$roofline" account transformer --config absent.json
refused "Is a directory" "$roofline" account transformer --config .
refused "learned positions" "$roofline" account transformer --config "$models/gpt2.json" --seq 2048
refused "both" "$roofline" account transformer --config "$models/gpt2.json" --vocab 7
refused "training time needs" "$roofline" account transformer --config "$models/gpt2.json" --tokens 1e9
echo '{"model_type": "bert"}' >bert.json
refused "bert.json: model_type 'bert': one of gpt2 llama" "$roofline" account transformer --config bert.json
echo '{"model_type": "llama", "vocab_size": 1e3}' >real.json
refused '"vocab_size" is no whole number' "$roofline" account transformer --config real.json
head -c 2000000 /dev/zero | tr '\0' '[' >deep.json
refused "larger than 1048576 bytes" "$roofline" account transformer --config deep.json
head -c 100000 deep.json >bomb.json
refused "depth" "$roofline" account transformer --config bomb.json

# ---- inspect ----
# safetensors JSON BYTES: such a file on stdout.
safetensors() {
    local length=${#1} i
    for ((i = 0; i < 8; i++)); do
        # shellcheck disable=SC2059  # an octal byte
        printf "\\$(printf %03o $((length >> 8 * i & 255)))"
    done
    printf %s "$1"
    head -c "$2" /dev/zero
}
tensor() { printf '"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%s,%s]}' "$@"; }

account inspect "$models/network.safetensors"
pass_if "inspect: status $status" [ "$status" -eq 0 ]
pass_if "names that differ in numbers are one row" grep -qE '^layers\.\*\.weight .* 3  4x4 .*BF16 .* 48 .* 96$' out
account inspect "$models/network.safetensors" --csv
pass_if "CSV of parts" grep -qx 'layers.\*.weight,other,3,4x4,BF16,48,96' out

safetensors "{$(tensor model.embed_tokens.weight F16 3,4 0 24),$(tensor lm_head.weight F32 4 24 40)}" 40 >one.safetensors
safetensors "{$(tensor model.layers.0.mlp.up_proj.weight BF16 8 0 16)}" 16 >two.safetensors
map='"model.embed_tokens.weight":"one.safetensors","lm_head.weight":"one.safetensors","model.layers.0.mlp.up_proj.weight":"two.safetensors"'
index() { echo "{\"metadata\":{\"total_size\":$1},\"weight_map\":{$2}}" >model.safetensors.index.json; }
index 56 "$map"
account inspect model.safetensors.index.json
pass_if "shards: status $status" [ "$status" -eq 0 ]
pass_if "shards: parameters" grep -qE '^parameters +24 ' out
pass_if "shards: roles" grep -qE '^mlp +8 parameters' out
pass_if "shards: dtypes" grep -qE '^in F16 +12 parameters' out
index 57 "$map"
account inspect "$PWD/model.safetensors.index.json"
pass_if "another total: status $status" [ "$status" -eq 1 ]
pass_if "another total is said" grep -q 'not what the shards hold' out
index 56 "$map,\"more\":\"two.safetensors\""
refused "lists 4 tensors, the shards hold 3" "$roofline" account inspect model.safetensors.index.json
index 56 "${map%,*}"
account inspect model.safetensors.index.json
pass_if "a shard that no tensor names is not looked for: status $status" [ "$status" -eq 1 ]
index 56 "${map/lm_head.weight/other}"
refused "'lm_head.weight' is not in the index" "$roofline" account inspect model.safetensors.index.json
index 56 "${map/\"one.safetensors\"/\"two.safetensors\"}"
refused "which the index has in two.safetensors" "$roofline" account inspect model.safetensors.index.json
index 56 "${map/\"one.safetensors\"/\"..\/one.safetensors\"}"
refused "in no file beside the index" "$roofline" account inspect model.safetensors.index.json
index 56 "$map"
mkdir apart && cp model.safetensors.index.json apart
account inspect apart/model.safetensors.index.json
pass_if "an index alone: status $status" [ "$status" -eq 0 ]
pass_if "an index alone: its totals" grep -qE '^bytes +56 B' out
cp one.safetensors apart
refused "two.safetensors is missing; of 2 shards 1 are here" "$roofline" account inspect apart/model.safetensors.index.json
safetensors "{$(tensor a F32 1 0 4)}" 3 >short.safetensors
refused "short.safetensors: tensor 'a': data at 0 to 4, outside of the 3 bytes" "$roofline" account inspect short.safetensors
printf '\000\341\365\005\000\000\000\000{}' >long.safetensors
refused "header of 100000000 bytes in a file of 10" "$roofline" account inspect long.safetensors
printf '\377\377\377\377\377\377\377\377{}' >huge.safetensors
refused "more than the 100000000" "$roofline" account inspect huge.safetensors
printf abc >tiny.safetensors
refused "too short" "$roofline" account inspect tiny.safetensors
refused "No such file" "$roofline" account inspect absent.safetensors
refused "no regular file" "$roofline" account inspect .
refused "no weight_map" "$roofline" account inspect "$models/gpt2.json"
refused "say which file" "$roofline" account inspect
refused "one file at a time" "$roofline" account inspect one.safetensors two.safetensors
safetensors "{$(printf '%s' "$(tensor "$(printf 'a\\u001b[31m')" F32 1 0 4)")}" 4 >colour.safetensors
account inspect colour.safetensors
pass_if "names cannot colour a terminal" [ "$(tr -dc '\033' <out | wc -c)" -eq 0 ]
pass_if "nor are they lost" grep -q 'a?\[31m' out

# ---- einsum ----
scores=(einsum 'batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2' batch=2 seq1=3 seq2=3 hidden=4)
gives flops 144 "${scores[@]}"
gives output 2x3x3 "${scores[@]}"
gives bytes 132 "${scores[@]}"
gives bytes 264 "${scores[@]}" --dtype fp32
gives flops 8796093022208 einsum 'm k, k n -> m n' m=16384 k=32768 n=8192
about intensity 341.3 341.4 einsum 'm k, k n -> m n' m=1024 k=1024 n=1024 --gpu h100
gives bound compute einsum 'm k, k n -> m n' m=887 k=887 n=887 --gpu h100
gives bound memory einsum 'm k, k n -> m n' m=886 k=886 n=886 --gpu h100
about accelerator_intensity 295.3 295.4 einsum 'm k, k n -> m n' m=8 k=8 n=8 --gpu h100
about accelerator_intensity 19.99 20.01 einsum 'm k, k n -> m n' m=8 k=8 n=8 --gpu h100 --dtype fp32
about accelerator_intensity 590.5 591.5 einsum 'm k, k n -> m n' m=8 k=8 n=8 --gpu h100 --dtype fp8_e4m3
gives bytes 4002 einsum 'i, i ->' i=1000
gives bound memory einsum 'm n, n -> m' m=4096 n=4096 --gpu h100
about intensity 0.999 1 einsum 'm n, n -> m' m=4096 n=4096
about time 2.17e-6 2.18e-6 einsum 'm k, k n -> m n' m=1024 k=1024 n=1024 --gpu h100
gives output 2x3x2x4 einsum --rearrange '... (heads hidden) -> ... heads hidden' --shape 2x3x8 heads=2
gives bytes 0 einsum --rearrange '... (heads hidden) -> ... heads hidden' --shape 2x3x8 heads=2
gives bytes 192 einsum --rearrange 'a b -> (b a)' --shape 6x8
gives flops 48 einsum --reduce sum 'a b -> b' --shape 6x8
gives flops 56 einsum --reduce mean 'a b -> b' --shape 6x8
gives output 3x2 einsum --reduce max '(a 2) b -> a b' --shape 6x2
gives output 8x16x4 einsum '... i, i j -> ... j' ...=8x16 i=3 j=4
gives output scalar einsum 'i, i ->' i=4
refused "say a pattern" "$roofline" account einsum
refused "'seq' is no dimension" "$roofline" account einsum 'a -> a' seq=3
refused "size of 'a' is not known" "$roofline" account einsum 'a -> a'
refused "'b' is on the right side only" "$roofline" account einsum 'a -> a b' a=1 b=2
refused "no parentheses" "$roofline" account einsum '(a b) -> a b' a=1 b=2
refused "a=.0.: a whole number" "$roofline" account einsum 'a -> a' a=0
refused "a=..: a whole number" "$roofline" account einsum 'a -> a' a=
refused "NAME=SIZE" "$roofline" account einsum 'a -> a' a
refused "NAME=SIZE" "$roofline" account einsum 'a -> a' =3
refused "what '...' stands for" "$roofline" account einsum '... a -> a' a=3
refused "more than 2\^62" "$roofline" account einsum 'a, b -> a b' a=4e9 b=4e9
refused "7 cannot be divided into parts of 2" "$roofline" account einsum --rearrange '(a b) -> a b' --shape 7 a=2
refused "no nvfp4 peak" "$roofline" account einsum 'a, a ->' a=16 --gpu h100 --dtype nvfp4
refused "reduce or --rearrange" "$roofline" account einsum --reduce sum --rearrange 'a -> a' a=1
refused "one of sum mean max min" "$roofline" account einsum --reduce prod 'a -> a' a=1
finish
