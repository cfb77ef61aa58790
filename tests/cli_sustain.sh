# cli_sustain.sh - bench --sustain: the series, its summary, its chart and its part of the report; what it refuses. No rate is judged.
# shellcheck shell=bash disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
few=(--op matmul --dtype fp32 --impl best --shape 64x64x64 --layout nn --threads 1 --quiet)

run "$roofline" bench "${few[@]}" --sustain 0.4 --fill zeros,normal --out run
pass_if "status $status" [ "$status" -eq 0 ]
pass_if "burst and sustained of both" [ "$(grep -cE '^  (burst|sustained) +[0-9.e+]+ GFLOP/s  \([0-9.e+]+ \.\.\. [0-9.e+]+\)' out)" -eq 4 ]
pass_if "their quotient" [ "$(grep -cE '^  sustained / burst [0-9.]+$' out)" -eq 2 ]
pass_if "which fill" grep -q 'fill zeros: ' out
pass_if "a series each, in the order of time" awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { if ($at["sample"] == 1) { series++; last = 0; fill[$at["fill"]] }
      if (!($at["at_s"] > last) || !($at["gflop_s"] > 0)) bad++
      last = $at["at_s"]; n++ }
    END { exit bad || series != 2 || n < 2 || !("zeros" in fill) || !("normal" in fill) }' run/sustain.csv
pass_if "as many cells in every line" [ "$(tr -cd ',\n' <run/sustain.csv | sort -u | wc -l)" -eq 1 ]
pass_if "no rows of single trials" [ ! -e run/bench.csv ]
pass_if "its environment" [ -s run/run.json ]
lines=$(wc -l <run/sustain.csv)
refused "has 2 of these 2 series already" "$roofline" bench "${few[@]}" --sustain 0.2 --fill zeros,normal --out run
run "$roofline" bench "${few[@]}" --sustain 0.2 --fill zeros,uniform --out run --resume
pass_if "--resume: status $status" [ "$status" -eq 0 ]
pass_if "--resume: the one that is missing" [ "$(grep -c ', fill ' out)" -eq 1 ]
pass_if "--resume: it is appended" [ "$(wc -l <run/sustain.csv)" -gt "$lines" ]
pass_if "--resume: three series" [ "$(grep -cE ',[1-9],1,0\.[0-9]+,' run/sustain.csv)" -eq 3 ]

run "$roofline" bench --op copy --dtype fp32 --impl best --shape 4096 --threads 1 --sustain 0.2 --quiet
pass_if "bytes: status $status" [ "$status" -eq 0 ]
pass_if "bytes: GB/s" grep -qE '^  sustained +[0-9.e+]+ GB/s' out
run "$roofline" bench --op matmul --dtype fp32 --impl portable --shape 1099511627776x1x1 --threads 1 --sustain 0.2 --quiet --out none
pass_if "no memory: status $status" [ "$status" -le 1 ]
pass_if "no memory: says so" grep -q 'no_memory\|refused' out

# ---- chart and report ----
run "$roofline" plot run --format svg
pass_if "plot: status $status" [ "$status" -eq 0 ]
pass_if "plot: the data" [ "$(cut -d, -f 7 run/charts/data/sustained.csv | sort -u | wc -l)" -eq 4 ]
if command -v gnuplot >/dev/null; then
    pass_if "plot: the chart" grep -q 'Sustained: rate' run/charts/sustained.svg
    pass_if "plot: a name each" grep -q 'uniform' run/charts/sustained.svg
fi
run "$roofline" report run
pass_if "report: status $status" [ "$status" -eq 0 ]
pass_if "report: its section" grep -q 'id="sustained"' run/report.html
pass_if "report: burst and sustained" [ "$(grep -o '<td>sustained</td>' run/report.html | wc -l)" -eq 3 ]
# Sensors that no machine of the tests needs to have: two series of 30 s with power and temperature.
mkdir made
awk 'BEGIN {
    print "device,op,impl,dtype,layout,b,m,n,k,threads,copies,cache,fill,round,sample,at_s,placement,disturbed,time_s,gflop_s,gbyte_s,clock_ghz,power_w,temperature_c,throttle"
    for (f = 0; f < 2; f++)
        for (i = 1; i <= 300; i++)
            printf("made-up,matmul,mma,bf16,nn,1,8192,8192,8192,1,1,warm,%s,1,%d,%g,,0,1e-3,%d,%d,%g,%d,%d,\n",
                f ? "normal" : "zeros", i, i / 10, f && i > 10 ? 400000 : 500000, f && i > 10 ? 400 : 500, f ? 1.5 : 2, f ? 400 : 200, 40 + i / 10)
}' >made/sustain.csv
run "$roofline" report made
pass_if "sensors: status $status" [ "$status" -eq 0 ]
pass_if "sensors: 400 W for 400 TFLOP/s are 1 pJ a FLOP" grep -q '<td class="n">0.8000</td><td class="n">1.500</td>.*<td class="n">1.0000</td><td class="n">1000</td>' made/report.html
if command -v gnuplot >/dev/null; then
    pass_if "sensors: all in the title" grep -q 'rate, clock, power and temperature over time' made/report.html
fi
# Series that differ in nothing but the implementation or the threads, and more than the chart has colours for.
mkdir many
awk -F, 'NR == 1 || ($13 == "normal" && $15 <= 3)' made/sustain.csv >many/sustain.csv
awk -F, -v OFS=, '$13 == "normal" && $15 <= 3 {
    for (k = 1; k <= 8; k++) { kept[k] = kept[k] "made-up,matmul,impl_" k ",bf16,nn,1,8192,8192,8192," k; for (i = 11; i <= NF; i++) kept[k] = kept[k] "," $i; kept[k] = kept[k] "\n" } }
    END { for (k = 1; k <= 8; k++) printf "%s", kept[k] }' made/sustain.csv >>many/sustain.csv
run "$roofline" plot many --format svg
pass_if "many: status $status" [ "$status" -eq 0 ]
pass_if "many: a name each in the data" [ "$(tail -n +2 many/charts/data/sustained.csv | cut -d, -f 1-2 | grep -o 'impl_[0-9].*thread' | sort -u | wc -l)" -eq 7 ]
if command -v gnuplot >/dev/null; then
    pass_if "many: says that it is not all" grep -q 'the first 8 of 9 series' many/charts/sustained.svg
    pass_if "many: names have the threads" grep -q 'matmul.impl_2 .*, 2 threads' many/charts/sustained.svg
fi

# ---- what it refuses ----
for seconds in 0 -1 x nan 0.01 ''; do
    refused "--sustain" "$roofline" bench "${few[@]}" --sustain "$seconds"
done
for other in '--vs portable' --check --counters --csv '--rounds 2'; do
    # shellcheck disable=SC2086  # an option with its value
    refused "--sustain: not with ${other%% *}" "$roofline" bench "${few[@]}" --sustain 1 $other
done
refused "not with several devices" "$roofline" bench "${few[@]}" --sustain 1 --device all --out fleet
refused "choose at most 16" "$roofline" bench --op copy --threads 1 --sustain 1 --effort full
finish
