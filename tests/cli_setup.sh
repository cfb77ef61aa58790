# cli_setup.sh - scripts/setup.sh with made-up package managers: what it would run, as whom, and what it says.
# shellcheck shell=bash disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
unset CC ROOFLINE_NO_INSTALL

# A copy of the script, so that what it remembers stays here; a PATH with the plain tools only.
mkdir -p tree/scripts bin
cp "$SOURCE/scripts/setup.sh" tree/scripts/
for tool in sh bash env sed grep cat mktemp rm mkdir dirname echo printf chmod touch; do
    ln -s "$(command -v $tool)" bin/$tool
done
real_path=$PATH

# fake NAME BODY: a command of the made-up machine.
fake() {
    printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}

# machine MANAGER UID SUDO: nothing installed; SUDO is none, password or free.
machine() {
    rm -rf tree/build log bin/apt-get bin/dnf bin/zypper bin/pacman bin/brew bin/sudo \
        bin/cc bin/gcc bin/gcc-15 bin/cmake bin/make bin/git bin/gnuplot
    touch log
    fake ldconfig 'cat "$FAKES/libraries" 2>/dev/null'
    rm -f libraries
    fake id "echo $2"
    case $3 in
    password) fake sudo 'exit 1' ;;
    free) fake sudo '[ "$1" = -n ] && shift; [ "$1" = true ] && exit 0; echo "sudo $*" >>"$FAKES/log"; exec "$@"' ;;
    esac
    [ "$1" = none ] || fake "$1" "$INSTALLER"
}

# A package manager that logs its arguments, refuses the packages named in $UNKNOWN, and brings the tools.
# shellcheck disable=SC2016  # for the made-up machine's shell
INSTALLER='
echo "${0##*/} $*" >>"$FAKES/log"
for word in "$@"; do
    for unknown in $UNKNOWN; do [ "$word" != "$unknown" ] || exit 1; done
done
bring() { printf "#!/bin/sh\n%s\n" "$2" >"$FAKES/bin/$1"; chmod +x "$FAKES/bin/$1"; }
for word in "$@"; do
    case $word in
    gcc) [ "${0##*/}" = brew ] && bring gcc-15 "exit 0" || bring cc "exit 0" ;;
    cmake) bring cmake "echo cmake version ${CMAKE_VERSION:-3.25.1}" ;;
    make) bring make "exit 0" ;;
    git) bring git "exit 0" ;;
    gnuplot | gnuplot-nox) bring gnuplot "exit 0" ;;
    *jansson*) echo "libjansson.so.4 => x" >>"$FAKES/libraries" ;;
    *openblas*) echo "libopenblas.so.0 => x" >>"$FAKES/libraries" ;;
    *blis*) echo "libblis.so.4 => x" >>"$FAKES/libraries" ;;
    *dnnl* | onednn*) echo "libdnnl.so.2 => x" >>"$FAKES/libraries" ;;
    esac
done'

setup() { run env PATH="$PWD/bin" FAKES="$PWD" UNKNOWN="${UNKNOWN:-}" CMAKE_VERSION="${CMAKE_VERSION:-}" sh tree/scripts/setup.sh "$@"; }
logged() { printf '%s\n' "$@" | cmp -s - log || { sed 's/^/    ran: /' log >&2; false; }; }
says() { grep -qF -- "$1" err; }

# ---- every manager, everything missing ----
machine apt-get 0 none
setup
pass_if "apt as root: status $status" [ "$status" -eq 0 ]
pass_if "apt as root" logged 'apt-get update -qq' \
    'apt-get install -y --no-install-recommends gcc libc6-dev cmake make libjansson-dev' \
    'apt-get install -y --no-install-recommends git gnuplot-nox fonts-dejavu-core libopenblas0-pthread libblis4-openmp libdnnl-dev'
: >log
setup
pass_if "nothing is run when nothing is missing" [ ! -s log ]
pass_if "nothing is said either" [ ! -s err ]

machine apt-get 1000 free
setup
pass_if "apt by sudo" logged 'sudo apt-get update -qq' 'apt-get update -qq' \
    'sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev cmake make libjansson-dev' \
    'apt-get install -y --no-install-recommends gcc libc6-dev cmake make libjansson-dev' \
    'sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git gnuplot-nox fonts-dejavu-core libopenblas0-pthread libblis4-openmp libdnnl-dev' \
    'apt-get install -y --no-install-recommends git gnuplot-nox fonts-dejavu-core libopenblas0-pthread libblis4-openmp libdnnl-dev'

