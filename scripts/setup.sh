#!/bin/sh
# setup.sh - installs what the suite needs and does not find, by the system's package manager.
# Required: a C11 compiler with OpenMP, CMake >= 3.25, make, jansson. The rest is optional and left out when it can't be had.
set -u
LC_ALL=C
export LC_ALL

usage() {
    cat <<'END'
Usage: scripts/setup.sh [options]

Looks for what the suite needs and installs what is missing through apt, dnf, zypper, pacman or brew, as root or
by sudo where sudo asks for no password. Otherwise it prints the command and goes on without the optional parts.

Required   C11 compiler with OpenMP, CMake 3.25 or newer, make, jansson (JSON)
Optional   git (commits in results), gnuplot (charts), OpenBLAS, BLIS, oneDNN (vendor rows beside ours)

  --no-install   install nothing (also: ROOFLINE_NO_INSTALL=1 in the environment)
  --dry-run      print what would be run, run nothing
  --once         don't ask the package manager again for optional parts that it could not provide before
  --help         this text

Exit status: 0 the required parts are here; 1 they are not; 2 a bad option.
END
}

install=1 dry_run=0 once=0
[ "${ROOFLINE_NO_INSTALL:-0}" = 0 ] || install=0
for option in "$@"; do
    case $option in
    --no-install) install=0 ;;
    --dry-run) dry_run=1 ;;
    --once) once=1 ;;
    --help | -h) usage && exit 0 ;;
    *)
        echo "setup: unknown option '$option'; scripts/setup.sh --help lists them" >&2
        exit 2
        ;;
    esac
done

have() { command -v "$1" >/dev/null 2>&1; }
say() { echo "setup: $*" >&2; }

# ---- what is here ----

# Prints the first C compiler that builds an OpenMP program.
find_compiler() {
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/roofline-setup-XXXXXX") || return 1
    printf '#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n' >"$scratch/omp.c"
    found=1
    for compiler in ${CC:+"$CC"} cc gcc clang gcc-15 gcc-14 gcc-13; do
        have "$compiler" || continue
        if "$compiler" -std=c11 -fopenmp "$scratch/omp.c" -o "$scratch/omp" 2>/dev/null; then
            echo "$compiler"
            found=0
            break
        fi
    done
    rm -rf "$scratch"
    return $found
}

has_cmake() {
    have cmake || return 1
    version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    # shellcheck disable=SC2086  # two numbers
    set -- $version
    [ "${1:-0}" -gt 3 ] || { [ "${1:-0}" -eq 3 ] && [ "${2:-0}" -ge 25 ]; }
}

# has_library NAME...: the loader knows lib<NAME>.so.
has_library() {
    for name in "$@"; do
        PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -q "lib$name\.so" && return 0
        for folder in /opt/homebrew/lib /usr/local/lib /opt/homebrew/opt/"$name"/lib /usr/local/opt/"$name"/lib; do
            [ -e "$folder/lib$name.dylib" ] && return 0
        done
    done
    return 1
}

has_onednn() {
    has_library dnnl && [ -n "$compiler_found" ] || return 1
    echo '#include <oneapi/dnnl/dnnl.h>' | "$compiler_found" -E -x c - >/dev/null 2>&1
}

# The library with its header, which some systems package apart.
has_jansson() {
    has_library jansson && [ -n "$compiler_found" ] || return 1
    for folder in /opt/homebrew/include /usr/local/include; do
        [ ! -e "$folder/jansson.h" ] || return 0
    done
    echo '#include <jansson.h>' | "$compiler_found" -E -x c - >/dev/null 2>&1
}

look() {
    missing_required='' missing_optional=''
    compiler_found=$(find_compiler) || missing_required="$missing_required compiler"
    has_cmake || missing_required="$missing_required cmake"
    have make || missing_required="$missing_required make"
    has_jansson || missing_required="$missing_required jansson"
    have git || missing_optional="$missing_optional git"
    have gnuplot || missing_optional="$missing_optional gnuplot"
    has_library openblas openblasp openblaso openblas_pthreads || missing_optional="$missing_optional openblas"
    has_library blis bliso blisp || missing_optional="$missing_optional blis"
    has_onednn || missing_optional="$missing_optional onednn"
}

# ---- how it is got ----

