#!/usr/bin/env bash
# nodes.sh [options] <bench_redset_nodes> <other bench>
# Runs two builds of the bench between nodes, in turns, on a cluster of four nodes on this machine (c_tests/cluster/cluster), and
# prints for every link rate, scheme and number of ranks a node the best of each build and the ratio.
#   -r RATES    of every link, each way: "none 10gbit 1gbit"
#   -p RANKS    a node: "1 2"
#   -s SCHEMES  "partner xor rs2"
#   -m MIB      a rank: 64
#   -t TURNS    of each build: 3
#   -k TIMES    that the bench repeats a scheme in a turn: 2
# mpiexec is $MPIEXEC, or the first in PATH; it must be of the MPI of both builds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cluster=$here/../c_tests/cluster/cluster
rates="none 10gbit 1gbit" per_node="1 2" schemes="partner xor rs2" mib=64 turns=3 times=2
given=("$@")
while getopts r:p:s:m:t:k: option; do
  case $option in
    r) rates=$OPTARG ;;
    p) per_node=$OPTARG ;;
    s) schemes=$OPTARG ;;
    m) mib=$OPTARG ;;
    t) turns=$OPTARG ;;
    k) times=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# = 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
ours=$(realpath "$1") other=$(realpath "$2")
if [ -z "${IN_CLUSTER:-}" ]; then exec bash "$cluster" with 4 -- bash "$0" "${given[@]}"; fi

# gbit <rate>: as a number; nothing if there is no limit.
gbit() {
  case $1 in
    *gbit) echo "${1%gbit}" ;;
    *mbit) awk -v rate="${1%mbit}" 'BEGIN { print rate / 1000 }' ;;
  esac
}

for rate in $rates; do
  bash "$cluster" rate "$rate"
  for each in $per_node; do
    for scheme in $schemes; do
      printf '\n==> links: %s\n' "$rate"
      BENCH_GBIT=$(gbit "$rate") LAUNCH="bash $cluster run -n $((4 * each)) --" \
        bash "$here/compare.sh" "$ours" "$other" "$turns" -- "$scheme" "$mib" "$times"
    done
  done
done
