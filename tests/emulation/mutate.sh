# mutate.sh SOURCE BUILD [all|sample] [PATTERN] [DTYPES] - are the tests able to fail? Two kinds of mutants, each of which has to
# be caught:
#  - a barrier or wait of the kernels is removed; the emulated checks of the file's ops run on three schedules. A barrier
#    that can go without a wrong result says so in a comment on its line: "redundant: <why>".
#  - a wrapper's PTX is made wrong; the self-test runs it in the interpreter.
# In a BUILD with the thread sanitizer, fences too, and no wrappers: it alone sees a fence, or a __syncwarp() beside a collective
# that orders no memory.
# BUILD is a Ninja build of SOURCE. all: every mutant of the files whose name holds PATTERN, minutes (wrappers are named
# "ptx.cuh: <which>: <how>"); sample: a few. DTYPES: the kernels' checks in these only, which is
# quicker. Prints a line a mutant; exit 1 when one survives.
# shellcheck shell=bash
set -u
source=$(cd "${1:?SOURCE}" && pwd)
build=$(cd "${2:?BUILD}" && pwd)
mode=${3:-all}
only=${4:-}
dtypes=${5:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/roofline-mutate-XXXXXX")
trap '[ "$BASHPID" != "$$" ] || rm -rf "$work"' EXIT # not of a child that is killed before it is its program
survivors=0
mutants=0

verdict() { # caught|SURVIVED|... DESCRIPTION
    mutants=$((mutants + 1))
    [ "$1" = caught ] || survivors=$((survivors + 1))
    printf '%-10s %s\n' "$1" "$2"
}

# ---- barriers of kernels; fences are the thread sanitizer's to miss ----

waits='__syncthreads(_(count|and|or))?\(|__syncwarp\(|cp_async_wait|cp_async_commit\(|bar_sync\(|mbar_wait\(|cluster_(sync|arrive|wait)\(|wgmma_wait|wgmma_commit\(|grid_sync\(|mbar_arrive[a-z_]*\(|bulk_commit\(|bulk_wait'
launcher=()
if grep -q -e '-fsanitize=thread .*roofline_emulated_gpu' "$build/compile_commands.json"; then
    waits+='|__threadfence\('
    launcher=(setarch -R)
    export TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1
fi
statement="(gpu::)?($waits)[^;]*;"

# The .cu files that a file is part of: itself, or those that include it, through headers too.
units_of() {
    local name=$1 header
    case $name in
    *.cu) echo "$name" ;;
    *) (cd "$source/kernels/cuda" && grep -lF "\"$name\"" ./*.cu ./*.cuh) | sed 's|^\./||' | while read -r header; do
        units_of "$header"
    done ;;
    esac | sort -u
}

# The ops of a .cu file's rows: every op that its table, the end of the file, names.
op_names=$(sed -nE 's/^OP\( *([a-z0-9_]+),.*/\1/p' "$source/kernels/ops.def")
ops_of() {
    sed -n '/const struct impl [a-z0-9_]*\[\]/,$p; /^#define/,/[^\\]$/p' "$source/kernels/cuda/$1" |
        grep -oE '[A-Za-z0-9_]+' | sed 's/^OP_//' | grep -xF "$op_names" | sort -u | paste -sd, -
}

# The command that compiles kernels/cuda/NAME for the emulation, without its -c, -o and source.
compiler_of() {
    awk -v want="kernels/cuda/$1\"" '/"command":/ { command = $0 } /"file":/ && index($0, want) && command ~ /emulat/ { print command }' \
        "$build/compile_commands.json" |
        sed -E 's/^ *"command": "//; s/",?$//; s/\\"/"/g; s/ -o [^ ]+//; s/ -c [^ ]+//; s/ -M[DTF]+( [^ ]+\.(o|d))?//g'
}

# What the checks of a file's rows are told besides: where the default problems do not reach
# all of a kernel, some that do.
arguments_of() {
    case $1 in
    *wgmma*) echo "--op matmul --impl wgmma* --layout nn,nt,tn --shape 300x520x328,72x96x500,130x77x96,100x72x2100" ;;
    esac
}
# Generation and order of each check. 89: where fp8 is native. In random order four blocks work at a time, up to sm_89.
schedules_of() {
    case $1 in
    *wgmma*) echo 90-asc 90-desc 90-rand ;;
    rows.cu) echo 90-asc 90-desc 80-asc 80-desc 80-rand ;; # clusters
    *) echo 80-asc 80-desc 90-asc 90-desc 89-asc 89-desc 80-rand ;;
    esac
}

