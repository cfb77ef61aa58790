# cli_compare.sh - verdicts and exit statuses on made-up runs with known truth; files as spreadsheets, editors, crashes and other
# versions leave them.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}

# make FILE SEED [ROW=FACTOR...]: a result file of 12 rows in 5 rounds with 0.5 % noise; the time of ROW is multiplied.
make() {
    mkdir -p "$(dirname "$1")"
    awk -v seed="$2" -v changes="${*:3}" '
        function noise() { return exp(0.005 * sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand())) }
        BEGIN {
            srand(seed)
            n = split(changes, list, " ")
            for (i = 1; i <= n; i++) { split(list[i], part, "="); factor[part[1]] = part[2] }
            print "device,op,impl,dtype,layout,b,m,n,k,threads,copies,cache,fill,round,status,reason,time_s,ci_low_s,ci_high_s,samples,disturbed,placement,pair_ns,clock_ghz,when"
            for (round = 1; round <= 5; round++)
                for (i = 1; i <= 12; i++) {
                    t = 1e-3 * i * (i in factor ? factor[i] : 1) * noise()
                    printf "test-device,%s,packed,%s,flat,1,1,%d,1,1,1,warm,normal,%d,ok,,%.9g,%.9g,%.9g,50,0,,,3.5,2026-01-02T03:04:05Z\n",
                        i % 3 ? "copy" : "dot", i % 2 ? "fp32" : "bf16", 1000 * i, round, t, t * 0.999, t * 1.001
                }
        }' >"$1"
}

# verdict ROW-LENGTH: of ./out in CSV, the verdict of that row.
# shellcheck disable=SC2317,SC2329  # called in a substitution
verdict() {
    awk -F, -v n="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 && $at["n"] == n { print $at["verdict"] }' out
}

make a.csv 1
make again.csv 2
make slower.csv 3 4=1.05
make faster.csv 4 5=0.9 6=0.8

# ---- verdicts ----
run "$roofline" compare a.csv again.csv
pass_if "A/A: status $status" [ "$status" -eq 0 ]
pass_if "A/A: the same" grep -q '^B is same: of 12 rows 0 slower, 0 faster, 12 same, 0 undecidable' out
pass_if "A/A: says what it could have shown" grep -q '^Smallest change this pair could have shown: [0-9.]* % in half' out
run "$roofline" compare a.csv slower.csv
pass_if "5 % slower: status $status" [ "$status" -eq 1 ]
pass_if "5 % slower: from one run a side" grep -q '^One run a side' out
pass_if "5 % slower: one row" grep -q '^B is slower: of 12 rows 1 slower, 0 faster, 11 same' out
run "$roofline" compare a.csv slower.csv --format csv
pass_if "5 % slower: that row" [ "$(verdict 4000)" = slower ]
pass_if "5 % slower: no other" [ "$(grep -c ,slower, out)" -eq 1 ]
run "$roofline" compare a.csv faster.csv
pass_if "faster: status $status" [ "$status" -eq 0 ]
pass_if "faster: two rows" grep -q '^B is faster: of 12 rows 0 slower, 2 faster' out
pass_if "faster: means by family and dtype" grep -qE '^  vectors +bf16 +6 rows +1\.0[0-9]+ ' out
run "$roofline" compare a.csv slower.csv --threshold 10 --same 20
pass_if "below the threshold: status $status" [ "$status" -eq 0 ]
run "$roofline" compare a.csv slower.csv --threshold 10 --format csv
pass_if "below the threshold alone: status $status" [ "$status" -eq 0 ]
pass_if "below the threshold alone: that row is the same: $(verdict 4000)" [ "$(verdict 4000)" = same ]
run "$roofline" compare a.csv slower.csv --threshold 10 --same 2 --format csv
pass_if "between --same and --threshold: the reason" grep -q ',4000,.*undecidable.*larger than --same, within --threshold' out
run "$roofline" compare a.csv again.csv slower.csv faster.csv
pass_if "three others: the worst counts: status $status" [ "$status" -eq 1 ]
pass_if "three others: three verdicts" [ "$(grep -c '^B is ' out)" -eq 3 ]

