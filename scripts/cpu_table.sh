#!/usr/bin/env bash
# cpu_table.sh - ours beside the fastest library of this machine, problem by problem: one table in Markdown.
# Each line comes from `bench --vs vendor`: both in turns, in one process, on the same buffers. The limit is a ceiling that
# `peaks` has measured.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
parts=(square skinny small bf16 matvec sums elementwise rows triad)

usage() {
    cat <<END
Usage: scripts/cpu_table.sh [options]

Measures the ceilings of this CPU and ours against OpenBLAS, BLIS, oneDNN and STREAM's loop, whichever are here; prints
the table, and keeps it with its rows as DIR/table.md, DIR/bench.csv, DIR/peaks.csv. About 15 minutes on 2 cores.

  --out DIR        where to (default: results/<device>/<date>-<commit>-table)
  --resume DIR     go on with an interrupted run: measures only what DIR lacks
  --only LIST      parts: ${parts[*]}
                   (default: all; the table has what DIR has)
  --peaks FILE     the ceilings of another run, peaks.csv; none are measured
  --threads LIST   numbers or all (default: 1,all)
  --time SECONDS   of sampling, for each candidate of a problem (default: 0.3)
  --quick          smoke form: few small problems, next to no time, no ceilings; its figures mean nothing
  --help           this text

ROOFLINE=<program> in the environment measures with that program and builds nothing.
Exit status: 0 fine; 1 a kernel is wrong or has failed; 2 usage or environment; 130 interrupted.
END
}

refuse() {
    echo "cpu_table: $1" >&2
    exit 2
}

# ---- options ----

out='' resume=0 only='' peaks='' threads=1,all time='' quick=0
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --out | --resume | --only | --peaks | --threads | --time)
        [ -n "${2:-}" ] || refuse "option '$1' needs a value"
        case $1 in
        --out) out=$2 ;;
        --resume) out=$2 resume=1 ;;
        --only) only=$2 ;;
        --peaks) peaks=$2 ;;
        --threads) threads=$2 ;;
        --time) time=$2 ;;
        esac
        shift
        ;;
    --help | -h) usage && exit 0 ;;
    *) refuse "unknown option '$1'; scripts/cpu_table.sh --help lists them" ;;
    esac
    shift
done
only=${only// /}
[ -z "$only" ] || [ -n "${only//,/}" ] || refuse "--only names no part: one of ${parts[*]}"
for part in ${only//,/ }; do
    [[ " ${parts[*]} " = *" $part "* ]] || refuse "unknown part '$part': one of ${parts[*]}"
done
[ $resume = 0 ] || [ -d "$out" ] || refuse "nothing to resume: '$out' is not a directory"
[ $resume = 1 ] || [ -z "$out" ] || [ ! -e "$out/bench.csv" ] || refuse "'$out' has rows already; --resume $out adds what is missing"
[ -z "$peaks" ] || [ -f "$peaks" ] || refuse "no '$peaks'"
[ -n "$time" ] || time=$([ $quick = 1 ] && echo 0.01 || echo 0.3)

program=${ROOFLINE:-$here/build/release/roofline}
if [ -z "${ROOFLINE:-}" ]; then
    "$here/scripts/setup.sh" --once || exit 2
    "$here/scripts/build.sh" release || exit 2
fi
[ -x "$program" ] || refuse "'$program' is no program"

if [ -z "$out" ]; then
    slug=$("$program" devices --device cpu --slug) || exit 2
    commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null) || commit=nogit
    first=$here/results/$slug/$(date +%Y-%m-%d)-$commit-table
    out=$first
    for ((i = 2; ; i++)); do
        [ -e "$out" ] || break
        out=$first-$i
    done
fi

# ---- measuring ----

failed=0

# run COMMAND...: its table to stderr; 1 is noted, a worse status ends it all.
run() {
    local status=0
    "$program" "$@" >&2 || status=$?
    case $status in
    0) ;;
    1) failed=1 ;;
    *)
        [ $status = 2 ] || echo "cpu_table: go on with scripts/cpu_table.sh --resume $out" >&2
        exit $status
        ;;
    esac
}

wanted() { [ -z "$only" ] || [[ ",$only," = *",$1,"* ]]; }

# contest OP DTYPES SHAPES [OPTIONS...]
contest() {
    run bench --device cpu --vs vendor --op "$1" --dtype "$2" --shape "$3" --threads "$threads" --time "$time" \
        --out "$out" --resume "${@:4}"
}

mkdir -p "$out" || exit 2
if [ -n "$peaks" ]; then
    [ "$peaks" -ef "$out/peaks.csv" ] || cp "$peaks" "$out/peaks.csv" || exit 2
