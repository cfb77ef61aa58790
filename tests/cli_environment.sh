# cli_environment.sh - a CPU mask, one thread, a reader that goes away: same answers, no crash.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
small=(--op copy --dtype fp32 --shape 4096 --time 0.01 --quiet)

# ---- CPUs ----
threads_column() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "threads") at = i } NR > 1 { print $at }' out | sort -u; }
if command -v taskset >/dev/null; then
    cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    run taskset -c "$cpu" "$roofline" bench "${small[@]}" --csv
    pass_if "one CPU: status $status" [ "$status" -eq 0 ]
    pass_if "one CPU: one thread, not '$(threads_column)'" [ "$(threads_column)" = 1 ]
    run taskset -c "$cpu" "$roofline" bench "${small[@]}" --threads 2
    pass_if "one CPU: two threads are refused" [ "$status" -eq 2 ]
    run taskset -c "$cpu" "$roofline" devices
    pass_if "one CPU: devices: status $status" [ "$status" -eq 0 ]
fi
run env OMP_NUM_THREADS=1 OMP_DYNAMIC=true OMP_THREAD_LIMIT=1 "$roofline" bench "${small[@]}" --threads 1 --csv
pass_if "OMP_ variables: status $status" [ "$status" -eq 0 ]
for isa in portable avx2 avx512 avx512_bf16 amx_bf16; do
    run env ROOFLINE_ISA=$isa "$roofline" bench --check --op copy --quiet
    pass_if "ROOFLINE_ISA=$isa: status $status" [ "$status" -eq 0 ]
done
run env ROOFLINE_ISA=portable "$roofline" devices
pass_if "ROOFLINE_ISA=portable: the level is lowered" grep -qE '^ *instruction set +portable$' out
# What the CPU's flags say is used, unless it is turned off; the kernel may deny it still.
product=(bench --op matmul --dtype bf16 --shape 33x31x29 --time 0.01 --quiet --csv)
if grep -qw amx_bf16 /proc/cpuinfo 2>/dev/null; then
    run "$roofline" "${product[@]}" --impl best
    pass_if "AMX is the best for bf16" grep -q ',matmul,packed_amx,bf16,' out
    run env ROOFLINE_ISA=avx512_bf16 "$roofline" "${product[@]}" --impl best
    pass_if "without AMX, FMAs beat this CPU's vdpbf16ps" grep -q ',matmul,packed_avx512,bf16,' out
fi
run env ROOFLINE_ISA=avx512_bf16 "$roofline" "${product[@]}" --impl packed_amx
pass_if "ROOFLINE_ISA=avx512_bf16 turns AMX off" grep -q ',packed_amx,bf16,.*,refused,this CPU has no AMX BF16,' out
run env ROOFLINE_ISA= "$roofline" list --names
pass_if "an empty ROOFLINE_ISA: status $status" [ "$status" -eq 0 ]
for command in devices list "bench ${small[*]}"; do
    # shellcheck disable=SC2086  # a command line
    refused "ROOFLINE_ISA 'avx3': one of portable avx2 avx512 avx512_bf16 amx_bf16" \
        env ROOFLINE_ISA=avx3 "$roofline" $command
done
run env ROOFLINE_ISA=avx3 "$roofline" --help
pass_if "--help with a wrong ROOFLINE_ISA: status $status" [ "$status" -eq 0 ]
pass_if "--help names every level" grep -q 'ROOFLINE_ISA=portable, avx2, avx512, avx512_bf16 or amx_bf16' out

# ---- a reader that goes away, a closed or full stdout ----
for command in "list" "list --format csv" "list --format json" devices "bench ${small[*]} --csv" --help; do
    # shellcheck disable=SC2086  # a command line
    run bash -c '"$@" | head -n 1; exit "${PIPESTATUS[0]}"' _ "$roofline" $command
    pass_if "$command | head: status $status" [ "$status" -eq 0 -o "$status" -eq 141 -o "$status" -eq 2 ]
done
if [ -w /dev/full ]; then
    for command in list devices "bench ${small[*]} --csv" --help; do
        status=0
        # shellcheck disable=SC2086
        "$roofline" $command >/dev/full 2>err </dev/null || status=$?
        pass_if "$command >/dev/full: status $status" [ "$status" -ne 0 ]
        status=0
        # shellcheck disable=SC2086
        "$roofline" $command >&- 2>err </dev/null || status=$?
        pass_if "$command with stdout closed: status $status" [ "$status" -lt 126 ]
    done
fi

# ---- formats are well-formed, names are plain ----
run "$roofline" list --names
pass_if "list --names: plain words" [ "$(grep -cvE '^[a-z0-9_]+$' out)" -eq 0 ]
pass_if "list --names: at least 29" [ "$(wc -l <out)" -ge 29 ]
run "$roofline" devices --slug
pass_if "devices --slug: one plain word" grep -qxE '[a-z0-9][a-z0-9.-]*' out
pass_if "devices --slug: ends its line" [ "$(wc -l <out)" -eq 1 ]
if command -v python3 >/dev/null; then
    run "$roofline" list --format json
    pass_if "list --format json" python3 -c 'import json, sys; assert len(json.load(open("out"))) > 29'
    run "$roofline" list --format csv
    pass_if "list --format csv" python3 -c 'import csv; r = list(csv.reader(open("out"))); assert len({len(x) for x in r}) == 1 and len(r) > 29'
fi
finish
