# cli_ci_compare.sh - the recipe for CI with programs that are built already: verdict, exit status, the job's summary; the self-test.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
recipe=("$SOURCE/scripts/ci_compare.sh" --runs 3 --out ci)
# A program that is `factor` times as slow, by what it writes.
cat >slow <<END
#!/usr/bin/env bash
"$roofline" "\$@" || exit
[ "\$1" = bench ] || exit 0
dir=\${*: -1}
rm "\$dir/samples.csv"
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if (\$i ~ /^(time|ci_low|ci_high)_s\$/) t[i] } NR > 1 { for (i in t) \$i *= 100000 } { print }' \
    "\$dir/bench.csv" >"\$dir/bench.tmp" && mv "\$dir/bench.tmp" "\$dir/bench.csv"
END
chmod +x slow
bench=(--op copy --dtype "fp32,bf16" --impl best --shape 4096 --threads 1 --time 0.02)

mkdir -p ci/a100-sxm ci/b200 # what somebody keeps there
run env ROOFLINE_BASE="$roofline" ROOFLINE_HEAD="$PWD/slow" GITHUB_STEP_SUMMARY="$PWD/summary" "${recipe[@]}" -- "${bench[@]}"
pass_if "a regression: status $status" [ "$status" -eq 1 ]
pass_if "a regression: in the job's summary" grep -qF '**slower**' summary
run env ROOFLINE_BASE="$roofline" ROOFLINE_HEAD="$roofline" "${recipe[@]}" --allow-undecidable -- "${bench[@]}"
pass_if "itself: status $status" [ "$status" -eq 0 ]
pass_if "itself: three runs a side" [ "$(find ci/turns -path 'ci/turns/[ab][123]' | wc -l)" -eq 6 ]
for kept in a100-sxm b200; do pass_if "what else is in --out stays: $kept" [ -d ci/$kept ]; done
run env ROOFLINE_BASE="$roofline" ROOFLINE_HEAD="$roofline" "${recipe[@]}" -- --op nonsense
pass_if "a bad bench option: status $status" [ "$status" -eq 2 ]
refused "unknown option '--fast'" "${recipe[@]}" --fast
refused "no commit 'nonsense'" "${recipe[@]}" nonsense

# ---- the harness with itself ----
run "$roofline" compare --self-test --repeat 1 --device cpu
pass_if "--self-test: status $status" [ "$status" -eq 0 ]
pass_if "--self-test: every row was judged" grep -qE '^1 comparisons of one thing with itself, 5 rounds a side in turns, 12 rows' out
pass_if "--self-test: the rate of false verdicts" grep -qE '^  false verdicts +[0-9]+ rows, in [01] comparisons' out
finish
