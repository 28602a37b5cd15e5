#!/usr/bin/env bash
# redset.sh <ranks> <program redset_nodes>: on a cluster of five nodes.
# Files on the disks of four nodes are protected by every scheme; then nodes lose their disks. What is lost comes back on the same
# node, and on another one in its place.
set -euo pipefail
. "$(dirname "$0")/common.sh"
ranks=$1 program=$2
local=/dev/shm/local/job

say "protect on nodes 1 to 4, $ranks ranks"
job "$ranks" 1,2,3,4 "$program" protect $local partner xor rs2
say "node 3 loses its disk and comes back"
cluster wipe 3
job "$ranks" 1,2,3,4 "$program" recover $local partner xor rs2
say "node 2 is lost, node 5 takes its place"
cluster wipe 2
job "$ranks" 1,5,3,4 "$program" recover $local partner xor rs2
say "two nodes are lost: node 3, which comes back, and node 5, for which node 2 comes"
cluster wipe 3
cluster wipe 5
job "$ranks" 1,2,3,4 "$program" recover $local rs2
job "$ranks" 1,2,3,4 "$program" lost $local partner xor