# ---- several runs a side ----
run "$roofline" compare a.csv,again.csv slower.csv,slower.csv
pass_if "runs pooled: status $status" [ "$status" -eq 1 ]
pass_if "runs pooled: no caution" [ "$(grep -c '^One run a side' out)" -eq 0 ]
pass_if "runs pooled: says so" grep -q 'rows of 2 runs' out
cat a.csv <(tail -n +2 again.csv) >both.csv
run "$roofline" compare both.csv slower.csv
pass_if "files put together: status $status" [ "$status" -eq 1 ]

# ---- like against like ----
sed 's/,,,3.5,/,near,60,3.5,/' a.csv >near.csv
sed 's/,,,3.5,/,far,150,3.5,/' again.csv >far.csv
run "$roofline" compare near.csv far.csv
pass_if "placements: status $status" [ "$status" -eq 2 ]
pass_if "placements: the reason" grep -q 'placement: near against far' out
sed 's/,far,/,near,/' far.csv >wide.csv
run "$roofline" compare near.csv wide.csv
pass_if "round trips: the reason" grep -q 'pair_ns 60 against 150' out
sed 's/,50,0,,/,50,45,,/' again.csv >disturbed.csv
run "$roofline" compare a.csv disturbed.csv
pass_if "disturbed: status $status" [ "$status" -eq 2 ]
pass_if "disturbed: the reason" grep -q "took CPUs in 0 % of A's samples, in 90 % of B's" out
sed 's/test-device/emulated-sm_90/' a.csv >emulated.csv
run "$roofline" compare emulated.csv emulated.csv
pass_if "emulated: status $status" [ "$status" -eq 2 ]
sed 's/,ok,,[^,]*,[^,]*,[^,]*/,wrong,"element 3: 1, want 2",,,/' a.csv | sed '1!{/,3000,/!d}' >wrong.csv
run "$roofline" compare a.csv wrong.csv
pass_if "broken: status $status" [ "$status" -eq 1 ]
pass_if "broken: the reason" grep -q '^broken .*wrong: element 3' out
awk -F, -v OFS=, '$8 == 3000 && $14 == 4 { $15 = "wrong"; $16 = "a race"; $17 = $18 = $19 = "" } { print }' again.csv >race.csv
run "$roofline" compare a.csv race.csv
pass_if "wrong in one round: status $status" [ "$status" -eq 1 ]
pass_if "wrong in one round: the reason" grep -q '^broken .*B: wrong: a race' out
run "$roofline" compare race.csv race.csv
pass_if "wrong in one round of both: status $status" [ "$status" -eq 0 ]
awk -F, -v OFS=, '$8 == 3000 { $15 = "wrong"; $17 = $18 = $19 = "" } { print }' again.csv >unrepaired.csv
run "$roofline" compare unrepaired.csv a.csv --format md
pass_if "repaired: status $status" [ "$status" -eq 0 ]
pass_if "repaired: nothing to worry about" grep -q '^| repaired | `dot' out
awk -F, -v OFS=, 'NR > 1 { $2 = "\"a|`b\n<img>\"" } { print }' a.csv >marked.csv
awk -F, -v OFS=, 'NR > 1 { $2 = "\"a|`b\n<img>\"" } { print }' slower.csv >marked_slower.csv
run "$roofline" compare marked.csv marked_slower.csv --format md
pass_if "md: marks in names" grep -qF "| **slower** | \`a\\|'b <img>.packed" out
sed 's/test-device/other-device/; s/,3.5,/,1.2,/' faster.csv >other.csv
run "$roofline" compare a.csv other.csv
pass_if "another device: status $status" [ "$status" -eq 0 ]
pass_if "another device: rows still match" grep -q '^12 rows in common' out
pass_if "another device: comes first among the differences" grep -q '^  device  *test-device -> other-device' out
pass_if "another device: its clock" grep -q 'clock while timing, GHz *3.50 -> 1.20' out
cat other.csv <(sed '1d; s/other-device/third-device/' other.csv) >two.csv
refused "rows of 2 devices and none in common" "$roofline" compare a.csv two.csv
sed 's/,packed,/,tiled,/' a.csv >tiled.csv
run "$roofline" compare a.csv tiled.csv
pass_if "nothing in common: status $status" [ "$status" -eq 2 ]
pass_if "nothing in common: says so" grep -q '^B is nothing in common' out
run "$roofline" compare a.csv tiled.csv --ignore impl
pass_if "--ignore impl: status $status" [ "$status" -eq 0 ]
head -n 2 a.csv >one_a.csv
head -n 2 again.csv >one_b.csv
run "$roofline" compare one_a.csv one_b.csv
pass_if "one row, one round: the noise is assumed" grep -q 'noise between runs is assumed to be 3 %' out
run "$roofline" compare one_a.csv a.csv --unmatched
pass_if "--unmatched" [ "$(grep -c '^only in B' out)" -eq 11 ]

