# cli_claims.sh - claims on the CPU: forms of the answer, what is refused; verdicts only of what no clock decides.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}
claims=("$roofline" claims --device cpu --quiet)

# ---- without a clock ----
exact=accumulation,adamw-bytes,view,fp16-1e-8,bf16-1e-8,bf16-1.001
run "${claims[@]}" --only "$exact" --format csv
pass_if "exact claims: status $status" [ "$status" -eq 0 ]
pass_if "exact claims: stderr is empty" [ ! -s err ]
pass_if "columns" [ "$(head -n 1 out)" = device,threads,claim,verdict,says,quantity,predicted,measured,holds_if,model,why ]
pass_if "a row a claim" [ "$(wc -l <out)" -eq 7 ]
pass_if "all of them hold" [ "$(grep -c ',"holds",' out)" -eq 6 ]
run "${claims[@]}" --only pinned,fp32-10x
pass_if "of a GPU: status $status" [ "$status" -eq 0 ]
pass_if "of a GPU: the CPU says why not" grep -q 'a CPU has no tensor cores' out
pass_if "of a GPU: counted" grep -q 'of 2 claims 0 hold, 0 do not hold here, 2 can.t be tested here' out
pass_if "fits 120 columns" [ "$(awk 'length > 120' out | wc -l)" -eq 0 ]
run "${claims[@]}" --only fp16-1e-8,view --format json
pass_if "json: status $status" [ "$status" -eq 0 ]
pass_if "json: braces match" [ "$(tr -dc '{' <out | wc -c)" -eq "$(tr -dc '}' <out | wc -c)" ]
pass_if "json: both, in the order of the list" [ "$(grep -o '"claim": "[^"]*"' out | tr -d '\n')" = \
    '"claim": "view""claim": "fp16-1e-8"' ]

# ---- with one ----
run "${claims[@]}" --only dot,backward --time 0.01 --format csv --out "a run"
pass_if "measured: status $status" [ "$status" -eq 0 ]
pass_if "measured: a verdict each" [ "$(grep -cE ',"(holds|does not hold here|can.t be tested here)",' out)" -eq 2 ]
pass_if "--out: claims.csv is what stdout has" cmp -s out "a run/claims.csv"
pass_if "--out: run.json says by what" grep -q '"claims"' "a run/run.json"
run "${claims[@]}" --only view --out "a run"
pass_if "--out again: replaced" [ "$(wc -l <"a run/claims.csv")" -eq 2 ]
pass_if "--out again: the table is on stdout" grep -q '^view  *holds' out
run "${claims[@]}" --only dot --threads all --time 0.01
pass_if "--threads all: status $status" [ "$status" -eq 0 ]

# ---- refusals ----
refused "unknown claim 'nope'; 'roofline claims --help'" "$roofline" claims --only nope
refused "unknown claim 'nope'" "$roofline" claims --only dot,nope
refused "unknown claim ''" "$roofline" claims --only ,dot
refused "--only needs a claim" "$roofline" claims --only ''
refused "--format 'xml': one of table csv json" "$roofline" claims --format xml
refused "'abacus'" "$roofline" claims --device abacus
refused "--threads '1,all': one number|a number" "$roofline" claims --device cpu --threads 1,1000000
refused "--threads '0'" "$roofline" claims --device cpu --threads 0
refused "--time 'x'" "$roofline" claims --time x
refused "unexpected argument 'extra'" "$roofline" claims extra
touch file
refused "cannot make directory 'file/x'" "${claims[@]}" --only view --out file/x
mkdir -p folder/claims.csv
run "${claims[@]}" --only view --out folder
pass_if "claims.csv is a folder: status $status" [ "$status" -eq 2 ]
pass_if "claims.csv is a folder: says so" grep -q "cannot write 'folder/claims.csv'" err

# ---- the help's example, but for its time ----
run "$roofline" claims --help
example=$(sed -n '/^Example:/,$ s/^  roofline claims //p' out)
pass_if "--help has an example" [ -n "$example" ]
# shellcheck disable=SC2086  # words of a command line
run "${claims[@]}" $example --time 0.01
pass_if "the example: status $status" [ "$status" -eq 0 ]
pass_if "the example: three claims" grep -q 'of 3 claims' out
finish
