#!/bin/sh
# plot_charts.sh ROOFLINE SAMPLE - what `roofline plot` draws from the synthetic sample, and what it does when it cannot.
# Exit status 77 (skipped) where there is no gnuplot; what needs none is checked all the same.
set -u
roofline=$1 sample=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect STATUS LINES COMMAND...: exit status, and lines on stderr
expect() {
    want=$1 lines=$2
    shift 2
    "$@" > "$work/stdout" 2> "$work/stderr"
    got=$?
    [ "$got" -eq "$want" ] || fail "exit status $got, not $want: $*: $(head -n 3 "$work/stderr")"
    got=$(grep -c '' "$work/stderr")
    [ "$got" -eq "$lines" ] || fail "$got lines on stderr, not $lines: $*: $(head -n 3 "$work/stderr")"
}

contains() {   # FILE TEXT...
    file=$1
    shift
    for text in "$@"; do grep -qF -e "$text" "$file" || fail "'$text' is not in ${file##*/}"; done
}

lacks() {
    grep -qF -e "$2" "$1" && fail "'$2' is in ${1##*/}"
}

# ---- usage ----
expect 0 0 "$roofline" plot --help
contains "$work/stdout" Usage: Examples: --specs
expect 2 1 "$roofline" plot
expect 2 1 "$roofline" plot --specs
expect 2 1 "$roofline" plot "$sample" more
expect 2 1 "$roofline" plot "$sample" --format pdf
expect 2 1 "$roofline" plot "$sample" --format ''
expect 2 1 "$roofline" plot --specs "$sample" -o "$work/x"
expect 2 1 "$roofline" plot --frobnicate
expect 2 1 "$roofline" plot "$work/nowhere"
expect 2 1 "$roofline" plot "$work"
: > "$work/file"
expect 2 1 "$roofline" plot "$sample" -o "$work/file"
expect 2 1 "$roofline" plot "$sample" -o "$work/file/below"
mkdir "$work/bad"
printf 'op,impl,dtype,gflop_s\ncopy,a,fp32,fast\n' > "$work/bad/bench.csv"
expect 2 1 "$roofline" plot "$work/bad" -o "$work/bad-charts"
contains "$work/stderr" fast

# ---- no gnuplot: said once, the data still come ----
mkdir "$work/empty"
expect 0 1 env PATH="$work/empty" "$roofline" plot "$sample" -o "$work/none"
contains "$work/stderr" gnuplot
for data in roofline_fp32_points roofline_fp32_roofs roofline_all_points bandwidth ladder matmul_fp32 vendor_fp32 \
    streams_fp32 streams_bf16 published_bf16_operations published_fp32_roofs; do
    [ -s "$work/none/data/$data.csv" ] || fail "no data file $data.csv"
done
[ -z "$(find "$work/none" -name '*.png' -o -name '*.svg' -o -name '*.partial')" ] || fail "a chart without gnuplot"

# Figures by hand: copy far, the fastest DRAM row of two threads, times relu's 1/8; and points that must or must not be.
points=$work/none/data/roofline_fp32_points.csv
contains "$points" '"too_fast"' '"2048^3 nn"' '"transpose"'
lacks "$points" broken
awk -F, 'NR > 1 && $1 == "\"max\"" && $15 != 1 { exit 1 }' "$points" || fail "the point above its roof is not marked"
contains "$work/none/data/published_bf16_operations.csv" relu gelu matvec 'matmul n = 1024'
awk -F, '/relu/ && $2 != 0.25 { exit 1 }' "$work/none/data/published_bf16_operations.csv" || fail "relu in bf16 is not at 0.25"
awk -F, '/gelu/ && $2 != 5 { exit 1 }' "$work/none/data/published_bf16_operations.csv" || fail "gelu in bf16 is not at 5"

# ---- columns in any order: the same data ----
mkdir "$work/reversed"
for file in bench peaks; do
    awk -F, '{ line = $NF; for (i = NF - 1; i > 0; i--) line = line "," $i; print line }' "$sample/$file.csv" > "$work/reversed/$file.csv"
done
expect 0 1 env PATH="$work/empty" "$roofline" plot "$work/reversed"
diff -r "$work/none/data" "$work/reversed/charts/data" > /dev/null || fail "the order of columns changes the data"

# ---- one file only, and neither ----
mkdir "$work/bench-only" "$work/peaks-only"
cp "$sample/bench.csv" "$work/bench-only" && cp "$sample/peaks.csv" "$work/peaks-only"
expect 0 2 env PATH="$work/empty" "$roofline" plot "$work/bench-only"
[ -s "$work/bench-only/charts/data/matmul_fp32.csv" ] || fail "no matmul chart without peaks"
[ ! -e "$work/bench-only/charts/data/roofline_fp32_points.csv" ] || fail "a roofline without ceilings"
expect 0 2 env PATH="$work/empty" "$roofline" plot "$work/peaks-only"
[ -s "$work/peaks-only/charts/data/ladder.csv" ] || fail "no ladder without bench"

