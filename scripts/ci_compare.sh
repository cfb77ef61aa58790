#!/usr/bin/env bash
# ci_compare.sh [options] [BASE] [-- BENCH-OPTIONS] - is this checkout slower than BASE? Builds both, measures them in turns on
# this machine, compares; exit status 1 fails a pull request.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

usage() {
    cat <<'END'
Usage: scripts/ci_compare.sh [options] [BASE] [-- BENCH-OPTIONS]

Builds BASE (a commit or branch; default: where this branch left origin/main, or HEAD~1) and this checkout, runs both several
times in turns, and compares all runs of the one with all of the other.

  --runs N              of each (default: 5)
  --threshold PERCENT   a change up to this is none (default: compare's)
  --out DIR             where runs and the table go (default: build/ci-compare)
  --allow-undecidable   exit 0 where noise hides the answer
  --help                this text

BENCH-OPTIONS say what is measured (default: a small set of each kind, fp32, one thread).
The table in Markdown goes to DIR/summary.md and, on GitHub Actions, into the job's summary.
ROOFLINE_BASE and ROOFLINE_HEAD in the environment name programs that are built already.
Exit status: 0 no regression; 1 a row is slower or no longer works; 2 undecidable, or usage or environment.
END
}

refuse() {
    echo "ci_compare: $1" >&2
    exit 2
}

runs=5 out='' allow=0 base='' compare_options=()
while [ $# -gt 0 ]; do
    case $1 in
    --runs | --threshold | --out)
        [ -n "${2:-}" ] || refuse "option '$1' needs a value"
        case $1 in
        --runs) runs=$2 ;;
        --threshold) compare_options+=(--threshold "$2") ;;
        *) out=$2 ;;
        esac
        shift
        ;;
    --allow-undecidable) allow=1 ;;
    --help | -h) usage && exit 0 ;;
    --) shift && break ;;
    -*) refuse "unknown option '$1'; --help lists them" ;;
    *) [ -z "$base" ] || refuse "two bases: '$base' and '$1'"; base=$1 ;;
    esac
    shift
done
[[ $runs =~ ^[1-9][0-9]?$ ]] || refuse "--runs '$runs': a number from 1 to 99"
out=${out:-$here/build/ci-compare}
# Elementwise, reduction, rows and product; each large enough to last, small enough for minutes.
default_bench=(--op 'triad,gelu,dot,softmax,matmul' --dtype fp32 --impl best --threads 1 --effort smoke --time 0.2)
if [ $# -gt 0 ]; then bench=("$@"); else bench=("${default_bench[@]}"); fi

# ---- two programs ----
# build FOLDER OF-SOURCES FOLDER-TO-BUILD-IN
build() {
    if ! { cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release &&
        cmake --build "$2" --target roofline -j "$(getconf _NPROCESSORS_ONLN)"; } >"$2.log" 2>&1; then
        tail -n 20 "$2.log" >&2
        refuse "cannot build '$1'"
    fi
}

mkdir -p "$out"
out=$(cd "$out" && pwd)
turns=$out/turns # a folder of our own: DIR may hold other things
rm -rf "$turns"
mkdir "$turns"
if [ -z "${ROOFLINE_BASE:-}" ]; then
    cd "$here"
    base=${base:-$(git merge-base HEAD origin/main 2>/dev/null || echo HEAD~1)}
    commit=$(git rev-parse --verify --quiet "$base^{commit}") || refuse "no commit '$base'"
    sources=$out/base-sources
    git worktree remove --force "$sources" 2>/dev/null || rm -rf "$sources"
    git worktree prune
    git worktree add --quiet --detach "$sources" "$commit" || refuse "cannot check out '$base'"
    trap 'git -C "$here" worktree remove --force "$sources"' EXIT
    build "$sources" "$out/base-build"
    ROOFLINE_BASE=$out/base-build/roofline
fi
if [ -z "${ROOFLINE_HEAD:-}" ]; then
    build "$here" "$out/head-build"
    ROOFLINE_HEAD=$out/head-build/roofline
fi

# ---- in turns: what drifts over time falls on both alike ----
# measure PROGRAM FOLDER: a kernel that fails is a row, and the comparison's business
measure() {
    local status=0
    "$1" bench "${bench[@]}" --quiet --out "$2" >/dev/null || status=$?
    [ $status -le 1 ] || refuse "'$1 bench ${bench[*]}' ended with status $status"
}
a='' b=''
for ((i = 1; i <= runs; i++)); do
    echo "run $i of $runs"
    if ((i % 2)); then
        measure "$ROOFLINE_BASE" "$turns/a$i" && measure "$ROOFLINE_HEAD" "$turns/b$i"
    else
        measure "$ROOFLINE_HEAD" "$turns/b$i" && measure "$ROOFLINE_BASE" "$turns/a$i"
    fi
    a+=,$turns/a$i b+=,$turns/b$i
done

# ---- the answer: by this checkout's program ----
status=0
"$ROOFLINE_HEAD" compare "${a#,}" "${b#,}" "${compare_options[@]}" || status=$?
"$ROOFLINE_HEAD" compare "${a#,}" "${b#,}" "${compare_options[@]}" --format md --all -o "$out/summary.md" || true
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
if [ $status = 2 ] && [ $allow = 1 ] && grep -q '^\*\*B is undecidable' "$out/summary.md"; then
    echo "undecidable, which --allow-undecidable lets pass"
    status=0
fi
exit $status
