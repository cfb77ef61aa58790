#!/usr/bin/env bash
# gpu_check.sh - what a first look at a GPU should answer, in minutes: do the instructions mean what the kernels take them
# for, is every kernel right, is it free of races, how far is it from the roof and from cuBLAS.
set -u
start=$PWD
cd "$(dirname "$0")/.." || exit 2

usage() {
    cat <<'END'
Usage: scripts/gpu_check.sh [options] [PART...]

Needs nvcc, CMake and a C compiler; no gnuplot, no network, and no jansson: the program that it builds reads no model files.
Parts, all by default:

  build      the program for the GPUs of this machine, into build/gpu
  selftest   every PTX wrapper alone: one warp, one instruction, known fragments
  check      every kernel of every operation and dtype against its oracle, odd shapes, guard bands
  sanitizer  compute-sanitizer: memcheck over all operations, racecheck and synccheck over those with shared memory
  bench      ceilings, then every operation beside cuBLAS, cuBLASLt and CUB
  hopper     products by wgmma in turns with cuBLAS, on normal data: squares, a transformer's, skinny; not by default
  blackwell  the same by tcgen05, nvfp4 too; not by default
  pack       the results as one .tar.gz

  --out DIR       where results go (default: results/gpu-check-<time>)
  --device NAME   default: gpu, the first
  --archs LIST    what 'build' compiles for, such as 90a or "80;90a" (default: the GPUs of this machine)
  --limit S       seconds that a part may take (default: 240)
  --tiny          small problems only: to rehearse this script on an emulated device
  --help          this text

ROOFLINE=<program> in the environment is used in place of a build.
Exit status: 0 every part passed; 1 one did not; 2 usage or environment.
END
}

refuse() {
    echo "gpu_check: $1" >&2
    exit 2
}

# ---- options ----

out=results/gpu-check-$(date -u +%Y%m%d-%H%M%S) device=gpu archs='' limit=240 tiny=0 parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --out | --device | --archs | --limit)
        [ -n "${2:-}" ] || refuse "option '$1' needs a value"
        case $1 in
        --out) out=$2 ;;
        --device) device=$2 ;;
        --archs) archs=$2 ;;
        *) limit=$2 ;;
        esac
        shift
        ;;
    --tiny) tiny=1 ;;
    --help | -h) usage && exit 0 ;;
    build | selftest | check | sanitizer | bench | hopper | blackwell | pack) parts+=("$1") ;;
    *) refuse "unknown option or part '$1'; --help lists them" ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(build selftest check sanitizer bench pack)
