#!/usr/bin/env bash
# sanitize.sh [--all]
# Address sanitizer: the fuzz targets with a few inputs each; with --all also the Rust tests and the serial C tests.
# Valgrind looks for leaks, so this does not. CARGO_TARGET_DIR may name a directory where the tests were built with the
# profile ci: their dependencies serve here too.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$repo"
work=$repo/build-test
host=$(rustc -vV | sed -n 's/^host: //p')
export ASAN_OPTIONS=detect_leaks=0

sanitized() {
  local command=$1
  shift
  RUSTC_WORKSPACE_WRAPPER=$repo/scripts/sanitized_rustc.sh CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$work/cargo/sanitized} \
    cargo "$command" --locked --profile ci --features faults "$@"
}

sanitized run --example fuzz -- --inputs 100
if [ "${1:-}" = --all ]; then
  sanitized test --lib --bins
  # With a target, programs that run while others are compiled are left as they are.
  export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address
  cmake -S . -B "$work/sanitized" -DCMAKE_BUILD_TYPE=Debug -DSTANCHION_MPI=OFF -DCMAKE_C_FLAGS=-fsanitize=address \
    -DSTANCHION_CARGO_PROFILE=ci -DSTANCHION_CARGO_TARGET="$host" -DSTANCHION_CARGO_DIR="$work/cargo/sanitized-c"
  cmake --build "$work/sanitized" -j "$jobs"
  (cd "$work/sanitized" && ctest --output-on-failure -j "$jobs" -L serial -E 'static|exports')
fi
