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
awk -F, 'NR > 1 && $2 < 0.01 { exit 1 }' "$work/none/data/published_bf16_operations.csv" || fail "an operation without arithmetic stretches the axes"
grep -q '""' "$work"/none/data/published_bf16_key.csv && fail "an empty cell, which gnuplot draws as a comma"

# Figures by hand: copy far, the fastest DRAM row of two threads, times relu's 1/8; and points that must or must not be.
points=$work/none/data/roofline_fp32_points.csv
contains "$points" '"too_fast"' '"2048^3 nn"' '"transpose"'
lacks "$points" broken
awk -F, 'NR > 1 && $1 == "\"max\"" && $15 != 1 { exit 1 }' "$points" || fail "the point above its roof is not marked"
contains "$work/none/data/published_bf16_operations.csv" relu gelu matvec 'matmul n = 1024'
awk -F, '/[ "]relu[;"]/ && $2 != 0.25 { exit 1 }' "$work/none/data/published_bf16_operations.csv" || fail "relu in bf16 is not at 0.25"
awk -F, '/gelu/ && $2 != 5 { exit 1 }' "$work/none/data/published_bf16_operations.csv" || fail "gelu in bf16 is not at 5"

# ---- next to no arithmetic: no point of a roofline ----
mkdir "$work/faint"
cp "$sample/peaks.csv" "$work/faint"
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } { print }
    $c["op"] == "sum" && $c["dtype"] == "fp32" && $c["status"] == "ok" { $c["op"] = "mean_loss_backward"; $c["flops"] = 1; $c["ai"] = 1e-8; print }' \
    "$sample/bench.csv" > "$work/faint/bench.csv"
expect 0 1 env PATH="$work/empty" "$roofline" plot "$work/faint"
contains "$work/faint/bench.csv" mean_loss_backward
lacks "$work/faint/charts/data/roofline_fp32_points.csv" mean_loss_backward

# ---- columns in any order: the same data ----
mkdir "$work/reversed"
for file in bench peaks; do
    awk -F, '{ line = $NF; for (i = NF - 1; i > 0; i--) line = line "," $i; print line }' "$sample/$file.csv" > "$work/reversed/$file.csv"
done
expect 0 1 env PATH="$work/empty" "$roofline" plot "$work/reversed"
diff -r "$work/none/data" "$work/reversed/charts/data" > /dev/null || fail "the order of columns changes the data"

# ---- training: phases of steps with the threads whose roofs are drawn ----
cp -r "$sample" "$work/trained"
cat > "$work/trained/train.csv" <<'ROWS'
device,model,phase,precision,optimizer,keep,micro_batches,vocab,threads,rows,dim,ai,flops,gflop_s,gbyte_s,roof_fraction,roof_time_s,time_s
sample-cpu,deepnet-64x2-b32-fp32-sgd,forward,fp32,sgd,all,1,0,2,32,64,10,1e6,50,5,0.5,1e-5,2e-5
sample-cpu,deepnet-64x4-b32-fp32-sgd,backward,fp32,sgd,all,1,0,1,32,64,10,1e6,20,2,0.5,1e-5,5e-5
ROWS
expect 0 1 env PATH="$work/empty" "$roofline" plot "$work/trained"
points=$work/trained/charts/data/train_roofline_fp32_points.csv
contains "$points" forward
lacks "$points" backward

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

# ---- several runs: common charts, and a device has one colour wherever it stands ----
for device in h100-sxm some-cpu; do
    mkdir "$work/$device"
    for file in bench peaks; do sed "s/^sample-cpu,/$device,/" "$sample/$file.csv" > "$work/$device/$file.csv"; done
done
expect 2 1 "$roofline" plot "$sample" "$work/some-cpu"
contains "$work/stderr" '-o OUT'
expect 0 1 env PATH="$work/empty" "$roofline" plot "$sample" "$work/some-cpu" "$sample" -o "$work/three"
for data in overlay_fp32_roofs overlay_fp32_points overlay_fp32_key sweep_read sweep_matmul_fp32 ladder_devices ratio_fp32 ratio_bf16; do
    [ -s "$work/three/data/$data.csv" ] || fail "no data file $data.csv"
