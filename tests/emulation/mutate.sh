# mutate.sh SOURCE BUILD [all|sample] [PATTERN] [DTYPES] - are the tests able to fail? Two kinds of mutants, each of which has to
# be caught:
#  - a barrier or wait of the kernels is removed; the emulated checks of the file's ops run on two schedules. A barrier
#    that can go without a wrong result says so in a comment on its line: "redundant: <why>".
#  - a wrapper's PTX is made wrong; the self-test runs it in the interpreter.
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
trap 'rm -rf "$work"' EXIT
survivors=0
mutants=0

verdict() { # caught|SURVIVED|... DESCRIPTION
    mutants=$((mutants + 1))
    [ "$1" = caught ] || survivors=$((survivors + 1))
    printf '%-10s %s\n' "$1" "$2"
}

# ---- barriers of kernels; fences, and a barrier against a warp that runs far ahead, are the thread sanitizer's to miss ----

waits='__syncthreads(_(count|and|or))?\(|__syncwarp\(|cp_async_wait|cp_async_commit\(|bar_sync\(|mbar_wait\(|cluster_sync\(|wgmma_wait|wgmma_commit\(|grid_sync\('
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

# check_fails ORDER CC OPS: whether the mutant has a bad row; the first one ends it. Rows and runs have time enough for a
# busy machine, since what is slow is not caught.
check_fails() {
    local pid status=0
    SIMT_ORDER=$1 SIMT_ASYNC=lazy timeout 1800 "$work/mutant" bench --check --quiet --timeout 300 --device "emu:sm_$2" \
        --op "$3" ${dtypes:+--dtype "$dtypes"} >"$work/out" 2>&1 &
    pid=$!
    while kill -0 "$pid" 2>/dev/null && ! grep -qaE ' (wrong|failed|timeout): ' "$work/out"; do sleep 0.1; done
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null || status=$?
    grep -qaE ' (wrong|failed|timeout): ' "$work/out" || { [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; }
}

# mutate FILE LINE: the line's first barrier becomes an empty statement. Of a header's units one after the other, until
# the checks of its ops fail.
mutate() {
    local file=$1 line=$2 unit ops caught='' order cc text link units=0
    text=$(sed -n "${line}p" "$source/kernels/cuda/$file" | sed -E 's/^ +//' | cut -c1-60)
    rm -rf "$work/kernels"
    cp -r "$source/kernels" "$work/kernels"
    sed -i -E "${line}s/$statement/;/" "$work/kernels/cuda/$file"
    for unit in $(units_of "$file"); do
        units=$((units + 1))
        ops=$(ops_of "$unit")
        # kernels that rows of other files call
        [ -n "$ops" ] || ops=$(for user in $(units_of "${unit%.cu}.cuh"); do ops_of "$user"; done | grep . | sort -u | paste -sd, -)
        # shellcheck disable=SC2046  # words of a command line
        if ! (cd "$build" && $(compiler_of "$unit") -c "$work/kernels/cuda/$unit" -o "$work/$unit.o") 2>"$work/log"; then
            verdict unbuilt "$file:$line $text: $(grep -m 1 error "$work/log")"
            return
        fi
        link=${link_command//$(object_of "$unit")/$work/$unit.o}
        if ! (cd "$build" && eval "${link//-o roofline_emulated/-o $work/mutant}") >"$work/log" 2>&1; then
            verdict unlinked "$file:$line $text: $(tail -n 1 "$work/log")"
            return
        fi
        for order in asc desc; do
            for cc in 80 90 89; do # 89: where fp8 is native
                if check_fails "$order" "$cc" "$ops"; then
                    caught="$order, sm_$cc: $(grep -aE 'wrong|failed|timeout|simt:' "$work/out" | head -n 1 | tr -s ' ' | cut -c1-90)"
                    break 3
                fi
            done
        done
    done
    if [ "$units" = 0 ]; then
        verdict unused "$file:$line $text: no .cu includes it"
    elif [ -n "$caught" ]; then
        verdict caught "$file:$line $text ($caught)"
    else
        verdict SURVIVED "$file:$line $text"
    fi
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

if [ ! -x "$nvcc" ]; then
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
        wrapper 'wgmma descriptor: stride' 's/1024 >> 4\) << 32/512 >> 4) << 32/'
        wrapper 'wgmma descriptor: swizzle of 64 bytes' 's/uint64_t\(1\) << 62/uint64_t(2) << 62/'
        wrapper 'wgmma: B transposed' "$join"'s/p, 1, 1, 0, 0;/p, 1, 1, 0, 1;/'
        wrapper 'wgmma: scale inverted' "$join"'s/setp\.ne\.b32 p, %34, 0/setp.eq.b32 p, %34, 0/'
        wrapper 'wgmma: no commit' 's/wgmma\.commit_group\.sync\.aligned;/wgmma.fence.sync.aligned;/'
        wrapper 'wgmma: waits for one less' "$join"'s/(wgmma\.wait_group[^"]*" ::"n"\()KEEP/\1KEEP + 1/'
    }
fi
echo "$mutants mutants, $survivors not caught"
[ "$survivors" -eq 0 ] && [ "$mutants" -gt 0 ]
