# fences.sh PROGRAM PTX - kernels from PTX that has lost fences are not right: the interpreter shows what each is for. PTX: the
# folder of the architectures'. Of the fences around a ticket the first of two goes, the second, both; else all of a kind.
# shellcheck shell=bash
set -eu
program=$1 ptx=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/roofline-fences-XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAILED: $1" >&2
    failed=1
}

# lost KIND FILE: the file without them.
lost() {
    case $1 in
    ticket*) awk -v lost="$1" '/\.entry/ { n = 0 } /membar\.gl;|fence\.(sc|acq_rel)\.gpu;/ { if (index(lost, n++ % 2 + 1)) next } { print }' "$2" ;;
    *) sed "/$1/d" "$2" ;;
    esac
}

# of FILE ARCH KINDS ARGUMENTS...: its rows are right as they are, and without each kind.
of() {
    local file=$ptx/$2/$1.ptx arch=$2 kind
    local -a check=("$program" bench --check --quiet --device "emu:sm_${arch%a}" "${@:4}")
    ROOFLINE_EMULATE_PTX=$file "${check[@]}" >"$work/out" 2>&1 || fail "$1 as it is: $(grep -vm 1 '^$' "$work/out")"
    for kind in $3; do
        lost "$kind" "$file" >"$work/wrong.ptx"
        ! cmp -s "$file" "$work/wrong.ptx" || fail "$1 has no $kind"
        ! ROOFLINE_EMULATE_PTX=$work/wrong.ptx "${check[@]}" >"$work/out" 2>&1 || fail "$1 is right without $kind"
    done
}

tickets='ticket1 ticket2 ticket12' proxy=fence.proxy.async init=fence.mbarrier_init
of reduce 80 "$tickets" --op dot --dtype fp32 --impl best --shape 65551
of reduce 90a $init --op sum --dtype fp32 --impl bulk --shape 4099
of matvec 80 "$tickets" --op matvec --dtype fp32 --impl best --shape 2x4096 --layout n
of matvec 80 "$tickets" --op matvec --dtype fp32 --impl best --shape 32x512 --layout t
of bulk 90a $proxy --op fill --dtype fp32 --impl bulk --shape 4099
of bulk 90a $init --op copy --dtype fp32 --impl bulk --shape 4099
of fma_wgmma 90a "$proxy wgmma.fence" --op fma --dtype bf16 --impl wgmma --shape 129x256
of matmul_wgmma_bf16 90a "$proxy $init wgmma.fence" --op matmul --dtype bf16 --impl 'wgmma*' --layout nn --shape 72x96x96 # by stmatrix
of matmul_wgmma_tf32 90a $proxy --op matmul --dtype tf32 --impl 'wgmma*' --layout nt --shape 72x96x96
of matmul_tcgen05_bf16 100a "$proxy $init" --op matmul --dtype bf16 --impl 'tcgen05*' --layout nn --shape 130x96x96
exit $failed
