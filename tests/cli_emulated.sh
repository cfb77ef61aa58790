# cli_emulated.sh - the command line on an emulated GPU, from the list of devices to the result files: what a GPU gets,
# without its speed.
# shellcheck shell=bash disable=SC2054,SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
on=(--device emu:sm_90)

# column NAME: its values in ./out, a line each.
# shellcheck disable=SC2317,SC2329  # called in a substitution
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR > 1 { print $at }' out; }

# ---- devices ----
run "$roofline" devices
pass_if "devices: status $status" [ "$status" -eq 0 ]
pass_if "devices: the CPU comes first" grep -q '^cpu: ' out
pass_if "devices: each emulated GPU" [ "$(grep -c '^emu:sm_' out)" -ge 5 ]
run "$roofline" devices --slug
pass_if "without --device an emulated GPU is never picked" grep -qv emulated out
for name in emu:sm_90 cuda:2 GPU-33333333 0000:03:00.0; do
    run "$roofline" devices --device "$name" --slug
    pass_if "--device $name: $(cat out)" [ "$(cat out)" = emulated-sm_90 ]
done
refused "there is cpu and cuda:0 to cuda:" "$roofline" devices --device cuda:99
refused "there is cpu and cuda:0 to cuda:" "$roofline" bench --device gpu
run "$roofline" devices "${on[@]}" --format json
pass_if "devices --format json: says that it is emulated" grep -q '"emulated": true' out

# ---- list ----
run "$roofline" list "${on[@]}" --format csv
pass_if "list: status $status" [ "$status" -eq 0 ]
pass_if "list: rows of the GPU and of no CPU" [ "$(tail -n +2 out | cut -d, -f4 | sort -u)" = emu:sm_90 ]

# ---- bench and its file ----
bench=(bench "${on[@]}" --op copy --dtype fp32,nvfp4 --time 0.01 --quiet)
run "$roofline" "${bench[@]}" --shape 1008,300000 --out run
pass_if "bench --out: status $status" [ "$status" -eq 0 ]
pass_if "rows say that they are emulated" [ "$(tail -n +2 run/bench.csv | cut -d, -f1 | sort -u)" = emulated-sm_90 ]
pass_if "no row is wrong" [ "$(grep -cE ',(wrong|failed),' run/bench.csv)" -eq 0 ]
rows=$(wc -l <run/bench.csv)
run "$roofline" "${bench[@]}" --shape 1008,300000 --out run --resume
pass_if "--resume measures nothing twice" [ "$(wc -l <run/bench.csv)" -eq "$rows" ]
run "$roofline" "${bench[@]}" --shape 1008 --in-process
pass_if "--in-process: status $status" [ "$status" -eq 0 ]
counted=(bench "${on[@]}" --op copy --dtype fp32 --shape 100000,200000 --time 0.01 --csv --counters)
run "$roofline" "${counted[@]}" --quiet
pass_if "--counters without any: status $status" [ "$status" -eq 0 ]
pass_if "--counters without any: one line says so" [ "$(grep -c 'roofline: no counters: ' err)" -eq 1 ]
if [ -n "${FAKE_CUPTI:-}" ]; then
    run env LD_LIBRARY_PATH="$FAKE_CUPTI" FAKE_CUPTI_FAIL=cuptiProfilerGetCounterAvailability=35 "$roofline" "${counted[@]}" --quiet
    pass_if "--counters without permission: status $status" [ "$status" -eq 0 ]
    pass_if "--counters without permission: one line with the remedy" [ "$(grep -c 'no permission .*CAP_SYS_ADMIN' err)" -eq 1 ]
    pass_if "--counters without permission: rows are whole" [ "$(column status | sort | uniq -c | tr -s ' ')" = ' 2 ok' ]
    pass_if "--counters without permission: no bytes" [ -z "$(column counted_bytes | tr -d '\n')" ]
    run env LD_LIBRARY_PATH="$FAKE_CUPTI" "$roofline" "${counted[@]}" --quiet
    pass_if "--counters: status $status" [ "$status" -eq 0 ]
    pass_if "--counters: bytes in every row" [ "$(column counted_bytes | grep -cE '^[0-9.e+]+$')" -eq 2 ]