machine dnf 0 none
setup
pass_if "dnf" logged 'dnf install -y gcc cmake make jansson-devel' \
    'dnf install -y git gnuplot dejavu-sans-fonts openblas-threads blis-openmp onednn-devel'

machine zypper 0 none
setup
pass_if "zypper" logged 'zypper --non-interactive install --no-recommends gcc cmake make libjansson-devel' \
    'zypper --non-interactive install --no-recommends git gnuplot dejavu-fonts libopenblas_pthreads0 onednn-devel'

machine pacman 0 none
setup
pass_if "pacman" logged 'pacman -S --needed --noconfirm gcc cmake make jansson' \
    'pacman -S --needed --noconfirm git gnuplot ttf-dejavu openblas onednn'

machine brew 501 none
setup
pass_if "brew: status $status" [ "$status" -eq 0 ]
pass_if "brew" logged 'brew install gcc cmake make jansson' 'brew install git gnuplot openblas blis onednn'
pass_if "brew: says which compiler" says 'CC=gcc-15'

# ---- may not, told not to, cannot ----
for sudo in none password; do
    machine apt-get 1000 $sudo
    setup
    pass_if "sudo $sudo: status $status" [ "$status" -eq 1 ]
    pass_if "sudo $sudo: nothing is run" [ ! -s log ]
    pass_if "sudo $sudo: says the command" says 'sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev cmake make libjansson-dev git'
    pass_if "sudo $sudo: says what is required" says 'required, and not here: a C11 compiler with OpenMP, CMake 3.25 or newer, make, jansson'
done
machine brew 0 none
setup
pass_if "brew as root: nothing is run" [ ! -s log ]

machine apt-get 0 none
setup --no-install
pass_if "--no-install: status $status" [ "$status" -eq 1 ]
pass_if "--no-install: nothing is run" [ ! -s log ]
pass_if "--no-install: says the command" says 'apt-get install -y --no-install-recommends gcc libc6-dev cmake make libjansson-dev git'
ROOFLINE_NO_INSTALL=1 setup
pass_if "ROOFLINE_NO_INSTALL=1: nothing is run" [ ! -s log ]

setup --dry-run
pass_if "--dry-run: status $status" [ "$status" -eq 0 ]
pass_if "--dry-run: nothing is run" [ ! -s log ]
pass_if "--dry-run: says the command" says 'running: env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev cmake make libjansson-dev'

machine none 0 none
setup
pass_if "no manager: status $status" [ "$status" -eq 1 ]
pass_if "no manager: says so" says 'by hand'

# ---- a package that the distribution lacks; an old CMake ----
machine apt-get 0 none
UNKNOWN=libblis4-openmp setup
pass_if "unknown package: status $status" [ "$status" -eq 0 ]
pass_if "unknown package: the others are tried one by one" grep -qx 'apt-get install -y --no-install-recommends libdnnl-dev' log
pass_if "unknown package: says so" says "no package 'libblis4-openmp' to be had"
pass_if "unknown package: goes on" says 'going on without: blis'
: >log
UNKNOWN=libblis4-openmp setup --once
pass_if "--once: not asked again" [ ! -s log ]
UNKNOWN=libblis4-openmp setup
pass_if "asked again without --once" [ -s log ]

machine dnf 0 none
CMAKE_VERSION=3.18.4 setup
pass_if "CMake 3.18: status $status" [ "$status" -eq 1 ]
pass_if "CMake 3.18: says so" says 'required, and not here: CMake 3.25 or newer'
machine dnf 0 none
CMAKE_VERSION=4.0.2 setup
pass_if "CMake 4.0: status $status" [ "$status" -eq 0 ]

# ---- options ----
refused "unknown option '--frobnicate'" env PATH="$PWD/bin" sh tree/scripts/setup.sh --frobnicate
setup --help
pass_if "--help: status $status" [ "$status" -eq 0 ]
pass_if "--help" grep -q '^Usage: scripts/setup.sh' out

PATH=$real_path
finish