# ---- formats ----
run "$roofline" compare a.csv slower.csv --format md -o summary.md
pass_if "md: status $status, nothing on stdout" [ ! -s out ]
# shellcheck disable=SC2016  # Markdown
pass_if "md: the row in a table" grep -qF '| **slower** | `copy.packed.bf16` |' summary.md
run "$roofline" compare a.csv slower.csv --format json
pass_if "json: the verdict" grep -q '"verdict": "slower", "rows": 12' out
if command -v python3 >/dev/null; then
    pass_if "json parses" python3 -c 'import json; d = json.load(open("out")); assert d["comparisons"][0]["slower"] == 1'
fi
refused 'cannot write' "$roofline" compare a.csv again.csv -o /nonexistent/summary
cp summary.md kept.md
refused "cannot read 'none.csv'" "$roofline" compare a.csv none.csv -o kept.md
pass_if "what is refused leaves the file as it was" cmp -s summary.md kept.md

# ---- files as they come ----
same_as_before() { # COMMAND's verdicts on a changed file are those of the file
    run "$roofline" compare a.csv "$1" --format csv
    pass_if "$1: status $status" [ "$status" -eq 1 ]
    pass_if "$1: still that row" [ "$(verdict 4000)" = slower ]
}
awk -F, -v OFS=, '{ t = $1; $1 = $17; $17 = t; t = $2; $2 = $14; $14 = t; print }' slower.csv >order.csv
same_as_before order.csv
sed '1s/$/,new_column/; 1!s/$/,"a, b"/' slower.csv >more.csv
same_as_before more.csv
cut -d, -f1-12,14-22 slower.csv >fewer.csv # without fill, pair_ns, clock_ghz, when
same_as_before fewer.csv
sed 's/$/\r/' slower.csv >crlf.csv
same_as_before crlf.csv
{ printf '\xef\xbb\xbf'; cat slower.csv; } >bom.csv
same_as_before bom.csv
{ cat slower.csv; printf 'test-device,copy,pac'; } >torn.csv
same_as_before torn.csv
pass_if "torn: said in a line" grep -q 'last line was cut short' err
mkdir newer
cp slower.csv newer/bench.csv
echo '{"schema": 99, "program": {"commit": "later", "compiler": "GNU 99"}, "machine": {"device": "test-device", "x": [1, 2]}}' >newer/run.json
same_as_before newer
pass_if "a newer schema: said in a line" grep -q 'newer version (schema 99' err

