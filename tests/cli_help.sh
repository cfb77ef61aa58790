# cli_help.sh - every command describes itself; what is no option is refused in one line.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?}

run "$roofline" --help
pass_if "--help: status $status" [ "$status" -eq 0 ]
pass_if "--help: on stdout only" [ ! -s err ]
mapfile -t commands < <(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' out)
pass_if "--help names commands" [ "${#commands[@]}" -ge 5 ]

for command in "${commands[@]}"; do
    for help in --help -h; do
        run "$roofline" "$command" $help
        pass_if "$command $help: status $status" [ "$status" -eq 0 ]
        pass_if "$command $help: usage on stdout" grep -q "^Usage: roofline $command" out
        pass_if "$command $help: stderr is empty" [ ! -s err ]
        pass_if "$command $help: fits 120 columns" [ "$(awk 'length > 120' out | wc -l)" -eq 0 ]
    done
    refused '(unrecognized|unknown) option.*--frobnicate' "$roofline" "$command" --frobnicate
done
for command in devices list peaks bench; do
    refused "unexpected argument 'extra'" "$roofline" "$command" extra
done

run "$roofline" --version
pass_if "--version: status $status" [ "$status" -eq 0 ]
pass_if "--version" grep -qE '^roofline [0-9]+\.[0-9]+\.[0-9]+ \(.+\)$' out
refused "unknown command 'nonsense'" "$roofline" nonsense
run "$roofline"
pass_if "no command: status $status" [ "$status" -eq 2 ]
pass_if "no command: usage on stderr" grep -q '^Usage:' err
finish