# ---- a gnuplot that fails, one that finds its locale ----
mkdir "$work/failing" "$work/asking"
printf '#!/bin/sh\ncat > /dev/null\necho "line 0: undefined variable: x" >&2\nexit 1\n' > "$work/failing/gnuplot"
# shellcheck disable=SC2016  # for the made-up gnuplot
printf '#!/bin/sh\necho "$LC_ALL" >> "%s/locale"\ncat > /dev/null\nexit 1\n' "$work" > "$work/asking/gnuplot"
chmod +x "$work/failing/gnuplot" "$work/asking/gnuplot"
expect 2 2 env PATH="$work/failing:$PATH" "$roofline" plot --specs -o "$work/failed" --format png
contains "$work/stderr" 'undefined variable'
[ -z "$(find "$work/failed" -name '*.p*g' -o -name '*.partial')" ] || fail "a failed chart was left behind"
expect 2 2 env LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 PATH="$work/asking:$PATH" "$roofline" plot --specs -o "$work/asked" --format svg
mkdir "$work/halting"
cat > "$work/halting/gnuplot" <<'SCRIPT'
#!/bin/sh
file=$(sed -n "s/^output_file = '\(.*\)'$/\1/p")
printf 'half a picture' > "$file"
SCRIPT
chmod +x "$work/halting/gnuplot"
expect 2 4 env PATH="$work/halting:$PATH" "$roofline" plot --specs -o "$work/halted"
[ -z "$(find "$work/halted" -name '*.p*g*' -o -name '*.svg*')" ] || fail "half a picture was left behind"
[ "$(sort -u "$work/locale")" = C ] || fail "gnuplot runs in the caller's locale"

if ! command -v gnuplot > /dev/null; then
    [ "$failures" -eq 0 ] || exit 1
    echo "no gnuplot: the charts themselves were not checked"
    exit 77
fi

# ---- the charts ----
charts="$work/it's a folder \`with\` \$everything"
expect 0 0 "$roofline" plot "$sample" -o "$charts"
[ "$(grep -c '' "$work/stdout")" -eq "$(find "$charts" -name '*.png' -o -name '*.svg' | grep -c '')" ] || fail "not every path is printed"
[ -z "$(find "$charts" -name '*.partial')" ] || fail "a partial chart was left behind"
for chart in roofline_fp64 roofline_fp32 roofline_fp16 roofline_bf16 roofline_fp8_e4m3 roofline_nvfp4 roofline_all bandwidth ladder \
    matmul_fp64 matmul_fp32 matmul_bf16 vendor_fp64 vendor_fp32 vendor_bf16 streams_fp32 streams_bf16 published_bf16 published_fp32; do
    png=$charts/$chart.png svg=$charts/$chart.svg
    [ "$(head -c 8 "$png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "$chart.png is no PNG"
    [ "$(wc -c < "$png")" -gt 10000 ] || fail "$chart.png is nearly empty"
    contains "$svg" '</svg>'
    case $chart in published*) ;; *) contains "$svg" sample-cpu 2026-01-15 ;; esac
done
contains "$charts/roofline_fp32.svg" 'Roofline, fp32' '2 threads' 'arithmetic intensity, FLOP/byte' packed_avx512 2048^3 \
    'L1 triad' 'L2 ' 'DRAM far copy' 'DRAM near copy' 'FLOPs a cycle x measured clock' '1 above the roof' transpose 'no FLOPs' '>10000<'
lacks "$charts/roofline_fp32.svg" broken
contains "$charts/roofline_all.svg" fp64 bf16 nvfp4 467.5 kink 'measured bandwidth' 'DRAM near copy'
contains "$charts/bandwidth.svg" 'read, 2 threads' 'triad, 1 thread' '64 KiB' '16 MiB' DRAM L1
contains "$charts/ladder.svg" 'fp64  avx512' 'bf16  avx512_bf16' 467
contains "$charts/matmul_fp32.svg" packed_avx2 openblas 'measured ceiling' 'kink predicted at n = 17'
contains "$charts/vendor_bf16.svg" 'ours / vendor' onednn
contains "$charts/streams_fp32.svg" 'DRAM ceiling, far 88.08' softmax
contains "$charts/published_bf16.svg" 'A100 SXM4 80GB' 295.4 2250 'matmul n = 1024' gelu

# ---- in a locale with decimal commas: the same pictures ----
german=$(locale -a 2> /dev/null | grep -i -m 1 -e '^de_DE.utf' -e '^fr_FR.utf')
if [ -n "$german" ]; then
    expect 0 0 env LC_ALL="$german" "$roofline" plot "$sample" -o "$work/german" --format svg
    for svg in "$charts"/*.svg; do cmp -s "$svg" "$work/german/${svg##*/}" || fail "$german changes ${svg##*/}"; done
fi

[ "$failures" -eq 0 ] || exit 1
echo "plot: ok"
