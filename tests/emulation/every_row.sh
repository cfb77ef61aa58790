#!/usr/bin/env bash
# every_row.sh LEG [OP...] - every row of every kernel for GPUs, op by op, on shapes that hit every tail:
#   asan, tsan     as C++ under sanitizers
#   ptx80, ptx90a  the PTX that nvcc makes for that architecture, interpreted; with the latter, products in fp8 from that of sm_89
#   simt           as C++, quickly
# A line an op; the text of a sanitizer or of a bad row is in build/rows/LEG.OP.txt. An op whose log is good and newer than
# the program is not run again, so that a run that was cut short goes on. With no OP: probes as well, and at the end whether
# every kernel that nvcc makes has run, by its symbol.
# Builds what it needs in build/rows-LEG. ROOFLINE_EMULATED names a program that is there already, ROOFLINE_PTX the folder
# that has 80, 89 and 90a. CI leaves this to people: README.md says how long it takes.
set -eu
cd "$(dirname "$0")/../.."
leg=${1:-}
launcher=() options=(-DCMAKE_BUILD_TYPE=Release) tree=build/rows-simt
case $leg in
simt | ptx80 | ptx90a) ;;
asan | tsan) # kernels alone: what judges them stays quick
    tree=build/rows-$leg sanitizers=address,undefined
    [ "$leg" = asan ] || launcher=(setarch -R) sanitizers=thread # older ones stumble over random addresses
    options+=(-DCMAKE_C_COMPILER=clang "-DROOFLINE_EMULATION_SANITIZE=$sanitizers")
    ;;
*)
    echo 'Usage: tests/emulation/every_row.sh simt|asan|tsan|ptx80|ptx90a [OP...]' >&2
    exit 2
    ;;
esac
shift
folder=build/rows
mkdir -p $folder
program=${ROOFLINE_EMULATED:-}
if [ -z "$program" ]; then
    program=$tree/roofline_emulated
    targets=(roofline_emulated)
    [[ $leg != ptx* ]] || targets+=(emulation_ptx_files)
    cmake "${options[@]}" -S . -B "$tree" -DROOFLINE_EMULATION=ON >"$folder/build-$leg.txt"
    cmake --build "$tree" --target "${targets[@]}" --parallel "$(nproc)" >>"$folder/build-$leg.txt"
fi
ptx=${ROOFLINE_PTX:-build/rows-simt/tests/emulation/ptx}
main=90 order=desc
[ "$leg" != ptx80 ] || main=80 order=asc
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1
export OMP_WAIT_POLICY=passive SIMT_ASYNC=lazy SIMT_ORDER=$order

# ---- what is run: `pass DEVICE ARGUMENTS...`, by op ----

sweep_of() { sed -nE "s/^OP\( *$1,.*[ ,]([a-z]+) *\)\$/\1/p" kernels/ops.def; }

# Of one multiprocessor, a persistent grid goes round twice at 64 KiB, and the L2 is that small: 65551 elements of a byte are
# enough for both, and 147472 of half a byte. Products and tables: those of --check, with less between their tails. Else those
# of --check. A thread costs the thread sanitizer 30 us: it gets as few as show each path.
declare -A shapes=(
    [vectors]='1,2,7,15,16,17,31,64,127,129,256,511,1009,4096,65551'
    [fp4_vectors]='16,32,48,64,256,1008,4096,147472'
    [cubes]='1x1x1,1x1x64,1x64x1,64x1x1,3x5x7,16x16x16,17x33x65,64x48x32,127x65x33,20x36x256,1x96x80,96x1x80,36x52x80,9x20x1030'
    [tables]='1x1x1,1x7x3,5x1x16,3x5x7,16x16x16,33x64x17,64x3x64,100x600x48,257x129x80,1000x31x33,30x5003x8,2048x65x130,90x2x24,7x65x1024,70x3x4100,5000x30x4'
    [tiles]='120x250x100,100x100x70,135x250x40'
    [batch_tiles]='2x120x250x40,2x100x100x30'
    [wgmma]='300x520x328,72x96x500,130x77x96,100x72x2100'
)
[ "$leg" != tsan ] || shapes=(
    [vectors]='7,129,4099' [fp4_vectors]='48,1008,4112' [rows]='3x7,5x17,2x64,3x400,2x1000,2x1024,1x4097' [squares]='1x37,17x33,64x64,100x48,129x70'
    [matrices]='3x5,17x33,64x64,129x257,2x4096,512x32' [chains]='7x3,129x16,1000x10' [cubes]='3x5x7,17x33x65,64x48x32,36x52x80,9x20x260'
    [batches]='3x5x7x9,4x16x32x48,3x33x17x65' [tables]='3x5x7,33x20x17,100x7x48,257x10x80,1000x5x33,90x2x24,70x3x410'
    [tiles]='120x250x40,100x100x40' [batch_tiles]='1x120x250x40,1x100x100x30' [wgmma]='300x520x72,130x77x96,100x72x1100'
)

# Those of $dtypes that are among the words, with commas; the first where none is.
among() {
    local found
    found=$(grep -xE "$(tr ' ' '|' <<<"$*")" <<<"$dtypes" || head -n 1 <<<"$dtypes")
    paste -sd, - <<<"$found"
}

