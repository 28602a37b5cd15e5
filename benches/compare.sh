#!/usr/bin/env bash
# compare.sh <bench> <other bench> [rounds] -- <arguments>
# Runs two builds of one bench in turns and prints, for every figure, the best of each and the ratio.
# LAUNCH is put before both, e.g. LAUNCH="mpiexec -n 8"; OURS are arguments for the first alone, behind the others.
set -euo pipefail
ours=$1 other=$2 rounds=3
shift 2
[ "$1" = -- ] || { rounds=$1; shift; }
shift
for _ in $(seq "$rounds"); do
  ${LAUNCH:-} "$ours" "$@" ${OURS:-} | sed 's/^/ours /'
  ${LAUNCH:-} "$other" "$@" | sed 's/^/other /'
done | awk '
  /WRONG/ { print; wrong = 1; next }
  {
    value = $(NF - 1); unit = $NF; name = ""
    for (i = 2; i < NF - 1; i++) name = name (i > 2 ? " " : "") $i
    if (!(name in seen)) { seen[name] = 1; names[++count] = name; units[name] = unit }
    if (!(($1, name) in best) || value + 0 < best[$1, name]) best[$1, name] = value + 0
  }
  END {
    printf "%-44s %14s %14s %9s\n", "", "ours", "other", "other/ours"
    for (i = 1; i <= count; i++) {
      n = names[i]
      printf "%-44s %14.4f %14.4f %9.2f  %s\n", n, best["ours", n], best["other", n], best["other", n] / best["ours", n], units[n]
    }
    exit wrong
  }'
