#!/usr/bin/env bash
# simulate.sh [--from <seed>] [--seeds <n>] [--seconds <n>] [--only redset|gather|fenix]
# Lives through whole lives of jobs (tests/simulator), one for each seed, optimized and with all checks on: so many, for so
# long, or whichever ends first. Prints what happened in them, and every finding, reduced, as Rust.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$repo"
optimized_cargo test --quiet --test simulator -- "$@"