passes() { # OP
    local sweep dtypes fp8=fp8_e4m3,fp8_e5m2 tiles=${shapes[tiles]}
    sweep=$(sweep_of "$1")
    local given=(${shapes[$sweep]:+--shape "${shapes[$sweep]}"})
    dtypes=$("$program" list --device "emu:sm_$main" --op "$1" --format csv | awk -F, 'NR > 1 && $2 != "" { print $3 }' | sort -u)
    export SIMT_SMS=1
    case $sweep in
    vectors)
        pass "$main" --dtype "$(grep -vx nvfp4 <<<"$dtypes" | paste -sd, -)" "${given[@]}"
        ! grep -qx nvfp4 <<<"$dtypes" || pass "$main" --dtype nvfp4 --shape "${shapes[fp4_vectors]}"
        [[ $leg = ptx* ]] || pass 100 --dtype "$(among fp64 bf16)" "${given[@]}" # accesses of 32 bytes
        ;;
    cubes | batches)
        [ "$sweep" = cubes ] || tiles=${shapes[batch_tiles]}
        # of one multiprocessor, the large and the medium tile of mma_sync are the best for these
        pass "$main" --impl mma_sync --shape "$tiles"
        [[ $leg = ptx* ]] || pass 80 --impl mma_sync --shape "$tiles" --dtype fp64   # in another shape
        [ "$leg" = ptx80 ] || pass 89 --impl mma_sync --shape "$tiles" --dtype $fp8 # native; of their PTX there is no other
        unset SIMT_SMS # clusters want two at least
        pass "$main" "${given[@]}"
        # more tiles than multiprocessors in clusters of two with a row of tiles too few, fewer; rings that go round; split k
        [ "$main.$sweep" != 90.cubes ] || pass 90 --impl 'wgmma*' --layout 'nn,nt,tn' --shape "${shapes[wgmma]}"
        [[ $leg = ptx* ]] || pass 80 --impl mma_sync --dtype fp64 "${given[@]}"
        [ "$leg" = ptx80 ] || pass 89 --impl mma_sync --dtype $fp8 "${given[@]}"
        ;;
    *)
        pass "$main" "${given[@]}"
        [ "$1" != fma ] || [ "$leg" = ptx80 ] || pass 89 --dtype $fp8 "${given[@]}"
        ;;
    esac
}

pass() { # DEVICE ARGUMENTS...
    local device=emu:sm_$1
    [[ $leg != ptx* ]] || export ROOFLINE_EMULATE_PTX=$ptx/${1/90/90a}
    shift
    "${launcher[@]}" "$program" bench --check --quiet --timeout 1800 --device "$device" --op "$op" "$@" >>"$log" 2>&1 || failed=1
}

# ---- run ----

is_done() { [ "$log" -nt "$program" ] && grep -q '^good$' "$log"; }

# The sum of the totals of a log's passes.
totals() {
    awk '{ gsub("without memory", "failed"); gsub("timed out", "failed") }
        /^[0-9]+ verified, / { for (i = 1; i < NF; i += 2) { sub(",", "", $(i + 1)); n[$(i + 1)] += $i } }
        END { printf "%d verified, %d wrong, %d failed", n["verified"], n["wrong"], n["failed"] }' "$1"
}

all_failed=0 whole=0
ops=("$@")
if [ $# = 0 ]; then
    whole=1
    mapfile -t ops < <("$program" list --names)
    ops+=(probes)
fi
for op in "${ops[@]}"; do
    log=$folder/$leg.$op.txt failed=0 begin=$SECONDS
    if is_done; then
        printf '%-24s %s (before)\n' "$op" "$(totals "$log")"
        continue
    fi
    export SIMT_LAUNCHES=$folder/$leg.$op.launches.txt
    rm -f "$log" "$SIMT_LAUNCHES"
    unset SIMT_SMS
    if [ "$op" = probes ]; then
        [[ $leg != ptx* ]] || export ROOFLINE_EMULATE_PTX=$ptx/${leg#ptx}
        "${launcher[@]}" "$program" peaks --effort smoke --time 0.001 --device emu:sm_$main --quiet >"$log" 2>&1 || failed=1
        ! grep -qE ' (wrong|failed|timeout)' "$log" || failed=1
    else
        passes "$op"
    fi
    [ $failed = 1 ] || echo good >>"$log"
    [ $failed = 0 ] || all_failed=1
    printf '%-24s %s%s (%d s)\n' "$op" "$(totals "$log")" "$([ $failed = 0 ] || echo ', NOT GOOD')" $((SECONDS - begin))
done
printf '%s: %s\n' "$leg" "$(cat $folder/"$leg".*.txt | totals /dev/stdin)"

# ---- whether every kernel has run; from PTX, on either architecture ----

if [ $whole = 1 ] && [ -d "$ptx" ]; then
    legs=$leg
    [[ $leg != ptx* ]] || legs=ptx
    cat $folder/"$legs"*.launches.txt | awk '{ print $2 }' | sort -u >"$folder/$leg.launched.txt"
    find "$ptx/80" "$ptx/90a" -name '*.ptx' ! -name selftest.ptx -exec grep -hoE '\.entry [A-Za-z0-9_$]+' {} + | awk '{ print $2 }' | sort -u \
        >"$folder/$leg.kernels.txt"
    comm -23 "$folder/$leg.kernels.txt" "$folder/$leg.launched.txt" >"$folder/$leg.missed.txt"
    printf '%s: %d kernels, %d of them not run\n' "$leg" "$(wc -l <"$folder/$leg.kernels.txt")" "$(wc -l <"$folder/$leg.missed.txt")"
    [ ! -s "$folder/$leg.missed.txt" ] || all_failed=1
fi
exit $all_failed
