# cli_ci_compare.sh - the recipe for CI with programs that are built already: verdict, exit status, the job's summary; the self-test.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
recipe=("$SOURCE/scripts/ci_compare.sh" --runs 3 --out ci)
# Programs of known speed, whatever else the machine is doing: `bench` writes rows made up, all else is the real one.
for speed in 1 2; do
    cat >made$speed <<END
#!/usr/bin/env bash
[ "\$1" = bench ] || exec "$roofline" "\$@"
dir=\${*: -1}
mkdir -p "\$dir"
awk -v seed="\$(basename "\$dir" | cksum | cut -d' ' -f1)" 'BEGIN {
    srand(seed % 1000)
    print "device,op,impl,dtype,n,threads,round,status,time_s,ci_low_s,ci_high_s"
    for (i = 1; i <= 4; i++) {
        t = 1e-3 * i * $speed * (1 + 0.002 * (rand() - 0.5))
        printf "d,copy,packed,fp32,%d,1,1,ok,%.9g,%.9g,%.9g\n", i, t, t * 0.999, t * 1.001
    }
}' >"\$dir/bench.csv"
END
    chmod +x made$speed
done
bench=(--op copy --dtype "fp32,bf16" --impl best --shape 4096 --threads 1 --time 0.02)

mkdir -p ci/a100-sxm ci/b200 # what somebody keeps there
run env ROOFLINE_BASE="$PWD/made1" ROOFLINE_HEAD="$PWD/made2" GITHUB_STEP_SUMMARY="$PWD/summary" "${recipe[@]}" -- "${bench[@]}"
pass_if "a regression: status $status" [ "$status" -eq 1 ]
pass_if "a regression: in the job's summary" grep -qF '**slower**' summary
run env ROOFLINE_BASE="$PWD/made1" ROOFLINE_HEAD="$PWD/made1" "${recipe[@]}" -- "${bench[@]}"
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
