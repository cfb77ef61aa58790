#!/usr/bin/env bash
# sanitize.sh asan|tsan [OP...] - every row of every kernel for GPUs under sanitizers, op by op: on emu:sm_80 with the first
# thread first, on emu:sm_90 with the last. Builds what it needs in build/<preset>-emulation (ROOFLINE_EMULATED names a program
# that is there already). A line an op and device; about an hour of one CPU in all, so CI leaves it to people.
# A sanitizer's report ends its worker: the row has failed, and its text is in <folder>/<preset>.<device>.<op>.txt.
set -eu
cd "$(dirname "$0")/../.."
preset=${1:-}
case $preset in
asan) launcher=() ;;
tsan) launcher=(setarch -R) ;; # older sanitizers stumble over random addresses
*)
    echo 'Usage: tests/emulation/sanitize.sh asan|tsan [OP...]' >&2
    exit 2
    ;;
esac
shift
folder=build/sanitized
mkdir -p "$folder"
program=${ROOFLINE_EMULATED:-}
if [ -z "$program" ]; then
    program=build/$preset-emulation/roofline_emulated
    cmake --preset "$preset" -B "build/$preset-emulation" -DROOFLINE_EMULATION=ON >"$folder/build.log"
    cmake --build "build/$preset-emulation" --target roofline_emulated --parallel "$(nproc)" >>"$folder/build.log"
fi
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1 OMP_WAIT_POLICY=passive SIMT_ASYNC=lazy
[ $# -gt 0 ] || mapfile -t ops < <("$program" list --names)
[ $# = 0 ] || ops=("$@")
failed=0
for device in sm_80 sm_90; do
    order=asc
    [ $device = sm_80 ] || order=desc
    for op in "${ops[@]}"; do
        log=$folder/$preset.$device.$op.txt
        begin=$SECONDS status=0
        SIMT_ORDER=$order "${launcher[@]}" "$program" bench --check --quiet --timeout 1200 --device "emu:$device" \
            --op "$op" >"$log" 2>&1 || status=$?
        printf '%-6s %-16s %s (%d s)\n' "$device" "$op" "$(tail -n 1 "$log")" $((SECONDS - begin))
        [ $status = 0 ] || failed=1
    done
done
exit $failed
