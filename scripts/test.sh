#!/usr/bin/env bash
# test.sh [--mpi openmpi|mpich|openmpi5] [--slow]
# Everything that must hold: format, lints, Rust tests, fuzz targets, address sanitizer, then builds, C tests and install
# tests: all on Open MPI 4, a sample and what only they can do on MPICH and Open MPI 5, PIO with NCAR's interface, and
# the library without MPI. --slow adds what takes long; docs/building.md says what each part covers.
# Stops at the first part that fails and leaves everything in build-test/ for a look.
set -euo pipefail
. "$(dirname "$0")/common.sh"
exec </dev/null

mpis="openmpi mpich openmpi5"
slow=no
while [ $# -gt 0 ]; do
  case $1 in
    --mpi) mpis=${2:?--mpi needs a name}; mpi_program "$mpis" mpicc >/dev/null; shift 2 ;;
    --slow) slow=yes; shift ;;
    *) die "usage: test.sh [--mpi openmpi|mpich|openmpi5] [--slow]" ;;
  esac
done

cd "$repo"
bash scripts/deps.sh
work=$repo/build-test
mkdir -p "$work"

summary=()
current=
started=$SECONDS
finish() {
  local rc=$?
  if [ -n "$current" ]; then summary+=("FAILED  $current"); fi
  say "summary, $((SECONDS - started)) s"
  printf '  %s\n' "${summary[@]}"
  if [ $rc = 0 ]; then
    case ${summary[*]} in *SKIPPED*) echo "all that ran passed" ;; *) echo "all passed" ;; esac
  fi
}
trap finish EXIT

# part <what> <command...>: its time, and that of all cores.
part() {
  current=$1
  shift
  say "$current"
  local begin=$SECONDS cpu
  cpu=$(cpu_seconds)
  "$@"
  summary+=("$(printf 'ok %4d s, %4d s of CPU  %s' $((SECONDS - begin)) $(($(cpu_seconds) - cpu)) "$current")")
  current=
}

# What the ended children of this shell have used, user and system.
cpu_seconds() { LC_ALL=C awk -v tick="$(getconf CLK_TCK)" '{ printf "%d", ($16 + $17) / tick }' /proc/$$/stat; }

# part_with <cargo's tool> <what> <command...>: a part for which some installations of Rust lack the tool.
part_with() {
  local tool=$1
  shift
  if cargo "$tool" --version >/dev/null 2>&1; then
    part "$@"
  else
    say "SKIPPED: $1 (this Rust has no working cargo $tool)"
    summary+=("SKIPPED $1: this Rust has no working cargo $tool")
  fi
}

# ---- Rust ----

all_features=mpi,pnetcdf,netcdf,faults

# Where CMake builds for that MPI: mpi-sys does not notice when the MPI changes below it.
cargo_directory() { sed -n 's/^STANCHION_CARGO_DIRECTORY_mpi:INTERNAL=//p' "$work/$1/CMakeCache.txt"; }

# check_cargo <command> <arguments...>: with the profile and the directory of the C library on Open MPI 4.
check_cargo() {
  local command=$1
  shift
  CARGO_TARGET_DIR=$(cargo_directory openmpi) MPICC=$(command -v "$(mpi_program openmpi mpicc)") \
    cargo "$command" --locked --profile ci "$@"
}

# Tests and benches with no features and with all; the library as CMake may ask for it.
lints() {
  local features
  check_cargo clippy --all-targets -- -D warnings
  check_cargo clippy --all-targets --features $all_features -- -D warnings
  for features in mpi mpi,netcdf mpi,pnetcdf,netcdf mpi,pnetcdf,netcdf,pio_ncar; do
    check_cargo clippy --lib --features $features -- -D warnings
  done
}

# The tests of the MPI half run as a job of one rank, and those of the file libraries as one of two.
rust_tests() {
  check_cargo test --features $all_features
  local formats
  formats=$(check_cargo test --features $all_features --test pio_formats --no-run 2>&1 | sed -n 's/.*(\(.*\/pio_formats-[^)]*\)).*/\1/p')
  "$(mpi_program openmpi mpiexec)" -n 2 "$formats" --test-threads 1
}

# ---- C ----