fi
refused "times of an emulated device mean nothing" "$roofline" bench "${on[@]}" --op copy --dtype fp32 --shape 1008 --sustain 0.2
run "$roofline" bench "${on[@]}" --op copy --dtype fp32 --shape 100000 --impl all --vs best --time 0.01 --quiet --csv
pass_if "--vs: status $status" [ "$status" -eq 0 ]
pass_if "--vs: every row has its rival" [ "$(column vs | grep -c .)" -eq "$(column op | grep -c .)" ]
run "$roofline" bench "${on[@]}" --op matmul --dtype bf16 --layout nn --impl best --shape 16x16x16,256x256x256 --time 0.001 --quiet --csv
pass_if "best: by the problem's size" [ "$(column impl | paste -sd' ')" = "mma_sync wgmma_tma" ]
refused "unknown impl 'openblas' on emu:sm_90" "$roofline" "${bench[@]}" --impl openblas
run "$roofline" peaks "${on[@]}" --effort smoke --time 0.01 --quiet --out run
pass_if "peaks --out: status $status" [ "$status" -eq 0 ]
pass_if "peaks: a row of DRAM" grep -q ',DRAM,' run/peaks.csv
pass_if "peaks: wgmma in five dtypes" [ "$(grep -o ',fma,wgmma,[a-z0-9_]*' run/peaks.csv | sort -u | wc -l)" -eq 5 ]
pass_if "probes: reads and copies by bulk copies, in the L2 and past it" [ "$(grep -c ', bulk",.*"ok"' run/probes.csv)" -eq 8 ]
run "$roofline" peaks --device emu:sm_100 --effort smoke --time 0.01 --quiet --out run100
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } /,fma,tcgen05,/ { print $c["dtype"], $c["k"] }' run100/peaks.csv >out
pass_if "peaks: tcgen05 in six dtypes, 4 bits with 4 times the rounds" [ "$(sort -u out | paste -sd,)" = \
    "bf16 1,fp16 1,fp8_e4m3 1,fp8_e5m2 1,nvfp4 4,tf32 1" ]
run "$roofline" summary run
pass_if "summary: its times mean nothing" grep -q 'times of an emulated device mean nothing' out
refused "they are not shown" "$roofline" plot run
refused "times of an emulated device mean nothing" "$roofline" claims "${on[@]}" --only view
run "$roofline" account einsum 'b m k, b n k -> b m n' b=2 m=16 n=32 k=16 --run "${on[@]}"
pass_if "account einsum --run: status $status" [ "$status" -eq 0 ]
pass_if "account einsum --run: verified" grep -q '1,024 outputs are those of the definition' out
pass_if "account einsum --run: no time" grep -q 'times of an emulated device mean nothing' out
run "$roofline" account einsum --reduce min 'a b c -> b' a=3 b=7 c=5 --run --untimed "${on[@]}"
pass_if "account einsum --run: a call a row: status $status" [ "$status" -eq 0 ]
pass_if "account einsum --run: a call a row" grep -qE '^call 3 +7 x max' out
run "$roofline" account einsum 'a b, b c, c d -> a d' a=16 b=32 c=16 d=32 --dtype tf32 --run --untimed "${on[@]}"
pass_if "account einsum --run: three operands: status $status" [ "$status" -eq 0 ]
pass_if "account einsum --run: three operands" grep -q '512 outputs are those of the definition' out

# ---- launch forms: all are run once, the last is taken, since times mean nothing here ----
forms=(bench "${on[@]}" --dtype fp32 --time 0.01 --quiet)
run "$roofline" "${forms[@]}" --op triad,sum,adamw --shape 100000 --out forms --rounds 2
pass_if "--launch tuned: status $status" [ "$status" -eq 0 ]
cp forms/bench.csv out
pass_if "the forms tried last are in the rows: $(column launch | paste -sd' ')" \
    [ "$(column launch | paste -sd' ')" = '256x8 256x2 256x8 256x8 256x2 256x8' ]
run "$roofline" "${forms[@]}" --op softmax,matvec --shape 3x2000 --csv
pass_if "a row of softmax in one block of as many threads as there may be; matvec has no choice: $(column launch | paste -sd' ')" \
    [ "$(column launch | paste -sd, -)" = '512,,' ]
run "$roofline" "${forms[@]}" --op triad --shape 100000,40000 --launch own --csv
pass_if "--launch own: $(column launch | paste -sd' ')" [ "$(column launch | paste -sd' ')" = '256 256' ]
run "$roofline" "${forms[@]}" --op triad,sum --shape 100000 --launch 128x3 --csv
pass_if "--launch 128x3, where a kernel can: $(column launch | paste -sd' ')" [ "$(column launch | paste -sd' ')" = '128x3 256x3' ]
run "$roofline" "${forms[@]}" --op matvec --shape 64x64 --launch 128x3 --csv
pass_if "--launch 128x3, where a kernel has no choice" [ -z "$(column launch | tr -d '\n')" ]
run "$roofline" "${forms[@]}" --op triad --shape 100000 --launch 64x2 --out given
run "$roofline" "${forms[@]}" --op triad --shape 100000,50000 --tuning given/bench.csv --csv
pass_if "--tuning: the form of the same trial, others are tuned: $(column launch | paste -sd' ')" \
    [ "$(column launch | paste -sd' ')" = '64x2 256x8' ]
