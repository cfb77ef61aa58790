# cli_train.sh - training as a user meets it: MISSION's figures, files, refusals, a text, and being killed.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
export OMP_WAIT_POLICY=passive # threads that share CPUs with other tests are not to spin

# field FILE NAME: a column's values, a line each.
# shellcheck disable=SC2317,SC2329  # called in a substitution
field() { awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR > 1 { print $at }' "$1"; }

# ---- the lecture's network ----
toy=(train --dim 4 --layers 3 --batch 2 --dtype bf16 --optimizer adagrad --steps 3)
run "$roofline" "${toy[@]}"
pass_if "toy: status $status" [ "$status" -eq 0 ]
pass_if "toy: 432 bytes, predicted and measured" grep -qE '^sum of these +432 B +432 B$' out
pass_if "toy: 576 FLOPs" grep -q '6 N rows = 576$' out
pass_if "toy: nothing is unexplained" grep -q 'unexplained: 0 B' out
pass_if "toy: three steps" [ "$(grep -c '^step [123]  loss' out)" -eq 3 ]
run "$roofline" "${toy[@]}" --dry-run
pass_if "dry run: 432 bytes" grep -qE '^sum of these +432 B *$' out
pass_if "dry run: no step is made" [ "$(grep -c '^step' out)" -eq 0 ]
run "$roofline" train --dim 1024 --layers 16 --batch 64 --dtype bf16 --micro-batches 4 --dry-run
pass_if "four micro-batches: 512 KiB of activations" grep -qE '^activations +512 KiB' out
run "$roofline" train --dim 64 --layers 9 --batch 8 --checkpoint sqrt --dry-run
pass_if "checkpointing: 8 N rows" grep -q 'recomputed, 8 N rows' out

# ---- what it refuses ----
refused "there is no|unknown|'abacus'" "$roofline" train --device abacus
for number in 0 -1 1.5 x nan 99999999999999999999 ''; do
    refused "--dim" "$roofline" train --dim "$number"
    refused "--steps" "$roofline" train --steps "$number"
    refused "--micro-batches" "$roofline" train --micro-batches "$number"
done
refused "'fp7'" "$roofline" train --dtype fp7
refused "'lion'" "$roofline" train --optimizer lion
refused "--checkpoint 'some'" "$roofline" train --checkpoint some
refused "--checkpoint '9'" "$roofline" train --layers 4 --checkpoint 9
refused "--loss-scale" "$roofline" train --loss-scale -3
refused "micro-batches are equal parts" "$roofline" train --batch 10 --micro-batches 3
refused "mean over micro-batches" "$roofline" train --loss mean --micro-batches 2
refused "master copy" "$roofline" train --dtype fp32 --master
refused "this device has no kernel for matmul in tf32" "$roofline" train --device cpu --dtype tf32 --dim 16 --batch 16
refused "--resume needs --save" "$roofline" train --resume
refused "--save-every needs --save" "$roofline" train --save-every 10
refused "--target is of --loss mean" "$roofline" train --target 3
refused "more bytes than can be counted" "$roofline" train --dim 2147483648 --layers 65536 --dry-run
refused "more bytes than can be counted" "$roofline" train --dim 1048576 --layers 65536 --batch 2147483648 --dry-run
refused "need --data" "$roofline" train --vocab 100
refused "'nowhere': No such file" "$roofline" train --data nowhere
refused "unexpected argument 'more'" "$roofline" train more
printf 'abc' >odd
refused "'odd': no file of uint16 tokens" "$roofline" train --data odd
head -c 1000 "$SOURCE/README.md" >prose
refused "'prose' is text" "$roofline" train --data prose
printf 'abcd' >short
refused "'short' has 2 tokens" "$roofline" train --data short
refused "--vocab 100: 'short' has token" "$roofline" train --data short --vocab 100 --seq 1
refused "-o FILE is missing" "$roofline" tokens odd
refused "no text file" "$roofline" tokens -o some
refused "'nowhere'" "$roofline" tokens nowhere -o some
pass_if "tokens: no file is left" [ ! -e some ]
refused "'odd' would be written over" "$roofline" tokens short odd -o ./odd
pass_if "tokens: the text is as it was" [ "$(cat odd)" = abc ]
run "$roofline" train --dim 1000000 --layers 100 --batch 1 --steps 1
pass_if "more than fits: status $status" [ "$status" -eq 2 ]
pass_if "more than fits: one line that says what" [ "$(grep -c 'do not fit' err)" -eq 1 ]
touch file
run "$roofline" train --dim 16 --batch 16 --steps 1 --out file
pass_if "--out file: status $status" [ "$status" -eq 2 ]
run "$roofline" train --dim 16 --batch 16 --steps 1 --save nowhere/x
pass_if "--save nowhere/x: says so, before it trains" grep -q "cannot write checkpoint 'nowhere/x'" err
pass_if "--save nowhere/x: status $status, no step" [ "$status$(grep -c '^step' out)" = 20 ]

# ---- files ----
small=(train --dim 32 --layers 2 --batch 32 --threads 1 --quiet)
run "$roofline" "${small[@]}" --steps 6 --out run --grad-norm
pass_if "--out: status $status" [ "$status" -eq 0 ]
pass_if "train.csv: four phases" [ "$(field run/train.csv phase | tr '\n' ' ')" = 'forward backward optimizer step ' ]
pass_if "train.csv: 2, 4, 6 N rows" [ "$(field run/train.csv formula_flops | tr '\n' ' ')" = '131072 262144 0 393216 ' ]
pass_if "memory.csv: formulas and ledger agree" [ "$(field run/memory.csv predicted_bytes | head -4)" = "$(field run/memory.csv measured_bytes | head -4)" ]
pass_if "loss.csv: six steps with gradients" [ "$(field run/loss.csv grad_norm | grep -cE '^[0-9.e-]+$')" -eq 6 ]
run "$roofline" "${small[@]}" --steps 6 --out run
pass_if "the same again takes the old rows' place" [ "$(wc -l <run/train.csv)" -eq 5 ]
"$roofline" "${small[@]}" --steps 1000000000 --out run --save killed --save-every 10 >out 2>err &
victim=$!
for _ in $(seq 100); do
    if [ -e killed ]; then break; fi
    sleep 0.1
done
kill -KILL $victim
wait $victim 2>kill.err
pass_if "a killed run leaves times that were measured" [ "$(field run/train.csv time_s | grep -cE '^[0-9.e-]*[1-9]')" -eq 4 ]
run "$roofline" "${small[@]}" --steps 6 --optimizer sgd --out run
pass_if "another optimizer is added" [ "$(wc -l <run/train.csv)" -eq 9 ]
overflows=("${small[@]}" --dtype fp16 --loss mean --target 1000 --steps 20)
run "$roofline" "${overflows[@]}" --out scaled
skips=$(field scaled/loss.csv skipped | grep -c 1)
pass_if "$skips of 20 steps are skipped and counted" grep -q "^$skips of 20 steps updated nothing" out
pass_if "some are" [ "$skips" -gt 3 ]
pass_if "and not among the times" [ "$(field scaled/train.csv samples | uniq)" = $((20 - skips)) ]
echo 'a,b' >run/loss.csv
run "$roofline" "${small[@]}" --steps 1 --out run
pass_if "a file of other columns is left alone" [ "$(cat run/loss.csv)" = 'a,b' ]
pass_if "a file of other columns: status $status" [ "$status" -eq 2 ]

# ---- a text ----
run "$roofline" tokens "$SOURCE/README.md" "$SOURCE/CONTRIBUTING.md" -o text.bin
pass_if "tokens: status $status" [ "$status" -eq 0 ]
bytes=$(cat "$SOURCE/README.md" "$SOURCE/CONTRIBUTING.md" | wc -c)
pass_if "tokens: two bytes each" [ "$(wc -c <text.bin)" -eq $((2 * bytes)) ]
text=(train --data text.bin --dim 64 --layers 1 --batch 8 --seq 64 --lr 0.003 --threads 1 --quiet)
run "$roofline" "${text[@]}" --steps 250 --out text
pass_if "text: status $status" [ "$status" -eq 0 ]
# ln 256 = 5.545: knowing nothing
pass_if "text: the loss ends well below ln V: $(field text/loss.csv loss | tail -1)" \
    [ "$(field text/loss.csv loss | tail -1 | awk '{ print ($1 < 3.6) }')" -eq 1 ]
pass_if "text: both are printed" grep -q 'ln V = 5.5452' out

run "$roofline" "${text[@]}" --optimizer sgd --lr 1e5 --steps 30 --save diverged
pass_if "diverged: status $status" [ "$status" -eq 1 ]
pass_if "diverged: what is no number is not saved" [ ! -e diverged ]

# ---- killed at any moment ----
trip=("${text[@]}" --steps 40 --dtype bf16 --master --clip 1)
run "$roofline" "${trip[@]}" --out whole
kills=0
for attempt in $(seq 1 60); do
    "$roofline" "${trip[@]}" --out parts --save state --save-every 1 --resume >out 2>err &
    victim=$!
    sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
    if kill -KILL $victim 2>kill.err; then kills=$((kills + 1)); fi
    wait $victim 2>kill.err
    if [ -e state ]; then
        run "$roofline" account inspect state
        pass_if "kill $attempt: the checkpoint is whole" [ "$status" -eq 0 ]
    fi
    [ $kills -lt 10 ] || break
    # started over where nothing is left to kill, until there were ten
    [ "$(field parts/loss.csv step 2>kill.err | tail -1)" = 40 ] && rm -rf state parts
done
pass_if "killed ten times: $kills" [ $kills -ge 10 ]
run "$roofline" "${trip[@]}" --out parts --save state --save-every 1 --resume
pass_if "after all: status $status" [ "$status" -eq 0 ]
cut -d, -f3-7 whole/loss.csv >want
cut -d, -f3-7 parts/loss.csv >got
pass_if "the losses are those of the run that nobody killed" cmp -s want got
run "$roofline" "${trip[@]}" --save state --resume
pass_if "nothing left to do" grep -q 'nothing left to do' out

# ---- checkpoints that are not its own ----
cp state torn && truncate -s -7 torn
refused "checkpoint torn" "$roofline" "${trip[@]}" --save torn --resume
sed 's/"step":"40"/"step":"48"/' state >turned
pass_if "turned: another step" [ "$(cmp -l state turned | wc -l)" -eq 1 ]
refused "torn or damaged" "$roofline" "${trip[@]}" --save turned --resume
printf 'junk' >junk
refused "checkpoint junk" "$roofline" "${trip[@]}" --save junk --resume
cp state other
refused "of another model" "$roofline" "${trip[@]}" --dim 32 --save other --resume
refused "another --seed" "$roofline" "${trip[@]}" --seed 7 --save other --resume
"$roofline" tokens "$SOURCE/README.md" -o else.bin >out
refused "another --seq" "$roofline" "${trip[@]}" --batch 16 --seq 32 --save other --resume
refused "on other data" "$roofline" "${trip[@]}" --data else.bin --save other --resume
pass_if "what is refused is kept" cmp -s state other

# ---- interrupted: the step is finished, the state saved ----
"$roofline" "${text[@]}" --steps 1000000 --save stopped >out 2>err &
victim=$!
sleep 0.7
kill -TERM $victim
wait $victim
ended=$?
pass_if "SIGTERM: status $ended" [ $ended -eq 130 ]
run "$roofline" account inspect stopped
pass_if "SIGTERM: a checkpoint is there" [ "$status" -eq 0 ]
finish
