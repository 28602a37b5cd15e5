#!/usr/bin/env bash
# sanitize.sh [--all]
# Address sanitizer: the fuzz targets with a few inputs each; with --all also the Rust tests and the serial C tests.
# Works with a stable Rust: RUSTC_BOOTSTRAP lets it know the flag. Valgrind looks for leaks, so this does not.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$repo"
work=$repo/build-test
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0

# With --target, programs that run while others are compiled are left as they are.
sanitized() {
  local command=$1
  shift
  cargo "$command" --locked --profile ci --target "$host" --target-dir "$work/cargo/sanitized" --features faults "$@"
}

sanitized run --example fuzz -- --inputs 100
if [ "${1:-}" = --all ]; then
  sanitized test --lib --bins
  cmake -S . -B "$work/sanitized" -DCMAKE_BUILD_TYPE=Debug -DSTANCHION_MPI=OFF -DCMAKE_C_FLAGS=-fsanitize=address \
    -DSTANCHION_CARGO_PROFILE=ci -DSTANCHION_CARGO_TARGET="$host" -DSTANCHION_CARGO_DIR="$work/cargo/sanitized-c"
  cmake --build "$work/sanitized" -j "$jobs"
  (cd "$work/sanitized" && ctest --output-on-failure -j "$jobs" -L serial -E 'static|exports')
fi