elif [ $quick = 0 ]; then
    run peaks --device cpu --effort smoke --threads "$threads" --out "$out" --resume # one size a level is enough
fi

if [ $quick = 1 ]; then
    wanted square && contest matmul fp32,fp64 64x64x64 --layout nn
    wanted skinny && contest matmul fp32 8x128x128,100x37x53 --layout nn
    wanted small && contest matmul fp32 16x16x16 --layout nn --threads 1
    wanted bf16 && contest matmul bf16 64x64x64,1x128x128 --layout nn
    wanted matvec && contest matvec fp32,fp64 64x128
    wanted sums && contest dot,sum fp32,fp64 4096
    wanted elementwise && contest gelu,relu fp32 65536
    wanted rows && contest softmax,layernorm fp32 64x1024
    wanted triad && contest triad fp64 65536
else
    wanted square && contest matmul fp32,fp64 256x256x256,512x512x512,1024x1024x1024,2048x2048x2048,4096x4096x4096 --layout nn
    wanted skinny && contest matmul fp32,fp64 64x4096x4096,4096x64x4096,1000x37x513 --layout nn
    wanted small && contest matmul fp32,fp64 16x16x16,32x32x32,64x64x64,96x96x96,128x128x128 --layout nn --threads 1
    wanted bf16 && contest matmul bf16 256x256x256,512x512x512,1024x1024x1024,2048x2048x2048,4096x4096x4096,1000x37x513,64x4096x4096,4096x64x4096,1x4096x4096 --layout nn
    wanted matvec && contest matvec fp32,fp64 8192x8192,256x512 --layout n,t
    wanted sums && contest dot,sum fp32,fp64 4096,65536,67108864
    wanted elementwise && contest gelu fp32 65536,67108864
    wanted elementwise && contest relu fp32 67108864
    wanted rows && contest softmax,layernorm fp32 64x1024,65536x1024
    wanted triad && contest triad fp64 4096,65536,67108864
fi

# ---- the table ----

table() {
    awk -F, '
    function g(name) { return $at[name] }
    # Three digits that mean something.
    function digits(x) { return sprintf(x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f", x) }
    function shape(    text) {
        if (g("k") > 1) text = g("m") "x" g("n") "x" g("k")
        else if (g("m") > 1) text = g("m") "x" g("n")
        else text = g("n")
        return text (g("layout") ~ /^(flat|nn)$/ ? "" : " " g("layout"))
    }
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    g("impl") ~ /^(openblas|blis|onednn|stream_loop)$/ { next }
    {
        product = g("k") > 1
        of = product ? g("flops") : g("bytes")
        unit = product ? "GFLOP/s" : "GB/s"
        printf "| %s %s %s | %s | %s |", g("op"), g("dtype"), shape(), g("threads"), g("level") == "" ? "" : g("level")
        if (g("status") != "ok") { printf " %s | | | | | |\n", g("status"); next }
        printf " **%s** %s | %s |", digits(of / g("time_s") * 1e-9), g("impl"), unit
        if (g("vs") == "") printf " no library has it | | |"
        else if (g("vs_ratio") == "") printf " %s %s | threads were moved | |", digits(of / g("vs_time_s") * 1e-9), g("vs")
        else printf " %s %s | **%.2f** | %.2f ... %.2f |", digits(of / g("vs_time_s") * 1e-9), g("vs"), g("vs_ratio"), g("vs_low"), g("vs_high")
        if (g("roof_fraction") == "") print " |"
        else printf " %.0f %% of %s |\n", 100 * g("roof_fraction"), g("bound") == "compute" ? "arithmetic" : "bandwidth"
    }' "$out/bench.csv" >"$out/table.rows"
    echo "| problem | threads | in | ours | | best peer | theirs / ours | 95 % interval | of the measured ceiling |"
    echo "|---|---|---|---|---|---|---|---|---|"
    cat "$out/table.rows"
    echo
    echo "Above 1 ours is faster. Peers:"
    # `devices` also says which are not installed.
    "$program" devices --device cpu |
        awk '$1 ~ /^(openblas|blis|onednn|stream_loop)$/ { name = $1; $1 = ""; print "- " name ":" $0 }'
    [ $quick = 0 ] || echo $'\nA smoke run: these figures mean nothing.'
    rm "$out/table.rows"
}
[ -e "$out/bench.csv" ] || refuse "nothing was measured: '$out' has no bench.csv"
table >"$out/table.md"
cat "$out/table.md"
echo "$out/table.md" >&2
exit $failed