case $limit in '' | *[!0-9]*) refuse "--limit '$limit': a number of seconds" ;; esac
case $out in /* | results/*) ;; *) out=$start/$out ;; esac
folder=build/gpu
program=${ROOFLINE:-$folder/roofline}
selftest=${ROOFLINE_SELFTEST:-$folder/tests/cuda_selftest}
mkdir -p "$out" || exit 2

# ---- parts: output goes to the terminal and to a file of the part's name ----

# shellcheck disable=SC2317  # parts are called by name
{
    # Whether PROGRAM is there and, with a device, has it; else one line says what is missing.
    have() {
        if [ ! -x "$1" ]; then
            echo "no program '$1': the part 'build' makes it"
            return 1
        fi
        [ $# = 1 ] || "$1" devices --device "$2" --slug >/dev/null
    }
    part_build() {
        command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
        if ! command -v nvcc >/dev/null; then
            echo 'no nvcc: install the CUDA toolkit (12 or 13)'
            return 1
        fi
        # all six take longer than a part may, and there would be nothing to run them on
        if [ -z "$archs" ] && ! nvidia-smi --query-gpu=compute_cap --format=csv,noheader >/dev/null 2>&1; then
            echo "no GPU here (nvidia-smi finds none): --archs 90a builds for one that is elsewhere"
            return 1
        fi
        # the tests of the CPU and of the emulation stay out
        cmake -S . -B $folder -DCMAKE_BUILD_TYPE=Release -DROOFLINE_CUDA=ON -DROOFLINE_JSON=OFF "-DROOFLINE_CUDA_ARCHS=${archs:-AUTO}" &&
            cmake --build $folder --parallel "$(nproc)" --target roofline cuda_selftest &&
            have $folder/roofline && have $folder/tests/cuda_selftest
    }
    part_selftest() { have "$selftest" && "$selftest"; }
    part_check() {
        local few=()
        [ $tiny = 0 ] || few=(--op 'copy,sum,matmul' --dtype fp32)
        have "$program" "$device" && "$program" bench --check --device "$device" --quiet "${few[@]}"
    }
    # Of the libraries' kernels nothing is said: warps with roles and barriers of their own are reported though they are right. Nor of
    # calls of the CUDA API, which the program checks: a runtime newer than the driver asks it in vain for functions as it starts.
    # memcheck is the longest and comes last.
    part_sanitizer() {
        local tool=compute-sanitizer result=0 check ours='[!c]*,c[!u]*' # all but cublas, cublaslt, cub
        have "$program" "$device" || return
        command -v $tool >/dev/null || tool=/usr/local/cuda/bin/compute-sanitizer
        if ! command -v $tool >/dev/null; then
            echo 'no compute-sanitizer'
            return 1
        fi
        local small=(bench --device "$device" --in-process --quiet --time 0.001 --interval 50 --impl "$ours")
        local ops=copy,axpy,cast_from_fp32,sum,dot,softmax,layernorm,transpose,matvec,matmul,bmm
        local vectors=100003 rows=70x1000,5x9000 cubes=150x280x136
        if [ $tiny = 1 ]; then
            ops=copy vectors=1003 rows=7x100 cubes=15x28x24
            small+=(--dtype fp32)
        fi
        look() { $tool --tool "$1" --error-exitcode 1 --report-api-errors no "$program" "${@:2}" || result=1; }
        for check in racecheck synccheck; do
            look $check "${small[@]}" --op sum,dot --shape $vectors
            look $check "${small[@]}" --op softmax,layernorm,transpose,matvec --shape $rows
            look $check "${small[@]}" --op matmul --shape $cubes
        done
        look memcheck bench --check --device "$device" --in-process --quiet --op $ops --impl "$ours"
        return $result
    }
    run_ops() { "$program" bench "${into[@]}" --resume --impl "$1" --op "$2" --shape "$3" --time "$4" || result=1; }
    part_bench() {
        local result=0 into=(--device "$device" --out "$out" --quiet)
        have "$program" "$device" || return
        local vectors=134217728 squares=16384x16384 rows=65536x4096 batches=64x512x512x64
        local cubes=1024x1024x1024,4096x4096x4096,8192x8192x8192
        if [ $tiny = 1 ]; then
            vectors=100000 squares=200x304 rows=40x500 cubes=100x72x64 batches=3x40x24x32
        fi
        "$program" peaks --effort smoke "${into[@]}" || result=1
        run_ops best,vendor matmul $cubes 0.3
        run_ops best,vendor bmm $batches 0.1
        run_ops best,vendor matvec $squares 0.1
        run_ops best,vendor copy,add,triad,axpy,relu,gelu,exp,dot,sum,max,'cast*' $vectors 0.1
        run_ops best,vendor softmax,rmsnorm,layernorm $rows 0.1
        run_ops best,vendor transpose,triu $squares 0.1
        run_ops all matmul ${cubes%%,*} 0.1
        "$program" summary "$out" >"$out/summary.txt" || result=1
        return $result
    }
    # in_turns PART IMPL DTYPE...: 480 s at most for 8192^3 and 16384x32768x8192 in every format; --limit has to allow for it.
    in_turns() {
        local result=0 dtype there=$out/$1 impl=$2 shapes=4096x4096x4096,8192x8192x8192,16384x32768x8192,64x8192x8192,8192x64x8192
        have "$program" "$device" || return
        [ $tiny = 0 ] || shapes=144x136x80
        for dtype in "${@:3}"; do
            local layout=nn,nt,tn
            case $dtype in fp8* | nvfp4) layout=nt ;; esac # the one that needs no pre-pass
            "$program" bench --device "$device" --out "$there" --resume --quiet --op matmul --dtype "$dtype" \
                --impl "$impl" --vs vendor --layout $layout --shape $shapes --time 0.3 --fill normal || result=1
        done
        "$program" summary "$there" >"$there/summary.txt" || result=1
        return $result
    }
    part_hopper() { in_turns hopper 'wgmma*' bf16 fp16 tf32 fp8_e4m3 fp8_e5m2; }
    part_blackwell() { in_turns blackwell 'tcgen05*' bf16 fp16 tf32 fp8_e4m3 fp8_e5m2 nvfp4; }
    part_pack() {
        local archive
        archive=$out/$(basename "$out").tar.gz
        tar -C "$out" -czf "$out.tmp" --exclude='*.tar.gz' . && mv "$out.tmp" "$archive" && echo "$archive"
    }
}

# ---- run ----

# A part in a process group of its own, so that all of it ends at the limit.
limited() {
    local pid watch status=0
    set -m
    "part_$1" </dev/null &
    pid=$!
    (sleep "$limit" && kill -TERM -- -$pid) 2>/dev/null &
    watch=$!
    wait $pid || status=$?
    kill -TERM -- -$watch 2>/dev/null
    return $status
}

failed=()
for part in "${parts[@]}"; do
    begin=$SECONDS
    printf '\n==== %s\n' "$part"
    (limited "$part") 2>&1 | tee "$out/$part.txt"
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || failed+=("$part")
    case $status in
    0) verdict=passed ;;
    143) verdict="NOT DONE in $limit s (--limit)" ;;
    *) verdict="FAILED ($status)" ;;
    esac
    printf -- '---- %s: %s, %d s\n' "$part" "$verdict" $((SECONDS - begin)) | tee -a "$out/parts.txt"
    if [ "$status" != 0 ] && [ "$part" = build ]; then break; fi
done
printf '\nresults: %s\n' "$out"
[ ${#failed[@]} = 0 ]
