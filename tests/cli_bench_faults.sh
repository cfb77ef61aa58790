# cli_bench_faults.sh - interrupted, killed, torn and full: no row is lost, none comes twice, none is half.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
shapes=1024,2048,3072,4096,5120,6144
# shellcheck disable=SC2054  # names, not elements
bench=("$roofline" bench --op copy --dtype fp32,bf16 --impl best --shape "$shapes" --time 0.05 --quiet)

columns() { head -n 1 "$1" | tr , '\n' | wc -l; }
rows() { tail -n +2 "$1" 2>/dev/null | wc -l; }
# Each key once; whole lines; as many as the plan has.
no_key_twice() { [ -z "$(tail -n +2 "$1" | cut -d, -f1-12 | sort | uniq -d)" ]; }
whole_lines() { [ -z "$(tail -c 1 "$1" | tr -d '\n')" ] && awk -F, -v n="$(columns "$1")" 'NF != n { exit 1 }' "$1"; }
all_ok() { [ "$(tail -n +2 "$1" | grep -c ',ok,')" -eq "$(rows "$1")" ]; }

run "${bench[@]}" --out whole
pass_if "an undisturbed run: status $status" [ "$status" -eq 0 ]
planned=$(rows whole/bench.csv)
pass_if "an undisturbed run has rows" [ "$planned" -eq 12 ]
pass_if "an undisturbed run: all are ok" all_ok whole/bench.csv
pass_if "run.json is there" [ -s whole/run.json ]
run "${bench[@]}" --out whole --resume
pass_if "resuming what is complete: status $status" [ "$status" -eq 0 ]
pass_if "resuming what is complete adds no row" [ "$(rows whole/bench.csv)" -eq "$planned" ]

check_complete() {
    run "${bench[@]}" --out "$1" --resume
    pass_if "$1: resumed: status $status" [ "$status" -eq 0 ]
    pass_if "$1: $(rows "$1/bench.csv") rows, planned $planned" [ "$(rows "$1/bench.csv")" -eq "$planned" ]
    pass_if "$1: no key comes twice" no_key_twice "$1/bench.csv"
    pass_if "$1: lines are whole" whole_lines "$1/bench.csv"
    pass_if "$1: all are ok" all_ok "$1/bench.csv"
}

# ---- SIGINT, SIGTERM, SIGKILL in mid-run ----
for signal in INT TERM KILL; do
    # a background job of a script ignores SIGINT unless job control is on
    set -m
    "${bench[@]}" --out "$signal" >out 2>err </dev/null &
    pid=$!
    set +m
    for ((i = 0; i < 600; i++)); do
        [ "$(rows "$signal/bench.csv")" -lt 2 ] || break
        sleep 0.05
    done
    kill -s "$signal" "$pid"
    status=0
    wait "$pid" 2>/dev/null || status=$?
    before=$(rows "$signal/bench.csv")
    pass_if "$signal: $before rows, then stopped" [ "$before" -ge 2 ]
    pass_if "$signal: came before the end" [ "$before" -lt "$planned" ]
    pass_if "$signal: lines are whole" whole_lines "$signal/bench.csv"
    [ $signal != INT ] || pass_if "INT: status $status" [ "$status" -eq 130 ]
    pass_if "$signal: status $status" [ "$status" -ne 0 ]
    for ((i = 0; i < 100; i++)); do
        pgrep -g "$pid" >/dev/null || break
        sleep 0.05
    done
    pass_if "$signal: no worker stays behind" [ -z "$(pgrep -g "$pid")" ]
    check_complete $signal
done

# ---- a file that ends anywhere ----
size=$(stat -c %s whole/bench.csv)
for cut in 0 1 100 $((size / 3)) $((size / 2)) $((size - 1)); do
    mkdir -p "cut-$cut"
    head -c "$cut" whole/bench.csv >"cut-$cut/bench.csv"
    check_complete "cut-$cut"
done

# ---- a file of something else ----
mkdir other
printf 'a,b,c\n1,2,3\n' >other/bench.csv
run "${bench[@]}" --out other --resume
pass_if "not a result file: status $status" [ "$status" -eq 2 ]
pass_if "not a result file: left as it was" [ "$(cat other/bench.csv)" = 'a,b,c
1,2,3' ]
mkdir damaged
sed '3s/,/;/' whole/bench.csv >damaged/bench.csv
cp damaged/bench.csv kept
run "${bench[@]}" --out damaged --resume
pass_if "damaged: status $status" [ "$status" -eq 2 ]
pass_if "damaged: names the line" grep -q 'line 3' err
pass_if "damaged: left as it was" cmp -s kept damaged/bench.csv

# ---- a second run on the same folder; a run over an old one ----
set -m
"${bench[@]}" --time 0.6 --out twice >/dev/null 2>&1 </dev/null &
pid=$!
set +m
for ((i = 0; i < 600; i++)); do
    [ "$(rows twice/bench.csv)" -lt 1 ] || break
    sleep 0.05
done
run "${bench[@]}" --out twice --resume
pass_if "a second writer: status $status" [ "$status" -eq 2 ]
wait "$pid"
pass_if "the first goes on" [ "$(rows twice/bench.csv)" -eq "$planned" ]

# ---- a full disk: files may not grow past 2 KiB; with the thread sanitizer clang's OpenMP runtime needs a larger one ----
[ "${SANITIZER:-}" != thread ] || finish
run bash -c 'ulimit -f 2; trap "" XFSZ; exec "$@"' _ "${bench[@]}" --out full
pass_if "full disk: status $status" [ "$status" -eq 2 ]
pass_if "full disk: says so" grep -qE "cannot write '.*(bench|samples).csv'" err
pass_if "full disk: lines are whole" whole_lines full/bench.csv
check_complete full
finish
