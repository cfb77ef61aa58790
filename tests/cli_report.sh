# cli_report.sh - roofline report: what is in the page, that nothing in it comes from elsewhere, that hostile text stays text, and
# what it says when files are missing or damaged.
# shellcheck shell=bash disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?} sample=$SOURCE/tests/data/sample
mkdir temporary
export TMPDIR=$PWD/temporary

has() { grep -qF -e "$2" "$1"; }
lacks() { ! grep -qF -e "$2" "$1"; }

# page FILE: what holds for every page.
page() {
    pass_if "$1 ends" [ "$(tail -n 1 "$1")" = '</html>' ]
    pass_if "$1: nothing half written" [ ! -e "$1.partial" ]
    pass_if "$1: temporary files are gone" [ -z "$(ls temporary)" ]
    # loads: attributes that fetch, and style sheets that do; data: alone is allowed
    grep -oiE '(src|href|srcset|action|data|poster)="[^"]*"' "$1" | grep -viE '="(#|data:,)' >loads
    pass_if "$1: loads $(head -n 1 loads)" [ ! -s loads ]
    pass_if "$1: style sheets load nothing" [ "$(sed -n '/<style>/,/<\/style>/p' "$1" | grep -ciE 'url\(|@import')" -eq 0 ]
    pass_if "$1: one script" [ "$(grep -c '<script' "$1")" -eq 1 ]
    pass_if "$1: script asks for nothing" \
        [ "$(sed -n '/^<script>/,/^<\/script>/p' "$1" | grep -cE 'fetch|XMLHttp|import|https?:|innerHTML|eval')" -eq 0 ]
    pass_if "$1: no handlers in attributes" [ "$(grep -ciE '<[^>]* on[a-z]+="' "$1")" -eq 0 ]
    grep -oE " id=['\"][^'\"]*" "$1" | sed "s/ id=.//" | sort >ids
    pass_if "$1: ids are unique: $(uniq -d ids | head -n 1)" [ -z "$(uniq -d ids)" ]
    pass_if "$1: has ids" [ -s ids ]
    grep -oE "href=['\"]#[^'\"]*" "$1" | sed "s/href=.#//" | sort -u >anchors
    pass_if "$1: has anchors" [ -s anchors ]
    sort -u ids >unique_ids
    pass_if "$1: every anchor is there: $(comm -23 anchors unique_ids | head -n 1)" [ -z "$(comm -23 anchors unique_ids)" ]
    pass_if "$1: tables have captions" [ "$(grep -o '<table' "$1" | wc -l)" -eq "$(grep -o '<caption>' "$1" | wc -l)" ]
    pass_if "$1: pictures have labels" \
        [ "$(grep -o '<svg ' "$1" | wc -l)" -eq "$(grep -oE '<svg [^>]*role="img" aria-label="[^"]+"' "$1" | wc -l)" ]
}

# ---- usage ----
refused 'no folder given' "$roofline" report
refused 'unknown option' "$roofline" report --frobnicate
refused 'empty FILE' "$roofline" report "$sample" -o ''
refused "'nowhere' is not a folder" "$roofline" report nowhere
mkdir empty
refused "'empty' holds no rows" "$roofline" report empty
refused "cannot write 'empty/x/y.html'" "$roofline" report "$sample" -o empty/x/y.html
pass_if "nothing is left of what was refused" [ -z "$(ls temporary)$(ls empty)" ]

# ---- one run ----
cp -r "$sample" run && chmod -R u+w run
cat >run/run.json <<'END'
{"schema": 1, "program": {"version": "0.1.0", "commit": "abc1234", "compiler": "GNU 12.2.0", "flags": "-O3"},
 "command": ["peaks", "--out", "my run"], "machine": {"device": "sample-cpu", "model": "Sample CPU 9000", "L1_bytes": 32768,
 "instruction_set": "avx512_bf16", "virtual_machine": true}, "started": "2026-01-15T12:00:00Z"}
END
sed 's/"peaks", "--out", "my run"/"bench", "--out", "my run"/' run/run.json >run/run.2.json
cat >run/claims.csv <<'END'
device,threads,claim,verdict,says,quantity,predicted,measured,holds_if,model,why
"sample-cpu",1,"relu-gelu","holds","relu is no faster than gelu","time",1,1.1,"within 30 %","",""
"sample-cpu",1,"backward","does not hold here","backward takes twice as long","time",2,1.5,"1.8 to 2.2","","too small"
END
printf 'step,loss\n1,2.5\n2,\n3,nan\n4,0.5\n' >run/loss.csv
printf 'step,tokens_s\n1,1000\n2,1250.25\n' >run/train.csv
printf 'kind,measured_bytes\nparameters,2097152\n' >run/memory.csv
printf 'probe,value,unit\nlatency L2,250,ns\n' >run/probes.csv
run "$roofline" report run
pass_if "status $status" [ "$status" -eq 0 ]
pass_if "prints where it is" [ "$(cat out)" = run/report.html ]
page run/report.html
for text in 'Sample CPU 9000' '<title>Roofline report: sample-cpu</title>' 'name="viewport"' 'prefers-color-scheme: dark' '@media print' \
    'Content-Security-Policy' 'id="findings"' 'id="ceilings"' 'id="rows"' 'id="claims"' 'id="training"' 'id="memory"' 'id="probes"' \
    'id="environment"' 'id="reproduce"' 'does not hold here' '2 MiB' 'latency L2' 'git checkout abc1234' "roofline peaks --out &#39;my run&#39;" \
    'roofline bench --out' 'run.2.json' 'loss is 2.5 at first, 0.5 at last and 0.5 at its least, over 2 records.' \
    'Of 2 claims on what training costs 1 hold here, 1 do not (backward)' 'Of 592 rows 1 is wrong or failed' 'class="status bad">wrong'; do
    pass_if "not in the page: $text" has run/report.html "$text"
done
pass_if "every row" [ "$(grep -c 'class="status' run/report.html)" -ge $(($(wc -l <run/bench.csv) + $(wc -l <run/peaks.csv) - 2)) ]

# the DRAM sentence, worked out anew: the fastest reads with two threads, steady
expected=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
    $c["op"] == "sum" && $c["threads"] == 2 && $c["level"] == "DRAM" && $c["status"] == "ok" &&
    $c["ci_high_s"] - $c["ci_low_s"] <= 0.1 * $c["time_s"] && $c["gbyte_s"] > best { best = $c["gbyte_s"] } END { printf "%.3g", best }' run/peaks.csv)
pass_if "reads reach $expected GB/s" grep -q "Reads from DRAM reach $expected GB/s with 2 threads" run/report.html
run "$roofline" report run -o -
pass_if "- is stdout: status $status" [ "$status" -eq 0 ]
pass_if "- is the same page" cmp -s out run/report.html

# ---- charts, where gnuplot is ----
if command -v gnuplot >/dev/null; then
    pass_if "charts" [ "$(grep -c '<svg ' run/report.html)" -gt 15 ]
    pass_if "explanations of points" grep -q '<g class="m"><title>matmul.packed_avx512.fp32 2048^3 nn: .*% of its roof</title>' run/report.html
    pass_if "nothing of gnuplot's scripts" lacks run/report.html gnuplot
    pass_if "the page's fonts" lacks run/report.html font-family=
fi
mkdir no-tools
run env PATH="$PWD/no-tools" "$roofline" report run -o bare.html
pass_if "no gnuplot: status $status" [ "$status" -eq 0 ]
pass_if "no gnuplot: said once" one_line err
pass_if "no gnuplot: the page says so" has bare.html 'Made without gnuplot'
page bare.html

# ---- several runs ----
cp -r run other && sed -i 's/sample-cpu/other-gpu/' other/*.csv && sed -i 's/avx512_bf16/sm_90/' other/run.json
run "$roofline" report run other run -o several.html
pass_if "several: status $status" [ "$status" -eq 0 ]
page several.html
for text in 'id="comparison"' 'id="r1"' 'id="r3-rows"' '3 runs' 'sm_90' 'other-gpu against sample-cpu 2026-01-15 abc1234' \
    'sample-cpu 2026-01-15 abc1234 (2)' '(1.00 times as much)'; do
    pass_if "several: not in the page: $text" has several.html "$text"
done
pass_if "equal runs: the rate is the same" grep -q 'it has 1 times the rate' several.html
# trials in three rounds are drawn and counted once each
cp -r run rounds && rm -rf rounds/report.html
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) { c[$i] = i }; print "round", $0; next }
    { for (k = 1; k <= 3; k++) { t = $c["time_s"]; if (t != "") $c["time_s"] = t * 1.5 ^ ((k + NR) % 3 - 1); print k, $0; $c["time_s"] = t } }' \
    run/bench.csv >rounds/bench.csv
run "$roofline" report rounds -o rounds.html
pass_if "rounds: status $status" [ "$status" -eq 0 ]
page rounds.html
pass_if "rounds: said" has rounds.html 'were measured in several rounds'
rows_shown() { sed -n '/Operations (bench.csv)/,/<\/tbody>/p' "$1" | grep -c '<tr><th scope="row">'; }
pass_if "rounds: a row a trial, $(rows_shown rounds.html)" [ "$(rows_shown rounds.html)" -eq "$(rows_shown run/report.html)" ]
for file in run/report.html rounds.html; do grep -oE 'median of [0-9]+ equal' $file >"$(basename $file).equal"; done
pass_if "rounds: equal problems are counted once" cmp -s report.html.equal rounds.html.equal
pass_if "rounds: there are such" [ -s report.html.equal ]
# a folder with rows of two devices is two runs
mkdir both && cp run/bench.csv both && tail -n +2 other/bench.csv >>both/bench.csv
run "$roofline" report both -o both.html
pass_if "two devices: status $status" [ "$status" -eq 0 ]
pass_if "two devices: two runs" has both.html '2 runs'
pass_if "no run.json: said" has both.html 'has no run.json'

# ---- hostile text ----
mkdir hostile
evil='<script>alert(1)</script>'
awk -F, -v OFS=, -v evil="\"$evil\"\"'&<img src=x onerror=alert(2)>\"" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
    NR > 1 { $c["device"] = "\"x\"\"'\''<b>&\"" } NR % 7 == 2 { $c["status"] = "failed"; $c["reason"] = evil }
    NR % 7 == 3 { $c["impl"] = "\"<i>'\''&\"" } { print }' run/bench.csv >hostile/bench.csv
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } NR > 1 { $c["device"] = "\"x\"\"'\''<b>&\"" } { print }' run/peaks.csv >hostile/peaks.csv
for file in claims train memory probes; do sed 's/relu-gelu\|parameters\|latency\|tokens_s/<script>alert(3)<\/script>/' run/$file.csv >hostile/$file.csv; done
printf '<script>,"</style><script>"\n1,2\n2,1\n' >hostile/loss.csv
sed 's/Sample CPU 9000/<\/title><script>alert(4)<\/script>/; s/abc1234/<script>alert(5)<\/script>/; s/my run/$(reboot)/' run/run.json >hostile/run.json
run "$roofline" report hostile run -o hostile.html
pass_if "hostile: status $status" [ "$status" -eq 0 ]
page hostile.html
pass_if "hostile: text is text" has hostile.html '&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;&lt;img src=x onerror=alert(2)&gt;'
for i in 3 4 5; do pass_if "hostile: text $i is text" has hostile.html "&lt;script&gt;alert($i)&lt;/script&gt;"; done
pass_if "hostile: no markup came through" [ "$(grep -cE '<(script|img|b|i)>alert|<img|<b>&amp;|</style><script' hostile.html)" -eq 0 ]
pass_if "hostile: commands are quoted" has hostile.html 'roofline peaks --out &#39;$(reboot)&#39;'
# gnuplot has its own idea of quotes
mkdir quotes && cp run/peaks.csv quotes
awk -F, -v OFS=, -v one="\"''a\"\" b\nc\"" -v other="\"'d\"" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } NR > 1 { $c["impl"] = NR % 2 ? one : other } { print }' \
    run/bench.csv >quotes/bench.csv
run "$roofline" report quotes -o quotes.html
pass_if "quotes and newlines in names: status $status, $(head -n 1 err)" [ "$status" -eq 0 ]
page quotes.html
mkdir bytes && sed 's/^sample-cpu,/\x01\xff\xed\xa0\x80cpu,/' run/bench.csv >bytes/bench.csv
run "$roofline" report bytes -o bytes.html
pass_if "bytes: status $status" [ "$status" -eq 0 ]
pass_if "bytes: the page is UTF-8" iconv -f UTF-8 -t UTF-16 -o /dev/null bytes.html

# ---- damage ----
mkdir bad && cp run/peaks.csv bad
printf 'op,impl,dtype,gflop_s\ncopy,a,fp32,fast\n' >bad/bench.csv
refused "line 2: gflop_s is not a number: 'fast'" "$roofline" report bad
pass_if "damaged rows: no page" [ ! -e bad/report.html ]
mkdir half
for broken in claims.csv run.json; do
    rm -rf half && cp -r run half && rm -f half/report.html half/run.2.json
    printf 'claim,verdict\nonly one\n{"' >half/$broken
    run "$roofline" report half
    pass_if "$broken damaged: status $status" [ "$status" -eq 0 ]
    pass_if "$broken damaged: one line" one_line err
    pass_if "$broken damaged: is named" has err "$broken"
    page half/report.html
done
rm -rf half && mkdir half && cp run/bench.csv half
run "$roofline" report half
pass_if "no peaks.csv: status $status" [ "$status" -eq 0 ]
pass_if "no peaks.csv: one line" one_line err
page half/report.html
sed -i 's/^sample-cpu,/emulated-sm_90,/' half/bench.csv
refused 'emulated device' "$roofline" report half
[ ! -e /dev/full ] || refused 'cannot write|No space' "$roofline" report run -o /dev/full/x

# ---- many rows ----
mkdir many && cp run/bench.csv many
for _ in 1 2 3 4 5 6; do tail -n +2 run/bench.csv >>many/bench.csv; done
run env PATH="$PWD/no-tools" "$roofline" report many -o many.html
pass_if "many rows: status $status" [ "$status" -eq 0 ]
pass_if "many rows: cut, and said so" has many.html "3000 of $((7 * 592)) rows"
pass_if "many rows: a small page" [ "$(wc -c <many.html)" -lt 3000000 ]
finish
