# cli_vs.sh - bench --vs: two of ours in turns, what comes of it in table, rows and samples; what it refuses. No time is judged.
# shellcheck shell=bash disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
best=$("$roofline" bench --op gelu --dtype fp32 --impl best --shape 4096 --time 0.01 --csv --quiet 2>/dev/null |
    awk -F, 'NR == 2 { print $3 }')
if [ "$best" = portable ]; then
    echo "no second kernel of gelu on this CPU"
    exit 77
fi
few=(--op gelu --dtype fp32 --time 0.01 --threads 1 --quiet)

# column NAME: of ./csv, the values of a column, one a line.
# shellcheck disable=SC2329  # called in substitutions
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 { print $c }' csv
}

# ---- a contest ----
run "$roofline" bench "${few[@]}" --shape 4096,16384 --impl "$best" --vs portable --csv
cp out csv
pass_if "csv: status $status" [ "$status" -eq 0 ]
pass_if "csv: a row of each side a shape" [ "$(column impl | xargs)" = "$best portable $best portable" ]
pass_if "csv: against each other" [ "$(column vs | xargs)" = "portable $best portable $best" ]
pass_if "csv: ratios within their intervals" awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR > 1 { n += $at["vs_low"] <= $at["vs_ratio"] && $at["vs_ratio"] <= $at["vs_high"] && $at["vs_low"] > 0 && $at["vs_turns"] >= 6 }
    END { exit n != 4 }' csv
pass_if "csv: each has the median of the other" \
    [ "$(column time_s | paste - - - - | awk '{ print $2, $1, $4, $3 }')" = "$(column vs_time_s | xargs)" ]

run "$roofline" bench "${few[@]}" --shape 4096 --vs portable
pass_if "table: status $status" [ "$status" -eq 0 ]
pass_if "table: a head and a line" [ "$(wc -l <out)" -eq 2 ]
pass_if "table: names both" grep -qE "^gelu.$best.fp32 .* portable .* [0-9.]+ \.\.\. [0-9.]+ +ok$" out

run "$roofline" bench "${few[@]}" --shape 4096 --vs portable --out run
pass_if "folder: status $status" [ "$status" -eq 0 ]
pass_if "folder: a line of the table" grep -q "^gelu.$best.fp32" out
pass_if "folder: samples know their turn" awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR > 1 { if (!($at["turn"] >= 1)) bad++; seen[$at["impl"] " " $at["turn"]]; n++ }
    END { for (s in seen) { split(s, part, " "); turns[part[1]]++ }
          for (i in turns) { kinds++; if (turns[i] < 6) bad++ }
          exit bad || kinds != 2 }' run/samples.csv
rows=$(wc -l <run/bench.csv)
run "$roofline" bench "${few[@]}" --shape 4096 --vs portable --out run --resume
pass_if "resumed: status $status" [ "$status" -eq 0 ]
pass_if "resumed: nothing is measured twice" [ "$(wc -l <run/bench.csv)" -eq "$rows" ]
run "$roofline" bench "${few[@]}" --shape 4096,8192 --vs portable --out run --resume
pass_if "resumed with more: two rows" [ "$(wc -l <run/bench.csv)" -eq $((rows + 2)) ]
run "$roofline" bench "${few[@]}" --shape 4096 --impl portable,"$best" --vs '*' --out run --resume
pass_if "resumed in other company: status $status" [ "$status" -eq 2 ]
pass_if "resumed in other company: says so" grep -q "not timed in turns with these" err
run "$roofline" compare run run
pass_if "compare reads it" grep -q 'of 4 rows 0 slower, 0 faster' out

run "$roofline" report run
pass_if "report: status $status" [ "$status" -eq 0 ]
pass_if "report: has the ratio" grep -qE "<td>portable</td><td class=\"n\">[0-9.]+</td><td>[0-9.]+ \.\.\. [0-9.]+</td></tr>" run/report.html

# The chart has the ratio of the turns, not that of the medians.
run "$roofline" bench --op triad --dtype fp64 --threads 1 --time 0.02 --quiet --shape 4096 --vs stream_loop --out beside
pass_if "chart: status $status" [ "$status" -eq 0 ]
run "$roofline" plot beside --format svg
cp beside/bench.csv csv
pass_if "chart: the ratio of the turns" [ "$(column vs_ratio | head -n 1)" = "$(sed -n 2p beside/charts/data/vendor_fp64.csv | cut -d, -f 7)" ]

# All of ours against one: each has its ratio.
run "$roofline" bench "${few[@]}" --shape 4096 --impl all --vs portable --csv
cp out csv
pass_if "all: status $status" [ "$status" -eq 0 ]
pass_if "all: one row a kernel" [ -z "$(column impl | sort | uniq -d)" ]
pass_if "all: against that one" [ "$(column vs | sort | uniq -c | awk '$2 == "portable" { print $1 }')" -eq $(($(column vs | wc -l) - 1)) ]

# Several fills are an axis.
run "$roofline" bench "${few[@]}" --shape 4096 --fill zeros,normal,zeros --impl "$best" --csv
cp out csv
pass_if "fills: status $status" [ "$status" -eq 0 ]
pass_if "fills: a row each" [ "$(column fill | xargs)" = "zeros normal" ]

# ---- rivals that are not there ----
run "$roofline" bench "${few[@]}" --shape 4096 --op max --vs vendor
pass_if "no library has it: status $status" [ "$status" -eq 0 ]
pass_if "no library has it: says so" grep -q -- '--vs vendor: 1 of 1 problems have no such rival here: timed alone' err
pass_if "no library has it: ours is timed" grep -qE '^max\..* ok$' out
refused "none of these problems has such an implementation" "$roofline" bench "${few[@]}" --impl portable --vs portable
refused "none of these problems has such an implementation" "$roofline" bench --op max --dtype fp32 --vs openblas
refused "unknown impl 'nope'" "$roofline" bench --op gelu --vs nope
refused "--vs needs a name" "$roofline" bench --op gelu --vs ''
refused "--check times nothing: not with --vs" "$roofline" bench --op gelu --vs portable --check
refused "--vs" "$roofline" bench --op gelu --vs
finish
