#!/usr/bin/env bash
# test.sh [--mpi openmpi|mpich|openmpi5] [--slow]
# Everything that must hold: format, lints, Rust tests, fuzz targets, address sanitizer, then builds, C tests and install
# tests: all on Open MPI 4, also between nodes, a sample and what only they can do on MPICH and Open MPI 5, PIO with NCAR's
# interface, and the library without MPI. --slow adds what takes long; docs/building.md says what each part covers.
# MPICC in the environment, and MPIEXEC besides, name another MPI, which then takes the place of all of them.
# Stops at the first part that fails and leaves everything in build-test/ for a look.
set -euo pipefail
. "$(dirname "$0")/common.sh"
exec </dev/null

slow=no
while [ $# -gt 0 ]; do
  case $1 in
    --mpi)
      if [ $main = own ]; then die "MPICC names the MPI already"; fi
      mpis=${2:?--mpi needs a name}
      mpi_program "$mpis" mpicc >/dev/null
      shift 2
      ;;
    --slow) slow=yes; shift ;;
    *) die "usage: test.sh [--mpi openmpi|mpich|openmpi5] [--slow]" ;;
  esac
done

cd "$repo"
bash scripts/deps.sh
work=$repo/build-test
parts=$work/parts
rm -rf "$parts"
mkdir -p "$parts"
. scripts/parts.sh
trap finish_parts EXIT

# has_tool <cargo's tool>: some installations of Rust lack them.
has_tool() { cargo "$1" --version >/dev/null 2>&1; }

# ---- Rust ----

# With the file libraries that CMake has found for the MPI.
all_features() {
  local features=mpi,faults
  if [ -n "$(cached STANCHION_PNETCDF_NAMES)" ]; then features+=,pnetcdf; fi
  if [ -n "$(cached STANCHION_NETCDF_NAMES)" ]; then features+=,netcdf; fi
  echo $features
}

# check_cargo <command> <arguments...>: with profile, directory and environment of the C library on the main MPI, so that
# nothing is compiled twice.
check_cargo() {
  local command=$1
  shift
  CARGO_TARGET_DIR=$(cargo_directory "$work/$main") MPICC=$(command -v "$(mpi_program $main mpicc)") \
    LIBCLANG_PATH=$(dirname "$(cached STANCHION_LIBCLANG)") STANCHION_NETCDF_NAMES=$(cached STANCHION_NETCDF_NAMES) \
    STANCHION_PNETCDF_NAMES=$(cached STANCHION_PNETCDF_NAMES) STANCHION_ULFM=$(cached STANCHION_ULFM) cargo "$command" --locked --profile ci "$@"
}
cached() { sed -n "s/^$1:[A-Z]*=//p" "$work/$main/CMakeCache.txt"; }

format() {
  cargo fmt --check
  cargo fmt --check --manifest-path tests/interleavings/Cargo.toml
}

# Between them these see every line with every feature that it asks for on and off: all targets with all features and with
# none (tests have allocators of their own, so without the reserve), the library as it is without MPI, with MPI alone and
# with NCAR's interface. What else CMake may ask for is compiled with the C libraries.
lints() {
  check_cargo clippy --all-targets --features "$(all_features)" -- -D warnings
  check_cargo clippy --all-targets -- -D warnings
  check_cargo clippy --lib --bins --features reserve -- -D warnings
  check_cargo clippy --lib --features reserve,mpi -- -D warnings
  check_cargo clippy --lib --features reserve,mpi,pnetcdf,netcdf,linked,pio_ncar -- -D warnings
}

# Documentation has no tests.
test_cargo() { check_cargo test --features "$(all_features)" --lib --bins --tests --examples "$@"; }

build_rust_tests() { test_cargo --no-run; }