done
contains "$work/three/data/overlay_fp32_roofs.csv" '"sample-cpu 2026-01-15","235","88.08","2.67"' '"some-cpu"' '"sample-cpu 2026-01-15 (2)"'
awk -F, 'NR > 1 && $(NF - 3) != 1 { exit 1 }' "$work/three/data/ratio_fp32.csv" || fail "equal runs differ"
[ "$(cut -d, -f 4 "$work/three/data/sweep_read.csv" | sort -u | tr '\n' ' ')" = '0 1 2 run_index ' ] || fail "not every run is in sweep_read"
mkdir "$work/recording"
printf '#!/bin/sh\ncat >> "%s/script"\nexit 1\n' "$work" > "$work/recording/gnuplot"
chmod +x "$work/recording/gnuplot"
# colours ORDER...: "label colour" of each run, sorted
colours() {
    rm -f "$work/script"
    PATH="$work/recording:$PATH" "$roofline" plot "$@" -o "$work/colours" --format svg > /dev/null 2>&1
    sed -n "s/^label_\([0-9]*\) = '\(.*\)'$/\1 label \2/p; s/^colour_\([0-9]*\) = /\1 colour /p" "$work/script" | sort -u |
        awk '$2 == "colour" { colour[$1] = $3 } $2 == "label" { label[$1] = $3 } END { for (i in label) print label[i], colour[i] }' | sort
}
colours "$sample" "$work/some-cpu" "$work/h100-sxm" > "$work/colours.1"
colours "$work/h100-sxm" "$work/some-cpu" "$sample" > "$work/colours.2"
cmp -s "$work/colours.1" "$work/colours.2" || fail "another order, other colours"
grep -q "^h100-sxm $((0x0072b2))\$" "$work/colours.1" || fail "an H100 has not its colour"
[ "$(cut -d ' ' -f 2 "$work/colours.1" | sort -u | grep -c '')" -eq 3 ] || fail "two devices have one colour"
mkdir "$work/both"
for file in bench peaks; do
    cp "$sample/$file.csv" "$work/both" && tail -n +2 "$work/some-cpu/$file.csv" | sed 's|^some-cpu,|../some cpu,|' >> "$work/both/$file.csv"
done
expect 0 1 env PATH="$work/empty" "$roofline" plot "$work/both"
for data in overlay_fp32_points roofline_fp32_points; do
    [ -s "$work/both/charts/data/$data.csv" ] || fail "two devices of one folder: no $data.csv"
done
[ -s "$work/both/charts/device-2/data/roofline_fp32_points.csv" ] || fail "no charts of a folder's second device"

# ---- rows that differ in one thing ----
mkdir "$work/effects"
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; print; next } $c["op"] == "relu" && $c["dtype"] == "fp32" && $c["cache"] == "warm" {
    print; $c["fill"] = "zeros"; time = $c["time_s"]; $c["time_s"] = time / 2; print; $c["fill"] = "normal"; $c["cache"] = "cold"
    $c["time_s"] = 4 * time; print }' "$sample/bench.csv" > "$work/effects/bench.csv"
expect 0 2 env PATH="$work/empty" "$roofline" plot "$work/effects"
awk -F, 'NR > 1 && ($(NF - 3) < 0.2499 || $(NF - 3) > 0.2501) { exit 1 }' "$work/effects/charts/data/cold_warm.csv" || fail "cold is not a quarter of warm"
awk -F, 'NR > 1 && ($(NF - 3) < 1.999 || $(NF - 3) > 2.001) { exit 1 }' "$work/effects/charts/data/fill.csv" || fail "zeros are not twice as fast"
[ "$(grep -c '' "$work/effects/charts/data/fill.csv")" -gt 2 ] || fail "no effect of the fill"

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

expect 0 0 "$roofline" plot "$sample" "$work/some-cpu" "$sample" -o "$work/compared" --format svg
contains "$work/compared/overlay_fp32.svg" 'Rooflines of 3 runs, fp32' 'some-cpu' '(2)' 'matmul n = 1024' 88.08
contains "$work/compared/sweep_read.svg" 'Read bandwidth against working set' 'some-cpu' '256 MiB'
contains "$work/compared/ladder_devices.svg" 'Compute ceilings of 3 runs' fp64 467.5
contains "$work/compared/ratio_fp32.svg" 'ratio of rates' softmax '1.00'
expect 0 1 "$roofline" plot "$work/effects" -o "$work/effects/drawn" --format svg
for chart in cold_warm fill; do [ -s "$work/effects/drawn/$chart.svg" ] || fail "no chart $chart"; done

# ---- in a locale with decimal commas: the same pictures ----
german=$(locale -a 2> /dev/null | grep -i -m 1 -e '^de_DE.utf' -e '^fr_FR.utf')
if [ -n "$german" ]; then
    expect 0 0 env LC_ALL="$german" "$roofline" plot "$sample" -o "$work/german" --format svg
    for svg in "$charts"/*.svg; do cmp -s "$svg" "$work/german/${svg##*/}" || fail "$german changes ${svg##*/}"; done
fi

[ "$failures" -eq 0 ] || exit 1
echo "plot: ok"