# configure <tree> <cmake options...>
configure() {
  local tree=$1
  shift
  cmake -S "$repo" -B "$work/$tree" -DCMAKE_BUILD_TYPE=Release -DSTANCHION_CARGO_PROFILE=ci -DSTANCHION_CARGO_DIR="$work/cargo" "$@"
}

configure_mpi() {
  local tree=$1 mpi=$2
  shift 2
  configure "$tree" -DMPI_C_COMPILER="$(command -v "$(mpi_program "$mpi" mpicc)")" "$@"
}

# ctest_in <tree> <labels to leave out> <ctest options...>: ranks that wait sleep, so more tests than cores run at a time.
ctest_in() {
  local tree=$1 without=$2
  shift 2
  if [ $slow = no ]; then without+="|slow"; fi
  (cd "$work/$tree" && ctest --output-on-failure -j $((2 * jobs)) -LE "$without" "$@")
}

test_mpi() {
  local mpi=$1
  if [ "$mpi" != openmpi ]; then
    configure_mpi "$mpi" "$mpi"
    start_from_openmpi "$mpi"
  fi
  cmake --build "$work/$mpi" -j "$jobs"
  if [ "$mpi" = openmpi ]; then ctest_in openmpi none
  elif [ $slow = yes ]; then ctest_in "$mpi" valgrind -L 'mpi|install'
  else ctest_in "$mpi" valgrind -L 'sample|fault'
  fi
}

# The crates that read mpi.h take longest to compile and are the same for every MPI: another one starts with a copy.
start_from_openmpi() {
  local from to
  from=$(cargo_directory openmpi)
  to=$(cargo_directory "$1")
  if [ -d "$to" ] || ! [ -d "$from" ]; then return; fi
  cp -a "$from" "$to"
  CARGO_TARGET_DIR=$to cargo clean --quiet --profile ci -p mpi-sys -p stanchion
}

test_ncar() {
  configure_mpi ncar openmpi -DSTANCHION_PIO_ABI=ncar
  cmake --build "$work/ncar" -j "$jobs"
  ctest_in ncar valgrind -R '^(pio|example_darray|exports|install\.(prefix|cmake_c|cmake_fortran))'
}

# Serial tests with all of their data under valgrind are slow; the tree of Open MPI 4 runs them with less.
test_base() {
  local wrapper=
  if [ $slow = yes ]; then wrapper="valgrind;-q;--error-exitcode=9;--leak-check=full;--errors-for-leak-kinds=definite"; fi
  configure base -DSTANCHION_MPI=OFF "-DSTANCHION_TEST_WRAPPER=$wrapper"
  cmake --build "$work/base" -j "$jobs"
  ctest_in base valgrind
}

# What users get: optimized across crates, all tests.
test_release() {
  configure_mpi release openmpi -DSTANCHION_CARGO_PROFILE=
  cmake --build "$work/release" -j "$jobs"
  ctest_in release valgrind
}

# As on a machine without network: vendored crates, an empty CARGO_HOME.
test_offline() {
  local tree=$work/offline
  rm -rf "$tree"
  mkdir -p "$tree/source" "$tree/cargo-home"
  tar --exclude=./.git --exclude=./target --exclude='./build*' --exclude=./vendor -cf - . | tar -xf - -C "$tree/source"
  (cd "$tree/source" && cargo vendor --locked --quiet >/dev/null)
  CARGO_HOME=$tree/cargo-home cmake -S "$tree/source" -B "$tree/build" -DCMAKE_BUILD_TYPE=Release \
    -DCARGO_EXECUTABLE="$(command -v cargo)" -DMPI_C_COMPILER="$(command -v mpicc.openmpi)"
  CARGO_HOME=$tree/cargo-home cmake --build "$tree/build" -j "$jobs"
}

part "configure for Open MPI 4" configure_mpi openmpi openmpi
part_with fmt "format" cargo fmt --check
part_with clippy "lints, every set of features" lints
part "Rust tests" rust_tests
for mpi in $mpis; do
  part "C and install tests, $mpi" test_mpi "$mpi"
done
part "PIO with NCAR's interface" test_ncar
part "C and install tests without MPI" test_base
if [ $slow = yes ]; then
  part "C and install tests of the release" test_release
  part "vendored offline build" test_offline
fi
