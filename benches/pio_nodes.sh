#!/usr/bin/env bash
# pio_nodes.sh [options] <bench_pio> <other bench>...
# Runs bench_pio and another build of it between nodes, in turns, on a cluster of four nodes on this machine
# (c_tests/cluster/cluster), and prints for every link rate, number of ranks a node, map and rearranger the best of each build and
# the ratio; once for each other build.
#   -r RATES        of every link, each way: "10gbit 1gbit"
#   -p RANKS        a node: "1 2"
#   -a MAPS         "block tile stride"
#   -s REARRANGERS  "box subset"
#   -e ELEMENTS     4194304
#   -i I/O TASKS    2
#   -t TURNS        of each build: 6
#   -k TIMES        that the bench writes and reads in a turn: 3
#   -d DIRECTORY    that all nodes share; without it one in memory
# mpiexec is $MPIEXEC, or the first in PATH; it must be of the MPI of all builds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cluster=$here/../c_tests/cluster/cluster
rates="10gbit 1gbit" per_node="1 2" maps="block tile stride" rearrangers="box subset" elements=4194304 tasks=2 turns=6 times=3
directory=
given=("$@")
while getopts r:p:a:s:e:i:t:k:d: option; do
  case $option in
    r) rates=$OPTARG ;;
    p) per_node=$OPTARG ;;
    a) maps=$OPTARG ;;
    s) rearrangers=$OPTARG ;;
    e) elements=$OPTARG ;;
    i) tasks=$OPTARG ;;
    t) turns=$OPTARG ;;
    k) times=$OPTARG ;;
    d) directory=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
ours=$(realpath "$1")
shift

# Nodes see what was mounted before they start. The file system in memory ends with the namespace that it is mounted in.
own_user=()
if ((EUID != 0)); then own_user=(--user --map-root-user); fi
if [ -z "$directory" ]; then
  directory=$(mktemp -d)
  trap 'rmdir "$directory"' EXIT
  unshare "${own_user[@]}" --mount bash -c 'mount -t tmpfs tmpfs "$1" && exec bash "$0" -d "$@"' "$0" "$directory" "${given[@]}"
  exit
fi
if [ -z "${IN_CLUSTER:-}" ]; then exec bash "$cluster" with 4 -- bash "$0" "${given[@]}"; fi

for rate in $rates; do
  bash "$cluster" rate "$rate"
  for each in $per_node; do
    for map in $maps; do
      for rearranger in $rearrangers; do
        for other in "$@"; do
          printf '\n==> links: %s, ranks a node: %s, %s\n' "$rate" "$each" "$other"
          LAUNCH="bash $cluster run -n $((4 * each)) --" bash "$here/compare.sh" "$ours" "$(realpath "$other")" "$turns" -- \
            darray "$map" "$rearranger" "$elements" "$tasks" "$times" "$directory"
        done
      done
    done
  done
done
