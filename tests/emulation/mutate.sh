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

waits='__syncthreads(_(count|and|or))?\(|__syncwarp\(|cp_async_wait|cp_async_commit\(|bar_sync\(|mbar_wait\(|cluster_(sync|arrive|wait)\(|wgmma_(wait|commit|fence)[<(]|mbar_fence_init\(|grid_sync\(|mbar_arrive[a-z_]*\(|bulk_commit\(|bulk_wait|tcgen05_(commit[a-z_]*|wait_ld|fence_before|fence_after)[<(]'
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
    fma_tcgen05*) echo "--impl tcgen05 --shape 7x3,129x64,300001x311" ;; # the last: blocks with more than a tile
    fma_wgmma*) echo "--impl wgmma --shape 16385x1111,129x256" ;;
    fma.cu) echo "--shape 7x3,129x64,1000x100" ;;
    bulk*) echo "--impl bulk" ;;
    *tcgen05*) echo "--op matmul --impl tcgen05* --layout nn,nt,tn --shape 300x520x336,60x1104x608,60x77x2000,60x40x6000,520x40x80,520x40x2000,130x77x90,300x390x608,60x260x80,60x520x336,1030x520x80,60x2320x80" ;;
    *nvfp4*) echo "--op matmul,bmm --impl mma_sync --dtype nvfp4 --layout nt" ;;
    *wgmma*) echo "--op matmul --impl wgmma* --layout nn,nt,tn --shape 300x520x328,72x96x500,130x77x96,60x136x200,100x264x96,200x136x200,60x520x64,60x72x6000,200x136x3000" ;;
    esac
}
# The dtypes whose kernels a unit has, where its name says it: others need not run.
dtypes_of() {
    case $1 in
    *_bf16.cu) echo bf16 ;;
    *_fp16.cu) echo fp16 ;;
    *_tf32.cu) echo tf32 ;;
    *_fp64.cu) echo fp64 ;;
    *_fp8.cu) echo fp8_e4m3,fp8_e5m2 ;;
    *_nvfp4.cu) echo nvfp4 ;;
    esac
}
# Generation, order and asynchrony of each check. 89: where fp8 is native. In random order four blocks work at a time, up to sm_89.
schedules_of() {
    case $1 in
    # the last: warps that keep step read all before the first begins the next tile
    fma_tcgen05*) echo 100-asc-lazy 100-desc-lazy 100-rand-eager ;;
    *tcgen05*) echo 100-asc-lazy 100-desc-lazy 100-asc-eager ;; # of two accumulators only work that runs ahead needs the second
    *wgmma* | bulk*) echo 90-asc-lazy 90-desc-lazy 90-ahead-lazy 90-rand-lazy ;;
    *nvfp4*) echo 120-asc-lazy 120-desc-lazy ;;
    rows.cu) echo 90-asc-lazy 90-desc-lazy 90-ahead-lazy 80-asc-lazy 80-desc-lazy 80-ahead-lazy 80-rand-lazy ;; # clusters
    *) echo 80-asc-lazy 80-desc-lazy 80-ahead-lazy 90-asc-lazy 90-desc-lazy 89-asc-lazy 89-desc-lazy 80-rand-lazy ;;
    esac
}

# check_fails SCHEDULE OPS [ARGUMENTS]: whether the mutant has a bad row; the first one ends it. Rows and runs have time enough for a
# busy machine, since what is slow is not caught.
check_fails() {
    local pid status=0 cc order async
    IFS=- read -r cc order async <<<"$1"
    : >"$work/out" # what the mutant before has left there would end this one at once
    set -f # the arguments are words, and none of them names files
    # shellcheck disable=SC2086
    SIMT_ORDER=$order SIMT_ASYNC=$async timeout 1800 "${launcher[@]}" "$work/mutant" bench --check --quiet --timeout 300 --device "emu:sm_$cc" \
        --op "$2" ${dtypes:+--dtype "$dtypes"} ${3:-} >"$work/out" 2>&1 &
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
    local file=$1 text=$2 wanted=${4:-$dtypes} dtypes unit ops caught='' schedule link units=0 scope
    for unit in ${3:-$(units_of "$file" | grep -vx 'probes\.cu')}; do # probes measure, no check runs them
        units=$((units + 1))
        dtypes=${wanted:-$(dtypes_of "$unit")}
        scope=$unit
        case $file in bulk*) scope=$file ;; esac # of many rows the few that use it
        ops=$(ops_of "$unit")
        # kernels that rows of other files call
        [ -n "$ops" ] || ops=$(for user in $(units_of "${unit%.cu}.cuh"); do ops_of "$user"; done | grep . | sort -u | paste -sd, -)
        # shellcheck disable=SC2046  # words of a command line
        if ! (cd "$build" && $(compiler_of "$unit") -c "$work/kernels/cuda/$unit" -o "$work/$unit.o") 2>"$work/log"; then
            verdict unbuilt "$text: $(grep -m 1 error "$work/log")"
            return
        fi
        # the first object: the linker takes what several have, instances of a template, from the first
        link=$(sed -E "s| [^ ]+\.o | $work/$unit.o&|" <<<"${link_command//$(object_of "$unit")/}")
        if ! (cd "$build" && eval "${link//-o roofline_emulated/-o $work/mutant}") >"$work/log" 2>&1; then
            verdict unlinked "$text: $(tail -n 1 "$work/log")"
            return
        fi
        for schedule in $(schedules_of "$scope"); do
            if check_fails "$schedule" "$ops" "$(arguments_of "$scope")"; then
                caught="$schedule: $(grep -aE 'wrong|failed|timeout|simt:' "$work/out" | head -n 1 | tr -s ' ' | cut -c1-90)"
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

