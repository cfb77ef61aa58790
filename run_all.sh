#!/usr/bin/env bash
# run_all.sh - measures this machine from start to end: build, ceilings, kernels, charts, report, findings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

usage() {
    cat <<'END'
Usage: ./run_all.sh [options]

Sets up and builds if needed, measures the ceilings of this machine and every operation against them, draws charts,
writes a report, and ends with a table of findings and the paths of pictures and report. About 10 minutes on 2 cores.

  --smoke         one or two sizes of each, one to two minutes
  --full          the long sweeps
  --out DIR       where to (default: results/<device>/<date>-<commit>)
  --resume DIR    go on with an interrupted run: measures only what DIR lacks
  --device NAME   cpu, gpu, cuda:1 ... (default: the GPU where there is one); `roofline devices` lists them
  --threads LIST  CPU threads, numbers or all: 1,all
  --no-install    install nothing
  --help          this text

ROOFLINE=<program> in the environment measures with that program and builds nothing.
Exit status: 0 fine; 1 a kernel is wrong or has failed; 2 usage or environment; 130 interrupted.
END
}

refuse() {
    echo "run_all: $1" >&2
    exit 2
}

# ---- options ----

effort=default out='' resume=0 threads='' device=''
while [ $# -gt 0 ]; do
    case $1 in
    --smoke | --full) effort=${1#--} ;;
    --out | --resume | --threads | --device)
        [ -n "${2:-}" ] || refuse "option '$1' needs a value"
        case $1 in
        --threads) threads=$2 ;;
        --device) device=$2 ;;
        --resume) out=$2 resume=1 ;;
        *) out=$2 ;;
        esac
        shift
        ;;
    --no-install) export ROOFLINE_NO_INSTALL=1 ;;
    --help | -h) usage && exit 0 ;;
    *) refuse "unknown option '$1'; ./run_all.sh --help lists them" ;;
    esac
    shift
done
[ $resume = 0 ] || [ -d "$out" ] || refuse "nothing to resume: '$out' is not a directory"

# ---- build ----

program=${ROOFLINE:-$here/build/release/roofline}
if [ -z "${ROOFLINE:-}" ]; then
    "$here/scripts/setup.sh" --once || exit 2
    "$here/scripts/build.sh" release || exit 2
    # A smoke run verifies what it times and no more.
    [ "$effort" = smoke ] || "$here/scripts/self_check.sh" "$program" --if-stale || exit
fi
[ -x "$program" ] || refuse "'$program' is no program"

on=()
[ -z "$device" ] || on=(--device "$device")

# ---- where to ----

if [ -z "$out" ]; then
    slug=$("$program" devices --slug "${on[@]}") || exit 2
    commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null) || commit=nogit
    first=$here/results/$slug/$(date +%Y-%m-%d)-$commit
    out=$first
    for ((i = 2; ; i++)); do
        [ -e "$out" ] || break
        out=$first-$i
    done
fi
mkdir -p "$out" 2>/dev/null || refuse "cannot write '$out'"

# ---- measure ----

on_interrupt() {
    trap - INT TERM
    printf '\nrun_all: interrupted; go on with: %q' "$0" >&2
    [ "$effort" = default ] || printf ' --%s' "$effort" >&2
    [ -z "$threads" ] || printf ' --threads %q' "$threads" >&2
    [ -z "$device" ] || printf ' --device %q' "$device" >&2
    printf ' --resume %q\n' "$out" >&2
    exit 130
}
trap on_interrupt INT TERM

result=0
# step COMMAND...: runs the program; a "no" (1) is kept for the end, all else ends the run.
step() {
    local status=0
    "$program" "$@" || status=$?
    case $status in
    0) ;;
    1) result=1 ;;
    130) on_interrupt ;;
    *) exit $status ;;
    esac
}

common=(--effort "$effort" --out "$out" "${on[@]}")
[ $resume = 0 ] || common+=(--resume)
[ -z "$threads" ] || common+=(--threads "$threads")
echo "run_all: results go to $out" >&2
step peaks "${common[@]}"
step bench "${common[@]}"
# Whole training steps: plain, in micro-batches, with checkpointing, and a network that learns this project's own texts.
# A GPU's own sizes take seconds as well. Rows of a resumed run are written anew.
size=(--dim 512 --layers 8 --batch 1024 --steps 16) text_steps=150
[ "$effort" != smoke ] || size=(--dim 256 --layers 4 --batch 512 --steps 8) text_steps=60
case $("$program" devices --slug "${on[@]}") in nvidia-*) size=(--steps 16) text_steps=300 ;; esac
train=(train --out "$out" "${on[@]}" --quiet)
for kind in '' '--micro-batches 4' '--checkpoint sqrt'; do
    # shellcheck disable=SC2086  # an option and its value
    step "${train[@]}" "${size[@]}" $kind >/dev/null
done
"$program" tokens "$here/README.md" "$here/DECISIONS.md" "$here/CONTRIBUTING.md" -o "$out/text.bin" >/dev/null || exit 2
step "${train[@]}" --data "$out/text.bin" --steps $text_steps >/dev/null
rm -f "$out/text.bin"
# Two minutes: not in a smoke run. A claims.csv is written whole or not at all.
if [ "$effort" != smoke ] && { [ $resume = 0 ] || [ ! -s "$out/claims.csv" ]; }; then
    step claims --out "$out" "${on[@]}"
fi
step plot "$out" >/dev/null    # the list comes last; without gnuplot it says so, and writes the data of the charts

step report "$out" >/dev/null

# ---- findings ----

step summary "$out"
pictures=$(find "$out" -name '*.png' | sort)
[ -z "$pictures" ] || printf '\nCharts:\n%s\n' "$pictures"
printf '\nReport, to be opened in a browser:\n%s\n' "$out/report.html"
[ $result = 0 ] || echo "run_all: some kernels are wrong or have failed: see $out/bench.csv" >&2
exit $result
