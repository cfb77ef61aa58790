# cli_fleet.sh - several devices and several ranks: each has its rows, the odd one is named, a rank that dies or hangs costs its
# own rows only. Ranks are processes with a launcher's variables; with mpirun, where it is, also ranks of that.
# shellcheck shell=bash disable=SC2317,SC2016
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
# shellcheck disable=SC2054  # names, not elements
bench=("$roofline" bench --device cpu --op copy --dtype fp32 --impl best --shape 1024,4096 --threads 1 --time 0.02 --quiet)

rows() { tail -n +2 "$1" 2>/dev/null | wc -l; }

# ---- one device is no fleet ----
if [ "$("$roofline" devices --slug 2>/dev/null)" = "$("$roofline" devices --device cpu --slug)" ]; then
    run "$roofline" bench --device all --op copy --dtype fp32 --impl best --shape 1024 --threads 1 --time 0.02 --quiet --out all
    pass_if "--device all: status $status" [ "$status" -eq 0 ]
    pass_if "--device all: says that it is one" grep -q 'it is one device, cpu' err
    pass_if "--device all: rows where they always are" [ "$(rows all/bench.csv)" -eq 1 ]
fi
refused 'need --out DIR' "${bench[@]}" --device cpu,cuda:77

# ---- a list: alone, then all at once ----
run "${bench[@]}" --device cpu,cuda:77 --out list
pass_if "a device that is not there: status $status" [ "$status" -eq 2 ]
pass_if "a device that is not there: before anything runs" [ ! -e list/alone ]

# ---- tables of made-up devices ----
for device in 1 2 3 4; do
    mkdir -p "made/gpu-$device"
    awk -v slow="$([ $device = 3 ] && echo 1.2 || echo 1)" 'BEGIN { print "device,op,impl,dtype,n,round,status,time_s"
        for (i = 1; i <= 5; i++) printf "d,copy,packed,fp32,%d,1,ok,%g\n", i, 1e-3 * i * slow }' >"made/gpu-$device/bench.csv"
done
run "$roofline" compare --fleet made
pass_if "an odd one: status $status" [ "$status" -eq 1 ]
pass_if "an odd one: named" grep -q 'gpu-3 stands out, 16.7 % slower than the middle' out
pass_if "all rows in one file" [ "$(rows made/fleet.csv)" -eq 20 ]
pass_if "which says where they came from" [ "$(grep -c '^gpu-3,' made/fleet.csv)" -eq 5 ]
rm -r made/gpu-3
sed 's/fp32,4,1,ok,.*/fp32,4,1,wrong,/' made/gpu-2/bench.csv >wrong.csv && mkdir -p bad_one/gpu-2 && cp -r made/gpu-1 made/gpu-4 bad_one && cp wrong.csv bad_one/gpu-2/bench.csv
run "$roofline" plot made --format svg
pass_if "plot of a fleet: status $status" [ "$status" -eq 0 ]
pass_if "plot of a fleet: a bar a device" [ "$(tail -n +2 made/charts/data/fleet.csv | wc -l)" -eq "$(tail -n +2 made/fleet.csv | cut -d, -f1 | sort -u | wc -l)" ]
run "$roofline" compare --fleet bad_one
pass_if "wrong results: status $status" [ "$status" -eq 1 ]
pass_if "wrong results: whose" grep -q '^gpu-2: 1 of 5 rows wrong or failed' out
run "$roofline" compare --fleet made
pass_if "without it: status $status" [ "$status" -eq 0 ]
pass_if "without it: none" grep -q 'None stands out' out
mkdir -p lone/gpu && cp made/gpu-1/bench.csv lone/gpu
if [ "$(id -u)" -ne 0 ]; then # root writes anywhere
    chmod a-w made
    run "$roofline" compare --fleet made
    pass_if "a folder that cannot be written: the table all the same" grep -q 'None stands out' out
    pass_if "a folder that cannot be written: status $status" [ "$status" -eq 2 ]
    chmod u+w made
fi
refused 'one such folder' "$roofline" compare --fleet lone
refused "cannot read 'nowhere'" "$roofline" compare --fleet nowhere