# The tests of the MPI half run as a job of one rank, and those that are made for it as jobs of two and three.
rust_tests() {
  test_cargo
  run_ranks 2 mpi
  run_ranks 3 mpi
  if [[ $(all_features) == *netcdf* ]]; then run_ranks 2 pio_formats --test-threads 1; fi
}

# rust_program <test of tests/>: asking cargo would mean to wait for what it does in the background.
rust_program() { sed -n "s/.*(\\(.*\\/deps\\/$1-[^/)]*\\)).*/\\1/p" "$parts/rust_tests.log"; }

# run_ranks <ranks> <test of tests/> <arguments...>
run_ranks() {
  local ranks=$1 program
  program=$(rust_program "$2")
  shift 2
  "$(mpi_program $main mpiexec)" -n "$ranks" "$program" "$@"
}

# The simulator goes on where `rust_tests` has not been.
simulator() {
  local seconds=40
  if [ $slow = yes ]; then seconds=600; fi
  "$(rust_program simulator)" --from 1000000 --seconds $seconds
}

fuzz_targets() {
  local seconds=2
  if [ $slow = yes ]; then seconds=30; fi
  "$(cargo_directory "$work/$main")/ci/examples/fuzz" --seconds $seconds
}

# All cases of the tests that try a part of them above; every case of stale and lost files to four ranks, many of more; all
# trees of ten ranks.
slow_rust_tests() {
  STANCHION_TEST_ALL=1 optimized_cargo test --lib
  optimized_cargo test --lib -- --ignored redset::tests::stale protect::generation failure_domain::placement
}

# Readers of one tree, in every order of their steps.
interleavings() {
  RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$work/cargo/loom cargo test --locked --profile ci --manifest-path tests/interleavings/Cargo.toml
}

sanitizer() {
  local all=()
  if [ $slow = yes ]; then all=(--all); fi
  CARGO_TARGET_DIR=$(cargo_directory "$work/$main") bash scripts/sanitize.sh "${all[@]}"
}

# ---- C ----

# configure <tree> <cmake options...>
configure() {
  local tree=$1
  shift
  cmake -S "$repo" -B "$work/$tree" -DCMAKE_BUILD_TYPE=Release -DSTANCHION_CARGO_PROFILE=ci -DSTANCHION_CARGO_DIR="$work/cargo" \
    -DSTANCHION_WERROR=ON -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_Fortran_FLAGS_RELEASE=-O0 "$@"
}

configure_mpi() {
  local tree=$1
  choose_mpi "$2"
  shift 2
  configure "$tree" "${mpi_options[@]}" "$@"
}

# ctest_in <tree> <labels to leave out> <ctest options...>: ranks that wait sleep, so more tests than cores run at a time.
ctest_in() {
  local tree=$1 without=$2
  shift 2
  if [ $slow = no ]; then without+="|slow"; fi
  (cd "$work/$tree" && ctest --output-on-failure -j $((2 * jobs)) -LE "$without" "$@")
}

build_mpi() {
  local mpi=$1
  if [ "$mpi" != $main ]; then
    configure_mpi "$mpi" "$mpi" -DCMAKE_C_FLAGS_RELEASE=-O0
    start_from "$work/$main" "$work/$mpi"
  fi
  cmake --build "$work/$mpi" -j "$jobs"
}

test_mpi() {
  if [ "$1" = $main ]; then ctest_in $main none
  elif [ $slow = yes ]; then ctest_in "$1" valgrind -L 'mpi|install'
  else ctest_in "$1" valgrind -L 'sample|fault'
  fi
}

# Only what has to do with PIO. A cargo directory of its own: the install tests in front build the other interface in the shared
# one, and the archive that both would make there has one name.
build_ncar() {
  local targets
  configure_mpi ncar $main -DSTANCHION_PIO_ABI=ncar -DCMAKE_C_FLAGS_RELEASE=-O0 -DSTANCHION_CARGO_DIR="$work/cargo/ncar"
  start_from "$work/$main" "$work/ncar"
  targets=$(cmake --build "$work/ncar" --target help | sed -nE 's/^\.\.\. ((pio|stanchion|example_darray|waiting)[a-z_-]*|(kvtree|redset)(_base)?|rankstr|fenix|other_mpi)$/\1/p')
  cmake --build "$work/ncar" -j "$jobs" --target $targets
}

