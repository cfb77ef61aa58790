#!/usr/bin/env bash
# lint.sh [--require] - layout, static analysis, shell scripts, spelling; a tool that is missing is named and skipped,
# or with --require is a failure. clang-tidy reads how build/clang would compile; nothing is built there but the header
# with the version.
set -u
cd "$(dirname "$0")/.." || exit 1
require=0
[ "${1:-}" != --require ] || require=1
failed=0

fail() {
    echo "lint: $1" >&2
    failed=1
}

# tool NAME: whether it is here.
tool() {
    command -v "$1" >/dev/null && return
    if [ $require = 1 ]; then fail "$1 is not installed"; else echo "lint: no $1, skipped" >&2; fi
    return 1
}

mapfile -t c_files < <(git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp')
mapfile -t sources < <(git ls-files '*.c')
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)

if tool clang-format; then
    clang-format --dry-run -Werror --style=file "${c_files[@]}" || fail "clang-format: 'make format' lays out the sources"
fi
if tool clang && tool clang-tidy; then
    mkdir -p build
    if cmake --preset clang >build/clang.log 2>&1 &&
        cmake --build build/clang --target roofline_version >>build/clang.log 2>&1; then
        # A third of the analyser's usual budget of states a function: it finds the same in this code, in a third of the
        # time. Files that this machine does not build have no compile command.
        budget=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=75000)
        for source in "${sources[@]}"; do
            ! grep -qF "\"$PWD/$source\"" build/clang/compile_commands.json || printf '%s\0' "$source"
        done | xargs -0 -n 1 -P "$(getconf _NPROCESSORS_ONLN)" clang-tidy --quiet -p build/clang \
            "${budget[@]}" 2>/dev/null ||
            fail "clang-tidy"
    else
        cat build/clang.log >&2
        fail "configuration with clang"
    fi
fi
if tool shellcheck; then
    shellcheck -x "${scripts[@]}" || fail "shellcheck"
fi
if tool codespell; then
    git ls-files -z -- ':!results' ':!*.csv' ':!tests/data/account/corpus' | xargs -0 codespell || fail "codespell"
fi
exit $failed