# edit FILE DESCRIPTION SED [UNIT DTYPES]: what is no barrier; of the products by wgmma, in bf16, which has most paths, unless UNIT is given.
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
        grep -vE '^\./(ptx|ptx_tcgen05|launch)\.cuh:|^[^:]+:[0-9]+: *(//|/?\*)' | sed -E 's|^\./([^:]+):([0-9]+):.*|\1 \2|' | grep -F "$only")
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
        edit $f 'empty: arrivals of one block' 's/TILE::WARPS \* p\.cluster/TILE::WARPS/'
        edit $f 'empty: the other parity' 's/at\.parity \^ 1/at.parity/'
        edit $f 'full: the other parity' 's/(full\[at\.stage\], at\.parity)\)/\1 ^ 1)/'
        edit $f 'parity: always the same' 's/parity \^= 1;/;/'
        edit $f 'ring: a stage too many' 's/\+\+stage < STAGES/++stage <= STAGES/'
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
        edit $f 'descriptor of A: a swizzle of 64 bytes' 's/wgmma_desc\(a\) :/wgmma_desc(a) ^ uint64_t(3) << 62 :/'
        edit $f 'descriptor of B: a swizzle of 32 bytes' 's/wgmma_desc\(b\) :/wgmma_desc(b) ^ uint64_t(2) << 62 :/'
        edit $f 'descriptor of A: half the stride' 's/wgmma_desc\(a\) :/wgmma_desc(a) ^ uint64_t(96) << 32 :/'
        edit $f 'descriptor of B: half the stride' 's/wgmma_desc\(b, BOX\)/wgmma_desc(b, BOX) ^ uint64_t(96) << 32/'
        edit $f 'B: the leading offset' 's/BOX = 64/BOX = 32/'
        edit $f 'B: not transposed' 's/!A_K_MAJOR, !B_K_MAJOR>/!A_K_MAJOR, false>/'
        edit $f 'store: one buffer for all' 's/i % 2 \* STAGING/0/'
        edit $f 'store: waits for one less' 's/bulk_wait_read<1>/bulk_wait_read<2>/'
        edit $f 'store: the column' 's/t\.col \+ PIECE \* i/t.col + PIECE * (i ^ 1)/'
        edit $f 'pairs in rows of odd length' 's/p\.n % 2 == 0;/true;/'
        edit $f 'registers: more than there are' 's/setmaxnreg_inc<232>/setmaxnreg_inc<240>/'
        edit $f 'registers: given back too few' 's/setmaxnreg_dec<40>/setmaxnreg_dec<48>/'
        edit $f 'split: parts in one place' 's/t\.split \* p\.batch \+ t\.batch/t.batch/'
        edit $f 'promoted: the last part alone' 's/kt \? sum\[i\] \+ part\[i\] : part\[i\]/part[i]/' matmul_wgmma_fp8.cu fp8_e4m3
        f=teams.cuh
        edit $f 'cluster: parts of all blocks in one place' 's/block\(\) \* blockDim/0 * blockDim/' rows.cu fp32
        edit $f 'cluster: one array for all reductions' 's/part\[reduction\]/part[0]/' rows.cu fp32
        edit $f 'cluster: the first block alone is told' 's/lane < static_cast<int>\(blocks\(\)\)/lane < 1/' rows.cu fp32
        edit $f 'cluster: parts of one block are joined' 's/static_cast<int>\(blocks\(\)\) \* \(size/1 * (size/' rows.cu fp32
        f=rows.cu
        edit $f 'cluster: all blocks take the first part' 's/begin = each \* TEAM::block\(\)/begin = 0 * each/' rows.cu fp32
        edit $f 'cluster: weights of the first part' 's/p\.w \+= begin/p.w += 0/' rows.cu fp32
        f=fma_wgmma.cu
        edit $f 'rounds: the last is left out' 's/j < rest/j + 1 < rest/' $f
        edit $f 'fours: one too few' 's/a->s\.k \/ rounds_of_four<D>,/a->s.k \/ rounds_of_four<D> - 1,/' $f
        edit $f 'sums: of the count before as well' 's/i > 0 \|\| step > 0/true/' $f
        edit $f 'sums: of the last four alone' 's/i > 0 \|\| step > 0/step > 0/' $f
        edit $f 'B: minus where A has it' 's/place<D>\(b, N, 2\)/place<D>(b, N, 1)/' $f
        edit $f 'A: the step along k' 's/from_a \+ static_cast<uint64_t>\(step/from_a + static_cast<uint64_t>(0 * step/' $f
        edit $f 'the lanes of a block' 's/blockIdx\.x\) \* LANES/blockIdx.x) * N/' $f
        f=bulk.cuh
        edit $f 'read: the other parity' 's/full\[stage\], parity\)/full[stage], parity ^ 1)/' reduce.cu fp32
        edit $f 'read: always the same parity' 's/parity \^= 1;/;/' reduce.cu fp32
        edit $f 'bytes expected: too few' 's/full\[stage\], chunk\.size\(\)\);/full[stage], chunk.size() - 16);/' reduce.cu fp32
        edit $f 'the last chunk is whole' 's/bytes - first\(\) < stage \? bytes - first\(\) : stage/stage/' reduce.cu fp32
        edit $f 'a chunk is left out' 's/visits - blockIdx\.x - 1\) \/ blocks \+ 1/visits - blockIdx.x) \/ blocks/' reduce.cu fp32
        f=bulk.cu
        edit $f 'copy: waits for one store less' 's/bulk_wait_read<BULK_STORES - 1>/bulk_wait_read<BULK_STORES>/' $f fp32
        edit $f 'copy: fills another stage' 's/\(filling \+ 1\) % BULK_STAGES/(filling + 1) % (BULK_STAGES - 1)/' $f fp32
        edit $f 'copy: the other parity' 's/full\[stage\], parity\)/full[stage], parity ^ 1)/' $f fp32
        edit $f 'copy: always the same parity' 's/parity \^= 1;/;/' $f fp32
        edit $f 'copy: the last byte' 's/last < bytes\) y\[last\] = x/last + 1 < bytes) y[last] = x/' $f fp8_e4m3
        edit $f 'fill: the pattern of what is left' 's/8 \* \(last % 8\)/8 * (last % 2)/' $f fp32
        f=mma_tile.cuh
        edit $f 'scales: of the first k-tile' 's/scales \+= scale_pitch/scales += 0 * scale_pitch/' matmul_mma_nvfp4.cu nvfp4
        edit $f 'scales: half of them' 's/(threadIdx\.x < EXTENT \* SCALE_BYTES \/ )16/\132/' matmul_mma_nvfp4.cu nvfp4
        edit $f 'scales of A: the same rows' 's/lane % 2 \* 8/lane % 2 * 0/' matmul_mma_nvfp4.cu nvfp4
        edit $f 'scales of B: the first 64 of k' 's/(\(col \+ 8 \* j\) \* SCALE_BYTES) \+ 4 \* step/\1/' matmul_mma_nvfp4.cu nvfp4
        f=matmul_mma_nvfp4.cu
        edit $f 'scales: packed as of the first k-tile' 's/row\) \* width \+ tile \* SCALE_BYTES/row) * width/' $f nvfp4
        edit $f 'scales: of the first matrix' 's/scale_stride = x\.k_tiles/scale_stride = 0/' $f nvfp4
        f=matmul_mma_fp64.cu
        edit $f 'm16n8k16: rows of A swapped' 's/\{x\[0\], y\[0\], x\[1\], y\[1\]/{x[0], x[1], y[0], y[1]/' $f fp64
        edit $f 'm16n8k16: the same rows in both parts' 's/wm \+ part \* 8 \* ROWS/wm + 0 * part/' $f fp64
        edit $f 'm16n8k16: B in one buffer' 's/b\[k % 2\], tile_b/b[0], tile_b/' $f fp64
        bf16=(matmul_tcgen05_bf16.cu bf16) nvfp4=(matmul_tcgen05_nvfp4.cu nvfp4) # units and dtypes
        f=matmul_tcgen05.cuh
        edit $f 'full: two arrivals' 's/(mbar_init\(&bar\.full\[i\], )1/\12/' "${bf16[@]}"
        edit $f 'empty: two arrivals' 's/(mbar_init\(&bar\.empty\[i\], )1/\12/' "${bf16[@]}"
        edit $f 'ready: two arrivals' 's/(mbar_init\(&bar\.ready\[i\], )1/\12/' "${bf16[@]}"
        edit $f 'free: arrivals of one block' 's/OUT_WARPS \* CTAS\)/OUT_WARPS)/' "${bf16[@]}"
        edit $f 'empty: the other parity' 's/(empty\[stage\.at\], stage\.parity) \^ 1\); \/\* at once/\1); \/* at once/' "${bf16[@]}"
        edit $f 'full: the other parity' 's/(full\[stage\.at\], stage\.parity)\)/\1 ^ 1)/' "${bf16[@]}"
        edit $f 'free: the other parity' 's/(free\[buffer\.at\], buffer\.parity) \^ 1/\1/' "${bf16[@]}"
        edit $f 'ready: the other parity' 's/(ready\[buffer\.at\], buffer\.parity)\)/\1 ^ 1)/' "${bf16[@]}"
        edit $f 'parity: always the same' 's/parity \^= 1;/;/' "${bf16[@]}"
        edit $f 'bytes expected: of one block' 's/CTAS \* TILE::STAGE\)/TILE::STAGE)/' "${bf16[@]}"
        edit $f 'bytes expected: by both blocks' 's/if \(rank == 0\) gpu::mbar_arrive_expect_tx/gpu::mbar_arrive_expect_tx/' "${bf16[@]}"
        edit $f 'pair: bytes counted by their own block' 's/gpu::tma_load_3d_pair/gpu::tma_load_3d/' "${bf16[@]}"
        edit $f 'pair: the same columns of B' 's/t\.col \+ rank \* TILE::B_ROWS/t.col/' "${bf16[@]}"
        edit $f 'commit: to the even block alone' 's/multicast<2>\(bar, 3\)/multicast<2>(bar, 1)/' "${bf16[@]}"
        edit $f 'commit: to the odd block alone' 's/multicast<2>\(bar, 3\)/multicast<2>(bar, 2)/' "${bf16[@]}"
        edit $f 'commit: of the stage after' 's/commit<CTAS>\(&bar\.empty\[stage\.at\]\);\n( *)stage\.next\(\);/stage.next();\n\1commit<CTAS>(\&bar.empty[stage.at]);/' "${bf16[@]}"
        edit $f 'commit: before the last instruction' 's/#pragma unroll\n( *for \(int step = 0; step < STEPS; step\+\+\) \{)/#pragma unroll\n\1\nif (step == STEPS - 1) commit<CTAS>(\&bar.empty[stage.at]);/; s/\}\n *commit<CTAS>\(&bar\.empty\[stage\.at\]\);/}/' "${bf16[@]}"
        edit $f 'commit: no stage is given back' 's/\n *commit<CTAS>\(&bar\.empty\[stage\.at\]\);//' "${bf16[@]}"
        edit $f 'commit: no sums are ready' 's/commit<CTAS>\(&bar\.ready\[buffer\.at\]\);//' "${bf16[@]}"
        edit $f 'shape: of one block' 's/FORMAT, BM \* CTAS/FORMAT, BM/' "${bf16[@]}"
        edit $f 'shape: half of the columns' 's/CTAS, TILE::BN, !A/CTAS, TILE::BN \/ 2, !A/' "${bf16[@]}"
        edit $f 'shape: A is K-major' 's/!A_K_MAJOR,/false,/' "${bf16[@]}"
        edit $f 'shape: B is K-major' 's/!B_K_MAJOR\),/false),/' "${bf16[@]}"
        edit $f 'A: the step along k' 's/A_K_MAJOR \? 32 : 16/A_K_MAJOR ? 32 : 8/' "${bf16[@]}"
        edit $f 'B: the step along k' 's/B_K_MAJOR \? 32 :/B_K_MAJOR ? 16 :/' "${bf16[@]}"
        edit $f 'descriptors: the leading offset' 's/BOX = 64/BOX = 32/' "${bf16[@]}"
        edit $f 'sums: of the tile before as well' 's/kt > t\.k_first \|\| step > 0/1/' "${bf16[@]}"
        edit $f 'sums: of the last instruction alone' 's/kt > t\.k_first \|\| step > 0/0/' "${bf16[@]}"
        edit $f 'sums: one accumulator for two tiles' 's/buffer\.at \* TILE::BN/0 * TILE::BN/g' "${bf16[@]}"
        edit $f 'sums: from the other accumulator' 's/buffer\.at \* TILE::BN\);\n( *)uint64_t/(buffer.at ^ 1) * TILE::BN);\n\1uint64_t/' "${bf16[@]}"
        edit $f 'free: never' 's/if \(i == TILE::BN \/ PIECE - 1\) release<CTAS>\(free\);//' "${bf16[@]}"
        edit $f 'free: before the last piece is read' 's/i == TILE::BN \/ PIECE - 1/i == 0/' "${bf16[@]}"
        edit $f 'free: before the last columns are read' 's/col == TILE::BN - 32/col == 0/' "${bf16[@]}"
        edit $f 'free: told to its own block' 's/mbar_arrive_cluster\(free, 0\)/mbar_arrive(free)/' "${bf16[@]}"
        edit $f 'lanes: of the first warp' 's/\(32 \* warp\) << 16/(0 * warp) << 16/' "${bf16[@]}"
        edit $f 'store: one buffer for all' 's/stores\+\+ % 2 \* STAGING/0/' "${bf16[@]}"
        edit $f 'store: every tile begins with the first buffer' 's/stores\+\+ % 2 \* STAGING/i % 2 * STAGING/' "${bf16[@]}"
        edit $f 'store: waits for one less' 's/bulk_wait_read<1>/bulk_wait_read<2>/' "${bf16[@]}"
        edit $f 'store: the column' 's/t\.col \+ PIECE \* i/t.col + PIECE * (i ^ 1)/' "${bf16[@]}"
        edit $f 'store: not swizzled' 's/chunk \^ lane % 8/chunk/' "${bf16[@]}"
        edit $f 'vectors in rows of odd length' 's/p\.n % N == 0/true/' "${bf16[@]}"
        edit $f 'memory: half of it' 's/tmem_alloc<CTAS>\(&bar\.memory, TILE::COLUMNS\)/tmem_alloc<CTAS>(\&bar.memory, TILE::COLUMNS \/ 2)/' "${bf16[@]}"
        edit $f 'memory: never freed' 's/if \(warp == MULTIPLIER\) gpu::tmem_dealloc[^;]*;//' "${bf16[@]}"
        edit $f 'memory: half of it freed' 's/(tmem_dealloc<CTAS>\(bar\.memory, TILE::COLUMNS)/\1 \/ 2/' "${bf16[@]}"
        edit $f 'split: parts in one place' 's/t\.split \* p\.batch \+ t\.batch/t.batch/' "${bf16[@]}"
        edit $f 'scales: of the first 64 of k' 's/TILE::B_BYTES \+ step \* SCALES/TILE::B_BYTES + 0 * step * SCALES/' "${nvfp4[@]}"
        edit $f 'scales of B: of the first 128 columns' 's/TILE::SCALES_A \+ i \* STEPS \* SCALES\)\);/TILE::SCALES_A));/' "${nvfp4[@]}"
        edit $f 'scales of B: in one place' 's/at_b \+ 4 \* i,/at_b,/' "${nvfp4[@]}"
        edit $f 'scales: those of B for A' 's/adds, at_a, at_b/adds, at_b, at_a/' "${nvfp4[@]}"
        edit $f 'scales of A: copied beside' 's/(cp_scales<CTAS>\()at_a/\1at_a + 16/' "${nvfp4[@]}"
        edit $f 'scales of A: of the first rows' 's/p\.scales_m \+ t\.row \/ 128/p.scales_m/' "${nvfp4[@]}"
        edit $f 'scales of B: of the first tile' 's/p\.scales_n \+ t\.col \/ 128/p.scales_n/' "${nvfp4[@]}"
        edit $f 'scales: of the first k-tile' 's/full, 0, kt \* STEPS/full, 0, 0 * kt/g' "${nvfp4[@]}"
        edit $f 'scales: in place of sums' 's/AT_A = BUFFERS \* BN/AT_A = BN \/ 2/' "${nvfp4[@]}"
        edit $f 'nvfp4, shape: of one block' 's/shape_nvfp4\(BM \* CTAS/shape_nvfp4(BM/' "${nvfp4[@]}"
        edit $f 'scales of B: over those of A' 's/AT_B = AT_A \+ 4 \* STEPS/AT_B = AT_A/' "${nvfp4[@]}"
        edit $f 'scales of B: in one block alone' 's/cp_scales<CTAS>\(( *\n *)at_b/cp_scales<1>(\1at_b/' "${nvfp4[@]}"
        f=matmul_tcgen05_nvfp4.cu
        edit $f 'scales: not in the order of tensor memory' 's/words\[32 \* \(at % 4\) \+ at \/ 4\]/words[at]/' "${nvfp4[@]}"
        edit $f 'scales: of the row before' 's/\(i \* rows \+ row\) \* width/(i * rows + row - (row > 0)) * width/' "${nvfp4[@]}"
        edit $f 'scales: one of four in rows of odd length' 's/e < 4; e\+\+\)/e < 1; e++)/' "${nvfp4[@]}"
        edit $f 'scales: of B from A' 's/pack_scales\(scratch, a, i\)/pack_scales(scratch, a, 0)/' "${nvfp4[@]}"
        f=fma_tcgen05.cu
        edit $f 'sums: of the tile before as well' 's/db \+ step, j > i\)/db + step, true)/' $f bf16
        edit $f 'sums: of the last instruction alone' 's/db \+ step, j > i\)/db + step, false)/' $f bf16
        edit $f 'sums: of half of the columns' 's/SHAPE = gpu::tcgen05_shape\(FORMAT, M, N\)/SHAPE = gpu::tcgen05_shape(FORMAT, M, N \/ 2)/' $f bf16
        edit $f 'sums: half of them are taken out' 's/col < N;/col < N \/ 2;/' $f bf16
        edit $f 'sums: lanes of the first warp' 's/t \/ WARP \* WARP\) << 16/0 * t) << 16/' $f bf16
        edit $f 'done: always the same parity' 's/parity \^= 1;/;/' $f bf16
        edit $f 'done: two arrivals' 's/mbar_init\(done, 1\)/mbar_init(done, 2)/' $f bf16
        edit $f 'the rest of k: a whole instruction' 's/< full \? da : dr/< full + 1 ? da : dr/' $f bf16
        edit $f 'the rest of k: a round too many' 's/ROUNDS\) \/ 2 < rounds/ROUNDS) \/ 2 <= rounds/' $f bf16
        edit $f 'tiles: over the end of the own part' 's/min\(end, \(tile \+ 1\) \* each\)/(tile + 1) * each/' $f bf16
        edit $f 'lanes: of the first tile' 's/lane = tile \* \(M \* N\)/lane = 0 * tile/' $f bf16
        edit $f 'memory: a quarter of it' 's/tmem_alloc<1>\(memory, COLUMNS\)/tmem_alloc<1>(memory, COLUMNS \/ 2)/' $f bf16
        edit $f 'memory: never freed' 's/if \(t < WARP\) gpu::tmem_dealloc[^;]*;//' $f bf16
        edit $f 'scales of B: of 128 columns' 's/i < 2; i\+\+/i < 1; i++/' $f nvfp4
        edit $f 'scales of B: in one place' 's/AT_B \+ 4 \* i,/AT_B,/' $f nvfp4
        edit $f 'scales of B: those of A' 's/scales_desc\(scales \+ SCALES\)/scales_desc(scales)/' $f nvfp4
        edit $f 'scales of A: in place of sums' 's/AT_A = N,/AT_A = N - 4,/' $f nvfp4
        edit $f 'scales: the first alone' 's/0x7fu\) << 8;/0u) << 8;/' $f nvfp4
        edit $f 'codes: without signs' 's/0x80 \? 10 : 2/0x80 ? 2 : 2/' $f nvfp4
        edit $f 'the rest of k: pairs of the first 32 codes' 's/which \/ 2 \* NVFP4_BLOCK/0 * which/' $f nvfp4
        edit $f 'the rest of k: half a byte too many' 's/pair \+ 1 < rounds/pair < rounds/' $f nvfp4
        edit $f 'nvfp4, shape: half of the columns' 's/tcgen05_shape_nvfp4\(M, N\)/tcgen05_shape_nvfp4(M, N \/ 2)/' $f nvfp4
        f=tcgen05_launch.cuh
        edit $f 'map: lines of scales' 's/k_tiles \* tcgen05::STEPS\)/k_tiles * tcgen05::STEPS - 4)/' "${nvfp4[@]}"
        edit $f 'map: rows of C of one warpgroup' 's/map_product<P>\(&map\.c, q, 32\)/map_product<P>(\&map.c, q, 16)/' "${bf16[@]}"
        edit $f 'form: half boxes where there are none' 's/cluster == 1 \|\| half_boxes/true/' "${bf16[@]}"
        f=tma_product.cuh
        edit $f 'cluster: the same rows of A and C' 's/\* cluster \+ rank\) \* BM/* cluster) * BM/'
        edit $f 'split: all of them the first k-tiles' 's/first = split \* p\.k_each/first = 0 * split/'
        edit $f 'split: over the end of the first one' 's/min\(first \+ p\.k_each, p\.k_tiles\)/p.k_tiles/'
        edit $f 'split: one part is not added' 's/split = 1; split < p/split = 2; split < p/'
        edit $f 'scales of tensors: one alone' 's/p\.alpha \* \*p\.a_scale \* \*p\.b_scale/p.alpha * *p.a_scale/' "${nvfp4[@]}"
        edit $f 'map: rows and columns' 's/k_major \? k : extent/k_major ? extent : k/'
        edit $f 'map: the pitch' 's/\(x\.pitch\)/(x.pitch + 16)/'
        edit $f 'map: boxes of half as many rows' 's/k_major \? box : 64/k_major ? box : 32/'
        edit $f 'map: the swizzle of operands' 's/box : 64\), CU_TENSOR_MAP_SWIZZLE_128B/box : 64), CU_TENSOR_MAP_SWIZZLE_NONE/'
        edit $f 'map: the rows of C' 's/m = static_cast<uint64_t>\(p\.m\),/m = static_cast<uint64_t>(p.m - 1),/'
        edit $f 'map: the swizzle of C' 's/rows,([ \n]*)CU_TENSOR_MAP_SWIZZLE_128B/rows,\1CU_TENSOR_MAP_SWIZZLE_NONE/'
        edit $f 'units: one is left out' 's/p\.batch \* form\.splits \* q\.units_m \* q\.tiles_n/\0 - 1/'
        edit $f 'k: the last tile is left out' 's/OPERAND::SIZE, TMA_ROW\)\)/OPERAND::SIZE - 63, TMA_ROW))/'
        edit $f 'bulk: rows of C at any address' 's/ % 16 == 0 && q\.splits == 1/ % 2 == 0 \&\& q.splits == 1/'
        edit $f 'bulk: with beta' 's/p\.beta == 0 && //'
    }
