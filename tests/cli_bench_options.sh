# cli_bench_options.sh - what bench and its neighbours refuse, and shapes that no memory holds.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}

refused "unknown op 'nope'" "$roofline" bench --op nope
refused "unknown op 'nope'" "$roofline" bench --op copy,nope
refused "unknown op 'nope'" "$roofline" list --op nope
refused "unknown dtype 'float'" "$roofline" bench --dtype float
refused "unknown impl 'nope'" "$roofline" bench --impl nope
refused "'abacus'" "$roofline" bench --device abacus
refused "'abacus'" "$roofline" peaks --device abacus
refused "'abacus'" "$roofline" list --device abacus
refused "'xml'" "$roofline" list --format xml
refused "'huge'" "$roofline" bench --effort huge
refused "'huge'" "$roofline" peaks --effort huge
refused "'tepid'" "$roofline" bench --cache tepid
refused "'gravel'" "$roofline" bench --fill gravel
refused "'zz'" "$roofline" bench --layout zz
for threads in 0 -1 x 1000000 1,0 '' 1.5 99999999999999999999; do
    refused "--threads" "$roofline" bench --op copy --threads "$threads"
done
for number in 0 -1 abc nan inf 1e999 1,5 '' '1 2'; do
    refused "--interval|--time" "$roofline" bench --op copy --interval "$number"
    refused "--interval|--time" "$roofline" bench --op copy --time "$number"
    refused "--timeout" "$roofline" bench --op copy --timeout "$number"
done
for option in --op --dtype --impl --shape --layout --threads --cache --fill --out --time; do
    refused "$option" "$roofline" bench "$option"
done
refused "--op needs a name|--op" "$roofline" bench --op ''

# ---- shapes ----
for shape in 0 -5 1x0 x 4x 12a 1.5 '' ' ' 1x2x3x4x5 0x10 99999999999999999999 18446744073709551616 \
    4611686018427387904 9223372036854775807 1e6 16,0 16,,32; do
    refused "shape" "$roofline" bench --op copy --shape "$shape"
done
refused "more than [0-9]* shapes" "$roofline" bench --op copy --shape "$(seq -s , 1 100)"
refused "shape|nothing to measure" "$roofline" bench --op matmul --shape 4x4

# Too large for any memory: a row that says so, not a crash; the other rows are measured.
run "$roofline" bench --op copy --dtype fp32 --shape 1099511627776,4096 --time 0.01 --csv --quiet
pass_if "no memory: status $status" [ "$status" -eq 0 ]
pass_if "no memory: a row says so" grep -q '1099511627776,.*,no_memory,' out
pass_if "no memory: the next shape is measured" grep -q ',4096,.*,ok,' out
run "$roofline" bench --op matmul --dtype fp32 --impl best --shape 1099511627776x1099511627776x1099511627776 --csv --quiet
pass_if "2^80 elements: status $status" [ "$status" -lt 3 ]
pass_if "2^80 elements: nothing is ok" [ "$(grep -c ',ok,' out)" -eq 0 ]

# ---- where to ----
touch file
mkdir folder
for place in file file/x /proc/nope /dev/null; do
    run "$roofline" bench --op copy --dtype fp32 --shape 4096 --time 0.01 --out "$place" --quiet
    pass_if "--out $place: status $status" [ "$status" -eq 2 ]
    pass_if "--out $place: says so" grep -q "$place" err
    run "$roofline" peaks --effort smoke --out "$place" --quiet
    pass_if "peaks --out $place: status $status" [ "$status" -eq 2 ]
done
mkdir -p folder/bench.csv
run "$roofline" bench --op copy --dtype fp32 --shape 4096 --out folder --quiet
pass_if "bench.csv is a folder: status $status" [ "$status" -eq 2 ]
refused "--resume needs --out" "$roofline" bench --resume
run "$roofline" bench --op copy --dtype fp32 --shape 4096 --peaks nowhere.csv --quiet
pass_if "no such peaks file: status $status" [ "$status" -eq 2 ]
finish
