# cli_emulated_faults.sh - a GPU that fails in each way it can: the row says so, the run goes on, nothing is charged to the
# next row. On emulated devices, which fail by ROOFLINE_EMULATE_FAULT; ROOFLINE is the program that has them.
# shellcheck shell=bash disable=SC2154,SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
check=("$roofline" bench --check --quiet --device emu:sm_90 --op copy --dtype fp32)

# with FAULT COMMAND...: runs it under the fault.
with() { ROOFLINE_EMULATE_FAULT=$1 run "${@:2}"; }
lines() { grep -c "$1" out; }
says() { grep -qE -- "$1" "$2"; }

run "${check[@]}"
pass_if "no fault: status $status" [ "$status" -eq 0 ]
total=$(sed -nE 's/^([0-9]+) verified, 0 refused, 0 wrong, 0 failed$/\1/p' out)
pass_if "no fault: all verified" [ "${total:-0}" -ge 10 ]

# ---- memory: the worker's own buffer is the first allocation ----
with alloc:3 "${check[@]}"
pass_if "out of memory: one row" [ "$(lines 'no_memory: ')" -eq 1 ]
pass_if "out of memory: the others are verified" says "^$((total - 1)) verified, .*, 1 without memory$" out

# ---- a launch that is refused, an error that stays, a kernel that never ends: one failed row each, the rest verified ----
with launch:5 "${check[@]}"
pass_if "refused launch: status $status" [ "$status" -eq 1 ]
pass_if "refused launch: one row with the error" [ "$(lines 'failed: .*701 cudaErrorLaunchOutOfResources')" -eq 1 ]
pass_if "refused launch: the others are verified" says "^$((total - 1)) verified, .* 1 failed$" out

# Each process counts from 1: the fault is placed late enough to strike once.
launches=$((total * 2 - 3))
with sticky:$launches "${check[@]}"
pass_if "sticky error: status $status" [ "$status" -eq 1 ]
pass_if "sticky error: one row" [ "$(lines 'failed: .*700 cudaErrorIllegalAddress')" -eq 1 ]
pass_if "sticky error: the others are verified" says "^$((total - 1)) verified, .* 1 failed$" out

with hang:$launches "${check[@]}" --timeout 3
pass_if "hang: status $status" [ "$status" -eq 1 ]
pass_if "hang: one row" [ "$(lines 'timeout: no result within 3 s')" -eq 1 ]
pass_if "hang: the others are verified" says "^$((total - 1)) verified, .* 1 timed out$" out

# ---- the same while kernels are timed; after two calls that verify and one that reads the clock ----
timed=("$roofline" bench --quiet --device emu:sm_90 --op copy --dtype fp32 --impl all --shape '1008,4000' --time 0.01)
# statuses FAULT: how often which, of all six rows, from the file.
statuses() {
    rm -rf timed
    with "$1" "${timed[@]}" --timeout 3 --out timed
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "status") at = i } NR > 1 { n[$at]++ }
        END { for (s in n) print n[s], s }' timed/bench.csv | sort -rn | paste -sd ' '
}
one() { [ "$(statuses "$1")" = "$2" ]; }
pass_if "timed: no fault" one '' '6 ok'
pass_if "timed: out of memory" one alloc:2 '5 ok 1 no_memory'
pass_if "timed: the launch that reads the clock is refused" one launch:3 '6 ok'
pass_if "timed: refused launch" one launch:5 '5 ok 1 failed'
pass_if "timed: refused launch: the error's name" grep -q 'error 701 cudaErrorLaunchOutOfResources while it was timed' timed/bench.csv
# every worker meets it again: each row has its own
pass_if "timed: errors that stay" one sticky:5 '6 failed'
# those of vector, which leaves its launch open, before they are timed
pass_if "timed: errors that stay: the error's name" [ "$(grep -c 'error 700 cudaErrorIllegalAddress while it was timed' timed/bench.csv)" -eq 4 ]
pass_if "timed: errors that stay: while forms are tried" [ "$(grep -c 'an error while launch forms were tried' timed/bench.csv)" -eq 2 ]
pass_if "timed: hangs" one hang:5 '6 timeout'
with alloc:1 "${timed[@]}"
pass_if "a device that cannot be opened: status $status" [ "$status" -eq 2 ]
pass_if "a device that cannot be opened: says why" says 'the device cannot be opened' err
with launch:5 "${timed[@]}" --in-process --csv
pass_if "in one process: one row with the error" [ "$(lines ',failed,.*701 cudaErrorLaunchOutOfResources')" -eq 1 ]