# ---- ranks by their variables ----
# as LAUNCHER RANK SIZE: the array `rank` starts a command as a launcher would, without a shell in between.
as() {
    case $1 in
    openmpi) rank=(env OMPI_COMM_WORLD_RANK="$2" OMPI_COMM_WORLD_SIZE="$3" OMPI_COMM_WORLD_LOCAL_RANK="$2" PMIX_NAMESPACE=job.1) ;;
    slurm) rank=(env SLURM_PROCID="$2" SLURM_STEP_NUM_TASKS="$3" SLURM_LOCALID="$2" SLURM_JOB_ID=7 SLURM_STEP_ID=0) ;;
    mpich) rank=(env PMI_RANK="$2" PMI_SIZE="$3") ;;
    esac
}
for launcher in openmpi slurm mpich; do
    for i in 1 2; do
        as $launcher $i 3
        "${rank[@]}" "${bench[@]}" --out $launcher >/dev/null 2>"err-$i" &
    done
    as $launcher 0 3
    run "${rank[@]}" "${bench[@]}" --out $launcher --patience 60
    wait
    # times of a busy machine differ: the table may call one of three odd
    pass_if "$launcher: status $status" [ "$status" -le 1 ]
    for i in 0 1 2; do
        pass_if "$launcher: rows of rank $i" [ "$(rows "$launcher/rank-000$i/bench.csv")" -eq 2 ]
        pass_if "$launcher: rank $i in the table" grep -q "^rank-000$i .*$(hostname | cut -c 1-16)" out
    done
    pass_if "$launcher: all rows gathered" [ "$(rows $launcher/fleet.csv)" -eq 6 ]
done

# a batch script of Slurm's is no rank: nobody else would come
run env SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_JOB_ID=7 "${bench[@]}" --out batch --patience 1
pass_if "a batch script: status $status" [ "$status" -eq 0 ]
pass_if "a batch script: rows where they always are" [ "$(rows batch/bench.csv)" -eq 2 ]

# ---- one that dies, one that hangs ----
long=("${bench[@]}" --shape "1024,2048,3072,4096,5120,6144,7168,8192" --time 0.4)
as openmpi 1 3
"${rank[@]}" "${long[@]}" --out killed >/dev/null 2>&1 &
doomed=$!
as openmpi 2 3
"${rank[@]}" "${long[@]}" --out killed >/dev/null 2>&1 &
hung=$!
wait_for_row() {
    for ((i = 0; i < 600; i++)); do
        [ "$(rows "$1")" -lt 1 ] || break
        sleep 0.05
    done
}
wait_for_row killed/rank-0001/bench.csv
kill -KILL $doomed
wait $doomed 2>/dev/null
wait_for_row killed/rank-0002/bench.csv
kill -STOP $hung
as openmpi 0 3
run "${rank[@]}" "${bench[@]}" --out killed --patience 1
kill -CONT $hung
kill -KILL $hung
wait $hung 2>/dev/null
pass_if "killed and hung: status $status" [ "$status" -eq 1 ]
for i in 1 2; do pass_if "killed and hung: rank $i is named" grep -q "rank $i of 3 has not ended" err; done
pass_if "killed and hung: rank 0 has its rows" [ "$(rows killed/rank-0000/bench.csv)" -eq 2 ]
pass_if "killed and hung: what they had written counts" [ "$(grep -c '^rank-000[12],' killed/fleet.csv)" -ge 2 ]
# another launch resumes; the state of the first does not pass for its own
as openmpi 1 2
"${rank[@]}" "${bench[@]}" --out killed --resume >/dev/null 2>&1 &
run env PMIX_NAMESPACE=job.2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "${bench[@]}" --out killed --resume --patience 1
wait
pass_if "an earlier launch's state does not count" grep -q "rank 1 of 2 has not ended" err

# ---- a rank whose kernels fail does not end the launch ----
as openmpi 1 2
run "${rank[@]}" "$roofline" bench --device cuda:99 --op copy --out bad --quiet
pass_if "a rank without its device: status $status" [ "$status" -eq 0 ]
pass_if "a rank without its device: it is on record" grep -q '^2 ' bad/rank-0001/state

# ---- a real launcher ----
command -v mpirun >/dev/null || finish
mpirun=(mpirun --oversubscribe --bind-to none)
[ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)
run "${mpirun[@]}" -n 3 "${bench[@]}" --out real --patience 60
pass_if "mpirun: status $status" [ "$status" -le 1 ]
pass_if "mpirun: rows of three ranks" [ "$(rows real/fleet.csv)" -eq 6 ]
# A rank that is killed: by default OpenMPI ends the launch; its rows stay, and the table can be had from the folders.
run "${mpirun[@]}" --mca orte_enable_recovery 1 -n 3 bash -c '[ "$OMPI_COMM_WORLD_RANK" -ne 1 ] || kill -KILL $$; exec "$@"' _ "${bench[@]}" --out real_killed --patience 3
pass_if "mpirun, a rank killed: the others have their rows" [ "$(rows real_killed/fleet.csv)" -eq 4 ]
pass_if "mpirun, a rank killed: it is named" grep -q 'rank 1 of 3 has not ended' err
finish