# packages MANAGER PART...: the packages' names; nothing where the distribution has none.
packages() {
    manager_name=$1
    shift
    names=''
    for part in "$@"; do
        case $manager_name:$part in
        apt-get:compiler) name='gcc libc6-dev' ;;
        *:compiler) name=gcc ;;
        apt-get:jansson) name=libjansson-dev ;;
        zypper:jansson) name=libjansson-devel ;;
        dnf:jansson) name=jansson-devel ;;
        apt-get:gnuplot) name='gnuplot-nox fonts-dejavu-core' ;;
        dnf:gnuplot) name='gnuplot dejavu-sans-fonts' ;;
        zypper:gnuplot) name='gnuplot dejavu-fonts' ;;
        pacman:gnuplot) name='gnuplot ttf-dejavu' ;;
        apt-get:openblas) name=libopenblas0-pthread ;;
        dnf:openblas) name=openblas-threads ;;
        zypper:openblas) name=libopenblas_pthreads0 ;;
        apt-get:blis) name=libblis4-openmp ;;
        dnf:blis) name=blis-openmp ;;
        zypper:blis | pacman:blis) name='' ;;
        apt-get:onednn) name=libdnnl-dev ;;
        dnf:onednn | zypper:onednn) name=onednn-devel ;;
        *) name=$part ;;
        esac
        names="$names $name"
    done
    # shellcheck disable=SC2086  # one line, single blanks
    echo $names
}

manager=''
for candidate in apt-get dnf zypper pacman brew; do
    if have $candidate; then
        manager=$candidate
        break
    fi
done
case $manager in
apt-get) command_line='env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends' ;;
dnf) command_line='dnf install -y' ;;
zypper) command_line='zypper --non-interactive install --no-recommends' ;;
pacman) command_line='pacman -S --needed --noconfirm' ;;
brew) command_line='brew install' ;;
esac

# Sets `prefix`; fails where nothing may be installed. brew is for users only, the others for root.
may_install() {
    prefix=''
    user=$(id -u)
    if [ "$manager" = brew ]; then
        [ "$user" -ne 0 ]
    elif [ "$user" -ne 0 ]; then
        prefix='sudo -n '
        have sudo && sudo -n true 2>/dev/null
    fi
}

# As a person would type it.
typed() { echo "${prefix:+sudo }$command_line $*"; }

run() {
    say "running: $*"
    [ $dry_run = 1 ] || "$@" >&2 </dev/null
}

update_done=0
# shellcheck disable=SC2086  # prefix, command line and names are lists of words
install_packages() {
    if [ "$manager" = apt-get ] && [ $update_done = 0 ]; then
        update_done=1
        run ${prefix}apt-get update -qq || say "apt-get update failed; trying with the old lists"
    fi
    run $prefix$command_line "$@"
}

# ---- do it ----

look
tried_file=$(dirname "$0")/../build/setup-tried
wanted=$missing_optional
if [ $once = 1 ] && [ -f "$tried_file" ] && [ "$(cat "$tried_file")" = "$missing_optional" ]; then wanted=''; fi

# shellcheck disable=SC2086  # lists of parts
required_packages=$(packages "$manager" $missing_required) optional_packages=$(packages "$manager" $wanted)
all_packages="$required_packages${required_packages:+ }$optional_packages"
if [ -n "$required_packages$optional_packages" ]; then
    say "missing:$missing_required$wanted"
    if [ -z "$manager" ]; then
        say "no apt, dnf, zypper, pacman or brew here: install what is missing by hand"
    elif [ $install = 0 ]; then
        prefix=''
        [ "$manager" = brew ] || prefix='sudo '
        say "nothing installed, as told; the command is: $(typed "$all_packages")"
    elif ! may_install; then
        say "not allowed to install; the command is: $(typed "$all_packages")"
    else
        # shellcheck disable=SC2086
        [ -z "$required_packages" ] || install_packages $required_packages
        # shellcheck disable=SC2086
        if [ -n "$optional_packages" ] && ! install_packages $optional_packages; then
            for package in $optional_packages; do
                install_packages "$package" || say "no package '$package' to be had: going on without"
            done
        fi
        [ $dry_run = 1 ] || look
    fi
fi
[ $dry_run = 1 ] && exit 0

if [ -n "$missing_required" ]; then
    say "required, and not here:$(echo "$missing_required" |
        sed 's/ compiler/ a C11 compiler with OpenMP,/; s/ cmake/ CMake 3.25 or newer,/; s/ make$/ make,/; s/ make / make, /; s/,$//')"
    exit 1
fi
if [ -n "$missing_optional" ]; then
    say "going on without:$missing_optional"
    mkdir -p "$(dirname "$tried_file")" && [ $install = 1 ] && echo "$missing_optional" >"$tried_file"
else
    rm -f "$tried_file"
fi
case $compiler_found in
cc | gcc | "${CC:-cc}") ;;
*) say "the compiler with OpenMP is $compiler_found: build with CC=$compiler_found in the environment" ;;
esac
exit 0