# ---- ceilings and probes; training ----
peaks=("$roofline" peaks --quiet --device emu:sm_90 --effort smoke --time 0.001)
with launch:9 "${peaks[@]}"
pass_if "probes: a refused launch: status $status" [ "$status" -eq 1 ]
pass_if "probes: a refused launch: one that failed" [ "$(lines 'failed: cudaErrorLaunchOutOfResources')" -eq 1 ]
with sticky:9 "${peaks[@]}"
pass_if "probes: an error that stays: status $status" [ "$status" -eq 2 ]
pass_if "probes: an error that stays: where it began" [ "$(lines 'failed: cudaErrorIllegalAddress')" -eq 1 ]
SIMT_SMS=1 run "${peaks[@]}" # an L2 of 64 KiB
pass_if "probes: a tiny L2: status $status" [ "$status" -eq 0 ]
pass_if "probes: a tiny L2 is refused" [ "$(lines 'L2 read .*refused: no L2 size, or a tiny one')" -eq 1 ]
"$roofline" tokens "$SOURCE/LICENSE" -o text.bin >out
trip=("$roofline" train --device emu:sm_90 --data text.bin --dim 32 --layers 1 --batch 2 --seq 16 --dtype bf16 --steps 4 --quiet)
with alloc:5 "${trip[@]}"
pass_if "train: out of memory: status $status" [ "$status" -eq 2 ]
pass_if "train: out of memory: of what" says 'train: .* [0-9]+ bytes do not fit' err
for fault in launch:30:701 sticky:30:700; do
    with "${fault%:*}" "${trip[@]}"
    pass_if "train: $fault: status $status" [ "$status" -eq 2 ]
    pass_if "train: $fault: the operation and the error" says "train: [a-z_]+: error ${fault##*:} cudaError" err
done

# ---- no GPU ----
for fault in nodriver:'no NVIDIA driver' nodevice:'the driver shows no GPU'; do
    ROOFLINE_EMULATE_FAULT=${fault%%:*} refused "there is cpu and no GPU: ${fault#*:}" "$roofline" bench --device gpu
done

# ---- what is malformed is refused before anything runs ----
for fault in alloc alloc:0 launch:x 'sticky:1 ' nodriver:1 other; do
    ROOFLINE_EMULATE_FAULT=$fault refused "ROOFLINE_EMULATE_FAULT=" "$roofline" list
done
SIMT_ORDER=up refused "SIMT_ORDER='up': it is asc, desc, rand or ahead" "$roofline" list
SIMT_ASYNC=never refused "SIMT_ASYNC='never'" "$roofline" list
SIMT_SEED=-1 refused "SIMT_SEED='-1'" "$roofline" list
ROOFLINE_EMULATE_PTX=nowhere refused "'nowhere' cannot be read" "$roofline" list
mkdir empty
ROOFLINE_EMULATE_PTX=empty refused "no .ptx file in 'empty'" "$roofline" list

# ---- a kernel that the PTX does not have fails its row ----
printf '.version 9.0\n.target sm_90\n.address_size 64\n' >nothing.ptx
ROOFLINE_EMULATE_PTX=nothing.ptx run "${check[@]}"
pass_if "no such kernel: status $status" [ "$status" -eq 1 ]
pass_if "no such kernel: its name" says "the loaded PTX has no '_Z" err

# ---- everything that was allocated is freed ----
run "${check[@]}" --in-process
pass_if "in one process: status $status" [ "$status" -eq 0 ]
pass_if "in one process: nothing leaks" [ ! -s err ]
finish
