#!/usr/bin/env bash
# fuzz.sh [--seconds <n> | --inputs <n>] [--target <name>] [--first <n>] [--seed <n>]
# Feeds changed files to every parser, for so long or with so many inputs each (fuzz/ says how), and prints how many
# inputs each has had. Stops a target at its first crash, panic, 10 seconds without an end, or more memory than 64 times
# the input and 16 MiB, and prints how to run that input again.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$repo"
optimized_cargo run --quiet --example fuzz -- "$@"