test_ncar() {
  ctest_in ncar valgrind -L 'sample|serial|install' -R '^(pio|example_darray|exports|install\.(prefix|cmake_c|cmake_fortran))'
}

# Serial tests with all of their data under valgrind are slow; the tree of Open MPI 4 runs them with less.
build_base() {
  local wrapper=
  if [ $slow = yes ]; then wrapper="valgrind;-q;--error-exitcode=9;--leak-check=full;--errors-for-leak-kinds=definite"; fi
  configure base -DSTANCHION_MPI=OFF "-DSTANCHION_TEST_WRAPPER=$wrapper" -DCMAKE_C_FLAGS_RELEASE=-O0
  cmake --build "$work/base" -j "$jobs"
}

test_base() { ctest_in base valgrind; }

# What users get: optimized across crates, all tests.
test_release() {
  configure_mpi release $main -DSTANCHION_CARGO_PROFILE= -DCMAKE_C_FLAGS_RELEASE="-O3 -DNDEBUG" -DCMAKE_Fortran_FLAGS_RELEASE=-O3
  cmake --build "$work/release" -j "$jobs"
  ctest_in release valgrind
}

# As on a machine without network: vendored crates, an empty CARGO_HOME.
test_offline() {
  local tree=$work/offline
  choose_mpi $main
  rm -rf "$tree"
  mkdir -p "$tree/source" "$tree/cargo-home"
  tar --exclude=./.git --exclude=./target --exclude='./build*' --exclude=./vendor -cf - . | tar -xf - -C "$tree/source"
  (cd "$tree/source" && cargo vendor --locked --quiet >/dev/null)
  CARGO_HOME=$tree/cargo-home cmake -S "$tree/source" -B "$tree/build" -DCMAKE_BUILD_TYPE=Release \
    -DCARGO_EXECUTABLE="$(command -v cargo)" "${mpi_options[@]}"
  CARGO_HOME=$tree/cargo-home cmake --build "$tree/build" -j "$jobs"
}

# ---- what goes when ----

background() {
  local mpi
  queued rust_tests "Rust tests, build" build_rust_tests
  queued base "C tests without MPI, build" build_base
  queued $main "C tests, $main, build" build_mpi $main
  queued sanitizer "address sanitizer" sanitizer
  if has_tool clippy; then queued lints "lints, every feature" lints; fi
  for mpi in $mpis; do
    if [ "$mpi" != $main ]; then queued "$mpi" "C tests, $mpi, build" build_mpi "$mpi"; fi
  done
  queued ncar "PIO with NCAR's interface, build" build_ncar
}

part "configure for $main" configure_mpi $main $main
in_background background
if has_tool fmt; then part "format" format; else skipped format "this Rust has no working cargo fmt"; fi
part "interleavings of threads" interleavings
await rust_tests
part "Rust tests" rust_tests
part "simulator" simulator
part "fuzz targets" fuzz_targets
await base
part "C and install tests without MPI" test_base
if ! why=$(bash c_tests/cluster/cluster check 2>&1); then skipped "C tests between nodes" "$why"; fi
for mpi in $mpis; do
  await "$mpi"
  part "C and install tests, $mpi" test_mpi "$mpi"
done
await sanitizer
if has_tool clippy; then await lints; else skipped lints "this Rust has no working cargo clippy"; fi
await ncar
part "PIO with NCAR's interface" test_ncar
if [ $slow = yes ]; then
  part "slow Rust tests" slow_rust_tests
  part "C and install tests of the release" test_release
  part "vendored offline build" test_offline
fi