run "$roofline" "${forms[@]}" --op triad --shape 100000 --rounds 3 --out given --resume
cp given/bench.csv out
pass_if "--resume: further rounds as the first: $(column launch | paste -sd' ')" [ "$(column launch | paste -sd' ')" = '64x2 64x2 64x2' ]
refused "--tuning brings the launch forms: not with --launch" "$roofline" "${forms[@]}" --op triad --tuning given/bench.csv --launch own
refused "--launch '256x': tuned, own, THREADS or THREADSxBLOCKS" "$roofline" "${forms[@]}" --op triad --launch 256x
refused "--launch '100': tuned, own" "$roofline" "${forms[@]}" --op triad --launch 100
refused "missing.csv" "$roofline" "${forms[@]}" --op triad --tuning missing.csv

# ---- several devices: each alone, then all at once ----
several=(bench --device emu:sm_80,emu:sm_90 --op copy --dtype fp32 --impl best --shape 1008,4000 --time 0.01)
run "$roofline" "${several[@]}" --out fleet
pass_if "two devices: status $status" [ "$status" -le 1 ]
for part in alone together; do
    for name in 80 90; do
        pass_if "two devices: $part/emu-sm-$name" [ "$(tail -n +2 fleet/$part/emu-sm-$name/bench.csv | cut -d, -f1 | sort -u)" = emulated-sm_$name ]
    done
done
pass_if "two devices: one file of all rows" [ "$(tail -n +2 fleet/fleet.csv | wc -l)" -eq 8 ]
pass_if "two devices: a table" grep -q '^emu-sm-90 .* emulated-sm_90 ' out
pass_if "two devices: times mean nothing" grep -q 'times of an emulated device mean nothing' out
refused "there is cpu and cuda:0 to cuda:" "$roofline" bench --device emu:sm_80,emu:none --out fleet

# ---- the GPU's first look, rehearsed: every part but the build, with a compute-sanitizer that finds nothing, or something ----
cat >tool <<'END'
#!/bin/sh
[ "$1 $3 $4 $5 $6" = "--tool --error-exitcode 1 --report-api-errors no" ] || exit 3
echo "$2" >>"$CALLED"
shift 6
"$@" || exit
[ -z "${FINDS:-}" ]
END
chmod +x tool
mkdir bin && mv tool bin/compute-sanitizer
check=(env PATH="$PWD/bin:$PATH" CALLED="$PWD/called" ROOFLINE="$roofline" ROOFLINE_SELFTEST="${SELFTEST:?}"
    "${SOURCE:?}/scripts/gpu_check.sh" --out check "${on[@]}" --tiny)
run "${check[@]}" selftest check sanitizer bench hopper pack
pass_if "gpu_check: status $status: $(tail -n 3 out)" [ "$status" -eq 0 ]
pass_if "gpu_check: every part is told of" [ "$(grep -c ': passed, ' check/parts.txt)" -eq 6 ]
pass_if "gpu_check: the self-test's lines" grep -q '^0 failed' check/selftest.txt
pass_if "gpu_check: kernels were verified" grep -qE '^[1-9][0-9]* verified, .* 0 wrong' check/check.txt
pass_if "gpu_check: compute-sanitizer's tools" [ "$(sort -u called | paste -sd ' ')" = 'memcheck racecheck synccheck' ]
pass_if "gpu_check: an archive with the rows" tar -tzf check/check.tar.gz ./bench.csv
pass_if "gpu_check: products by wgmma beside a library's" grep -q 'wgmma_tma' check/hopper/bench.csv
run "${check[@]}" --device emu:sm_100 blackwell
pass_if "gpu_check: products by tcgen05, nvfp4 too: status $status" grep -q 'tcgen05_tma,nvfp4' check/blackwell/bench.csv
run env FINDS=1 "${check[@]}" sanitizer
pass_if "gpu_check: what the sanitizer finds: status $status" [ "$status" -eq 1 ]
run env ROOFLINE_EMULATE_FAULT=launch:3 "${check[@]}" check
pass_if "gpu_check: a kernel that fails: status $status" [ "$status" -eq 1 ]
run env ROOFLINE=/nonexistent "${SOURCE:?}/scripts/gpu_check.sh" --out check "${on[@]}" check
pass_if "gpu_check without its program: status $status" [ "$status" -eq 1 ]
refused "unknown option or part 'bnch'" "${SOURCE:?}/scripts/gpu_check.sh" bnch
# ---- training ----
run "$roofline" tokens "$SOURCE/LICENSE" -o text.bin
trip=(train "${on[@]}" --data text.bin --dim 32 --layers 1 --batch 2 --seq 16 --dtype bf16 --master --quiet)
run "$roofline" "${trip[@]}" --steps 6 --out trip
pass_if "train: status $status" [ "$status" -eq 0 ]
pass_if "train: says that its times mean nothing" grep -q 'an emulated device' out
pass_if "train: every byte is explained" grep -q 'unexplained: 0 B' out
run "$roofline" "${trip[@]}" --steps 3 --save state
run "$roofline" "${trip[@]}" --steps 6 --save state --resume --out rest
pass_if "train: resumed with the same losses" \
    [ "$(cut -d, -f3,4 trip/loss.csv | tail -3)" = "$(cut -d, -f3,4 rest/loss.csv | tail -3)" ]
finish
