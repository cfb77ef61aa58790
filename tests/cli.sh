# cli.sh - what test scripts share; to be sourced. Each ends with `finish`.
# shellcheck shell=bash
set -u
failures=0
checks=0

# pass_if DESCRIPTION COMMAND...: counts a failure when the command fails.
pass_if() {
    checks=$((checks + 1))
    if ! "${@:2}"; then
        failures=$((failures + 1))
        echo "FAILED: $1" >&2
        [ ! -s err ] || sed 's/^/    err: /' err >&2
    fi
}

# run COMMAND...: stdout to ./out, stderr to ./err, exit status to $status.
run() {
    status=0
    "$@" >out 2>err </dev/null || status=$?
}

# shellcheck disable=SC2317,SC2329  # called through pass_if
one_line() { [ "$(wc -l <"$1")" -eq 1 ]; }

# refused PATTERN COMMAND...: exit status 2, nothing on stdout, one line on stderr that matches PATTERN.
refused() {
    run "${@:2}"
    pass_if "exit status $status, not 2: ${*:2}" [ "$status" -eq 2 ]
    pass_if "not one line on stderr: ${*:2}" one_line err
    pass_if "stderr does not match '$1': ${*:2}" grep -qE -- "$1" err
    pass_if "stdout is not empty: ${*:2}" [ ! -s out ]
}

finish() {
    echo "$checks checks, $failures failed"
    [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
    exit
}