fi

# ---- wrappers ----

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
selftest=$build/tests/emulation_selftest

# sed joins the strings of an asm statement first, so that the patterns do not depend on where they break.
join=':a;N;$!ba;s/"\n *"//g;'

# wrapper NAME SED [ARCH FILE]: the self-test with ptx.cuh (FILE) changed by SED, through nvcc for ARCH (90a) and the interpreter.
wrapper() {
    local status=0 arch=${3:-90a} file=${4:-ptx.cuh}
    [[ "$file: $1" == *"$only"* ]] || return 0
    rm -rf "$work/tree"
    mkdir -p "$work/tree/tests/emulation"
    cp -r "$source/kernels" "$work/tree/kernels"
    cp "$source/tests/emulation/selftest.cu" "$work/tree/tests/emulation"
    sed -i -E "$2" "$work/tree/kernels/cuda/$file"
    cp "$source/kernels/cuda/$file" "$work/right"
    [[ "$2" != "$join"* ]] || sed -i -E "$join" "$work/right"
    if cmp -s "$work/right" "$work/tree/kernels/cuda/$file"; then
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
        wrapper 'mma nvfp4: registers of A swapped' "$join"'s/(ue4m3 \{%0,%1,%2,%3\}, \{%4),%5,%6,/\1,%6,%5,/' 120a
        wrapper 'mma nvfp4: registers of B swapped' "$join"'s/(ue4m3 [^;]*)\{%8,%9\}/\1{%9,%8}/' 120a
        wrapper 'mma nvfp4: scales swapped' "$join"'s/%10, \{0,0\}, %11,/%11, {0,0}, %10,/' 120a
        wrapper 'mma nvfp4: scales of threads 2 and 3' "$join"'s/%10, \{0,0\}/%10, {0,1}/' 120a
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
        wrapper 'fence.mbarrier_init: nothing' 's/fence\.mbarrier_init\.release\.cluster;//'
        wrapper 'fence.proxy.async: nothing' 's/fence\.proxy\.async\.shared::cta;//'
        wrapper 'wgmma.fence: nothing' 's/wgmma\.fence\.sync\.aligned;//'
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
        wrapper 'bulk load: addresses swapped' "$join"'s/\[%0\], \[%1\], %2, \[%3\];/[%3], [%1], %2, [%0];/'
        wrapper 'bulk load: half of it' 's/("l"\(gmem\), "r"\()bytes/\1bytes \/ 2/'
        wrapper 'bulk store of one dimension: half of it' ':a;N;$!ba;s/("r"\(smem_u32\(smem\)\), "r"\()bytes/\1bytes \/ 2/'
        wrapper 'bulk store: no commit' 's/cp\.async\.bulk\.commit_group;//'
        wrapper 'bulk store: waits for one less' 's/wait_group\.read %0;" ::"n"\(KEEP\)/wait_group.read %0;" ::"n"(KEEP + 1)/'
        wrapper 'setmaxnreg: dec for inc' 's/setmaxnreg\.inc/setmaxnreg.dec/'
        wrapper 'wgmma: no commit' 's/wgmma\.commit_group\.sync\.aligned;/wgmma.fence.sync.aligned;/'
        wrapper 'wgmma: waits for one less' "$join"'s/(wgmma\.wait_group[^"]*" ::"n"\()KEEP/\1KEEP + 1/'
        tcgen05=(100a ptx_tcgen05.cuh)
        wrapper 'elect: all lanes' 's/elect\.sync _\|p, 0xffffffff;/setp.eq.b32 p, 0, 0;/' "${tcgen05[@]}"
        wrapper 'alloc: never freed' 's/tcgen05\.dealloc\.cta_group::1\.sync\.aligned\.b32 %0, %1;//' "${tcgen05[@]}"
        wrapper 'alloc: of a pair, by a single block' 's/tcgen05\.alloc\.cta_group::2/tcgen05.alloc.cta_group::1/' "${tcgen05[@]}"
        wrapper 'dealloc: operands swapped' 's/(tcgen05\.dealloc\.cta_group::.\.sync\.aligned\.b32) %0, %1;/\1 %1, %0;/' "${tcgen05[@]}"
        wrapper 'descriptor: stride' 's/1024 >> 4\) << 32/512 >> 4) << 32/' "${tcgen05[@]}"
        wrapper 'descriptor: leading offset' 's/leading_bytes >> 4/leading_bytes >> 5/' "${tcgen05[@]}"
        wrapper 'descriptor: version' 's/uint64_t\(1\) << 46 \|/uint64_t(0) << 46 |/' "${tcgen05[@]}"
        wrapper 'descriptor: swizzle of 64 bytes' 's/uint64_t\(2\) << 61/uint64_t(4) << 61/' "${tcgen05[@]}"
        wrapper 'descriptor of scales: stride' 's/128 >> 4\) << 32/256 >> 4) << 32/' "${tcgen05[@]}"
        wrapper 'descriptor of scales: version' 's/uint64_t\(1\) << 46;/uint64_t(0) << 46;/' "${tcgen05[@]}"
        wrapper 'shape: sums in fp16' 's/return 1u << 4 \|/return/' "${tcgen05[@]}"
        wrapper 'shape: the format of A' 's/format << 7 \|/0u |/' "${tcgen05[@]}"
        wrapper 'shape: the format of B' 's/format << 10 \|/0u |/' "${tcgen05[@]}"
        wrapper 'shape: majorness swapped' 's/\(a_mn_major\) << 15/(b_mn_major) << 15/; s/\(b_mn_major\) << 16/(a_mn_major) << 16/' "${tcgen05[@]}"
        wrapper 'shape: half of N' 's/uint32_t\(n \/ 8\)/uint32_t(n \/ 16)/' "${tcgen05[@]}"
        wrapper 'shape: M of a pair' 's/uint32_t\(m \/ 16\)/uint32_t(128 \/ 16)/' "${tcgen05[@]}"
        wrapper 'descriptor: start' 's/0x3FFFF\) >> 4\) \| uint64_t\(leading/0x3FFFF) >> 5) | uint64_t(leading/' "${tcgen05[@]}"
        wrapper 'descriptor: base offset' 's/uint64_t\(1\) << 46 \|/uint64_t(9) << 46 |/' "${tcgen05[@]}"
        wrapper 'descriptor: leading offset as an address' 's/uint64_t\(1\) << 46 \|/uint64_t(65) << 46 |/' "${tcgen05[@]}"
        wrapper 'descriptor of scales: start' 's/0x3FFFF\) >> 4\) \| uint64_t\(16/0x3FFFF) >> 5) | uint64_t(16/' "${tcgen05[@]}"
        wrapper 'descriptor of scales: swizzled' 's/uint64_t\(1\) << 46;/uint64_t(1) << 46 | uint64_t(2) << 61;/' "${tcgen05[@]}"
        wrapper 'shape: A is negated' 's/return 1u << 4 \|/return 1u << 13 | 1u << 4 |/' "${tcgen05[@]}"
        wrapper 'shape: B is negated' 's/return 1u << 4 \|/return 1u << 14 | 1u << 4 |/' "${tcgen05[@]}"
        wrapper 'shape: A is sparse' 's/return 1u << 4 \|/return 1u << 2 | 1u << 4 |/' "${tcgen05[@]}"
        wrapper 'shape: sums are cut off' 's/return 1u << 4 \|/return 1u << 3 | 1u << 4 |/' "${tcgen05[@]}"
        wrapper 'nvfp4, shape: the format of A' 's/return 1u << 7 \| 1u << 10 \|/return 1u << 10 |/' "${tcgen05[@]}"
        wrapper 'nvfp4, shape: the format of B' 's/return 1u << 7 \| 1u << 10 \|/return 1u << 7 |/' "${tcgen05[@]}"
        wrapper 'nvfp4, shape: the id of scales of A' 's/return 1u << 7 \|/return 1u << 29 | 1u << 7 |/' "${tcgen05[@]}"
        wrapper 'nvfp4, shape: the id of scales of B' 's/return 1u << 7 \|/return 1u << 4 | 1u << 7 |/' "${tcgen05[@]}"
        wrapper 'nvfp4, shape: 96 of k' 's/return 1u << 7 \|/return 1u << 31 | 1u << 7 |/' "${tcgen05[@]}"
        wrapper 'nvfp4, shape: half of N' 's/(1u << 10 \| uint32_t\(n \/ )8/\116/' "${tcgen05[@]}"
        wrapper 'mma: sums 32 columns on' 's/::"r"\(d\),/::"r"(d + 32),/' "${tcgen05[@]}"
        wrapper 'mma nvfp4: scales of A four columns on' 's/"r"\(scales_a\)/"r"(scales_a + 4)/' "${tcgen05[@]}"
        wrapper 'mma nvfp4: scales of B four columns on' 's/"r"\(scales_b\)/"r"(scales_b + 4)/' "${tcgen05[@]}"
        wrapper 'mma nvfp4: scales of 32 of k' 's/scale_vec::4X/scale_vec::2X/' "${tcgen05[@]}"
        wrapper 'mma nvfp4, a pair: of one block' 's/cta_group::2\.kind::mxf4nvf4/cta_group::1.kind::mxf4nvf4/' "${tcgen05[@]}"
        wrapper 'cp, a pair: of one block' 's/(tcgen05\.cp\.)cta_group::2/\1cta_group::1/' "${tcgen05[@]}"
        wrapper 'commit, a pair: of one block' "$join"'s/(tcgen05\.commit\.)cta_group::2(\.mbarrier::arrive::one\.shared::cluster\.multicast)/\1cta_group::1\2/' "${tcgen05[@]}"
        wrapper 'commit, multicast: all blocks' 's/"h"\(mask\)/"h"(uint16_t(0xffff))/' "${tcgen05[@]}"
        wrapper 'ld: a column on' 's/ : "r"\(address\)/ : "r"(address + 1)/' "${tcgen05[@]}"
        wrapper 'nvfp4, shape: scales of powers of two' 's/return 1u << 7 \|/return 1u << 23 | 1u << 7 |/' "${tcgen05[@]}"
        wrapper 'mma: A and B swapped' 's/"l"\(da\), "l"\(db\)/"l"(db), "l"(da)/' "${tcgen05[@]}"
        wrapper 'mma: overwrites for adds' 's/setp\.ne\.b32 p, %4/setp.eq.b32 p, %4/' "${tcgen05[@]}"
        wrapper 'mma f16: the kind of tf32' 's/(cta_group::1\.kind::)f16/\1tf32/' "${tcgen05[@]}"
        wrapper 'mma tf32: the kind of f16' 's/(cta_group::1\.kind::)tf32/\1f16/' "${tcgen05[@]}"
        wrapper 'mma f8f6f4: the kind of f16' 's/(cta_group::1\.kind::)f8f6f4/\1f16/' "${tcgen05[@]}"
        wrapper 'mma f16, a pair: of one block' 's/cta_group::2\.kind::f16/cta_group::1.kind::f16/' "${tcgen05[@]}"
        wrapper 'mma tf32, a pair: the kind of f16' 's/(cta_group::2\.kind::)tf32/\1f16/' "${tcgen05[@]}"
        wrapper 'mma f8f6f4, a pair: the kind of f16' 's/(cta_group::2\.kind::)f8f6f4/\1f16/' "${tcgen05[@]}"
        wrapper 'mma nvfp4: scales swapped' 's/"\[%5\], \[%6\]"/"[%6], [%5]"/' "${tcgen05[@]}"
        wrapper 'cp: no scales' 's/tcgen05\.cp\.cta_group::1\.32x128b\.warpx4 \[%0\], %1;//' "${tcgen05[@]}"
        wrapper 'cp, a pair: no scales' 's/tcgen05\.cp\.cta_group::2\.32x128b\.warpx4 \[%0\], %1;//' "${tcgen05[@]}"
        wrapper 'commit: nothing' "$join"'s/tcgen05\.commit\.cta_group::1\.mbarrier::arrive::one\.shared::cluster\.b64 \[%0\];//' "${tcgen05[@]}"
        wrapper 'commit, a pair: nothing' "$join"'s/tcgen05\.commit\.cta_group::2\.mbarrier::arrive::one\.shared::cluster\.b64 \[%0\];//' "${tcgen05[@]}"
        wrapper 'commit, multicast: no mask' "$join"'s/(commit\.cta_group::2[^"]*)\.multicast::cluster\.b64 \[%0\], %1/\1.b64 [%0]/' "${tcgen05[@]}"
        wrapper 'ld: registers swapped' 's/GPU_OUT16\(0\), GPU_OUT16\(16\)/GPU_OUT16(16), GPU_OUT16(0)/' "${tcgen05[@]}"
        wrapper 'ld: not waited for' 's/tcgen05\.wait::ld\.sync\.aligned;//' "${tcgen05[@]}"
        wrapper 'fence: before for after' 's/fence::after_thread_sync/fence::before_thread_sync/' "${tcgen05[@]}"
        wrapper 'fence: after for before' 's/fence::before_thread_sync/fence::after_thread_sync/' "${tcgen05[@]}"
        wrapper 'TMA of a pair: the own barrier' 's/and\.b32 even, even, 14/and.b32 even, even, 15/' "${tcgen05[@]}"
        wrapper 'TMA of a pair: without cta_group' "$join"'s/complete_tx::bytes\.cta_group::2/complete_tx::bytes/' "${tcgen05[@]}"
        wrapper 'TMA of a pair: coordinates swapped' "$join"'s/\{%3,%4,%5\}/{%4,%3,%5}/' "${tcgen05[@]}"
    }
fi
echo "$mutants mutants, $survivors not caught"
[ "$survivors" -eq 0 ] && [ "$mutants" -gt 0 ]