# check_fails ORDER CC OPS [ARGUMENTS]: whether the mutant has a bad row; the first one ends it. Rows and runs have time enough for a
# busy machine, since what is slow is not caught.
check_fails() {
    local pid status=0
    : >"$work/out" # what the mutant before has left there would end this one at once
    set -f # the arguments are words, and none of them names files
    # shellcheck disable=SC2086
    SIMT_ORDER=$1 SIMT_ASYNC=lazy timeout 1800 "${launcher[@]}" "$work/mutant" bench --check --quiet --timeout 300 --device "emu:sm_$2" \
        --op "$3" ${dtypes:+--dtype "$dtypes"} ${4:-} >"$work/out" 2>&1 &
    pid=$!
    set +f
    while kill -0 "$pid" 2>/dev/null && ! grep -qaE ' (wrong|failed|timeout): ' "$work/out"; do sleep 0.1; done
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null || status=$?
    grep -qaE ' (wrong|failed|timeout): ' "$work/out" || { [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; }
}

# hunt FILE DESCRIPTION [UNIT DTYPES]: $work/kernels has a mutant of FILE: of its units one after the other, or of UNIT, until
# the checks of its ops fail.
hunt() {
    local file=$1 text=$2 dtypes=${4:-$dtypes} unit ops caught='' schedule link units=0
    for unit in ${3:-$(units_of "$file")}; do
        units=$((units + 1))
        ops=$(ops_of "$unit")
        # kernels that rows of other files call
        [ -n "$ops" ] || ops=$(for user in $(units_of "${unit%.cu}.cuh"); do ops_of "$user"; done | grep . | sort -u | paste -sd, -)
        # shellcheck disable=SC2046  # words of a command line
        if ! (cd "$build" && $(compiler_of "$unit") -c "$work/kernels/cuda/$unit" -o "$work/$unit.o") 2>"$work/log"; then
            verdict unbuilt "$text: $(grep -m 1 error "$work/log")"
            return
        fi
        link=${link_command//$(object_of "$unit")/$work/$unit.o}
        if ! (cd "$build" && eval "${link//-o roofline_emulated/-o $work/mutant}") >"$work/log" 2>&1; then
            verdict unlinked "$text: $(tail -n 1 "$work/log")"
            return
        fi
        for schedule in $(schedules_of "$unit"); do
            if check_fails "${schedule#*-}" "${schedule%-*}" "$ops" "$(arguments_of "$unit")"; then
                caught="${schedule#*-}, sm_${schedule%-*}: $(grep -aE 'wrong|failed|timeout|simt:' "$work/out" | head -n 1 | tr -s ' ' | cut -c1-90)"
                break 2
            fi
        done
    done
    if [ "$units" = 0 ]; then
        verdict unused "$text: no .cu includes it"
    elif [ -n "$caught" ]; then
        verdict caught "$text ($caught)"
    else
        verdict SURVIVED "$text"
    fi
}

# mutate FILE LINE: the line's first barrier becomes an empty statement.
mutate() {
    local file=$1 line=$2 text
    text=$(sed -n "${line}p" "$source/kernels/cuda/$file" | sed -E 's/^ +//' | cut -c1-60)
    rm -rf "$work/kernels"
    cp -r "$source/kernels" "$work/kernels"
    sed -i -E "${line}s/$statement/;/" "$work/kernels/cuda/$file"
    hunt "$file" "$file:$line $text"
}

# edit FILE DESCRIPTION SED [UNIT DTYPES]: what is no barrier, of the products by wgmma, in bf16, which has most paths, or of
# UNIT.
edit() {
    [[ "$1: $2" == *"$only"* ]] || return 0
    rm -rf "$work/kernels"
    cp -r "$source/kernels" "$work/kernels"
    sed -i -E ":a;N;\$!ba;$3" "$work/kernels/cuda/$1" # patterns may cross lines
    if cmp -s "$source/kernels/cuda/$1" "$work/kernels/cuda/$1"; then
        verdict unchanged "$1: $2: the kernel is written otherwise now"
        return
    fi
    hunt "$1" "$1: $2" "${4:-matmul_wgmma_bf16.cu}" "${5:-bf16}" </dev/null
}

object_of() { grep -oE "[^ ]*kernels/cuda/${1//./\\.}\.o" <<<"$link_command" | head -n 1; }

link_command=$(cd "$build" && ninja -t commands roofline_emulated 2>/dev/null | tail -n 1)
if [ -z "$link_command" ]; then
    echo "mutate.sh: '$build' is no Ninja build: kernels are not mutated" >&2
else
    sites=$(cd "$source/kernels/cuda" && grep -nE "$statement" ./*.cu ./*.cuh | grep -v 'redundant:' |
        grep -vE '^\./(ptx|launch)\.cuh:|^[^:]+:[0-9]+: *(//|/?\*)' | sed -E 's|^\./([^:]+):([0-9]+):.*|\1 \2|' | grep -F "$only")
    sites=$(grep -v '^probes\.cu ' <<<"$sites") # probes measure, no check runs them
    if [ "$mode" = sample ]; then # one of a file of its own: a header means many files
        sites=$(grep '\.cu ' <<<"$sites" | head -n 1)
    fi
    while read -r file line; do
        [ -z "$file" ] || mutate "$file" "$line" </dev/null
    done <<<"$sites"
    [ "$mode" = sample ] || [ ${#launcher[@]} -gt 0 ] || {
        f=matmul_wgmma.cuh
        edit $f 'full: two arrivals' 's/(mbar_init\(&full\[i\], )1/\12/'
        edit $f 'empty: arrivals of one block' 's/CONSUMER_WARPS \* p\.cluster/CONSUMER_WARPS/'
        edit $f 'empty: the other parity' 's/at\.parity \^ 1/at.parity/'
        edit $f 'full: the other parity' 's/(full\[at\.stage\], at\.parity)\)/\1 ^ 1)/'
        edit $f 'parity: always the same' 's/parity \^= 1;/;/'
        edit $f 'bytes expected: half of B' 's/TILE::STAGE\); \/\* both/TILE::STAGE - TILE::BN * 64); \/* both/'
        edit $f 'multicast: to itself alone' 's/\? 0 : 3;/? 0 : 1 << rank;/'
        edit $f 'multicast: to the other alone' 's/\? 0 : 3;/? 0 : 2 >> rank;/'
        edit $f 'both blocks load the same half' 's/t\.col \+ rank \* part/t.col/'
        edit $f 'both halves to one place' 's/b \+ rank \* part \* WGMMA_ROW/b/'
        edit $f 'release: to one block' 's/if \(lane < cluster\)/if (lane == 0)/'
        edit $f 'release: of the stage that is being read' 's/if \(kt\) release\(last, cluster\);/if (kt + 1 < k_tiles) release(\&empty[at.stage], cluster);/'
        edit $f 'wait: for one less' 's/wgmma_wait<1>/wgmma_wait<2>/'
        edit $f 'sums: of the tile before as well' 's/kt == 0\)/false)/'
        edit $f 'A: the same rows for both warpgroups' 's/a \+= group \* 64 \* WGMMA_ROW/a += 0 * group/'
        edit $f 'A: the step along k' 's/A_K_MAJOR \? 32 : 16/A_K_MAJOR ? 32 : 8/'
        edit $f 'B: the step along k' 's/B_K_MAJOR \? 32 :/B_K_MAJOR ? 16 :/'
        edit $f 'B: the leading offset' 's/BOX = 64/BOX = 32/'
        edit $f 'B: not transposed' 's/!A_K_MAJOR, !B_K_MAJOR>/!A_K_MAJOR, false>/'
        edit $f 'store: one buffer for all' 's/i % 2 \* STAGING/0/'
        edit $f 'store: waits for one less' 's/bulk_wait_read<1>/bulk_wait_read<2>/'
        edit $f 'store: the column' 's/t\.col \+ PIECE \* i/t.col + PIECE * (i ^ 1)/'
        edit $f 'pairs in rows of odd length' 's/p\.n % 2 == 0;/true;/'
        edit $f 'registers: more than there are' 's/setmaxnreg_inc<232>/setmaxnreg_inc<240>/'
        edit $f 'registers: given back too few' 's/setmaxnreg_dec<40>/setmaxnreg_dec<48>/'
        edit $f 'split: all of them the first k-tiles' 's/first = split \* p\.k_each/first = 0 * split/'
        edit $f 'split: over the end of the first one' 's/min\(first \+ p\.k_each, p\.k_tiles\)/p.k_tiles/'
        edit $f 'split: parts in one place' 's/t\.split \* p\.batch \+ t\.batch/t.batch/'
        edit $f 'split: one part is not added' 's/split = 1; split < p/split = 2; split < p/'
        edit $f 'promoted: the last part alone' 's/kt \? sum\[i\] \+ part\[i\] : part\[i\]/part[i]/' matmul_wgmma_fp8.cu fp8_e4m3
        f=teams.cuh
        edit $f 'cluster: parts of all blocks in one place' 's/block\(\) \* blockDim/0 * blockDim/' rows.cu fp32
        edit $f 'cluster: the first block alone is told' 's/lane < static_cast<int>\(blocks\(\)\)/lane < 1/' rows.cu fp32
        edit $f 'cluster: parts of one block are joined' 's/static_cast<int>\(blocks\(\)\) \* \(size/1 * (size/' rows.cu fp32
        f=rows.cu
        edit $f 'cluster: all blocks take the first part' 's/begin = each \* TEAM::block\(\)/begin = 0 * each/' rows.cu fp32
        edit $f 'cluster: weights of the first part' 's/p\.w \+= begin/p.w += 0/' rows.cu fp32
        f=wgmma_launch.cuh
        edit $f 'map: rows and columns' 's/k_major \? k : extent/k_major ? extent : k/'
        edit $f 'map: the pitch' 's/\(x\.pitch\)/(x.pitch + 16)/'
        edit $f 'map: boxes of half as many rows' 's/k_major \? box : 64/k_major ? box : 32/'
        edit $f 'map: the swizzle of operands' 's/box : 64\), CU_TENSOR_MAP_SWIZZLE_128B/box : 64), CU_TENSOR_MAP_SWIZZLE_NONE/'
        edit $f 'map: the rows of C' 's/static_cast<uint64_t>\(p\.m\),/static_cast<uint64_t>(p.m - 1),/'
        edit $f 'map: the swizzle of C' 's/16,([ \n]*)CU_TENSOR_MAP_SWIZZLE_128B/16,\1CU_TENSOR_MAP_SWIZZLE_NONE/'
        edit $f 'units: one is left out' 's/p\.batch \* form\.splits \* q\.units_m \* q\.tiles_n/\0 - 1/'
        edit $f 'k: the last tile is left out' 's/OPERAND::SIZE, WGMMA_ROW\)\)/OPERAND::SIZE - 63, WGMMA_ROW))/'
    }
fi

# ---- wrappers ----

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
selftest=$build/tests/emulation_selftest

# sed joins the strings of an asm statement first, so that the patterns do not depend on where they break.
join=':a;N;$!ba;s/"\n *"//g;'

# wrapper NAME SED [ARCH]: the self-test with ptx.cuh changed by SED, through nvcc for ARCH (90a) and the interpreter.
wrapper() {
    local status=0 arch=${3:-90a}
    [[ "ptx.cuh: $1" == *"$only"* ]] || return 0
    rm -rf "$work/tree"
    mkdir -p "$work/tree/tests/emulation"
    cp -r "$source/kernels" "$work/tree/kernels"
    cp "$source/tests/emulation/selftest.cu" "$work/tree/tests/emulation"
    sed -i -E "$2" "$work/tree/kernels/cuda/ptx.cuh"
    cp "$source/kernels/cuda/ptx.cuh" "$work/right"
    [[ "$2" != "$join"* ]] || sed -i -E "$join" "$work/right"
    if cmp -s "$work/right" "$work/tree/kernels/cuda/ptx.cuh"; then
        verdict unchanged "$1: the wrapper is written otherwise now"
        return
    fi
    if ! "$nvcc" -std=c++17 --expt-relaxed-constexpr -arch="sm_$arch" -ptx "$work/tree/tests/emulation/selftest.cu" \
        -o "$work/wrong.ptx" >"$work/log" 2>&1; then
        verdict caught "$1 (nvcc: $(grep -m 1 error "$work/log" | cut -c1-80))"
        return
    fi
    # 20 s: one that never ends is caught too; the braces keep the shell's own word on aborted programs away
    { ROOFLINE_EMULATE_PTX=$work/wrong.ptx timeout 20 "$selftest" "${arch%a}" >"$work/out" 2>&1 || status=$?; } 2>/dev/null
    if [ "$status" -ne 0 ]; then
        verdict caught "$1 ($(grep -aE 'FAIL|simt:' "$work/out" | head -n 1 | tr -s ' ' | cut -c1-90))"
    else
        verdict SURVIVED "$1"
    fi
}

if [ ${#launcher[@]} -gt 0 ]; then
    : # they are PTX, which has no threads for the sanitizer
elif [ ! -x "$nvcc" ]; then
    echo "mutate.sh: no nvcc: wrappers are not mutated" >&2
else
    wrapper 'mma bf16: registers of A swapped' "$join"'s/(bf16\.bf16\.f32 \{%0,%1,%2,%3\}, \{%4),%5,%6,/\1,%6,%5,/'
    wrapper 'cp.async.wait_group: one too many' 's/"n"\(KEEP\)/"n"(KEEP + 1)/'
    [ "$mode" = sample ] || {
        wrapper 'mma bf16: the type of f16' "$join"'s/f32\.bf16\.bf16\.f32/f32.f16.f16.f32/'
        wrapper 'mma bf16: accumulators permuted' "$join"'s/(bf16\.bf16\.f32) \{%0,%1,%2,%3\}, \{%4/\1 {%0,%2,%1,%3}, {%4/'
        wrapper 'mma f16: registers of B swapped' "$join"'s/(f16\.f16\.f32 [^;]*)\{%8,%9\}/\1{%9,%8}/'
        wrapper 'mma tf32: registers of B swapped' "$join"'s/(tf32\.tf32\.f32 [^;]*)\{%8,%9\}/\1{%9,%8}/'
        wrapper 'mma e4m3: the type of e5m2' "$join"'s/f32\.e4m3\.e4m3\.f32/f32.e5m2.e5m2.f32/'
        wrapper 'mma e5m2: registers of A swapped' "$join"'s/(e5m2\.e5m2\.f32 \{%0,%1,%2,%3\}, \{%4),%5,%6,/\1,%6,%5,/'
        wrapper 'mma f64, 16x8x8: registers of A swapped' "$join"'s/(m16n8k8\.row\.col\.f64[^;]*\{%4),%5,%6,/\1,%6,%5,/'
        wrapper 'mma f64, 16x8x8: registers of B swapped' "$join"'s/(m16n8k8\.row\.col\.f64[^;]*)\{%8,%9\}/\1{%9,%8}/'
        wrapper 'mma f64, 16x8x16: registers of A swapped' "$join"'s/(m16n8k16\.row\.col\.f64[^;]*\{%4),%5,%6,/\1,%6,%5,/'
        wrapper 'mma f64, 16x8x16: registers of B swapped' "$join"'s/(m16n8k16\.row\.col\.f64[^;]*)\{%12,%13,/\1{%13,%12,/'
        wrapper 'load32: words swapped' 's/\{%0,%1,%2,%3,%4,%5,%6,%7\}, \[%8\]/{%1,%0,%2,%3,%4,%5,%6,%7}, [%8]/' 100a
        wrapper 'load32: longs swapped' 's/\{%0,%1,%2,%3\}, \[%4\];" *\\/{%1,%0,%2,%3}, [%4];" \\/' 100a
        wrapper 'load32: half of it' 's/ld\.global\.v4\.b64/ld.global.v4.b32/' 100a
        wrapper 'store32: words swapped' 's/\[%8\], \{%0,%1,/[%8], {%1,%0,/' 100a
        wrapper 'store32: longs swapped' 's/\[%4\], \{%0,%1,/[%4], {%1,%0,/' 100a
        wrapper 'store32, streaming: half of it' 's/st\.global\.cs\.v8\.b32/st.global.cs.v8.b16/' 100a
        wrapper 'sqrt.approx: its reciprocal' 's/sqrt\.approx\.f32/rsqrt.approx.f32/'
        wrapper 'mma f64: A and B swapped' "$join"'s/(m8n8k4[^;]*)\{%2\}, \{%3\}/\1{%3}, {%2}/'
        wrapper 'ldmatrix: .trans where it should not be' 's/m8n8\.x4\.shared/m8n8.x4.trans.shared/'
        wrapper 'ldmatrix.trans: .trans forgotten' 's/m8n8\.x4\.trans\.shared/m8n8.x4.shared/'
        wrapper 'ldmatrix: registers swapped' "$join"'s/(m8n8\.x4\.shared\.b16 \{%0),%1,%2,/\1,%2,%1,/'
        wrapper 'cp.async: no zero fill' 's/\[%0\], \[%1\], 16, %2;/[%0], [%1], 16, 16;/'
        wrapper 'cp.async: 8 bytes' 's/cp\.async\.cg\.shared\.global \[%0\], \[%1\], 16, %2;/cp.async.ca.shared.global [%0], [%1], 8, 8;/'
        wrapper 'cp.async.commit_group: nothing' 's/asm volatile\("cp\.async\.commit_group;" ::: "memory"\);//'
        wrapper 'bar.sync: barrier and threads swapped' 's/bar\.sync %0, %1;/bar.sync %1, %0;/'
        wrapper 'clock: the wrong one' 's/%%clock64/%%clock_hi/'
        wrapper 'mbarrier.init: a count too many' "$join"'s/(mbarrier\.init[^;]*), %1;" ::"r"\(smem_u32\(bar\)\), "r"\(count\)/\1, %1;" ::"r"(smem_u32(bar)), "r"(count + 1)/'
        wrapper 'mbarrier wait: inverted' "$join"'s/@p bra DONE/@!p bra DONE/'
        wrapper 'mbarrier wait: the other parity' "$join"'s/(DONE_%=: \}" ::"r"\(smem_u32\(bar\)\),[^"]*"r"\()parity/\1parity ^ 1/'
        wrapper 'expect_tx without the arrival' "$join"'s/mbarrier\.arrive\.expect_tx\.shared::cta\.b64 _, \[%0\], %1/mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1/'
        wrapper 'TMA: coordinates swapped' "$join"'s/\{%3,%4\}\], \[%2\];/{%4,%3}], [%2];/'
        wrapper 'TMA multicast: no mask' "$join"'s/\.multicast::cluster \[%0\], \[%1, \{%3,%4\}\], \[%2\], %5/ [%0], [%1, {%3,%4}], [%2]/'
        wrapper 'mapa: rank and address swapped' "$join"'s/mapa\.shared::cluster\.u32 ra, %0, %1/mapa.shared::cluster.u32 ra, %1, %0/'
        wrapper 'cluster barrier: arrival only' "$join"'s/\\n\\tbarrier\.cluster\.wait\.acquire\.aligned;//'
        wrapper 'mapa of a pointer: the first block' 's/mapa\.u64 %0, %1, %2/mapa.u64 %0, %1, 0/'
        wrapper 'cluster size: the rank' 's/%%cluster_nctarank/%%cluster_ctarank/'
        wrapper 'cluster barrier, in halves: no arrival' 's/GPU_CLUSTER\("barrier\.cluster\.arrive\.release\.aligned;" ::: "memory"\);//'
        wrapper 'cluster barrier, in halves: no wait' 's/GPU_CLUSTER\("barrier\.cluster\.wait\.acquire\.aligned;" ::: "memory"\);//'
        wrapper 'wgmma descriptor: stride' 's/1024 >> 4\) << 32/512 >> 4) << 32/'
        wrapper 'wgmma descriptor: swizzle of 64 bytes' 's/uint64_t\(1\) << 62/uint64_t(2) << 62/'
        wrapper 'wgmma descriptor: leading offset' 's/leading_bytes >> 4/leading_bytes >> 5/'
        wrapper 'wgmma: B not transposed' 's/"n"\(TRANS_B\)/"n"(0)/g'
        wrapper 'wgmma: A not transposed' 's/"n"\(TRANS_A\)/"n"(0)/g'
        wrapper 'wgmma: accumulators permuted' 's/"%0,%1,%2,%3,/"%0,%2,%1,%3,/'
        wrapper 'wgmma, n128: accumulators permuted' 's/%33,%34,/%34,%33,/'
        wrapper 'wgmma, n256: accumulators permuted' 's/%65,%66,/%66,%65,/'
        wrapper 'wgmma bf16: the type of f16' 's/k16\.f32\.bf16\.bf16", n/k16.f32.f16.f16", n/'
        wrapper 'wgmma f16: the type of bf16' 's/k16\.f32\.f16\.f16", n/k16.f32.bf16.bf16", n/'
        wrapper 'wgmma e4m3: the type of e5m2' 's/k32\.f32\.e4m3\.e4m3", n/k32.f32.e5m2.e5m2", n/'
        wrapper 'wgmma e5m2: the type of e4m3' 's/k32\.f32\.e5m2\.e5m2", n/k32.f32.e4m3.e4m3", n/'
        wrapper 'wgmma: descriptors swapped' 's/"l"\(da\), "l"\(db\)/"l"(db), "l"(da)/'
        wrapper 'wgmma: scale inverted' 's/setp\.ne\.b32 p, " p ", 0/setp.eq.b32 p, " p ", 0/'
        wrapper 'stmatrix: registers swapped' "$join"'s/(stmatrix[^;]*\{%1),%2,%3,/\1,%3,%2,/'
        wrapper 'stmatrix: .trans where it should not be' 's/stmatrix\.sync\.aligned\.m8n8\.x4\.shared/stmatrix.sync.aligned.m8n8.x4.trans.shared/'
        wrapper 'TMA, three dimensions: coordinates swapped' "$join"'s/\{%3,%4,%5\}\], \[%2\];/{%4,%3,%5}], [%2];/'
        wrapper 'TMA, three dimensions: the matrix' "$join"'s/\{%3,%4,%5\}\], \[%2\];/{%3,%4,%4}], [%2];/'
        wrapper 'TMA multicast, three dimensions: no mask' "$join"'s/\.multicast::cluster \[%0\], \[%1, \{%3,%4,%5\}\], \[%2\], %6/ [%0], [%1, {%3,%4,%5}], [%2]/'
        wrapper 'TMA store: coordinates swapped' "$join"'s/\{%2,%3,%4\}\], \[%1\]/{%3,%2,%4}], [%1]/'
        wrapper 'bulk store: no commit' 's/cp\.async\.bulk\.commit_group;//'
        wrapper 'bulk store: waits for one less' 's/wait_group\.read %0;" ::"n"\(KEEP\)/wait_group.read %0;" ::"n"(KEEP + 1)/'
        wrapper 'setmaxnreg: dec for inc' 's/setmaxnreg\.inc/setmaxnreg.dec/'
        wrapper 'wgmma: no commit' 's/wgmma\.commit_group\.sync\.aligned;/wgmma.fence.sync.aligned;/'
        wrapper 'wgmma: waits for one less' "$join"'s/(wgmma\.wait_group[^"]*" ::"n"\()KEEP/\1KEEP + 1/'
    }
fi
echo "$mutants mutants, $survivors not caught"
[ "$survivors" -eq 0 ] && [ "$mutants" -gt 0 ]
