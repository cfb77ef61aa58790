# cli_run_all.sh - run_all.sh around a made-up program: options, order of the steps, exit statuses, how to resume.
# shellcheck shell=bash disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"

# Logs its arguments; exits with STATUS_<command>; a command named in $HANG waits to be interrupted.
mkdir "a place"
cat >"a place/roofline" <<'END'
#!/usr/bin/env bash
echo "$*" >>"$LOG"
command=$1
if [ "$command" = "${HANG:-}" ]; then
    trap 'exit 130' INT
    kill -INT "$PPID"    # as a terminal does to the whole group
    exit 130
fi
[ "$command $2" != 'devices --slug' ] || echo made-up
[ "$command" != summary ] || echo findings
if [ "$command" = plot ]; then mkdir -p "$2/charts" && touch "$2/charts/roofline.png"; fi
status=STATUS_$command
exit "${!status:-0}"
END
chmod +x "a place/roofline"
export ROOFLINE="$PWD/a place/roofline" LOG="$PWD/log"
all=$SOURCE/run_all.sh

# logged STEP...: what was run, training's steps apart.
logged() { printf '%s\n' "$@" | cmp -s - <(grep -v -e ^train -e ^tokens -e '^devices --slug' log) || { sed 's/^/    ran: /' log >&2; false; }; }

# ---- options ----
run "$all" --help
pass_if "--help: status $status" [ "$status" -eq 0 ]
pass_if "--help" grep -q '^Usage: ./run_all.sh' out
refused "unknown option '--smok'" "$all" --smok
refused "unknown option 'x'" "$all" x
refused "option '--out' needs a value" "$all" --out
refused "option '--threads' needs a value" "$all" --threads ''
refused "nothing to resume: 'nowhere'" "$all" --resume nowhere
touch file
refused "cannot write 'file/x'" "$all" --out file/x
pass_if "nothing was run" [ ! -e log ]

# ---- steps ----
run "$all" --smoke --out "my run" --threads 1,all
pass_if "status $status" [ "$status" -eq 0 ]
pass_if "steps" logged 'peaks --effort smoke --out my run --threads 1,all' \
    'bench --effort smoke --out my run --threads 1,all' 'plot my run' 'report my run' 'summary my run'
pass_if "training: plain, in parts, with checkpointing, on text" \
    [ "$(grep -cE '^train --out my run .*(--steps 8|--micro-batches 4|--checkpoint sqrt|--data my run/text.bin --steps 60)$' log)" -eq 4 ]
pass_if "training comes before the charts" [ "$(grep -n '^train' log | tail -1 | cut -d: -f1)" -lt "$(grep -n '^plot' log | cut -d: -f1)" ]
pass_if "findings are on stdout" grep -qx findings out
pass_if "so are the pictures" grep -qx 'my run/charts/roofline.png' out
pass_if "so is the report" grep -qx 'my run/report.html' out

rm log
run "$all" --full --resume "my run"
pass_if "resume" logged 'peaks --effort full --out my run --resume' 'bench --effort full --out my run --resume' \
    'claims --out my run' 'plot my run' 'report my run' 'summary my run'

rm log
echo once >"my run/claims.csv"
run "$all" --resume "my run"
pass_if "claims are not measured again" logged 'peaks --effort default --out my run --resume' \
    'bench --effort default --out my run --resume' 'plot my run' 'report my run' 'summary my run'

# ---- exit statuses ----
rm log
STATUS_bench=1 run "$all" --out run
pass_if "wrong rows: status $status" [ "$status" -eq 1 ]
pass_if "wrong rows: the findings still come" grep -qx findings out
rm log
STATUS_peaks=2 run "$all" --out run
pass_if "an unusable environment: status $status" [ "$status" -eq 2 ]
pass_if "an unusable environment: ends the run" logged 'peaks --effort default --out run'

# ---- interrupted ----
rm log
HANG=bench run "$all" --smoke --out "my run"
pass_if "interrupted: status $status" [ "$status" -eq 130 ]
pass_if "interrupted: says how to go on" grep -qF -- '--smoke --resume my\ run' err
pass_if "interrupted: nothing is run after it" logged 'peaks --effort smoke --out my run' 'bench --effort smoke --out my run'

# ---- the default place ----
cp "$all" "a place/run_all.sh"
for suffix in '' -2 -3; do
    rm -f log
    run "a place/run_all.sh" --smoke
    pass_if "default place: status $status" [ "$status" -eq 0 ]
    place="a place/results/made-up/$(date +%Y-%m-%d)-nogit$suffix"
    pass_if "no run is overwritten: $place" [ -d "$place" ]
done
finish
