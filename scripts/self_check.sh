#!/bin/sh
# self_check.sh PROGRAM [--if-stale] - verifies every kernel that can run here on small odd shapes.
# With --if-stale only if this program was not verified since it was built.
set -eu
program=$1
stamp=$(dirname "$program")/self-checked
if [ "${2:-}" = --if-stale ] && [ -f "$stamp" ] && [ -n "$(find "$stamp" -newer "$program")" ]; then exit 0; fi
rm -f "$stamp"
# small problems: threads that wait asleep do not disturb each other
OMP_WAIT_POLICY=passive "$program" bench --check --device cpu
if "$program" devices --device gpu >/dev/null 2>&1; then "$program" bench --check --device gpu; fi
touch "$stamp"
