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

# check_cargo <command> <arguments...>: with profile, directory and environment of the C library on Open MPI 4, so that
# nothing is compiled twice.
check_cargo() {
  local command=$1
  shift
  CARGO_TARGET_DIR=$(cargo_directory "$work/openmpi") MPICC=$(command -v "$(mpi_program openmpi mpicc)") \
    LIBCLANG_PATH=$(dirname "$(cached STANCHION_LIBCLANG)") STANCHION_NETCDF_NAMES=$(cached STANCHION_NETCDF_NAMES) \
    STANCHION_PNETCDF_NAMES=$(cached STANCHION_PNETCDF_NAMES) cargo "$command" --locked --profile ci "$@"
}
cached() { sed -n "s/^$1:[A-Z]*=//p" "$work/openmpi/CMakeCache.txt"; }

# Tests and benches with no features and with all; the library as CMake may ask for it.
lints() {
  local features
  check_cargo clippy --all-targets -- -D warnings
  check_cargo clippy --all-targets --features $all_features -- -D warnings
  for features in "" mpi mpi,netcdf,linked mpi,pnetcdf,netcdf,linked mpi,pnetcdf,netcdf,linked,pio_ncar; do
    check_cargo clippy --lib --bins --features "reserve,$features" -- -D warnings
  done
}

# The tests of the MPI half run as a job of one rank, and those that are made for it as jobs of two and three.
rust_tests() {
  check_cargo test --features $all_features
  run_ranks 2 mpi
  run_ranks 3 mpi
  run_ranks 2 pio_formats --test-threads 1
}

# run_ranks <ranks> <test of tests/> <arguments...>
run_ranks() {
  local ranks=$1 test=$2 program
  shift 2
  program=$(check_cargo test --features $all_features --test "$test" --no-run 2>&1 | sed -n "s/.*(\\(.*\\/$test-[^)]*\\)).*/\\1/p")
  "$(mpi_program openmpi mpiexec)" -n "$ranks" "$program" "$@"
}

# Both keep one core busy. The simulator goes on where `cargo test` has not been.
simulator_and_fuzz() {
  local seconds=40 failed=0 pids pid
  if [ $slow = yes ]; then seconds=600; fi
  check_cargo test --features $all_features --test simulator -- --from 1000000 --seconds $seconds &
  pids=$!
  check_cargo run --features $all_features --example fuzz -- --seconds $((seconds / 20)) &
  pids+=" $!"
  for pid in $pids; do wait "$pid" || failed=1; done
  return $failed
}

# Every case of stale and lost files to four ranks, many of more.
slow_rust_tests() { optimized_cargo test --lib -- --ignored redset::tests::stale protect::generation; }

# Readers of one tree, in every order of their steps.
interleavings() {
  RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$work/cargo/loom cargo test --locked --profile ci --lib interleavings
}

sanitizer() { if [ $slow = yes ]; then bash scripts/sanitize.sh --all; else bash scripts/sanitize.sh; fi; }

# ---- C ----

# configure <tree> <cmake options...>
configure() {
  local tree=$1
  shift
  cmake -S "$repo" -B "$work/$tree" -DCMAKE_BUILD_TYPE=Release -DSTANCHION_CARGO_PROFILE=ci -DSTANCHION_CARGO_DIR="$work/cargo" \
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_Fortran_FLAGS_RELEASE=-O0 "$@"
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
    start_from "$work/openmpi" "$work/$mpi"
  fi
  cmake --build "$work/$mpi" -j "$jobs"
  if [ "$mpi" = openmpi ]; then ctest_in openmpi none
  elif [ $slow = yes ]; then ctest_in "$mpi" valgrind -L 'mpi|install'
  else ctest_in "$mpi" valgrind -L 'sample|fault'
  fi
}

# Only what has to do with PIO.
test_ncar() {
  local targets
  configure_mpi ncar openmpi -DSTANCHION_PIO_ABI=ncar
  targets=$(cmake --build "$work/ncar" --target help | sed -nE 's/^\.\.\. ((pio|stanchion|example_darray|waiting)[a-z_-]*)$/\1/p')
  cmake --build "$work/ncar" -j "$jobs" --target $targets
  ctest_in ncar valgrind -L 'sample|serial|install' -R '^(pio|example_darray|exports|install\.(prefix|cmake_c|cmake_fortran))'
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
  configure_mpi release openmpi -DSTANCHION_CARGO_PROFILE= -DCMAKE_C_FLAGS_RELEASE="-O3 -DNDEBUG" -DCMAKE_Fortran_FLAGS_RELEASE=-O3
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
part "simulator and fuzz targets" simulator_and_fuzz
part "interleavings of threads" interleavings
part "address sanitizer" sanitizer
for mpi in $mpis; do
  part "C and install tests, $mpi" test_mpi "$mpi"
done
part "PIO with NCAR's interface" test_ncar
part "C and install tests without MPI" test_base
if [ $slow = yes ]; then
  part "slow Rust tests" slow_rust_tests
  part "C and install tests of the release" test_release
  part "vendored offline build" test_offline
fi