: >empty.csv
head -n 1 a.csv >header.csv
for file in empty.csv header.csv; do refused "'$file' has no rows" "$roofline" compare a.csv $file; done
refused "cannot read 'none.csv'" "$roofline" compare a.csv none.csv
mkdir hollow
refused "cannot read 'hollow/bench.csv'" "$roofline" compare a.csv hollow
awk -F, -v OFS=, 'NR > 1 { sub(/\./, ",", $17) } { print }' a.csv >comma.csv
refused "line 2: 26 fields where the header has 25; decimal commas" "$roofline" compare a.csv comma.csv
awk -F, -v OFS=, 'NR > 1 { sub(/\./, ",", $17); $17 = "\"" $17 "\"" } { print }' a.csv >quoted.csv
refused "time_s is not a number: '[0-9,]*' \(a decimal comma" "$roofline" compare a.csv quoted.csv
tr , ';' <a.csv >semicolon.csv
refused "names no columns; it has semicolons" "$roofline" compare a.csv semicolon.csv
sed '1s/dtype/dtype,dtype/; 1!s/$/,x/' a.csv >twice.csv
refused "names a column twice: dtype" "$roofline" compare a.csv twice.csv
cut -d, -f1-16,18- a.csv >timeless.csv
refused "has no column time_s" "$roofline" compare a.csv timeless.csv
awk -F, -v OFS=, 'NR == 3 { $17 = -1 } { print }' a.csv >negative.csv
refused "a time_s of -1 seconds" "$roofline" compare a.csv negative.csv
sed '3s/copy/"copy/' a.csv >unquoted.csv
refused "a quote of line 3 is never closed" "$roofline" compare a.csv unquoted.csv
refused "is not a result file" "$roofline" compare a.csv "${SOURCE:?}/README.md"
mkdir bad
cp a.csv bad/bench.csv
echo '{"schema": ' >bad/run.json
refused 'run.json: line' "$roofline" compare a.csv bad
# two commands wrote into a run, and know different things; a value at the end of another one is none
mkdir twofold
cp a.csv twofold/bench.csv
echo '{"schema": 1, "machine": {"gpu_driver": "550.1", "model": null, "note": "xx7"}}' >twofold/run.json
echo '{"schema": 1, "machine": {"gpu_driver": null, "model": "M", "note": "7"}}' >twofold/run.2.json
mkdir plain
cp again.csv plain/bench.csv
echo '{"schema": 1, "machine": {"gpu_driver": "560.2", "model": "N", "note": "8"}}' >plain/run.json
run "$roofline" compare twofold,plain a.csv
pass_if "a side of different runs: said" grep -q "differ in driver: 'twofold/bench.csv' has 550.1, 'plain/bench.csv' has 560.2" err
run "$roofline" compare twofold plain
pass_if "run.2.json: status $status" [ "$status" -eq 0 ]
pass_if "run.2.json: unknown there, known here" grep -qE '^  driver +550\.1 -> 560\.2$' out
pass_if "run.2.json: known there" grep -qE '^  model +M -> N$' out
pass_if "run.2.json: both where they differ" grep -qE '^  note +xx7 \| 7 -> 8$' out

# ---- a large file: each row finds its partner ----
awk 'BEGIN { print "device,op,impl,dtype,n,round,status,time_s"
    for (i = 0; i < 100000; i++) print "d,copy,packed,fp32," i ",1,ok," 1e-3 * (1 + i % 7) }' >large.csv
run "$roofline" compare large.csv large.csv
pass_if "100,000 rows: status $status" [ "$status" -eq 0 ]
pass_if "100,000 rows: all are the same" grep -q 'of 100000 rows 0 slower, 0 faster, 100000 same' out

# ---- samples are what is compared where they are kept ----
# shellcheck disable=SC2054  # names, not elements
bench=("$roofline" bench --op copy --dtype fp32 --impl best --shape 1024,4096 --time 0.02 --rounds 2 --quiet)
run "${bench[@]}" --out kept
pass_if "a run: status $status" [ "$status" -eq 0 ]
pass_if "samples.csv has a line a sample" [ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "samples") s = i
    if (!d) for (i = 1; i <= NF; i++) if ($i == "displaced") d = i } NR > 1 { n += $s + $d } END { print n }' kept/bench.csv)" \
    -eq "$(tail -n +2 kept/samples.csv | wc -l)" ]
run "$roofline" compare kept kept
pass_if "itself: with samples" [ "$(grep -c 'with samples' out)" -eq 2 ]
cp -r kept edited
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^(time|ci_low|ci_high)_s$/) t[i] } NR > 1 { for (i in t) $i *= 10000 } { print }' \
    kept/bench.csv >edited/bench.csv
run "$roofline" compare kept edited --format csv
pass_if "times are those of the samples, not of the row" [ "$(grep -c ,slower, out)" -eq 0 ]
# without the samples, and as on a machine of its own
for run in kept edited; do
    mkdir bare_$run
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } NR > 1 { $c["disturbed"] = 0; $c["placement"] = $c["pair_ns"] = "" } { print }' \
        $run/bench.csv >bare_$run/bench.csv
