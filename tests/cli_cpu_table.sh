# cli_cpu_table.sh - scripts/cpu_table.sh: its smoke form with the real program, what it refuses, and peers that are not there.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
export ROOFLINE=${ROOFLINE:?}
table=$SOURCE/scripts/cpu_table.sh

run "$table" --help
pass_if "--help: status $status" [ "$status" -eq 0 ]
pass_if "--help" grep -q '^Usage: scripts/cpu_table.sh' out
refused "unknown option '--quik'" "$table" --quik
refused "option '--out' needs a value" "$table" --out ''
refused "unknown part 'nope'" "$table" --quick --only sums,nope
refused "names no part" "$table" --quick --only ,
refused "no 'nowhere.csv'" "$table" --quick --peaks nowhere.csv
refused "nothing to resume" "$table" --resume nowhere
refused "is no program" env ROOFLINE=nowhere/roofline "$table" --quick

# lines PATTERN: of the table in ./out.
# shellcheck disable=SC2329  # called in substitutions
lines() { grep -cE "^\| $1" out; }

run "$table" --quick --only sums,triad --threads 1 --out table
pass_if "quick: status $status" [ "$status" -eq 0 ]
pass_if "quick: a line a problem" [ "$(lines '(dot|sum|triad) fp(32|64) [0-9]+ \| 1 \|')" -eq 5 ]
pass_if "quick: nothing else" [ "$(grep -c '^| ' out)" -eq 6 ]
pass_if "quick: every line has as many cells" [ "$(grep '^|' out | tr -cd '|\n' | sort -u | wc -l)" -eq 1 ]
pass_if "quick: what no library has" [ "$(lines 'sum .* \| no library has it \|')" -eq 2 ]
pass_if "quick: a ratio with its interval" [ "$(lines 'triad fp64 65536 .* [0-9.]+ stream_loop \| \*\*[0-9.]+\*\* \| [0-9.]+ \.\.\. [0-9.]+ \|')" -eq 1 ]
pass_if "quick: says which peers are here" grep -q '^- openblas: ' out
pass_if "quick: says that it is one" grep -q 'these figures mean nothing' out
pass_if "quick: the table is kept" cmp -s out table/table.md
refused "'table' has rows already; --resume table" "$table" --quick --only sums --out table
refused "--time 'abc'" "$table" --quick --only sums --time abc --out bad
rows=$(wc -l <table/bench.csv)
run "$table" --quick --only 'sums, triad, rows' --threads 1 --resume table
pass_if "resumed: status $status" [ "$status" -eq 0 ]
pass_if "resumed: what was there and what is new" [ "$(lines '(dot|sum|triad|softmax|layernorm) ')" -eq 7 ]
pass_if "resumed: nothing is measured twice" [ "$(tail -n +2 table/bench.csv | cut -d, -f 2-14 | sort | uniq -d | wc -l)" -eq 0 ]
pass_if "resumed: rows of before stay" [ "$(head -n "$rows" table/bench.csv | wc -l)" -eq "$rows" ]

# A made-up program on a machine without libraries, of which one kernel is wrong: the table has both, the status says no.
cat >program <<'END'
#!/usr/bin/env bash
case $1 in
devices) printf '  %-20s not installed\n' openblas blis onednn ;;
bench)
    while [ "$1" != --out ]; do shift; done
    cat >"$2/bench.csv" <<'ROWS'
op,impl,dtype,layout,m,n,k,threads,level,status,flops,bytes,time_s,roof_fraction,bound,vs,vs_time_s,vs_ratio,vs_low,vs_high
dot,avx2,fp32,flat,1,4096,1,1,L1,ok,8192,32768,1e-6,0.5,memory,,,,,
dot,avx2,fp64,flat,1,4096,1,1,L2,wrong,8192,65536,,,,,,,,
ROWS
    exit 1
    ;;
esac
END
chmod +x program
run env ROOFLINE=./program "$table" --quick --only sums --out alone
pass_if "no peers: status $status" [ "$status" -eq 1 ]
pass_if "no peers: ours alone" grep -qF '| dot fp32 4096 | 1 | L1 | **32.8** avx2 | GB/s | no library has it | | | 50 % of bandwidth |' out
pass_if "no peers: a wrong row says so" grep -qF '| dot fp64 4096 | 1 | L2 | wrong |' out
pass_if "no peers: says so" grep -qF -- '- blis: not installed' out
finish
