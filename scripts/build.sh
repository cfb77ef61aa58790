#!/bin/sh
# build.sh PRESET [CMAKE-OPTION...] - configures and builds build/PRESET, on all CPUs; prints only what matters.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
cache=build/$preset/CMakeCache.txt
# A checkout that was moved or copied brings a cache of its old place.
if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd)" "$cache" &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$cache"; then
    set -- --fresh "$@"
fi
cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
log=build/$preset.log
mkdir -p build
# a make above this one must not share its job slots: cmake brings its own
unset MAKEFLAGS MAKELEVEL MFLAGS
if ! { cmake --preset "$preset" "$@" && cmake --build --preset "$preset" --parallel "$cpus"; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "build: failed; the log above is $log" >&2
    exit 1
fi
grep -A 3 'warning:' "$log" >&2 || true