done
run "$roofline" compare bare_kept bare_edited --format csv
pass_if "without samples those of the row: $(grep -c ,slower, out)" [ "$(grep -c ,slower, out)" -eq 2 ]
lines=$(wc -l <kept/samples.csv)
run "${bench[@]}" --out kept --resume
pass_if "--resume adds no sample" [ "$(wc -l <kept/samples.csv)" -eq "$lines" ]
{ cat kept/samples.csv; tail -n 1 kept/samples.csv | cut -c 1-20 | tr -d '\n'; } >torn_samples
cp torn_samples kept/samples.csv
run "$roofline" compare kept kept
pass_if "torn samples: status $status" [ "$status" -ne 1 ]
head -n -1 kept/bench.csv >shorter && mv shorter kept/bench.csv
run "${bench[@]}" --out kept --resume
pass_if "a row measured again: status $status" [ "$status" -eq 0 ]
pass_if "its new samples follow" [ "$(wc -l <kept/samples.csv)" -gt "$lines" ]

# ---- data sheets ----
run "$roofline" compare spec:a100 spec:h100-sxm spec:h200 spec:b200 kept
pass_if "data sheets: status $status" [ "$status" -eq 0 ]
pass_if "data sheets: bf16" grep -qE '^bf16 GFLOP/s +312000.0 +989500.0 \( 3.171 x\)' out
refused "unknown GPU 'h17'" "$roofline" compare spec:h17 kept
# sheet RATE...: a run of an H100 with a copy at RATE GB/s and products in bf16 at RATE GFLOP/s.
sheet() {
    echo "device,op,impl,dtype,m,n,k,status,time_s,gbyte_s,gflop_s,level,cache,clock_ghz,throttle"
    echo "nvidia-h100-80gb-hbm3,copy,stream,fp32,1,1000000000,1,ok,1e-3,$1,,DRAM,cold,1.9,"
    echo "nvidia-h100-80gb-hbm3,matmul,wgmma,bf16,8192,8192,8192,ok,1e-3,,$2,,warm,$3,$4"
}
sheet 3050 780000 1.75 "" >healthy.csv
sheet 2500 400000 1.2 sw-power-cap >low.csv
sheet 3600 1900000 1.9 "" >impossible.csv
run "$roofline" compare --against-spec healthy.csv
pass_if "healthy: status $status" [ "$status" -eq 0 ]
pass_if "healthy: both" [ "$(grep -c '^healthy  ' out)" -eq 2 ]
run "$roofline" compare --against-spec low.csv
pass_if "low: status $status" [ "$status" -eq 1 ]
pass_if "low: both" [ "$(grep -c '^low  ' out)" -eq 2 ]
pass_if "low: reasons" grep -q 'the clock is held back: sw-power-cap' out
run "$roofline" compare --against-spec impossible.csv
pass_if "impossible: status $status" [ "$status" -eq 1 ]
pass_if "impossible: both" [ "$(grep -c '^impossible  ' out)" -eq 2 ]
sed 's/nvidia-h100-80gb-hbm3/amd-epyc/' healthy.csv | tail -n +2 | cat healthy.csv - >mixed.csv
refused "rows of several devices, 'nvidia-h100-80gb-hbm3' and 'amd-epyc'" "$roofline" compare --against-spec mixed.csv
for format in md json; do refused "--against-spec is a table or csv, not $format" "$roofline" compare --against-spec healthy.csv --format $format; done
refused 'data sheets is a table or csv, not json' "$roofline" compare spec:a100 spec:b200 --format json
refused '--fleet is a table, not csv' "$roofline" compare --fleet . --format csv

# ---- usage ----
refused 'needs two runs' "$roofline" compare
refused 'needs two runs' "$roofline" compare a.csv
refused "no key column" "$roofline" compare a.csv again.csv --ignore time_s
refused '--format .*one of table csv md json' "$roofline" compare a.csv again.csv --format xml
refused '--threshold' "$roofline" compare a.csv again.csv --threshold many
finish
