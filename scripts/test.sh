#!/usr/bin/env bash
# test.sh [--mpi openmpi|mpich|openmpi5] [--slow]
# Everything that must hold: format, lints, Rust tests, then a build, the C tests and the install test
# on each MPI, and a build without MPI. --slow adds the slow tests and a vendored offline build.
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

# part <what> <command...>
part() {
  current=$1
  shift
  say "$current"
  local begin=$SECONDS
  "$@"
  summary+=("$(printf 'ok %4ds %s' $((SECONDS - begin)) "$current")")
  current=
}

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

# A target directory of its own: mpi-sys does not notice when the MPI changes below it.
check_cargo() { CARGO_TARGET_DIR=$work/checks MPICC=$(mpi_program openmpi mpicc) cargo "$@"; }

rust_features() { if grep -q '^faults *=' Cargo.toml; then echo "--features faults"; fi; }

ctest_in() {
  local directory=$1
  shift
  local exclude=()
  if [ $slow = no ]; then exclude=(-LE slow); fi
  (cd "$directory" && ctest --output-on-failure -j "$jobs" "${exclude[@]}" "$@")
}

# configure_and_build <directory> <cmake options...>
configure_and_build() {
  local directory=$1
  shift
  cmake -S "$repo" -B "$directory" -DCMAKE_BUILD_TYPE=Release -DSTANCHION_CARGO_DIR="$work/cargo" "$@"
  cmake --build "$directory" -j "$jobs"
}

test_mpi() {
  local mpi=$1
  configure_and_build "$work/$mpi" -DMPI_C_COMPILER="$(command -v "$(mpi_program "$mpi" mpicc)")"
  # What needs no MPI does not change from one to the next; Open MPI 5 comes last.
  if [ "$mpi" = openmpi5 ]; then ctest_in "$work/$mpi" -L 'mpi|install'; else ctest_in "$work/$mpi"; fi
}

test_base() {
  configure_and_build "$work/base" -DSTANCHION_MPI=OFF \
    "-DSTANCHION_TEST_WRAPPER=valgrind;-q;--error-exitcode=9;--leak-check=full;--errors-for-leak-kinds=definite"
  ctest_in "$work/base"
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

part_with fmt "format" check_cargo fmt --check
part_with clippy "lints, base" check_cargo clippy --locked --all-targets -- -D warnings
part_with clippy "lints, MPI" check_cargo clippy --locked --all-targets --features mpi -- -D warnings
part "Rust tests" check_cargo test --locked $(rust_features)
for mpi in $mpis; do
  part "C and install tests, $mpi" test_mpi "$mpi"
done
part "C tests without MPI, under valgrind" test_base
if [ $slow = yes ]; then
  part "vendored offline build" test_offline
fi
